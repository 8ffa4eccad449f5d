"""Reassignment: an operator asks for other replicas, or takes the request back. A change of the partition completes it.

A target is a set of brokers in ascending order. Those that are removed stay replicas until the reassignment completes, which takes
no request and no answer: removed brokers learn it from the metadata log, and delete their replicas.

Source: Kafka 3.9 ReplicationControlManager.alterPartitionReassignments, PartitionReassignmentReplicas, PartitionReassignmentRevert.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import first_of, members
from kafka_spec.spec.decisions.kraft_variants import EmptiedIsr
from kafka_spec.spec.decisions.partition_change import ElectionKind, added_replicas, count_of, removed_replicas
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import (
    active_brokers,
    change_reassigned,
    commit,
    election_kind,
    end_reassignment,
    registered_brokers,
    there_is_a_topic,
)
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import BROKERS, REASSIGNMENTS, KRaft
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, SetOf, append, contains, singleton, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


def a_reassignment_runs(s: KRaft) -> bool:
    """The partition has replicas that are added or removed."""
    return s.controller.partition.adding | s.controller.partition.removing != 0


def target_is_another(s: KRaft, target: BrokerSet) -> bool:
    """The target has a member, and is not what operators asked for last."""
    return target != 0 and target != s.history.target


def target_is_registered(s: KRaft, k: Constants, target: BrokerSet) -> bool:
    """The controller knows every broker of the target. Kafka 3.9: ReplicationControlManager.validateManualPartitionAssignment."""
    return target & ~registered_brokers(s, k) == 0


def nobody_new_is_eligible(s: KRaft, k: Constants, target: BrokerSet) -> bool:
    """The request adds nobody whom the election of this very event could choose: it fails there, with UNKNOWN_SERVER_ERROR.

    Only the ELR can name a broker that is not a replica (elr-outside-replicas); the directory of one
    that is not active is not read. Kafka 3.9: PartitionRegistration.directory.
    """
    partition = s.controller.partition
    if partition.isr != 0:
        return True
    return partition.elr & target & active_brokers(s, k) & ~members(partition.replicas) == 0


def assign_replicas(s: KRaft, k: Constants, target: BrokerSet, removed: BrokerSet) -> None:
    """Write the replicas: first those of the target, then those that leave."""
    truncate(s.controller.partition.replicas, 0)
    for broker in range(k.brokers):
        if contains(target, broker) == 1:
            append(s.controller.partition.replicas, broker)
    for broker in range(k.brokers):
        if contains(removed, broker) == 1:
            append(s.controller.partition.replicas, broker)


def assignment_differs(s: KRaft) -> bool:
    """The replicas or the lists of a reassignment are not those of the newest image: the event has changed them."""
    old, new = s.metadata[len(s.metadata) - 1].partition, s.controller.partition
    if old.adding != new.adding or old.removing != new.removing or len(old.replicas) != len(new.replicas):
        return True
    return any(old.replicas[place] != new.replicas[place] for place in range(len(new.replicas)))


def change_replicas(s: KRaft, k: Constants, before: BrokerSet, isr: BrokerSet, election: int) -> None:
    """Change the partition, whose assignment may have changed, and commit that, if there is something to write."""
    epoch = s.controller.partition.partition_epoch
    reassigned = 1 if assignment_differs(s) else 0
    recovery = s.controller.partition.recovery
    change_reassigned(s, k, before, reassigned, isr, active_brokers(s, k), NO_BROKERS, election, recovery)
    if s.controller.partition.partition_epoch != epoch:
        commit(s, k)


def reassign(s: KRaft, k: Constants, target: BrokerSet) -> None:
    """Note which replicas are added and removed; the change may complete the reassignment at once.

    Kafka 3.9: ReplicationControlManager.changePartitionReassignment.
    """
    partition = s.controller.partition
    before = members(s.controller.partition.replicas)
    if not a_reassignment_runs(s):
        s.history.origin = before
    s.history.target = target
    partition.adding = added_replicas(k.reassignment_lists, before, partition.adding, target)
    partition.removing = removed_replicas(k.reassignment_lists, before, partition.removing, target)
    assign_replicas(s, k, target, before & ~target)
    change_replicas(s, k, before, s.controller.partition.isr, ElectionKind.ONLINE)


REASSIGN = Rule(
    "Reassign",
    actor="operator",
    kind="operator",
    params={"target": SetOf(BROKERS)},
    guards=(there_is_a_topic, target_is_another, target_is_registered, nobody_new_is_eligible),
    at_most=REASSIGNMENTS,
    effects=(reassign,),
    summary="an operator reassigns the partition to the brokers {target}",
    reference="Kafka 3.9 ReplicationControlManager.changePartitionReassignment",
)


def isr_after_cancellation(s: KRaft) -> BrokerSet:
    """Return the ISR without the replicas that are added; it may be empty."""
    return s.controller.partition.isr & ~s.controller.partition.adding


def cancellation_keeps_candidates(s: KRaft, k: Constants) -> bool:
    """No added replica is in the ISR or the ELR, or these keep min.insync.replicas members without it."""
    partition = s.controller.partition
    candidates = partition.isr | partition.elr
    if candidates & partition.adding == 0:
        return True
    origin = members(partition.replicas) & ~partition.adding
    least = least_isr(k, partition.min_isr_changed, count_of(partition.replicas, origin))
    return count_of(partition.replicas, candidates & origin) >= least


def cancellation_is_accepted(s: KRaft, k: Constants) -> bool:
    """ISR members are left, with enough candidates in `fixed`; or the topic allows unclean elections, and the version does without.

    Kafka refuses a cancellation only if it empties the ISR of a topic that does not allow unclean elections.
    """
    if isr_after_cancellation(s) == 0:
        return election_kind(s, k) == ElectionKind.UNCLEAN and k.emptied_isr == EmptiedIsr.FIRST_REPLICA
    return k.cancellation_keeps_min_isr == Checked.NO or cancellation_keeps_candidates(s, k)


def cancel_reassignment(s: KRaft, k: Constants) -> None:
    """Take out the replicas that were added; those that were to leave stay. The election is unclean where the topic allows it.

    Kafka 3.9: ReplicationControlManager.cancelPartitionReassignment.
    """
    before = members(s.controller.partition.replicas)
    left = isr_after_cancellation(s)
    if left == 0:
        left = singleton(first_of(s.controller.partition.replicas, before & ~s.controller.partition.adding))
    end_reassignment(s, s.controller.partition.adding)
    s.history.target = s.history.origin
    change_replicas(s, k, before, left, election_kind(s, k))


CANCEL_REASSIGNMENT = Rule(
    "CancelReassignment",
    actor="operator",
    kind="operator",
    guards=(a_reassignment_runs, cancellation_is_accepted),
    at_most=REASSIGNMENTS,
    effects=(cancel_reassignment,),
    summary="an operator cancels the reassignment",
    reference="Kafka 3.9 ReplicationControlManager.cancelPartitionReassignment",
)

RULES = (REASSIGN, CANCEL_REASSIGNMENT)
