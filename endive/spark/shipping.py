"""Sends this very code to the workers of a session: they may be on machines that have no Endive, or another one.

Endive reads files of its own, profiles and schemas, by path. So it travels as an archive that each executor unpacks once, not
as a zip on the path of modules; and it says there what it is called here, because an unpacked archive has no history to ask.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from endive.resources import shared_dir
from endive.utils import SHIPPED_SHA, get_git_sha

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).resolve().parents[1]
# Read by path, and packed into a wheel at the same place.
_SHARED = ("schemas",)
_BEGINNING = (1980, 1, 1, 0, 0, 0)

_sent: dict[str, str] = {}


def ship(spark: SparkSession) -> str:
    """Make sure that the workers of a session have this code; returns the name of the folder that it is in there."""
    application = spark.sparkContext.applicationId
    if application not in _sent:
        data = archive()
        name = f"endive-{hashlib.sha256(data).hexdigest()[:12]}"
        # Executors that join late fetch it then, so it stays until this process ends.
        folder = Path(tempfile.mkdtemp(prefix="endive-ship-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        file = folder / f"{name}.zip"
        file.write_bytes(data)
        spark.sparkContext.addArchive(f"{file}#{name}")
        _sent[application] = name
    return _sent[application]


def archive() -> bytes:
    """The package with the files that it reads, as a zip; the same code makes the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in _contents():
            packed.writestr(zipfile.ZipInfo(name, _BEGINNING), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _contents() -> Iterator[tuple[str, bytes]]:
    yield f"endive/{SHIPPED_SHA}", f"{get_git_sha()}\n".encode()
    taken = {SHIPPED_SHA}
    for file in _files(_PACKAGE):
        name = file.relative_to(_PACKAGE).as_posix()
        taken.add(name)
        if name != SHIPPED_SHA:
            yield f"endive/{name}", file.read_bytes()
    for folder in _SHARED:
        place = shared_dir(folder)
        for file in _files(place):
            name = f"_data/{folder}/{file.relative_to(place).as_posix()}"
            if name not in taken:
                yield f"endive/{name}", file.read_bytes()


def _files(place: Path) -> list[Path]:
    return sorted(
        file for file in place.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
