"""AlterPartition: a leader's proposals of an ISR, the controller's answers, and what becomes of them.

Source: Kafka 3.9 Partition.scala, AlterPartitionManager.scala, ReplicationControlManager.alterPartition.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.alter_partition import (
    Reaction,
    answer_to_epochs,
    answer_to_isr,
    answer_to_sender,
    answer_to_topic,
    is_eligible,
    reaction,
)
from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import RecoveryState, count_of
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.controller import active_brokers, change_partition, commit, election_kind
from kafka_spec.spec.kraft.fetching import LEADER_AND_FOLLOWER, fetches_from, leads, logs_agree, may_propose, propose
from kafka_spec.spec.kraft.machines import PROPOSAL, SENT, BrokerState
from kafka_spec.spec.kraft.replica import ANY_BROKER, broker_runs, forget_request, raise_high_watermark
from kafka_spec.spec.kraft.state import ISR_SHRINKS, LOST_ANSWERS, STALE_ANSWERS, KRaft, ProcessLife
from kafka_spec.spec.language.domain import NO_BROKERS, append, contains, excluding, pop_first
from kafka_spec.spec.vocabulary.table import Constants, ItemOf, Rule, fire

# ---------------------------------------------------------------------------------------------------------------------
# A slow follower leaves


def can_propose(s: KRaft, leader: int) -> bool:
    """The leader has no pending proposal, and no request on the way."""
    return may_propose(s, leader)


def follower_is_in_isr(s: KRaft, leader: int, follower: int) -> bool:
    """The leader's ISR holds the follower, which is another broker."""
    return leader != follower and contains(s.brokers[leader].replica.isr, follower) == 1


def follower_lags(s: KRaft, k: Constants, leader: int, follower: int) -> bool:
    """The follower does not fetch from this leader, or does not have all of its log."""
    if not fetches_from(s, k, leader, follower) or not logs_agree(s, leader, follower):
        return True
    return len(s.brokers[follower].replica.log) < len(s.brokers[leader].replica.log)


def propose_shrink(s: KRaft, k: Constants, leader: int, follower: int) -> None:
    """Propose the ISR without the follower."""
    propose(s, k, leader, excluding(s.brokers[leader].replica.isr, follower))


SHRINK = Rule(
    "ProposeShrink",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leads, can_propose, follower_is_in_isr, follower_lags),
    at_most=ISR_SHRINKS,
    effects=(propose_shrink,),
    summary="{leader} finds {follower} slow, and proposes the ISR without it",
    reference="Kafka 3.9 Partition.maybeShrinkIsr",
)


def follower_went_offline(s: KRaft, leader: int, follower: int) -> bool:
    """The follower's log directory has failed, and its last fetch said that its log is shorter than the leader's."""
    return s.brokers[follower].directory_failed == 1 and s.brokers[leader].replica.ends[follower] < len(
        s.brokers[leader].replica.log
    )


REMOVE_OFFLINE = Rule(
    "ProposeRemoval",
    actor="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leads, can_propose, follower_is_in_isr, follower_went_offline),
    effects=(propose_shrink,),
    summary="{leader} has had no fetch of {follower}, whose log directory has failed, and proposes the ISR without it",
    reference="Kafka 3.9 Partition.maybeShrinkIsr",
)

# ---------------------------------------------------------------------------------------------------------------------
# The controller's answer


def a_proposal_is_on_the_way(s: KRaft, broker: int) -> bool:
    """A proposal of the broker is on its way to the controller."""
    return len(s.brokers[broker].requests) > 0 and len(s.brokers[broker].answers) == 0


