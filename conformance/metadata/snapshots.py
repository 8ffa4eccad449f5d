"""Snapshots of the metadata log: read as images, compared with the image of the log, and written.

Source: Kafka 3.9 RecordsSnapshotReader.java, ImageWriter.java, Snapshots.java; KIP-630.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kafka_spec.conformance.metadata.batches import LogBatch, TornTail
from kafka_spec.conformance.metadata.image import PRODUCER_IDS, Image
from kafka_spec.conformance.metadata.shapes import bare
from kafka_spec.conformance.metadata.sources import batches_in
from kafka_spec.impl.kraft.control_records import VOTERS
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord


class DamagedSnapshot(ValueError):  # noqa: N818 - the name is the message
    """A snapshot cannot be read to its end."""


def image_of(path: Path) -> Image:
    """Return the image that a snapshot holds.

    Raises:
        DamagedSnapshot: it is torn, or a record of it cannot be read or applied.
    """
    return image_in(batches_in(path))


def image_in(batches: Iterable[LogBatch | TornTail]) -> Image:
    """Return the image that the batches of a snapshot hold.

    Raises:
        DamagedSnapshot: a batch is torn, or a record cannot be read or applied.
    """
    image = Image()
    for batch in batches:
        if isinstance(batch, TornTail):
            raise DamagedSnapshot(f"at byte {batch.place}: {batch.why}")
        take_snapshot_batch(image, batch)
    return image


def take_snapshot_batch(image: Image, batch: LogBatch) -> None:
    """Apply a batch of a snapshot.

    Raises:
        DamagedSnapshot: a record cannot be read or applied.
    """
    try:
        entries = batch.entries()
    except UnreadableRecord as error:
        raise DamagedSnapshot(str(error)) from None
    if batch.is_control:
        image.take_control(entries)
        return
    for entry in entries:
        if missing := image.apply(entry.key, entry.record):
            raise DamagedSnapshot(f"record {entry.offset} of it refers to {missing}")


def differences(mine: Image, theirs: Image) -> list[tuple[str, Any, Any]]:
    """Return what differs between two images: the subject, and its content in each."""
    found: list[tuple[str, Any, Any]] = []

    def compare(what: str, one: Mapping[Any, Any], other: Mapping[Any, Any], shown: Callable[[Any], str] = str) -> None:
        if one != other:
            for key in sorted(set(one) | set(other), key=repr):
                if one.get(key) != other.get(key):
                    found.append((f"{what} {shown(key)}".strip(), one.get(key), other.get(key)))

    compare("topic", mine.ids, theirs.ids)
    compare("partition", _partitions(mine), _partitions(theirs))
    compare("broker", _brokers(mine), _brokers(theirs))
    compare("configuration", mine.configs, theirs.configs, lambda key: key[1] or "of the cluster")
    compare("feature", mine.features, theirs.features)
    compare("", _others(mine), _others(theirs), lambda key: " ".join(map(str, key)))
    return found


def voters_of(image: Image) -> tuple[int, ...]:
    """Return the voters of the quorum by node id, none if no record names them."""
    record = image.quorum.get(VOTERS)
    return () if record is None else tuple(sorted(one.voter_id for one in record.voters))


def _partitions(image: Image) -> dict[str, Any]:
    return {image.name_of(partition): partition.content() for partition in image.all_partitions()}


def _brokers(image: Image) -> dict[int, Any]:
    return {number: broker.content() for number, broker in image.brokers.items()}


def _others(image: Image) -> dict[Any, Any]:
    """Return what the image keeps of other kinds; a snapshot has of producer ids the next one alone, and parts in any order."""
    found = {}
    for identity, record in image.others.items():
        if identity == PRODUCER_IDS:
            found[identity] = record.next_producer_id
        else:
            found[identity] = tuple(
                bare(value) if isinstance(value, tuple) and value and hasattr(value[0], "_fields") else value
                for value in record[1:-1]
            )
    return found
