"""Explanations: each batch of the log as a sequence of events of the model, each computed by the controller's own decisions.

The longest event is tried first: fencing, unfencing, controlled shutdown, registration, unregistration, a failed directory change
every partition that they concern, and no other. Then one partition by itself. Kafka puts several events into one batch, so the
events of a batch follow each other; no record was met that needs another division, so nothing is taken back.

Source: Kafka 3.9 ReplicationControlManager.java, ClusterControlManager.java, QuorumController.java (appendLinger).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.event_requests import EventRequests, Refusal
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.predictions import Explained, Predicted
from kafka_spec.conformance.metadata.rulings import Ruling
from kafka_spec.conformance.metadata.shapes import LARGEST_BROKER
from kafka_spec.conformance.metadata.single_changes import explain_alone
from kafka_spec.impl.kraft.records import FENCED, UNFENCED
from kafka_spec.spec.decisions.kraft_variants import NewIncarnation
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import BrokerSet, excluding, including

MIN_ISR = "min.insync.replicas"
PRODUCER_IDS_IN_BLOCK = 1000
"""The producer ids that a broker gets at once (ProducerIdsBlock)."""
OTHER_EVENTS = {
    keys.NO_OP: "no-op",
    keys.FEATURE: "feature",
    keys.REMOVE_TOPIC: "delete a topic",
    keys.REGISTER_CONTROLLER: "register a controller",
    keys.UNREGISTER_CONTROLLER: "unregister a controller",
    keys.BEGIN_TRANSACTION: "transaction",
    keys.END_TRANSACTION: "transaction",
    keys.ABORT_TRANSACTION: "transaction",
    **dict.fromkeys((10, 26), "delegation token"),
    **dict.fromkeys((11, 22), "SCRAM credential"),
    **dict.fromkeys((18, 19), "ACL"),
    14: "client quota",
    21: "migration from ZooKeeper",
}
"""The events that change no partition and no registration: one record each."""

REPEATED = ", with changes repeated"
"""How the name of an event ends whose controller lists partitions more than once (cleared-elr-stays-listed)."""
MOST_REPEATS = 4
"""How often a controller may list each partition; a longer run of changes is quickly refused."""
MOST_REFUSALS = 64
"""The runs whose refusals are remembered: that of this batch under each ruling."""

NAMES_BROKER = frozenset({keys.REGISTER_BROKER, keys.UNREGISTER_BROKER, keys.REGISTRATION_CHANGE})
NAMES_ID = frozenset({keys.FENCE_BROKER, keys.UNFENCE_BROKER})
"""The records of registrations, by the name of the field that has the broker."""


class Explainer(EventRequests):
    """Explains batches on an image, by the decisions of a ruling, which `rule` sets."""

    def __init__(self, image: Image, min_isr: Callable[[bytes], int], unclean: Callable[[bytes], bool]) -> None:
        super().__init__(image, min_isr, unclean)
        self._refusals: dict[tuple[int, Ruling], Refusal] = {}
        """By the offset of the record that ends a run, and the ruling."""

    def explain(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the event that begins at a place of a batch, None if no event explains it.

        From `place` on, the records before `end` are changes of partitions.
        """
        key, record = entries[place].key, entries[place].record
        if self._names_nobody(key, record):
            return None
        if key == keys.PARTITION_CHANGE:
            return self._of_run(entries, place, end) or explain_alone(self, entries[place])
        if key in OTHER_EVENTS:
            return Explained(OTHER_EVENTS[key], 1)
        if key == keys.PRODUCER_IDS_KEY:
            return self._producer_ids(record)
        if key in (keys.CONFIG, keys.CLEAR_ELR):
            return self._configuration(entries, place)
        if key in (keys.TOPIC, keys.PARTITION):
            return self._creation(entries, place)
        if key == keys.REGISTER_BROKER:
            return self._registration(entries, place, place)
        if key == keys.UNREGISTER_BROKER:
            return self._unregistration(entries, place, place)
        return self._registration_change(entries, place)

    @staticmethod
    def _names_nobody(key: int, record: Any) -> bool:
        """Whether the record of a registration has an id that no broker can have."""
        number = record.broker_id if key in NAMES_BROKER else record.id if key in NAMES_ID else 0
        return not 0 <= number <= LARGEST_BROKER

    def _of_run(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the event that ends with the record of a registration after a run of changes."""
        if end >= len(entries):
            return None
        _, key, record = entries[end]
        if self._names_nobody(key, record):
            return None
        if key == keys.REGISTER_BROKER:
            return self._registration(entries, place, end)
        if key == keys.UNREGISTER_BROKER:
            return self._unregistration(entries, place, end)
        if key not in (keys.FENCE_BROKER, keys.REGISTRATION_CHANGE):
            return None
        broker = record.id if key == keys.FENCE_BROKER else record.broker_id
        if not self._may_concern(entries, place, end, broker):
            return None
        if key == keys.FENCE_BROKER or record.fenced == FENCED:
            return self._ended("fence", broker, entries, place, end, lambda: self.removal(broker))
        if record.log_dirs and not record.fenced:
            return self._ended(
                "directory fails", broker, entries, place, end, lambda: self._lost_directories(broker, record.log_dirs)
            )
        return None

    def _ended(
        self, name: str, broker: int, entries: Sequence[MetadataEntry], place: int, end: int, asks: Callable[[], Predicted]
    ) -> Explained | None:
        """Return an event whose changes come before the record of the registration.

        What refuses a run of changes mostly refuses each end of it, too: a large run is not predicted again for each record.
        """
        key = (entries[end].offset, self.ruling)
        known = self._refusals.get(key)
        if known is not None and self.refuses(known, place, end):
            return None
        predicted, run = asks(), entries[place:end]
        if self.wrote(predicted, run):
            return self._event(name, broker, predicted, len(run) + 1)
        if len(self._refusals) >= MOST_REFUSALS:
            self._refusals.clear()
        self._refusals[key] = self.refusal(predicted, run, end)
        return None

    def _may_concern(self, entries: Sequence[MetadataEntry], place: int, end: int, broker: int) -> bool:
        """Whether a run of changes may be those of one broker: quickly refused if it is too long, or begins with another's."""
        partition = self.find(entries[place])
        most = MOST_REPEATS * (len(self.image.in_isr[broker]) + len(self.image.in_elr[broker]))
        return partition is not None and end - place <= most and broker in (*partition.shape.isr, *partition.shape.elr)

    def _lost_directories(self, broker: int, online: tuple[bytes, ...]) -> Predicted:
        """Return what is asked of the partitions whose directory on a broker is not online any more (handleDirectoriesOffline)."""
        known = self.image.brokers.get(broker)
        lost = set(known.directories) - set(online) if known is not None else set()
        found = [partition for partition in self.image.in_isr[broker] if partition.directory_of(broker) in lost]
        return self.concerned(found, excluding(self.image.active, broker), broker)

    def _registration_change(self, entries: Sequence[MetadataEntry], place: int) -> Explained | None:
        """Return the event that begins with the change of a registration: an unfencing, a controlled shutdown, one alone."""
        _, key, record = entries[place]
        broker = record.broker_id if key == keys.REGISTRATION_CHANGE else record.id
        known = self.image.brokers.get(broker)
        if known is None or known.epoch != (record.broker_epoch if key == keys.REGISTRATION_CHANGE else record.epoch):
            return None
        told = key == keys.REGISTRATION_CHANGE and (record.log_dirs or record.cordoned_log_dirs is not None)
        if told and (record.fenced or record.in_controlled_shutdown):
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
        return Explained("directories of a broker", 1, f"broker {broker}") if told else None

    def _followed(
        self, name: str, broker: int, predicted: Predicted, entries: Sequence[MetadataEntry], place: int
    ) -> Explained | None:
        """Return an event whose changes follow the record of the registration."""
        run = entries[place + 1 : place + 1 + len(predicted)]
        if len(run) < len(predicted) or any(entry.key != keys.PARTITION_CHANGE for entry in run) or not self.wrote(predicted, run):
            return None
        return self._and_directory(self._event(name, broker, predicted, len(run) + 1), broker, entries, place)

    def _and_directory(self, found: Explained, broker: int, entries: Sequence[MetadataEntry], place: int) -> Explained:
        """Return an event, with a failed directory of the same heartbeat whose partitions it changes, too.

        The controller computes both on the state before them, so these partitions are changed twice (processBrokerHeartbeat).
        """
        start = place + found.records
        end = next((at for at in range(start, len(entries)) if entries[at].key != keys.PARTITION_CHANGE), len(entries))
        if end == len(entries) or entries[end].key != keys.REGISTRATION_CHANGE:
            return found
        record = entries[end].record
        if record.broker_id != broker or not record.log_dirs:
            return found
        lost = set(self.image.brokers[broker].directories) - set(record.log_dirs)
        if not any(part.directory_of(broker) in lost for part, _ in found.asked):
            return found
        if self.wrote(self._lost_directories(broker, record.log_dirs), entries[start:end]):
            return Explained(f"{found.name}, and a directory fails", end + 1 - place, found.subject, found.asked)
        return found

    def _registration(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Return the registration of a broker: of a new process with its cleanup, or of one that registers again.

        A broker that was unregistered may still be in ELRs, which its new registration then leaves.
        """
        record, run = entries[end].record, entries[place:end]
        broker, k = record.broker_id, self.ruling.k
        known = self.image.brokers.get(broker)
        if known is not None and known.incarnation == record.incarnation_id and k.same_incarnation_keeps_epoch == Checked.YES:
            same = (record.broker_epoch, record.fenced, record.in_controlled_shutdown) == (known.epoch, known.fenced, known.stops)
            return Explained("register again", 1, f"broker {broker}") if same and not run else None
        if record.is_migrating_zk_broker and self.ruling.release.name.startswith("4."):
            return None
        if record.broker_epoch != entries[place].offset or not record.fenced or record.in_controlled_shutdown:
            return None
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
            return self._repeated("register after an unclean shutdown", broker, lambda: lossy, run)
        return None

    def _repeated(self, name: str, broker: int, asks: Callable[[], Predicted], run: Sequence[MetadataEntry]) -> Explained | None:
        """Return an event that wrote some changes more than once, which needs eligible leader replicas; only then it is asked."""
        once = {(one.record.topic_id, one.record.partition_id): one for one in run}
        same = all(once[one.record.topic_id, one.record.partition_id].record == one.record for one in run)
        if len(once) == len(run) or not same or self.ruling.k.elr != Checked.YES:
            return None
        predicted = asks()
        return self._event(name + REPEATED, broker, predicted, len(run) + 1) if self.wrote(predicted, [*once.values()]) else None

    def _unregistration(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        broker = entries[end].record.broker_id
        if end > place and not self._may_concern(entries, place, end, broker):
            return None
        in_elr, rest = self.image.in_elr[broker], excluding(self.image.active, broker)

        def asks() -> Predicted:
            return {**self.concerned(in_elr, rest, broker), **self.removal(broker)}

        found = self._ended("unregister", broker, entries, place, end, asks)
        return found or self._repeated("unregister", broker, asks, entries[place:end])

    def _event(self, name: str, broker: int, predicted: Predicted, count: int) -> Explained:
        return Explained(name, count, f"broker {broker}", tuple(predicted.items()))

    def _producer_ids(self, record: Any) -> Explained | None:
        """Return the hand-out of a block of producer ids to a registered broker (ProducerIdControlManager)."""
        known = self.image.brokers.get(record.broker_id)
        before = self.image.others.get(keys.PRODUCER_IDS)
        first = 0 if before is None else before.next_producer_id
        if known is None or known.epoch != record.broker_epoch or record.next_producer_id != first + PRODUCER_IDS_IN_BLOCK:
            return None
        return Explained("producer ids", 1, f"broker {record.broker_id}")

    # -----------------------------------------------------------------------------------------------------------------
    # Topics

    def _configuration(self, entries: Sequence[MetadataEntry], place: int) -> Explained | None:
        """Return configurations, and the records that empty the ELR where min.insync.replicas is among them (KAFKA-16540).

        What enables eligible leader replicas sets the cluster's min.insync.replicas in the same batch, without emptying anything
        (maybeGenerateElrSafetyRecords).
        """
        end = place
        changed: set[str] = set()
        while end < len(entries) and entries[end].key == keys.CONFIG:
            one = entries[end].record
            if one.name == MIN_ISR and (one.resource_type == keys.TOPIC_RESOURCE or not one.resource_name):
                changed.add("" if one.resource_type == keys.BROKER_RESOURCE else one.resource_name)
            end += 1
        cleared: list[str] = []
        while end < len(entries) and entries[end].key == keys.CLEAR_ELR:
            cleared.append(entries[end].record.topic_name)
            end += 1
        wanted = ({""} if "" in changed else changed) if self.image.has_elr else set()
        enables = not cleared and any(one.key == keys.FEATURE and one.record.name == keys.ELR_FEATURE for one in entries[:place])
        if not enables and (len(cleared) != len(wanted) or set(cleared) != wanted):
            return None
        return Explained("configure, which empties the ELR" if cleared else "configure", end - place)

    def _creation(self, entries: Sequence[MetadataEntry], place: int) -> Explained | None:
        """Return the creation of a topic, or of further partitions: each led by its first active replica (createTopic)."""
        _, key, record = entries[place]
        grows = key == keys.PARTITION
        name = self.image.names.get(record.topic_id, "") if grows else record.name
        end = place if grows else place + 1
        changed = cleared = False
        while end < len(entries):
            _, key, one = entries[end]
            named = {keys.CONFIG: "resource_name", keys.CLEAR_ELR: "topic_name"}.get(key)
            if not grows and named is not None and getattr(one, named) == name:
                changed |= key == keys.CONFIG and one.name == MIN_ISR
                cleared |= key == keys.CLEAR_ELR
            elif key == keys.PARTITION and one.topic_id == record.topic_id:
                if not self._begins_right(one):
                    return None
            else:
                break
            end += 1
        if cleared != (changed and self.image.has_elr):
            return None
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
