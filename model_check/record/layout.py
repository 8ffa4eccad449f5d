"""Packs states into bytes: the record of a state space, its NumPy dtype, and its fingerprint.

The layout is derived from the state space alone. A scalar takes the fewest bytes that hold its range, little-endian. A sequence is
its length, then as many items as its capacity; items beyond the length are zero. A record is its fields in order, without gaps.
The whole is padded with zeros to a multiple of 8 bytes. Two states are equal if and only if their bytes are equal.

Most of a record may be room for items that are not there. Such a record is hashed and kept as its *light row*, without that room.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_spec.model_check.record.fingerprint import DEFAULT_SEED, fingerprint
from kafka_spec.spec.language.domain import Array, Record, Scalar, Sequence, Space, Type, items_of
from kafka_spec.spec.vocabulary.table import SpecError


@dataclass(frozen=True)
class Packed:
    """How a type is packed: `size` in bytes, and inside it fields at offsets, or items at a stride."""

    type: Type
    size: int
    signed: bool = False
    fields: Mapping[str, tuple[int, Packed]] | None = None
    item: Packed | None = None
    head: Packed | None = None
    """The packed length of a sequence, before its items."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the packed bytes."""
        if self.fields is not None:
            return np.dtype([(name, field.dtype) for name, (_, field) in self.fields.items()])
        if isinstance(self.type, Array):
            assert self.item is not None
            return np.dtype((self.item.dtype, (self.type.length,)))
        if isinstance(self.type, Sequence):
            assert self.item is not None and self.head is not None
            return np.dtype([("length", self.head.dtype), ("items", self.item.dtype, (self.type.capacity,))])
        return np.dtype(f"<{'i' if self.signed else 'u'}{self.size}")


class TooWide(SpecError):  # noqa: N818 - says what is the matter
    """A value does not fit into 32 bits."""


def packed(type_: Type) -> Packed:
    """Return the packed form of a type."""
    if isinstance(type_, Scalar):
        return _scalar(type_)
    if isinstance(type_, Record):
        fields, offset = {}, 0
        for name, field in type_.fields.items():
            try:
                fields[name] = (offset, packed(field))
            except TooWide as error:
                raise SpecError(f"{type_.cls.__name__}.{name}: {error}") from None
            offset += fields[name][1].size
        return Packed(type_, offset, fields=fields)
    item = packed(type_.item)
    if isinstance(type_, Array):
        return Packed(type_, item.size * type_.length, item=item)
    head = _scalar(Scalar(0, type_.capacity, 0, None, str))
    return Packed(type_, head.size + item.size * type_.capacity, item=item, head=head)


def _scalar(type_: Scalar) -> Packed:
    signed = type_.low < 0
    for size in (1, 2, 4):
        low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
        if low <= type_.low and type_.high <= high:
            return Packed(type_, size, signed)
    what = f"a set of {type_.high.bit_length()} members" if type_.many else f"a number in {type_.low}..{type_.high}"
    raise TooWide(f"{what} is wider than 32 bits; narrow its domain")


def put(place: Packed, value: Any, record: bytearray, at: int) -> None:
    """Write a value into a zeroed record at an offset."""
    if place.fields is not None:
        for name, (offset, field) in place.fields.items():
            put(field, getattr(value, name), record, at + offset)
    elif place.item is not None:
        if place.head is not None:
            put(place.head, len(value), record, at)
            at += place.head.size
        for index, item in enumerate(items_of(value)):
            put(place.item, item, record, at + index * place.item.size)
    else:
        record[at : at + place.size] = int(value).to_bytes(place.size, "little", signed=place.signed)


def put_initial(place: Packed, record: bytearray, at: int) -> None:
    """Write the initial value of the type at an offset into a zeroed record."""
    if place.fields is not None:
        for offset, field in place.fields.values():
            put_initial(field, record, at + offset)
    elif isinstance(place.type, Scalar):
        put(place, place.type.initial, record, at)
    elif isinstance(place.type, Array) and place.item is not None:
        for index in range(place.type.length):
            put_initial(place.item, record, at + index * place.item.size)


def get(place: Packed, record: bytes, at: int) -> Any:
    """Read a value from a record at an offset."""
    if place.fields is not None:
        assert isinstance(place.type, Record)
        value = place.type.fresh()
        value.__dict__.update({name: get(field, record, at + offset) for name, (offset, field) in place.fields.items()})
        return value
    if place.item is not None:
        assert isinstance(place.type, Array | Sequence)
        length = place.type.length if isinstance(place.type, Array) else 0
        if place.head is not None:
            length = get(place.head, record, at)
            at += place.head.size
        return place.type.holding([get(place.item, record, at + i * place.item.size) for i in range(length)])
    return int.from_bytes(record[at : at + place.size], "little", signed=place.signed)


