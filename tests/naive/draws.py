"""Every random draw of a naive run: streams, distributions, selectors, the plan of a transaction.

The draw protocol is MODEL.md 2. Values are drawn one at a time, in the order they are needed.
"""

import math
from dataclasses import dataclass

import numpy as np

from .config import Distribution, SelectorSettings, Settings


class Streams:
    """The eight streams of one seed, one per purpose, in the order the protocol names them."""

    def __init__(self, seed: int) -> None:
        children = np.random.SeedSequence(seed).spawn(8)
        streams = [np.random.RandomState(np.random.MT19937(child)) for child in children]
        self.arrival, self.runtime, self.operation, self.table = streams[:4]
        self.partition, self.storage, self.conflict, self.backoff = streams[4:]


def normal_cdf(z: float) -> float:
    """The normal distribution function, by erfc so that the lower tail keeps its digits."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def sample_ms(
    distribution: Distribution,
    normals: np.random.RandomState,
    floor_ms: float,
    size_bytes: int = 0,
) -> float:
    """One value of a distribution, raised to the floor; every kind but `fixed` takes one normal."""
    kind = distribution["distribution"]
    if kind == "fixed":
        return max(floor_ms, float(distribution["value"]))
    z = float(normals.standard_normal())
    if kind == "lognormal":
        sigma = distribution["sigma"]
        if "median" in distribution:
            mu = math.log(distribution["median"])
        else:
            mu = math.log(distribution["mean"]) - sigma**2 / 2.0
        value_ms = math.exp(mu + sigma * z)
    elif kind == "normal":
        value_ms = distribution["mean"] + distribution["std_dev"] * z
    elif kind == "exponential":
        # 1 - cdf(z) equals cdf(-z), which keeps its digits where the subtraction would lose them.
        value_ms = -distribution["scale"] * math.log(normal_cdf(-z))
    elif kind == "uniform":
        low, high = distribution["low"], distribution["high"]
        value_ms = low + (high - low) * normal_cdf(z)
    elif kind == "size_based":
        median_ms = distribution["base"] + distribution["per_mib"] * size_bytes / 2**20
        value_ms = math.exp(math.log(median_ms) + distribution["sigma"] * z)
    else:
        raise ValueError(f"unknown distribution {kind!r}")
    return max(floor_ms, value_ms)


def choose_written(
    selector: SelectorSettings, count: int, total: int, uniforms: np.random.RandomState
) -> list[int]:
    """The items written out of `count` distinct ones chosen among 0..total-1."""
    if count > total:
        raise ValueError(f"cannot choose {count} distinct items out of {total}")
    if selector.kind == "uniform":
        chosen = _choose_uniform(count, total, uniforms)
    elif selector.kind == "zipf":
        chosen = _choose_zipf(count, total, selector.alpha, uniforms)
    else:
        raise ValueError(f"unknown selector {selector.kind!r}")
    written_count = max(1, math.floor(count * selector.write_fraction + 0.5))
    return chosen[:written_count]


def _choose_uniform(count: int, total: int, uniforms: np.random.RandomState) -> list[int]:
    items = list(range(total))
    for i in range(count):
        j = i + math.floor(float(uniforms.random_sample()) * (total - i))
        items[i], items[j] = items[j], items[i]
    return items[:count]


def _choose_zipf(
    count: int, total: int, alpha: float, uniforms: np.random.RandomState
) -> list[int]:
    weights = [(k + 1) ** -alpha for k in range(total)]
    weight_sum = sum(weights)
    chosen: list[int] = []
    while len(chosen) < count:
        u = float(uniforms.random_sample())
        # Rounding may leave the whole sum a hair below 1; a u beyond it belongs to the last item.
        item = total - 1
        cumulative = 0.0
        for k in range(total):
            cumulative += weights[k] / weight_sum
            if cumulative > u:
                item = k
                break
        if item not in chosen:
            chosen.append(item)
    return chosen


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """What a transaction is from birth: all it draws before it starts.

    `partitions_written` is None where partitions are not tracked.
    """

    runtime_ms: float
    operation_type: str
    tables_written: tuple[int, ...]
    partitions_written: dict[int, list[int]] | None


def draw_inter_arrival_ms(settings: Settings, streams: Streams) -> float:
    """The delay between one arrival and the next."""
    return sample_ms(settings.transaction.inter_arrival, streams.arrival, floor_ms=0.0)


def draw_plan(settings: Settings, streams: Streams) -> TransactionPlan:
    """Draw runtime, operation, tables and partitions of the next transaction."""
    txn = settings.transaction
    # The floor belongs to the distribution; the minimum is added to what comes out of it.
    runtime_ms = sample_ms(txn.runtime, streams.runtime, floor_ms=0.0) + txn.runtime_min_ms
    operation_type = _draw_operation_type(settings, streams)
    partitions_per_table = settings.catalog.partitions_per_table
    tables = choose_written(
        txn.table_selector, txn.tables_per_txn, len(partitions_per_table), streams.table
    )
    tables_written = tuple(sorted(tables))
    partitions_written: dict[int, list[int]] | None = None
    if settings.catalog.tracks_partitions:
        partitions_written = {}
        for table_id in tables_written:
            partitions_written[table_id] = choose_written(
                txn.partition_selector,
                txn.partitions_per_txn,
                partitions_per_table[table_id],
                streams.partition,
            )
    return TransactionPlan(runtime_ms, operation_type, tables_written, partitions_written)


def _draw_operation_type(settings: Settings, streams: Streams) -> str:
    fast = settings.transaction.fast_append_weight
    merge = settings.transaction.merge_append_weight
    weight_sum = fast + merge + settings.transaction.validated_overwrite_weight
    u = float(streams.operation.random_sample())
    if u < fast / weight_sum:
        return "fast_append"
    if u < (fast + merge) / weight_sum:
        return "merge_append"
    return "validated_overwrite"
