"""The kill matrix as evidence: what the kept file says of every mutant, and a part of it tried once more.

Trying all of them takes long, so the kept matrix is the evidence. It counts only if it speaks of exactly the mutants that there
are now, and if those tried again have the fate that it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from endive.mutants.matrix import all_ids, listen, quiet_runs, try_one
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict

MATRIX = "reports/kill_matrix.json"
LEAST_QUIET = 500
"""In so many generated configurations the unmutated simulator must raise no alarm."""
_AS_IT_SHOULD_BE = {"killed", "survived"}
_SILENCE = "silence"


class Mutants:
    """Tells what becomes of mutants."""

    kind = "mutant"

    def __init__(self, top: Path) -> None:
        self._file = top / MATRIX

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every mutant, as the kept matrix has it."""
        kept = self._kept()
        known = set(all_ids())
        for name in sorted({*kept, *known}):
            if name not in kept:
                yield _missing(name, f"{MATRIX} does not have it; endive mutants makes it anew")
            elif name not in known:
                yield _missing(name, f"{MATRIX} has it, and the code does not; make it anew")
            else:
                yield _evidence(name, kept[name])
        yield self._silence()

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some mutants, tried once more; silence is listened to in as small a part of the runs."""
        known = set(all_ids())
        wanted = [name for name in names if name in known]
        for name, trial in zip(wanted, apply(try_one, wanted), strict=True):
            is_table = name.startswith("table:")
            yield _evidence(name, {"fate": trial.fate} if is_table else _told(trial.as_dict()))
        if _SILENCE in names:
            yield self._listened(apply)

    def _kept(self) -> dict[str, Mapping[str, Any]]:
        document = self._document()
        found: dict[str, Mapping[str, Any]] = {
            each["id"]: _told(each) for each in document.get("mutants", ())
        }
        for name, fate in document.get("table_mutants", {}).items():
            found[name] = {"fate": fate}
        return found

    def _silence(self) -> Evidence:
        document = self._document()
        runs, alarms = document.get("quiet_runs", 0), document.get("false_alarms", {})
        return _quiet(runs, alarms)

    def _listened(self, apply: Apply) -> Evidence:
        kept = self._document().get("quiet_runs", 0)
        # Every tenth generated configuration; the matrix says how many there were in all.
        names = quiet_runs(LEAST_QUIET)[::10]
        alarms = {name: cried for name, cried in apply(listen, names) if cried}
        return _quiet(kept, alarms)

    def _document(self) -> dict[str, Any]:
        try:
            document: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return document


def _told(entry: Mapping[str, Any]) -> dict[str, Any]:
    # A story is for people: it names a command, and no verdict hangs on it.
    return {"fate": entry["fate"], "killed_by": sorted(entry["killed_by"])}


def _evidence(name: str, detail: Mapping[str, Any]) -> Evidence:
    fate = detail["fate"]
    good = fate in _AS_IT_SHOULD_BE
    verdict = Verdict.PASS if good else Verdict.FAIL
    return Evidence(f"mutant/{name}", verdict, detail, "" if good else f"its fate is {fate!r}")


def _missing(name: str, because: str) -> Evidence:
    return Evidence(f"mutant/{name}", Verdict.UNKNOWN, {}, because)


def _quiet(runs: int, alarms: Mapping[str, Any]) -> Evidence:
    enough = runs >= LEAST_QUIET
    verdict = Verdict.FAIL if alarms else Verdict.PASS if enough else Verdict.UNKNOWN
    because = ""
    if alarms:
        because = f"false alarms in {', '.join(sorted(alarms)[:3])}"
    elif not enough:
        because = f"listened to {runs} runs, and {LEAST_QUIET} are asked for; endive mutants --quiet-check {LEAST_QUIET}"
    return Evidence(f"mutant/{_SILENCE}", verdict, {"runs": runs, "alarms": len(alarms)}, because)
