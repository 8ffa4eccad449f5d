"""The records of the metadata log as Kafka's bytes: the implementation's dataclasses, by the schemas' readers and writers.

A field that the implementation does not have is written with its usual value, and ignored when it is read.

Source: Kafka 3.9 MetadataRecordSerde.java (AbstractApiMessageSerde); KIP-482.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

from kafka_spec.impl.kraft.record_decoders import UnreadableRecord, decode_fields, encode_fields
from kafka_spec.impl.kraft.record_schemas import SCHEMAS, SchemaField
from kafka_spec.impl.kraft.records import RECORDS, ControllerEndpoint, ControllerFeature, MetadataRecord
from kafka_spec.impl.protocol.kraft_requests import BrokerEndpoint, BrokerFeature

BY_KEY: Mapping[int, type[MetadataRecord]] = {record.key: record for record in RECORDS}
PARTS: Mapping[str, Any] = {part.__name__: part for part in (BrokerEndpoint, BrokerFeature, ControllerEndpoint, ControllerFeature)}
"""The dataclasses of parts of records."""


def fields_of(record: type[MetadataRecord], version: int) -> tuple[SchemaField, ...]:
    """Return the fields of a record's schema that the implementation has too, and that are in a version."""
    mine = {field.name for field in fields(record)}
    return tuple(field for field in SCHEMAS[record.key].fields if field.name in mine and version >= field.since)


def encode(record: MetadataRecord) -> bytes:
    """Return the bytes of a record."""
    schema = SCHEMAS[record.key]
    values = {field.name: _written(field, getattr(record, field.name)) for field in fields_of(type(record), record.version)}
    return encode_fields(record.key, schema.plain(**{**values, "schema_version": record.version}))


def decode(data: bytes) -> MetadataRecord:
    """Return the record that some bytes hold.

    Raises:
        UnreadableRecord: they are not one record of a kind that the implementation has, in a known version.
    """
    key, found = decode_fields(data)
    if key not in BY_KEY:
        raise UnreadableRecord(f"{SCHEMAS[key].name} is of no use to the implementation")
    values = {field.name: _read(field, getattr(found, field.name)) for field in fields_of(BY_KEY[key], found.schema_version)}
    return BY_KEY[key](**values)


def _written(field: SchemaField, value: Any) -> Any:
    if field.type == "[]uuid":
        return tuple(one.bytes for one in value) or field.usual
    return value.bytes if field.type == "uuid" else value


def _read(field: SchemaField, value: Any) -> Any:
    if field.type == "uuid":
        return UUID(bytes=value)
    if field.type == "[]uuid":
        return tuple(UUID(bytes=one) for one in value or ())
    if field.item in PARTS and value is not None:
        return tuple(PARTS[field.item](*(getattr(one, part.name) for part in field.fields)) for one in value)
    return value