WIDE = 64
"""Bytes of all items of a sequence from which on it is wide."""
MOST_WIDE = 64
"""The most sequences of a record that are treated as wide."""
ROOM = 256
"""Bytes of the room of all wide sequences from which on light rows are worth the time that they take."""
GROUP = 48
"""Bytes that the hash takes at a time."""


def wide_sequences(place: Packed, offset: int = 0) -> Iterator[tuple[int, Packed]]:
    """Yield the sequences with room for many bytes of items that are at one place in every record, with their offsets."""
    if place.fields is not None:
        for at, field in place.fields.values():
            yield from wide_sequences(field, offset + at)
    elif place.head is not None:
        if place.size - place.head.size >= WIDE:
            yield offset, place
    elif place.item is not None and any(wide_sequences(place.item)):
        for at in range(offset, offset + place.size, place.item.size):
            yield from wide_sequences(place.item, at)


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def _most_of_items(place: Packed) -> int:
    assert place.head is not None and place.item is not None
    return (place.size - place.head.size) // place.item.size * _padded(place.item.size)


def _with_padding(part: bytes) -> bytes:
    return part.ljust(_padded(len(part)), b"\0")


class RecordLayout:
    """The packed form of records; `size` is the bytes of a record, including the padding. All is derived from the packed `root`.

    Most of a record may be room for items that are not there: the room of `wide` sequences, which are given with their offsets.
    `always` are the other parts of a record, each by its offset and its bytes; they contain the lengths of the wide sequences.
    The *light row* of a record is what it holds: the parts that are always there, then the items of the wide sequences, each padded
    with zeros to a multiple of 8 bytes, and the first ones together to `row_head` bytes, a multiple of 48. A row has `most` bytes
    at most. Without wide sequences it is the record. The fingerprint is the hash of the light row.
    """

    def __init__(self, root: Packed) -> None:
        self.root = root
        self.size = max(8, -(-self.root.size // 8) * 8)
        wide = list(itertools.islice(wide_sequences(self.root), MOST_WIDE))
        rooms = [(at + place.head.size, at + place.size) for at, place in wide if place.head is not None]
        if sum(end - begin for begin, end in rooms) < ROOM:
            wide, rooms = [], []
        self.wide = wide
        begins, ends = [0, *(end for _, end in rooms)], [*(begin for begin, _ in rooms), self.root.size]
        self.always = [(begin, end - begin) for begin, end in zip(begins, ends, strict=True) if end > begin]
        self.row_head = -(-sum(_padded(size) for _, size in self.always) // GROUP) * GROUP
        self.most = self.row_head + sum(_most_of_items(place) for _, place in wide) if wide else self.size


class Layout(RecordLayout):
    """The packed form of a space's states, and their fingerprints."""

    def __init__(self, space: Space, seed: int | None = None) -> None:
        super().__init__(packed(space.root))
        self.space = space
        self.seed = DEFAULT_SEED if seed is None else seed

    @property
    def dtype(self) -> np.dtype[Any]:
        """The record's NumPy dtype, `size` bytes long."""
        inner = self.root.dtype
        assert inner.names is not None and inner.fields is not None
        offsets = [inner.fields[name][1] for name in inner.names]
        formats = [inner.fields[name][0] for name in inner.names]
        return np.dtype({"names": list(inner.names), "formats": formats, "offsets": offsets, "itemsize": self.size})

    def pack(self, state: Any) -> bytes:
        """Return the record of a state."""
        record = bytearray(self.size)
        put(self.root, state, record, 0)
        return bytes(record)

    def unpack(self, record: bytes) -> Any:
        """Return the state of a record."""
        return get(self.root, record, 0)

    def light(self, record: bytes) -> bytes:
        """Return the light row of a record."""
        if not self.wide:
            return record
        row = b"".join(_with_padding(record[at : at + size]) for at, size in self.always).ljust(self.row_head, b"\0")
        for at, place in self.wide:
            assert place.head is not None and place.item is not None
            size, begin = place.item.size, at + place.head.size
            for number in range(get(place.head, record, at)):
                row += _with_padding(record[begin + number * size : begin + (number + 1) * size])
        return row

    def fingerprint(self, record: bytes) -> int:
        """Return the record's fingerprint under this layout's seed."""
        return fingerprint(self.light(record), self.seed)
