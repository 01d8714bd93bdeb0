"""The run of a witness in another process, with the same fault in it: `python -m endive.mutants.elsewhere FILE WITNESS [MUTANT]`.

What a run takes from its process cannot show within one process. The other one hashes strings in another way, has another number,
and finds nothing that this one has left behind. The trace comes back as a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from endive.mutants.model import Witness
from endive.trace import Trace
from endive.trace.files import read_trace, write_trace

_PACKAGE = Path(__file__).resolve().parents[1]


class ElsewhereError(Exception):
    """The other process did not get to the end of its run."""


def run_elsewhere(witness: Witness, mutant_id: str | None = None) -> Trace:
    """The trace of a witness from a fresh process; with a mutant, by its id, with that fault."""
    hash_seed = os.environ.get("PYTHONHASHSEED", "")
    # This process may hash by a seed that nobody knows; if it is known, the other one has another.
    other_seed = int(hash_seed) + 1 if hash_seed.isdecimal() else 1
    paths = (str(_PACKAGE.parent), os.environ.get("PYTHONPATH", ""))
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(other_seed),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "trace.ndjson"
        command = [sys.executable, "-m", __name__, str(file), witness.name]
        done = subprocess.run(
            [*command, *([] if mutant_id is None else [mutant_id])],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["said nothing"])[-1]
            raise ElsewhereError(f"the other process ended with {done.returncode}: {last}")
        return read_trace(file)


def _main(file: str, witness_name: str, mutant_id: str | None = None) -> None:
    from endive.mutants.registry import MUTANTS
    from endive.mutants.trial import header_of, run
    from endive.mutants.witnesses import WITNESSES

    witness = next(each for each in WITNESSES if each.name == witness_name)
    faults = [each.apply for each in MUTANTS if each.id == mutant_id]
    # Made before the fault is, as in the process that asked for this run.
    header = header_of(witness.config, witness.seed)
    with faults[0]() if mutant_id is not None else nullcontext():
        found = run(witness.config, witness.seed, witness.express_lane, header)
    write_trace(found.trace, file)


if __name__ == "__main__":
    _main(*sys.argv[1:])
