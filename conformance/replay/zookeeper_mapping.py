"""Maps the model's ZooKeeper to znodes, field by field.

The model counts a broker's registrations, where ZooKeeper has the transaction that created the node; `ModeledCluster` relates the
two. The data version of /controller_epoch equals the epoch, since each write increments both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kafka_spec.conformance.replay.ensemble import Znode
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.request_mapping import PARTITION, REGISTRATIONS, leadership, model_leadership, registration
from kafka_spec.impl.controller.context import written
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.spec.control import state
from kafka_spec.spec.domain import NO_BROKERS, NONE, BrokerSet

LAST_ZXID = 1_000
"""The last transaction of a loaded ensemble: later than any registration of the model."""


TOPIC, STATE, PARENTS = znodes.topic(PARTITION.topic), znodes.state(PARTITION), znodes.partition_parents(PARTITION)
CONFIG, DELETION = znodes.topic_config(PARTITION.topic), znodes.deletion_of(PARTITION.topic)
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
    return znodes.encode_broker(registration(broker))


def _broker_epochs(nodes: Znodes) -> list[int]:
    return [len(known) for known in nodes.modeled.registrations]


def _put_broker_epochs(nodes: Znodes, record: state.ZooKeeper) -> None:
    """Do nothing: `put_zookeeper` sets the past registrations, and `_put_registered` stages the current ones."""


def _assignment(nodes: Znodes) -> state.ReplicaAssignment:
    found = nodes.find(TOPIC)
    if found is None:
        return state.ReplicaAssignment([], NO_BROKERS, NO_BROKERS)
    replicas, adding, removing = _replicas(found.data)
    return state.ReplicaAssignment(list(replicas), adding, removing)


@lru_cache(maxsize=256)
def _replicas(data: bytes) -> tuple[tuple[int, ...], BrokerSet, BrokerSet]:
    topic = znodes.Topic.decode(PARTITION.topic, data)
    adding, removing = (BrokerSet.of(held.get(PARTITION.partition, ())) for held in (topic.adding, topic.removing))
    return topic.partitions[PARTITION.partition], adding, removing


@lru_cache(maxsize=256)
def _topic(replicas: tuple[int, ...], adding: int, removing: int) -> bytes:
    added, removed = ({PARTITION.partition: tuple(BrokerSet(brokers))} if brokers else {} for brokers in (adding, removing))
    return znodes.Topic({PARTITION.partition: replicas}, added, removed).encode()


def _put_assignment(nodes: Znodes, record: state.PartitionZnodes) -> None:
    if record.assignment.replicas:
        held = record.assignment
        nodes.stage(TOPIC, _topic(tuple(held.replicas), held.adding, held.removing))


def _exists(path: str) -> Callable[[Znodes], int]:
    return lambda nodes: int(nodes.find(path) is not None)


def _put_config(nodes: Znodes, record: state.ZooKeeper) -> None:
    if record.config:
        nodes.stage(CONFIG, znodes.encode_config({}))


def _put_delete_topic(nodes: Znodes, record: state.ZooKeeper) -> None:
    if record.delete_topic:
        nodes.stage(DELETION)


def _state_znode(nodes: Znodes) -> state.LeaderIsrAndControllerEpoch:
    found = nodes.find(STATE)
    return model_leadership(None if found is None else written(_state(found.data), found.version))


@lru_cache(maxsize=4096)
def _state_of(held: Leadership) -> bytes:
    return znodes.State(held.leader, held.leader_epoch, held.isr, held.controller_epoch).encode()


@lru_cache(maxsize=4096)
def _state(data: bytes) -> znodes.State:
    return znodes.State.decode(PARTITION, data)


def _put_state(nodes: Znodes, record: state.PartitionZnodes) -> None:
    held = leadership(record.state)
    if held is not None:
        for parent in PARENTS:
            nodes.stage(parent)
        nodes.stage(STATE, _state_of(held), held.version)


def _reassignment(nodes: Znodes) -> list[int]:
    found = nodes.find(znodes.REASSIGN_PARTITIONS)
    return [] if found is None else list(znodes.decode_reassignment(found.data)[PARTITION])


def _put_reassignment(nodes: Znodes, record: state.PartitionZnodes) -> None:
    if record.reassignment:
        nodes.stage(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({PARTITION: record.reassignment}))


ZNODES = RecordMapping(
    state.PartitionZnodes,
    FieldMapping("assignment", _assignment, _put_assignment),
    FieldMapping("state", _state_znode, _put_state),
    FieldMapping("reassignment", _reassignment, _put_reassignment),
)

ZOOKEEPER = RecordMapping(
    state.ZooKeeper,
    FieldMapping("controller", _controller, _put_controller),
    FieldMapping("controller_epoch", _controller_epoch, _put_controller_epoch),
    FieldMapping("registered", _registered, _put_registered),
    FieldMapping("broker_epochs", _broker_epochs, _put_broker_epochs),
    FieldMapping("config", _exists(CONFIG), _put_config),
    FieldMapping("delete_topic", _exists(DELETION), _put_delete_topic),
    FieldMapping("partitions", lambda nodes: [ZNODES.read(nodes)], lambda nodes, record: ZNODES.put(nodes, record.partitions[0])),
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
