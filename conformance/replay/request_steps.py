"""Steps of brokers that handle a controller's request."""

from __future__ import annotations

from kafka_spec.conformance.replay.channel_mapping import live_in
from kafka_spec.conformance.replay.core import NotEnabled, Steps
from kafka_spec.conformance.replay.modeled_cluster import DelayedStop
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.request_mapping import named_in
from kafka_spec.conformance.replay.steps import running
from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, Request, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import ControllerResponse
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.spec.decisions.fencing import stop_replica_is_of_topic
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Stale

STEPS = Steps()


@STEPS.of(
    "RefuseRequest",
    "IgnoreLeaderAndIsr",
    "BecomeLeader",
    "BecomeFollower",
    "LeaderIsUnavailable",
    "UpdateMetadata",
    "StopReplica",
    "IgnoreStopReplica",
    "DeleteReplica",
)
def deliver(projection: Projection, controller: int, broker: int) -> None:
    """Deliver the request in flight, and before and after it the requests that the model does not have."""
    sender, receiver = running(projection, controller), running(projection, broker)
    hand_over_uncounted(projection, sender, receiver)
    request = sender.in_flight(broker)
    if request is None:
        raise NotEnabled(f"nothing waits in the channel from {controller} to {broker}")
    hand_over(projection, sender, receiver, request, answered=not projection.repeats(controller, broker))
    projection.repeated(controller, broker)
    hand_over_uncounted(projection, sender, receiver)


@STEPS.of("FailToDelete")
def deliver_to_offline_log(projection: Projection, controller: int, broker: int) -> None:
    """Deliver the request in flight while the log directory is offline for a moment, which only the model knows to end."""
    sender, receiver = running(projection, controller), running(projection, broker)
    hand_over_uncounted(projection, sender, receiver)
    replicas = receiver.replicas
    request = sender.in_flight(broker)
    assert request is not None
    (partition,) = named_in(request)
    role, was_hosted = replicas.role_of(partition), partition in replicas.partitions
    replicas.partitions.setdefault(partition, HostedPartition())
    replicas.roles.load((partition,), Role.OFFLINE)
    deliver(projection, controller, broker)
    replicas.roles.load((partition,), role)
    if not was_hosted:
        del replicas.partitions[partition]


@STEPS.of("DelayStopReplica")
def delay_stop_replica(projection: Projection, controller: int, broker: int) -> None:
    """Let a copy of the StopReplica in flight wait at its receiver; the sender will send it again."""
    sender, receiver = running(projection, controller), running(projection, broker)
    hand_over_uncounted(projection, sender, receiver)
    request = sender.in_flight(broker)
    if not isinstance(request, StopReplicaRequest):
        raise NotEnabled(f"no StopReplica is in flight from {controller} to {broker}")
    projection.late_stops.append(DelayedStop(broker, request))


@STEPS.of("LateStopReplica")
def deliver_late_stop(projection: Projection, late: int) -> None:
    """Let a broker handle the first copy of a StopReplica; nobody waits for the answer."""
    stop = projection.late_stops.pop(late)
    is_first = projection.stale[stop.broker] == Stale.NOTHING
    _, has_effect = apply(projection, running(projection, stop.broker), stop.request)
    if has_effect and is_first and stop.is_of_former_topic:
        projection.stale[stop.broker] = Stale.TOPIC


@STEPS.of("LoseLateStop")
def deliver_useless_stop(projection: Projection, late: int) -> None:
    """Let a broker that still runs handle the first copy, which changes nothing.

    The requests carry no topic id, so in an era that compares topics the copy of a former one is dropped here.
    """
    stop = projection.late_stops.pop(late)
    is_of_topic = stop_replica_is_of_topic(int(stop.is_of_former_topic), projection.k.stop_replica_topic_checked)
    if stop.broker in projection.cluster.brokers and is_of_topic:
        projection.cluster.brokers[stop.broker].replicas.apply(stop.request, projection.clock, 0)


