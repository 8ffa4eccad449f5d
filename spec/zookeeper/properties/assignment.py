"""The properties of reassignments: they end, the ISR stays within the replicas, and nobody keeps a replica that is not his.

A reassignment is *recorded* while ZooKeeper names it: in the topic znode (KIP-455), or in /admin/reassign_partitions.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.language.domain import NONE, BrokerSet, contains
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, leads_to, step_invariant
from kafka_spec.spec.zookeeper.bounds import PARTITION
from kafka_spec.spec.zookeeper.controller.reassignment_rows import (
    admin_znode_exists,
    admin_znode_names_target,
    reassignment_is_refused,
)
from kafka_spec.spec.zookeeper.machines import STANDBY, Role
from kafka_spec.spec.zookeeper.properties.quiescence import (
    a_deletion_waits,
    a_topic_is_quiet,
    all_replicas_are_up,
    is_quiet,
    leader_is_registered_or_none_can_be,
    leader_is_up,
    nobody_leads_at_an_older_epoch,
    nobody_runs,
    replicas_are_gone,
    replicas_know_the_epoch,
    settled_members,
    there_is_an_isr,
    topic_exists,
    topic_stays,
)
from kafka_spec.spec.zookeeper.state import Life, World


def assigned_in_zookeeper(s: World, partition: int) -> BrokerSet:
    """Return the replicas that the topic znode names."""
    return members(s.zookeeper.partitions[partition].assignment.replicas)


def a_reassignment_is_recorded(s: World, partition: int) -> bool:
    """ZooKeeper names a reassignment."""
    return s.zookeeper.partitions[partition].assignment.adding | s.zookeeper.partitions[
        partition
    ].assignment.removing != 0 or admin_znode_exists(s, partition)


def wanted_replicas(s: World, partition: int) -> BrokerSet:
    """Return the target of the recorded reassignment; that of /admin/reassign_partitions goes first."""
    znodes = s.zookeeper.partitions[partition]
    if admin_znode_exists(s, partition):
        return members(znodes.reassignment)
    return assigned_in_zookeeper(s, partition) & ~znodes.assignment.removing


def isr_is_settled(s: World, k: Constants, partition: int) -> bool:
    """There is an ISR, and no reassignment: ZooKeeper records none, and no controller is in the middle of one."""
    if not there_is_an_isr(s, partition) or a_reassignment_is_recorded(s, partition):
        return False
    for controller in range(k.brokers):
        if s.controllers[controller].partitions[partition].reassignment != ReassignmentState.NONE:
            return False
    return True


def isr_is_assigned(s: World, partition: int) -> bool:
    """The ISR holds assigned replicas only."""
    return s.zookeeper.partitions[partition].state.isr & ~assigned_in_zookeeper(s, partition) == 0


def nobody_keeps_a_stray_replica(s: World, k: Constants, partition: int) -> bool:
    """No broker that is up and not assigned hosts the replica, or has its log."""
    for broker in range(k.brokers):
        if s.brokers[broker].life == Life.UP and contains(assigned_in_zookeeper(s, partition), broker) == 0:
            if s.brokers[broker].replicas[partition].role != Role.NONE or len(s.brokers[broker].replicas[partition].log) > 0:
                return False
    return True


def a_leader_is_up_and_quiet(s: World, k: Constants, partition: int) -> bool:
    """The leader of a topic that stays is up, and the state is quiet."""
    return leader_is_up(s, partition) and topic_stays(s) and is_quiet(s, k)


def assignments_agree(s: World, k: Constants, partition: int) -> bool:
    """The controller has the assignment that the topic znode names, and the leader knows all of its replicas.

    The leader may know one more that has left: a controller that is out of date may send an old assignment with the newest leader
    epoch. Nobody hosts that replica.
    """
    znodes = s.zookeeper.partitions[partition]
    recorded = znodes.assignment
    known = s.controllers[s.zookeeper.controller].context.partitions[partition].assignment
    if len(known.replicas) != len(recorded.replicas):
        return False
    for place in range(len(known.replicas)):
        if known.replicas[place] != recorded.replicas[place]:
            return False
    if known.adding != recorded.adding or known.removing != recorded.removing:
        return False
    return assigned_in_zookeeper(s, partition) & ~s.brokers[znodes.state.leader].replicas[partition].replicas == 0


def leaders_are_assigned(s: World, k: Constants, partition: int) -> bool:
    """A broker that leads is assigned: in ZooKeeper, and on the brokers."""
    for broker in range(k.brokers):
        if contains(assigned_in_zookeeper(s, partition), broker) == 0:
            if (
                s.brokers[broker].replicas[partition].role == Role.LEADER
                or s.zookeeper.partitions[partition].state.leader == broker
            ):
                return False
    return True


def a_reassignment_can_end(s: World, k: Constants, partition: int) -> bool:
    """A reassignment is recorded, its target is up, and so is the leader."""
    if not a_reassignment_is_recorded(s, partition) or not leader_is_up(s, partition):
        return False
    for broker in range(k.brokers):
        if contains(wanted_replicas(s, partition), broker) == 1 and s.brokers[broker].life != Life.UP:
            return False
    return True


def no_reassignment_can_end(s: World, k: Constants, partition: int) -> bool:
    """No reassignment is recorded; or its target is not up, or the leader."""
    return not a_reassignment_can_end(s, k, partition)


def is_recovered(s: World, k: Constants) -> bool:
    """The state is quiet, all brokers know leader and epoch, the ISR is all replicas that are up, and reassignments have ended.

    Or no broker runs, or none of the ISR, so that nobody can lead. A topic that is to be deleted is gone with all its replicas, or
    some replica's broker is not up; if it was reassigned before, a replica may be left.
    """
    if nobody_runs(s, k):
        return True
    if not is_quiet(s, k):
        return False
    if a_deletion_waits(s):
        return not all_replicas_are_up(s, k)
    if not topic_exists(s):
        return replicas_are_gone(s, k) or s.spent.reassignments > 0
    for partition in range(k.partitions):
        if not partition_is_recovered(s, k, partition):
            return False
    return True


def partition_is_recovered(s: World, k: Constants, partition: int) -> bool:
    """All know leader and epoch, the ISR is all replicas that are up, and the reassignment has ended; or nobody can lead."""
    state = s.zookeeper.partitions[partition].state
    if state.leader == NONE:
        return leader_is_registered_or_none_can_be(s, k, partition)
    if not (
        leader_is_registered_or_none_can_be(s, k, partition)
        and replicas_know_the_epoch(s, k, partition)
        and nobody_leads_at_an_older_epoch(s, k, partition)
    ):
        return False
    if a_reassignment_can_end(s, k, partition) or not nobody_keeps_a_stray_replica(s, k, partition):
        return False
    return s.brokers[state.leader].life != Life.UP or state.isr == settled_members(s, k, partition)


def partitions_agree(s: World, partition: int) -> bool:
    """The controller knows the partition if the topic znode names it, and only then."""
    known = s.controllers[s.zookeeper.controller].context.partitions[partition].assignment
    return (len(known.replicas) > 0) == (len(s.zookeeper.partitions[partition].assignment.replicas) > 0)


def reassignments_agree(s: World, k: Constants) -> bool:
    """The topic znode names all brokers to which the controller reassigns the partition."""
    for partition in range(k.partitions):
        target = members(s.controllers[s.zookeeper.controller].context.partitions[partition].target)
        if target & ~assigned_in_zookeeper(s, partition) != 0:
            return False
    return True


def a_partition_leaves_the_plan(before: World, after: World, partition: int) -> bool:
    """/admin/reassign_partitions does not name a partition any more that the controller knows and does not delete."""
    if not admin_znode_exists(before, partition) or admin_znode_exists(after, partition):
        return False
    holder = before.zookeeper.controller
    return holder == NONE or not reassignment_is_refused(before, holder, partition)


def some_partition_leaves_the_plan(before: World, after: World, k: Constants) -> bool:
    """/admin/reassign_partitions does not name some partition any more that the controller could reassign."""
    for partition in range(k.partitions):
        if a_partition_leaves_the_plan(before, after, partition):
            return True
    return False


def is_assigned_as_planned(s: World, partition: int) -> bool:
    """The partition's replicas are those that /admin/reassign_partitions names, in that order."""
    znodes = s.zookeeper.partitions[partition]
    if len(znodes.assignment.replicas) != len(znodes.reassignment):
        return False
    for place in range(len(znodes.reassignment)):
        if znodes.assignment.replicas[place] != znodes.reassignment[place]:
            return False
    return True


