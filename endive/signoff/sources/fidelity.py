"""The fidelity report as evidence: each of its rows, with what every judged source was found to do."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from endive.fidelity.document import as_document
from endive.fidelity.making import Request, columns_of, make, plan
from endive.fidelity.waivers import SHIPPED, load_waivers
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict

_CONTROL = "control"
_OPEN = {"unknown": Verdict.UNKNOWN, "not run": Verdict.NOT_RUN}
_DIFFERENT = {"deviates", "not modelled"}
_WORST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN, Verdict.WAIVED, Verdict.PASS)


class Fidelity:
    """Makes the report."""

    kind = "fidelity"

    def __init__(self, today: str) -> None:
        self._today = dt.date.fromisoformat(today)

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every row, and the report as a whole."""
        return iter(self._made())

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some rows; they are judged from one set of runs, which is made as a whole."""
        wanted = {f"{self.kind}/{name}" for name in names}
        return (each for each in self._made() if each.id in wanted)

    def _made(self) -> list[Evidence]:
        with tempfile.TemporaryDirectory(prefix="endive-signoff-") as place:
            request = Request(
                out=Path(place),
                tables=(),
                runs=None,
                waivers=load_waivers(SHIPPED),
                waivers_text=SHIPPED.read_text(encoding="utf-8"),
                today=self._today,
                jobs=2,
                master=None,
            )
            columns = columns_of(request)
            report, _ = make(request, columns, plan(request, columns), None)
        document = as_document(report)
        judged = {each["id"] for each in document["sources"] if each["kind"] != _CONTROL}
        found = [_row(row, judged) for row in document["rows"]]
        return [*found, _whole(document)]


def _row(row: Mapping[str, Any], judged: set[str]) -> Evidence:
    said = [each for each in row["findings"] if each["source"] in judged]
    verdicts = {_verdict(each) for each in said}
    worst = next(verdict for verdict in _WORST if verdict in verdicts or verdict is Verdict.PASS)
    bad = [each for each in said if _verdict(each) not in (Verdict.PASS, Verdict.WAIVED)]
    return Evidence(
        f"fidelity/{row['id']}",
        worst,
        {
            "findings": [
                {name: each[name] for name in ("source", "where", "verdict", "claimed", "found")}
                for each in said
            ]
        },
        "; ".join(f"{each['source']} {each['where']}: {each['found']}" for each in bad[:3]),
    )


def _verdict(finding: Mapping[str, Any]) -> Verdict:
    word = finding["verdict"]
    if word in _OPEN:
        return _OPEN[word]
    if word in _DIFFERENT:
        return Verdict.WAIVED if finding["waiver"] is not None else Verdict.FAIL
    return Verdict.PASS


def _whole(document: Mapping[str, Any]) -> Evidence:
    """What is about the report as a whole: the review's own verdicts, and waivers that nothing needs or that have expired."""
    controls = [
        {"row": each["row"], "wanted": each["wanted"], "found": each["found"]}
        for each in document["controls"]
    ]
    lost = [each["row"] for each in controls if each["wanted"] != each["found"]]
    misuses = [f"{each['kind']} waiver: {each['words']}" for each in document["misuses"]]
    bad = [*(f"control lost: {row}" for row in lost), *misuses]
    verdict = Verdict.FAIL if bad else Verdict.PASS
    return Evidence("fidelity/whole", verdict, {"controls": controls}, "; ".join(bad[:5]))


def accepted() -> list[dict[str, Any]]:
    """The waivers, as a record has them."""
    return [
        {
            "row": ", ".join(waiver.rows),
            "sources": list(waiver.sources),
            "where": list(waiver.where),
            "found": waiver.found,
            "reason": waiver.reason,
            "reference": waiver.reference,
            "expires": waiver.expires.isoformat(),
        }
        for waiver in load_waivers(SHIPPED)
    ]
