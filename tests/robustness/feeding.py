"""Feeds spoiled files to one reader, in a process of its own, and prints what went wrong.

    python feeding.py READER FILES SEED PLACE

A file may be read or refused in words. Anything else is harm: another exception, more than ten seconds, more than a gigabyte.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

import numpy as np
from readers import READERS, Reader
from spoiling import spoil

from endive.errors import EndiveError

LIMIT_S = 10
LIMIT_BYTES = 2**30


class TooLongError(BaseException):
    """Reading has taken longer than it may; nothing that catches exceptions may swallow it."""


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TooLongError


def feed(reader: Reader, files: int, seed: int, place: Path) -> dict[str, object]:
    """Feed so many files; what came of it."""
    signal.signal(signal.SIGALRM, _ring)
    samples = reader.samples(place)
    path = place / f"spoiled{reader.suffix}"
    counts = {"read": 0, "refused": 0}
    harm: list[str] = []
    for number in range(files):
        rng = np.random.RandomState([seed, number])
        content = spoil(samples[rng.randint(len(samples))], rng)
        path.write_bytes(content)
        signal.alarm(LIMIT_S)
        try:
            reader.read(path)
            counts["read"] += 1
        except EndiveError as error:
            counts["refused"] += 1
            if not str(error).strip():
                harm.append(f"file {number}: refused without a word")
        except TooLongError:
            harm.append(f"file {number}: took more than {LIMIT_S} s")
        except Exception:
            harm.append(f"file {number}: {traceback.format_exc(limit=-4)}")
        finally:
            signal.alarm(0)
        if len(harm) == 5:
            break
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak_bytes > LIMIT_BYTES:
        harm.append(f"held {peak_bytes / 2**20:.0f} MiB")
    return {**counts, "harm": harm, "peak_mib": peak_bytes / 2**20}


if __name__ == "__main__":
    name, count, start, where = sys.argv[1:]
    (chosen,) = (reader for reader in READERS if reader.name == name)
    print(json.dumps(feed(chosen, int(count), int(start), Path(where))))
