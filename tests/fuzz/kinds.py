"""What a random state is made of, as the writer of functions sees it: what may stand in a place, and what a function can name."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Limit:
    """A number that may come from a bound: as domains spell it, as functions do, and its least and largest value."""

    domain: str
    code: str
    least: int
    most: int


def literal(number: int) -> Limit:
    """Return a limit that no bound is behind."""
    return Limit(str(number), f"({number})" if number < 0 else str(number), number, number)


@dataclass(frozen=True)
class Number:
    """A scalar: its domain as text, and its lowest and highest value; `cut` if beyond that is where exploration ends."""

    domain: str
    low: Limit
    high: Limit
    cut: bool = False
    machine: bool = False


@dataclass(frozen=True)
class Many:
    """An array."""

    domain: str
    item: Kind
    length: Limit


@dataclass(frozen=True)
class Line:
    """A sequence."""

    domain: str
    item: Kind
    capacity: Limit
    distinct: bool = False


@dataclass(frozen=True)
class Struct:
    """A record; `tagged` names the fields that a tag gives a meaning to."""

    domain: str
    fields: Mapping[str, Kind]
    tagged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pile:
    """A set of records, or a bag."""

    domain: str
    item: Struct
    capacity: Limit
    repeats: bool = False


@dataclass(frozen=True)
class Maybe:
    """An option."""

    domain: str
    item: Kind


@dataclass(frozen=True)
class Table:
    """A map; the keys are numbers below `count`."""

    domain: str
    item: Kind
    count: Limit


Kind: TypeAlias = Number | Many | Line | Struct | Pile | Maybe | Table


def parts(kind: Kind) -> list[Kind]:
    """Return the kind and all kinds that stand at a place within it; elements of a set stand at none."""
    if isinstance(kind, Number | Pile):
        return [kind]
    inner = list(kind.fields.values()) if isinstance(kind, Struct) else [kind.item]
    return [kind, *(part for one in inner for part in parts(one))]


@dataclass
class Scope:
    """What a function can name."""

    roots: dict[str, Kind]
    """The records and containers that are its parameters."""
    numbers: dict[str, Limit | None] = field(default_factory=dict)
    """Parameters and local names that hold numbers; where it is known, what they stay below, being 0 or more."""
    inside: list[tuple[str, str]] = field(default_factory=list)
    """Sequences, and the names that are an index of an item now; one list for all blocks, since items may go."""
    loops: int = 0
    moves: bool = True
    """Whether items may be moved here."""
    effect: bool = False
    fixed: frozenset[str] = frozenset()
    """The roots that nothing changes: elements of sets."""
    frozen: bool = False
    """Whether a loop goes over items here, so that none may come or go."""

    def own(self) -> Scope:
        """Return the scope without what nothing may change."""
        return replace(self, roots={name: kind for name, kind in self.roots.items() if name not in self.fixed})

    def block(self, **changes: Any) -> Scope:
        """Return the scope of an inner block."""
        return replace(self, numbers=dict(self.numbers), **changes)


def count(kind: Kind) -> int | None:
    """Return at most how many values a kind has, where they are numbered."""
    inner = [] if isinstance(kind, Number) else list(kind.fields.values()) if isinstance(kind, Struct) else [kind.item]
    counts = [count(part) for part in inner]
    if isinstance(kind, Pile) or None in counts or getattr(kind, "machine", False) or getattr(kind, "distinct", False):
        return None
    numbers = [one for one in counts if one is not None]
    match kind:
        case Number():
            return kind.high.most - kind.low.least + 1
        case Struct():
            return None if kind.tagged else math.prod(numbers)
        case Many():
            return int(numbers[0] ** kind.length.most)
        case Line():
            return sum(numbers[0] ** length for length in range(kind.capacity.most + 1))
        case Maybe():
            return numbers[0] + 1
    return int((numbers[0] + 1) ** kind.count.most)  # type: ignore[union-attr]


def holds_machine(kind: Kind) -> bool:
    """Whether the state of a machine is part of a kind."""
    return any(isinstance(part, Number) and part.machine for part in parts(kind))


def value_of(root: Struct, path: str) -> Kind:
    """Return what stands at a path of names."""
    kind: Kind = root
    for name in path.split("."):
        assert isinstance(kind, Struct)
        kind = kind.fields[name]
    return kind


def indented(lines: list[str]) -> list[str]:
    """Return the lines one level further in."""
    return ["    " + line for line in lines]


def names_in(lines: list[str], names: Mapping[str, object]) -> list[str]:
    """Return those of the names that some lines use."""
    words = set(re.findall(r"\w+", "\n".join(lines)))
    return [name for name in names if name in words]
