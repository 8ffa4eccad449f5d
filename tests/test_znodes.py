"""Znodes: the texts that Kafka writes, and their way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import decode_broker, encode_broker
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble

ORDERS = TopicPartition("orders", 3)
PLAIN = Endpoint("h", 9092)

TEXTS: list[tuple[Any, bytes, Callable[[bytes], Any]]] = [
    (
        znodes.ControllerRegistration(3, 1610000000000),
        b'{"version":1,"brokerid":3,"timestamp":"1610000000000"}',
        znodes.ControllerRegistration.decode,
    ),
    (
        znodes.State(1, 2, (1, 2), 4),
        b'{"controller_epoch":4,"leader":1,"version":1,"leader_epoch":2,"isr":[1,2]}',
        lambda data: znodes.State.decode(ORDERS, data),
    ),
    (
        znodes.State(-1, 0, (), 1),
        b'{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":0,"isr":[]}',
        lambda data: znodes.State.decode(ORDERS, data),
    ),
    (
        znodes.Topic({0: (1, 2)}, {0: (3,)}, {}, "Lws1lBqZTxCkJ8Xf0sQ-3w"),
        b'{"partitions":{"0":[1,2]},"topic_id":"Lws1lBqZTxCkJ8Xf0sQ-3w","adding_replicas":{"0":[3]},"removing_replicas":{},"version":3}',
        lambda data: znodes.Topic.decode("orders", data),
    ),
    (
        znodes.Topic({0: (1,), 10: (3,), 2: (2,)}, version=2),
        b'{"version":2,"partitions":{"0":[1],"2":[2],"10":[3]},"adding_replicas":{},"removing_replicas":{}}',
        lambda data: znodes.Topic.decode("orders", data),
    ),
    (
        znodes.Topic({0: (1, 2)}, version=1),
        b'{"version":1,"partitions":{"0":[1,2]}}',
        lambda data: znodes.Topic.decode("orders", data),
    ),
    (
        BrokerRegistration(1, (PLAIN,), "east", timestamp=7),
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:9092"],"rack":"east",'
        b'"jmx_port":-1,"port":9092,"host":"h","version":5,"timestamp":"7"}',
        lambda data: decode_broker(1, data),
    ),
    (
        BrokerRegistration(1, (Endpoint("::1", 9093, "OUT", "SSL"),), timestamp=7, version=4),
        b'{"listener_security_protocol_map":{"OUT":"SSL"},"endpoints":["OUT://[::1]:9093"],"jmx_port":-1,"port":-1,"host":null,'
        b'"version":4,"timestamp":"7"}',
        lambda data: decode_broker(1, data),
    ),
    (
        BrokerRegistration(1, (PLAIN,), "west", timestamp=7, version=3),
        b'{"endpoints":["PLAINTEXT://h:9092"],"rack":"west","jmx_port":-1,"port":9092,"host":"h","version":3,"timestamp":"7"}',
        lambda data: decode_broker(1, data),
    ),
]


@pytest.mark.parametrize(("value", "text", "decode"), TEXTS)
def test_texts(value: Any, text: bytes, decode: Callable[[bytes], Any]) -> None:
    """Each content is written as Kafka writes it, in each of its versions, and read back."""
    encoded = encode_broker(value) if isinstance(value, BrokerRegistration) else value.encode()
    assert encoded == text
    assert decode(text) == value


def test_other_texts() -> None:
    """Epochs, configurations and notifications are written as Kafka writes them, and read back."""
    partitions = (TopicPartition("t", 0), ORDERS)
    listed = b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"orders","partition":3}]}'
    assert znodes.encode_controller_epoch(12) == b"12"
    assert znodes.decode_controller_epoch(b"12") == 12
    assert znodes.encode_partitions(partitions) == listed
    assert znodes.decode_partitions("/x", listed) == partitions
    assert znodes.encode_config({"retention.ms": "-1"}) == b'{"version":1,"config":{"retention.ms":"-1"}}'
    assert znodes.decode_config("/x", b'{"version":1,"config":{"retention.ms":"-1"}}') == {"retention.ms": "-1"}
    assert znodes.encode_log_dir_event(2) == b'{"version":1,"broker":2,"event":1}'
    assert znodes.decode_log_dir_event("/x", b'{"version":1,"broker":2,"event":1}') == 2
    moves = {TopicPartition("t", 0): (3, 4)}
    assert znodes.encode_reassignment(moves) == b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,4]}]}'
    assert znodes.decode_reassignment(znodes.encode_reassignment(moves)) == moves


def test_listeners_are_kafkas() -> None:
    """Names of listeners are upper case and have a protocol each, or the registration is refused; protocols have any case."""
    text = b'{"version":4,"endpoints":["inside://h:1"],"jmx_port":-1,"listener_security_protocol_map":{"INSIDE":"ssl"}}'
    assert decode_broker(1, text).endpoints == (Endpoint("h", 1, "INSIDE", "SSL"),)
    for changed in (
        text.replace(b'"INSIDE"', b'"OTHER"'),
        text.replace(b'"ssl"', b'"none"'),
        text.replace(b'"inside://h:1"', b'"inside://h:1","INSIDE://h:2"'),
        text.replace(b'"version":4', b'"version":0'),
    ):
        with pytest.raises(znodes.Undecodable):
            decode_broker(1, changed)


def test_first_version_of_a_broker() -> None:
    """A registration of version 1 has host and port alone, and is read as one plain endpoint."""
    assert decode_broker(7, b'{"version":1,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5"}').endpoints == (PLAIN,)


def test_paths() -> None:
    """Paths are Kafka's."""
    assert znodes.broker(3) == "/brokers/ids/3"
    assert znodes.state(ORDERS) == "/brokers/topics/orders/partitions/3/state"
    assert znodes.partition_parents(ORDERS) == ("/brokers/topics/orders/partitions", "/brokers/topics/orders/partitions/3")
    assert (znodes.topic_config("t"), znodes.broker_config(3)) == ("/config/topics/t", "/config/brokers/3")
    assert znodes.deletion_of("t") == "/admin/delete_topics/t"


