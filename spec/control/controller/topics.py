"""The creation of a topic, and notifications that a leader has changed the ISR.

Source: Kafka 2.8 KafkaController.processTopicChange, processIsrChangeNotification.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.broker_changes import zookeeper_can_be_read
from kafka_spec.spec.control.controller.knowledge import (
    ANY_CONTROLLED_PARTITION,
    ANY_CONTROLLER,
    KAFKA,
    assigned_replicas,
    is_handling_no_event,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.control.network import send_deletion_mark
from kafka_spec.spec.control.state import NO_EPOCH, ControllerStep, World
from kafka_spec.spec.control.zookeeper import read_state
from kafka_spec.spec.domain import assign, contains
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.replica import REPLICA
from kafka_spec.spec.table import Constants, Rule, fire


def a_topic_is_new(s: World, controller: int) -> bool:
    """The topic exists, and the controller does not know it."""
    known, written = s.controllers[controller].context.partitions[0], s.zookeeper.partitions[0]
    return len(known.assignment.replicas) == 0 and len(written.assignment.replicas) > 0


def create_partitions(s: World, k: Constants, controller: int) -> None:
    """Enter partitions and replicas as new, and continue with bringing the partitions online (onNewPartitionCreation)."""
    for partition in range(k.partitions):
        create_partition(s, k, controller, partition)
    s.controllers[controller].step = ControllerStep.ELECT


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
    says="the controller on {controller} reads the new topic; its partition and replicas are new",
    cites=f"{KAFKA}.processTopicChange, onNewPartitionCreation",
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
    says="the controller on {controller} is notified of a changed ISR, and reads it",
    cites=f"{KAFKA}.processIsrChangeNotification",
)
