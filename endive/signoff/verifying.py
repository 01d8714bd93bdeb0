"""Verifying a record: every digest is computed again, and a tenth of the evidence, drawn by lot, is made again.

What is looked at first costs least: whether the record still is what was written, then the files, the waivers, and the runs last. The
first difference ends it and is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from endive.pool import Apply
from endive.signoff import files, repository
from endive.signoff.creating import expired
from endive.signoff.evidence import Announce, Source, Verdict, digest_of, first_difference
from endive.signoff.lot import draw
from endive.signoff.record import Record, sealed
from endive.signoff.sources.invariants import Invariants

_GOOD = {Verdict.PASS.value: "passedTests", Verdict.WAIVED.value: "warnedTests"}


def differences(
    record: Record,
    top: Path,
    sources: Sequence[Source],
    apply: Apply,
    *,
    seed: int,
    today: str,
    announce: Announce = lambda _: None,
) -> Iterator[str]:
    """What speaks against a record, cheapest first; nothing if it stands."""
    announce("the record itself")
    yield from _inner(record)
    announce("files")
    yield from _files(record.files, files.digests(top))
    announce("waivers")
    yield from expired(record.own["waivers"], today)
    evidence = {each["id"]: each for each in record.evidence}
    scenarios = [each["detail"] for id, each in evidence.items() if id.startswith("scenario/")]
    known: list[Source] = [*sources, Invariants(scenarios)]
    lot = draw(list(evidence), seed)
    for source in known:
        names = [id.partition("/")[2] for id in lot if id.startswith(f"{source.kind}/")]
        if not names:
            continue
        announce(f"{source.kind}: {len(names)} made again")
        found = {each.id: each for each in source.again(names, apply)}
        for name in names:
            id = f"{source.kind}/{name}"
            if id not in found:
                yield f"{id}: recorded, and can no longer be made"
                continue
            told = first_difference(_bare(evidence[id]), _bare(found[id].as_dict()), id)
            if told is not None:
                yield told
    for kind in sorted({id.partition("/")[0] for id in lot} - {source.kind for source in known}):
        yield f"{kind}: evidence of a kind that this version cannot make"


def commit_in_words(record: Record, top: Path) -> str:
    """Whether this is the checkout that the record is about."""
    recorded = record.document["subject"][0]["digest"]["gitCommit"]
    now = repository.look(top)
    if now.commit == recorded and not now.changed:
        return f"commit {recorded[:12]}"
    # A record is usually committed after it was made; then only it has been added.
    return f"recorded at commit {recorded[:12]}, this is {now.commit[:12]}, with the same files"


def _inner(record: Record) -> Iterator[str]:
    """Whether the record still is what was written, and agrees with itself."""
    written = record.own["digest"]["sha256"]
    now = sealed(record.document)["predicate"]["endive"]["digest"]["sha256"]
    for each in record.evidence:
        bare = {name: each[name] for name in ("id", "verdict", "detail")}
        if digest_of(bare) != each["digest"]["sha256"]:
            yield f"{each['id']}: its verdict or figures are not those that its digest was made of"
        if each["verdict"] not in _GOOD:
            yield f"{each['id']}: its verdict is {each['verdict']!r}, and no record is made of such"
    predicate = record.document["predicate"]
    for verdict, name in _GOOD.items():
        listed = [each["id"] for each in record.evidence if each["verdict"] == verdict]
        told = first_difference(predicate[name], listed, f"predicate.{name}")
        if told is not None:
            yield told
    recorded = record.document["subject"][1]["digest"]["sha256"]
    if digest_of(record.files) != recorded:
        yield f"subject.files: recorded {recorded[:12]}, the listed files come to {digest_of(record.files)[:12]}"
    if written != now:
        yield f"digest of the record: recorded {written[:12]}, it comes to {now[:12]}; something in it was changed"


def _files(recorded: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*recorded, *now}):
        group = files.group_of(name)
        if name not in now:
            yield f"{name} ({group}): missing"
        elif name not in recorded:
            yield f"{name} ({group}): not in the record"
        elif now[name] != recorded[name]:
            yield f"{name} ({group}): recorded {recorded[name][:12]}, now {now[name][:12]}"


def _bare(evidence: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": evidence["verdict"], "detail": evidence["detail"]}
