"""Every random draw of a naive run: streams, distributions, selectors, the plan of a transaction.

The draw protocol is MODEL.md 2, that of groups MODEL.md 10 and that of classes MODEL.md 13. Values
are drawn one at a time, in the order they are needed.
"""

import math
from dataclasses import dataclass

import numpy as np

from .config import CatalogSettings
from .config_load import ClassSettings, Distribution, SelectorSettings

PURPOSES_PER_CLASS = 5


class ClassStreams:
    """The streams that a class of load has for itself."""

    def __init__(self, streams: list[np.random.RandomState]) -> None:
        self.arrival, self.runtime, self.operation, self.table, self.partition = streams


class Streams:
    """All streams of one seed: those of each class, and three that all classes share."""

    def __init__(self, seed: int, class_count: int = 1) -> None:
        # The first class has the first five of the eight streams that a run without classes has.
        first = [_stream(child) for child in np.random.SeedSequence(seed).spawn(8)]
        self.classes = [ClassStreams(first[:PURPOSES_PER_CLASS])]
        self.storage, self.conflict, self.backoff = first[PURPOSES_PER_CLASS:]
        for class_id in range(1, class_count):
            own = [
                _stream(np.random.SeedSequence(seed, spawn_key=(purpose, class_id)))
                for purpose in range(PURPOSES_PER_CLASS)
            ]
            self.classes.append(ClassStreams(own))


def _stream(sequence: np.random.SeedSequence) -> np.random.RandomState:
    return np.random.RandomState(np.random.MT19937(sequence))


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


def choose(
    selector: SelectorSettings, count: int, total: int, uniforms: np.random.RandomState
) -> list[int]:
    """`count` distinct items among 0..total-1, in the order chosen."""
    if count > total:
        raise ValueError(f"cannot choose {count} distinct items out of {total}")
    if selector.kind == "uniform":
        return _choose_uniform(count, total, uniforms)
    if selector.kind == "zipf":
        return _choose_zipf(count, total, selector.alpha, uniforms)
    raise ValueError(f"unknown selector {selector.kind!r}")


def written_among(selector: SelectorSettings, chosen: list[int]) -> list[int]:
    """The first of the chosen items are written, at least one of them."""
    return chosen[: max(1, math.floor(len(chosen) * selector.write_fraction + 0.5))]


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


def draw_groups(catalog: CatalogSettings, uniforms: np.random.RandomState) -> list[int]:
    """The group of each table; a single group takes no draw."""
    total = len(catalog.partitions_per_table)
    group_of_table = [0] * total
    if catalog.num_groups > 1:
        tables = list(range(total))
        for i in range(total - 1):
            j = i + math.floor(float(uniforms.random_sample()) * (total - i))
            tables[i], tables[j] = tables[j], tables[i]
        for position, table_id in enumerate(tables):
            group_of_table[table_id] = position % catalog.num_groups
    return group_of_table


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """What a transaction is from birth: all it draws before it starts.

    Tables are in ascending order. `partitions_written` is None where partitions are not tracked;
    a table of which the transaction writes partitions of its own only has none listed.
    """

    runtime_ms: float
    operation_type: str
    tables_read: tuple[int, ...]
    tables_written: tuple[int, ...]
    partitions_written: dict[int, list[int]] | None


class Planner:
    """Draws what the transactions of one class are."""

    def __init__(
        self,
        load: ClassSettings,
        streams: ClassStreams,
        catalog: CatalogSettings,
        group_of_table: list[int],
    ) -> None:
        self.load = load
        self.streams = streams
        self.catalog = catalog
        self.group_of_table = group_of_table

    def inter_arrival_ms(self) -> float:
        """The delay between one arrival and the next."""
        return sample_ms(self.load.inter_arrival, self.streams.arrival, floor_ms=0.0)

    def think_ms(self) -> float:
        """How long a client thinks before it submits."""
        return sample_ms(self.load.think_time, self.streams.arrival, floor_ms=0.0)

    def plan(self) -> TransactionPlan:
        """Draw runtime, operation, tables and partitions of the next transaction."""
        # The floor belongs to the distribution; the minimum is added to what comes out of it.
        runtime_ms = sample_ms(self.load.runtime, self.streams.runtime, floor_ms=0.0)
        runtime_ms += self.load.runtime_min_ms
        operation_type = self.operation_type()
        read, written = self.tables()
        return TransactionPlan(runtime_ms, operation_type, read, written, self.partitions(written))

    def operation_type(self) -> str:
        """One u, held against the weights added up one by one."""
        # Added up one by one, as below: `sum` may round differently, and then the last ratio is not 1.
        weight_sum = 0.0
        for weight in self.load.weights.values():
            weight_sum += weight
        u = float(self.streams.operation.random_sample())
        cumulative = 0.0
        for name, weight in self.load.weights.items():
            cumulative += weight
            if u < cumulative / weight_sum:
                return name
        raise AssertionError("the last cumulative weight is the sum, so u is below their ratio")

    def tables(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tables read and, among them, the tables written."""
        count, selector = self.load.tables_per_txn, self.load.table_selector
        total = len(self.catalog.partitions_per_table)
        if self.catalog.num_groups == 1:
            chosen = choose(selector, count, total, self.streams.table)
        else:
            chosen = choose(selector, 1, total, self.streams.table)
            while len(chosen) < count:
                rest = [
                    table_id
                    for table_id in range(total)
                    if self.group_of_table[table_id] == self.group_of_table[chosen[0]]
                    and table_id not in chosen
                ]
                chosen.append(rest[choose(selector, 1, len(rest), self.streams.table)[0]])
        written = written_among(selector, chosen)
        return tuple(sorted(chosen)), tuple(sorted(written))

    def partitions(self, tables_written: tuple[int, ...]) -> dict[int, list[int]] | None:
        """The partitions written of each written table."""
        if not self.catalog.tracks_partitions:
            return None
        probability = self.load.overlap_probability
        if probability is not None:
            u = float(self.streams.partition.random_sample())
            if u >= probability:
                # Partitions of its own: no other transaction has them, so none need be listed.
                return {table_id: [] for table_id in tables_written}
        partitions_written = {}
        selector = self.load.partition_selector
        for table_id in tables_written:
            total = self.catalog.partitions_per_table[table_id]
            chosen = choose(selector, self.load.partitions_per_txn, total, self.streams.partition)
            partitions_written[table_id] = written_among(selector, chosen)
        return partitions_written
