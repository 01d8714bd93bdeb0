"""The attempts table: one row per commit attempt, kept in columns (docs/MODEL.md, section 15)."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from endive.transaction import Attempt
from endive.utils import whole_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_KINDS = {field.name: str(field.type) for field in fields(Attempt)}
ATTEMPT_COLUMNS = tuple(_KINDS)


class AttemptLog:
    """Attempts in the order in which they ended."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {
            name: array("q") if kind == "int" else array("d") if kind == "float" else []
            for name, kind in _KINDS.items()
        }
        self._appends = [(name, column.append) for name, column in self._columns.items()]

    def __len__(self) -> int:
        return len(self._columns["txn_id"])

    def add(self, attempt: Attempt) -> None:
        """Keep one."""
        for name, append in self._appends:
            append(getattr(attempt, name))

    def to_arrow(self) -> pa.Table:
        """The table, ordered by transaction and attempt."""
        import numpy as np
        import pyarrow as pa

        arrays = {}
        for name, kind in _KINDS.items():
            column = self._columns[name]
            arrays[name] = (
                pa.array(np.frombuffer(column, dtype="i8" if kind == "int" else "f8"))
                if isinstance(column, array)
                else pa.array(column, pa.string())
            )
        return pa.table(arrays).sort_by([("txn_id", "ascending"), ("attempt", "ascending")])

    def to_dataframe(self) -> pd.DataFrame:
        """The table as a data frame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def write_parquet(
        self, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
    ) -> None:
        """Write the table; the file appears whole or not at all."""
        import pyarrow.parquet as pq

        table = self.to_arrow().replace_schema_metadata(dict(metadata or {}))
        with whole_file(path) as beside:
            pq.write_table(table, beside)
