"""The JSON of znodes: values are read only if they have Kafka's types, and every error names the path.

A `read_` function returns its argument, or raises TypeError or ValueError, which `Content` turns into `Undecodable`.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from typing import Any

SHOWN = 300
"""The number of bytes of a content that a message shows."""


class Undecodable(ValueError):  # noqa: N818 - the name is the message
    """A znode holds content that Kafka never writes there."""


def to_json(content: Mapping[str, Any]) -> bytes:
    """Return a content as JSON in Kafka's form."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def read_number(value: Any) -> int:
    """Return an integer of 32 bits."""
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise TypeError(f"{shown(value)} is not a number")
    return value


def read_partition(value: Any) -> int:
    """Return a partition number."""
    if read_number(value) < 0:
        raise ValueError(f"{value} is not a partition number")
    return int(value)


def read_broker(value: Any) -> int:
    """Return a broker id."""
    if read_number(value) < 0:
        raise ValueError(f"{value} is not a broker id")
    return int(value)


def read_text(value: Any) -> str:
    """Return a text that UTF-8 can encode, so without half a surrogate pair."""
    if type(value) is not str:
        raise TypeError(f"{shown(value)} is not a text")
    value.encode()
    return value


def read_list(value: Any) -> list[Any]:
    """Return a list."""
    if type(value) is not list:
        raise TypeError(f"{shown(value)} is not a list")
    return value


def shown(value: object) -> str:
    """Return a value for a message, shortened, however deep and long it is."""
    return reprlib.repr(value) if not isinstance(value, bytes) else repr(value[:SHOWN]) + ("..." if len(value) > SHOWN else "")


class Content:
    """The JSON content of a path while it is decoded; every error names the path."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data

    def __enter__(self) -> dict[str, Any]:
        try:
            content = json.loads(self._data)
        except (ValueError, RecursionError) as error:
            raise Undecodable(f"{self._path} does not hold JSON: {error}") from None
        if not isinstance(content, dict):
            raise Undecodable(f"{self._path} holds {shown(content)}, which is not an object")
        return content

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError):
            raise Undecodable(f"{self._path} has no field {error.args[0]!r}: {shown(self._data)}") from None
        if isinstance(error, (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)):
            raise Undecodable(f"{self._path} holds unexpected content ({error}): {shown(self._data)}") from None
