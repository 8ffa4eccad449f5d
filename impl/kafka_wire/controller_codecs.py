"""The requests of a controller, and those to it, as fields of Kafka's wire protocol.

Source: Kafka 2.8 LeaderAndIsrRequest.json, UpdateMetadataRequest.json, StopReplicaRequest.json, ControlledShutdownRequest.json,
AlterIsrRequest.json and their responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.impl.kafka_wire.topics import by_topic_and_id, code_of, ids_of, topic_of
from kafka_spec.impl.protocol.controller_requests import (
    NO_EPOCH,
    NO_LEADER,
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.data_requests import (
    AllocateProducerIdsRequest,
    AlterIsrRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.responses import AllocateProducerIdsResponse, AlterIsrResponse, ControllerResponse
from kafka_spec.impl.protocol.topic_ids import names_found
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Fields = Mapping[str, Any]
NOT_SAID = 0
"""Whether a request names all partitions or some: controllers on ZooKeeper do not say it."""
RECOVERED = 0
"""The recovery state of a leader (KIP-704); controllers here know no other."""
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The security protocols by their ids (SecurityProtocol.java)."""


def _head(request: Request) -> dict[str, Any]:
    return {
        "controller_id": request.controller,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "is_k_raft_controller": False,
        "type_": NOT_SAID,
    }


def _leadership(partition: TopicPartition, held: Leadership, version: str) -> dict[str, Any]:
    return {
        "partition_index": partition.partition,
        "controller_epoch": held.controller_epoch,
        "leader": held.leader,
        "leader_epoch": held.leader_epoch,
        "isr": held.isr,
        version: held.version,
    }


def _topics(request: Request, states: Mapping[TopicPartition, Fields]) -> Fields:
    ids = {} if isinstance(request, StopReplicaRequest) else request.topic_ids
    return {**_head(request), "topic_states": by_topic_and_id(states, ids, "topic_name", "partition_states")}


def leader_and_isr_fields(request: LeaderAndIsrRequest) -> Fields:
    """Return the fields of a LeaderAndIsr request."""
    states = {
        partition: {
            **_leadership(partition, state.leadership, "partition_epoch"),
            "replicas": state.replicas,
            "adding_replicas": state.adding,
            "removing_replicas": state.removing,
            "is_new": state.is_new,
            "leader_recovery_state": RECOVERED,
        }
        for partition, state in request.partitions.items()
    }
    leaders = [
        {"broker_id": one.number, "host_name": one.endpoints[0].host, "port": one.endpoints[0].port} for one in request.live_leaders
    ]
    return {**_topics(request, states), "live_leaders": leaders}


def leader_and_isr_of(entity: Any) -> LeaderAndIsrRequest:
    """Return the LeaderAndIsr request of an entity."""
    states = {
        TopicPartition(topic.topic_name, one.partition_index): LeaderAndIsrState(
            Leadership(one.leader, one.leader_epoch, tuple(one.isr), one.partition_epoch, one.controller_epoch),
            tuple(one.replicas),
            one.is_new,
            tuple(one.adding_replicas),
            tuple(one.removing_replicas),
        )
        for topic in entity.topic_states
        for one in topic.partition_states
    }
    leaders = tuple(BrokerRegistration(one.broker_id, (Endpoint(one.host_name, one.port),)) for one in entity.live_leaders)
    ids = ids_of(entity.topic_states, "topic_name")
    return LeaderAndIsrRequest(entity.controller_id, entity.controller_epoch, entity.broker_epoch, states, leaders, ids)


def update_metadata_fields(request: UpdateMetadataRequest) -> Fields:
    """Return the fields of an UpdateMetadata request."""
    states = {
        partition: {
            **_leadership(partition, state.leadership, "zk_version"),
            "replicas": state.replicas,
            "offline_replicas": state.offline_replicas,
        }
        for partition, state in request.partitions.items()
    }
    brokers = [
        {"id_": broker.number, "rack": broker.rack, "endpoints": [_endpoint(one) for one in broker.endpoints]}
        for broker in request.live_brokers
    ]
    return {**_topics(request, states), "live_brokers": brokers}


def _endpoint(endpoint: Endpoint) -> Fields:
    protocol = PROTOCOLS.index(endpoint.protocol)
    return {"port": endpoint.port, "host": endpoint.host, "listener": endpoint.listener, "security_protocol": protocol}