def another_reassignment_is_asked_for(s: World, k: Constants, partition: int) -> bool:
    """A controller is about to take the partition out of the plan, since the API asks for another target."""
    for controller in range(k.brokers):
        if s.controllers[controller].partitions[partition].reassignment == ReassignmentState.SUPPLANTING:
            return True
    return False


def plans_are_carried_out(before: World, after: World, k: Constants) -> bool:
    """Each partition that leaves /admin/reassign_partitions is assigned as planned, or the API asks for another target."""
    for partition in range(k.partitions):
        if a_partition_leaves_the_plan(before, after, partition) and not is_assigned_as_planned(before, partition):
            if not another_reassignment_is_asked_for(before, k, partition):
                return False
    return True


def a_plan_was_begun(s: World, controller: int, partition: int) -> bool:
    """The newest controller reassigns the partition, and has read what /admin/reassign_partitions names for it."""
    own = s.controllers[controller]
    if own.life == STANDBY or own.epoch != s.zookeeper.controller_epoch or own.context.partitions[partition].planned == 0:
        return False
    state = own.partitions[partition].reassignment
    return state != ReassignmentState.NONE and state != ReassignmentState.SUPPLANTING and admin_znode_exists(s, partition)


def some_controller_has_begun_the_plan(s: World, k: Constants, partition: int) -> bool:
    """The newest controller reassigns the partition, and has read what /admin/reassign_partitions names for it."""
    for controller in range(k.brokers):
        if a_plan_was_begun(s, controller, partition):
            return True
    return False


