"""The guards and effects of the replica table, on the model's state.

Source: Kafka 2.8 ReplicaStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import leader_and_isr_without, recipients_of_removal
from kafka_spec.spec.decisions.variants import LeaderlessReplicas
from kafka_spec.spec.language.domain import append, contains, excluding, including, pop_first
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.controller.knowledge import assigned_replicas, live_brokers, topic_is_queued_for_deletion
from kafka_spec.spec.zookeeper.network import (
    send_leader_and_isr,
    send_leader_and_isr_to_all,
    send_stop_replica_to,
    send_stop_replica_with_delete_to,
)
from kafka_spec.spec.zookeeper.state import World
from kafka_spec.spec.zookeeper.znodes import read_state, write_state


def replica_is_live(s: World, controller: int, replica: int) -> bool:
    """The replica's broker is live."""
    return contains(live_brokers(s, controller), replica) == 1


def replica_is_cached_leader(s: World, controller: int, replica: int, partition: int) -> bool:
    """The replica is the cached leader; a new replica never is, since it can only follow."""
    return s.controllers[controller].context.partitions[partition].leadership.leader == replica


def replica_is_assigned(s: World, controller: int, replica: int, partition: int) -> bool:
    """The replica is part of the assignment."""
    return contains(assigned_replicas(s, controller, partition), replica) == 1


def leaderless_replicas_go_offline(k: Constants) -> bool:
    """The era takes replicas offline whose leader and ISR are unknown (2.0, KAFKA-6650)."""
    return k.leaderless_replicas == LeaderlessReplicas.TAKEN_OFFLINE


def isr_contains_replica(s: World, replica: int, partition: int) -> bool:
    """The state znode's ISR holds the replica."""
    return contains(s.zookeeper.partitions[partition].state.isr, replica) == 1


def send_leader_and_isr_to_replica(s: World, controller: int, replica: int, partition: int) -> None:
    """Send the replica's broker the cached leader and ISR; the leader epoch is unchanged."""
    send_leader_and_isr(s, controller, replica, partition)


def send_leader_and_isr_to_new_replica(s: World, controller: int, replica: int, partition: int) -> None:
    """Send the replica's broker the cached leader and ISR, as to a new replica (isNew)."""
    send_leader_and_isr(s, controller, replica, partition)


def send_stop_replica(s: World, controller: int, replica: int, partition: int) -> None:
    """Ask the replica's broker to stop it, with the leader epoch from before the ISR shrinks."""
    send_stop_replica_to(s, controller, replica, partition)


def send_stop_replica_with_delete(s: World, controller: int, replica: int, partition: int) -> None:
    """Ask the replica's broker to stop it and to delete its log."""
    send_stop_replica_with_delete_to(s, controller, replica, partition)


def write_isr_without_replica(s: World, k: Constants, controller: int, replica: int, partition: int) -> None:
    """Write the ISR without the replica, and no leader if it was the leader, with the next leader epoch."""
    history = s.history.partitions[partition]
    state = s.zookeeper.partitions[partition].state
    leader, isr = leader_and_isr_without(state.leader, state.isr, replica, k.last_isr_member, k.unclean)
    own = s.controllers[controller]
    machines = own.partitions[partition]
    is_reassigned = machines.reassignment == ReassignmentState.DROPPING or machines.reassignment == ReassignmentState.SHRINKING
    if not is_reassigned and contains(isr | s.zookeeper.registered | own.context.rejoining, replica) == 0:
        history.removed = including(history.removed, replica)
    write_state(s, controller, leader, isr, partition)


def send_leader_and_isr_to_other_replicas(s: World, k: Constants, controller: int, replica: int, partition: int) -> None:
    """Send LeaderAndIsr to the recipients of a removal: all replicas except this one; nobody if the topic is being deleted."""
    known = s.controllers[controller].context.partitions[partition]
    recipients = recipients_of_removal(known.assignment.replicas, known.leadership.leader, replica, k.shrink_recipients)
    if not topic_is_queued_for_deletion(s, controller):
        send_leader_and_isr_to_all(s, k, controller, recipients, partition)


def refresh_leadership(s: World, controller: int, partition: int) -> None:
    """Copy leader and ISR from the state znode to the cache, under the controller's own epoch."""
    read_state(s, controller, partition)
    s.controllers[controller].context.partitions[partition].leadership.controller_epoch = s.controllers[controller].epoch


def send_update_metadata(s: World, controller: int, replica: int) -> None:
    """Send nothing: an UpdateMetadata with the live brokers that this event has sent already changes nothing."""


def remove_replica_from_assignment(s: World, controller: int, replica: int, partition: int) -> None:
    """Drop the replica from the controller's assignment, which may name it no longer; ZooKeeper is not written."""
    assignment = s.controllers[controller].context.partitions[partition].assignment
    for _ in range(len(assignment.replicas)):
        first = assignment.replicas[0]
        pop_first(assignment.replicas)
        if first != replica:
            append(assignment.replicas, first)
    assignment.adding = excluding(assignment.adding, replica)
    assignment.removing = excluding(assignment.removing, replica)


def append_replica_to_assignment(s: World, controller: int, replica: int, partition: int) -> None:
    """Append the replica to the controller's assignment, which does not name it."""
    append(s.controllers[controller].context.partitions[partition].assignment.replicas, replica)
