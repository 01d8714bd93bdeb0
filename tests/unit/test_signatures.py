"""Names and signatures are the specification's (§1–§7): its code blocks, transcribed, are held against the package.

Additions may only be keyword-only, or trailing with a default, so that code written from the specification runs.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from enum import Enum
from typing import Any

import pytest

from endive.results import COLUMNS

_STORAGE = """
@dataclass(frozen=True)
class StorageResult:
    success: bool
    latency_ms: float
    data_size_bytes: int

class LatencyDistribution(ABC):
    @abstractmethod
    def sample(self, rng): ...

class StorageProvider(ABC):
    def __init__(self, rng): ...
    @abstractmethod
    def read(self, key, expected_size_bytes): ...
    @abstractmethod
    def write(self, key, size_bytes): ...
    @abstractmethod
    def cas(self, key, expected_version, size_bytes): ...
    @abstractmethod
    def append(self, key, offset, size_bytes): ...
    @abstractmethod
    def tail_append(self, key, size_bytes): ...
    @property
    def supports_cas(self): ...
    @property
    def supports_append(self): ...
    @property
    def supports_tail_append(self): ...
    @property
    def name(self): ...
    @property
    def min_latency_ms(self): ...

@dataclass(frozen=True)
class LognormalLatency(LatencyDistribution):
    mu: float
    sigma: float
    min_latency_ms: float = 1.0
    @classmethod
    def from_median(cls, median_ms, sigma, min_latency_ms=1.0): ...
    def sample(self, rng): ...

@dataclass(frozen=True)
class SizeBasedLatency(LatencyDistribution):
    base_latency_ms: float
    latency_per_mib_ms: float
    sigma: float
    min_latency_ms: float = 1.0
    def with_size(self, size_bytes): ...
    def sample(self, rng): ...

@dataclass(frozen=True)
class FixedLatency(LatencyDistribution):
    latency_ms: float
    def sample(self, rng): ...

class UnsupportedOperationError(Exception): ...

def create_provider(name, rng, profiles): ...
"""

_CATALOG = """
@dataclass(frozen=True)
class TableMetadata:
    table_id: int
    version: int
    num_partitions: int
    partition_versions: tuple
    def with_version(self, new_version): ...
    def with_partition_version(self, partition_id, new_version): ...

@dataclass(frozen=True)
class CatalogSnapshot:
    seq: int
    tables: tuple
    timestamp_ms: float
    def get_table(self, table_id): ...
    def get_partition_version(self, table_id, partition_id): ...

@dataclass(frozen=True)
class CommitResult:
    success: bool
    latency_ms: float

@dataclass(frozen=True)
class IntentionRecord:
    txn_id: int
    expected_seq: int
    tables_written: dict
    partitions_written: dict = None
    size_bytes: int = 100

class Catalog(ABC):
    @abstractmethod
    def read(self, timestamp_ms=0.0): ...
    @abstractmethod
    def commit(self, expected_seq, writes, timestamp_ms=0.0, intention=None): ...
    @property
    @abstractmethod
    def seq(self): ...

class _WholeCatalog(Catalog):
    def read(self, timestamp_ms=0.0): ...
    def commit(self, expected_seq, writes, timestamp_ms=0.0, intention=None): ...
    seq = property(lambda self: 0)

class CASCatalog(_WholeCatalog):
    def __init__(self, storage, num_tables, partitions_per_table): ...

class AppendCatalog(_WholeCatalog):
    def __init__(self, storage, num_tables, partitions_per_table): ...

class InstantCatalog(_WholeCatalog):
    def __init__(self, num_tables, partitions_per_table, latency_ms=1.0): ...
"""

_TRANSACTION = """
class TransactionStatus(Enum):
    PENDING = auto()
    EXECUTING = auto()
    COMMITTING = auto()
    COMMITTED = auto()
    ABORTED = auto()

@dataclass(frozen=True)
class ConflictCost:
    metadata_reads: int = 0
    manifest_list_reads: int = 0
    manifest_list_writes: int = 0
    historical_ml_reads: int = 0
    manifest_file_reads: int = 0
    manifest_file_writes: int = 0

