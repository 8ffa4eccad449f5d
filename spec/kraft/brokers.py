"""The life of brokers: heartbeats, fencing, controlled shutdown; and all rules of brokers, operators and clients.

Source: Kafka 3.9 BrokerLifecycleManager.scala, BrokerHeartbeatManager.java, BrokerServer.scala.
"""

from __future__ import annotations

from kafka_spec.spec.kraft.controller import commit
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.kraft.operators import (
    CHANGE_MIN_ISR,
    CHANGE_UNCLEAN,
    ELECT_PREFERRED,
    ELECT_UNCLEAN,
    ELECT_WHERE_ALLOWED,
    REGISTER_AGAIN,
    UNREGISTER,
    WRITE,
    is_registered,
)
from kafka_spec.spec.kraft.processes import (
    CRASH,
    FAIL_DIRECTORY,
    LOSSY_CRASH,
    START_BROKER,
    START_WITHOUT_DIRECTORY,
    broker_is_down,
    end_process,
)
from kafka_spec.spec.kraft.registrations import (
    begin_controlled_shutdown,
    fence,
    remove_from_partition,
    report_directory,
    unfence,
)
from kafka_spec.spec.kraft.replica import ANY_BROKER, broker_is_up, broker_runs
from kafka_spec.spec.kraft.state import CONTROLLED_SHUTDOWNS, FENCES, SHUTDOWN_TIMEOUTS, KRaft, ProcessLife
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# Heartbeats


def is_not_fenced(s: KRaft, broker: int) -> bool:
    """The controller has the broker as registered and not fenced."""
    state = s.controller.registrations[broker].state
    return state == BrokerState.UNFENCED or state == BrokerState.CONTROLLED_SHUTDOWN


FENCE_DEAD = Rule(
    "FenceDead",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_is_down, is_not_fenced),
    effects=(fence,),
    summary="the controller has not heard from {broker}, whose process has ended, and fences it",
    reference="Kafka 3.9 ReplicationControlManager.maybeFenceReplicas",
)

FENCE_ALIVE = Rule(
    "FenceAlive",
    actor="controller",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_runs, is_not_fenced),
    at_most=FENCES,
    effects=(fence,),
    summary="the controller has not heard from {broker} in time, and fences it, although it runs",
    reference="Kafka 3.9 ReplicationControlManager.maybeFenceReplicas",
)


def is_fenced(s: KRaft, broker: int) -> bool:
    """The controller has the broker as fenced."""
    return s.controller.registrations[broker].state == BrokerState.FENCED


UNFENCE = Rule(
    "Unfence",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_is_up, is_fenced),
    effects=(unfence,),
    summary="a heartbeat of {broker} arrives, which has applied its registration: the controller unfences it",
    reference="Kafka 3.9 BrokerHeartbeatManager.calculateNextBrokerState, ReplicationControlManager.handleBrokerUnfenced",
)


def directory_is_unreported(s: KRaft, broker: int) -> bool:
    """The directory of the broker's replica has failed, and the controller has it as online."""
    return s.brokers[broker].directory_failed > s.controller.registrations[broker].directory_offline


def directory_is_reported(s: KRaft, broker: int) -> bool:
    """The controller knows whether the directory of the broker's replica has failed."""
    return not directory_is_unreported(s, broker)


REPORT_DIRECTORY = Rule(
    "ReportDirectory",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_is_up, is_not_fenced, directory_is_unreported),
    effects=(report_directory,),
    summary="a heartbeat of {broker} reports that the log directory of its replica has failed",
    reference="Kafka 3.9 BrokerLifecycleManager.propagateDirectoryFailure, ReplicationControlManager.handleDirectoriesOffline",
)

# ---------------------------------------------------------------------------------------------------------------------
# Controlled shutdown


def ask_to_shut_down(s: KRaft, broker: int) -> None:
    """Begin to ask for a controlled shutdown with each heartbeat."""
    s.brokers[broker].life = ProcessLife.STOPPING


SHUT_DOWN = Rule(
    "ShutDown",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_up, directory_is_reported),
    at_most=CONTROLLED_SHUTDOWNS,
    effects=(ask_to_shut_down,),
    summary="an operator shuts {broker} down; its heartbeats ask for a controlled shutdown",
    reference="Kafka 3.9 BrokerLifecycleManager.BeginControlledShutdownEvent",
)


