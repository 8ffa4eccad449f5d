"""Steps of leaders and followers: fetching, the high watermark, the ISR, and a fetch that is delayed on the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_spec.conformance.replay.core import LONG, NotEnabled, Steps
from kafka_spec.conformance.replay.ensemble import ModelSession
from kafka_spec.conformance.replay.modeled_cluster import DelayedAnswer
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.request_mapping import PARTITIONS
from kafka_spec.conformance.replay.steps import running
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.protocol.data_requests import Fetched, FetchRequest, OffsetsForLeaderEpochRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.coordination.memory import Loss

STEPS = Steps()


@contextmanager
def fetching_alone(follower: BrokerProcess, partition: int) -> Iterator[None]:
    """Set the fetchers of the follower's other partitions aside: in the model each partition is fetched by itself."""
    fetchers = follower.replicas.fetchers
    others = {named: fetchers.pop(named) for named in list(fetchers) if named != PARTITIONS[partition]}
    try:
        yield
    finally:
        fetchers.update(others)


def truncate(projection: Projection, partition: int, leader: BrokerProcess, follower: BrokerProcess) -> int:
    """Let a follower truncate by its leader's answers until it may fetch; return the number of requests."""
    asked = 0
    with fetching_alone(follower, partition):
        while (request := follower.data.fetchers.next_request(leader.number, projection.clock)) is not None:
            if not isinstance(request, OffsetsForLeaderEpochRequest):
                follower.data.fetchers.lost(leader.number, 0)
                return asked
            answers = leader.data.handle_offsets_for_leader_epoch(request)
            follower.data.fetchers.take(leader.number, answers, projection.clock)
            asked += 1
            if answers[PARTITIONS[partition]].error != ErrorCode.NONE:
                raise NotEnabled(f"broker {leader.number} answers {answers[PARTITIONS[partition]].error.name}")
    raise NotEnabled(f"broker {follower.number} does not fetch from {leader.number}")


def next_fetch(projection: Projection, partition: int, leader: int, follower: int) -> FetchRequest:
    """Return the next fetch of a follower, after it has truncated its log."""
    truncate(projection, partition, running(projection, leader), running(projection, follower))
    with fetching_alone(running(projection, follower), partition):
        request = running(projection, follower).data.fetchers.next_request(leader, projection.clock)
    assert isinstance(request, FetchRequest)
    return request


def arrives(projection: Projection, leader: BrokerProcess, request: FetchRequest) -> Fetched:
    """Deliver a fetch to a leader, which records the end of the follower's log; return the answer."""
    ((partition, position),) = request.partitions.items()
    fetched = leader.data.read(partition, position, request.replica)
    if fetched.error != ErrorCode.NONE:
        raise NotEnabled(f"broker {leader.number} answers {fetched.error.name}")
    leader.data.note_fetch(partition, request.replica, position.offset, request.broker_epoch, projection.clock)
    return fetched


