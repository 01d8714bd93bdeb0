"""A waiver accepts one difference, as it was found, until it expires; anything else about it fails."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from fidelity_evidence import all_shipped, context_of

from endive.errors import InputError
from endive.fidelity.judging import judge
from endive.fidelity.making import LIBRARIES
from endive.fidelity.model import Finding, Row, Verdict
from endive.fidelity.report import make_report
from endive.fidelity.waivers import (
    SHIPPED,
    Settled,
    Waiver,
    as_waiver,
    load_waivers,
    parse_waivers,
    settle,
)
from endive.oracle.measurement import load_measurement, measured_file

_TODAY = dt.date(2026, 11, 18)
_MODEL = "model:spec-2.0"
_WAIVERS = """
waivers:
  - rows: [retry_costs.refresh.fast_append]
    sources: ["model:spec-2.0"]
    where: [overlap]
    found: nothing
    reason: It is so.
    reference: A document, §1
    expires: "2026-12-31"
"""


def _row(*findings: Finding, id: str = "retry_costs.refresh.fast_append") -> Row:
    return Row(id, "retry_costs", "t", "§2.1", 88, {"FastAppend": "1 read"}, findings)


def _finding(found: str = "nothing", verdict: Verdict = Verdict.DEVIATES) -> Finding:
    return Finding(_MODEL, "overlap", verdict, "1 metadata read", found)


def _waivers(text: str = _WAIVERS) -> tuple[Waiver, ...]:
    return parse_waivers(text, "waivers.yaml")


def _settled(
    row: Row, waivers: tuple[Waiver, ...] | None = None, today: dt.date = _TODAY
) -> Settled:
    return settle([row], _waivers() if waivers is None else waivers, today, [_MODEL])


def test_a_difference_as_it_was_found_is_accepted() -> None:
    settled = _settled(_row(_finding()))
    assert list(settled.accepted) == [("retry_costs.refresh.fast_append", _MODEL, "overlap")]
    assert settled.misuses == ()


def test_another_difference_in_the_same_place_is_not() -> None:
    settled = _settled(_row(_finding("2 metadata reads")))
    assert not settled.accepted
    assert [misuse.kind for misuse in settled.misuses] == ["unused"]
    assert "'nothing'" in settled.misuses[0].words
    assert "'2 metadata reads'" in settled.misuses[0].words


def test_a_waiver_of_what_is_no_difference_any_more_is_unused() -> None:
    settled = _settled(_row(_finding("1 metadata read", Verdict.MATCH)))
    assert [misuse.kind for misuse in settled.misuses] == ["unused"]


def test_a_waiver_of_a_row_that_does_not_exist_is_unused() -> None:
    settled = _settled(_row(_finding(), id="retry_costs.refresh.merge_append"))
    assert not settled.accepted
    assert [misuse.kind for misuse in settled.misuses] == ["unused"]


def test_on_its_last_day_a_waiver_holds_and_on_the_next_it_does_not() -> None:
    assert _settled(_row(_finding()), today=dt.date(2026, 12, 31)).accepted
    settled = _settled(_row(_finding()), today=dt.date(2027, 1, 1))
    assert not settled.accepted
    assert [misuse.kind for misuse in settled.misuses] == ["expired"]


def test_columns_that_were_not_asked_for_leave_their_waivers_alone() -> None:
    assert settle([_row()], _waivers(), _TODAY, []).misuses == ()
    not_run = replace(_finding("not run", Verdict.NOT_RUN), where="")
    assert _settled(_row(not_run)).misuses == ()


def test_the_entry_that_is_offered_lacks_only_what_a_person_must_say() -> None:
    offered = as_waiver(_row(_finding()), _finding())
    filled = (
        offered.replace("reason:", "reason: why")
        .replace("reference:", "reference: where")
        .replace("expires:", 'expires: "2026-12-31"')
    )
    (waiver,) = _waivers("waivers:\n" + filled)
    assert waiver.accepts(_row(_finding()), _finding())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("    reason: It is so.\n", ""), "waivers.yaml:3: waivers[0].reason: missing"),
        (("found:", "fuond:"), "unknown key"),
        (('"2026-12-31"', '"2026-02-31"'), "'2026-02-31' is no day"),
        (('"2026-12-31"', "soon"), "must be a day like 2027-06-30, not 'soon'"),
        (("[overlap]", "[overlap, overlap]"), "is accepted in line 3 already"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    change: tuple[str, str], message: str
) -> None:
    assert change[0] in _WAIVERS
    with pytest.raises(InputError, match=r"waivers\.yaml:") as error:
        _waivers(_WAIVERS.replace(*change))
    assert message in str(error.value)


def test_the_waivers_that_ship_accept_every_known_difference_and_no_other() -> None:
    measured = {
        name: load_measurement(measured_file(name))
        for name in LIBRARIES
        if measured_file(name).is_file()
    }
    context = context_of(all_shipped(), control="legacy", measured=measured, libraries=LIBRARIES)
    report = make_report(
        judge(context),
        context.sources,
        context.evidence,
        load_waivers(),
        inputs={},
        version="",
        today=_TODAY,
    )
    assert [(row.id, f.source, f.where, f.found) for row, f in report.unwaived()] == []
    assert [misuse.words for misuse in report.settled.misuses] == []
    assert report.lost_controls() == []


def test_every_waiver_that_ships_says_on_what_it_rests() -> None:
    waivers = load_waivers(SHIPPED)
    assert waivers
    for waiver in waivers:
        assert (
            "§" in waiver.reference or "measured" in waiver.reference or "docs/" in waiver.reference
        )
