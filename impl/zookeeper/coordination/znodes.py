"""The znodes of Kafka's control plane: paths and contents, as Kafka's own tools write and read them.

A content is a dataclass with `encode` and `decode`; `decode` accepts every version that Kafka has written. JSON is written without
blanks, with keys in Kafka's order. Content that cannot be decoded raises `Undecodable`, which names the path.

Source: Kafka 2.8 ZkData.scala.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination.znode_json import (
    Content,
    read_broker,
    read_list,
    read_number,
    read_partition,
    read_text,
    shown,
    to_json,
)
from kafka_spec.impl.zookeeper.coordination.znode_json import Undecodable as Undecodable
from kafka_spec.spec.decisions.reassignment import PartitionAssignment

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
LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"

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
LOG_DIR_FAILURE = 1
"""The only event type of a log_dir_event."""


def broker(number: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{number}"


def broker_number(name: str) -> int:
    """Return the broker id from the name of a registration.

    Raises:
        Undecodable: the name is not a number.
    """
    try:
        return read_broker(int(name))
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


def partition_of_state(path: str) -> TopicPartition | None:
    """Return the partition whose state a path is, None if it is another path."""
    parts = path.removeprefix(f"{TOPICS}/").split("/")
    if not path.startswith(f"{TOPICS}/") or len(parts) != 4 or (parts[1], parts[3]) != ("partitions", "state"):
        return None
    return TopicPartition(parts[0], int(parts[2])) if parts[2].isdecimal() else None


def topic_config(name: str) -> str:
    """Return the path of a topic's configuration."""
    return f"{CONFIG}/topics/{name}"


def broker_config(number: int) -> str:
    """Return the path of a broker's dynamic configuration."""
    return f"{CONFIG}/brokers/{number}"


def delete_topic(name: str) -> str:
    """Return the path that asks for the deletion of a topic."""
    return f"{DELETE_TOPICS}/{name}"


def config_change() -> str:
    """Return the path to which ZooKeeper appends a number: an announcement of a changed configuration."""
    return f"{CONFIG_CHANGES}/config_change_"


def encode_config_change(entity: str) -> bytes:
    """Return the content of such an announcement; `entity` is topics/T or brokers/N."""
    return to_json({"version": 2, "entity_path": entity})


def decode_config_change(path: str, data: bytes) -> str:
    """Return the entity whose configuration has changed."""
    with Content(path, data) as content:
        return read_text(content["entity_path"])


def isr_change() -> str:
    """Return the path to which ZooKeeper appends a number."""
    return f"{ISR_CHANGE_NOTIFICATION}/isr_change_"


def log_dir_event() -> str:
    """Return the path to which ZooKeeper appends a number."""
    return f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"


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
        return to_json({"version": 1, "brokerid": self.broker, "timestamp": str(self.timestamp)})

    @classmethod
    def decode(cls, data: bytes) -> ControllerRegistration:
        """Return what a content says."""
        with Content(CONTROLLER, data) as content:
            return cls(read_broker(content["brokerid"]), int(content["timestamp"]))


