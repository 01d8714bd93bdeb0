"""Sign-off: no record of a version that anything speaks against, and no change of a record that goes unnoticed."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.errors import InputError
from endive.main import main
from endive.pool import Apply
from endive.signoff import files, repository
from endive.signoff.creating import Gathered, expired, gather
from endive.signoff.evidence import Evidence, Verdict, digest_of, first_difference
from endive.signoff.lot import draw
from endive.signoff.record import Record, read, sealed, statement, write
from endive.signoff.verifying import differences

DAY = "2026-11-18"


def here(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    return map(function, tasks)


class Figures:
    """A source whose evidence is a table of figures."""

    kind = "figure"

    def __init__(self, figures: dict[str, float], **verdicts: Verdict) -> None:
        self.figures = figures
        self.verdicts = verdicts
        self.made_again: list[str] = []

    def all(self, apply: Apply) -> Iterator[Evidence]:
        return map(self._one, self.figures)

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        self.made_again += names
        return map(self._one, [name for name in names if name in self.figures])

    def _one(self, name: str) -> Evidence:
        verdict = self.verdicts.get(name, Verdict.PASS)
        return Evidence(f"figure/{name}", verdict, {"value": self.figures[name]})


class Kept(Figures):
    """Evidence that is kept in a file."""

    kind = "mutant"

    def _one(self, name: str) -> Evidence:
        return replace(super()._one(name), id=f"mutant/{name}")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A small checkout."""
    for name, text in {
        "endive/code.py": "x = 1\n",
        "endive/cost_tables/a.yaml": "a: 1\n",
        "scenarios/s.yaml": "s: 1\n",
        "pyproject.toml": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    who = ["-c", "user.name=Endive", "-c", "user.email=endive@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    return tmp_path


def figures() -> Figures:
    return Figures({f"f{i}": i / 7 for i in range(30)})


def gathered(top: Path, *sources: Any) -> Gathered:
    return gather(top, sources, here, seed=1)


def record_of(top: Path, source: Any, waivers: Sequence[dict[str, str]] = ()) -> Record:
    found = gathered(top, source)
    assert found.refusals == ()
    document = statement(
        reviewer="A. Reader",
        day=DAY,
        checkout=found.checkout,
        files=found.files,
        evidence=found.evidence,
        waivers=waivers,
        environment={},
        command="endive signoff create",
    )
    place = top.parent / f"{top.name}.json"
    write(document, place)
    return read(place)


def against(record: Record, top: Path, source: Any, seed: int = 1, today: str = DAY) -> list[str]:
    return list(differences(record, top, [source], here, seed=seed, today=today))


def test_a_record_stands_against_the_version_it_was_made_of(top: Path) -> None:
    source = figures()
    assert against(record_of(top, source), top, source) == []
    # A tenth of thirty, drawn by lot.
    assert len(source.made_again) == 3


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN])
def test_evidence_that_is_no_pass_is_refused_by_name(top: Path, verdict: Verdict) -> None:
    found = gathered(top, Figures({"a": 1.0, "b": 2.0}, b=verdict))
    assert found.refusals == (f"{verdict.value}: figure/b",)


def test_what_is_waived_is_signed_off_with_a_warning(top: Path) -> None:
    record = record_of(top, Figures({"a": 1.0, "b": 2.0}, b=Verdict.WAIVED))
    predicate = record.document["predicate"]
    assert (predicate["result"], predicate["warnedTests"]) == ("WARNED", ["figure/b"])


@pytest.mark.parametrize("change", ["endive/code.py", "endive/new.py"])
def test_a_dirty_tree_is_refused_by_name(top: Path, change: str) -> None:
    (top / change).write_text("x = 2\n")
    (refusal,) = gathered(top, figures()).refusals
    assert refusal.startswith("dirty tree")
    assert change in refusal


def test_files_that_change_meanwhile_are_noticed(top: Path) -> None:
    class Meddling(Figures):
        def all(self, apply: Apply) -> Iterator[Evidence]:
            (top / "endive/code.py").write_text("x = 3\n")
            return super().all(apply)

    (refusal,) = gathered(top, Meddling({"a": 1.0})).refusals
    assert "changed while the evidence was made" in refusal


def test_kept_evidence_that_does_not_come_out_again_is_refused(top: Path) -> None:
    class Old(Kept):
        def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
            return (replace(each, detail={"value": -1.0}) for each in super().again(names, apply))

    refusals = gathered(top, Old({"a": 1.0})).refusals
    assert [refusal.partition(":")[0] for refusal in refusals] == ["stale"]


def test_an_expired_waiver_is_named() -> None:
    waiver = {"row": "r", "reason": "", "reference": "", "expires": "2026-11-17"}
    assert list(expired([waiver], "2026-11-17")) == []
    assert "expired waiver: r" in next(expired([waiver], "2026-11-18"))


def test_a_waiver_that_expires_after_the_record_was_made_fails_it(top: Path) -> None:
    waiver = {"row": "r", "reason": "x", "reference": "y", "expires": "2026-12-01"}
    source = figures()
    record = record_of(top, source, [waiver])
    assert against(record, top, source) == []
    assert "expired waiver: r" in against(record, top, source, today="2026-12-02")[0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "endive/cost_tables/a.yaml",
            "a: 2\n",
            "endive/cost_tables/a.yaml (cost tables): recorded",
        ),
        ("scenarios/s.yaml", None, "scenarios/s.yaml (scenarios): missing"),
        ("schemas/new.json", "{}", "schemas/new.json (schemas): not in the record"),
    ],
)
def test_a_file_that_is_not_what_it_was_is_named_first(
    top: Path, name: str, text: str | None, words: str
) -> None:
    source = figures()
    record = record_of(top, source)
    place = top / name
    if text is None:
        place.unlink()
    else:
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    assert against(record, top, source)[0].startswith(words)
    assert source.made_again == [] or against(record, top, source)[0].startswith(words)


