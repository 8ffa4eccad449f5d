"""The parsed source of a function, verified against the code that the function runs.

The source that is read from a file is compiled again and compared with the function's own code. So these are detected: a file that
has changed since its import, a function whose code was replaced, and a function that wraps another one
(`functools.update_wrapper`).
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag
_KINDS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Unreadable(Exception):  # noqa: N818 - says what is the matter
    """The source of a function cannot be determined; the message names the reason and the cure."""


@dataclass(frozen=True)
class Definition:
    """How a function is defined: the statement as its file has it, and its text without indentation."""

    tree: ast.FunctionDef | ast.AsyncFunctionDef
    text: str


def definition_of(function: Callable[..., Any]) -> Definition:
    """Return the definition of a function.

    Raises:
        Unreadable: there is none, or the function runs something else.
    """
    if hasattr(function, "__wrapped__"):
        raise Unreadable(f"it wraps {_name_of(function.__wrapped__)} (__wrapped__); name the function itself")
    code: CodeType = function.__code__
    known = _definitions.get(id(code))
    if known is None or known[0] is not code:
        known = _definitions[id(code)] = code, _read(function, code)
    return known[1]


def made(tree: ast.FunctionDef, about: Callable[..., Any], names: dict[str, Any]) -> Any:
    """Return the function of a definition that no file contains; its place is that of the function that it is about.

    `names` are its global names.
    """
    runnable = copy.deepcopy(tree)
    runnable.returns = None
    for argument in runnable.args.args:
        argument.annotation = None
    module = compile(ast.fix_missing_locations(ast.Module([runnable], [])), about.__code__.co_filename, "exec", dont_inherit=True)
    code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    _definitions[id(code)] = code, Definition(ast.fix_missing_locations(tree), ast.unparse(tree))
    function = FunctionType(code, names, tree.name)
    function.__doc__ = ast.get_docstring(tree)
    function.__module__ = about.__module__
    return function


_definitions: dict[int, tuple[CodeType, Definition]] = {}
"""By the identity of the code, which never changes: equal codes may occur in several files."""


def _name_of(value: object) -> str:
    return str(getattr(value, "__qualname__", value))


def _read(function: Callable[..., Any], code: CodeType) -> Definition:
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise Unreadable("its source cannot be read; define it in a file")
    file = _file(code.co_filename, tuple(lines), code.co_flags & _FUTURES)
    found = file.statements.get(code.co_firstlineno)
    if found is None or not any(_same(code, other) for other in file.codes.get(code.co_firstlineno, ())):
        raise Unreadable("its code differs from its file; import the current file, and do not replace code by hand")
    return Definition(found, textwrap.dedent("".join(lines[code.co_firstlineno - 1 : found.end_lineno])))


@dataclass(frozen=True)
class _File:
    """What a file contains: definitions of functions, and codes, by the line on which they begin."""

    lines: Sequence[str]
    flags: int
    statements: dict[int, ast.FunctionDef | ast.AsyncFunctionDef]
    codes: dict[int, list[CodeType]]


_files: dict[str, _File] = {}


def _file(name: str, lines: tuple[str, ...], flags: int) -> _File:
    known = _files.get(name)
    if known is None or known.lines != lines or known.flags != flags:
        try:
            tree = ast.parse("".join(lines))
            whole = compile(tree, name, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise Unreadable(f"its source cannot be read: {error}") from None
        codes: dict[int, list[CodeType]] = {}
        for code in _codes(whole):
            codes.setdefault(code.co_firstlineno, []).append(code)
        known = _files[name] = _File(lines, flags, dict(_defined_in(tree.body)), codes)
    return known


def _defined_in(statements: Sequence[ast.stmt]) -> Iterator[tuple[int, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions that statements define, also within each other, with the lines on which they begin."""
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield min(part.lineno for part in (node, *node.decorator_list)), node
        for inner in ("body", "orelse", "finalbody"):
            yield from _defined_in(getattr(node, inner, ()))
        for handler in getattr(node, "handlers", ()):
            yield from _defined_in(handler.body)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same under the same names, wherever they stand."""
    return _content(one) == _content(other)


def _content(code: CodeType) -> tuple[object, ...]:
    constants = [_content(value) if isinstance(value, CodeType) else (type(value), value) for value in code.co_consts]
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, constants, names, code.co_argcount, code.co_kwonlyargcount, code.co_flags & _KINDS
