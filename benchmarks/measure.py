"""Measuring: CPU time in turns, and work in a process of its own where memory or start-up counts."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_DEFAULT_REPEAT = 5
_QUICK_SCALE = 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """How thoroughly to measure."""

    repeat: int = _DEFAULT_REPEAT
    quick: bool = False

    @property
    def scale(self) -> float:
        """The share of the full size that is run."""
        return _QUICK_SCALE if self.quick else 1.0


@dataclass(frozen=True, slots=True)
class Contender:
    """Work to be timed, and in how many of the turns it takes part."""

    work: Callable[[], object]
    repeat: int


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of this process, all threads and the system's share included."""
    # What others left behind is not collected at this one's expense.
    gc.collect()
    started_s = time.process_time()
    work()
    return time.process_time() - started_s


def best_in_turns(contenders: Mapping[str, Contender]) -> dict[str, float]:
    """The least CPU seconds of each contender; they take turns, so that a slow spell meets all."""
    best_s = dict.fromkeys(contenders, float("inf"))
    for turn in range(max(contender.repeat for contender in contenders.values())):
        for name, contender in contenders.items():
            if turn < contender.repeat:
                best_s[name] = min(best_s[name], cpu_s(contender.work))
    return best_s


def rss_mib() -> float:
    """The memory this process holds now, in MiB."""
    return _status_mib("VmRSS") or _max_rss_mib()


def peak_rss_mib() -> float:
    """The most memory this process has held, in MiB.

    On Linux `ru_maxrss` survives exec: a child begins with the peak of whoever started it. The
    high-water mark of the address space does not.
    """
    return _status_mib("VmHWM") or _max_rss_mib()


def _max_rss_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes where Linux counts KiB.
    return float(peak) / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


def _status_mib(name: str) -> float | None:
    try:
        status = Path("/proc/self/status").read_text("ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found.group(1)) / 1024.0 if found else None


def in_child(task: str, argument: Mapping[str, Any]) -> dict[str, float]:
    """Do a task of `benchmarks.child` in a fresh process and return the figures it reports."""
    command = [sys.executable, "-m", "benchmarks.child", task, json.dumps(argument)]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def child_cpu_s(arguments: Sequence[str], *, cwd: str) -> float:
    """CPU seconds of `python ARGUMENTS…` from start to exit, with all the processes it started."""
    before_s = _children_cpu_s()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return _children_cpu_s() - before_s


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _environment() -> dict[str, str]:
    # The code beside this file is measured, whatever else may be installed.
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}
