"""No content of any znode that a controller reads stops what concerns other topics; an unexpected error moves the controller."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from test_controller import SteppedCluster

from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.wire import Frame, decode, encode
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.controller import UNEXPECTED
from kafka_spec.impl.zookeeper.controller.topic_changes import PartitionModifications, TopicChange
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import NodeExists
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState

BAD = TopicPartition("bad", 0)
ORDERS = [TopicPartition("orders", number) for number in range(2)]
STRANGE: list[Any] = [
    None, True, -1, -2, 0, 7, 999_999, 2**31 - 1, 2**31, 10**30, 1.5, float("inf"), "", "x", "-1", "\ud800", [], [[]], [-1], [1, 1],
    [10**18], [2**31 - 1], {}, {"0": [1]}, {"config": []},
]  # fmt: skip
DEEP = [b"[" * 100_000, b'{"partitions":' * 50_000, b'{"version":1,"partitions":{"0":' + b"[" * 900 + b"]" * 900 + b"}}"]
RAW = [b"", b"\x00", b"\xff\xfe", b"nonsense", b"null", b"7", b"[]", b"{}", b'{"version":' + b"9" * 5000 + b"}", *DEEP]


def contents() -> dict[str, bytes]:
    """Return the content of each znode that a controller reads, all of it about the topic `bad`, or about broker 3."""
    return {
        znodes.topic("bad"): znodes.Topic({0: (3, 1), 1: (1,)}, topic_id="x").encode(),
        znodes.topic_config("bad"): znodes.encode_config({"unclean.leader.election.enable": "true"}),
        znodes.state(BAD): znodes.State(1, 3, (1, 3), 1).encode(),
        znodes.broker(3): b'{"version":5,"host":"h","port":1,"endpoints":["PLAINTEXT://h:1"],"jmx_port":-1,"timestamp":"1",'
        b'"rack":"r","listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"features":{"f":{"min":1}}}',
        f"{znodes.BROKER_IDS}/strange": b"{}",
        f"{znodes.BROKER_IDS}/99999999999999": b"{}",
        f"{znodes.isr_change()}0": znodes.encode_partitions([BAD]),
        f"{znodes.log_dir_event()}0": znodes.encode_log_dir_event(3),
        znodes.PREFERRED_REPLICA_ELECTION: znodes.encode_partitions([BAD]),
        znodes.CONTROLLER: znodes.ControllerRegistration(0, 1).encode(),
    }


def places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in JSON."""
    yield above
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(value, (*above, key))


