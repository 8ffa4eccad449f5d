"""What observers and tools ask of the quorum's leader, as data.

Source: Kafka 4.4 FetchRequest.json, FetchSnapshotRequest.json, VoteRequest.json, DescribeQuorumRequest.json and their responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_spec.impl.protocol.data_requests import EpochEnd
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.language.domain import NONE

TOPIC = TopicPartition("__cluster_metadata", 0)
"""The partition that is the metadata log."""


@dataclass(frozen=True, order=True)
class SnapshotId:
    """What a snapshot stands for: all records before `end`, of which the last is of `epoch`."""

    end: int
    epoch: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.end:020}-{self.epoch:010}.checkpoint"


@dataclass(frozen=True)
class QuorumLeader:
    """The leader of an epoch, NONE if it is not known, and where it listens."""

    node: int
    epoch: int
    host: str = ""
    port: int = 0


@dataclass(frozen=True)
class FetchLogRequest:
    """Fetch the metadata log from an offset on; the sender knows of `epoch`, and its last record is of `last_epoch`."""

    replica: int
    epoch: int
    offset: int
    last_epoch: int
    max_bytes: int
    max_wait_ms: int
    cluster_id: str | None = None
    high_watermark: int = -1
    """What the sender knows to be committed (KIP-1166)."""


@dataclass(frozen=True)
class FetchLogResponse:
    """An error, or batches of the log; instead of them, where the sender's log diverges, or the snapshot that it needs first."""

    error: ErrorCode
    leader: QuorumLeader
    high_watermark: int = -1
    start: int = -1
    records: bytes = b""
    diverging: EpochEnd | None = None
    snapshot: SnapshotId | None = None


@dataclass(frozen=True)
class FetchSnapshotRequest:
    """Fetch bytes of a snapshot from a position on."""

    epoch: int
    snapshot: SnapshotId
    position: int
    max_bytes: int
    cluster_id: str | None = None


@dataclass(frozen=True)
class FetchSnapshotResponse:
    """An error, or a part of a snapshot, which has `size` bytes."""

    error: ErrorCode
    leader: QuorumLeader
    snapshot: SnapshotId
    size: int = 0
    position: int = 0
    part: bytes = b""


@dataclass(frozen=True)
class VoteRequest:
    """A candidate asks for a vote in its epoch, or before that whether it would get one; its log ends so, with this last epoch."""

    epoch: int
    cluster_id: str | None = None
    candidate: int = NONE
    end: int = 0
    last_epoch: int = 0
    pre_vote: bool = False


@dataclass(frozen=True)
class VoteResponse:
    """An error, or a vote, or none; and what the voter knows of its epoch."""

    error: ErrorCode
    leader: QuorumLeader
    granted: bool = False


@dataclass(frozen=True)
class BeginQuorumEpochRequest:
    """A leader announces to a voter that it leads an epoch."""

    leader: int
    epoch: int


@dataclass(frozen=True)
class EndQuorumEpochRequest:
    """A leader announces to a voter that it has resigned from an epoch."""

    leader: int
    epoch: int


@dataclass(frozen=True)
class AddVoterRequest:
    """An operator asks the leader to make an observer a voter."""

    voter: int


@dataclass(frozen=True)
class RemoveVoterRequest:
    """An operator asks the leader to make a voter an observer."""

    voter: int


@dataclass(frozen=True)
class QuorumAnswer:
    """The answer to a request that asks for nothing but whether it was taken: an error, and who leads which epoch."""

    error: ErrorCode
    leader: QuorumLeader


@dataclass(frozen=True)
class DescribeQuorumRequest:
    """Ask who leads, and how far voters and observers are."""


@dataclass(frozen=True)
class DescribeQuorumResponse:
    """The leader, the high watermark, and the log ends of the observers by node id; the leader is the only voter."""

    leader: QuorumLeader
    high_watermark: int
    observers: Mapping[int, int] = field(default_factory=dict)
