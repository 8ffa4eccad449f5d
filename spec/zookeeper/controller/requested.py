"""Requests to a controller: preferred and unclean elections, and controlled shutdowns.

Source: Kafka 2.8 KafkaController.processReplicaLeaderElection, doControlledShutdown.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.election import ShutdownPart, Strategy, leader_is_lost, part_in_shutdown, preferred_leader_leads
from kafka_spec.spec.decisions.fencing import shutdown_is_of_registration
from kafka_spec.spec.decisions.variants import OfflineLeaders
from kafka_spec.spec.language.domain import contains, including, singleton
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import BROKERS, PREFERRED_ELECTIONS, SHUTDOWN_RETRIES, UNCLEAN_ELECTIONS
from kafka_spec.spec.zookeeper.controller.knowledge import (
    ANY_CONTROLLED_PARTITION,
    ANY_CONTROLLER,
    KAFKA,
    is_handling_no_event,
    leadership_is_known,
    live_brokers,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.reassignment_rows import topic_znode_records_reassignments
from kafka_spec.spec.zookeeper.controller.stages import go_on, stop_followers
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, World


def another_leads(s: World, controller: int, partition: int) -> bool:
    """The controller knows leader and ISR of the partition, and the leader is not the preferred one."""
    known = s.controllers[controller].context.partitions[partition]
    return leadership_is_known(s, controller, partition) and not preferred_leader_leads(
        known.assignment.replicas, known.leadership.leader
    )


def preferred_leader_does_not_lead(s: World, controller: int, partition: int) -> bool:
    """The partition has a leader that is not the first assigned replica, and the topic is not to be deleted."""
    return another_leads(s, controller, partition) and not topic_is_queued_for_deletion(s, controller)


def elect(s: World, k: Constants, controller: int, partition: int, strategy: int) -> None:
    """Begin an election by a strategy."""
    s.controllers[controller].context.partitions[partition].strategy = strategy
    s.controllers[controller].step = ControllerStep.ELECT
    go_on(s, k, controller)


def ask_for_preferred_election(s: World, k: Constants, controller: int, partition: int) -> None:
    """Begin the election of the preferred leader, which succeeds if it is live and in sync."""
    elect(s, k, controller, partition, Strategy.PREFERRED)


PREFERRED_ELECTION = Rule(
    "PreferredElection",
    actor="operator",
    kind="operator",
    params=ANY_CONTROLLED_PARTITION,
    guards=(is_handling_no_event, preferred_leader_does_not_lead),
    at_most=PREFERRED_ELECTIONS,
    effects=(ask_for_preferred_election,),
    summary="an operator asks the controller on {controller} for a preferred replica election",
    reference=f"{KAFKA}.processReplicaLeaderElection",
)


def era_has_unclean_elections(k: Constants) -> bool:
    """Operators can ask for unclean elections: since 2.4, as for reassignments."""
    return topic_znode_records_reassignments(k)


def partition_has_no_live_leader(s: World, controller: int, partition: int) -> bool:
    """The partition has had a leader and has none that is live now, and the topic is not to be deleted."""
    if not leadership_is_known(s, controller, partition) or topic_is_queued_for_deletion(s, controller):
        return False
    context = s.controllers[controller].context
    leader = context.partitions[partition].leadership.leader
    return leader_is_lost(leader, live_brokers(s, controller), context.stopping, OfflineLeaders.NOT_ONLINE)


def ask_for_unclean_election(s: World, k: Constants, controller: int, partition: int) -> None:
    """Begin an election that may take a leader from outside the ISR, if no member of it is live."""
    elect(s, k, controller, partition, Strategy.UNCLEAN)


UNCLEAN_ELECTION = Rule(
    "UncleanElection",
    actor="operator",
    kind="operator",
    params=ANY_CONTROLLED_PARTITION,
    guards=(era_has_unclean_elections, is_handling_no_event, partition_has_no_live_leader),
    at_most=UNCLEAN_ELECTIONS,
    effects=(ask_for_unclean_election,),
    summary="an operator asks the controller on {controller} for a leader, even one from outside the ISR",
    reference=f"{KAFKA}.processReplicaLeaderElection, ElectionType.UNCLEAN (KIP-460)",
)


def broker_asks_to_shut_down(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker shuts down; the controller considers it live, under this registration or an earlier one."""
    context = s.controllers[controller].context
    if s.brokers[broker].life != Life.STOPPING or contains(context.live, broker) == 0:
        return False
    return shutdown_is_of_registration(s.brokers[broker].broker_epoch, context.broker_epochs[broker], k.broker_epoch_checked)


def controller_has_not_heard_it(s: World, controller: int, broker: int) -> bool:
    """The controller does not know that the broker shuts down."""
    return contains(s.controllers[controller].context.stopping, broker) == 0


def controller_has_heard_it(s: World, controller: int, broker: int) -> bool:
    """The controller knows that the broker shuts down."""
    return not controller_has_not_heard_it(s, controller, broker)


def take_part_in_shutdown(s: World, controller: int, broker: int, partition: int) -> None:
    """Move the leadership of a partition that the broker leads; or have its replica stop and leave the ISR, after that."""
    known = s.controllers[controller].context.partitions[partition]
    if leadership_is_known(s, controller, partition):
        part = part_in_shutdown(known.assignment.replicas, known.leadership.leader, broker)
        if part == ShutdownPart.LEADERSHIP_MOVES:
            known.strategy = Strategy.CONTROLLED_SHUTDOWN
            s.controllers[controller].step = ControllerStep.ELECT
        elif part == ShutdownPart.STOPS:
            known.leaving = singleton(broker)


def shut_broker_down(s: World, k: Constants, controller: int, broker: int) -> None:
    """Mark the broker as shutting down: move its leaderships, or stop its replicas and remove them from the ISR."""
    context = s.controllers[controller].context
    context.stopping = including(context.stopping, broker)
    s.controllers[controller].step = ControllerStep.REMOVE
    if not topic_is_queued_for_deletion(s, controller):
        for partition in range(k.partitions):
            take_part_in_shutdown(s, controller, broker, partition)
    if s.controllers[controller].step == ControllerStep.REMOVE:
        stop_followers(s, k, controller)
    go_on(s, k, controller)


CONTROLLED_SHUTDOWN = Rule(
    "ControlledShutdown",
    actor="controller on {controller}",
    params={**ANY_CONTROLLER, "broker": Broker(BROKERS)},
    guards=(is_handling_no_event, broker_asks_to_shut_down, controller_has_not_heard_it),
    effects=(shut_broker_down,),
    summary="the controller on {controller} processes the controlled shutdown of {broker}",
    reference=f"{KAFKA}.doControlledShutdown",
)


CONTROLLED_SHUTDOWN_AGAIN = Rule(
    "ControlledShutdownAgain",
    actor="controller on {controller}",
    kind="fault",
    params={**ANY_CONTROLLER, "broker": Broker(BROKERS)},
    guards=(is_handling_no_event, broker_asks_to_shut_down, controller_has_heard_it),
    at_most=SHUTDOWN_RETRIES,
    effects=(shut_broker_down,),
    summary="{broker} still leads, or got no answer, and asks again; the controller on {controller} processes its controlled "
    "shutdown",
    reference="Kafka 2.8 KafkaServer.controlledShutdown",
)
