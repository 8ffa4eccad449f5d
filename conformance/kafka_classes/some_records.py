"""Random records of the metadata log, of all kinds, with values at the edges of their types."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from kafka_spec.impl.kraft.records import (
    RECORDS,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_spec.impl.protocol.kraft_requests import BrokerEndpoint, BrokerFeature


def some_brokers(random: Random) -> tuple[int, ...]:
    """Return a few broker ids."""
    return tuple(random.choice((0, 1, 2, 300, (1 << 31) - 1)) for _ in range(random.randrange(5)))


def some_record(random: Random, kinds: Sequence[type[MetadataRecord]] = RECORDS) -> MetadataRecord:
    """Return a record of any of these kinds."""
    topic_id = UUID(int=random.getrandbits(128))
    word = random.choice(("", "a", "orders", "é" * 70, "x" * 300))
    small, large = random.randrange(1 << 7), random.choice((0, 1, (1 << 31) - 1))
    epoch = random.choice((0, 1, (1 << 63) - 1))
    flags = [random.random() < 0.5 for _ in range(2)]
    folders = tuple(UUID(int=random.getrandbits(128)) for _ in range(random.randrange(4)))
    match random.choice(kinds).__name__:
        case "RegisterBrokerRecord":
            points = tuple(BrokerEndpoint(word, f"host{n}", 65_535 - n, n) for n in range(random.randrange(3)))
            features = tuple(BrokerFeature(word, 0, small) for _ in range(random.randrange(3)))
            rack = random.choice((None, word))
            return RegisterBrokerRecord(large, topic_id, epoch, points, features, rack, flags[0], flags[1], folders)
        case "RegisterControllerRecord":
            listeners = tuple(ControllerEndpoint(word, f"host{n}", 65_535 - n, n) for n in range(random.randrange(3)))
            levels = tuple(ControllerFeature(word, 0, small) for _ in range(random.randrange(3)))
            return RegisterControllerRecord(large, topic_id, listeners, levels, flags[0])
        case "ProducerIdsRecord":
            return ProducerIdsRecord(large, epoch, small)
        case "TopicRecord":
            return TopicRecord(word, topic_id)
        case "PartitionRecord" | "PartitionChangeRecord" as kind:
            return some_partition_record(kind, random, topic_id, folders)
        case "ConfigRecord":
            return ConfigRecord(small, word, "min.insync.replicas", random.choice((None, word)))
        case "RemoveTopicRecord":
            return RemoveTopicRecord(topic_id)
        case "ClearElrRecord":
            return ClearElrRecord(word)
        case "FeatureLevelRecord":
            return FeatureLevelRecord(word, small)
        case _:
            return BrokerRegistrationChangeRecord(large, epoch, random.choice((-1, 0, 1)), int(flags[0]))


def some_partition_record(kind: str, random: Random, topic_id: UUID, folders: tuple[UUID, ...]) -> MetadataRecord:
    """Return a record about a partition."""
    small, large = random.randrange(1 << 7), random.choice((0, 1, (1 << 31) - 1))
    brokers: Any = [some_brokers(random) for _ in range(4)]
    named: Any = {name: random.choice((None, some_brokers(random))) for name in ("eligible_leader_replicas", "last_known_elr")}
    named["directories"] = folders
    if kind == "PartitionRecord":
        replicas, isr, removing, adding = brokers
        return PartitionRecord(small, topic_id, replicas, isr, -1, large, small, removing, adding, random.randrange(2), **named)
    isr, replicas, removing, adding = (random.choice((None, one)) for one in brokers)
    leader, recovery = random.choice((-2, -1, large)), random.choice((-1, 0, 1))
    return PartitionChangeRecord(small, topic_id, isr, leader, replicas, removing, adding, recovery, **named)
