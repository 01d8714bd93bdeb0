"""The model card: the same in Markdown and HTML, nothing forgotten, and the page in the docs is the one that the code makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from endive.cost_model import cost_table_names
from endive.fidelity.waivers import SHIPPED, load_waivers
from endive.judge.registry import INVARIANTS
from endive.laws.registry import LAWS
from endive.main import main
from endive.model_card.blocks import Grid, Paragraph, html, markdown
from endive.model_card.content import card
from endive.profiles import FITTED, load_profiles
from endive.signoff.files import checkout


def _text() -> str:
    return markdown(card(checkout()))


def test_the_page_in_the_docs_is_the_one_that_the_code_makes() -> None:
    page = checkout() / "docs" / "MODEL_FIDELITY.md"
    assert page.read_text(encoding="utf-8") == _text(), (
        "endive model-card --out docs/MODEL_FIDELITY.md"
    )


def test_nothing_that_speaks_for_or_against_the_model_is_forgotten() -> None:
    text = _text()
    for name in (*cost_table_names(), *FITTED, *load_profiles()):
        assert name in text
    for invariant in INVARIANTS:
        assert invariant.id in text
    for law in LAWS:
        assert f"| {law.id} |" in text
    cells = {
        cell
        for block in card(checkout())
        if isinstance(block, Grid)
        for row in block.rows
        for cell in row
    }
    for waiver in load_waivers(SHIPPED):
        assert " ".join(waiver.reason.split()) in cells


def test_files_that_are_named_as_evidence_exist() -> None:
    top = checkout()
    words = {
        word.strip(",;.()`")
        for block in card(top)
        for text in (
            [block.text]
            if isinstance(block, Paragraph)
            else [cell for row in block.rows for cell in row]
            if isinstance(block, Grid)
            else []
        )
        for word in text.split()
    }
    named = {
        word for word in words if word.startswith(("docs/", "scenarios/", "examples/", "reports/"))
    }
    assert len(named) > 5
    assert [name for name in sorted(named) if not (top / name).exists()] == []


def test_markup_within_a_sentence_is_code_and_nothing_else_is_markup() -> None:
    (made,) = html([Paragraph("run `endive` <b>now</b>")])
    assert made == "<p>run <code>endive</code> &lt;b&gt;now&lt;/b&gt;</p>"


@pytest.mark.parametrize("name", ["card.md", "card.html"])
def test_the_card_is_written_whole(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model-card", "--out", str(tmp_path / name)]) == 0
    assert "Known deviations" in (tmp_path / name).read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["model-card", "--json"]) == 0
    kinds = {block["kind"] for block in json.loads(capsys.readouterr().out)["blocks"]}
    assert {"heading", "paragraph", "grid", "points", "commands"} == kinds


def test_a_card_by_another_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model-card", "--out", "card.txt"]) == 2
    assert "end it in .md or .html" in capsys.readouterr().err
