"""Znodes: each side decodes what the other encodes, and the bytes are equal.

Also all versions of registrations and topics that Kafka has written, in Kafka's decoder and in ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.znode_kafkas import KafkasZnodes
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import PROTOCOLS, decode_broker, encode_broker
from kafka_spec.impl.zookeeper.coordination.znode_json import to_json

HASHED = Chosen(
    "order in maps", "partitions, features and settings are written in order, where Kafka writes the order of its hash tables"
)
REFUSED = "refused"
TOPICS = ("orders", "a-b", "x.y_z", "T")
MAPS: tuple[dict[str, str] | None, ...] = (
    {"PLAINTEXT": "PLAINTEXT"},
    {"INTERNAL": "SSL", "PLAINTEXT": "PLAINTEXT"},
    {"internal": "SSL"},
    {"INTERNAL": "NONE"},
    {"INTERNAL": "ssl"},
    {},
    None,
)
ENDPOINTS = (
    "PLAINTEXT://h:1",
    "plaintext://h:1",
    "Internal://h:1",
    "INTERNAL://[::1]:-1",
    "SSL://:2",
    "SSL:h:1",
    "SSL://h",
    "SSL://h_1:x",
)


class _Ways:
    """Compares one value at a time: bytes, our decoder on Kafka's bytes, Kafka's decoder on ours."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def compare(
        self,
        value: Any,
        ours: bytes,
        theirs: Any,
        decode: Callable[[bytes], Any],
        kafkas_decode: Callable[[bytes], Any],
        is_hashed: bool = False,
    ) -> None:
        """`is_hashed` says that the value has a map, whose order may differ."""
        written = bytes(theirs)
        same_members = sorted(ours) == sorted(written)
        self._comparison.seen[f"{type(value).__name__}: {'equal bytes' if ours == written else 'another order'}"] += 1
        self._comparison.compare(f"bytes of {value}", ours, written, HASHED.name if is_hashed and same_members else None)
        self._comparison.compare(f"what we read of {written!r}", decode(written), value)
        self._comparison.compare(f"what is read of {ours!r}", value, kafkas_decode(ours))


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random contents of every kind."""
    kafkas, ways = KafkasZnodes(kafka), _Ways(comparison)
    for _ in range(max(1, cases // 10)):
        _compare_states(kafkas, ways, random)
        _compare_brokers(kafkas, ways, random)
        _compare_registrations(kafkas, comparison, random)
        _compare_topics(kafkas, ways, random)
        _compare_lists(kafkas, ways, random)


def _compare_states(kafkas: KafkasZnodes, ways: _Ways, random: Random) -> None:
    some = tuple(random.sample(range(6), random.randint(0, 4)))
    state = znodes.State(random.choice((-1, *some)), random.randrange(1 << 20), some, random.randrange(1 << 20))
    partition = TopicPartition("t", 0)
    ways.compare(
        state, state.encode(), kafkas.encode_state(state), lambda d: znodes.State.decode(partition, d), kafkas.decode_state
    )
    event = random.randrange(1 << 31)
    ways.compare(
        event,
        znodes.encode_log_dir_event(event),
        kafkas.encode_log_dir_event(event),
        lambda d: znodes.decode_log_dir_event("/l", d),
        kafkas.decode_log_dir_event,
    )


def _compare_brokers(kafkas: KafkasZnodes, ways: _Ways, random: Random) -> None:
    names = random.sample(("PLAINTEXT", "INTERNAL", "EXTERNAL", "CLIENTS-2"), random.randint(1, 3))
    hosts = ("localhost", "127.0.0.1", "::1", "broker-1.example.com")
    endpoints = tuple(Endpoint(random.choice(hosts), random.randint(0, 65535), n, random.choice(PROTOCOLS)) for n in names)
    features = {f"f{i}": {"min_version": 1, "max_version": random.randint(1, 9)} for i in range(random.randint(0, 2))}
    version = random.randint(2, 5)
    endpoints = endpoints if version >= 4 else tuple(replace(one, listener=one.protocol) for one in endpoints[:1])
    rack = random.choice((None, "a", "rack ü")) if version >= 3 else None
    features = features if version >= 5 else {}
    broker = BrokerRegistration(random.randrange(1 << 31), endpoints, rack, random.randint(-1, 65535), 0, features, version)
    ways.compare(
        broker,
        _without_time(encode_broker(broker)),
        _without_time(bytes(kafkas.encode_broker(broker))),
        lambda d: decode_broker(broker.number, d),
        lambda d: kafkas.decode_broker(broker.number, d),
        is_hashed=len(endpoints) > 1 or len(features) > 1,
    )


def _compare_registrations(kafkas: KafkasZnodes, comparison: Comparison, random: Random) -> None:
    """Compare what both read of a registration as older versions and other tools write it: a registration, or a refusal."""
    content: dict[str, Any] = {"version": random.randint(0, 5), "host": "h", "port": 9092, "jmx_port": random.choice((-1, 9999))}
    content["endpoints"] = random.sample(ENDPOINTS, random.randint(1, 2))
    content["listener_security_protocol_map"] = random.choice(MAPS)
    content["rack"] = random.choice((None, "r"))
    data = to_json({name: value for name, value in content.items() if value is not None and random.random() < 0.97})
    ours = _or_refused(lambda: replace(decode_broker(7, data), timestamp=0))
    comparison.seen[f"a registration {'refused' if ours == REFUSED else 'read'}"] += 1
    comparison.compare(f"what is read of {data!r}", ours, _or_refused(lambda: kafkas.decode_broker(7, data)))


def _or_refused(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (EXCEPTION, znodes.Undecodable):
        return REFUSED


def _without_time(data: bytes) -> bytes:
    """Return a registration with the time 0, since Kafka's encoder writes the present."""
    before, mark, after = data.partition(b'"timestamp":"')
    return before + mark + b"0" + after[after.index(b'"') :]


