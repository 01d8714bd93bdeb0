"""`endive calibrate`: the experiments behind the profiles, simulated and compared with what was measured."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endive.calibration.data import Case
    from endive.calibration.fit import StoreFit
    from endive.calibration.report import Report

_STORES = ("s3", "s3x", "azure", "azurex", "gcp")
_CLIENTS = ("told", "reads-within", "reads-after")
_EPILOG = """\
examples:
  endive calibrate
  endive calibrate --store s3x --operation append
  endive calibrate --fit --jobs 2 --out fitted
  endive calibrate --fit --data mine.csv --json

Without --fit the recorded fits are shown; with it they are searched anew, which takes about a minute.
Exit code 1: a shipped fitted profile no longer meets the errors it states.
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "calibrate",
        help="compare the storage profiles with measurements, and fit them",
        description="Simulate closed-loop clients that write to one key, and compare failure rate and throughput with "
        "what was measured, row by row. Fits see 1, 4 and 16 threads and are tested on 2 and 8.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--store", choices=_STORES, help="this store only")
    parser.add_argument("--operation", choices=("cas", "append"), help="this operation only")
    parser.add_argument("--fit", action="store_true", help="search the best fit anew")
    parser.add_argument(
        "--client",
        choices=_CLIENTS,
        default=None,
        help="with --fit: how a refused client learns what to expect (default: reads-within)",
    )
    parser.add_argument(
        "--data",
        metavar="FILE.csv",
        help="measurements of your own, in the columns of the shipped ones",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="write report.json, and with --fit fits.toml and the profiles that fit",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--jobs", type=_jobs, default=1, metavar="N", help="processes at the same time (default: 1)"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Compare, and say whether the shipped profiles still hold."""
    from endive.calibration.experiment import Client
    from endive.calibration.recorded import packaged_fits
    from endive.calibration.report import build_report, find_fits
    from endive.cli.progress import progress_if_watched
    from endive.pool import applying

    measured = _measured(arguments)
    cases = _chosen(arguments, measured)
    whole = {case.store for case in cases} - {case.store for case in measured if case not in cases}
    is_shipped = arguments.data is None and not arguments.fit
    with (
        progress_if_watched(_steps(cases, arguments.fit)) as advance,
        applying(arguments.jobs, advance) as apply,
    ):
        if arguments.fit:
            client = Client(arguments.client or Client.READS_WITHIN.value)
            fits = find_fits(cases, client, apply)
        else:
            recorded = packaged_fits()
            fits = {case.store: recorded[case.store] for case in cases}
        # A fit that was just made states nothing yet, and shipped errors are about shipped data.
        report = build_report(cases, fits, apply, whole=whole, checks_claims=is_shipped)
    document = json.dumps(report.as_dict(), ensure_ascii=False, allow_nan=False)
    if arguments.out is not None:
        _write_all(Path(arguments.out), report, document, with_fits=arguments.fit)
    if arguments.json:
        print(document)
    else:
        from endive.cli.render_calibrate import print_report

        print_report(report, arguments.out)
    return 0 if report.holds else 1


def _measured(arguments: argparse.Namespace) -> Sequence[Case]:
    from endive.calibration.data import packaged_file, read_cases
    from endive.errors import InputError, Problem

    if arguments.client is not None and not arguments.fit:
        raise InputError([Problem("says how a fit is made; add --fit", "--client")])
    path = packaged_file() if arguments.data is None else Path(arguments.data)
    return read_cases(path)


def _chosen(arguments: argparse.Namespace, measured: Sequence[Case]) -> list[Case]:
    from endive.errors import InputError, Problem

    cases = [
        case
        for case in measured
        if arguments.store in (None, case.store)
        and arguments.operation in (None, case.operation.latency)
    ]
    if not cases:
        wanted = " ".join(filter(None, (arguments.store, arguments.operation)))
        raise InputError([Problem(f"no measurement of {wanted}; leave out --store or --operation")])
    return cases


def _write_all(folder: Path, report: Report, document: str, *, with_fits: bool) -> None:
    from endive.calibration.profiles import SUFFIX, render_profile
    from endive.calibration.recorded import FITS_FILE, render_fits
    from endive.profiles import load_profiles

    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "report.json", document + "\n")
    if not with_fits:
        return
    specified = load_profiles()
    fits: list[StoreFit] = list(report.fits.values())
    _write(folder / FITS_FILE, render_fits(fits))
    for fit in fits:
        if report.offers(fit.store):
            text = render_profile(specified[fit.store], fit, report.comparisons(fit.store))
            _write(folder / f"{fit.store}{SUFFIX}.toml", text)


def _write(file: Path, text: str) -> None:
    from endive.utils import whole_file

    with whole_file(str(file)) as beside:
        beside.write_text(text, encoding="utf-8")


def _steps(cases: Sequence[Case], is_fitting: bool) -> int:
    fits = len({case.store for case in cases}) if is_fitting else 0
    return fits + 2 * len(cases)


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return value
