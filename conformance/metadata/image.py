"""The metadata image, folded in place: everything that the log says up to an offset, with indexes by broker.

Only what replay does is here; what must not happen is judged elsewhere. A record that refers to what the log does not have changes
nothing: `apply` returns what it lacks.

Source: Kafka 3.9 PartitionRegistration.merge, ClusterControlManager.replay, ReplicationControlManager.replay, MetadataImage.java.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from kafka_spec.conformance.metadata.offline import offline_in
from kafka_spec.conformance.metadata.shapes import (
    LARGEST_BROKER,
    STRANGE_BROKER,
    FoldedBroker,
    FoldedPartition,
    PartitionShape,
    bare,
    change_of,
    merged,
)
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.kraft.records import FENCED, NO_LEADER_CHANGE
from kafka_spec.spec.kraft.machines import UNREGISTERED, BrokerState
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet

REGISTER_BROKER, UNREGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE = range(6)
FENCE_BROKER, UNFENCE_BROKER, REMOVE_TOPIC, FEATURE, REGISTRATION_CHANGE, NO_OP = 7, 8, 9, 12, 17, 20
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
REGISTER_CONTROLLER, CLEAR_ELR, UNREGISTER_CONTROLLER = 27, 28, 29
"""The keys of records that the image or the validator knows by name."""
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
ELR_FEATURE, METADATA_VERSION = "eligible.leader.replicas.version", "metadata.version"

PRODUCER_IDS_KEY, PRODUCER_IDS = 15, ("producer ids",)
OTHER_IDENTITIES: dict[int, Callable[[Any], Any]] = {
    10: lambda r: ("token", r.token_id), 26: lambda r: ("token", r.token_id),
    11: lambda r: ("scram", r.name, r.mechanism), 22: lambda r: ("scram", r.name, r.mechanism),
    14: lambda r: ("quota", bare(r.entity), r.key), 15: lambda r: PRODUCER_IDS, 21: lambda r: ("migration",),
    18: lambda r: ("acl", r.id), 19: lambda r: ("acl", r.id),
    27: lambda r: ("controller", r.controller_id), 29: lambda r: ("controller", r.controller_id),
}  # fmt: skip
"""What a record of another kind replaces, or takes away."""
TAKES_AWAY = frozenset({19, 22, 26, 29})
QUORUM_RECORDS = (5, 6)
"""The types of control records about the quorum, in the order in which a snapshot has them."""


class Image:
    """All metadata up to an offset, changed in place."""

    def __init__(self) -> None:
        self.brokers: dict[int, FoldedBroker] = {}
        self.names: dict[bytes, str] = {}
        self.ids: dict[str, bytes] = {}
        self.topics: dict[bytes, dict[int, FoldedPartition]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.others: dict[Any, Any] = {}
        self.quorum: dict[int, Any] = {}
        """The control records that a snapshot repeats, by their types: the version of the quorum's protocol, and its voters."""
        self.in_isr: dict[int, dict[FoldedPartition, None]] = defaultdict(dict)
        self.in_elr: dict[int, dict[FoldedPartition, None]] = defaultdict(dict)
        self.leaderless: dict[FoldedPartition, None] = {}
        """The partitions by the brokers in their ISR and their ELR, and those without a leader: sets that keep an order."""
        self.partitions = 0
        self._shapes: dict[PartitionShape, PartitionShape] = {}
        self._active: BrokerSet | None = None
        self._registrations: frozenset[tuple[int, BrokerState]] | None = None
        self._offline: dict[tuple[tuple[int, ...], tuple[bytes, ...]], BrokerSet] = {}
        self._apply: dict[int, Callable[[Any], str | None]] = {
            REGISTER_BROKER: self._register,
            UNREGISTER_BROKER: lambda record: self._registration(record, record.broker_id, record.broker_epoch, None),
            FENCE_BROKER: lambda record: self._registration(record, record.id, record.epoch, True),
            UNFENCE_BROKER: lambda record: self._registration(record, record.id, record.epoch, False),
            REGISTRATION_CHANGE: self._change_registration,
            TOPIC: self._topic,
            PARTITION: self._partition,
            PARTITION_CHANGE: self._change_partition,
            REMOVE_TOPIC: self._remove_topic,
            CONFIG: self._configure,
            FEATURE: self._feature,
            CLEAR_ELR: self._clear_elr,
            NO_OP: lambda _: None,
            **dict.fromkeys((BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION), lambda _: None),
        }

    # -----------------------------------------------------------------------------------------------------------------
    # Questions

    @property
    def active(self) -> BrokerSet:
        """The brokers that may lead: registered, neither fenced nor in controlled shutdown."""
        if self._active is None:
            self._active = BrokerSet.of(number for number, broker in self.brokers.items() if broker.active)
        return self._active

    @property
    def registrations(self) -> frozenset[tuple[int, BrokerState]]:
        """The states of all registered brokers."""
        if self._registrations is None:
            self._registrations = frozenset((number, broker.state) for number, broker in self.brokers.items())
        return self._registrations

    def offline(self, partition: FoldedPartition) -> BrokerSet:
        """Return the brokers whose log directory of a partition is offline."""
        if not partition.directories:
            return NO_BROKERS
        key = (partition.shape.replicas, partition.directories)
        if key not in self._offline:
            self._offline[key] = offline_in(self.brokers, *key)
        return self._offline[key]

    @property
    def has_elr(self) -> bool:
        """Whether eligible leader replicas are enabled."""
        return self.features.get(ELR_FEATURE, 0) >= 1

    @property
    def metadata_version(self) -> int:
        """The level of metadata.version, 0 if the log has not set it."""
        return self.features.get(METADATA_VERSION, 0)

    def state_of(self, broker: int) -> BrokerState:
        """Return the state of a broker in the table of registrations."""
        return self.brokers[broker].state if broker in self.brokers else UNREGISTERED

    def name_of(self, partition: FoldedPartition) -> str:
        """Return TOPIC-PARTITION."""
        return f"{self.names.get(partition.topic_id, partition.topic_id.hex())}-{partition.number}"

    def find(self, topic_id: bytes, number: int) -> FoldedPartition | None:
        """Return a partition, None if it does not exist."""
        there = self.topics.get(topic_id)
        return None if there is None else there.get(number)

    def setting(self, topic: str, name: str) -> str | None:
        """Return a setting of a topic, or else of the cluster; None if the log sets neither."""
        for place in ((TOPIC_RESOURCE, topic), (BROKER_RESOURCE, "")):
            value = self.configs.get(place, {}).get(name)
            if value is not None:
                return value
        return None

    def all_partitions(self) -> Iterable[FoldedPartition]:
        """Yield all partitions, by topic."""
        for partitions in self.topics.values():
            yield from partitions.values()

    # -----------------------------------------------------------------------------------------------------------------
    # Replay

    def apply(self, key: int, record: Any) -> str | None:
        """Apply a record; return None, or what it refers to that the log does not have."""
        change = self._apply.get(key)
        return self._other(key, record) if change is None else change(record)

    def take_control(self, entries: Iterable[tuple[int, int, Any]]) -> None:
        """Keep the control records that a snapshot repeats (KRaftVersionRecord, VotersRecord)."""
        self.quorum.update({key: record for _, key, record in entries if key in QUORUM_RECORDS})

    def interned(self, shape: PartitionShape) -> PartitionShape:
        """Return the one copy of a shape that all partitions share."""
        return self._shapes.setdefault(shape, shape)

    def _index(self, partition: FoldedPartition, old: PartitionShape | None, new: PartitionShape | None) -> None:
        for sets, before, after in (
            (self.in_isr, old.isr if old else (), new.isr if new else ()),
            (self.in_elr, old.elr if old else (), new.elr if new else ()),
        ):
            if before != after:
                for broker in before:
                    sets[broker].pop(partition, None)
                for broker in after:
                    sets[broker][partition] = None
        if new is not None and new.leader < 0:
            self.leaderless[partition] = None
        elif old is not None and old.leader < 0:
            self.leaderless.pop(partition, None)

    def _change_partition(self, record: Any) -> str | None:
        partition = self.find(record.topic_id, record.partition_id)
        if partition is None:
            return "a partition that does not exist"
        return self.change(partition, record)

    def change(self, partition: FoldedPartition, record: Any) -> str | None:
        """Apply a change of a partition; return what it names that cannot be."""
        change = change_of(record)
        old = partition.shape
        shape = merged(old, change)
        if shape != old:
            known = self._shapes.get(shape)
            if known is None:
                if not shape.is_sound():
                    return STRANGE_BROKER
                known = self._shapes[shape] = shape
            partition.shape = shape = known
            if old.isr != shape.isr or old.elr != shape.elr or old.leader != shape.leader:
                self._index(partition, old, shape)
        if change.leader != NO_LEADER_CHANGE:
            partition.leader_epoch += 1
        partition.partition_epoch += 1
        if record.directories is not None:
            partition.directories = record.directories
        return None

    def _partition(self, record: Any) -> str | None:
        if record.topic_id not in self.names:
            return "a topic that does not exist"
        shape = self.interned(
            PartitionShape(
                record.replicas,
                record.isr,
                record.leader,
                record.eligible_leader_replicas or (),
                record.last_known_elr or (),
                record.leader_recovery_state,
                record.adding_replicas or (),
                record.removing_replicas or (),
            )
        )
        if not shape.is_sound():
            return STRANGE_BROKER
        there = self.topics[record.topic_id]
        known = there.get(record.partition_id)
        if known is not None:
            self._index(known, known.shape, None)
        made = FoldedPartition(
            record.topic_id, record.partition_id, shape, record.leader_epoch, record.partition_epoch, record.directories or ()
        )
        there[record.partition_id] = made
        self.partitions += known is None
        self._index(made, None, shape)
        return None if known is None else "a partition that exists already"

    def _topic(self, record: Any) -> str | None:
        if record.name in self.ids or record.topic_id in self.names:
            return "a topic that exists already"
        self.names[record.topic_id] = record.name
        self.ids[record.name] = record.topic_id
        self.topics[record.topic_id] = {}
        return None

    def _remove_topic(self, record: Any) -> str | None:
        name = self.names.pop(record.topic_id, None)
        if name is None:
            return "a topic that does not exist"
        del self.ids[name]
        for partition in self.topics.pop(record.topic_id).values():
            self._index(partition, partition.shape, None)
            self.leaderless.pop(partition, None)
            self.partitions -= 1
        self.configs.pop((TOPIC_RESOURCE, name), None)
        return None

    def _register(self, record: Any) -> str | None:
        if not 0 <= record.broker_id <= LARGEST_BROKER:
            return STRANGE_BROKER
        self.brokers[record.broker_id] = FoldedBroker(record)
        self._active = self._registrations = None
        self._offline.clear()
        return None

    def _registration(self, record: Any, number: int, epoch: int, fenced: bool | None) -> str | None:
        """Fence or unfence a broker, or take its registration away (`fenced` is None)."""
        broker = self.brokers.get(number)
        if broker is None or broker.epoch != epoch:
            return "a registration that is not current"
        self._active = self._registrations = None
        if fenced is None:
            self._offline.clear()
            del self.brokers[number]
        else:
            broker.fenced = fenced
        return None

    def _change_registration(self, record: Any) -> str | None:
        broker = self.brokers.get(record.broker_id)
        if broker is None or broker.epoch != record.broker_epoch:
            return "a registration that is not current"
        self._active = self._registrations = None
        if record.fenced:
            broker.fenced = record.fenced == FENCED
        if record.in_controlled_shutdown:
            broker.stops = True
        if record.log_dirs:
            broker.directories = record.log_dirs
            self._offline.clear()
        if record.cordoned_log_dirs is not None:
            broker.cordoned = record.cordoned_log_dirs
        return None

    def _configure(self, record: Any) -> str | None:
        place = (record.resource_type, record.resource_name)
        if record.value is not None:
            self.configs.setdefault(place, {})[record.name] = record.value
        elif place in self.configs:
            self.configs[place].pop(record.name, None)
            if not self.configs[place]:
                del self.configs[place]
        return None

    def _feature(self, record: Any) -> str | None:
        if record.feature_level:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)
        return None

    def _clear_elr(self, record: Any) -> str | None:
        """Empty the ELR of a topic's partitions, or of all; each change is one of the partition epoch."""
        if record.topic_name and record.topic_name not in self.ids:
            return "a topic that does not exist"
        topics = [self.ids[record.topic_name]] if record.topic_name else list(self.topics)
        for topic_id in topics:
            for partition in self.topics[topic_id].values():
                old = partition.shape
                if old.elr or old.last_known:
                    partition.shape = self.interned(old._replace(elr=(), last_known=()))
                    self._index(partition, old, partition.shape)
                    partition.partition_epoch += 1
        return None

    def _other(self, key: int, record: Any) -> str | None:
        identity = OTHER_IDENTITIES[key](record)
        if key in TAKES_AWAY or (key == 14 and record.remove):
            return None if self.others.pop(identity, None) is not None else f"what the log does not have ({SCHEMAS[key].title})"
        self.others[identity] = record
        return None
