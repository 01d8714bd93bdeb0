"""Runs one configuration in a process of its own and leaves the trace behind: `python -m endive.scenario.elsewhere TASK TRACE`."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from endive.scenario.running import run, trace_of
from endive.trace.files import write_parquet


def main() -> None:
    """Read the task, make the run, write the trace."""
    asked, answered = map(Path, sys.argv[1:])
    config, seed = pickle.loads(asked.read_bytes())
    write_parquet(trace_of(config, seed, run(config, seed, traced=True)), answered)


if __name__ == "__main__":
    main()
