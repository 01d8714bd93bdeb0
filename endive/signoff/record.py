"""The record of a sign-off, in the form of an in-toto Statement with a test-result predicate.

The subject is the version: its commit, and the digest of its files. The configuration lists every file that results hang on. What in-toto's
predicate has no place for, the evidence itself, stands beside it under `endive`. A record is not signed: whoever keeps
it signs it with what they trust, and it says nothing that cannot be made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from endive.errors import InputError, Problem
from endive.resources import shared_dir
from endive.signoff.evidence import Evidence, Verdict, digest_of
from endive.signoff.repository import Checkout
from endive.utils import read_text, whole_file

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
FORMAT = 1
_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read, and where it came from."""

    document: Mapping[str, Any]
    file: str

    @property
    def own(self) -> Mapping[str, Any]:
        """What stands under `endive`."""
        found: Mapping[str, Any] = self.document["predicate"]["endive"]
        return found

    @property
    def files(self) -> dict[str, str]:
        """The recorded digest of each file."""
        return {
            each["name"]: each["digest"]["sha256"]
            for each in self.document["predicate"]["configuration"]
        }

    @property
    def evidence(self) -> list[Mapping[str, Any]]:
        """All evidence."""
        found: list[Mapping[str, Any]] = self.own["evidence"]
        return found


def statement(
    *,
    reviewer: str,
    day: str,
    checkout: Checkout,
    files: Mapping[str, str],
    evidence: Sequence[Evidence],
    waivers: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
    command: str,
) -> dict[str, Any]:
    """The whole record."""
    own: dict[str, Any] = {
        "format": FORMAT,
        "reviewer": reviewer,
        "date": day,
        "command": command,
        "environment": dict(environment),
        "waivers": [dict(waiver) for waiver in waivers],
        "evidence": [each.as_dict() for each in evidence],
    }
    document: dict[str, Any] = {
        "_type": STATEMENT,
        "subject": [
            {"name": "endive", "digest": {"gitCommit": checkout.commit}},
            {"name": "files", "digest": {"sha256": digest_of(dict(files))}},
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "WARNED" if _ids(evidence, Verdict.WAIVED) else "PASSED",
            "configuration": [
                {"name": name, "digest": {"sha256": digest}} for name, digest in files.items()
            ],
            "passedTests": _ids(evidence, Verdict.PASS),
            "warnedTests": _ids(evidence, Verdict.WAIVED),
            "failedTests": [],
            "endive": own,
        },
    }
    return sealed(document)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The record with a digest over all of it, so that a byte that changed on the way is noticed before anything is run."""
    predicate = document["predicate"]
    own = {name: value for name, value in predicate["endive"].items() if name != "digest"}
    bare = {**document, "predicate": {**predicate, "endive": own}}
    return {
        **bare,
        "predicate": {**predicate, "endive": {**own, "digest": {"sha256": digest_of(bare)}}},
    }


def write(document: Mapping[str, Any], path: str | Path) -> None:
    """Write a record; it appears whole or not at all."""
    with whole_file(path) as beside:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        beside.write_text(f"{text}\n", encoding="utf-8")


def read(path: str | Path) -> Record:
    """Read a record; raises InputError where it is none."""
    file = str(path)
    try:
        text = read_text(path, _LARGEST)
        document = json.loads(text, parse_constant=_refused)
    except FileNotFoundError:
        raise InputError([Problem("no such file; check the path", file=file)]) from None
    except json.JSONDecodeError as error:
        message = (
            f"not JSON: {error.msg} (column {error.colno}); endive signoff create makes a record"
        )
        raise InputError([Problem(message, file=file, line=error.lineno)]) from None
    except (ValueError, RecursionError) as error:
        raise InputError([Problem(f"cannot be read: {error}", file=file)]) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(f"cannot be read: {reason}", file=file)]) from None
    problems = list(_violations(document, file))
    if problems:
        raise InputError(problems)
    return Record(document, file)


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no JSON; make the record anew")


def _violations(document: Any, file: str) -> Iterable[Problem]:
    from jsonschema import Draft7Validator

    from endive.config.findings import dotted
    from endive.schema_words import in_words

    errors = sorted(
        Draft7Validator(schema()).iter_errors(document),
        key=lambda e: list(map(str, e.absolute_path)),
    )
    for error in errors[:20]:
        yield Problem(in_words(error), dotted(tuple(error.absolute_path)), file)


@cache
def schema() -> dict[str, Any]:
    """The schema of records."""
    text = (shared_dir("schemas") / "signoff.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _ids(evidence: Iterable[Evidence], verdict: Verdict) -> list[str]:
    return [each.id for each in evidence if each.verdict is verdict]
