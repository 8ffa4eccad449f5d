"""The rules of the KRaft model as steps of the implementation, one function for each rule.

No step uses the model's result. Where a rule says that something arrives or is noticed, the step brings it; the implementation
decides what happens then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from kafka_spec.conformance.kraft_replay.stage import PARTITION, KRaftStage, topic_of
from kafka_spec.conformance.replay.disk import batch_of
from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.kraft.heartbeats import NEVER
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.kraft.requests import AlteredPartition, BrokerHeartbeatResponse, ProposalAnswer
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.data_requests import Fetched, FetchRequest, ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.spec.domain import BrokerSet, SpecError
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN
from kafka_spec.spec.partition_change import ElectionKind

LONG = 1_000_000
"""Milliseconds between two steps: longer than any timeout."""


class NotPossible(Exception):  # noqa: N818 - the name is the message
    """The implementation does not do this step in its state."""


class KRaftSteps(dict[str, Callable[..., None]]):
    """The functions of steps, by the names of rules."""

    def of(self, rule: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Register a function as the step of a rule."""

        def register(function: Callable[..., None]) -> Callable[..., None]:
            self[rule] = function
            return function

        return register


STEPS = KRaftSteps()


def do(stage: KRaftStage, rule: str, binding: Mapping[str, int]) -> None:
    """Let the implementation do the step of a rule.

    Raises:
        NotPossible: it cannot.
        SpecError: the rule has no step.
    """
    step = step_of(rule)
    stage.clock += LONG
    for number, contact in stage.cluster.controller.heartbeats.brokers.items():
        contact.contact, contact.metadata_end = stage.clock, stage.applied_by(number)
    step(stage, **binding)


def step_of(rule: str) -> Callable[..., None]:
    """Return the function that does the step of a rule, or raise SpecError, which says where to add one."""
    if rule not in STEPS:
        raise SpecError(
            f"rule {rule} has no step in the replay of KRaft, so model and implementation cannot be compared on it; write a "
            f'function that has the implementation do it, and put it under @STEPS.of("{rule}") into '
            "conformance/kraft_replay/steps.py"
        )
    return STEPS[rule]


def running(stage: KRaftStage, number: int) -> KRaftProcess:
    """Return a broker that runs.

    Raises:
        NotPossible: it does not.
    """
    if number not in stage.cluster.brokers:
        raise NotPossible(f"broker {number} does not run")
    return stage.cluster.brokers[number]


def expect(done: bool, what: str) -> None:
    """Raise NotPossible unless the implementation has done something."""
    if not done:
        raise NotPossible(what)


# ---------------------------------------------------------------------------------------------------------------------
# Processes and registrations


@STEPS.of("StartBroker")
def start_broker(stage: KRaftStage, broker: int) -> None:
    """Start a process whose session before has ended; it registers, and applies the metadata log."""
    expect(broker not in stage.cluster.brokers, f"broker {broker} runs")
    stage.cluster.controller.heartbeats.of(broker).contact = NEVER
    process = stage.cluster.start(broker)
    expect(process.registered(stage.cluster.controller.register(process.registration(), stage.clock)), "it is refused")
    stage.network.forget(broker)
    process.learn(stage.cluster.committed(process.next_metadata()))
    process.follow()


@STEPS.of("RegisterAgain")
def register_again(stage: KRaftStage, broker: int) -> None:
    """Let a process register again."""
    process = running(stage, broker)
    expect(process.registered(stage.cluster.controller.register(process.registration(), stage.clock)), "it is refused")


@STEPS.of("Crash")
def crash(stage: KRaftStage, broker: int) -> None:
    """End a process without order; its high watermark was never written."""
    running(stage, broker)
    stage.cluster.crash(broker)
    stage.network.process_ends(broker)


@STEPS.of("LossyCrash")
def crash_and_lose(stage: KRaftStage, broker: int, end: int) -> None:
    """End a process without order, and lose the end of its log."""
    crash(stage, broker)
    log = PartitionLog(stage.cluster.folder_of(broker) / str(PARTITION))
    log.truncate_to(end)
    log.crash()


