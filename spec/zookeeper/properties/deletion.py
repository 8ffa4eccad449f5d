"""The properties of topic deletion: who deletes, what is left when it is done, and that it is done."""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, leads_to, step_invariant
from kafka_spec.spec.zookeeper.bounds import PARTITION
from kafka_spec.spec.zookeeper.controller.deletion import replicas_in
from kafka_spec.spec.zookeeper.controller.knowledge import topic_is_queued_for_deletion
from kafka_spec.spec.zookeeper.machines import STANDBY, Role
from kafka_spec.spec.zookeeper.properties.quiescence import (
    a_deletion_waits,
    all_replicas_are_up,
    is_quiet,
    replicas_are_gone,
    topic_exists,
)
from kafka_spec.spec.zookeeper.state import ControllerStep, World

# ---------------------------------------------------------------------------------------------------------------------
# Who deletes


def a_znode_of_the_topic_is_deleted(before: World, after: World, partition: int) -> bool:
    """The znode of the topic, of its state, or of its configuration is deleted."""
    if topic_exists(before) and not topic_exists(after):
        return True
    if (
        before.zookeeper.partitions[partition].state.leader_epoch >= 0
        and after.zookeeper.partitions[partition].state.leader_epoch < 0
    ):
        return True
    return before.zookeeper.config == 1 and after.zookeeper.config == 0


def deleter_is_the_newest_controller(before: World, after: World, k: Constants) -> bool:
    """The controller that has gone on from a step that deletes has the newest controller epoch."""
    for controller in range(k.brokers):
        step = before.controllers[controller].step
        if step >= ControllerStep.DELETE_STATE and after.controllers[controller].step != step:
            if before.controllers[controller].epoch != before.zookeeper.controller_epoch:
                return False
    return True


def deleted_topic_was_to_be_deleted(before: World, after: World) -> bool:
    """/admin/delete_topics/T exists while the znodes of the topic are deleted."""
    return before.zookeeper.delete_topic == 1


# ---------------------------------------------------------------------------------------------------------------------
# What is gone


def a_replica_counts_as_deleted(s: World, k: Constants, partition: int) -> bool:
    """The newest controller has a replica as deleted."""
    for controller in range(k.brokers):
        if counts_as_deleted(s, k, controller, partition) != 0:
            return True
    return False


def counts_as_deleted(s: World, k: Constants, controller: int, partition: int) -> int:
    """Return the replicas that this controller has as deleted, if it is the newest."""
    if s.controllers[controller].life == STANDBY or s.controllers[controller].epoch != s.zookeeper.controller_epoch:
        return 0
    return replicas_in(s, k, controller, partition, ReplicaState.DELETION_SUCCESSFUL)


def replicas_that_count_as_deleted_are_gone(s: World, k: Constants, partition: int) -> bool:
    """No broker hosts a replica that the newest controller has as deleted, or holds a record of it."""
    for controller in range(k.brokers):
        deleted = counts_as_deleted(s, k, controller, partition)
        for broker in range(k.brokers):
            if contains(deleted, broker) == 1:
                replica = s.brokers[broker].replicas[partition]
                if replica.role != Role.NONE or len(replica.log) > 0:
                    return False
    return True


def a_topic_was_deleted(s: World) -> bool:
    """The znode of a topic was deleted."""
    return s.spent.deletions > 0 and (not topic_exists(s) or s.spent.recreations > 0)


def no_log_is_of_a_deleted_topic(s: World, k: Constants, partition: int) -> bool:
    """No log has a record that was written before the topic was last created."""
    for broker in range(k.brokers):
        log = s.brokers[broker].replicas[partition].log
        for offset in range(len(log)):
            if log[offset].record < s.history.first_record:
                return False
    return True


def a_topic_that_never_moved_was_deleted(s: World) -> bool:
    """The same, and no reassignment was asked for, so that the deletion has asked all brokers that ever had a replica."""
    return a_topic_was_deleted(s) and s.spent.reassignments == 0


