"""All answers written down: SVG and PNG and a Markdown table for each plot, and one page with all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive import __version__, page
from endive.analysis.answers import Answer, LeftOut, Question
from endive.analysis.curves import latency_throughput, success_load
from endive.analysis.distributions import retries, snapshots_behind
from endive.analysis.heatmaps import load_catalog_latency, load_tables
from endive.analysis.study import Study
from endive.analysis.time_parts import time_parts
from endive.analysis.timelines import commit_rate
from endive.analysis.uncommittable import uncommittable
from endive.analysis.words import listed, number
from endive.plots import draw
from endive.utils import whole_file

PAGE = "index.html"

QUESTIONS: tuple[Question, ...] = (
    latency_throughput,
    success_load,
    time_parts,
    load_tables,
    load_catalog_latency,
    commit_rate,
    retries,
    snapshots_behind,
    uncommittable,
)
"""What is asked of every study, in the order of the page."""

_STYLE = """
ul { padding-left:1.2rem } li { margin:.2rem 0; max-width:60rem } figure { overflow-x:auto }
figure img { width:100%; min-width:36rem }
@media print { figure img { min-width:0 } }
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The answers about one study, and the files that hold them."""

    study: Study
    answers: tuple[Answer | LeftOut, ...]
    files: dict[str, tuple[Path, ...]]
    """By the id of the answer."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        runs = self.study.totals(self.study.setups)
        return {
            "name": self.study.name,
            "experiments": [setup.name for setup in self.study.setups],
            "axes": list(self.study.axes),
            "seeds": sorted({int(seed) for seed in runs["seed"]}),
            "runs": [
                {
                    "experiment": row["experiment"],
                    "seed": int(row["seed"]),
                    **{name: float(row[name]) for name in ("window_start_ms", "window_end_ms")},
                    **{name: int(row[name]) for name in ("committed", "aborted", "in_flight")},
                }
                for row in runs.to_dict("records")
            ],
            "answers": [
                {
                    "id": answer.id,
                    "question": answer.question,
                    "findings": list(answer.findings),
                    "found": list(answer.data),
                    "basis": answer.basis,
                    "files": [str(path) for path in self.files[answer.id]],
                    "columns": list(answer.head),
                    "rows": [list(map(str, row)) for row in answer.rows],
                }
                for answer in self.answers
                if isinstance(answer, Answer)
            ],
            "left_out": [
                {"id": answer.id, "question": answer.question, "why": answer.why}
                for answer in self.answers
                if isinstance(answer, LeftOut)
            ],
        }


def write_report(
    studies: Sequence[Study],
    out: Path,
    source: str,
    on_step: Callable[[], None] = lambda: None,
) -> tuple[Written, ...]:
    """Answer every question about every study, and write it all; `on_step` is called after each."""
    written, sections = [], []
    slugs = _slugs([study.name for study in studies])
    for study, slug in zip(studies, slugs, strict=True):
        answers = []
        files: dict[str, tuple[Path, ...]] = {}
        parts: list[page.Markup] = []
        for ask in QUESTIONS:
            answer = ask(study)
            answers.append(answer)
            if isinstance(answer, Answer):
                part, files[answer.id] = _write_answer(answer, out / slug, f"{slug}-{answer.id}")
                parts.append(part)
            on_step()
        written.append(Written(study, tuple(answers), files))
        sections.append(_section(written[-1], slug, parts))
    page.write_page(
        out / PAGE,
        "Endive: what the experiments say about saturation",
        _head(studies, source),
        _contents(written, slugs),
        *sections,
        style=_STYLE,
    )
    return tuple(written)


def steps(studies: Sequence[Study]) -> int:
    """How often `write_report` calls `on_step`."""
    return len(studies) * len(QUESTIONS)


def _write_answer(answer: Answer, folder: Path, id: str) -> tuple[page.Markup, tuple[Path, ...]]:
    """The files of one answer, and its part of the page."""
    width_in, height_in = answer.size_in
    plot = draw(answer.paint, width_in=width_in, height_in=height_in)
    svg, png = plot.save(folder / answer.id)
    markdown = folder / f"{answer.id}.md"
    with whole_file(markdown) as beside:
        beside.write_text(answer.markdown(), encoding="utf-8")
    findings = [page.element("li", line) for line in answer.findings]
    words = "; ".join((answer.question, *answer.findings))
    part = page.join(
        page.element("h3", answer.question, id=id),
        page.paragraph(answer.reading),
        page.element("ul", *findings) if findings else "",
        plot.on_page(words),
        page.fold(
            ["Numbers", f"{answer.id}.md, .svg, .png"],
            page.table(answer.head, answer.rows, numbers=_numeric(answer), caption=answer.basis),
        ),
    )
    return part, (svg, png, markdown)


def _numeric(answer: Answer) -> list[int]:
    """The columns that hold nothing but numbers."""
    number_like = re.compile(r"[-−–∞<>0-9., %]*( to [-−–∞<>0-9., %]+)?")
    return [
        place
        for place in range(len(answer.head))
        if answer.rows and all(number_like.fullmatch(str(row[place])) for row in answer.rows)
    ]


def _head(studies: Sequence[Study], source: str) -> page.Markup:
    experiments = sum(len(study.setups) for study in studies)
    runs = sum(len(study.totals(study.setups)) for study in studies)
    versions = sorted({s.version for study in studies for s in study.setups if s.version})
    made_by = f", made by {listed(versions)}" if versions else ""
    return page.join(
        page.element("h1", "What the experiments say about saturation"),
        page.paragraph(
            f"{number(experiments)} experiments, {number(runs)} runs, from ",
            page.code(source),
            f"{made_by}. Endive {__version__}.",
            class_="dim",
        ),
    )


def _contents(written: Sequence[Written], slugs: Sequence[str]) -> page.Markup:
    """The studies and what each of them has found, before anything else."""
    items = []
    for one, slug in zip(written, slugs, strict=True):
        answers = [answer for answer in one.answers if isinstance(answer, Answer)]
        found = [
            page.element("li", page.element("a", line, href=f"#{slug}-{answer.id}"))
            for answer in answers
            for line in answer.findings
        ]
        name = page.element("a", one.study.name, href=f"#{slug}")
        items.append(page.element("li", name, page.element("ul", *found) if found else ""))
    return page.element("nav", page.element("ul", *items))


def _section(written: Written, slug: str, parts: Sequence[page.Markup]) -> page.Markup:
    study = written.study
    differ = ", ".join(study.axes) or "nothing"
    left_out = [answer for answer in written.answers if isinstance(answer, LeftOut)]
    rows = [(answer.question, answer.why) for answer in left_out]
    return page.element(
        "section",
        page.element("h2", study.name, id=slug),
        page.paragraph(
            f"{number(len(study.setups))} experiments, which differ in: {differ}. {study.basis(study.setups)}",
            class_="dim",
        ),
        *parts,
        page.element("h3", "What these experiments cannot answer") if rows else "",
        page.table(("question", "why, and what would help"), rows) if rows else "",
    )


def _slugs(names: Sequence[str]) -> list[str]:
    """Names of folders for studies: plain letters, each once."""
    found: list[str] = []
    for name in names:
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "study"
        place = 2
        candidate = slug
        while candidate.lower() in (each.lower() for each in found):
            candidate, place = f"{slug}-{place}", place + 1
        found.append(candidate)
    return found
