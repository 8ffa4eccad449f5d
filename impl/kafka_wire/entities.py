"""Bytes of Kafka's wire protocol from plain values and back, in any version of a request, through the library kio.

A request or an answer is described by a mapping with the names of kio's fields, those of the newest version; a version takes the
fields that it has. Times are milliseconds, error codes are numbers. This module knows no request.

Source: Kafka 2.8 clients/src/main/resources/common/message, RequestHeader.java, ResponseHeader.java; kio 0.5.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
import struct
import typing
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kio.schema.errors import ErrorCode as WireError
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from kafka_spec.impl.kafka_wire.newer_versions import request_schema, response_schema

NIL = uuid.UUID(int=0)
"""The id that kio reads as None."""
PREFIX = struct.Struct(">hh")
"""The API key and the version, with which every request begins."""
UNREADABLE = (SerialError, ValueError, OverflowError, TypeError, LookupError, struct.error)
"""What kio raises on bytes that are not a message; a LookupError also for a tagged field of a later version, which Kafka skips."""


class NotAMessage(ValueError):  # noqa: N818 - the name is the message
    """Received bytes are not a message."""


@dataclass(frozen=True)
class RequestHead:
    """The header of a request."""

    key: int
    version: int
    correlation: int
    client: str | None


def write_request(key: int, version: int, correlation: int, client: str, values: Mapping[str, Any]) -> bytes:
    """Return a request with its header, without its length."""
    schema = request_schema(key, version)
    header = {"request_api_key": key, "request_api_version": version, "correlation_id": correlation, "client_id": client}
    return _written(schema.__header_schema__, header) + _written(schema, values)


def write_answer(key: int, version: int, correlation: int, values: Mapping[str, Any]) -> bytes:
    """Return an answer with its header, without its length."""
    schema = response_schema(key, version)
    return _written(schema.__header_schema__, {"correlation_id": correlation}) + _written(schema, values)


def peek(data: bytes) -> tuple[int, int]:
    """Return the API key and the version of a request.

    Raises:
        NotAMessage: there are too few bytes.
    """
    if len(data) < PREFIX.size:
        raise NotAMessage(f"a request of {len(data)} bytes has no API key and version")
    key, version = PREFIX.unpack_from(data)
    return key, version


def read_request(data: bytes) -> tuple[RequestHead, Any]:
    """Return the header and kio's entity of a request whose API key and version kio knows.

    Raises:
        NotAMessage: the bytes are not that request.
    """
    key, version = peek(data)
    schema = request_schema(key, version)
    header, end = _read(schema.__header_schema__, data, 0)
    body, end = _read(schema, data, end)
    _refuse_rest(data, end)
    return RequestHead(key, version, header.correlation_id, header.client_id), body


def read_answer(key: int, version: int, data: bytes) -> tuple[int, Any]:
    """Return the correlation id and kio's entity of an answer.

    Raises:
        NotAMessage: the bytes are not that answer.
    """
    schema = response_schema(key, version)
    header, end = _read(schema.__header_schema__, data, 0)
    body, end = _read(schema, data, end)
    _refuse_rest(data, end)
    return int(header.correlation_id), body


def correlation_of(data: bytes) -> int:
    """Return the correlation id of a request, which its header has in every version after the API key and the version.

    Raises:
        NotAMessage: there are too few bytes.
    """
    if len(data) < PREFIX.size + 4:
        raise NotAMessage(f"a request of {len(data)} bytes has no correlation id")
    return int.from_bytes(data[PREFIX.size : PREFIX.size + 4], "big", signed=True)


def milliseconds(time: datetime.timedelta) -> int:
    """Return a time of kio in milliseconds."""
    return round(time.total_seconds() * 1000)


def _written(schema: Any, values: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    entity_writer(schema)(buffer, _built(schema, values))
    return buffer.getvalue()


def _read(schema: Any, data: bytes, start: int) -> tuple[Any, int]:
    try:
        entity, size = entity_reader(schema)(data, start)
    except UNREADABLE as error:
        raise NotAMessage(f"not a {schema.__name__}: {error!r}") from None
    return entity, start + size


def _refuse_rest(data: bytes, end: int) -> None:
    if end != len(data):
        raise NotAMessage(f"{len(data) - end} bytes follow a message")


def _built(schema: Any, values: Mapping[str, Any]) -> Any:
    return schema(**{name: convert(values[name]) for name, convert in _fields(schema) if name in values})


@cache
def _fields(schema: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the names of a schema's fields, each with the function that turns a plain value into one of the field."""
    hints = typing.get_type_hints(schema)
    return [(one.name, _conversion(hints[one.name], one.metadata.get("kafka_type", ""))) for one in dataclasses.fields(schema)]


def _conversion(hint: Any, kafka_type: str) -> Callable[[Any], Any]:
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is tuple:
        kind = parts[0]
        return (lambda values: tuple([_built(kind, one) for one in values])) if dataclasses.is_dataclass(kind) else tuple
    if dataclasses.is_dataclass(hint):
        return lambda values: _built(hint, values)
    if parts and type(None) in typing.get_args(hint):
        inner = _conversion(parts[0], kafka_type)
        return lambda value: None if value is None else inner(value)
    if kafka_type == "error_code":
        return WireError
    if kafka_type.startswith("timedelta"):
        return lambda value: datetime.timedelta(milliseconds=value)
    return lambda value: value
