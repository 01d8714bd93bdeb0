"""Reading sweeps: which cells a file means, and that whatever is wrong with it is told before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from sweep_files import BASE, SWEEP, written

from endive.config import compute_experiment_hash, load_config, render_config
from endive.errors import InputError
from endive.sweep import Sweep, read_sweep
from endive.sweep.reading import load_schema

ROOT = Path(__file__).resolve().parents[2]
HEAD = 'label = "load"\nbase = "base.toml"\nseeds = "1..2"\n'
CLASSES = """
[[workload.class]]
name = "in.gest"
kind = "open"
inter_arrival = { distribution = "exponential", scale = 500.0 }
[[workload.class]]
name = "replication"
kind = "background"
inter_arrival = { distribution = "exponential", scale = 900.0 }
"""


def cells_of(place: Path, sweep: str, base: str = BASE) -> Sweep:
    return read_sweep(written(place, HEAD + sweep, base))


def problems_of(place: Path, sweep: str, base: str = BASE) -> list[str]:
    file = written(place, sweep, base)
    with pytest.raises(InputError) as caught:
        read_sweep(file)
    return [str(problem).replace(f"{place}/", "") for problem in caught.value.problems]


def test_every_combination_is_a_cell_and_the_last_axis_varies_fastest(tmp_path: Path) -> None:
    sweep = read_sweep(written(tmp_path))

    assert [tuple(cell.settings.values()) for cell in sweep.cells] == [
        (50.0, 1),
        (50.0, 4),
        (200.0, 1),
        (200.0, 4),
    ]
    assert (sweep.seeds, sweep.records_attempts, sweep.records_trace) == ((1, 2), True, False)
    cell = sweep.cells[1]
    assert cell.config.values["transaction"]["inter_arrival"]["scale"] == 50.0
    assert cell.config.values["catalog"]["num_tables"] == 4
    assert cell.name == "transaction.inter_arrival.scale = 50.0, catalog.num_tables = 4"
    # Neighbours of a key that is set stay.
    assert cell.config.values["transaction"]["inter_arrival"]["distribution"] == "exponential"


def test_a_cell_is_the_experiment_that_its_configuration_would_be(tmp_path: Path) -> None:
    cell = read_sweep(written(tmp_path)).cells[0]
    file = tmp_path / "cfg.toml"
    file.write_text(render_config(cell.config), encoding="utf-8")

    config = load_config(file)

    assert compute_experiment_hash(config) == cell.config_hash
    assert config.label == "load"


@pytest.mark.parametrize(
    "spelling",
    [
        "[set]\ntransaction.retry = 7\n",
        '[set]\n"transaction.retry" = 7\n',
        "[set.transaction]\nretry = 7\n",
        'set = { "transaction.retry" = 7 }\n',
    ],
)
def test_a_key_may_be_written_in_any_way_that_toml_has(tmp_path: Path, spelling: str) -> None:
    (cell,) = cells_of(tmp_path, spelling).cells
    assert cell.config.values["transaction"]["retry"] == 7
    assert cell.config.values["transaction"]["runtime"]["mean"] == 400.0


def test_a_table_that_is_laid_down_replaces_what_stood_there(tmp_path: Path) -> None:
    fixed = '[set]\ntransaction.runtime = { distribution = "fixed", value = 9.0 }\n'
    (cell,) = cells_of(tmp_path, fixed).cells
    runtime = cell.config.values["transaction"]["runtime"]
    assert (runtime["value"], "sigma" in runtime) == (9.0, False)

    grid = (
        '[grid]\ntransaction.runtime = [{ distribution = "fixed", value = 9.0 }, { mean = 5.0 }]\n'
    )
    one, other = cells_of(tmp_path, grid).cells
    assert one.config.values["transaction"]["runtime"]["value"] == 9.0
    assert other.config.values["transaction"]["runtime"]["mean"] == 5.0


def test_cases_set_keys_together_and_combine_with_the_grid(tmp_path: Path) -> None:
    sweep = cells_of(
        tmp_path,
        """
[grid]
catalog.num_tables = [1, 4]
[cases.catalog.pointer]
[cases.catalog.log]
catalog.type = "append"
"transaction.retry" = 9
""",
    )
    told = [
        (cell.settings["catalog"], cell.config.values["catalog"]["type"]) for cell in sweep.cells
    ]
    assert told == [("pointer", "cas"), ("log", "append")] * 2
    assert sweep.cells[1].config.values["transaction"]["retry"] == 9
    assert sweep.axes[1].keys == ("catalog.type", "transaction.retry")


def test_classes_of_load_go_by_their_names(tmp_path: Path) -> None:
    base = BASE.split("[transaction]")[0] + CLASSES
    sweep = cells_of(
        tmp_path,
        """