@STEPS.of("TruncateToLeader")
def truncate_to_leader(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a follower truncate where its leader says that their logs diverge."""
    truncate(projection, partition, running(projection, leader), running(projection, follower))


@STEPS.of("Fetch")
def fetch(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a follower fetch, handle the answer, and report the end of its log with its next fetch."""
    request = next_fetch(projection, partition, leader, follower)
    fetched = arrives(projection, running(projection, leader), request)
    running(projection, follower).data.fetchers.take(leader, {PARTITIONS[partition]: fetched}, projection.clock)
    tell_end(projection, partition, leader, follower)


def tell_end(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader record the end of a follower's log from a fetch whose answer is lost."""
    request = next_fetch(projection, partition, leader, follower)
    arrives(projection, running(projection, leader), request)
    running(projection, follower).data.fetchers.lost(leader, 0)


@STEPS.of("AdvanceHighWatermark")
def advance_high_watermark(projection: Projection, partition: int, leader: int) -> None:
    """Let a leader advance its high watermark by one, by the fetches that it has recorded."""
    node = running(projection, leader)
    hosted = node.replicas.partitions[PARTITIONS[partition]]
    projection.clock += LONG
    node.data.advance_high_watermark(PARTITIONS[partition], projection.clock, at_most=hosted.high_watermark + 1)


@STEPS.of("ExpandIsr")
def expand_isr(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader receive a follower's fetch, and add it to the ISR."""
    tell_end(projection, partition, leader, follower)
    written(running(projection, leader).data.try_expand_isr(PARTITIONS[partition], follower, projection.clock))


@STEPS.of("DropFromIsr", "ShrinkIsr")
def shrink_isr(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader remove a lagging follower from the ISR."""
    written(running(projection, leader).data.try_shrink_isr(PARTITIONS[partition], (follower,), projection.clock))


@STEPS.of("ShrinkIsrUnanswered")
def shrink_isr_unanswered(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader remove a follower from the ISR; the answer is lost."""
    lose_reply(projection, leader)
    unanswered(running(projection, leader).data.try_shrink_isr(PARTITIONS[partition], (follower,), projection.clock))


@STEPS.of("ExpandIsrUnanswered")
def expand_isr_unanswered(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader receive a follower's fetch, and add it to the ISR; the answer is lost."""
    tell_end(projection, partition, leader, follower)
    lose_reply(projection, leader, after=1 if projection.k.fetch_generation_checked else 0)  # it first reads the registration
    unanswered(running(projection, leader).data.try_expand_isr(PARTITIONS[partition], follower, projection.clock))


@STEPS.of("RetryIsrWrite")
def retry_isr_write(projection: Projection, partition: int, leader: int) -> None:
    """Let a leader repeat an ISR write that was not answered."""
    if running(projection, leader).data.retry_isr_write(PARTITIONS[partition], projection.clock) in (
        IsrWrite.NOT_NEEDED,
        IsrWrite.UNANSWERED,
    ):
        raise NotEnabled("no ISR write is pending, or it is not answered")


def lose_reply(projection: Projection, leader: int, after: int = 0) -> None:
    """Break the leader's connection to ZooKeeper after its next write, which comes after this many reads."""
    session = running(projection, leader).session
    assert isinstance(session, ModelSession)
    session.lose(Loss.REPLY, after)


def unanswered(outcome: IsrWrite) -> None:
    """Raise NotEnabled if no write is on its way."""
    if outcome != IsrWrite.UNANSWERED:
        raise NotEnabled(outcome.value)


def written(outcome: IsrWrite) -> None:
    """Raise NotEnabled if nothing was written."""
    if outcome != IsrWrite.WRITTEN:
        raise NotEnabled(outcome.value)


@STEPS.of("SendLateFetch")
def send_late_fetch(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Delay a follower's fetch on the network; its sender has given it up."""
    request = next_fetch(projection, partition, leader, follower)
    running(projection, follower).data.fetchers.lost(leader, 0)
    projection.fetches.append((request, running(projection, leader).replicas.partitions[PARTITIONS[partition]].leader_epoch))


@STEPS.of("LateFetchExpandsIsr")
def late_fetch_expands_isr(projection: Projection, partition: int, leader: int) -> None:
    """Deliver the delayed fetch, and let its sender join the ISR."""
    request, _ = projection.fetches[0]
    node = running(projection, leader)
    arrives(projection, node, request)
    written(node.data.try_expand_isr(PARTITIONS[partition], request.replica, projection.clock))
    projection.fetches.pop(0)


@STEPS.of("LateFetchTellsEnd")
def late_fetch_tells_end(projection: Projection, partition: int, leader: int) -> None:
    """Let the delayed fetch arrive; its sender does not join the ISR."""
    request, _ = projection.fetches[0]
    arrives(projection, running(projection, leader), request)
    projection.fetches.pop(0)


@STEPS.of("LoseLateFetch")
def lose_late_fetch(projection: Projection) -> None:
    """Lose the delayed fetch."""
    projection.fetches.pop(0)


@STEPS.of("SendLateAnswer")
def send_late_answer(projection: Projection, partition: int, leader: int, follower: int) -> None:
    """Let a leader answer a follower's fetch; the answer stays on the network, and the follower waits."""
    request = next_fetch(projection, partition, leader, follower)
    fetched = arrives(projection, running(projection, leader), request)
    asked = running(projection, follower).data.fetchers.in_flight.pop(leader)
    projection.answers.append(DelayedAnswer(leader, follower, asked, fetched))


@STEPS.of("LateAnswerArrives")
def late_answer_arrives(projection: Projection, partition: int, follower: int) -> None:
    """Let a follower handle the delayed answer. A loaded state does not say that it has truncated in the epoch of its fetch."""
    delayed, node = projection.answers.pop(0), running(projection, follower)
    waiting, asked = node.replicas.fetchers.get(PARTITIONS[partition]), delayed.asked.asked[PARTITIONS[partition]]
    if waiting is not None and waiting.leader_epoch == asked.leader_epoch:
        waiting.phase = asked.phase
    node.data.fetchers.in_flight[delayed.leader] = delayed.asked
    node.data.fetchers.take(delayed.leader, {PARTITIONS[partition]: delayed.fetched}, projection.clock)


@STEPS.of("LoseLateAnswer")
def lose_late_answer(projection: Projection) -> None:
    """Lose the delayed answer."""
    projection.answers.pop(0)