def changed(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return JSON with another value at a place; without it for `...`."""
    if not place:
        return value
    tree = copy.deepcopy(tree)
    at = tree
    for key in place[:-1]:
        at = at[key]
    if value is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return tree


def broken(content: bytes) -> list[bytes]:
    """Return all that may stand in place of a content: cut, with other types, without keys, with huge numbers, deeply nested."""
    tree = json.loads(content)
    found = [content[:end] for end in range(0, len(content), 3)] + [content[begin:] for begin in range(1, len(content), 7)]
    for place in places(tree):
        found += [json.dumps(changed(tree, place, value)).encode() for value in (STRANGE if not place else [*STRANGE, ...])]
    return found


def put(cluster: SteppedCluster, path: str, content: bytes) -> None:
    """Create a znode with a content, and its parents."""
    parents = path.split("/")[1:-1]
    for end in range(1, len(parents) + 1):
        if cluster.tools.exists(above := "/" + "/".join(parents[:end])) is None:
            cluster.tools.create(above)
    try:
        cluster.tools.create(path, content)
    except NodeExists:
        cluster.tools.set(path, content)


def led(cluster: SteppedCluster, leader: int, *partitions: TopicPartition) -> None:
    """Check that a live broker leads partitions in ZooKeeper, and received that in a request that can be encoded."""
    requests = list(cluster.active.channels.queues[leader])
    for request in requests:
        assert decode(encode(Frame(1, request))[4:]).message == request
    for partition in partitions:
        assert cluster.state(partition)[0] == leader
        reported = [r.partitions[partition] for r in requests if isinstance(r, LeaderAndIsrRequest) and partition in r.partitions]
        assert reported, f"broker {leader} is not told that it leads {partition}"
        assert reported[-1].leadership.leader == leader


def survives(path: str, content: bytes, era: Spec) -> None:
    """Break a znode; then create topics, lose a leader, lose the controller, create topics: all other topics work."""
    cluster = SteppedCluster(3, era).settle()
    cluster.admin.create_topic_with_assignment("bad", {0: (1,), 1: (0,)})
    cluster.admin.create_topic_with_assignment("orders", {0: (1, 2), 1: (0, 2)})
    cluster.settle()
    first = cluster.active.controller_id
    assert (first, [cluster.state(p)[0] for p in ORDERS]) == (0, [1, 0])

    put(cluster, path, content)
    cluster.settle()
    cluster.admin.create_topic_with_assignment("zebra", {0: (2, 0)})
    cluster.settle()
    led(cluster, 2, TopicPartition("zebra", 0))
    cluster.forget().kill(1).settle()
    led(cluster, 2, ORDERS[0])
    if path != znodes.CONTROLLER:
        assert cluster.active.controller_id == first
    cluster.kill(0).settle()
    assert cluster.active.controller_id == 2
    led(cluster, 2, *ORDERS)
    cluster.admin.create_topic_with_assignment("zoo", {0: (2,)})
    cluster.settle()
    led(cluster, 2, TopicPartition("zoo", 0))
    cluster.revive(0).settle()
    assert not [line for line in cluster.lines if UNEXPECTED in line]


@pytest.mark.parametrize("path", contents(), ids=lambda path: path[1:].replace("/", "."))
def test_some_broken_contents(path: str) -> None:
    """Whatever a znode contains, other topics are created, fail over, and are announced: some contents of every kind."""
    content = contents()[path]
    for strange in (*RAW, *Random(path).sample(broken(content), 20)):
        survives(path, strange, FIXED)


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)
@pytest.mark.parametrize("path", contents(), ids=lambda path: path[1:].replace("/", "."))
def test_broken_contents(path: str, era: Spec) -> None:
    """The same with many more contents, in every era."""
    found = broken(contents()[path])
    for strange in Random(era.name).sample(found, min(30, len(found))):
        survives(path, strange, era)


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)
@pytest.mark.parametrize("content", [content for content in RAW if content != b"7"] + [b"1.5", b"9" * 20], ids=lambda one: one[:8])
def test_a_broken_controller_epoch(content: bytes, era: Spec) -> None:
    """While /controller_epoch is unreadable no controller is elected; after its repair one is, and does the remaining work.

    Under which epoch nobody can know, and a smaller one would let an old controller in.
    """
    cluster = SteppedCluster(3, era).settle().create((1, 2), (0, 2))
    good = cluster.tools.get(znodes.CONTROLLER_EPOCH)[0]
    cluster.tools.set(znodes.CONTROLLER_EPOCH, content)
    cluster.settle().kill(1).settle().kill(0).settle()
    assert [b.controller.life for b in cluster.brokers.values()] == [ControllerState.STANDBY] * 3
    assert any("/controller_epoch holds" in line for line in cluster.lines)
    cluster.tools.set(znodes.CONTROLLER_EPOCH, good)
    cluster.settle()

    assert cluster.active.controller_id == 2
    led(cluster, 2, *ORDERS)
    assert not [line for line in cluster.lines if UNEXPECTED in line]


def test_a_broken_configuration_is_none() -> None:
    """A configuration that is not JSON counts as empty: the broker's default applies, in ZooKeeper and in requests."""
    for unclean in (False, True):
        cluster = SteppedCluster(3, unclean=unclean).settle()
        cluster.admin.create_topic_with_assignment("bad", {0: (1, 2)})
        cluster.settle().kill(2).settle().kill(1).settle().revive(2).settle()
        put(cluster, znodes.topic_config("bad"), b"nonsense")
        cluster.forget().active.handle(TopicChange())
        cluster.settle().kill(2).settle().revive(2).settle()
        assert cluster.state(BAD)[0] == (2 if unclean else -1)


def test_a_broken_topic_is_noticed_when_it_is_mended() -> None:
    """An unreadable topic has no partitions; its watch reports the repair, and the log names the error."""
    cluster = SteppedCluster(2).settle()
    cluster.tools.create(znodes.topic("bad"), b"nonsense")
    cluster.settle().kill(0).settle()
    assert any("/brokers/topics/bad does not hold JSON" in line for line in cluster.lines)
    cluster.tools.set(znodes.topic("bad"), znodes.Topic({0: (1,)}).encode())
    assert cluster.settle().state(BAD)[0] == 1


# ---------------------------------------------------------------------------------------------------------------------
# Errors that no step may have


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)
@pytest.mark.unexpected_errors
def test_an_unexpected_error_moves_the_controller(era: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller whose step raises what no step may raise resigns and says so; another takes over, and does the work."""
    cluster = SteppedCluster(3, era).settle().create((1, 2), (0, 2))
    read = ControllerZkClient.read_topic

    def refuses(self: ControllerZkClient, topic: str) -> Any:
        if self.session is cluster.brokers[0].session:
            raise ZeroDivisionError("of a test")
        return read(self, topic)

    monkeypatch.setattr(ControllerZkClient, "read_topic", refuses)
    first = cluster.active
    cluster.admin.create_topic_with_assignment("zebra", {0: (2, 0)})
    cluster.settle()

    assert first.life == ControllerState.STANDBY
    assert cluster.active.controller_id in (1, 2)
    assert cluster.active.context.epoch > 1
    led(cluster, 2, TopicPartition("zebra", 0))
    (line,) = [line for line in cluster.lines if UNEXPECTED in line]
    assert "ERROR [Controller id=0 epoch=1] Unexpected error: ZeroDivisionError('of a test') at test_znode_contents.py:" in line
    assert "; this controller resigns" in line


@pytest.mark.unexpected_errors
def test_who_waits_hears_of_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a controller resigns, each waiting caller is answered, even if the answer to another one fails."""
    cluster = SteppedCluster(2).settle().create((0, 1))
    answers: list[Any] = []

    def raises(*_: object) -> None:
        raise RuntimeError("nobody there")

    def broken(self: PartitionModifications, core: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(PartitionModifications, "handle", broken)
    controller = cluster.active
    controller.handle(ControlledShutdown(1, cluster.brokers[1].epoch, raises))
    while controller.agenda or controller.events:
        controller.step()
    assert [UNEXPECTED in line for line in cluster.lines[-40:]].count(True) == 2
    controller = cluster.settle().active
    controller.handle(ControlledShutdown(1, cluster.brokers[1].epoch, lambda *answer: answers.append(answer)))
    controller.events.appendleft(PartitionModifications("orders"))
    cluster.settle()
    assert answers == [(ErrorCode.STALE_CONTROLLER_EPOCH, ())]
    assert cluster.active.life == ControllerState.ACTIVE


@pytest.mark.unexpected_errors
def test_requests_that_were_never_sent_move_the_controller() -> None:
    """A batch that an earlier change has left (Kafka's IllegalStateException) ends the controller, and the next one sends all."""
    cluster = SteppedCluster(3).settle().create((1, 2))
    cluster.active.batch.add_leader_and_isr([2], TopicPartition("orders", 0), is_new=False)
    cluster.forget().kill(1).settle()

    assert any("requests of an earlier batch were never sent" in line for line in cluster.lines)
    assert cluster.active.context.epoch == 2
    led(cluster, 2, TopicPartition("orders", 0))
