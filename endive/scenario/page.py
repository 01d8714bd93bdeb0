"""What verifying came to, as one self-contained page: the verdict first, every scenario folded below it, no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from endive import __version__
from endive.scenario.deciding import Decision, Finding
from endive.scenario.reporting import exit_code, many, replay
from endive.scenario.verifying import Report
from endive.utils import whole_file

_STYLE = """
:root { color-scheme: light dark; --bg:#fff; --fg:#1a1a1a; --dim:#5c5c5c; --line:#d8d8d8; --soft:#f5f5f3;
  --pass:#1a6e3c; --fail:#b3261e; --unknown:#8a5a00; }
@media (prefers-color-scheme: dark) { :root { --bg:#16181a; --fg:#e8e8e6; --dim:#a0a0a0; --line:#3a3d40; --soft:#1f2224;
  --pass:#6fcf97; --fail:#ff8a80; --unknown:#ffc266; } }
* { box-sizing:border-box } body { background:var(--bg); color:var(--fg); font:16px/1.5 system-ui, sans-serif; margin:0 auto;
  padding:2rem 1rem 4rem; max-width:64rem } h1 { font-size:1.6rem; margin:0 0 .3rem } .dim { color:var(--dim) }
.pass { color:var(--pass) } .fail { color:var(--fail) } .unknown { color:var(--unknown) }
details { border-top:1px solid var(--line); padding:.55rem 0 } summary { cursor:pointer; display:grid; gap:.2rem 1rem;
  grid-template-columns:5.2rem 1fr auto } summary:focus-visible { outline:2px solid currentColor; outline-offset:3px }
summary b { font-weight:600 } table { border-collapse:collapse; width:100%; margin:.6rem 0; font-size:.92rem;
  table-layout:fixed } th:first-child { width:5.2rem } th:nth-child(3) { width:22% } th:nth-child(4) { width:32% }
th, td { text-align:left; vertical-align:top; padding:.3rem .6rem .3rem 0; border-bottom:1px solid var(--line) }
td { overflow-wrap:anywhere } pre { background:var(--soft); padding:.7rem; overflow-x:auto; font-size:.82rem; margin:.3rem 0 }
@media (max-width: 40rem) { summary { grid-template-columns:5.2rem 1fr } summary .dim { grid-column:2 }
  th:first-child { width:4.4rem } table { font-size:.82rem } }
@media print { pre { white-space:pre-wrap } }
"""


def write_page(reports: Sequence[Report], path: str | Path) -> None:
    """Write the page; it appears whole or not at all."""
    with whole_file(path) as beside:
        beside.write_text("".join(_page(reports)), encoding="utf-8")


def _page(reports: Sequence[Report]) -> Iterator[str]:
    counts = Counter(report.finding for report in reports)
    code = exit_code(reports)
    verdict = {0: "All scenarios hold", 1: "Some scenarios fail", 3: "Some questions stay open"}[
        code
    ]
    colour = {0: "pass", 1: "fail", 3: "unknown"}[code]
    runs = sum(report.runs for report in reports)
    yield "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
    yield "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    yield f"<title>Endive: {escape(verdict)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1 class='{colour}'>{escape(verdict)}</h1>"
    yield (
        f"<p>{many(len(reports), 'scenario')}: {counts[Finding.PASS]} pass, {counts[Finding.FAIL]} fail, "
        f"{counts[Finding.UNKNOWN]} unknown. {many(runs, 'run')}, Endive {escape(__version__)}.</p>"
    )
    for report in reports:
        yield from _scenario(report)
    yield "</body></html>\n"


def _scenario(report: Report) -> Iterator[str]:
    scenario, finding = report.scenario, report.finding.value
    is_open = "" if report.finding is Finding.PASS else " open"
    yield f"<details{is_open}><summary><b class='{finding}'>{finding}</b>"
    yield f"<span>{escape(scenario.title)}</span><span class='dim'>{escape(scenario.name)}</span></summary>"
    yield f"<p class='dim'>{escape(', '.join(scenario.sections))}"
    counts = (len(scenario.variants), "variant"), (report.seeds, "seed"), (report.runs, "run")
    yield "".join(f" · {many(count, word)}" for count, word in counts) + "</p>"
    if scenario.about:
        yield f"<p>{escape(scenario.about)}</p>"
    yield "<table><thead><tr><th></th><th>measured</th><th>expected</th><th>seen</th></tr></thead><tbody>"
    for decision in report.decisions:
        yield _row(report, decision)
    yield "</tbody></table>"
    judged = {id: count for id, count in report.exercised.items() if count}
    if judged:
        words = ", ".join(f"{escape(id)} {count:,}" for id, count in sorted(judged.items()))
        yield f"<p class='dim'>Invariants exercised: {words}.</p>"
    yield "</details>"


def _row(report: Report, decision: Decision) -> str:
    finding = decision.finding.value
    what = escape(decision.what)
    if decision.variant not in ("", "default") and decision.variant not in decision.what:
        what += f" <span class='dim'>in {escape(decision.variant)}</span>"
    row = (
        f"<tr><td class='{finding}'>{finding}</td><td>{what}</td>"
        f"<td>{escape(decision.expected)}</td><td>{escape(decision.seen)}</td></tr>"
    )
    if decision.finding is Finding.PASS:
        return row
    story = "\n".join((*decision.stories, f"replay: {replay(report, decision)}"))
    return f"{row}<tr><td colspan='4'><pre tabindex='0'>{escape(story)}</pre></td></tr>"
