"""The deletion of a topic as stages of a controller's event: it is considered, started, halted, and completed.

Each function is part of some event; none reads or writes ZooKeeper. The rules are in deletion_events.py.

Source: Kafka 2.8 TopicDeletionManager.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.deletion import (
    Resumption,
    deletion_waits_for_reassignment,
    failure_halts_deletion,
    name_is_kept,
    resumed,
    started_by_deletion,
)
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, contains, including, reset, singleton
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION, DeletionState
from kafka_spec.spec.vocabulary.table import Constants, fire
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.controller.knowledge import assigned_replicas, live_brokers, topic_is_queued_for_deletion
from kafka_spec.spec.zookeeper.network import send_deletion_mark
from kafka_spec.spec.zookeeper.state import ControllerStep, Resuming, World


def replicas_in(s: World, k: Constants, controller: int, partition: int, state: int) -> BrokerSet:
    """Return the replicas that the controller has in this state."""
    replicas = NO_BROKERS
    for replica in range(k.brokers):
        if s.controllers[controller].partitions[partition].replicas[replica] == state:
            replicas = including(replicas, replica)
    return replicas


def deletion_is_halted(s: World, controller: int) -> int:
    """1 if the topic is queued for deletion and ineligible."""
    deletion = s.controllers[controller].deletion
    return 1 if deletion == DeletionState.INELIGIBLE or deletion == DeletionState.HALTED else 0


def deletion_has_to_wait(s: World, k: Constants, controller: int) -> bool:
    """A partition is being reassigned, and the era deletes the topic afterwards."""
    for partition in range(k.partitions):
        is_reassigned = 1 if len(s.controllers[controller].context.partitions[partition].target) > 0 else 0
        if deletion_waits_for_reassignment(is_reassigned, k.deletion_of_reassigned):
            return True
    return False


def deletion_has_begun(s: World, controller: int) -> bool:
    """The controller has begun to delete the topic (topicsWithDeletionStarted)."""
    deletion = s.controllers[controller].deletion
    return deletion == DeletionState.STARTED or deletion == DeletionState.HALTED


def next_of_deletion(s: World, k: Constants, controller: int) -> int:
    """Return what the controller does with the queued topic; note which replicas of its partitions go offline before that."""
    replicas, started, remaining = NO_BROKERS, NO_BROKERS, NO_BROKERS
    for partition in range(k.partitions):
        assigned = assigned_replicas(s, controller, partition)
        replicas = replicas | assigned
        started = started | replicas_in(s, k, controller, partition, ReplicaState.DELETION_STARTED)
        remaining = remaining | (assigned & ~replicas_in(s, k, controller, partition, ReplicaState.DELETION_SUCCESSFUL))
    halted = deletion_is_halted(s, controller)
    for partition in range(k.partitions):
        ineligible = replicas_in(s, k, controller, partition, ReplicaState.DELETION_INELIGIBLE)
        _, retried = resumed(replicas, started, replicas & ~remaining, ineligible, halted)
        s.controllers[controller].context.partitions[partition].leaving = retried
    step, _ = resumed(replicas, started, replicas & ~remaining, NO_BROKERS, halted)
    return step


def consider_deletion(s: World, k: Constants, controller: int) -> None:
    """Complete the deletion, start it, or let it wait; replicas that failed before go offline first (resumeDeletions)."""
    context = s.controllers[controller].context
    resuming = context.resuming
    context.resuming = Resuming.NOTHING
    s.controllers[controller].step = ControllerStep.REMOVE
    if resuming == Resuming.START:
        start_deletion(s, k, controller)
    elif topic_is_queued_for_deletion(s, controller):
        step = next_of_deletion(s, k, controller)
        if step == Resumption.COMPLETE:
            complete_deletion(s, k, controller)
        elif step == Resumption.START:
            context.resuming = Resuming.START


def start_deletion(s: World, k: Constants, controller: int) -> None:
    """End the partitions, tell all brokers, and begin to stop the replicas that are alive (onTopicDeletion)."""
    context = s.controllers[controller].context
    if not deletion_has_begun(s, controller):
        for partition in range(k.partitions):
            fire(s, k, PARTITION, (controller, partition), "offline_partition")
            fire(s, k, PARTITION, (controller, partition), "non_existent_partition")
    fire(s, k, TOPIC_DELETION, (controller,), "begin_topic_deletion")
    send_deletion_mark(s, k, controller, context.live)
    for partition in range(k.partitions):
        stopped, hindered = started_by_deletion(
            assigned_replicas(s, controller, partition),
            live_brokers(s, controller),
            replicas_in(s, k, controller, partition, ReplicaState.DELETION_SUCCESSFUL),
        )
        halt_deletion(s, k, controller, hindered, partition)
        context.partitions[partition].leaving = stopped
        context.partitions[partition].deleting = stopped


def halt_deletion(s: World, k: Constants, controller: int, replicas: BrokerSet, partition: int) -> None:
    """Mark replicas that cannot be deleted now, and the topic, as ineligible."""
    if replicas != 0:
        for replica in range(k.brokers):
            if contains(replicas, replica) == 1:
                fire(s, k, REPLICA, (controller, partition, replica), "replica_deletion_ineligible")
        fire(s, k, TOPIC_DELETION, (controller,), "mark_topic_ineligible")


def fail_deletion(s: World, k: Constants, controller: int, replicas: BrokerSet, partition: int) -> None:
    """Halt the deletion, since the brokers of these replicas have failed, and consider it again (failReplicaDeletion)."""
    if replicas != 0:
        halt_deletion(s, k, controller, replicas, partition)
        s.controllers[controller].context.resuming = Resuming.CONSIDER


def note_failed_replica(s: World, k: Constants, controller: int, replica: int, partition: int) -> None:
    """Mark a replica that its broker could not delete, and the topic if the era waits then; consider the deletion again."""
    if failure_halts_deletion(contains(live_brokers(s, controller), replica), k.failed_deletions):
        halt_deletion(s, k, controller, singleton(replica), partition)
    else:
        fire(s, k, REPLICA, (controller, partition, replica), "replica_deletion_ineligible")
    s.controllers[controller].context.resuming = Resuming.CONSIDER


def forget_topic(s: World, k: Constants, controller: int) -> None:
    """Forget the topic after it was deleted; some eras keep its name among those that are ineligible (removeTopic)."""
    if name_is_kept(deletion_is_halted(s, controller), k.ineligible_names):
        fire(s, k, TOPIC_DELETION, (controller,), "keep_ineligible_name")
    else:
        fire(s, k, TOPIC_DELETION, (controller,), "remove_topic")
    for partition in range(k.partitions):
        reset(s.controllers[controller].context.partitions[partition].assignment)
        reset(s.controllers[controller].context.partitions[partition].leadership)


def resume_deletion(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Consider the deletion again, since these brokers have started, if they hold replicas (resumeDeletionForTopics)."""
    replicas = NO_BROKERS
    for partition in range(k.partitions):
        replicas = replicas | assigned_replicas(s, controller, partition)
    if topic_is_queued_for_deletion(s, controller) and brokers & replicas != 0:
        fire(s, k, TOPIC_DELETION, (controller,), "resume_topic_deletion")
        s.controllers[controller].context.resuming = Resuming.CONSIDER


