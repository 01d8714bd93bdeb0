"""One long run in a process of its own; prints how much memory it held on the way, beyond the rows that it has to keep.

python soak.py KIND DAYS
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.results import _ROW
from endive.simulation import Progress, Simulation

_DAY_MS = 86_400_000.0
_TENTHS = 10


def config_of(kind: str, days: float) -> dict[str, Any]:
    """Four tables, a transaction every four seconds, everything that could keep a memory switched on in turn."""
    raw: dict[str, Any] = {
        "simulation": {"duration_ms": days * _DAY_MS},
        "storage": {"provider": "s3x"},
        "catalog": {"num_tables": 4, "partitions": {"num_partitions": 8}},
        "transaction": {
            "runtime": {"mean": 5000, "sigma": 1.0},
            "inter_arrival": {"distribution": "exponential", "scale": 4000.0},
            "operation_types": {
                "fast_append": 0.7,
                "merge_append": 0.2,
                "validated_overwrite": 0.1,
            },
        },
    }
    if kind == "log":
        raw["catalog"]["type"] = "append"
        raw["transaction"] |= {"manifest_list_mode": "append", "manifest_list_append": "offset"}
    elif kind == "growing":
        raw["transaction"]["cost_table"] = "iceberg-java"
        raw["storage"]["size_growth"] = True
    elif kind != "pointer":
        raise ValueError(kind)
    return raw


def resident_bytes() -> int:
    """The memory that this process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmRSS here")


def main(kind: str, days: float) -> None:
    """Run, and look at the memory at every tenth of the time."""
    simulation = Simulation(build_simulation_config(resolve_config(config_of(kind, days)), 1))
    seen: list[tuple[float, int]] = []

    def look(progress: Progress) -> None:
        if progress.now_ms >= len(seen) * progress.duration_ms / _TENTHS:
            gc.collect()
            rows = progress.committed + progress.aborted
            seen.append((progress.now_ms / _DAY_MS, resident_bytes() - rows * _ROW.size))

    statistics = simulation.run(on_progress=look)
    print(json.dumps({"launched": statistics.launched, "beyond_rows": seen}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
