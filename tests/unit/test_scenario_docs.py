"""docs/SCENARIOS.md is up to date: its table is that of the metrics, and its example comes out as it says."""

from __future__ import annotations

from pathlib import Path

from endive.scenario.deciding import Finding
from endive.scenario.metrics import METRICS
from endive.scenario.reading import load_schema, read_scenario
from endive.scenario.running import perform
from endive.scenario.verifying import verify

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "SCENARIOS.md").read_text(encoding="utf-8")


def test_table_has_every_metric() -> None:
    rows = [
        f"| `{each.name}` | {each.level.value} | {each.statement} | {f'`{each.needs}`' if each.needs else ''} |"
        for each in METRICS.values()
    ]
    section = PAGE.partition("## Metrics\n")[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows


def test_every_key_is_explained() -> None:
    for key in load_schema()["properties"]:
        assert f"`{key}`" in PAGE


def test_example_comes_out_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(PAGE.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    scenario = read_scenario(path)
    report = verify(scenario, lambda tasks: map(perform, tasks))
    expected = report.decisions[: len(scenario.expectations)]
    assert [each.finding for each in expected] == [Finding.PASS] * 2
    assert report.exercised["failure-then-read"] > 0
