"""The judge of a metadata log: folds batch after batch into the image, and reports what must not happen, with its offset.

Incremental: a file, several nodes, a snapshot and a running cluster feed it alike. What holds after an event is asked at the end
of a batch, since an event writes its records into one batch (but for events of 10,000 records and more).

Source: Kafka 3.9 QuorumController.java, ClusterControlManager.java, ReplicationControlManager.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import LogBatch, MetadataEntry
from kafka_spec.conformance.metadata.claims import PropertyChecker
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.shapes import FoldedBroker, FoldedPartition, PartitionShape
from kafka_spec.conformance.outcome.violations import Violation, place_of
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.kraft.records import FENCED, NO_LEADER_CHANGE, UNFENCED
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.spec.kraft.machines import REGISTRATION, BrokerState

LARGEST_EVENT = 10_000
"""The records after which Kafka cuts an event into several batches (QuorumController.MAX_RECORDS_PER_BATCH)."""
LEADER_CHANGE = 2
"""The type of the control record that names the leader of an epoch."""
REGISTRATION_KEYS = frozenset(
    {keys.REGISTER_BROKER, keys.UNREGISTER_BROKER, keys.FENCE_BROKER, keys.UNFENCE_BROKER, keys.REGISTRATION_CHANGE}
)
CHANGES_OF_REGISTRATION = frozenset({(FENCED, 0), (UNFENCED, 0), (0, 0), (0, 1)})
"""What the record of a change has as `fenced` and as `in_controlled_shutdown`."""
SETS_TOPICS = frozenset({keys.CONFIG, keys.TOPIC, keys.REMOVE_TOPIC})
"""The records after which a topic may have another min.insync.replicas."""


def time_of(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970 as text, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


@dataclass
class Reign:
    """An epoch of the quorum: its leader, -1 if the log does not name it, and where it begins."""

    epoch: int
    controller: int
    first: int
    began: int


class Explains(Protocol):
    """Explains a batch, and applies its records by the judge's `apply`."""

    def batch(self, entries: Sequence[MetadataEntry]) -> None:
        """Take a batch."""


