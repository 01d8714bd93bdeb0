"""The convoy of the worked questions: as scripted, and continuing, beside the law that it must follow."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from worked_runs import example, percent, print_table, run

# Of the runtime and every retry of the convoy examples, this is not spent reading history.
ATTEMPT_MS, SWAP_MS, READ_MS = 60.0, 1.0, 1.0
RIVALS_PER_MS = 0.025


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
