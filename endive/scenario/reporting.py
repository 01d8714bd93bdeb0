"""What verifying came to, for machines: one JSON document, JUnit, and annotations that GitHub shows beside the line."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endive.scenario.deciding import Decision, Finding
from endive.scenario.model import DEFAULT_VARIANT
from endive.scenario.verifying import Report
from endive.utils import whole_file

EXIT_CODES = {Finding.PASS: 0, Finding.FAIL: 1, Finding.UNKNOWN: 3}


def exit_code(reports: Sequence[Report]) -> int:
    """A failure is worse than an open question."""
    found = {report.finding for report in reports}
    for finding in (Finding.FAIL, Finding.UNKNOWN):
        if finding in found:
            return EXIT_CODES[finding]
    return 0


def many(count: int, word: str) -> str:
    """So many of something."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def replay(report: Report, decision: Decision) -> str:
    """The command that shows it again."""
    command = f"endive verify {shlex.quote(report.scenario.file)}"
    return command if decision.seed is None else f"{command} --seed {decision.seed}"


def describe(reports: Sequence[Report], selected: int, elapsed_s: float) -> dict[str, Any]:
    """All of it as a JSON document."""
    counts = Counter(report.finding for report in reports)
    return {
        "exit_code": exit_code(reports),
        "selected": selected,
        "run": len(reports),
        "passed": counts[Finding.PASS],
        "failed": counts[Finding.FAIL],
        "unknown": counts[Finding.UNKNOWN],
        "runs": sum(report.runs for report in reports),
        "elapsed_s": round(elapsed_s, 3),
        "scenarios": [
            {
                "file": report.scenario.file,
                "scenario": report.scenario.title,
                "sections": list(report.scenario.sections),
                "clauses": list(report.scenario.clauses),
                "finding": report.finding.value,
                "variants": [variant.name for variant in report.scenario.variants],
                "runs": report.runs,
                "seeds": report.seeds,
                "exercised": report.exercised,
                "digests": report.digests,
                "decisions": [
                    {
                        "finding": decision.finding.value,
                        "what": decision.what,
                        "variant": decision.variant,
                        "expected": decision.expected,
                        "seen": decision.seen,
                        "seed": decision.seed,
                        "line": decision.line,
                        "story": list(decision.stories),
                        "replay": replay(report, decision),
                    }
                    for decision in report.decisions
                ],
            }
            for report in reports
        ],
    }


def in_words(report: Report, decision: Decision) -> list[str]:
    """What went wrong, what happened, and how to see it again."""
    is_told = (
        decision.variant in ("", DEFAULT_VARIANT) or f" in {decision.variant}" in decision.what
    )
    variant = "" if is_told else f" [{decision.variant}]"
    lines = [f"{decision.what}{variant}: expected {decision.expected}; seen {decision.seen}"]
    lines += [f"  {story}" for story in decision.stories]
    lines.append(f"  replay: {replay(report, decision)}")
    return lines


def write_junit(reports: Sequence[Report], path: str | Path) -> None:
    """One suite per scenario, one case per thing that was to be found out."""
    from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

    document = JUnitXml("endive verify")
    for report in reports:
        suite = TestSuite(report.scenario.name)
        for number, decision in enumerate(report.decisions):
            name = f"{number + 1}. {decision.what}"
            case = TestCase(name, classname=report.scenario.name)
            first, *rest = in_words(report, decision)
            if decision.finding is not Finding.PASS:
                # CI shows the message in a list, and the text when somebody looks closer.
                kind = Failure if decision.finding is Finding.FAIL else Skipped
                result = kind(first)
                result.text = "\n".join(rest)
                case.result = [result]
            suite.add_testcase(case)
        document.add_testsuite(suite)
    with whole_file(path) as beside:
        document.write(str(beside))


def github_annotations(reports: Sequence[Report]) -> list[str]:
    """Workflow commands of GitHub Actions, one per failure or open question."""
    found = []
    for report in reports:
        for decision in report.decisions:
            if decision.finding is Finding.PASS:
                continue
            level = "error" if decision.finding is Finding.FAIL else "warning"
            file = os.path.relpath(report.scenario.file)
            text = "\n".join(in_words(report, decision))
            message = _escaped(text)
            line = max(1, decision.line)
            found.append(f"::{level} file={_escaped_property(file)},line={line}::{message}")
    return found


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
