"""The runs in which faults show: small crowds, each with the one feature that its faults need.

Gaps between arrivals are of the size of one storage operation and works are several times as long, so that most commits are
lost at least once. Each run takes a fraction of a second.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from endive.mutants.model import Witness

Config = dict[str, Any]


def exponential(scale_ms: float) -> Config:
    """The table of an exponential distribution."""
    return {"distribution": "exponential", "scale": scale_ms}


_CROWD: Config = {
    "simulation": {"duration_ms": 6_000},
    "storage": {"provider": "s3x"},
    "catalog": {"type": "cas", "num_tables": 2, "partitions": {"num_partitions": 3}},
    "transaction": {
        "retry": 4,
        "partitions_per_txn": 1,
        "runtime": exponential(80),
        "inter_arrival": exponential(30),
        "operation_types": {"fast_append": 1, "merge_append": 1, "validated_overwrite": 1},
        "real_conflict_probability": 0.2,
    },
}


def _crowd(**sections: Mapping[str, Any]) -> Config:
    """The crowd with other keys laid over its sections; None takes a key away."""
    config = copy.deepcopy(_CROWD)
    for section, keys in sections.items():
        for key, value in keys.items():
            if value is None:
                config[section].pop(key, None)
            else:
                config.setdefault(section, {})[key] = value
    return config


_JAVA_OPERATIONS = {"validated_overwrite": 2, "fast_append": 1, "row_delta": 1}
_PLAIN_TABLES = {"partitions": None}
_PLAIN_TXNS = {"partitions_per_txn": None}

CROWD = Witness("crowd", _crowd())
EXPRESS = Witness("express", _crowd(), express_lane=True)
NO_PARTITIONS = Witness("no-partitions", _crowd(catalog=_PLAIN_TABLES, transaction=_PLAIN_TXNS))
EXPRESS_NO_PARTITIONS = Witness(
    "express-no-partitions",
    _crowd(catalog=_PLAIN_TABLES, transaction=_PLAIN_TXNS),
    express_lane=True,
)
TWO_TABLES = Witness(
    "two-tables", _crowd(catalog={"num_tables": 3}, transaction={"tables_per_txn": 2})
)
MANY_TABLES = Witness("many-tables", _crowd(catalog={"num_tables": 8}))
BACKOFF = Witness(
    "backoff",
    _crowd(
        transaction={
            "retry": 8,
            "real_conflict_probability": 0,
            "retry_backoff": {"enabled": True, "base_ms": 5, "max_ms": 40, "jitter": 0.2},
        }
    ),
)
BUDGET = Witness("budget", _crowd(transaction={"retry": 8, "retry_timeout_ms": 250}))
RESTART = Witness(
    "restart",
    _crowd(
        transaction={
            "on_validation_exception": "restart",
            "max_restarts": 2,
            "cost_table": "iceberg-java",
            "operation_types": _JAVA_OPERATIONS,
            "real_conflict_probability": 0.5,
        }
    ),
)
JAVA = Witness(
    "iceberg-java",
    _crowd(transaction={"cost_table": "iceberg-java", "operation_types": _JAVA_OPERATIONS}),
)
MERGING = Witness(
    "merging",
    _crowd(
        catalog={"manifests_per_table": 97},
        transaction={"cost_table": "iceberg-java", "operation_types": {"merge_append": 1}},
    ),
)
LEGACY = Witness("legacy", _crowd(transaction={"cost_table": "legacy"}))
METADATA = Witness("metadata", _crowd(catalog={"table_metadata_inlined": False}))
TABLE_SCOPE = Witness(
    "table-scope",
    _crowd(catalog={"num_tables": 3, "history_scope": "table"}, transaction={"tables_per_txn": 2}),
)
PER_TABLE = Witness("per-table", _crowd(catalog={"conflict_granularity": "table"}))
PER_PARTITION = Witness("per-partition", _crowd(catalog={"conflict_granularity": "partition"}))
SERIALIZABLE = Witness(
    "serializable",
    _crowd(
        catalog={"num_tables": 4, "conflict_granularity": "table"},
        transaction={
            "isolation": "serializable",
            "tables_per_txn": 2,
            "table_selector": {"write_fraction": 0.5},
        },
    ),
)
GROUPS = Witness(
    "groups",
    _crowd(
        catalog={"num_tables": 10, "num_groups": 2, "conflict_granularity": "group"},
        transaction={"tables_per_txn": 2},
    ),
)
BACKGROUND = Witness(
    "background",
    {
        **_crowd(transaction={"inter_arrival": None}),
        "workload": {
            "class": [
                {"name": "mine", "kind": "open", "inter_arrival": exponential(120)},
                {"name": "rivals", "kind": "background", "inter_arrival": exponential(40)},
            ]
        },
    },
)
CLOSED = Witness(
    "closed",
    {
        **_crowd(transaction={"inter_arrival": None}),
        "workload": {
            "class": [
                {"name": "mine", "kind": "open", "inter_arrival": exponential(90)},
                {
                    "name": "clients",
                    "kind": "closed",
                    "clients": 3,
                    "think_time": exponential(40),
                },
            ]
        },
    },
)
LOG = Witness("log", _crowd(catalog={"type": "append"}))
LOG_SEALING = Witness(
    "log-sealing", _crowd(catalog={"type": "append", "compaction_max_entries": 3})
)
LOG_LATEST = Witness(
    "log-latest",
    _crowd(catalog={"type": "append", "append_offset": "latest", "compaction_max_entries": 2}),
)
LOG_SERIALIZABLE = Witness(
    "log-serializable",
    _crowd(
        catalog={"type": "append", "num_tables": 4},
        transaction={
            "isolation": "serializable",
            "tables_per_txn": 2,
            "table_selector": {"write_fraction": 0.5},
        },
    ),
)
ML_PLUS = Witness("ml-plus", _crowd(transaction={"manifest_list_mode": "append"}))
ML_PLUS_OFFSET = Witness(
    "ml-plus-offset",
    _crowd(
        transaction={
            "manifest_list_mode": "append",
            "manifest_list_append": "offset",
            "manifest_list_seal_threshold": 300,
        }
    ),
)
HIGH_FLOOR = Witness(
    "high-floor",
    _crowd(storage={"min_latency_ms": 25, "max_parallel": 2}),
)
OTHER_STORE = Witness(
    "other-store",
    _crowd(transaction={"retry_backoff": {"enabled": True}}),
    other=_crowd(storage={"provider": "azurex"}, transaction={"retry_backoff": {"enabled": True}}),
)
OTHER_CLASS = Witness(
    "other-class",
    _crowd(),
    other={
        **_crowd(transaction={"inter_arrival": None}),
        "workload": {
            "class": [
                {"name": "default", "kind": "open", "inter_arrival": exponential(30)},
                {"name": "ticks", "kind": "periodic", "interval_ms": 150},
            ]
        },
    },
)
TWICE = Witness("twice", _crowd(), other=_crowd())
ELSEWHERE = Witness("elsewhere", _crowd(), elsewhere=True)

WITNESSES: tuple[Witness, ...] = tuple(
    found for found in tuple(globals().values()) if isinstance(found, Witness)
)
"""All of them, each of which the simulator as it is must pass."""
