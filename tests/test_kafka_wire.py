"""Kafka's wire protocol: codecs, connections and the listener, against sockets of this process. No Java is needed.

What real brokers make of it is shown by `kafka-spec run --kafka` (tests/test_real_kafka.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.impl.kafka_wire import apis, entities
from kafka_spec.impl.kafka_wire.connection import KafkaConnection
from kafka_spec.impl.kafka_wire.listener import KafkaListener
from kafka_spec.impl.kafka_wire.protocols import PROTOCOLS, InterBrokerProtocol
from kafka_spec.impl.kafka_wire.topics import code_of, topic_of, whole_batches
from kafka_spec.impl.log.batches import build
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.data_requests import (
    AlterIsrRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    EpochEnd,
    EpochPosition,
    Fetched,
    FetchPosition,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    Metadata,
    MetadataRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    PartitionMetadata,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.responses import (
    AlterIsrResponse,
    ControllerResponse,
    FetchResponse,
    ListOffsetsResponse,
    OffsetsForLeaderEpochResponse,
    ProduceResponse,
)
from kafka_spec.impl.protocol.topic_ids import nameless, text_of, uuid_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition

HOST, OK = "127.0.0.1", ErrorCode.NONE
P0, P1, Q0 = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("ä", 0)

int32, int64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
ids = st.lists(int32, max_size=3).map(tuple)
names = st.text("aä.-_9", min_size=1, max_size=8)
codes = st.sampled_from(ErrorCode)
records = st.lists(st.binary(max_size=20), max_size=3).map(
    lambda values: b"".join(bytes(build([(0, None, value)])) for value in values)
)


def by_partition(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[TopicPartition, Any]]:
    """Return a strategy of some partitions with values; those of a topic are together, as on the wire."""
    some = st.dictionaries(st.builds(TopicPartition, names, st.integers(0, 9)), values, max_size=4)
    return some.map(lambda found: dict(sorted(found.items())))


leaderships = st.builds(Leadership, int32, int32, ids, int32, int32)
leaders = st.builds(lambda n, host, port: BrokerRegistration(n, (Endpoint(host, port),)), int32, names, st.integers(0, 65535))
endpoints = st.builds(Endpoint, names, st.integers(0, 65535), names, st.sampled_from(("PLAINTEXT", "SSL")))
brokers = st.builds(BrokerRegistration, int32, st.lists(endpoints, min_size=1, max_size=2).map(tuple), st.none() | names)
proposals = st.tuples(int32, int64, by_partition(leaderships)).map(
    lambda one: AlterIsrRequest(
        one[0], one[1], {p: replace(held, leader=one[0], controller_epoch=-1) for p, held in one[2].items()}
    )
)
altered = leaderships.map(lambda held: replace(held, controller_epoch=-1)) | st.sampled_from([c for c in ErrorCode if c != OK])
REQUESTS: dict[type, st.SearchStrategy[Any]] = {
    LeaderAndIsrRequest: st.builds(
        LeaderAndIsrRequest,
        int32,
        int32,
        int64,
        by_partition(st.builds(LeaderAndIsrState, leaderships, ids, st.booleans(), ids, ids)),
        st.lists(leaders, max_size=2).map(tuple),
    ),
    UpdateMetadataRequest: st.builds(
        UpdateMetadataRequest,
        int32,
        int32,
        int64,
        by_partition(st.builds(UpdateMetadataState, leaderships, ids, ids)),
        st.lists(brokers, max_size=2).map(tuple),
    ),
    StopReplicaRequest: st.builds(
        StopReplicaRequest, int32, int32, int64, by_partition(st.builds(StopReplicaState, int32, st.booleans()))
    ),
    ControlledShutdownRequest: st.builds(ControlledShutdownRequest, int32, int64),
    AlterIsrRequest: proposals,
    ProduceRequest: st.builds(ProduceRequest, st.sampled_from((-1, 0, 1)), by_partition(records), st.integers(0, 2**31 - 1)),
    FetchRequest: st.builds(
        FetchRequest,
        int32,
        st.just(-1),
        by_partition(st.builds(FetchPosition, int64, int32, int32)),
        st.integers(0, 2**31 - 1),
        int32,
    ),
    ListOffsetsRequest: st.builds(ListOffsetsRequest, int32, by_partition(st.builds(OffsetQuery, int64, int32))),
    OffsetsForLeaderEpochRequest: st.builds(
        OffsetsForLeaderEpochRequest, int32, by_partition(st.builds(EpochPosition, int32, int32))
    ),
}
"""Random requests of every kind that is sent."""
controller_answers = st.builds(ControllerResponse, codes, by_partition(codes))
ANSWERS: dict[type, st.SearchStrategy[Any]] = {
    LeaderAndIsrRequest: controller_answers,
    StopReplicaRequest: controller_answers,
    UpdateMetadataRequest: st.builds(ControllerResponse, codes),
    ControlledShutdownRequest: st.builds(
        ControlledShutdownResponse, codes, st.lists(st.builds(TopicPartition, names, st.integers(0, 9))).map(tuple)
    ),
    AlterIsrRequest: st.builds(AlterIsrResponse, codes, by_partition(altered)),
    ProduceRequest: st.builds(ProduceResponse, by_partition(st.builds(Produced, codes, int64))),
    FetchRequest: st.builds(FetchResponse, by_partition(st.builds(Fetched, codes, int64, int64, records))),
    ListOffsetsRequest: st.builds(ListOffsetsResponse, by_partition(st.builds(ListedOffset, codes, int64, int32))),
    OffsetsForLeaderEpochRequest: st.builds(OffsetsForLeaderEpochResponse, by_partition(st.builds(EpochEnd, codes, int32, int64))),
}


def test_every_request_that_is_sent_is_tried() -> None:
    """The strategies below cover the table of requests."""
    sent = {api.kind for api in apis.APIS if api.fields is not None}
    assert sent == set(REQUESTS) == set(ANSWERS)


def topic_id(topic: str) -> str:
    """Return the id of a topic: it depends on the name alone."""
    return text_of(uuid.uuid5(uuid.NAMESPACE_DNS, topic))


def under(protocol: InterBrokerProtocol, request: Any, partitions: Iterable[TopicPartition] = ()) -> Any:
    """Return a request as brokers have it under a protocol: with the ids of its topics and of others, if topics have ids."""
    if not protocol.topic_ids or not isinstance(
        request, LeaderAndIsrRequest | UpdateMetadataRequest | FetchRequest | AlterIsrRequest
    ):
        return request
    return replace(request, topic_ids={p.topic: topic_id(p.topic) for p in (*request.partitions, *partitions)})


def without_names(partitions: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
    """Return partitions by the ids of their topics, as they arrive where a request has no names."""
    return {TopicPartition(nameless(topic_id(p.topic)), p.partition): value for p, value in partitions.items()}


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("kind", REQUESTS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_requests_arrive_as_they_were_sent(kind: type, protocol: InterBrokerProtocol, data: st.DataObject) -> None:
    """A request is read as what was written, with its correlation id; Fetch 13 and AlterPartition 2 have ids of topics alone."""
    request, correlation = under(protocol, data.draw(REQUESTS[kind])), data.draw(int32)
    if kind is FetchRequest and protocol.truncation_on_fetch:
        last = data.draw(int32)
        request = replace(request, partitions={p: replace(one, last_fetched_epoch=last) for p, one in request.partitions.items()})
    frame = apis.encode_request(request, correlation, protocol)
    assert apis.LENGTH.unpack(frame[:4]) == (len(frame) - 4,)
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(frame[4:])
    if kind in apis.LAST_WITH_NAMES:
        has_names = protocol.versions[kind] <= apis.LAST_WITH_NAMES[kind]
        request = replace(request, topic_ids={}, partitions=request.partitions if has_names else without_names(request.partitions))
    assert received.message == request
    assert (received.head.correlation, received.head.client) == (correlation, "kafka-spec")
    assert received.head.version == protocol.versions[kind]


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("kind", ANSWERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_answers_arrive_as_they_were_sent(kind: type, protocol: InterBrokerProtocol, data: st.DataObject) -> None:
    """An answer is read as what was written, with the correlation id of its request, and with the names of topics."""
    answer = data.draw(ANSWERS[kind])
    request = under(protocol, data.draw(REQUESTS[kind]), getattr(answer, "partitions", ()))
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(apis.encode_request(request, 7, protocol)[4:])
    if kind is LeaderAndIsrRequest:
        answer = replace(answer, partitions={p: data.draw(codes) for p in request.partitions})  # as a broker answers
    reported = answer
    if kind in apis.LAST_WITH_NAMES and protocol.versions[kind] > apis.LAST_WITH_NAMES[kind]:
        reported = replace(answer, partitions=without_names(answer.partitions))
    assert apis.decode_answer(request, apis.BROKER_ON_ZOOKEEPER.encode_answer(received, reported)[4:], protocol) == (7, answer)


def test_a_fetch_of_a_topic_without_an_id_has_names() -> None:
    """A broker that does not know the id of a topic yet fetches by names, in version 12, whatever the protocol is."""
    request = FetchRequest(1, 50, {P0: FetchPosition(3, 1), Q0: FetchPosition(4, 1)}, topic_ids={"orders": topic_id("orders")})
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(apis.encode_request(request, 7, PROTOCOLS["3.9"])[4:])
    assert received.head.version == 12
    assert received.message == replace(request, broker_epoch=-1, topic_ids={})


@pytest.mark.parametrize("version", range(12, 18))
def test_a_divergence_is_told_in_every_version(version: int) -> None:
    """The end of the last fetched epoch reaches the follower; without a divergence nothing does."""
    protocol = replace(PROTOCOLS["3.9"], versions={**PROTOCOLS["3.9"].versions, FetchRequest: version})
    request = under(protocol, FetchRequest(1, 50, {P0: FetchPosition(3, 1, 100, 0), P1: FetchPosition(3, 1, 100, 0)}))
    answer = FetchResponse({P0: Fetched(OK, 2, 0, diverging=EpochEnd(OK, 0, 2)), P1: Fetched(OK, 2, 0)})
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(apis.encode_request(request, 7, protocol)[4:])
    reported = answer if version == 12 else FetchResponse(without_names(dict(answer.partitions)))
    assert apis.decode_answer(request, apis.BROKER_ON_ZOOKEEPER.encode_answer(received, reported)[4:], protocol) == (7, answer)


@pytest.mark.parametrize("version", range(4))
@settings(max_examples=15, deadline=None)
@given(
    broker=int32,
    epoch=int64,
    proposed=by_partition(leaderships),
    error=codes,
    answered=by_partition(leaderships | codes.filter(lambda code: code != ErrorCode.NONE)),
)
def test_alter_isr_is_served(
    version: int,
    broker: int,
    epoch: int,
    proposed: dict[TopicPartition, Leadership],
    error: ErrorCode,
    answered: dict[TopicPartition, Any],
) -> None:
    """A leader's AlterPartition is read as what it says, and each partition's answer is its error or what is in ZooKeeper.

    From version 2 on topics have ids and no names; version 3 has broker epochs.
    """
    fields = [
        {
            "topic_name": partition.topic,
            "topic_id": uuid_of(topic_id(partition.topic)),
            "partitions": [
                {
                    "partition_index": partition.partition,
                    "leader_epoch": one.leader_epoch,
                    "new_isr": one.isr,
                    "new_isr_with_epochs": [{"broker_id": broker, "broker_epoch": 7} for broker in one.isr],
                    "leader_recovery_state": 0,
                    "partition_epoch": one.version,
                }
            ],
        }
        for partition, one in proposed.items()
    ]
    sent = entities.write_request(56, version, 7, "1", {"broker_id": broker, "broker_epoch": epoch, "topics": fields})
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(sent)
    known = {partition: replace(one, leader=broker, controller_epoch=-1) for partition, one in proposed.items()}
    if version >= 2:
        known, answered = without_names(known), without_names(answered)
    assert received.message == AlterIsrRequest(broker, epoch, known)
    answer = apis.BROKER_ON_ZOOKEEPER.encode_answer(received, AlterIsrResponse(error, answered))
    correlation, entity = entities.read_answer(56, version, answer[4:])
    assert (correlation, code_of(entity.error_code)) == (7, error)
    read = {
        TopicPartition(topic_of(topic, "topic_name"), one.partition_index): code_of(one.error_code)
        or Leadership(one.leader_id, one.leader_epoch, tuple(one.isr), one.partition_epoch, -1)
        for topic in entity.topics
        for one in topic.partitions
    }
    assert read == {p: one if isinstance(one, ErrorCode) else replace(one, controller_epoch=-1) for p, one in answered.items()}


def test_leader_and_isr_bytes() -> None:
    """The bytes of a LeaderAndIsr v4, by hand from LeaderAndIsrRequest.json: flexible, so lengths are one more."""
    state = LeaderAndIsrState(Leadership(1, 5, (1, 2), 9, 3), (1, 2, 3), True)
    request = LeaderAndIsrRequest(100, 4, 77, {P0: state}, (BrokerRegistration(1, (Endpoint("h", 9092),)),))
    header = b"\x00\x04\x00\x04" + b"\x00\x00\x00\x07" + b"\x00\x0akafka-spec" + b"\x00"
    partition = (
        (0).to_bytes(4, "big") + (3).to_bytes(4, "big") + (1).to_bytes(4, "big") + (5).to_bytes(4, "big")
        + b"\x03" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + (9).to_bytes(4, "big")
        + b"\x04" + b"".join(n.to_bytes(4, "big") for n in (1, 2, 3)) + b"\x01" + b"\x01" + b"\x01" + b"\x00"
    )  # fmt: skip
    topics = b"\x02" + b"\x07orders" + b"\x02" + partition + b"\x00"
    live = b"\x02" + (1).to_bytes(4, "big") + b"\x02h" + (9092).to_bytes(4, "big") + b"\x00"
    body = (100).to_bytes(4, "big") + (4).to_bytes(4, "big") + (77).to_bytes(8, "big") + topics + live + b"\x00"
    assert apis.encode_request(request, 7)[4:] == header + body


def test_api_versions_of_an_unknown_version() -> None:
    """ApiVersions in a version that is not served is answered in version 0 with UNSUPPORTED_VERSION and the list, as by Kafka."""
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(b"\x00\x12\x00\x63" + (5).to_bytes(4, "big") + b"\xff" * 9)
    assert received.message is None
    correlation, answer = entities.read_answer(18, 0, apis.BROKER_ON_ZOOKEEPER.api_versions(received.head)[4:])
    assert (correlation, int(answer.error_code)) == (5, ErrorCode.UNSUPPORTED_VERSION)
    assert {int(one.api_key) for one in answer.api_keys} == {0, 1, 2, 3, 4, 5, 6, 7, 18, 22, 23, 56, 67}


@pytest.mark.parametrize("version", range(13))
def test_metadata_in_every_version(version: int) -> None:
    """Metadata is served in every version that is offered: brokers, leaders and ISRs arrive, missing topics have their error."""
    request = entities.write_request(
        3,
        version,
        1,
        "c",
        {"topics": [{"name": "orders", "topic_id": None}], "allow_auto_topic_creation": True,
         "include_cluster_authorized_operations": False, "include_topic_authorized_operations": False},
    )  # fmt: skip
    received = apis.BROKER_ON_ZOOKEEPER.decode_request(request)
    assert received.message == MetadataRequest(("orders",))
    held = PartitionMetadata(ErrorCode.NONE, Leadership(2, 5, (2, 1), 9, 3), (1, 2), ())
    answer = Metadata((BrokerRegistration(2, (Endpoint("h", 9092),)),), 2, {P0: held}, {"no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    answer = replace(answer, topic_ids={"orders": topic_id("orders")})
    _, entity = entities.read_answer(3, version, apis.BROKER_ON_ZOOKEEPER.encode_answer(received, answer)[4:])
    assert [(one.node_id, one.host, one.port) for one in entity.brokers] == [(2, "h", 9092)]
    first, second = entity.topics
    (partition,) = first.partitions
    assert (partition.leader_id, tuple(partition.replica_nodes), tuple(partition.isr_nodes)) == (2, (1, 2), (2, 1))
    assert (second.name, int(second.error_code)) == ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if version >= 10:
        assert (text_of(first.topic_id), second.topic_id) == (topic_id("orders"), None)


def test_all_topics_are_asked_for() -> None:
    """An empty list asks for all topics in version 0, and for none from version 1 on, where null asks for all."""
    for version, topics, wanted in ((0, (), None), (1, (), ()), (1, None, None)):
        request = entities.write_request(3, version, 1, "c", {"topics": topics})
        assert apis.BROKER_ON_ZOOKEEPER.decode_request(request).message == MetadataRequest(wanted)


def test_an_incomplete_batch_is_cut_off() -> None:
    """A leader cuts the last batch of an answer where the fetch has enough; what is kept is whole batches."""
    one, two = bytes(build([(0, None, b"a")])), bytes(build([(0, None, b"b")]))
    for length in range(len(one + two)):
        kept = whole_batches((one + two)[:length])
        assert kept == (one if length >= len(one) else b"")
    assert whole_batches(one + two) == one + two


def test_unknown_error_codes() -> None:
    """A code that is not in this project's list is UNKNOWN_SERVER_ERROR."""
    assert (code_of(74), code_of(119)) == (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR)


