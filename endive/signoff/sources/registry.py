"""All sources of evidence, in the order in which a record lists them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from endive.signoff.evidence import Source
from endive.signoff.sources.calibration import Calibration
from endive.signoff.sources.laws import Laws
from endive.signoff.sources.mutants import Mutants
from endive.signoff.sources.scenarios import Scenarios


def sources(top: Path, today: str) -> list[Source]:
    """Every source; `today` is the day by which waivers are judged."""
    return [Scenarios(), Laws(), Calibration(), Mutants(top)]


def waivers() -> list[Mapping[str, Any]]:
    """The differences that have been accepted."""
    return []
