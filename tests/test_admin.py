"""Creating topics: the written znodes, and every refusal."""

from __future__ import annotations

from random import Random

import pytest

from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_checks import parse_assignment, validate_config, validate_name
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import COLLISION_WARNING, Admin, RackMode, assign
from kafka_spec.impl.zookeeper.coordination.broker_znode import encode_broker
from kafka_spec.impl.zookeeper.coordination.interface import Session
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble


class Tools:
    """An ensemble with registered brokers, the tools on it, and their warnings."""

    def __init__(self, racks: dict[int, str | None], seed: int = 7, version: int = 3) -> None:
        self.ensemble = Ensemble()
        self.session: Session = self.ensemble.connect()
        for path in znodes.PERSISTENT:
            self.session.create(path)
        for number, rack in racks.items():
            broker = BrokerRegistration(number, (Endpoint("h", 9092),), rack)
            self.session.create(znodes.broker(number), encode_broker(broker), ephemeral=True)
        self.warnings: list[str] = []
        self.admin = Admin(self.session, Random(seed), self.warnings.append, version)

    def topic(self, name: str) -> znodes.Topic:
        return znodes.Topic.decode(name, self.session.get(znodes.topic(name))[0])


def refusal(code: ErrorCode, summary: str) -> pytest.RaisesExc[KafkaError]:
    """Expect a refusal with a code and a text."""
    return pytest.RaisesExc(KafkaError, match=summary, check=lambda error: error.code == code)


def test_manual_assignment_is_parsed() -> None:
    """`1:2,3:4` is partition 0 on 1 and 2, partition 1 on 3 and 4."""
    assert parse_assignment("1:2,3:4") == {0: (1, 2), 1: (3, 4)}
    assert parse_assignment("7") == {0: (7,)}


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("1:1,2:3", "may not contain duplicate entries: 1"),
        ("1:2,3", "Partition 1 has different replication factor"),
        ("1:x", "is not a list of brokers for partition 0"),
        ("", "is not a list of brokers for partition 0"),
        ("1:2,", "is not a list of brokers for partition 1"),
        ("-1:2", "is not a list of brokers"),
    ],
)
def test_manual_assignment_is_refused(text: str, summary: str) -> None:
    """Duplicates, lists of different lengths, and entries that are not numbers are refused."""
    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR, summary):
        parse_assignment(text)


def test_a_topic_is_written() -> None:
    """A topic is its configuration and its assignment; the version of the znode is that of the era, with an id since 2.8."""
    new, old = Tools({0: None, 1: None, 2: None}), Tools({0: None}, version=1)
    assert new.admin.create_topic("orders", 6, 2, {"min.insync.replicas": "2"})
    assert old.admin.create_topic("orders")

    topic = new.topic("orders")
    assert sorted(topic.partitions) == list(range(6))
    assert [len(set(replicas)) for replicas in topic.partitions.values()] == [2] * 6
    assert topic.topic_id is not None
    assert len(topic.topic_id) == 22
    assert new.session.get(znodes.topic_config("orders"))[0] == b'{"version":1,"config":{"min.insync.replicas":"2"}}'
    assert old.session.get(znodes.topic("orders"))[0] == b'{"version":1,"partitions":{"0":[0]}}'


def test_assignments_come_from_the_seed() -> None:
    """The same seed gives the same assignment and id; starts differ among seeds."""
    made = [Tools(dict.fromkeys(range(5)), seed) for seed in (1, 1, 2, 3, 4, 5)]
    for tools in made:
        tools.admin.create_topic("orders", 3, 2)
    topics = [tools.topic("orders") for tools in made]

    assert topics[0] == topics[1]
    assert len({topic.partitions[0] for topic in topics}) > 2


def test_manual_topic_needs_no_live_broker() -> None:
    """A manual assignment may name brokers that are not registered."""
    tools = Tools({})
    tools.admin.create_topic_with_assignment("orders", parse_assignment("8:9"))

    assert tools.topic("orders").partitions == {0: (8, 9)}


