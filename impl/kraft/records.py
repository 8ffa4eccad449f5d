"""The records of the metadata log, as data: what the controller commits, and what controllers and brokers apply.

A record is written in the smallest version that holds its fields; every Kafka that knows the era's metadata version reads that one.

Source: Kafka 3.9 and 4.1, metadata/src/main/resources/common/metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias
from uuid import UUID

from kafka_spec.impl.protocol.kraft_requests import BrokerEndpoint, BrokerFeature

NO_LEADER_CHANGE = -2
"""The leader of a PartitionChangeRecord that leaves leader and leader epoch as they are."""
NO_RECOVERY_CHANGE = -1
FENCED, UNFENCED, UNCHANGED = 1, -1, 0
"""Values of `fenced` in a BrokerRegistrationChangeRecord."""
TOPIC_CONFIG, BROKER_CONFIG = 2, 4
"""The resource types of a topic and of a broker in a ConfigRecord; a broker without a name is the default of all."""


@dataclass(frozen=True)
class ControllerEndpoint:
    """An address on which a controller listens."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True)
class ControllerFeature:
    """The levels of a feature that a controller supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


@dataclass(frozen=True)
class RegisterBrokerRecord:
    """A broker's process has registered; it is fenced, unless the same process had registered before."""

    key: ClassVar[int] = 0

    broker_id: int
    incarnation_id: UUID
    broker_epoch: int
    end_points: tuple[BrokerEndpoint, ...] = ()
    features: tuple[BrokerFeature, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[UUID, ...] = ()
    """The ids of its log directories (KIP-858)."""

    @property
    def version(self) -> int:
        """The version that it is written in."""
        return 3 if self.log_dirs else 1


@dataclass(frozen=True)
class UnregisterBrokerRecord:
    """A broker is not registered any more."""

    key: ClassVar[int] = 1
    version: ClassVar[int] = 0

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True)
class TopicRecord:
    """A topic exists."""

    key: ClassVar[int] = 2
    version: ClassVar[int] = 0

    name: str
    topic_id: UUID


@dataclass(frozen=True, kw_only=True)
class _OfPartition:
    """A record that may hold eligible leader replicas (KIP-966), and a log directory for each replica (KIP-858).

    Without directories, those of a partition stay as they are.
    """

    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    directories: tuple[UUID, ...] = ()

    @property
    def version(self) -> int:
        """The version that it is written in."""
        if self.eligible_leader_replicas is not None or self.last_known_elr is not None:
            return 2
        return 1 if self.directories else 0


@dataclass(frozen=True)
class PartitionRecord(_OfPartition):
    """A partition, with everything that is known of it."""

    key: ClassVar[int] = 3

    partition_id: int
    topic_id: UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0


@dataclass(frozen=True)
class ConfigRecord:
    """A value of a topic's or a broker's configuration; None removes it."""

    key: ClassVar[int] = 4
    version: ClassVar[int] = 0

    resource_type: int
    resource_name: str
    name: str
    value: str | None


@dataclass(frozen=True)
class PartitionChangeRecord(_OfPartition):
    """A change of a partition; what is None, NO_LEADER_CHANGE or NO_RECOVERY_CHANGE stays."""

    key: ClassVar[int] = 5

    partition_id: int
    topic_id: UUID
    isr: tuple[int, ...] | None = None
    leader: int = NO_LEADER_CHANGE
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = NO_RECOVERY_CHANGE


@dataclass(frozen=True)
class RemoveTopicRecord:
    """A topic is deleted, with its partitions and its configuration."""

    key: ClassVar[int] = 9
    version: ClassVar[int] = 0

    topic_id: UUID


@dataclass(frozen=True)
class FeatureLevelRecord:
    """The level of a feature, such as metadata.version."""

    key: ClassVar[int] = 12
    version: ClassVar[int] = 0

    name: str
    feature_level: int


@dataclass(frozen=True)
class ProducerIdsRecord:
    """A block of ids of idempotent producers is given to a broker; the next block begins at `next_producer_id` (KIP-730)."""

    key: ClassVar[int] = 15
    version: ClassVar[int] = 0

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True)
class RegisterControllerRecord:
    """A controller's process has registered, with what it supports (KIP-919)."""

    key: ClassVar[int] = 27
    version: ClassVar[int] = 0

    controller_id: int
    incarnation_id: UUID
    end_points: tuple[ControllerEndpoint, ...] = ()
    features: tuple[ControllerFeature, ...] = ()
    zk_migration_ready: bool = False


@dataclass(frozen=True)
class BrokerRegistrationChangeRecord:
    """A broker is fenced or unfenced, begins its controlled shutdown, or has other log directories online."""

    key: ClassVar[int] = 17

    broker_id: int
    broker_epoch: int
    fenced: int = UNCHANGED
    in_controlled_shutdown: int = UNCHANGED
    log_dirs: tuple[UUID, ...] = ()
    """The ids of the log directories that are online from now on (KIP-858); none if that does not change."""

    @property
    def version(self) -> int:
        """The version that it is written in."""
        return 2 if self.log_dirs else 1


@dataclass(frozen=True)
class ClearElrRecord:
    """The ELR and the last known leader of a topic's partitions are emptied, of all topics if it names none (KAFKA-16540)."""

    key: ClassVar[int] = 28
    version: ClassVar[int] = 0

    topic_name: str = ""


@dataclass(frozen=True)
class LeaderChange:
    """A leader of the quorum begins its epoch: a control record, which takes an offset and changes no metadata."""

    leader_id: int


@dataclass(frozen=True)
class QuorumVersion:
    """The version of the quorum's protocol (kraft.version): from 1 on its voters are records; a control record."""

    level: int


@dataclass(frozen=True)
class VotersChange:
    """The voters of the quorum from here on: a control record."""

    voters: tuple[int, ...]


MetadataRecord: TypeAlias = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | FeatureLevelRecord
    | ProducerIdsRecord
    | RegisterControllerRecord
    | BrokerRegistrationChangeRecord
    | ClearElrRecord
)
LogEntry: TypeAlias = MetadataRecord | LeaderChange | QuorumVersion | VotersChange
"""What takes an offset of the log."""
RECORDS: tuple[type[MetadataRecord], ...] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterControllerRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
)
"""The records that are written and read."""
