"""Topics: the records with which an operator's request creates them, or adds partitions. Nothing is written here.

Source: Kafka 3.9 ReplicationControlManager.createTopics, createPartitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.reassignment import check_target
from kafka_spec.impl.kraft.records import TOPIC_CONFIG, ConfigRecord, MetadataRecord, PartitionRecord, TopicRecord
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
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
        KafkaError: TOPIC_ALREADY_EXISTS; see `_new_partition`.
    """
    if image.topic_id(name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} exists")
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
    return [_new_partition(image, number, topic_id, replicas, k) for number, replicas in assignment.items()]


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
    return PartitionRecord(number, topic_id, replicas, isr, isr[0], 0, 0)
