"""ZooKeeper: sessions with their ephemeral nodes, and conditional writes.

Each function is one atomic operation of ZooKeeper; a multi is one operation.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE, BrokerSet, assign, excluding, including
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.state import World


def end_session(s: World, broker: int) -> None:
    """Delete the ephemeral nodes of the broker's session: its registration, and /controller if the broker owns it."""
    s.zookeeper.registered = excluding(s.zookeeper.registered, broker)
    if s.zookeeper.controller == broker:
        s.zookeeper.controller = NONE
    s.brokers[broker].has_session = 0


def register(s: World, k: Constants, broker: int) -> None:
    """Open a session and register the broker under the next creation id, which the answer contains."""
    s.zookeeper.registered = including(s.zookeeper.registered, broker)
    s.zookeeper.broker_epochs[broker] = s.zookeeper.broker_epochs[broker] + 1
    s.brokers[broker].broker_epoch = s.zookeeper.broker_epochs[broker]
    s.brokers[broker].has_session = 1
    for partition in range(k.partitions):
        s.history.partitions[partition].removed = excluding(s.history.partitions[partition].removed, broker)


def create_controller_and_increment_epoch(s: World, broker: int) -> None:
    """One multi: create /controller and write the next controller epoch."""
    s.zookeeper.controller = broker
    s.zookeeper.controller_epoch = s.zookeeper.controller_epoch + 1


def fence_holds(s: World, k: Constants, controller: int) -> bool:
    """A multi that checks /controller_epoch would succeed for this controller, or the era makes no such check."""
    return k.controller_writes_fenced == Checked.NO or s.zookeeper.controller_epoch == s.controllers[controller].epoch


def write_state(s: World, controller: int, leader: int, isr: BrokerSet, partition: int) -> None:
    """Write the partition's state for a controller, with the next leader epoch, and update the controller's cache.

    A controller repeats this conditional write until it succeeds. It has read what it replaces, so no version is compared here.
    """
    state = s.zookeeper.partitions[partition].state
    state.leader = leader
    state.isr = isr
    state.leader_epoch = state.leader_epoch + 1
    state.version = state.version + 1
    state.controller_epoch = s.controllers[controller].epoch
    read_state(s, controller, partition)


def create_state(s: World, controller: int, leader: int, isr: BrokerSet, partition: int) -> None:
    """Create the partition's state for a controller, with leader epoch and version 0, and update the controller's cache."""
    state = s.zookeeper.partitions[partition].state
    state.leader = leader
    state.isr = isr
    state.leader_epoch = 0
    state.controller_epoch = s.controllers[controller].epoch
    read_state(s, controller, partition)


def read_state(s: World, controller: int, partition: int) -> None:
    """Read the partition's state into a controller's cache."""
    assign(s.controllers[controller].context.partitions[partition].leadership, s.zookeeper.partitions[partition].state)


def zookeeper_can_be_reached(s: World, k: Constants, broker: int) -> bool:
    """The broker's session lives, or the era's client library opens a new one and repeats the request."""
    return s.brokers[broker].has_session == 1 or k.expired_sessions_read == Checked.YES


def isr_write_succeeds(s: World, leader: int, partition: int) -> bool:
    """A leader's conditional write of the ISR finds the znode and the version that it expects; else the leader logs the failure."""
    state = s.zookeeper.partitions[partition].state
    return state.leader_epoch != NO_EPOCH and state.version == s.brokers[leader].replicas[partition].version


def write_isr(s: World, leader: int, isr: BrokerSet, partition: int) -> None:
    """Write the ISR for a leader, with the controller epoch of its last LeaderAndIsr. The leader epoch does not change."""
    state = s.zookeeper.partitions[partition].state
    state.isr = isr
    state.version = state.version + 1
    state.controller_epoch = s.brokers[leader].replicas[partition].state_epoch
