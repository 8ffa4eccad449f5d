"""What operators ask of the controller beside elections and reassignments, as data.

Source: Kafka 4.4 CreateTopicsRequest.json, DeleteTopicsRequest.json, CreatePartitionsRequest.json,
IncrementalAlterConfigsRequest.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from kafka_spec.impl.protocol.errors import ErrorCode

Assignment = Mapping[int, tuple[int, ...]]
"""The replicas of partitions, by their numbers."""
CHOSEN = -1
"""A number of partitions or replicas that the assignment says, or the cluster's default."""


@dataclass(frozen=True)
class OperationResult:
    """An error with its reason, or none."""

    error: ErrorCode = ErrorCode.NONE
    reason: str | None = None


@dataclass(frozen=True)
class NewTopic:
    """A topic to create: with these replicas, or with so many partitions and replicas, placed by the controller."""

    name: str
    partitions: int = CHOSEN
    replication_factor: int = CHOSEN
    assignment: Assignment | None = None
    configs: Mapping[str, str] | None = None


@dataclass(frozen=True)
class CreateTopicsRequest:
    """Create topics, or only validate that."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True)
class CreatedTopic:
    """The result for a topic, with its id and its size if it was created."""

    result: OperationResult
    topic_id: UUID | None = None
    partitions: int = CHOSEN
    replication_factor: int = CHOSEN


@dataclass(frozen=True)
class CreateTopicsResponse:
    """The result for each topic."""

    topics: Mapping[str, CreatedTopic]


@dataclass(frozen=True)
class DeleteTopicsRequest:
    """Delete topics, each by its name or its id."""

    topics: tuple[str | UUID, ...]


@dataclass(frozen=True)
class DeletedTopic:
    """The result for a topic, with name and id as far as they are known."""

    name: str | None
    topic_id: UUID | None
    result: OperationResult


@dataclass(frozen=True)
class DeleteTopicsResponse:
    """The results, in the order of the request."""

    topics: tuple[DeletedTopic, ...]


@dataclass(frozen=True)
class MorePartitions:
    """The number of partitions that a topic is to have, and the replicas of the new ones if they are given."""

    topic: str
    count: int
    replicas: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class CreatePartitionsRequest:
    """Add partitions to topics, or only validate that."""

    topics: tuple[MorePartitions, ...]
    validate_only: bool = False


@dataclass(frozen=True)
class CreatePartitionsResponse:
    """The result for each topic."""

    topics: Mapping[str, OperationResult]


@dataclass(frozen=True)
class ConfigResource:
    """What is configured: the type as in ConfigRecord, and the name."""

    resource_type: int
    name: str


@dataclass(frozen=True)
class AlterConfigsRequest:
    """Change settings, or only validate that; None removes one. `refused` are resources with an operation that only lists have."""

    changes: Mapping[ConfigResource, Mapping[str, str | None]]
    refused: tuple[ConfigResource, ...] = ()
    validate_only: bool = False


@dataclass(frozen=True)
class AlterConfigsResponse:
    """The result for each resource."""

    resources: Mapping[ConfigResource, OperationResult]


@dataclass(frozen=True)
class UnregisterBrokerRequest:
    """Forget a broker."""

    broker: int


@dataclass(frozen=True)
class UnregisterBrokerResponse:
    """The result."""

    result: OperationResult
