"""The metadata image: everything that the metadata log says up to an offset.

Applying a record derives what the record leaves out: each change of a partition raises its partition epoch, and one that names a
leader its leader epoch.

Source: Kafka 3.9 MetadataImage.java, ClusterImage.java, TopicsImage.java, PartitionRegistration.merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from kafka_spec.impl.kraft.records import (
    BROKER_CONFIG,
    FENCED,
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
    TOPIC_CONFIG,
    UNCHANGED,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    LogEntry,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from kafka_spec.impl.protocol.kraft_requests import BrokerEndpoint, BrokerFeature
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN, UNFENCED, BrokerState
from kafka_spec.spec.kraft.machines import FENCED as IS_FENCED
from kafka_spec.spec.language.domain import NONE, BrokerSet, including

MIGRATING, UNASSIGNED = UUID(int=0), UUID(int=1)
"""The directory of a replica whose broker does not name its directories, and of one whose place is not known yet (DirectoryId)."""


class InconsistentLog(ValueError):  # noqa: N818 - the name is the message
    """A record refers to what the log before it does not have, which no controller writes."""


@dataclass(frozen=True)
class RegisteredBroker:
    """A registered broker."""

    broker: int
    epoch: int
    incarnation: UUID
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[UUID, ...] = ()
    """The ids of its log directories that are online; none of a broker that does not say (before 3.7)."""
    rack: str | None = None
    end_points: tuple[BrokerEndpoint, ...] = ()
    features: tuple[BrokerFeature, ...] = ()

    @property
    def state(self) -> BrokerState:
        """Its state in the table of registrations."""
        if self.fenced:
            return IS_FENCED
        return CONTROLLED_SHUTDOWN if self.in_controlled_shutdown else UNFENCED


@dataclass(frozen=True)
class RegisteredPartition:
    """A partition; the order of its lists is that of the records. `last_known` is the last known leader, NONE if there is none."""

    topic_id: UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    last_known: int = NONE
    recovery: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    directories: tuple[UUID, ...] = ()
    """The log directory of each replica, in the order of the replicas; none before metadata.version 3.7-IV2."""

    def directory_of(self, broker: int) -> UUID | None:
        """Return the log directory of a broker's replica; None if it has no replica, or directories are not named."""
        return self.directories[self.replicas.index(broker)] if self.directories and broker in self.replicas else None

    def merged(self, change: PartitionChangeRecord) -> RegisteredPartition:
        """Return the partition after a change (PartitionRegistration.merge)."""
        names_leader = change.leader != NO_LEADER_CHANGE
        known = change.last_known_elr
        recovery = change.leader_recovery_state
        return replace(
            self,
            replicas=self.replicas if change.replicas is None else change.replicas,
            isr=self.isr if change.isr is None else change.isr,
            leader=change.leader if names_leader else self.leader,
            leader_epoch=self.leader_epoch + names_leader,
            partition_epoch=self.partition_epoch + 1,
            elr=self.elr if change.eligible_leader_replicas is None else change.eligible_leader_replicas,
            last_known=self.last_known if known is None else (known[0] if known else NONE),
            recovery=self.recovery if recovery == NO_RECOVERY_CHANGE else recovery,
            adding=self.adding if change.adding_replicas is None else change.adding_replicas,
            removing=self.removing if change.removing_replicas is None else change.removing_replicas,
            directories=change.directories or self.directories,
        )


def registered_by(record: RegisterBrokerRecord) -> RegisteredBroker:
    """Return the broker that a record registers."""
    return RegisteredBroker(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        record.fenced,
        record.in_controlled_shutdown,
        record.log_dirs,
        record.rack,
        record.end_points,
        record.features,
    )


def partition_of(record: PartitionRecord) -> RegisteredPartition:
    """Return the partition that a record describes."""
    return RegisteredPartition(
        record.topic_id,
        record.replicas,
        record.isr,
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        record.eligible_leader_replicas or (),
        record.last_known_elr[0] if record.last_known_elr else NONE,
        record.leader_recovery_state,
        record.adding_replicas,
        record.removing_replicas,
        record.directories,
    )


