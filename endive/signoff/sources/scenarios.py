"""Golden scenarios as evidence: each one verified, with the digests of its runs and how often each invariant was exercised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from endive.pool import Apply
from endive.resources import shared_dir
from endive.scenario.deciding import Finding
from endive.scenario.model import Scenario
from endive.scenario.reading import find_scenarios, read_scenarios
from endive.scenario.running import perform
from endive.scenario.verifying import Report, verify
from endive.signoff.evidence import Evidence, Verdict

_VERDICTS = {
    Finding.PASS: Verdict.PASS,
    Finding.FAIL: Verdict.FAIL,
    Finding.UNKNOWN: Verdict.UNKNOWN,
}


class Scenarios:
    """Verifies scenarios."""

    kind = "scenario"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else shared_dir("scenarios")

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every scenario."""
        return self._verified(self._scenarios(), apply)

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some scenarios, by the names of their files."""
        wanted = [each for each in self._scenarios() if each.name in set(names)]
        return self._verified(wanted, apply)

    def _scenarios(self) -> list[Scenario]:
        return read_scenarios(find_scenarios([self._folder]))

    def _verified(self, scenarios: Sequence[Scenario], apply: Apply) -> Iterator[Evidence]:
        for scenario in scenarios:
            yield _evidence(verify(scenario, lambda tasks: apply(perform, tasks)))


def _evidence(report: Report) -> Evidence:
    open_ones = [each for each in report.decisions if each.finding is not Finding.PASS]
    return Evidence(
        f"scenario/{report.scenario.name}",
        _VERDICTS[report.finding],
        {
            "runs": report.runs,
            "seeds": report.seeds,
            "decisions": len(report.decisions),
            "digests": {name: dict(each) for name, each in report.digests.items()},
            "exercised": {id: count for id, count in sorted(report.exercised.items()) if count},
        },
        because="; ".join(
            f"{each.what}: expected {each.expected}, saw {each.seen}" for each in open_ones
        ),
    )