def answer_at_image(s: KRaft, k: Constants, broker: int, image: int) -> int:
    """Return the answer of a controller whose log ends with this image to the broker's request, before anything is written."""
    partition = s.metadata[image].partition
    request = s.brokers[broker].requests[0]
    error = answer_to_sender(request.broker_epoch, s.metadata[image].brokers[broker].epoch)
    if error == ErrorCode.NONE:
        error = answer_to_topic(request.topic_id, partition.topic_id, k.alter_topic_ids)
    if error == ErrorCode.NONE:
        error = answer_to_epochs(
            request.leader_epoch,
            partition.leader_epoch,
            request.partition_epoch,
            partition.partition_epoch,
            1 if partition.leader == broker else 0,
            k.ahead_is_not_controller,
        )
    if error == ErrorCode.NONE:
        replicas = members(partition.replicas)
        count = count_of(partition.replicas, request.isr)
        error = answer_to_isr(request.isr, replicas, partition.leader, count, RecoveryState.RECOVERED, partition.recovery)
    if error == ErrorCode.NONE:
        for member in range(k.brokers):
            if contains(request.isr, member) == 1:
                known = s.metadata[image].brokers[member]
                active = 1 if known.state == BrokerState.UNFENCED else 0
                if known.directory_offline == 1 and k.offline_directory_ineligible == Checked.YES:
                    active = 0
                if not is_eligible(active, request.epochs[member], known.epoch, k.bar_ineligible, k.alter_epochs_compared):
                    error = ErrorCode.INELIGIBLE_REPLICA
    return error


def answer(s: KRaft, broker: int, error: int) -> None:
    """Send an error, or the partition as it is now; to a process that has ended the answer is lost."""
    if s.brokers[broker].life == ProcessLife.DOWN:
        forget_request(s, broker)
    elif error == ErrorCode.NONE:
        partition = s.controller.partition
        append(
            s.brokers[broker].answers,
            error=ErrorCode.NONE,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            isr=partition.isr,
        )
    else:
        append(s.brokers[broker].answers, error=error)


def leader_has_another_min_isr(s: KRaft, leader: int) -> bool:
    """The leader commits under another min.insync.replicas than the controller keeps the ELR under."""
    return s.brokers[leader].requests[0].min_isr_changed != s.controller.partition.min_isr_changed


def alter_partition(s: KRaft, k: Constants, broker: int) -> None:
    """Validate the proposal, write the ISR, and answer. An accepted proposal clears the recovery state.

    Kafka 3.9: ReplicationControlManager.alterPartition.
    """
    error = answer_at_image(s, k, broker, len(s.metadata) - 1)
    if error == ErrorCode.NONE and k.proposals_name_min_isr == Checked.YES and leader_has_another_min_isr(s, broker):
        error = ErrorCode.OPERATION_NOT_ATTEMPTED
    if error == ErrorCode.NONE:
        epoch = s.controller.partition.partition_epoch
        isr = s.brokers[broker].requests[0].isr
        change_partition(s, k, isr, active_brokers(s, k), NO_BROKERS, election_kind(s, k), RecoveryState.RECOVERED)
        if s.controller.partition.partition_epoch != epoch:
            commit(s, k)
        if s.controller.partition.leader != broker:
            error = ErrorCode.NEW_LEADER_ELECTED
    s.brokers[broker].handled = 1
    answer(s, broker, error)


ALTER_PARTITION = Rule(
    "AlterPartition",
    actor="controller",
    params=ANY_BROKER,
    guards=(a_proposal_is_on_the_way,),
    effects=(alter_partition,),
    summary="the controller answers the proposal of {broker}",
    reference="Kafka 3.9 ReplicationControlManager.alterPartition",
    receives="brokers[{broker}].requests",
)


def image_is_old(s: KRaft, image: int) -> bool:
    """The image is not the newest."""
    return image < len(s.metadata) - 1


def proposal_was_not_handled(s: KRaft, broker: int) -> bool:
    """The controller has not handled the proposal: a broker never turns from a controller to one with an earlier log."""
    return s.brokers[broker].handled == 0


