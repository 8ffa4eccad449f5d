"""The controller: each event becomes one atomic batch of the metadata log, computed from the memory before it.

The memory is the image at the end of the log, the states of two machines, and what `heartbeats` keeps. Every batch changes the
machines by rows of their tables; a change that no row allows is an error. A success is answered once its batch is committed.

Source: Kafka 3.9 QuorumController.java, ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kafka_spec.impl.kraft.configurations import altered_config
from kafka_spec.impl.kraft.controller_memory import ControllerMemory
from kafka_spec.impl.kraft.directories import moved_replica
from kafka_spec.impl.kraft.heartbeats import NO_OFFSET, HeartbeatView, next_state
from kafka_spec.impl.kraft.partition_change import AskedChange
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.kraft.reassignment import assignment_to, cancelled, check_target
from kafka_spec.impl.kraft.records import (
    FENCED,
    UNFENCED,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    UnregisterBrokerRecord,
)
from kafka_spec.impl.kraft.topics import added_partitions, created_topic, id_of
from kafka_spec.impl.protocol.data_requests import AllocateProducerIdsRequest
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ProposalAnswer,
    ProposalRequest,
    ProposedIsr,
)
from kafka_spec.impl.protocol.responses import AllocateProducerIdsResponse, AlteredPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.kraft_variants import NewIncarnation
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE

PRODUCER_IDS = 1_000
"""The ids of one block for idempotent producers (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


class KRaftController(ControllerMemory):
    """The active controller. Its log may be that of a controller before it."""

    def begin(self, records: Sequence[MetadataRecord], now: int) -> None:
        """Begin to lead: commit what a new cluster or this controller's own registration needs.

        Each unfenced broker has a fresh session, since nobody knows when it was in contact (ClusterControlManager.activate).
        """
        self._commit(list(records))
        for broker, known in self.image.brokers.items():
            if not known.fenced:
                self.heartbeats.of(broker).contact = now

    # Registrations

    def register(self, request: BrokerRegistrationRequest, now: int) -> BrokerRegistrationResponse:
        """Register a broker's process: fenced, under a new broker epoch (registerBroker).

        DUPLICATE_BROKER_REGISTRATION while the session of another process lasts. A process that registers again keeps its
        registration, or is fenced under another broker epoch, as the era decides (KAFKA-16952). A broker that was unregistered may
        be in an ELR: whatever its process before says of its end, it counts as a crash.
        """
        broker, known = request.broker, self.image.brokers.get(request.broker)
        if known is not None and known.incarnation == request.incarnation:
            if self.k.same_incarnation_keeps_epoch == Checked.YES:
                return BrokerRegistrationResponse(ErrorCode.NONE, known.epoch)
            return self._registered(request, [], now)
        if self.heartbeats.has_session(broker, now):
            return BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        named = known is not None and request.previous_epoch == known.epoch
        clean = named and self.k.clean_shutdown_detected == Checked.YES
        if self.k.elr == Checked.YES and not clean:
            return self._registered(request, self._remove_lossy(broker), now)
        leaves = self.k.new_incarnation == NewIncarnation.LEAVES_ISR
        return self._registered(request, self._remove(broker) if leaves else [], now)

    def _registered(
        self, request: BrokerRegistrationRequest, changes: list[MetadataRecord], now: int
    ) -> BrokerRegistrationResponse:
        """Commit a registration, whose broker epoch is the offset where its batch begins."""
        epoch = self.log.end
        record = RegisterBrokerRecord(
            request.broker,
            request.incarnation,
            epoch,
            request.end_points,
            request.features,
            request.rack,
            log_dirs=request.log_dirs,
        )
        self._commit([*changes, record])
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
        leads = any(known.leader == broker for known in self.image.partitions.values())
        view = HeartbeatView(state, caught_up, leads, self.heartbeats.everybody_has(waits, others))
        wanted = next_state(view, request)
        if wanted != state:
            self._enter(broker, wanted, request.offline_log_dirs)
        else:
            self._commit(self._remove_directories(broker, request.offline_log_dirs))
        return BrokerHeartbeatResponse(ErrorCode.NONE, caught_up, self.image.brokers[broker].fenced, wanted is None)

    def _enter(self, broker: int, wanted: BrokerState | None, offline: tuple[UUID, ...]) -> None:
        """Change a broker's state, and note its log directories that are offline: one batch."""
        if wanted == BrokerState.UNFENCED:
            self.unfence(broker, offline)
        elif wanted == BrokerState.CONTROLLED_SHUTDOWN:
            self.begin_controlled_shutdown(broker, offline)
        else:
            self.fence(broker, offline)

    def fence(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Fence a broker: it leaves every ISR, and leads no more (handleBrokerFenced).

        Up to 3.9 a broker may be fenced and in an ISR: then it is removed once more, and its registration does not change.
        """
        known, records = self.image.brokers[broker], self._remove(broker)
        if not known.fenced:
            records.append(BrokerRegistrationChangeRecord(broker, known.epoch, fenced=FENCED))
        self._commit([*records, *self._remove_directories(broker, offline)])
        self.heartbeats.of(broker).controlled_shutdown_end = NO_OFFSET

    def unfence(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Unfence a broker: partitions without a leader may elect it (handleBrokerUnfenced).

        The same heartbeat may name directories that are `offline`. No version looks at them first (elected-on-failed-directory).
        """
        known = self.image.brokers[broker]
        records: list[MetadataRecord] = [BrokerRegistrationChangeRecord(broker, known.epoch, fenced=UNFENCED)]
        image = self.image.without_directories(broker, offline if self.k.unfencing_reads_directories == Checked.YES else ())
        for partition, held in self.image.partitions.items():
            if held.leader == NONE:
                records += self._change(partition, AskedChange(held.isr, image.may_lead(held, broker), self._election(partition)))
        self._commit([*records, *self._remove_directories(broker, offline)])

    def begin_controlled_shutdown(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Begin a controlled shutdown: leaderships move, and the broker leaves every ISR (handleBrokerInControlledShutdown)."""
        change = BrokerRegistrationChangeRecord(broker, self.image.epoch_of(broker), in_controlled_shutdown=1)
        self._commit([change, *self._remove(broker), *self._remove_directories(broker, offline)])
        self.heartbeats.of(broker).controlled_shutdown_end = self.log.end

    def fence_stale(self, now: int) -> int | None:
        """Fence one broker whose session has ended; return which, None if there is none (maybeFenceReplicas)."""
        for broker, known in self.image.brokers.items():
            if not known.fenced and not self.heartbeats.has_session(broker, now):
                self.fence(broker)
                return broker
        return None

    def unregister(self, broker: int) -> None:
        """Forget a broker, whether it runs or not; it stays in the ELRs that name it (unregisterBroker).

        Raises:
            KafkaError: BROKER_ID_NOT_REGISTERED.
        """
        known = self.image.brokers.get(broker)
        if known is None:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker} is not registered")
        changes = self._without(broker, lambda held: broker in (*held.isr, *held.elr))
        self._commit([*changes, UnregisterBrokerRecord(broker, known.epoch)])
        self.heartbeats.forget(broker)

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
            if errors[partition] == ErrorCode.NONE and self._commits_under_another(partition, proposed):
                errors[partition] = ErrorCode.OPERATION_NOT_ATTEMPTED
            if errors[partition] == ErrorCode.NONE:
                kind = self._election(partition)
                acceptable = self.image.may_lead(self.image.partitions[partition])
                records += self._change(partition, AskedChange(proposed.isr, acceptable, kind, proposed.recovery))
        self._commit(records)
        return ProposalAnswer(
            ErrorCode.NONE, {partition: self._altered(request.broker, partition, code) for partition, code in errors.items()}
        )

    def _commits_under_another(self, partition: TopicPartition, proposed: ProposedIsr) -> bool:
        """Whether a leader names another min.insync.replicas than the ELR is kept under; no version asks for it."""
        named = self.k.proposals_name_min_isr == Checked.YES and proposed.min_isr is not None
        return named and proposed.min_isr != self.min_isr(partition)

    def _altered(self, broker: int, partition: TopicPartition, error: ErrorCode) -> AlteredPartition:
        if error != ErrorCode.NONE:
            return AlteredPartition(error)
        known = self.image.partitions[partition]
        if known.leader != broker:
            return AlteredPartition(ErrorCode.NEW_LEADER_ELECTED)
        return AlteredPartition(ErrorCode.NONE, known.leader_epoch, known.partition_epoch, known.isr)

    # Other requests of brokers

    def allocate_producer_ids(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        """Give a broker a block of ids for idempotent producers (ProducerIdControlManager.generateNextProducerId)."""
        if self.image.epoch_of(request.broker) != request.broker_epoch:
            return AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH)
        first = self.image.next_producer_id
        self._commit([ProducerIdsRecord(request.broker, request.broker_epoch, first + PRODUCER_IDS)])
        return AllocateProducerIdsResponse(ErrorCode.NONE, first, PRODUCER_IDS)

    def assign_directories(self, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
        """Write in which log directories a broker's replicas lie (handleAssignReplicasToDirs)."""
        if self.image.epoch_of(request.broker) != request.broker_epoch:
            return AssignReplicasToDirsResponse(ErrorCode.STALE_BROKER_EPOCH)
        codes: dict[tuple[UUID, int], ErrorCode] = {}
        records: list[MetadataRecord] = []
        for (topic_id, number), directory in request.directories.items():
            partition = TopicPartition(self.image.topics.get(topic_id, ""), number)
            known = self.image.partitions.get(partition)
            if topic_id not in self.image.topics:
                codes[topic_id, number] = ErrorCode.UNKNOWN_TOPIC_ID
            elif known is None:
                codes[topic_id, number] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif request.broker not in known.replicas:
                codes[topic_id, number] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            else:
                codes[topic_id, number] = ErrorCode.NONE
                change = self._change(partition, AskedChange(known.isr, self.image.may_lead(known)), self.k.assignment_keeps_elr)
                records += moved_replica(partition, known, request.broker, directory, change)
        self._commit(records)
        return AssignReplicasToDirsResponse(ErrorCode.NONE, codes)

    # Operators

    def configure(self, resource_type: int, name: str, values: Mapping[str, str | None]) -> None:
        """Change settings of a topic or a broker; None removes one, and the broker "" is the default of all (alterConfigs).

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, INVALID_CONFIG; see `altered_config`.
        """
        self._commit(altered_config(self.image, resource_type, name, values, self.k))

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
        self._commit(self._change(partition, AskedChange(isr, self.image.may_lead(known), election, assignment=assignment)))

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

    def _elect(self, partition: TopicPartition, election: ElectionKind) -> tuple[ErrorCode, list[PartitionChangeRecord]]:
        known = self.image.partitions.get(partition)
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []
        wants_preferred = election == ElectionKind.PREFERRED
        if known.leader == known.replicas[0] if wants_preferred else known.leader != NONE:
            return ErrorCode.ELECTION_NOT_NEEDED, []
        changes = self._change(partition, AskedChange(known.isr, self.image.may_lead(known), election))
        if changes:
            return ErrorCode.NONE, changes
        missing = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if wants_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return missing, []