@STEPS.of("UpdateMetadataAgain")
def deliver_metadata_again(projection: Projection, controller: int, broker: int) -> None:
    """Send the live brokers again, as with the leader of another partition, and deliver the request."""
    sender, receiver = running(projection, controller), running(projection, broker)
    batch = sender.controller.batch
    batch.begin()
    batch.add_update_metadata([broker], [])
    batch.send()
    request = sender.in_flight(broker)
    assert request is not None
    hand_over(projection, sender, receiver, request, answered=True)


def hand_over_uncounted(projection: Projection, sender: BrokerProcess, receiver: BrokerProcess) -> None:
    """Deliver the requests at the head of a channel that the model does not have.

    In the model a list of live brokers that is sent again changes nothing, also on a broker that has restarted unseen; there
    UpdateMetadataAgain says that it arrives.
    """
    while (request := sender.in_flight(receiver.number)) is not None:
        if projection.counts(sender.number, receiver.number, request):
            return
        alive = receiver.replicas.alive
        hand_over(projection, sender, receiver, request, answered=True)
        if isinstance(request, UpdateMetadataRequest):
            receiver.replicas.alive = alive


def hand_over(projection: Projection, sender: BrokerProcess, receiver: BrokerProcess, request: Request, *, answered: bool) -> None:
    """Let a broker handle a request, and the sender its answer."""
    answer, _ = apply(projection, receiver, request)
    if answered:
        if isinstance(request, UpdateMetadataRequest):
            projection.note_announced(sender.number, receiver.number, live_in(request))
        sender.answered(receiver.number, request, answer)


def apply(projection: Projection, receiver: BrokerProcess, request: Request) -> tuple[ControllerResponse, bool]:
    """Let a broker handle a request; return the answer, and whether it took effect, which is recorded of an old generation."""
    replicas = receiver.replicas
    (partition,) = named_in(request)
    hosted = replicas.partitions.get(partition)
    before = replicas.controller_epoch, NO_EPOCH if hosted is None else hosted.leader_epoch
    answer = replicas.apply(request, projection.clock, 0)
    code = answer.partitions.get(partition, ErrorCode.NONE)
    has_effect = answer.error == ErrorCode.NONE and code == ErrorCode.NONE and took_effect(receiver, request)
    if has_effect:
        note_if_stale(projection, receiver, request, *before)
        if isinstance(request, LeaderAndIsrRequest):
            projection.note_learned(receiver.number, True)
    return answer, has_effect


def took_effect(receiver: BrokerProcess, request: Request) -> bool:
    """Whether a request that was not refused has changed something, or could have."""
    (partition,) = named_in(request)
    if isinstance(request, LeaderAndIsrRequest):
        return receiver.replicas.partitions[partition].leader_epoch == request.partitions[partition].leadership.leader_epoch
    if isinstance(request, StopReplicaRequest) and not request.partitions[partition].delete:
        return receiver.replicas.role_of(partition) != Role.NONE
    return True


def note_if_stale(
    projection: Projection, receiver: BrokerProcess, request: Request, controller_epoch: int, leader_epoch: int
) -> None:
    """Record the first request that took effect after the broker had received a newer generation."""
    number = receiver.number
    if projection.stale[number] != Stale.NOTHING:
        return
    if request.controller_epoch < controller_epoch:
        projection.stale[number] = Stale.CONTROLLER_EPOCH
    elif projection.epoch_of(number, request.broker_epoch) < projection.epoch_of(number, receiver.epoch):
        projection.stale[number] = Stale.BROKER_EPOCH
    elif not isinstance(request, UpdateMetadataRequest):
        (state,) = request.partitions.values()
        epoch = state.leader_epoch if isinstance(request, StopReplicaRequest) else state.leadership.leader_epoch  # type: ignore[union-attr]
        if NO_EPOCH < epoch < leader_epoch:
            projection.stale[number] = Stale.LEADER_EPOCH