# Connections

STOP = StopReplicaRequest(100, 1, 7, {P0: StopReplicaState(3, True)})
FETCH = FetchRequest(100, -1, {P0: FetchPosition(0)})
DONE = ControllerResponse(ErrorCode.NONE, {P0: ErrorCode.NONE})

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next frame, without its length."""
    (length,) = apis.LENGTH.unpack(await reader.readexactly(4))
    return await reader.readexactly(length)


async def with_peer(peer: Peer, use: Callable[[KafkaConnection], Awaitable[None]]) -> None:
    """Use a connection to a fake broker."""
    server = await asyncio.start_server(peer, HOST, 0)
    connection = KafkaConnection(*await asyncio.open_connection(*server.sockets[0].getsockname()))
    try:
        await use(connection)
    finally:
        connection.close()
        await connection.reading
        server.close()


def answered(received: apis.Received, answer: object) -> bytes:
    """Return an answer as a frame."""
    return apis.BROKER_ON_ZOOKEEPER.encode_answer(received, answer)


def test_requests_of_one_connection_are_answered_in_order() -> None:
    """Two requests in flight get their own answers, which come in the order of the requests."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, second = [apis.BROKER_ON_ZOOKEEPER.decode_request(await frame(reader)) for _ in range(2)]
        writer.write(answered(first, DONE) + answered(second, ControllerResponse(ErrorCode.STALE_BROKER_EPOCH)))
        await writer.drain()
        writer.close()

    async def use(connection: KafkaConnection) -> None:
        both = await asyncio.gather(connection.call(STOP, 5), connection.call(STOP, 5))
        assert both == [DONE, ControllerResponse(ErrorCode.STALE_BROKER_EPOCH)]

    asyncio.run(with_peer(peer, use))


