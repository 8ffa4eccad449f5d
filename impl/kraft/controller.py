"""The controller: each event becomes one atomic batch of the metadata log, computed from the memory before it.

The memory is the image at the end of the log, the states of two machines, and what `heartbeats` keeps. Every batch changes the
machines by rows of their tables; a change that no row allows is an error. A success is answered once its batch is committed.

Source: Kafka 3.9 QuorumController.java, ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kafka_spec.impl.kraft.configurations import altered_config
from kafka_spec.impl.kraft.directories import moved_replica
from kafka_spec.impl.kraft.partition_change import AskedChange
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.kraft.reassignment import assignment_to, cancelled, check_target
from kafka_spec.impl.kraft.records import (
    MetadataRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
)
from kafka_spec.impl.kraft.registrations import BrokerRegistrations
from kafka_spec.impl.kraft.topics import added_partitions, created_topic, id_of
from kafka_spec.impl.protocol.data_requests import AllocateProducerIdsRequest
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ProposalAnswer,
    ProposalRequest,
    ProposedIsr,
)
from kafka_spec.impl.protocol.responses import AllocateProducerIdsResponse, AlteredPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE

PRODUCER_IDS = 1_000
"""The ids of one block for idempotent producers (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


class KRaftController(BrokerRegistrations):
    """The active controller. Its log may be that of a controller before it."""

    def begin(self, records: Sequence[MetadataRecord], now: int) -> None:
        """Begin to lead: commit what a new cluster or this controller's own registration needs.

        Each unfenced broker has a fresh session, since nobody knows when it was in contact (ClusterControlManager.activate).
        """
        self._commit(list(records))
        for broker, known in self.image.brokers.items():
            if not known.fenced:
                self.heartbeats.of(broker).contact = now

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
        """Write in which log directories a broker's replicas lie; from one that is offline, they leave the ISR.

        Kafka 3.9: ReplicationControlManager.handleAssignReplicasToDirs.
        """
        if self.image.epoch_of(request.broker) != request.broker_epoch:
            return AssignReplicasToDirsResponse(ErrorCode.STALE_BROKER_EPOCH)
        codes: dict[tuple[UUID, int], ErrorCode] = {}
        records: list[MetadataRecord] = []
        offline: set[TopicPartition] = set()
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
                if not self.image.is_online(request.broker, directory):
                    offline.add(partition)
        self._commit([*records, *self._without(request.broker, lambda name, _: name in offline)])
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

    def elect_where_allowed(self) -> list[TopicPartition]:
        """Elect uncleanly where nobody leads and the topic allows it; return these partitions (maybeElectUncleanLeaders).

        Kafka calls it every `unclean.leader.election.interval.ms`, five minutes.
        """
        leaderless = [partition for partition, known in self.image.partitions.items() if known.leader == NONE]
        allowed = [partition for partition in leaderless if self._election(partition) == ElectionKind.UNCLEAN]
        codes = self.elect_leaders(allowed, ElectionKind.UNCLEAN)
        return [partition for partition, code in codes.items() if code == ErrorCode.NONE]

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
