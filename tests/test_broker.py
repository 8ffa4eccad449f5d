"""A broker's process: sessions and registrations, requests of every kind, and automatic topic creation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    LATEST,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ElectLeadersRequest,
    EpochPosition,
    FetchPosition,
    FetchRequest,
    ListOffsetsRequest,
    Metadata,
    MetadataRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import FetchResponse, ListOffsetsResponse, OffsetsForLeaderEpochResponse, ProduceResponse
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, NodeExists, SessionExpired
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession

P = TopicPartition("orders", 0)


def records(*values: bytes) -> bytes:
    """Return a batch."""
    return bytes(batches.build([(1, None, value) for value in values]))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return three idle brokers, which create topics of two partitions with two replicas."""
    settings = Settings(num_partitions=2, default_replication_factor=2)
    with Cluster(tmp_path, Ensemble(), settings=settings) as cluster:
        for number in range(3):
            cluster.start(number)
        cluster.rest()
        yield cluster


def ask(cluster: Cluster, number: int, message: Any) -> Any:
    """Ask a broker, let everything come to rest, and return its answer, None if there is none."""
    answers: list[Any] = []
    cluster.brokers[number].serve(message, answers.append)
    cluster.rest()
    return answers[0] if answers else None


def test_asking_for_a_topic_creates_it(cluster: Cluster) -> None:
    """A missing topic is created by the settings; a second metadata request returns its leader."""
    first = ask(cluster, 2, MetadataRequest(("orders",)))
    assert first.errors == {"orders": ErrorCode.LEADER_NOT_AVAILABLE}
    assert first.partitions == {}
    again = ask(cluster, 2, MetadataRequest(("orders",)))

    assert isinstance(again, Metadata)
    assert again.errors == {}
    assert [broker.number for broker in again.brokers] == [0, 1, 2]
    assert again.controller == 0
    assert [(p, m.error, len(m.replicas)) for p, m in again.partitions.items()] == [
        (TopicPartition("orders", 0), ErrorCode.NONE, 2),
        (TopicPartition("orders", 1), ErrorCode.NONE, 2),
    ]
    assert ask(cluster, 2, MetadataRequest()).partitions == again.partitions


def test_two_who_ask_create_it_once(cluster: Cluster) -> None:
    """Two brokers that receive a request before either knows the topic both answer LEADER_NOT_AVAILABLE; one topic is created."""
    answers: list[Any] = []
    for number in (1, 2):
        cluster.brokers[number].serve(MetadataRequest(("orders",)), answers.append)
    cluster.rest()

    assert [answer.errors for answer in answers] == [{"orders": ErrorCode.LEADER_NOT_AVAILABLE}] * 2
    assert cluster.tools.children(znodes.TOPICS) == ["orders"]


