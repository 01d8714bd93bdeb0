"""What a second process brings: a sweep of sixteen cells on two processes, against the same on one.

The one thing here that is told by the clock, because processes at work at the same time take no less CPU. The two take turns,
so their ratio holds on a machine that does nothing else; CPU tells what the second process costs.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cases import spec_example
from benchmarks.measure import Options
from benchmarks.simulations import DisagreementError
from benchmarks.verdict import Row, Target
from endive.sweep import Sweep, read_sweep, run_sweep

_SWEEP = """\
label = "bench"
base = "base.toml"
seeds = 42
[grid]
transaction.inter_arrival.scale = [50.0, 60.0, 70.0, 80.0]
catalog.num_tables = [1, 2, 4, 8]
"""
_JOBS = (1, 2)
_MOST_REPEAT = 2


def sixteen_cells(options: Options) -> list[Row]:
    """Sixteen cells on one process and on two, all files written."""
    wall_s = dict.fromkeys(_JOBS, float("inf"))
    cpu_s = dict.fromkeys(_JOBS, float("inf"))
    digests = {}
    with TemporaryDirectory(prefix="endive-") as name:
        place = Path(name)
        sweep = _sweep(place, options)
        for turn in range(min(options.repeat, _MOST_REPEAT)):
            for jobs in _JOBS:
                started_s, used_s = time.perf_counter(), _all_cpu_s()
                result = run_sweep(sweep, place / f"{jobs}-{turn}", jobs=jobs)
                wall_s[jobs] = min(wall_s[jobs], time.perf_counter() - started_s)
                cpu_s[jobs] = min(cpu_s[jobs], _all_cpu_s() - used_s)
                digests[jobs] = result.digests()
    if digests[1] != digests[2]:
        raise DisagreementError("sweep: one process and two do not bring the same digests")
    figures = {f"wall_{jobs}_s": wall_s[jobs] for jobs in _JOBS}
    figures |= {f"cpu_{jobs}_s": cpu_s[jobs] for jobs in _JOBS}
    return [
        Row(
            "sweep",
            "16 cells on two processes, speed against one",
            wall_s[1] / wall_s[2],
            "×",
            Target("≥", 1.7),
            full_size=not options.quick,
            figures=figures,
        ),
        Row(
            "sweep",
            "CPU of 16 cells on two processes against one",
            cpu_s[2] / cpu_s[1],
            "×",
            Target("≤", 1.2),
            full_size=not options.quick,
            figures=figures,
        ),
    ]


def _sweep(place: Path, options: Options) -> Sweep:
    import tomli_w

    # Runs of about two seconds: what starting a process costs is made up for.
    base = spec_example(2.0 * options.scale)
    (place / "base.toml").write_text(tomli_w.dumps(base), "utf-8")
    (place / "sweep.toml").write_text(_SWEEP, "utf-8")
    return read_sweep(place / "sweep.toml")


def _all_cpu_s() -> float:
    """CPU seconds of this process and of those that it has seen end."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
