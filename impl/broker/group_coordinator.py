"""The coordinator of consumer groups, as far as a broker's replicas concern it: which partitions it serves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.topic_partition import TopicPartition

GROUP_METADATA_TOPIC = "__consumer_offsets"


class GroupCoordinator(Protocol):
    """The coordinator of the groups in the partitions of __consumer_offsets that this broker leads; called after role changes."""

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Load the groups of a partition: this broker leads it, and did not before."""

    def on_resignation(self, partition: int, leader_epoch: int) -> None:
        """Unload the groups of a partition: this broker follows, or its replica was deleted, then without an epoch."""


def tell_coordinator(
    coordinator: GroupCoordinator | None,
    partitions: Mapping[TopicPartition, HostedPartition],
    elected: Iterable[TopicPartition],
    resigned: Iterable[TopicPartition],
) -> None:
    """Report the partitions that the broker leads now, and those that it does not lead any more."""
    if coordinator is None:
        return
    for partition in elected:
        if partition.topic == GROUP_METADATA_TOPIC:
            coordinator.on_election(partition.partition, partitions[partition].leader_epoch)
    for partition in resigned:
        if partition.topic == GROUP_METADATA_TOPIC:
            hosted = partitions.get(partition)
            coordinator.on_resignation(partition.partition, NO_EPOCH if hosted is None else hosted.leader_epoch)
