"""One process of a node of the quorum: its role, by the rows of the table, its epoch and its log.

Sans-IO: the caller has the timers and the network. It says when a timer ends (`time_out`), carries requests and answers, flushes
the log of a leader after each append, and lets the node do what has become possible (`advance`). What is not on disk is lost with
the process. A method that is a rule of spec/quorum has its name, and returns whether its guards hold.

Source: Kafka 4.3 KafkaRaftClient.java.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_spec.impl.kraft.quorum.election_state import ElectionState
from kafka_spec.impl.kraft.quorum.elections import Elections
from kafka_spec.impl.kraft.quorum.leader_state import FetchAtLeader, LeaderState, Reply
from kafka_spec.impl.kraft.quorum.snapshots import SnapshotDownload
from kafka_spec.impl.kraft.snapshots import part_of_snapshot
from kafka_spec.impl.protocol.data_requests import EpochEnd
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import (
    FetchLogRequest,
    FetchLogResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from kafka_spec.spec.decisions.quorum import OwnFlush, change_is_allowed
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE

MOST_BYTES = 8 << 20
"""The most bytes that a fetch asks for (KafkaRaftClient.MAX_FETCH_SIZE_BYTES)."""


class CommittedLogTruncated(Exception):  # noqa: N818 - what it says ends the process
    """A leader asks a follower to truncate below its high watermark, which ends the process of Kafka too."""


class SnapshotNotLoaded(Exception):  # noqa: N818 - what it says ends the process
    """A snapshot of the leader does not replace the log of the follower that needs it, which ends the process of Kafka too."""


class QuorumNode(Elections):
    """A node's process."""

    def advance(self) -> None:
        """Do what has become possible: stand, win, or leave the epoch in which its own removal was committed."""
        if self.role == PROSPECTIVE:
            self.stand()
        self.win()
        self.leave_as_removed()

    # Leading

    def win(self) -> bool:
        """Lead, if a majority voted for it, and append the first batch of the epoch, with the voters if the log has none.

        No high watermark is known in this epoch yet (onBecomeLeader).
        """
        if self.role != CANDIDATE or not self.has_majority():
            return False
        granting = self.granted
        self._forget_role()
        self._save(ElectionState(self.epoch, self.node, NONE))
        self.high_watermark = 0
        self.leading = LeaderState(self.log.end)
        self._fire("win")
        names_voters = self.k.kraft_version == 1 and self.log.last_change < 0
        self.log.start_epoch(self.node, self.epoch, granting, names_voters)
        self._raise_high_watermark()
        return True

    def append(self, values: Iterable[bytes]) -> int | None:
        """Append a batch as the leader, and return the offset of its first record; None if it does not lead (prepareAppend)."""
        if self.role != LEADER:
            return None
        first = self.log.append(values, self.epoch)
        self._appended()
        return first

    def _appended(self) -> None:
        """Answer the fetches that wait, which need not wait for the flush."""
        self._raise_high_watermark()
        self.answer_waiting()

    def flush(self) -> bool:
        """Flush what a leader has appended; then what it has counts, and fetches that arrived meanwhile are handled."""
        if self.role != LEADER or self.log.flushed == self.log.end:
            return False
        self.log.flush()
        self._raise_high_watermark()
        leading = self._leadership()
        arrived, leading.arrived = leading.arrived, []
        for fetch in arrived:
            self.fetch(fetch.request, fetch.reply)
        return True

    def _leadership(self) -> LeaderState:
        assert self.leading is not None, "a leader has a LeaderState"
        return self.leading

    def _raise_high_watermark(self) -> None:
        """Raise the high watermark to what a majority of the voters has, if that is in the own epoch."""
        leading = self._leadership()
        own_end = self.log.flushed if self.k.own_flush == OwnFlush.BEFORE_COMMIT else self.log.end
        reached = leading.end_of_majority(self.node, own_end, self.log.voters)
        start = leading.epoch_start if self.k.commits_own_epoch == Checked.YES else 0
        if reached > max(start, self.high_watermark):
            self._raise_to(reached)
            self.answer_waiting()

    def _raise_to(self, end: int) -> None:
        self.high_watermark = end
        self.committed()

    def fetch(self, request: FetchLogRequest, reply: Reply) -> None:
        """Answer a fetch, or let it wait: until there is something for it, or until the log is flushed (handleFetchRequest)."""
        if self.role != LEADER or request.epoch != self.epoch:
            reply(FetchLogResponse(self._refusal(request.epoch), self.standing))
            return
        leading, fetch = self._leadership(), FetchAtLeader(request, reply)
        if self.log.flushed < self.log.end:
            leading.arrived.append(fetch)
            return
        if self._is_valid(request):
            leading.ends[request.replica] = request.offset
            self._raise_high_watermark()
        leading.waiting.append(fetch)
        self.answer_waiting()

    def _is_valid(self, request: FetchLogRequest) -> bool:
        """Whether a fetch is answered with what comes next."""
        asked = request.offset, request.last_epoch
        return self.log.snapshot_for(*asked) is None and self.log.divergence(*asked) is None

    def _refusal(self, epoch: int) -> ErrorCode:
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self.epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def answer_waiting(self) -> None:
        """Answer the fetches that wait and for which there is something now."""
        leading = self._leadership()
        waiting, leading.waiting = leading.waiting, []
        for fetch in waiting:
            answer = self._answer(fetch.request)
            has_something = answer.diverging is not None or answer.snapshot is not None or answer.records
            if not has_something and not self._brings_high_watermark(fetch.request):
                leading.waiting.append(fetch)
            else:
                fetch.reply(answer)

    def _brings_high_watermark(self, request: FetchLogRequest) -> bool:
        return self.known_high_watermark > request.high_watermark

    def expire(self, fetch: FetchLogRequest) -> None:
        """Answer a fetch that has waited as long as it wants to."""
        leading = self.leading
        for one in [] if leading is None else [*leading.waiting, *leading.arrived]:
            if leading is not None and one.request is fetch:
                leading.waiting = [other for other in leading.waiting if other is not one]
                leading.arrived = [other for other in leading.arrived if other is not one]
                one.reply(self._answer(fetch, with_records=False))

    def _answer(self, request: FetchLogRequest, with_records: bool = True) -> FetchLogResponse:
        snapshot = self.log.snapshot_for(request.offset, request.last_epoch)
        if snapshot is not None:
            return FetchLogResponse(ErrorCode.NONE, self.standing, snapshot=snapshot)
        diverging = self.log.divergence(request.offset, request.last_epoch)
        if diverging is not None:
            return FetchLogResponse(ErrorCode.NONE, self.standing, diverging=EpochEnd(ErrorCode.NONE, *diverging))
        records = self.log.store.read(request.offset, request.max_bytes) if with_records else b""
        return FetchLogResponse(ErrorCode.NONE, self.standing, self.known_high_watermark, records=records)

    def fetch_snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        """Return a part of a snapshot (handleFetchSnapshotRequest)."""
        if self.role != LEADER or request.epoch != self.epoch:
            return FetchSnapshotResponse(self._refusal(request.epoch), self.standing, request.snapshot)
        return part_of_snapshot(self.log.snapshots.folder, request, self.standing)

    # Following

    def next_fetch(self, max_bytes: int = MOST_BYTES, max_wait_ms: int = 500) -> FetchLogRequest | None:
        """Return the fetch that a follower sends to its leader, None if it does not follow."""
        return self.any_fetch(max_bytes, max_wait_ms) if self.role == FOLLOWER else None

    def any_fetch(self, max_bytes: int = MOST_BYTES, max_wait_ms: int = 0) -> FetchLogRequest:
        """Return the fetch that an observer sends to any node, to hear from it of a leader (pollUnattachedAsObserver)."""
        log = self.log
        return FetchLogRequest(
            self.node, self.epoch, log.end, log.last_epoch, max_bytes, max_wait_ms, high_watermark=self.high_watermark
        )

    def take_fetch(self, request: FetchLogRequest, answer: FetchLogResponse) -> bool:
        """Take an answer: truncate where the logs part, or append, and commit what the leader has (handleFetchResponse).

        If it names a snapshot, the node fetches that next. Return whether the answer counts: it does not if the node has gone on
        since its request.

        Raises:
            CommittedLogTruncated: the logs part below the high watermark.
        """
        if self.learn(answer.leader) or answer.error != ErrorCode.NONE or self.role != FOLLOWER:
            return False
        if (request.epoch, request.offset) != (self.epoch, self.log.end):
            return False
        if answer.diverging is not None:
            if answer.diverging.end_offset < self.high_watermark:
                raise CommittedLogTruncated(
                    f"node {self.node} has committed {self.high_watermark}, and {self.leader} has it truncate to "
                    f"{answer.diverging.end_offset}"
                )
            self.log.truncate(answer.diverging.leader_epoch, answer.diverging.end_offset)
        elif answer.snapshot is not None:
            self.fetching = SnapshotDownload(answer.snapshot)
        elif answer.records:
            self.log.append_fetched(answer.records)
            if self.k.observers_flush == Checked.YES or self.node in self.log.voters:
                self.log.flush()
        self.has_fetched = bool(self.k.pre_votes)
        if min(answer.high_watermark, self.log.end) > self.high_watermark:
            self._raise_to(min(answer.high_watermark, self.log.end))
        return True

    def next_snapshot_fetch(self, max_bytes: int = MOST_BYTES) -> FetchSnapshotRequest | None:
        """Return the request for the next part of the snapshot that it fetches, None if it fetches none."""
        if self.fetching is None:
            return None
        return FetchSnapshotRequest(self.epoch, self.fetching.snapshot, len(self.fetching.data), max_bytes)

    def take_snapshot(self, request: FetchSnapshotRequest, answer: FetchSnapshotResponse) -> bool:
        """Take a part of a snapshot; once it is whole, it replaces the log (handleFetchSnapshotResponse).

        Return whether the answer counts.

        Raises:
            SnapshotNotLoaded: it does not replace the log.
        """
        fetching = self.fetching
        if self.learn(answer.leader) or fetching is None or request != self.next_snapshot_fetch(request.max_bytes):
            return False
        if answer.error != ErrorCode.NONE:
            self.fetching = None
            return False
        fetching.data += answer.part
        if len(fetching.data) == answer.size:
            self.fetching = None
            if not self.log.load_snapshot(fetching.snapshot, bytes(fetching.data)):
                raise SnapshotNotLoaded(
                    f"node {self.node} has a log up to {self.log.end} of epoch {self.log.last_epoch}, which the snapshot "
                    f"{fetching.snapshot.file} of {self.leader} does not replace"
                )
            if fetching.snapshot.end > self.high_watermark:
                self._raise_to(fetching.snapshot.end)
        return True

    def write_snapshot(self, end: int, records: Iterable[bytes]) -> bool:
        """Write a snapshot of what is before `end`, as records, if that is committed and new (createSnapshot)."""
        if not self.log.snapshots.end < end <= self.high_watermark:
            return False
        self.log.write_snapshot(end, records)
        return True

    def cut_log(self) -> bool:
        """Let the log begin at the newest snapshot, if there is an older one (KafkaRaftLog.maybeClean)."""
        if not self.log.snapshots.earliest.end < self.log.snapshots.end <= self.high_watermark:
            return False
        self.log.cut()
        return True

    # Voters

    def _may_change_voters(self) -> bool:
        """Whether no other change is open, and a batch of its own epoch is committed; the log has the voters to change."""
        if self.leading is None or self.log.last_change < 0:
            return False
        awaited = self.k.change_awaits_own_epoch, self.k.change_awaits_change
        return change_is_allowed(self.log.last_change, self.high_watermark, self.leading.epoch_start, *awaited)

    def add_voter(self, voter: int) -> bool:
        """Make an observer a voter, if it has fetched from this leader (AddVoterHandler)."""
        if not self._may_change_voters() or voter in self.log.voters or voter not in self._leadership().ends:
            return False
        self.log.change_voters(self.log.voters | {voter}, self.epoch)
        self._appended()
        return True

    def remove_voter(self, voter: int) -> bool:
        """Make a voter an observer, if it is not the last (RemoveVoterHandler)."""
        if not self._may_change_voters() or voter not in self.log.voters or len(self.log.voters) == 1:
            return False
        self.log.change_voters(self.log.voters - {voter}, self.epoch)
        self._appended()
        return True

    def leave_as_removed(self) -> bool:
        """Resign, if its own removal is committed (RemoveVoterHandler.highWatermarkUpdated)."""
        is_removed = self.node not in self.log.voters and self.log.last_change < self.high_watermark
        return is_removed and self.resign()
