"""The events of topic deletion: an operator's request, the answer of a broker, and the znodes that are deleted in the end.

Source: Kafka 2.8 KafkaController.processTopicDeletion, processTopicDeletionStopReplicaResponseReceived; KafkaZkClient.scala.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.variants import DeletionThread
from kafka_spec.spec.language.domain import NO_BROKERS, reset, truncate
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import BROKERS, NO_EPOCH
from kafka_spec.spec.zookeeper.controller.broker_changes import zookeeper_can_be_read
from kafka_spec.spec.zookeeper.controller.deletion import consider_deletion, deletion_has_to_wait, forget_topic, note_failed_replica
from kafka_spec.spec.zookeeper.controller.knowledge import (
    ANY_CONTROLLED_PARTITION,
    ANY_CONTROLLER,
    KAFKA,
    assigned_replicas,
    is_handling_no_event,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.stages import go_on
from kafka_spec.spec.zookeeper.controller.steps import controller_is_not_fenced
from kafka_spec.spec.zookeeper.controller.topics import a_topic_is_new
from kafka_spec.spec.zookeeper.messages import Answer
from kafka_spec.spec.zookeeper.state import ControllerStep, Resuming, World

DELETES = "Kafka 2.8 KafkaZkClient"

# ---------------------------------------------------------------------------------------------------------------------
# An operator's request


def a_deletion_is_asked_for(s: World, k: Constants, controller: int) -> bool:
    """/admin/delete_topics names the topic, and the controller may queue it and has not; it reads of new topics first."""
    if topic_is_queued_for_deletion(s, controller) or a_topic_is_new(s, controller) or deletion_has_to_wait(s, k, controller):
        return False
    return s.zookeeper.delete_topic == 1


def topic_can_be_deleted(s: World, k: Constants, controller: int) -> bool:
    """The controller knows the topic, and deletion is enabled."""
    return k.no_deletion == 0 and assigned_replicas(s, controller, 0) != 0


def topic_cannot_be_deleted(s: World, k: Constants, controller: int) -> bool:
    """The controller does not know the topic, or delete.topic.enable is false."""
    return not topic_can_be_deleted(s, k, controller)


def promise_no_records(s: World, k: Constants) -> None:
    """Note for the properties that the records of the topic need no longer be kept."""
    for partition in range(k.partitions):
        truncate(s.history.partitions[partition].committed, 0)
        s.history.partitions[partition].acknowledged = NO_BROKERS


def queue_deletion(s: World, k: Constants, controller: int) -> None:
    """Queue the topic for deletion, and consider it; its records need no longer be kept."""
    fire(s, k, TOPIC_DELETION, (controller,), "queue_topic_deletion")
    promise_no_records(s, k)
    s.controllers[controller].context.resuming = Resuming.CONSIDER
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


NOTICE_DELETION = Rule(
    "NoticeDeletion",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_deletion_is_asked_for, topic_can_be_deleted),
    effects=(queue_deletion,),
    summary="the controller on {controller} reads that the topic shall be deleted, and queues it",
    reference=f"{KAFKA}.processTopicDeletion, TopicDeletionManager.enqueueTopicsForDeletion",
)


def refuse_deletion(s: World, controller: int) -> None:
    """Continue with deleting the request."""
    s.controllers[controller].step = ControllerStep.DELETE_MARK


REFUSE_DELETION = Rule(
    "RefuseDeletion",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_deletion_is_asked_for, topic_cannot_be_deleted),
    effects=(refuse_deletion,),
    summary="the controller on {controller} refuses to delete the topic: deletion is disabled, or there is none",
    reference=f"{KAFKA}.processTopicDeletion",
)

# ---------------------------------------------------------------------------------------------------------------------
# Answers of brokers


def an_answer_waits(s: World, controller: int, broker: int, partition: int) -> bool:
    """The answer of the broker to a StopReplica with delete has arrived."""
    return s.controllers[controller].channels[broker].answers[partition] != Answer.NONE


def handle_answer(s: World, k: Constants, controller: int, broker: int, partition: int) -> None:
    """Enter the replica as deleted, or as not deleted, and consider the deletion again."""
    answer = s.controllers[controller].channels[broker].answers[partition]
    s.controllers[controller].channels[broker].answers[partition] = Answer.NONE
    if topic_is_queued_for_deletion(s, controller):
        if answer == Answer.FAILED:
            note_failed_replica(s, k, controller, broker, partition)
        else:
            fire(s, k, REPLICA, (controller, partition, broker), "replica_deletion_successful")
            s.controllers[controller].context.resuming = Resuming.CONSIDER
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


HANDLE_ANSWER = Rule(
    "HandleStopReplicaAnswer",
    actor="controller on {controller}",
    params={**ANY_CONTROLLED_PARTITION, "broker": Broker(BROKERS)},
    guards=(is_handling_no_event, an_answer_waits),
    effects=(handle_answer,),
    summary="the controller on {controller} handles the answer of {broker}, which was asked to delete its replica",
    reference=f"{KAFKA}.processTopicDeletionStopReplicaResponseReceived",
)


def deletion_thread_is_awake(s: World, k: Constants, controller: int) -> bool:
    """The era has a thread that deletes topics, and it was woken."""
    return k.deletion_thread == DeletionThread.RUNS and s.controllers[controller].context.resuming != Resuming.NOTHING


def run_deletion_thread(s: World, k: Constants, controller: int) -> None:
    """Consider the deletion of the topic, under the controller's lock."""
    consider_deletion(s, k, controller)
    go_on(s, k, controller)


