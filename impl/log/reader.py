"""Reading a log: where it begins and ends, its leader epochs, its batches and records.

Source: Kafka 2.8 Log.scala (read, fetchOffsetByTimestamp).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from kafka_spec.impl.log import batches
from kafka_spec.impl.log.batches import LogRecord
from kafka_spec.impl.log.epochs import LeaderEpochs
from kafka_spec.impl.log.segment import Segment


class OffsetOutOfRange(LookupError):  # noqa: N818 - Kafka's name
    """An offset is before the start of the log, or after its end."""


class LogReader:
    """The reading half of a log, of which `log.py` has the other one."""

    folder: Path
    _segments: list[Segment]
    _epochs: LeaderEpochs

    # Inspection

    @property
    def start_offset(self) -> int:
        """The offset of the first record."""
        return self._segments[0].base

    @property
    def end_offset(self) -> int:
        """The offset of the next record (LEO)."""
        return self._segments[-1].next_offset

    @property
    def segment_bases(self) -> tuple[int, ...]:
        """The base offset of each segment."""
        return tuple(segment.base for segment in self._segments)

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch, or -1."""
        return self._epochs.latest

    @property
    def epochs(self) -> tuple[tuple[int, int], ...]:
        """Each leader epoch with its start offset, oldest first."""
        return self._epochs.entries

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above this one, and its end offset in this log; -1 twice if there is none."""
        return self._epochs.end_offset_for(epoch, self.end_offset)

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch of the record at an offset; -1 if the log knows none for it."""
        return self._epochs.epoch_at(offset)

    # Reading

    def read(self, offset: int, max_bytes: int, end: int | None = None) -> bytes:
        """Return whole batches from the one with this offset on, up to `max_bytes`, but at least one batch.

        Only batches that lie entirely below `end`, the high watermark for consumers, are returned. The first may begin before the
        offset.

        Raises:
            OffsetOutOfRange: the offset is not between start and end of the log.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(f"{self.folder.name}: {offset} is not within {self.start_offset} to {self.end_offset}")
        if offset == self.end_offset or (end is not None and offset >= end):
            return b""
        segment = self._segments[self._place_of(offset)]
        found = segment.find(offset)
        if found is None:
            return b""
        start = position = found[0]
        for place, batch in segment.batches(start):
            if (end is not None and batch.last >= end) or (place > start and place + batch.size - start > max_bytes):
                break
            position = place + batch.size
        return segment.read(start, position - start)

    def same_segment(self, offset: int, other: int) -> bool:
        """Whether two offsets are, or would be, in one segment."""
        return self._place_of(offset) == self._place_of(other)

    def _place_of(self, offset: int) -> int:
        """Return the index of the segment that contains an offset, or would."""
        return max(0, bisect_right(self.segment_bases, offset) - 1)

    def records(self, start: int | None = None, end: int | None = None) -> Iterator[LogRecord]:
        """Yield the records from `start` up to `end` without it, by default all."""
        offset = self.start_offset if start is None else start
        while data := self.read(offset, 1 << 20):
            for record in batches.records(data, offset):
                if end is not None and record.offset >= end:
                    return
                yield record
                offset = record.offset + 1

    def offset_for_timestamp(self, timestamp: int) -> int | None:
        """Return the offset of the first record with that timestamp or a later one."""
        for segment in self._segments:
            found = segment.find_time(timestamp)
            if found is not None:
                position, batch = found
                return next(r.offset for r in batches.records(segment.read(position, batch.size)) if r.timestamp >= timestamp)
        return None
