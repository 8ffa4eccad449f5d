"""Record batches in Kafka's format v2, in all eras: built and taken apart by aiokafka, stamped and looked at here.

A producer's batch counts its offsets from 0 and has no leader epoch. The leader stamps both into the header, which the checksum
leaves out; whoever stores the batch later keeps its bytes.

Source: Kafka 2.8 DefaultRecordBatch.java.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, first and largest timestamp, producer id and
epoch, base sequence, number of records."""
BEFORE_LENGTH_COUNTS = 12
"""Bytes of a batch that its length leaves out."""
MAGIC = 2
LARGEST = 2**31 - 1
NO_PRODUCER = -1


class Corrupt(ValueError):  # noqa: N818 - says what is wrong
    """Bytes that should be record batches are none."""


@dataclass(frozen=True)
class LogRecord:
    """One record, with its offset; `timestamp` in milliseconds since 1970."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Batch:
    """What the header of a batch says: offsets of its first and last record, leader epoch, largest timestamp, size in bytes."""

    base: int
    last: int
    epoch: int
    timestamp: int
    size: int


def build(records: Iterable[tuple[int, bytes | None, bytes | None]]) -> bytearray:
    """Return a producer's batch of (timestamp, key, value).

    Raises:
        ValueError: there is no record.
    """
    builder = DefaultRecordBatchBuilder(MAGIC, 0, 0, NO_PRODUCER, NO_PRODUCER, NO_PRODUCER, LARGEST)
    count = 0
    for timestamp, key, value in records:
        builder.append(count, timestamp, key, value, [])
        count += 1
    if count == 0:
        raise ValueError("a batch without records cannot be stored")
    return bytearray(builder.build())


def stamp(batch: bytearray, base: int, epoch: int) -> None:
    """Give a batch its first offset and the leader epoch it is appended in."""
    struct.pack_into(">q", batch, 0, base)
    struct.pack_into(">i", batch, BEFORE_LENGTH_COUNTS, epoch)


def look(header: bytes) -> Batch | None:
    """Return what the header of a batch says, None if there is none; the checksum is not looked at."""
    if len(header) < HEADER.size:
        return None
    base, length, epoch, magic, _, _, delta, _, timestamp, *_ = HEADER.unpack_from(header)
    if magic != MAGIC or base < 0 or delta < 0 or length < HEADER.size - BEFORE_LENGTH_COUNTS:
        return None
    return Batch(base, base + delta, epoch, timestamp, length + BEFORE_LENGTH_COUNTS)


def is_sound(batch: bytes) -> bool:
    """Whether the checksum of a whole batch holds."""
    return bool(DefaultRecordBatch(batch).validate_crc())


def split(data: bytes) -> Iterator[tuple[Batch, bytes]]:
    """Yield each batch of some bytes, with its header taken apart.

    Raises:
        Corrupt: there is something that is no whole and sound batch.
    """
    position = 0
    while position < len(data):
        batch = look(data[position : position + HEADER.size])
        if batch is None or position + batch.size > len(data) or not is_sound(data[position : position + batch.size]):
            raise Corrupt(f"no whole and sound record batch at byte {position} of {len(data)}")
        yield batch, data[position : position + batch.size]
        position += batch.size


def records(data: bytes, start: int = 0) -> Iterator[LogRecord]:
    """Yield the records of some batches from an offset on.

    Raises:
        Corrupt: as of `split`.
    """
    for _, batch in split(data):
        for record in DefaultRecordBatch(batch):
            if record.offset >= start:
                yield LogRecord(record.offset, record.timestamp, record.key, record.value)
