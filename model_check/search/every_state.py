"""All states of a space, packed: every combination of values of its fields, reachable or not.

A record is independent parts at fixed places. Of each part all values are written once; states are made from them block by block.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes
from kafka_spec.model_check.record.layout import Layout, Packed, put_initial
from kafka_spec.spec.language.domain import Array, Collection, Record, Scalar, SpecError, Type, show_path
from kafka_spec.spec.language.domain import Sequence as SequenceType

MOST, MOST_BYTES = 1 << 24, 1 << 30
"""The most values of a part, all of which are kept, and their bytes."""
MOST_STATES = 1 << 40
"""The most states, which take a day or more to make."""

Part: TypeAlias = "tuple[int, Bytes]"
"""Where a part of a record stands, and all its values, a row each."""


class EveryState:
    """All states of a layout's space: there are `count`, in the order of their parts, of which the first counts most."""

    def __init__(self, layout: Layout) -> None:
        """Write the values of the parts.

        Raises:
            SpecError: there are too many, or too many states.
        """
        if (count := values_in(layout.root.type)) > MOST_STATES:
            raise SpecError(
                f"there are {_about(count)} states, reachable or not; take smaller bounds, for 10^12 at most, or `prove`"
            )
        self.size = layout.size
        self.parts = [(at, _values(place)) for at, place in _parts(layout.root, 0, ())]
        self.count = math.prod(len(values) for _, values in self.parts)

    def block(self, begin: int, end: int) -> Bytes:
        """Return the records of the states begin..end-1."""
        return _combined(self.parts, self.size, begin, end)


