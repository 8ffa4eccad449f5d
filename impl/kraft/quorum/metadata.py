"""The metadata of a controller in a quorum: what is committed, and, while it is active, what it has appended after that.

Source: Kafka 4.3 QuorumController.java (QuorumMetaLogListener), OffsetControlManager.java.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.metadata_log import MetadataImages, read_batch
from kafka_spec.impl.kraft.quorum.node import QuorumNode
from kafka_spec.impl.kraft.record_codec import encode
from kafka_spec.impl.kraft.records import MetadataRecord
from kafka_spec.impl.kraft.snapshots import read_snapshot, records_of
from kafka_spec.impl.log import batches


class NotActive(Exception):  # noqa: N818 - Kafka's NotControllerException
    """A controller appends, and does not lead the quorum any more."""


class QuorumMetadata(MetadataImages):
    """The images of a node's log, up to its high watermark; those of an active controller also what it has appended."""

    def __init__(self, node: QuorumNode) -> None:
        """Begin with the newest snapshot of the node, if it has one.

        Raises:
            UnreadableRecord: the snapshot has a record that is unknown here.
        """
        super().__init__(ClusterImage())
        self.committed = 0
        """The end of what is committed, as far as this process knows; a new leader does not know its high watermark at first."""
        self._node = node
        if node.log.snapshots.end:
            self._begin_with_snapshot()

    def write(self, records: Sequence[MetadataRecord]) -> None:
        """Append a batch, which is not committed yet.

        Raises:
            NotActive: the node does not lead.
        """
        before = self.images[-2].end
        first = self._node.append([encode(record) for record in records])
        if first is None:
            raise NotActive(f"controller {self._node.node} does not lead epoch {self._node.epoch}")
        assert first == before, f"a batch is at {first}, and the metadata before it ends at {before}"

    def _begin_with_snapshot(self) -> None:
        known = self._node.log.snapshots
        self.images, self.batches = [read_snapshot(known.folder, known.newest)], []
        self.committed = known.end

    def write_snapshot(self, least: int) -> bool:
        """Write a snapshot of what is committed, and cut the log there, if the newest has `least` records less; return whether.

        None is written where voters are configured, which the model has without snapshots.
        """
        if not self._node.k.kraft_version or self.committed - self._node.log.snapshots.end < least:
            return False
        image = self.image_at(self.committed)
        return self._node.write_snapshot(image.end, map(encode, records_of(image))) and self._node.cut_log()

    def read_committed(self) -> None:
        """Take the batches below the high watermark, or the snapshot that has replaced them."""
        if self.end < self._node.log.log_start:
            self._begin_with_snapshot()
        self.committed = max(self.committed, self._node.high_watermark)
        self._read(self.committed)

    def read_appended(self) -> None:
        """Take what a leader has in its log, committed or not: the quorum itself appends changes of its voters."""
        self._read(self._node.log.end)

    def _read(self, end: int) -> None:
        while self.end < end:
            for batch, data in batches.split(self._node.log.store.read(self.end, 1 << 20, end)):
                assert batch.base == self.end, f"a batch at {batch.base} follows the end {self.end}"
                self.note(read_batch(data))

    def forget_uncommitted(self) -> None:
        """Go back to what is committed, as a controller does that is not active any more."""
        while self.end > self.committed:
            self.images.pop()
            self.batches.pop()