def broker_is_stopping(s: KRaft, broker: int) -> bool:
    """The broker asks to shut down."""
    return s.brokers[broker].life == ProcessLife.STOPPING


def is_unfenced(s: KRaft, broker: int) -> bool:
    """The controller has the broker as active."""
    return s.controller.registrations[broker].state == BrokerState.UNFENCED


def is_the_leader(s: KRaft, broker: int) -> bool:
    """The partition's leader is the broker."""
    return s.controller.partition.leader == broker


BEGIN_SHUTDOWN = Rule(
    "BeginControlledShutdown",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_unfenced, is_the_leader),
    effects=(begin_controlled_shutdown,),
    summary="the controller moves the leadership away from {broker}, which shuts down",
    reference="Kafka 3.9 ReplicationControlManager.handleBrokerInControlledShutdown",
)


def is_not_the_leader(s: KRaft, broker: int) -> bool:
    """The broker leads no partition."""
    return s.controller.partition.leader != broker


def others_have_caught_up(s: KRaft, k: Constants, broker: int) -> bool:
    """Every active broker has applied the batch that began the controlled shutdown."""
    for other in range(k.brokers):
        if s.controller.registrations[other].state == BrokerState.UNFENCED and s.brokers[other].life != ProcessLife.DOWN:
            if s.brokers[other].image < s.controller.registrations[broker].shutdown_image:
                return False
    return True


GRANT_SHUTDOWN = Rule(
    "GrantShutdown",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_not_fenced, is_not_the_leader, others_have_caught_up),
    effects=(fence,),
    summary="the controller lets {broker} go, which leads nothing, and fences it",
    reference="Kafka 3.9 BrokerHeartbeatManager.calculateNextBrokerState: SHUTDOWN_NOW",
)


def end_in_order(s: KRaft, k: Constants, broker: int) -> None:
    """End the process in order: the log is flushed, and a file records the broker epoch under which it was complete."""
    epoch = s.brokers[broker].epoch
    end_process(s, k, broker)
    s.brokers[broker].clean_epoch = epoch


def exit_with_answer(s: KRaft, k: Constants, broker: int) -> None:
    """End the process in order, after the answer that lets it go.

    With that, the controller fences it once more: up to 3.9 a fenced broker may still be in the ISR.
    """
    before = s.controller.partition.partition_epoch
    remove_from_partition(s, k, broker)
    if s.controller.partition.partition_epoch != before:
        commit(s, k)
    end_in_order(s, k, broker)


EXIT = Rule(
    "Exit",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_fenced),
    effects=(exit_with_answer,),
    summary="{broker} may go, and its process ends in order",
    reference="Kafka 3.9 BrokerHeartbeatManager, BrokerServer.shutdown, LogManager.shutdown (KIP-966: CleanShutdownFileHandler)",
)


SHUTDOWN_TIMES_OUT = Rule(
    "ShutdownTimesOut",
    actor="{broker}",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_not_fenced),
    at_most=SHUTDOWN_TIMEOUTS,
    effects=(end_in_order,),
    summary="{broker} stops waiting for the controller to let it go, and its process ends in order",
    reference="Kafka 3.9 BrokerServer.shutdown: controlledShutdownFuture",
)


def is_unregistered(s: KRaft, broker: int) -> bool:
    """The controller does not know the broker, and refuses its heartbeats."""
    return not is_registered(s, broker)


EXIT_UNREGISTERED = Rule(
    "ExitUnregistered",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_unregistered),
    effects=(end_in_order,),
    summary="{broker}, which the controller no longer knows, stops waiting for it, and its process ends in order",
    reference="Kafka 3.9 BrokerServer.shutdown: controlledShutdownFuture",
)

RULES = (
    START_BROKER,
    FENCE_DEAD,
    UNFENCE,
    BEGIN_SHUTDOWN,
    GRANT_SHUTDOWN,
    EXIT,
    WRITE,
    SHUT_DOWN,
    ELECT_PREFERRED,
    ELECT_UNCLEAN,
    ELECT_WHERE_ALLOWED,
    CHANGE_MIN_ISR,
    CHANGE_UNCLEAN,
    REGISTER_AGAIN,
    CRASH,
    LOSSY_CRASH,
    FENCE_ALIVE,
    START_WITHOUT_DIRECTORY,
    FAIL_DIRECTORY,
    REPORT_DIRECTORY,
    UNREGISTER,
    SHUTDOWN_TIMES_OUT,
    EXIT_UNREGISTERED,
)
