"""Topic ids (KIP-516): two topics of one name, one after the other, have different ones.

They are texts here, as in ZooKeeper. Some requests name a topic by its id alone; until the receiver has found the name, such a
topic is called `?ID`, which is not a legal name.

Source: Kafka 2.8 Uuid.java, PartitionMetadataFile.scala.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from typing import TypeVar

from kafka_spec.impl.protocol.topic_partition import TopicPartition

Value = TypeVar("Value")
MARK = "?"


def text_of(topic_id: uuid.UUID) -> str:
    """Return an id as Kafka writes it."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def uuid_of(text: str) -> uuid.UUID:
    """Return the id that a text says.

    Raises:
        ValueError: it says none.
    """
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def nameless(topic_id: str) -> str:
    """Return what a topic is called of which only the id is known."""
    return MARK + topic_id


def id_of_nameless(topic: str) -> str | None:
    """Return the id of a topic of which only the id is known, else None."""
    return topic.removeprefix(MARK) if topic.startswith(MARK) else None


def names_found(partitions: Mapping[TopicPartition, Value], ids: Mapping[str, str]) -> dict[TopicPartition, TopicPartition]:
    """Return each partition with its name, as far as that can be found; `ids` are the known ids by name."""
    names = {topic_id: name for name, topic_id in ids.items()}
    return {p: TopicPartition(names.get(id_of_nameless(p.topic) or "", p.topic), p.partition) for p in partitions}
