"""Requests of controllers to brokers: what is sent, and what waits. Which requests a broker refuses stands in spec/gates.py.

One FIFO channel for each controller and broker. The first request is in flight; after a lost connection it is sent again, so it
may be processed twice. Only the removal of the broker discards what waits.

Source: Kafka 2.8 ControllerChannelManager.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.state import Kind, World
from kafka_spec.spec.domain import BrokerSet, append, contains, truncate
from kafka_spec.spec.table import Constants


def connected(s: World, controller: int) -> BrokerSet:
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


def send_leader_and_isr_to_all(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Send the cached leader and ISR to each broker of the set."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            send_leader_and_isr(s, controller, broker)


def send_update_metadata(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
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


def discard_channels(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Close the connections to the brokers of the set, and drop what waits for them, the request in flight included."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            s.controllers[controller].channels[broker].repeats = 0
            truncate(s.controllers[controller].channels[broker].requests, 0)
