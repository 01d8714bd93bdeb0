"""Names: of the two datasets, and of the columns that consolidation adds to those of the files."""

from __future__ import annotations

from endive.attempts import ATTEMPT_COLUMNS
from endive.results import COLUMNS

TRANSACTIONS = "consolidated.parquet"
"""One row per transaction of every run."""
ATTEMPTS = "consolidated_attempts.parquet"
"""One row per commit attempt of every run that recorded them."""

EXPERIMENT = "experiment"
"""The partition column: the name of the experiment's directory, `<label>-<hash>`."""
RUN_COLUMNS = ("config_hash", "label", "seed", "duration_ms", "code_version")
"""Which run a row is of; the same in both datasets."""
TRANSACTION_COLUMNS = (*COLUMNS, *RUN_COLUMNS)
FROM_TRANSACTION = ("t_submit", "status")
"""What an attempt's row is told of its transaction, so that both are cut to the same window without a join."""
ATTEMPT_KIND = "kind"
"""Whether an attempt is the `first` one since its transaction began or began again, or a `retry`."""
FIRST, RETRY = "first", "retry"
ATTEMPT_ROW_COLUMNS = (*ATTEMPT_COLUMNS, ATTEMPT_KIND, *FROM_TRANSACTION, *RUN_COLUMNS)

ALL = "*"
"""In `class_name` and `operation_type`: over all of them."""
RUN = (EXPERIMENT, "seed")
KIND = ("class_name", "operation_type")

_CONFIG = "cfg_"


def config_column(key: str) -> str:
    """The column of a configuration key: `storage.provider` is in `cfg_storage__provider`."""
    return _CONFIG + key.replace(".", "__")


def config_key(column: str) -> str | None:
    """The configuration key that a column holds; None if it holds none."""
    if not column.startswith(_CONFIG):
        return None
    return column.removeprefix(_CONFIG).replace("__", ".")