def test_a_late_answer_closes_the_connection() -> None:
    """Who does not answer in time is left: None, and the next request takes another connection."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def use(connection: KafkaConnection) -> None:
        assert await connection.call(STOP, 0.05) is None
        assert not connection.is_open

    asyncio.run(with_peer(peer, use))


@pytest.mark.parametrize("garbage", ["wrong correlation", "negative length", "huge length", "not an answer", "not asked for"])
def test_a_strange_answer_closes_the_connection(garbage: str) -> None:
    """After bytes that are not the next answer nobody knows what follows: all waiting calls end with None."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = apis.BROKER_ON_ZOOKEEPER.decode_request(await frame(reader))
        right = answered(received, DONE)
        strange = {
            "wrong correlation": right[:4] + b"\x00\x00\x00\x63" + right[8:],
            "negative length": b"\xff\xff\xff\xff",
            "huge length": b"\x7f\xff\xff\xff",
            "not an answer": b"\x00\x00\x00\x05hello",
            "not asked for": right + right,
        }
        writer.write(strange[garbage])
        await writer.drain()
        await reader.read()
        writer.close()

    async def use(connection: KafkaConnection) -> None:
        assert await connection.call(STOP, 5) == (DONE if garbage == "not asked for" else None)
        await asyncio.wait_for(connection.reading, 5)
        assert not connection.is_open

    asyncio.run(with_peer(peer, use))


