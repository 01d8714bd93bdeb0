"""All sources of evidence, in the order in which a record lists them: what fails quickly comes first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from endive.signoff.evidence import Source
from endive.signoff.sources.calibration import Calibration
from endive.signoff.sources.fidelity import Fidelity, accepted
from endive.signoff.sources.laws import Laws
from endive.signoff.sources.mutants import Mutants
from endive.signoff.sources.oracles import Oracles
from endive.signoff.sources.scenarios import Scenarios


def sources(top: Path, today: str) -> list[Source]:
    """Every source; `today` is the day by which waivers are judged."""
    return [Mutants(top), Calibration(), Laws(), Fidelity(today), Oracles(), Scenarios()]


def waivers() -> list[Mapping[str, Any]]:
    """The differences that have been accepted."""
    return list(accepted())