def no_leader_has_records_of_a_deleted_topic(s: World, k: Constants) -> bool:
    """The leader of a partition, as ZooKeeper has it, holds no record that was written before the topic was last created."""
    for partition in range(k.partitions):
        state = s.zookeeper.partitions[partition].state
        for broker in range(k.brokers):
            replica = s.brokers[broker].replicas[partition]
            if state.leader == broker and replica.role == Role.LEADER and replica.leader_epoch == state.leader_epoch:
                for offset in range(len(replica.log)):
                    if replica.log[offset].record < s.history.first_record:
                        return False
    return True


def no_topic_is_quiet(s: World, k: Constants) -> bool:
    """A topic was deleted, none exists, no deletion waits, and the state is quiet."""
    return s.spent.deletions > 0 and not topic_exists(s) and not a_deletion_waits(s) and is_quiet(s, k)


def no_reassigned_topic_is_quiet(s: World, k: Constants) -> bool:
    """The same, and the topic may have been reassigned before: a broker that lost its replica may not have been reached."""
    return no_topic_is_quiet(s, k) and s.spent.reassignments > 0


def no_unmoved_topic_is_quiet(s: World, k: Constants) -> bool:
    """The same, and no reassignment was asked for, so that the deletion has asked all brokers that ever had a replica."""
    return no_topic_is_quiet(s, k) and s.spent.reassignments == 0


def nothing_is_left(s: World, k: Constants) -> bool:
    """No replica, no entry of a metadata cache, no znode, and nothing in the memory of the controller is left of the topic."""
    if s.zookeeper.config == 1:
        return False
    context = s.controllers[s.zookeeper.controller].context
    for partition in range(k.partitions):
        known = context.partitions[partition]
        if s.zookeeper.partitions[partition].state.leader_epoch >= 0 or known.leadership.leader_epoch >= 0:
            return False
        if len(known.assignment.replicas) > 0:
            return False
    return replicas_are_gone(s, k)


def a_topic_that_stays_is_quiet(s: World, k: Constants) -> bool:
    """A topic exists after a deletion was requested, no deletion waits, and the state is quiet."""
    return s.spent.deletions > 0 and topic_exists(s) and not a_deletion_waits(s) and is_quiet(s, k)


def caches_agree(s: World, k: Constants, partition: int) -> bool:
    """The topic has its configuration, the controller its assignment, and no other broker than the replicas' hosts it."""
    if s.zookeeper.config == 0 or topic_is_queued_for_deletion(s, s.zookeeper.controller):
        return False
    assigned = members(s.zookeeper.partitions[partition].assignment.replicas)
    if members(s.controllers[s.zookeeper.controller].context.partitions[partition].assignment.replicas) != assigned:
        return False
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role != Role.NONE and s.brokers[broker].lists_topic == 0:
            return False
        if s.brokers[broker].replicas[partition].role != Role.NONE and contains(assigned, broker) == 0:
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# That it is done


def a_deletion_can_be_done(s: World, k: Constants) -> bool:
    """The topic is to be deleted, and all brokers that hold it are up."""
    return a_deletion_waits(s) and all_replicas_are_up(s, k)


def no_deletion_can_be_done(s: World, k: Constants) -> bool:
    """No topic is to be deleted, or a broker that holds it is not up."""
    return not a_deletion_can_be_done(s, k)


def only_the_end_of_a_deletion_is_left(s: World, k: Constants) -> bool:
    """The topic is to be deleted, all brokers that held it are up, and none hosts a replica of it or has a record of it."""
    return a_deletion_can_be_done(s, k) and replicas_are_gone(s, k)


def a_deletion_has_more_to_do(s: World, k: Constants) -> bool:
    """No topic is to be deleted, or a broker that held it is not up, or hosts a replica of it or has a record of it."""
    return not only_the_end_of_a_deletion_is_left(s, k)


