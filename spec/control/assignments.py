"""What Kafka promises of reassignments: they end, the ISR stays within the replicas, and nobody keeps a replica that is not his.

A reassignment is *recorded* while ZooKeeper names it: in the topic znode (KIP-455), or in /admin/reassign_partitions.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.reassignment import admin_znode_exists
from kafka_spec.spec.control.quiet import (
    a_deletion_waits,
    a_topic_is_quiet,
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
from kafka_spec.spec.control.state import Life, Role, World
from kafka_spec.spec.domain import NONE, BrokerSet, contains
from kafka_spec.spec.election import members
from kafka_spec.spec.reassignment_steps import ReassignmentState
from kafka_spec.spec.table import Constants, Property, invariant, leads_to


def assigned_in_zookeeper(s: World) -> BrokerSet:
    """Return the replicas that the topic znode names."""
    return members(s.zookeeper.assignment.replicas)


def a_reassignment_is_recorded(s: World) -> bool:
    """ZooKeeper names a reassignment."""
    return s.zookeeper.assignment.adding | s.zookeeper.assignment.removing != 0 or admin_znode_exists(s)


def wanted_replicas(s: World) -> BrokerSet:
    """Return the target of the recorded reassignment; that of /admin/reassign_partitions goes first."""
    if admin_znode_exists(s):
        return members(s.zookeeper.reassignment)
    return assigned_in_zookeeper(s) & ~s.zookeeper.assignment.removing


def isr_is_settled(s: World, k: Constants) -> bool:
    """There is an ISR, and no reassignment: ZooKeeper records none, and no controller is in the middle of one."""
    if not there_is_an_isr(s) or a_reassignment_is_recorded(s):
        return False
    for controller in range(k.brokers):
        if s.controllers[controller].reassignment != ReassignmentState.NONE:
            return False
    return True


def isr_is_assigned(s: World) -> bool:
    """The ISR holds assigned replicas only."""
    return s.zookeeper.partition.isr & ~assigned_in_zookeeper(s) == 0


def nobody_keeps_a_stray_replica(s: World, k: Constants) -> bool:
    """No broker that is up and not assigned hosts the replica, or has its log."""
    for broker in range(k.brokers):
        if s.brokers[broker].life == Life.UP and contains(assigned_in_zookeeper(s), broker) == 0:
            if s.brokers[broker].replica.role != Role.NONE or len(s.brokers[broker].replica.log) > 0:
                return False
    return True


def a_leader_is_up_and_quiet(s: World, k: Constants) -> bool:
    """The leader of a topic that stays is up, and the state is quiet."""
    return leader_is_up(s) and topic_stays(s) and is_quiet(s, k)


def assignments_agree(s: World, k: Constants) -> bool:
    """The controller has the assignment that the topic znode names, and the leader knows all of its replicas.

    The leader may know one more that has left: a controller that is out of date may send an old assignment with the newest leader
    epoch. Nobody hosts that replica.
    """
    recorded = s.zookeeper.assignment
    known = s.controllers[s.zookeeper.controller].context.assignment
    if len(known.replicas) != len(recorded.replicas):
        return False
    for place in range(len(known.replicas)):
        if known.replicas[place] != recorded.replicas[place]:
            return False
    if known.adding != recorded.adding or known.removing != recorded.removing:
        return False
    return assigned_in_zookeeper(s) & ~s.brokers[s.zookeeper.partition.leader].replica.replicas == 0


def leaders_are_assigned(s: World, k: Constants) -> bool:
    """Who leads is assigned: in ZooKeeper, and on the brokers."""
    for broker in range(k.brokers):
        if contains(assigned_in_zookeeper(s), broker) == 0:
            if s.brokers[broker].replica.role == Role.LEADER or s.zookeeper.partition.leader == broker:
                return False
    return True


def a_reassignment_can_end(s: World, k: Constants) -> bool:
    """A reassignment is recorded, its target is up, and so is the leader."""
    if not a_reassignment_is_recorded(s) or not leader_is_up(s):
        return False
    for broker in range(k.brokers):
        if contains(wanted_replicas(s), broker) == 1 and s.brokers[broker].life != Life.UP:
            return False
    return True


def no_reassignment_can_end(s: World, k: Constants) -> bool:
    """No reassignment is recorded; or its target is not up, or the leader."""
    return not a_reassignment_can_end(s, k)


def is_recovered(s: World, k: Constants) -> bool:
    """The state is quiet, all brokers know leader and epoch, the ISR is all replicas that are up, and reassignments have ended.

    Or no broker runs, or none of the ISR, so that nobody can lead. A topic that is to be deleted is gone with all its replicas, or
    some replica's broker is not up.
    """
    if nobody_runs(s, k):
        return True
    if not is_quiet(s, k):
        return False
    if a_deletion_waits(s):
        return settled_members(s, k) != assigned_in_zookeeper(s)
    if not topic_exists(s):
        return replicas_are_gone(s, k)
    state = s.zookeeper.partition
    if state.leader == NONE:
        return leader_is_registered_or_none_can_be(s, k)
    if not (leader_is_registered_or_none_can_be(s, k) and replicas_know_the_epoch(s, k) and nobody_leads_at_an_older_epoch(s, k)):
        return False
    if a_reassignment_can_end(s, k) or not nobody_keeps_a_stray_replica(s, k):
        return False
    return s.brokers[state.leader].life != Life.UP or state.isr == settled_members(s, k)


ASSIGNMENTS: tuple[Property, ...] = (
    invariant(
        "IsrAssigned",
        isr_is_assigned,
        "while no reassignment runs, the ISR holds assigned replicas only",
        "ISR within the assignment: KAFKA-1097",
        when=isr_is_settled,
    ),
    invariant(
        "NoStrayReplica",
        nobody_keeps_a_stray_replica,
        "in quiet states no broker that is up keeps a replica that it is not assigned",
        "CONVERGE: KAFKA-13972",
        when=a_topic_is_quiet,
    ),
    invariant(
        "AssignmentsAgree",
        assignments_agree,
        "in quiet states the controller has the assignment that the topic znode names, and the leader knows all of its replicas",
        "CONVERGE: Kafka 2.8 KafkaController.onPartitionReassignment",
        when=a_leader_is_up_and_quiet,
    ),
    invariant(
        "LeaderAssigned",
        leaders_are_assigned,
        "in quiet states only an assigned replica leads",
        "CONVERGE: Kafka 2.8 KafkaController.moveReassignedPartitionLeaderIfRequired",
        when=a_topic_is_quiet,
    ),
)
"""The invariants of assignments."""

REASSIGNMENT_ENDS = leads_to(
    "ReassignmentEnds",
    a_reassignment_can_end,
    no_reassignment_can_end,
    "a reassignment whose target and leader are up ends, whichever controller finishes it",
    "CONVERGE: KAFKA-6193, KAFKA-9089",
)
"""What fair protocol steps lead to."""
