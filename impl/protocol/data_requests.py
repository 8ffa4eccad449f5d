"""The requests of followers and clients to a broker, about records and metadata, as data.

A follower's and a consumer's fetch are one request; a consumer is replica -1. An epoch of NO_EPOCH is unknown, and not compared.

Source: Kafka 2.8 FetchRequest, OffsetsForLeaderEpochRequest, ListOffsetsRequest, ProduceRequest, MetadataRequest,
ControlledShutdownRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, Leadership
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition

CONSUMER = -1
LATEST = -1
EARLIEST = -2
UNKNOWN_OFFSET = -1


@dataclass(frozen=True)
class FetchPosition:
    """The offset from which a partition is fetched, and the leader epoch of the fetcher.

    `last_fetched_epoch` is the leader epoch of the fetcher's last record; then the leader looks whether the logs diverge (KIP-595).
    """

    offset: int
    leader_epoch: int = NO_EPOCH
    max_bytes: int = 1 << 20
    last_fetched_epoch: int = NO_EPOCH


@dataclass(frozen=True)
class FetchRequest:
    """Fetch records. `broker_epoch` is the fetching broker's registration (KIP-903), NO_EPOCH for a consumer.

    `topic_ids` are the ids of the topics that the sender means, where it knows them (3.1, KIP-516).
    """

    replica: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, FetchPosition]
    max_wait_ms: int = 500
    min_bytes: int = 1
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fetched:
    """The result of a fetch of one partition: whole record batches, and the leader's high watermark and start offset.

    With `diverging` there are no records: it is the end in the leader's log of the last fetched epoch, and the fetcher truncates.
    """

    error: ErrorCode
    high_watermark: int = UNKNOWN_OFFSET
    start_offset: int = UNKNOWN_OFFSET
    records: bytes = b""
    diverging: EpochEnd | None = None


@dataclass(frozen=True)
class EpochPosition:
    """The leader epoch whose end is requested; `current_epoch` is the sender's."""

    current_epoch: int
    leader_epoch: int


@dataclass(frozen=True)
class OffsetsForLeaderEpochRequest:
    """Ask a leader where leader epochs end in its log (KIP-101, KIP-279)."""

    replica: int
    partitions: Mapping[TopicPartition, EpochPosition]


@dataclass(frozen=True)
class EpochEnd:
    """The largest leader epoch up to the requested one, and its end offset; NO_EPOCH and UNKNOWN_OFFSET if there is none."""

    error: ErrorCode
    leader_epoch: int = NO_EPOCH
    end_offset: int = UNKNOWN_OFFSET


@dataclass(frozen=True)
class OffsetQuery:
    """The requested offset: LATEST, EARLIEST, or that of the first record with this timestamp or a later one."""

    timestamp: int
    current_epoch: int = NO_EPOCH


@dataclass(frozen=True)
class ListOffsetsRequest:
    """Ask a leader for offsets; the latest is its log's end for a follower, and the high watermark for a consumer."""

    replica: int
    partitions: Mapping[TopicPartition, OffsetQuery]


@dataclass(frozen=True)
class ListedOffset:
    """The requested offset and its leader epoch; UNKNOWN_OFFSET and NO_EPOCH if there is none."""

    error: ErrorCode
    offset: int = UNKNOWN_OFFSET
    leader_epoch: int = NO_EPOCH


@dataclass(frozen=True)
class ProduceRequest:
    """Append record batches. `acks` is 0, 1, or -1 for all of the ISR; times are in milliseconds.

    `topic_ids` names topics by their ids too; a topic that is not in it is meant by its name (before Produce v13: 4.1, KIP-516).
    """

    acks: int
    partitions: Mapping[TopicPartition, bytes]
    timeout_ms: int = 30_000
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Produced:
    """The result for the batches of a partition: an error code, and the offset of the first record."""

    error: ErrorCode
    base_offset: int = UNKNOWN_OFFSET


@dataclass(frozen=True)
class MetadataRequest:
    """Request the metadata of topics, of all if none are named; missing ones are created if sender and broker permit it."""

    topics: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool = True


@dataclass(frozen=True)
class PartitionMetadata:
    """The cached metadata of a partition; LEADER_NOT_AVAILABLE if its leader is not alive."""

    error: ErrorCode
    leadership: Leadership
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True)
class Metadata:
    """Brokers and partitions in a broker's cache; `errors` maps topics without metadata to the error."""

    brokers: tuple[BrokerRegistration, ...]
    controller: int
    partitions: Mapping[TopicPartition, PartitionMetadata]
    errors: Mapping[str, ErrorCode]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ControlledShutdownRequest:
    """Ask the controller to move leadership away from a broker that wants to stop."""

    broker: int
    broker_epoch: int


@dataclass(frozen=True)
class ControlledShutdownResponse:
    """The result of a controlled shutdown: an error, or the partitions that the broker still leads."""

    error: ErrorCode
    remaining: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True)
class AlterIsrRequest:
    """Ask the controller to change ISRs of partitions that the broker leads (KIP-497).

    Each proposal names the leader epoch and the version of the state znode that the broker knows. `topic_ids` are the ids of the
    topics, where the sender knows them.
    """

    broker: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, Leadership]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class InitProducerIdRequest:
    """Ask for the id of an idempotent producer; one with a transactional id asks its coordinator (KIP-98)."""

    transactional_id: str | None = None


@dataclass(frozen=True)
class AllocateProducerIdsRequest:
    """Ask the controller for a block of ids of producers (KIP-730, since 3.0)."""

    broker: int
    broker_epoch: int


@dataclass(frozen=True)
class ElectLeadersRequest:
    """Request preferred leader elections, of all partitions if none is named, or `unclean` ones (KIP-460)."""

    partitions: tuple[TopicPartition, ...] | None = None
    unclean: bool = False


@dataclass(frozen=True)
class PartitionTarget:
    """The replicas that a partition is to have; `target` is None to cancel what runs."""

    partition: TopicPartition
    target: tuple[int, ...] | None


@dataclass(frozen=True)
class AlterPartitionReassignmentsRequest:
    """Ask the controller to reassign partitions, or to cancel that (KIP-455); the replication factor may have to stay (KIP-860)."""

    targets: tuple[PartitionTarget, ...]
    allow_factor_change: bool = True


@dataclass(frozen=True)
class ListPartitionReassignmentsRequest:
    """Ask the controller which reassignments run, of these partitions or of all (KIP-455)."""

    partitions: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True)
class RunningReassignment:
    """The replicas of a partition that is being reassigned, and which of them are added and removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


DataRequest: TypeAlias = (
    FetchRequest
    | OffsetsForLeaderEpochRequest
    | ListOffsetsRequest
    | ProduceRequest
    | MetadataRequest
    | ControlledShutdownRequest
    | AlterIsrRequest
    | InitProducerIdRequest
    | AllocateProducerIdsRequest
    | ElectLeadersRequest
    | AlterPartitionReassignmentsRequest
    | ListPartitionReassignmentsRequest
)
