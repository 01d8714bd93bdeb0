"""Candidates: every store with every kind of catalog and manifest list, and why some combinations are left out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from endive.config import PROVIDER_PROFILES, resolve_config
from endive.config.schema import condition_of, nodes_for, value_at
from endive.errors import InputError, Problem
from endive.sizing.request import Document, Request
from endive.sizing.units import hint

CATALOGS = {
    "one-pointer": "one pointer for all tables, swapped by a conditional write",
    "per-table": "a pointer per table",
    "log": "a log that commits are appended to",
}
LISTS = {
    "rewrite": "every commit writes the manifest list again",
    "ml+": "manifest lists are appended to",
}
IDEALISED = ("instant",)
"""Stores that there are for tests only; they are candidates if somebody names them."""

_CHOSEN_KEYS = {
    ("catalog", "type"),
    ("transaction", "manifest_list_mode"),
    ("transaction", "manifest_list_append"),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A store, a catalog and a mode of manifest lists."""

    provider: str
    catalog: str
    lists: str

    @property
    def name(self) -> str:
        """As it is called in tables."""
        return f"{self.provider} {self.catalog} {self.lists}"

    def applied_to(self, document: Document, duration_ms: float) -> Document:
        """The configuration with this store and catalog; keys that only another catalog reads are taken out of it."""
        document = copy.deepcopy(document)
        profile = PROVIDER_PROFILES[self.provider]
        document["simulation"] = {"duration_ms": duration_ms}
        document.setdefault("storage", {})["provider"] = self.provider
        catalog, transaction = document["catalog"], document["transaction"]
        for name in ("mode", "conflict_granularity"):
            catalog.pop(name, None)
        if self.catalog == "log":
            catalog["type"] = "append"
        else:
            catalog["type"] = "instant" if self.provider in IDEALISED else "cas"
            catalog["conflict_granularity"] = (
                "catalog" if self.catalog == "one-pointer" else "table"
            )
        if self.lists == "ml+":
            transaction["manifest_list_mode"] = "append"
            # A store without appends to wherever an object ends makes writers say where they expect the end.
            transaction.setdefault(
                "manifest_list_append", "tail" if profile.supports_tail_append else "offset"
            )
        else:
            transaction["manifest_list_mode"] = "rewrite"
        _remove_unread(document)
        return document


def _remove_unread(document: Document) -> None:
    for path, _node in list(nodes_for(document)):
        condition = condition_of(path)
        if condition is None or condition.key not in _CHOSEN_KEYS:
            continue
        if value_at(document, path) is not None and not condition.is_met(document):
            table = value_at(document, path[:-1])
            del table[path[-1]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A combination that cannot be, and why."""

    candidate: Candidate
    reason: str


def candidates(
    request: Request,
    providers: Sequence[str] = (),
    catalogs: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> tuple[list[Candidate], list[LeftOut]]:
    """Those that can be, and those that cannot; InputError for a name that nothing has, or a load that fits none."""
    problems = [
        Problem(f"{name!r} is not among them; {hint(name, known)}", key)
        for key, names, known in (
            ("--provider", providers, PROVIDER_PROFILES),
            ("--catalog", catalogs, CATALOGS),
            ("--lists", lists, LISTS),
        )
        for name in names
        if name not in known
    ]
    if problems:
        raise InputError(problems)
    chosen: list[Candidate] = []
    left_out: list[LeftOut] = []
    errors: list[Problem] = []
    stores = providers or [name for name in PROVIDER_PROFILES if name not in IDEALISED]
    for candidate in _combinations(stores, catalogs or tuple(CATALOGS), lists or tuple(LISTS)):
        profile = PROVIDER_PROFILES[candidate.provider]
        lacking = [
            word
            for word, needs in (
                ("a log", candidate.catalog == "log"),
                ("ML+", candidate.lists == "ml+"),
            )
            if needs and not profile.supports_append
        ]
        if lacking:
            reason = f"{' and '.join(lacking)} cannot be: {candidate.provider} has no appends"
            left_out.append(LeftOut(candidate, reason))
            continue
        if candidate.catalog == "per-table" and request.tables == 1:
            reason = "with one table a pointer per table is one pointer"
            left_out.append(LeftOut(candidate, reason))
            continue
        try:
            resolve_config(candidate.applied_to(request.document, 1000.0), file=request.file)
        except InputError as error:
            errors += error.problems
            left_out.append(LeftOut(candidate, "; ".join(map(str, error.problems))))
            continue
        chosen.append(candidate)
    if not chosen:
        if errors:
            # What is wrong with every candidate is wrong with the load.
            raise InputError(list(dict.fromkeys(errors)))
        reasons = dict.fromkeys(each.reason for each in left_out)
        raise InputError([Problem(f"no candidate is left: {reason}") for reason in reasons])
    return chosen, left_out


def _combinations(
    providers: Sequence[str], catalogs: Sequence[str], lists: Sequence[str]
) -> Iterator[Candidate]:
    for provider in dict.fromkeys(providers):
        for catalog in dict.fromkeys(catalogs):
            for mode in dict.fromkeys(lists):
                yield Candidate(provider, catalog, mode)
