"""What a controller sends to brokers: Kafka's three requests, as data.

Source: Kafka 2.8 LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.language.domain import BrokerSet

NO_LEADER = -1
NO_EPOCH = -1


@dataclass(frozen=True)
class Leadership:
    """Leader and ISR of a partition, with the version of its state znode and the controller epoch that wrote it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int
    controller_epoch: int

    @property
    def members(self) -> BrokerSet:
        """The ISR as a set."""
        return BrokerSet.of(self.isr)


@dataclass(frozen=True)
class LeaderAndIsrState:
    """The part of a LeaderAndIsr for one partition; a reassignment is `adding` and `removing` some of its replicas (2.4)."""

    leadership: Leadership
    replicas: tuple[int, ...]
    is_new: bool
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True)
class UpdateMetadataState:
    """The part of an UpdateMetadata for one partition."""

    leadership: Leadership
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True)
class StopReplicaState:
    """The part of a StopReplica for one partition; `leader_epoch` is NO_EPOCH where the controller knows none."""

    leader_epoch: int
    delete: bool


@dataclass(frozen=True)
class LeaderAndIsrRequest:
    """Lead or follow these partitions; `live_leaders` are the brokers that lead them, `topic_ids` the ids of their topics."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, LeaderAndIsrState]
    live_leaders: tuple[BrokerRegistration, ...]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UpdateMetadataRequest:
    """Cache these live brokers, the leadership of these partitions, and the ids of their topics."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, UpdateMetadataState]
    live_brokers: tuple[BrokerRegistration, ...]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StopReplicaRequest:
    """Stop the replicas of these partitions; in no version does it have topic ids."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, StopReplicaState]


Request: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
