"""Log directories: in which of its broker's directories each replica lies (KIP-858). Nothing is written here.

Source: Kafka 4.4 DirectoryId.java, ClusterControlManager.defaultDir, PartitionChangeBuilder.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from kafka_spec.impl.kraft.image import MIGRATING, UNASSIGNED, ClusterImage, RegisteredPartition
from kafka_spec.impl.kraft.records import PartitionChangeRecord
from kafka_spec.impl.protocol.topic_partition import TopicPartition

METADATA_VERSION = "metadata.version"
DIRECTORIES_FROM = 17
"""The metadata.version 3.7-IV2, from which partitions have directories."""


def two_directories(broker: int) -> tuple[UUID, UUID]:
    """Return ids for the log directories of a simulated broker: the one of its replicas, and another."""
    return UUID(int=(broker + 1) << 64), UUID(int=(broker + 1) << 96)


def new_directory(image: ClusterImage, broker: int) -> UUID:
    """Return the directory that a new replica gets: the broker's only one, or none yet (ClusterControlManager.defaultDir)."""
    if broker not in image.brokers:
        return UNASSIGNED
    known = image.brokers[broker].log_dirs
    if not known:
        return MIGRATING
    return known[0] if len(known) == 1 else UNASSIGNED


def directories_of(image: ClusterImage, replicas: Iterable[int], held: RegisteredPartition | None = None) -> tuple[UUID, ...]:
    """Return the directories of these replicas of a partition, in their order: those of replicas that it has already are kept.

    Below metadata.version 3.7-IV2 there are none.
    """
    if image.features.get(METADATA_VERSION, 0) < DIRECTORIES_FROM:
        return ()
    kept = {} if held is None else dict(zip(held.replicas, held.directories, strict=False))
    return tuple(kept[broker] if broker in kept else new_directory(image, broker) for broker in replicas)


def moved_replica(
    name: TopicPartition, held: RegisteredPartition, broker: int, directory: UUID, change: list[PartitionChangeRecord]
) -> list[PartitionChangeRecord]:
    """Return the change of a partition whose replica lies in another directory than is known; without that, the change alone."""
    place = held.replicas.index(broker)
    known = held.directories or tuple(MIGRATING for _ in held.replicas)
    if known[place] == directory:
        return change
    placed = (*known[:place], directory, *known[place + 1 :])
    return [replace(one, directories=placed) for one in change or [PartitionChangeRecord(name.partition, held.topic_id)]]
