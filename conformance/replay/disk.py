"""A replica's disk: the model's entries as record batches in the files of a log, and the starts of leader epochs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.log.log import PartitionLog


def entries_on(folder: str) -> tuple[tuple[int, int], ...]:
    """Return (record, epoch) of each entry of the log in a folder, from its files."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".log"))  # noqa: PTH208 - hot, and no Path
    except FileNotFoundError:
        return ()
    return _entries(b"".join([_content(f"{folder}/{name}") for name in names]))


def epochs_on(folder: str) -> tuple[tuple[int, int], ...]:
    """Return (epoch, start offset) of each leader epoch, from the checkpoint in a log's folder."""
    try:
        return _epochs(_content(f"{folder}/{checkpoint.LEADER_EPOCHS}"))
    except FileNotFoundError:
        return ()


@lru_cache(maxsize=1024)
def _epochs(data: bytes) -> tuple[tuple[int, int], ...]:
    return tuple(checkpoint.decode_epochs(data.decode().splitlines()[2:]))


def _content(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, 1 << 20)
    finally:
        os.close(handle)


@lru_cache(maxsize=1024)
def _entries(data: bytes) -> tuple[tuple[int, int], ...]:
    found = []
    for place, (batch, one) in enumerate(batches.split(data)):
        (record,) = batches.records(one)
        if record.offset != place or record.value is None:
            raise ValueError(f"the log has offset {record.offset} at place {place}")
        found.append((int(record.value), batch.epoch))
    return tuple(found)


@lru_cache(maxsize=64)
def batch_of(record: int) -> bytes:
    """Return a producer's batch with one record of the model."""
    return bytes(batches.build([(0, None, str(record).encode())]))


def stamped(record: int, offset: int, epoch: int) -> bytes:
    """Return a batch with one record of the model, as a leader has it in its log."""
    batch = bytearray(batch_of(record))
    batches.stamp(batch, offset, epoch)
    return bytes(batch)


def entry_in(data: bytes) -> tuple[int, int]:
    """Return (record, epoch) of the only record in a batch from a leader's log."""
    ((batch, one),) = batches.split(data)
    (record,) = batches.records(one)
    assert record.value is not None
    return int(record.value), batch.epoch


class ModelEntry(Protocol):
    """An entry in the log of a replica of a model."""

    record: int
    epoch: int


class ModelReplica(Protocol):
    """A replica of a model."""

    leader_epoch: int
    epoch_start: int

    @property
    def log(self) -> Sequence[ModelEntry]:
        """Its entries."""


@dataclass(frozen=True)
class Disk:
    """A replica's disk: (record, epoch) of each entry, and (epoch, start offset) of each leader epoch."""

    entries: tuple[tuple[int, int], ...]
    epochs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, replica: ModelReplica, leads: bool) -> Disk:
        """Return the disk of a replica of the model; a leader has recorded the start of its own epoch."""
        entries = tuple((entry.record, entry.epoch) for entry in replica.log)
        begin: dict[int, int] = {}
        for offset, (_, epoch) in enumerate(entries):
            begin.setdefault(epoch, offset)
        if leads:
            begin.setdefault(replica.leader_epoch, replica.epoch_start)
        return cls(entries, tuple(begin.items()))

    def write(self, log: PartitionLog) -> None:
        """Write this content into a log."""
        found = entries_on(str(log.folder))
        common = 0
        while common < min(len(found), len(self.entries)) and found[common] == self.entries[common]:
            common += 1
        log.truncate_to(common)
        for offset in range(common, len(self.entries)):
            record, epoch = self.entries[offset]
            log.append_as_follower(stamped(record, offset, epoch))
        if log.epochs != self.epochs:
            log.put_epochs(self.epochs)


def put_disk(folder: str, wanted: Disk) -> None:
    """Write this content into a log that is not open, unless the log already has it."""
    if entries_on(folder) == wanted.entries and epochs_on(folder) == wanted.epochs:
        return
    log = PartitionLog(Path(folder))
    wanted.write(log)
    log.crash()
