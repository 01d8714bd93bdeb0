"""Prints the table of docs/LAWS.md from what `endive laws --json` says.

endive laws --json | python docs/figures/laws_table.py
"""

from __future__ import annotations

import json
import sys
from typing import Any


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    low, high = row["interval"] or (float("nan"), float("nan"))
    off = f" ({row['deviation']:+.1%})" if row["verdict"] == "reported" else ""
    cells = (
        row["law"],
        row["point"],
        f"{row['analytic']:.4g}",
        f"{row['simulated']:.4g}",
        f"{low:.4g} to {high:.4g}",
        str(row["seeds"]),
        row["verdict"] + off,
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Read, print."""
    rows = json.load(sys.stdin)["rows"]
    print("| law | point | analytic | simulated | interval | seeds | verdict |\n|" + "---|" * 7)
    for row in rows:
        print(line(row))


if __name__ == "__main__":
    main()
