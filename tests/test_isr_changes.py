"""The controller answers leaders that ask it to change ISRs, as their inter.broker.protocol 2.7 and later has it (KIP-497)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from test_controller import P, Q, SteppedCluster

from kafka_spec.impl.protocol.controller_requests import Leadership, UpdateMetadataRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.isr_changes import AlterIsr
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.memory import Loss, MemorySession

MISSING = TopicPartition("orders", 9)


@pytest.fixture
def cluster() -> SteppedCluster:
    """Three brokers; broker 0 is the controller, and 1 leads both partitions."""
    return SteppedCluster(3).settle().create((1, 2, 0), (1, 2, 0)).forget()


def asked(cluster: SteppedCluster, proposals: Mapping[TopicPartition, Leadership], *, epoch: int | None = None) -> list[Any]:
    """Return the answers to broker 1, which asks for these ISRs, under this broker epoch or its own."""
    answers: list[Any] = []
    known = cluster.active.context.broker_epochs[1] if epoch is None else epoch
    cluster.active.handle(AlterIsr(1, known, proposals, lambda *answer: answers.append(answer)))
    cluster.settle()
    return answers


def proposal(cluster: SteppedCluster, *isr: int, partition: TopicPartition = P, **changes: int) -> Leadership:
    """Return what the leader knows, with another ISR and some changes."""
    held = cluster.leadership(partition)
    assert held is not None
    return replace(held, isr=isr, controller_epoch=-1, **changes)


def test_an_isr_is_written(cluster: SteppedCluster) -> None:
    """The ISR is written under the same leader epoch, the answer has the next version, and all brokers are told."""
    before = cluster.leadership(P)
    assert before is not None
    answers = asked(cluster, {P: proposal(cluster, 1, 0)})
    assert answers == [(ErrorCode.NONE, {P: replace(before, isr=(1, 0), version=before.version + 1)})]
    assert cluster.leadership(P) == answers[0][1][P] == cluster.active.context.leadership[P]
    for number in range(3):
        (request,) = cluster.sent(number)
        assert isinstance(request, UpdateMetadataRequest) and request.partitions[P].leadership.isr == (1, 0)
    assert asked(cluster, {P: proposal(cluster, 1, 0, 2)})[0][1][P].isr == (1, 0, 2)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"version": 7}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"version": -1}, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_what_the_leader_knows_is_compared(cluster: SteppedCluster, changes: dict[str, int], code: ErrorCode) -> None:
    """Another leader epoch or version than the controller's is refused; who is ahead shall look for another controller."""
    before = cluster.leadership(P)
    assert asked(cluster, {P: proposal(cluster, 1, **changes)}) == [(ErrorCode.NONE, {P: code})]
    assert cluster.leadership(P) == before


def test_the_same_isr_is_answered(cluster: SteppedCluster) -> None:
    """What is there already is a success, though the leader knows an older version; nothing is written."""
    before = cluster.leadership(P)
    assert asked(cluster, {P: proposal(cluster, 1, 2, 0, version=-1)}) == [(ErrorCode.NONE, {P: before})]
    assert cluster.leadership(P) == before


def test_members_must_be_alive(cluster: SteppedCluster) -> None:
    """An ISR with a broker that is gone or shuts down is refused, also where it was a member already (KIP-841)."""
    cluster.active.handle(ControlledShutdown(2, cluster.active.context.broker_epochs[2], lambda *_: None))
    cluster.settle()
    assert asked(cluster, {P: proposal(cluster, 1, 0, 2)}) == [(ErrorCode.NONE, {P: ErrorCode.OPERATION_NOT_ATTEMPTED})]
    cluster.kill(2).settle()
    assert asked(cluster, {P: proposal(cluster, 1, 2)}) == [(ErrorCode.NONE, {P: ErrorCode.OPERATION_NOT_ATTEMPTED})]
    assert asked(cluster, {P: proposal(cluster, 1)})[0][1][P].isr == (1,)


def test_each_partition_has_its_answer(cluster: SteppedCluster) -> None:
    """One refused partition stops no other."""
    proposals = {MISSING: Leadership(1, 0, (1,), 0, -1), P: proposal(cluster, 1, version=-1), Q: proposal(cluster, 1, partition=Q)}
    ((error, answers),) = asked(cluster, proposals)
    assert error == ErrorCode.NONE
    assert (answers[MISSING], answers[P]) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_UPDATE_VERSION)
    assert answers[Q].isr == (1,)


def test_requests_that_are_refused(cluster: SteppedCluster) -> None:
    """A request of an older registration, or to a broker that is not the controller, changes nothing."""
    proposals = {P: proposal(cluster, 1)}
    assert asked(cluster, proposals, epoch=0) == [(ErrorCode.STALE_BROKER_EPOCH, {})]
    answers: list[Any] = []
    cluster.brokers[1].controller.handle(AlterIsr(1, 0, proposals, lambda *answer: answers.append(answer)))
    cluster.settle()
    assert answers == [(ErrorCode.NOT_CONTROLLER, {})]
    assert cluster.state(P)[2] == (1, 2, 0)


def test_a_znode_that_somebody_else_has_written(cluster: SteppedCluster) -> None:
    """Where the znode has another version than the controller's memory, the write is refused, and the memory is read again."""
    proposals = {P: proposal(cluster, 1)}
    cluster.tools.set(znodes.state(P), znodes.State(1, 0, (1, 2), 1).encode())
    assert asked(cluster, proposals) == [(ErrorCode.NONE, {P: ErrorCode.INVALID_UPDATE_VERSION})]
    assert cluster.active.context.leadership[P].isr == cluster.state(P)[2] == (1, 2)


def test_a_controller_that_was_deposed(cluster: SteppedCluster) -> None:
    """Where /controller_epoch has moved nothing is written, and the leader is told to look for another controller."""
    proposals = {P: proposal(cluster, 1)}
    cluster.tools.set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(7))
    assert asked(cluster, proposals) == [(ErrorCode.NOT_CONTROLLER, {})]
    assert cluster.state(P)[2] == (1, 2, 0)


@pytest.mark.parametrize("loss", list(Loss))
def test_a_connection_that_is_lost(loss: Loss) -> None:
    """Wherever the connection to ZooKeeper breaks, the ISR is written once, and the leader is answered once, with what is there."""
    for number in itertools.count():
        cluster = SteppedCluster(3).settle().create((1, 2, 0)).forget()
        session = cluster.brokers[0].session
        assert isinstance(session, MemorySession)
        proposals = {P: proposal(cluster, 1, 0)}
        session.lose(loss, after=number)
        ((error, answers),) = asked(cluster, proposals)
        assert error == ErrorCode.NONE
        assert answers[P] == cluster.leadership(P) == replace(proposals[P], version=1, controller_epoch=1)
        if session.will_lose:
            assert number >= 1
            return
