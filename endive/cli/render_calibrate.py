"""A calibration for people: errors row by row, a verdict for each operation, and what is offered."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.calibration.compare import Comparison, Error, Fit, RowComparison
from endive.calibration.data import REFUSED_MEAN_MS
from endive.calibration.profiles import SUFFIX
from endive.calibration.report import CaseReport, Report, sentence
from endive.cli.words import number

_COLOURS = {Fit.FITS: "green", Fit.DOES_NOT_FIT: "bold red", Fit.UNDECIDED: "yellow"}


def print_report(report: Report, place: str | None) -> None:
    """Everything: tables, verdicts, profiles and broken claims."""
    console = Console(highlight=False)
    for case in report.cases:
        _print_case(console, case)
    console.print(
        "n: clients. Refused and errors in %. p99/p50: measured/spec/fitted.\n"
        "Errors of throughput are relative, those of failure rates relative to the\n"
        "rarer outcome. ±: 95 % interval over seeds. 2* and 8* were held out: no fit\n"
        "has seen them. ~ worked out from the other columns, not published."
    )
    console.print("\n[bold]Verdicts[/bold] (beyond 15 % on any row: does not fit)")
    for case in report.cases:
        for label, compared in (("as specified", case.specified), ("fitted", case.fitted)):
            colour = _COLOURS[compared.load]
            console.print(
                f"  {case.fitted.case.name:<14}{label:<14}[{colour}]{sentence(compared)}[/]",
                soft_wrap=True,
            )
    console.print("\n[bold]Profiles[/bold]")
    for store, fit in report.fits.items():
        comparisons = report.comparisons(store)
        if report.offers(store):
            where = (
                ""
                if fit.effect_range is None
                else "; {:g} to {:g} would do".format(*fit.effect_range)
            )
            words = (
                f"[green]{store}{SUFFIX}[/] is offered: effect point {fit.effect_point:g}{where}"
            )
        elif store not in report.whole:
            words = f"{store}: only part of it was looked at, which says nothing of a profile"
        else:
            misfits = ", ".join(each.case.name for each in comparisons if not each.is_offered)
            words = f"[bold red]nothing fits {misfits}[/]: no profile of {store} is offered"
            fitting = [each.case.name for each in comparisons if each.is_offered]
            words += f" ({', '.join(fitting)} would fit)" if fitting else ""
        console.print(f"  {words}", soft_wrap=True)
    for name, broken in report.broken.items():
        for words in broken:
            console.print(f"[bold red]{name}[/] does not hold: {escape(words)}", soft_wrap=True)
    if place is not None:
        console.print(f"\nwritten to {escape(place)}", soft_wrap=True)


def _print_case(console: Console, report: CaseReport) -> None:
    case = report.fitted.case
    table = Table(
        title=f"{case.store}: {case.operation.value}",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("n", "refused", "spec", "fitted", "ok/s", "spec", "fitted", "p99/p50"):
        table.add_column(heading, justify="right", no_wrap=True)
    for specified, fitted in zip(report.specified.rows, report.fitted.rows, strict=True):
        row = fitted.row
        table.add_row(
            f"{row.threads}{'*' if fitted.is_held_out else ' '}",
            f"{100.0 * row.failure_rate:.1f}",
            _error(specified.failure),
            _error(fitted.failure),
            f"{'~' if row.is_derived else ''}{row.ok_per_s:.1f}",
            _error(specified.throughput),
            _error(fitted.throughput),
            _tail(specified, fitted),
        )
    console.print(table)
    console.print(f"  as specified: {_model(report.specified)}", soft_wrap=True)
    console.print(f"  fitted:       {_model(report.fitted)}", soft_wrap=True)
    published = REFUSED_MEAN_MS[case.store, case.operation]
    crowd = report.fitted.rows[-1].model.refused_ms
    console.print(
        f"  mean of refused: published {number(published)} ms, fitted {number(crowd)} ms\n",
        soft_wrap=True,
    )


def _error(error: Error) -> str:
    text = f"{100.0 * error.value:+.1f}±{100.0 * error.interval.half_width:.1f}"
    return f"[{_COLOURS[error.fit]}]{text}[/]"


def _tail(specified: RowComparison, fitted: RowComparison) -> str:
    parts = (fitted.row.tail, specified.model.tail, fitted.model.tail)
    return "/".join(number(part) for part in parts)


def _model(compared: Comparison) -> str:
    model = compared.model
    refused = "as successes"
    if model.refused_median_ms is not None:
        refused = f"{number(model.refused_median_ms)} ms, sigma {number(model.refused_sigma)}"
    return (
        f"effect point {model.effect_point:g}, median {number(model.median_ms)} ms, "
        f"sigma {number(model.sigma)}, refused {refused}"
    )
