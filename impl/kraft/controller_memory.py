"""The controller's memory, and what changes a partition or a broker's place in all partitions; one batch for an event.

Source: Kafka 3.9 QuorumController.java, ReplicationControlManager.generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from kafka_spec.impl.kraft.directories import directories_of
from kafka_spec.impl.kraft.heartbeats import Heartbeats
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredPartition
from kafka_spec.impl.kraft.metadata_log import MetadataImages
from kafka_spec.impl.kraft.partition_change import AskedChange, build_change
from kafka_spec.impl.kraft.records import BrokerRegistrationChangeRecord, LogEntry, MetadataRecord, PartitionChangeRecord
from kafka_spec.impl.kraft.tables import ControllerTables
from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN, Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import ElectionKind, effective_min_isr, ordinary_election
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import excluding, singleton
from kafka_spec.spec.vocabulary.table import Constants, Spec


class ControllerMemory:
    """The image at the end of the log, the machines, the contacts of brokers; and the records of changes."""

    def __init__(self, era: Spec, log: MetadataImages, settings: Settings | None = None) -> None:
        """`era` is one of spec/kraft/eras.py; `settings` has the configuration of topics that have none of their own."""
        self.k = era.constants({})
        self.log = log
        self.settings = settings or Settings()
        self.heartbeats = Heartbeats()
        self.tables = ControllerTables(era)
        self.tables.load(log.newest)
        self.unclean_elections: list[TopicPartition] = []
        """The partitions that got a leader which may lack committed records, until the caller takes them."""

    @property
    def image(self) -> ClusterImage:
        """The memory: all metadata up to the end of the log."""
        return self.log.newest

    def take(self, records: Sequence[LogEntry]) -> None:
        """Follow a batch that another controller has committed."""
        before = self.image
        self.log.note(records)
        self.tables.follow(before, self.image)

    def _commit(self, records: Sequence[MetadataRecord]) -> None:
        """Commit the batch of an event, unless it is empty."""
        if records:
            before = self.image
            self.tables.follow(before, self.log.commit(records))

    # Changes of partitions

    def _config(self, partition: TopicPartition, name: str, usual: str) -> str:
        """Return a setting of a topic, or else the cluster's default."""
        known = self.image.configs.get((partition.topic, name))
        return self.image.broker_configs.get(("", name), usual) if known is None else known

    def min_isr(self, partition: TopicPartition) -> int:
        """Return min.insync.replicas of a partition's topic."""
        return int(self._config(partition, MIN_ISR, str(self.settings.min_insync_replicas)))

    def least_isr(self, partition: TopicPartition) -> int:
        """Return the effective min.insync.replicas: at most the replicas of the topic's partition 0 (getTopicEffectiveMinIsr)."""
        first = self.image.partitions[TopicPartition(partition.topic, 0)]
        return effective_min_isr(self.min_isr(partition), len(first.replicas))

    def _election(self, partition: TopicPartition) -> ElectionKind:
        """Return the kind of election of ordinary changes: unclean ones where the topic allows them."""
        return ElectionKind(ordinary_election(self.allows_unclean(partition), self.k.unclean_setting_honoured))

    def allows_unclean(self, partition: TopicPartition) -> bool:
        """Return unclean.leader.election.enable of a partition's topic."""
        usual = "true" if self.settings.unclean_leader_election_enable else "false"
        return self._config(partition, UNCLEAN, usual) == "true"

    def _change(self, partition: TopicPartition, wanted: AskedChange, keeps_elr: int = Checked.YES) -> list[PartitionChangeRecord]:
        """Return the record of a change, none if nothing differs; without `keeps_elr`, as without the ELR."""
        k = self.k if keeps_elr == Checked.YES else Constants({**vars(self.k), "elr": Checked.NO})
        built = build_change(partition, self.image.partitions[partition], wanted, self.least_isr(partition), k)
        if built.unclean:
            self.unclean_elections.append(partition)
        record = built.record
        if record is None:
            return []
        known = self.image.partitions[partition]
        if record.replicas is None or (placed := directories_of(self.image, record.replicas, known)) == known.directories:
            return [record]
        return [replace(record, directories=placed)]

    def _remove(self, broker: int) -> list[MetadataRecord]:
        """Take a broker out of every ISR, and out of leadership (generateLeaderAndIsrUpdates)."""
        return self._without(broker, lambda _, held: broker in held.isr)

    def _without(self, broker: int, concerns: Callable[[TopicPartition, RegisteredPartition], bool]) -> list[MetadataRecord]:
        """Change these partitions to what they are without a broker in the ISR, which cannot be elected, either."""
        records: list[MetadataRecord] = []
        for partition, held in self.image.partitions.items():
            if concerns(partition, held):
                left = tuple(member for member in held.isr if member != broker)
                acceptable = excluding(self.image.may_lead(held), broker)
                records += self._change(partition, AskedChange(left, acceptable, self._election(partition)))
        return records

    def _remove_directories(self, broker: int, offline: Sequence[UUID]) -> list[MetadataRecord]:
        """Take a broker out of the ISRs of the partitions that it has in these directories, which are online until now.

        Then register the others as online (handleDirectoriesOffline).
        """
        known = self.image.brokers[broker]
        failed = [directory for directory in known.log_dirs if directory in offline]
        if not failed:
            return []
        records = self._without(broker, lambda _, held: held.directory_of(broker) in failed)
        online = tuple(directory for directory in known.log_dirs if directory not in failed)
        return [*records, BrokerRegistrationChangeRecord(broker, known.epoch, log_dirs=online)]

    def _remove_lossy(self, broker: int) -> list[MetadataRecord]:
        """Take a broker that may have lost records out of every ISR and ELR (handleUncleanBrokerShutdown)."""
        records: list[MetadataRecord] = []
        for partition, known in self.image.partitions.items():
            if broker in known.isr or broker in known.elr:
                left = tuple(member for member in known.isr if member != broker)
                acceptable = excluding(self.image.may_lead(known), broker)
                wanted = AskedChange(left, acceptable, self._election(partition), lost_records=singleton(broker))
                records += self._change(partition, wanted)
        return records
