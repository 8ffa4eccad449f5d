"""What the codecs share: partitions by topic, error codes, whole record batches."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import TypeVar

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Value = TypeVar("Value")
BATCH_HEAD = struct.Struct(">qi")
"""The first offset of a batch, and the number of bytes after these two fields."""


def by_topic(states: Mapping[TopicPartition, Value]) -> Iterator[tuple[str, list[Value]]]:
    """Yield each topic with what belongs to its partitions, in the order of the mapping."""
    topics: dict[str, list[Value]] = {}
    for partition, state in states.items():
        topics.setdefault(partition.topic, []).append(state)
    yield from topics.items()


def code_of(number: int) -> ErrorCode:
    """Return an error code; one that this project does not know is UNKNOWN_SERVER_ERROR."""
    try:
        return ErrorCode(int(number))
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def whole_batches(records: bytes) -> bytes:
    """Return records without an incomplete batch at their end: a leader cuts them where a fetch has enough."""
    end = 0
    while end + BATCH_HEAD.size <= len(records):
        _, length = BATCH_HEAD.unpack_from(records, end)
        if length < 0 or end + BATCH_HEAD.size + length > len(records):
            break
        end += BATCH_HEAD.size + length
    return records[:end]