def test_persistent_paths_can_be_created() -> None:
    """The paths that a broker creates at start-up name parents first; notifications get ZooKeeper's ten digits."""
    session = Ensemble().connect()
    for path in znodes.PERSISTENT:
        session.create(path)

    assert session.create(znodes.isr_change(), sequential=True)[0] == "/isr_change_notification/isr_change_0000000000"
    assert session.create(znodes.log_dir_event(), sequential=True)[0] == "/log_dir_event_notification/log_dir_event_0000000000"
    assert session.create(znodes.config_change(), sequential=True)[0] == "/config/changes/config_change_0000000000"


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        (b"", "/brokers/topics/orders/partitions/3/state does not hold JSON"),
        (b"7", "which is not an object"),
        (b'{"version":1,"leader":1,"isr":[]}', "has no field 'leader_epoch'"),
        (b'{"version":1,"leader":"1","leader_epoch":1,"controller_epoch":1,"isr":[]}', "'1' is not a number"),
        (b'{"version":1,"leader":1,"leader_epoch":1,"controller_epoch":1,"isr":7}', "7 is not a list"),
    ],
)
def test_undecodable(data: bytes, summary: str) -> None:
    """Content that Kafka never writes is an error that names the path."""
    with pytest.raises(znodes.Undecodable, match=summary):
        znodes.State.decode(ORDERS, data)


def test_other_undecodables() -> None:
    """So are malformed epochs, endpoints, assignments and events."""
    with pytest.raises(znodes.Undecodable, match="is not a number"):
        znodes.decode_controller_epoch(b"seven")
    with pytest.raises(znodes.Undecodable, match="/brokers/ids/1"):
        decode_broker(1, b'{"version":2,"endpoints":["h:9092"],"jmx_port":-1}')
    with pytest.raises(znodes.Undecodable, match="/brokers/topics/t"):
        znodes.Topic.decode("t", b'{"version":1,"partitions":[1]}')
    with pytest.raises(znodes.Undecodable, match="event 2"):
        znodes.decode_log_dir_event("/x", b'{"version":1,"broker":2,"event":2}')


EPOCHS = st.integers(-1, 2**31 - 1)
BROKERS = st.integers(0, 2**31 - 1)
LISTS = st.lists(BROKERS, max_size=4).map(tuple)
REPLICAS = st.dictionaries(st.integers(0, 100), LISTS, max_size=4)
WORDS = st.text(min_size=1, max_size=8)


@given(st.builds(znodes.State, EPOCHS, EPOCHS, LISTS, EPOCHS))
def test_states_come_back(value: znodes.State) -> None:
    """Every state is read as it was written."""
    assert znodes.State.decode(ORDERS, value.encode()) == value


@given(st.builds(znodes.Topic, REPLICAS, REPLICAS, REPLICAS, st.none() | WORDS))
def test_topics_come_back(value: znodes.Topic) -> None:
    """Every assignment is read as it was written."""
    assert znodes.Topic.decode("t", value.encode()) == value


@given(
    st.builds(
        BrokerRegistration,
        st.just(4),
        st.lists(
            st.builds(
                Endpoint,
                st.sampled_from(["h", "::1", "10.0.0.1", "host.example"]),
                st.integers(0, 65535),
                st.sampled_from("ABC"),
            ),
            unique_by=lambda endpoint: endpoint.listener,
        ).map(tuple),
        st.none() | WORDS,
        st.integers(-1, 65535),
        st.integers(0, 2**62),
        st.dictionaries(WORDS, st.dictionaries(WORDS, st.integers(0, 9), max_size=2), max_size=2),
    )
)
def test_brokers_come_back(value: BrokerRegistration) -> None:
    """Every registration is read as it was written."""
    assert decode_broker(4, encode_broker(value)) == value
