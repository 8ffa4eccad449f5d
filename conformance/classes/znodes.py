"""Znodes: each side decodes what the other encodes, and the bytes are equal.

Also all versions of registrations and topics that Kafka has written, in Kafka's decoder and in ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from kafka_spec.conformance.classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.classes.records import LeaderAndIsrRecords
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.znode_json import to_json
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition

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


class _Kafkas:
    """Kafka's encoders and decoders, with our values as arguments and results."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._records = LeaderAndIsrRecords(kafka)

    def _znode(self, name: str) -> Any:
        return self._kafka.singleton(f"kafka.zk.{name}ZNode")

    # /controller

    def encode_controller(self, value: znodes.ControllerRegistration) -> Any:
        if self._records.is_newer:
            return self._znode("Controller").encode(value.broker, value.timestamp, -1)
        return self._znode("Controller").encode(value.broker, value.timestamp)

    def decode_controller(self, data: bytes) -> int:
        return int(self._kafka.optional(self._znode("Controller").decode(self._kafka.bytes(data))))

    # /brokers/ids/N

    def encode_broker(self, value: BrokerRegistration) -> Any:
        kafka = self._kafka
        listeners = [self._endpoint(one) for one in value.endpoints]
        broker = kafka.named("kafka.cluster.Broker")(
            value.number, kafka.sequence(listeners), kafka.option(value.rack), self._features(value)
        )
        return self._znode("BrokerId").encode(kafka.named("kafka.zk.BrokerInfo")(broker, value.version, value.jmx_port))

    def _endpoint(self, value: Endpoint) -> Any:
        kafka = self._kafka
        protocol = kafka.named("org.apache.kafka.common.security.auth.SecurityProtocol").forName(value.protocol)
        listener = kafka.named("org.apache.kafka.common.network.ListenerName")(value.listener)
        return kafka.named("kafka.cluster.EndPoint")(value.host, value.port, listener, protocol)

    def _features(self, value: BrokerRegistration) -> Any:
        kafka, features = self._kafka, self._kafka.named("java.util.HashMap")()
        short = kafka.named("java.lang.Short")
        for name, levels in value.features.items():
            kind = kafka.named("org.apache.kafka.common.feature.SupportedVersionRange")
            features.put(name, kind(short(levels["min_version"]), short(levels["max_version"])))
        return kafka.named("org.apache.kafka.common.feature.Features").supportedFeatures(features)

    def decode_broker(self, number: int, data: bytes) -> BrokerRegistration:
        kafka, info = self._kafka, self._znode("BrokerId").decode(number, self._kafka.bytes(data))
        broker = info.broker()
        endpoints = tuple(
            Endpoint(str(e.host() or ""), int(e.port()), str(e.listenerName().value()), str(e.securityProtocol().name))
            for e in kafka.listed(broker.endPoints())
        )
        features = {
            str(name): {"min_version": int(levels.min()), "max_version": int(levels.max())}
            for name, levels in kafka.items(broker.features().features())
        }
        rack = kafka.optional(broker.rack())
        return BrokerRegistration(
            number, endpoints, None if rack is None else str(rack), int(info.jmxPort()), 0, features, int(info.version())
        )

    # /brokers/topics/T

    def encode_topic(self, name: str, value: znodes.Topic) -> Any:
        kafka = self._kafka
        kind = kafka.named("kafka.controller.ReplicaAssignment")
        partitions = {
            kafka.partition(name, number): kind(
                kafka.sequence(replicas),
                kafka.sequence(value.adding.get(number, ())),
                kafka.sequence(value.removing.get(number, ())),
            )
            for number, replicas in value.partitions.items()
        }
        uuid = None if value.topic_id is None else kafka.named("org.apache.kafka.common.Uuid").fromString(value.topic_id)
        return self._znode("Topic").encode(kafka.option(uuid), kafka.mapping(partitions))

    def decode_topic(self, name: str, data: bytes) -> znodes.Topic:
        kafka, found = self._kafka, self._znode("Topic").decode(name, self._kafka.bytes(data))
        uuid, states = kafka.optional(found.topicId()), kafka.items(found.assignment())
        replicas, adding, removing = (
            {int(p.partition()): kafka.numbers(getattr(state, part)()) for p, state in states}
            for part in ("replicas", "addingReplicas", "removingReplicas")
        )
        return znodes.Topic(replicas, _filled(adding), _filled(removing), None if uuid is None else str(uuid))

    # /brokers/topics/T/partitions/P/state

    def encode_state(self, value: znodes.State) -> Any:
        held = self._records.leader_and_isr(value.leader, value.leader_epoch, value.isr, 3)
        kind = self._kafka.named("kafka.controller.LeaderIsrAndControllerEpoch")
        return self._znode("TopicPartitionState").encode(kind(held, value.controller_epoch))

    def decode_state(self, data: bytes) -> znodes.State:
        stat = self._kafka.named("org.apache.zookeeper.data.Stat")()
        found = self._records.leadership(
            self._kafka.optional(self._znode("TopicPartitionState").decode(self._kafka.bytes(data), stat))
        )
        return znodes.State(found.leader, found.leader_epoch, found.isr, found.controller_epoch)

    # The others

    def encode_config(self, value: dict[str, str]) -> Any:
        properties = self._kafka.named("java.util.Properties")()
        for name, setting in value.items():
            properties.put(name, setting)
        return self._znode("ConfigEntity").encode(properties)

    def decode_config(self, data: bytes) -> dict[str, str]:
        return {str(k): str(v) for k, v in self._kafka.items(self._znode("ConfigEntity").decode(self._kafka.bytes(data)))}

    def encode_partitions(self, name: str, value: Sequence[TopicPartition]) -> Any:
        return self._znode(name).encode(self._kafka.set(self._kafka.partition(*p) for p in value))

    def decode_partitions(self, name: str, data: bytes) -> set[TopicPartition]:
        found = self._kafka.listed(self._znode(name).decode(self._kafka.bytes(data)))
        return {TopicPartition(str(p.topic()), int(p.partition())) for p in found}

    def encode_log_dir_event(self, value: int) -> Any:
        return self._znode("LogDirEventNotificationSequence").encode(value)

    def decode_log_dir_event(self, data: bytes) -> int:
        return int(self._kafka.optional(self._znode("LogDirEventNotificationSequence").decode(self._kafka.bytes(data))))

    def encode_reassignment(self, value: dict[TopicPartition, tuple[int, ...]]) -> Any:
        kafka = self._kafka
        return self._znode("ReassignPartitions").encode(
            kafka.mapping({kafka.partition(*p): kafka.sequence(replicas) for p, replicas in value.items()})
        )

    def decode_reassignment(self, data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
        found = self._znode("ReassignPartitions").decode(self._kafka.bytes(data)).toOption().get()
        return {
            TopicPartition(str(p.topic()), int(p.partition())): self._kafka.numbers(replicas)
            for p, replicas in self._kafka.items(found)
        }


def _filled(replicas: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    return {number: some for number, some in replicas.items() if some}


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
    kafkas, ways = _Kafkas(kafka), _Ways(comparison)
    for _ in range(max(1, cases // 10)):
        _compare_states(kafkas, ways, random)
        _compare_brokers(kafkas, ways, random)
        _compare_registrations(kafkas, comparison, random)
        _compare_topics(kafkas, ways, random)
        _compare_lists(kafkas, ways, random)


def _compare_states(kafkas: _Kafkas, ways: _Ways, random: Random) -> None:
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


def _compare_brokers(kafkas: _Kafkas, ways: _Ways, random: Random) -> None:
    names = random.sample(("PLAINTEXT", "INTERNAL", "EXTERNAL", "CLIENTS-2"), random.randint(1, 3))
    hosts = ("localhost", "127.0.0.1", "::1", "broker-1.example.com")
    endpoints = tuple(Endpoint(random.choice(hosts), random.randint(0, 65535), n, random.choice(znodes.PROTOCOLS)) for n in names)
    features = {f"f{i}": {"min_version": 1, "max_version": random.randint(1, 9)} for i in range(random.randint(0, 2))}
    version = random.randint(2, 5)
    endpoints = endpoints if version >= 4 else tuple(replace(one, listener=one.protocol) for one in endpoints[:1])
    rack = random.choice((None, "a", "rack ü")) if version >= 3 else None
    features = features if version >= 5 else {}
    broker = BrokerRegistration(random.randrange(1 << 31), endpoints, rack, random.randint(-1, 65535), 0, features, version)
    ways.compare(
        broker,
        _without_time(znodes.encode_broker(broker)),
        _without_time(bytes(kafkas.encode_broker(broker))),
        lambda d: znodes.decode_broker(broker.number, d),
        lambda d: kafkas.decode_broker(broker.number, d),
        is_hashed=len(endpoints) > 1 or len(features) > 1,
    )


def _compare_registrations(kafkas: _Kafkas, comparison: Comparison, random: Random) -> None:
    """Compare what both read of a registration as older versions and other tools write it: a registration, or a refusal."""
    content: dict[str, Any] = {"version": random.randint(0, 5), "host": "h", "port": 9092, "jmx_port": random.choice((-1, 9999))}
    content["endpoints"] = random.sample(ENDPOINTS, random.randint(1, 2))
    content["listener_security_protocol_map"] = random.choice(MAPS)
    content["rack"] = random.choice((None, "r"))
    data = to_json({name: value for name, value in content.items() if value is not None and random.random() < 0.97})
    ours = _or_refused(lambda: replace(znodes.decode_broker(7, data), timestamp=0))
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


def _compare_topics(kafkas: _Kafkas, ways: _Ways, random: Random) -> None:
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


def _compare_lists(kafkas: _Kafkas, ways: _Ways, random: Random) -> None:
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
