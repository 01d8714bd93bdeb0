"""Calibration as evidence: what is measured of each store, and how far the model is from it.

That nothing fits a store is no failure: it is said wherever the store is used. A failure is a shipped profile that
no longer keeps the errors it states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from endive.calibration.data import Case, packaged_file, read_cases
from endive.calibration.recorded import packaged_fits
from endive.calibration.report import build_report
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict
from endive.signoff.sources.laws import rounded


class Calibration:
    """Compares stores with what was measured of them."""

    kind = "calibration"

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every measured store."""
        return self.again(list(_cases()), apply)

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some stores, by name."""
        cases, fits = _cases(), packaged_fits()
        for store in names:
            if store not in cases:
                continue
            report = build_report(
                cases[store], {store: fits[store]}, apply, whole={store}, checks_claims=True
            )
            document = report.as_dict()
            broken = {
                name: claims
                for name, claims in report.broken.items()
                if name.partition("-")[0] == store
            }
            yield Evidence(
                f"calibration/{store}",
                Verdict.FAIL if broken else Verdict.PASS,
                rounded(
                    {
                        "offered": report.offers(store),
                        "cases": document["cases"],
                        "client": document["stores"][store],
                    }
                ),
                because="; ".join(claim for claims in broken.values() for claim in claims),
            )


def _cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in read_cases(packaged_file()):
        found.setdefault(case.store, []).append(case)
    return found
