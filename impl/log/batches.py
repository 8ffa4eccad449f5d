"""Record batches in Kafka's format v2, in all eras: aiokafka encodes and decodes records, this module reads and stamps headers.

A producer's batch has offsets from 0 and no leader epoch. The leader stamps both into the header, in fields that the checksum does
not cover; followers store the batch byte for byte.

Source: Kafka 2.8 DefaultRecordBatch.java.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, first and largest timestamp, producer id and
epoch, base sequence, number of records."""
BEFORE_LENGTH_COUNTS = 12
"""The bytes of a batch before the part that its length field counts."""
ATTRIBUTES, ATTRIBUTES_AT = struct.Struct(">h"), 21
CHECKSUM, CHECKSUM_AT = struct.Struct(">I"), 17
CONTROL = 0x20
"""The attribute of a batch of control records."""
MAGIC = 2
LARGEST = 2**31 - 1
NO_PRODUCER = -1


class Corrupt(ValueError):  # noqa: N818 - the name is the message
    """Bytes are not record batches."""


@dataclass(frozen=True)
class LogRecord:
    """One record, with its offset; `timestamp` in milliseconds since 1970."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Batch:
    """The header of a batch: offsets of its first and last record, leader epoch, largest timestamp, size in bytes.

    An idempotent producer has an id and an epoch, and numbers its records in `sequence`; of others they are NO_PRODUCER.
    """

    base: int
    last: int
    epoch: int
    timestamp: int
    size: int
    producer: int = NO_PRODUCER
    producer_epoch: int = NO_PRODUCER
    sequence: int = NO_PRODUCER

    @property
    def last_sequence(self) -> int:
        """The number of the last record; after the largest one comes 0 (DefaultRecordBatch.incrementSequence)."""
        return (self.sequence + self.last - self.base) % (LARGEST + 1)


def checksum_of(part: bytes) -> int:
    """Return the CRC-32C of the part of a batch that its checksum covers."""
    return int(calc_crc32c(part))


def build(records: Iterable[tuple[int, bytes | None, bytes | None]], attributes: int = 0) -> bytearray:
    """Return a producer's batch of (timestamp, key, value); with the attribute CONTROL, one of control records.

    Raises:
        ValueError: there are no records.
    """
    builder = DefaultRecordBatchBuilder(MAGIC, 0, 0, NO_PRODUCER, NO_PRODUCER, NO_PRODUCER, LARGEST)
    count = 0
    for timestamp, key, value in records:
        builder.append(count, timestamp, key, value, [])
        count += 1
    if count == 0:
        raise ValueError("a batch without records cannot be stored")
    batch = bytearray(builder.build())
    if attributes:
        ATTRIBUTES.pack_into(batch, ATTRIBUTES_AT, attributes)
        CHECKSUM.pack_into(batch, CHECKSUM_AT, checksum_of(bytes(batch[ATTRIBUTES_AT:])))
    return batch


def is_control(batch: bytes) -> bool:
    """Whether a batch is one of control records."""
    (attributes,) = ATTRIBUTES.unpack_from(batch, ATTRIBUTES_AT)
    return bool(attributes & CONTROL)


def stamp(batch: bytearray, base: int, epoch: int) -> None:
    """Write the first offset and the leader epoch into a batch's header."""
    struct.pack_into(">q", batch, 0, base)
    struct.pack_into(">i", batch, BEFORE_LENGTH_COUNTS, epoch)


def look(header: bytes) -> Batch | None:
    """Return the header of a batch, None if the bytes are not one; the checksum is not checked."""
    if len(header) < HEADER.size:
        return None
    base, length, epoch, magic, _, _, delta, _, timestamp, producer, producer_epoch, sequence, _ = HEADER.unpack_from(header)
    if magic != MAGIC or base < 0 or delta < 0 or length < HEADER.size - BEFORE_LENGTH_COUNTS:
        return None
    return Batch(base, base + delta, epoch, timestamp, length + BEFORE_LENGTH_COUNTS, producer, producer_epoch, sequence)


def is_sound(batch: bytes) -> bool:
    """Whether the checksum of a complete batch is right."""
    return bool(DefaultRecordBatch(batch).validate_crc())


def unpacked(batch: bytes) -> Any:
    """Return the records of one batch, each with offset, timestamp, key and value, decompressed; nothing is checked."""
    return DefaultRecordBatch(batch)


def split(data: bytes) -> Iterator[tuple[Batch, bytes]]:
    """Yield each batch of some bytes with its decoded header.

    Raises:
        Corrupt: a part is not a complete, valid batch.
    """
    position = 0
    while position < len(data):
        batch = look(data[position : position + HEADER.size])
        if batch is None or position + batch.size > len(data) or not is_sound(data[position : position + batch.size]):
            raise Corrupt(f"no complete, valid record batch at byte {position} of {len(data)}")
        yield batch, data[position : position + batch.size]
        position += batch.size


def records(data: bytes, start: int = 0) -> Iterator[LogRecord]:
    """Yield the records of batches from an offset on.

    Raises:
        Corrupt: see `split`.
    """
    for _, batch in split(data):
        for record in DefaultRecordBatch(batch):
            if record.offset >= start:
                yield LogRecord(record.offset, record.timestamp, record.key, record.value)
