"""The log of a node of the quorum, on disk, and the voters that its control records name.

Source: Kafka 4.3 KafkaRaftLog.java, KRaftControlRecordStateMachine.java, VoterSetHistory.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_spec.impl.kraft.control_records import start_of_epoch, voters_change, voters_in
from kafka_spec.impl.kraft.quorum.snapshots import FORMATTED, QuorumSnapshots, Voters
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.quorum_requests import TOPIC, SnapshotId
from kafka_spec.spec.decisions.log import end_shows_divergence
from kafka_spec.spec.decisions.quorum import (
    ControlReader,
    HistoryCut,
    SnapshotReader,
    snapshot_is_sent,
    snapshot_replaces,
)
from kafka_spec.spec.quorum.state import FORMATTED_AT
from kafka_spec.spec.vocabulary.table import Constants


class QuorumLog:
    """An open log. Its reader of control records has read the whole log when it is opened, as that of a process that starts."""

    def __init__(
        self,
        folder: Path,
        k: Constants,
        formatted: Iterable[int],
        clock: Callable[[], int],
        flushed: int = 0,
        config: LogConfig | None = None,
    ) -> None:
        """Open or create the log below `folder`; `k` has the decisions of an era of spec/quorum.

        `formatted` are the voters with which the node was formatted, or is configured. `clock` returns milliseconds since 1970, for
        the timestamps of batches. What lies below `flushed` is known to be on disk.

        Raises:
            CheckpointError: the checkpoint of leader epochs is unreadable.
            Corrupt: the newest snapshot is not whole.
            UnreadableRecord: a control record is unknown here.
        """
        self.formatted: Voters = frozenset(formatted)
        self.store = PartitionLog(folder / str(TOPIC), config, flushed)
        self.snapshots = QuorumSnapshots(self.store.folder)
        self.log_start = self.store.start_offset
        """Where the log begins, for this process: a cut is not noted on disk, where whole segments go."""
        self.changes: list[tuple[int, Voters]] = []
        """The voters that the reader has seen, each with the offset of its batch, of a snapshot's last, or FORMATTED_AT."""
        self.read_up_to = 0
        """Where the reader continues (KRaftControlRecordStateMachine.nextOffset)."""
        self._k = k
        self._clock = clock
        if k.kraft_version and not self.snapshots.are_there and not self.end:
            self.snapshots.write(FORMATTED, clock(), self.formatted)
        if self.snapshots.end and self._is_replaced_by(self.snapshots.newest):
            self._begin_at_snapshot()
        self.read_anew()

    # Reading

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.store.end_offset

    @property
    def flushed(self) -> int:
        """The offset up to which everything survives a power loss."""
        return self.store.recovery_point

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, which may be in the snapshot; 0 if there is none."""
        return self.store.latest_epoch if self.store.latest_epoch >= 0 else self.snapshots.newest.epoch

    @property
    def last_change(self) -> int:
        """The offset of the newest voters that the reader has seen; -1 if neither the log nor a snapshot has any."""
        return self.changes[-1][0] if self.changes else FORMATTED_AT

    @property
    def voters(self) -> Voters:
        """The voters in force: the newest that the reader has seen."""
        return self.changes[-1][1] if self.changes else frozenset()

    @property
    def voters_before(self) -> Voters:
        """The voters before the newest that the reader has seen, none if it has forgotten them."""
        return self.changes[-2][1] if len(self.changes) > 1 else frozenset()

    def snapshot_for(self, end: int, epoch: int) -> SnapshotId | None:
        """Return the snapshot that a follower needs, None if it needs none; its log has this end, and its last batch this epoch."""
        known = self.snapshots
        return known.newest if snapshot_is_sent(end, epoch, self.log_start, known.earliest.epoch, known.end) else None

    def divergence(self, end: int, epoch: int) -> tuple[int, int] | None:
        """Return where the log of a follower leaves this one: an epoch and its end here; None if it does not.

        The follower's log has this end, and its last batch this epoch (KafkaRaftLog.validateOffsetAndEpoch).
        """
        if end == 0 or self.snapshot_for(end, epoch) is not None:
            return None
        found, found_end = self._end_of_epoch(epoch)
        return (found, found_end) if end_shows_divergence(found, found_end, epoch, end) else None

    def _end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to this one, and where it ends; the epoch itself and 0 if all are larger.

        Of an epoch that ends at the earliest snapshot only that knows (KafkaRaftLog.endOffsetForEpoch).
        """
        found, end = self.store.end_offset_for_epoch(epoch)
        if found >= 0:
            earliest = self.snapshots.earliest
            return (earliest.epoch, end) if 0 < earliest.end == end and found == epoch else (found, end)
        return (self.last_epoch, self.end) if 0 < self.last_epoch <= epoch else (epoch, 0)

    # Writing

    def start_epoch(self, leader: int, epoch: int, granting: Iterable[int], names_voters: bool) -> None:
        """Append the first batch of an epoch as its leader: a LeaderChange, and the voters in force if the log has to name them."""
        self.store.append_as_leader(bytes(start_of_epoch(self._clock(), leader, self.voters, granting, names_voters)), epoch)
        self._read_control()

    def change_voters(self, voters: Iterable[int], epoch: int) -> None:
        """Append voters, which are in force at once."""
        self.store.append_as_leader(bytes(voters_change(self._clock(), voters)), epoch)
        self._read_control()

    def append(self, values: Iterable[bytes], epoch: int) -> int:
        """Append one batch as the leader of an epoch, and return the offset of its first record."""
        now = self._clock()
        first, _ = self.store.append_as_leader(bytes(batches.build((now, None, value) for value in values)), epoch)
        self._read_control()
        return first

    def append_fetched(self, data: bytes) -> None:
        """Append batches as the leader has them.

        Raises:
            Corrupt: they are not complete, valid batches.
            ValueError: they do not continue the log.
        """
        self.store.append_as_follower(data)
        self._read_control()

    def truncate(self, epoch: int, end: int) -> int:
        """Truncate to the end of an epoch of the leader, or of the largest own epoch below it; return the new end.

        Voters from there on are not in force any more. That the reader moves back with the log is the fix of
        voters-skipped-after-truncation (KafkaRaftLog.truncateToEndOffset, KRaftControlRecordStateMachine.truncateNewEntries).
        """
        own, own_end = self._end_of_epoch(epoch)
        self.store.truncate_to(min(own_end, end) if own == epoch else own_end)
        self.changes = [(offset, voters) for offset, voters in self.changes if offset < self.end]
        if self._k.control_reader == ControlReader.MOVES_BACK:
            self.read_up_to = min(self.read_up_to, self.end)
        return self.end

    def flush(self) -> None:
        """Flush everything appended."""
        self.store.flush()

    # Snapshots

    def write_snapshot(self, end: int, records: Iterable[bytes]) -> SnapshotId:
        """Write a snapshot of what is before `end`, which is committed: these records, and the voters there; return its id.

        The voters before are forgotten. Whose are the last that stay is the fix of voters-dropped-by-snapshot
        (KafkaRaftClient.createSnapshot, KRaftControlRecordStateMachine.truncateOldEntries).
        """
        voters = next((held for offset, held in reversed(self.changes) if offset < end), frozenset[int]())
        snapshot = SnapshotId(end, self.store.epoch_of(end - 1))
        self.snapshots.write(snapshot, self._clock(), voters, records)
        limit = end + 1 if self._k.history_cut == HistoryCut.UP_TO_END else end
        known = sum(offset < limit for offset, _ in self.changes)
        self.changes = self.changes[max(known - 1, 0) :]
        return snapshot

    def cut(self) -> None:
        """Let the log begin at the newest snapshot, and delete what is before (KafkaRaftLog.deleteBeforeSnapshot)."""
        self.snapshots.forget_older()
        self.log_start = self.snapshots.end
        self.store.delete_segments_before(self.log_start)

    def _is_replaced_by(self, snapshot: SnapshotId) -> bool:
        """Whether a snapshot replaces the log, which does not reach it (KafkaRaftLog.truncateToLatestSnapshot)."""
        epoch, end = self._end_of_epoch(snapshot.epoch)
        is_held = epoch == snapshot.epoch and end >= snapshot.end
        return snapshot_replaces(snapshot.end, snapshot.epoch, self.end, self.last_epoch, is_held, self._k.full_truncation)

    def load_snapshot(self, snapshot: SnapshotId, data: bytes) -> bool:
        """Store a snapshot of the leader, and let it replace the log; return whether it does.

        That its voters are read in any case is the fix of voters-of-lost-log-stay (KafkaRaftClient.handleFetchSnapshotResponse).
        """
        is_replaced = self._is_replaced_by(snapshot)
        self.snapshots.take(snapshot, data)
        if is_replaced:
            self._begin_at_snapshot()
            if self._k.snapshot_reader == SnapshotReader.ALWAYS or self.read_up_to < self.log_start:
                self.read_anew()
        return is_replaced

    def _begin_at_snapshot(self) -> None:
        self.snapshots.forget_older()
        self.log_start = self.snapshots.end
        self.store.truncate_fully(self.log_start)

    # Voters

    def read_anew(self) -> None:
        """Read all voters, as a process does that starts: those of the newest snapshot, or of the formatting; then the log."""
        voters = self.snapshots.voters if self.snapshots.end else self.formatted
        self.changes = [(self.snapshots.end - 1, voters)] if voters else []
        self.read_up_to = self.snapshots.end
        self._read_control()

    def _read_control(self) -> None:
        """Let the reader of control records read on to the end of the log."""
        offset = self.read_up_to
        while offset < self.end:
            for batch, data in batches.split(self.store.read(offset, 1 << 20)):
                if voters := voters_in(data):
                    self.changes.append((batch.base, frozenset(voters)))
                offset = batch.last + 1
        self.read_up_to = max(offset, self.read_up_to)

    def close(self) -> None:
        """Close the files; nothing is flushed for that, as in a crash of the process."""
        self.store.crash()
