"""The state of the control plane: ZooKeeper, controllers with their channels, brokers with their replicas.

There is one topic with one or two partitions. The replicas of each are the first `replicas` of the brokers, in ascending order, so
broker 0 is preferred; the other brokers can only be controllers. What is of one partition is in a record held per partition. The
partitions share the channels, and what is of the topic. Field names are Kafka's where Kafka has one.

Some values need no field. The data version of /controller_epoch changes exactly when its content does. A watch whose handler
reads again is pending while the controller's context differs from ZooKeeper. The creation id of a broker's registration (czxid)
is compared only with that of the same broker, so it counts registrations.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.brokers import Assignment, BrokerOrNone, PartitionIndex, PerBroker, PerPartition
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.language.domain import BrokerSet, Counters, Flag, OneOf, Queue, Range, SequenceOf, SetOf, Spent, StateOf, field
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.machines.topic_deletion import DeletionState
from kafka_spec.spec.zookeeper.bounds import (
    BROKER_EPOCHS,
    BROKERS,
    CHANNEL_DEPTH,
    CONTROLLER_EPOCHS,
    LATE_STOPS,
    LEADER_EPOCHS,
    OFFSETS,
    PARTITIONS,
    RECORDS,
    VERSIONS,
)
from kafka_spec.spec.zookeeper.event_stages import Stage
from kafka_spec.spec.zookeeper.machines import ControllerState, Role
from kafka_spec.spec.zookeeper.messages import Answer, LateAnswer, LateFetch, LateStop, Request


class Life(enum.IntEnum):
    """Whether a broker's process runs."""

    UP = 0
    DOWN = 1
    STOPPING = 2
    """It runs, and has requested a controlled shutdown."""


class ControllerStep(enum.IntEnum):
    """The next step of a controller's event, between two ZooKeeper operations."""

    IDLE = 0
    """No event is being handled."""
    READ = Stage.READ
    """Fail-over: read brokers, topic and partition state from ZooKeeper."""
    ELECT = Stage.ELECT
    """Bring the partition online, if it is new or offline, or if an election was requested."""
    REMOVE = Stage.REMOVE
    """Take the replicas of `leaving` offline, one after the other."""
    REASSIGN = 4
    """Do the next step of the reassignment, which the machine Reassignment names."""
    DELETE_STATE = 5
    """All replicas are deleted: delete the state znode, the first part of the topic's znodes."""
    DELETE_TOPIC = 6
    """Delete /brokers/topics/T."""
    DELETE_CONFIG = 7
    """Delete /config/topics/T."""
    DELETE_MARK = 8
    """Delete /admin/delete_topics/T."""
    RESTORE = 9
    """Write the known assignment back to /brokers/topics/T: partitions were added to a topic that is to be deleted."""


class Resuming(enum.IntEnum):
    """What an event still does about the deletion of the topic (TopicDeletionManager.resumeDeletions)."""

    NOTHING = 0
    CONSIDER = 1
    """Decide whether the deletion is complete, starts, or waits."""
    START = 2
    """Start it, once the replicas that failed before are offline."""


class Stale(enum.IntEnum):
    """Which epoch of a request was outdated when the request took effect."""

    NOTHING = 0
    CONTROLLER_EPOCH = 1
    LEADER_EPOCH = 2
    BROKER_EPOCH = 3
    TOPIC = 4
    """It was for a topic of the same name that was deleted since."""


@dataclass
class LogEntry:
    """One entry of a log: which record, written in which leader epoch."""

    record: int = field(OFFSETS)
    epoch: int = field(LEADER_EPOCHS)


# ---------------------------------------------------------------------------------------------------------------------
# ZooKeeper


@dataclass
class LeaderIsrAndControllerEpoch:
    """The content of a partition's state znode, and a controller's cache of it. A leader epoch of -1: the znode does not exist."""

    leader: int = field(BrokerOrNone(BROKERS))
    leader_epoch: int = field(LEADER_EPOCHS)
    isr: BrokerSet = field(SetOf(BROKERS))
    version: int = field(VERSIONS)
    """The znode's data version (zkVersion)."""
    controller_epoch: int = field(CONTROLLER_EPOCHS)
    """The epoch of the controller under which it was written."""


@dataclass
class ReplicaAssignment:
    """The content of a topic's znode for the partition, and a controller's copy of it. No replicas: the topic does not exist."""

    replicas: list[int] = field(Assignment(BROKERS))
    """The brokers that hold the partition, the preferred one first."""
    adding: BrokerSet = field(SetOf(BROKERS))
    """The replicas that a reassignment adds (KIP-455); in a controller of 0.10: those that its next steps start."""
    removing: BrokerSet = field(SetOf(BROKERS))
    """The replicas that a reassignment removes (KIP-455)."""


