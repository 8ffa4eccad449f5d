"""Settings of topics and brokers: the records with which an operator's request changes them. Nothing is written here.

Source: Kafka 4.4 ConfigurationControlManager.incrementalAlterConfigs, maybeGenerateElrSafetyRecords.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.records import (
    BROKER_CONFIG,
    TOPIC_CONFIG,
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
)
from kafka_spec.impl.kraft.topics import id_of
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN
from kafka_spec.impl.protocol.topic_checks import validate_config
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import Constants

EVERY_BROKER = ""
"""The broker whose settings are the default of all."""


def altered_config(
    image: ClusterImage, resource_type: int, name: str, values: Mapping[str, str | None], k: Constants
) -> list[MetadataRecord]:
    """Return the records of new values; None removes a setting.

    With eligible leader replicas, a change of min.insync.replicas empties the ELR of the topic, or of all (KAFKA-16540); in `fixed`
    not where there is no ISR, so that the changes of partitions are written one by one.

    Raises:
        KafkaError: UNKNOWN_TOPIC_OR_PARTITION; INVALID_REQUEST: neither a topic nor a broker is named; INVALID_CONFIG: a value is
            illegal, or a single broker should have a min.insync.replicas of its own.
    """
    validate_config({setting: value for setting, value in values.items() if value is not None})
    if resource_type == TOPIC_CONFIG:
        id_of(image, name)
    elif resource_type == BROKER_CONFIG:
        _check_broker(image, name, values, k)
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"resource type {resource_type}: only topics and brokers are configured here")
    records: list[MetadataRecord] = [ConfigRecord(resource_type, name, setting, value) for setting, value in values.items()]
    if MIN_ISR in values and k.elr == Checked.YES:
        keeps = k.elr_kept_without_isr == Checked.YES
        records += _cleared_beside_isr(image, name) if keeps else [ClearElrRecord(name)]
    return records


def _cleared_beside_isr(image: ClusterImage, topic: str) -> list[MetadataRecord]:
    """Return the changes that empty the ELR of a topic's partitions, or of all, that have an ISR."""
    return [
        PartitionChangeRecord(name.partition, held.topic_id, eligible_leader_replicas=(), last_known_elr=())
        for name, held in image.partitions.items()
        if topic in ("", name.topic) and held.isr and (held.elr or held.last_known != NONE)
    ]


def _check_broker(image: ClusterImage, name: str, values: Mapping[str, str | None], k: Constants) -> None:
    if name != EVERY_BROKER and not (name.isdecimal() and int(name) in image.brokers):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"broker {name!r} is not registered; name one that is, or none for all")
    if unknown := sorted(set(values) - {MIN_ISR, UNCLEAN}):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{unknown[0]} of brokers is not changed here; {MIN_ISR} and {UNCLEAN} are")
    if name != EVERY_BROKER and MIN_ISR in values and k.elr == Checked.YES:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{MIN_ISR} of a single broker has no meaning with eligible leader replicas")