@dataclass(frozen=True)
class TransactionResult:
    status: TransactionStatus
    txn_id: int
    commit_time_ms: float
    abort_time_ms: float
    abort_reason: str
    total_retries: int
    commit_latency_ms: float
    total_latency_ms: float
    operation_type: str
    runtime_ms: float
    manifest_list_reads: int
    manifest_list_writes: int
    manifest_file_reads: int
    manifest_file_writes: int
    catalog_read_ms: float
    per_attempt_io_ms: float
    conflict_io_ms: float
    catalog_commit_ms: float

class Transaction(ABC):
    def __init__(self, txn_id, submit_time_ms, runtime_ms, tables_written,
                 partitions_written=None): ...
    def execute(self, catalog, storage, conflict_detector, max_retries=10,
                ml_append_mode=False): ...
    @abstractmethod
    def can_have_real_conflict(self): ...
    @abstractmethod
    def should_abort_on_real_conflict(self): ...
    def get_per_attempt_cost(self, ml_append_mode): ...
    @abstractmethod
    def get_conflict_cost(self, n_snapshots_behind, ml_append_mode): ...
    def has_write_overlap(self, old_snapshot, new_snapshot): ...

class _WholeTransaction(Transaction):
    def can_have_real_conflict(self): ...
    def should_abort_on_real_conflict(self): ...
    def get_conflict_cost(self, n_snapshots_behind, ml_append_mode): ...

class FastAppendTransaction(_WholeTransaction):
    operation_type = "fast_append"

class MergeAppendTransaction(_WholeTransaction):
    operation_type = "merge_append"
    def __init__(self, *args, manifests_per_concurrent_commit=1.5, **kwargs): ...

class ValidatedOverwriteTransaction(_WholeTransaction):
    operation_type = "validated_overwrite"

class ConflictDetector(ABC):
    @abstractmethod
    def is_real_conflict(self, txn, current_snapshot, start_snapshot): ...
"""

# §4 shortens the snapshots' names in the second detector; the interface's names are what callers may use.
_CONFLICT_DETECTOR = """
class ConflictDetector(ABC):
    @abstractmethod
    def is_real_conflict(self, txn, current_snapshot, start_snapshot): ...

class ProbabilisticConflictDetector(ConflictDetector):
    def __init__(self, real_conflict_probability, rng=None): ...
    def is_real_conflict(self, txn, current_snapshot, start_snapshot): ...

class PartitionOverlapConflictDetector(ConflictDetector):
    def is_real_conflict(self, txn, current_snapshot, start_snapshot): ...
"""

_WORKLOAD = """
class TableSelector(ABC):
    @abstractmethod
    def select(self, n_tables, total_tables, rng): ...

class UniformTableSelector(TableSelector):
    def select(self, n_tables, total_tables, rng): ...

class ZipfTableSelector(TableSelector):
    def __init__(self, alpha=1.5, write_fraction=1.0): ...
    def select(self, n_tables, total_tables, rng): ...

class PartitionSelector(ABC):
    @abstractmethod
    def select(self, n_partitions, total_partitions, rng): ...

class UniformPartitionSelector(PartitionSelector):
    def select(self, n_partitions, total_partitions, rng): ...

class ZipfPartitionSelector(PartitionSelector):
    def __init__(self, alpha=1.5, write_fraction=1.0): ...
    def select(self, n_partitions, total_partitions, rng): ...

@dataclass(frozen=True)
class WorkloadConfig:
    inter_arrival: object
    runtime: object
    num_tables: int
    partitions_per_table: tuple
    fast_append_weight: float = 0.7
    merge_append_weight: float = 0.2
    validated_overwrite_weight: float = 0.1
    tables_per_txn: int = 1
    table_selector: TableSelector = None
    partitions_per_txn: int = None
    partition_selector: PartitionSelector = None
    manifests_per_concurrent_commit: float = 1.5