def test_topics_that_cannot_be_created(cluster: Cluster, tmp_path: Path) -> None:
    """If the request or the broker does not permit it, nothing is created; an illegal name or too few brokers are an error."""
    assert ask(cluster, 1, MetadataRequest(("orders",), False)).errors == {"orders": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert ask(cluster, 1, MetadataRequest(("or/ders",))).errors == {"or/ders": ErrorCode.INVALID_TOPIC_EXCEPTION}
    cluster.crash(1)
    cluster.crash(2)
    assert ask(cluster, 0, MetadataRequest(("orders",))).errors == {"orders": ErrorCode.INVALID_REPLICATION_FACTOR}
    cluster.expire(0)
    answers: list[Any] = []
    cluster.brokers[0].serve(MetadataRequest(("orders",)), answers.append)
    assert answers[0].errors == {"orders": ErrorCode.UNKNOWN_SERVER_ERROR}
    assert cluster.tools.children(znodes.TOPICS) == []

    with Cluster(tmp_path / "other", Ensemble(), settings=Settings(auto_create_topics_enable=False)) as other:
        other.start(0)
        other.rest()
        assert ask(other, 0, MetadataRequest(("orders",))).errors == {"orders": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_records_for_an_unknown_topic(cluster: Cluster) -> None:
    """Records create no topic: they are answered UNKNOWN_TOPIC_OR_PARTITION."""
    answer = ask(cluster, 0, ProduceRequest(1, {P: records(b"a")}))

    assert answer.partitions[P].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.tools.children(znodes.TOPICS) == []


def test_whatever_is_asked(cluster: Cluster) -> None:
    """Each request has its answer: records, offsets, epochs, elections, shutdowns; acks=0 has none."""
    ask(cluster, 0, MetadataRequest(("orders",)))
    held = cluster.leadership(P)
    assert held is not None
    leader, other = held.leader, next(number for number in range(3) if number != held.leader)

    assert ask(cluster, leader, ProduceRequest(0, {P: records(b"a")})) is None
    produced = ask(cluster, leader, ProduceRequest(1, {P: records(b"b", b"c")}))
    assert isinstance(produced, ProduceResponse)
    assert (produced.partitions[P].error, produced.partitions[P].base_offset) == (ErrorCode.NONE, 1)
    fetched = ask(cluster, leader, FetchRequest(CONSUMER, NO_EPOCH, {P: FetchPosition(0)}, max_wait_ms=0))
    assert isinstance(fetched, FetchResponse)
    assert (fetched.partitions[P].error, fetched.partitions[P].records) == (ErrorCode.NONE, b"")  # no follower has fetched
    epochs = ask(cluster, leader, OffsetsForLeaderEpochRequest(other, {P: EpochPosition(0, 0)}))
    assert isinstance(epochs, OffsetsForLeaderEpochResponse)
    assert (epochs.partitions[P].leader_epoch, epochs.partitions[P].end_offset) == (0, 3)
    listed = ask(cluster, leader, ListOffsetsRequest(other, {P: OffsetQuery(LATEST)}))
    assert isinstance(listed, ListOffsetsResponse)
    assert listed.partitions[P].offset == 3
    assert set(ask(cluster, 0, ElectLeadersRequest()).partitions.values()) == {ErrorCode.ELECTION_NOT_NEEDED}
    assert ask(cluster, 1, ElectLeadersRequest((P,))).partitions == {P: ErrorCode.NOT_CONTROLLER}
    epoch = cluster.brokers[2].epoch
    assert ask(cluster, 0, ControlledShutdownRequest(2, epoch)) == ControlledShutdownResponse(ErrorCode.NONE, ())
    assert ask(cluster, 0, ControlledShutdownRequest(2, epoch - 1)).error == ErrorCode.STALE_BROKER_EPOCH


def test_a_registration_outlives_its_process(cluster: Cluster) -> None:
    """A process that is killed stays registered until its session ends; before that no other of its number can start."""
    session = cluster.end_process(1)
    with pytest.raises(NodeExists):
        cluster.start(1)
    cluster.service.expire(session)
    before = cluster.tools.exists(znodes.broker(0))
    started = cluster.start(1)

    assert before is not None
    assert started.epoch > before.czxid
    with pytest.raises(ValueError, match="broker 1 runs"):
        cluster.start(1)


@pytest.mark.parametrize("loss", list(Loss))
def test_a_registration_whose_reply_is_lost(cluster: Cluster, loss: Loss) -> None:
    """A registration whose connection was lost is repeated, and finds its own node."""
    for number in itertools.count():
        cluster.expire(1)
        session = cluster.service.connect()
        assert isinstance(session, MemorySession)
        session.lose(loss, number)
        try:
            cluster.brokers[1].reopen(session)
        except ConnectionLost:
            cluster.brokers[1].reopen(session)
        if session.will_lose:
            assert number > 10
            break
    cluster.rest()
    stat = cluster.tools.exists(znodes.broker(1))

    assert stat is not None
    assert (stat.owner, stat.czxid) == (session.id, cluster.brokers[1].epoch)
    assert cluster.active.context.broker_epochs[1] == stat.czxid


def test_a_broker_notices_that_its_session_is_over(cluster: Cluster) -> None:
    """A broker whose session has ended has one as far as it knows, until it works; then it waits for another."""
    cluster.expire(1)
    broker = cluster.brokers[1]
    assert broker.has_session
    broker.step()
    assert not broker.has_session
    with pytest.raises(SessionExpired):
        broker.register()
    cluster.reopen(1)

    assert broker.has_session
    cluster.rest()
    assert cluster.active.context.broker_epochs[1] == broker.epoch


def test_a_request_is_answered_once(cluster: Cluster) -> None:
    """The same request is in flight until it is answered; a second answer, or one whose channel was closed, is ignored."""
    cluster.brokers[0].serve(MetadataRequest(("orders",)), lambda _: None)
    while cluster.in_flight(0, 1) is None:
        cluster.brokers[0].step()
    request = cluster.in_flight(0, 1)
    assert request is not None
    assert cluster.deliver(0, 1, answered=False)
    assert cluster.in_flight(0, 1) is request
    answer = cluster.brokers[1].take(request)

    assert cluster.brokers[0].answered(1, request, answer)
    assert not cluster.brokers[0].answered(1, request, answer)
    cluster.rest()
    assert not cluster.deliver(0, 1)
    assert not cluster.lose(0, 1)
    cluster.crash(1)
    assert not cluster.brokers[0].answered(1, request, answer)