def plan_names_the_target(s: World, k: Constants, partition: int) -> bool:
    """The newest controller reassigns the partition to the brokers that the plan names, if it has read one."""
    for controller in range(k.brokers):
        if a_plan_was_begun(s, controller, partition) and not admin_znode_names_target(s, controller, partition):
            return False
    return True


ASSIGNMENTS: tuple[Property, ...] = (
    step_invariant(
        "PlansAreCarriedOut",
        plans_are_carried_out,
        "a partition leaves /admin/reassign_partitions once it is assigned as planned, or since the API asks for another target: "
        "else a controller that dies then leaves nobody who knows of the plan",
        "KAFKA-6193",
        when=some_partition_leaves_the_plan,
    ),
    invariant(
        "IsrAssigned",
        isr_is_assigned,
        "while no reassignment runs, the ISR holds assigned replicas only",
        "KAFKA-1097",
        when=isr_is_settled,
        each=PARTITION,
    ),
    invariant(
        "NoStrayReplica",
        nobody_keeps_a_stray_replica,
        "in quiet states no broker that is up keeps a replica that it is not assigned",
        "KAFKA-13972",
        when=a_topic_is_quiet,
        each=PARTITION,
    ),
    invariant(
        "AssignmentsAgree",
        assignments_agree,
        "in quiet states the controller has the assignment that the topic znode names, and the leader knows all of its replicas",
        "Kafka 2.8 KafkaController.onPartitionReassignment",
        when=a_leader_is_up_and_quiet,
        each=PARTITION,
    ),
    invariant(
        "PartitionsAgree",
        partitions_agree,
        "in quiet states the controller knows the partitions that the topic znode names, also of a topic that waits to be deleted",
        "KAFKA-6612",
        when=is_quiet,
        each=PARTITION,
    ),
    invariant(
        "ReassignmentsAgree",
        reassignments_agree,
        "in quiet states the topic znode names all brokers to which the controller reassigns a partition; what it does not forget "
        "of a topic that is gone hinders every rebalance",
        "Kafka 2.8 KafkaController.checkAndTriggerAutoLeaderRebalance",
        when=is_quiet,
    ),
    invariant(
        "LeaderAssigned",
        leaders_are_assigned,
        "in quiet states only an assigned replica leads",
        "Kafka 2.8 KafkaController.moveReassignedPartitionLeaderIfRequired",
        when=a_topic_is_quiet,
        each=PARTITION,
    ),
)
"""The invariants of assignments."""

REASSIGNMENT_ENDS = leads_to(
    "ReassignmentEnds",
    a_reassignment_can_end,
    no_reassignment_can_end,
    "a reassignment whose target and leader are up ends, whichever controller finishes it",
    "KAFKA-6193; KAFKA-9089",
    each=PARTITION,
)
"""What fair protocol steps lead to."""

PLAN_NAMES_TARGET = invariant(
    "PlanNamesTarget",
    plan_names_the_target,
    "what /admin/reassign_partitions names for a partition, and the controller has read, is where it reassigns the partition to: a "
    "controller that takes over follows that plan, whatever was asked for since",
    "KAFKA-9089",
    when=some_controller_has_begun_the_plan,
    each=PARTITION,
)
"""For KAFKA-9089: no older request outlives a newer one."""
