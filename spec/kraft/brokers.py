"""The life of brokers: registration, fencing, controlled shutdown, crashes.

Source: Kafka 3.9 BrokerLifecycleManager.scala, BrokerHeartbeatManager.java, BrokerServer.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.kraft_variants import StrayReplicas
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import (
    begin_controlled_shutdown,
    commit,
    fence,
    forget_passed_images,
    remove_from_partition,
    replace_registration,
    unfence,
)
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.kraft.operators import CHANGE_MIN_ISR, ELECT_PREFERRED, ELECT_UNCLEAN, REGISTER_AGAIN, WRITE
from kafka_spec.spec.kraft.replica import (
    ANY_BROKER,
    apply_image,
    broker_is_up,
    broker_runs,
    delete_log,
    forget_request,
    is_replica,
    stop_replica,
)
from kafka_spec.spec.kraft.state import (
    CONTROLLED_SHUTDOWNS,
    CRASHES,
    FENCES,
    LOSSY_CRASHES,
    RECORDS,
    UNKNOWN,
    KRaft,
    ProcessLife,
)
from kafka_spec.spec.language.domain import Range, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# The beginning and the end of a process


def broker_is_down(s: KRaft, broker: int) -> bool:
    """The broker's process does not run."""
    return s.brokers[broker].life == ProcessLife.DOWN


def log_is_stray(s: KRaft, broker: int) -> bool:
    """The broker holds a log of a topic that its image does not have, or that it is not assigned."""
    mine = s.brokers[broker].replica
    if mine.topic_id == UNKNOWN:
        return False
    return mine.topic_id != s.metadata[s.brokers[broker].image].partition.topic_id or not is_replica(s, broker)


def log_is_in_the_way(s: KRaft, broker: int) -> bool:
    """The broker is assigned a replica of a topic, and holds the log of another one of that name."""
    return log_is_stray(s, broker) and is_replica(s, broker)


def begin_with_logs(s: KRaft, k: Constants, broker: int) -> None:
    """Delete the log if it is stray, and apply the image. Kafka 3.9: LogManager.isStrayKraftReplica, BrokerMetadataPublisher."""
    in_the_way = log_is_in_the_way(s, broker)
    if k.stray_replicas == StrayReplicas.OTHERS_DELETED:
        if s.brokers[broker].replica.topic_id != UNKNOWN and not log_is_stray(s, broker):
            delete_log(s, broker)
    elif log_is_stray(s, broker):
        delete_log(s, broker)
    if not (in_the_way and k.stray_replicas == StrayReplicas.DELETED_LAST):
        apply_image(s, k, broker)


def start_process(s: KRaft, k: Constants, broker: int) -> None:
    """Start the process, register, and apply the metadata log up to the registration: earlier images are never seen.

    The file of an orderly stop is read and deleted. What the former process proposed is refused from now on.
    """
    node = s.brokers[broker]
    ended_in_order = 1 if node.clean_epoch == s.controller.registrations[broker].epoch else 0
    node.clean_epoch = UNKNOWN
    forget_request(s, broker)
    replace_registration(s, k, broker, ended_in_order if k.clean_shutdown_detected == Checked.YES else 0)
    s.brokers[broker].epoch = s.controller.registrations[broker].epoch
    s.brokers[broker].life = ProcessLife.UP
    s.brokers[broker].image = len(s.metadata) - 1
    begin_with_logs(s, k, broker)


START_BROKER = Rule(
    "StartBroker",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_down,),
    effects=(start_process,),
    summary="an operator starts {broker}, which registers and applies the metadata log",
    reference="Kafka 3.9 BrokerLifecycleManager.scala; ClusterControlManager.registerBroker",
)


def end_process(s: KRaft, k: Constants, broker: int) -> None:
    """End the broker's process: its log stays; a request on the way stays, an answered one does not."""
    node = s.brokers[broker]
    node.life = ProcessLife.DOWN
    node.epoch = UNKNOWN
    node.image = 0
    node.applying = 0
    stop_replica(s, k, broker)
    if len(s.brokers[broker].answers) > 0:
        forget_request(s, broker)
    truncate(s.brokers[broker].answers, 0)
    forget_passed_images(s, k)


def crash(s: KRaft, k: Constants, broker: int) -> None:
    """End the process without order: the high watermark on disk may be arbitrarily old, and the model assumes the oldest."""
    end_process(s, k, broker)
    s.brokers[broker].replica.high_watermark = 0


CRASH = Rule(
    "Crash",
    actor="{broker}",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_runs,),
    at_most=CRASHES,
    effects=(crash,),
    summary="{broker} crashes; its log stays",
    reference="environment",
)


def log_reaches_beyond(s: KRaft, broker: int, end: int) -> bool:
    """The broker's log has an entry at this offset."""
    return end < len(s.brokers[broker].replica.log)


def crash_and_lose(s: KRaft, k: Constants, broker: int, end: int) -> None:
    """End the process without order, and lose the entries that were not flushed."""
    crash(s, k, broker)
    truncate(s.brokers[broker].replica.log, end)


LOSSY_CRASH = Rule(
    "LossyCrash",
    actor="{broker}",
    kind="fault",
    params={**ANY_BROKER, "end": Range(0, RECORDS)},
    guards=(broker_runs, log_reaches_beyond),
    at_most=LOSSY_CRASHES,
    effects=(crash_and_lose,),
    summary="the machine of {broker} crashes, and loses its log from offset {end} on",
    reference="environment; KIP-903, KIP-966",
)

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
    guards=(broker_is_up,),
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


def exit_in_order(s: KRaft, k: Constants, broker: int) -> None:
    """End the process in order: the log is flushed, and a file records the broker epoch under which it was complete.

    With the answer that lets it go, the controller fences it once more: up to 3.9 a fenced broker may still be in the ISR.
    """
    epoch = s.brokers[broker].epoch
    before = s.controller.partition.partition_epoch
    remove_from_partition(s, k, broker)
    if s.controller.partition.partition_epoch != before:
        commit(s, k)
    end_process(s, k, broker)
    s.brokers[broker].clean_epoch = epoch


EXIT = Rule(
    "Exit",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_is_stopping, is_fenced),
    effects=(exit_in_order,),
    summary="{broker} may go, and its process ends in order",
    reference="Kafka 3.9 BrokerHeartbeatManager, BrokerServer.shutdown, LogManager.shutdown (KIP-966: CleanShutdownFileHandler)",
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
    CHANGE_MIN_ISR,
    REGISTER_AGAIN,
    CRASH,
    LOSSY_CRASH,
    FENCE_ALIVE,
)