class Workload:
    def __init__(self, config, seed=None): ...
    def generate(self): ...
"""

_SIMULATION = """
@dataclass(frozen=True)
class SimulationConfig:
    duration_ms: float
    seed: int
    storage_provider: object
    catalog: object
    workload: object
    conflict_detector: object
    max_retries: int = 10
    ml_append_mode: bool = False
    backoff_enabled: bool = False
    backoff_base_ms: float = 10.0
    backoff_multiplier: float = 2.0
    backoff_max_ms: float = 5000.0
    backoff_jitter: float = 0.1

class Simulation:
    def __init__(self, config): ...
    def run(self): ...
"""

_CONFIG = """
def load_simulation_config(config_path, *, seed_override=None): ...
"""

_UTILS = """
def get_git_sha(): ...
"""

_PRELUDE = """
from __future__ import annotations
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
"""

_BLOCKS = {
    "endive.storage": _STORAGE,
    "endive.catalog": _CATALOG,
    "endive.transaction": _TRANSACTION,
    "endive.conflict_detector": _CONFLICT_DETECTOR,
    "endive.workload": _WORKLOAD,
    "endive.simulation": _SIMULATION,
    "endive.config": _CONFIG,
    "endive.utils": _UTILS,
}


def _stated(module: str) -> dict[str, Any]:
    """What the specification defines in a module, by name."""
    namespace: dict[str, Any] = {"__name__": "builtins"}
    exec(_PRELUDE + _BLOCKS[module], namespace)
    imported = {"annotations", "ABC", "abstractmethod", "dataclass", "Enum", "auto"}
    return {
        name: value
        for name, value in namespace.items()
        if not name.startswith("_") and name not in imported
    }


_CASES = [(module, name) for module in _BLOCKS for name in _stated(module)]
_CLASSES = [(module, name) for module, name in _CASES if isinstance(_stated(module)[name], type)]


def _pair(module: str, name: str) -> tuple[Any, Any]:
    return _stated(module)[name], getattr(importlib.import_module(module), name)


def _assert_same_call(stated: inspect.Signature, shipped: inspect.Signature, place: str) -> None:
    wanted = list(stated.parameters.values())
    found = list(shipped.parameters.values())
    by_name = {parameter.name: parameter for parameter in found}
    named_only = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    positional = [p for p in wanted if p.kind not in named_only]
    assert [p.name for p in found[: len(positional)]] == [p.name for p in positional], place
    for parameter in wanted:
        same = by_name[parameter.name]
        assert (same.kind, same.default) == (parameter.kind, parameter.default), (place, same)
    for parameter in found:
        if parameter.name not in stated.parameters:
            assert parameter.default is not inspect.Parameter.empty, (place, parameter)


def _methods(cls: type) -> dict[str, Any]:
    own = {}
    for base in reversed(cls.__mro__[:-1]):
        for name, value in vars(base).items():
            is_call = inspect.isfunction(value) or isinstance(value, (property, classmethod))
            if is_call and not name.startswith("_"):
                own[name] = value
    return own


@pytest.mark.parametrize(("module", "name"), _CASES)
def test_every_name_of_the_specification_is_where_it_says(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("module", "name"), _CASES)
def test_constructors_and_functions_are_called_as_specified(module: str, name: str) -> None:
    stated, shipped = _pair(module, name)
    if isinstance(stated, type) and (issubclass(stated, (Enum, Exception)) or _is_bare(stated)):
        return
    _assert_same_call(inspect.signature(stated), inspect.signature(shipped), name)


def _is_bare(cls: type) -> bool:
    """Whether the specification gives the class no constructor of its own."""
    return inspect.getattr_static(cls, "__init__") is object.__init__


@pytest.mark.parametrize(("module", "name"), _CLASSES)
def test_methods_and_properties_are_called_as_specified(module: str, name: str) -> None:
    stated, shipped = _pair(module, name)
    for method, value in _methods(stated).items():
        if isinstance(value, property):
            assert isinstance(inspect.getattr_static(shipped, method), property), method
            continue
        _assert_same_call(
            inspect.signature(getattr(stated, method)),
            inspect.signature(getattr(shipped, method)),
            f"{name}.{method}",
        )


@pytest.mark.parametrize(("module", "name"), _CLASSES)
def test_abstract_methods_are_exactly_the_specified_ones(module: str, name: str) -> None:
    stated, shipped = _pair(module, name)
    assert inspect.isabstract(shipped) == inspect.isabstract(stated)
    assert getattr(shipped, "__abstractmethods__", set()) == getattr(
        stated, "__abstractmethods__", set()
    )


@pytest.mark.parametrize(
    ("module", "name"),
    [(m, n) for m, n in _CLASSES if dataclasses.is_dataclass(_stated(m)[n])],
)
def test_dataclasses_have_the_specified_fields_first_and_are_frozen(module: str, name: str) -> None:
    stated, shipped = _pair(module, name)
    wanted = [field.name for field in dataclasses.fields(stated)]
    found = dataclasses.fields(shipped)
    assert [field.name for field in found[: len(wanted)]] == wanted
    for field in found[len(wanted) :]:
        assert field.default is not dataclasses.MISSING, f"{name}.{field.name}"
    value = object.__new__(shipped)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, wanted[0], 1)


def test_statuses_are_the_specified_ones_in_order() -> None:
    stated, shipped = _pair("endive.transaction", "TransactionStatus")
    assert [(s.name, s.value) for s in shipped] == [(s.name, s.value) for s in stated]


@pytest.mark.parametrize(
    ("name", "operation", "real"),
    [
        ("FastAppendTransaction", "fast_append", False),
        ("MergeAppendTransaction", "merge_append", False),
        ("ValidatedOverwriteTransaction", "validated_overwrite", True),
    ],
)
def test_operation_types_answer_as_specified(name: str, operation: str, real: bool) -> None:
    cls = getattr(importlib.import_module("endive.transaction"), name)
    txn = cls(0, 0.0, 1.0, frozenset({0}))
    assert cls.operation_type == operation
    assert txn.can_have_real_conflict() is real
    assert txn.should_abort_on_real_conflict() is real


def test_statistics_has_the_specified_fields_and_methods() -> None:
    from endive.simulation import Statistics

    wanted = [
        "transactions",
        "committed",
        "aborted",
        "total_retries",
        "validation_exceptions",
        "manifest_list_reads",
        "manifest_list_writes",
        "manifest_file_reads",
        "manifest_file_writes",
    ]
    assert [field.name for field in dataclasses.fields(Statistics)][: len(wanted)] == wanted
    assert list(inspect.signature(Statistics.record_transaction).parameters) == ["self", "result"]
    assert list(inspect.signature(Statistics.to_dataframe).parameters) == ["self"]
    assert list(inspect.signature(Statistics.export_parquet).parameters)[:2] == ["self", "path"]


def test_result_columns_are_the_specified_ones_in_order_then_ours() -> None:
    stated = [
        "txn_id",
        "t_submit",
        "t_runtime",
        "t_commit",
        "commit_latency",
        "total_latency",
        "n_retries",
        "status",
        "operation_type",
        "abort_reason",
        "manifest_list_reads",
        "manifest_list_writes",
        "manifest_file_reads",
        "manifest_file_writes",
        "catalog_read_ms",
        "per_attempt_io_ms",
        "conflict_io_ms",
        "catalog_commit_ms",
    ]
    assert list(COLUMNS[: len(stated)]) == stated
    assert len(set(COLUMNS)) == len(COLUMNS)


def test_profiles_are_offered_by_the_configuration() -> None:
    profiles = importlib.import_module("endive.config").PROVIDER_PROFILES
    assert list(profiles) == [
        *("s3", "s3x", "azure", "azurex", "gcp", "instant"),
        *("s3-2025", "s3x-2025"),
    ]


def test_test_helper_makes_a_configuration() -> None:
    assert callable(importlib.import_module("endive.test_utils").create_test_config)