@dataclass
class LogJudge:
    """Folds batches, and reports violations. `place` of a violation is the number of a file and an offset."""

    settings: StaticSettings = field(default_factory=StaticSettings)
    image: Image = field(default_factory=Image)
    claims: PropertyChecker = field(default_factory=PropertyChecker)
    violations: list[Violation] = field(default_factory=list)
    kinds: Counter[int] = field(default_factory=Counter)
    records: int = 0
    batches: int = 0
    changes: int = 0
    reigns: list[Reign] = field(default_factory=list)
    unknown_tags: int = 0
    next: int | None = None
    """The offset that must come next."""
    open_transaction: list[tuple[int, LogBatch, Sequence[MetadataEntry]]] | None = None
    explaining: Explains | None = None
    """Explains the records before they are applied."""
    first_time: int = 0
    last_time: int = 0
    file: int = 0
    """The number of the current file."""
    _batch: LogBatch | None = None
    _touched: dict[FoldedPartition, int] = field(default_factory=dict)
    _moved: dict[int, int] = field(default_factory=dict)
    failing: dict[FoldedPartition, frozenset[str]] = field(default_factory=dict)
    unclean_topics: dict[bytes, bool] = field(default_factory=dict)
    """Whether topics allow unclean elections, as far as it was asked."""
    _min_isr: dict[bytes, int] = field(default_factory=dict)
    largest_broker_epoch: int = -1
    _registered: set[int] = field(default_factory=set)

    # -----------------------------------------------------------------------------------------------------------------
    # Batches

    def begin_with(self, image: Image, end: int) -> None:
        """Begin with the image of a snapshot of the log before `end`; it is judged too."""
        self.image, self.next = image, end
        self.forget_settings()
        self.largest_broker_epoch = max((broker.epoch for broker in image.brokers.values()), default=-1)
        for partition in image.all_partitions():
            self.judge_state(partition, end)

    def feed(self, batch: LogBatch, file: int = 0) -> None:
        """Take the next batch of the log."""
        self.file, self._batch = file, batch
        self.batches += 1
        self.first_time = self.first_time or batch.timestamp
        self.last_time = batch.timestamp
        if self.next is not None and batch.base != self.next:
            self.report("offsets-jump", batch.base, "the log", f"offset {batch.base} comes after {self.next - 1}")
        self.next = batch.last + 1
        try:
            entries = batch.entries()
        except UnreadableRecord as error:
            self.report("unreadable-record", batch.base, "the log", str(error))
            return
        if len(entries) != batch.last - batch.base + 1 or any(one.offset != batch.base + at for at, one in enumerate(entries)):
            text = f"the batch of offsets {batch.base} to {batch.last} has not a record for each"
            self.report("offsets-jump", batch.base, "the log", text)
        self._reign(batch, entries)
        if batch.is_control:
            self.image.take_control(entries)
        else:
            self._take(file, batch, entries)

    def _reign(self, batch: LogBatch, entries: Sequence[MetadataEntry]) -> None:
        """Note a new epoch of the quorum, and its leader."""
        newest = self.reigns[-1] if self.reigns else None
        if newest is not None and batch.epoch < newest.epoch:
            text = f"epoch {batch.epoch} comes after epoch {newest.epoch}"
            self.report("leader-epoch-of-quorum-back", batch.base, "the log", text)
            return
        changes = [one for one in entries if batch.is_control and one.key == LEADER_CHANGE]
        if newest is None or batch.epoch > newest.epoch:
            leader = changes[0].record.leader_id if changes else -1
            if newest is not None and not changes:
                text = f"epoch {batch.epoch} begins without the change of its leader"
                self.report("wrong-leader-change", batch.base, "the log", text)
            self.reigns.append(Reign(batch.epoch, leader, batch.base, batch.timestamp))
        elif changes:
            text = f"the leader of epoch {batch.epoch} changes: {newest.controller} was it, {changes[0].record.leader_id} is named"
            self.report("wrong-leader-change", batch.base, "the log", text)

    def _take(self, file: int, batch: LogBatch, entries: Sequence[MetadataEntry]) -> None:
        """Apply a batch, or hold it until its transaction ends (KIP-868)."""
        first, last = entries[0].key if entries else -1, entries[-1].key if entries else -1
        self._check_transaction(batch, entries)
        if first == keys.BEGIN_TRANSACTION and self.open_transaction is None:
            self.open_transaction = []
        if self.open_transaction is None:
            self._apply_batch(batch, entries)
            return
        self.open_transaction.append((file, batch, entries))
        if last == keys.ABORT_TRANSACTION:
            self.records += sum(len(held) for _, _, held in self.open_transaction)
            self.open_transaction = None
        elif last == keys.END_TRANSACTION:
            held, self.open_transaction = self.open_transaction, None
            for number, one, content in held:
                self.file, self._batch = number, one
                self._apply_batch(one, content)

    def _check_transaction(self, batch: LogBatch, entries: Sequence[MetadataEntry]) -> None:
        """Report a transaction that begins in another, or that ends without a beginning."""
        is_open = self.open_transaction is not None
        for entry in entries:
            if entry.key in (keys.BEGIN_TRANSACTION, keys.END_TRANSACTION, keys.ABORT_TRANSACTION):
                if is_open == (entry.key == keys.BEGIN_TRANSACTION):
                    text = "a transaction begins in another" if is_open else "a transaction ends that has not begun"
                    self.report("wrong-transaction", entry.offset, "the log", text)
                is_open = entry.key == keys.BEGIN_TRANSACTION

    def _apply_batch(self, batch: LogBatch, entries: Sequence[MetadataEntry]) -> None:
        self._registered = {one.record.broker_id for one in entries if one.key == keys.REGISTER_BROKER}
        self.apply_entries(entries)
        if len(entries) < LARGEST_EVENT:
            self._end_of_event()

    def apply_entries(self, entries: Sequence[MetadataEntry]) -> None:
        """Apply the records of a batch, each judged by itself, and explained if that is wanted."""
        if self.explaining is not None:
            self.explaining.batch(entries)
            return
        for entry in entries:
            self.apply(entry)

    def apply(self, entry: MetadataEntry) -> None:
        """Judge and apply a record."""
        offset, key, record = entry
        self.records += 1
        self.kinds[key] += 1
        if record.unknown_tags:
            self.unknown_tags += 1
        if key == keys.PARTITION_CHANGE:
            self._change(offset, record)
            return
        if key in REGISTRATION_KEYS:
            self._registration(offset, key, record)
            return
        missing = self.image.apply(key, record)
        if key in SETS_TOPICS:
            self.forget_settings()
            if key == keys.CONFIG and record.resource_type == keys.TOPIC_RESOURCE and record.resource_name not in self.image.ids:
                self.report("refers-to-nothing", offset, record.resource_name, "it is configured, and does not exist")
        if missing:
            self.report("refers-to-nothing", offset, "the log", f"a {SCHEMAS[key].name} names {missing}")
        elif key == keys.PARTITION:
            self._begin_partition(offset, record)

    # -----------------------------------------------------------------------------------------------------------------
    # Partitions

    def forget_settings(self) -> None:
        """Forget what topics were set to, since that may have changed."""
        self._min_isr.clear()
        self.unclean_topics.clear()

    def min_isr(self, topic_id: bytes) -> int:
        """Return min.insync.replicas of a topic."""
        known = self._min_isr.get(topic_id)
        if known is None:
            reported = self.image.setting(self.image.names.get(topic_id, ""), MIN_ISR)
            known = int(reported) if reported is not None and reported.isdigit() else self.settings.min_isr
            self._min_isr[topic_id] = known
        return known

    def _change(self, offset: int, record: Any) -> None:
        self.changes += 1
        image = self.image
        partition = image.find(record.topic_id, record.partition_id)
        if partition is None:
            name = f"{image.names.get(record.topic_id, record.topic_id.hex())}-{record.partition_id}"
            self.report("refers-to-nothing", offset, name, "a PartitionChangeRecord names a partition that does not exist")
            return
        old = partition.shape
        if strange := image.change(partition, record):
            self.report("refers-to-nothing", offset, image.name_of(partition), f"a PartitionChangeRecord names {strange}")
            return
        self._touched[partition] = offset
        new = partition.shape
        failed = self.claims.of_change(image, old, new, int(record.leader != NO_LEADER_CHANGE), self.min_isr(partition.topic_id))
        for name in failed:
            if name == "too-few-candidates" and self._lost(old, new) <= self._registered:
                continue
            self.report(name, offset, image.name_of(partition), f"{shown(old)}; then {shown(new)}")
        if partition.directories and len(partition.directories) != len(new.replicas):
            text = f"{len(partition.directories)} directories of {len(new.replicas)} replicas"
            self.report("wrong-directories", offset, image.name_of(partition), text)

    @staticmethod
    def _lost(old: PartitionShape, new: PartitionShape) -> set[int]:
        return {*old.isr, *old.elr} - {*new.isr, *new.elr}

    def _begin_partition(self, offset: int, record: Any) -> None:
        partition = self.image.find(record.topic_id, record.partition_id)
        assert partition is not None
        self._touched[partition] = offset
        if partition.leader_epoch or partition.partition_epoch:
            text = f"it starts with leader epoch {partition.leader_epoch} and partition epoch {partition.partition_epoch}"
            self.report("wrong-beginning", offset, self.image.name_of(partition), text)
        if record.schema_version and len(record.directories) != len(record.replicas):  # version 0 has none
            text = f"{len(record.directories)} directories of {len(record.replicas)} replicas"
            self.report("wrong-directories", offset, self.image.name_of(partition), text)

    # -----------------------------------------------------------------------------------------------------------------
    # Registrations

    def _registration(self, offset: int, key: int, record: Any) -> None:
        number = record.id if key in (keys.FENCE_BROKER, keys.UNFENCE_BROKER) else record.broker_id
        old = self.image.brokers.get(number)
        before = self.image.state_of(number)
        if key == keys.REGISTER_BROKER:
            self._register(offset, record, old)
        missing = self.image.apply(key, record)
        if missing:
            self.report("refers-to-nothing", offset, f"broker {number}", f"a {SCHEMAS[key].name} names {missing}")
            return
        self._moved[number] = offset
        after = self.image.state_of(number)
        same_process = key == keys.REGISTER_BROKER and old is not None and old.incarnation == record.incarnation_id
        if (
            before != after
            and not same_process
            and key != keys.UNREGISTER_BROKER
            and (before, after) not in REGISTRATION.legal_pairs
        ):
            text = f"{BrokerState(before).name} to {BrokerState(after).name} is not a row of its table"
            self.report("wrong-registration", offset, f"broker {number}", text)
        if key == keys.REGISTRATION_CHANGE and (record.fenced, record.in_controlled_shutdown) not in CHANGES_OF_REGISTRATION:
            text = f"its change has fenced {record.fenced} and in_controlled_shutdown {record.in_controlled_shutdown}"
            self.report("wrong-registration", offset, f"broker {number}", text)

    def _register(self, offset: int, record: Any, old: FoldedBroker | None) -> None:
        """Judge a registration."""
        subject, epoch = f"broker {record.broker_id}", record.broker_epoch
        same_process = old is not None and old.incarnation == record.incarnation_id
        if epoch > offset:
            self.report("broker-epoch", offset, subject, f"its broker epoch {epoch} is an offset after its record")
        if epoch <= self.largest_broker_epoch and not (same_process and old is not None and epoch == old.epoch):
            text = f"its broker epoch {epoch} is not larger than {self.largest_broker_epoch}, of a registration before"
            self.report("broker-epoch", offset, subject, text)
        self.largest_broker_epoch = max(self.largest_broker_epoch, epoch)
        if not record.fenced and not same_process:
            self.report("registered-unfenced", offset, subject, "a new process is registered, and not fenced")
        if old is not None:
            for name in self.claims.of_registration(old.epoch, epoch, same_process):
                self.report(name, offset, subject, f"broker epoch {old.epoch}, then {epoch}, of the same process")

    # -----------------------------------------------------------------------------------------------------------------
    # The end of an event

    def _end_of_event(self) -> None:
        """Judge what has changed: the partitions, and those that name a broker whose registration has changed."""
        for number, offset in self._moved.items():
            for partition in self.image.in_isr[number]:
                self._touched.setdefault(partition, offset)
        for partition, offset in self._touched.items():
            self.judge_state(partition, offset)
        self._touched.clear()
        self._moved.clear()

    def judge_state(self, partition: FoldedPartition, offset: int) -> None:
        """Report what a partition violates, but for what is reported already."""
        failed = self.claims.of_state(self.image, partition, self.min_isr(partition.topic_id))
        before = self.failing.pop(partition, frozenset())
        for name in failed:
            if name not in before:
                self.report(name, offset, self.image.name_of(partition), shown(partition.shape))
        if failed:
            self.failing[partition] = frozenset(failed)

    # -----------------------------------------------------------------------------------------------------------------
    # Reports

    @property
    def controller(self) -> int:
        """The active controller, -1 if the log does not name it."""
        return self.reigns[-1].controller if self.reigns else -1

    def report(self, kind: str, offset: int, subject: str, summary: str) -> None:
        """Note a violation at an offset of the current file."""
        self.report_at(kind, self.file, offset, subject, summary)

    def report_at(self, kind: str, file: int, offset: int, subject: str, summary: str) -> None:
        """Note a violation."""
        when = time_of(self._batch.timestamp) if self._batch is not None else ""
        actor = f"controller {self.controller}" if self.controller >= 0 else "the controller"
        self.violations.append(Violation(place_of(file, offset), kind, when, subject, actor, summary))


def shown(shape: PartitionShape) -> str:
    """Return a partition as text."""
    text = f"leader {'none' if shape.leader < 0 else shape.leader}, ISR {list(shape.isr)}, replicas {list(shape.replicas)}"
    for name, brokers in (
        ("ELR", shape.elr),
        ("last known", shape.last_known),
        ("adding", shape.adding),
        ("removing", shape.removing),
    ):
        if brokers:
            text += f", {name} {list(brokers)}"
    return text + (", RECOVERING" if shape.recovery else "")
