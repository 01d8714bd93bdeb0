"""Where the jar of Iceberg Java is found, and what to do where it is not."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from endive.errors import EndiveError, InputError, Problem

GROUP = "org.apache.iceberg"
ARTIFACT = "iceberg-spark-runtime-4.1_2.13"
"""The runtime that pairs with PySpark 4.1."""
VERSION = "1.11.0"
COORDINATES = f"{GROUP}:{ARTIFACT}:{VERSION}"
VARIABLE = "ENDIVE_ICEBERG_JAR"
REQUIRED_VARIABLE = "ENDIVE_REQUIRE_ICEBERG_JAVA"
"""Set to 1, it makes a failure of what is otherwise merely not run."""
FETCH = f"mvn -B dependency:get -Dartifact={COORDINATES} -Dtransitive=false"
"""What puts the jar where it is looked for."""

_MARK = "org/apache/iceberg/BaseTable.class"


class JarMissingError(EndiveError):
    """Nowhere a jar to measure, and what fetches it: nothing was measured, nothing has failed."""


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar with Iceberg in it."""

    path: Path

    def sha256(self) -> str:
        """The digest of the file."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def find_jar(named: str | None = None, environ: Mapping[str, str] = os.environ) -> Jar:
    """The jar that was named, else that of the environment, else that of the local Maven repository."""
    if named is not None:
        return _checked(Path(named), "--jar")
    if told := environ.get(VARIABLE):
        return _checked(Path(told), VARIABLE)
    fetched = local_repository() / f"{ARTIFACT}-{VERSION}.jar"
    if not fetched.is_file():
        raise JarMissingError(
            f"Iceberg Java is not here: no --jar, {VARIABLE} is not set, and the local Maven repository "
            f"has no {COORDINATES}; fetch it with: {FETCH}"
        )
    return _checked(fetched, "")


def local_repository() -> Path:
    """The folder of the local Maven repository that holds the jar."""
    return Path.home().joinpath(".m2", "repository", *GROUP.split("."), ARTIFACT, VERSION)


def _checked(path: Path, key: str) -> Jar:
    if not path.is_file():
        raise InputError([Problem(f"no such file; fetch the jar with: {FETCH}", key, str(path))])
    try:
        with zipfile.ZipFile(path) as archive:
            has_iceberg = _MARK in archive.NameToInfo
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(
            [Problem(f"no jar ({error}); fetch it again: {FETCH}", key, str(path))]
        ) from None
    if not has_iceberg:
        raise InputError(
            [Problem(f"a jar without Iceberg; give {ARTIFACT}-{VERSION}.jar", key, str(path))]
        )
    return Jar(path)
