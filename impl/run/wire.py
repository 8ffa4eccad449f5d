"""Messages as bytes: a length, then JSON; a reader takes nothing but what the types declare.

A message is a dataclass of `MESSAGES`. Its fields say what they hold, and a text that holds anything else is refused, so nothing
that arrives is executed, and nothing unknown gets in. Bytes travel as base64, mappings as lists of pairs. Kafka's own protocol is
another.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import dataclasses
import enum
import json
import struct
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from impl import requests
from impl.replica_manager import Answer

LENGTH = struct.Struct(">I")
LARGEST = 64 << 20
"""The longest message in bytes: a length beyond it is none of ours."""

MESSAGES: Mapping[str, type] = {
    message.__name__: message
    for message in (
        requests.LeaderAndIsrRequest,
        requests.UpdateMetadataRequest,
        requests.StopReplicaRequest,
        Answer,
    )
}
"""What may travel, by name."""


class Malformed(ValueError):  # noqa: N818 - says what is wrong
    """What has arrived is no message."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """A message with the number by which request and answer find each other."""

    correlation: int
    message: object


def encode(frame: Frame) -> bytes:
    """Return a frame as bytes, its length first.

    Raises:
        Malformed: the message is of no known type, or too long.
    """
    name = type(frame.message).__name__
    if MESSAGES.get(name) is not type(frame.message):
        raise Malformed(f"{name} is no message; there is {', '.join(MESSAGES)}")
    text = json.dumps([frame.correlation, name, _plain(frame.message)], separators=(",", ":")).encode()
    if len(text) > LARGEST:
        raise Malformed(f"{name} has {len(text):,} bytes, and a message has {LARGEST:,} at the most")
    return LENGTH.pack(len(text)) + text


def decode(text: bytes) -> Frame:
    """Return the frame that some bytes hold, without their length.

    Raises:
        Malformed: they hold none.
    """
    try:
        correlation, name, plain = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise Malformed(f"no frame: {error}") from None
    if not isinstance(name, str) or name not in MESSAGES:
        raise Malformed(f"{name!r} is no message; there is {', '.join(MESSAGES)}")
    return Frame(_typed(correlation, int, "correlation"), _typed(plain, MESSAGES[name], name))


async def read(stream: asyncio.StreamReader) -> Frame:
    """Return the next frame of a stream.

    Raises:
        Malformed: it is none, or too long.
        asyncio.IncompleteReadError: the stream has ended.
    """
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    if length > LARGEST:
        raise Malformed(f"a message of {length:,} bytes, and {LARGEST:,} are the most")
    return decode(await stream.readexactly(length))


def _plain(value: Any) -> Any:
    """Return a value as what JSON can hold."""
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, one.name)) for one in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(held)] for key, held in value.items()]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, enum.IntEnum) else value


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return names and types of a dataclass's or a named tuple's fields, in order."""
    return tuple(
        (name, hint) for name, hint in typing.get_type_hints(kind).items() if typing.get_origin(hint) is not typing.ClassVar
    )


def _typed(plain: Any, kind: Any, where: str) -> Any:
    """Return what a plain value means where a type is declared.

    Raises:
        Malformed: it means nothing there.
    """
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(plain, typing.get_args(kind), where)
    if origin is tuple:
        return tuple(_typed(one, typing.get_args(kind)[0], where) for one in _list(plain, where))
    if origin is not None and issubclass(origin, Mapping):
        key, held = typing.get_args(kind)
        pairs = [_list(pair, where, 2) for pair in _list(plain, where)]
        return {_typed(one, key, where): _typed(other, held, where) for one, other in pairs}
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        fields = _fields(kind)
        values = _list(plain, where, len(fields))
        return kind(*(_typed(value, hint, f"{where}.{name}") for value, (name, hint) in zip(values, fields, strict=True)))
    if kind is bytes:
        return _bytes(plain, where)
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        try:
            return kind(_typed(plain, int, where))
        except ValueError:
            raise Malformed(f"{where} is {plain!r}, which is no {kind.__name__}") from None
    if type(plain) is not kind:
        raise Malformed(f"{where} is {plain!r}, which is no {getattr(kind, '__name__', kind)}")
    return plain


def _one_of(plain: Any, kinds: Sequence[Any], where: str) -> Any:
    """Return what a plain value means where there is one type, or None."""
    if plain is None and types.NoneType in kinds:
        return None
    (kind,) = (kind for kind in kinds if kind is not types.NoneType)
    return _typed(plain, kind, where)


def _list(plain: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(plain, list) or length not in (None, len(plain)):
        raise Malformed(f"{where} is {plain!r}, where a list{'' if length is None else f' of {length}'} should be")
    return plain


def _bytes(plain: Any, where: str) -> bytes:
    if not isinstance(plain, str):
        raise Malformed(f"{where} is {plain!r}, where bytes as base64 should be")
    try:
        return base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(f"{where} is {plain!r}, which is no base64") from None
