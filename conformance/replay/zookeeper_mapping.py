"""Maps the model's ZooKeeper to znodes, field by field.

The model counts a broker's registrations, where ZooKeeper has the transaction that created the node; `ModeledCluster` relates the
two. The data version of /controller_epoch equals the epoch, since each write increments both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from kafka_spec.conformance.replay.ensemble import Znode
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.request_mapping import (
    PARTITIONS,
    REGISTRATIONS,
    in_order,
    leadership,
    model_leadership,
    registration,
)
from kafka_spec.conformance.replay.request_mapping import TOPIC as NAME
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.zookeeper.controller.context import written
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import encode_broker
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.zookeeper import state

LAST_ZXID = 1_000
"""The last transaction of a loaded ensemble: later than any registration of the model."""


TOPIC, STATES = znodes.topic(NAME), tuple(map(znodes.state, PARTITIONS))
CONFIG, DELETION = znodes.topic_config(NAME), znodes.deletion_of(NAME)
PERSISTENT = tuple(Znode(path) for path in znodes.PERSISTENT)
BROKERS = tuple(znodes.broker(number) for number in range(len(REGISTRATIONS)))


class Znodes:
    """An ensemble as the mapping reads it, and the nodes to put there."""

    def __init__(self, modeled: ModeledCluster) -> None:
        self.modeled = modeled
        self.find = modeled.ensemble.find
        self.staged: list[Znode] = []

    def stage(self, path: str, data: bytes = b"", version: int = 0, czxid: int = 0, owner: int = 0) -> None:
        """Add a node to those that will be put."""
        self.staged.append(Znode(path, data, version, czxid, owner))

    def stage_once(self, paths: Iterable[str]) -> None:
        """Add nodes without content to those that will be put, unless they are there already."""
        there = {node.path for node in self.staged}
        for path in paths:
            if path not in there:
                self.stage(path)


def _controller(nodes: Znodes) -> int:
    found = nodes.find(znodes.CONTROLLER)
    return NONE if found is None else _holder(found.data)


@lru_cache(maxsize=64)
def _held_by(broker: int) -> bytes:
    return znodes.ControllerRegistration(broker, 0).encode()


@lru_cache(maxsize=64)
def _holder(data: bytes) -> int:
    return znodes.ControllerRegistration.decode(data).broker


def _put_controller(nodes: Znodes, record: state.ZooKeeper) -> None:
    if record.controller != NONE:
        nodes.stage(znodes.CONTROLLER, _held_by(record.controller), owner=nodes.modeled.session_of(record.controller))


def _controller_epoch(nodes: Znodes) -> int:
    found = nodes.find(znodes.CONTROLLER_EPOCH)
    if found is None:
        return 0
    epoch = znodes.decode_controller_epoch(found.data)
    if epoch != found.version:
        raise ValueError(f"/controller_epoch holds {epoch} at version {found.version}")
    return epoch


def _put_controller_epoch(nodes: Znodes, record: state.ZooKeeper) -> None:
    nodes.stage(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(record.controller_epoch), record.controller_epoch)


def _registered(nodes: Znodes) -> int:
    found = 0
    for broker in range(nodes.modeled.brokers):
        if nodes.find(BROKERS[broker]) is not None:
            found |= 1 << broker
    return found


def _put_registered(nodes: Znodes, record: state.ZooKeeper) -> None:
    for broker in BrokerSet(record.registered):
        epoch = nodes.modeled.creation_of(broker, record.broker_epochs[broker])
        owner = nodes.modeled.session_of(broker)
        nodes.stage(BROKERS[broker], _content(broker), czxid=epoch, owner=owner)


@lru_cache(maxsize=64)
def _content(broker: int) -> bytes:
    return encode_broker(registration(broker))


def _broker_epochs(nodes: Znodes) -> list[int]:
    return [len(known) for known in nodes.modeled.registrations]


def _put_broker_epochs(nodes: Znodes, record: state.ZooKeeper) -> None:
    """Do nothing: `put_zookeeper` sets the past registrations, and `_put_registered` stages the current ones."""


class PartitionNodes:
    """The znodes of one partition as the mapping reads and writes them; the first one's mapping writes what they share."""

    def __init__(self, nodes: Znodes, number: int) -> None:
        self.nodes = nodes
        self.number = number

    @property
    def assignment(self) -> state.ReplicaAssignment:
        """The partition's part of the topic znode."""
        found = self.nodes.find(TOPIC)
        held = None if found is None else _topic_in(found.data).get(self.number)
        if held is None:
            return state.ReplicaAssignment([], NO_BROKERS, NO_BROKERS)
        replicas, adding, removing = held
        return state.ReplicaAssignment(list(replicas), adding, removing)

    @property
    def leadership(self) -> state.LeaderIsrAndControllerEpoch:
        """The state znode."""
        found = self.nodes.find(STATES[self.number])
        return model_leadership(None if found is None else written(_state(self.number, found.data), found.version))

    @property
    def reassignment(self) -> list[int]:
        """The partition's target in /admin/reassign_partitions."""
        found = self.nodes.find(znodes.REASSIGN_PARTITIONS)
        return [] if found is None else list(znodes.decode_reassignment(found.data).get(PARTITIONS[self.number], ()))

    def put_state(self, record: state.PartitionZnodes) -> None:
        """Put the state znode and the znodes above it."""
        held = leadership(record.state)
        if held is not None:
            self.nodes.stage_once(znodes.partition_parents(PARTITIONS[self.number]))
            self.nodes.stage(STATES[self.number], _state_of(held), held.version)


