"""The beginning and the end of a broker's process: starts, crashes, with loss or without, and a directory that is taken away.

Source: Kafka 3.9 BrokerServer.scala, BrokerLifecycleManager.scala, LogManager.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.kraft_variants import StrayReplicas
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import forget_passed_images, known_epoch
from kafka_spec.spec.kraft.moves import nothing_is_copied, recover_future_log
from kafka_spec.spec.kraft.registrations import replace_registration
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
    CRASHES,
    FAILED_DIRECTORIES,
    LOSSY_CRASHES,
    RECORDS,
    REMOVED_DIRECTORIES,
    UNKNOWN,
    KRaft,
    ProcessLife,
)
from kafka_spec.spec.language.domain import Range, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


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
    """Delete the log if it is stray, recover a future log, and apply the image.

    Kafka 3.9: LogManager.isStrayKraftReplica, recoverAbandonedFutureLogs, BrokerMetadataPublisher.
    """
    in_the_way = log_is_in_the_way(s, broker)
    if not log_is_stray(s, broker):
        recover_future_log(s, k, broker)
    if k.stray_replicas == StrayReplicas.OTHERS_DELETED:
        if s.brokers[broker].replica.topic_id != UNKNOWN and not log_is_stray(s, broker):
            delete_log(s, broker)
    elif log_is_stray(s, broker):
        delete_log(s, broker)
    if not (in_the_way and k.stray_replicas == StrayReplicas.DELETED_LAST):
        apply_image(s, k, broker)


def ended_in_order(s: KRaft, k: Constants, broker: int) -> bool:
    """The process before has left the file of an orderly stop, under the registration that the controller has of the broker.

    Under any other registration it counts as a crash, and so does every file once the broker was unregistered.
    """
    node = s.brokers[broker]
    if node.clean_epoch == UNKNOWN or node.directory_failed == 1:
        return False
    return k.clean_shutdown_detected == Checked.YES and node.clean_epoch == known_epoch(s, broker)


def start_process(s: KRaft, k: Constants, broker: int) -> None:
    """Start the process, register, and apply the metadata log up to the registration: earlier images are never seen.

    The file of an orderly stop is read and deleted; a directory that had failed does not have it. What the former process proposed
    is refused from now on.
    """
    node = s.brokers[broker]
    clean = 1 if ended_in_order(s, k, broker) else 0
    node.clean_epoch = UNKNOWN
    node.directory_failed = 0
    forget_request(s, broker)
    replace_registration(s, k, broker, clean)
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


def broker_has_a_log(s: KRaft, broker: int) -> bool:
    """The broker has a log of the topic on disk."""
    return s.brokers[broker].replica.topic_id != UNKNOWN


def start_without_directory(s: KRaft, k: Constants, broker: int) -> None:
    """Start the process without the directory of its log: the replica starts empty in another one.

    The file of an orderly stop is in the other directories, too. In `fixed` it does not count for what is gone.
    """
    delete_log(s, broker)
    s.brokers[broker].directory_failed = 0
    if k.removed_directory_leaves_elr == Checked.YES:
        s.brokers[broker].clean_epoch = UNKNOWN
    start_process(s, k, broker)


START_WITHOUT_DIRECTORY = Rule(
    "StartWithoutDirectory",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_down, broker_has_a_log, nothing_is_copied),
    at_most=REMOVED_DIRECTORIES,
    effects=(start_without_directory,),
    summary="an operator takes the directory of the log out of log.dirs of {broker}, and starts it",
    reference="Kafka 4.3 LogManager.readBrokerEpochFromCleanShutdownFiles, ReplicationControlManager.handleAssignReplicasToDirs",
)


def directory_works(s: KRaft, broker: int) -> bool:
    """The log directory of the broker's replica has not failed since the broker has started."""
    return s.brokers[broker].directory_failed == 0


def fail_directory(s: KRaft, k: Constants, broker: int) -> None:
    """Let the directory of the replica fail: the replica goes offline, and the high watermark on disk may be arbitrarily old.

    Kafka 3.9: ReplicaManager.handleLogDirFailure.
    """
    s.brokers[broker].directory_failed = 1
    s.brokers[broker].replica.high_watermark = 0
    stop_replica(s, k, broker)


FAIL_DIRECTORY = Rule(
    "FailDirectory",
    actor="{broker}",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_is_up, broker_has_a_log, directory_works, nothing_is_copied),
    at_most=FAILED_DIRECTORIES,
    effects=(fail_directory,),
    summary="the log directory of the replica of {broker} fails",
    reference="environment; Kafka 3.9 ReplicaManager.handleLogDirFailure (KIP-858)",
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
    s.brokers[broker].copied = min(s.brokers[broker].copied, end)


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
