"""The properties of KRaft about a topic's replicas while operators move them, and about a topic that is deleted and created again.

The sources' names in capitals are those of properties.py.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.properties.epochs import topic_stays
from kafka_spec.spec.kraft.properties.isr import the_partition_exists
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, step_invariant


def isr_and_elr_are_replicas(s: KRaft) -> bool:
    """The members of the ISR and of the ELR are replicas, and so are those that a reassignment adds or removes."""
    partition = s.controller.partition
    named = partition.isr | partition.elr | partition.adding | partition.removing
    return named & ~members(partition.replicas) == 0


def a_reassignment_was_requested(s: KRaft) -> bool:
    """An operator has asked for a reassignment of the topic that exists, and none runs."""
    partition = s.controller.partition
    return s.history.origin != 0 and partition.adding | partition.removing == 0


def replicas_are_the_target(s: KRaft) -> bool:
    """The replicas are those that operators asked for last."""
    return members(s.controller.partition.replicas) == s.history.target


def a_replica_leaves(before: KRaft, after: KRaft) -> bool:
    """A replica leaves the assignment."""
    left = members(before.controller.partition.replicas) & ~members(after.controller.partition.replicas)
    return topic_stays(before, after) and left != 0


def number_of_candidates(s: KRaft) -> int:
    """Return how many replicas are in the ISR or the ELR."""
    partition = s.controller.partition
    return count_of(partition.replicas, partition.isr | partition.elr)


def enough_candidates_stay(before: KRaft, after: KRaft, k: Constants) -> bool:
    """If the ISR and the ELR had min.insync.replicas members among the replicas before, they have so afterwards."""
    old, new = before.controller.partition, after.controller.partition
    if number_of_candidates(before) < least_isr(k, old.min_isr_changed, len(old.replicas)):
        return True
    return number_of_candidates(after) >= least_isr(k, old.min_isr_changed, len(new.replicas))


def an_answer_refuses(s: KRaft, k: Constants) -> bool:
    """An answer to a proposal is on its way, and it is an error."""
    for broker in range(k.brokers):
        for place in range(len(s.brokers[broker].answers)):
            if s.brokers[broker].answers[place].error != ErrorCode.NONE:
                return True
    return False


def no_proposal_is_invalid(s: KRaft, k: Constants) -> bool:
    """No answer on its way says that the proposal made no sense."""
    for broker in range(k.brokers):
        for place in range(len(s.brokers[broker].answers)):
            if s.brokers[broker].answers[place].error == ErrorCode.INVALID_REQUEST:
                return False
    return True


def a_later_topic_has_records(s: KRaft, k: Constants) -> bool:
    """A replica of a topic that was created after a deletion has a record."""
    for broker in range(k.brokers):
        if s.brokers[broker].replica.topic_id > 0 and len(s.brokers[broker].replica.log) > 0:
            return True
    return False


def logs_hold_records_of_their_topic(s: KRaft, k: Constants) -> bool:
    """Every record in a log was written for the topic of the log."""
    for broker in range(k.brokers):
        mine = s.brokers[broker].replica
        for offset in range(len(mine.log)):
            if mine.log[offset].topic_id != mine.topic_id:
                return False
    return True


TOPICS: tuple[Property, ...] = (
    invariant(
        "ListsNameReplicas",
        isr_and_elr_are_replicas,
        "ISR, ELR, added and removed replicas are replicas",
        "KIP-966; Kafka 3.9 PartitionChangeBuilder.populateTargetElr",
        when=the_partition_exists,
    ),
    invariant(
        "ReassignmentEndsAtTarget",
        replicas_are_the_target,
        "when no reassignment runs any more, the replicas are those that operators asked for last",
        "Kafka 3.9 ReplicationControlManager.changePartitionReassignment",
        when=a_reassignment_was_requested,
    ),
    step_invariant(
        "ReassignmentKeepsCandidates",
        enough_candidates_stay,
        "when replicas leave, ISR and ELR together keep min.insync.replicas members, if they had them",
        "KIP-966; KAFKA-15665; Kafka 3.9 PartitionReassignmentRevert",
        when=a_replica_leaves,
    ),
    invariant(
        "ProposalsAreValid",
        no_proposal_is_invalid,
        "no proposal of a leader is answered with INVALID_REQUEST: it names replicas and itself, and comes from the leader",
        "Kafka 3.9 ReplicationControlManager.validateAlterPartitionData",
        when=an_answer_refuses,
    ),
    invariant(
        "DeletedRecordsStayGone",
        logs_hold_records_of_their_topic,
        "the records of a deleted topic never come back in another of the same name",
        "KIP-516",
        when=a_later_topic_has_records,
    ),
)
"""The properties of reassignment, proposals and topics."""
