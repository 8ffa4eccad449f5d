"""Constants that are data: tuples, lists, sets and dictionaries of numbers outside a function, such as a graph or a table of costs.

Plain Python runs a function as written. Its readers see numbers: `COST[a][b]`, `len(NEXT[a])` and `b in NEXT[a]` are each a
`Lookup`, and loops over such a constant count its places (data_loops.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from kafka_spec.spec.language import tree
from kafka_spec.spec.language.integers import unusable
from kafka_spec.spec.language.words import Function, is_defined, resolve

LARGEST_TABLE = 4096
"""The most numbers of one constant: machine code distinguishes all places."""
CONTAINERS = (tuple, list, set, frozenset, dict)
_OF_DICTIONARIES: dict[str, Callable[[Any], Any]] = {"items": dict.items, "keys": dict.keys, "values": dict.values}

Meaning = Callable[[str], Any]
"""What a global name means; None for a local one, and for one that means nothing."""
Refuse = Callable[[ast.AST, str], NoReturn]


@dataclass(frozen=True)
class Held:
    """What a constant held when a function was read: containers and numbers in order, their classes, and names of fields."""

    content: Any


@dataclass(frozen=True)
class Data:
    """The part of a constant at some places: `NEXT[a]`. The parts at all these places, whatever their values, are its *leaves*."""

    value: Any
    places: tuple[ast.expr, ...] = ()

    def leaves(self) -> Iterator[Any]:
        """Yield the parts that it may be."""
        yield from _leaves(self.value, len(self.places))

    def made(self, function: Callable[[Any], Any]) -> Data:
        """Return it with each leaf replaced."""
        return replace(self, value=_made(self.value, len(self.places), function))

    def at(self, place: ast.expr) -> Data:
        """Return the part at a place."""
        return replace(self, places=(*self.places, place))

    def is_number(self) -> bool:
        """Whether each leaf is a number."""
        return all(isinstance(leaf, int) for leaf in self.leaves())

    def table(self, optional: int = 0) -> tree.Table:
        """Return the numbers by their places, of which the last ones are optional."""
        return _table(self.value, len(self.places), optional)


class DataReader:
    """Finds the constants that are data in the expressions of one function."""

    def __init__(self, meaning: Meaning, refuse: Refuse) -> None:
        self.meaning, self.refuse = meaning, refuse

    def read(self, node: ast.AST) -> Data | None:
        """Return the part of a constant that an expression is; None if it is something else."""
        match node:
            case ast.Name(id=name):
                return Data(checked(value, node, self.refuse)) if isinstance(value := self.meaning(name), CONTAINERS) else None
            case ast.Subscript(value=of, slice=index) if (data := self.read(of)) is not None:
                return self.item(node, data, index)
            case ast.Attribute(value=of, attr=name) if (data := self.read(of)) is not None:
                if not all(name in getattr(leaf, "_fields", ()) for leaf in data.leaves()):
                    self.refuse(node, f"{ast.unparse(of)} has no field {name}")
                return data.made(lambda leaf: getattr(leaf, name))
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=[], keywords=[]) if (data := self.read(of)) is not None:
                if name not in _OF_DICTIONARIES or not all(isinstance(leaf, dict) for leaf in data.leaves()):
                    self.refuse(
                        node, f"{ast.unparse(node)} cannot be called here; items(), keys() and values() of a dictionary can"
                    )
                return data.made(lambda leaf: tuple(_OF_DICTIONARIES[name](leaf)))
            case ast.Call(func=ast.Name(id="tuple"), args=[of], keywords=[]) if self.meaning("tuple") is tuple:
                return None if (data := self.read(of)) is None or data.is_number() else data.made(tuple)
        return None

    def item(self, node: ast.AST, data: Data, index: ast.expr) -> Data:
        """Return the part of a constant at an index, which is a tuple if the keys of a dictionary are."""
        for leaf in data.leaves():
            if not isinstance(leaf, tuple | list | dict):
                kind = "a number" if isinstance(leaf, int) else "a set; write `in`, or loop over it"
                self.refuse(node, f"{ast.unparse(node)} has no value, for this part of the constant is {kind}")
        places = index.elts if isinstance(index, ast.Tuple) else [index]
        if isinstance(index, ast.Tuple) and not all(isinstance(leaf, dict) for leaf in data.leaves()):
            self.refuse(node, f"only a dictionary has keys of {len(places)} numbers; write an index at a time")
        if any(_width(key) != len(places) for leaf in data.leaves() if isinstance(leaf, dict) for key in leaf):
            self.refuse(node, f"the keys of this dictionary are not of {len(places)} number{'s' * (len(places) > 1)}")
        data = data.made(lambda leaf: _by_parts(leaf.items()) if isinstance(leaf, dict) else leaf)
        for place in places:
            data = self.known_part(node, data, place) or data.at(place)
        return data

    def known_part(self, node: ast.AST, data: Data, place: ast.expr) -> Data | None:
        """Return the part at a place that is written out and that all leaves have; None for another place."""
        match place:
            case ast.Constant(value=int() as key):
                pass
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as back)):
                key = -back
            case _:
                return None
        try:
            return data.made(lambda leaf: leaf[key])
        except (IndexError, KeyError):
            if not data.places:
                self.refuse(node, f"{ast.unparse(node)} has no value; the constant has nothing at {key}")
            return None

    def elements(self, node: ast.AST, data: Data, width: int) -> Data:
        """Return a part of a constant as its elements, each with the number 1, to be asked for one of so many numbers."""
        if data.is_number():
            self.refuse(node, f"{ast.unparse(node)} is a number; nothing is in it")
        if any(_width(element) != width for leaf in data.leaves() for element in leaf):
            self.refuse(node, f"the elements of {ast.unparse(node)} are not of {width} number{'s' * (width > 1)}")
        return data.made(lambda leaf: _by_parts((element, 1) for element in leaf))


def meaning_in(function: Function, local: Callable[[], set[str]]) -> Meaning:
    """Return what the global names of a function mean."""
    return lambda name: resolve(function, name) if name not in local() and is_defined(function, name) else None


def snapshot(value: Any) -> Held | None:
    """Return what a constant holds, if it is data."""
    return Held(_content(value)) if isinstance(value, CONTAINERS) else None


def checked(value: Any, node: ast.AST, refuse: Refuse) -> Any:
    """Return a constant that is data; refuse what is not numbers in tuples, lists, sets and dictionaries."""
    numbers, read, name = 0, 0, ast.unparse(node)
    parts = [value]
    while parts:
        part = parts.pop()
        read += 1
        if read > 4 * LARGEST_TABLE:
            refuse(node, f"{name} holds too many containers, or itself; a constant holds at most {LARGEST_TABLE} numbers")
        if isinstance(part, CONTAINERS):
            if type(part) not in CONTAINERS and not hasattr(part, "_fields"):
                refuse(node, f"{name} holds a {type(part).__name__}; write a tuple, a list, a set or a dictionary")
            parts += [*part, *part.values()] if isinstance(part, dict) else part
            continue
        numbers += 1
        if not isinstance(part, int):
            refuse(node, f"{name} holds {part!r}; a constant holds integers, and tuples, lists, sets and dictionaries of integers")
        if reason := unusable(part):
            refuse(node, f"{part} in {name} {reason}")
        if numbers > LARGEST_TABLE:
            refuse(node, f"{name} holds more than {LARGEST_TABLE} numbers")
    return value


def _content(value: Any) -> Any:
    if not isinstance(value, CONTAINERS):
        return type(value), value
    parts = tuple(map(_content, value.items() if isinstance(value, dict) else value))
    return type(value), getattr(value, "_fields", ()), parts


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    if not depth:
        yield value
        return
    for part in value.values() if isinstance(value, dict) else value:
        yield from _leaves(part, depth - 1)


def _made(value: Any, depth: int, function: Callable[[Any], Any]) -> Any:
    if not depth:
        return function(value)
    if isinstance(value, dict):
        return {key: _made(part, depth - 1, function) for key, part in value.items()}
    return tuple(_made(part, depth - 1, function) for part in value)


def _width(element: Any) -> int:
    """How many numbers an element or a key is; 0 if it is neither a number nor a tuple of numbers."""
    if isinstance(element, int):
        return 1
    return len(element) if isinstance(element, tuple) and all(isinstance(part, int) for part in element) else 0


def _by_parts(items: Any) -> dict[int, Any]:
    """Return values by keys, of which those of several numbers are looked up number by number."""
    found: dict[int, Any] = {}
    for key, value in items:
        *first, last = key if isinstance(key, tuple) else (key,)
        within = found
        for part in first:
            within = within.setdefault(int(part), {})
        within[int(last)] = value
    return found


def _table(value: Any, depth: int, optional: int) -> tree.Table:
    if isinstance(value, dict):
        items, from_end = [(int(key), part) for key, part in value.items()], False
    else:
        items, from_end = list(enumerate(value)), True
    entries = tuple((key, int(part) if depth == 1 else _table(part, depth - 1, optional)) for key, part in items)
    return tree.Table(entries, from_end, depth <= optional)
