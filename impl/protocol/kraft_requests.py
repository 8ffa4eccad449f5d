"""The requests of brokers to the controller, and its answers, as data.

Source: Kafka 3.9 BrokerRegistrationRequest, BrokerHeartbeatRequest, AlterPartitionRequest, ElectLeadersRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.language.domain import BrokerSet


@dataclass(frozen=True)
class BrokerEndpoint:
    """An address on which a broker listens."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True)
class BrokerFeature:
    """The levels of a feature that a broker supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


@dataclass(frozen=True)
class BrokerRegistrationRequest:
    """Register a process. `previous_epoch` is the broker epoch of the file that an orderly stop leaves, -1 without one."""

    broker: int
    incarnation: UUID
    previous_epoch: int = NO_EPOCH
    cluster_id: str | None = None
    """The cluster that it belongs to, None if it does not say."""
    end_points: tuple[BrokerEndpoint, ...] = ()
    features: tuple[BrokerFeature, ...] = ()
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()


@dataclass(frozen=True)
class BrokerRegistrationResponse:
    """The broker epoch, or an error: the session of the process before has not ended."""

    error: ErrorCode
    broker_epoch: int = NO_EPOCH


@dataclass(frozen=True)
class BrokerHeartbeatRequest:
    """A broker lives, and has applied the metadata log up to `metadata_end`; it may want to be fenced, or to shut down.

    `offline_log_dirs` are those of its log directories that have failed since it started.
    """

    broker: int
    broker_epoch: int
    metadata_end: int
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: tuple[UUID, ...] = ()


@dataclass(frozen=True)
class BrokerHeartbeatResponse:
    """The controller's view of the broker after the heartbeat."""

    error: ErrorCode
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass(frozen=True)
class ProposedIsr:
    """An ISR that a leader proposes: each member with the broker epoch of its last fetch, -1 if the leader knows none."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[tuple[int, int], ...]
    topic_id: str | None = None
    """The topic, None in a request that has its name alone."""
    recovery: int = 0
    """The recovery state that it proposes (`RecoveryState`)."""
    min_isr: int | None = None
    """min.insync.replicas of the leader; None in a request that does not name it, as no version of Kafka does."""

    @property
    def isr(self) -> tuple[int, ...]:
        """The members without their epochs."""
        return tuple(broker for broker, _ in self.members)


@dataclass(frozen=True)
class ProposalRequest:
    """A leader's proposals, at most one for each partition."""

    broker: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, ProposedIsr]


@dataclass(frozen=True)
class ProposalAnswer:
    """An error for the request as a whole, or an answer for each partition."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, AlteredPartition] = field(default_factory=dict)

    def answer_for(self, partition: TopicPartition) -> AlteredPartition | None:
        """Return the answer to the proposal of a partition, None if it lacks one."""
        return self.partitions.get(partition) if self.error == ErrorCode.NONE else AlteredPartition(self.error)


@dataclass(frozen=True)
class AssignReplicasToDirsRequest:
    """In which of its log directories the replicas of a broker lie (KIP-858), by topic id and number of the partition."""

    broker: int
    broker_epoch: int
    directories: Mapping[tuple[UUID, int], UUID]


@dataclass(frozen=True)
class AssignReplicasToDirsResponse:
    """An error for the request as a whole, or a code for each replica."""

    error: ErrorCode
    replicas: Mapping[tuple[UUID, int], ErrorCode] = field(default_factory=dict)


def members_of(proposed: ProposedIsr) -> BrokerSet:
    """Return the proposed ISR as a set."""
    return BrokerSet.of(proposed.isr)
