"""What stands on the model card: prose from `prose.yaml`, everything else from where it is defined, measured or kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from endive import __version__
from endive.calibration.data import THREADS
from endive.calibration.profiles import SUFFIX
from endive.cost_model import cost_table_names, load_cost_table
from endive.fidelity.making import LIBRARIES
from endive.fidelity.waivers import SHIPPED, load_waivers
from endive.judge.registry import INVARIANTS, clauses
from endive.laws.registry import LAWS
from endive.model_card.blocks import (
    Block,
    Commands,
    Heading,
    Paragraph,
    Points,
    grid,
)
from endive.oracle.measurement import load_measured, measured_file
from endive.profiles import ProviderProfile, load_fitted_profiles, load_profiles

TITLE = "Model card of Endive"
_PROSE = Path(__file__).with_name("prose.yaml")


def card(top: Path) -> list[Block]:
    """The whole card, from the code as it is and the reports kept in a checkout."""
    return [
        Heading(TITLE, 1),
        Paragraph(
            f"Version {__version__}. Arranged after Sargent's framework for the validation of simulation models: "
            "purpose, conceptual validity, verification, operational validity, data. "
            "Made by `endive model-card`; every figure on it stands where it was made, and can be made again."
        ),
        *_purpose(),
        *_conceptual(),
        *_verification(top),
        *_operational(top),
        *_data(),
        *_region(),
        *_deviations(),
        *_errata(),
        *_again(),
    ]


def _purpose() -> Iterator[Block]:
    prose = _prose()
    yield Heading("Purpose")
    yield Paragraph(_one_line(prose["purpose"]))
    yield Heading("Questions it may answer", 3)
    yield Points(tuple(prose["may_answer"]))
    yield Heading("Questions it may not answer", 3)
    yield Points(tuple(prose["may_not_answer"]))
    yield Heading("How good the answers are", 3)
    yield Paragraph(_one_line(prose["accuracy"]))


def _conceptual() -> Iterator[Block]:
    prose = _prose()
    yield Heading("Conceptual validity")
    yield Paragraph(_one_line(prose["conceptual"]))
    yield Heading("What is modelled", 3)
    yield grid(("aspect", "how", "source"), prose["modelled"])
    yield Heading("What is not", 3)
    yield grid(("aspect", "what follows"), prose["not_modelled"])
    yield Heading("What a commit costs", 3)
    tables = [load_cost_table(name) for name in cost_table_names()]
    yield grid(
        ("cost table", "says", "source"),
        [(table.name, _one_line(table.summary), _one_line(table.source)) for table in tables],
    )


def _verification(top: Path) -> Iterator[Block]:
    yield Heading("Verification: the code does what the model says")
    yield Paragraph(_one_line(_prose()["verification"]))
    yield grid(
        ("clause", "invariants", "which"),
        [
            (clause, len(each), ", ".join(invariant.id for invariant in each))
            for clause, each in clauses().items()
        ],
        numbers=[1],
    )
    matrix = _kept(top, "reports/kill_matrix.json")
    if matrix:
        fates = ", ".join(f"{count} {fate}" for fate, count in matrix["fates"].items())
        total = len(matrix["mutants"]) + len(matrix["table_mutants"])
        yield Paragraph(
            f"{len(INVARIANTS)} invariants. Of {total} mutants: {fates} (those that survive change nothing that anybody could see). "
            f"The unmutated simulator raised {len(matrix['false_alarms'])} alarms in {matrix['quiet_runs']} generated runs."
        )


def _operational(top: Path) -> Iterator[Block]:
    yield Heading("Operational validity: what comes out is right")
    yield Heading("Closed forms", 3)
    yield Paragraph(
        "Each is held against runs with intervals that would notice an error of 5 %; `endive laws` shows all rows."
    )
    yield grid(
        ("law", "says", "assumes"),
        [(law.id, _one_line(law.statement), _one_line(law.assumes)) for law in LAWS],
    )

    report = _kept(top, "reports/fidelity/baseline.json")
    if report:
        yield Heading("Against the documents and the real libraries", 3)
        counts = ", ".join(f"{count} {word}" for word, count in report["counts"].items())
        again = sum(each["wanted"] == each["found"] for each in report["controls"])
        yield Paragraph(
            f"{report['headline']}: {counts}. Of the review's own verdicts on the model it reviewed, "
            f"{again} of {len(report['controls'])} come out again. `endive fidelity` makes the report."
        )
    yield grid(
        ("library", "version", "cells measured", "by"),
        [
            (each.library, each.version, len(each.cells), f"`{each.command}`")
            for each in map(load_measured, LIBRARIES)
        ],
        numbers=[2],
    )
    yield from _race()


def _race() -> Iterator[Block]:
    """The one evidence for dynamics: real writers beside the prediction."""
    race = json.loads(measured_file("race").read_text(encoding="utf-8"))
    inside = [
        quantity["inside"] for each in race["races"] for quantity in each["quantities"].values()
    ]
    writers = ", ".join(str(each["plan"]["writers"]) for each in race["races"])
    yield Paragraph(
        f"Dynamics: {writers} real {race['library']} writers raced on one table with known latencies. Of {len(inside)} quantities (commits, aborts, "
        f"attempts, latencies), {sum(inside)} lie inside the band that holds 99 % of the simulated runs. `endive oracle race` runs it again."
    )


def _deviations() -> Iterator[Block]:
    """What is known to differ, and has been accepted."""
    waivers = load_waivers(SHIPPED)
    yield Heading("Known deviations")
    yield Paragraph(
        f"{len(waivers)} waivers accept what is found in the places they name, and nothing else; one that has expired or that nothing needs "
        "fails the report. Those with one reason are told together."
    )
    reasons: dict[str, list[str]] = {}
    until: dict[str, str] = {}
    for waiver in waivers:
        reason = _one_line(waiver.reason)
        places = reasons.setdefault(reason, [])
        places += [source for source in waiver.sources if source not in places]
        day = waiver.expires.isoformat()
        until[reason] = min(day, until.get(reason, day))
    yield grid(
        ("deviation", "of", "accepted until"),
        [(reason, ", ".join(of), until[reason]) for reason, of in reasons.items()],
    )


def _data() -> Iterator[Block]:
    yield Heading("Data: stores")
    yield Paragraph(
        "A figure that neither a document nor a measurement gives is marked as assumed in its profile; `endive providers NAME` shows each with its source."
    )
    profiles = {**load_profiles(), **load_fitted_profiles()}
    yield grid(
        ("profile", "figures", "of these assumed", "how it fits"),
        [_profile(profile) for profile in profiles.values()],
        numbers=[1, 2],
    )


def _profile(profile: ProviderProfile) -> tuple[object, ...]:
    figures = [profile.min_latency_ms, profile.effect_point]
    for latency in profile.latency.values():
        figures += latency.figures.values()
    assumed = Counter(figure.assumed for figure in figures)[True]
    return profile.name, len(figures), assumed, profile.fit.get("verdict", "not measured")


def _region() -> Iterator[Block]:
    yield Heading("Calibration region")
    yield Paragraph(_one_line(_prose()["region"]))
    rows = []
    for name, profile in load_fitted_profiles().items():
        errors = {
            key.removesuffix("_pct"): value
            for key, value in profile.fit.items()
            if "held_out" in key and key.endswith("_error_pct")
        }
        said = "; ".join(
            f"{key.replace('_', ' ').removesuffix(' error')} within {value} %"
            for key, value in errors.items()
        )
        rows.append((name, f"{THREADS[0]} to {THREADS[-1]} clients", said))
    yield grid(("profile", "measured with", "errors on rows that no fit has seen"), rows)
    without = [name for name in load_profiles() if f"{name}{SUFFIX}" not in load_fitted_profiles()]
    yield Paragraph(
        f"No profile reproduces what was measured, or nothing was: {', '.join(f'`{name}`' for name in without)}."
    )


def _errata() -> Iterator[Block]:
    yield Heading("Errata of the documents")
    yield grid(
        ("document", "says", "found", "evidence"),
        [
            (each["document"], each["says"], each["found"], each["evidence"])
            for each in _prose()["errata"]
        ],
    )


def _again() -> Iterator[Block]:
    yield Heading("Make it again")
    yield Commands(
        (
            "make verify                 # every scenario, and the fidelity report",
            "endive laws --jobs 2        # closed forms beside simulated values",
            "endive calibrate --jobs 2   # measured stores beside simulated ones",
            "endive mutants --jobs 2     # faults, and who notices them",
            "endive model-card           # this page",
        )
    )


@cache
def _prose() -> Mapping[str, Any]:
    from endive.documents import read_document

    found: Mapping[str, Any] = read_document(_PROSE.read_text(encoding="utf-8"), _PROSE.name).value
    return found


def _kept(top: Path, name: str) -> Mapping[str, Any]:
    """A report kept in the checkout; nothing where there is none."""
    file = top / name
    if not file.is_file():
        return {}
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


__all__ = ["TITLE", "card"]
