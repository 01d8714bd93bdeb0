"""One Spark session for all tests here, and one worker that runs them all: starting it costs more than most of them.

Tests of clusters start one of their own, of real processes, and drive it from another process: a process has but one session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_cluster import Cluster, running_cluster

from endive.spark import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session(
        "endive-tests",
        master="local[2]",
        conf={
            "spark.driver.memory": "1g",
            "spark.sql.warehouse.dir": "/nonexistent/unused",
            # What runs for seconds is not worth compiling for speed: a third less CPU over all.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
        shuffle_partitions=2,
    )
    yield session
    session.stop()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers whose Python knows no Endive."""
    with running_cluster(tmp_path / "cluster") as running:
        yield running
