"""Putting a mutant to the test: is it alive, and who notices?"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.experiment import trace_header
from endive.judge.engine import judge, judge_api, judge_pair
from endive.judge.model import Outcome, Verdict
from endive.mutants.elsewhere import run_elsewhere
from endive.mutants.model import Mutant, Shows, Witness
from endive.mutants.tables import KILLER, TableMutant, differences, is_live
from endive.simulation import Simulation
from endive.trace import Header, Trace

# The rooms whose promises an API rule may look at.
_ROOMS = (
    "catalog",
    "conflict_detector",
    "simulation",
    "storage",
    "transaction",
    "utils",
    "workload",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One traced run and its fingerprint: all rows, and how often the catalog changed."""

    fingerprint: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a mutant."""

    id: str
    title: str
    live: bool
    killed_by: tuple[str, ...]
    expected: tuple[str, ...]
    benign: bool = False
    error: str = ""
    """Why there is nothing to say: the mutant crashed, or a rule did."""
    story: str = ""
    """What the first of the expected killers tells."""

    @property
    def fate(self) -> str:
        """`killed`, and for benign ones `survived`, is how it should be; everything else is a fault of the checks."""
        if self.error:
            return "crashed"
        if self.benign:
            return "false alarm" if self.killed_by else "survived"
        if not self.live:
            return "dead"
        if not self.killed_by:
            return "survivor"
        return "killed" if set(self.expected) <= set(self.killed_by) else "missed"

    @property
    def is_as_it_should_be(self) -> bool:
        """Whether the checks have done what they are for."""
        return self.fate == ("survived" if self.benign else "killed")

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "id": self.id,
            "title": self.title,
            "fate": self.fate,
            "live": self.live,
            "benign": self.benign,
            "expected": list(self.expected),
            "killed_by": list(self.killed_by),
            "error": self.error,
            "story": self.story,
        }


def try_mutant(mutant: Mutant) -> Trial:
    """Run a mutant on its witness, and hear what the judge says."""
    witness = mutant.witness
    # Everything that tells what should be is made before the fault is.
    before = baseline(mutant)
    headers = [header_of(config, witness.seed) for config in _configs(witness)]
    try:
        with mutant.apply():
            if mutant.shows is Shows.TRACE or mutant.shows is Shows.PAIR:
                found = run(witness.config, witness.seed, witness.express_lane, headers[0])
                after = found.fingerprint
                if mutant.shows is Shows.TRACE:
                    verdicts = judge(found.trace)
                else:
                    verdicts = _judge_both(found.trace, witness, headers[-1], mutant.id)
            else:
                after, verdicts = fingerprint(mutant), judge_api(api_modules())
    except Exception as error:
        # A crash kills nothing: it would go unnoticed on the day it does not crash.
        message = f"{type(error).__name__}: {error}"
        return Trial(mutant.id, mutant.title, False, (), mutant.killed_by, mutant.benign, message)
    killers = _fails(verdicts)
    return Trial(
        mutant.id,
        mutant.title,
        before != after,
        tuple(killers),
        mutant.killed_by,
        mutant.benign,
        _errors(verdicts) if not killers else "",
        next((killers[name] for name in mutant.killed_by if name in killers), ""),
    )


def try_table_mutant(mutant: TableMutant) -> Trial:
    """Hold a changed table against the documents."""
    title = f"{mutant.cell} is {mutant.becomes}, not {mutant.was}"
    told = differences(mutant.document, mutant.table)
    # Noticed is noticed only if the very cell is named.
    noticed = [line for line in told if line.startswith(f"{mutant.table}: {mutant.cell} is ")]
    killers = (KILLER,) if noticed else ()
    story = noticed[0] if noticed else ""
    return Trial(mutant.id, title, is_live(mutant), killers, (KILLER,), story=story)


def alarms(config: Mapping[str, Any], seed: int, express_lane: bool) -> dict[str, str]:
    """What the judge cries out about the simulator as it is: each invariant with its story, or what broke."""
    found = run(config, seed, express_lane, header_of(config, seed))
    return _alarms(judge(found.trace))


def alarms_about(witness: Witness) -> dict[str, str]:
    """The same for a witness, and for the pair of runs if it is about two."""
    headers = [header_of(config, witness.seed) for config in _configs(witness)]
    found = run(witness.config, witness.seed, witness.express_lane, headers[0])
    verdicts = judge(found.trace)
    if witness.other is not None or witness.elsewhere:
        verdicts += _judge_both(found.trace, witness, headers[-1])
    return _alarms(verdicts)


def _alarms(verdicts: list[Verdict]) -> dict[str, str]:
    errors = {v.invariant.id: v.detail for v in verdicts if v.outcome is Outcome.ERROR}
    return {**_fails(verdicts), **errors}


def header_of(config: Mapping[str, Any], seed: int) -> Header:
    """What a run should be a run of."""
    return _header(json.dumps(config, sort_keys=True), seed)


@cache
def _header(config: str, seed: int) -> Header:
    return trace_header(resolve_config(json.loads(config)), seed)


def run(config: Mapping[str, Any], seed: int, express_lane: bool, header: Header) -> Run:
    """Run a configuration in the code as it is at this moment."""
    built = build_simulation_config(resolve_config(config), seed)
    simulation = Simulation(replace(built, records_trace=True, express_lane=express_lane))
    statistics = simulation.run()
    trace = Trace(header, tuple(statistics.events or ()))
    return Run(f"{statistics.digest()} {statistics.seq}", trace)


def _judge_both(
    first: Trace, witness: Witness, header: Header, mutant_id: str | None = None
) -> list[Verdict]:
    """What is said about a run and its other: one of another configuration, or one in another process."""
    if witness.elsewhere:
        second = run_elsewhere(witness, mutant_id)
    else:
        second = run(_configs(witness)[-1], witness.seed, witness.express_lane, header).trace
    # Both rules ask for the same events; which of them was broken depends on where the second run was.
    not_asked = "same-seed-same-run" if witness.elsewhere else "fresh-process-same-run"
    return [each for each in judge_pair(first, second) if each.invariant.id != not_asked]


def _configs(witness: Witness) -> list[Mapping[str, Any]]:
    return [witness.config] if witness.other is None else [witness.config, witness.other]


def fingerprint(mutant: Mutant) -> str:
    """What a fault of this kind must change to be one: what the code offers, or what the witness gives."""
    if mutant.shows is Shows.API:
        return api_fingerprint()
    witness = mutant.witness
    header = header_of(witness.config, witness.seed)
    return run(witness.config, witness.seed, witness.express_lane, header).fingerprint


_FINGERPRINTS: dict[str, str] = {}


def baseline(mutant: Mutant) -> str:
    """The fingerprint of the code as it is, taken once for each witness."""
    name = "" if mutant.shows is Shows.API else mutant.witness.name
    if name not in _FINGERPRINTS:
        _FINGERPRINTS[name] = fingerprint(mutant)
    return _FINGERPRINTS[name]


def _fails(verdicts: list[Verdict]) -> dict[str, str]:
    return {
        verdict.invariant.id: verdict.violations[0].story
        for verdict in verdicts
        if verdict.outcome is Outcome.FAIL
    }


def _errors(verdicts: list[Verdict]) -> str:
    broken = [v for v in verdicts if v.outcome is Outcome.ERROR]
    return "; ".join(f"{v.invariant.id}: {v.detail}" for v in broken)


# -- interfaces ------------------------------------------------------------------------------------------------------


def api_modules() -> dict[str, ModuleType]:
    """The modules whose promises are judged, by full name."""
    found = {}
    for room in _ROOMS:
        module = importlib.import_module(f"endive.{room}")
        found[module.__name__] = module
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
            name = f"{module.__name__}.{inner.name}"
            found[name] = importlib.import_module(name)
    return found


def api_fingerprint() -> str:
    """A fingerprint of all public names of these modules: fields, properties and signatures of classes."""
    lines = []
    for module_name, module in sorted(api_modules().items()):
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or not inspect.isclass(value):
                continue
            members = {
                key: _signature(member)
                for key, member in vars(value).items()
                if not key.startswith("_")
            }
            lines.append(f"{module_name}.{name} {sorted(members.items())}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _signature(member: Any) -> str:
    return str(inspect.signature(member)) if inspect.isfunction(member) else type(member).__name__
