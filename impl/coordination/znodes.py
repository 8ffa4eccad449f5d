"""The znodes of Kafka's control plane: paths and contents, as Kafka's own tools write and read them.

A content is a dataclass with `encode` and `decode`; `decode` accepts every version that Kafka has written. JSON is written without
blanks, with keys in Kafka's order. Content that cannot be decoded raises `Undecodable`, which names the path.

Source: Kafka 2.8 ZkData.scala.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"

PERSISTENT = (
    "/brokers",
    BROKER_IDS,
    TOPICS,
    CONFIG,
    CONFIG_CHANGES,
    "/config/topics",
    "/config/brokers",
    "/config/clients",
    "/config/users",
    "/admin",
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
)
"""The paths that a broker creates at start-up where they are missing, parents first."""

NOBODY = -1
"""The leader in the state of a partition without a leader."""
SHOWN = 300
"""The number of bytes of a content that a message shows."""
LOG_DIR_FAILURE = 1
"""The only event type of a log_dir_event."""


class Undecodable(ValueError):  # noqa: N818 - the name is the message
    """A znode holds content that Kafka never writes there."""


def broker(number: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{number}"


def broker_number(name: str) -> int:
    """Return the broker id from the name of a registration.

    Raises:
        Undecodable: the name is not a number.
    """
    try:
        return _broker(int(name))
    except (TypeError, ValueError):
        raise Undecodable(f"{BROKER_IDS}/{name} is not a broker registration: the name is not a broker id") from None


def topic(name: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{name}"


def partition_parents(partition: TopicPartition) -> tuple[str, str]:
    """Return the paths above a partition's state, outer first."""
    return f"{topic(partition.topic)}/partitions", f"{topic(partition.topic)}/partitions/{partition.partition}"


def state(partition: TopicPartition) -> str:
    """Return the path of a partition's state."""
    return f"{topic(partition.topic)}/partitions/{partition.partition}/state"


def topic_config(name: str) -> str:
    """Return the path of a topic's configuration."""
    return f"{CONFIG}/topics/{name}"


def broker_config(number: int) -> str:
    """Return the path of a broker's dynamic configuration."""
    return f"{CONFIG}/brokers/{number}"


def isr_change() -> str:
    """Return the path to which ZooKeeper appends a number."""
    return f"{ISR_CHANGE_NOTIFICATION}/isr_change_"


def log_dir_event() -> str:
    """Return the path to which ZooKeeper appends a number."""
    return f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"


def config_change() -> str:
    """Return the path to which ZooKeeper appends a number."""
    return f"{CONFIG_CHANGES}/config_change_"


def deletion_of(name: str) -> str:
    """Return the path of the request to delete a topic; the node is empty."""
    return f"{DELETE_TOPICS}/{name}"


@dataclass(frozen=True)
class ControllerRegistration:
    """/controller: the controller's broker id, and the time of its election in milliseconds since 1970."""

    broker: int
    timestamp: int

    def encode(self) -> bytes:
        """Return the content."""
        return _json({"version": 1, "brokerid": self.broker, "timestamp": str(self.timestamp)})

    @classmethod
    def decode(cls, data: bytes) -> ControllerRegistration:
        """Return what a content says."""
        with _Content(CONTROLLER, data) as content:
            return cls(_broker(content["brokerid"]), int(content["timestamp"]))


def encode_controller_epoch(epoch: int) -> bytes:
    """Return the content of /controller_epoch."""
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    """Return what a content of /controller_epoch says."""
    try:
        return _number(int(data.decode()))
    except (TypeError, ValueError):
        raise Undecodable(f"{CONTROLLER_EPOCH} holds {_shown(data)}, which is not a number") from None


def encode_broker(registration: BrokerRegistration) -> bytes:
    """Return the content of /brokers/ids/N in the broker's version, 2 to 5."""
    plain = next((e for e in registration.endpoints if e.protocol == "PLAINTEXT"), None)
    content: dict[str, Any] = {
        "version": registration.version,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "endpoints": [str(endpoint) for endpoint in registration.endpoints],
        "jmx_port": registration.jmx_port,
        "timestamp": str(registration.timestamp),
    }
    if registration.version >= 3 and registration.rack is not None:
        content["rack"] = registration.rack
    if registration.version >= 4:
        content["listener_security_protocol_map"] = {e.listener: e.protocol for e in registration.endpoints}
    if registration.version >= 5:
        content["features"] = {name: dict(levels) for name, levels in registration.features.items()}
    return _json(content)


def decode_broker(number: int, data: bytes) -> BrokerRegistration:
    """Return the registration that a content of /brokers/ids/N says; version 1 has one plain endpoint."""
    with _Content(broker(number), data) as content:
        version = _number(content["version"])
        protocols = content.get("listener_security_protocol_map") or {}
        if version == 1:
            endpoints = [Endpoint(_text(content["host"]), _number(content["port"]))]
        else:
            endpoints = [_endpoint(text, protocols) for text in _list(content["endpoints"])]
        rack, features = content.get("rack"), content.get("features") or {}
        return BrokerRegistration(
            number,
            tuple(endpoints),
            None if rack is None else _text(rack),
            _number(content["jmx_port"]),
            int(content.get("timestamp", 0)),
            {_text(name): {_text(k): _number(level) for k, level in levels.items()} for name, levels in features.items()},
            version,
        )


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon:
        raise ValueError(_shown(text))
    protocol = _text(protocols.get(listener, listener))
    return Endpoint(_text(host.removeprefix("[").removesuffix("]")), _number(int(port)), _text(listener), protocol)