@pytest.mark.parametrize(
    ("partitions", "replicas", "code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 4, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_sizes_are_checked(partitions: int, replicas: int, code: ErrorCode) -> None:
    """No partition, no replica, and more replicas than brokers are refused, and nothing is written."""
    tools = Tools(dict.fromkeys(range(3)))
    with refusal(code, "arger"):
        tools.admin.create_topic("orders", partitions, replicas)

    assert tools.session.children(znodes.TOPICS) == []


def test_no_broker_is_told() -> None:
    """Without brokers no replica can be assigned."""
    with refusal(ErrorCode.INVALID_REPLICATION_FACTOR, "available brokers: 0"):
        Tools({}).admin.create_topic("orders")


@pytest.mark.parametrize(
    ("assignment", "summary"),
    [
        ({}, "no partition"),
        ({0: (1, 2), 1: (3,)}, "same number of replicas"),
        ({0: (1, 1)}, "Duplicate brokers not allowed"),
        ({0: ()}, "replication factor of 0"),
        ({0: (-1,)}, "broker ids are not negative"),
        ({1: (1,)}, "consecutive 0-based"),
        ({0: (1,), 2: (1,)}, "consecutive 0-based"),
    ],
)
def test_assignments_are_checked(assignment: dict[int, tuple[int, ...]], summary: str) -> None:
    """Lists are of one length, not empty, without duplicates; partitions count from 0."""
    with refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, summary):
        Tools({}).admin.create_topic_with_assignment("orders", assignment)


def test_existing_topic() -> None:
    """A topic is created once; with if-not-exists a second attempt is accepted and changes nothing."""
    tools = Tools({0: None})
    assert tools.admin.create_topic("orders")
    before = tools.topic("orders")
    with refusal(ErrorCode.TOPIC_ALREADY_EXISTS, "already exists"):
        tools.admin.create_topic("orders", 2)

    assert not tools.admin.create_topic("orders", 2, if_not_exists=True)
    assert tools.topic("orders") == before


def test_collisions() -> None:
    """Dots and underscores are warned of, in Kafka's words, and names that differ in them alone are refused."""
    tools = Tools({0: None})
    tools.admin.create_topic("orders")
    assert tools.warnings == []
    tools.admin.create_topic("a.b_c")
    assert tools.warnings == [COLLISION_WARNING]
    with refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, r"'a_b.c' collides with existing topics: a.b_c"):
        tools.admin.create_topic("a_b.c", if_not_exists=True)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a/b", "ä", "a b", "a\n"])
def test_names(name: str) -> None:
    """Names that cannot be folders and metrics are refused."""
    with refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, "is illegal"):
        validate_name(name)
    validate_name("a" * 249)


@pytest.mark.parametrize(
    "config",
    [
        {"min.insync.replicas": "0"},
        {"min.insync.replicas": "x"},
        {"unclean.leader.election.enable": "yes"},
        {"segment.bytes": "13"},
    ],
)
def test_configs(config: dict[str, str]) -> None:
    """Invalid values and unknown names are refused; valid ones are accepted."""
    with refusal(ErrorCode.INVALID_CONFIG, "Invalid value"):
        validate_config(config)
    with refusal(ErrorCode.INVALID_CONFIG, "Unknown topic config name: x; there are min.insync"):
        validate_config({"x": "1"})
    validate_config({"min.insync.replicas": "1", "unclean.leader.election.enable": "true", "segment.bytes": "14"})


