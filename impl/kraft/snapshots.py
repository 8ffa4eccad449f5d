"""Snapshots of the metadata log in Kafka's format, `.checkpoint`: a header, the records that make an image, a footer.

Source: Kafka 4.4 ImageWriter.java, RecordsSnapshotWriter.java, Snapshots.java; KIP-630.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from kafka_spec.impl.kraft.control_records import control_batch
from kafka_spec.impl.kraft.directories import METADATA_VERSION
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredBroker, RegisteredPartition
from kafka_spec.impl.kraft.record_codec import decode, encode
from kafka_spec.impl.kraft.record_schemas import CONTROL
from kafka_spec.impl.kraft.records import (
    BROKER_CONFIG,
    TOPIC_CONFIG,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.checkpoint import sync_folder
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import FetchSnapshotRequest, FetchSnapshotResponse, QuorumLeader, SnapshotId
from kafka_spec.spec.language.domain import NONE

HEADER, FOOTER = 3, 4
"""The types of control records at the ends of a snapshot."""
RECORDS_IN_BATCH = 1000
MOST_BYTES = 8 << 20
"""The largest part of a snapshot in one answer (KafkaRaftClient.MAX_BATCH_SIZE_BYTES)."""
NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
NO_BROKER = -1
"""Nobody: in a snapshot it does not matter who got the last block of producer ids (ProducerIdsImage.write)."""


class SnapshotWriter:
    """Writes batches one after another into `data`; `when` is the time of the last record, in milliseconds since 1970."""

    def __init__(self, epoch: int, when: int) -> None:
        self.data = bytearray()
        self._epoch, self._when, self._next = epoch, when, 0

    def begin(self, *more: tuple[int, Any]) -> None:
        """Write the header, and further control records with their types."""
        self._control((HEADER, CONTROL[HEADER].plain(version=0, last_contained_log_timestamp=self._when)), *more)

    def end(self) -> None:
        """Write the footer."""
        self._control((FOOTER, CONTROL[FOOTER].plain(version=0)))

    def records(self, records: Iterable[bytes]) -> None:
        """Write encoded records as batches."""
        stamped = ((self._when, None, record) for record in records)
        while held := list(islice(stamped, RECORDS_IN_BATCH)):
            self._write(batches.build(held), len(held))

    def _control(self, *records: tuple[int, Any]) -> None:
        self._write(control_batch(self._when, records), len(records))

    def _write(self, batch: bytearray, records: int) -> None:
        batches.stamp(batch, self._next, self._epoch)
        self._next += records
        self.data += batch


def snapshot_of(image: ClusterImage, epoch: int, when: int) -> bytes:
    """Return an image as the bytes of a snapshot; `epoch` is that of the last record, `when` its time."""
    writer = SnapshotWriter(epoch, when)
    writer.begin()
    writer.records(map(encode, records_of(image)))
    writer.end()
    return bytes(writer.data)


def records_of(image: ClusterImage) -> Iterator[MetadataRecord]:
    """Yield the records that make an image; that of metadata.version comes first."""
    for name, level in sorted(image.features.items(), key=lambda one: (one[0] != METADATA_VERSION, one[0])):
        yield FeatureLevelRecord(name, level)
    yield from (_registration(known) for _, known in sorted(image.brokers.items()))
    yield from (record for _, record in sorted(image.controllers.items()))
    for topic_id, name in image.topics.items():
        yield TopicRecord(name, topic_id)
        for partition, held in sorted(image.partitions.items()):
            if partition.topic == name:
                yield _partition(partition.partition, held)
    for kind, configs in ((TOPIC_CONFIG, image.configs), (BROKER_CONFIG, image.broker_configs)):
        for (resource, name), value in sorted(configs.items()):
            yield ConfigRecord(kind, resource, name, value)
    if image.next_producer_id:
        yield ProducerIdsRecord(NO_BROKER, NO_BROKER, image.next_producer_id)


def _registration(known: RegisteredBroker) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        known.broker,
        known.incarnation,
        known.epoch,
        known.end_points,
        known.features,
        known.rack,
        known.fenced,
        known.in_controlled_shutdown,
        known.log_dirs,
    )


def _partition(number: int, held: RegisteredPartition) -> PartitionRecord:
    return PartitionRecord(
        number,
        held.topic_id,
        held.replicas,
        held.isr,
        held.leader,
        held.leader_epoch,
        held.partition_epoch,
        held.removing,
        held.adding,
        held.recovery,
        eligible_leader_replicas=held.elr or None,
        last_known_elr=None if held.last_known == NONE else (held.last_known,),
        directories=held.directories,
    )


# Files


def newest_snapshot(folder: Path) -> SnapshotId | None:
    """Return the newest snapshot in the folder of a metadata log, None if there is none."""
    return max(snapshots_in(folder), default=None)


def snapshots_in(folder: Path) -> list[SnapshotId]:
    """Return the snapshots in the folder of a metadata log."""
    found = [NAME.fullmatch(path.name) for path in folder.glob("*.checkpoint")]
    return [SnapshotId(int(one[1]), int(one[2])) for one in found if one is not None]


def write_snapshot(folder: Path, snapshot: SnapshotId, data: bytes) -> None:
    """Write a snapshot, so that its file is there as a whole or not at all."""
    unfinished = folder / f"{snapshot.file}.part"
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / snapshot.file)
    sync_folder(folder)


def read_snapshot(folder: Path, snapshot: SnapshotId) -> ClusterImage:
    """Return the image that a snapshot holds.

    Raises:
        Corrupt: it is not a whole file of batches.
        UnreadableRecord: it has a record that is unknown here.
    """
    image = ClusterImage().after(map(decode, records_in((folder / snapshot.file).read_bytes())))
    return replace(image, end=snapshot.end)


def records_in(data: bytes) -> Iterator[bytes]:
    """Yield the records in the bytes of a snapshot, without control records.

    Raises:
        Corrupt: they are not whole batches.
    """
    held = [one for _, one in batches.split(data) if not batches.is_control(one)]
    yield from (record.value or b"" for one in held for record in batches.records(one))


def part_of_snapshot(folder: Path, request: FetchSnapshotRequest, leader: QuorumLeader) -> FetchSnapshotResponse:
    """Return a part of a snapshot in a folder, or why there is none (KafkaRaftClient.handleFetchSnapshotRequest)."""
    path = folder / request.snapshot.file
    if not path.exists():
        return FetchSnapshotResponse(ErrorCode.SNAPSHOT_NOT_FOUND, leader, request.snapshot)
    size = path.stat().st_size
    if not 0 <= request.position < size:
        return FetchSnapshotResponse(ErrorCode.POSITION_OUT_OF_RANGE, leader, request.snapshot)
    with path.open("rb") as file:
        file.seek(request.position)
        part = file.read(min(request.max_bytes, MOST_BYTES))
    return FetchSnapshotResponse(ErrorCode.NONE, leader, request.snapshot, size, request.position, part)
