"""Steps of the controller: answers to leaders' proposals, and the requests of operators."""

from __future__ import annotations

from uuid import UUID

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.kraft_replay.steps import granted, running
from kafka_spec.conformance.kraft_replay.values import PARTITION
from kafka_spec.conformance.replay.core import Steps, expect
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.kraft.records import TOPIC_CONFIG
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.language.domain import BrokerSet

STEPS = Steps()


@STEPS.of("ProposeShrink")
@STEPS.of("ProposeRemoval")
def propose_shrink(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a leader find a follower slow."""
    done = running(stage, leader).data.isr.try_shrink(PARTITION, (follower,), stage.clock)
    expect(done == IsrWrite.UNANSWERED, done.value)


def answered(stage: KRaftStage, broker: int, answer: ProposalAnswer) -> None:
    """Send an answer; to a process that has ended it is lost."""
    if broker in stage.cluster.brokers:
        stage.network.answers[broker] = answer
    else:
        stage.network.forget(broker)


@STEPS.of("AlterPartition")
def alter_partition(stage: KRaftStage, broker: int) -> None:
    """Deliver a proposal to the controller."""
    request = stage.network.requests[broker]
    stage.network.handled.add(broker)
    answered(stage, broker, stage.cluster.controller.alter_partition(request))


@STEPS.of("AnswerFromThePast")
def answer_from_the_past(stage: KRaftStage, broker: int, image: int) -> None:
    """Deliver a proposal to a controller whose log ends with an earlier image."""
    oldest = min((one.metadata_end for one in stage.cluster.brokers.values()), default=stage.cluster.log.end)
    past = [one for one in stage.cluster.log.images if one.end >= oldest][image]
    request = stage.network.requests[broker]
    error = answer_to_request(past, request)
    if error == ErrorCode.NONE:
        error = answer_to_proposal(past, broker, PARTITION, request.partitions[PARTITION], stage.cluster.controller.k)
    expect(error != ErrorCode.NONE, "it would not refuse the proposal")
    answered(stage, broker, ProposalAnswer(ErrorCode.NONE, {PARTITION: AlteredPartition(error)}))


@STEPS.of("ReceiveAnswer")
def receive_answer(stage: KRaftStage, broker: int) -> None:
    """Deliver the controller's answer."""
    running(stage, broker).data.isr.take(stage.network.answers.pop(broker), stage.clock)


@STEPS.of("LoseAnswer")
def lose_answer(stage: KRaftStage, broker: int) -> None:
    """Lose the controller's answer; the leader sends its request again."""
    before = stage.network.requests[broker]
    stage.network.answers.pop(broker)
    expect(running(stage, broker).data.isr.next_request(stage.clock) == before, "it sends another request")


@STEPS.of("ElectPreferred")
def elect_preferred(stage: KRaftStage) -> None:
    """Let an operator request a preferred election."""
    codes = stage.cluster.controller.elect_leaders([PARTITION], ElectionKind.PREFERRED)
    expect(codes[PARTITION] == ErrorCode.NONE, f"the controller answers {codes[PARTITION].name}")


@STEPS.of("ElectWhereAllowed")
def elect_where_allowed(stage: KRaftStage) -> None:
    """Let the controller look for partitions that it may elect uncleanly."""
    expect(stage.cluster.controller.elect_where_allowed() == [PARTITION], "the controller elects nobody")


@STEPS.of("ElectUnclean")
def elect_unclean(stage: KRaftStage) -> None:
    """Let an operator request an unclean election."""
    codes = stage.cluster.controller.elect_leaders([PARTITION], ElectionKind.UNCLEAN)
    expect(codes[PARTITION] == ErrorCode.NONE, f"the controller answers {codes[PARTITION].name}")


@STEPS.of("ChangeMinIsr")
def change_min_isr(stage: KRaftStage) -> None:
    """Let an operator give the topic a min.insync.replicas of its own, or take it away."""
    change_setting(stage, MIN_ISR, str(stage.values_of_min_isr[1]))


@STEPS.of("ChangeUnclean")
def change_unclean(stage: KRaftStage) -> None:
    """Let an operator give the topic an unclean.leader.election.enable of its own, or take it away."""
    change_setting(stage, UNCLEAN, stage.other_unclean)


def change_setting(stage: KRaftStage, name: str, other: str) -> None:
    """Give the topic another value of a setting than the cluster's, or take it away."""
    controller = stage.cluster.controller
    value = other if controller.image.configs.get((PARTITION.topic, name)) is None else None
    granted(lambda: controller.configure(TOPIC_CONFIG, PARTITION.topic, {name: value}))


@STEPS.of("Reassign")
def reassign(stage: KRaftStage, target: int) -> None:
    """Let an operator reassign the partition."""
    granted(lambda: stage.cluster.controller.reassign(PARTITION, tuple(BrokerSet(target))))


@STEPS.of("CancelReassignment")
def cancel_reassignment(stage: KRaftStage) -> None:
    """Let an operator cancel the reassignment."""
    granted(lambda: stage.cluster.controller.reassign(PARTITION, None))


@STEPS.of("DeleteTopic")
def delete_topic(stage: KRaftStage) -> None:
    """Let an operator delete the topic."""
    granted(lambda: stage.cluster.controller.delete_topic(PARTITION.topic))


@STEPS.of("CreateTopic")
def create_topic(stage: KRaftStage) -> None:
    """Let an operator create a topic of the same name, under an id that no topic before had."""
    controller = stage.cluster.controller
    stage.created += 1
    topic_id, assignment = UUID(int=stage.created + 1), {PARTITION.partition: stage.first_replicas}
    granted(lambda: controller.create_topic(PARTITION.topic, topic_id, assignment))
