"""Sweeps on a real standalone cluster: its workers have no Endive of their own, and one of them dies in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from spark_cluster import Cluster
from sweep_files import BASE, SWEEP, leftovers, stored_digests, written

from endive.sweep import read_sweep, run_sweep

pytestmark = pytest.mark.slow

LONGER = BASE.replace("20000", "100000").replace("scale = 100.0", "scale = 40.0")
MANY_SEEDS = SWEEP.replace("1..2", "1..6")


def driver(cluster: Cluster, place: Path) -> subprocess.Popen[str]:
    """A sweep on the cluster, by a process of its own."""
    words = ["sweep", "sweep.toml", "--out", "out", "--engine", "spark", "--json"]
    settings = ["--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1"]
    return subprocess.Popen(
        [sys.executable, "-m", "endive.main", *words, "--master", cluster.url, *settings],
        cwd=place,
        env=cluster.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_results(process: subprocess.Popen[str], out: Path, results: int) -> None:
    while len(list(out.glob("*/*/results.parquet"))) < results:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_a_worker_that_is_killed_in_mid_sweep_changes_no_digest(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = written(tmp_path, MANY_SEEDS, LONGER)
    undisturbed = run_sweep(read_sweep(file), tmp_path / "undisturbed", jobs=1)
    out = tmp_path / "out"

    sweep = driver(cluster, tmp_path)
    wait_for_results(sweep, out, 2)
    # Its executor and its Python go with it: nobody says goodbye.
    victim = cluster.workers[0]
    family = [victim, *victim.children(recursive=True)]
    assert any("CoarseGrainedExecutorBackend" in " ".join(each.cmdline()) for each in family)
    for process in family:
        process.kill()
    told, complaints = sweep.communicate(timeout=600)

    assert sweep.returncode == 0, complaints
    document = json.loads(told)
    assert document["failures"] == []
    assert {
        cell["directory"]: {int(seed): digest for seed, digest in cell["digests"].items()}
        for cell in document["cells"]
    } == undisturbed.digests()
    assert stored_digests(out) == stored_digests(tmp_path / "undisturbed")
    assert leftovers(out) == []


def test_a_driver_that_is_killed_and_started_again_loses_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = written(tmp_path, MANY_SEEDS, LONGER)
    undisturbed = run_sweep(read_sweep(file), tmp_path / "undisturbed", jobs=1)
    out = tmp_path / "out"
    # As many results as there are when it is killed, and a while later.
    random = np.random.RandomState(11)
    for results in (0, 2, 6):
        sweep = driver(cluster, tmp_path)
        wait_for_results(sweep, out, results)
        time.sleep(float(random.uniform(0.0, 2.0)))
        sweep.kill()
        sweep.communicate()
        assert stored_digests(out).items() <= stored_digests(tmp_path / "undisturbed").items()

    sweep = driver(cluster, tmp_path)
    told, complaints = sweep.communicate(timeout=600)

    assert sweep.returncode == 0, complaints
    assert json.loads(told)["skipped"] >= 6
    assert len(undisturbed.outcomes) == 24
    assert stored_digests(out) == stored_digests(tmp_path / "undisturbed")
    assert leftovers(out) == []


def test_two_drivers_on_one_cluster_share_the_work(cluster: Cluster, tmp_path: Path) -> None:
    file = written(tmp_path)
    undisturbed = run_sweep(read_sweep(file), tmp_path / "undisturbed", jobs=1)
    both = [driver(cluster, tmp_path) for _ in range(2)]
    told = [process.communicate(timeout=600) for process in both]

    assert [process.returncode for process in both] == [0, 0], told
    documents = [json.loads(out) for out, _ in told]
    assert sum(document["runs"] - document["skipped"] for document in documents) == 8
    assert len(undisturbed.outcomes) == 8
    assert stored_digests(tmp_path / "out") == stored_digests(tmp_path / "undisturbed")


@pytest.mark.parametrize("master", ["nonsense", "spark://127.0.0.1:1"])
def test_where_no_spark_is_there_is_a_message_and_no_results(master: str, tmp_path: Path) -> None:
    written(tmp_path)
    words = ["sweep", "sweep.toml", "--out", "out", "--engine", "spark", "--master", master]
    done = subprocess.run(
        [sys.executable, "-m", "endive.main", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    complaints = [line for line in done.stderr.splitlines() if line.startswith("endive: ")]
    assert len(complaints) == 1
    assert master in complaints[0]
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "out").rglob("*.parquet"))
