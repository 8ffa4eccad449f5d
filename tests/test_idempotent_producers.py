"""Idempotent producers: ids in blocks, batches that come again or out of order, after truncations and restarts too (KIP-98)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from conftest import answer
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.impl.kafka_wire import apis, entities
from kafka_spec.impl.log.batches import LARGEST, Batch
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.producers import OldProducerEpoch, OutOfOrderSequence, Producers
from kafka_spec.impl.protocol.data_requests import AllocateProducerIdsRequest, InitProducerIdRequest, Produced, ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AllocateProducerIdsResponse, InitProducerIdResponse
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import producer_ids, znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss

P = TopicPartition("orders", 0)
OK = ErrorCode.NONE


def sent(sequence: int, count: int = 1, producer: int = 7, epoch: int = 0) -> bytes:
    """Return a batch of an idempotent producer."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, producer, epoch, sequence, 1 << 20)
    for number in range(count):
        builder.append(number, 0, None, b"v%d" % number, [])
    return bytes(builder.build())


def test_a_batch_that_comes_again_is_stored_once(tmp_path: Path) -> None:
    """The five newest batches of a producer are recognized, and answered with the offsets that they have."""
    log = PartitionLog(tmp_path / "p-0")
    for number in range(6):
        assert log.append_as_leader(sent(2 * number, 2), 0) == (2 * number, 2 * number + 1)
    for number in range(1, 6):
        assert log.append_as_leader(sent(2 * number, 2), 0) == (2 * number, 2 * number + 1)
    assert log.end_offset == 12
    with pytest.raises(OutOfOrderSequence):
        log.append_as_leader(sent(0, 2), 0)  # the sixth newest is not known any more
    log.close()


@pytest.mark.parametrize("restarts", [True, False])
def test_what_is_refused(tmp_path: Path, restarts: bool) -> None:
    """A gap and an old epoch are refused, and nothing is stored; a new epoch begins at 0; other producers are not affected.

    The same holds for a log that is opened again, and for a follower's.
    """
    log, follower = PartitionLog(tmp_path / "p-0"), PartitionLog(tmp_path / "q-0")
    log.append_as_leader(sent(0, 3), 0)
    log.append_as_leader(sent(0, 1, epoch=1), 0)
    follower.append_as_follower(log.read(0, 1 << 20))
    if restarts:
        log.close()
        log = PartitionLog(tmp_path / "p-0", recovery_point=4)
    for one in (log, follower):
        for wrong in (sent(2, epoch=1), sent(1, epoch=2)):
            with pytest.raises(OutOfOrderSequence):
                one.append_as_leader(wrong, 0)
        with pytest.raises(OldProducerEpoch):
            one.append_as_leader(sent(3), 0)
        with pytest.raises(ValueError, match="one batch at a time"):
            one.append_as_leader(sent(1, epoch=1) + sent(2, epoch=1), 0)
        assert one.end_offset == 4
        assert one.append_as_leader(sent(1, epoch=1), 0) == (4, 4)
        assert one.append_as_leader(sent(40, producer=8), 0) == (5, 5)  # its older records may have been deleted
        one.close()


def test_a_truncated_batch_is_forgotten(tmp_path: Path) -> None:
    """What was truncated may come again, and is stored then."""
    log = PartitionLog(tmp_path / "p-0")
    for sequence in (0, 1, 2):
        log.append_as_leader(sent(sequence), 0)
    log.truncate_to(1)
    assert log.append_as_leader(sent(0), 0) == (0, 0)
    assert log.append_as_leader(sent(1), 1) == (1, 1)
    log.truncate_fully(5)
    assert log.append_as_leader(sent(1), 1) == (5, 5)
    log.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_retries_never_store_a_record_twice(counts: list[int], random: Any) -> None:
    """However often some of the newest batches come again, each is known as itself, and the next one is accepted."""
    known, stored, first = Producers(), list[Batch](), LARGEST - 5  # the sequence numbers begin anew on the way
    for number, count in enumerate(counts):
        batch = Batch(number * 10, number * 10 + count - 1, 0, 0, 100, 7, 0, first)
        assert known.duplicate_of(batch) is None
        known.check(batch)
        known.add(batch)
        stored.append(batch)
        first = (batch.last_sequence + 1) % (LARGEST + 1)
        again = random.choice(stored[-5:])
        assert known.duplicate_of(again) is again


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    """Return two brokers with a topic."""
    with Cluster(tmp_path, Ensemble()) as cluster:
        for number in (0, 1):
            cluster.start(number)
        cluster.rest()
        Admin(cluster.tools, Random(0), lambda _: None).create_topic_with_assignment("orders", {0: (0, 1)})
        cluster.rest()
        yield cluster