@dataclass
class PartitionZnodes:
    """What the znodes say of one partition."""

    assignment: ReplicaAssignment = field(ReplicaAssignment)
    """/brokers/topics/T: its part of that znode."""
    state: LeaderIsrAndControllerEpoch = field(LeaderIsrAndControllerEpoch)
    """/brokers/topics/T/partitions/P/state."""
    reassignment: list[int] = field(Assignment(BROKERS))
    """/admin/reassign_partitions: the partition's target; empty while the znode does not exist, or names another partition."""


@dataclass
class ZooKeeper:
    """The znodes. Ephemeral ones are deleted with the session of their owner, whether it notices or not."""

    controller: int = field(BrokerOrNone(BROKERS))
    """/controller, ephemeral: the broker that is the controller."""
    controller_epoch: int = field(CONTROLLER_EPOCHS)
    """/controller_epoch."""
    registered: BrokerSet = field(SetOf(BROKERS))
    """/brokers/ids, ephemeral: the registered brokers."""
    broker_epochs: list[int] = field(PerBroker(BROKER_EPOCHS, BROKERS))
    """The creation id of each broker's current or last registration."""
    config: int = field(Flag())
    """/config/topics/T exists."""
    delete_topic: int = field(Flag())
    """/admin/delete_topics/T exists: an operator wants the topic deleted."""
    partitions: list[PartitionZnodes] = field(PerPartition(PartitionZnodes, PARTITIONS))


# ---------------------------------------------------------------------------------------------------------------------
# Controllers


@dataclass
class Channel:
    """The requests of a controller to one broker, in order; the first is in flight, if it has been sent."""

    requests: list[Request] = field(Queue(Request, CHANNEL_DEPTH))
    unsent: int = field(Range(0, CHANNEL_DEPTH))
    """How many of the last requests are of the batch that the controller still collects, and not sent yet."""
    repeats: int = field(Flag())
    """The connection is lost before the answer to the first request, which will be sent once more."""
    answers: list[int] = field(PerPartition(OneOf(Answer), PARTITIONS))
    """For each partition the answer to a StopReplica with delete that the controller has received and not handled yet."""


@dataclass
class PartitionContext:
    """What an active controller knows of one partition, and the rest of its event that is about it."""

    assignment: ReplicaAssignment = field(ReplicaAssignment)
    """The replicas that it acts on; none while it does not know the partition."""
    leadership: LeaderIsrAndControllerEpoch = field(LeaderIsrAndControllerEpoch)
    """The cached state of the partition (partitionLeadershipInfo)."""
    strategy: int = field(OneOf(Strategy))
    """The election strategy of the step ELECT."""
    creating: int = field(Flag())
    """The partition is being created: its replicas go online after the partition."""
    leaving: BrokerSet = field(SetOf(BROKERS))
    """Replicas that the step REMOVE takes offline."""
    deleting: BrokerSet = field(SetOf(BROKERS))
    """Replicas whose brokers will be asked to delete them, after they have been taken offline."""
    target: list[int] = field(Assignment(BROKERS))
    """The target of the reassignment that runs (partitionsBeingReassigned); empty if none does."""
    reassignment_resumes: int = field(Flag())
    """This event resumes the reassignment: after a fail-over, or since a broker of the target starts."""
    planned: int = field(Flag())
    """It has read what /admin/reassign_partitions names for the partition, as it is now; since 2.4, where this is what counts."""


@dataclass
class Context:
    """The memory of an active controller, and the rest of the event that it handles."""

    live: BrokerSet = field(SetOf(BROKERS))
    """Registered brokers, as last read, including those that are shutting down."""
    broker_epochs: list[int] = field(PerBroker(BROKER_EPOCHS, BROKERS))
    stopping: BrokerSet = field(SetOf(BROKERS))
    """Brokers that are shutting down (shuttingDownBrokerIds)."""
    partitions: list[PartitionContext] = field(PerPartition(PartitionContext, PARTITIONS))
    turn: int = field(PartitionIndex(PARTITIONS))
    """The partition whose turn it is, in the steps ELECT and REASSIGN; 0 in all others."""
    resuming: int = field(OneOf(Resuming))
    """What the event still does about the deletion of the topic."""
    bounced: BrokerSet = field(SetOf(BROKERS))
    """Brokers that restarted unnoticed: to be processed as failed, and then as started."""
    rejoining: BrokerSet = field(SetOf(BROKERS))
    """Bounced brokers that have been processed as failed, and not yet as started."""
    failed: BrokerSet = field(SetOf(BROKERS))
    """Brokers that died: to be processed as failed."""


@dataclass
class PartitionMachines:
    """The machines of a controller for one partition."""

    state: int = field(StateOf(PartitionState, "Partition"))
    replicas: list[int] = field(PerBroker(StateOf(ReplicaState, "Replica"), BROKERS))
    reassignment: int = field(StateOf(ReassignmentState, "Reassignment"))


