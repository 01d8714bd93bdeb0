"""All laws and all trials, by name: what a process of a pool needs to find its work."""

from __future__ import annotations

from functools import cache

from endive.errors import InputError, Problem
from endive.laws import ceiling, convoy, flow, race, samplers
from endive.laws.model import Law, Trial

LAWS: tuple[Law, ...] = tuple(
    sorted(
        (*flow.LAWS, *race.LAWS, *ceiling.LAWS, *convoy.LAWS, *samplers.LAWS),
        key=lambda law: int(law.id[1:]),
    )
)


@cache
def trials() -> dict[str, Trial]:
    """All trials by name, in the order of the laws' files. What the laws say is computed here, once per process."""
    found: dict[str, Trial] = {}
    for group in (flow, race, ceiling, convoy, samplers):
        for trial in group.trials():
            if trial.name in found:
                raise ValueError(f"two trials are called {trial.name!r}")
            found[trial.name] = trial
    return found


def chosen_laws(ids: list[str]) -> frozenset[str]:
    """The laws asked for; raises InputError for those there are not."""
    known = [law.id for law in LAWS]
    wanted = [name.strip().upper() for name in ids if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        named = ", ".join(unknown) if unknown else "no law"
        message = f"{named}: there is no such law; there are {', '.join(known)}"
        raise InputError([Problem(message, key="--only")])
    return frozenset(wanted)