@STEPS.of("FenceDead")
@STEPS.of("FenceAlive")
def fence(stage: KRaftStage, broker: int) -> None:
    """Let a session end, and the controller look for such sessions."""
    controller = stage.cluster.controller
    controller.heartbeats.of(broker).contact = NEVER
    expect(controller.fence_stale(stage.clock) == broker, f"broker {broker} is not fenced")


def heartbeat(stage: KRaftStage, broker: int) -> BrokerHeartbeatResponse:
    """Deliver a heartbeat."""
    answer = stage.cluster.controller.heartbeat(running(stage, broker).heartbeat(), stage.clock)
    expect(answer.error == ErrorCode.NONE, f"the heartbeat is refused: {answer.error.name}")
    return answer


@STEPS.of("Unfence")
def unfence(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a fenced broker."""
    expect(not heartbeat(stage, broker).is_fenced, f"broker {broker} is still fenced")


@STEPS.of("ShutDown")
def shut_down(stage: KRaftStage, broker: int) -> None:
    """Let an operator shut a broker down."""
    running(stage, broker).shut_down()


@STEPS.of("BeginControlledShutdown")
def begin_controlled_shutdown(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a leader that shuts down."""
    expect(not heartbeat(stage, broker).should_shut_down, "it may go at once")
    expect(stage.cluster.controller.tables.state_of(broker) == CONTROLLED_SHUTDOWN, "its controlled shutdown has not begun")


@STEPS.of("GrantShutdown")
def grant_shutdown(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a broker that shuts down and leads nothing."""
    expect(heartbeat(stage, broker).should_shut_down, "it may not go yet")


@STEPS.of("Exit")
def exit_process(stage: KRaftStage, broker: int) -> None:
    """Deliver the heartbeat whose answer lets a broker go, and end its process in order."""
    expect(heartbeat(stage, broker).should_shut_down, "it may not go yet")
    stage.cluster.close(broker)
    stage.network.process_ends(broker)


# ---------------------------------------------------------------------------------------------------------------------
# The metadata log


@STEPS.of("TakeImage")
def take_image(stage: KRaftStage, broker: int, image: int) -> None:
    """Bring batches of the metadata log up to an image; the replicas follow at once, unless the metadata cache may be ahead."""
    process = running(stage, broker)
    oldest = min(one.metadata_end for one in stage.cluster.brokers.values())
    images = [one for one in stage.cluster.log.images if one.end >= oldest]
    behind = sum(one.end > process.metadata_end for one in images[: image + 1])
    process.learn(stage.cluster.committed(process.next_metadata(), behind))
    if not stage.cache_ahead:
        process.follow()


@STEPS.of("ApplyImage")
def apply_image(stage: KRaftStage, broker: int) -> None:
    """Let the replicas follow the metadata cache."""
    running(stage, broker).follow()


# ---------------------------------------------------------------------------------------------------------------------
# Records


@STEPS.of("Write")
def write(stage: KRaftStage, leader: int) -> None:
    """Let a client write a record."""
    errors = []
    request = ProduceRequest(1, {PARTITION: batch_of(len(stage.written))})
    process = running(stage, leader)
    process.data.handle_produce(request, stage.clock, lambda done: errors.append(done[PARTITION].error))
    expect(errors == [ErrorCode.NONE], f"broker {leader} answers {errors}")
    topic_id = process.replicas.partitions[PARTITION].topic_id
    assert topic_id is not None
    stage.written.append(topic_of(topic_id))


def next_fetch(stage: KRaftStage, leader: int, follower: int) -> FetchRequest:
    """Return the next fetch of a follower."""
    request = running(stage, follower).data.fetchers.next_request(leader, stage.clock)
    if not isinstance(request, FetchRequest):
        raise NotPossible(f"broker {follower} does not fetch from {leader}")
    return request


def read(stage: KRaftStage, leader: int, request: FetchRequest) -> Fetched:
    """Return what a leader answers to a fetch now."""
    fetched = running(stage, leader).data.read(
        PARTITION, request.partitions[PARTITION], request.replica, request.topic_ids.get(PARTITION.topic)
    )
    expect(fetched.error == ErrorCode.NONE, f"broker {leader} answers {fetched.error.name}")
    return fetched


@STEPS.of("Truncate")
def truncate(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a follower fetch until it truncates: an epoch without records costs a fetch that truncates nothing."""
    hosted = running(stage, follower).replicas.partitions[PARTITION]
    end = hosted.opened.end_offset
    for _ in range(1 + len(hosted.opened.epochs)):
        fetched = read(stage, leader, next_fetch(stage, leader, follower))
        expect(fetched.diverging is not None, "the logs do not diverge")
        running(stage, follower).data.fetchers.take(leader, {PARTITION: fetched}, stage.clock)
        if hosted.opened.end_offset < end:
            return
    raise NotPossible("nothing is truncated")


@STEPS.of("Fetch")
def fetch(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a follower fetch; the answer is read once the leader has learned from the fetch, as that of a fetch that waited.

    An epoch without records costs a fetch that truncates nothing.
    """
    hosted = running(stage, follower).replicas.partitions[PARTITION]
    end = hosted.opened.end_offset
    request = next_fetch(stage, leader, follower)
    for _ in hosted.opened.epochs:
        answer = read(stage, leader, request)
        if answer.diverging is None:
            break
        running(stage, follower).data.fetchers.take(leader, {PARTITION: answer}, stage.clock)
        request = next_fetch(stage, leader, follower)
    expect(hosted.opened.end_offset == end and read(stage, leader, request).diverging is None, "the logs diverge")
    position = request.partitions[PARTITION]
    running(stage, leader).data.learn(PARTITION, follower, position.offset, request.broker_epoch, stage.clock)
    fetched = read(stage, leader, request)
    running(stage, follower).data.fetchers.take(leader, {PARTITION: fetched}, stage.clock)


@STEPS.of("DelayFetch")
def delay_fetch(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a follower send a fetch whose connection breaks before it arrives."""
    stage.network.fetches.append(next_fetch(stage, leader, follower))
    running(stage, follower).data.fetchers.lost(leader, stage.clock)


@STEPS.of("ReceiveDelayedFetch")
def receive_delayed_fetch(stage: KRaftStage, leader: int) -> None:
    """Deliver the delayed fetch; its answer is lost."""
    request = stage.network.fetches.pop()
    read(stage, leader, request)
    running(stage, leader).data.handle_fetch(request, stage.clock, lambda _: None)


@STEPS.of("RefuseDelayedFetch")
def refuse_delayed_fetch(stage: KRaftStage) -> None:
    """Deliver the delayed fetch to every broker; each refuses it."""
    request = stage.network.fetches.pop()
    for process in stage.cluster.brokers.values():
        fetched = process.data.read(
            PARTITION, request.partitions[PARTITION], request.replica, request.topic_ids.get(PARTITION.topic)
        )
        expect(fetched.error != ErrorCode.NONE, f"broker {process.number} does not refuse it")


# ---------------------------------------------------------------------------------------------------------------------
# Proposals


@STEPS.of("ProposeShrink")
def propose_shrink(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a leader find a follower slow."""
    expect(running(stage, leader).data.isr.try_shrink(PARTITION, (follower,)), "nothing is proposed")


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
    expect(running(stage, broker).data.isr.next_request() == before, "it sends another request")


# ---------------------------------------------------------------------------------------------------------------------
# Operators


@STEPS.of("ElectPreferred")
def elect_preferred(stage: KRaftStage) -> None:
    """Let an operator request a preferred election."""
    codes = stage.cluster.controller.elect_leaders([PARTITION], ElectionKind.PREFERRED)
    expect(codes[PARTITION] == ErrorCode.NONE, f"the controller answers {codes[PARTITION].name}")


@STEPS.of("ElectUnclean")
def elect_unclean(stage: KRaftStage) -> None:
    """Let an operator request an unclean election."""
    codes = stage.cluster.controller.elect_leaders([PARTITION], ElectionKind.UNCLEAN)
    expect(codes[PARTITION] == ErrorCode.NONE, f"the controller answers {codes[PARTITION].name}")


def granted(request: Callable[[], object]) -> None:
    """Let the controller do what an operator requests.

    Raises:
        NotPossible: it refuses.
    """
    try:
        request()
    except KafkaError as error:
        raise NotPossible(f"the controller answers {error.code.name}: {error}") from error


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