@dataclass(frozen=True)
class Topic:
    """/brokers/topics/T: the ordered replicas of each partition, and which are being added and removed.

    2.8 writes version 3, with a topic id; 2.4 to 2.7 wrote version 2, older ones version 1 with the replicas alone.
    """

    partitions: Mapping[int, tuple[int, ...]]
    adding: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    removing: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    topic_id: str | None = None
    version: int = 3

    def encode(self) -> bytes:
        """Return the content in the topic's version."""
        content: dict[str, Any] = {"version": self.version}
        if self.version >= 3 and self.topic_id is not None:
            content["topic_id"] = self.topic_id
        content["partitions"] = _lists(self.partitions)
        if self.version >= 2:
            content["adding_replicas"] = _lists(self.adding)
            content["removing_replicas"] = _lists(self.removing)
        return _json(content)

    @classmethod
    def decode(cls, name: str, data: bytes) -> Topic:
        """Return what a content says."""
        with _Content(topic(name), data) as content:
            return cls(
                _replicas(content["partitions"]),
                _replicas(content.get("adding_replicas", {})),
                _replicas(content.get("removing_replicas", {})),
                content.get("topic_id"),
                _number(content["version"]),
            )


def _lists(replicas: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(replicas[partition]) for partition in sorted(replicas)}


def _replicas(content: Mapping[str, Sequence[Any]]) -> dict[int, tuple[int, ...]]:
    return {_partition(int(number)): tuple(map(_broker, _list(replicas))) for number, replicas in content.items()}


@dataclass(frozen=True)
class State:
    """A partition's state znode: leader, ISR in Kafka's order, leader epoch, and the epoch of the controller who wrote it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int

    def encode(self) -> bytes:
        """Return the content."""
        return _json(
            {
                "controller_epoch": self.controller_epoch,
                "leader": self.leader,
                "version": 1,
                "leader_epoch": self.leader_epoch,
                "isr": list(self.isr),
            }
        )

    @classmethod
    def decode(cls, partition: TopicPartition, data: bytes) -> State:
        """Return what a content says."""
        with _Content(state(partition), data) as content:
            isr, leader = tuple(map(_broker, _list(content["isr"]))), _number(content["leader"])
            epochs = _number(content["leader_epoch"]), _number(content["controller_epoch"])
            return cls(leader if leader == NOBODY else _broker(leader), epochs[0], isr, epochs[1])


def encode_config(config: Mapping[str, str]) -> bytes:
    """Return the content of a configuration."""
    return _json({"version": 1, "config": dict(config)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    """Return what the content of a configuration says."""
    with _Content(path, data) as content:
        return {name: _text(value) for name, value in content["config"].items()}


def encode_partitions(partitions: Sequence[TopicPartition]) -> bytes:
    """Return the content of an ISR change notification, or of /admin/preferred_replica_election: partitions alone."""
    return _json({"version": 1, "partitions": [{"topic": p.topic, "partition": p.partition} for p in partitions]})


def decode_partitions(path: str, data: bytes) -> tuple[TopicPartition, ...]:
    """Return the partitions that such a content names."""
    with _Content(path, data) as content:
        return tuple(TopicPartition(_text(p["topic"]), _partition(p["partition"])) for p in _list(content["partitions"]))


def encode_log_dir_event(number: int) -> bytes:
    """Return the content that reports a failed log directory of a broker."""
    return _json({"version": 1, "broker": number, "event": LOG_DIR_FAILURE})


def decode_log_dir_event(path: str, data: bytes) -> int:
    """Return the broker whose log directory has failed."""
    with _Content(path, data) as content:
        if content["event"] != LOG_DIR_FAILURE:
            raise ValueError(f"event {content['event']}")
        return _broker(content["broker"])


def encode_reassignment(targets: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    """Return the content of /admin/reassign_partitions."""
    listed = [{"topic": p.topic, "partition": p.partition, "replicas": list(replicas)} for p, replicas in targets.items()]
    return _json({"version": 1, "partitions": listed})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the target replicas that /admin/reassign_partitions names."""
    with _Content(REASSIGN_PARTITIONS, data) as content:
        return {
            TopicPartition(_text(p["topic"]), _partition(p["partition"])): tuple(map(_broker, _list(p["replicas"])))
            for p in _list(content["partitions"])
        }


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _number(value: Any) -> int:
    """Return an integer of 32 bits, as Kafka's are."""
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise TypeError(f"{_shown(value)} is not a number")
    return value


def _partition(value: Any) -> int:
    if _number(value) < 0:
        raise ValueError(f"{value} is not a partition number")
    return int(value)


def _broker(value: Any) -> int:
    if _number(value) < 0:
        raise ValueError(f"{value} is not a broker id")
    return int(value)


def _text(value: Any) -> str:
    """Return a text that UTF-8 can encode: half a surrogate pair cannot be."""
    if type(value) is not str:
        raise TypeError(f"{_shown(value)} is not a text")
    value.encode()
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError(f"{_shown(value)} is not a list")
    return value


def _shown(value: object) -> str:
    """Return a value for a message, shortened, however deep and long it is."""
    return reprlib.repr(value) if not isinstance(value, bytes) else repr(value[:SHOWN]) + ("..." if len(value) > SHOWN else "")


class _Content:
    """The JSON content of a path while it is decoded; every error names the path."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data

    def __enter__(self) -> dict[str, Any]:
        try:
            content = json.loads(self._data)
        except (ValueError, RecursionError) as error:
            raise Undecodable(f"{self._path} does not hold JSON: {error}") from None
        if not isinstance(content, dict):
            raise Undecodable(f"{self._path} holds {_shown(content)}, which is not an object")
        return content

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError):
            raise Undecodable(f"{self._path} has no field {error.args[0]!r}: {_shown(self._data)}") from None
        if isinstance(error, (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)):
            raise Undecodable(f"{self._path} holds unexpected content ({error}): {_shown(self._data)}") from None
