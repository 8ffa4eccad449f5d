"""The two steps of every event that write the partition's state: an election, and a replica that goes offline.

Source: Kafka 2.8 PartitionStateMachine.scala, ReplicaStateMachine.scala, doHandleStateChanges of both.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import election_is_due_after_removal
from kafka_spec.spec.language.domain import BrokerSet, contains, singleton
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.controller.knowledge import ANY_CONTROLLER, leadership_is_known, live_brokers
from kafka_spec.spec.zookeeper.controller.partition_rows import (
    a_leader_can_be_elected,
    an_assigned_replica_is_live,
    no_newer_controller_wrote,
)
from kafka_spec.spec.zookeeper.controller.reassignment_rows import reassignment_write_is_due
from kafka_spec.spec.zookeeper.controller.replica_rows import isr_contains_replica
from kafka_spec.spec.zookeeper.controller.stages import end_election, go_on, no_replica_leaves
from kafka_spec.spec.zookeeper.network import send_batch, send_stop_replica_to
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import fence_holds


def write_is_due(s: World, k: Constants, controller: int) -> bool:
    """The next step writes to ZooKeeper, unless ZooKeeper's content refuses it."""
    own = s.controllers[controller]
    partition = own.context.turn
    if own.step == ControllerStep.ELECT and own.partitions[partition].state == PartitionState.NEW:
        return an_assigned_replica_is_live(s, controller, partition)
    if own.step == ControllerStep.ELECT:
        return no_newer_controller_wrote(s, controller, partition) and a_leader_can_be_elected(s, k, controller, partition)
    if own.step == ControllerStep.REMOVE:
        leaving = partition_with_removal(s, k, controller)
        return (
            leadership_is_known(s, controller, leaving)
            and no_newer_controller_wrote(s, controller, leaving)
            and isr_contains_replica(s, lowest(own.context.partitions[leaving].leaving, k.brokers), leaving)
        )
    if own.step == ControllerStep.REASSIGN:
        return reassignment_write_is_due(s, k, controller)
    return own.step > ControllerStep.REASSIGN


def partition_with_removal(s: World, k: Constants, controller: int) -> int:
    """Return the first partition of which a replica has to be taken offline; 0 if none has."""
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].leaving != 0:
            return partition
    return 0


def lowest(brokers: BrokerSet, count: int) -> int:
    """Return the lowest broker of a set that is not empty; `count` is the number of brokers."""
    for broker in range(count):
        if contains(brokers, broker) == 1:
            return broker
    return 0


def controller_is_not_fenced(s: World, k: Constants, controller: int) -> bool:
    """The next step writes nothing, or the check of /controller_epoch in its multi holds."""
    return fence_holds(s, k, controller) or not write_is_due(s, k, controller)


def controller_is_fenced(s: World, k: Constants, controller: int) -> bool:
    """The next step writes, and the check of /controller_epoch in its multi fails: another controller was elected."""
    return not controller_is_not_fenced(s, k, controller)


def step_is_election(s: World, controller: int) -> bool:
    """The next step brings the partition online."""
    return s.controllers[controller].step == ControllerStep.ELECT


def bring_partition_online(s: World, k: Constants, controller: int) -> None:
    """Fire the transition of the partition to online; if it is refused, the event continues."""
    fire(s, k, PARTITION, (controller, s.controllers[controller].context.turn), "online_partition")
    end_election(s, k, controller)
    go_on(s, k, controller)


ELECT_LEADER = Rule(
    "ElectLeader",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_election, controller_is_not_fenced),
    effects=(bring_partition_online,),
    summary="the controller on {controller} brings the partition online: it writes leader and ISR, and sends LeaderAndIsr",
    reference="Kafka 2.8 PartitionStateMachine.doHandleStateChanges: case OnlinePartition",
)


def step_is_removal(s: World, controller: int) -> bool:
    """The next step takes a replica offline."""
    return s.controllers[controller].step == ControllerStep.REMOVE


def an_isr_has_grown_meanwhile(s: World, k: Constants, controller: int) -> bool:
    """All removals are done, a partition is offline, and its ISR has a live member, which it did not have at the election."""
    own = s.controllers[controller]
    live = live_brokers(s, controller)
    for partition in range(k.partitions):
        if own.context.partitions[partition].leaving != 0:
            return False
    for partition in range(k.partitions):
        isr = own.context.partitions[partition].leadership.isr
        if election_is_due_after_removal(own.partitions[partition].state, isr, live, k.election_after_removal):
            return True
    return False


def take_replica_offline(s: World, k: Constants, controller: int) -> None:
    """Fire the transition of the next replica to offline; if it is refused, StopReplica is sent nevertheless."""
    partition = partition_with_removal(s, k, controller)
    replica = lowest(s.controllers[controller].context.partitions[partition].leaving, k.brokers)
    if not fire(s, k, REPLICA, (controller, partition, replica), "offline_replica"):
        send_stop_replica_to(s, controller, replica, partition)
    s.controllers[controller].context.partitions[partition].leaving = s.controllers[controller].context.partitions[
        partition
    ].leaving & ~singleton(replica)
    if no_replica_leaves(s, k, controller):
        send_batch(s, k, controller)
    if an_isr_has_grown_meanwhile(s, k, controller):
        s.controllers[controller].step = ControllerStep.ELECT
        s.controllers[controller].context.turn = 0
    go_on(s, k, controller)


TAKE_REPLICA_OFFLINE = Rule(
    "TakeReplicaOffline",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_removal, controller_is_not_fenced),
    effects=(take_replica_offline,),
    summary="the controller on {controller} takes the next replica offline: it leaves the ISR, and the others are sent "
    "LeaderAndIsr",
    reference="Kafka 2.8 ReplicaStateMachine.doHandleStateChanges: case OfflineReplica",
)