def test_racks() -> None:
    """All brokers with racks: they count. Some: an error if enforced, else as without. None, or disabled: they do not."""
    every = Tools({0: "a", 1: "a", 2: "b", 3: "b"})
    every.admin.create_topic("orders", 20, 2)
    rack = {0: "a", 1: "a", 2: "b", 3: "b"}
    assert all(rack[first] != rack[second] for first, second in every.topic("orders").partitions.values())
    every.admin.create_topic("other", 20, 2, mode=RackMode.DISABLED)
    assert any(rack[first] == rack[second] for first, second in every.topic("other").partitions.values())

    some = Tools({0: "a", 1: None})
    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "--disable-rack-aware"):
        some.admin.create_topic("orders")
    assert some.admin.racks(RackMode.SAFE) == {0: None, 1: None}
    assert some.admin.create_topic("orders", mode=RackMode.DISABLED)
    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "Not all brokers have rack information"):
        assign({0: "a", 1: None}, 1, 1, 0, 0)


def test_partitions_are_added() -> None:
    """New partitions continue from partition 0's preferred leader; the old ones, the id and the version stay."""
    tools = Tools(dict.fromkeys(range(3)))
    tools.admin.create_topic_with_assignment("orders", {0: (1, 2), 1: (2, 0)})
    before = tools.topic("orders")
    new = tools.admin.add_partitions("orders", 4)
    assert new == {2: (0, 2), 3: (1, 2)}
    assert tools.topic("orders") == znodes.Topic({**before.partitions, **new}, topic_id=before.topic_id)
    assert tools.admin.add_partitions("orders", 5, {4: (0, 1)}) == {4: (0, 1)}


@pytest.mark.parametrize(
    ("total", "assignment", "code", "summary"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS, "would not be an increase"),
        (3, {2: (0, 9)}, ErrorCode.BROKER_NOT_AVAILABLE, "not available: 9"),
        (3, {2: (0,)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Inconsistent replication factor"),
        (3, {2: (0, 0)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Duplicate"),
        (3, {2: ()}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "replication factor of 0"),
        (3, {3: (0, 1)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "should be 2 to 2"),
    ],
)
def test_partitions_that_cannot_be_added(
    total: int, assignment: dict[int, tuple[int, ...]] | None, code: ErrorCode, summary: str
) -> None:
    """A topic only grows; lists of new partitions are checked against the brokers and against partition 0."""
    tools = Tools(dict.fromkeys(range(3)))
    tools.admin.create_topic_with_assignment("orders", {0: (1, 2), 1: (2, 0)})
    with refusal(code, summary):
        tools.admin.add_partitions("orders", total, assignment)

    assert len(tools.topic("orders").partitions) == 2


def test_topics_that_cannot_grow() -> None:
    """Adding partitions to a topic that does not exist or has no partition 0 is refused."""
    tools = Tools({0: None})
    with refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not exist"):
        tools.admin.add_partitions("orders", 2)
    tools.session.create(znodes.topic("orders"), znodes.Topic({1: (0,)}).encode())
    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "partition id 0 is missing"):
        tools.admin.add_partitions("orders", 2)


def test_partitions_are_added_as_callers_of_admin_zk_client_do() -> None:
    """Existing partitions and brokers may be passed in place of what ZooKeeper says; a validation alone writes nothing."""
    tools = Tools(dict.fromkeys(range(3)))
    tools.admin.create_topic_with_assignment("orders", {0: (1, 2)})
    data, _ = tools.session.get(znodes.topic("orders"))
    given = {0: (4, 5), 1: (5, 4)}
    brokers = dict.fromkeys((4, 5, 6))
    assert tools.admin.add_partitions("orders", 3, existing=given, brokers=brokers, validate_only=True) == {2: (6, 4)}
    with refusal(ErrorCode.BROKER_NOT_AVAILABLE, "not available: 1"):
        tools.admin.add_partitions("orders", 3, {2: (1, 4)}, existing=given, brokers=brokers, validate_only=True)
    assert tools.session.get(znodes.topic("orders"))[0] == data
    assert tools.admin.add_partitions("orders", 2, {1: (5, 6)}, brokers=brokers) == {1: (5, 6)}
    assert tools.topic("orders").partitions == {0: (1, 2), 1: (5, 6)}
