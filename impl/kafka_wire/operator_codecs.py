"""The requests of operators to a controller of KRaft, as fields of Kafka's wire protocol.

Source: Kafka 4.4 CreateTopicsRequest.json, DeleteTopicsRequest.json, CreatePartitionsRequest.json,
IncrementalAlterConfigsRequest.json, ElectLeadersRequest.json, AlterPartitionReassignmentsRequest.json,
ListPartitionReassignmentsRequest.json and their responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.impl.kafka_wire.topics import by_topic
from kafka_spec.impl.protocol.data_requests import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    PartitionTarget,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.operator_requests import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigResource,
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    MorePartitions,
    NewTopic,
    OperationResult,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from kafka_spec.impl.protocol.responses import (
    AlterPartitionReassignmentsResponse,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
)
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Fields = Mapping[str, Any]
PREFERRED = 0
"""The type of an election that is not unclean."""
SET, DELETE = 0, 1
"""The operations on a setting; the others are for lists."""


def _said(result: OperationResult) -> Fields:
    return {"error_code": int(result.error), "error_message": result.reason}


def _code(partition: TopicPartition, field: str, error: ErrorCode) -> Fields:
    return {field: partition.partition, "error_code": int(error), "error_message": None}


# Topics


def create_topics_of(entity: Any) -> CreateTopicsRequest:
    """Return the CreateTopics request of an entity."""
    return CreateTopicsRequest(tuple(map(_new_topic, entity.topics)), entity.validate_only)


def _new_topic(entity: Any) -> NewTopic:
    assignment = {one.partition_index: tuple(one.broker_ids) for one in entity.assignments}
    configs = {one.name: one.value for one in entity.configs}
    return NewTopic(entity.name, entity.num_partitions, entity.replication_factor, assignment or None, configs)


def created_topics_fields(answer: CreateTopicsResponse, _: object) -> Fields:
    """Return the fields of the answer to CreateTopics."""
    return {"throttle_time": 0, "topics": [_created(name, one) for name, one in answer.topics.items()]}


def _created(name: str, topic: CreatedTopic) -> Fields:
    size = {"num_partitions": topic.partitions, "replication_factor": topic.replication_factor}
    return {"name": name, "topic_id": topic.topic_id, **_said(topic.result), "topic_config_error_code": 0, **size, "configs": ()}


def delete_topics_of(entity: Any) -> DeleteTopicsRequest:
    """Return the DeleteTopics request of an entity; below version 6 topics have names alone."""
    if hasattr(entity, "topic_names"):
        return DeleteTopicsRequest(tuple(entity.topic_names))
    return DeleteTopicsRequest(tuple(one.topic_id if one.name is None else one.name for one in entity.topics))


def deleted_topics_fields(answer: DeleteTopicsResponse, _: object) -> Fields:
    """Return the fields of the answer to DeleteTopics."""
    return {
        "throttle_time": 0,
        "responses": [{"name": one.name, "topic_id": one.topic_id, **_said(one.result)} for one in answer.topics],
    }


def create_partitions_of(entity: Any) -> CreatePartitionsRequest:
    """Return the CreatePartitions request of an entity."""
    topics = tuple(MorePartitions(one.name, one.count, _new_replicas(one.assignments)) for one in entity.topics)
    return CreatePartitionsRequest(topics, entity.validate_only)


def _new_replicas(assignments: Any) -> tuple[tuple[int, ...], ...] | None:
    return None if assignments is None else tuple(tuple(one.broker_ids) for one in assignments)


def created_partitions_fields(answer: CreatePartitionsResponse, _: object) -> Fields:
    """Return the fields of the answer to CreatePartitions."""
    return {"throttle_time": 0, "results": [{"name": name, **_said(one)} for name, one in answer.topics.items()]}


# Brokers


def unregister_broker_of(entity: Any) -> UnregisterBrokerRequest:
    """Return the UnregisterBroker request of an entity."""
    return UnregisterBrokerRequest(entity.broker_id)


def unregistered_broker_fields(answer: UnregisterBrokerResponse, _: object) -> Fields:
    """Return the fields of the answer to UnregisterBroker."""
    return {"throttle_time": 0, **_said(answer.result)}


# Settings


def alter_configs_of(entity: Any) -> AlterConfigsRequest:
    """Return the IncrementalAlterConfigs request of an entity."""
    changes, refused = {}, []
    for one in entity.resources:
        resource = ConfigResource(one.resource_type, one.resource_name)
        if any(setting.config_operation not in (SET, DELETE) for setting in one.configs):
            refused.append(resource)
        else:
            changes[resource] = {
                setting.name: None if setting.config_operation == DELETE else setting.value for setting in one.configs
            }
    return AlterConfigsRequest(changes, tuple(refused), entity.validate_only)


def altered_configs_fields(answer: AlterConfigsResponse, _: object) -> Fields:
    """Return the fields of the answer to IncrementalAlterConfigs."""
    return {
        "throttle_time": 0,
        "responses": [
            {"resource_type": one.resource_type, "resource_name": one.name, **_said(result)}
            for one, result in answer.resources.items()
        ],
    }


# Partitions


def elect_leaders_of(entity: Any) -> ElectLeadersRequest:
    """Return the ElectLeaders request of an entity; version 0 knows preferred elections alone."""
    partitions = None
    if entity.topic_partitions is not None:
        partitions = tuple(TopicPartition(one.topic, number) for one in entity.topic_partitions for number in one.partitions)
    return ElectLeadersRequest(partitions, getattr(entity, "election_type", PREFERRED) != PREFERRED)


def elected_leaders_fields(answer: ElectLeadersResponse, _: object) -> Fields:
    """Return the fields of the answer to ElectLeaders."""
    results = {partition: _code(partition, "partition_id", error) for partition, error in answer.partitions.items()}
    topics = [{"topic": topic, "partition_result": of_topic} for topic, of_topic in by_topic(results)]
    return {"throttle_time": 0, "error_code": 0, "replica_election_results": topics}


def reassignments_of(entity: Any) -> AlterPartitionReassignmentsRequest:
    """Return the AlterPartitionReassignments request of an entity."""
    targets = tuple(
        PartitionTarget(TopicPartition(topic.name, one.partition_index), None if one.replicas is None else tuple(one.replicas))
        for topic in entity.topics
        for one in topic.partitions
    )
    return AlterPartitionReassignmentsRequest(targets, getattr(entity, "allow_replication_factor_change", True))


def reassignments_fields(answer: AlterPartitionReassignmentsResponse, request: AlterPartitionReassignmentsRequest) -> Fields:
    """Return the fields of the answer to AlterPartitionReassignments."""
    results = {partition: _code(partition, "partition_index", error) for partition, error in answer.partitions.items()}
    topics = [{"name": topic, "partitions": of_topic} for topic, of_topic in by_topic(results)]
    allowed = {"allow_replication_factor_change": request.allow_factor_change}
    return {"throttle_time": 0, **allowed, "error_code": 0, "error_message": None, "responses": topics}


def list_reassignments_of(entity: Any) -> ListPartitionReassignmentsRequest:
    """Return the ListPartitionReassignments request of an entity."""
    if entity.topics is None:
        return ListPartitionReassignmentsRequest()
    named = tuple(TopicPartition(topic.name, number) for topic in entity.topics for number in topic.partition_indexes)
    return ListPartitionReassignmentsRequest(named)


def listed_reassignments_fields(answer: ListPartitionReassignmentsResponse, _: object) -> Fields:
    """Return the fields of the answer to ListPartitionReassignments."""
    running = {
        partition: {
            "partition_index": partition.partition,
            "replicas": one.replicas,
            "adding_replicas": one.adding,
            "removing_replicas": one.removing,
        }
        for partition, one in answer.partitions.items()
    }
    topics = [{"name": topic, "partitions": of_topic} for topic, of_topic in by_topic(running)]
    return {"throttle_time": 0, "error_code": int(answer.error), "error_message": None, "topics": topics}
