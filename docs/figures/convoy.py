"""Draws docs/img/convoy.svg, the I/O convoy, from runs of the simulator made on the spot.

    python docs/figures/convoy.py [OUTPUT.svg|OUTPUT.png]

Left: what catching up with N snapshots costs a validated overwrite, in time, on two stores. Right: how
the time after the work divides as the arrival rate grows. Both show overwrites among fast appends on one
table. Before anything is drawn, every finished overwrite is checked to have read exactly N manifest lists.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from endive.catalog import CatalogSnapshot
from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, SimulationConfig
from endive.transaction import ConflictDetector, Transaction

OUTPUT = Path(__file__).resolve().parents[1] / "img" / "convoy.svg"
SEEDS = (1, 2, 3)
DURATION_MS = 600_000.0
OVERWRITE_SHARE = 0.1
RATES_PER_S = (1, 2, 4, 8, 12, 16, 20)
STORES = {"s3": "S3", "s3x": "S3 Express One Zone"}

# Okabe and Ito's palette stays apart for every kind of colour vision; the greys differ in lightness too.
STORE_COLOURS = {"s3": "#D55E00", "s3x": "#0072B2"}
# Beside the points, which lie along a diagonal: N and seconds.
LABEL_PLACES = {"s3": (8.0, 3.5), "s3x": (200.0, 0.04)}
PARTS = {
    "catalog_read_ms": ("catalog reads", "#56B4E9"),
    "per_attempt_io_ms": ("own manifests, each attempt", "#BBBBBB"),
    "catalog_commit_ms": ("commit calls", "#333333"),
    "conflict_io_ms": ("convoy: history read", "#E69F00"),
}


@dataclass
class CatchUpRecorder(ConflictDetector):
    """Finds no conflict real, and notes how far each asking transaction's snapshot has moved in all.

    It sees the snapshots only, never the counts of what was read, so the two can be compared.
    """

    snapshots_behind: dict[int, int] = field(default_factory=dict)

    def is_real_conflict(
        self,
        txn: Transaction,
        current_snapshot: CatalogSnapshot,
        start_snapshot: CatalogSnapshot,
    ) -> bool:
        """Never; but take note."""
        self.snapshots_behind[txn.txn_id] = current_snapshot.seq - start_snapshot.seq
        return False

    def __deepcopy__(self, _memo: object) -> CatchUpRecorder:
        # A run works on copies of its parts; what is noted must reach the one who asked for it.
        return self


def simulated_overwrites(
    provider: str, rate_per_s: float, runtime: dict[str, object], seed: int
) -> pd.DataFrame:
    """The finished overwrites of one run, with the column `snapshots_behind`."""
    resolved = resolve_config(
        {
            "simulation": {"duration_ms": DURATION_MS},
            "storage": {"provider": provider},
            "catalog": {"num_tables": 1, "type": "cas"},
            "transaction": {
                "runtime": runtime,
                "inter_arrival": {"distribution": "exponential", "scale": 1000.0 / rate_per_s},
                "operation_types": {
                    "fast_append": 1.0 - OVERWRITE_SHARE,
                    "validated_overwrite": OVERWRITE_SHARE,
                },
            },
        }
    )
    built = build_simulation_config(resolved, seed)
    recorder = CatchUpRecorder()
    config = SimulationConfig(
        duration_ms=built.duration_ms,
        seed=built.seed,
        storage_provider=built.storage_provider,
        catalog=built.catalog,
        workload=built.workload,
        conflict_detector=recorder,
        max_retries=built.max_retries,
    )
    rows = Simulation(config).run().to_dataframe()
    is_overwrite = rows["operation_type"] == "validated_overwrite"
    rows = rows[is_overwrite & (rows["status"] != "in_flight")].copy()
    behind = rows["txn_id"].map(recorder.snapshots_behind).fillna(0)
    rows["snapshots_behind"] = behind.astype("int64")
    check_one_list_per_snapshot(rows, f"{provider} at {rate_per_s}/s, seed {seed}")
    return rows


def check_one_list_per_snapshot(rows: pd.DataFrame, run: str) -> None:
    """With one table every lost race overlaps, so reads and snapshots behind must be the same number."""
    wrong = rows[rows["historical_ml_reads"] != rows["snapshots_behind"]]
    if len(wrong):
        first = wrong.iloc[0]
        raise SystemExit(
            f"{run}: transaction {first['txn_id']} was {first['snapshots_behind']} snapshots behind "
            f"and read {first['historical_ml_reads']} manifest lists; the figure would be a lie"
        )


def draw_cost_of_being_late(axes: Axes) -> int:
    """Time spent reading history against N; returns how many overwrites are behind the points."""
    overwrites = 0
    for provider, name in STORES.items():
        runtime: dict[str, object] = {"distribution": "lognormal", "median": 10_000.0, "sigma": 1.5}
        runs = [simulated_overwrites(provider, 4.0, runtime, seed) for seed in SEEDS]
        rows = pd.concat(runs)
        rows = rows[rows["snapshots_behind"] > 0]
        overwrites += len(rows)
        behind, seconds = rows["snapshots_behind"], rows["conflict_io_ms"] / 1000.0
        per_list_ms = 1000.0 * seconds.sum() / behind.sum()
        colour = STORE_COLOURS[provider]
        axes.scatter(behind, seconds, s=9, color=colour, alpha=0.45, linewidths=0)
        axes.annotate(
            f"{name}\n≈ {per_list_ms:.1f} ms per snapshot",
            LABEL_PLACES[provider],
            color=colour,
            fontweight="bold",
            ha="center",
            va="center",
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("snapshots to catch up with, N")
    axes.set_ylabel("time spent reading history [s]")
    axes.set_title("Being N snapshots behind costs N reads", loc="left", fontweight="bold")
    plain = FuncFormatter(lambda value, _: f"{value:,g}")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)
    axes.grid(which="major", color="#E4E4E4", linewidth=0.8)
    return overwrites


def draw_where_time_goes(axes: Axes) -> int:
    """Mean time after the work, by part, for growing rates; returns how many overwrites it is of."""
    runtime: dict[str, object] = {"distribution": "fixed", "value": 10_000.0}
    places = np.arange(len(RATES_PER_S))
    finished = [
        pd.concat([simulated_overwrites("s3x", rate, runtime, seed) for seed in SEEDS])
        for rate in RATES_PER_S
    ]
    base = np.zeros(len(RATES_PER_S))
    for column, (name, colour) in PARTS.items():
        heights = np.array([rows[column].mean() / 1000.0 for rows in finished])
        axes.bar(
            places,
            heights,
            0.72,
            bottom=base,
            color=colour,
            label=name,
            edgecolor="white",
            linewidth=0.6,
        )
        base += heights
    for place, top, rows in zip(places, base, finished, strict=True):
        committed = (rows["status"] == "committed").mean()
        axes.annotate(
            f"{committed:.0%}",
            (place, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            fontweight="bold",
        )
    axes.set_xticks(places, [str(rate) for rate in RATES_PER_S])
    axes.set_xlabel("transactions arriving [1/s]; 9 of 10 are fast appends")
    axes.set_ylabel("mean time after the work [s]")
    axes.set_title("More load, longer convoys, fewer commits", loc="left", fontweight="bold")
    axes.set_ylim(0.0, base.max() * 1.12)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
    handles, labels = axes.get_legend_handles_labels()
    # Listed as stacked: the top one first.
    axes.legend(handles[::-1], labels[::-1], loc="upper left", frameon=False, fontsize=9)
    axes.text(
        0.02,
        0.60,
        "bold: share that commits\nwithin 10 retries",
        transform=axes.transAxes,
        fontsize=9,
        va="top",
    )
    return sum(map(len, finished))


def main(output: Path) -> None:
    """Run, check, draw."""
    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            # The same runs give the same file, byte for byte.
            "svg.hashsalt": "endive",
        }
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.6), facecolor="white")
    checked = draw_cost_of_being_late(left) + draw_where_time_goes(right)
    minutes = DURATION_MS / 60_000.0
    figure.text(
        0.008,
        0.012,
        f"Validated overwrites among fast appends; one table, catalog model: one pointer (CAS); "
        f"{minutes:g} simulated minutes each, seeds {', '.join(map(str, SEEDS))}. Left: 4 arrivals/s,\n"
        f"work lognormal, median 10 s, sigma 1.5. Right: S3 Express One Zone, work 10 s. "
        f"Lists are read 4 at a time. Lists read = N in all {checked:,} overwrites checked.",
        fontsize=8,
        color="#444444",
        linespacing=1.5,
    )
    figure.tight_layout(rect=(0.0, 0.085, 1.0, 1.0), w_pad=2.5)
    output.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if output.suffix == ".svg" else None
    figure.savefig(output, dpi=110, metadata=metadata)
    print(f"{output}: {checked:,} overwrites, each read exactly N manifest lists")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
