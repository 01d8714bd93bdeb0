"""Creating a record: all evidence is made, and if any of it speaks against the version there is no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.pool import Apply
from endive.signoff import files, repository
from endive.signoff.evidence import Announce, Evidence, Source, Verdict
from endive.signoff.lot import draw
from endive.signoff.sources.invariants import Invariants

KEPT = frozenset({"mutant", "oracle"})
"""Kinds whose evidence is read from files that are kept, since making all of it takes long."""
REFUSED = {Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN}


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was found out about a version."""

    checkout: repository.Checkout
    files: Mapping[str, str]
    evidence: tuple[Evidence, ...]
    refusals: tuple[str, ...]
    """Why there can be no record; each names what is in its way."""


def gather(
    top: Path,
    sources: Sequence[Source],
    apply: Apply,
    *,
    seed: int,
    announce: Announce = lambda _: None,
) -> Gathered:
    """Make all evidence."""
    before = repository.look(top)
    found: list[Evidence] = []
    refusals = (
        [f"dirty tree: {before.changes_in_words}; commit or remove it"] if before.changed else []
    )
    digests = files.digests(top)
    for source in sources:
        announce(source.kind)
        made = list(source.all(apply))
        found += made
        if source.kind == "scenario":
            announce("invariant")
            found += Invariants([each.detail for each in made]).all(apply)
        if source.kind in KEPT:
            # What is kept is old evidence; a part of it is made again before it is relied on.
            announce(f"{source.kind}, a part made again")
            refusals += _stale(source, made, apply, seed)
    refusals += [
        f"{each.verdict.value}: {each.id}" + (f": {each.because}" if each.because else "")
        for each in found
        if each.verdict in REFUSED
    ]
    if files.digests(top) != digests or repository.look(top) != before:
        refusals.append(
            "the files changed while the evidence was made; leave them alone and start over"
        )
    return Gathered(before, digests, tuple(found), tuple(refusals))


def _stale(source: Source, kept: Sequence[Evidence], apply: Apply, seed: int) -> Iterator[str]:
    names = draw([each.id for each in kept], seed)
    recorded = {each.id: each for each in kept}
    for fresh in source.again([name.partition("/")[2] for name in names], apply):
        old = recorded[fresh.id]
        if old.digest != fresh.digest:
            yield f"stale: {fresh.id}: the kept file says {dict(old.detail)}, tried again it is {dict(fresh.detail)}"


def environment() -> dict[str, str]:
    """What the evidence was made on."""
    import platform
    from importlib import metadata

    names = ("numpy", "scipy", "simpy", "pyarrow", "pandas", "hypothesis", "pyspark", "pyiceberg")
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def expired(waivers: Sequence[Mapping[str, Any]], today: str) -> Iterator[str]:
    """The waivers whose day has passed."""
    for waiver in waivers:
        # Days written year first compare like the days they are.
        if str(waiver["expires"]) < today:
            yield f"expired waiver: {waiver['row']} (until {waiver['expires']}); renew it or mend the difference"
