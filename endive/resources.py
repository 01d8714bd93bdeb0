"""Finds the files that ship with Endive, alike from a wheel, an editable install and a checkout.

Provider profiles live inside the package. Schemas and scenarios stand at the top of the repository, where editors and
readers look for them, and are packed into `endive/_data/` when a wheel is built.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def package_dir(name: str) -> Path:
    """A data folder of the package itself, such as `providers`."""
    return _existing(name, _PACKAGE / name)


def shared_dir(name: str) -> Path:
    """A data folder that stands at the top of the repository, such as `schemas` or `scenarios`."""
    return _existing(name, _PACKAGE / "_data" / name, _PACKAGE.parent / name)


def _existing(name: str, *places: Path) -> Path:
    for place in places:
        if place.is_dir():
            return place
    tried = " or ".join(str(place) for place in places)
    raise FileNotFoundError(f"Endive's {name} folder is missing: not at {tried}; reinstall endive")
