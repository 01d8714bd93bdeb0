"""How fast and how lean Endive is, as ratios within one run: `python -m benchmarks` from the root of the repository.

Seconds depend on the machine and on who else uses it. So work is measured in CPU time and held against
other work of the same run, in turns, and the best of several turns counts: interference only ever adds.
"""
