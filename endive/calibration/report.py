"""All of it together: the specification's profiles and the fitted models against every row, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from endive.calibration.compare import LIMIT, Comparison, Error, Fit, RowComparison, compare
from endive.calibration.data import REFUSED_MEAN_MS, Case
from endive.calibration.experiment import Client, StoreModel
from endive.calibration.fit import StoreFit, fit_store
from endive.calibration.profiles import SUFFIX, broken_claims, is_offered
from endive.profiles import load_fitted_profiles, load_profiles

Apply = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Applies a function to many arguments, in order; perhaps in several processes."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One operation of one store: as specified, and as fitted."""

    specified: Comparison
    fitted: Comparison


@dataclass(frozen=True, slots=True)
class Report:
    """What a calibration has found."""

    cases: tuple[CaseReport, ...]
    fits: dict[str, StoreFit]
    whole: frozenset[str]
    """Stores of which every measured operation was looked at: only of these a profile can be offered."""
    broken: dict[str, list[str]]
    """Shipped profiles that no longer meet the errors they state, and which."""

    @property
    def holds(self) -> bool:
        """Whether every shipped fitted profile still is what it says."""
        return not self.broken

    def comparisons(self, store: str) -> list[Comparison]:
        """The fitted comparisons of one store."""
        return [each.fitted for each in self.cases if each.fitted.case.store == store]

    def offers(self, store: str) -> bool:
        """Whether a profile of this store is offered."""
        return store in self.whole and is_offered(self.comparisons(store))

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        return {
            "limit": LIMIT,
            "cases": [_case(each) for each in self.cases],
            "stores": {
                store: {
                    "client": fit.client.value,
                    "effect_point": fit.effect_point,
                    "effect_points_that_fit": fit.effect_range,
                    "offered": self.offers(store),
                }
                for store, fit in self.fits.items()
            },
            "broken_claims": self.broken,
            "holds": self.holds,
        }


def find_fits(cases: Sequence[Case], client: Client, apply: Apply) -> dict[str, StoreFit]:
    """Search the best fit of every store."""
    stores = list(dict.fromkeys(case.store for case in cases))
    tasks = [([case for case in cases if case.store == store], client) for store in stores]
    return dict(zip(stores, apply(_fit, tasks), strict=True))


def build_report(
    cases: Sequence[Case],
    fits: dict[str, StoreFit],
    apply: Apply,
    *,
    whole: Iterable[str],
    checks_claims: bool,
) -> Report:
    """Simulate every row of every case, under the specification's profile and under the fit."""
    specified = load_profiles()
    tasks = []
    for case in cases:
        fit = fits[case.store]
        model = StoreModel.of_profile(specified[case.store], case.operation)
        tasks += [(case, model, fit.client), (case, fit.models[case.operation], fit.client)]
    compared: Iterator[Comparison] = iter(apply(_compare, tasks))
    # Each case has two comparisons, one after the other.
    reports = tuple(CaseReport(*pair) for pair in zip(compared, compared, strict=True))
    report = Report(reports, fits, frozenset(whole), {})
    if checks_claims:
        for name, profile in load_fitted_profiles().items():
            comparisons = report.comparisons(name.removesuffix(SUFFIX))
            broken = broken_claims(profile.fit, comparisons)
            broken += [
                f"{each.case.name} is not the recorded fit"
                for each in comparisons
                if StoreModel.of_profile(profile, each.case.operation) != each.model
            ]
            if broken:
                report.broken[name] = broken
    return report


def _fit(task: tuple[list[Case], Client]) -> StoreFit:
    cases, client = task
    floor_ms = load_profiles()[cases[0].store].min_latency_ms.value
    return fit_store(cases, floor_ms, client=client)


def _compare(task: tuple[Case, StoreModel, Client]) -> Comparison:
    case, model, client = task
    return compare(case, model, client=client)


def _case(report: CaseReport) -> dict[str, Any]:
    case = report.fitted.case
    return {
        "store": case.store,
        "operation": case.operation.value,
        "refused_mean_ms_published": REFUSED_MEAN_MS[case.store, case.operation],
        "specified": _comparison(report.specified),
        "fitted": _comparison(report.fitted),
    }


def _comparison(compared: Comparison) -> dict[str, Any]:
    model = compared.model
    return {
        "model": {
            "effect_point": model.effect_point,
            "median_ms": model.median_ms,
            "sigma": model.sigma,
            "floor_ms": model.floor_ms,
            "refused_median_ms": model.refused_median_ms,
            "refused_sigma": model.refused_sigma,
        },
        "load": compared.load.value,
        "held_out": compared.held_out.value,
        "median_latency": compared.median.value,
        "tail": compared.tail.value,
        "worst_tail_factor": compared.worst_tail_factor,
        "offered": compared.is_offered,
        "rows": [_row(row) for row in compared.rows],
    }


def _row(row: RowComparison) -> dict[str, Any]:
    return {
        "threads": row.row.threads,
        "held_out": row.is_held_out,
        "failure_rate": {
            "measured": row.row.failure_rate,
            "simulated": row.model.failure_rate,
            **_error(row.failure),
        },
        "ok_per_s": {
            "measured": row.row.ok_per_s,
            "derived": row.row.is_derived,
            "simulated": row.model.ok_per_s,
            **_error(row.throughput),
        },
        "p50_ms": {"measured": row.row.p50_ms, "simulated": row.model.p50_ms},
        "p99_over_p50": {"measured": row.row.tail, "simulated": row.model.tail},
        "refused_ms": {"implied": row.row.refused_ms, "simulated": row.model.refused_ms},
    }


def _error(error: Error) -> dict[str, Any]:
    return {
        "error": error.value,
        "low": error.interval.low,
        "high": error.interval.high,
        "fit": error.fit.value,
    }


def sentence(compared: Comparison) -> str:
    """The verdict on one operation in plain words."""
    parts = [
        "failure rate and throughput fit" if compared.load is Fit.FITS else compared.load.value
    ]
    if compared.median is not Fit.FITS:
        worst = max((row.median_error for row in compared.rows), key=abs)
        parts.append(f"median latency does not (off by {100.0 * worst:+.0f} %)")
    if compared.tail is not Fit.FITS:
        factor = compared.worst_tail_factor
        way = "lighter" if factor > 1.0 else "heavier"
        size = factor if factor > 1.0 else 1.0 / factor
        parts.append(f"tail does not fit: p99/p50 is {size:.3g} times {way} than measured")
    return "; ".join(parts)
