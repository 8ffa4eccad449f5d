"""The text of `kafka-dump-log --cluster-metadata-decoder`, read as batches of the metadata log.

Source: Kafka 3.9 and 4.1 DumpLogSegments.scala.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.conformance.metadata.batches import LogBatch, MetadataEntry
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord
from kafka_spec.impl.kraft.record_schemas import CONTROL, NEVER, SCHEMAS, Schema, SchemaField, snake

HEADLINE = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: \d+ .*partitionLeaderEpoch: (-?\d+) .*isControl: (\w+) .*?CreateTime: (-?\d+)"
)
RECORD = re.compile(r"\| offset: (\d+) .*? payload: (\{.*)")
CONTROL_RECORD = re.compile(r"\| offset: (\d+) .*? (LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? (\{.*)")
CONTROL_TYPES = {"LeaderChange": 2, "SnapshotHeader": 3, "SnapshotFooter": 4, "KRaftVersion": 5, "KRaftVoters": 6}
TYPES: Mapping[str, int] = {snake(schema.name).upper(): key for key, schema in SCHEMAS.items()}
"""The keys of records by the names of their types in JSON."""


def _value(type_: str, field: SchemaField, value: Any) -> Any:
    if type_ == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if type_ == "bytes":
        return base64.b64decode(value)
    if field.fields:
        part = Schema(type_, -1, NEVER, field.fields)
        return part.record(0, *fields_of(field.fields, value), ())
    return value


def fields_of(fields: Sequence[SchemaField], data: Mapping[str, Any]) -> list[Any]:
    """Return the values of fields from their JSON; what it lacks is as usual."""
    found = []
    for field in fields:
        value = data.get(field.json_name, field.usual)
        if value is not None and field.json_name in data:
            value = tuple(_value(field.item, field, one) for one in value) if field.is_array else _value(field.type, field, value)
        found.append(value)
    return found


def _entry(offset: int, text: str) -> MetadataEntry:
    reported = json.loads(text)
    key = TYPES[reported["type"]]
    return MetadataEntry(
        offset, key, SCHEMAS[key].record(reported["version"], *fields_of(SCHEMAS[key].fields, reported["data"]), ())
    )


def _control_entry(offset: int, name: str, text: str) -> MetadataEntry:
    kind = CONTROL_TYPES[name]
    reported = json.loads(text)
    return MetadataEntry(
        offset, kind, CONTROL[kind].record(reported.get("version", 0), *fields_of(CONTROL[kind].fields, reported), ())
    )


def batches_of_text(lines: Iterable[str]) -> Iterator[LogBatch]:
    """Yield the batches of a dump; the place of a batch is the number of its line.

    Raises:
        UnreadableRecord: a line's record is of an unknown kind, or is broken.
    """
    batch: LogBatch | None = None
    for number, line in enumerate(lines, 1):
        if head := HEADLINE.match(line):
            if batch is not None:
                yield batch
            base, last, epoch, control, time = head.groups()
            batch = LogBatch(number, int(base), int(last), int(epoch), int(time), control == "true")
        elif batch is not None and line.startswith("|"):
            try:
                if found := RECORD.match(line):
                    batch.given += (_entry(int(found[1]), found[2]),)
                elif found := CONTROL_RECORD.match(line):
                    batch.given += (_control_entry(int(found[1]), found[2], found[3]),)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise UnreadableRecord(f"line {number}: {type(error).__name__} {error}") from None
    if batch is not None:
        yield batch
