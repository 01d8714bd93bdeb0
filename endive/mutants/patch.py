"""How a fault gets into running code, and out again: attributes are set, and put back whatever happens.

Most faults are one wrong line inside a long method. `edited` compiles a function anew with that line changed and lends the
result to the function itself, so that everybody who holds it, under whatever name, runs the fault.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import Any

Fault = Callable[[], AbstractContextManager[None]]
"""What makes a fault for as long as its context lasts."""

_ABSENT = object()


class StaleFault(Exception):
    """The code no longer has the line that a fault changes: mend the mutant."""


def setting(owner: Any, name: str, value: Any) -> Fault:
    """Give an object, class or module another attribute."""

    @contextmanager
    def apply() -> Iterator[None]:
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        try:
            yield
        finally:
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    return apply


def edited(function: Any, *changes: tuple[str, str]) -> Fault:
    """Change the source of a function: each old text, which must stand there exactly once, becomes the new one."""

    @contextmanager
    def apply() -> Iterator[None]:
        target = _function(function)
        before = target.__code__
        target.__code__ = _recompiled(target, changes)
        try:
            yield
        finally:
            target.__code__ = before

    return apply


def together(*faults: Fault) -> Fault:
    """Several changes that make one fault."""

    @contextmanager
    def apply() -> Iterator[None]:
        with ExitStack() as stack:
            for fault in faults:
                stack.enter_context(fault())
            yield

    return apply


def _function(function: Any) -> FunctionType:
    found = function.fget if isinstance(function, property) else inspect.unwrap(function)
    if not isinstance(found, FunctionType):
        raise TypeError(f"{function!r} is no Python function, so it has no source to change")
    return found


def source_of(function: Any) -> str:
    """The source of a function, moved to the left margin: what the texts of `edited` are looked up in."""
    target = _function(function)
    linecache.checkcache(target.__code__.co_filename)
    return textwrap.dedent(inspect.getsource(target))


def _recompiled(target: FunctionType, changes: tuple[tuple[str, str], ...]) -> CodeType:
    source = source_of(target)
    for old, new in changes:
        if source.count(old) != 1:
            times = source.count(old)
            raise StaleFault(f"{target.__qualname__} has {old!r} {times} times, not once")
        source = source.replace(old, new)
    free = target.__code__.co_freevars
    # What the function closes over, such as the class behind `super()`, must be free in the new code, too.
    body = textwrap.indent(source, "    ") if free else source
    wrapped = f"def _around({', '.join(free)}):\n{body}" if free else body
    name = f"<mutant of {target.__qualname__}>"
    # Whoever asks for the source of the function reads the fault: the rules about sources do.
    linecache.cache[name] = (len(wrapped), None, wrapped.splitlines(keepends=True), name)
    flags = __future__.annotations.compiler_flag
    module = compile(ast.parse(wrapped), name, "exec", flags=flags, dont_inherit=True)
    found = _code_named(module, target.__name__)
    if found.co_freevars != free:
        raise StaleFault(f"{target.__qualname__} closes over {free}, its mutant over other names")
    return found


def _code_named(code: CodeType, name: str) -> CodeType:
    """The code of the function of this name, however deep it is wrapped."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name:
                return constant
            if constant.co_name == "_around":
                return _code_named(constant, name)
    raise StaleFault(f"no function {name} in its own source")
