"""Sizing: which stores, catalogs and modes keep a load's objectives, with how much room, and what gives way first.

A request is a load (`load`, `request`) and objectives for it (`objectives`). Candidates (`candidates`) are simulated over seeds
(`measuring`) for as long as the objectives need (`planning`); seeds decide (`deciding`), in looks that end early where the matter is clear, and
the rate at which a candidate gives way is bracketed by the same rule (`searching`). What gave way is read off the runs (`explaining`),
and so is what no measurement backs (`trusting`).
"""
