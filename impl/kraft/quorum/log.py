"""The log of a node of the quorum, on disk, and the voters that its control records name.

Source: Kafka 4.3 KafkaRaftLog.java, KRaftControlRecordStateMachine.java, VoterSetHistory.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_spec.impl.kraft.control_records import start_of_epoch, voters_change, voters_in
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.spec.decisions.log import end_shows_divergence
from kafka_spec.spec.decisions.quorum import ControlReader
from kafka_spec.spec.vocabulary.table import Constants

Voters = frozenset[int]
NO_CHANGE = -1
"""The offset of the last change of the voters in a log without one."""


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
            UnreadableRecord: a control record is unknown here.
        """
        self.formatted: Voters = frozenset(formatted)
        self.store = PartitionLog(folder / str(TOPIC), config, flushed)
        self.changes: list[tuple[int, Voters]] = []
        """The changes of the voters that the reader has seen, each with the offset of its batch."""
        self.read_up_to = 0
        """Where the reader continues (KRaftControlRecordStateMachine.nextOffset)."""
        self._k = k
        self._clock = clock
        self._read_control()

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
        """The epoch of the last batch, 0 if there is none."""
        return max(self.store.latest_epoch, 0)

    @property
    def last_change(self) -> int:
        """The offset of the newest voters that the reader has seen, NO_CHANGE if the log has none."""
        return self.changes[-1][0] if self.changes else NO_CHANGE

    @property
    def voters(self) -> Voters:
        """The voters in force: the newest that the reader has seen, else those with which the node was formatted."""
        return self.changes[-1][1] if self.changes else self.formatted

    @property
    def voters_before(self) -> Voters:
        """The voters before the newest that the reader has seen."""
        return self.changes[-2][1] if len(self.changes) > 1 else self.formatted

    def divergence(self, end: int, epoch: int) -> tuple[int, int] | None:
        """Return where the log of a follower leaves this one: an epoch and its end here; None if it does not.

        The follower's log has this end, and its last batch this epoch (KafkaRaftLog.validateOffsetAndEpoch).
        """
        found, found_end = self._end_of_epoch(epoch)
        return (found, found_end) if end > 0 and end_shows_divergence(found, found_end, epoch, end) else None

    def _end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to this one, and where it ends; the epoch itself and 0 if all are larger."""
        found, end = self.store.end_offset_for_epoch(epoch)
        if found >= 0:
            return found, end
        return (self.last_epoch, self.end) if 0 < self.last_epoch < epoch else (epoch, 0)

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
