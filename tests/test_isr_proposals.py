"""Leaders that ask the controller for their ISRs (KIP-497): what they send, how they take answers, and a cluster that works so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_data_plane import DataPlanes, P

from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.kafka_wire import apis
from kafka_spec.impl.kafka_wire.protocols import PROTOCOLS
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.data_requests import AlterIsrRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AlterIsrResponse
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.zookeeper.broker.isr_proposals import BACKOFF_MS, AlterIsrManager
from kafka_spec.spec.zookeeper.fixed import FIXED

OK = ErrorCode.NONE
TOPIC_ID = "Lws1lBqZTxCkJ8Xf0sQ-3w"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DataPlanes]:
    """Return three brokers whose leaders ask the controller; broker 1 leads, and 2 is in the ISR."""
    cluster = DataPlanes(tmp_path, FIXED, Settings(alter_partition=True), None)
    cluster.elect(1, isr=(1, 2))
    yield cluster
    cluster.close()


def proposals(cluster: DataPlanes) -> AlterIsrManager:
    """Return the proposals of the leader."""
    isr = cluster.planes[1].isr
    assert isinstance(isr, AlterIsrManager)
    return isr


def asked(cluster: DataPlanes) -> AlterIsrRequest:
    """Let the leader propose its ISR without 2, and return its request."""
    cluster.planes[1].note_fetch(P, 2, 0, cluster.planes[2].replicas.broker_epoch, cluster.now)
    cluster.produce(1, b"a")
    assert cluster.planes[1].try_shrink_isr(P, (2,), cluster.now) == IsrWrite.UNANSWERED
    request = proposals(cluster).next_request(cluster.now)
    assert request is not None
    return request


def test_a_leader_asks_and_adopts(cluster: DataPlanes) -> None:
    """Nothing is written to ZooKeeper; until the answer both ISRs count, and then the high watermark advances."""
    request, partition = asked(cluster), cluster.partition(1)
    assert request == AlterIsrRequest(1, cluster.planes[1].replicas.broker_epoch, {P: Leadership(1, 0, (1,), 0, 7)})
    assert (cluster.state().isr, partition.isr, partition.maximal_isr) == ((1, 2), (1, 2), (1, 2))
    assert proposals(cluster).next_request(cluster.now) is None  # one is on its way
    cluster.now += 30_001
    cluster.planes[1].advance_high_watermark(P, cluster.now)
    assert partition.high_watermark == 0
    proposals(cluster).take(AlterIsrResponse(OK, {P: Leadership(1, 0, (1,), 1, -1)}), cluster.now)
    assert (partition.isr, partition.pending_isr, partition.partition_epoch, partition.high_watermark) == ((1,), None, 1, 1)
    assert proposals(cluster).next_request(cluster.now) is None
    assert not proposals(cluster).changed  # the controller knows: nothing is to be reported


@pytest.mark.parametrize("answer", [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH, None])
def test_a_request_that_failed_is_repeated(cluster: DataPlanes, answer: ErrorCode | None) -> None:
    """A request that is refused as a whole, or lost, is sent again after a while, with the same proposals."""
    request, isr = asked(cluster), proposals(cluster)
    if answer is None:
        isr.lost(cluster.now)
    else:
        isr.take(AlterIsrResponse(answer, {}), cluster.now)
    assert isr.next_request(cluster.now) is None
    assert isr.next_request(cluster.now + BACKOFF_MS) == request
    assert cluster.partition(1).maximal_isr == (1, 2)


@pytest.mark.parametrize(
    ("error", "pending", "refused", "repeated"),
    [
        (ErrorCode.INVALID_UPDATE_VERSION, (1,), True, False),
        (ErrorCode.FENCED_LEADER_EPOCH, (1,), True, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, (1,), True, False),
        (ErrorCode.INELIGIBLE_REPLICA, None, False, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, None, False, False),
        (ErrorCode.NOT_CONTROLLER, (1,), False, True),
    ],
)
def test_a_refused_proposal(
    cluster: DataPlanes, error: ErrorCode, pending: tuple[int, ...] | None, refused: bool, repeated: bool
) -> None:
    """An error of the partition leaves the change pending until the next LeaderAndIsr, rolls it back, or repeats it."""
    asked(cluster)
    isr, partition = proposals(cluster), cluster.partition(1)
    isr.take(AlterIsrResponse(OK, {P: error}), cluster.now)
    cluster.now += 10_000
    isr.retry_all(cluster.now)
    assert (partition.isr, partition.pending_isr, partition.isr_write_refused) == ((1, 2), pending, refused)
    assert (isr.next_request(cluster.now) is not None) == repeated
    cluster.elect(1, isr=(1, 2))
    assert (partition.pending_isr, partition.isr_write_refused) == (None, False)


def test_an_answer_to_an_earlier_epoch(cluster: DataPlanes) -> None:
    """An answer that comes after a LeaderAndIsr changes nothing; the next change waits for it, and is proposed then."""
    asked(cluster)
    isr, partition = proposals(cluster), cluster.partition(1)
    cluster.elect(1, isr=(1, 2))
    assert cluster.planes[1].try_shrink_isr(P, (2,), cluster.now) == IsrWrite.NOT_NEEDED
    assert partition.pending_isr == (1,)
    isr.take(AlterIsrResponse(OK, {P: Leadership(1, 0, (1,), 1, -1)}), cluster.now)
    assert (partition.isr, partition.pending_isr) == ((1, 2), (1,))
    isr.retry_all(cluster.now)
    again = isr.next_request(cluster.now)
    assert again is not None and again.partitions[P] == Leadership(1, 1, (1,), 1, 7)


@pytest.mark.parametrize("protocol", ["2.7", "2.8", "3.9"])
@pytest.mark.parametrize("ids", [{}, {P.topic: TOPIC_ID}])
def test_on_the_wire(protocol: str, ids: dict[str, str]) -> None:
    """What a leader sends is what a controller reads, and so is the answer; a topic has its id where it is known, from 3.9 on."""
    proposal = Leadership(1, 4, (1, 3), 9, -1)
    request = AlterIsrRequest(1, 50, {P: proposal}, ids)
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(apis.encode_request(request, 3, PROTOCOLS[protocol])[4:])
    (read,) = received.message.partitions
    assert received.message.partitions[read] == proposal
    assert received.head.version == (2 if ids and protocol == "3.9" else {"3.9": 1}.get(protocol, 0))
    assert (read == P) == (received.head.version < 2)
    answers: list[Any] = [replace(proposal, version=10), ErrorCode.FENCED_LEADER_EPOCH]
    for answer in answers:
        sent = apis.BROKER_ON_ZOOKEEPER.encode_answer(received, AlterIsrResponse(OK, {read: answer}))
        assert apis.decode_answer(request, sent[4:], PROTOCOLS[protocol]) == (3, AlterIsrResponse(OK, {P: answer}))
