"""Fits that were found before, in `fits.toml`: a search takes minutes, and looking at its result should not.

All stores are in it, also those that nothing fits: how far off the best attempt is belongs to the answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from endive.calibration.data import Operation
from endive.calibration.experiment import Client, StoreModel
from endive.calibration.fit import StoreFit
from endive.profiles import load_profiles
from endive.resources import package_dir

FITS_FILE = "fits.toml"
_HEAD = """\
# Best fits to ycsb_conditional_2025.csv on 1, 4 and 16 threads, of every store, whether or not it is a good one.
# Written by: endive calibrate --fit --out DIR
"""


def packaged_fits() -> dict[str, StoreFit]:
    """The fits that ship with Endive, by store."""
    return read_fits(package_dir("calibration") / FITS_FILE)


def read_fits(path: Path) -> dict[str, StoreFit]:
    """Read recorded fits."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    specified = load_profiles()
    fits = {}
    for store, entry in data.items():
        models = {
            operation: StoreModel(
                effect_point=entry["effect_point"],
                median_ms=entry[operation.latency]["median"],
                sigma=entry[operation.latency]["sigma"],
                floor_ms=specified[store].min_latency_ms.value,
                refused_median_ms=entry[operation.latency]["refused_median"],
                refused_sigma=entry[operation.latency]["refused_sigma"],
            )
            for operation in Operation
            if operation.latency in entry
        }
        found = entry.get("effect_range")
        effect_range = None if found is None else (float(found[0]), float(found[1]))
        fits[store] = StoreFit(store, models, effect_range, entry["loss"], Client(entry["client"]))
    return fits


def render_fits(fits: Sequence[StoreFit]) -> str:
    """Fits as the text of such a file."""
    parts = [_HEAD]
    for fit in fits:
        parts.append(f"\n[{fit.store}]")
        parts.append(f'client = "{fit.client.value}"')
        parts.append(f"effect_point = {fit.effect_point}")
        if fit.effect_range is not None:
            low, high = fit.effect_range
            parts.append(f"effect_range = [{low}, {high}]")
        parts.append(f"loss = {fit.loss:.4f}")
        for operation, model in fit.models.items():
            parts.append(f"\n[{fit.store}.{operation.latency}]")
            parts.append(f"median = {model.median_ms}")
            parts.append(f"sigma = {model.sigma}")
            parts.append(f"refused_median = {model.refused_median_ms}")
            parts.append(f"refused_sigma = {model.refused_sigma}")
    return "\n".join(parts) + "\n"
