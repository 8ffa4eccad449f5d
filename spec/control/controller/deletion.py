"""The deletion of a topic as stages of a controller's event: it is considered, started, halted, and completed.

Each function is part of some event; none reads or writes ZooKeeper. The rules are in deletion_events.py.

Source: Kafka 2.8 TopicDeletionManager.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.knowledge import assigned_replicas, live_brokers, topic_is_queued_for_deletion
from kafka_spec.spec.control.network import send_deletion_mark
from kafka_spec.spec.control.state import NO_EPOCH, ControllerStep, Resuming, World
from kafka_spec.spec.deletion import (
    TOPIC_DELETION,
    DeletionState,
    Resumption,
    failure_halts_deletion,
    name_is_kept,
    resumed,
    started_by_deletion,
)
from kafka_spec.spec.domain import NO_BROKERS, BrokerSet, contains, including, only, reset
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.replica import REPLICA, ReplicaState
from kafka_spec.spec.table import Constants, fire


def replicas_in(s: World, k: Constants, controller: int, state: int) -> BrokerSet:
    """Return the replicas that the controller has in this state."""
    replicas = NO_BROKERS
    for replica in range(k.brokers):
        if s.controllers[controller].replicas[replica] == state:
            replicas = including(replicas, replica)
    return replicas


def deletion_is_halted(s: World, controller: int) -> int:
    """1 if the topic is queued for deletion and ineligible."""
    deletion = s.controllers[controller].deletion
    return 1 if deletion == DeletionState.INELIGIBLE or deletion == DeletionState.HALTED else 0


def deletion_has_begun(s: World, controller: int) -> bool:
    """The controller has begun to delete the topic (topicsWithDeletionStarted)."""
    deletion = s.controllers[controller].deletion
    return deletion == DeletionState.STARTED or deletion == DeletionState.HALTED


def consider_deletion(s: World, k: Constants, controller: int) -> None:
    """Complete the deletion, start it, or let it wait; replicas that failed before go offline first (resumeDeletions)."""
    context = s.controllers[controller].context
    resuming = context.resuming
    context.resuming = Resuming.NOTHING
    s.controllers[controller].step = ControllerStep.REMOVE
    if resuming == Resuming.START:
        start_deletion(s, k, controller)
    elif topic_is_queued_for_deletion(s, controller):
        step, retried = resumed(
            assigned_replicas(s, controller),
            replicas_in(s, k, controller, ReplicaState.DELETION_STARTED),
            replicas_in(s, k, controller, ReplicaState.DELETION_SUCCESSFUL),
            replicas_in(s, k, controller, ReplicaState.DELETION_INELIGIBLE),
            deletion_is_halted(s, controller),
        )
        context.leaving = retried
        if step == Resumption.COMPLETE:
            complete_deletion(s, k, controller)
        elif step == Resumption.START:
            context.resuming = Resuming.START


def start_deletion(s: World, k: Constants, controller: int) -> None:
    """End the partition, tell all brokers, and begin to stop the replicas that are alive (onTopicDeletion)."""
    context = s.controllers[controller].context
    if not deletion_has_begun(s, controller):
        fire(s, k, PARTITION, (controller,), "offline_partition")
        fire(s, k, PARTITION, (controller,), "non_existent_partition")
    fire(s, k, TOPIC_DELETION, (controller,), "begin_topic_deletion")
    send_deletion_mark(s, k, controller, context.live)
    stopped, hindered = started_by_deletion(
        assigned_replicas(s, controller),
        live_brokers(s, controller),
        replicas_in(s, k, controller, ReplicaState.DELETION_SUCCESSFUL),
    )
    halt_deletion(s, k, controller, hindered)
    context.leaving = stopped
    context.deleting = stopped


def halt_deletion(s: World, k: Constants, controller: int, replicas: BrokerSet) -> None:
    """Mark replicas that cannot be deleted now, and the topic, as ineligible."""
    if replicas != 0:
        for replica in range(k.brokers):
            if contains(replicas, replica) == 1:
                fire(s, k, REPLICA, (controller, replica), "replica_deletion_ineligible")
        fire(s, k, TOPIC_DELETION, (controller,), "mark_topic_ineligible")


def fail_deletion(s: World, k: Constants, controller: int, replicas: BrokerSet) -> None:
    """Halt the deletion, since the brokers of these replicas have failed, and consider it again (failReplicaDeletion)."""
    if replicas != 0:
        halt_deletion(s, k, controller, replicas)
        s.controllers[controller].context.resuming = Resuming.CONSIDER


def note_failed_replica(s: World, k: Constants, controller: int, replica: int) -> None:
    """Mark a replica that its broker could not delete, and the topic if the era waits then; consider the deletion again."""
    if failure_halts_deletion(contains(live_brokers(s, controller), replica), k.failed_deletions):
        halt_deletion(s, k, controller, only(replica))
    else:
        fire(s, k, REPLICA, (controller, replica), "replica_deletion_ineligible")
    s.controllers[controller].context.resuming = Resuming.CONSIDER


def forget_topic(s: World, k: Constants, controller: int) -> None:
    """Forget the topic after it was deleted; some eras keep its name among those that are ineligible (removeTopic)."""
    if name_is_kept(deletion_is_halted(s, controller), k.ineligible_names):
        fire(s, k, TOPIC_DELETION, (controller,), "keep_ineligible_name")
    else:
        fire(s, k, TOPIC_DELETION, (controller,), "remove_topic")
    reset(s.controllers[controller].context.assignment)
    reset(s.controllers[controller].context.leadership)


def resume_deletion(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Consider the deletion again, since these brokers have started, if they hold replicas (resumeDeletionForTopics)."""
    if topic_is_queued_for_deletion(s, controller) and brokers & assigned_replicas(s, controller) != 0:
        fire(s, k, TOPIC_DELETION, (controller,), "resume_topic_deletion")
        s.controllers[controller].context.resuming = Resuming.CONSIDER


def ask_to_delete(s: World, k: Constants, controller: int) -> None:
    """Ask the brokers of the replicas that have been taken offline to delete them."""
    deleting = s.controllers[controller].context.deleting
    s.controllers[controller].context.deleting = NO_BROKERS
    for replica in range(k.brokers):
        if contains(deleting, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "replica_deletion_started")


def complete_deletion(s: World, k: Constants, controller: int) -> None:
    """End the replicas, and begin to delete the znodes of the topic (completeDeleteTopic)."""
    for replica in range(k.brokers):
        if s.controllers[controller].replicas[replica] == ReplicaState.DELETION_SUCCESSFUL:
            fire(s, k, REPLICA, (controller, replica), "non_existent_replica")
    s.controllers[controller].step = first_znode_left(s)


def first_znode_left(s: World) -> int:
    """Return the step that deletes the first of the topic's znodes that exist; a controller before may have deleted some."""
    if s.zookeeper.partition.leader_epoch != NO_EPOCH:
        return ControllerStep.DELETE_STATE
    return ControllerStep.DELETE_TOPIC if len(s.zookeeper.assignment.replicas) > 0 else ControllerStep.DELETE_CONFIG