@dataclass
class Controller:
    """A broker as a controller: its life, its epoch, its state machines, its context, and its channels."""

    life: int = field(StateOf(ControllerState, "Controller"))
    epoch: int = field(CONTROLLER_EPOCHS)
    step: int = field(OneOf(ControllerStep))
    deletion: int = field(StateOf(DeletionState, "TopicDeletion"))
    partitions: list[PartitionMachines] = field(PerPartition(PartitionMachines, PARTITIONS))
    context: Context = field(Context)
    channels: list[Channel] = field(PerBroker(Channel, BROKERS))


# ---------------------------------------------------------------------------------------------------------------------
# Brokers


@dataclass
class Replica:
    """A broker's replica of the partition. Log and high watermark are on disk, the rest is lost when the process ends."""

    role: int = field(StateOf(Role, "Role"))
    leader_epoch: int = field(LEADER_EPOCHS)
    leader: int = field(BrokerOrNone(BROKERS))
    isr: BrokerSet = field(SetOf(BROKERS))
    """On a leader: its ISR."""
    replicas: BrokerSet = field(SetOf(BROKERS))
    """On a leader: the assigned replicas, as its last LeaderAndIsr named them."""
    version: int = field(VERSIONS)
    """On a leader: the data version of the state znode that its ISR writes expect."""
    state_epoch: int = field(CONTROLLER_EPOCHS)
    """On a leader: the controller epoch that it writes with the ISR."""
    epoch_start: int = field(OFFSETS)
    """On a leader: the end of its log when it became the leader (leaderEpochStartOffset)."""
    ends: list[int] = field(PerBroker(OFFSETS, BROKERS))
    """On a leader: where its followers' logs end, as their last fetches said; 0 where none said anything."""
    written: BrokerSet = field(SetOf(BROKERS))
    """On a leader: the ISR that it has written without an answer, or empty. It holds the partition's lock until it has one."""
    fetching: int = field(Flag())
    """On a follower: its fetcher runs."""
    high_watermark: int = field(OFFSETS)
    log: list[LogEntry] = field(SequenceOf(LogEntry, RECORDS, "offset"))


@dataclass
class BrokerNode:
    """A broker: its process, its session, the controller epoch it knows, its metadata cache, its replica of each partition."""

    life: int = field(OneOf(Life))
    has_session: int = field(Flag())
    """Its ZooKeeper session lives. A broker that runs without a session has not noticed the expiry yet."""
    broker_epoch: int = field(BROKER_EPOCHS)
    """The creation id of its registration, as it knows it."""
    controller_epoch: int = field(CONTROLLER_EPOCHS)
    """The newest controller epoch of any request it has accepted."""
    alive: BrokerSet = field(SetOf(BROKERS))
    """The brokers that its metadata cache lists as alive."""
    lists_topic: int = field(Flag())
    """Its metadata cache lists the topic."""
    replicas: list[Replica] = field(PerPartition(Replica, PARTITIONS))
    stale: int = field(OneOf(Stale))
    """For the properties: why the first outdated request that took effect here was outdated."""


# ---------------------------------------------------------------------------------------------------------------------
# What happened, and the whole state


@dataclass
class PartitionHistory:
    """History of one partition that the properties need and that no part of Kafka keeps."""

    committed: list[LogEntry] = field(SequenceOf(LogEntry, RECORDS, "offset"))
    """Every entry that was ever below a leader's high watermark; an unclean election truncates it to the new leader's log."""
    acknowledged: BrokerSet = field(SetOf(RECORDS))
    """The records that a client saw acknowledged with acks=all; without those that an unclean election dropped."""
    removed: BrokerSet = field(SetOf(BROKERS))
    """Brokers that were removed from the ISR as dead and have not registered since."""
    unclean_epoch: int = field(LEADER_EPOCHS)
    """The leader epoch of the last unclean election, or -1. Entries that earlier leaders commit after it do not count."""


@dataclass
class TopicHistory:
    """Past events that the properties need and that no part of Kafka keeps."""

    partitions: list[PartitionHistory] = field(PerPartition(PartitionHistory, PARTITIONS))
    first_record: int = field(OFFSETS)
    """The first record that can be one of the topic as it is now: earlier ones were written before it was deleted and created."""


@dataclass
class World:
    """The whole state."""

    zookeeper: ZooKeeper = field(ZooKeeper, kept_by="ZooKeeper")
    controllers: list[Controller] = field(PerBroker(Controller, BROKERS))
    brokers: list[BrokerNode] = field(PerBroker(BrokerNode, BROKERS))
    fetches: list[LateFetch] = field(Queue(LateFetch, 1))
    late_stops: list[LateStop] = field(Queue(LateStop, LATE_STOPS))
    answers: list[LateAnswer] = field(Queue(LateAnswer, 1))
    spent: Spent = field(Counters())
    history: TopicHistory = field(TopicHistory)
