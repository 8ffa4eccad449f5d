"""Explanations: each batch of the log as a sequence of events of the model, each computed by the controller's own decisions.

The longest event is tried first: fencing, unfencing, controlled shutdown, registration, unregistration, a failed directory change
every partition that they concern, and no other. Then one partition by itself. Kafka puts several events into one batch, so the
events of a batch follow each other; no record was met that needs another division, so nothing is taken back.

Source: Kafka 3.9 ReplicationControlManager.java, ClusterControlManager.java, QuorumController.java (appendLinger).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.predictions import AskedShape, Explained, Predicted, Predictions, recorded
from kafka_spec.conformance.metadata.rulings import RELEASES, Ruling
from kafka_spec.conformance.metadata.shapes import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    RESERVED_DIRECTORIES,
    UNASSIGNED_DIRECTORY,
    FoldedPartition,
    ShapeChange,
)
from kafka_spec.conformance.metadata.single_changes import explain_alone
from kafka_spec.impl.kraft.records import FENCED, UNFENCED
from kafka_spec.spec.decisions.partition_change import ElectionKind, effective_min_isr
from kafka_spec.spec.decisions.variants import Checked, NewIncarnation
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, excluding, including, singleton

NO_PARTITION_0 = 1 << 30
"""The replicas of a partition 0 that does not exist: it limits nothing."""
OTHER_EVENTS = {
    keys.NO_OP: "no-op", keys.FEATURE: "feature", keys.CLEAR_ELR: "clear the ELR", keys.REMOVE_TOPIC: "delete a topic",
    keys.CONFIG: "configure",
    keys.REGISTER_CONTROLLER: "register a controller", keys.UNREGISTER_CONTROLLER: "unregister a controller",
    keys.BEGIN_TRANSACTION: "transaction", keys.END_TRANSACTION: "transaction", keys.ABORT_TRANSACTION: "transaction",
    10: "delegation token", 26: "delegation token", 11: "SCRAM credential", 22: "SCRAM credential", 14: "client quota",
    15: "producer ids", 18: "ACL", 19: "ACL", 21: "migration from ZooKeeper",
}  # fmt: skip
"""The events that change no partition and no registration: one record each."""


class Explainer:
    """Explains batches on an image, by the decisions of a ruling, which `rule` sets."""

    def __init__(self, image: Image, min_isr: Callable[[bytes], int], unclean: Callable[[bytes], bool]) -> None:
        self.image = image
        self.events: Counter[str] = Counter()
        self.predictions = Predictions()
        self.ruling: Ruling = Ruling(RELEASES[-1], False, False)
        self._min_isr, self._unclean = min_isr, unclean
        self._acceptable: dict[Any, BrokerSet] = {}
        self._online: object = None

    # -----------------------------------------------------------------------------------------------------------------
    # What an event asks

    def least(self, partition: FoldedPartition) -> int:
        """Return the effective min.insync.replicas: at most the replicas of the topic's partition 0 (getTopicEffectiveMinIsr)."""
        first = self.image.find(partition.topic_id, 0)
        return effective_min_isr(self._min_isr(partition.topic_id), NO_PARTITION_0 if first is None else len(first.shape.replicas))

    def election(self, partition: FoldedPartition) -> ElectionKind:
        """Return the kind of election of ordinary changes: unclean ones where the topic allows them."""
        return ElectionKind.UNCLEAN if self._unclean(partition.topic_id) else ElectionKind.ONLINE

    def acceptable(self, partition: FoldedPartition, active: BrokerSet) -> BrokerSet:
        """Return the active brokers that can lead a partition: not those whose directory of it is offline (KIP-858)."""
        if not partition.directories:
            return active
        if self._online is not self.image.online:
            self._online = self.image.online
            self._acceptable.clear()
        key = (partition.shape.replicas, partition.directories)
        offline = self._acceptable.get(key)
        if offline is None:
            offline = self._acceptable[key] = self._offline(*key)
        return active & ~offline

    def _offline(self, replicas: tuple[int, ...], directories: tuple[bytes, ...]) -> BrokerSet:
        found = NO_BROKERS
        for broker, directory in zip(replicas, directories, strict=False):
            online = self.image.online.get(broker, frozenset())
            if directory == LOST_DIRECTORY or (online and directory not in RESERVED_DIRECTORIES and directory not in online):
                found = including(found, broker)
        return found

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
            asked = None if partition is None else predicted.get(partition)
            if partition is None or asked is None or self.predict(partition, asked) != recorded(entry.record):
                return False
            if entry.record.directories != self.directories_after(partition, entry.record.replicas):
                return False
        return len({(entry.record.topic_id, entry.record.partition_id) for entry in entries}) == len(entries)

    # -----------------------------------------------------------------------------------------------------------------
    # Events

    def explain(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the event that begins at a place of a batch, None if no event explains it.

        From `place` on, the records before `end` are changes of partitions.
        """
        key = entries[place].key
        if key == keys.PARTITION_CHANGE:
            return self._of_run(entries, place, end) or explain_alone(self, entries[place])
        if key in OTHER_EVENTS:
            return Explained(OTHER_EVENTS[key], 1)
        if key in (keys.TOPIC, keys.PARTITION):
            return self._creation(entries, place)
        if key == keys.REGISTER_BROKER:
            return self._registration(entries, place, place)
        if key == keys.UNREGISTER_BROKER:
            return self._unregistration(entries, place, place)
        return self._registration_change(entries, place)

    def _of_run(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the event that ends with the record of a registration after a run of changes."""
        if end >= len(entries):
            return None
        _, key, record = entries[end]
        if key == keys.REGISTER_BROKER:
            return self._registration(entries, place, end)
        if key == keys.UNREGISTER_BROKER:
            return self._unregistration(entries, place, end)
        if key not in (keys.FENCE_BROKER, keys.REGISTRATION_CHANGE):
            return None
        broker = record.id if key == keys.FENCE_BROKER else record.broker_id
        if not self._may_concern(entries, place, end, broker):
            return None
        run = entries[place:end]
        if key == keys.FENCE_BROKER or record.fenced == FENCED:
            predicted = self.removal(broker)
            return self._event("fence", broker, predicted, len(run) + 1) if self.wrote(predicted, run) else None
        if record.log_dirs and not record.fenced:
            predicted = self._lost_directories(broker, record.log_dirs)
            return self._event("directory fails", broker, predicted, len(run) + 1) if self.wrote(predicted, run) else None
        return None

    def _may_concern(self, entries: Sequence[MetadataEntry], place: int, end: int, broker: int) -> bool:
        """Whether a run of changes may be those of one broker: quickly refused if it is too long, or begins with another's."""
        partition = self.find(entries[place])
        most = len(self.image.in_isr[broker]) + len(self.image.in_elr[broker])
        return partition is not None and end - place <= most and broker in (*partition.shape.isr, *partition.shape.elr)

    def _lost_directories(self, broker: int, online: tuple[bytes, ...]) -> Predicted:
        """Return what is asked of the partitions whose directory on a broker is not online any more (handleDirectoriesOffline)."""
        known = self.image.brokers.get(broker)
        lost = set(known.directories) - set(online) if known is not None else set()
        found = []
        for partition in self.image.in_isr[broker]:
            places = dict(zip(partition.shape.replicas, partition.directories, strict=False))
            if places.get(broker) in lost:
                found.append(partition)
        return self.concerned(found, excluding(self.image.active, broker), broker)

    def _registration_change(self, entries: Sequence[MetadataEntry], place: int) -> Explained | None:
        """Return the event that begins with the change of a registration: an unfencing, a controlled shutdown, one alone."""
        _, key, record = entries[place]
        broker = record.broker_id if key == keys.REGISTRATION_CHANGE else record.id
        known = self.image.brokers.get(broker)
        if known is None or known.epoch != (record.broker_epoch if key == keys.REGISTRATION_CHANGE else record.epoch):
            return None
        fenced = {keys.FENCE_BROKER: FENCED, keys.UNFENCE_BROKER: UNFENCED}.get(key) or record.fenced
        if fenced == UNFENCED:
            if not known.fenced or known.stops:
                return None
            predicted = self.concerned(self.image.leaderless, including(self.image.active, broker))
            return self._followed("unfence", broker, predicted, entries, place)
        if fenced == FENCED:
            name = "fence again" if known.fenced else "fence"
            return Explained(name, 1, f"broker {broker}") if not self.removal(broker) else None
        if record.in_controlled_shutdown:
            if known.stops or known.fenced:
                return None
            return self._followed("controlled shutdown", broker, self.removal(broker), entries, place)
        if record.log_dirs and self._lost_directories(broker, record.log_dirs):
            return None
        reported = record.log_dirs or record.cordoned_log_dirs is not None
        return Explained("directories of a broker", 1, f"broker {broker}") if reported else None

    def _followed(
        self, name: str, broker: int, predicted: Predicted, entries: Sequence[MetadataEntry], place: int
    ) -> Explained | None:
        """Return an event whose changes follow the record of the registration."""
        run = entries[place + 1 : place + 1 + len(predicted)]
        if len(run) < len(predicted) or any(entry.key != keys.PARTITION_CHANGE for entry in run) or not self.wrote(predicted, run):
            return None
        return self._event(name, broker, predicted, len(run) + 1)

    def _registration(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the registration of a broker: of a new process with its cleanup, or of one that registers again."""
        record, run = entries[end].record, entries[place:end]
        broker, k = record.broker_id, self.ruling.k
        known = self.image.brokers.get(broker)
        if known is not None and known.incarnation == record.incarnation_id and k.same_incarnation_keeps_epoch == Checked.YES:
            same = (record.broker_epoch, record.fenced, record.in_controlled_shutdown) == (known.epoch, known.fenced, known.stops)
            return Explained("register again", 1, f"broker {broker}") if same and not run else None
        if record.broker_epoch != entries[place].offset or not record.fenced or record.in_controlled_shutdown:
            return None
        if known is None:
            return Explained("register", 1, f"broker {broker}") if not run else None
        if run and not self._may_concern(entries, place, end, broker):
            return None
        clean = self.removal(broker) if k.new_incarnation == NewIncarnation.LEAVES_ISR else {}
        if self.wrote(clean, run):
            return self._event("register", broker, clean, len(run) + 1)
        if k.elr == Checked.YES:
            both = self.image.in_isr[broker] | self.image.in_elr[broker]
            lossy = self.concerned(both, excluding(self.image.active, broker), broker, broker)
            if self.wrote(lossy, run):
                return self._event("register after an unclean shutdown", broker, lossy, len(run) + 1)
        return None

    def _unregistration(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        broker, run = entries[end].record.broker_id, entries[place:end]
        if run and not self._may_concern(entries, place, end, broker):
            return None
        predicted = {
            **self.concerned(self.image.in_elr[broker], excluding(self.image.active, broker), broker),
            **self.removal(broker),
        }
        return self._event("unregister", broker, predicted, len(run) + 1) if self.wrote(predicted, run) else None

    def _event(self, name: str, broker: int, predicted: Predicted, count: int) -> Explained:
        return Explained(name, count, f"broker {broker}", tuple(predicted.items()))

    # -----------------------------------------------------------------------------------------------------------------
    # Topics

    def _creation(self, entries: Sequence[MetadataEntry], place: int) -> Explained | None:
        """Return the creation of a topic, or of further partitions: each led by its first active replica (createTopic)."""
        _, key, record = entries[place]
        grows = key == keys.PARTITION
        name = self.image.names.get(record.topic_id, "") if grows else record.name
        end = place if grows else place + 1
        number = len(self.image.topics.get(record.topic_id, ())) if grows else 0
        while end < len(entries):
            _, key, one = entries[end]
            named = {keys.CONFIG: "resource_name", keys.CLEAR_ELR: "topic_name"}.get(key)
            if not grows and named is not None and getattr(one, named) == name:
                pass
            elif key == keys.PARTITION and one.topic_id == record.topic_id:
                if not self._begins_right(one):
                    return None
                number += 1
            else:
                break
            end += 1
        event = "add partitions" if grows else "create a topic"
        return Explained(event, end - place, name)

    def _begins_right(self, record: Any) -> bool:
        """Whether a new partition is as its creation makes it."""
        active = self.image.active if self.ruling.k.new_isr_active == Checked.YES else BrokerSet.of(record.replicas)
        isr = tuple(broker for broker in record.replicas if broker in active)
        lists = (record.adding_replicas or (), record.removing_replicas or (), record.eligible_leader_replicas or ())
        if not isr or record.isr != isr or record.leader != isr[0] or any(lists) or record.last_known_elr:
            return False
        if record.leader_epoch or record.partition_epoch or record.leader_recovery_state:
            return False
        wanted = tuple(self.new_directory(broker) for broker in record.replicas)
        return not record.directories or record.directories == wanted

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
