"""A pytest plugin: `pytest scenarios/` collects scenario files, one test per file.

It is loaded wherever Endive is installed, so it imports nothing until a scenario file is collected, and it takes no YAML file that
does not call itself a scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from endive.scenario.verifying import Report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take what calls itself a scenario."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    from endive.scenario.reading import is_scenario

    if not is_scenario(file_path):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


class ScenarioFile(pytest.File):
    """A file with one scenario."""

    def collect(self) -> Iterator[pytest.Item]:
        """The one test there is in it."""
        yield ScenarioItem.from_parent(self, name="scenario")


class ScenarioItem(pytest.Item):
    """Verifies the scenario."""

    def runtest(self) -> None:
        """Read, run and decide; anything but a pass is a failure with its story."""
        from endive.scenario.deciding import Finding
        from endive.scenario.reading import read_scenario
        from endive.scenario.running import perform
        from endive.scenario.verifying import verify

        report = verify(read_scenario(self.path), lambda tasks: map(perform, tasks))
        if report.finding is not Finding.PASS:
            raise ScenarioError(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Words instead of a traceback."""
        from endive.errors import InputError

        if isinstance(excinfo.value, ScenarioError | InputError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """What it is called in reports."""
        return self.path, 0, f"scenario {self.path.stem}"


class ScenarioError(Exception):
    """A scenario whose promises were not kept."""

    def __init__(self, report: Report) -> None:
        from endive.scenario.deciding import Finding
        from endive.scenario.reporting import in_words

        lines = [f"{report.scenario.file}: {report.scenario.title}"]
        for decision in report.decisions:
            if decision.finding is not Finding.PASS:
                lines += [
                    f"{decision.finding.value}: {line}" for line in in_words(report, decision)
                ]
        super().__init__("\n".join(lines))