def _compare_topics(kafkas: KafkasZnodes, ways: _Ways, random: Random) -> None:
    counts = range(random.randint(1, 12))
    replicas = {number: tuple(random.sample(range(9), random.randint(1, 4))) for number in counts}
    moving = {number: replicas[number][:1] for number in counts if random.random() < 0.1}
    leaving = {number: replicas[number][-1:] for number in counts if random.random() < 0.1}
    topic_id = random.choice((None, "q_7Qh6DnRAie8tMt4k2n2w"))
    topic = znodes.Topic(replicas, moving, leaving, topic_id)
    ways.compare(
        topic,
        topic.encode(),
        kafkas.encode_topic("t", topic),
        lambda d: znodes.Topic.decode("t", d),
        lambda d: kafkas.decode_topic("t", d),
        is_hashed=True,
    )
    targets = {TopicPartition(random.choice(TOPICS), number): replicas[number] for number in counts if random.random() < 0.5}
    ways.compare(
        targets,
        znodes.encode_reassignment(targets),
        kafkas.encode_reassignment(targets),
        znodes.decode_reassignment,
        kafkas.decode_reassignment,
        is_hashed=True,
    )


def _compare_lists(kafkas: KafkasZnodes, ways: _Ways, random: Random) -> None:
    named = tuple({TopicPartition(random.choice(TOPICS), random.randrange(9)): None for _ in range(random.randint(0, 6))})
    for kind in ("PreferredReplicaElection", "IsrChangeNotificationSequence"):
        ways.compare(
            set(named),
            znodes.encode_partitions(named),
            kafkas.encode_partitions(kind, named),
            lambda d: set(znodes.decode_partitions("/p", d)),
            lambda d, kind=kind: kafkas.decode_partitions(kind, d),  # type: ignore[misc]
            is_hashed=True,
        )
    config = {f"key.{i}": random.choice(("1", "true", "a,b", 'a "quoted" \\ ü')) for i in range(random.randint(0, 3))}
    ways.compare(
        config,
        znodes.encode_config(config),
        kafkas.encode_config(config),
        lambda d: znodes.decode_config("/c", d),
        kafkas.decode_config,
        is_hashed=True,
    )


SUBJECT = Subject("znodes", "contents of znodes, written by each side and read by the other", compare, (HASHED,))
