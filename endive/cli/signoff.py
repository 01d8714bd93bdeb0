"""`endive signoff`: bind all evidence for one version into a record, and check such a record again."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from endive.cli.arguments import jobs, whole_number

if TYPE_CHECKING:
    pass

_EPILOG = """\
examples:
  endive signoff create --reviewer "A. Reader" --out reports/signoff/2026-11.json
  endive signoff verify reports/signoff/2026-11.json

create makes all evidence and refuses if any of it fails, stays unknown, or hangs on uncommitted files.
verify computes every digest again, and makes a tenth of the evidence again, drawn by --seed.

exit codes: 0 signed off, or the record stands; 1 refused, or it does not; 2 bad input
"""

FAILED = 1


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "signoff",
        help="bind the evidence for a version, and check it again",
        description="Make a record of everything that speaks for one version, or check such a record.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser(
        "create",
        help="make all evidence, and the record",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    create.add_argument("--reviewer", required=True, metavar="NAME", help="who signs off")
    create.add_argument("--out", required=True, metavar="F.json", help="where the record goes")
    create.set_defaults(execute=execute_create)
    verify = actions.add_parser(
        "verify",
        help="check a record",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verify.add_argument("file", metavar="FILE", help="the record")
    verify.set_defaults(execute=execute_verify)
    for action in (create, verify):
        action.add_argument(
            "--seed",
            type=whole_number,
            metavar="N",
            help="of the lot (drawn and printed if not given)",
        )
        action.add_argument("--jobs", type=jobs, default=2, metavar="N", help="processes (2)")
        action.add_argument(
            "--today", type=_day, metavar="DAY", help="instead of today, as 2026-12-31"
        )
        action.add_argument("--json", action="store_true", help="one JSON document")


def execute_create(arguments: argparse.Namespace) -> int:
    """Make the evidence and, if nothing speaks against it, the record."""
    from endive.errors import InputError, Problem
    from endive.pool import applying
    from endive.signoff.creating import environment, expired, gather
    from endive.signoff.files import checkout
    from endive.signoff.record import statement, write
    from endive.signoff.sources.registry import sources, waivers
    from endive.utils import why_unwritable

    if not arguments.reviewer.strip():
        raise InputError([Problem("somebody must sign; give a name", "--reviewer")])
    reason = why_unwritable(arguments.out)
    if reason is not None:
        raise InputError([Problem(reason, "--out", arguments.out)])
    top, seed, today = checkout(), _seed(arguments), _today(arguments)
    accepted = waivers()
    with applying(arguments.jobs) as apply:
        found = gather(top, sources(top, today), apply, seed=seed, announce=_say(arguments))
    refusals = [*found.refusals, *expired(accepted, today)]
    if refusals:
        _tell(arguments, {"signed_off": False, "refusals": refusals}, _refused(refusals))
        return FAILED
    document = statement(
        reviewer=arguments.reviewer.strip(),
        day=today,
        checkout=found.checkout,
        files=found.files,
        evidence=found.evidence,
        waivers=accepted,
        environment=environment(),
        command=shlex.join(
            ["endive", "signoff", "create", "--reviewer", arguments.reviewer, "--seed", str(seed)]
        ),
    )
    write(document, arguments.out)
    counts: dict[str, int] = {}
    for each in found.evidence:
        counts[each.kind] = counts.get(each.kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    lines = [
        f"signed off by {arguments.reviewer.strip()}: commit {found.checkout.commit[:12]}, {len(found.files)} files",
        f"evidence  {told}; {len(accepted)} waivers",
        f"record    {arguments.out}",
        f"check it  endive signoff verify {shlex.quote(arguments.out)}",
    ]
    summary = {
        "signed_off": True,
        "record": arguments.out,
        "evidence": counts,
        "waivers": len(accepted),
    }
    _tell(arguments, summary, lines)
    return 0


def execute_verify(arguments: argparse.Namespace) -> int:
    """Hold the record against this checkout."""
    from endive.pool import applying
    from endive.signoff.files import checkout
    from endive.signoff.record import read
    from endive.signoff.sources.registry import sources
    from endive.signoff.verifying import commit_in_words, differences

    record = read(arguments.file)
    top, seed, today = checkout(), _seed(arguments), _today(arguments)
    with applying(arguments.jobs) as apply:
        found = differences(
            record,
            top,
            sources(top, today),
            apply,
            seed=seed,
            today=today,
            announce=_say(arguments),
        )
        # The first difference decides; what would come after it is not made any more.
        first = next(found, None)
    replay = shlex.join(["endive", "signoff", "verify", arguments.file, "--seed", str(seed)])
    if first is not None:
        document = {"stands": False, "first_difference": first, "seed": seed, "replay": replay}
        _tell(arguments, document, [f"the record does not stand: {first}", f"replay  {replay}"])
        return FAILED
    where = commit_in_words(record, top)
    document = {"stands": True, "commit": where, "seed": seed, "replay": replay}
    lines = [
        f"the record stands: {where}; signed off by {record.own['reviewer']} on {record.own['date']}",
        f"every digest is the same, and so is the tenth of the evidence that seed {seed} drew",
    ]
    _tell(arguments, document, lines)
    return 0


def _refused(refusals: list[str]) -> list[str]:
    return ["no sign-off:", *(f"  {refusal}" for refusal in refusals)]


def _tell(arguments: argparse.Namespace, document: dict[str, Any], lines: list[str]) -> None:
    if arguments.json:
        print(json.dumps(document, allow_nan=False))
    else:
        print("\n".join(lines))


def _say(arguments: argparse.Namespace) -> Any:
    """Tells a person who watches what is being done."""
    if arguments.json or not sys.stderr.isatty():
        return lambda _words: None
    return lambda words: print(f"  {words} …", file=sys.stderr, flush=True)


def _seed(arguments: argparse.Namespace) -> int:
    from endive.utils import draw_seed

    return draw_seed() if arguments.seed is None else int(arguments.seed)


def _today(arguments: argparse.Namespace) -> str:
    from datetime import UTC, datetime

    return arguments.today or datetime.now(UTC).date().isoformat()


def _day(text: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; write it as 2026-12-31") from None
