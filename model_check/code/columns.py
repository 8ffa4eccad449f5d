"""Unpacks records into named columns: the states as a table for people and queries.

The description of a column consists of plain values, so that it can be stored in a file and sent to a worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language.domain import Array, Scalar, Sequence

TEXTS = 256
"""The most values of a field that are shown as words; a field with more values is shown as a number."""


def columns_of(place: Packed, offset: int = 0, name: str = "", item: tuple[int, int, int] | None = None) -> list[dict[str, Any]]:
    """Return the columns into which a packed type unpacks.

    Each has a name, its offset and size in bytes in the record, and whether it is signed. `texts` are the words for its values, or
    None where a value is shown as a number. `item` is set for a column in a sequence: the offset and size of the sequence's length,
    and the index of the item.
    """
    if place.fields is not None:
        parts = [(f"{name}_{part}" if name else part, *field) for part, field in place.fields.items()]
        return [column for part, at, field in parts for column in columns_of(field, offset + at, part, item)]
    if isinstance(place.type, Scalar):
        low, high = place.type.low, place.type.high
        texts = {str(value): place.type.show(value) for value in range(low, high + 1)} if high - low < TEXTS else {}
        plain = all(text == value for value, text in texts.items())
        column = {"name": name, "offset": offset, "bytes": place.size, "signed": place.signed}
        return [{**column, "texts": None if plain else texts, "item": list(item) if item else None}]
    assert place.item is not None and isinstance(place.type, Array | Sequence)
    found: list[dict[str, Any]] = []
    count = place.type.length if isinstance(place.type, Array) else place.type.capacity
    start = offset
    if place.head is not None:
        found = columns_of(place.head, offset, f"{name}_length", item)
        start += place.head.size
    for index in range(count):
        inside = (offset, place.head.size, index) if place.head is not None else item
        found += columns_of(place.item, start + index * place.item.size, f"{name}_{index}", inside)
    return found


def numbers(records: npt.NDArray[np.uint8], offset: int, size: int, signed: bool) -> npt.NDArray[np.int64]:
    """Return one field of all records as integers; each row of `records` holds the bytes of one record."""
    field = np.ascontiguousarray(records[:, offset : offset + size])
    return field.view(f"<{'i' if signed else 'u'}{size}").ravel().astype(np.int64)


def unpacked(records: npt.NDArray[np.uint8], column: Mapping[str, Any]) -> Any:
    """Return one column of all records as an Arrow array."""
    values = numbers(records, column["offset"], column["bytes"], column["signed"])
    beyond = None
    if column["item"]:
        offset, size, index = column["item"]
        beyond = numbers(records, offset, size, False) <= index
    if not column["texts"]:
        return pa.array(values, mask=beyond)
    distinct, place = np.unique(values, return_inverse=True)
    words = np.array([column["texts"].get(str(value), str(value)) for value in distinct.tolist()], dtype=object)
    return pa.array(words[place], pa.string(), mask=beyond)
