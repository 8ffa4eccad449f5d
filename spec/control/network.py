"""Requests of controllers to brokers: what is sent, what waits, and which requests a broker refuses.

One FIFO channel for each controller and broker. The first request is in flight; after a lost connection it is sent again, so it
may be processed twice. Only the removal of the broker discards what waits. The gates are pure decisions with Kafka's error codes.

Source: Kafka 2.8 ControllerChannelManager.scala; KafkaApis.scala:241-365; ReplicaManager.scala:350-492, 1298-1484.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.control.decisions import StopReplicaEpoch
from kafka_spec.spec.control.state import Kind, World
from kafka_spec.spec.domain import append, contains, truncate
from kafka_spec.spec.table import Constants


class ErrorCode(enum.IntEnum):
    """Kafka's error codes, those that a gate of a broker answers."""

    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    STALE_CONTROLLER_EPOCH = 11
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    STALE_BROKER_EPOCH = 77


# ---------------------------------------------------------------------------------------------------------------------
# Gates: pure decisions


def answer_to_request(
    controller_epoch: int,
    seen_controller_epoch: int,
    checked: int,
    broker_epoch: int,
    own_broker_epoch: int,
    generation_checked: int,
) -> int:
    """Return what a broker answers to a request as a whole, before it looks inside.

    `controller_epoch` and `broker_epoch` are the request's. A broker epoch larger than the broker's own passes: it has not
    learned its new one yet; so does -1, which older controllers send.
    Kafka 2.8: KafkaApis.isBrokerEpochStale, ReplicaManager.becomeLeaderOrFollower.
    """
    if generation_checked == 1 and 0 <= broker_epoch < own_broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    if checked == 1 and controller_epoch < seen_controller_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    return ErrorCode.NONE


def answer_to_leader_and_isr(leader_epoch: int, current: int, is_assigned: int) -> int:
    """Return what a broker answers for one partition of a LeaderAndIsr: only a larger leader epoch is news.

    Kafka 2.8: ReplicaManager.becomeLeaderOrFollower, the same code for a smaller and for an equal epoch.
    """
    if leader_epoch <= current:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if is_assigned == 0:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def answer_to_stop_replica(leader_epoch: int, current: int, rule: int) -> int:
    """Return what a broker answers for one hosted partition of a StopReplica; a negative leader epoch is none and passes.

    Kafka 2.8: ReplicaManager.stopReplicas refuses an equal epoch; 3.5 takes it (KAFKA-13972); before 2.6 there was none.
    """
    if rule == StopReplicaEpoch.NONE or leader_epoch < 0 or leader_epoch > current:
        return ErrorCode.NONE
    if rule == StopReplicaEpoch.AT_LEAST and leader_epoch == current:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH


def answer_to_fetch_epoch(leader_epoch: int, current: int, checked: int) -> int:
    """Return what a broker answers to the leader epoch that a fetcher is in; a negative one is none and passes.

    Compared before it is asked whether the broker leads (2.1, KIP-320). Kafka 2.8: Partition.checkCurrentLeaderEpoch.
    """
    if checked == 0 or leader_epoch < 0 or leader_epoch == current:
        return ErrorCode.NONE
    if leader_epoch < current:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


# ---------------------------------------------------------------------------------------------------------------------
# Sending


def connected(s: World, controller: int) -> int:
    """Return the brokers that the controller has a channel to: those it takes for live, without those that it has found gone.

    A broker that bounced has a new channel, but what is sent to it before it is taken for live again carries its old epoch.
    """
    context = s.controllers[controller].context
    return context.live & ~context.failed & ~context.bounced


def send_leader_and_isr(s: World, controller: int, broker: int) -> None:
    """Send the cached leader and ISR to a broker, if there is a channel."""
    context = s.controllers[controller].context
    if contains(connected(s, controller), broker) == 1:
        append(
            s.controllers[controller].channels[broker].requests,
            kind=Kind.LEADER_AND_ISR,
            controller_epoch=s.controllers[controller].epoch,
            broker_epoch=context.broker_epochs[broker],
            leader=context.leadership.leader,
            leader_epoch=context.leadership.leader_epoch,
            isr=context.leadership.isr,
            version=context.leadership.version,
            state_epoch=context.leadership.controller_epoch,
        )


def send_leader_and_isr_to_all(s: World, k: Constants, controller: int, brokers: int) -> None:
    """Send the cached leader and ISR to each broker of the set."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            send_leader_and_isr(s, controller, broker)


def send_update_metadata(s: World, k: Constants, controller: int, brokers: int) -> None:
    """Tell each broker of the set which brokers are alive."""
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


def send_stop_replica_to(s: World, controller: int, broker: int) -> None:
    """Ask a broker to stop its replica; the leader epoch is the cached one, as it is now."""
    context = s.controllers[controller].context
    if contains(connected(s, controller), broker) == 1:
        append(
            s.controllers[controller].channels[broker].requests,
            kind=Kind.STOP_REPLICA,
            controller_epoch=s.controllers[controller].epoch,
            broker_epoch=context.broker_epochs[broker],
            leader_epoch=context.leadership.leader_epoch,
        )


def discard_channels(s: World, k: Constants, controller: int, brokers: int) -> None:
    """Close the connections to the brokers of the set, and drop what waits for them, the request in flight included."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            s.controllers[controller].channels[broker].repeats = 0
            truncate(s.controllers[controller].channels[broker].requests, 0)
