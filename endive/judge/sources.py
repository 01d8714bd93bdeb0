"""The source of what a module does: its own text, and that of every function put into it from elsewhere."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType

_PACKAGE = __name__.split(".", maxsplit=1)[0]


def trees_of(module: ModuleType) -> Iterator[tuple[str, ast.AST]]:
    """Each piece of source as a tree, with a name for it."""
    yield module.__name__, ast.parse(inspect.getsource(module))
    for function in _functions(module):
        # What the module's own text says has been read; a function that came in otherwise has text of its own.
        code = function.__code__
        is_ours = function.__module__ and function.__module__.startswith(_PACKAGE)
        if code.co_filename == inspect.getsourcefile(module) or not is_ours:
            continue
        try:
            text = textwrap.dedent(inspect.getsource(function))
            yield f"{module.__name__}.{function.__qualname__}", ast.parse(text)
        except (OSError, SyntaxError):
            # A function made from no file, or from a piece of a line; there is no text to read.
            continue


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        if isinstance(value, FunctionType):
            yield value
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            for member in vars(value).values():
                inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if isinstance(inner, FunctionType):
                    yield inner