def test_ids_are_given_once(cluster: Cluster) -> None:
    """Each broker gives ids of its own blocks, which one znode counts as Kafka does; a block that is taken is never taken again."""
    given_ids = [answer(cluster.brokers[number], InitProducerIdRequest()) for number in (0, 1, 0)]
    assert given_ids == [InitProducerIdResponse(OK, one, 0) for one in (0, 1000, 1)]
    content = json.loads(cluster.tools.get(znodes.LATEST_PRODUCER_ID_BLOCK)[0])
    assert content == {"version": 1, "broker": 1, "block_start": "1000", "block_end": "1999"}
    cluster.brokers[0].session.lose(Loss.REPLY, after=2)  # type: ignore[attr-defined]
    cluster.brokers[0]._producer_ids = producer_ids.ProducerIds(0)
    assert answer(cluster.brokers[0], InitProducerIdRequest()).error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answer(cluster.brokers[0], InitProducerIdRequest()) == InitProducerIdResponse(OK, 3000, 0)


def test_blocks_of_the_controller(cluster: Cluster) -> None:
    """The active controller takes blocks for registered brokers; another one refuses, and so does this for an old registration."""
    active = cluster.brokers[cluster.active.controller_id]
    other = cluster.brokers[1 - active.number]
    asked = AllocateProducerIdsRequest(other.number, other.epoch)
    assert answer(active, asked) == AllocateProducerIdsResponse(OK, 0, 1000)
    assert answer(active, asked) == AllocateProducerIdsResponse(OK, 1000, 1000)
    assert answer(other, asked).error == ErrorCode.NOT_CONTROLLER
    old = AllocateProducerIdsRequest(other.number, other.epoch - 1)
    assert answer(active, old).error == ErrorCode.STALE_BROKER_EPOCH


def test_transactional_producers_are_sent_on(cluster: Cluster) -> None:
    """A transactional producer is told that this broker does not coordinate it; an empty id is no id."""
    assert answer(cluster.brokers[0], InitProducerIdRequest("payments")).error == ErrorCode.NOT_COORDINATOR
    assert answer(cluster.brokers[0], InitProducerIdRequest("")).error == ErrorCode.INVALID_REQUEST


def test_the_leader_answers_producers(cluster: Cluster) -> None:
    """A batch that comes again is acknowledged at its offset; a gap and an old epoch have errors of their own."""

    def produced(*batches: bytes) -> list[Produced]:
        return [answer(cluster.brokers[0], ProduceRequest(1, {P: one})).partitions[P] for one in batches]

    assert produced(sent(0, 2), sent(2), sent(0, 2)) == [Produced(OK, 0), Produced(OK, 2), Produced(OK, 0)]
    assert produced(sent(4)) == [Produced(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)]
    assert produced(sent(0, epoch=1), sent(3)) == [Produced(OK, 3), Produced(ErrorCode.INVALID_PRODUCER_EPOCH)]


@pytest.mark.parametrize("version", range(5))
def test_init_producer_id_on_the_wire(version: int) -> None:
    """InitProducerId is read in every version that is served, and its answer is what a client reads."""
    fields = {"transactional_id": None, "transaction_timeout": 1, "producer_id": -1, "producer_epoch": -1}
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(entities.write_request(22, version, 3, "client", fields))
    assert received.message == InitProducerIdRequest(None)
    written = apis.BROKER_ON_ZOOKEEPER.encode_answer(received, InitProducerIdResponse(OK, 5, 0))
    correlation, entity = entities.read_answer(22, version, written[4:])
    assert (correlation, entity.error_code, entity.producer_id, entity.producer_epoch) == (3, 0, 5, 0)


def test_allocate_producer_ids_on_the_wire() -> None:
    """AllocateProducerIds, which brokers of 3.0 and later send to the controller."""
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(entities.write_request(67, 0, 3, "1", {"broker_id": 1, "broker_epoch": 50}))
    assert received.message == AllocateProducerIdsRequest(1, 50)
    _, entity = entities.read_answer(
        67, 0, apis.BROKER_ON_ZOOKEEPER.encode_answer(received, AllocateProducerIdsResponse(OK, 2000, 1000))[4:]
    )
    assert (entity.producer_id_start, entity.producer_id_len) == (2000, 1000)
