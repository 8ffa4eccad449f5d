"""The records of the metadata log as Kafka's bytes: a frame version, the record's key and version, its fields.

Numbers are big-endian; lengths, keys and versions are unsigned varints. A field with a tag is written after the others, and only
if its value is not the usual one. Unknown tags are skipped, as in Kafka.

Source: Kafka 3.9 MetadataRecordSerde.java (AbstractApiMessageSerde); KIP-482.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kafka_spec.impl.kraft.records import (
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
    UNCHANGED,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)

FRAME_VERSION = 1


class UnreadableRecord(ValueError):  # noqa: N818 - the name is the message
    """Bytes are not a record that is known here."""


class Reader:
    """Reads values one after the other from some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        """The bytes not read yet."""
        return len(self._data) - self._place

    def take(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            UnreadableRecord: there are fewer.
        """
        if not 0 <= size <= self.left:
            raise UnreadableRecord(f"{size} bytes are wanted at {self._place} of {len(self._data)}")
        self._place += size
        return self._data[self._place - size : self._place]

    def varint(self) -> int:
        """Return an unsigned varint."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise UnreadableRecord("a varint has more than five bytes")


def varint(value: int) -> bytes:
    """Return an unsigned varint."""
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


@dataclass(frozen=True)
class FieldCodec:
    """How values of one type are written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[Reader], Any]


def number(format_: str) -> FieldCodec:
    """Return the kind of a number of fixed size."""
    packed = struct.Struct(format_)
    return FieldCodec(packed.pack, lambda reader: packed.unpack(reader.take(packed.size))[0])


def _read_text(reader: Reader) -> str | None:
    size = reader.varint()
    return None if size == 0 else reader.take(size - 1).decode()


def _write_text(text: str | None) -> bytes:
    return varint(0) if text is None else varint(len(text.encode()) + 1) + text.encode()


def array(item: FieldCodec) -> FieldCodec:
    """Return the kind of a sequence; None is a value too."""

    def write(items: Sequence[Any] | None) -> bytes:
        return varint(0) if items is None else varint(len(items) + 1) + b"".join(map(item.write, items))

    def read(reader: Reader) -> tuple[Any, ...] | None:
        size = reader.varint()
        if size > reader.left + 1:
            raise UnreadableRecord(f"a sequence of {size - 1} items in {reader.left} bytes")
        return None if size == 0 else tuple(item.read(reader) for _ in range(size - 1))

    return FieldCodec(write, read)


INT8, INT16, UINT16, INT32, INT64, BOOL = (number(f">{letter}") for letter in "bhHiq?")
TEXT = FieldCodec(_write_text, _read_text)
ID = FieldCodec(lambda value: value.bytes, lambda reader: UUID(bytes=reader.take(16)))
BROKERS = array(INT32)
IDS = array(ID)


@dataclass(frozen=True)
class RecordField:
    """A field: its kind, the first version that has it, its tag if it has one, and its usual value then.

    Without a name the implementation has no such field: `usual` is written, and what is read is ignored.
    """

    name: str
    kind: FieldCodec
    since: int = 0
    tag: int | None = None
    usual: Any = None


def fields_of(*fields: RecordField) -> tuple[RecordField, ...]:
    """Return fields, those with tags last, in the order of their tags."""
    return tuple(sorted(fields, key=lambda field: -1 if field.tag is None else field.tag))


def write_fields(fields: Sequence[RecordField], value: Any, version: int) -> bytes:
    """Return the bytes of a record or a part of one, in a version."""
    plain = tagged = b""
    count = 0
    for field in fields:
        if version >= field.since:
            item = getattr(value, field.name) if field.name else field.usual
            if field.tag is None:
                plain += field.kind.write(item)
            elif item != field.usual:
                data = field.kind.write(item)
                tagged += varint(field.tag) + varint(len(data)) + data
                count += 1
    return plain + varint(count) + tagged


def read_fields(fields: Sequence[RecordField], reader: Reader, version: int) -> dict[str, Any]:
    """Return the values of the fields by their names."""
    known = [field for field in fields if version >= field.since]
    values = {field.name: field.kind.read(reader) if field.tag is None else field.usual for field in known}
    tags = {field.tag: field for field in known if field.tag is not None}
    for _ in range(reader.varint()):
        tag = reader.varint()
        data = Reader(reader.take(reader.varint()))
        if tag in tags:
            values[tags[tag].name] = tags[tag].kind.read(data)
    values.pop("", None)
    return values


def part(build: Callable[..., Any], *fields: RecordField) -> FieldCodec:
    """Return the kind of a part of a record, which has fields of its own."""
    return FieldCodec(lambda value: write_fields(fields, value, 0), lambda reader: build(**read_fields(fields, reader, 0)))


END_POINT = part(
    BrokerEndpoint,
    RecordField("name", TEXT),
    RecordField("host", TEXT),
    RecordField("port", UINT16),
    RecordField("security_protocol", INT16),
)
FEATURE = part(
    BrokerFeature,
    RecordField("name", TEXT),
    RecordField("min_supported_version", INT16),
    RecordField("max_supported_version", INT16),
)
FIELDS: dict[Callable[..., MetadataRecord], tuple[RecordField, ...]] = {
    RegisterBrokerRecord: fields_of(
        RecordField("broker_id", INT32),
        RecordField("", BOOL, since=2, usual=False),  # IsMigratingZkBroker
        RecordField("incarnation_id", ID),
        RecordField("broker_epoch", INT64),
        RecordField("end_points", array(END_POINT)),
        RecordField("features", array(FEATURE)),
        RecordField("rack", TEXT),
        RecordField("fenced", BOOL),
        RecordField("in_controlled_shutdown", BOOL, since=1),
    ),
    TopicRecord: fields_of(RecordField("name", TEXT), RecordField("topic_id", ID)),
    PartitionRecord: fields_of(
        RecordField("partition_id", INT32),
        RecordField("topic_id", ID),
        RecordField("replicas", BROKERS),
        RecordField("isr", BROKERS),
        RecordField("removing_replicas", BROKERS),
        RecordField("adding_replicas", BROKERS),
        RecordField("leader", INT32),
        RecordField("leader_recovery_state", INT8, tag=0, usual=0),
        RecordField("leader_epoch", INT32),
        RecordField("partition_epoch", INT32),
        RecordField("", IDS, since=1, usual=()),  # Directories
        RecordField("eligible_leader_replicas", BROKERS, since=2, tag=1),
        RecordField("last_known_elr", BROKERS, since=2, tag=2),
    ),
    ConfigRecord: fields_of(
        RecordField("resource_type", INT8),
        RecordField("resource_name", TEXT),
        RecordField("name", TEXT),
        RecordField("value", TEXT),
    ),
    PartitionChangeRecord: fields_of(
        RecordField("partition_id", INT32),
        RecordField("topic_id", ID),
        RecordField("isr", BROKERS, tag=0),
        RecordField("leader", INT32, tag=1, usual=NO_LEADER_CHANGE),
        RecordField("replicas", BROKERS, tag=2),
        RecordField("removing_replicas", BROKERS, tag=3),
        RecordField("adding_replicas", BROKERS, tag=4),
        RecordField("leader_recovery_state", INT8, tag=5, usual=NO_RECOVERY_CHANGE),
        RecordField("eligible_leader_replicas", BROKERS, since=2, tag=6),
        RecordField("last_known_elr", BROKERS, since=2, tag=7),
    ),
    RemoveTopicRecord: fields_of(RecordField("topic_id", ID)),
    FeatureLevelRecord: fields_of(RecordField("name", TEXT), RecordField("feature_level", INT16)),
    BrokerRegistrationChangeRecord: fields_of(
        RecordField("broker_id", INT32),
        RecordField("broker_epoch", INT64),
        RecordField("fenced", INT8, tag=0, usual=UNCHANGED),
        RecordField("in_controlled_shutdown", INT8, since=1, tag=1, usual=UNCHANGED),
    ),
}
"""The fields of each record; those without a tag in Kafka's order."""
BY_KEY = {record.key: record for record in FIELDS}  # type: ignore[attr-defined]
MOST_VERSION = {0: 3, 2: 0, 3: 2, 4: 0, 5: 2, 9: 0, 12: 0, 17: 2}
"""The newest version of each record that can be read; what it adds and is unknown here is skipped."""


def encode(record: MetadataRecord) -> bytes:
    """Return the bytes of a record."""
    fields = FIELDS[type(record)]
    return varint(FRAME_VERSION) + varint(record.key) + varint(record.version) + write_fields(fields, record, record.version)


def decode(data: bytes) -> MetadataRecord:
    """Return the record that some bytes hold.

    Raises:
        UnreadableRecord: they are not one record of a known kind and version.
    """
    reader = Reader(data)
    frame, key, version = reader.varint(), reader.varint(), reader.varint()
    if frame != FRAME_VERSION or key not in BY_KEY or version > MOST_VERSION[key]:
        raise UnreadableRecord(f"frame version {frame}, record {key}, version {version}")
    try:
        record = BY_KEY[key](**read_fields(FIELDS[BY_KEY[key]], reader, version))
    except UnicodeDecodeError as error:
        raise UnreadableRecord(str(error)) from None
    if reader.left:
        raise UnreadableRecord(f"{reader.left} bytes follow record {key}")
    return record
