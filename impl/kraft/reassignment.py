"""Reassignments: what an operator's request makes of a partition's assignment and ISR. Nothing is written here.

A target is written first, in its order; the replicas that leave come after it. A change of the partition completes it.

Source: Kafka 3.9 ReplicationControlManager.alterPartitionReassignment, PartitionReassignmentReplicas, PartitionReassignmentRevert.
"""

from __future__ import annotations

from kafka_spec.impl.kraft.image import ClusterImage, RegisteredPartition
from kafka_spec.impl.kraft.partition_change import AssignedReplicas
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.spec.decisions.kraft_variants import EmptiedIsr
from kafka_spec.spec.decisions.partition_change import added_replicas, count_of, effective_min_isr, removed_replicas
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Constants


def check_target(image: ClusterImage, target: tuple[int, ...]) -> None:
    """Check the replicas that an operator asks for (validateManualPartitionAssignment).

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT: there are none, one stands twice, or one is not registered.
    """
    if not target or len(set(target)) != len(target) or any(broker not in image.brokers for broker in target):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"the replicas {target} are not an assignment")


def assignment_to(known: RegisteredPartition, target: tuple[int, ...], active: BrokerSet, k: Constants) -> AssignedReplicas:
    """Return the assignment once a reassignment to a target has begun (changePartitionReassignment).

    Raises:
        KafkaError: UNKNOWN_SERVER_ERROR: it adds an active broker of the ELR that is not a replica, and whom this very event could
            elect (elr-outside-replicas; PartitionRegistration.directory).
    """
    before, wanted = BrokerSet.of(known.replicas), BrokerSet.of(target)
    if not known.isr and BrokerSet.of(known.elr) & wanted & active & ~before:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{target} adds a broker of the ELR {known.elr}, which is not a replica")
    adding = added_replicas(k.reassignment_lists, before, BrokerSet.of(known.adding), wanted)
    removing = removed_replicas(k.reassignment_lists, before, BrokerSet.of(known.removing), wanted)
    left = tuple(broker for broker in sorted(known.replicas) if broker not in target)
    return AssignedReplicas((*target, *left), tuple(BrokerSet(adding)), tuple(BrokerSet(removing)))


def keeps_candidates(known: RegisteredPartition, origin: AssignedReplicas, min_isr: int) -> bool:
    """Whether a cancellation takes no candidate away, or leaves as many as min.insync.replicas; no version asks for it."""
    candidates = BrokerSet.of(known.isr) | BrokerSet.of(known.elr)
    if candidates & BrokerSet.of(known.adding) == 0:
        return True
    least = effective_min_isr(min_isr, len(origin.replicas))
    return count_of(origin.replicas, candidates) >= least


def cancelled(known: RegisteredPartition, unclean: bool, min_isr: int, k: Constants) -> tuple[tuple[int, ...], AssignedReplicas]:
    """Return ISR and assignment after a reassignment is cancelled: the added replicas leave (cancelPartitionReassignment).

    `unclean` says whether the topic permits unclean elections.

    Raises:
        KafkaError: NO_REASSIGNMENT_IN_PROGRESS; INVALID_REPLICA_ASSIGNMENT: nobody would be left in the ISR, or too few.
    """
    if not known.adding and not known.removing:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "no reassignment runs")
    origin = AssignedReplicas.of(known).without(known.adding)
    isr = tuple(broker for broker in known.isr if broker not in known.adding)
    if isr:
        if k.cancellation_keeps_min_isr == Checked.YES and not keeps_candidates(known, origin, min_isr):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "too few replicas would be left in sync")
        return isr, origin
    if not unclean or k.emptied_isr == EmptiedIsr.REFUSED:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no replica would be left in the ISR")
    return origin.replicas[:1], origin
