"""The language of guards and effects, and the check that a function conforms to it.

The same source runs as plain Python and as compiled code. So it may use only constructs with the same meaning in both: attribute
access, indexing, integer and bit arithmetic, comparisons, boolean operators, `if`, `for` over `range` or items, tuple returns,
local functions and calls of other such functions. A function outside the language is refused at import; the message names the
place and the cure.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, NoReturn

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.body import BodyReader
from kafka_spec.spec.language.data import Held, snapshot
from kafka_spec.spec.language.data_loops import over_places
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.local_functions import lifted
from kafka_spec.spec.language.reading import Reading
from kafka_spec.spec.language.record_names import made_from, may_hold_records
from kafka_spec.spec.language.record_values import expanded
from kafka_spec.spec.language.shorthand import may_be_short, written_out
from kafka_spec.spec.language.source import Unreadable, definition_of
from kafka_spec.spec.language.tree import Block, Node
from kafka_spec.spec.language.words import (
    BUILTINS,
    CURES,
    OVER_GENERATORS,
    READERS,
    WRITERS,
    Function,
    is_function,
    parameters_of,
    resolve,
)

__all__ = [
    "BUILTINS",
    "OVER_GENERATORS",
    "READERS",
    "WRITERS",
    "Function",
    "Source",
    "as_written",
    "extended_source_of",
    "forget_what_changed",
    "is_function",
    "parameters_of",
    "source_of",
]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A function of the language as readers see it: the tree of its body, where it stands, and what it calls and does."""

    function: Function
    body: Block
    documentation: str
    """Its docstring, or ""."""
    text: str
    place: str
    parameters: tuple[str, ...]
    annotations: tuple[str, ...]
    """What each parameter is, as it stands there, or ""."""
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

    def place_of(self, node: Node | None) -> str:
        """Return the file and the line of a part of it, or those of its own."""
        return f"{self.code.co_filename}:{self.code.co_firstlineno if node is None else node.line}"

    def refuse(self, node: Node | None, message: str) -> NoReturn:
        """Raise the error of a reader that cannot do with a part of the function, with its place."""
        raise SpecError(f"{self.place_of(node)}: in {self.function.__name__}: {message}")


def as_written(function: Function) -> Function:
    """Return the function of which one is a variant that takes records by their fields, or the function itself."""
    return function if (original := made_from(function)) is None else original[0]


def source_of(function: Function) -> Source:
    """Return the checked source of a function of the language, or raise SpecError with place and cure.

    It is read once; `forget_what_changed` has it read again where the function, or what it names, is another by now.
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
    if (original := made_from(source.function)) is not None and original[0].__code__ is not original[1]:
        return False
    for name, value in source.names:
        try:
            now = resolve(source.function, name)
        except KeyError:
            return False
        if isinstance(value, Held):
            now = snapshot(now)
        if now is not value and not (type(now) is type(value) in (int, Held) and now == value):
            return False
    return True


class _Reader:
    """Reads one whole function; `extended` as for a reading."""

    def __init__(self, function: Function, extended: Mapping[str, int] | None = None) -> None:
        if not is_function(function):
            raise SpecError(f"{function!r} is not a plain function; guards and effects are named functions")
        self.reading = Reading(function, extended)
        self.function, self.refuse = function, self.reading.refuse
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
        self.tree, self.named = definition.tree, dict[str, Any]()
        nodes = list(ast.walk(self.tree))
        if any(map(may_be_short, nodes)):
            self.tree = written_out(self.tree, function, self.refuse)
        if extended is None:
            self.tree = over_places(self.tree, function, self.refuse)
        self.tree = lifted(self.tree, function, self.refuse)
        if may_hold_records(nodes, function, self.tree.returns):
            self.tree, self.named = expanded(self.tree, function, self.refuse)
            self.text = ast.unparse(self.tree)  # what its records are, compiled code depends on

    def read(self) -> Source:
        reading, parameters = self.reading, self.parameters()
        reading.names.update(self.named)
        documentation = ast.get_docstring(self.tree)
        if documentation is None and self.function.__module__.startswith(f"{domain.__name__.partition('.')[0]}."):
            self.refuse(self.tree, "it has no docstring; its name and first line are what traces and pictures show")
        reading.stored = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        reading.locals = set(parameters) | reading.stored
        body = BodyReader(reading)
        block, after = body.block(self.tree.body[documentation is not None :], set(parameters))
        counts = body.results
        if len(counts) > 1:
            self.refuse(self.tree, f"it returns now {min(counts)}, now {max(counts)} values; return as many everywhere")
        if after is not None and counts - {0}:
            self.refuse(self.tree, "it may end without returning a value; end it with a return")
        inner = {callee: self.inner(callee) for callee in reading.calls}
        for asked in reading.asked:
            source = inner[asked.callee]
            reading.check(asked, source.results, source.writes, source.moves, source.resizes)
        fires = dict.fromkeys([*reading.fires, *(pair for source in inner.values() for pair in source.fires)])
        return Source(
            function=self.function,
            body=block,
            documentation=documentation or "",
            text=self.text,
            place=f"{reading.file}:{reading.first_line}",
            parameters=parameters,
            annotations=tuple("" if one.annotation is None else ast.unparse(one.annotation) for one in self.tree.args.args),
            calls=tuple(inner),
            writes=reading.writes or any(source.writes for source in inner.values()),
            fires=tuple(fires),
            code=self.function.__code__,
            names=tuple(reading.names.items()),
            results=max(counts, default=0),
            moves=reading.moves or bool(fires) or any(source.moves for source in inner.values()),
            resizes=reading.resizes or bool(fires) or any(source.resizes for source in inner.values()),
        )

    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters of the function."""
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
            self.refuse(self.tree, "parameters are plain names, without defaults or stars")
        return tuple(argument.arg for argument in arguments.args)

    def inner(self, callee: Function) -> Source:
        """Return the source of a function that this one calls."""
        return source_of(callee) if self.reading.extended is None else extended_source_of(callee, self.reading.extended)


def extended_source_of(function: Function, names: Mapping[str, int]) -> Source:
    """Return the source of one of the engine's own functions, which are of the extended language (`Reading`).

    `names` are those that it uses as numbers.
    """
    return _Reader(function, names).read()
