"""The file in a replica's folder that tells the topic id, so that the log of a deleted topic is known as such.

Source: Kafka 3.9 PartitionMetadataFile.java, PartitionMetadata.java (KIP-516); Uuid.toString.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from uuid import UUID

NAME = "partition.metadata"


def write_topic_id(folder: Path, topic_id: UUID) -> None:
    """Write the file into a replica's folder."""
    text = urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    (folder / NAME).write_text(f"version: 0\ntopic_id: {text}\n", encoding="utf-8")


def read_topic_id(folder: Path) -> UUID | None:
    """Return the topic id of a replica's folder, None if there is no such folder or file, or it cannot be read."""
    try:
        lines = dict(line.split(": ", 1) for line in (folder / NAME).read_text(encoding="utf-8").splitlines())
        return UUID(bytes=urlsafe_b64decode(lines["topic_id"] + "=="))
    except (FileNotFoundError, ValueError, KeyError):
        return None