DELETION: tuple[Property, ...] = (
    step_invariant(
        "OneDeleter",
        deleter_is_the_newest_controller,
        "the znodes of a topic are deleted only by the controller whose epoch is the newest",
        "KAFKA-6082",
        when=a_znode_of_the_topic_is_deleted,
        each=PARTITION,
    ),
    step_invariant(
        "OnlyMarkedTopicsAreDeleted",
        deleted_topic_was_to_be_deleted,
        "the znodes of a topic are deleted only while /admin/delete_topics names it, so that a controller that fails in between is "
        "followed by one that continues",
        "Kafka 2.8 TopicDeletionManager.completeDeleteTopic",
        when=a_znode_of_the_topic_is_deleted,
        each=PARTITION,
    ),
    invariant(
        "DeletedIsGone",
        replicas_that_count_as_deleted_are_gone,
        "a replica that the newest controller has as deleted is not hosted and holds no record: its broker answered after that",
        "KAFKA-9946",
        when=a_replica_counts_as_deleted,
        each=PARTITION,
    ),
    invariant(
        "OldRecordsStayGone",
        no_log_is_of_a_deleted_topic,
        "once the znode of a topic is deleted, no log holds a record of it, also not under a new topic of the same name, unless "
        "the topic was reassigned before",
        "KIP-516",
        when=a_topic_that_never_moved_was_deleted,
        each=PARTITION,
    ),
    invariant(
        "QuietNothingIsLeft",
        nothing_is_left,
        "in quiet states after a deletion no replica of the topic, no entry of a metadata cache and no znode is left, unless the "
        "topic was reassigned before",
        "Kafka 2.8 TopicDeletionManager.completeDeleteTopic",
        when=no_unmoved_topic_is_quiet,
    ),
    invariant(
        "QuietCachesAgree",
        caches_agree,
        "in quiet states a topic that was not deleted, or was created again, has its configuration, the controller has its "
        "assignment, and the brokers that host it list it",
        "Kafka 2.8 MetadataCache.updateMetadata",
        when=a_topic_that_stays_is_quiet,
        each=PARTITION,
    ),
)
"""Invariants and step invariants of topic deletion."""

NOTHING_IS_LEFT_OF_REASSIGNED = invariant(
    "NothingIsLeftOfReassigned",
    nothing_is_left,
    "in quiet states nothing is left of a deleted topic, also if it was reassigned before",
    "Kafka 2.8 KafkaController.onPartitionReassignment",
    when=no_reassigned_topic_is_quiet,
)
"""Stricter than Kafka up to 3.9; not a property of `fixed`.

A reassignment does not wait for the brokers that it asks to delete their replicas, and nobody asks again once the topic is gone.
"""

OLD_RECORDS_ARE_NOT_SERVED = invariant(
    "OldRecordsAreNotServed",
    no_leader_has_records_of_a_deleted_topic,
    "a topic that was reassigned, deleted and created again is led by nobody who holds a record of the one before",
    "KIP-516",
    when=a_topic_was_deleted,
)
"""Stricter than Kafka up to 2.7: a property of its own, see `old-records-served` in FINDINGS."""

DELETION_ENDS = leads_to(
    "DeletionEnds",
    a_deletion_can_be_done,
    no_deletion_can_be_done,
    "a deletion is completed when all brokers that hold the topic are up, whichever controller began it",
    "KAFKA-6650; KAFKA-6612",
)
"""That a deletion ends once faults have stopped."""

DELETED_TOPICS_GO = leads_to(
    "DeletedTopicsGo",
    only_the_end_of_a_deletion_is_left,
    a_deletion_has_more_to_do,
    "a deletion is completed once no broker hosts a replica of the topic or has a record of it",
    "Kafka 2.8 TopicDeletionManager.completeDeleteTopic",
)
"""The part of DeletionEnds that failed-deletion-waits keeps; late-deletion-answer, which needs that bug, violates it."""
