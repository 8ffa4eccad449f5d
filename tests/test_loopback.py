"""Messages as bytes, and a cluster on sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.impl.kafka_wire.request_memory import NoMemory, RequestMemory
from kafka_spec.impl.protocol import controller_requests as requests
from kafka_spec.impl.protocol import data_requests as data
from kafka_spec.impl.protocol import responses
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrState, Leadership, StopReplicaState, UpdateMetadataState
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.responses import ControllerResponse
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run import wire
from kafka_spec.impl.run.loopback_process import HOST, ClusterThread, LoopbackProcess
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.tasks import RemoteCall, Task
from kafka_spec.impl.run.wire import Frame, Malformed, decode, encode
from kafka_spec.impl.run.zookeeper.loopback import run_on_loopback
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble

P = TopicPartition("orders", 3)
HELD = Leadership(1, 4, (1, 2), 9, 7)
BROKERS = (
    BrokerRegistration(1, (Endpoint("::1", 9092, "INSIDE", "SSL"),), "rack", features={"f": {"min": 1}}),
    BrokerRegistration(2, ()),
)
EXAMPLES: list[Any] = [
    requests.LeaderAndIsrRequest(5, 7, 50, {P: LeaderAndIsrState(HELD, (1, 2), True)}, BROKERS),
    requests.UpdateMetadataRequest(5, 7, 50, {P: UpdateMetadataState(HELD, (1, 2), (2,))}, BROKERS),
    requests.StopReplicaRequest(5, 7, 50, {P: StopReplicaState(-1, True)}),
    data.FetchRequest(1, 50, {P: data.FetchPosition(8, 4, 100, 3)}, 1, 2),
    data.OffsetsForLeaderEpochRequest(1, {P: data.EpochPosition(4, 3)}),
    data.ListOffsetsRequest(1, {P: data.OffsetQuery(data.LATEST, 4)}),
    data.ProduceRequest(-1, {P: bytes(range(256))}, 10),
    data.MetadataRequest(None),
    data.ControlledShutdownRequest(1, 50),
    data.AlterIsrRequest(1, 50, {P: HELD}, {"orders": "Lws1lBqZTxCkJ8Xf0sQ-3w"}),
    data.InitProducerIdRequest(None),
    data.AllocateProducerIdsRequest(1, 50),
    responses.InitProducerIdResponse(ErrorCode.NONE, 1000, 0),
    responses.AllocateProducerIdsResponse(ErrorCode.NONE, 1000, 1000),
    data.ElectLeadersRequest((P,)),
    data.AlterPartitionReassignmentsRequest((data.PartitionTarget(P, (1, 2)), data.PartitionTarget(P, None))),
    data.ListPartitionReassignmentsRequest((P,)),
    ControllerResponse(ErrorCode.NONE, {P: ErrorCode.KAFKA_STORAGE_ERROR}),
    responses.ProduceResponse({P: data.Produced(ErrorCode.NONE, 3)}),
    responses.FetchResponse({P: data.Fetched(ErrorCode.NONE, 4, 0, b"\x00\xff")}),
    responses.FetchResponse({P: data.Fetched(ErrorCode.NONE, 4, 0, b"", data.EpochEnd(ErrorCode.NONE, 3, 4))}),
    responses.OffsetsForLeaderEpochResponse({P: data.EpochEnd(ErrorCode.NONE, 3, 17)}),
    responses.AlterPartitionReassignmentsResponse({P: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}),
    responses.ListPartitionReassignmentsResponse(ErrorCode.NONE, {P: data.RunningReassignment((1, 2), (2,), (1,))}),
    responses.ListOffsetsResponse({P: data.ListedOffset(ErrorCode.NONE, 17, 3)}),
    data.Metadata(
        BROKERS, 1, {P: data.PartitionMetadata(ErrorCode.LEADER_NOT_AVAILABLE, HELD, (1, 2), ())}, {"x": ErrorCode.INVALID_CONFIG}
    ),
    data.ControlledShutdownResponse(ErrorCode.NONE, (P,)),
    responses.AlterIsrResponse(ErrorCode.NONE, {P: HELD, TopicPartition("orders", 4): ErrorCode.INVALID_UPDATE_VERSION}),
    responses.ElectLeadersResponse({P: ErrorCode.ELECTION_NOT_NEEDED}),
]


def test_every_message_travels() -> None:
    """Each kind of message comes out as it went in, types and all; there is an example of each."""
    assert {type(example).__name__ for example in EXAMPLES} == set(wire.MESSAGES)
    for number, example in enumerate(EXAMPLES):
        data = encode(Frame(number, example))
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        frame = decode(data[4:])
        assert frame == Frame(number, example)
        assert repr(frame.message) == repr(example)


def test_a_stranger_does_not_travel() -> None:
    """An object that is not a message is not sent, even if its class has the name of one."""
    with pytest.raises(Malformed, match="dict is not a message; known are LeaderAndIsrRequest"):
        encode(Frame(1, {}))
    impostor = dataclasses.make_dataclass("ProduceRequest", [])
    with pytest.raises(Malformed, match="ProduceRequest is not a message"):
        encode(Frame(1, impostor()))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (b"", "not a frame"),
        (b"[1]", "not a frame"),
        (b"{}", "not a frame"),
        (b"\xff", "not a frame"),
        (b"[" * 100_000, "not a frame"),
        (b'[1,"os.system",["ls"]]', "'os.system' is not a message"),
        (b'[1,["ProduceRequest"],[]]', "is not a message"),
        (b'["1","MetadataRequest",[null,true]]', "correlation is '1', which is not of type int"),
        (b'[1,"MetadataRequest",[null]]', "MetadataRequest is .*, where a list of 2 should be"),
        (b'[1,"MetadataRequest",[null,1]]', "MetadataRequest.allow_auto_topic_creation is 1, which is not of type bool"),
        (b'[1,"MetadataRequest",[[3],true]]', "MetadataRequest.topics is 3, which is not of type str"),
        (b'[1,"ProduceRequest",[1,[[["orders",3],"%%%"]],0,[]]]', "is '%%%', which is not base64"),
        (b'[1,"ProduceRequest",[1,[[["orders",3],7]],0,[]]]', "is 7, where bytes as base64 should be"),
        (b'[1,"ProduceRequest",[1,[[["orders"],""]],0,[]]]', "where a list of 2 should be"),
        (b'[1,"ControllerResponse",[4711,[]]]', "ControllerResponse.error is 4711, which is not of type ErrorCode"),
        (b'[1,"ControllerResponse",[0,{}]]', "ControllerResponse.partitions is {}, where a list should be"),
        (b'[1,"AlterIsrResponse",[0,[[["orders",3],[2,0]]]]]', "its first value should be a number below 2"),
        (b'[1,"AlterIsrResponse",[0,[[["orders",3],7]]]]', "is 7, where a list of 2 should be"),
    ],
)
def test_junk_is_refused(text: bytes, reported: str) -> None:
    """Malformed messages are refused with the reason."""
    with pytest.raises(Malformed, match=reported):
        decode(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(wire.MESSAGES)), JSON)
def test_random_texts(name: str, plain: Any) -> None:
    """Any text is a message that is written in the same way again, or is refused."""
    text = json.dumps([1, name, plain], separators=(",", ":")).encode()
    try:
        frame = decode(text)
    except Malformed:
        return
    assert decode(encode(frame)[4:]) == frame


def test_a_stream() -> None:
    """Frames are read one after the other; the end of a stream, and a length beyond the maximum, are errors."""

    async def main() -> None:
        stream, memory = asyncio.StreamReader(), RequestMemory()
        frames = [Frame(number, example) for number, example in enumerate(EXAMPLES)]
        stream.feed_data(b"".join(map(encode, frames)) + (wire.LARGEST + 1).to_bytes(4, "big"))
        for frame in frames:
            assert await wire.read(stream, memory) == frame
        with pytest.raises(Malformed, match="a message of 67,108,865 bytes"):
            await wire.read(stream, memory)
        stream.feed_data(encode(frames[0])[:10])
        stream.feed_eof()
        with pytest.raises(asyncio.IncompleteReadError):
            await wire.read(stream, memory)
        assert memory.used == 0

    asyncio.run(main())


def test_requests_that_take_too_much_memory_are_refused() -> None:
    """Requests that are being read together take no more than the memory; a length that is only announced takes none of it."""

    async def main() -> None:
        memory = RequestMemory(100_000)
        slow, other = asyncio.StreamReader(), asyncio.StreamReader()
        announced = wire.LARGEST.to_bytes(4, "big")
        slow.feed_data(announced + b"x" * 60_000)
        first = asyncio.ensure_future(wire.read(slow, memory))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert memory.used == 60_000
        other.feed_data(announced + b"x" * 50_000)
        with pytest.raises(NoMemory, match="100,000 at most"):
            await wire.read(other, memory)
        assert (memory.used, memory.refused) == (60_000, 1)
        small = asyncio.StreamReader()
        small.feed_data(encode(Frame(1, EXAMPLES[0])))
        assert (await wire.read(small, memory)).message == EXAMPLES[0]
        slow.feed_eof()
        with pytest.raises(asyncio.IncompleteReadError):
            await first
        assert memory.used == 0

    asyncio.run(main())


def test_a_cluster_on_sockets(tmp_path: Path) -> None:
    """The same nodes and clients on sockets: all that is sent is stored once, acknowledged, and read; nothing is left running."""
    lines: list[str] = []

    async def main() -> Any:
        options = Options(seed=1, seconds=1.5, faults=(), partitions=4, real=True)
        outcome = await run_on_loopback(options, tmp_path, Ensemble(), lines.append)
        return outcome, asyncio.all_tasks() - {asyncio.current_task()}

    outcome, left = asyncio.run(main())

    assert left == set()
    assert outcome.kept
    assert outcome.rested
    assert outcome.stored == sum(outcome.produced.values()) == outcome.read > 10
    assert {acks: n for acks, n in outcome.acknowledged.items() if acks != "0"} == {
        acks: n for acks, n in outcome.produced.items() if acks != "0"
    }
    assert outcome.elections == {"first": 4, "after a failure": 0, "preferred or for a shutdown": 0}
    assert sum("Changed partition orders-" in line for line in lines) == 8


def test_an_error_in_a_task_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that no task may have ends the run with that error."""
    from kafka_spec.impl.run.zookeeper.running_broker import RunningBroker

    def broken(self: RunningBroker) -> Any:
        raise ZeroDivisionError
        yield

    monkeypatch.setattr(RunningBroker, "tick", broken)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_on_loopback(Options(seconds=0.1, faults=(), real=True), tmp_path, Ensemble()))


def test_a_connection_lives_until_its_reader_ends() -> None:
    """Two calls at once open a connection each; the one that no later call uses is closed with the process, and not lost before."""
    with warnings.catch_warnings():  # of what other tests of this process have left
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    complaints: list[str] = []

    def asks() -> Task:
        yield RemoteCall(0, data.MetadataRequest(None), timeout=0.05)

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read()
        writer.close()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
        silent = await asyncio.start_server(hear, HOST, 0)
        thread, port = ClusterThread(), silent.sockets[0].getsockname()[1]
        process = LoopbackProcess({0: port}, thread, lambda error: complaints.append(repr(error)))
        for _ in range(2):
            process.spawn(asks())
        await asyncio.sleep(0.2)
        gc.collect()
        process.end()
        await asyncio.sleep(0)
        silent.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        await asyncio.sleep(0)
        thread.end()

    asyncio.run(run())
    gc.collect()
    assert complaints == []
