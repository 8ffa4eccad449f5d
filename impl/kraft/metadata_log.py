"""The metadata log: one totally ordered list of committed batches, in memory, and on disk in Kafka's record-batch format.

A batch is atomic: all its records become visible at once. `MetadataLog` is that of a quorum of one; quorum/metadata.py has that of
a quorum with more voters. A controller that serves brokers of Kafka begins an epoch first, as the leader of its quorum.

Source: Kafka 3.9 KafkaRaftClient.java, BatchAccumulator.java; the folder is __cluster_metadata-0.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kafka_spec.impl.kraft.control_records import read_control, start_of_epoch
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataResponse
from kafka_spec.impl.kraft.record_codec import decode, encode
from kafka_spec.impl.kraft.records import LeaderChange, LogEntry, MetadataRecord
from kafka_spec.impl.kraft.snapshots import newest_snapshot, read_snapshot, snapshot_of, write_snapshot
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.quorum_requests import TOPIC, SnapshotId

FIRST_EPOCH = 1
"""The epoch of the first controller, which the batches carry as leader epoch."""


class MetadataImages:
    """The batches of a metadata log, and the image after each of them."""

    def __init__(self, beginning: ClusterImage) -> None:
        """`beginning` is the image that the log begins with."""
        self.images = [beginning]
        """The image after each batch; the first is the one that the log begins with."""
        self.batches: list[tuple[LogEntry, ...]] = []

    @property
    def newest(self) -> ClusterImage:
        """The image at the end of the log."""
        return self.images[-1]

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.newest.end

    def commit(self, records: Sequence[MetadataRecord]) -> ClusterImage:
        """Append a batch of the active controller, and return the image after it.

        It is written last: a quorum may commit it while it is written.

        Raises:
            InconsistentLog: a record refers to what the log does not have; nothing is written.
        """
        image = self.newest.after(records)
        self.batches.append(tuple(records))
        self.images.append(image)
        try:
            self.write(records)
        except BaseException:
            self.batches.pop()
            self.images.pop()
            raise
        return image

    def write(self, records: Sequence[MetadataRecord]) -> None:
        """Write a batch where it survives this process; here it does not."""

    def close(self) -> None:
        """Close the files, if there are any."""

    def note(self, records: Sequence[LogEntry]) -> None:
        """Take a batch that the log has on disk."""
        self.images.append(self.newest.after(records))
        self.batches.append(tuple(records))

    def image_at(self, end: int) -> ClusterImage:
        """Return the image whose last record is before this offset: the first one that reaches it.

        Raises:
            LookupError: the log ends before.
        """
        place = bisect_left(self.images, end, key=lambda image: image.end)
        if place == len(self.images):
            raise LookupError(f"the metadata log ends at {self.end}, before {end}")
        return self.images[place]

    def after(self, end: int, committed: int | None = None, most: int | None = None) -> FetchMetadataResponse:
        """Return the batches that a broker does not have, which has the log up to `end`: at most so many, of those committed."""
        first = bisect_right(self.images, end, key=lambda image: image.end)
        start = max(first - 1, 0)
        last = len(self.images) if committed is None else bisect_right(self.images, committed, key=lambda image: image.end)
        ends = [image.end for image in self.images[start + 1 : last]]
        found = tuple(zip(ends, self.batches[start : start + len(ends)], strict=True))
        return FetchMetadataResponse(found[:most], self.images[0] if first == 0 else None)


class MetadataLog(MetadataImages):
    """The log of a quorum of one: a batch is committed once it is appended."""

    def __init__(
        self, folder: Path | None = None, beginning: ClusterImage | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        """Begin with an image, by default the empty one; with a folder, read the log that it has from its newest snapshot on.

        `clock` returns seconds since 1970, for the timestamps of batches.

        Raises:
            UnreadableRecord: the folder has a record that is unknown here.
            InconsistentLog: a record refers to what the log does not have.
            Corrupt: the newest snapshot is not whole.
        """
        super().__init__(beginning or ClusterImage())
        self._clock = clock
        self.epoch = FIRST_EPOCH
        self.snapshot: SnapshotId | None = None
        """The newest snapshot."""
        self.store = None if folder is None else PartitionLog(folder / str(TOPIC))
        """The log on disk, None without a folder."""
        if self.store is not None:
            self.snapshot = newest_snapshot(self.store.folder)
            if self.snapshot is not None:
                self.images, self.epoch = [read_snapshot(self.store.folder, self.snapshot)], self.snapshot.epoch
            self.epoch = max(self.store.latest_epoch, self.epoch)
            for records in read_batches(self.store, self.end):
                self.note(records)

    def begin_epoch(self, leader: int) -> None:
        """Begin the next epoch as its leader, with the control record that says so.

        Raises:
            ValueError: the log is in memory only, so nobody fetches it.
        """
        if self.store is None:
            raise ValueError("a metadata log without a folder has no epochs")
        self.epoch = self.epoch + 1 if self.end else FIRST_EPOCH
        began = start_of_epoch(int(self._clock() * 1000), leader, (leader,), (leader,), names_voters=False)
        self.store.append_as_leader(bytes(began), self.epoch)
        self.note([LeaderChange(leader)])

    def write(self, records: Sequence[MetadataRecord]) -> None:
        """Write a batch to the log on disk, if there is one."""
        if self.store is not None:
            now = int(self._clock() * 1000)
            self.store.append_as_leader(bytes(batches.build((now, None, encode(one)) for one in records)), self.epoch)

    def take_snapshot(self) -> SnapshotId:
        """Write the newest image as a snapshot, and delete the segments before it, which begin the log no more.

        Raises:
            ValueError: the log is in memory only.
        """
        if self.store is None:
            raise ValueError("a metadata log without a folder has no snapshots")
        snapshot = SnapshotId(self.end, self.epoch)
        write_snapshot(self.store.folder, snapshot, snapshot_of(self.newest, self.epoch, int(self._clock() * 1000)))
        self.store.delete_before(self.end)
        self.snapshot = snapshot
        return snapshot

    def close(self) -> None:
        """Close the files, if there are any."""
        if self.store is not None:
            self.store.close()


def read_batches(log: PartitionLog, start: int) -> Iterator[tuple[LogEntry, ...]]:
    """Yield the records of each batch of a log, from the batch that begins at an offset on.

    Raises:
        UnreadableRecord: a record is unknown here.
    """
    offset = start
    while data := log.read(offset, 1 << 20):
        for batch, one in batches.split(data):
            yield read_batch(one)
            offset = batch.last + 1


def read_batch(batch: bytes) -> tuple[LogEntry, ...]:
    """Return the records of one batch.

    Raises:
        UnreadableRecord: a record is unknown here.
    """
    if batches.is_control(batch):
        return tuple(map(read_control, batches.records(batch)))
    return tuple(decode(record.value or b"") for record in batches.records(batch))
