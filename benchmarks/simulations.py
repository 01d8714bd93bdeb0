"""Speed of the engine: against the naive engine, in units of bare SimPy, on a large catalog, and traced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import cases
from benchmarks.engines import Outcome, bare_timeouts, endive_command, endive_run, naive_run
from benchmarks.measure import Contender, Options, best_in_turns, in_child
from benchmarks.verdict import Row, Target

# One run of the naive engine takes seconds, long enough for short disturbances to even out.
_NAIVE_REPEAT = 2
_TABLES, _PARTITIONS = 1000, 1000


class DisagreementError(Exception):
    """Two engines that are to be compared did different work."""


def spec_example(options: Options) -> list[Row]:
    """The example of the specification."""
    return _against_both(
        "spec",
        cases.spec_example(options.scale),
        options,
        naive=Target("≥", 15.0, aim=30.0),
        units=Target("≤", 0.9),
    )


def fast_append_hour(options: Options) -> list[Row]:
    """Fast appends alone, for an hour."""
    return _against_both(
        "fast-hour",
        cases.fast_append_hour(options.scale),
        options,
        naive=Target("≥", 8.0),
        units=Target("≤", 1.4),
    )


def contention(options: Options) -> list[Row]:
    """A pointer that everybody wants at once."""
    best_s = best_in_turns(
        {
            "endive_s": Contender(endive_run(cases.contention(options.scale)), options.repeat),
            "unit_s": Contender(bare_timeouts(options.scale), options.repeat),
        }
    )
    return [_units_row("contention", best_s, Target("≤", 1.1), options)]


def large_catalog(options: Options) -> list[Row]:
    """A thousand tables of a thousand partitions, against one table of one partition.

    Each run has a process of its own, so that its peak of memory is its own too.
    """
    large_s = small_s = float("inf")
    peak_mib = small_peak_mib = 0.0
    for _ in range(options.repeat):
        large = _in_child(_TABLES, _PARTITIONS, options)
        small = _in_child(1, 1, options)
        large_s, small_s = min(large_s, large["cpu_s"]), min(small_s, small["cpu_s"])
        peak_mib = max(peak_mib, large["peak_rss_mib"])
        small_peak_mib = max(small_peak_mib, small["peak_rss_mib"])
    return [
        Row(
            "large",
            "peak memory of 1000 × 1000",
            peak_mib,
            "MiB",
            Target("<", 1024.0),
            full_size=not options.quick,
            figures={"large_mib": peak_mib, "small_mib": small_peak_mib},
        ),
        Row(
            "large",
            "CPU of 1000 × 1000 against 1 × 1",
            large_s / small_s,
            "×",
            Target("≤", 3.0),
            full_size=not options.quick,
            figures={"large_s": large_s, "small_s": small_s},
        ),
    ]


def traced_runs(options: Options) -> list[Row]:
    """The simulation with every event kept, against the same without: in memory, and with the files written."""
    rows = []
    for name, make in (("spec", cases.spec_example), ("contention", cases.contention)):
        config = make(options.scale)
        with TemporaryDirectory(prefix="endive-") as place:
            written_s = best_in_turns(
                {
                    key: Contender(endive_command(config, Path(place), traced=traced), 2)
                    for key, traced in (("traced_s", True), ("untraced_s", False))
                }
            )
        rows.append(
            Row(
                "trace",
                f"CPU of endive run --trace, file and all, against endive run, {name}",
                written_s["traced_s"] / written_s["untraced_s"],
                "×",
                Target("≤", 2.0),
                full_size=not options.quick,
                figures=written_s,
            )
        )
        best_s = best_in_turns(
            {
                "traced_s": Contender(endive_run(config, traced=True), options.repeat),
                "untraced_s": Contender(endive_run(config), options.repeat),
            }
        )
        rows.append(
            Row(
                "trace",
                f"CPU of a traced run against an untraced one, {name}",
                best_s["traced_s"] / best_s["untraced_s"],
                "×",
                Target("≤", 2.0),
                full_size=not options.quick,
                figures=best_s,
            )
        )
    return rows


def _against_both(
    name: str, config: cases.Config, options: Options, *, naive: Target, units: Target
) -> list[Row]:
    outcomes: dict[str, Outcome] = {}

    def noted(engine: str, run: Callable[[], Outcome]) -> Callable[[], None]:
        def work() -> None:
            outcomes[engine] = run()

        return work

    best_s = best_in_turns(
        {
            "endive_s": Contender(noted("endive", endive_run(config)), options.repeat),
            "unit_s": Contender(bare_timeouts(options.scale), options.repeat),
            "naive_s": Contender(
                noted("naive", naive_run(config)), min(options.repeat, _NAIVE_REPEAT)
            ),
        }
    )
    # Doing something else faster is no merit.
    if outcomes["endive"] != outcomes["naive"]:
        raise DisagreementError(
            f"{name}: the engines disagree, (launched, commits) is {outcomes['endive']} in endive and "
            f"{outcomes['naive']} in the naive engine; the differential tests tell where they part"
        )
    return [
        Row(
            name,
            "speed against the naive engine",
            best_s["naive_s"] / best_s["endive_s"],
            "×",
            naive,
            full_size=not options.quick,
            figures={key: best_s[key] for key in ("endive_s", "naive_s")},
        ),
        _units_row(name, best_s, units, options),
    ]


def _units_row(name: str, best_s: dict[str, float], target: Target, options: Options) -> Row:
    return Row(
        name,
        "CPU in units of bare SimPy timeouts",
        best_s["endive_s"] / best_s["unit_s"],
        "units",
        target,
        full_size=not options.quick,
        figures={key: best_s[key] for key in ("endive_s", "unit_s")},
    )


def _in_child(num_tables: int, num_partitions: int, options: Options) -> dict[str, float]:
    config = cases.hour_of_tables(num_tables, num_partitions, options.scale)
    return in_child("simulate", {"config": config})
