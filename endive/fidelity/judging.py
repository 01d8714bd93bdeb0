"""All rows of the report, from all that is known."""

from __future__ import annotations

from endive.fidelity.context import Context
from endive.fidelity.judge_aspects import aspect_rows
from endive.fidelity.judge_convoys import convoy_rows
from endive.fidelity.judge_libraries import library_rows
from endive.fidelity.judge_retries import retry_rows
from endive.fidelity.model import Row


def judge(context: Context) -> tuple[Row, ...]:
    """Every row, in the order of the documents, then those of the libraries."""
    return (
        *retry_rows(context),
        *convoy_rows(context),
        *aspect_rows(context),
        *library_rows(context),
    )
