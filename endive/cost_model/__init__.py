"""What an attempt and a retry cost, and how long paying for it takes (§3.1, docs/MODEL.md, sections 3 and 7)."""

from endive.cost_model.expression import Expression, ExpressionError, parse_expression
from endive.cost_model.payment import (
    NO_COST,
    ConflictCost,
    Growth,
    payment,
    payment_by_table,
    payment_ms,
    total_of_uses_ms,
)
from endive.cost_model.table import (
    CLASSES,
    COUNTS,
    OPERATIONS,
    CostTable,
    OperationPrices,
    Price,
    cost_table_names,
    load_cost_table,
    load_cost_table_file,
    parse_cost_table,
)

__all__ = [
    "CLASSES",
    "COUNTS",
    "NO_COST",
    "OPERATIONS",
    "ConflictCost",
    "CostTable",
    "Expression",
    "ExpressionError",
    "Growth",
    "OperationPrices",
    "Price",
    "cost_table_names",
    "load_cost_table",
    "load_cost_table_file",
    "parse_cost_table",
    "parse_expression",
    "payment",
    "payment_by_table",
    "payment_ms",
    "total_of_uses_ms",
]
