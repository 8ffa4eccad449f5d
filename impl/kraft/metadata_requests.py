"""How brokers here get the metadata log: committed batches as records, without Kafka's wire protocol.

Source: Kafka 3.9 MetadataLoader.java.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.records import LogEntry


@dataclass(frozen=True)
class FetchMetadataRequest:
    """Fetch committed batches of the metadata log, which the sender has up to `end`."""

    broker: int
    end: int


@dataclass(frozen=True)
class FetchMetadataResponse:
    """The committed batches from there on, and the offset where each ends; before them a snapshot, if the log begins later."""

    batches: tuple[tuple[int, tuple[LogEntry, ...]], ...]
    snapshot: ClusterImage | None = None