def update_metadata_of(entity: Any) -> UpdateMetadataRequest:
    """Return the UpdateMetadata request of an entity.

    Raises:
        ValueError: a security protocol is unknown.
    """
    states = {
        TopicPartition(topic.topic_name, one.partition_index): UpdateMetadataState(
            Leadership(one.leader, one.leader_epoch, tuple(one.isr), one.zk_version, one.controller_epoch),
            tuple(one.replicas),
            tuple(one.offline_replicas),
        )
        for topic in entity.topic_states
        for one in topic.partition_states
    }
    brokers = tuple(BrokerRegistration(one.id_, tuple(map(_endpoint_of, one.endpoints)), one.rack) for one in entity.live_brokers)
    ids = ids_of(entity.topic_states, "topic_name")
    return UpdateMetadataRequest(entity.controller_id, entity.controller_epoch, entity.broker_epoch, states, brokers, ids)


def _endpoint_of(entity: Any) -> Endpoint:
    if not 0 <= entity.security_protocol < len(PROTOCOLS):
        raise ValueError(f"there is no security protocol {entity.security_protocol}")
    return Endpoint(entity.host, entity.port, entity.listener, PROTOCOLS[entity.security_protocol])


def stop_replica_fields(request: StopReplicaRequest) -> Fields:
    """Return the fields of a StopReplica request."""
    states = {
        partition: {
            "partition_index": partition.partition,
            "leader_epoch": state.leader_epoch,
            "delete_partition": state.delete,
        }
        for partition, state in request.partitions.items()
    }
    return _topics(request, states)


def stop_replica_of(entity: Any) -> StopReplicaRequest:
    """Return the StopReplica request of an entity."""
    states = {
        TopicPartition(topic.topic_name, one.partition_index): StopReplicaState(one.leader_epoch, one.delete_partition)
        for topic in entity.topic_states
        for one in topic.partition_states
    }
    return StopReplicaRequest(entity.controller_id, entity.controller_epoch, entity.broker_epoch, states)


def partition_errors(answer: ControllerResponse, request: LeaderAndIsrRequest | StopReplicaRequest) -> Fields:
    """Return the fields of the answer to LeaderAndIsr or StopReplica; that to LeaderAndIsr 5 and later has topics by their ids."""
    errors = {
        p: {"topic_name": p.topic, "partition_index": p.partition, "error_code": int(code)} for p, code in answer.partitions.items()
    }
    ids = {} if isinstance(request, StopReplicaRequest) else request.topic_ids
    topics = by_topic_and_id(errors, ids, "topic_name", "partition_errors")
    return {"error_code": int(answer.error), "partition_errors": list(errors.values()), "topics": topics}


def partition_errors_of(entity: Any, request: LeaderAndIsrRequest | StopReplicaRequest) -> ControllerResponse:
    """Return the answer to LeaderAndIsr or StopReplica."""
    if not hasattr(entity, "topics"):
        errors = {TopicPartition(one.topic_name, one.partition_index): code_of(one.error_code) for one in entity.partition_errors}
        return ControllerResponse(code_of(entity.error_code), errors)
    assert isinstance(request, LeaderAndIsrRequest)
    reported = {
        TopicPartition(topic_of(topic, "topic_name"), one.partition_index): code_of(one.error_code)
        for topic in entity.topics
        for one in topic.partition_errors
    }
    names = names_found(reported, request.topic_ids)
    return ControllerResponse(code_of(entity.error_code), {names[p]: code for p, code in reported.items()})


def error_fields(answer: ControllerResponse, _: object) -> Fields:
    """Return the fields of the answer to UpdateMetadata."""
    return {"error_code": int(answer.error)}


def error_of(entity: Any, _: object) -> ControllerResponse:
    """Return the answer to UpdateMetadata."""
    return ControllerResponse(code_of(entity.error_code))


def controlled_shutdown_fields(request: ControlledShutdownRequest) -> Fields:
    """Return the fields of a ControlledShutdown request."""
    return {"broker_id": request.broker, "broker_epoch": request.broker_epoch}


def controlled_shutdown_of(entity: Any) -> ControlledShutdownRequest:
    """Return the ControlledShutdown request of an entity."""
    return ControlledShutdownRequest(entity.broker_id, entity.broker_epoch)


def remaining_fields(answer: ControlledShutdownResponse, _: object) -> Fields:
    """Return the fields of the answer to ControlledShutdown."""
    remaining = [{"topic_name": p.topic, "partition_index": p.partition} for p in answer.remaining]
    return {"error_code": int(answer.error), "remaining_partitions": remaining}


