"""Maps controllers' requests of the model, which are about one partition each, to those of the implementation.

A request of the implementation that names several partitions is as many of the model, in the order of the partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

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
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted
from kafka_spec.spec.decisions.fencing import LEADER_DURING_DELETE
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.messages import Answer, Kind, Request
from kafka_spec.spec.zookeeper.state import LeaderIsrAndControllerEpoch

TOPIC = "topic"
"""The one topic of the model."""

PARTITIONS = (TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1))
"""Its partitions, by their numbers."""

PARTITION = PARTITIONS[0]
"""The partition that each topic has."""

MARK = UpdateMetadataState(Leadership(LEADER_DURING_DELETE, 0, (), 0, 0), (), ())
"""The partition in an UpdateMetadata that marks the topic as being deleted."""

Header: TypeAlias = tuple[int, int, int]
"""The controller, its epoch, and the broker epoch of the receiver."""


def registration(broker: int) -> BrokerRegistration:
    """Return how a broker registers."""
    return REGISTRATIONS[broker]


REGISTRATIONS = tuple(BrokerRegistration(number, (Endpoint("127.0.0.1", 9092 + number),)) for number in range(8))


def in_order(brokers: BrokerSet, replicas: Sequence[int]) -> tuple[int, ...]:
    """Return the brokers of a set as Kafka orders those that are added and removed: as the replicas; others come last."""
    return tuple(sorted(BrokerSet(brokers), key=lambda broker: replicas.index(broker) if broker in replicas else len(replicas)))


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


def _read_leader_and_isr(request: LeaderAndIsrRequest, partition: TopicPartition) -> Mapping[str, Any]:
    held = request.partitions[partition].leadership
    return {
        "leader": held.leader,
        "leader_epoch": held.leader_epoch,
        "isr": held.members,
        "version": held.version,
        "state_epoch": held.controller_epoch,
        "replicas": BrokerSet.of(request.partitions[partition].replicas),
    }


def _leader_and_isr(header: Header, of_model: Request) -> LeaderAndIsrRequest:
    state = Leadership(
        of_model.leader, of_model.leader_epoch, tuple(BrokerSet(of_model.isr)), of_model.version, of_model.state_epoch
    )
    live = (registration(of_model.leader),) if of_model.leader != NONE else ()
    reported = LeaderAndIsrState(state, tuple(BrokerSet(of_model.replicas)), False)
    return LeaderAndIsrRequest(*header, {PARTITIONS[of_model.partition]: reported}, live)


def _read_update_metadata(request: UpdateMetadataRequest, partition: TopicPartition) -> Mapping[str, Any]:
    leader = LEADER_DURING_DELETE if marks_topic(request) else NONE
    return {"leader": leader, "live": BrokerSet.of(broker.number for broker in request.live_brokers)}


def marks_topic(request: UpdateMetadataRequest) -> bool:
    """Whether an UpdateMetadata marks the topic as being deleted."""
    return any(reported.leadership.leader == LEADER_DURING_DELETE for reported in request.partitions.values())


def _update_metadata(header: Header, of_model: Request) -> UpdateMetadataRequest:
    reported = dict.fromkeys(PARTITIONS, MARK) if of_model.leader == LEADER_DURING_DELETE else {}
    return UpdateMetadataRequest(*header, reported, tuple(registration(broker) for broker in BrokerSet(of_model.live)))


def _read_stop_replica(request: StopReplicaRequest, partition: TopicPartition) -> Mapping[str, Any]:
    return {"leader_epoch": request.partitions[partition].leader_epoch}


def _stop_replica(header: Header, of_model: Request) -> StopReplicaRequest:
    delete = of_model.kind == Kind.STOP_REPLICA_AND_DELETE
    return StopReplicaRequest(*header, {PARTITIONS[of_model.partition]: StopReplicaState(of_model.leader_epoch, delete)})


FORMS: Mapping[
    Kind, tuple[type, Callable[[Any, TopicPartition], Mapping[str, Any]], Callable[[Header, Request], requests.Request]]
] = {
    Kind.LEADER_AND_ISR: (LeaderAndIsrRequest, _read_leader_and_isr, _leader_and_isr),
    Kind.UPDATE_METADATA: (UpdateMetadataRequest, _read_update_metadata, _update_metadata),
    Kind.STOP_REPLICA: (StopReplicaRequest, _read_stop_replica, _stop_replica),
    Kind.STOP_REPLICA_AND_DELETE: (StopReplicaRequest, _read_stop_replica, _stop_replica),
}
"""For each kind in the model: the class of the request, a reader of its partition's fields, and a constructor from them."""


def named_in(request: requests.Request) -> list[TopicPartition]:
    """Return the partitions that a request is about; an UpdateMetadata is about the topic, and so about the first."""
    return [PARTITION] if isinstance(request, UpdateMetadataRequest) else sorted(request.partitions)


def kind_of(request: requests.Request, partition: TopicPartition) -> Kind:
    """Return the model's kind of a request; a StopReplica that deletes is a kind of its own."""
    if isinstance(request, StopReplicaRequest):
        return Kind.STOP_REPLICA_AND_DELETE if request.partitions[partition].delete else Kind.STOP_REPLICA
    return Kind.LEADER_AND_ISR if isinstance(request, LeaderAndIsrRequest) else Kind.UPDATE_METADATA


def model_requests(request: requests.Request, broker_epoch: int) -> list[Request]:
    """Return the model's form of a request: one for each partition; the model counts the receiver's registrations."""
    return [_model_request(request, partition, broker_epoch) for partition in named_in(request)]


def _model_request(request: requests.Request, partition: TopicPartition, broker_epoch: int) -> Request:
    kind = kind_of(request, partition)
    said = {"leader": NONE, "leader_epoch": NO_EPOCH, "isr": NO_BROKERS, "version": 0, "state_epoch": 0}
    nobody = {"replicas": NO_BROKERS, "live": NO_BROKERS}
    fields = {**said, **nobody, **FORMS[kind][1](request, partition)}
    return Request(int(kind), partition.partition, request.controller_epoch, broker_epoch, **fields)


def real_request(of_model: Request, header: Header) -> requests.Request:
    """Return the implementation's form of a request of the model."""
    return FORMS[Kind(of_model.kind)][2](header, of_model)


def model_answer(event: ReplicasDeleted, partition: TopicPartition) -> Answer:
    """Return the model's form of an answer, for one partition, to a StopReplica of a topic that is being deleted."""
    return Answer.FAILED if event.partitions[partition] != ErrorCode.NONE else Answer.DELETED


def real_answer(broker: int, partition: TopicPartition, answer: Answer) -> ReplicasDeleted:
    """Return the implementation's form of such an answer."""
    code = ErrorCode.KAFKA_STORAGE_ERROR if answer == Answer.FAILED else ErrorCode.NONE
    return ReplicasDeleted(broker, ErrorCode.NONE, {partition: code})
