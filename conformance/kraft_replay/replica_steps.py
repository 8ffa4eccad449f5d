"""Steps of leaders and followers: records, fetches, and a fetch that is delayed on the network."""

from __future__ import annotations

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.kraft_replay.steps import running
from kafka_spec.conformance.kraft_replay.values import PARTITION, topic_of
from kafka_spec.conformance.replay.core import NotEnabled, Steps, expect
from kafka_spec.conformance.replay.disk import batch_of
from kafka_spec.impl.kraft.directories import two_directories
from kafka_spec.impl.protocol.data_requests import Fetched, FetchRequest, ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode

STEPS = Steps()


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
        raise NotEnabled(f"broker {follower} does not fetch from {leader}")
    return request


def read(stage: KRaftStage, leader: int, request: FetchRequest) -> Fetched:
    """Return what a leader answers to a fetch now."""
    fetched = running(stage, leader).data.read(
        PARTITION, request.partitions[PARTITION], request.replica, request.topic_ids.get(PARTITION.topic)
    )
    expect(fetched.error == ErrorCode.NONE, f"broker {leader} answers {fetched.error.name}")
    return fetched


@STEPS.of("BeginMove")
def begin_move(stage: KRaftStage, broker: int) -> None:
    """Let an operator move a replica to the other log directory of its broker."""
    expect(running(stage, broker).replicas.move(PARTITION, two_directories(broker)[1]), "it cannot be moved")


@STEPS.of("Copy")
def copy(stage: KRaftStage, broker: int) -> None:
    """Copy a record to the future log."""
    expect(running(stage, broker).replicas.future_logs.copy(PARTITION, 1), "there is nothing to copy")


@STEPS.of("AssignDirectory")
def assign_directory(stage: KRaftStage, broker: int) -> None:
    """Have the controller note the directory of a future log that has caught up."""
    process = running(stage, broker)
    request = process.assignment()
    expect(request is not None, "no directory is to be assigned")
    assert request is not None
    answer = stage.cluster.controller.assign_directories(request)
    expect(answer.error == ErrorCode.NONE and set(answer.replicas.values()) == {ErrorCode.NONE}, "it is refused")
    process.assigned(answer)


@STEPS.of("Promote")
def promote(stage: KRaftStage, broker: int) -> None:
    """Let a future log replace its log."""
    expect(running(stage, broker).replicas.promote(PARTITION), "it is not assigned, or has not caught up")


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
    raise NotEnabled("nothing is truncated")


@STEPS.of("Fetch")
def fetch(stage: KRaftStage, leader: int, follower: int) -> None:
    """Let a follower fetch; the leader reads its log, then learns from the fetch, and answers at once.

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
    fetched = read(stage, leader, request)
    expect(hosted.opened.end_offset == end and fetched.diverging is None, "the logs diverge")
    position = request.partitions[PARTITION]
    running(stage, leader).data.learn(PARTITION, follower, position.offset, request.broker_epoch, stage.clock)
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
