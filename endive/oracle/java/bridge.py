"""The JVM in which Iceberg Java runs, and the way back from it into Python."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from endive.errors import EndiveError
from endive.oracle.java.jar import Jar
from endive.spark import active_session, start_session

WORKERS = 4
"""Threads on which Iceberg reads and writes manifests. Counts do not depend on it."""

# A JVM that lives for seconds is better off with code compiled once and quickly.
_JVM_OPTIONS = f"-XX:TieredStopAtLevel=1 -Diceberg.worker.num-threads={WORKERS}"


class WrongJVMError(EndiveError):
    """The JVM of this process cannot load the library."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """The JVM: `java` finds classes by name, `iceberg` those of the library."""

    gateway: Any
    java_version: str
    spark_version: str

    @property
    def java(self) -> Any:
        """All packages of the JVM."""
        return self.gateway.jvm

    @property
    def iceberg(self) -> Any:
        """The packages of Iceberg."""
        return self.gateway.jvm.org.apache.iceberg

    def is_a(self, thing: Any, class_name: str) -> bool:
        """Whether a Java object is of a class; attributes say nothing, for it seems to have all of them."""
        from py4j.java_gateway import is_instance_of

        return bool(is_instance_of(self.gateway, thing, class_name))

    def a_list(self, things: Sequence[Any]) -> Any:
        """A Java list of Java objects."""
        made = self.java.java.util.ArrayList()
        for thing in things:
            made.add(thing)
        return made

    def a_map(self, entries: dict[Any, Any]) -> Any:
        """A Java map."""
        made = self.java.java.util.HashMap()
        for key, value in entries.items():
            made.put(key, value)
        return made

    def lost_swap(self, reason: str) -> Exception:
        """What a callback raises so that Iceberg sees its own exception for a lost swap, and tries again."""
        from py4j.protocol import Py4JJavaError

        nothing = self.gateway.new_array(self.java.java.lang.Object, 0)
        lost: Exception = Py4JJavaError(
            reason, self.iceberg.exceptions.CommitFailedException(reason, nothing)
        )
        return lost


@contextmanager
def open_bridge(jar: Jar) -> Iterator[Bridge]:
    """Start a JVM with the jar, and the server through which it calls Python; both end with the block."""
    if active_session() is not None:
        raise WrongJVMError(
            "a Spark session is under way in this process, and its JVM started without Iceberg's jar; "
            "measure in a process of its own: endive oracle iceberg-java"
        )
    log = logging.getLogger("py4j")
    level = log.level
    # Lost swaps are raised on purpose, and py4j would tell each of them with a traceback.
    log.setLevel(logging.CRITICAL + 1)
    session = start_session(
        "endive-oracle-iceberg-java",
        master="local[1]",
        conf={
            "spark.jars": str(jar.path.resolve()),
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": _JVM_OPTIONS,
        },
    )
    gateway: Any = session.sparkContext._gateway
    try:
        _listen(gateway)
        yield Bridge(
            gateway, str(gateway.jvm.java.lang.System.getProperty("java.version")), session.version
        )
    finally:
        _hang_up(gateway)
        session.stop()
        log.setLevel(level)


def _listen(gateway: Any) -> None:
    from pyspark import java_gateway

    start: Any = java_gateway.ensure_callback_server_started
    # Without it Java would see an exception of py4j's own, and Iceberg's retry loop would end at the first lost swap.
    gateway.callback_server_parameters.propagate_java_exceptions = True
    start(gateway)


def _hang_up(gateway: Any) -> None:
    # py4j closes the stream of a connection before its socket, and waits forever if another thread is reading there.
    for connection in list(gateway._callback_server.connections):
        with suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)
    gateway.shutdown_callback_server()
