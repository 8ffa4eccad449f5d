"""Kafka's checkpoint files: a version, a count, and one entry a line; replaced atomically.

`replication-offset-checkpoint` (high watermarks) and `recovery-point-offset-checkpoint` are in the data folder, one
`leader-epoch-checkpoint` in each partition's, and `partition.metadata` with the topic's id, if it has one (2.8, KIP-516).

Source: Kafka 2.8 CheckpointFile.scala, OffsetCheckpointFile.scala, LeaderEpochCheckpointFile.scala, PartitionMetadataFile.scala.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kafka_spec.impl.protocol.topic_partition import TopicPartition

VERSION = 0
REPLICATION_OFFSETS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
TOPIC_ID = re.compile(r"version: 0\ntopic_id: ([-\w]{22})\n?")
WHITE = " \t\x0b\f"
BLANKS = f"[{WHITE}]+"


class CheckpointError(OSError):
    """A checkpoint file does not have Kafka's format; Kafka treats the folder as failed."""


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries, so that they survive a power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a checkpoint; a crash leaves either the old one or the new one, complete."""
    write_text(path, "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)))


def write_topic_id(folder: Path, topic_id: str) -> None:
    """Write the topic's id into the folder of a partition's log."""
    write_text(folder / PARTITION_METADATA, f"version: {VERSION}\ntopic_id: {topic_id}\n")


def read_topic_id(folder: Path) -> str | None:
    """Return the topic's id in the folder of a partition's log, None if there is none.

    Raises:
        CheckpointError: the file does not have Kafka's format.
    """
    try:
        text = (folder / PARTITION_METADATA).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    found = TOPIC_ID.fullmatch(text)
    if found is None:
        raise CheckpointError(f"{folder / PARTITION_METADATA} is not a partition's metadata of version {VERSION}: {text[:80]!r}")
    return found[1]


def write_text(path: Path, text: str) -> None:
    """Write a small file; a crash leaves either the old one or the new one, complete."""
    temporary = path.with_name(f"{path.name}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        left = text.encode()
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    temporary.replace(path)
    sync_folder(path.parent)


def read_lines(path: Path) -> list[str]:
    """Return the entries of a checkpoint; none if the file is missing, empty, or ends after the version (CheckpointFile.read).

    Raises:
        CheckpointError: the version is another, or the count is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path}: {error}") from None
    if lines[-1] == "":
        del lines[-1]
    try:
        if lines and _number(lines[0], 32) != VERSION:
            raise CheckpointError(f"{path}: version {lines[0]!r} is not {VERSION}")
        if len(lines) > 1 and _number(lines[1], 32) != len(lines) - 2:
            raise CheckpointError(f"{path}: {len(lines) - 2} entries, but the count is {lines[1]}")
    except ValueError:
        raise CheckpointError(f"{path}: {lines[:2]} are not a version and a count") from None
    return lines[2:]


def _words(line: str) -> list[str]:
    """Return the words of a line; blanks before the first one make an empty word, as in Java."""
    return re.split(BLANKS, line.rstrip(WHITE))


def _number(word: str, bits: int) -> int:
    """Return a number that fits into so many bits, as Java reads it.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch("[+-]?[0-9]+", word) or not -(1 << bits - 1) <= int(word) < 1 << bits - 1:
        raise ValueError(word)
    return int(word)


def write_offsets(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Write the offset of each partition."""
    write_lines(path, [f"{partition.topic} {partition.partition} {offset}" for partition, offset in sorted(offsets.items())])


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Return the offset of each partition.

    Raises:
        CheckpointError: see `read_lines`; or an entry is malformed.
    """
    offsets: dict[TopicPartition, int] = {}
    for line in read_lines(path):
        try:
            topic, partition, offset = _words(line)
            offsets[TopicPartition(topic, _number(partition, 32))] = _number(offset, 64)
        except ValueError:
            raise CheckpointError(f"{path}: {line!r} is not a topic, a partition and an offset") from None
    return offsets


def write_epochs(path: Path, entries: Sequence[tuple[int, int]]) -> None:
    """Write (epoch, start offset) entries."""
    write_lines(path, [f"{epoch} {start}" for epoch, start in entries])


def read_epochs(path: Path) -> list[tuple[int, int]]:
    """Return the (epoch, start offset) entries.

    Raises:
        CheckpointError: see `read_lines`; or an entry is malformed.
    """
    return decode_epochs(read_lines(path), path)


def decode_epochs(lines: Iterable[str], path: Path | str = LEADER_EPOCHS) -> list[tuple[int, int]]:
    """Return the (epoch, start offset) entries of some lines.

    Raises:
        CheckpointError: an entry is malformed.
    """
    entries = []
    for line in lines:
        try:
            epoch, start = _words(line)
            entries.append((_number(epoch, 32), _number(start, 64)))
        except ValueError:
            raise CheckpointError(f"{path}: {line!r} is not an epoch and an offset") from None
    return entries
