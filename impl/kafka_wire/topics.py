"""What the codecs share: partitions by topic, error codes, whole record batches."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from kafka_spec.impl.kafka_wire.entities import NIL
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_ids import id_of_nameless, nameless, text_of, uuid_of
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


def by_topic_and_id(
    states: Mapping[TopicPartition, Value], ids: Mapping[str, str], name: str, partitions: str
) -> list[dict[str, Any]]:
    """Return each topic with its id and what belongs to its partitions, under the names of these fields.

    A version of a request has the name, the id, or both. A topic of which only the id is known has that.
    """
    return [
        {name: topic, "topic_id": id_on_wire(id_of_nameless(topic) or ids.get(topic)), partitions: of_topic}
        for topic, of_topic in by_topic(states)
    ]


def id_on_wire(topic_id: str | None) -> uuid.UUID | None:
    """Return an id as the codecs have it; None is the id of no topic."""
    return None if topic_id is None else uuid_of(topic_id)


def topic_of(entity: Any, field: str) -> str:
    """Return the name of a topic, from the field of that name; one that has only an id is called by it (topic_ids.py)."""
    name = getattr(entity, field, None)
    return nameless(text_of(entity.topic_id or NIL)) if name is None else str(name)


def ids_of(topics: Iterable[Any], field: str) -> dict[str, str]:
    """Return the ids of the topics that have both a name and an id."""
    return {
        str(getattr(topic, field)): text_of(topic.topic_id)
        for topic in topics
        if getattr(topic, field, None) is not None and getattr(topic, "topic_id", None) is not None
    }


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