def test_fetches_and_control_have_lanes_of_their_own() -> None:
    """A fetch that waits at a broker does not hold up a controller's request to it."""
    assert KafkaConnection.lane(STOP) == KafkaConnection.lane(ControlledShutdownRequest(1, 1)) != KafkaConnection.lane(FETCH)


# The listener


async def with_listener(
    use: Callable[[tuple[str, int]], Awaitable[None]],
    serve: Callable[[Any, Callable[[object], object]], bool],
    **limits: int,
) -> None:
    """Use a listener whose broker is a function."""

    async def serving(message: Any, reply: Callable[[object], object]) -> bool:
        return serve(message, reply)

    loop = asyncio.get_running_loop()
    listener = KafkaListener(serving, loop.call_soon_threadsafe, **limits)
    listening = socket.create_server((HOST, 0))
    await listener.begin(listening)
    try:
        await use(listening.getsockname())
    finally:
        await listener.end()


def always(answer: object, message: Any, reply: Callable[[object], object]) -> bool:
    """Answer every request alike."""
    reply(answer)
    return True


async def works(address: tuple[str, int]) -> bool:
    """Whether the listener serves a new connection."""
    connection = KafkaConnection(*await asyncio.open_connection(*address))
    try:
        return bool(await connection.call(STOP, 5) == DONE)
    finally:
        connection.close()
        await connection.reading


