"""Messages as bytes: a length, then JSON; a reader accepts only what the types declare.

A message is a dataclass of `MESSAGES`. JSON that does not fit the types of its fields is refused, so input is never executed. Bytes
are encoded as base64, mappings as lists of pairs. This is not Kafka's wire protocol.
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
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from kafka_spec.impl.kafka_wire.request_memory import RequestMemory
from kafka_spec.impl.protocol import controller_requests as requests
from kafka_spec.impl.protocol import data_requests, responses

LENGTH = struct.Struct(">I")
LARGEST = 64 << 20
"""The longest message in bytes."""

REQUESTS: tuple[type, ...] = (*typing.get_args(requests.Request), *typing.get_args(data_requests.DataRequest))
MESSAGES: Mapping[str, type] = {message.__name__: message for message in (*REQUESTS, *typing.get_args(responses.Response))}
"""The types of messages, by name."""


class Malformed(ValueError):  # noqa: N818 - the name is the message
    """Received bytes are not a message."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """A message with the number that relates an answer to its request."""

    correlation: int
    message: object


def encode(frame: Frame) -> bytes:
    """Return a frame as bytes, its length first.

    Raises:
        Malformed: the message is of an unknown type, or too long.
    """
    name = type(frame.message).__name__
    if MESSAGES.get(name) is not type(frame.message):
        raise Malformed(f"{name} is not a message; known are {', '.join(MESSAGES)}")
    text = json.dumps([frame.correlation, name, _writer(MESSAGES[name])(frame.message)], separators=(",", ":")).encode()
    if len(text) > LARGEST:
        raise Malformed(f"{name} has {len(text):,} bytes; the maximum is {LARGEST:,}")
    return LENGTH.pack(len(text)) + text


def decode(text: bytes) -> Frame:
    """Return the frame in some bytes, which do not include the length.

    Raises:
        Malformed: they are not a frame.
    """
    try:
        correlation, name, plain = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise Malformed(f"not a frame: {error}") from None
    if not isinstance(name, str) or name not in MESSAGES:
        raise Malformed(f"{name!r} is not a message; known are {', '.join(MESSAGES)}")
    return Frame(_reader(int, "correlation")(correlation), _reader(MESSAGES[name], name)(plain))


async def read(stream: asyncio.StreamReader, memory: RequestMemory) -> Frame:
    """Return the next frame of a stream; while it is read, its bytes are taken from a memory.

    Raises:
        Malformed: it is malformed, or too long.
        NoMemory: the memory does not suffice.
        asyncio.IncompleteReadError: the stream has ended.
    """
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    if length > LARGEST:
        raise Malformed(f"a message of {length:,} bytes; the maximum is {LARGEST:,}")
    with memory.reading() as request:
        return decode(await request.read(stream, length))


def _plain_as_is(value: Any) -> Any:
    return value


@cache
def _writer(kind: Any) -> Callable[[Any], Any]:
    """Return a function that turns a value of a declared type into plain JSON values."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        kinds = _not_none(parts)
        if len(kinds) > 1:
            writers = [(one, _writer(one)) for one in kinds]
            return lambda value: next([at, write(value)] for at, (one, write) in enumerate(writers) if isinstance(value, one))
        inner = _writer(kinds[0])
        return inner if inner is _plain_as_is else lambda value: None if value is None else inner(value)
    if origin is tuple:
        one = _writer(parts[0])
        return list if one is _plain_as_is else lambda values: [one(value) for value in values]
    if origin is not None and issubclass(origin, Mapping):
        key, held = _writer(parts[0]), _writer(parts[1])
        return lambda mapping: [[key(one), held(other)] for one, other in mapping.items()]
    if _is_record(kind):
        fields = [(name, _writer(hint)) for name, hint in _fields(kind)]
        return lambda value: [write(getattr(value, name)) for name, write in fields]
    if kind is bytes:
        return lambda value: base64.b64encode(value).decode()
    return int if issubclass(kind, enum.IntEnum) else _plain_as_is


@cache
def _reader(kind: Any, where: str) -> Callable[[Any], Any]:
    """Return a function that turns a plain value into one of a declared type, or raises Malformed; `where` is for its message."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        kinds = _not_none(parts)
        if len(kinds) > 1:
            return _one_of([_reader(one, where) for one in kinds], where)
        inner = _reader(kinds[0], where)
        return lambda plain: None if plain is None else inner(plain)
    if origin is tuple:
        one = _reader(parts[0], where)
        return lambda plain: tuple([one(value) for value in _list(plain, where)])
    if origin is not None and issubclass(origin, Mapping):
        key, held = _reader(parts[0], where), _reader(parts[1], where)
        return lambda plain: {key(one): held(other) for one, other in (_list(pair, where, 2) for pair in _list(plain, where))}
    if _is_record(kind):
        readers = [_reader(hint, f"{where}.{name}") for name, hint in _fields(kind)]
        return lambda plain: kind(*[read(value) for read, value in zip(readers, _list(plain, where, len(readers)), strict=True)])
    if kind is bytes:
        return lambda plain: _bytes(plain, where)
    return _member(kind, where) if issubclass(kind, enum.IntEnum) else _exactly(kind, where)


def _exactly(kind: type, where: str) -> Callable[[Any], Any]:
    def read(plain: Any) -> Any:
        if type(plain) is not kind:
            raise Malformed(f"{where} is {plain!r}, which is not of type {kind.__name__}")
        return plain

    return read


def _one_of(readers: Sequence[Callable[[Any], Any]], where: str) -> Callable[[Any], Any]:
    """Return a reader of a union, whose values have the number of their type before them."""

    def read(plain: Any) -> Any:
        at, value = _list(plain, where, 2)
        if type(at) is not int or not 0 <= at < len(readers):
            raise Malformed(f"{where} is {plain!r}; its first value should be a number below {len(readers)}")
        return readers[at](value)

    return read


def _member(kind: type[enum.IntEnum], where: str) -> Callable[[Any], Any]:
    members = {member.value: member for member in kind}

    def read(plain: Any) -> Any:
        if type(plain) is not int or plain not in members:
            raise Malformed(f"{where} is {plain!r}, which is not of type {kind.__name__}")
        return members[plain]

    return read


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _fields(kind: type) -> list[tuple[str, Any]]:
    """Return names and types of a dataclass's or a named tuple's fields, in order."""
    return list(typing.get_type_hints(kind).items())


def _not_none(kinds: Sequence[Any]) -> list[Any]:
    """Return the types of a union without None."""
    return [kind for kind in kinds if kind is not types.NoneType]


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
        raise Malformed(f"{where} is {plain!r}, which is not base64") from None
