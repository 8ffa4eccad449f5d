"""Topic deletion: what a controller does next, and the states of a topic that Kafka keeps in three sets of names.

Pure functions of the language of spec/language, for every model and for the implementation. A controller keeps the topics that are
queued for deletion, those whose deletion has started, and those that are ineligible. Each time something happens to a queued topic
it decides again (`resumed`).

Source: Kafka 2.8 TopicDeletionManager.scala:95-357; the thread of 0.10 decides alike.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.decisions.variants import (
    AddedDuringDeletion,
    AnswersCounted,
    CreationDuringDeletion,
    DeletionOfReassigned,
    FailedDeletions,
    IneligibleNames,
    LateAnswers,
    LeaderlessReplicas,
)
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet


class Resumption(enum.IntEnum):
    """What a controller does with a topic that is queued for deletion."""

    NOTHING = 0
    """It waits for an answer, for a broker, or for the end of a reassignment."""
    COMPLETE = 1
    """All replicas are deleted: it deletes the znodes."""
    START = 2
    """It asks the brokers to delete their replicas."""


def resumed(
    replicas: BrokerSet, started: BrokerSet, successful: BrokerSet, ineligible: BrokerSet, is_halted: int
) -> tuple[int, BrokerSet]:
    """Return what a controller does with a queued topic (`Resumption`), and which replicas it takes offline before that.

    `replicas` are the assigned ones; `started`, `successful` and `ineligible` those in the deletion state of that name; `is_halted`
    is 1 if the topic is ineligible. A topic without replicas counts as deleted: its znodes may be left from a controller before.
    Ineligible replicas go offline as soon as no answer is awaited, even if the topic stays ineligible.
    Kafka 2.8: TopicDeletionManager.resumeDeletions.
    """
    if replicas & ~successful == 0:
        return Resumption.COMPLETE, NO_BROKERS
    if started != 0:
        return Resumption.NOTHING, NO_BROKERS
    if is_halted == 1:
        return Resumption.NOTHING, ineligible
    return Resumption.START, ineligible


def started_by_deletion(replicas: BrokerSet, live: BrokerSet, successful: BrokerSet) -> tuple[BrokerSet, BrokerSet]:
    """Return the replicas whose brokers are asked to delete them, and those that hinder the deletion since their brokers are dead.

    A broker that shuts down counts as dead. Kafka 2.8: TopicDeletionManager.onPartitionDeletion.
    """
    return replicas & live & ~successful, replicas & ~live


def topic_may_be_created(is_free: int, is_marked: int, creation_during_deletion: int) -> bool:
    """Whether an operator may create a topic: its znode does not exist, nor the request to delete one of that name.

    Kafka 3.1: AdminZkClient.validateTopicCreate (KAFKA-13175); 2.8 looks at the topic's znode alone.
    """
    return is_free == 1 and (creation_during_deletion == CreationDuringDeletion.ALLOWED or is_marked == 0)


def deletion_waits_for_reassignment(is_reassigned: int, deletion_of_reassigned: int) -> bool:
    """Whether a topic is not queued for deletion before a reassignment has ended; `is_reassigned` is 1 if one runs.

    Kafka 2.8: KafkaController.processTopicDeletion marks it as ineligible before it queues it, which has no effect.
    """
    return is_reassigned == 1 and deletion_of_reassigned == DeletionOfReassigned.AFTERWARDS


def added_partitions_are_refused(is_queued: int, added_during_deletion: int) -> bool:
    """Whether the topic znode gets its former content back when partitions were added; `is_queued`: the topic is to be deleted.

    Kafka 2.8: KafkaController.processPartitionModifications (KAFKA-6612).
    """
    return is_queued == 1 and added_during_deletion == AddedDuringDeletion.REFUSED


def failure_halts_deletion(is_live: int, failed_deletions: int) -> bool:
    """Whether a topic becomes ineligible because one of its replicas was not deleted; `is_live` is 1 if its broker is live.

    Kafka 2.8: TopicDeletionManager.failReplicaDeletion, for brokers that died and for errors alike.
    """
    return is_live == 0 or failed_deletions == FailedDeletions.HALTED


def name_is_kept(is_halted: int, ineligible_names: int) -> bool:
    """Whether the name of a topic stays ineligible after the topic was deleted.

    Kafka 2.8: ControllerContext.removeTopic does not look at topicsIneligibleForDeletion.
    """
    return is_halted == 1 and ineligible_names == IneligibleNames.KEPT


def replica_goes_offline(leadership_is_known: int, leaderless_replicas: int) -> bool:
    """Whether a replica can go offline: always if leader and ISR of its partition are known (1), else if the era allows it.

    Kafka 2.8: ReplicaStateMachine.doHandleStateChanges, partitionsWithoutLeadership (KAFKA-6650).
    """
    return leadership_is_known == 1 or leaderless_replicas == LeaderlessReplicas.TAKEN_OFFLINE


def answer_is_dropped(is_removed: int, late_answers: int) -> bool:
    """Whether an answer to a deletion that was not handled yet is dropped; `is_removed` is 1 if its broker is removed now."""
    return is_removed == 1 and late_answers == LateAnswers.DROPPED


def answer_is_counted(deletes: bool, answers_counted: int) -> bool:
    """Whether the answer to a StopReplica of a topic that is being deleted counts; `deletes`: it has the delete flag.

    Kafka 2.8: ControllerBrokerRequestBatch.sendStopReplicaRequests, partitionErrorsForDeletingTopics (KAFKA-9946).
    """
    return deletes or answers_counted == AnswersCounted.ALL