def _parts(place: Packed, at: int, path: tuple[str | int, ...]) -> Iterator[tuple[int, Packed]]:
    """Yield the parts of a record that have their values independently of each other, with their places.

    Raises:
        SpecError: a part has too many values.
    """
    if place.fields is not None and not _is_tagged(place):
        for name, (offset, field) in place.fields.items():
            yield from _parts(field, at + offset, (*path, name))
    elif isinstance(place.type, Array) and place.item is not None:
        for index in range(place.type.length):
            yield from _parts(place.item, at + index * place.item.size, (*path, index))
    else:
        most = min(MOST, MOST_BYTES // max(1, place.size))
        if (count := values_in(place.type)) > most:
            raise SpecError(f"{show_path(path)} has {_about(count)} values, of which there may be {most:,}; take smaller bounds")
        yield at, place


def _about(count: int) -> str:
    """Return a number as a person reads it."""
    return f"{count:,}" if count < 10**12 else f"more than 10^{len(str(count)) - 1}"


def values_in(type_: Type) -> int:
    """Return how many values a type has."""
    match type_:
        case Scalar():
            return type_.high - type_.low + 1
        case Record(tags=(tag, members)):
            return sum(math.prod(values_in(type_.fields[name]) for name in members[kind]) for kind in _kinds(type_, tag, members))
        case Record():
            return math.prod(map(values_in, type_.fields.values()))
        case Array():
            return int(values_in(type_.item) ** type_.length)
    items = values_in(type_.item)
    if isinstance(type_, Collection):
        return sum(math.comb(items + (length - 1) * type_.repeats, length) for length in range(1, type_.capacity + 1)) + 1
    return sum(math.perm(items, length) if type_.distinct else items**length for length in range(type_.capacity + 1))


def _is_tagged(place: Packed) -> bool:
    return isinstance(place.type, Record) and place.type.tags is not None


def _kinds(type_: Record, tag: str, members: Iterable[int]) -> list[int]:
    """Return the values of the tag of a tagged record."""
    of = type_.fields[tag]
    assert isinstance(of, Scalar)
    return [kind for kind in sorted(members) if of.low <= kind <= of.high]


def _combined(parts: Sequence[Part], size: int, begin: int = 0, end: int | None = None) -> Bytes:
    """Return rows of so many bytes, one for each combination of values of some parts: all, or begin..end-1."""
    several = [(at, values) for at, values in parts if len(values) > 1]
    counts = [len(values) for _, values in several]
    last = math.prod(counts) if end is None else end
    rows = np.zeros((last - begin, size), np.uint8)
    for at, values in parts:
        if len(values) == 1:
            rows[:, at : at + values.shape[1]] = values
    chosen = np.unravel_index(np.arange(begin, last), counts) if counts else ()
    for (at, values), numbers in zip(several, chosen, strict=True):
        rows[:, at : at + values.shape[1]] = values[numbers]
    return rows


def _values(place: Packed) -> Bytes:
    """Return all values of a part, in the order in which sets keep their elements."""
    type_ = place.type
    if isinstance(type_, Scalar):
        numbers = np.arange(type_.low, type_.high + 1).astype(place.dtype)
        return numbers.view(np.uint8).reshape(-1, place.size)
    if place.fields is not None:
        return _tagged(place) if _is_tagged(place) else _combined(_fields(place, place.fields), place.size)
    assert place.item is not None
    items = _values(place.item)
    if isinstance(type_, Array):
        return _combined([(index * place.item.size, items) for index in range(type_.length)], place.size)
    assert place.head is not None and isinstance(type_, SequenceType)
    return np.concatenate([_of_length(place, type_, items, length) for length in range(type_.capacity + 1)])


def _fields(place: Packed, names: Iterable[str]) -> list[Part]:
    assert place.fields is not None
    return [(place.fields[name][0], _values(place.fields[name][1])) for name in names]


def _tagged(place: Packed) -> Bytes:
    """Return all values of a tagged record: with each tag its fields; the others have their initial value."""
    assert place.fields is not None and isinstance(place.type, Record) and place.type.tags is not None
    tag, members = place.type.tags
    at, of_tag = place.fields[tag]
    fresh = bytearray(place.size)
    put_initial(place, fresh, 0)
    found = []
    for kind in _kinds(place.type, tag, members):
        used = _fields(place, members[kind])
        rows = np.tile(np.frombuffer(fresh, np.uint8), (math.prod(len(values) for _, values in used), 1))
        rows[:, at : at + of_tag.size] = np.array([kind], of_tag.dtype).view(np.uint8)
        combined = _combined(used, place.size)
        for offset, values in used:
            rows[:, offset : offset + values.shape[1]] = combined[:, offset : offset + values.shape[1]]
        found.append(rows)
    rows = np.concatenate(found)
    return rows[np.lexsort(_keys(place, rows)[::-1])]


def _keys(place: Packed, rows: Bytes) -> list[npt.NDArray[np.intp]]:
    """Return what rows of a record are ordered by, field by field: the numbers of the values of the fields."""
    assert place.fields is not None
    keys = []
    for offset, field in place.fields.values():
        numbers = {value.tobytes(): number for number, value in enumerate(_values(field))}
        keys.append(np.array([numbers[row.tobytes()] for row in rows[:, offset : offset + field.size]], np.intp))
    return keys


def _of_length(place: Packed, type_: SequenceType, items: Bytes, length: int) -> Bytes:
    """Return the values of a sequence, a set or a bag with so many items."""
    assert place.head is not None and place.item is not None
    choose: Callable[[Iterable[int], int], Iterable[tuple[int, ...]]]
    if isinstance(type_, Collection):
        choose = itertools.combinations_with_replacement if type_.repeats else itertools.combinations
    else:
        choose = itertools.permutations if type_.distinct else _sequences
    flat = np.fromiter(itertools.chain.from_iterable(choose(range(len(items)), length)), np.intp)
    chosen = flat.reshape(-1, length) if length else np.zeros((1, 0), np.intp)
    rows = np.zeros((len(chosen), place.size), np.uint8)
    rows[:, : place.head.size] = np.array([length], place.head.dtype).view(np.uint8)
    rows[:, place.head.size : place.head.size + length * place.item.size] = items[chosen].reshape(len(chosen), -1)
    return rows


def _sequences(of: Iterable[int], length: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(of, repeat=length)
