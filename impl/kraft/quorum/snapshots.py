"""The snapshots in the folder of a node's log, with the voters in them, and where the log begins.

Source: Kafka 4.3 KafkaRaftLog.java, RecordsSnapshotWriter.java; KIP-630, KIP-853.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec.impl.kraft.control_records import version_and_voters, voters_in
from kafka_spec.impl.kraft.snapshots import SnapshotWriter, newest_snapshot, write_snapshot
from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.protocol.quorum_requests import TOPIC, SnapshotId

Voters = frozenset[int]


class QuorumSnapshots:
    """The snapshots of one log. That of the formatting, which has no batch, is none of them."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the log; one above has the checkpoint of where the log begins.

        Raises:
            CheckpointError: that checkpoint is unreadable.
            Corrupt: the newest snapshot is not whole.
            UnreadableRecord: it has a control record that is unknown here.
        """
        self.folder = folder
        self._path = folder.parent / checkpoint.LOG_STARTS
        self.log_start = checkpoint.read_offsets(self._path).get(TOPIC, 0) if self._path.exists() else 0
        """Where the log begins."""
        self.newest = newest_snapshot(folder)
        """The newest snapshot, None if there is none."""
        self.voters: Voters = frozenset() if self.newest is None else voters_of_snapshot(self.read(self.newest))
        """The voters in the newest snapshot; none if it names none."""

    @property
    def end(self) -> int:
        """The end of the newest snapshot, 0 if there is none."""
        return 0 if self.newest is None else self.newest.end

    @property
    def earliest_epoch(self) -> int:
        """The epoch of the snapshot with which the log begins, 0 if the log has all batches."""
        return next((one.epoch for one in self._all() if one.end == self.log_start), 0) if self.log_start else 0

    def read(self, snapshot: SnapshotId) -> bytes:
        """Return the bytes of a snapshot.

        Raises:
            FileNotFoundError: there is none.
        """
        return (self.folder / snapshot.file).read_bytes()

    def write(self, snapshot: SnapshotId, when: int, voters: Voters, records: Iterable[bytes]) -> None:
        """Write a snapshot with voters, if there are any; `when` is the time of its last record, in milliseconds since 1970."""
        writer = SnapshotWriter(snapshot.epoch, when)
        writer.begin(*(version_and_voters(voters) if voters else ()))
        writer.records(records)
        writer.end()
        self.take(snapshot, bytes(writer.data))

    def take(self, snapshot: SnapshotId, data: bytes) -> None:
        """Store a snapshot, which is the newest then."""
        write_snapshot(self.folder, snapshot, data)
        self.newest, self.voters = snapshot, voters_of_snapshot(data)

    def begin_log(self) -> None:
        """Let the log begin at the newest snapshot, and delete those before."""
        self.log_start = self.end
        checkpoint.write_offsets(self._path, {TOPIC: self.log_start})
        for one in self._all():
            if one.end < self.log_start:
                (self.folder / one.file).unlink()

    def _all(self) -> list[SnapshotId]:
        names = (path.stem.split("-") for path in self.folder.glob("*-*.checkpoint"))
        return sorted(SnapshotId(int(end), int(epoch)) for end, epoch in names if end.isdigit())


@dataclass
class SnapshotDownload:
    """A snapshot that a follower fetches from its leader, part by part."""

    snapshot: SnapshotId
    data: bytearray = field(default_factory=bytearray)


def voters_of_snapshot(data: bytes) -> Voters:
    """Return the voters in a snapshot; none if it names none."""
    return next((frozenset(found) for _, one in batches.split(data) if (found := voters_in(one))), frozenset())


def records_of_snapshot(data: bytes) -> list[bytes]:
    """Return the records in a snapshot, without control records."""
    held = [one for _, one in batches.split(data) if not batches.is_control(one)]
    return [record.value or b"" for one in held for record in batches.records(one)]
