"""Spark: the one place where a session is made, and where Endive's code is sent to workers and its tasks are handed out.

pyspark is imported when a session is asked for and not before: verbs that need no Spark start without it and without Java.
"""

from endive.spark.session import (
    JAVA_NEEDED,
    LOCAL,
    SparkUnavailableError,
    active_session,
    find_java,
    is_on_this_machine,
    java_version,
    prepare_environment,
    spark_session,
    start_session,
)
from endive.spark.tasks import TaskLost, on_workers

__all__ = [
    "JAVA_NEEDED",
    "LOCAL",
    "SparkUnavailableError",
    "TaskLost",
    "active_session",
    "find_java",
    "is_on_this_machine",
    "java_version",
    "on_workers",
    "prepare_environment",
    "spark_session",
    "start_session",
]
