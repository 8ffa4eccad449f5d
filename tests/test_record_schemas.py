"""Records of the metadata log, read and written by what Kafka's schemas say."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_spec.impl.kraft.record_decoders import UnreadableRecord, decode_fields, encode_fields, varint
from kafka_spec.impl.kraft.record_schemas import SCHEMAS, SchemaField

VERSIONS = [(key, version) for key, schema in SCHEMAS.items() for version in range(schema.newest + 1)]
VALUES: dict[str, Any] = {
    "int8": 3, "int16": -7, "uint16": 65_535, "int32": 1 << 30, "int64": 1 << 60, "bool": True, "float64": 0.5,
    "string": "é" * 70, "bytes": b"\0" * 200, "uuid": bytes(range(16)),
}  # fmt: skip


def some_value(field: SchemaField, version: int) -> Any:
    """Return a value of a field that is not the usual one."""
    if field.fields:
        from kafka_spec.impl.kraft.record_schemas import Schema

        part = Schema(field.item, -1, version, field.fields)
        one = part.record(version, *(some_value(each, version) for each in field.fields), ())
    else:
        one = VALUES[field.item]
    return (one,) * 3 if field.is_array else one


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda value: str(value))
def test_every_version_of_every_record_survives_its_bytes(key: int, version: int) -> None:
    """A record of each kind and version, each field set, is read as it was written; fields of later versions are as usual."""
    schema = SCHEMAS[key]
    values = {field.name: some_value(field, version) for field in schema.fields if field.since <= version}
    record = schema.plain(**{**values, "schema_version": version})
    assert decode_fields(encode_fields(key, record)) == (key, record)
    usual = schema.plain(schema_version=version)
    assert decode_fields(encode_fields(key, usual)) == (key, usual)


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda value: str(value))
def test_a_cut_record_is_refused(key: int, version: int) -> None:
    """A record that ends anywhere too early, or that bytes follow, is refused as unreadable."""
    schema = SCHEMAS[key]
    values = {field.name: some_value(field, version) for field in schema.fields if field.since <= version}
    data = encode_fields(key, schema.plain(**{**values, "schema_version": version}))
    for size in range(len(data)):
        with pytest.raises(UnreadableRecord):
            decode_fields(data[:size])
    with pytest.raises(UnreadableRecord):
        decode_fields(data + b"\0")


def test_unknown_tags_are_kept() -> None:
    """A field whose tag no schema has is kept as bytes, and written again."""
    data = encode_fields(20, SCHEMAS[20].plain())[:-1] + varint(1) + varint(9) + varint(2) + b"ab"
    _, record = decode_fields(data)
    assert record.unknown_tags == ((9, b"ab"),)
    assert encode_fields(20, record) == data


def test_unknown_kinds_and_versions_are_refused() -> None:
    """A kind or a version that no release has is unreadable, and the error names both."""
    with pytest.raises(UnreadableRecord, match="record 99, version 0"):
        decode_fields(varint(1) + varint(99) + varint(0))
    with pytest.raises(UnreadableRecord, match="record 5, version 9"):
        decode_fields(varint(1) + varint(5) + varint(9))
