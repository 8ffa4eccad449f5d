"""The requests of brokers to a controller of KRaft, as fields of Kafka's wire protocol.

A heartbeat has the offset of the last record that the broker has applied; here it is the offset after that.

Source: Kafka 4.4 BrokerRegistrationRequest.json, BrokerHeartbeatRequest.json, AlterPartitionRequest.json,
AssignReplicasToDirsRequest.json and their responses.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_spec.impl.kafka_wire.entities import NIL
from kafka_spec.impl.kafka_wire.topics import by_topic_and_id, topic_of
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, NO_LEADER
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerEndpoint,
    BrokerFeature,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ProposalAnswer,
    ProposalRequest,
    ProposedIsr,
)
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Fields = Mapping[str, Any]
RECOVERED = 0


def registration_of(entity: Any) -> BrokerRegistrationRequest:
    """Return the BrokerRegistration request of an entity; log directories come with version 2, the last broker epoch with 3."""
    return BrokerRegistrationRequest(
        entity.broker_id,
        entity.incarnation_id or NIL,
        getattr(entity, "previous_broker_epoch", NO_EPOCH),
        entity.cluster_id,
        tuple(BrokerEndpoint(one.name, one.host, one.port, one.security_protocol) for one in entity.listeners),
        tuple(BrokerFeature(one.name, one.min_supported_version, one.max_supported_version) for one in entity.features),
        entity.rack,
        tuple(one or NIL for one in getattr(entity, "log_dirs", ())),
    )


def registered_fields(answer: BrokerRegistrationResponse, _: object) -> Fields:
    """Return the fields of the answer to BrokerRegistration."""
    return {"throttle_time": 0, "error_code": int(answer.error), "broker_epoch": answer.broker_epoch}


def heartbeat_of(entity: Any) -> BrokerHeartbeatRequest:
    """Return the BrokerHeartbeat request of an entity; offline log directories come with version 1."""
    return BrokerHeartbeatRequest(
        entity.broker_id,
        entity.broker_epoch,
        entity.current_metadata_offset + 1,
        entity.want_fence,
        entity.want_shut_down,
        tuple(one or NIL for one in getattr(entity, "offline_log_dirs", ())),
    )


def heartbeat_fields(answer: BrokerHeartbeatResponse, _: object) -> Fields:
    """Return the fields of the answer to BrokerHeartbeat."""
    return {
        "throttle_time": 0,
        "error_code": int(answer.error),
        "is_caught_up": answer.is_caught_up,
        "is_fenced": answer.is_fenced,
        "should_shut_down": answer.should_shut_down,
    }


def proposals_of(entity: Any) -> ProposalRequest:
    """Return the AlterPartition request of an entity; below version 3 members have no broker epochs."""
    proposals = {
        TopicPartition(topic_of(topic, "topic_name"), one.partition_index): ProposedIsr(
            one.leader_epoch,
            one.partition_epoch,
            _members(one),
            text_of(topic.topic_id or NIL),
            getattr(one, "leader_recovery_state", RECOVERED),
        )
        for topic in entity.topics
        for one in topic.partitions
    }
    return ProposalRequest(entity.broker_id, entity.broker_epoch, proposals)


def _members(entity: Any) -> tuple[tuple[int, int], ...]:
    if hasattr(entity, "new_isr"):
        return tuple((broker, NO_EPOCH) for broker in entity.new_isr)
    return tuple((member.broker_id, member.broker_epoch) for member in entity.new_isr_with_epochs)


def proposals_answered_fields(answer: ProposalAnswer, request: ProposalRequest) -> Fields:
    """Return the fields of the answer to AlterPartition; a success says that the sender leads."""
    states = {partition: _altered(partition, one, request.broker) for partition, one in answer.partitions.items()}
    topics = by_topic_and_id(states, {}, "topic_name", "partitions")
    return {"throttle_time": 0, "error_code": int(answer.error), "topics": topics}


def _altered(partition: TopicPartition, answer: AlteredPartition, leader: int) -> Fields:
    return {
        "partition_index": partition.partition,
        "error_code": int(answer.error),
        "leader_id": NO_LEADER if answer.error else leader,
        "leader_epoch": answer.leader_epoch,
        "isr": answer.isr,
        "leader_recovery_state": RECOVERED,
        "partition_epoch": answer.partition_epoch,
    }


def assigned_directories_of(entity: Any) -> AssignReplicasToDirsRequest:
    """Return the AssignReplicasToDirs request of an entity."""
    directories = {
        (topic.topic_id or NIL, one.partition_index): directory.id_ or NIL
        for directory in entity.directories
        for topic in directory.topics
        for one in topic.partitions
    }
    return AssignReplicasToDirsRequest(entity.broker_id, entity.broker_epoch, directories)


def directories_answered_fields(answer: AssignReplicasToDirsResponse, request: AssignReplicasToDirsRequest) -> Fields:
    """Return the fields of the answer to AssignReplicasToDirs."""
    directories = [
        {"id_": directory, "topics": _replicas(replicas, answer)} for directory, replicas in _by_directory(request).items()
    ]
    return {"throttle_time": 0, "error_code": int(answer.error), "directories": [] if answer.error else directories}


def _by_directory(request: AssignReplicasToDirsRequest) -> dict[uuid.UUID, list[tuple[uuid.UUID, int]]]:
    found: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = {}
    for replica, directory in request.directories.items():
        found.setdefault(directory, []).append(replica)
    return found


def _replicas(replicas: Iterable[tuple[uuid.UUID, int]], answer: AssignReplicasToDirsResponse) -> list[Fields]:
    topics: dict[uuid.UUID, list[Fields]] = {}
    for topic_id, number in replicas:
        code = int(answer.replicas[topic_id, number])
        topics.setdefault(topic_id, []).append({"partition_index": number, "error_code": code})
    return [{"topic_id": topic_id, "partitions": partitions} for topic_id, partitions in topics.items()]