remove = ["workload.class.replication"]
[grid]
workload.class."in.gest".inter_arrival.scale = [250.0, 1000.0]
""",
        base,
    )
    loads = [cell.config.values["workload"]["class"] for cell in sweep.cells]
    assert [[load["name"] for load in each] for each in loads] == [["in.gest"]] * 2
    assert [each[0]["inter_arrival"]["scale"] for each in loads] == [250.0, 1000.0]


def test_a_class_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    base = BASE.split("[transaction]")[0] + CLASSES
    (problem,) = problems_of(tmp_path, HEAD + "[set]\nworkload.class.a.end_ms = 2\n", base)
    assert problem == (
        "sweep.toml:5: workload.class.a.end_ms: nothing in 'workload.class' is called 'a'; "
        "there are in.gest, replication"
    )


def test_a_case_may_remove_what_the_base_has(tmp_path: Path) -> None:
    sweep = cells_of(
        tmp_path,
        '[cases.with.all]\n[cases.with.less]\nremove = ["workload.class.replication"]\n',
        BASE.split("[transaction]")[0] + CLASSES,
    )
    counts = [len(cell.config.values["workload"]["class"]) for cell in sweep.cells]
    assert counts == [2, 1]


def test_a_configuration_may_be_written_out_and_one_cell_is_a_sweep(tmp_path: Path) -> None:
    inline = "[config]\n" + BASE.replace("[", "[config.")
    file = written(tmp_path, f'label = "one"\nseeds = [3, 1]\nattempts = false\n{inline}')
    sweep = read_sweep(file)
    assert (len(sweep.cells), sweep.seeds, sweep.records_attempts) == (1, (3, 1), False)


def test_cost_tables_are_found_from_the_file_that_names_them(tmp_path: Path) -> None:
    from endive.resources import package_dir

    inner = tmp_path / "inner"
    inner.mkdir()
    table = (package_dir("cost_tables") / "legacy.yaml").read_text(encoding="utf-8")
    (inner / "mine.yaml").write_text(table, encoding="utf-8")
    (inner / "base.toml").write_text(f'{BASE}cost_table = "mine.yaml"\n', encoding="utf-8")
    sweep = HEAD.replace("base.toml", "inner/base.toml")

    (cell,) = read_sweep(written(tmp_path, sweep)).cells
    (other,) = cells_of(tmp_path, '[set]\ntransaction.cost_table = "inner/mine.yaml"\n').cells

    assert cell.config.cost_table.text == other.config.cost_table.text == table


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("", "sweep.toml: label: missing; add it, for example label"),
        (HEAD.replace("label", "lable"), "sweep.toml:1: lable: unknown key; did you mean 'label'?"),
        (HEAD.replace('"load"', '"a/b"'), "sweep.toml:1: label: must be usable as the name"),
        (HEAD + "[config]\n", "sweep.toml:4: config: there is a `base`, too; remove one"),
        ('label = "a"\nseeds = 1\n', "sweep.toml: base: missing; name the configuration"),
        (HEAD.replace("base.toml", "no.toml"), "sweep.toml:2: base: 'no.toml': no such file"),
        (HEAD.replace("1..2", "2..1"), "sweep.toml:3: seeds: '2..1' is empty; did you mean '1..2'"),
        (HEAD.replace("1..2", "1-2"), "sweep.toml:3: seeds: '1-2' is no seed; give \"1..20\""),
        (HEAD.replace('"1..2"', "[1, 2, 1]"), "sweep.toml:3: seeds: 1 stands twice"),
        (HEAD.replace('"1..2"', "[]"), "sweep.toml:3: seeds: an empty list is no seed"),
        (HEAD.replace('"1..2"', "true"), "sweep.toml:3: seeds: true is no seed"),
        (HEAD.replace("1..2", "1..99999"), "99999 seeds; 10000 are the most"),
        (HEAD + "trace = 1\n", "sweep.toml:4: trace: 1 is not true or false; give true or false"),
        (HEAD + '"transaction.retry" = 1\n', "a key of the configuration stands in [set], [grid]"),
        (HEAD + "[grid]\ntransaction.retry = 3\n", "sweep.toml:5: grid.transaction.retry: 3 is not"),
        (HEAD + "[grid]\ntransaction.retry = []\n", "sweep.toml:5: grid.transaction.retry: is empty"),
        (HEAD + "[cases.a]\n", "sweep.toml:4: cases.a: has no case; add [cases.a.NAME]"),
        (HEAD + "[cases.a.b]\nremove = 3\n", "cases.a.b.remove: must be an array of dotted keys"),
        (HEAD + "[set]\nsimulation.seed = 3\n", "is not for a sweep to set: the sweep has its own"),
        (HEAD + '[set]\nexperiment.label = "x"\n', "sweep.toml:5: set.experiment.label: is not for"),
        (HEAD + "set = { catalog = { num_tables = 3 } }\n", "would replace the whole of [catalog]"),
        (
            HEAD + "[set]\ntransaction.retry = 1\n[grid]\ntransaction.retry = [1, 2]\n",
            "sweep.toml:5: set.transaction.retry: 'transaction.retry' varies it; remove it here",
        ),
        (
            HEAD + "[grid]\ntransaction.runtime = [{}]\ntransaction.runtime.mean = [1.0]\n",
            "not valid TOML",
        ),
        (
            HEAD + "[grid]\ntransaction.retry = [1, 2]\n[cases.a.b]\ntransaction.retry = 3\n",
            "sweep.toml:6: cases.a: 'transaction.retry' and another axis meet",
        ),
        (HEAD + "[grid]\ntransaction.retry = [1, -2]\n", "sweep.toml:5: transaction.retry: must be"),
        (HEAD + "[set]\ntransaction.rety = 2\n", "sweep.toml:5: transaction.rety: unknown key; did you mean 'retry'?"),
        (HEAD + "[set]\ntransaction.retry.x = 2\n", "'retry' is 3 in the configuration, not a table"),
        (HEAD + 'remove = ["catalog.groups"]\n', "there is nothing to remove; check the key"),
        (HEAD + "[grid]\ncatalog.num_tables = [1, 1]\n", "are the same experiment; remove one of"),
        (
            HEAD + f"[grid]\ntransaction.retry = {list(range(200))}\n"
            f"catalog.num_tables = {list(range(1, 200))}\n",
            "the axes make 39800 cells; 10000 are the most",
        ),
        (
            HEAD.replace("1..2", "1..9999") + f"[grid]\ntransaction.retry = {list(range(200))}\n",
            "200 cells × 9999 seeds are 1999800 runs; 1000000 are the most",
        ),
    ],
)  # fmt: skip
def test_problem_is_told_where_it_stands(tmp_path: Path, sweep: str, said: str) -> None:
    assert any(said in problem for problem in problems_of(tmp_path, sweep)), said


def test_all_problems_are_told_at_once_and_each_once(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        HEAD + '[set]\nstorage.provider = "s4"\n[grid]\ntransaction.retry = [1, -2, 3]\n'
        "catalog.num_tables = [0, 1]\n",
        BASE.replace("20000", "-1"),
    )
    assert len(problems) == 4
    provider, retry, tables, duration = problems
    assert provider.startswith("sweep.toml:5: storage.provider: 's4' is not one of")
    # Of every cell alike: no cell is named.
    assert "in the cell" not in provider
    assert retry.startswith("sweep.toml:7: transaction.retry: must be at least 0, not -2")
    assert retry.endswith("(in the cell transaction.retry = -2, catalog.num_tables = 0 and 1 more)")
    assert tables.startswith("sweep.toml:8: catalog.num_tables: ")
    assert duration.startswith("base.toml:2: simulation.duration_ms: ")


def test_a_contradiction_between_axes_names_a_cell_that_shows_it(tmp_path: Path) -> None:
    (problem,) = problems_of(
        tmp_path,
        HEAD + '[grid]\nstorage.provider = ["s3", "s3x"]\ncatalog.type = ["cas", "append"]\n',
    )
    assert 'in the cell storage.provider = "s3", catalog.type = "append")' in problem


def test_the_example_of_the_documentation_is_a_sweep(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "SWEEPS.md").read_text(encoding="utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    file = written(tmp_path, example.replace("../examples", str(ROOT / "examples")))
    assert len(read_sweep(file).cells) == 18


def test_the_schema_is_one_and_takes_what_the_reader_takes(tmp_path: Path) -> None:
    import tomllib

    schema = load_schema()
    Draft7Validator.check_schema(schema)
    assert not list(Draft7Validator(schema).iter_errors(tomllib.loads(SWEEP)))
    json.dumps(schema)
    assert read_sweep(written(tmp_path)).label == "load"