async def closes(address: tuple[str, int], data: bytes) -> bool:
    """Whether the listener closes a connection on which these bytes arrive, without an answer."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 5) == b""
    except (TimeoutError, ConnectionResetError) as error:
        return isinstance(error, ConnectionResetError)
    finally:
        writer.close()


@pytest.mark.parametrize("iterations", range(8))
def test_a_listener_that_ends_closes_what_it_accepts(iterations: int) -> None:
    """However far a connection has got when the listener ends, it is closed, and nobody serves it."""

    async def serving(message: Any, reply: Callable[[object], object]) -> bool:
        return always(DONE, message, reply)

    async def connect_and_end() -> None:
        listener = KafkaListener(serving, asyncio.get_running_loop().call_soon_threadsafe)
        listening = socket.create_server((HOST, 0))
        await listener.begin(listening)
        with socket.create_connection(listening.getsockname()) as client:
            for _ in range(iterations):
                await asyncio.sleep(0)
            await listener.end()
            for _ in range(10):
                await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            client.settimeout(1)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""

    asyncio.run(connect_and_end())


def test_large_requests_on_many_connections_take_limited_memory() -> None:
    """Twenty connections that send most of a large request each: those beyond the memory are closed, others are served."""

    async def use(address: tuple[str, int]) -> None:
        connections = [await asyncio.open_connection(*address) for _ in range(20)]
        for _, writer in connections:
            writer.write(apis.LENGTH.pack(1_000_000) + b"\x00" * 900_000)
        reading = [asyncio.create_task(reader.read()) for reader, _ in connections]
        closed, _ = await asyncio.wait(reading, timeout=3)
        assert 15 <= len(closed) < 20
        assert await works(address)
        for task in reading:
            task.cancel()
        for _, writer in connections:
            writer.transport.abort()
        await asyncio.gather(*reading, return_exceptions=True)

    asyncio.run(with_listener(use, partial(always, DONE), memory=4_000_000))


def test_what_is_not_served_closes_its_connection_alone() -> None:
    """An unknown API key, a version that is not served, a length beyond the limit: that connection ends, the others do not."""

    async def use(address: tuple[str, int]) -> None:
        stays = KafkaConnection(*await asyncio.open_connection(*address))
        assert await stays.call(STOP, 5) == DONE
        unserved = [b"\x00\x0b\x00\x00", b"\x03\xe7\x00\x00", b"\x00\x00\x00\x63", b"\x00\x04\x00\x07", b"\x00"]
        for start in unserved:
            assert await closes(address, apis.framed(start + b"\x00" * 20 if len(start) > 1 else start))
        for length in (-1, 2_000, 2**31 - 1):
            assert await closes(address, length.to_bytes(4, "big", signed=True))
        assert await stays.call(STOP, 5) == DONE
        stays.close()
        await stays.reading

    asyncio.run(with_listener(use, partial(always, DONE), largest=1_000))


def test_garbage_closes_its_connection_alone() -> None:
    """Requests with flipped, cut and added bytes are answered or close their connection; the listener serves on."""
    draw = random.Random(5)
    valid = [apis.encode_request(request, 1)[4:] for request in (STOP, FETCH, ControlledShutdownRequest(1, 1))]

    def damaged() -> bytes:
        data = bytearray(draw.choice(valid))
        for _ in range(draw.randint(1, 4)):
            where = draw.randrange(len(data))
            match draw.randrange(3):
                case 0:
                    data[where] = draw.randrange(256)
                case 1:
                    del data[where:]
                case 2:
                    data[where:where] = draw.randbytes(draw.randint(1, 6))
            if not data:
                break
        return bytes(data)

    for _ in range(3_000):
        data = damaged()
        with suppress(entities.NotAMessage, apis.Unserved):  # the only errors that the listener expects
            apis.BROKER_ON_ZOOKEEPER.decode_request(data)

    async def use(address: tuple[str, int]) -> None:
        for _ in range(30):
            _, writer = await asyncio.open_connection(*address)
            writer.write(apis.framed(damaged()))
            writer.close()
        assert await works(address)

    asyncio.run(with_listener(use, partial(always, DONE)))


def test_connections_have_a_limit() -> None:
    """One connection more than the limit is closed at once; when another has ended, there is room again."""

    async def use(address: tuple[str, int]) -> None:
        held = KafkaConnection(*await asyncio.open_connection(*address))
        assert await held.call(STOP, 5) == DONE
        assert not await works(address)
        held.close()
        await held.reading
        for _ in range(50):
            if await works(address):
                return
            await asyncio.sleep(0.02)
        pytest.fail("no room again")

    asyncio.run(with_listener(use, partial(always, DONE), most=1))


def test_a_produce_without_acks_has_no_answer() -> None:
    """After a produce with acks=0 the next answer belongs to the next request."""
    seen = []

    def serve(message: Any, reply: Callable[[object], object]) -> bool:
        seen.append(type(message))
        if not isinstance(message, ProduceRequest):
            reply(DONE)
        return True

    async def use(address: tuple[str, int]) -> None:
        connection = KafkaConnection(*await asyncio.open_connection(*address))
        assert await connection.call(ProduceRequest(0, {P0: b""}), 5, answered=False) is None
        assert await connection.call(STOP, 5) == DONE
        connection.close()
        await connection.reading

    asyncio.run(with_listener(use, serve))
    assert seen == [ProduceRequest, StopReplicaRequest]


def test_a_broker_that_ends_breaks_its_connections() -> None:
    """A request that waits when its broker ends gets no answer, and no hang."""

    async def use(address: tuple[str, int]) -> None:
        connection = KafkaConnection(*await asyncio.open_connection(*address))
        assert await connection.call(STOP, 5) is None
        await connection.reading

    asyncio.run(with_listener(use, lambda message, reply: False))


def test_a_fetch_whose_divergence_nobody_would_see_is_not_sent() -> None:
    """Fetch 11 has no field for the last fetched epoch, so such a request is an error, and the field is never left out."""
    with pytest.raises(ValueError, match="has no last fetched epoch"):
        apis.encode_request(FetchRequest(100, -1, {P0: FetchPosition(0, last_fetched_epoch=3)}), 1)