@dataclass(frozen=True)
class ClusterImage:
    """All metadata; `end` is the offset after the last record that it has."""

    end: int = 0
    brokers: Mapping[int, RegisteredBroker] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[UUID, str] = field(default_factory=lambda: MappingProxyType({}))
    partitions: Mapping[TopicPartition, RegisteredPartition] = field(default_factory=lambda: MappingProxyType({}))
    configs: Mapping[tuple[str, str], str] = field(default_factory=lambda: MappingProxyType({}))
    features: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    broker_configs: Mapping[tuple[str, str], str] = field(default_factory=lambda: MappingProxyType({}))
    """Settings of brokers by broker id and name; those of no broker are the defaults of the cluster."""
    next_producer_id: int = 0
    """The first id of the next block of ids for idempotent producers."""
    controllers: Mapping[int, RegisterControllerRecord] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def active(self) -> BrokerSet:
        """The brokers that may lead: registered, neither fenced nor in controlled shutdown."""
        return BrokerSet.of(broker for broker, known in self.brokers.items() if known.state == UNFENCED)

    def has_directory(self, held: RegisteredPartition, broker: int) -> bool:
        """Whether the log directory of a broker's replica is online, or is not known."""
        directory = held.directory_of(broker)
        return directory is None or self.is_online(broker, directory)

    def is_online(self, broker: int, directory: UUID) -> bool:
        """Whether a log directory of a broker is online, or is not known (BrokerRegistration.hasOnlineDir)."""
        online = self.brokers[broker].log_dirs if broker in self.brokers else ()
        return not online or directory in (MIGRATING, UNASSIGNED, *online)

    def without_directories(self, broker: int, offline: Iterable[UUID]) -> ClusterImage:
        """Return the image in which these log directories of a registered broker are offline."""
        known, failed = self.brokers[broker], frozenset(offline)
        online = tuple(directory for directory in known.log_dirs if directory not in failed)
        return replace(self, brokers=MappingProxyType({**self.brokers, broker: replace(known, log_dirs=online)}))

    def may_lead(self, held: RegisteredPartition, unfenced: int | None = None) -> BrokerSet:
        """The active brokers, and one that is unfenced now, whose log directory of a partition is online (LeaderAcceptor)."""
        active = self.active if unfenced is None else including(self.active, unfenced)
        return BrokerSet.of(broker for broker in BrokerSet(active) if self.has_directory(held, broker))

    def topic_id(self, name: str) -> UUID | None:
        """Return the id of the topic of a name, None if there is none."""
        return next((topic_id for topic_id, known in self.topics.items() if known == name), None)

    def epoch_of(self, broker: int) -> int:
        """Return a broker's epoch, -1 if it is not registered."""
        return self.brokers[broker].epoch if broker in self.brokers else -1

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead, and be in an ISR."""
        return broker in self.brokers and self.brokers[broker].state == UNFENCED

    def after(self, records: Iterable[LogEntry]) -> ClusterImage:
        """Return the image after these records.

        Raises:
            InconsistentLog: a record refers to an unknown topic, partition or registration.
        """
        delta = _Delta(self)
        for record in records:
            delta.apply(record)
        return delta.image()


class _Delta:
    """The changes of an image by some records; it copies only what they change."""

    def __init__(self, before: ClusterImage) -> None:
        self._before = before
        self._end = before.end
        self._brokers = dict(before.brokers)
        self._topics = dict(before.topics)
        self._partitions = dict(before.partitions)
        self._configs = dict(before.configs)
        self._features = dict(before.features)
        self._broker_configs = dict(before.broker_configs)
        self._next_producer_id = before.next_producer_id
        self._controllers = dict(before.controllers)

    def image(self) -> ClusterImage:
        """Return the image after all records."""
        seen = MappingProxyType
        return ClusterImage(
            self._end,
            seen(self._brokers),
            seen(self._topics),
            seen(self._partitions),
            seen(self._configs),
            seen(self._features),
            seen(self._broker_configs),
            self._next_producer_id,
            seen(self._controllers),
        )

    def apply(self, record: LogEntry) -> None:
        """Apply a record."""
        self._end += 1
        match record:
            case RegisterBrokerRecord():
                self._brokers[record.broker_id] = registered_by(record)
            case UnregisterBrokerRecord():
                del self._brokers[self._registered(record).broker]
            case RegisterControllerRecord():
                self._controllers[record.controller_id] = record
            case BrokerRegistrationChangeRecord():
                self._change_registration(record)
            case TopicRecord():
                self._topics[record.topic_id] = record.name
            case PartitionRecord():
                self._partitions[self._name(record)] = partition_of(record)
            case PartitionChangeRecord():
                name = self._name(record)
                if name not in self._partitions:
                    raise InconsistentLog(f"offset {self._end - 1} changes {name}, which does not exist")
                self._partitions[name] = self._partitions[name].merged(record)
            case RemoveTopicRecord():
                self._remove(record)
            case ConfigRecord():
                self._configure(record)
            case ClearElrRecord():
                self._clear_elr(record)
            case FeatureLevelRecord():
                self._features[record.name] = record.feature_level
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id

    def _topic(self, topic_id: UUID) -> str:
        if topic_id not in self._topics:
            raise InconsistentLog(f"offset {self._end - 1} names the unknown topic {topic_id}")
        return self._topics[topic_id]

    def _name(self, record: PartitionRecord | PartitionChangeRecord) -> TopicPartition:
        return TopicPartition(self._topic(record.topic_id), record.partition_id)

    def _remove(self, record: RemoveTopicRecord) -> None:
        """Forget a topic, its partitions and its configuration (TopicsDelta, ConfigurationsDelta)."""
        topic = self._topic(record.topic_id)
        del self._topics[record.topic_id]
        self._partitions = {name: held for name, held in self._partitions.items() if name.topic != topic}
        self._configs = {key: value for key, value in self._configs.items() if key[0] != topic}

    def _registered(self, record: BrokerRegistrationChangeRecord | UnregisterBrokerRecord) -> RegisteredBroker:
        """Return the registration that a record changes."""
        known = self._brokers.get(record.broker_id)
        if known is None or known.epoch != record.broker_epoch:
            raise InconsistentLog(
                f"offset {self._end - 1} changes broker {record.broker_id} under the broker epoch {record.broker_epoch}, "
                f"which is not registered"
            )
        return known

    def _change_registration(self, record: BrokerRegistrationChangeRecord) -> None:
        known = self._registered(record)
        fenced = known.fenced if record.fenced == UNCHANGED else record.fenced == FENCED
        stops = known.in_controlled_shutdown or record.in_controlled_shutdown != UNCHANGED
        online = record.log_dirs or known.log_dirs
        self._brokers[record.broker_id] = replace(known, fenced=fenced, in_controlled_shutdown=stops, log_dirs=online)

    def _configure(self, record: ConfigRecord) -> None:
        if record.resource_type not in (TOPIC_CONFIG, BROKER_CONFIG):
            raise InconsistentLog(f"offset {self._end - 1} configures a resource of the unknown type {record.resource_type}")
        configs = self._configs if record.resource_type == TOPIC_CONFIG else self._broker_configs
        if record.value is None:
            configs.pop((record.resource_name, record.name), None)
        else:
            configs[record.resource_name, record.name] = record.value

    def _clear_elr(self, record: ClearElrRecord) -> None:
        """Empty the ELR and the last known leader where there is one; each is a change of the partition (TopicDelta)."""
        if record.topic_name and record.topic_name not in self._topics.values():
            raise InconsistentLog(f"offset {self._end - 1} names the unknown topic {record.topic_name}")
        for name, held in self._partitions.items():
            if record.topic_name in ("", name.topic) and (held.elr or held.last_known != NONE):
                epoch = held.partition_epoch + 1
                self._partitions[name] = replace(held, elr=(), last_known=NONE, partition_epoch=epoch)
