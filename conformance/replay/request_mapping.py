"""Maps controllers' requests of the model, which has one partition, to those of the implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kafka_spec.impl.controller.deletion import ReplicasDeleted
from kafka_spec.impl.protocol import controller_requests as requests
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.state import NO_EPOCH, Answer, Kind, LeaderIsrAndControllerEpoch, Request
from kafka_spec.spec.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.gates import LEADER_DURING_DELETE

PARTITION = TopicPartition("topic", 0)
"""The one partition of the model."""

MARK = UpdateMetadataState(Leadership(LEADER_DURING_DELETE, 0, (), 0, 0), (), ())
"""The partition in an UpdateMetadata that marks the topic as being deleted."""

Header: TypeAlias = tuple[int, int, int]
"""The controller, its epoch, and the broker epoch of the receiver."""


def registration(broker: int) -> BrokerRegistration:
    """Return how a broker registers."""
    return REGISTRATIONS[broker]


REGISTRATIONS = tuple(BrokerRegistration(number, (Endpoint("127.0.0.1", 9092 + number),)) for number in range(8))


def model_leadership(held: Leadership | None) -> LeaderIsrAndControllerEpoch:
    """Return the model's record of a leadership, also of None."""
    if held is None:
        return LeaderIsrAndControllerEpoch(NONE, NO_EPOCH, NO_BROKERS, 0, 0)
    return LeaderIsrAndControllerEpoch(held.leader, held.leader_epoch, held.members, held.version, held.controller_epoch)


def leadership(held: Any) -> Leadership | None:
    """Return the leadership of a record of the model, None if it has none."""
    if held.leader_epoch == NO_EPOCH:
        return None
    return Leadership(held.leader, held.leader_epoch, tuple(BrokerSet(held.isr)), held.version, held.controller_epoch)


def _read_leader_and_isr(request: LeaderAndIsrRequest) -> Mapping[str, Any]:
    held = request.partitions[PARTITION].leadership
    return {
        "leader": held.leader,
        "leader_epoch": held.leader_epoch,
        "isr": held.members,
        "version": held.version,
        "state_epoch": held.controller_epoch,
        "replicas": BrokerSet.of(request.partitions[PARTITION].replicas),
    }


def _leader_and_isr(header: Header, of_model: Request) -> LeaderAndIsrRequest:
    state = Leadership(
        of_model.leader, of_model.leader_epoch, tuple(BrokerSet(of_model.isr)), of_model.version, of_model.state_epoch
    )
    live = (registration(of_model.leader),) if of_model.leader != NONE else ()
    return LeaderAndIsrRequest(*header, {PARTITION: LeaderAndIsrState(state, tuple(BrokerSet(of_model.replicas)), False)}, live)


def _read_update_metadata(request: UpdateMetadataRequest) -> Mapping[str, Any]:
    leader = LEADER_DURING_DELETE if marks_topic(request) else NONE
    return {"leader": leader, "live": BrokerSet.of(broker.number for broker in request.live_brokers)}


def marks_topic(request: UpdateMetadataRequest) -> bool:
    """Whether an UpdateMetadata marks the topic as being deleted."""
    told = request.partitions.get(PARTITION)
    return told is not None and told.leadership.leader == LEADER_DURING_DELETE


def _update_metadata(header: Header, of_model: Request) -> UpdateMetadataRequest:
    told = {PARTITION: MARK} if of_model.leader == LEADER_DURING_DELETE else {}
    return UpdateMetadataRequest(*header, told, tuple(registration(broker) for broker in BrokerSet(of_model.live)))


def _read_stop_replica(request: StopReplicaRequest) -> Mapping[str, Any]:
    return {"leader_epoch": request.partitions[PARTITION].leader_epoch}


def _stop_replica(header: Header, of_model: Request) -> StopReplicaRequest:
    delete = of_model.kind == Kind.STOP_REPLICA_AND_DELETE
    return StopReplicaRequest(*header, {PARTITION: StopReplicaState(of_model.leader_epoch, delete)})


FORMS: Mapping[Kind, tuple[type, Callable[[Any], Mapping[str, Any]], Callable[[Header, Request], requests.Request]]] = {
    Kind.LEADER_AND_ISR: (LeaderAndIsrRequest, _read_leader_and_isr, _leader_and_isr),
    Kind.UPDATE_METADATA: (UpdateMetadataRequest, _read_update_metadata, _update_metadata),
    Kind.STOP_REPLICA: (StopReplicaRequest, _read_stop_replica, _stop_replica),
    Kind.STOP_REPLICA_AND_DELETE: (StopReplicaRequest, _read_stop_replica, _stop_replica),
}
"""For each kind in the model: the class of the request, a reader of its partition's fields, and a constructor from them."""


def kind_of(request: requests.Request) -> Kind:
    """Return the model's kind of a request; a StopReplica that deletes is a kind of its own."""
    if isinstance(request, StopReplicaRequest):
        return Kind.STOP_REPLICA_AND_DELETE if request.partitions[PARTITION].delete else Kind.STOP_REPLICA
    return Kind.LEADER_AND_ISR if isinstance(request, LeaderAndIsrRequest) else Kind.UPDATE_METADATA


def model_request(request: requests.Request, broker_epoch: int) -> Request:
    """Return the model's form of a request; the model counts the receiver's registrations."""
    kind = kind_of(request)
    said = {"leader": NONE, "leader_epoch": NO_EPOCH, "isr": NO_BROKERS, "version": 0, "state_epoch": 0}
    nobody = {"replicas": NO_BROKERS, "live": NO_BROKERS}
    return Request(int(kind), 0, request.controller_epoch, broker_epoch, **{**said, **nobody, **FORMS[kind][1](request)})


def real_request(of_model: Request, header: Header) -> requests.Request:
    """Return the implementation's form of a request of the model."""
    return FORMS[Kind(of_model.kind)][2](header, of_model)


def model_answer(event: ReplicasDeleted) -> Answer:
    """Return the model's form of an answer to a StopReplica of a topic that is being deleted."""
    if event.error != ErrorCode.NONE:
        return Answer.REFUSED
    return Answer.FAILED if event.partitions[PARTITION] != ErrorCode.NONE else Answer.DELETED


def real_answer(broker: int, answer: Answer) -> ReplicasDeleted:
    """Return the implementation's form of such an answer."""
    error = ErrorCode.STALE_CONTROLLER_EPOCH if answer == Answer.REFUSED else ErrorCode.NONE
    return ReplicasDeleted(broker, error, {PARTITION: ErrorCode.KAFKA_STORAGE_ERROR if answer == Answer.FAILED else error})
