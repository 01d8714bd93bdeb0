"""Where work is done: the options that verbs share which can hand it to processes or to Spark."""

from __future__ import annotations

import argparse

from endive.cli.arguments import jobs


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --engine and what belongs to each engine."""
    parser.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="processes of this machine, or Spark (local)",
    )
    parser.add_argument(
        "--jobs",
        type=jobs,
        metavar="N",
        help="processes of the local engine (all processors)",
    )
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs (local[*]: on this machine)"
    )
    parser.add_argument(
        "--conf",
        action="append",
        type=spark_setting,
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, any number of times",
    )


def check_engine_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what the chosen engine would not look at."""
    from endive.errors import InputError, Problem

    problems = []
    if arguments.engine == "spark" and arguments.jobs is not None:
        message = "is for --engine local; give Spark its width by --master, like local[4]"
        problems.append(Problem(message, key="--jobs"))
    for name in ("master", "conf"):
        if arguments.engine == "local" and getattr(arguments, name):
            message = "is for --engine spark; add that, or remove this"
            problems.append(Problem(message, key=f"--{name}"))
    if problems:
        raise InputError(problems)


def spark_setting(text: str) -> tuple[str, str]:
    """A setting of Spark as it stands on the command line."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is no setting; write it as KEY=VALUE")
    return key.strip(), value
