"""The guards and effects of the replica table, on the model's state.

Source: Kafka 2.8 ReplicaStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.knowledge import live_brokers
from kafka_spec.spec.control.decisions import LastIsrMember, ShrinkRecipients
from kafka_spec.spec.control.network import send_leader_and_isr, send_leader_and_isr_to_all, send_stop_replica_to
from kafka_spec.spec.control.state import World
from kafka_spec.spec.control.zookeeper import read_state, write_state
from kafka_spec.spec.domain import NONE, contains, including, only
from kafka_spec.spec.election import isr_without, leader_without, members
from kafka_spec.spec.table import Constants


def replica_is_live(s: World, controller: int, replica: int) -> bool:
    """The replica's broker is live."""
    return contains(live_brokers(s, controller), replica) == 1


def replica_is_not_live(s: World, controller: int, replica: int) -> bool:
    """The replica's broker is dead or shutting down."""
    return contains(live_brokers(s, controller), replica) == 0


def replica_is_not_cached_leader(s: World, controller: int, replica: int) -> bool:
    """Another broker is the cached leader: a new replica can only follow."""
    return s.controllers[controller].context.leadership.leader != replica


def replica_is_assigned(s: World, replica: int) -> bool:
    """The replica is part of the assignment."""
    return contains(members(s.zookeeper.assignment), replica) == 1


def replica_is_not_assigned(s: World, replica: int) -> bool:
    """The replica is missing from the assignment."""
    return contains(members(s.zookeeper.assignment), replica) == 0


def isr_contains_replica(s: World, replica: int) -> bool:
    """The state znode's ISR holds the replica."""
    return contains(s.zookeeper.partition.isr, replica) == 1


def isr_does_not_contain_replica(s: World, replica: int) -> bool:
    """The state znode's ISR does not hold the replica: nothing to write, and no new leader epoch."""
    return contains(s.zookeeper.partition.isr, replica) == 0


def send_leader_and_isr_to_replica(s: World, controller: int, replica: int) -> None:
    """Send the replica's broker the cached leader and ISR; the leader epoch is not a new one."""
    send_leader_and_isr(s, controller, replica)


def send_stop_replica(s: World, controller: int, replica: int) -> None:
    """Ask the replica's broker to stop it, with the leader epoch from before the ISR shrinks."""
    send_stop_replica_to(s, controller, replica)


def keeps_last_isr_member(k: Constants) -> int:
    """1 if the last member of an ISR stays when its broker dies."""
    if k.last_isr_member == LastIsrMember.KEPT:
        return 1
    if k.last_isr_member == LastIsrMember.DROPPED_IF_UNCLEAN:
        return 1 - k.unclean
    return 0


def write_isr_without_replica(s: World, k: Constants, controller: int, replica: int) -> None:
    """Write the ISR without the replica, nobody leading if it led, with the next leader epoch."""
    leader = leader_without(s.zookeeper.partition.leader, replica)
    isr = isr_without(s.zookeeper.partition.isr, replica, keeps_last_isr_member(k))
    if k.last_isr_member == LastIsrMember.DROPPED and isr == 0:
        leader = replica
    if contains(isr | s.zookeeper.registered | s.controllers[controller].context.rejoining, replica) == 0:
        s.notes.removed = including(s.notes.removed, replica)
    write_state(s, controller, leader, isr)


def send_leader_and_isr_to_other_replicas(s: World, k: Constants, controller: int, replica: int) -> None:
    """Send LeaderAndIsr to all assigned replicas but this one."""
    others = members(s.zookeeper.assignment) & ~only(replica)
    if k.shrink_recipients == ShrinkRecipients.LEADER_ONLY:
        leader = s.controllers[controller].context.leadership.leader
        others = others & only(leader) if leader != NONE else 0
    send_leader_and_isr_to_all(s, k, controller, others)


def refresh_leadership(s: World, controller: int) -> None:
    """Take leader and ISR from the state znode into the cache."""
    read_state(s, controller)
