"""The real Iceberg Java, measured again: it reads and writes what is kept. It has a JVM of its own, started with its jar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from endive.oracle.comparing import differences
from endive.oracle.java.jar import FETCH, REQUIRED_VARIABLE, JarMissingError, find_jar
from endive.oracle.measurement import load_measured, load_measurement


def endive(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "endive.main", *words],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
        check=False,
    )


def require_jar() -> None:
    """Skip where there is no jar; where one is required its absence is a failure."""
    try:
        find_jar()
    except JarMissingError as error:
        if os.environ.get(REQUIRED_VARIABLE) == "1":
            pytest.fail(f"{REQUIRED_VARIABLE}=1, and yet {error}")
        pytest.skip(f"not run: {error}")


def test_iceberg_java_reads_and_writes_what_is_kept(tmp_path: Path) -> None:
    require_jar()
    done = endive("oracle", "iceberg-java", "--json", "--out", str(tmp_path / "again.json"))
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert document["changed"] == [], "\n".join(document["changed"])
    assert (done.returncode, done.stderr) == (0, "")
    again = load_measurement(tmp_path / "again.json")
    kept = load_measured("iceberg-java")
    assert differences(kept, again) == ()
    if again.version == kept.version:
        assert again.artifact_sha256 == kept.artifact_sha256


def test_without_a_jar_it_is_not_run_and_says_how_to_fetch_it(tmp_path: Path) -> None:
    told = endive("oracle", "iceberg-java", HOME=str(tmp_path), ENDIVE_ICEBERG_JAR="")
    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr.startswith("not run: ")
    assert FETCH in told.stderr
    as_json = endive("oracle", "iceberg-java", "--json", HOME=str(tmp_path), ENDIVE_ICEBERG_JAR="")
    assert as_json.returncode == 3
    assert json.loads(as_json.stdout)["fetch"] == FETCH


def test_a_jar_that_is_none_is_bad_input(tmp_path: Path) -> None:
    told = endive("oracle", "iceberg-java", "--jar", str(tmp_path / "nowhere.jar"))
    assert told.returncode == 2
    assert "nowhere.jar: --jar: no such file; fetch the jar with: mvn" in told.stderr
