"""Prints every figure of docs/worked_questions.md and draws docs/img/maintenance.svg, from runs made on the spot.

    python docs/figures/worked_questions.py [--quick] [--only PART] [--picture OUTPUT.svg|OUTPUT.png]

Parts: convoy, maintenance, thresholds, saturation. With --quick a few seeds stand in for many, rates end at
100/s, and nothing is drawn. The runs are those of examples/*.toml; where a table varies a key, its heading says which.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from worked_convoy import print_continuing, print_scripted
from worked_maintenance import print_maintenance, print_thresholds
from worked_picture import draw
from worked_runs import ROOT, Document, example, print_table, run

PICTURE = ROOT / "docs" / "img" / "maintenance.svg"

CONTENDERS: dict[str, Document] = {
    "as in the file": {},
    "metadata in files of its own": {"catalog": {"table_metadata_inlined": False}},
    "spec-2.0": {"transaction": {"cost_table": "spec-2.0"}},
    "10 retries, no backoff": {"transaction": {"retry_preset": None, "retry": 10}},
    "30 retries, no backoff": {"transaction": {"retry_preset": None, "retry": 30}},
    "spec-2.0, 1,000 partitions": {
        "transaction": {"cost_table": "spec-2.0"},
        "catalog": {"partitions": {"num_partitions": 1000}},
    },
}


def one_saturation(changes: Document, offered_per_s: float, seed: int) -> float:
    """Commits per second of a minute, once it is in full swing."""
    document = example("self_contending")
    document["simulation"]["duration_ms"] = 60_000
    document["transaction"]["inter_arrival"]["scale"] = 1000.0 / offered_per_s
    for section, keys in changes.items():
        for key, value in keys.items():
            document[section][key] = value
            if value is None:
                del document[section][key]
    statistics, _ = run(document, seed)
    # The first seconds are left out: nobody can commit before having worked for one.
    commits_ms = [
        t.t_commit for t in statistics.to_dataframe().itertuples() if t.t_commit >= 10_000
    ]
    return len(commits_ms) / 50.0


def print_saturation(pool: ProcessPoolExecutor, quick: bool) -> None:
    """Commits per second of fast appends that contend with each other."""
    seeds = 1 if quick else 3
    offers = (10, 20, 50, 100) if quick else (10, 20, 50, 100, 200)
    rows: list[list[object]] = []
    for name, changes in CONTENDERS.items():
        row: list[object] = [name]
        for offered in offers:
            rates = list(
                pool.map(one_saturation, [changes] * seeds, [offered] * seeds, range(1, seeds + 1))
            )
            spread = f" ± {np.std(rates, ddof=1):.1f}" if seeds > 1 else ""
            row.append(f"{np.mean(rates):.1f}{spread}")
        rows.append(row)
    print_table(
        "Commits per second of self-contending fast appends, by offered rate",
        ["variant", *(f"{offered}/s" for offered in offers)],
        rows,
    )


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, no picture")
    parser.add_argument("--only", choices=("convoy", "maintenance", "thresholds", "saturation"))
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    quick, only = arguments.quick, arguments.only
    with ProcessPoolExecutor(max_workers=2) as pool:
        if only in (None, "convoy"):
            print_scripted()
            print_continuing(pool, 20 if quick else 2000)
        if only in (None, "maintenance"):
            found = print_maintenance(pool, quick)
            if not quick:
                draw(found, arguments.picture)
        if only in (None, "thresholds"):
            print_thresholds(pool, quick)
        if only in (None, "saturation"):
            print_saturation(pool, quick)


if __name__ == "__main__":
    main()
