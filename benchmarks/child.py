"""What is measured in a process of its own: `python -m benchmarks.child TASK ARGUMENT`, JSON in and out."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.measure import cpu_s, peak_rss_mib


def main(task: str, argument: dict[str, Any]) -> dict[str, float]:
    """Do one task and return its figures."""
    # Only what the task needs is imported, because the memory of this process is what is measured.
    if task == "simulate":
        from benchmarks.engines import endive_run

        used_s = cpu_s(endive_run(argument["config"]))
        return {"cpu_s": used_s, "peak_rss_mib": peak_rss_mib()}
    if task == "parquet-speed":
        from benchmarks.parquet import measure_speed

        return measure_speed(argument["rows"], argument["repeat"])
    if task == "parquet-memory":
        from benchmarks.parquet import measure_memory

        return measure_memory(argument["rows"])
    if task == "pipeline-tree":
        from benchmarks.pipeline import write_tree

        return write_tree(argument["rows"], argument["place"])
    if task == "pipeline-consolidate":
        from benchmarks.pipeline import consolidate_tree

        return consolidate_tree(argument["place"])
    if task == "pipeline-tables":
        from benchmarks.pipeline import aggregate

        return aggregate(argument["place"], bool(argument["percentiles"]))
    raise ValueError(f"no such task: {task!r}")


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))
