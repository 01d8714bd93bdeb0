"""`endive check` and `endive invariants`: verdicts as tables, as JSON and as exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scenario_files import HEAD, SCRIPTED, written
from unit.judge_traces import spoiled, trace_of, traced

from endive.cli.invariants import cover, find_gaps, marks_in
from endive.errors import InputError
from endive.judge.registry import INVARIANTS
from endive.main import main
from endive.trace import CatalogRead, CommitApplied, Trace
from endive.trace.files import write_ndjson, write_parquet


def write(trace: Trace, path: Path) -> str:
    """A trace as a file; returns its name."""
    (write_parquet if path.suffix == ".parquet" else write_ndjson)(trace, path)
    return str(path)


def test_sound_traces_of_either_format_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write(trace_of("swap"), tmp_path / name) for name in ("a.parquet", "b.ndjson")]

    code = main(["check", *files])

    out = capsys.readouterr().out
    assert code == 0
    assert "lists-exact" in out
    assert " fail " not in out


def test_violation_is_told_and_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = spoiled(
        trace_of("swap"), CommitApplied, lambda e: e._replace(seq_after=e.seq_after + 1)
    )
    file = write(trace, tmp_path / "spoiled.parquet")

    code = main(["check", file, "--json"])

    document = json.loads(capsys.readouterr().out)
    verdicts = {verdict["id"]: verdict for verdict in document["traces"][0]["verdicts"]}
    assert code == document["exit_code"] == 1
    assert verdicts["seq-adds-one"]["outcome"] == "fail"
    assert "§8.1" in verdicts["seq-adds-one"]["violations"][0]
    assert main(["check", file]) == 1
    assert "seq-adds-one" in capsys.readouterr().out


def test_check_that_breaks_is_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A cost table that prices nothing the run did makes the rule about prices helpless.
    trace = trace_of("swap")
    table = {**trace.header.cost_table, "operations": {"other": {}}}
    header = trace.header._replace(cost_table=table)

    code = main(["check", write(trace._replace(header=header), tmp_path / "t.ndjson")])

    assert code == 3
    assert "KeyError" in capsys.readouterr().out


def test_directory_is_searched_for_traces_and_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = trace_of("swap")
    bad = spoiled(trace, CommitApplied, lambda e: e._replace(seq_after=e.seq_after + 1))
    for seed in range(9):
        (tmp_path / "out" / "a-1" / str(seed)).mkdir(parents=True)
        each = bad if seed == 5 else trace
        write(each, tmp_path / "out" / "a-1" / str(seed) / "trace.parquet")
    # Other files of an experiment are no traces, and unfinished ones are none yet.
    (tmp_path / "out" / "a-1" / "0" / "results.parquet").write_bytes(b"")
    (tmp_path / "out" / "a-1" / "0" / ".trace.parquet.1.part").write_bytes(b"")

    alone = main(["check", str(tmp_path / "out"), "--json"])
    one_process = capsys.readouterr().out
    assert main(["check", str(tmp_path / "out"), "--json", "--jobs", "2"]) == alone == 1
    assert capsys.readouterr().out == one_process

    document = json.loads(one_process)
    together = {verdict["id"]: verdict for verdict in document["corpus"]}
    assert len(document["traces"]) == 9
    assert together["seq-adds-one"]["outcome"] == "fail"
    assert main(["check", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().out
    assert "9 traces together" in told
    # Singly only where something is wrong.
    assert told.count("trace.parquet (seed") == 1


def test_what_must_happen_sometimes_is_demanded_of_a_corpus_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = {"simulation": {"duration_ms": 10}, "storage": {"provider": "s3"}}
    file = write(traced(quiet), tmp_path / "a.parquet")
    assert main(["check", file, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    never = [each["id"] for each in document["corpus"] if each["outcome"] == "fail"]
    assert never
    assert all(each["kind"] == "sometimes" for each in document["corpus"] if each["id"] in never)

    assert main(["check", file, "--corpus"]) == 1
    assert f"{never[0]}: In none of 1 runs" in " ".join(capsys.readouterr().out.split())


def test_directory_without_traces_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "holds no trace; endive run --trace" in capsys.readouterr().err


def test_all_files_that_are_no_traces_are_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = write(trace_of("swap"), tmp_path / "a.parquet")

    code = main(["check", sound, str(tmp_path / "gone.parquet"), str(tmp_path / "b.txt")])

    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert "gone.parquet" in captured.err
    assert "b.txt" in captured.err


def test_invariants_are_listed_with_their_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["invariants", "--json"]) == 0

    listed = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(listed) == {invariant.id for invariant in INVARIANTS}
    assert listed["lists-exact"]["clause"] == "8.3"
    assert main(["invariants"]) == 0
    assert "lists-exact" in capsys.readouterr().out


def test_marks_of_property_tests_are_found() -> None:
    source = (
        "import pytest\n"
        "pytestmark = pytest.mark.invariant('a', 'b')\n"
        "@pytest.mark.invariant('c')\ndef test(): ...\n"
    )

    assert marks_in(source) == {"a", "b", "c"}


def test_matrix_tells_what_is_missing(tmp_path: Path) -> None:
    tests = tmp_path / "invariants"
    tests.mkdir()
    names = ", ".join(repr(each.id) for each in INVARIANTS if each.id != "lists-exact")
    (tests / "test_most.py").write_text(f"pytestmark = pytest.mark.invariant({names})\n")
    mutants = {each.id: ("some-fault",) for each in INVARIANTS if each.id != "seq-adds-one"}

    coverage = cover(INVARIANTS, tests, tmp_path / "scenarios", mutants)

    assert find_gaps(coverage) == [
        "seq-adds-one (§8.1) has no mutant to kill",
        "lists-exact (§8.3) has no property test",
    ]
    without_8_7 = [each for each in coverage if each.invariant.clause != "8.7"]
    assert "§8.7 has no invariant that always holds" in find_gaps(without_8_7)


def test_scenarios_that_name_an_invariant_or_claim_its_clause_stand_behind_it(
    tmp_path: Path,
) -> None:
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    base = (HEAD, SCRIPTED, "expect: []\n")
    written(scenarios, *base, "sometimes: [some-convoy]\nclauses: ['8.3']\n", name="claims.yaml")
    # Where invariants are named, no others are judged.
    named = "invariants: [seq-adds-one]\nclauses: ['8.1', '8.12']\n"
    written(scenarios, *base, named, name="names.yaml")
    written(scenarios, *base, "about: lists-exact cas-expectation\n", name="mentions.yaml")
    written(scenarios, "other: [lists-exact]\n", name="foreign.yaml")

    coverage = cover(INVARIANTS, tmp_path, scenarios, {})

    told = {each.invariant.id: each.scenarios for each in coverage if each.scenarios}
    assert told == {
        "lists-exact": ("claims",),
        "some-convoy": ("claims",),
        "seq-adds-one": ("names",),
    }
    gaps = [gap for gap in find_gaps(coverage, has_mutants=False) if gap.endswith("no scenario")]
    assert "cross-table-retry-free (§8.12) has no scenario" in gaps
    # Code is no run, what no clause says needs no scenario, and what happens sometimes needs none of its own.
    for id in ("uniform-interface", "same-seed-same-run", "cas-expectation", "some-overlap"):
        assert not any(gap.startswith(id) for gap in gaps)


def test_matrix_refuses_scenarios_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, HEAD, "expect: []\nsedes: 1\n")
    with pytest.raises(InputError, match="sedes: unknown key"):
        cover(INVARIANTS, tmp_path, tmp_path, {})


def test_spoiled_read_is_told_with_its_transaction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = [event for event in trace_of("swap").events if isinstance(event, CatalogRead)][-1]
    trace = spoiled(trace_of("swap"), CatalogRead, lambda e: e._replace(seq=e.seq + 1))

    main(["check", write(trace, tmp_path / "t.parquet"), "--json"])

    assert f"T{read.txn_id} captured a snapshot" in capsys.readouterr().out