Assigned: TypeAlias = tuple[tuple[int, ...], BrokerSet, BrokerSet]
"""Replicas, those that are added, and those that are removed."""


@lru_cache(maxsize=256)
def _topic_in(data: bytes) -> dict[int, Assigned]:
    topic = znodes.Topic.decode(NAME, data)
    return {
        number: (replicas, BrokerSet.of(topic.adding.get(number, ())), BrokerSet.of(topic.removing.get(number, ())))
        for number, replicas in topic.partitions.items()
    }


@lru_cache(maxsize=256)
def _topic(assigned: tuple[tuple[int, Assigned], ...]) -> bytes:
    replicas = {number: held for number, (held, _, _) in assigned}
    adding = {number: in_order(added, held) for number, (held, added, _) in assigned if added}
    removing = {number: in_order(removed, held) for number, (held, _, removed) in assigned if removed}
    return znodes.Topic(replicas, adding, removing).encode()


def _put_partitions(nodes: Znodes, record: state.ZooKeeper) -> None:
    """Put the topic znode and /admin/reassign_partitions, which all partitions share, and the znodes of each."""
    held = [one.assignment for one in record.partitions]
    assigned = {
        n: (tuple(one.replicas), BrokerSet(one.adding), BrokerSet(one.removing)) for n, one in enumerate(held) if one.replicas
    }
    if assigned:
        nodes.stage(TOPIC, _topic(tuple(assigned.items())))
    for number, one in enumerate(record.partitions):
        ZNODES.put(PartitionNodes(nodes, number), one)
    targets = {PARTITIONS[n]: one.reassignment for n, one in enumerate(record.partitions) if one.reassignment}
    if targets:
        nodes.stage(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(targets))


def _nothing(nodes: PartitionNodes, record: state.PartitionZnodes) -> None:
    """Do nothing: `_put_partitions` puts what the partitions share."""


@lru_cache(maxsize=4096)
def _state_of(held: Leadership) -> bytes:
    return znodes.State(held.leader, held.leader_epoch, held.isr, held.controller_epoch).encode()


@lru_cache(maxsize=4096)
def _state(number: int, data: bytes) -> znodes.State:
    return znodes.State.decode(PARTITIONS[number], data)


def _exists(path: str) -> Callable[[Znodes], int]:
    return lambda nodes: int(nodes.find(path) is not None)


def _put_config(nodes: Znodes, record: state.ZooKeeper) -> None:
    if record.config:
        nodes.stage(CONFIG, znodes.encode_config({}))


def _put_delete_topic(nodes: Znodes, record: state.ZooKeeper) -> None:
    if record.delete_topic:
        nodes.stage(DELETION)


ZNODES = RecordMapping(
    state.PartitionZnodes,
    FieldMapping("assignment", lambda nodes: nodes.assignment, _nothing),
    FieldMapping("state", lambda nodes: nodes.leadership, PartitionNodes.put_state),
    FieldMapping("reassignment", lambda nodes: nodes.reassignment, _nothing),
)


def _partitions(nodes: Znodes) -> list[state.PartitionZnodes]:
    return [ZNODES.read(PartitionNodes(nodes, number)) for number in range(len(nodes.modeled.partitions))]


ZOOKEEPER = RecordMapping(
    state.ZooKeeper,
    FieldMapping("controller", _controller, _put_controller),
    FieldMapping("controller_epoch", _controller_epoch, _put_controller_epoch),
    FieldMapping("registered", _registered, _put_registered),
    FieldMapping("broker_epochs", _broker_epochs, _put_broker_epochs),
    FieldMapping("config", _exists(CONFIG), _put_config),
    FieldMapping("delete_topic", _exists(DELETION), _put_delete_topic),
    FieldMapping("partitions", _partitions, _put_partitions),
)


def read_zookeeper(modeled: ModeledCluster) -> state.ZooKeeper:
    """Return the model's record of the znodes."""
    nodes = Znodes(modeled)
    for broker in range(modeled.brokers):
        if (found := nodes.find(BROKERS[broker])) is not None:
            modeled.note_registration(broker, found.czxid)
    record: state.ZooKeeper = ZOOKEEPER.read(nodes)
    return record


def put_zookeeper(modeled: ModeledCluster, record: state.ZooKeeper) -> None:
    """Put the znodes of a state of the model; the sessions that own them must exist."""
    modeled.registrations = [list(range(1, count + 1)) for count in record.broker_epochs]
    nodes = Znodes(modeled)
    ZOOKEEPER.put(nodes, record)
    modeled.ensemble.put((*PERSISTENT, *nodes.staged), LAST_ZXID)
