"""What controllers and brokers send: requests of a controller, and fetches, answers and StopReplicas that are late."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.brokers import Broker, PartitionIndex
from kafka_spec.spec.decisions.fencing import LEADER_DURING_DELETE
from kafka_spec.spec.language.domain import NONE, Bound, BrokerSet, Flag, OneOf, Range, SetOf, field, message, tagged
from kafka_spec.spec.zookeeper.bounds import BROKER_EPOCHS, BROKERS, CONTROLLER_EPOCHS, LEADER_EPOCHS, OFFSETS, PARTITIONS, VERSIONS


class Kind(enum.IntEnum):
    """The kinds of requests of a controller to a broker."""

    LEADER_AND_ISR = 0
    UPDATE_METADATA = 1
    STOP_REPLICA = 2
    STOP_REPLICA_AND_DELETE = 3
    """A StopReplica with the delete flag."""


class Answer(enum.IntEnum):
    """What a broker's answer to a StopReplica with delete says of one partition.

    The answer to a request that is refused as a whole (a stale controller epoch or broker epoch) names no partition, so the
    controller makes no event of it. Kafka: ReplicaManager.stopReplicas 0.8.2 to 3.9, ControllerBrokerRequestBatch of 2.8.
    """

    NONE = 0
    DELETED = 1
    FAILED = 2
    """The broker could not delete the replica: KAFKA_STORAGE_ERROR."""


class LeaderInRequest(Range):
    """The leader in a request: a broker, none, or the mark of a partition that is being deleted."""

    def __init__(self, brokers: Bound) -> None:
        super().__init__(LEADER_DURING_DELETE, brokers - 1, NONE)

    def show(self, value: int) -> str:
        """Print a value."""
        if value == LEADER_DURING_DELETE:
            return "being deleted"
        return "none" if value == NONE else f"broker {value}"


@tagged(
    "kind",
    {
        Kind.LEADER_AND_ISR: (
            "partition",
            "controller_epoch",
            "broker_epoch",
            "leader",
            "leader_epoch",
            "isr",
            "version",
            "state_epoch",
            "replicas",
        ),
        Kind.UPDATE_METADATA: ("controller_epoch", "broker_epoch", "leader", "live"),
        Kind.STOP_REPLICA: ("partition", "controller_epoch", "broker_epoch", "leader_epoch"),
        Kind.STOP_REPLICA_AND_DELETE: ("partition", "controller_epoch", "broker_epoch", "leader_epoch"),
    },
)
@dataclass
class Request:
    """A request of a controller to a broker."""

    kind: int = field(OneOf(Kind))
    partition: int = field(PartitionIndex(PARTITIONS))
    """The partition that it is about; an UpdateMetadata is about the topic."""
    controller_epoch: int = field(CONTROLLER_EPOCHS)
    broker_epoch: int = field(BROKER_EPOCHS)
    """The registration of the receiver that the sender knows of."""
    leader: int = field(LeaderInRequest(BROKERS))
    """In an UpdateMetadata: LEADER_DURING_DELETE if it marks the partition as being deleted."""
    leader_epoch: int = field(LEADER_EPOCHS)
    isr: BrokerSet = field(SetOf(BROKERS))
    version: int = field(VERSIONS)
    state_epoch: int = field(CONTROLLER_EPOCHS)
    """The epoch of the controller that wrote this state; it may be earlier than the sender's."""
    replicas: BrokerSet = field(SetOf(BROKERS))
    """In a LeaderAndIsr: the assigned replicas, as the controller knows them."""
    live: BrokerSet = field(SetOf(BROKERS))
    """In an UpdateMetadata: the live brokers."""


@message
@dataclass
class LateFetch:
    """A fetch request that is delayed on the network and may outlive the process that sent it."""

    partition: int = field(PartitionIndex(PARTITIONS))
    follower: int = field(Broker(BROKERS))
    end: int = field(OFFSETS)
    """The fetch offset: the sender's log end."""
    leader_epoch: int = field(LEADER_EPOCHS)
    broker_epoch: int = field(BROKER_EPOCHS)


@message
@dataclass
class LateStop:
    """The first copy of a StopReplica that was sent twice; it waits in the queue of a broker."""

    partition: int = field(PartitionIndex(PARTITIONS))
    follower: int = field(Broker(BROKERS))
    """The broker that it is for."""
    kind: int = field(OneOf(Kind))
    controller_epoch: int = field(CONTROLLER_EPOCHS)
    broker_epoch: int = field(BROKER_EPOCHS)
    leader_epoch: int = field(LEADER_EPOCHS)
    is_of_former_topic: int = field(Flag())
    """The topic that it is for was deleted since."""


@message
@dataclass
class LateAnswer:
    """An answer to a fetch that is delayed on the network. It is lost with the process of either side."""

    partition: int = field(PartitionIndex(PARTITIONS))
    leader: int = field(Broker(BROKERS))
    follower: int = field(Broker(BROKERS))
    offset: int = field(OFFSETS)
    """The fetch offset: where the follower's log ended."""
    leader_epoch: int = field(LEADER_EPOCHS)
    """The follower's leader epoch when it asked."""
    record: int = field(OFFSETS)
    """The record at that offset of the leader's log."""
    epoch: int = field(LEADER_EPOCHS)
    """The leader epoch that it was written in."""
    high_watermark: int = field(OFFSETS)
