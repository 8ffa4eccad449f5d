"""The creation of a topic, partitions that are added to it, and notifications that a leader has changed the ISR.

Source: Kafka 2.8 KafkaController.processTopicChange, processPartitionModifications, processIsrChangeNotification.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.deletion import added_partitions_are_refused
from kafka_spec.spec.language.domain import assign, contains
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.controller.broker_changes import zookeeper_can_be_read
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
from kafka_spec.spec.zookeeper.network import send_deletion_mark
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import read_state


def partition_is_new(s: World, controller: int, partition: int) -> bool:
    """The topic znode names the partition, and the controller does not know it."""
    known, written = s.controllers[controller].context.partitions[partition], s.zookeeper.partitions[partition]
    return len(known.assignment.replicas) == 0 and len(written.assignment.replicas) > 0


def a_topic_is_new(s: World, controller: int) -> bool:
    """The topic exists, and the controller does not know it."""
    return partition_is_new(s, controller, 0)


def a_partition_is_added(s: World, k: Constants, controller: int) -> bool:
    """The controller knows the topic, and not all of its partitions."""
    if a_topic_is_new(s, controller):
        return False
    for partition in range(k.partitions):
        if partition_is_new(s, controller, partition):
            return True
    return False


def create_partitions(s: World, k: Constants, controller: int) -> None:
    """Enter unknown partitions and replicas as new, and continue with bringing the partitions online (onNewPartitionCreation)."""
    for partition in range(k.partitions):
        if partition_is_new(s, controller, partition):
            create_partition(s, k, controller, partition)
    s.controllers[controller].step = ControllerStep.ELECT
    go_on(s, k, controller)


def create_partition(s: World, k: Constants, controller: int, partition: int) -> None:
    """Enter a partition and its replicas as new."""
    known = s.controllers[controller].context.partitions[partition]
    assign(known.assignment, s.zookeeper.partitions[partition].assignment)
    known.creating = 1
    fire(s, k, PARTITION, (controller, partition), "new_partition")
    for replica in range(k.brokers):
        if contains(assigned_replicas(s, controller, partition), replica) == 1:
            fire(s, k, REPLICA, (controller, partition, replica), "new_replica")


NOTICE_TOPIC = Rule(
    "NoticeTopic",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_topic_is_new),
    effects=(create_partitions,),
    summary="the controller on {controller} reads the new topic; its partition and replicas are new",
    reference=f"{KAFKA}.processTopicChange, onNewPartitionCreation",
)


def added_partitions_are_taken(s: World, controller: int) -> bool:
    """The topic is not queued for deletion."""
    return not topic_is_queued_for_deletion(s, controller)


def partitions_are_refused(s: World, k: Constants, controller: int) -> bool:
    """The topic is queued for deletion, and the era restores its assignment (2.0, KAFKA-6612); before, they are left there."""
    is_queued = 1 if topic_is_queued_for_deletion(s, controller) else 0
    return added_partitions_are_refused(is_queued, k.added_during_deletion)


NOTICE_PARTITION = Rule(
    "NoticePartition",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_partition_is_added, added_partitions_are_taken),
    effects=(create_partitions,),
    summary="the controller on {controller} reads that the topic has another partition; it and its replicas are new",
    reference=f"{KAFKA}.processPartitionModifications, onNewPartitionCreation",
)


def refuse_partition(s: World, controller: int) -> None:
    """Continue with writing the assignment back."""
    s.controllers[controller].step = ControllerStep.RESTORE


REFUSE_PARTITION = Rule(
    "RefusePartition",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_partition_is_added, partitions_are_refused),
    effects=(refuse_partition,),
    summary="the controller on {controller} reads that a topic that is to be deleted has another partition, and refuses it",
    reference=f"{KAFKA}.processPartitionModifications (KAFKA-6612)",
)


def step_is_to_restore(s: World, controller: int) -> bool:
    """The next step writes the assignment back."""
    return s.controllers[controller].step == ControllerStep.RESTORE


def restore_assignment(s: World, k: Constants, controller: int) -> None:
    """Write the assignment that the controller knows to the topic znode."""
    for partition in range(k.partitions):
        assign(s.zookeeper.partitions[partition].assignment, s.controllers[controller].context.partitions[partition].assignment)
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


RESTORE_ASSIGNMENT = Rule(
    "RestoreAssignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_restore, controller_is_not_fenced),
    effects=(restore_assignment,),
    summary="the controller on {controller} writes the assignment without the added partition to the topic znode",
    reference=f"{KAFKA}.processPartitionModifications: restorePartitionReplicaAssignment (KAFKA-6612)",
)


def isr_has_changed(s: World, controller: int, partition: int) -> bool:
    """A leader has changed the ISR since the controller read it, and the state znode has not been deleted."""
    cached, written = s.controllers[controller].context.partitions[partition].leadership, s.zookeeper.partitions[partition].state
    return cached.leader_epoch != NO_EPOCH and written.leader_epoch != NO_EPOCH and cached.version != written.version


def learn_isr(s: World, k: Constants, controller: int, partition: int) -> None:
    """Read the changed state into the cache, and send it to all brokers, which matters only if the topic is to be deleted."""
    read_state(s, controller, partition)
    if topic_is_queued_for_deletion(s, controller):
        send_deletion_mark(s, k, controller, s.controllers[controller].context.live)


NOTICE_ISR_CHANGE = Rule(
    "NoticeIsrChange",
    actor="controller on {controller}",
    params=ANY_CONTROLLED_PARTITION,
    guards=(is_handling_no_event, zookeeper_can_be_read, isr_has_changed),
    effects=(learn_isr,),
    summary="the controller on {controller} is notified of a changed ISR, and reads it",
    reference=f"{KAFKA}.processIsrChangeNotification",
)
