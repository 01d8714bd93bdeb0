"""A reader that shares no code with ours finds in a trace file what Arrow finds: the file is plain Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from traces import NAMED, named_trace

from endive.trace import write_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_spark_reads_every_row_of_a_trace(spark: SparkSession, tmp_path: Path) -> None:
    for name in NAMED:
        path = tmp_path / f"{name}.parquet"
        write_parquet(named_trace(name), path)
        rows = [row.asDict() for row in spark.read.parquet(str(path)).collect()]
        assert rows == pq.read_table(path).to_pylist()
