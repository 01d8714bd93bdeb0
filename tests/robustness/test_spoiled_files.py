"""Whatever is in a file, it is read or refused in words: no traceback, ten seconds and a gigabyte at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from robustness.readers import READERS, Reader
from robustness.spoiling import spoil

_HERE = Path(__file__).parent
_FEW, _MANY = 60, 3000
_NAMES = [reader.name for reader in READERS]


def _fed(name: str, files: int, seed: int, place: Path) -> dict[str, object]:
    paths = [str(_HERE), str(_HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(_HERE / "feeding.py"), name, str(files), str(seed), str(place)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", _NAMES)
def test_a_few_spoiled_files_do_no_harm(name: str, tmp_path: Path) -> None:
    found = _fed(name, _FEW, 1, tmp_path)
    assert found["harm"] == []
    # Harms that were never noticed would show that nothing was harmed.
    assert int(str(found["refused"])) > _FEW / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_thousands_of_spoiled_files_do_no_harm(name: str, tmp_path: Path) -> None:
    found = _fed(name, _MANY, 2, tmp_path)
    assert found["harm"] == []
    assert int(str(found["refused"])) > _MANY / 4


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=_NAMES)
def test_the_command_ends_with_an_exit_code_and_no_traceback(
    reader: Reader, tmp_path: Path
) -> None:
    samples = reader.samples(tmp_path)
    for number in range(25):
        rng = np.random.RandomState([3, number])
        path = tmp_path / f"spoiled{reader.suffix}"
        path.write_bytes(spoil(samples[rng.randint(len(samples))], rng))
        done = subprocess.run(
            [sys.executable, "-m", "endive.main", *reader.verb(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (0, 1, 2, 3), done.stderr[-2000:]
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.strip()
