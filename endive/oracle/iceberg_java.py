"""Iceberg Java measured: the real library in PySpark's JVM."""

from __future__ import annotations

import platform
from collections.abc import Callable

from endive.oracle.java.bridge import open_bridge
from endive.oracle.java.experiments import experiments, run_experiment
from endive.oracle.java.jar import ARTIFACT, Jar
from endive.oracle.java.tables import Bench
from endive.oracle.measurement import Measurement

NAME = "iceberg-java"
LIBRARY = "Apache Iceberg Java"
COMMAND = "endive oracle iceberg-java"


def steps() -> int:
    """How often `measure` tells of something done."""
    return len(experiments())


def measure(jar: Jar, on_done: Callable[[], None] = lambda: None) -> Measurement:
    """Make all experiments; `on_done` is told of each that is done."""
    cells = []
    with open_bridge(jar) as bridge:
        bench = Bench(bridge)
        version = str(bridge.iceberg.IcebergBuild.version())
        for experiment in experiments():
            cells.append(run_experiment(bench, experiment).cell)
            on_done()
    return Measurement(
        library=LIBRARY,
        version=version,
        artifact_sha256=jar.sha256(),
        command=COMMAND,
        environment={
            "artifact": ARTIFACT,
            "java": bridge.java_version,
            "pyspark": bridge.spark_version,
            "python": platform.python_version(),
        },
        cells=tuple(cells),
    )
