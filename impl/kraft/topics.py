"""Topics: the records with which an operator's request creates them, or adds partitions. Nothing is written here.

Source: Kafka 3.9 ReplicationControlManager.createTopics, createPartitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kafka_spec.impl.kraft.directories import directories_of
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.reassignment import check_target
from kafka_spec.impl.kraft.records import TOPIC_CONFIG, ConfigRecord, MetadataRecord, PartitionRecord, TopicRecord
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_checks import validate_apart, validate_config, validate_name
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.vocabulary.table import Constants

Assignment = Mapping[int, tuple[int, ...]]
"""The replicas of partitions, by their numbers."""


def id_of(image: ClusterImage, name: str) -> UUID:
    """Return the id of a topic.

    Raises:
        KafkaError: UNKNOWN_TOPIC_OR_PARTITION.
    """
    topic_id = image.topic_id(name)
    if topic_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
    return topic_id


def created_topic(
    image: ClusterImage, name: str, topic_id: UUID, assignment: Assignment, configs: Mapping[str, str], k: Constants
) -> list[MetadataRecord]:
    """Return the records of a new topic.

    Raises:
        KafkaError: INVALID_TOPIC_EXCEPTION: the name is illegal, or collides with another; TOPIC_ALREADY_EXISTS; INVALID_CONFIG;
            INVALID_PARTITIONS: there are none; INVALID_REPLICA_ASSIGNMENT: they are not numbered from 0 on; see `_new_partition`.
    """
    validate_name(name)
    if image.topic_id(name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} exists")
    validate_apart(name, {partition.topic for partition in image.partitions})
    validate_config(configs)
    if not assignment:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"topic {name} has no partitions")
    if sorted(assignment) != list(range(len(assignment))):
        reason = f"partitions should be a consecutive 0-based integer sequence, not {sorted(assignment)}"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    _check_factor(len(assignment[0]), assignment)
    records: list[MetadataRecord] = [TopicRecord(name, topic_id)]
    records += [ConfigRecord(TOPIC_CONFIG, name, key, value) for key, value in configs.items()]
    return [*records, *(_new_partition(image, number, topic_id, replicas, k) for number, replicas in assignment.items())]


def added_partitions(image: ClusterImage, name: str, assignment: Assignment, k: Constants) -> list[MetadataRecord]:
    """Return the records of new partitions of a topic.

    Raises:
        KafkaError: UNKNOWN_TOPIC_OR_PARTITION; INVALID_PARTITIONS: they do not continue the topic's; see `_new_partition`.
    """
    topic_id, count = id_of(image, name), sum(partition.topic == name for partition in image.partitions)
    if list(assignment) != list(range(count, count + len(assignment))):
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"topic {name} has {count} partitions")
    _check_factor(len(image.partitions[TopicPartition(name, 0)].replicas), assignment)
    return [_new_partition(image, number, topic_id, replicas, k) for number, replicas in assignment.items()]


def _check_factor(replicas: int, assignment: Assignment) -> None:
    """Check that each partition has so many replicas (validateManualPartitionAssignment).

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    for number, assigned in assignment.items():
        if len(assigned) != replicas:
            reason = f"partition {number} has {len(assigned)} replicas, which is not consistent with others, which have {replicas}"
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)


def _new_partition(image: ClusterImage, number: int, topic_id: UUID, replicas: tuple[int, ...], k: Constants) -> PartitionRecord:
    """Return the record of a new partition: the active replicas are its ISR, of which the first leads.

    Before 3.0 all replicas are (KAFKA-13083).

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    check_target(image, replicas)
    isr = replicas
    if k.new_isr_active == Checked.YES:
        isr = tuple(broker for broker in replicas if image.is_active(broker))
    if not isr:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"no replica of {replicas} is active")
    return PartitionRecord(number, topic_id, replicas, isr, isr[0], 0, 0, directories=directories_of(image, replicas))