def ask_to_delete(s: World, k: Constants, controller: int) -> None:
    """Ask the brokers of the replicas that have been taken offline to delete them."""
    for partition in range(k.partitions):
        deleting = s.controllers[controller].context.partitions[partition].deleting
        s.controllers[controller].context.partitions[partition].deleting = NO_BROKERS
        for replica in range(k.brokers):
            if contains(deleting, replica) == 1:
                fire(s, k, REPLICA, (controller, partition, replica), "replica_deletion_started")


def complete_deletion(s: World, k: Constants, controller: int) -> None:
    """End the replicas, and begin to delete the znodes of the topic (completeDeleteTopic)."""
    for partition in range(k.partitions):
        for replica in range(k.brokers):
            if s.controllers[controller].partitions[partition].replicas[replica] == ReplicaState.DELETION_SUCCESSFUL:
                fire(s, k, REPLICA, (controller, partition, replica), "non_existent_replica")
    s.controllers[controller].step = first_znode_left(s, k)


def first_znode_left(s: World, k: Constants) -> int:
    """Return the step that deletes the first of the topic's znodes that exist; a controller before may have deleted some."""
    for partition in range(k.partitions):
        if s.zookeeper.partitions[partition].state.leader_epoch != NO_EPOCH:
            return ControllerStep.DELETE_STATE
    return ControllerStep.DELETE_TOPIC if len(s.zookeeper.partitions[0].assignment.replicas) > 0 else ControllerStep.DELETE_CONFIG
