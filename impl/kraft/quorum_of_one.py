"""The quorum's leader if it is the only voter: what it answers to observers, which fetch the metadata log.

Sans-IO, like a broker's purgatory: a fetch at the end of the log waits until the log grows, or its time is over.

Source: Kafka 4.4 KafkaRaftClient.handleFetchRequest, handleFetchSnapshotRequest, validateLeaderOnlyRequest, handleVoteRequest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.snapshots import part_of_snapshot
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.data_requests import EpochEnd
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import (
    DescribeQuorumResponse,
    FetchLogRequest,
    FetchLogResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumLeader,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)


@dataclass(frozen=True)
class WaitingFetch:
    """A fetch at the end of the log, until when it waits in milliseconds, and who receives its answer."""

    request: FetchLogRequest
    until: int
    reply: Callable[[FetchLogResponse], object]


class QuorumOfOne:
    """The leader of an epoch that it has begun."""

    def __init__(self, log: MetadataLog, leader: QuorumLeader, cluster_id: str) -> None:
        """`log` is on disk.

        Raises:
            ValueError: it is in memory only.
        """
        if log.store is None:
            raise ValueError("observers fetch a log on disk")
        self.leader = leader
        self.observers: dict[int, int] = {}
        """The log end of each observer, as of its last fetch."""
        self._log = log
        self._store: PartitionLog = log.store
        self._cluster_id = cluster_id
        self._waiting: list[WaitingFetch] = []

    def is_foreign(self, cluster_id: str | None) -> bool:
        """Whether a sender names another cluster."""
        return cluster_id is not None and cluster_id != self._cluster_id

    def fetch(self, request: FetchLogRequest, now: int, reply: Callable[[FetchLogResponse], object]) -> None:
        """Answer a fetch, at once or once there is something to answer."""
        answer = self._answer(request)
        has_something = answer.error != ErrorCode.NONE or answer.records or answer.diverging or answer.snapshot
        if not has_something and request.max_wait_ms > 0:
            self._waiting.append(WaitingFetch(request, now + request.max_wait_ms, reply))
        else:
            reply(answer)

    def look(self, now: int) -> None:
        """Answer the fetches that have something to receive, or whose time is over."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if one.until <= now or self._store.end_offset > one.request.offset:
                one.reply(self._answer(one.request))
            else:
                self._waiting.append(one)

    def _answer(self, request: FetchLogRequest) -> FetchLogResponse:
        error = self._refusal(request.cluster_id, request.epoch, request.offset, request.last_epoch)
        if error != ErrorCode.NONE:
            return FetchLogResponse(error, self.leader)
        end, start = self._store.end_offset, self._store.start_offset
        self.observers[request.replica] = request.offset
        if request.offset < start:
            return FetchLogResponse(ErrorCode.NONE, self.leader, end, start, snapshot=self._log.snapshot)
        diverging = self._divergence(request)
        records = b"" if diverging is not None else self._store.read(request.offset, request.max_bytes)
        return FetchLogResponse(ErrorCode.NONE, self.leader, end, start, records, diverging)

    def _refusal(self, cluster_id: str | None, epoch: int, *numbers: int) -> ErrorCode:
        """Return why a request to the leader of an epoch is refused; NONE if it is not."""
        if self.is_foreign(cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if min((epoch, *numbers)) < 0:
            return ErrorCode.INVALID_REQUEST
        if epoch != self.leader.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.leader.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE

    def fetch_snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        """Return a part of a snapshot (handleFetchSnapshotRequest)."""
        error = self._refusal(request.cluster_id, request.epoch)
        if error != ErrorCode.NONE:
            return FetchSnapshotResponse(error, self.leader, request.snapshot)
        return part_of_snapshot(self._store.folder, request, self.leader)

    def _divergence(self, request: FetchLogRequest) -> EpochEnd | None:
        """Return where the sender's log leaves this one, None if it is a prefix of it (ReplicatedLog.validateOffsetAndEpoch)."""
        if request.offset == 0 and request.last_epoch == 0:
            return None
        if self._log.snapshot == SnapshotId(request.offset, request.last_epoch):
            return None  # its last record is in the snapshot, and the log may know nothing of its epoch any more
        epoch, end = self._store.end_offset_for_epoch(request.last_epoch)
        if epoch == request.last_epoch and request.offset <= end:
            return None
        return EpochEnd(ErrorCode.NONE, max(epoch, 0), max(end, 0))

    def vote(self, request: VoteRequest) -> VoteResponse:
        """Refuse a vote: nobody else can be elected."""
        error = ErrorCode.INCONSISTENT_CLUSTER_ID if self.is_foreign(request.cluster_id) else ErrorCode.NONE
        return VoteResponse(error, self.leader)

    def describe(self) -> DescribeQuorumResponse:
        """Return who leads, and how far everybody is."""
        return DescribeQuorumResponse(self.leader, self._store.end_offset, dict(self.observers))