def encode_controller_epoch(epoch: int) -> bytes:
    """Return the content of /controller_epoch."""
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    """Return what a content of /controller_epoch says."""
    try:
        return read_number(int(data.decode()))
    except (TypeError, ValueError):
        raise Undecodable(f"{CONTROLLER_EPOCH} holds {shown(data)}, which is not a number") from None


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

    def assignment(self, partition: int) -> PartitionAssignment:
        """Return the assignment of a partition."""
        adding, removing = self.adding.get(partition, ()), self.removing.get(partition, ())
        return PartitionAssignment(self.partitions[partition], adding, removing)

    def holding(self, assignments: Mapping[int, PartitionAssignment]) -> Topic:
        """Return the topic with these assignments; its version is raised if it cannot say what a reassignment adds."""
        moves = any(one.is_being_reassigned for one in assignments.values())
        return Topic(
            {n: one.replicas for n, one in assignments.items()},
            {n: one.adding for n, one in assignments.items() if one.adding},
            {n: one.removing for n, one in assignments.items() if one.removing},
            self.topic_id,
            max(self.version, 2) if moves else self.version,
        )

    def encode(self) -> bytes:
        """Return the content in the topic's version."""
        version, partitions = {"version": self.version}, {"partitions": _lists(self.partitions)}
        moving = {"adding_replicas": _lists(self.adding), "removing_replicas": _lists(self.removing)} if self.version >= 2 else {}
        if self.version < 3:
            return to_json({**version, **partitions, **moving})
        named = {} if self.topic_id is None else {"topic_id": self.topic_id}
        return to_json({**partitions, **named, **moving, **version})

    @classmethod
    def decode(cls, name: str, data: bytes) -> Topic:
        """Return what a content says."""
        with Content(topic(name), data) as content:
            return cls(
                _replicas(content["partitions"]),
                _replicas(content.get("adding_replicas", {})),
                _replicas(content.get("removing_replicas", {})),
                content.get("topic_id"),
                read_number(content["version"]),
            )


def _lists(replicas: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(replicas[partition]) for partition in sorted(replicas)}


def _replicas(content: Mapping[str, Sequence[Any]]) -> dict[int, tuple[int, ...]]:
    return {read_partition(int(number)): tuple(map(read_broker, read_list(replicas))) for number, replicas in content.items()}


@dataclass(frozen=True)
class State:
    """A partition's state znode: leader, ISR in Kafka's order, leader epoch, and the epoch of the controller who wrote it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int

    def encode(self) -> bytes:
        """Return the content."""
        return to_json(
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
        with Content(state(partition), data) as content:
            isr, leader = tuple(map(read_broker, read_list(content["isr"]))), read_number(content["leader"])
            epochs = read_number(content["leader_epoch"]), read_number(content["controller_epoch"])
            return cls(leader if leader == NOBODY else read_broker(leader), epochs[0], isr, epochs[1])


def encode_config(config: Mapping[str, str]) -> bytes:
    """Return the content of a configuration."""
    return to_json({"version": 1, "config": dict(config)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    """Return what the content of a configuration says."""
    with Content(path, data) as content:
        return {name: read_text(value) for name, value in content["config"].items()}


def encode_partitions(partitions: Sequence[TopicPartition]) -> bytes:
    """Return the content of an ISR change notification, or of /admin/preferred_replica_election: partitions alone."""
    return to_json({"version": 1, "partitions": [{"topic": p.topic, "partition": p.partition} for p in partitions]})


def decode_partitions(path: str, data: bytes) -> tuple[TopicPartition, ...]:
    """Return the partitions that such a content names."""
    with Content(path, data) as content:
        return tuple(
            TopicPartition(read_text(p["topic"]), read_partition(p["partition"])) for p in read_list(content["partitions"])
        )


def encode_log_dir_event(number: int) -> bytes:
    """Return the content that reports a failed log directory of a broker."""
    return to_json({"version": 1, "broker": number, "event": LOG_DIR_FAILURE})


def decode_log_dir_event(path: str, data: bytes) -> int:
    """Return the broker whose log directory has failed."""
    with Content(path, data) as content:
        if content["event"] != LOG_DIR_FAILURE:
            raise ValueError(f"event {content['event']}")
        return read_broker(content["broker"])


def encode_reassignment(targets: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    """Return the content of /admin/reassign_partitions."""
    listed = [{"topic": p.topic, "partition": p.partition, "replicas": list(replicas)} for p, replicas in targets.items()]
    return to_json({"version": 1, "partitions": listed})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the target replicas that /admin/reassign_partitions names."""
    with Content(REASSIGN_PARTITIONS, data) as content:
        return {
            TopicPartition(read_text(p["topic"]), read_partition(p["partition"])): tuple(map(read_broker, read_list(p["replicas"])))
            for p in read_list(content["partitions"])
        }
