"""Mutants: each is alive on its witness, leaves nothing behind, and is noticed by those who must notice it."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from endive.cost_model.table import cost_table_names
from endive.judge.registry import INVARIANTS
from endive.mutants import trial
from endive.mutants.corpus import generated
from endive.mutants.elsewhere import ElsewhereError, run_elsewhere
from endive.mutants.matrix import Matrix, listen, quiet_runs, try_one
from endive.mutants.model import Mutant
from endive.mutants.patch import StaleFault, edited, setting, together
from endive.mutants.registry import MUTANTS
from endive.mutants.tables import (
    cells_of,
    differences,
    is_live,
    table_document,
    table_mutants,
    transcription,
)
from endive.mutants.trial import Trial, try_mutant, try_table_mutant

FAULTS = [mutant for mutant in MUTANTS if not mutant.benign]
# One of each theme, quick to run.
REPRESENTATIVES = (
    "seq-plus-two",
    "append-success-by-version",
    "n-plus-one",
    "manifest-io-on-cross-table-retry",
    "cost-after-last-attempt",
    "floor-ignored",
    "unseeded-latency",
    "ids-skipped",
    "in-flight-lost",
    "ml-plus-counted-as-write",
    "express-n-plus-one",
    "commit-returns-state",
    "streams-by-hash",
    "draws-from-the-process",
)


class Sample:
    """Something to put faults into."""

    def double(self, value: int) -> int:
        """Twice the value."""
        return value * 2


class Inheriting(Sample):
    """A method that needs its own class."""

    def double(self, value: int) -> int:
        """Twice the value, and one."""
        return super().double(value) + 1


def by_id(name: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.id == name)


# -- patching --------------------------------------------------------------------------------------------------------


def test_an_edit_changes_the_very_function_that_others_hold_and_is_undone() -> None:
    held = Sample.double
    with edited(Sample.double, ("value * 2", "value * 3"))():
        assert held(Sample(), 5) == 15
    assert held(Sample(), 5) == 10


def test_an_edit_of_a_method_with_super_finds_its_class() -> None:
    with edited(Inheriting.double, ("+ 1", "+ 7"))():
        assert Inheriting().double(5) == 17
    assert Inheriting().double(5) == 11


def test_a_line_that_is_gone_is_a_stale_fault() -> None:
    fault = edited(Sample.double, ("value * 9", "value"))
    with pytest.raises(StaleFault, match=r"value \* 9.*0 times"), fault():
        pass


def test_a_fault_is_undone_when_the_run_breaks() -> None:
    fault = together(setting(Sample, "extra", 1), edited(Sample.double, ("* 2", "* 3")))
    with pytest.raises(ZeroDivisionError), fault():
        Sample().double(1 // (Sample.extra - 1))  # type: ignore[attr-defined]
    assert not hasattr(Sample, "extra")
    assert Sample().double(1) == 2


# -- mutants of the code ---------------------------------------------------------------------------------------------


def test_ids_are_unique_and_every_fault_names_its_source_and_its_killers() -> None:
    ids = [mutant.id for mutant in MUTANTS]
    assert len(set(ids)) == len(ids)
    assert len(FAULTS) >= 30
    known = {invariant.id for invariant in INVARIANTS}
    for mutant in FAULTS:
        assert mutant.source
        assert mutant.killed_by, mutant.id
        assert set(mutant.killed_by) <= known, mutant.id
    assert all(not mutant.killed_by for mutant in MUTANTS if mutant.benign)


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.id)
def test_every_fault_changes_what_its_witness_gives(mutant: Mutant) -> None:
    before = trial.baseline(mutant)
    with mutant.apply():
        assert trial.fingerprint(mutant) != before
    assert trial.fingerprint(mutant) == before


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_fault_is_noticed_by_the_invariants_named_for_it(name: str) -> None:
    found = try_mutant(by_id(name))
    assert found.fate == "killed", found
    assert found.story


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.benign], ids=lambda mutant: mutant.id)
def test_a_harmless_change_is_noticed_by_nobody(mutant: Mutant) -> None:
    assert try_mutant(mutant).fate == "survived"


@pytest.mark.slow
@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.id)
def test_every_fault_is_noticed_by_the_invariants_named_for_it(mutant: Mutant) -> None:
    assert try_mutant(mutant).fate == "killed"


def test_what_a_run_takes_from_its_process_shows_in_no_pair_within_one() -> None:
    mutant = by_id("streams-by-hash")
    witness = mutant.witness
    header = trial.header_of(witness.config, witness.seed)
    with mutant.apply():
        first, second = (trial.run(witness.config, 1, False, header).trace for _ in range(2))
        elsewhere = run_elsewhere(witness, mutant.id)
    assert first.events == second.events
    assert first.events != elsewhere.events


def test_a_witness_without_fault_is_the_same_run_elsewhere() -> None:
    witness = by_id("streams-by-hash").witness
    header = trial.header_of(witness.config, witness.seed)
    here = trial.run(witness.config, witness.seed, witness.express_lane, header).trace
    assert run_elsewhere(witness).events == here.events
    assert listen(witness.name)[1] == {}


def test_a_run_elsewhere_that_breaks_says_why() -> None:
    witness = replace(by_id("streams-by-hash").witness, name="no such witness")
    with pytest.raises(ElsewhereError, match="StopIteration"):
        run_elsewhere(witness)


def test_the_source_of_an_edited_function_is_the_edited_one() -> None:
    with edited(Sample.double, ("value * 2", "value * 3"))():
        assert "value * 3" in inspect.getsource(Sample.double)
    assert "value * 2" in inspect.getsource(Sample.double)


def test_a_crash_kills_nothing() -> None:
    broken = Mutant(
        "broken",
        "raises",
        "none",
        ("seq-adds-one",),
        by_id("seq-plus-two").witness,
        edited(trial.Simulation.run, ("config = self.config", "raise ArithmeticError('broken')")),
    )
    found = try_mutant(broken)
    assert found.fate == "crashed"
    assert "ArithmeticError" in found.error


def test_a_mutant_that_changes_nothing_is_dead() -> None:
    same = edited(trial.Simulation.run, ("config = self.config", "config = (self.config)"))
    witness = by_id("seq-plus-two").witness
    assert try_mutant(Mutant("same", "none", "none", ("seq-adds-one",), witness, same)).fate == (
        "dead"
    )


def test_noticed_by_others_only_is_missed() -> None:
    assert Trial("m", "", True, ("b",), ("a",)).fate == "missed"
    assert Trial("m", "", True, ("b", "a"), ("a",)).fate == "killed"
    assert Trial("m", "", True, (), ("a",)).fate == "survivor"
    assert Trial("m", "", False, ("b",), (), benign=True).fate == "false alarm"


# -- mutants of the cost tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cost_table_names())
def test_a_table_says_what_the_documents_say(name: str) -> None:
    assert differences(table_document(name), name) == []


@pytest.mark.parametrize("name", cost_table_names())
def test_every_number_of_a_table_is_noticed_if_it_is_off_by_one(name: str) -> None:
    mutants = list(table_mutants((name,)))
    numbers = {cell for cell, value in cells_of(table_document(name)).items() if value != []}
    assert {mutant.cell for mutant in mutants} == numbers
    for mutant in mutants:
        assert is_live(mutant), mutant.id
        assert try_table_mutant(mutant).fate == "killed", mutant.id


def test_a_count_that_grows_with_n_is_tried_one_above_and_one_below() -> None:
    cell = "validated_overwrite.validate.overlap.historical_ml_reads"
    changes = [m.becomes for m in table_mutants(("spec-2.0",)) if m.cell == cell]
    assert changes == ["N + 1", "max(0, N - 1)"]


def test_every_row_of_the_transcription_names_its_source() -> None:
    for table in transcription().values():
        for entry in (
            *table["settings"].values(),
            *table["rows"],
            *table.get("merging", {}).values(),
        ):
            assert entry["from"]


# -- silence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(12))
def test_the_simulator_as_it_is_raises_no_alarm(index: int) -> None:
    assert listen(f"generated {index}")[1] == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 500, 50))
def test_the_simulator_as_it_is_raises_no_alarm_in_hundreds_of_runs(first: int) -> None:
    cried = dict(listen(f"generated {index}") for index in range(first, first + 50))
    assert {name: alarms for name, alarms in cried.items() if alarms} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", quiet_runs(0))
def test_a_witness_raises_no_alarm_without_its_fault(name: str) -> None:
    assert listen(name)[1] == {}


def test_a_generated_configuration_is_always_the_same() -> None:
    assert generated(7) == generated(7)
    assert generated(7) != generated(8)


# -- the matrix ------------------------------------------------------------------------------------------------------


def test_the_matrix_fails_on_a_survivor_and_on_a_false_alarm() -> None:
    killed = Trial("k", "", True, ("a",), ("a",))
    survivor = Trial("s", "", True, (), ("a",))
    assert Matrix([killed], [("run", {})]).holds
    assert not Matrix([killed, survivor]).holds
    assert not Matrix([killed], [("run", {"a": "story"})]).holds
    assert Matrix([killed]).as_dict()["killers"] == {"a": ["k"]}


def test_a_table_mutant_is_found_by_its_id() -> None:
    name = "table:spec-2.0:fast_append.attempt.manifest_list_reads:2"
    assert try_one(name).fate == "killed"
