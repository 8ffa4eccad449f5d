"""The election of a controller, and its fail-over.

Source: Kafka 2.8 KafkaController.scala, elect and onControllerFailover; Kafka 0.10 ZookeeperLeaderElector.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import replicas_lost_at_fail_over
from kafka_spec.spec.decisions.variants import ControllerElection
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, assign, contains
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.controller.deletion import deletion_has_to_wait
from kafka_spec.spec.zookeeper.controller.knowledge import ANY_CONTROLLER, KAFKA, assigned_replicas
from kafka_spec.spec.zookeeper.controller.reassignment_rows import read_reassignment, stop_unassigned_brokers
from kafka_spec.spec.zookeeper.controller.stages import go_on, put_brokers_online
from kafka_spec.spec.zookeeper.machines import CONTROLLER, ELECTING, STANDBY
from kafka_spec.spec.zookeeper.network import send_update_metadata
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, Resuming, World
from kafka_spec.spec.zookeeper.znodes import create_controller_and_increment_epoch, read_state


def nobody_is_controller(s: World) -> bool:
    """/controller does not exist."""
    return s.zookeeper.controller == NONE


def broker_can_be_controller(s: World, controller: int) -> bool:
    """The broker runs, ZooKeeper holds its session, and it is not a controller yet. One that shuts down can still become it."""
    node = s.brokers[controller]
    return node.life != Life.DOWN and node.has_session == 1 and s.controllers[controller].life == STANDBY


def election_is_one_multi(k: Constants) -> bool:
    """The era elects a controller by one multi."""
    return k.controller_election == ControllerElection.ONE_MULTI


def election_takes_two_steps(k: Constants) -> bool:
    """The era creates /controller first and writes the epoch later."""
    return k.controller_election == ControllerElection.TWO_STEPS


def become_controller(s: World, k: Constants, controller: int) -> None:
    """Create /controller and its epoch in one multi; begin the fail-over."""
    create_controller_and_increment_epoch(s, controller)
    s.controllers[controller].epoch = s.zookeeper.controller_epoch
    s.controllers[controller].step = ControllerStep.READ
    fire(s, k, CONTROLLER, (controller,), "elect")


ELECT_CONTROLLER = Rule(
    "ElectController",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(election_is_one_multi, nobody_is_controller, broker_can_be_controller),
    effects=(become_controller,),
    summary="{controller} creates /controller and writes the next controller epoch in one multi, and is the controller",
    reference=f"{KAFKA}.elect, KafkaZkClient.registerControllerAndIncrementControllerEpoch (KAFKA-6082)",
)


def create_controller_znode(s: World, k: Constants, controller: int) -> None:
    """Create /controller, and nothing else."""
    s.zookeeper.controller = controller
    fire(s, k, CONTROLLER, (controller,), "create_controller_znode")


CREATE_CONTROLLER_ZNODE = Rule(
    "CreateControllerZnode",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(election_takes_two_steps, nobody_is_controller, broker_can_be_controller),
    effects=(create_controller_znode,),
    summary="{controller} creates /controller; it has not written its epoch yet",
    reference="Kafka 0.10 ZookeeperLeaderElector.elect",
)


def controller_has_no_epoch_yet(s: World, controller: int) -> bool:
    """The broker has created /controller and has not written its epoch yet."""
    return s.controllers[controller].life == ELECTING


def increment_controller_epoch(s: World, k: Constants, controller: int) -> None:
    """Read /controller_epoch and write the next one, even if another controller has written it meanwhile; begin the fail-over."""
    s.zookeeper.controller_epoch = s.zookeeper.controller_epoch + 1
    s.controllers[controller].epoch = s.zookeeper.controller_epoch
    s.controllers[controller].step = ControllerStep.READ
    fire(s, k, CONTROLLER, (controller,), "increment_epoch")


INCREMENT_CONTROLLER_EPOCH = Rule(
    "IncrementControllerEpoch",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(controller_has_no_epoch_yet,),
    effects=(increment_controller_epoch,),
    summary="{controller} reads /controller_epoch, increments it, and is the controller under that epoch",
    reference="Kafka 0.10 KafkaController.incrementControllerEpoch",
)


def fail_over_reads(s: World, controller: int) -> bool:
    """The controller is about to read the state that it takes over."""
    return s.controllers[controller].step == ControllerStep.READ


def take_over(s: World, k: Constants, controller: int) -> None:
    """Read brokers, topic and state; send the live brokers to all; start the live replicas; dead ones go offline next.

    The order of 2.8's onControllerFailover: UpdateMetadata without partitions, the replica machine, the partition machine.
    """
    context = s.controllers[controller].context
    context.live = s.zookeeper.registered
    for broker in range(k.brokers):
        if contains(context.live, broker) == 1:
            context.broker_epochs[broker] = s.zookeeper.broker_epochs[broker]
    for partition in range(k.partitions):
        assign(context.partitions[partition].assignment, s.zookeeper.partitions[partition].assignment)
        read_reassignment(s, k, controller, partition)
        read_state(s, controller, partition)
    live = s.controllers[controller].context.live
    send_update_metadata(s, k, controller, live)
    take_deletion_over(s, k, controller)
    for partition in range(k.partitions):
        start_replicas(s, k, controller, partition)
    put_brokers_online(s, k, controller, live)
    for partition in range(k.partitions):
        stop_unassigned_brokers(s, k, controller, live, partition)
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


def start_replicas(s: World, k: Constants, controller: int, partition: int) -> None:
    """Start the machine of each replica; the live ones go online then, the dead ones offline (ReplicaStateMachine.startup)."""
    replicas, live = assigned_replicas(s, controller, partition), s.controllers[controller].context.live
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, partition, replica), "startup")
    leaving = replicas_lost_at_fail_over(replicas, live, k.dead_replicas)
    s.controllers[controller].context.partitions[partition].leaving = leaving


def replicas_that_are_down(s: World, k: Constants, controller: int) -> BrokerSet:
    """Return the brokers that hold a replica and are not live."""
    replicas = NO_BROKERS
    for partition in range(k.partitions):
        replicas = replicas | assigned_replicas(s, controller, partition)
    return replicas & ~s.controllers[controller].context.live


def take_deletion_over(s: World, k: Constants, controller: int) -> None:
    """Queue a topic that shall be deleted; replicas that are not live make it ineligible (fetchTopicDeletionsInProgress)."""
    if s.zookeeper.delete_topic == 1 and k.no_deletion == 0 and not deletion_has_to_wait(s, k, controller):
        fire(s, k, TOPIC_DELETION, (controller,), "queue_topic_deletion")
        s.controllers[controller].context.resuming = Resuming.CONSIDER
        if replicas_that_are_down(s, k, controller) != 0:
            fire(s, k, TOPIC_DELETION, (controller,), "mark_topic_ineligible")


TAKE_OVER = Rule(
    "TakeOver",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(fail_over_reads,),
    effects=(take_over,),
    summary="the controller on {controller} reads brokers, topic and partition state, sends the brokers the list of live brokers, "
    "and sends the live replicas their LeaderAndIsr again",
    reference=f"{KAFKA}.onControllerFailover, ReplicaStateMachine.startup",
)
