"""Totals over classes and operations, of sums that have been made already: the rows themselves are grouped only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from endive.pipeline.columns import ALL, KIND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_totals(sums: DataFrame, keys: Sequence[str], added: Sequence[str]) -> DataFrame:
    """Add the rows whose class, operation or both are `*`. `keys` are grouped by throughout, `added` are added up."""
    from pyspark.sql import functions as F

    class_name, operation_type = KIND
    sets = [
        [*keys, class_name, operation_type],
        [*keys, class_name],
        [*keys, operation_type],
        [*keys],
    ]
    totals = sums.groupingSets(sets, *keys, *KIND).agg(
        *(F.sum(column).alias(column) for column in added)
    )
    # No class and no operation is without a name, so an empty one is a total's.
    named = [F.coalesce(column, F.lit(ALL)).alias(column) for column in KIND]
    return totals.select(*keys, *named, *added)
