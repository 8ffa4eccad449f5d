"""The guards and effects of the partition table, on the model's state.

Source: Kafka 2.8 PartitionStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import Strategy, elect, elect_reassigned, first_leader_and_isr
from kafka_spec.spec.decisions.fencing import state_may_be_replaced
from kafka_spec.spec.decisions.log import divergence_offset, records_in
from kafka_spec.spec.language.domain import NONE, BrokerSet, contains, truncate
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.controller.knowledge import assigned_replicas, live_brokers
from kafka_spec.spec.zookeeper.network import send_leader_and_isr_to_all
from kafka_spec.spec.zookeeper.state import World
from kafka_spec.spec.zookeeper.znodes import create_state, write_state


def an_assigned_replica_is_live(s: World, controller: int, partition: int) -> bool:
    """Some assigned replica is on a live broker."""
    return assigned_replicas(s, controller, partition) & live_brokers(s, controller) != 0


def state_znode_is_absent(s: World, partition: int) -> bool:
    """ZooKeeper has no state of the partition yet; otherwise the creation fails with NODEEXISTS, and the partition stays new."""
    return s.zookeeper.partitions[partition].state.leader_epoch == NO_EPOCH


def create_state_znode(s: World, controller: int, partition: int) -> None:
    """Create the state znode: the first live replica leads, all live ones are in sync."""
    assigned = s.controllers[controller].context.partitions[partition].assignment.replicas
    leader, isr, _ = first_leader_and_isr(assigned, live_brokers(s, controller))
    create_state(s, controller, leader, isr, partition)


def send_leader_and_isr_to_first_isr(s: World, k: Constants, controller: int, partition: int) -> None:
    """Send LeaderAndIsr to the members of the first ISR only."""
    send_leader_and_isr_to_all(s, k, controller, s.controllers[controller].context.partitions[partition].leadership.isr, partition)


def no_newer_controller_wrote(s: World, controller: int, partition: int) -> bool:
    """The state znode exists and was not written under a newer controller epoch."""
    state = s.zookeeper.partitions[partition].state
    return state.leader_epoch != NO_EPOCH and state_may_be_replaced(state.controller_epoch, s.controllers[controller].epoch)


def elected(s: World, k: Constants, controller: int, partition: int) -> tuple[int, BrokerSet, BrokerSet]:
    """Return the leader, the ISR and the recipients that the current strategy elects from the state znode."""
    state = s.zookeeper.partitions[partition].state
    context = s.controllers[controller].context
    known = context.partitions[partition]
    if known.strategy == Strategy.REASSIGNMENT:
        moved, left, reported = elect_reassigned(known.target, live_brokers(s, controller), state.isr)
        return moved, left, reported
    leader, isr, recipients = elect(
        known.strategy,
        known.assignment.replicas,
        live_brokers(s, controller),
        context.stopping,
        state.isr,
        k.unclean,
        k.offline_recipients,
        k.shutdown_recipients,
    )
    return leader, isr, recipients


def a_leader_can_be_elected(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The current strategy finds a leader."""
    leader, _, _ = elected(s, k, controller, partition)
    return leader != NONE


def write_elected_leader_and_isr(s: World, k: Constants, controller: int, partition: int) -> None:
    """Write the elected leader and ISR with the next leader epoch, even if both are unchanged."""
    leader, isr, _ = elected(s, k, controller, partition)
    if contains(s.zookeeper.partitions[partition].state.isr, leader) == 0:
        note_unclean_election(s, leader, partition)
    write_state(s, controller, leader, isr, partition)


def note_unclean_election(s: World, leader: int, partition: int) -> None:
    """Record for the properties that entries missing from the leader's log, or committed later by older leaders, do not count."""
    history = s.history.partitions[partition]
    history.unclean_epoch = s.zookeeper.partitions[partition].state.leader_epoch + 1
    truncate(history.committed, divergence_offset(history.committed, s.brokers[leader].replicas[partition].log))
    history.acknowledged = history.acknowledged & records_in(s.brokers[leader].replicas[partition].log)


def send_leader_and_isr_to_recipients(s: World, k: Constants, controller: int, partition: int) -> None:
    """Send LeaderAndIsr to the recipients of the election."""
    _, _, recipients = elected(s, k, controller, partition)
    send_leader_and_isr_to_all(s, k, controller, recipients, partition)