def alter_isr_fields(request: AlterIsrRequest) -> Fields:
    """Return the fields of an AlterPartition request, up to version 2."""
    partitions = {
        partition: {
            "partition_index": partition.partition,
            "leader_epoch": wanted.leader_epoch,
            "new_isr": wanted.isr,
            "leader_recovery_state": RECOVERED,
            "partition_epoch": wanted.version,
        }
        for partition, wanted in request.partitions.items()
    }
    topics = by_topic_and_id(partitions, request.topic_ids, "topic_name", "partitions")
    return {"broker_id": request.broker, "broker_epoch": request.broker_epoch, "topics": topics}


def altered_isr_of(entity: Any, request: AlterIsrRequest) -> AlterIsrResponse:
    """Return the answer to AlterPartition."""
    reported = {
        TopicPartition(topic_of(topic, "topic_name"), one.partition_index): _answered(one)
        for topic in entity.topics
        for one in topic.partitions
    }
    names = names_found(reported, request.topic_ids)
    return AlterIsrResponse(code_of(entity.error_code), {names[p]: answer for p, answer in reported.items()})


def _answered(entity: Any) -> ErrorCode | Leadership:
    code = code_of(entity.error_code)
    if code != ErrorCode.NONE:
        return code
    return Leadership(entity.leader_id, entity.leader_epoch, tuple(entity.isr), entity.partition_epoch, NO_EPOCH)


def alter_isr_of(entity: Any) -> AlterIsrRequest:
    """Return the AlterPartition request of an entity; in version 0 it is called AlterIsr.

    From version 2 on topics have ids and no names. Version 3 has the broker epoch of each member, which only KRaft compares.
    """
    proposals = {
        TopicPartition(topic_of(topic, "topic_name"), one.partition_index): Leadership(
            entity.broker_id, one.leader_epoch, _proposed(one), one.partition_epoch, NO_EPOCH
        )
        for topic in entity.topics
        for one in topic.partitions
    }
    return AlterIsrRequest(entity.broker_id, entity.broker_epoch, proposals)


def _proposed(entity: Any) -> tuple[int, ...]:
    if hasattr(entity, "new_isr"):
        return tuple(entity.new_isr)
    return tuple(member.broker_id for member in entity.new_isr_with_epochs)


def altered_isr_fields(answer: AlterIsrResponse, _: object) -> Fields:
    """Return the fields of the answer to AlterPartition."""
    partitions = {partition: _altered(partition, one) for partition, one in answer.partitions.items()}
    topics = by_topic_and_id(partitions, {}, "topic_name", "partitions")
    return {"throttle_time": 0, "error_code": int(answer.error), "topics": topics}


def _altered(partition: TopicPartition, answer: ErrorCode | Leadership) -> Fields:
    if not isinstance(answer, Leadership):
        none = {
            "leader_id": NO_LEADER,
            "leader_epoch": NO_EPOCH,
            "isr": (),
            "leader_recovery_state": RECOVERED,
            "partition_epoch": NO_EPOCH,
        }
        return {"partition_index": partition.partition, "error_code": int(answer), **none}
    return {
        "partition_index": partition.partition,
        "error_code": int(ErrorCode.NONE),
        "leader_id": answer.leader,
        "leader_epoch": answer.leader_epoch,
        "isr": answer.isr,
        "leader_recovery_state": RECOVERED,
        "partition_epoch": answer.version,
    }


def remaining_of(entity: Any, _: object) -> ControlledShutdownResponse:
    """Return the answer to ControlledShutdown."""
    remaining = tuple(TopicPartition(one.topic_name, one.partition_index) for one in entity.remaining_partitions)
    return ControlledShutdownResponse(code_of(entity.error_code), remaining)


def allocate_producer_ids_of(entity: Any) -> AllocateProducerIdsRequest:
    """Return the AllocateProducerIds request of an entity."""
    return AllocateProducerIdsRequest(entity.broker_id, entity.broker_epoch)


def producer_ids_fields(answer: AllocateProducerIdsResponse, _: object) -> Fields:
    """Return the fields of the answer to AllocateProducerIds."""
    reported = {"producer_id_start": answer.start, "producer_id_len": answer.count}
    return {"throttle_time": 0, "error_code": int(answer.error), **reported}
