"""Steps of brokers that handle a controller's request."""

from __future__ import annotations

from kafka_spec.conformance.replay.controller_mapping import live_in
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.request_mapping import PARTITION
from kafka_spec.conformance.replay.steps import NotEnabled, Steps, running
from kafka_spec.impl.broker.broker_process import BrokerProcess
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, Request, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.spec.control.state import NO_EPOCH, Role, Stale

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


@STEPS.of("UpdateMetadataAgain")
def deliver_metadata_again(projection: Projection, controller: int, broker: int) -> None:
    """Send the live brokers again, as with the leader of another partition, and deliver the request."""
    sender, receiver = running(projection, controller), running(projection, broker)
    batch = sender.controller.batch
    batch.begin()
    batch.add_update_metadata([broker], [])
    batch.send()
    hand_over_uncounted(projection, sender, receiver)


def hand_over_uncounted(projection: Projection, sender: BrokerProcess, receiver: BrokerProcess) -> None:
    """Deliver the requests at the head of a channel that the model does not have."""
    while (request := sender.in_flight(receiver.number)) is not None:
        if projection.counts(sender.number, receiver.number, request):
            return
        hand_over(projection, sender, receiver, request, answered=True)


def hand_over(projection: Projection, sender: BrokerProcess, receiver: BrokerProcess, request: Request, *, answered: bool) -> None:
    """Let a broker handle a request; record whether it took effect though its generation is old."""
    replicas = receiver.replicas
    before = (
        replicas.controller_epoch,
        replicas.partitions[PARTITION].leader_epoch if PARTITION in replicas.partitions else NO_EPOCH,
    )
    answer = replicas.apply(request, 0, projection.clock)
    code = answer.partitions.get(PARTITION, ErrorCode.NONE)
    if answer.error == ErrorCode.NONE and code == ErrorCode.NONE and took_effect(receiver, request):
        note_if_stale(projection, receiver, request, *before)
        if isinstance(request, LeaderAndIsrRequest):
            projection.note_learned(receiver.number, True)
    if answered:
        if isinstance(request, UpdateMetadataRequest):
            projection.note_announced(sender.number, receiver.number, live_in(request))
        sender.answered(receiver.number, request, answer)


def took_effect(receiver: BrokerProcess, request: Request) -> bool:
    """Whether a request that was not refused has changed something, or could have."""
    if isinstance(request, LeaderAndIsrRequest):
        return receiver.replicas.partitions[PARTITION].leader_epoch == request.partitions[PARTITION].leadership.leader_epoch
    if isinstance(request, StopReplicaRequest) and not request.partitions[PARTITION].delete:
        return receiver.replicas.role_of(PARTITION) != Role.NONE
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
        state = request.partitions[PARTITION]
        epoch = state.leader_epoch if isinstance(request, StopReplicaRequest) else state.leadership.leader_epoch  # type: ignore[union-attr]
        if NO_EPOCH < epoch < leader_epoch:
            projection.stale[number] = Stale.LEADER_EPOCH
