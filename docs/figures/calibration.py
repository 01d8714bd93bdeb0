"""Draws docs/img/calibration.svg: measured failure rate and throughput, and what two models make of them.

    python docs/figures/calibration.py [OUTPUT.svg|OUTPUT.png]

Every point of a model is simulated on the spot, with the profiles of the specification and with the recorded fits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from endive.calibration import Comparison, StoreModel, compare, packaged_file, read_cases
from endive.calibration.data import HELD_OUT, THREADS
from endive.calibration.recorded import packaged_fits
from endive.profiles import load_profiles

OUTPUT = Path(__file__).resolve().parents[1] / "img" / "calibration.svg"
SPECIFIED, FITTED, MEASURED = "#D55E00", "#0072B2", "#222222"
NAMES = {
    "s3": "S3",
    "s3x": "S3 Express",
    "azure": "Azure",
    "azurex": "Azure Premium",
    "gcp": "GCP",
}


def draw_failures(axes: Axes, specified: Comparison, fitted: Comparison) -> None:
    """The share of refused attempts."""
    for compared, colour in ((specified, SPECIFIED), (fitted, FITTED)):
        rates = [100.0 * row.model.failure_rate for row in compared.rows]
        axes.plot(THREADS, rates, color=colour, linewidth=1.4)
    draw_measured(axes, fitted, [100.0 * row.row.failure_rate for row in fitted.rows])
    axes.set_ylim(-4, 100)


def draw_throughput(axes: Axes, specified: Comparison, fitted: Comparison) -> None:
    """Successes per second."""
    for compared, colour in ((specified, SPECIFIED), (fitted, FITTED)):
        axes.plot(
            THREADS, [row.model.ok_per_s for row in compared.rows], color=colour, linewidth=1.4
        )
    draw_measured(axes, fitted, [row.row.ok_per_s for row in fitted.rows])
    axes.set_ylim(bottom=0)


def draw_measured(axes: Axes, fitted: Comparison, values: list[float]) -> None:
    """Points: full where the fit has seen them, hollow where it has not."""
    for row, value in zip(fitted.rows, values, strict=True):
        face = "white" if row.row.threads in HELD_OUT else MEASURED
        axes.plot(
            row.row.threads,
            value,
            marker="o",
            markersize=5,
            color=MEASURED,
            markerfacecolor=face,
            linestyle="none",
            zorder=3,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(THREADS, [str(threads) for threads in THREADS])
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)


def main(output: Path) -> None:
    """Simulate, draw, and save."""
    mpl.rcParams["svg.hashsalt"] = "endive"
    mpl.rcParams["font.size"] = 8
    cases, fits, profiles = read_cases(packaged_file()), packaged_fits(), load_profiles()
    figure, grid = plt.subplots(2, len(cases), figsize=(15, 4.6), layout="constrained")
    for column, case in enumerate(cases):
        specified = compare(case, StoreModel.of_profile(profiles[case.store], case.operation))
        fitted = compare(case, fits[case.store].models[case.operation])
        verdict = "fits" if fitted.is_offered else "does not fit"
        top, bottom = grid[0][column], grid[1][column]
        draw_failures(top, specified, fitted)
        draw_throughput(bottom, specified, fitted)
        top.set_title(f"{NAMES[case.store]} {case.operation.latency}\n{verdict}", fontsize=9)
        bottom.set_xlabel("clients")
        if case.rows[0].is_derived:
            bottom.annotate(
                "worked out", (0.97, 0.05), xycoords="axes fraction", ha="right", fontsize=7
            )
    grid[0][0].set_ylabel("refused, %")
    grid[1][0].set_ylabel("successes per second")
    handles = [
        plt.Line2D(
            [], [], color=MEASURED, marker="o", linestyle="none", label="measured, trained on"
        ),
        plt.Line2D(
            [],
            [],
            color=MEASURED,
            marker="o",
            markerfacecolor="white",
            linestyle="none",
            label="measured, held out",
        ),
        plt.Line2D([], [], color=SPECIFIED, label="specification's profile"),
        plt.Line2D([], [], color=FITTED, label="fitted"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    metadata = {"Date": None} if output.suffix == ".svg" else None
    figure.savefig(output, metadata=metadata, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
