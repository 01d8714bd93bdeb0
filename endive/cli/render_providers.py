"""Storage profiles as a person reads them: all side by side, or one with all its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from endive.cli.providers import floor_shares
from endive.cli.words import NOTHING, percent
from endive.profiles import Figure, ProviderProfile

_UNITS = {"median": " ms", "base": " ms", "per_mib": " ms/MiB"}
_LATENCY_ROWS = {
    "cas": "CAS",
    "cas_failure": "failed CAS",
    "append": "append",
    "append_failure": "failed append",
}
_SHARE_ROWS = {
    "cas": "CAS",
    "append": "append",
    "put.manifest_list": "PUT, 16 KiB list",
    "put.manifest_file": "PUT, 64 KiB file",
}


def print_profiles(
    specified: Mapping[str, ProviderProfile], fitted: Mapping[str, ProviderProfile]
) -> None:
    """The specification's profiles side by side, then the fitted ones, then the sources."""
    console = Console(highlight=False)
    console.print(_side_by_side(specified))
    if fitted:
        console.print("[bold]Fitted to measurements[/bold]")
        console.print(_side_by_side(fitted))
    console.print("Times in ms. * assumed: no document or measurement gives this figure.")
    console.print(_unfitted(specified, fitted))
    stores = [*specified.values(), *fitted.values()]
    console.print("[bold]Sources[/bold]")
    for source, names in _sources(stores).items():
        stores_named = "all" if len(names) == len(stores) else ", ".join(names)
        console.print(f"  {source} ({stores_named})", soft_wrap=True)
    console.print("\nendive providers NAME shows each figure with its source.")


def _unfitted(
    specified: Mapping[str, ProviderProfile], fitted: Mapping[str, ProviderProfile]
) -> str:
    """Which measured stores nothing fits, and how far off their tails are, in lines of less than 80 letters."""
    lines = ["\nNothing fits these stores, so they have no fitted profile (endive calibrate):"]
    for name, store in specified.items():
        described = any(other.startswith(f"{name}-") for other in fitted)
        if described or "measured_p99_over_p50" not in store.fit:
            continue
        measured, model = store.fit["measured_p99_over_p50"], store.fit["model_p99_over_p50"]
        lines.append(
            f"  {name:<8}p99/p50 of CAS, 16 clients: measured {measured:.0f}, profile {model:.1f}"
        )
    return "\n".join(lines) + "\n"


def _side_by_side(profiles: Mapping[str, ProviderProfile]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for name in profiles:
        table.add_column(name, justify="right", no_wrap=True)

    def row(heading: str, cells: Iterator[str]) -> None:
        table.add_row(heading, *cells)

    stores = list(profiles.values())
    row("compare-and-swap", (_yes(store.supports_cas) for store in stores))
    row("append at an offset", (_yes(store.supports_append) for store in stores))
    row("append at the tail", (_yes(store.supports_tail_append) for store in stores))
    row("floor", (_short(store.min_latency_ms) for store in stores))
    row("effect point", (_short(store.effect_point) for store in stores))
    for operation, heading in _LATENCY_ROWS.items():
        if not any(operation in store.latency for store in stores):
            continue
        row(f"{heading}, median", (_cell(store, operation, "median") for store in stores))
        row("  sigma", (_cell(store, operation, "sigma") for store in stores))
    row("PUT, base", (_cell(store, "put", "base") for store in stores))
    row("  per MiB", (_cell(store, "put", "per_mib") for store in stores))
    row("  sigma", (_cell(store, "put", "sigma") for store in stores))
    table.add_section()
    table.add_row("[bold]draws at the floor[/bold]")
    for operation, heading in _SHARE_ROWS.items():
        shares = (floor_shares(store).get(operation) for store in stores)
        row(f"  {heading}", (percent(share) for share in shares))
    return table


def print_profile(profile: ProviderProfile) -> None:
    """One profile: every figure, its source, and how well it fits what was measured."""
    console = Console(highlight=False)
    console.print(f"[bold]{profile.name}[/bold] · {profile.title}")
    capabilities = {
        "compare-and-swap": profile.supports_cas,
        "append at an offset": profile.supports_append,
        "append at the tail": profile.supports_tail_append,
    }
    console.print(", ".join(f"{name}: {_yes(able)}" for name, able in capabilities.items()))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("source")
    table.add_row("floor", *_long(profile.min_latency_ms, " ms"))
    table.add_row("effect point", *_long(profile.effect_point, ""))
    for operation, latency in profile.latency.items():
        for name, figure in latency.figures.items():
            table.add_row(
                f"{operation} {name}".replace("_", " "), *_long(figure, _UNITS.get(name, ""))
            )
    console.print(table)
    console.print("* assumed: no document or measurement gives this figure\n")
    console.print("[bold]Draws at the floor[/bold]")
    for operation, share in floor_shares(profile).items():
        heading = _SHARE_ROWS.get(operation, operation.replace("_", " "))
        console.print(f"  {heading:<18}{percent(share):>8}")
    if profile.fit:
        console.print("\n[bold]Goodness of fit[/bold]")
        for name, value in profile.fit.items():
            shown = f"{value:,}" if isinstance(value, int) else str(value)
            console.print(f"  {name.replace('_', ' '):<23}{shown}", soft_wrap=True)


def _sources(stores: list[ProviderProfile]) -> dict[str, list[str]]:
    """Every source once, with the stores it is cited for."""
    cited: dict[str, list[str]] = {}
    for store in stores:
        figures = [store.min_latency_ms, store.effect_point]
        for latency in store.latency.values():
            figures += latency.figures.values()
        for source in dict.fromkeys(figure.source for figure in figures):
            cited.setdefault(source, []).append(store.name)
    return cited


def _cell(store: ProviderProfile, operation: str, name: str) -> str:
    latency = store.latency.get(operation)
    return NOTHING if latency is None else _short(latency.figures[name])


def _short(figure: Figure) -> str:
    return f"{figure.value:g}{'*' if figure.assumed else ''}"


def _long(figure: Figure, unit: str) -> tuple[str, str]:
    return f"{figure.value:g}{unit}{'*' if figure.assumed else ''}", figure.source


def _yes(able: bool) -> str:
    return "yes" if able else "no"
