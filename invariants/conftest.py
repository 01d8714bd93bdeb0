"""What all property tests share: profiles, the target of the direct properties, and failures as files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Tests import each other's helpers as `invariants.…`, and a target may lie in the current directory.
for directory in (str(ROOT), str(Path.cwd())):
    if directory not in sys.path:
        sys.path.insert(0, directory)

from invariants.direct.adapter import BadTargetError, MakeTarget, load_target  # noqa: E402
from invariants.direct.own import KINDS  # noqa: E402
from invariants.profiles import load_profile  # noqa: E402

load_profile()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--target my.module`."""
    parser.addoption(
        "--target",
        metavar="MODULE",
        help="hold the direct properties against MODULE.make_catalog(num_tables), and nothing else",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the markers mean."""
    config.addinivalue_line("markers", "direct: drives a catalog itself; also for --target")
    config.addinivalue_line("markers", "invariant(*ids): the invariants that a test covers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a target, only what can be held against it is run."""
    if config.getoption("--target"):
        others = [item for item in items if item.get_closest_marker("direct") is None]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.get_closest_marker("direct") is not None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `make_target` has each of Endive's catalogs, or the foreign one."""
    if "make_target" not in metafunc.fixturenames:
        return
    module_name = metafunc.config.getoption("--target")
    if not module_name:
        makers: list[MakeTarget] = [kind.make for kind in KINDS.values()]
        metafunc.parametrize("make_target", makers, ids=list(KINDS))
        return
    try:
        make = load_target(module_name)
    except BadTargetError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize("make_target", [make], ids=[module_name])
