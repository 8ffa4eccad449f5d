"""The controller: each event becomes one atomic batch of the metadata log, computed from the memory before it.

The memory is the image at the end of the log, the states of two machines, and what `heartbeats` keeps. Every batch changes the
machines by rows of their tables; a change that no row allows is an error. A success is answered once its batch is committed.

Source: Kafka 3.9 QuorumController.java, ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from kafka_spec.impl.kraft.heartbeats import NO_OFFSET, Heartbeats, HeartbeatView, next_state
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.partition_change import AskedChange, build_change
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.kraft.reassignment import assignment_to, cancelled, check_target
from kafka_spec.impl.kraft.records import (
    FENCED,
    UNFENCED,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
)
from kafka_spec.impl.kraft.requests import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ProposalAnswer,
    ProposalRequest,
)
from kafka_spec.impl.kraft.tables import ControllerTables
from kafka_spec.impl.kraft.topics import added_partitions, created_topic, id_of
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import ElectionKind, RecoveryState, effective_min_isr
from kafka_spec.spec.decisions.variants import Checked, NewIncarnation
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE, excluding, including, singleton
from kafka_spec.spec.vocabulary.table import Spec

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"


class KRaftController:
    """The active controller. Its log may be that of a controller before it."""

    def __init__(self, era: Spec, log: MetadataLog, settings: Settings | None = None) -> None:
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

    def _commit(self, records: list[MetadataRecord]) -> None:
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
        usual = "true" if self.settings.unclean_leader_election_enable else "false"
        return ElectionKind.UNCLEAN if self._config(partition, UNCLEAN, usual) == "true" else ElectionKind.ONLINE

    def _change(self, partition: TopicPartition, wanted: AskedChange) -> list[MetadataRecord]:
        """Return the record of a change, none if nothing differs."""
        built = build_change(partition, self.image.partitions[partition], wanted, self.least_isr(partition), self.k)
        if built.unclean:
            self.unclean_elections.append(partition)
        return [] if built.record is None else [built.record]

    def _remove(self, broker: int) -> list[MetadataRecord]:
        """Take a broker out of every ISR, and out of leadership (generateLeaderAndIsrUpdates)."""
        records: list[MetadataRecord] = []
        for partition, known in self.image.partitions.items():
            if broker in known.isr:
                left = tuple(member for member in known.isr if member != broker)
                acceptable = excluding(self.image.active, broker)
                records += self._change(partition, AskedChange(left, acceptable, self._election(partition)))
        return records

    def _remove_lossy(self, broker: int) -> list[MetadataRecord]:
        """Take a broker that may have lost records out of every ISR and ELR (handleUncleanBrokerShutdown)."""
        records: list[MetadataRecord] = []
        for partition, known in self.image.partitions.items():
            if broker in known.isr or broker in known.elr:
                left = tuple(member for member in known.isr if member != broker)
                acceptable = excluding(self.image.active, broker)
                wanted = AskedChange(left, acceptable, self._election(partition), lost_records=singleton(broker))
                records += self._change(partition, wanted)
        return records

    # Registrations

    def register(self, request: BrokerRegistrationRequest, now: int) -> BrokerRegistrationResponse:
        """Register a broker's process: fenced, under a new broker epoch (registerBroker).

        DUPLICATE_BROKER_REGISTRATION while the session of another process lasts. A process that registers again keeps its
        registration, or is fenced under another broker epoch, as the era decides (KAFKA-16952).
        """
        broker, known = request.broker, self.image.brokers.get(request.broker)
        if known is not None and known.incarnation == request.incarnation:
            if self.k.same_incarnation_keeps_epoch == Checked.YES:
                return BrokerRegistrationResponse(ErrorCode.NONE, known.epoch)
            return self._registered(request, [], now)
        if self.heartbeats.has_session(broker, now):
            return BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        if known is None:
            return self._registered(request, [], now)
        clean = self.k.clean_shutdown_detected == Checked.YES and request.previous_epoch == known.epoch
        if self.k.elr == Checked.YES and not clean:
            return self._registered(request, self._remove_lossy(broker), now)
        leaves = self.k.new_incarnation == NewIncarnation.LEAVES_ISR
        return self._registered(request, self._remove(broker) if leaves else [], now)

    def _registered(
        self, request: BrokerRegistrationRequest, changes: list[MetadataRecord], now: int
    ) -> BrokerRegistrationResponse:
        """Commit a registration, whose broker epoch is the offset where its batch begins."""
        epoch = self.log.end
        self._commit([*changes, RegisterBrokerRecord(request.broker, request.incarnation, epoch)])
        contact = self.heartbeats.of(request.broker)
        contact.contact, contact.metadata_end, contact.controlled_shutdown_end = now, NO_OFFSET, NO_OFFSET
        return BrokerRegistrationResponse(ErrorCode.NONE, epoch)

    def registration_end(self, broker: int) -> int:
        """Return the offset after a broker's registration record, which it must have applied before it is unfenced."""
        return self.log.image_at(self.image.epoch_of(broker) + 1).end

    # Heartbeats

    def heartbeat(self, request: BrokerHeartbeatRequest, now: int) -> BrokerHeartbeatResponse:
        """Note a heartbeat, and change the broker's state if it asks for that (processBrokerHeartbeat)."""
        broker = request.broker
        if self.image.epoch_of(broker) != request.broker_epoch or broker not in self.image.brokers:
            return BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH)
        self.heartbeats.touch(broker, request.metadata_end, now)
        caught_up = request.metadata_end >= self.registration_end(broker)
        state = self.tables.state_of(broker)
        others = [other for other in self.image.active if other != broker]
        waits = self.heartbeats.of(broker).controlled_shutdown_end
        view = HeartbeatView(state, caught_up, self._leads(broker), self.heartbeats.everybody_has(waits, others))
        wanted = next_state(view, request)
        if wanted != state:
            self._enter(broker, wanted)
        return BrokerHeartbeatResponse(ErrorCode.NONE, caught_up, self.image.brokers[broker].fenced, wanted is None)

    def _leads(self, broker: int) -> bool:
        return any(known.leader == broker for known in self.image.partitions.values())

    def _enter(self, broker: int, wanted: BrokerState | None) -> None:
        if wanted == BrokerState.UNFENCED:
            self.unfence(broker)
        elif wanted == BrokerState.CONTROLLED_SHUTDOWN:
            self.begin_controlled_shutdown(broker)
        else:
            self.fence(broker)

    def fence(self, broker: int) -> None:
        """Fence a broker: it leaves every ISR, and leads no more (handleBrokerFenced).

        Up to 3.9 a broker may be fenced and in an ISR: then it is removed once more, and its registration does not change.
        """
        known, records = self.image.brokers[broker], self._remove(broker)
        if not known.fenced:
            records.append(BrokerRegistrationChangeRecord(broker, known.epoch, fenced=FENCED))
        self._commit(records)
        self.heartbeats.of(broker).controlled_shutdown_end = NO_OFFSET

    def unfence(self, broker: int) -> None:
        """Unfence a broker: partitions without a leader may elect it (handleBrokerUnfenced)."""
        known = self.image.brokers[broker]
        records: list[MetadataRecord] = [BrokerRegistrationChangeRecord(broker, known.epoch, fenced=UNFENCED)]
        acceptable = including(self.image.active, broker)
        for partition, held in self.image.partitions.items():
            if held.leader == NONE:
                records += self._change(partition, AskedChange(held.isr, acceptable, self._election(partition)))
        self._commit(records)

    def begin_controlled_shutdown(self, broker: int) -> None:
        """Begin a controlled shutdown: leaderships move, and the broker leaves every ISR (handleBrokerInControlledShutdown)."""
        epoch = self.image.brokers[broker].epoch
        change = BrokerRegistrationChangeRecord(broker, epoch, in_controlled_shutdown=1)
        self._commit([change, *self._remove(broker)])
        self.heartbeats.of(broker).controlled_shutdown_end = self.log.end

    def fence_stale(self, now: int) -> int | None:
        """Fence one broker whose session has ended; return which, None if there is none (maybeFenceReplicas)."""
        for broker, known in self.image.brokers.items():
            if not known.fenced and not self.heartbeats.has_session(broker, now):
                self.fence(broker)
                return broker
        return None

    # Proposals of leaders

    def alter_partition(self, request: ProposalRequest) -> ProposalAnswer:
        """Validate a leader's proposals, write those that pass, and answer (alterPartition)."""
        error = answer_to_request(self.image, request)
        if error != ErrorCode.NONE:
            return ProposalAnswer(error)
        records: list[MetadataRecord] = []
        errors: dict[TopicPartition, ErrorCode] = {}
        for partition, proposed in request.partitions.items():
            errors[partition] = answer_to_proposal(self.image, request.broker, partition, proposed, self.k)
            if errors[partition] == ErrorCode.NONE:
                kind, recovered = self._election(partition), RecoveryState.RECOVERED
                records += self._change(partition, AskedChange(proposed.isr, self.image.active, kind, recovered))
        self._commit(records)
        return ProposalAnswer(
            ErrorCode.NONE, {partition: self._altered(request.broker, partition, code) for partition, code in errors.items()}
        )

    def _altered(self, broker: int, partition: TopicPartition, error: ErrorCode) -> AlteredPartition:
        if error != ErrorCode.NONE:
            return AlteredPartition(error)
        known = self.image.partitions[partition]
        if known.leader != broker:
            return AlteredPartition(ErrorCode.NEW_LEADER_ELECTED)
        return AlteredPartition(ErrorCode.NONE, known.leader_epoch, known.partition_epoch, known.isr)

    # Operators

    def create_topic(
        self, name: str, topic_id: UUID, assignment: Mapping[int, tuple[int, ...]], configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic: its partitions have the active replicas as ISR, of which the first leads (createTopics).

        Before 3.0 they have all replicas (KAFKA-13083).

        Raises:
            KafkaError: TOPIC_ALREADY_EXISTS; INVALID_REPLICA_ASSIGNMENT if a partition has no active replica.
        """
        self._commit(created_topic(self.image, name, topic_id, assignment, configs or {}, self.k))

    def add_partitions(self, name: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        """Add partitions to a topic (createPartitions).

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION; INVALID_PARTITIONS: they do not continue the topic's;
                INVALID_REPLICA_ASSIGNMENT.
        """
        self._commit(added_partitions(self.image, name, assignment, self.k))

    def delete_topic(self, name: str) -> None:
        """Delete a topic: one record, which is final; brokers delete their replicas when they apply it (deleteTopics).

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        self._commit([RemoveTopicRecord(id_of(self.image, name))])

    def reassign(self, partition: TopicPartition, target: tuple[int, ...] | None) -> None:
        """Begin to move a partition to other replicas; None cancels what has begun (alterPartitionReassignments).

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS; see `assignment_to`.
        """
        known = self.image.partitions.get(partition)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} does not exist")
        isr, election = known.isr, ElectionKind.ONLINE
        if target is None:
            election = self._election(partition)
            isr, assignment = cancelled(known, election == ElectionKind.UNCLEAN, self.min_isr(partition), self.k)
        else:
            check_target(self.image, target)
            assignment = assignment_to(known, target, self.image.active, self.k)
        self._commit(self._change(partition, AskedChange(isr, self.image.active, election, assignment=assignment)))

    def elect_leaders(self, partitions: Iterable[TopicPartition] | None, election: ElectionKind) -> dict[TopicPartition, ErrorCode]:
        """Elect preferred leaders, or uncleanly where nobody leads; return a code for each partition (electLeaders)."""
        named = list(self.image.partitions) if partitions is None else list(partitions)
        codes: dict[TopicPartition, ErrorCode] = {}
        records: list[MetadataRecord] = []
        for partition in named:
            codes[partition], changes = self._elect(partition, election)
            records += changes
        self._commit(records)
        return codes

    def _elect(self, partition: TopicPartition, election: ElectionKind) -> tuple[ErrorCode, list[MetadataRecord]]:
        known = self.image.partitions.get(partition)
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []
        wants_preferred = election == ElectionKind.PREFERRED
        if known.leader == known.replicas[0] if wants_preferred else known.leader != NONE:
            return ErrorCode.ELECTION_NOT_NEEDED, []
        changes = self._change(partition, AskedChange(known.isr, self.image.active, election))
        if changes:
            return ErrorCode.NONE, changes
        missing = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if wants_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return missing, []
