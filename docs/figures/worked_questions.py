"""Prints every figure of docs/worked_questions.md and draws docs/img/maintenance.svg, from runs made on the spot.

    python docs/figures/worked_questions.py [--quick] [--only PART] [--picture OUTPUT.svg|OUTPUT.png]

Parts: convoy, maintenance, thresholds, saturation. With --quick a few seeds stand in for many, rates end at
100/s, and nothing is drawn. The runs are those of examples/*.toml; where a table varies a key, its heading says which.
"""

from __future__ import annotations

import argparse
import copy
import math
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, Statistics

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "img" / "maintenance.svg"
BUDGET_MS = 1_800_000.0
# Of the runtime and every retry of the convoy examples, this is not spent reading history.
ATTEMPT_MS, SWAP_MS, READ_MS = 60.0, 1.0, 1.0
RIVALS_PER_MS = 0.025

Document = dict[str, Any]


def example(name: str) -> Document:
    """One of the shipped configurations."""
    with (ROOT / "examples" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def run(document: Document, seed: int) -> tuple[Statistics, pd.DataFrame]:
    """One run, with its attempts."""
    config = build_simulation_config(resolve_config(document), seed)
    statistics = Simulation(replace(config, records_attempts=True)).run()
    assert statistics.attempts is not None
    return statistics, statistics.attempts.to_dataframe()


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share; sound at 0 and 1, where the textbook one has no width."""
    z2 = 1.96**2
    share = successes / trials
    middle = share + z2 / (2 * trials)
    half = 1.96 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, (middle - half) / (1 + z2 / trials)), (middle + half) / (1 + z2 / trials)


def percent(successes: int, trials: int) -> str:
    """A share with its interval."""
    low, high = wilson(successes, trials)
    return f"{successes / trials:.0%} ({low:.0%}–{high:.0%})"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table."""
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


# -- the convoy --------------------------------------------------------------------------------------------------------


def print_scripted() -> None:
    """The three attempts of the scripted convoy."""
    statistics, attempts = run(example("convoy_scripted"), seed=1)
    rows = [
        [a.attempt, f"{a.snapshots_behind:,}", f"{a.conflict_io_ms:,.0f}", a.outcome]
        for a in attempts.itertuples()
    ]
    print_table("Scripted convoy", ["attempt", "N", "reading history [ms]", "outcome"], rows)
    print(f"\ncommit latency: {statistics.transactions[0].commit_latency_ms:,.0f} ms")


@dataclass
class ConvoyLaw:
    """What the continuing convoy must give: a Markov chain over N, computed without the simulator."""

    mean_behind: list[float]
    committed_by: list[float]
    mean_latency_ms: float


def convoy_law(retries: int, largest: int = 4600) -> ConvoyLaw:
    """Retry by retry: N lists in batches of 4, then Poisson rivals during the window from look to swap."""
    from scipy.stats import poisson

    behind = np.arange(largest)
    reading_ms = 30.0 * np.ceil(behind / 4)
    # Half a read after the look, then the lists, the manifests, and half a swap.
    window_ms = READ_MS / 2 + reading_ms + ATTEMPT_MS + SWAP_MS / 2
    swap_to_look = poisson.pmf(np.arange(6), RIVALS_PER_MS * (SWAP_MS + READ_MS) / 2)
    alive = poisson.pmf(behind, RIVALS_PER_MS * (150_000.0 + ATTEMPT_MS + SWAP_MS + READ_MS))
    time_ms = alive * (ATTEMPT_MS + SWAP_MS)
    law = ConvoyLaw([], [], 0.0)
    committed = latency_ms = 0.0
    for _ in range(retries):
        law.mean_behind.append(float(alive @ behind / alive.sum()))
        time_ms = time_ms + alive * (READ_MS + reading_ms + ATTEMPT_MS + SWAP_MS)
        wins = np.exp(-RIVALS_PER_MS * window_ms)
        committed += float(alive @ wins)
        latency_ms += float(time_ms @ wins)
        law.committed_by.append(committed)
        next_alive, next_time_ms = np.zeros(largest), np.zeros(largest)
        for window in np.unique(window_ms):
            here = window_ms == window
            landed = poisson.pmf(behind, RIVALS_PER_MS * window)
            landed[0] = 0.0  # a lost swap had a rival
            landed = np.convolve(landed, swap_to_look)[:largest]
            next_alive += alive[here].sum() * landed
            next_time_ms += time_ms[here].sum() * landed
        alive, time_ms = next_alive, next_time_ms
    law.mean_latency_ms = latency_ms / committed
    return law


def one_continuing(seed: int) -> tuple[list[int], bool, float]:
    """N of each retry, whether it committed, and the commit latency."""
    statistics, attempts = run(example("convoy_continuing"), seed)
    (overwrite,) = statistics.transactions
    committed = overwrite.status.name == "COMMITTED"
    return list(attempts["snapshots_behind"])[1:], committed, overwrite.commit_latency_ms


def print_continuing(pool: ProcessPoolExecutor, seeds: int) -> None:
    """Mean N per retry, the share that commits, and how long it takes, beside the law."""
    overwrites = list(pool.map(one_continuing, range(1, seeds + 1), chunksize=4))
    law = convoy_law(10)
    rows = []
    for retry in range(1, 11):
        behind = np.array(
            [series[retry - 1] for series, _, _ in overwrites if len(series) >= retry]
        )
        half = 1.96 * behind.std(ddof=1) / math.sqrt(len(behind))
        done = sum(committed and len(series) <= retry for series, committed, _ in overwrites)
        rows.append(
            [
                retry,
                len(behind),
                f"{behind.mean():,.1f} ± {half:.1f}",
                f"{law.mean_behind[retry - 1]:,.1f}",
                percent(done, seeds),
                f"{law.committed_by[retry - 1]:.1%}",
            ]
        )
    print_table(
        f"Continuing convoy, seeds 1..{seeds}",
        ["retry", "overwrites", "mean N", "law", "committed by then (95 %)", "law"],
        rows,
    )
    latency_s = np.array([ms for _, committed, ms in overwrites if committed]) / 1000
    half = 1.96 * latency_s.std(ddof=1) / math.sqrt(len(latency_s))
    low, median, high = np.quantile(latency_s, [0.05, 0.5, 0.95])
    print(
        f"\ncommit latency of the {len(latency_s)} that commit: mean {latency_s.mean():.2f} ± {half:.2f} s"
        f" (law {law.mean_latency_ms / 1000:.2f}), p5 {low:.2f}, p50 {median:.2f}, p95 {high:.2f} s"
    )
    c_ms, t_ms = ATTEMPT_MS + SWAP_MS + READ_MS, 30.0 / 4
    window_ms = c_ms / (1 - RIVALS_PER_MS * t_ms)
    print(
        f"fixed point without rounding up to batches: W* = {window_ms:.1f} ms, N* = {RIVALS_PER_MS * window_ms:.2f},"
        f" exp(-rate W*) = {math.exp(-RIVALS_PER_MS * window_ms):.1%} per attempt"
    )


# -- maintenance -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What is asked: a cost table on a store, and what differs from the example."""

    table: str
    store: str = "s3x"
    partitions: bool = True
    retries: int | None = None
    max_parallel: int = 4
    runtime_ms: float = 180_000.0
    operation: str = "validated_overwrite"

    def document(self, rate_per_s: float) -> Document:
        """The example with its keys changed."""
        document = copy.deepcopy(example("maintenance_10"))
        maintenance, appends = document["workload"]["class"]
        document["storage"].update(provider=self.store, max_parallel=self.max_parallel)
        document["transaction"]["cost_table"] = self.table
        if self.retries is not None:
            document["transaction"]["retry"] = self.retries
        if not self.partitions:
            del document["catalog"]["partitions"], maintenance["overlap_probability"]
        maintenance["runtime"]["value"] = self.runtime_ms
        maintenance["operation_types"] = {self.operation: 1.0}
        appends["inter_arrival"]["scale"] = 1000.0 / rate_per_s
        return document

    @property
    def says(self) -> str:
        """The case in words."""
        words = [self.table, {"s3x": "S3 Express", "s3": "S3"}[self.store]]
        if self.operation != "validated_overwrite":
            words.append(self.operation)
        if not self.partitions:
            words.append("partitions not tracked")
        if self.retries is not None:
            words.append(f"{self.retries} retries")
        if self.max_parallel != 4:
            words.append(f"{self.max_parallel} reads at a time")
        if self.runtime_ms != 180_000.0:
            words.append(f"work {self.runtime_ms / 1000:g} s")
        return ", ".join(words)


@dataclass
class Overwrites:
    """What became of overwrites."""

    committed: int = 0
    retries_used_up: int = 0
    budget_used_up: int = 0
    preparing_ms: float = 0.0
    snapshots: int = 0
    first_behind: int = 0
    first_ms: float = 0.0

    def __len__(self) -> int:
        return self.committed + self.retries_used_up + self.budget_used_up

    def add(self, other: Overwrites) -> None:
        """Both together."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def one_maintenance(case: Case, rate_per_s: float, seed: int) -> Overwrites:
    """The overwrites of one run. One that has not committed 30 minutes after its first commit call has failed."""
    statistics, attempts = run(case.document(rate_per_s), seed)
    counts = Overwrites()
    for (_, rows), overwrite in zip(
        attempts.groupby("txn_id"), statistics.to_dataframe().itertuples(), strict=True
    ):
        first_call_ms = rows["t_commit_call"].iloc[0]
        if overwrite.status == "committed" and overwrite.t_commit - first_call_ms <= BUDGET_MS:
            counts.committed += 1
        elif overwrite.abort_reason == "max_retries":
            counts.retries_used_up += 1
        else:
            decided_ms = first_call_ms + BUDGET_MS
            if first_call_ms < 0 or decided_ms > statistics.duration_ms:
                raise SystemExit(
                    f"{case.says}, {rate_per_s}/s: the run ends before the budget does"
                )
            counts.budget_used_up += 1
        behind = rows[(rows["snapshots_behind"] > 0) & (rows["outcome"] != "in_flight")]
        preparing_ms = behind["conflict_io_ms"] + behind["per_attempt_io_ms"]
        counts.preparing_ms += preparing_ms.sum()
        counts.snapshots += int(behind["snapshots_behind"].sum())
        if len(behind):
            counts.first_behind += int(behind["snapshots_behind"].iloc[0])
            counts.first_ms += preparing_ms.iloc[0]
    return counts


def maintenance(pool: ProcessPoolExecutor, case: Case, rate_per_s: float, seeds: int) -> Overwrites:
    """The overwrites of many runs."""
    total = Overwrites()
    numbers = range(1, seeds + 1)
    for counts in pool.map(one_maintenance, [case] * seeds, [rate_per_s] * seeds, numbers):
        total.add(counts)
    return total


TABLES = (
    Case("iceberg-review"),
    Case("iceberg-java"),
    Case("pyiceberg"),
    Case("spec-2.0", partitions=False),
    Case("iceberg-java", operation="rewrite_files"),
)
DOCUMENT_RATES = (10, 50, 100, 500)
LOW_RATES = (0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5)


def print_maintenance(
    pool: ProcessPoolExecutor, quick: bool
) -> dict[Case, dict[float, Overwrites]]:
    """The share committed at each rate, per cost table."""
    found: dict[Case, dict[float, Overwrites]] = {}
    rows = []
    for case in TABLES:
        for rate in (
            *LOW_RATES,
            *DOCUMENT_RATES[: 3 if quick else 4],
            *([] if quick else [20, 30]),
        ):
            seeds = 1 if quick else 3 if rate >= 10 else 8
            overwrites = maintenance(pool, case, rate, seeds)
            found.setdefault(case, {})[rate] = overwrites
            if rate in DOCUMENT_RATES or rate in (0.5, 1, 2):
                n = len(overwrites)
                rows.append(
                    [
                        case.says,
                        rate,
                        n,
                        percent(overwrites.committed, n),
                        overwrites.retries_used_up,
                        overwrites.budget_used_up,
                        f"{overwrites.first_behind / n:,.0f}",
                        f"{overwrites.first_ms / n / 1000:,.1f} s",
                    ]
                )
    print_table(
        "Maintenance",
        [
            "costs",
            "appends/s",
            "overwrites",
            "commit within the budget (95 %)",
            "retries used up",
            "budget used up",
            "N at first",
            "to catch up with it",
        ],
        rows,
    )
    return found


def bisect(
    pool: ProcessPoolExecutor, case: Case, is_above: Any, quick: bool
) -> tuple[float, Overwrites]:
    """The lowest rate, to 5 %, at which `is_above` holds of the overwrites, and these."""
    low, high, at_high = 0.05, 200.0, None
    while high / low > (1.3 if quick else 1.05):
        rate = math.sqrt(low * high)
        seeds = 3 if quick or rate >= 5 else 12
        overwrites = maintenance(pool, case, rate, seeds)
        if is_above(overwrites):
            high, at_high = rate, overwrites
        else:
            low = rate
    if at_high is None:
        raise SystemExit(f"{case.says}: no threshold below {high}/s")
    return high, at_high


def threshold_cases(quick: bool) -> Iterator[Case]:
    """What the threshold may depend on."""
    yield from TABLES
    if not quick:
        yield from (replace(case, store="s3") for case in TABLES)
        yield Case("iceberg-review", retries=100)
        yield Case("iceberg-review", max_parallel=64)
        yield Case("iceberg-review", runtime_ms=30_000.0)


def print_thresholds(pool: ProcessPoolExecutor, quick: bool) -> None:
    """The rates at which fewer than half, and none, commit within the budget."""
    rows = []
    for case in threshold_cases(quick):
        half, at_half = bisect(pool, case, lambda o: 2 * o.committed < len(o), quick)
        none, at_none = bisect(pool, case, lambda o: o.committed == 0, quick)
        t_ms = at_half.preparing_ms / at_half.snapshots
        rule = "–"
        if (
            case.table != "spec-2.0"
            and case.operation == "validated_overwrite"
            and case.retries is None
        ):
            # Only Iceberg Java has refreshed before the first call; elsewhere that one is lost for sure.
            chances = 4 + (case.table == "iceberg-java")
            each = 1 - 0.5 ** (1 / chances)
            rule = f"{math.sqrt(-math.log(each) / (t_ms * case.runtime_ms)) * 1000:.2f}"
        rows.append(
            [
                case.says,
                f"{half:.2f}",
                f"{at_half.committed} of {len(at_half)}",
                f"{none:.2f}",
                f"0 of {len(at_none)}",
                f"{t_ms:.1f}",
                rule,
            ]
        )
    print_table(
        "Thresholds, to 5 %",
        [
            "costs",
            "fewer than half from [1/s]",
            "committed there",
            "none from [1/s]",
            "committed there",
            "ms per snapshot",
            "rule of thumb, half [1/s]",
        ],
        rows,
    )


# -- saturation --------------------------------------------------------------------------------------------------------

CONTENDERS: dict[str, Document] = {
    "as in the file": {},
    "metadata in files of its own": {"catalog": {"table_metadata_inlined": False}},
    "spec-2.0": {"transaction": {"cost_table": "spec-2.0"}},
    "10 retries, no backoff": {"transaction": {"retry_preset": None, "retry": 10}},
    "30 retries, no backoff": {"transaction": {"retry_preset": None, "retry": 30}},
    "spec-2.0, 1,000 partitions": {
        "transaction": {"cost_table": "spec-2.0"},
        "catalog": {"partitions": {"num_partitions": 1000}},
    },
}


def one_saturation(changes: Document, offered_per_s: float, seed: int) -> float:
    """Commits per second of a minute, once it is in full swing."""
    document = example("self_contending")
    document["simulation"]["duration_ms"] = 60_000
    document["transaction"]["inter_arrival"]["scale"] = 1000.0 / offered_per_s
    for section, keys in changes.items():
        for key, value in keys.items():
            document[section][key] = value
            if value is None:
                del document[section][key]
    statistics, _ = run(document, seed)
    # The first seconds are left out: nobody can commit before having worked for one.
    commits_ms = [
        t.t_commit for t in statistics.to_dataframe().itertuples() if t.t_commit >= 10_000
    ]
    return len(commits_ms) / 50.0


def print_saturation(pool: ProcessPoolExecutor, quick: bool) -> None:
    """Commits per second of fast appends that contend with each other."""
    seeds = 1 if quick else 3
    offers = (10, 20, 50, 100) if quick else (10, 20, 50, 100, 200)
    rows: list[list[object]] = []
    for name, changes in CONTENDERS.items():
        row: list[object] = [name]
        for offered in offers:
            rates = list(
                pool.map(one_saturation, [changes] * seeds, [offered] * seeds, range(1, seeds + 1))
            )
            spread = f" ± {np.std(rates, ddof=1):.1f}" if seeds > 1 else ""
            row.append(f"{np.mean(rates):.1f}{spread}")
        rows.append(row)
    print_table(
        "Commits per second of self-contending fast appends, by offered rate",
        ["variant", *(f"{offered}/s" for offered in offers)],
        rows,
    )


# -- the picture -------------------------------------------------------------------------------------------------------

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
        "within 30 minutes; catalog model: one pointer (CAS). 64 per point below 10/s, 24 from there on; bars: 95 %.",
        fontsize=8,
        color="#444444",
        linespacing=1.5,
    )
    figure.tight_layout(rect=(0.0, 0.085, 1.0, 1.0))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110, metadata={"Date": None} if output.suffix == ".svg" else None)
    print(f"\n{output}")


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, no picture")
    parser.add_argument("--only", choices=("convoy", "maintenance", "thresholds", "saturation"))
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    quick, only = arguments.quick, arguments.only
    with ProcessPoolExecutor(max_workers=2) as pool:
        if only in (None, "convoy"):
            print_scripted()
            print_continuing(pool, 20 if quick else 2000)
        if only in (None, "maintenance"):
            found = print_maintenance(pool, quick)
            if not quick:
                draw(found, arguments.picture)
        if only in (None, "thresholds"):
            print_thresholds(pool, quick)
        if only in (None, "saturation"):
            print_saturation(pool, quick)


if __name__ == "__main__":
    main()