RUN_DELETION_THREAD = Rule(
    "RunDeletionThread",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, deletion_thread_is_awake),
    effects=(run_deletion_thread,),
    summary="the thread of the controller on {controller} that deletes topics considers the deletion",
    reference="Kafka 0.10 TopicDeletionManager.DeleteTopicsThread",
)

# ---------------------------------------------------------------------------------------------------------------------
# The znodes, one after the other


def state_is_next(s: World, controller: int) -> bool:
    """The next step deletes the state znode."""
    return s.controllers[controller].step == ControllerStep.DELETE_STATE


def delete_state(s: World, k: Constants, controller: int) -> None:
    """Delete the first state znode; they are the first of the topic's znodes."""
    first = first_partition_with_state(s, k)
    reset(s.zookeeper.partitions[first].state)
    s.history.partitions[first].removed = NO_BROKERS
    if first_partition_with_state(s, k) == k.partitions:
        s.controllers[controller].step = ControllerStep.DELETE_TOPIC


def first_partition_with_state(s: World, k: Constants) -> int:
    """Return the first partition whose state znode exists; the number of partitions if none does."""
    for partition in range(k.partitions):
        if s.zookeeper.partitions[partition].state.leader_epoch != NO_EPOCH:
            return partition
    return k.partitions


DELETE_STATE = Rule(
    "DeleteState",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(state_is_next, controller_is_not_fenced),
    effects=(delete_state,),
    summary="the controller on {controller} deletes the state znode: all replicas are deleted",
    reference=f"{DELETES}.deleteTopicZNode, deleteRecursive",
)


def topic_is_next(s: World, controller: int) -> bool:
    """The next step deletes the znode of the topic."""
    return s.controllers[controller].step == ControllerStep.DELETE_TOPIC


def delete_topic_znode(s: World, k: Constants, controller: int) -> None:
    """Delete /brokers/topics/T. Nothing of the topic need be kept any longer."""
    promise_no_records(s, k)
    for partition in range(k.partitions):
        reset(s.zookeeper.partitions[partition].state)
        reset(s.zookeeper.partitions[partition].assignment)
        s.history.partitions[partition].unclean_epoch = NO_EPOCH
    s.history.first_record = s.spent.records
    for late in range(len(s.late_stops)):
        s.late_stops[late].is_of_former_topic = 1
    s.controllers[controller].step = ControllerStep.DELETE_CONFIG


DELETE_TOPIC_ZNODE = Rule(
    "DeleteTopicZnode",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(topic_is_next, controller_is_not_fenced),
    effects=(delete_topic_znode,),
    summary="the controller on {controller} deletes /brokers/topics/T",
    reference=f"{DELETES}.deleteTopicZNode",
)


def config_is_next(s: World, controller: int) -> bool:
    """The next step deletes the configuration of the topic."""
    return s.controllers[controller].step == ControllerStep.DELETE_CONFIG


def delete_config(s: World, controller: int) -> None:
    """Delete /config/topics/T."""
    s.zookeeper.config = 0
    s.controllers[controller].step = ControllerStep.DELETE_MARK


DELETE_CONFIG = Rule(
    "DeleteConfig",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(config_is_next, controller_is_not_fenced),
    effects=(delete_config,),
    summary="the controller on {controller} deletes /config/topics/T",
    reference=f"{DELETES}.deleteTopicConfigs",
)


def mark_is_next(s: World, controller: int) -> bool:
    """The next step deletes the request for deletion."""
    return s.controllers[controller].step == ControllerStep.DELETE_MARK


def delete_mark(s: World, k: Constants, controller: int) -> None:
    """Delete /admin/delete_topics/T; a topic that was deleted is forgotten (ControllerContext.removeTopic)."""
    s.zookeeper.delete_topic = 0
    if topic_is_queued_for_deletion(s, controller):
        forget_topic(s, k, controller)
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


DELETE_MARK = Rule(
    "DeleteMark",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(mark_is_next, controller_is_not_fenced),
    effects=(delete_mark,),
    summary="the controller on {controller} deletes /admin/delete_topics/T: the deletion is complete, or was refused",
    reference=f"{DELETES}.deleteTopicDeletions, ControllerContext.removeTopic",
)

RULES = (
    NOTICE_DELETION,
    REFUSE_DELETION,
    HANDLE_ANSWER,
    RUN_DELETION_THREAD,
    DELETE_STATE,
    DELETE_TOPIC_ZNODE,
    DELETE_CONFIG,
    DELETE_MARK,
)
"""The rules of controllers for topic deletion."""
