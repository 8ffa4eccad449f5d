"""Requests of controllers to brokers: how they are sent and queued. Which requests a broker refuses is in spec/gates.py.

One FIFO channel for each controller and broker, which the partitions share. The first request is in flight; after a lost connection
it is sent again, so it may be processed twice. Waiting requests are discarded only when the broker is removed.

Source: Kafka 2.8 ControllerChannelManager.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.bounds import NO_EPOCH
from kafka_spec.spec.control.messages import Answer, Kind
from kafka_spec.spec.control.state import World
from kafka_spec.spec.deletion import DeletionState
from kafka_spec.spec.domain import BrokerSet, append, contains, truncate
from kafka_spec.spec.election import members
from kafka_spec.spec.gates import LEADER_DURING_DELETE, leader_epoch_in_stop_replica
from kafka_spec.spec.table import Constants


def connected(s: World, controller: int) -> BrokerSet:
    """Return the brokers that the controller has a channel to: those it considers live, except those it has found missing.

    A broker that bounced has a new channel, but requests carry its old epoch until the controller has processed its restart.
    """
    context = s.controllers[controller].context
    return context.live & ~context.failed & ~context.bounced


def is_being_deleted(s: World, controller: int) -> bool:
    """The controller has queued the topic for deletion."""
    deletion = s.controllers[controller].deletion
    return deletion != DeletionState.NOT_QUEUED and deletion != DeletionState.NAME_KEPT


def send_leader_and_isr(s: World, controller: int, broker: int, partition: int) -> None:
    """Send the cached leader and ISR to a broker, if there is a channel."""
    context = s.controllers[controller].context
    known = context.partitions[partition]
    if contains(connected(s, controller), broker) == 1:
        append(
            s.controllers[controller].channels[broker].requests,
            kind=Kind.LEADER_AND_ISR,
            partition=partition,
            controller_epoch=s.controllers[controller].epoch,
            broker_epoch=context.broker_epochs[broker],
            leader=known.leadership.leader,
            leader_epoch=known.leadership.leader_epoch,
            isr=known.leadership.isr,
            version=known.leadership.version,
            state_epoch=known.leadership.controller_epoch,
            replicas=members(known.assignment.replicas),
        )


def send_leader_and_isr_to_all(s: World, k: Constants, controller: int, brokers: BrokerSet, partition: int) -> None:
    """Send the cached leader and ISR to each broker of the set."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            send_leader_and_isr(s, controller, broker, partition)


def send_update_metadata(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Send the list of live brokers to each broker of the set."""
    context = s.controllers[controller].context
    for broker in range(k.brokers):
        if contains(brokers & connected(s, controller), broker) == 1:
            append(
                s.controllers[controller].channels[broker].requests,
                kind=Kind.UPDATE_METADATA,
                controller_epoch=s.controllers[controller].epoch,
                broker_epoch=context.broker_epochs[broker],
                live=context.live,
            )


def a_leadership_is_known(s: World, k: Constants, controller: int) -> bool:
    """The controller has leader and ISR of a partition in its cache."""
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].leadership.leader_epoch != NO_EPOCH:
            return True
    return False


def send_deletion_mark(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Send each broker of the set an UpdateMetadata that marks the topic as being deleted, if a partition has had a leader."""
    context = s.controllers[controller].context
    for broker in range(k.brokers):
        if a_leadership_is_known(s, k, controller) and contains(brokers & connected(s, controller), broker) == 1:
            append(
                s.controllers[controller].channels[broker].requests,
                kind=Kind.UPDATE_METADATA,
                controller_epoch=s.controllers[controller].epoch,
                broker_epoch=context.broker_epochs[broker],
                leader=LEADER_DURING_DELETE,
                live=context.live,
            )


def send_stop_replica_to(s: World, controller: int, broker: int, partition: int) -> None:
    """Send a broker a StopReplica with the currently cached leader epoch."""
    stop_replica_by(s, controller, broker, Kind.STOP_REPLICA, 1 if is_being_deleted(s, controller) else 0, partition)


def send_stop_replica_with_delete_to(s: World, controller: int, broker: int, partition: int) -> None:
    """Send a broker a StopReplica that deletes the replica, with the currently cached leader epoch."""
    stop_replica_by(s, controller, broker, Kind.STOP_REPLICA_AND_DELETE, 1 if is_being_deleted(s, controller) else 0, partition)


def send_stop_replica_to_unassigned(s: World, controller: int, broker: int, partition: int) -> None:
    """Have a broker that is not assigned delete its replica; no deletion of the topic waits for the answer."""
    stop_replica_by(s, controller, broker, Kind.STOP_REPLICA_AND_DELETE, 0, partition)


def stop_replica_by(s: World, controller: int, broker: int, kind: int, is_queued: int, partition: int) -> None:
    """Send a broker a StopReplica of this kind; its leader epoch marks a topic that is being deleted, if it is queued."""
    context = s.controllers[controller].context
    if contains(connected(s, controller), broker) == 1:
        append(
            s.controllers[controller].channels[broker].requests,
            kind=kind,
            partition=partition,
            controller_epoch=s.controllers[controller].epoch,
            broker_epoch=context.broker_epochs[broker],
            leader_epoch=leader_epoch_in_stop_replica(context.partitions[partition].leadership.leader_epoch, is_queued),
        )


def discard_answers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Drop the answers of brokers that the controller has received and not handled."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            for partition in range(k.partitions):
                s.controllers[controller].channels[broker].answers[partition] = Answer.NONE


def discard_channels(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Close the connections to the brokers of the set, and drop their requests, including the one in flight."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            s.controllers[controller].channels[broker].repeats = 0
            truncate(s.controllers[controller].channels[broker].requests, 0)
