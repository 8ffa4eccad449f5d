"""What an event asks of the partitions of an image, and what it then writes about them, by the decisions of a ruling.

Source: Kafka 3.9 ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.predictions import AskedShape, Predicted, Predictions, recorded
from kafka_spec.conformance.metadata.rulings import RELEASES, Ruling
from kafka_spec.conformance.metadata.shapes import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    FoldedPartition,
    ShapeChange,
)
from kafka_spec.spec.decisions.partition_change import ElectionKind, effective_min_isr, ordinary_election
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, excluding, singleton

NO_PARTITION_0 = 1 << 30
"""The replicas of a partition 0 that does not exist: it limits nothing."""


class Refusal(NamedTuple):
    """Why a run of changes that ends at `end` of a batch is not an event: a witness, for each beginning of the run up to `last`.

    The witness is a partition whose record at `last` the event would not write, or one (`last` is `end`) without a record; None is
    one that the image does not have.
    """

    end: int
    last: int
    witness: FoldedPartition | None
    about: object


class EventRequests:
    """What events ask and write on an image."""

    def __init__(self, image: Image, min_isr: Callable[[bytes], int], unclean: Callable[[bytes], bool]) -> None:
        self.image = image
        self.predictions = Predictions()
        self.ruling: Ruling = Ruling(RELEASES[-1], False, False)
        self._min_isr, self._unclean = min_isr, unclean

    def least(self, partition: FoldedPartition) -> int:
        """Return the effective min.insync.replicas: at most the replicas of the topic's partition 0 (getTopicEffectiveMinIsr)."""
        first = self.image.find(partition.topic_id, 0)
        return effective_min_isr(self._min_isr(partition.topic_id), NO_PARTITION_0 if first is None else len(first.shape.replicas))

    def election(self, partition: FoldedPartition) -> ElectionKind:
        """Return the kind of election of ordinary changes: unclean ones where the topic allows them."""
        allowed = self._unclean(partition.topic_id)
        return ElectionKind(ordinary_election(allowed, self.ruling.k.unclean_setting_honoured))

    def acceptable(self, partition: FoldedPartition, active: BrokerSet) -> BrokerSet:
        """Return the active brokers that can lead a partition: not those whose directory of it is offline (KIP-858)."""
        return active & ~self.image.offline(partition)

    def concerned(
        self, partitions: Iterable[FoldedPartition], active: BrokerSet, left: int | None = None, lossy: int | None = None
    ) -> Predicted:
        """Return what an event over many partitions asks of each; `left` leaves the ISR (generateLeaderAndIsrUpdates)."""
        lost = NO_BROKERS if lossy is None else singleton(lossy)
        found = {}
        for partition in partitions:
            isr = tuple(broker for broker in partition.shape.isr if broker != left)
            asked = AskedShape(isr, self.acceptable(partition, active), self.least(partition), self.election(partition), None, lost)
            if self.predict(partition, asked) is not None:
                found[partition] = asked
        return found

    def predict(self, partition: FoldedPartition, asked: AskedShape) -> ShapeChange | None:
        """Return the change that an event writes."""
        return self.predictions.predict(self.ruling, partition.shape, asked)

    def removal(self, broker: int) -> Predicted:
        """Return what is asked when a broker leaves every ISR."""
        return self.concerned(self.image.in_isr[broker], excluding(self.image.active, broker), broker)

    def find(self, entry: MetadataEntry) -> FoldedPartition | None:
        """Return the partition that a change names."""
        return self.image.find(entry.record.topic_id, entry.record.partition_id)

    def wrote(self, predicted: Predicted, entries: Sequence[MetadataEntry]) -> bool:
        """Whether records are exactly the changes of an event, in any order."""
        if len(entries) != len(predicted):
            return False
        for entry in entries:
            partition = self.find(entry)
            if partition is None or not self.wrote_one(predicted, partition, entry):
                return False
        return len({(entry.record.topic_id, entry.record.partition_id) for entry in entries}) == len(entries)

    def wrote_one(self, predicted: Predicted, partition: FoldedPartition, entry: MetadataEntry) -> bool:
        """Whether a record is the change of an event of its partition."""
        asked = predicted.get(partition)
        if asked is None or self.predict(partition, asked) != recorded(entry.record):
            return False
        directories: object = entry.record.directories
        return directories == self.directories_after(partition, entry.record.replicas)

    def refusal(self, predicted: Predicted, entries: Sequence[MetadataEntry], end: int) -> Refusal:
        """Return why records that end before `end` are not exactly the changes of an event: what refuses as long as possible."""
        seen: set[FoldedPartition] = set()
        last = place = end
        witness: FoldedPartition | None = None
        for entry in reversed(entries):
            place -= 1
            partition = self.find(entry)
            if last == end and (partition is None or partition in seen or not self.wrote_one(predicted, partition, entry)):
                last, witness = place, partition
            if partition is not None:
                seen.add(partition)
        absent = next((one for one in predicted if one not in seen), None)
        if absent is not None:
            last, witness = end, absent
        return Refusal(end, last, witness, self._about(witness))

    def refuses(self, known: Refusal, place: int, end: int) -> bool:
        """Whether a refusal holds for the records from `place` on: its witness is still among them, and as it was."""
        return known.end == end and place <= known.last and known.about == self._about(known.witness)

    def _about(self, partition: FoldedPartition | None) -> object:
        """Return what the request of an event over many partitions depends on, of one of them."""
        brokers = (self.image.active, {number: one.directories for number, one in self.image.brokers.items()})
        return brokers if partition is None else (*brokers, partition.shape, partition.directories, self.least(partition))

    def directories_after(self, partition: FoldedPartition, replicas: tuple[int, ...] | None) -> tuple[bytes, ...] | None:
        """Return the directories that a change of the replicas writes, None if they stay: those of replicas that stay are kept."""
        if replicas is None or not partition.directories:
            return None
        known = dict(zip(partition.shape.replicas, partition.directories, strict=False))
        wanted = tuple(known[broker] if broker in known else self.new_directory(broker) for broker in replicas)
        return None if wanted == partition.directories else wanted

    def new_directory(self, broker: int) -> bytes:
        """Return the directory that a new replica gets: the broker's only one, or none yet (ClusterControlManager.defaultDir)."""
        known = self.image.brokers.get(broker)
        if known is None:
            return UNASSIGNED_DIRECTORY
        if not known.directories:
            return MIGRATING_DIRECTORY
        return known.directories[0] if len(known.directories) == 1 else UNASSIGNED_DIRECTORY
