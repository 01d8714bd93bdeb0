"""From a TOML file to a complete, valid configuration (§7), or to a list of all that is wrong."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.config.aliases import settle_old_names
from endive.config.findings import Findings
from endive.config.load_checks import complete_classes, inherit_from_transaction
from endive.config.meaning import check_meaning
from endive.config.prices import find_cost_table
from endive.config.schema import fill_defaults, normalised
from endive.config.validate import check_numbers, check_schema
from endive.cost_model import CostTable
from endive.errors import InputError, Problem
from endive.schema_words import shown


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A valid configuration with every default filled in."""

    values: Mapping[str, Any]
    cost_table: CostTable
    """What attempts and retries cost, as it was read then: a file of the user's own may have changed since."""
    file: str = "<config>"

    @property
    def label(self) -> str | None:
        """The name of the experiment, if it has one."""
        label: str | None = self.values.get("experiment", {}).get("label")
        return label

    @property
    def seed(self) -> int | None:
        """The seed that the file asks for, if it does."""
        seed: int | None = self.values["simulation"].get("seed")
        return seed

    @property
    def output_path(self) -> str:
        """Where a run without a label writes its results."""
        return str(self.values["simulation"]["output_path"])

    @property
    def duration_ms(self) -> float:
        """Simulated time."""
        return float(self.values["simulation"]["duration_ms"])


def load_config(path: str | Path) -> ResolvedConfig:
    """Read, validate and complete a configuration file; raises InputError with all its problems."""
    raw, text = read_toml(path)
    return resolve_config(raw, file=str(path), text=text)


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """What a TOML file says, and its text; raises InputError with the line that is no TOML."""
    file = str(path)
    text = _read(path, file)
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(error, text, file) from None
    except (RecursionError, ValueError) as error:
        # Nested or digits without end: the parser gives up without saying where.
        raise InputError([Problem(f"cannot be read as TOML: {error}", file=file)]) from None


def resolve_config(
    raw: Mapping[str, Any], *, file: str = "<config>", text: str = ""
) -> ResolvedConfig:
    """Validate and complete a parsed configuration; `text` is its source, for line numbers."""
    findings = Findings(file, text)
    given = _plain(raw)
    # A missing required table is told by the keys it should have had.
    given.setdefault("simulation", {})
    given.setdefault("storage", {})
    check_numbers(given, findings)
    check_schema(given, findings)
    findings.prune(given)
    config = copy.deepcopy(given)
    _settle_catalog_type(config, findings)
    settle_old_names(config, findings)
    _apply_preset(config)
    inherit_from_transaction(config)
    fill_defaults(config)
    cost_table = _cost_table(config, findings, file)
    check_meaning(given, config, findings, cost_table)
    findings.raise_if_any()
    complete_classes(config)
    assert cost_table is not None
    return ResolvedConfig(normalised(config), cost_table, file)


def _settle_catalog_type(config: dict[str, Any], findings: Findings) -> None:
    """Give the catalog its type: as asked for under either name, or as the provider suggests."""
    catalog = config.setdefault("catalog", {})
    alias, kind = catalog.pop("mode", None), catalog.get("type")
    if not findings.is_sound(("catalog", "mode")):
        findings.doubt(("catalog", "type"))
    elif alias is not None and kind is not None and alias != kind:
        findings.add(
            ("catalog", "mode"),
            f"{shown(alias)} contradicts catalog.type, which is {shown(kind)}; remove one of them",
        )
        findings.doubt(("catalog", "type"))
    elif kind is None and alias is None and not findings.is_sound(("storage", "provider")):
        findings.doubt(("catalog", "type"))
    provider = config.get("storage", {}).get("provider")
    catalog["type"] = kind or alias or ("instant" if provider == "instant" else "cas")


def _cost_table(config: Mapping[str, Any], findings: Findings, file: str) -> CostTable | None:
    """The cost table, if there is nothing against it; what is wrong within a file is told of that file."""
    path = ("transaction", "cost_table")
    if not findings.is_sound(path):
        return None
    try:
        return find_cost_table(config["transaction"]["cost_table"], file)
    except InputError as error:
        for problem in error.problems:
            findings.adopt(path, problem)
    return None


# Apache Iceberg's TableProperties and Tasks (Simulator Fidelity Report, §1.2; measured: jitter only lengthens).
_RETRY_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "iceberg": {
        "retry": 4,
        "retry_timeout_ms": 1_800_000.0,
        "retry_backoff": {
            "enabled": True,
            "base_ms": 100.0,
            "multiplier": 2.0,
            "max_ms": 60_000.0,
            "jitter": 0.1,
            "jitter_mode": "up",
        },
    }
}


def _apply_preset(config: dict[str, Any]) -> None:
    """Let a preset say what the file leaves open."""
    transaction = config.get("transaction", {})
    preset = _RETRY_PRESETS.get(str(transaction.get("retry_preset")), {})
    for name, value in preset.items():
        if isinstance(value, Mapping):
            given = transaction.setdefault(name, {})
            transaction[name] = {**value, **given}
        else:
            transaction.setdefault(name, value)


def _read(path: str | Path, file: str) -> str:
    def problem(message: str, line: int = 0) -> InputError:
        return InputError([Problem(message, file=file, line=line)])

    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise problem("no such file; check the path") from None
    except IsADirectoryError:
        raise problem("is a directory; give the TOML file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise problem(f"cannot be read: {reason}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", line
        ) from None


def _syntax_error(error: tomllib.TOMLDecodeError, text: str, file: str) -> InputError:
    message = str(error)
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line = text.rstrip().count("\n") + 1
    if found:
        message = message[: found.start()]
        if found.group(1):
            line, message = int(found.group(1)), f"{message} (column {found.group(2)})"
    return InputError([Problem(f"not valid TOML: {message}", file=file, line=line)])


def _plain(value: Any) -> Any:
    """A copy made of dicts and lists only, whatever kinds of mapping and sequence came in."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