def test_a_figure_that_comes_out_otherwise_is_found_if_the_lot_falls_on_it(top: Path) -> None:
    record = record_of(top, figures())
    found = 0
    for seed in range(200):
        other = figures()
        other.figures["f7"] += 1e-9
        told = against(record, top, other, seed=seed)
        assert bool(told) == ("f7" in other.made_again)
        assert all(each.startswith("figure/f7.detail.value: recorded 1") for each in told)
        found += bool(told)
    # Each seed draws a tenth: 20 of 200 are expected, and four standard deviations are 17.
    assert 3 <= found <= 37


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _paths(each, (*path, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _paths(each, (*path, place))
    else:
        yield path


def _tampered(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return "tampered"
    if isinstance(value, int | float):
        return value + 1
    swapped = {"pass": "waived", "waived": "pass", "PASSED": "WARNED", "WARNED": "PASSED"}
    if value in swapped:
        return swapped[value]
    return ("1" if value[:1] != "1" else "2") + value[1:]


def test_no_value_of_a_record_can_be_changed_unnoticed(top: Path) -> None:
    source = Figures({"a": 1.0, "b": 2.0}, b=Verdict.WAIVED)
    waiver = {"row": "r", "reason": "x", "reference": "y", "expires": "2026-12-01"}
    record = record_of(top, source, [waiver])
    paths = list(_paths(dict(record.document)))
    assert len(paths) > 30
    for path in paths:
        document = copy.deepcopy(dict(record.document))
        holder: Any = document
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = _tampered(holder[path[-1]])
        place = top.parent / "tampered.json"
        place.write_text(json.dumps(document))
        try:
            told = against(read(place), top, source)
        except InputError:
            continue
        assert told, path


def test_a_verdict_that_was_changed_with_all_its_digests_is_found_by_making_it_again(
    top: Path,
) -> None:
    record = record_of(top, Figures({"a": 1.0}))
    document = copy.deepcopy(dict(record.document))
    (evidence,) = document["predicate"]["endive"]["evidence"]
    evidence["detail"] = {"value": 5.0}
    evidence["digest"] = {"sha256": Evidence(evidence["id"], Verdict.PASS, {"value": 5.0}).digest}
    forged = Record(sealed(document), "forged.json")
    assert against(forged, top, Figures({"a": 1.0})) == [
        "figure/a.detail.value: recorded 5.0, now 1.0"
    ]


def test_evidence_that_can_no_longer_be_made_is_named(top: Path) -> None:
    record = record_of(top, Figures({"a": 1.0}))
    assert against(record, top, Figures({})) == ["figure/a: recorded, and can no longer be made"]


def test_evidence_of_an_unknown_kind_is_named(top: Path) -> None:
    record = record_of(top, Figures({"a": 1.0}))
    told = list(differences(record, top, [], here, seed=1, today=DAY))
    assert told == ["figure: evidence of a kind that this version cannot make"]


@given(st.sets(st.text(min_size=1), min_size=1, max_size=60), st.integers(0, 99))
def test_the_lot_draws_a_tenth_of_each_kind_and_the_same_one_again(
    names: set[str], seed: int
) -> None:
    ids = [*(f"a/{name}" for name in sorted(names)), "b/only"]
    lot = draw(ids, seed)
    assert "b/only" in lot
    assert len(lot) - 1 == max(1, -(-len(names) // 10))
    assert lot == draw(ids, seed)
    assert lot == [id for id in ids if id in lot]


def test_other_seeds_draw_other_lots() -> None:
    ids = [f"a/{i}" for i in range(100)]
    drawn = {id for seed in range(60) for id in draw(ids, seed)}
    assert len(drawn) > 95


def test_the_digest_does_not_hang_on_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": [2.5]}) == digest_of({"b": [2.5], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": True})


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: recorded 1, now 2"),
        ({"a": 1}, {}, "a: recorded 1, now missing"),
        ({}, {"a": 1}, "a: not in the record, now 1"),
        ([1, 2], [1], ": recorded 2 entries, now 1"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]: recorded 2, now 3"),
        ({"a": 1}, {"a": True}, "a: recorded 1, now true"),
        ({"a": [1.0]}, {"a": [1.0]}, None),
    ],
)
def test_the_first_difference_is_named_with_both_values(
    left: Any, right: Any, words: str | None
) -> None:
    assert first_difference(left, right) == words


def test_every_file_of_this_checkout_belongs_to_a_group() -> None:
    names = list(files.digests(files.checkout()))
    assert {files.group_of(name) for name in names} <= set(files.GROUPS)
    assert "endive/judge/rules/c8_3.py" in names
    assert "endive/cost_tables/spec-2.0.yaml" in names
    assert "scenarios/io_convoy.yaml" in names


def test_a_folder_without_git_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="git cannot tell"):
        repository.look(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", ":1: not JSON"),
        ("[]", "is not a table"),
        ("{}", "'_type', 'subject', 'predicateType', 'predicate' must be given"),
        ('{"_type": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_what_is_no_record_is_told(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.json"
    file.write_text(text)
    assert main(["signoff", "verify", str(file)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "--reviewer", " ", "--out", "r.json"], "somebody must sign"),
        (["create", "--reviewer", "A", "--out", "."], "is a directory"),
        (["verify", "missing.json"], "no such file"),
        (["verify", "x", "--today", "soon"], "write it as 2026-12-31"),
    ],
)
def test_bad_use_is_told(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["signoff", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
