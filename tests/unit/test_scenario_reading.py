"""A scenario that is wrong says so with file, line and column, everything at once, before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario_files import EXACT, HEAD, HOLDS, QUICK, RANDOM, SCRIPTED, expecting, written

from endive.errors import InputError
from endive.main import main
from endive.scenario import running
from endive.scenario.model import Seeds
from endive.scenario.reading import find_scenarios, is_scenario, read_scenario, read_scenarios

VARIANTS = "variants:\n  calm: {transaction.retry: 2}\n  same: {transaction.retry: 2}\n  keen: {transaction.retry: 3}\n"


def problems_of(path: Path) -> list[str]:
    """What is wrong with a file, without its directory."""
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]


# -- what a sound file means -------------------------------------------------------------------------------------------


def test_sound_file_becomes_values(tmp_path: Path) -> None:
    scenario = read_scenario(written(tmp_path, HEAD, RANDOM, QUICK, HOLDS))
    assert (scenario.name, scenario.title) == ("meeting", "Appends meet on two tables.")
    assert [variant.name for variant in scenario.variants] == ["default"]
    assert scenario.settings("default")["transaction"]["retry"] == 3
    assert (scenario.confidence, scenario.judged_seeds, scenario.invariants) == (0.99, 0, None)
    (expectation,) = scenario.expectations
    assert expectation.words() == "success_rate"
    assert expectation.bounds.words() == "at least 0.5"


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        ("", Seeds(1, 8, 64)),
        ("seeds: {first: 2, limit: 9, start: 5}\n", Seeds(5, 2, 9)),
        ("seeds: [3, 1]\n", Seeds(3, 2, 2, (3, 1))),
    ],
)
def test_seeds_are_counted_or_listed(tmp_path: Path, given: str, seeds: Seeds) -> None:
    assert read_scenario(written(tmp_path, HEAD, RANDOM, given, HOLDS)).seeds == seeds


def test_script_without_chance_needs_one_seed(tmp_path: Path) -> None:
    assert read_scenario(written(tmp_path, HEAD, SCRIPTED, EXACT)).seeds == Seeds(1, 1, 1)


def test_looks_double_until_the_limit() -> None:
    assert Seeds(1, 4, 18).looks == (4, 8, 16, 18)
    assert Seeds(1, 4, 18).head(3) == (1, 2, 3)
    assert Seeds(7, 2, 2, (7, 5)).head(2) == (7, 5)


def test_grid_makes_every_combination(tmp_path: Path) -> None:
    grid = "grid:\n  transaction.retry: [1, 2]\n  catalog.type: [cas, instant]\n"
    scenario = read_scenario(written(tmp_path, HEAD, RANDOM, grid, QUICK, HOLDS))
    assert [each.name for each in scenario.variants] == ["1,cas", "1,instant", "2,cas", "2,instant"]
    assert scenario.settings("2,instant")["catalog"]["type"] == "instant"
    assert len(scenario.expectations) == 4


def test_globs_choose_variants_and_a_name_is_itself_first(tmp_path: Path) -> None:
    variants = (
        "variants:\n  'a[1]': {transaction.retry: 1}\n  a1: {transaction.retry: 2}\n  b: {}\n"
    )
    lines = expecting(
        "{metric: committed, above: 1, variant: 'a[1]'}",
        "{metric: aborted, above: 1, variant: 'a*'}",
    )
    scenario = read_scenario(written(tmp_path, HEAD, RANDOM, QUICK, variants, lines))
    chosen = [(each.metric.name, each.variant) for each in scenario.expectations]
    assert chosen == [("committed", "a[1]"), ("aborted", "a[1]"), ("aborted", "a1")]


def test_null_removes_a_setting_and_a_file_may_be_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        "simulation.duration_ms = 100\nstorage.provider = 's3'\ntransaction.retry = 9\n"
        "transaction.inter_arrival = {distribution = 'fixed', value = 5}\n"
    )
    text = "config: base.toml\nset: {transaction.retry: null, storage.provider: instant}\n"
    scenario = read_scenario(written(tmp_path, HEAD, text, QUICK, HOLDS))
    settings = scenario.settings("default")
    assert settings["storage"]["provider"] == "instant"
    assert settings["transaction"]["retry"] != 9


# -- what is wrong, and where ------------------------------------------------------------------------------------------


def test_everything_is_told_at_once(tmp_path: Path) -> None:
    lines = expecting("{metrik: count, equals: 1}", "{metric: count, equals: x, atempt: 1}")
    assert problems_of(written(tmp_path, HEAD, RANDOM, "sedes: 1\n", lines)) == [
        "meeting.yaml:11:1: sedes: unknown key; did you mean 'seeds'?",
        "meeting.yaml:13:5: expect[0].metric: missing; add it",
        "meeting.yaml:13:6: expect[0].metrik: unknown key; did you mean 'metric'?",
        "meeting.yaml:14:21: expect[1].equals: 'x' is not a number; give a number",
        "meeting.yaml:14:32: expect[1].atempt: unknown key; did you mean 'attempt'?",
    ]


def test_all_files_are_told_at_once(tmp_path: Path) -> None:
    paths = [written(tmp_path, HEAD, name=name) for name in ("a.yaml", "b.yaml")]
    with pytest.raises(InputError) as caught:
        read_scenarios(paths)
    assert [Path(problem.file).name for problem in caught.value.problems] == ["a.yaml", "b.yaml"]


EXPECTATIONS = [
    ("{metric: sucess_rate, above: 0.5}", "metric", "unknown metric 'sucess_rate'; did you mean 'success_rate'?"),
    ("{metric: zzz, above: 0.5}", "metric", "unknown metric 'zzz'; `endive verify --metrics` lists them"),
    # Nothing would be selected.
    ("{metric: count, operation: delete_partition, above: 1}", "operation", "nothing submits 'delete_partition'"),
    ("{metric: count, named: nobody, above: 1}", "named", "nobody is called 'nobody'; there are default"),
    ("{metric: attempts, attempt: 4, above: 1}", "attempt", "there are attempts 0 to 3; transaction.retry"),
    ("{metric: attempts, attempt: 0, conflict_class: overlap, above: 1}", "conflict_class", "follows no conflict"),
    ("{metric: count, reason: bad_luck, above: 1}", "reason", "nothing is aborted for 'bad_luck'; there are"),
    ("{metric: count, status: committed, reason: max_retries, above: 1}", "reason", "what is committed has no reason"),
    ("{metric: commit_time_ms, status: aborted, above: 1}", "status", "only what is committed has commit_time_ms"),
    ("{metric: abort_time_ms, status: committed, above: 1}", "status", "only what is aborted has abort_time_ms"),
    ("{metric: commit_time_ms, reason: max_retries, above: 1}", "reason", "only what is committed has commit_time_ms"),
    ("{metric: unfinished_ms, status: committed, above: 1}", "status", "only what is in_flight has unfinished_ms"),
    # No run could contradict it.
    ("{metric: success_rate, between: [0, 1]}", "between", "always between 0 and 1: this cannot fail"),
    ("{metric: success_rate, at_most: 1}", "at_most", "always at most 1: this cannot fail"),
    ("{metric: count, at_least: 0}", "at_least", "count is always at least 0: this cannot fail"),
    ("{metric: latency_ms, above: -1}", "above", "this cannot fail"),
    ("{metric: count, near: 10, within: 50%}", "within", "50% of 10 passes nearly anything"),
    ("{metric: count, near: 10, within: 7}", "within", "7 of 10 passes nearly anything"),
    ("{metric: count, near: 0, within: 10%}", "within", "or nothing"),
    ("{metric: committed, status: committed, above: 1}", "status", "known beforehand"),
    ("{metric: commits_per_s, status: aborted, above: 1}", "status", "known beforehand"),
    ("{metric: success_rate, reason: max_retries, above: 0.1}", "reason", "known beforehand"),
    ("{metric: cross_table_share, conflict_class: overlap, above: 0.1}", "conflict_class", "known beforehand"),
    ("{metric: restarts, aggregate: sum, below: 1}", "metric", "always 0 without transaction.on_validation_exception=restart"),
    ("{metric: backoff_ms, below: 1}", "metric", "always 0 without transaction.retry_backoff.enabled"),
    ("{metric: metadata_reads, below: 1}", "metric", "always 0 without catalog.table_metadata_inlined=false"),
    ("{metric: append_physical_success, below: 1}", "metric", "always 0 without catalog.type=append"),
    ("{metric: background_commits, below: 1}", "metric", "always 0 without background"),
    # No run could fulfil it.
    ("{metric: success_rate, above: 1}", "above", "success_rate is never above 1: this cannot hold"),
    ("{metric: count, below: 0}", "below", "count is never below 0: this cannot hold"),
    ("{metric: success_rate, equals: 1.5}", "equals", "this cannot hold"),
    ("{metric: count, equals: 1e999}", "equals", "beyond all numbers"),
    ("{metric: count, between: [1, 1e999]}", "between", "beyond all numbers"),
    # Bounds that are none.
    ("{metric: count}", "metric", "give exactly one of equals, near, between"),
    ("{metric: count, above: 1, below: 3}", "metric", "above and below are given"),
    ("{metric: count, near: 5}", "near", "`near` and `within` go together"),
    ("{metric: count, above: 5, within: 5%}", "above", "`near` and `within` go together"),
    ("{metric: count, between: [3, 3]}", "between", "3 is not below 3; put the smaller one first"),
    # What does not go together.
    ("{metric: seq, operation: fast_append, above: 1}", "operation", "seq is about a whole run; remove operation"),
    ("{metric: count, attempt: 1, above: 1}", "attempt", "count is about whole transactions; remove attempt"),
    ("{metric: attempts, status: aborted, above: 1}", "status", "attempts is about attempts; remove status"),
    ("{metric: count, aggregate: max, above: 1}", "aggregate", "count is one number already"),
    ("{metric: count, variant: x, above: 1}", "variant", "no variant is called 'x'; there are default"),
    ("{metric: count, minus: x, above: 1}", "minus", "no variant is called 'x'; there are default"),
    ("{metric: count, minus: default, above: 1}", "variant", "'default' compared with itself cannot fail"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "key", "said"), EXPECTATIONS, ids=[line for line, _, _ in EXPECTATIONS]
)
def test_expectation_that_says_nothing_is_refused(
    tmp_path: Path, line: str, key: str, said: str
) -> None:
    (problem,) = problems_of(written(tmp_path, HEAD, RANDOM, QUICK, expecting(line)))
    place = re.match(r"meeting\.yaml:14:(\d+): expect\[0\]\.", problem)
    assert place, problem
    assert problem[place.end() :].startswith(f"{key}: ")
    # The column is that of the key, where the key is there at all.
    column = int(place[1]) - 5
    assert f"{key}:" not in line or line[column:].startswith(key)
    assert said in problem


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{metric: count, variant: calm, minus: same, above: 1}", "'calm' and 'same' have the same settings"),
        ("{metric: count, variant: keen, over: keen, above: 1}", "'keen' compared with itself"),
        ("{metric: count, variant: keen, over: calm, minus: calm, above: 1}", "there is `over`, too"),
        ("{metric: count, variant: keen, over: calm, at_least: 0}", "this cannot fail"),
        ("{metric: success_rate, variant: keen, minus: calm, at_least: -1}", "this cannot fail"),
        ("{metric: attempts, attempt: 3, above: 1}", "attempts 0 to 2 in variant 'calm'"),
    ],
)  # fmt: skip
def test_comparison_that_says_nothing_is_refused(tmp_path: Path, line: str, said: str) -> None:
    found = problems_of(written(tmp_path, HEAD, RANDOM, QUICK, VARIANTS, expecting(line)))
    assert said in found[0]


@pytest.mark.parametrize("extra", ["", ", variant: keen, minus: calm"])
def test_one_seed_says_nothing_about_a_mean(tmp_path: Path, extra: str) -> None:
    line = f"{{metric: count, above: 5{extra}}}"
    path = written(tmp_path, HEAD, RANDOM, "seeds: 3\n", VARIANTS, expecting(line))
    assert "one seed says nothing about a mean" in problems_of(path)[0]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (("set: {transaction.rety: 1}\n",), ":11:7: transaction.rety: unknown key"),
        (("variants:\n  a: {transaction.retry: -1}\n",), ":12:7: transaction.retry: "),
        (("grid:\n  transaction.retry: [1, -1]\n",), ":12:3: transaction.retry: "),
        (("grid:\n  transaction.retry: [1, 1]\n",), ":11:1: grid: two variants are called '1'"),
        (("grid: {a: [1], b: []}\n",), ":11:16: grid.b: "),
        (("set: {transaction.retry.x: 1}\n",), ":11:7: set.transaction.retry.x: 'retry' is 3 in the configuration, not a table"),
        (("set: {'transaction.a[b]': 1}\n",), ":11:7: transaction.a[b]: unknown key"),
        (("latencies_ms: {catalog.raed: 4}\n",), ":11:16: storage.latency.catalog.raed: "),
        (("latencies_ms: {catalog.read: -4}\n",), ":11:16: latencies_ms.catalog.read: "),
        (("variants: {a: {}}\n", "grid: {transaction.retry: [1]}\n"), ":12:1: grid: there are variants, too"),
        (("seeds: {first: 9, limit: 8}\n",), ":11:19: seeds.limit: must be at least first, 9"),
        (("seeds: -1\n",), ":11:1: seeds: must be a number or a list or a mapping"),
        (("invariants: [lists-exakt]\n",), ":11:14: invariants[0]: no invariant is called 'lists-exakt'; did you mean 'lists-exact'?"),
        (("invariants: [some-convoy]\n",), ":11:14: invariants[0]: some-convoy holds sometimes; list it under sometimes"),
        (("invariants: [uniform-interface]\n",), "is about the code and not about runs"),
        (("invariants: [streams-independent]\n",), "needs a second variant"),
        (("sometimes: [lists-exact]\n",), ":11:13: sometimes[0]: lists-exact holds always; list it under invariants"),
        (("clauses: ['8.1']\njudged_seeds: 0\n",), ":12:1: judged_seeds: without a judged run nothing shows clauses"),
        (("clauses: ['8.13']\n",), ":11:11: clauses[0]: "),
        (("golden: {other: {1: abc}}\n",), ":11:10: golden.other: no variant is called 'other'"),
        (("confidence: 1\n",), ":11:1: confidence: "),
        (('about: "\\e[31m"\n',), ":11:1: about: holds the control character U+001B"),
        (('about: "\\ud800"\n',), ":11:1: about: holds the control character U+D800"),
    ],
)  # fmt: skip
def test_problem_is_told_where_it_stands(tmp_path: Path, parts: tuple[str, ...], said: str) -> None:
    found = problems_of(written(tmp_path, HEAD, RANDOM, *parts, HOLDS))
    assert said in found[0]
    assert found[0].startswith("meeting.yaml:")


def test_inline_configuration_is_told_by_its_own_lines(tmp_path: Path) -> None:
    bad = RANDOM.replace("retry: 3", "rety: 3").replace("value: 4", "value: -4")
    found = problems_of(written(tmp_path, HEAD, bad, HOLDS))
    assert found[0].startswith("meeting.yaml:8:5: transaction.rety: unknown key")
    assert found[1].startswith("meeting.yaml:9:36: transaction.runtime.value: ")


def test_line_of_a_script_is_told_by_its_own_line(tmp_path: Path) -> None:
    third = "  - {operation: fast_append, tables: [0], at_ms: 5000}\n"
    (found,) = problems_of(written(tmp_path, HEAD, SCRIPTED, third, EXACT))
    assert found.startswith("meeting.yaml:12:43: workload.script[2].at_ms: 5000 is not before")


def test_class_of_load_is_told_by_its_own_line(tmp_path: Path) -> None:
    loads = "  workload:\n    class:\n      - {name: a, kind: closed, clients: 0, think_time: {distribution: fixed, value: 1}}\n"
    found = problems_of(written(tmp_path, HEAD, RANDOM, loads, HOLDS))
    assert any(
        each.startswith("meeting.yaml:13:33: workload.class[0].clients: ") for each in found
    ), found


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.toml", None, "meeting.yaml:3:1: config: 'gone.toml': no such file; check the path"),
        ("bad.toml", b"a = [", "bad.toml:1: not valid TOML: "),
        ("bytes.toml", b"a = '\xff'", "bytes.toml:1: byte 0xff is not UTF-8; "),
        (
            "digits.toml",
            b"a = " + b"1" * 5000,
            "meeting.yaml:3:1: config: 'digits.toml': cannot be read as TOML: ",
        ),
    ],
)
def test_base_that_cannot_be_read_is_the_only_problem(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    (found,) = problems_of(written(tmp_path, HEAD, f"config: {name}\n", HOLDS))
    assert said in found


def test_problem_of_the_base_is_told_by_the_line_in_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        "[simulation]\nduration_ms = 100\n[storage]\nprovider = 'instant'\n[transaction]\nretry = -1\n"
        "inter_arrival = {distribution = 'fixed', value = 5}\n"
    )
    (found,) = problems_of(written(tmp_path, HEAD, "config: base.toml\n", HOLDS))
    assert found.startswith("base.toml:6: transaction.retry: ")
    assert read_scenario(
        written(tmp_path, HEAD, "config: base.toml\nset: {transaction.retry: 1}\n", HOLDS)
    )


def test_grid_without_end_is_refused_before_it_is_made(tmp_path: Path) -> None:
    values = ", ".join(map(str, range(100)))
    grid = f"grid:\n  a: [{values}]\n  b: [{values}]\n  c: [{values}]\n"
    (found,) = problems_of(written(tmp_path, HEAD, RANDOM, grid, HOLDS))
    assert "meeting.yaml:11:1: grid: makes 1000000 variants" in found


# -- what is no YAML, or no YAML of ours -------------------------------------------------------------------------------

BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ":1:1: not a scenario; begin with `scenario:`"),
        (b"- a\n- b\n", ":1:1: not a scenario"),
        (b"just words\n", ":1:1: not a scenario"),
        (b"scenario: x\nscenario: y\n", ":2:1: scenario: stands twice, first in line 1"),
        (b"about: &a x\nscenario: *a\n", ":2:1: scenario: an alias; write the value out"),
        (BOMB.encode(), "an alias; write the value out"),
        (b"scenario: [unclosed\n", ":2:1: not YAML: "),
        (b"scenario: a\x00b\n", ": not YAML: "),
        (b"scenario: \xff\xfe\n", ": byte 0xff is not UTF-8"),
        (b"scenario: " + b"x" * 2**20, ": is larger than 1 MiB"),
        (b"[" * 5000, "not YAML: nested too deeply"),
        (b"? [a, b]\n: c\n", "a key must be a plain name"),
        (b"scenario: a\n---\nscenario: b\n", "not YAML: "),
    ],
)
def test_file_that_is_no_scenario_is_refused_in_words(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    found = problems_of(path)
    assert said in "\n".join(found)
    assert all(each.startswith("odd.yaml") for each in found)


def test_nothing_runs_while_one_of_many_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something ran")

    monkeypatch.setattr(running, "run", never)
    written(tmp_path, HEAD, RANDOM, QUICK, HOLDS, name="good.yaml")
    bad = written(tmp_path, HEAD, RANDOM, "sedes: 1\n", HOLDS, name="bad.yaml")
    assert main(["verify", str(tmp_path), "--html", str(tmp_path / "page.html")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"endive: {bad}:11:1: sedes: unknown key; did you mean 'seeds'?\n"
    assert not (tmp_path / "page.html").exists()


# -- which files are meant ---------------------------------------------------------------------------------------------


def test_directories_are_searched_for_what_calls_itself_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    one = written(tmp_path, HEAD, name="b.yaml")
    two = written(tmp_path / "deep", HEAD, name="a.yml")
    foreign = written(tmp_path, "scenario:\n  name: default\nplatforms: []\n", name="molecule.yml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    assert find_scenarios([tmp_path, one]) == [one, two]
    assert not is_scenario(foreign)
    # Whoever names a file means it.
    assert find_scenarios([foreign]) == [foreign]


def test_nothing_found_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no scenario(?s:.*)no such file"):
        find_scenarios([tmp_path, tmp_path / "gone.yaml"])
