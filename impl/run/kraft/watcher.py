"""What the properties of spec/kraft need to know of the past, for each partition of a run: what was committed, what was elected.

Source: `PastEvents` of spec/kraft/state.py; the rules note the same in the model.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredPartition
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.checkpoint import read_topic_id
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.operations import generation_of
from kafka_spec.spec.kraft.machines import LEADER
from kafka_spec.spec.kraft.state import PastEvents, StoredRecord
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet

FIRST, FROM_ISR, FROM_ELR, UNCLEAN = "first", "from the ISR", "from the ELR", "unclean"
WHY = (FIRST, FROM_ISR, FROM_ELR, UNCLEAN)


class KRaftWatcher:
    """The past of each partition, and the elections."""

    def __init__(self) -> None:
        self.past: dict[TopicPartition, PastEvents] = {}
        self.elections: Counter[str] = Counter()
        self._topics: dict[str, int] = {}
        self._created: Counter[str] = Counter()
        self._numbers: dict[bytes, int] = {}
        self._parsed = lru_cache(maxsize=1 << 14)(self._parse)
        self._seen: ClusterImage | None = None

    def of(self, partition: TopicPartition) -> PastEvents:
        """Return the past of a partition."""
        return self.past.setdefault(partition, PastEvents([], -1, NO_BROKERS, NO_BROKERS))

    def partitions(self) -> list[TopicPartition]:
        """Return every partition that there is, or was."""
        return sorted(self.past)

    # Topics and reassignments

    def topic_of(self, topic_id: str) -> int:
        """Return the number of a topic among those of its name, in the order of their creation."""
        return self._topics[topic_id]

    def _number_topics(self, image: ClusterImage) -> None:
        for topic_id, name in image.topics.items():
            if text_of(topic_id) not in self._topics:
                self._topics[text_of(topic_id)] = self._created[name]
                self._created[name] += 1

    def reassigned(self, partition: TopicPartition, before: RegisteredPartition, target: tuple[int, ...] | None) -> None:
        """Note what operators have asked for: a target, or None if they have cancelled the reassignment."""
        past = self.of(partition)
        if target is None:
            past.target = past.origin
            return
        if not before.adding and not before.removing:
            past.origin = BrokerSet.of(before.replicas)
        past.target = BrokerSet.of(target)

    # Records

    def entries(self, log: PartitionLog, start: int = 0, end: int | None = None) -> list[StoredRecord]:
        """Return the entries of a log; equal records have equal numbers."""
        found: list[StoredRecord] = []
        offset = start
        while (end is None or offset < end) and (data := log.read(offset, 1 << 20)):
            for batch, one in batches.split(data):
                found += [entry for at, entry in self._parsed(bytes(one)) if at >= start and (end is None or at < end)]
                offset = batch.last + 1
        return found

    def entries_of(self, cluster: KRaftNodes, number: int, partition: TopicPartition) -> list[StoredRecord]:
        """Return the entries of a broker's log, which is not open while the broker is down or has not applied the metadata log."""
        process = cluster.brokers.get(number)
        hosted = None if process is None else process.replicas.partitions.get(partition)
        if hosted is None or hosted.log is None:
            return self.entries_in(cluster.folder_of(number) / str(partition))
        return self.entries(hosted.log)

    def entries_in(self, folder: Path) -> list[StoredRecord]:
        """Return the entries of a log that is not open, up to the first batch that opening it would cut."""
        found: list[StoredRecord] = []
        with suppress(batches.Corrupt):
            for file in sorted(folder.glob("[0-9]*.log")):
                for _, one in batches.split(file.read_bytes()):
                    found += [entry for _, entry in self._parsed(bytes(one))]
        return found

    def _parse(self, data: bytes) -> list[tuple[int, StoredRecord]]:
        ((batch, _),) = batches.split(data)
        return [(record.offset, self._entry(record.value or b"", batch.epoch)) for record in batches.records(data)]

    def _entry(self, value: bytes, epoch: int) -> StoredRecord:
        """Return an entry; the records of operators' topics name the generation for which they were written."""
        topic = generation_of(value.decode()) - 1 if b"/" in value else 0
        return StoredRecord(self._numbers.setdefault(value, len(self._numbers)), epoch, topic)

    def changed(self, cluster: KRaftNodes, number: int, partition: TopicPartition) -> None:
        """Note what is below a leader's high watermark, unless an unclean election has replaced the leader."""
        process = cluster.brokers.get(number)
        if process is None or process.replicas.role_of(partition) != LEADER:
            return
        hosted, past = process.replicas.partitions[partition], self.of(partition)
        held = cluster.controller.image.partitions.get(partition)
        if held is None or text_of(held.topic_id) != hosted.topic_id:
            return
        if hosted.leader_epoch >= past.unclean_epoch and hosted.high_watermark > len(past.committed):
            past.committed += self.entries(hosted.opened, len(past.committed), hosted.high_watermark)

    # Elections

    def looked(self, cluster: KRaftNodes) -> list[str]:
        """Count the elections since the last call, and note what unclean ones have lost; return them in words."""
        controller, reported = cluster.controller, []
        unclean, controller.unclean_elections = controller.unclean_elections, []
        before, self._seen = self._seen, controller.image
        self._number_topics(controller.image)
        for partition in () if before is None else before.partitions:
            if partition not in controller.image.partitions:
                self.past[partition] = PastEvents([], -1, NO_BROKERS, NO_BROKERS)
        for partition, held in controller.image.partitions.items():
            old = None if before is None else before.partitions.get(partition)
            if old is None or old.topic_id != held.topic_id:
                old, self.past[partition] = None, PastEvents([], -1, NO_BROKERS, BrokerSet.of(held.replicas))
            if old is not None and (old is held or old.leader_epoch == held.leader_epoch):
                continue
            if held.leader == NONE:
                reported.append(f"{partition} has no leader, in leader epoch {held.leader_epoch}")
                continue
            why = FIRST if old is None else FROM_ELR if held.leader in old.elr else FROM_ISR
            if partition in unclean:
                why = UNCLEAN
                self.forget_lost(cluster, partition, held.leader, held.leader_epoch)
            self.elections[why] += 1
            reported.append(
                f"the controller elects broker {held.leader} for {partition} under leader epoch {held.leader_epoch}: {why}"
            )
        return reported

    def forget_lost(self, cluster: KRaftNodes, partition: TopicPartition, leader: int, epoch: int) -> None:
        """After an unclean election only what the new leader holds counts as committed: nothing if it may yet delete its log."""
        past = self.of(partition)
        held = [] if may_delete_its_log(cluster, leader, partition) else self.entries_of(cluster, leader, partition)
        kept = 0
        while kept < min(len(held), len(past.committed)) and held[kept] == past.committed[kept]:
            kept += 1
        past.unclean_epoch = epoch
        del past.committed[kept:]


def may_delete_its_log(cluster: KRaftNodes, number: int, partition: TopicPartition) -> bool:
    """Whether a broker will meet an image in which it has no replica of the topic whose log it holds.

    The model has the same function (spec/kraft/controller.py).
    """
    topic_id, process = read_topic_id(cluster.folder_of(number) / str(partition)), cluster.brokers.get(number)
    images = cluster.log.images
    first = len(images) - 1 if process is None else bisect_left(images, process.metadata_end, key=lambda image: image.end)
    ahead = (image.partitions.get(partition) for image in images[first:])
    return any(held is None or text_of(held.topic_id) != topic_id or number not in held.replicas for held in ahead)
