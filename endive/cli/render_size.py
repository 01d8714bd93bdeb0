"""The answer to a sizing question for people: what to take, then why, then what to doubt."""

from __future__ import annotations

import math
import shlex

from rich.console import Console
from rich.table import Table

from endive.cli.words import count, duration, number, percent
from endive.sizing.answering import Answer, Entry
from endive.sizing.candidates import CATALOGS, LISTS
from endive.sizing.deciding import Decision, Verdict
from endive.sizing.objectives import Quantity

_COLOURS = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.OPEN: "yellow"}
_MOST_FAILING = 4
_WIDTH = 120


def print_answer(answer: Answer, *, shows_all: bool, written: str | None) -> None:
    """Show what to take, the table, why, and what speaks against it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        # A file has no edge; lines are as long as they are easily read.
        console = Console(highlight=False, width=_WIDTH)
    best = answer.recommended
    lines = in_a_nutshell(answer, best)
    console.print(f"[bold]{lines[0]}[/]")
    for line in lines[1:]:
        console.print(line, markup=False)
    console.print()
    shown = _shown(answer, shows_all)
    console.print(_table(answer, shown))
    hidden = len(answer.entries) - len(shown)
    if hidden:
        console.print(f"… and {hidden} more that fail: --all shows them", style="dim")
    if any(each.is_unfinished for each in answer.entries):
        words = "not run: seen in short runs only; --finalists takes more of them to the end"
        console.print(words, style="dim")
    _print_reasons(console, answer, shown)
    if shows_all and answer.left_out:
        console.print("\n[bold]Cannot be[/]")
        for each in answer.left_out:
            console.print(f"  {each.candidate.name}: {each.reason}", markup=False)
    _print_end(console, answer, best, written)


def in_a_nutshell(answer: Answer, best: Entry | None) -> list[str]:
    """The answer in a few lines."""
    request = answer.request
    tables = f"{count(request.tables)} table{'s' if request.tables > 1 else ''}"
    asked = f"{number(request.rate_per_s)}/s on {tables}, {', '.join(each.text for each in request.objectives)}"
    if best is None:
        verdicts = {each.verdict for each in answer.entries}
        word = "Nothing holds" if verdicts == {Verdict.FAILS} else "Nothing holds for sure"
        lines = [f"{word}: {asked}"]
        known = [each for each in answer.entries if each.holds_up_to is not None]
        if known:
            most = max(known, key=lambda each: each.holds_up_to or 0.0)
            lines.append(f"{most.candidate.name} holds up to {number(most.holds_up_to)}/s.")
        return lines
    candidate = best.candidate
    lines = [f"{candidate.name} holds: {asked}"]
    lines.append(f"{candidate.provider}, {CATALOGS[candidate.catalog]}; {LISTS[candidate.lists]}.")
    kept = [f"{each.objective.text}: {_seen(each)}" for each in best.assessment.decisions]
    sure = f"{percent(answer.evidence.confidence)} sure"
    if best.confirmation is not None:
        seeds = best.confirmation.seeds
        sure += f", and confirmed with {len(seeds)} fresh seeds ({seeds.start} to {seeds.stop - 1})"
    lines.append(f"Seen: {'; '.join(kept)} ({sure}).")
    if best.margin is not None:
        lines.append(f"Margin: {_margin_words(best, request.rate_per_s)}.")
    if best.extrapolates:
        lines.append("This goes beyond what was measured; see the doubts.")
    return lines


def _shown(answer: Answer, shows_all: bool) -> list[Entry]:
    if shows_all:
        return list(answer.entries)
    failing = [each for each in answer.entries if each.verdict is Verdict.FAILS]
    rest = [each for each in answer.entries if each.verdict is not Verdict.FAILS]
    return [*rest, *failing[:_MOST_FAILING]]


def _table(answer: Answer, shown: list[Entry]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("candidate", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for objective in answer.request.objectives:
        table.add_column(f"{objective.text}{'*' if objective.is_implied else ''}", justify="right")
    table.add_column("holds up to", justify="right")
    table.add_column("measured", no_wrap=True)
    for entry in shown:
        colour = _COLOURS[entry.verdict]
        table.add_row(
            entry.candidate.name,
            f"[{colour}]{'not run' if entry.is_unfinished else entry.verdict.value}[/]",
            *(f"[{_COLOURS[each.verdict]}]{_seen(each)}[/]" for each in entry.assessment.decisions),
            _up_to(entry, answer.request.rate_per_s),
            "[yellow]extrapolates[/]" if entry.extrapolates else "within",
        )
    return table


def _seen(decision: Decision) -> str:
    """The quantile, share or rate that was seen."""
    if decision.seen is None:
        return "–"
    if decision.objective.is_latency:
        if math.isinf(decision.seen):
            return "no end seen"
        return duration(decision.seen)
    if decision.objective.quantity is Quantity.THROUGHPUT:
        return f"{number(decision.seen)}/s"
    return _share(decision.seen)


def _share(share: float) -> str:
    """A share with as many nines as it has."""
    missing = 1.0 - share
    if missing <= 0.0:
        return "100 %"
    digits = max(1, math.ceil(-math.log10(missing)) - 1)
    return f"{math.floor(share * 100.0 * 10**digits) / 10**digits:.{digits}f} %"


def _up_to(entry: Entry, asked: float) -> str:
    bracket = entry.margin
    if bracket is None:
        return ""
    if bracket.is_crossed:
        return "unclear"
    if bracket.holds is None:
        lowest = min(each.rate_per_s for each in bracket.tried)
        return f"< {number(lowest)}/s"
    if bracket.breaks is None:
        return f"> {number(bracket.holds.rate_per_s)}/s"
    low, high = bracket.holds.rate_per_s, bracket.breaks.rate_per_s
    return f"{number(low)}–{number(high)}/s"


def _margin_words(entry: Entry, asked: float) -> str:
    bracket = entry.margin
    if bracket is None or bracket.holds is None or bracket.is_crossed:
        return "none that is clear"
    holds = bracket.holds.rate_per_s
    words = f"holds at {number(holds)}/s (×{holds / asked:.3g})"
    if bracket.breaks is None:
        return f"{words} too, the most that was tried"
    limit = entry.limit
    breaks = bracket.breaks
    how = "breaks" if breaks.verdict is Verdict.FAILS else "is no longer sure"
    return (
        f"{words}; at {number(breaks.rate_per_s)}/s (×{breaks.rate_per_s / asked:.3g}) "
        f"{limit.decision.objective.text} {how}: {limit.words}"
    )


def _print_reasons(console: Console, answer: Answer, shown: list[Entry]) -> None:
    console.print("\n[bold]What gives way first[/]")
    told: dict[str, list[str]] = {}
    for entry in shown:
        limit = entry.limit
        if limit.decision.verdict is Verdict.HOLDS:
            if limit.mechanism == "none":
                continue
            words = f"nearest to its limit is {limit.decision.objective.text}: {limit.words}"
        else:
            words = (
                f"{limit.decision.objective.text} at {number(limit.rate_per_s)}/s: {limit.words}"
            )
        if limit.decision.note:
            words += f" ({limit.decision.note})"
        told.setdefault(words, []).append(entry.candidate.name)
    for words, names in told.items():
        console.print(f"  [bold]{', '.join(names)}[/]: ", end="")
        console.print(words, markup=False)
    if any(each.is_implied for each in answer.request.objectives):
        console.print("  * not asked for, but implied: a latency is that of commits", style="dim")
    doubts: dict[tuple[bool, str], list[str]] = {}
    for entry in shown:
        if entry.verdict is Verdict.FAILS:
            continue
        for doubt in entry.doubts:
            names = doubts.setdefault((not doubt.extrapolates, doubt.words), [])
            names.append(entry.candidate.name)
    if doubts:
        console.print("\n[bold]Doubts[/]")
    for (is_known, words), names in sorted(doubts.items()):
        mark = "" if is_known else "[yellow]extrapolates[/] "
        console.print(f"  {mark}[bold]{', '.join(names)}[/]: ", end="")
        console.print(words, markup=False)


def _print_end(console: Console, answer: Answer, best: Entry | None, written: str | None) -> None:
    first = answer.entries[0].assessment
    plan = first.plan
    minutes = duration(plan.duration_ms)
    console.print(
        f"\n{count(answer.runs)} runs, {count(round(answer.transactions))} transactions; "
        f"{minutes} simulated a seed ({plan.reasons[0]}), of which the first {duration(plan.ramp_ms)} at least are warm-up",
        style="dim",
    )
    if best is None:
        return
    if written is not None:
        command = shlex.join(["endive", "run", written, "--seeds", "1..20", "--jobs", "2"])
        console.print(f"written {written}; runs with: {command}", style="dim", markup=False)
