"""The picture of the maintenance question: share committed against append rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from worked_maintenance import DOCUMENT_RATES, Case, Overwrites
from worked_runs import wilson

# Okabe and Ito's palette, and a marker each: told apart without colour too.
LOOKS = (
    ("iceberg-review", "#D55E00", "o"),
    ("iceberg-java", "#0072B2", "s"),
    ("pyiceberg", "#009E73", "^"),
    ("spec-2.0, partitions not tracked", "#555555", "D"),
    ("iceberg-java, compaction (rewrite_files)", "#CC79A7", "v"),
)


def draw(found: dict[Case, dict[float, Overwrites]], output: Path) -> None:
    """Share committed against append rate, per cost table."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            # The same runs give the same file, byte for byte.
            "svg.hashsalt": "endive",
        }
    )
    figure, axes = plt.subplots(figsize=(8.4, 4.6), facecolor="white")
    for by_rate, (name, colour, marker) in zip(found.values(), LOOKS, strict=True):
        rates = sorted(by_rate)
        counts = [(by_rate[rate].committed, len(by_rate[rate])) for rate in rates]
        shares = np.array([committed / n for committed, n in counts])
        low, high = np.array([wilson(*count) for count in counts]).T
        axes.plot(rates, shares, marker=marker, ms=5, color=colour, label=name)
        axes.vlines(rates, low, high, color=colour, alpha=0.45, linewidth=2.2)
    for rate in DOCUMENT_RATES:
        axes.axvline(rate, color="#BBBBBB", linewidth=0.9, linestyle=":", zorder=0)
    axes.set(xscale="log", ylim=(-0.03, 1.03))
    axes.set_xlabel("appends landing on the table [1/s]; dotted: the rates that were asked about")
    axes.set_ylabel("overwrites that commit within the retry budget")
    ticks = (0.2, 0.5, 1, 2, 5, *DOCUMENT_RATES)
    axes.set_xticks(ticks, [f"{rate:g}" for rate in ticks])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.set_title(
        "By Iceberg's rules, maintenance stops committing near one append a second",
        loc="left",
        fontweight="bold",
    )
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
    # Short handles, so that the legend stays clear of the curve of compaction.
    axes.legend(frameon=False, loc="upper right", fontsize=8, handlelength=1.2, borderaxespad=0.0)
    figure.text(
        0.01,
        0.012,
        "Validated overwrites, unless compaction is named: 3 minutes' work, one every 5 minutes, on S3 Express One Zone; 4 retries\n"
        "within 30 minutes; catalog model: one pointer (CAS). 320 per point below 10/s, 24 from there on; bars: 95 %.",
        fontsize=8,
        color="#444444",
        linespacing=1.5,
    )
    figure.tight_layout(rect=(0.0, 0.085, 1.0, 1.0))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110, metadata={"Date": None} if output.suffix == ".svg" else None)
    print(f"\n{output}")
