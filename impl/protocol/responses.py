"""A broker's answers to followers, clients and controllers, as data.

Source: Kafka 2.8 ProduceResponse, FetchResponse, OffsetsForLeaderEpochResponse, ListOffsetsResponse, ElectLeadersResponse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, Leadership
from kafka_spec.impl.protocol.data_requests import (
    ControlledShutdownResponse,
    EpochEnd,
    Fetched,
    ListedOffset,
    Metadata,
    Produced,
    RunningReassignment,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.reassignment import PartitionAssignment


@dataclass(frozen=True)
class ControllerResponse:
    """A broker's answer to a controller: an error for the whole request, or a code for each partition."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)


@dataclass(frozen=True)
class ProduceResponse:
    """The result for each partition's batches."""

    partitions: Mapping[TopicPartition, Produced]


@dataclass(frozen=True)
class FetchResponse:
    """The result of a fetch for each partition."""

    partitions: Mapping[TopicPartition, Fetched]


@dataclass(frozen=True)
class OffsetsForLeaderEpochResponse:
    """The end offset of the requested leader epoch for each partition."""

    partitions: Mapping[TopicPartition, EpochEnd]


@dataclass(frozen=True)
class ListOffsetsResponse:
    """The requested offset for each partition."""

    partitions: Mapping[TopicPartition, ListedOffset]


@dataclass(frozen=True)
class AlterIsrResponse:
    """An error, or for each partition an error or what is in ZooKeeper now."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, ErrorCode | Leadership]


@dataclass(frozen=True)
class AlteredPartition:
    """The answer to one proposal: an error, or the partition as it is now."""

    error: ErrorCode
    leader_epoch: int = NO_EPOCH
    partition_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()


@dataclass(frozen=True)
class InitProducerIdResponse:
    """An error, or the id and the epoch of an idempotent producer."""

    error: ErrorCode
    producer: int = -1
    epoch: int = -1


@dataclass(frozen=True)
class AllocateProducerIdsResponse:
    """An error, or the first id of a block and the number of its ids."""

    error: ErrorCode
    start: int = 0
    count: int = 0


@dataclass(frozen=True)
class ElectLeadersResponse:
    """The error code of each partition's election."""

    partitions: Mapping[TopicPartition, ErrorCode]


@dataclass(frozen=True)
class AlterPartitionReassignmentsResponse:
    """The error code of each partition's reassignment."""

    partitions: Mapping[TopicPartition, ErrorCode]


@dataclass(frozen=True)
class ListPartitionReassignmentsResponse:
    """An error, or the reassignments that run."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, RunningReassignment]

    @classmethod
    def of(cls, error: ErrorCode, running: Mapping[TopicPartition, PartitionAssignment]) -> ListPartitionReassignmentsResponse:
        """Return the answer about these assignments."""
        return cls(error, {p: RunningReassignment(one.replicas, one.adding, one.removing) for p, one in running.items()})


Response: TypeAlias = (
    ControllerResponse
    | ProduceResponse
    | FetchResponse
    | OffsetsForLeaderEpochResponse
    | ListOffsetsResponse
    | Metadata
    | ControlledShutdownResponse
    | AlterIsrResponse
    | InitProducerIdResponse
    | AllocateProducerIdsResponse
    | ElectLeadersResponse
    | AlterPartitionReassignmentsResponse
    | ListPartitionReassignmentsResponse
)
