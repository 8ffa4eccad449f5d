"""The language of guards and effects, and the check that a function conforms to it.

The same source runs as plain Python and as compiled code. So it may use only constructs with the same meaning in both: attribute
access, indexing, integer and bit arithmetic, comparisons, boolean operators, `if`, `for` over `range` or items, tuple returns,
local functions and calls of other such functions. A function outside the language is refused at import; the message names the
place and the cure.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CodeType
from typing import Any

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.body import BodyReader
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.local_functions import lifted
from kafka_spec.spec.language.source import Unreadable, definition_of
from kafka_spec.spec.language.words import (
    BUILTINS,
    CURES,
    MOVERS,
    OVER_GENERATORS,
    READERS,
    WRITERS,
    Function,
    is_function,
    parameters_of,
    resolve,
    results_of,
)

__all__ = [
    "BUILTINS", "MOVERS", "OVER_GENERATORS", "READERS", "WRITERS", "Function", "Source", "forget_what_changed", "is_function",
    "parameters_of", "resolve", "results_of", "source_of",
]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A function of the language: its definition as it stands in its file, where that is, and what it calls."""

    function: Function
    tree: ast.FunctionDef
    text: str
    place: str
    parameters: tuple[str, ...]
    calls: tuple[Function, ...]
    writes: bool
    """Whether it changes the state, itself or through a function it calls."""
    fires: tuple[tuple[Any, str], ...]
    """The (machine, trigger) pairs it fires, itself or through a function it calls."""
    code: CodeType
    names: tuple[tuple[str, Any], ...]
    """What the global names in it stand for."""
    results: int
    """How many values it returns."""
    moves: bool = False
    """Whether it may move or drop items of a sequence, so that a name for one means something else afterwards."""
    resizes: bool = False
    """Whether it may change what items a sequence or a set has, so that no loop over items may call it."""


def source_of(function: Function) -> Source:
    """Return the checked source of a function of the language, or raise SpecError with place and cure.

    It is read once; `forget_what_changed` has it read anew where the function, or what it names, is another by now.
    """
    if (known := _sources.get(function)) is not None:
        return known
    reader = _Reader(function)
    if function in _reading:
        through = ", ".join(dict.fromkeys(other.__name__ for other in _reading[_reading.index(function) + 1 :]))
        reader.refuse(None, f"a function cannot call itself, not even through {through}")
    _reading.append(function)
    try:
        source = _sources[function] = reader.read()
    finally:
        _reading.pop()
    return source


_sources: dict[Function, Source] = {}
_reading: list[Function] = []
"""The functions that are being read, each called by the previous one."""


def forget_what_changed() -> None:
    """Forget the sources of functions whose code or global names are no longer what was read, and of all that call them."""
    changed = {function for function, source in _sources.items() if not _is_current(source)}
    while changed:
        for function in changed:
            del _sources[function]
        changed = {function for function, source in _sources.items() if not changed.isdisjoint(source.calls)}


def _is_current(source: Source) -> bool:
    """Whether a function still has the code and its global names still stand for what was read."""
    if source.function.__code__ is not source.code:
        return False
    for name, value in source.names:
        try:
            now = resolve(source.function, name)
        except KeyError:
            return False
        if now is not value and not (type(now) is type(value) is int and now == value):
            return False
    return True


class _Reader(BodyReader):
    """Reads one whole function."""

    def __init__(self, function: Function) -> None:
        if not is_function(function):
            raise SpecError(f"{function!r} is not a plain function; guards and effects are named functions")
        super().__init__(function)
        if function.__name__ == "<lambda>":
            self.refuse(None, CURES[ast.Lambda])
        if function.__closure__:
            self.refuse(None, "it captures a variable of another function; make it a module's function")
        try:
            definition = definition_of(function)
        except Unreadable as error:
            self.refuse(None, str(error))
        self.text = definition.text
        if not isinstance(definition.tree, ast.FunctionDef) or definition.tree.decorator_list:
            self.refuse(None, "it must be a plain `def` without decorators")
        self.tree = lifted(definition.tree, function, self.refuse)

    def read(self) -> Source:
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
            self.refuse(self.tree, "parameters are plain names, without defaults or stars")
        parameters = tuple(argument.arg for argument in arguments.args)
        own = self.function.__module__.startswith(f"{domain.__name__.partition('.')[0]}.")
        documented = ast.get_docstring(self.tree) is not None
        if own and not documented:
            self.refuse(self.tree, "it has no docstring; its name and first line are what traces and pictures show")
        self.locals = set(parameters) | {
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        ends = self.block(self.tree.body[documented:], set(parameters)) is not None
        counts = results_of(self.tree)
        if len(counts) > 1:
            self.refuse(self.tree, f"it returns now {min(counts)}, now {max(counts)} values; return as many everywhere")
        if ends and counts - {0}:
            self.refuse(self.tree, "it may end without returning a value; end it with a return")
        place = f"{self.file}:{self.first_line}"
        calls = tuple(self.calls)
        inner = [source_of(call) for call in calls]
        for node, callee in self.inner:
            if callee is None or source_of(callee).moves:
                self.refuse(node, "this call may move items while an expression reads them; give it a line of its own")
        for node, items, callee in self.under_loops:
            if source_of(callee).resizes:
                self.refuse_resizing(node, items)
        fires = dict.fromkeys([*self.fires, *(pair for source in inner for pair in source.fires)])
        return Source(
            function=self.function,
            tree=self.tree,
            text=self.text,
            place=place,
            parameters=parameters,
            calls=calls,
            writes=self.writes or any(source.writes for source in inner),
            fires=tuple(fires),
            code=self.function.__code__,
            names=tuple(self.names.items()),
            results=max(counts, default=0),
            moves=self.moves or bool(fires) or any(source.moves for source in inner),
            resizes=self.resizes or bool(fires) or any(source.resizes for source in inner),
        )
