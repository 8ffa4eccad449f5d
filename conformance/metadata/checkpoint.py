"""An image as a snapshot in Kafka's format, a `.checkpoint`: a header, the records that make the image, a footer.

The order of kinds is Kafka's; that of topics and settings, which Kafka takes from hash maps, is by name here.

Source: Kafka 3.9 ImageWriter.java, RecordsSnapshotWriter.java, PartitionRegistration.toRecord, BrokerRegistration.toRecord.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.shapes import FoldedBroker, FoldedPartition
from kafka_spec.impl.kraft.record_decoders import encode_fields
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.kraft.snapshots import SnapshotWriter

DIRECTORIES_FROM, ELR_FROM = 17, 23
"""The metadata versions (3.7-IV2, 4.0-IV1) from which a partition's record has directories, and an ELR."""
SIGNED = struct.Struct(">qq")
"""A directory's id as Uuid.compareTo has it: two signed numbers."""
KEY_OF = {schema.name: key for key, schema in SCHEMAS.items()}
OTHER_ORDER = (27, 14, 15, 21, 18, 11, 10)
"""The kinds that the image keeps as they are: controllers come before topics, the others after settings."""


def checkpoint_of(image: Image, epoch: int, when: int) -> bytes:
    """Return an image as the bytes of a snapshot; `epoch` is that of the last record, `when` its time."""
    writer = SnapshotWriter(epoch, when)
    writer.begin(*((key, image.quorum[key]) for key in keys.QUORUM_RECORDS if key in image.quorum))
    writer.records(encode_fields(key, record) for key, record in records_of(image))
    writer.end()
    return bytes(writer.data)


def records_of(image: Image) -> Iterator[tuple[int, Any]]:
    """Yield the records that make an image, with their keys."""
    features = sorted(image.features.items(), key=lambda one: (one[0] != keys.METADATA_VERSION, one[0]))
    for name, level in features:
        yield keys.FEATURE, SCHEMAS[keys.FEATURE].plain(name=name, feature_level=level)
    for _, broker in sorted(image.brokers.items()):
        yield keys.REGISTER_BROKER, _registration(broker)
    others: dict[int, list[Any]] = {}
    for _, record in sorted(image.others.items(), key=lambda one: repr(one[0])):
        others.setdefault(KEY_OF[type(record).__name__], []).append(record)
    yield from ((keys.REGISTER_CONTROLLER, record) for record in others.get(keys.REGISTER_CONTROLLER, []))
    version = 2 if image.metadata_version >= ELR_FROM else 1 if image.metadata_version >= DIRECTORIES_FROM else 0
    for name, topic_id in sorted(image.ids.items()):
        yield keys.TOPIC, SCHEMAS[keys.TOPIC].plain(name=name, topic_id=topic_id)
        for _, partition in sorted(image.topics[topic_id].items()):
            yield keys.PARTITION, _partition(partition, version)
    for (kind, resource), settings in sorted(image.configs.items()):
        for name, value in sorted(settings.items()):
            yield (
                keys.CONFIG,
                SCHEMAS[keys.CONFIG].plain(resource_type=kind, resource_name=resource, name=name, value=value),
            )
    for key in OTHER_ORDER[1:]:
        for record in others.get(key, []):
            yield key, _producer_ids(record) if key == keys.PRODUCER_IDS_KEY else record


def _registration(broker: FoldedBroker) -> Any:
    return broker.record._replace(
        fenced=broker.fenced,
        in_controlled_shutdown=broker.stops,
        log_dirs=_in_order(broker.directories),
        cordoned_log_dirs=None if broker.cordoned is None else _in_order(broker.cordoned),
    )


def _in_order(directories: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(sorted(directories, key=SIGNED.unpack))


def _partition(partition: FoldedPartition, version: int) -> Any:
    shape = partition.shape
    return SCHEMAS[keys.PARTITION].plain(
        schema_version=version,
        partition_id=partition.number,
        topic_id=partition.topic_id,
        replicas=shape.replicas,
        isr=shape.isr,
        removing_replicas=shape.removing,
        adding_replicas=shape.adding,
        leader=shape.leader,
        leader_recovery_state=shape.recovery,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if version else SCHEMAS[keys.PARTITION].plain().directories,
        eligible_leader_replicas=shape.elr or None,
        last_known_elr=shape.last_known or None,
    )


def _producer_ids(record: Any) -> Any:
    """Return the next producer id without the broker that asked (ProducerIdsImage.write)."""
    return record._replace(broker_id=-1, broker_epoch=-1)