def former_controller_refuses(s: KRaft, k: Constants, broker: int, image: int) -> bool:
    """A controller whose log ends with this image answers the broker's request with an error: a success would need a commit."""
    return answer_at_image(s, k, broker, image) != ErrorCode.NONE


def answer_from_the_past(s: KRaft, k: Constants, broker: int, image: int) -> None:
    """Answer with the error that the former controller computes."""
    error = answer_at_image(s, k, broker, image)
    answer(s, broker, error)


ANSWER_FROM_THE_PAST = Rule(
    "AnswerFromThePast",
    actor="former controller",
    kind="fault",
    params={**ANY_BROKER, "image": ItemOf("metadata", receives=False)},
    guards=(a_proposal_is_on_the_way, proposal_was_not_handled, image_is_old, former_controller_refuses),
    at_most=STALE_ANSWERS,
    effects=(answer_from_the_past,),
    summary="a former controller refuses the proposal of {broker}: its metadata log ends with the image at place {image}",
    reference="Kafka 3.9 QuorumController.ControllerWriteEvent; KAFKA-14154",
    receives="brokers[{broker}].requests",
)

# ---------------------------------------------------------------------------------------------------------------------
# The leader's reaction


def an_answer_arrives(s: KRaft, broker: int) -> bool:
    """An answer to the broker's proposal is on its way."""
    return len(s.brokers[broker].answers) > 0


def react(s: KRaft, k: Constants, broker: int) -> None:
    """React to the answer, unless an image has settled the proposal before; a retry is the same proposal once more."""
    again = 0
    mine = s.brokers[broker].replica
    reply = s.brokers[broker].answers[0]
    if mine.proposal == SENT:
        wanted = reaction(reply.error, reply.leader_epoch, mine.leader_epoch, reply.partition_epoch, mine.partition_epoch)
        if wanted == Reaction.ADOPT:
            mine.isr = reply.isr
            mine.partition_epoch = reply.partition_epoch
            mine.proposed = NO_BROKERS
            fire(s, k, PROPOSAL, (broker,), "adopt")
            if k.high_watermark_after_alter == Checked.YES:
                raise_high_watermark(s, k, broker)
        elif wanted == Reaction.ROLL_BACK:
            mine.proposed = NO_BROKERS
            fire(s, k, PROPOSAL, (broker,), "roll_back")
            if k.high_watermark_after_rollback == Checked.YES:
                raise_high_watermark(s, k, broker)
        elif wanted == Reaction.RETRY and k.cleared_before_retry == Checked.YES:
            again = 1
        else:
            fire(s, k, PROPOSAL, (broker,), "strand")
    pop_first(s.brokers[broker].answers)
    if again == 1:
        s.brokers[broker].requests[0].broker_epoch = s.brokers[broker].epoch
    else:
        forget_request(s, broker)


REACT = Rule(
    "ReceiveAnswer",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_runs, an_answer_arrives),
    effects=(react,),
    summary="{broker} receives the controller's answer",
    reference="Kafka 3.9 Partition.handleAlterPartitionUpdate, handleAlterPartitionError",
    receives="brokers[{broker}].answers",
)


def answer_is_current(s: KRaft, broker: int) -> bool:
    """The answer is to the broker's pending proposal."""
    return s.brokers[broker].replica.proposal == SENT


def lose_answer(s: KRaft, broker: int) -> None:
    """Lose the answer with its connection; the leader sends the proposal again, as it was."""
    pop_first(s.brokers[broker].answers)


LOSE_ANSWER = Rule(
    "LoseAnswer",
    actor="network",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_runs, an_answer_arrives, answer_is_current),
    at_most=LOST_ANSWERS,
    effects=(lose_answer,),
    summary="the answer to {broker} is lost; it sends its proposal again",
    reference="Kafka 3.9 AlterPartitionManager.sendRequest",
)

RULES = (SHRINK, ALTER_PARTITION, ANSWER_FROM_THE_PAST, REACT, LOSE_ANSWER, REMOVE_OFFLINE)
