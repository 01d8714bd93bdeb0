"""A real standalone cluster of Spark on this machine: one master, two workers, all ended when the test is."""

from __future__ import annotations

import contextlib
import os
import re
import site
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from endive.spark import prepare_environment

_PATIENCE_S = 120.0


@dataclass(frozen=True)
class Cluster:
    """Where it is, and the processes that it consists of."""

    url: str
    python: Path
    """The Python of its workers: it has all that Endive needs, and no Endive."""
    workers: tuple[psutil.Process, ...]

    def environment(self) -> dict[str, str]:
        """What a driver needs to know of it."""
        import endive

        return {
            **os.environ,
            "PYTHONPATH": str(Path(endive.__file__).parents[1]),
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }


@contextlib.contextmanager
def running_cluster(place: Path) -> Iterator[Cluster]:
    """Start a cluster with its logs and work below `place`."""
    place.mkdir()
    prepare_environment()
    python = _python_without_endive(place / "python")
    with contextlib.ExitStack() as stack:
        master_log = stack.enter_context(
            _started(place, "master", "--host", "127.0.0.1", "--port", "0")
        )[1]
        url = _told(master_log, r"Starting Spark master at (spark://\S+)")
        workers = [
            stack.enter_context(
                _started(
                    place, f"worker-{number}", "-c", "1", "-m", "1g", "--host", "127.0.0.1", url
                )
            )
            for number in (1, 2)
        ]
        for _, log in workers:
            _told(log, r"(Successfully registered with master)")
        yield Cluster(url, python, tuple(process for process, _ in workers))


@contextlib.contextmanager
def _started(place: Path, name: str, *arguments: str) -> Iterator[tuple[psutil.Process, Path]]:
    """One process of the cluster; with it end all that it started."""
    import pyspark

    home = Path(pyspark.__file__).parent
    kind = "master.Master" if name == "master" else "worker.Worker"
    words = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    if name != "master":
        words[2:2] = ["--work-dir", str(place / name)]
    log = place / f"{name}.log"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {
        "SPARK_HOME": str(home),
        "SPARK_NO_DAEMONIZE": "1",
        # The addresses of everything are told in the log.
        "SPARK_CONF_DIR": str(_talkative(place)),
        "SPARK_DAEMON_JAVA_OPTS": "-Dspark.ui.enabled=false -Dspark.master.ui.port=0 -Dspark.worker.ui.port=0",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with log.open("wb") as out:
        process = psutil.Popen(words, env=environment, stdout=out, stderr=out, cwd=place)
    try:
        yield process, log
    finally:
        family = [*_children(process), process]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(family, timeout=_PATIENCE_S)


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return list(process.children(recursive=True))
    return []


def _talkative(place: Path) -> Path:
    folder = place / "conf"
    folder.mkdir(exist_ok=True)
    (folder / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\nappender.stderr.name = stderr\n"
        "appender.stderr.target = SYSTEM_ERR\nappender.stderr.layout.type = PatternLayout\n"
        "appender.stderr.layout.pattern = %p %c{1}: %m%n\n"
    )
    return folder


def _told(log: Path, pattern: str) -> str:
    """What a process says in its log, as soon as it does."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        found = re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"{log.name} never said {pattern!r}:\n{log.read_text()[-2000:]}")


def _python_without_endive(place: Path) -> Path:
    """This Python with these packages, in an environment that knows nothing of Endive."""
    venv.create(place, symlinks=True)
    (packages,) = (place / "lib").glob("python*/site-packages")
    # A folder that is named in a .pth file is searched, but its own .pth files, like that of a checkout, are not read.
    folders = [folder for folder in site.getsitepackages() if Path(folder).is_dir()]
    (packages / "borrowed.pth").write_text("\n".join(folders) + "\n", encoding="utf-8")
    python = place / "bin" / "python"
    done = subprocess.run(
        [python, "-I", "-c", "import numpy, pyspark, endive.errors"],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
    )
    assert "No module named 'endive" in done.stderr, done.stderr
    return python
