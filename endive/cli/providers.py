"""`endive providers`: the stores that can be simulated, each with its sources (§1.3, §1.4)."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.latency import LognormalLatency
    from endive.profiles import Figure, LatencyFigures, ProviderProfile

_EPILOG = """\
examples:
  endive providers
  endive providers s3
  endive providers s3x --json
  endive providers s3-2025
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "providers",
        help="show the storage profiles and their sources",
        description="Show what each store can do and how long it takes, with sources.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one store, with every figure")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Show all profiles, or one of them."""
    from endive.profiles import load_fitted_profiles, load_profiles

    specified, fitted = load_profiles(), load_fitted_profiles()
    profiles = specified | fitted
    name: str | None = arguments.name
    if name is not None and name not in profiles:
        raise _unknown(name, list(profiles))
    if arguments.json:
        chosen = profiles if name is None else {name: profiles[name]}
        document = {key: describe_profile(profile) for key, profile in chosen.items()}
        print(json.dumps(document if name is None else document[name], allow_nan=False))
        return 0
    from endive.cli.render_providers import print_profile, print_profiles

    if name is None:
        print_profiles(specified, fitted)
    else:
        print_profile(profiles[name])
    return 0


def describe_profile(profile: ProviderProfile) -> dict[str, Any]:
    """A profile as a JSON document."""
    return {
        "name": profile.name,
        "title": profile.title,
        "supports_cas": profile.supports_cas,
        "supports_append": profile.supports_append,
        "supports_tail_append": profile.supports_tail_append,
        "min_latency_ms": _figure(profile.min_latency_ms),
        "effect_point": _figure(profile.effect_point),
        "latency": {
            operation: {
                "distribution": figures.distribution,
                **{name: _figure(figure) for name, figure in figures.figures.items()},
            }
            for operation, figures in profile.latency.items()
        },
        "share_at_floor": floor_shares(profile),
        "fit": dict(profile.fit) or None,
    }


def floor_shares(profile: ProviderProfile) -> dict[str, float]:
    """Which share of the draws the floor replaces, for each latency at the default sizes."""
    from endive.storage import ObjectSizes

    sizes = ObjectSizes()
    floor_ms = profile.min_latency_ms.value
    shares = {}
    for operation, figures in profile.latency.items():
        if figures.distribution == "size_based":
            for artifact in ("manifest_list", "manifest_file"):
                size_bytes: int = getattr(sizes, artifact)
                shares[f"{operation}.{artifact}"] = _share(figures, floor_ms, size_bytes)
        else:
            shares[operation] = _share(figures, floor_ms, 0)
    return shares


def share_at_floor(latency: LognormalLatency) -> float:
    """The probability that a draw falls below the floor: Φ((ln floor − mu) / sigma)."""
    distance = math.log(latency.min_latency_ms) - latency.mu
    if latency.sigma == 0.0:
        return 1.0 if distance >= 0.0 else 0.0
    return 0.5 * math.erfc(-distance / latency.sigma / math.sqrt(2.0))


def _share(figures: LatencyFigures, floor_ms: float, size_bytes: int) -> float:
    from endive.latency import LognormalLatency, SizeBasedLatency

    latency = figures.build(floor_ms)
    if isinstance(latency, SizeBasedLatency):
        latency = latency.at_size(size_bytes)
    assert isinstance(latency, LognormalLatency), "profiles hold lognormal and size-based latencies"
    return share_at_floor(latency)


def _figure(figure: Figure) -> dict[str, Any]:
    return {"value": figure.value, "source": figure.source, "assumed": figure.assumed}


def _unknown(name: str, known: list[str]) -> Exception:
    import difflib

    from endive.errors import InputError, Problem

    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return InputError([Problem(f"no provider is called {name!r}; {hint}")])
