"""Cost tables: what an attempt and a retry cost, read from data (MODEL.md 7).

A table is a YAML file; counts in it are small expressions, which are evaluated here.
"""

import ast
import functools
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

COST_TABLES_DIR = Path(__file__).resolve().parents[2] / "endive" / "cost_tables"

Price = dict[str, Any]

# The default table is the law of MODEL.md 5, so its prices are written here a second time: if both
# engines took them from the file, a wrong file would make both wrong alike.
ONE_OF_EACH: Price = {
    "manifest_list_reads": 1,
    "manifest_file_writes": 1,
    "manifest_list_writes": 1,
}
SECTION_5_OPERATIONS: dict[str, Any] = {
    "fast_append": {"attempt": ONE_OF_EACH, "rebuild": {"overlap": ONE_OF_EACH}},
    "merge_append": {
        "attempt": ONE_OF_EACH,
        "validate": {"overlap": {"manifest_file_reads": "K", "manifest_file_writes": "K"}},
        "rebuild": {"overlap": ONE_OF_EACH},
    },
    "validated_overwrite": {
        "attempt": ONE_OF_EACH,
        "validate": {"overlap": {"historical_ml_reads": "N"}},
        "rebuild": {"overlap": ONE_OF_EACH},
    },
}
SECTION_5_SETTINGS: dict[str, Any] = {
    "validate_from": "last_seen",
    "refresh_before_first_attempt": False,
    "validation_io": "parallel",
    "on_real_conflict": "abort",
    "real_conflicts": ["validated_overwrite"],
}


class CostTable:
    """One table: its settings, and its prices as they are written."""

    def __init__(self, settings: dict[str, Any], operations: dict[str, Any]) -> None:
        def setting(name: str, default: Any) -> Any:
            return _figure(settings.get(name, default))

        self.validates_from_start = setting("validate_from", "last_seen") == "start"
        self.refreshes_first = setting("refresh_before_first_attempt", False)
        self.validates_one_at_a_time = setting("validation_io", "parallel") == "sequential"
        self.merges_real_conflicts = setting("on_real_conflict", "abort") == "merge"
        self.conflicting_manifests = setting("conflicting_manifests", 10)
        self.metadata_reads_per_retry = setting("metadata_reads_per_retry", 1)
        self.metadata_writes = setting("metadata_writes", "every_attempt")
        self.real_conflicts = setting("real_conflicts", [])
        self.real_against_replaced_only = setting("real_against_replaced_only", [])
        self.operations = operations

    def attempt(self, operation: str) -> Price:
        """The price of attempt 0."""
        return self.operations[operation].get("attempt") or {}

    def validate(self, operation: str, conflict_class: str) -> Price | None:
        """What it takes to look into a conflict; None where the class is not listed."""
        return _listed(self.operations[operation].get("validate"), conflict_class)

    def rebuild(self, operation: str, conflict_class: str) -> Price | None:
        """What it takes to commit again; None where the class is not listed."""
        return _listed(self.operations[operation].get("rebuild"), conflict_class)

    def merge_on_real_conflict(self, operation: str) -> Price:
        """What it takes to merge with a real conflict."""
        return self.operations[operation].get("merge_on_real_conflict") or {}

    def merges_by_threshold(self, operation: str, manifests: int) -> bool:
        """Whether building on a table with so many manifests merges them."""
        merging = self.operations[operation].get("merging")
        return bool(merging) and manifests + 1 >= _figure(merging["min_count"])


def _listed(prices: dict[str, Price] | None, conflict_class: str) -> Price | None:
    if prices is None or conflict_class not in prices:
        return None
    return prices[conflict_class] or {}


def _figure(written_as: Any) -> Any:
    # A figure may stand alone or together with its source.
    return written_as["is"] if isinstance(written_as, dict) else written_as


def load_cost_table(name: str) -> CostTable:
    """The table of that name."""
    content = read_yaml((COST_TABLES_DIR / f"{name}.yaml").read_text("utf-8"))
    if name == "spec-2.0":
        return CostTable(content["settings"] | SECTION_5_SETTINGS, SECTION_5_OPERATIONS)
    return CostTable(content["settings"], content["operations"])


@functools.cache
def read_yaml(text: str) -> dict[str, Any]:
    """Plain dicts and lists out of YAML."""
    content: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return content


def counts_of(price: Price, variables: dict[str, int], ml_append_mode: bool) -> dict[str, int]:
    """The counts of a price; in ML+ mode a list is appended to instead of written."""
    counts = {}
    for name, written_as in price.items():
        if name != "source":
            counts[name] = max(0, evaluate(_figure(written_as), variables))
    if ml_append_mode and "manifest_list_writes" in counts:
        counts["manifest_list_appends"] = counts.pop("manifest_list_writes")
    return counts


def evaluate(expression: int | str, variables: dict[str, int]) -> int:
    """The value of a whole number, or of an expression such as "max(1, N) - N"."""
    return _value(ast.parse(str(expression).strip(), mode="eval").body, variables)


def _value(node: ast.expr, variables: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, variables)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, variables), _value(node.right, variables)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = [_value(argument, variables) for argument in node.args]
        if node.func.id == "max":
            return max(arguments)
        if node.func.id == "min":
            return min(arguments)
    raise ValueError(f"not an expression of a cost table: {ast.unparse(node)!r}")
