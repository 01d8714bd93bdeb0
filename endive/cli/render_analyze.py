"""What `endive analyze` tells a person: what each study says, what it cannot say, and where the page is."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.cli.words import count
from endive.saturation_analysis import Analysis, Answer, Written


def print_analysis(found: Analysis) -> None:
    """A table per study, its findings, and the page."""
    console = Console(highlight=False)
    for written in found.studies:
        _print_study(console, written)
    console.print(f"page    {escape(str(found.page))}", soft_wrap=True)


def _print_study(console: Console, written: Written) -> None:
    study = written.study
    experiments = f"{count(len(study.setups))} experiments"
    runs = f"{count(len(study.totals(study.setups)))} runs"
    console.print(f"[bold]{escape(study.name)}[/bold]  {experiments}, {runs}", soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("question")
    table.add_column("answer")
    for answer in written.answers:
        if isinstance(answer, Answer):
            words = "\n".join(answer.findings) or f"{answer.id}.svg, .png, .md"
            table.add_row(escape(answer.question), escape(words))
        else:
            table.add_row(
                f"[dim]{escape(answer.question)}[/dim]", f"[dim]{escape(answer.why)}[/dim]"
            )
    console.print(table)
