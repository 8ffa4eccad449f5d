"""The snapshots in the folder of a node's log, with the voters in them.

Source: Kafka 4.3 KafkaRaftLog.java, RecordsSnapshotWriter.java; KIP-630, KIP-853.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec.impl.kraft.control_records import version_and_voters, voters_in
from kafka_spec.impl.kraft.snapshots import SnapshotWriter, snapshots_in, write_snapshot
from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.quorum_requests import SnapshotId

Voters = frozenset[int]
FORMATTED = SnapshotId(0, 0)
"""The snapshot of the formatting, with the first voters and no batch."""


class QuorumSnapshots:
    """The snapshots of one log, which all begin with the one of its formatting, until the log is cut."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the log.

        Raises:
            Corrupt: the newest snapshot is not whole.
        """
        self.folder = folder
        self._known = sorted(snapshots_in(folder))
        self.voters: Voters = frozenset()
        """The voters in the newest snapshot, none if it names none, or is of the formatting."""
        if self.end > 0:
            self.voters = voters_of_snapshot((folder / self.newest.file).read_bytes())

    @property
    def are_there(self) -> bool:
        """Whether there is any: a node that is new has none."""
        return bool(self._known)

    @property
    def newest(self) -> SnapshotId:
        """The newest snapshot."""
        return self._known[-1] if self._known else FORMATTED

    @property
    def earliest(self) -> SnapshotId:
        """The earliest snapshot."""
        return self._known[0] if self._known else FORMATTED

    @property
    def end(self) -> int:
        """The end of the newest snapshot."""
        return self.newest.end

    def write(self, snapshot: SnapshotId, when: int, voters: Voters, records: Iterable[bytes] = ()) -> None:
        """Write a snapshot with voters, if there are any; `when` is the time of its last record, in milliseconds since 1970."""
        writer = SnapshotWriter(snapshot.epoch, when)
        writer.begin(*(version_and_voters(voters) if voters else ()))
        writer.records(records)
        writer.end()
        self.take(snapshot, bytes(writer.data))

    def take(self, snapshot: SnapshotId, data: bytes) -> None:
        """Store a snapshot, which is the newest then."""
        write_snapshot(self.folder, snapshot, data)
        self._known.append(snapshot)
        self.voters = voters_of_snapshot(data) if snapshot.end > 0 else frozenset()

    def forget_older(self) -> None:
        """Delete all but the newest."""
        for one in self._known[:-1]:
            (self.folder / one.file).unlink()
        self._known = self._known[-1:]


@dataclass
class SnapshotDownload:
    """A snapshot that a follower fetches from its leader, part by part."""

    snapshot: SnapshotId
    data: bytearray = field(default_factory=bytearray)


def voters_of_snapshot(data: bytes) -> Voters:
    """Return the voters in a snapshot; none if it names none."""
    return next((frozenset(found) for _, one in batches.split(data) if (found := voters_in(one))), frozenset())
