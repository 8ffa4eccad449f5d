"""Requests of controllers to brokers: how they are sent and queued. spec/decisions/fencing.py says which a broker refuses.

One FIFO channel for each controller and broker, which the partitions share. The first request is in flight; after a lost connection
it is sent again, so it may be processed twice. Waiting requests are discarded only when the broker is removed.

A change of states that writes to ZooKeeper more than once, for several partitions or replicas, collects its requests in a batch at
the end of each channel, and sends them when it is complete. In it a LeaderAndIsr replaces an earlier one of the same partition, and
comes before each StopReplica. All else is sent in the step that it belongs to.

Source: Kafka 2.8 ControllerChannelManager.scala; 0.10 likewise.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.fencing import LEADER_DURING_DELETE, leader_epoch_in_stop_replica
from kafka_spec.spec.language.domain import BrokerSet, append, assign, contains, reset, truncate
from kafka_spec.spec.machines.topic_deletion import DeletionState
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.messages import Answer, Kind
from kafka_spec.spec.zookeeper.state import ControllerStep, World


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


def a_batch_is_collected(s: World, controller: int) -> bool:
    """The controller brings partitions online, or takes replicas offline: it sends all requests of this change at its end."""
    own = s.controllers[controller]
    if own.step == ControllerStep.REMOVE:
        for known in own.context.partitions:
            if known.leaving != 0:
                return True
    return own.step == ControllerStep.ELECT


def note_collected(s: World, controller: int, broker: int) -> None:
    """Count one request more in the batch, if one is collected."""
    if a_batch_is_collected(s, controller):
        s.controllers[controller].channels[broker].unsent = s.controllers[controller].channels[broker].unsent + 1


def send_batch(s: World, k: Constants, controller: int) -> None:
    """Send the requests that were collected."""
    for broker in range(k.brokers):
        s.controllers[controller].channels[broker].unsent = 0


def a_request_is_sent(s: World, controller: int, broker: int) -> bool:
    """A request that has been sent waits in the channel, or is in flight."""
    channel = s.controllers[controller].channels[broker]
    return len(channel.requests) > channel.unsent


def place_of_leader_and_isr(s: World, controller: int, broker: int, partition: int) -> int:
    """Return where a LeaderAndIsr belongs in the channel: in place of a collected one, before collected StopReplicas, or last."""
    channel = s.controllers[controller].channels[broker]
    for index in range(len(channel.requests) - channel.unsent, len(channel.requests)):
        request = channel.requests[index]
        if request.kind >= Kind.STOP_REPLICA or request.partition == partition:
            return index
    return len(channel.requests)


def make_room(s: World, controller: int, broker: int, place: int) -> None:
    """Put an empty LeaderAndIsr at this place of the channel, before the requests that are there."""
    requests = s.controllers[controller].channels[broker].requests
    append(requests, kind=Kind.LEADER_AND_ISR)
    last = len(requests) - 1
    for moved in range(last - place):
        assign(requests[last - moved], requests[last - moved - 1])
    reset(requests[place])


def leader_and_isr_is_collected(s: World, controller: int, broker: int, place: int) -> bool:
    """There is a LeaderAndIsr at this place of the channel, which the next one replaces."""
    requests = s.controllers[controller].channels[broker].requests
    return place < len(requests) and requests[place].kind == Kind.LEADER_AND_ISR


def send_leader_and_isr(s: World, controller: int, broker: int, partition: int) -> None:
    """Send the cached leader and ISR to a broker, if there is a channel; a batch has one for each partition, the last."""
    context = s.controllers[controller].context
    known = context.partitions[partition]
    if contains(connected(s, controller), broker) == 1:
        place = place_of_leader_and_isr(s, controller, broker, partition)
        if not leader_and_isr_is_collected(s, controller, broker, place):
            make_room(s, controller, broker, place)
            note_collected(s, controller, broker)
        request = s.controllers[controller].channels[broker].requests[place]
        request.partition = partition
        request.controller_epoch = s.controllers[controller].epoch
        request.broker_epoch = context.broker_epochs[broker]
        request.leader = known.leadership.leader
        request.leader_epoch = known.leadership.leader_epoch
        request.isr = known.leadership.isr
        request.version = known.leadership.version
        request.state_epoch = known.leadership.controller_epoch
        request.replicas = members(known.assignment.replicas)


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
        note_collected(s, controller, broker)


def discard_answers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Drop the answers of brokers that the controller has received and not handled."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            for partition in range(k.partitions):
                s.controllers[controller].channels[broker].answers[partition] = Answer.NONE


def discard_channels(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Close the connections to the brokers of the set, and drop their requests: those in flight, and those not sent yet."""
    for broker in range(k.brokers):
        if contains(brokers, broker) == 1:
            s.controllers[controller].channels[broker].repeats = 0
            s.controllers[controller].channels[broker].unsent = 0
            truncate(s.controllers[controller].channels[broker].requests, 0)
