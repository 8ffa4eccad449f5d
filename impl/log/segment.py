"""One segment of a log: batches in `.log`, and their positions in `.index` and `.timeindex`.

All three are named by the segment's base offset in twenty digits. The index has an entry for some batches only, one every few
thousand bytes: (offset - base, position), four bytes each; the time index (largest timestamp so far, offset - base), of eight and
four bytes.
Indexes can be rebuilt by a scan; the log is authoritative, up to the first byte that is not part of a valid batch.

Source: Kafka 2.8 LogSegment.scala, OffsetIndex.scala, TimeIndex.scala.
"""

from __future__ import annotations

import os
import struct
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path

from kafka_spec.impl.log.batches import HEADER, Batch, is_sound, look

INDEX_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
LARGEST_RELATIVE = 2**31 - 1
NO_TIMESTAMP = -1


class Segment:
    """A segment on disk; `next_offset` is the offset after its last record."""

    def __init__(self, folder: Path, base: int, index_interval: int) -> None:
        """Open the files of a base offset, or create them; if they existed, `open_existing` or `recover` must follow."""
        self.base = base
        self.next_offset = base
        self.size = 0
        self.first_timestamp = NO_TIMESTAMP
        self._interval = index_interval
        self._since_entry = 0
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = base
        self._offsets: list[int] = []
        self._positions: list[int] = []
        self._times: list[int] = []
        self._time_offsets: list[int] = []
        self._paths = [folder / f"{base:020}{suffix}" for suffix in (".log", ".index", ".timeindex")]
        self._has_indexes = all(path.exists() for path in self._paths)
        handles: list[int] = []
        self._close_files = weakref.finalize(self, _close_all, handles)  # also where opening fails, or a crash drops the log
        for path in self._paths:
            handles.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644))
        self._log, self._index, self._time_index = handles

    # Opening

    def open_existing(self, noted: Callable[[Batch], object]) -> int:
        """Use the indexes as far as they are consistent, and scan the rest; see `recover`."""
        size = os.fstat(self._log).st_size
        index = _entries(self._index, INDEX_ENTRY)
        times = _entries(self._time_index, TIME_ENTRY)
        if not self._has_indexes or index is None or times is None or not _increases(index) or not _increases(times):
            return self.recover(noted)
        if index and index[-1][1] >= size:
            return self.recover(noted)
        self._offsets = [self.base + offset for offset, _ in index]
        self._positions = [position for _, position in index]
        self._times = [timestamp for timestamp, _ in times]
        self._time_offsets = [self.base + offset for _, offset in times]
        if times:
            self._max_timestamp, self._max_timestamp_offset = self._times[-1], self._time_offsets[-1]
        if index:
            self.size = self._positions[-1]
            first = self._batch_at(0)
            self.first_timestamp = NO_TIMESTAMP if first is None else first.timestamp
            met = self._batch_at(self.size)
            if met is None or met.last < self._offsets[-1] or not met.base <= self._offsets[-1]:
                return self.recover(noted)
            self.next_offset = met.base
        return self._scan(noted, index_again=False)

    def recover(self, noted: Callable[[Batch], object]) -> int:
        """Read everything, cut the file at the first batch that is not complete and valid, and rebuild the indexes.

        `noted` is called with each batch that stays. Returns the number of bytes cut. The time index is complete afterwards, since
        look-ups by time rely on its last entry in closed segments.
        """
        self.next_offset, self.size, self._since_entry = self.base, 0, 0
        self._max_timestamp, self._max_timestamp_offset = NO_TIMESTAMP, self.base
        self._offsets, self._positions, self._times, self._time_offsets = [], [], [], []
        os.ftruncate(self._index, 0)
        os.ftruncate(self._time_index, 0)
        cut = self._scan(noted, index_again=True)
        self.end_writing()
        return cut

    def _scan(self, noted: Callable[[Batch], object], *, index_again: bool) -> int:
        """Scan the batches from `size` on, and cut at the first invalid one."""
        end = os.fstat(self._log).st_size
        while True:
            batch = self._batch_at(self.size, end)
            if batch is None or not self._continues(batch) or not is_sound(os.pread(self._log, batch.size, self.size)):
                break
            self._count(batch, index=index_again)
            noted(batch)
        if self.size < end:
            os.ftruncate(self._log, self.size)
        return end - self.size

    def _continues(self, batch: Batch) -> bool:
        """Whether a batch can follow in this segment: no checksum covers its base offset."""
        return self.next_offset <= batch.base and batch.last - self.base <= LARGEST_RELATIVE

    # Writing

    def append(self, data: bytes, batch: Batch) -> None:
        """Write one batch at the end; if that fails half-way, the file is restored."""
        try:
            written = os.write(self._log, data)
            while written < len(data):
                written += os.write(self._log, data[written:])
        except OSError:
            os.ftruncate(self._log, self.size)
            raise
        self._count(batch, index=True)

    def _count(self, batch: Batch, *, index: bool) -> None:
        """Update offsets, size and indexes for a batch at the end of the file."""
        if self.first_timestamp == NO_TIMESTAMP:
            self.first_timestamp = batch.timestamp
        if batch.timestamp > self._max_timestamp:
            self._max_timestamp, self._max_timestamp_offset = batch.timestamp, batch.last
        if index and self._since_entry > self._interval:
            self._offsets.append(batch.last)
            self._positions.append(self.size)
            os.write(self._index, INDEX_ENTRY.pack(batch.last - self.base, self.size))
            self._note_time()
            self._since_entry = 0
        self._since_entry += batch.size
        self.size += batch.size
        self.next_offset = batch.last + 1

    def _note_time(self) -> None:
        """Write an entry of the time index, if the largest timestamp has grown since the last entry."""
        if self._max_timestamp > (self._times[-1] if self._times else NO_TIMESTAMP):
            self._times.append(self._max_timestamp)
            self._time_offsets.append(self._max_timestamp_offset)
            os.write(self._time_index, TIME_ENTRY.pack(self._max_timestamp, self._max_timestamp_offset - self.base))

    def truncate(self, offset: int) -> None:
        """Truncate before the first batch with this offset or a later one: batches stay whole."""
        found = self.find(offset)
        if found is None:
            return
        position, batch = found
        keep = bisect_right(self._positions, position - 1)
        del self._offsets[keep:], self._positions[keep:]
        keep = bisect_right(self._time_offsets, batch.base - 1)
        del self._times[keep:], self._time_offsets[keep:]
        os.ftruncate(self._index, len(self._offsets) * INDEX_ENTRY.size)
        os.ftruncate(self._time_index, len(self._times) * TIME_ENTRY.size)
        os.ftruncate(self._log, position)
        self.size, self.next_offset = position, batch.base
        self._since_entry = 0
        self._max_timestamp, self._max_timestamp_offset = NO_TIMESTAMP, self.base
        if position == 0:
            self.first_timestamp = NO_TIMESTAMP
        if self._times:
            self._max_timestamp, self._max_timestamp_offset = self._times[-1], self._time_offsets[-1]
        for _, kept in self.batches(self._position_before(self._max_timestamp_offset)):
            if kept.timestamp > self._max_timestamp:
                self._max_timestamp, self._max_timestamp_offset = kept.timestamp, kept.last

    def end_writing(self) -> None:
        """Complete the time index; call it when no append follows soon, or ever."""
        if self.size > 0:
            self._note_time()

    def flush(self) -> None:
        """Flush everything written, so that it survives a power loss."""
        for handle in (self._log, self._index, self._time_index):
            os.fsync(handle)

    def close(self) -> None:
        """Close the files, if they are open."""
        self._close_files()

    def delete(self) -> None:
        """Close the files and delete them, the indexes first, so that no index is left without its log."""
        self.close()
        for path in reversed(self._paths):
            path.unlink()

    # Reading

    def has_full_index(self, limit: int) -> bool:
        """Whether an index has no room in so many bytes; the last entry of the time index is kept for the end of the segment."""
        return len(self._offsets) >= limit // INDEX_ENTRY.size or len(self._times) >= limit // TIME_ENTRY.size - 1

    def find(self, offset: int) -> tuple[int, Batch] | None:
        """Return position and header of the first batch with this offset or a later one."""
        for position, batch in self.batches(self._position_before(offset)):
            if batch.last >= offset:
                return position, batch
        return None

    def batches(self, position: int = 0) -> Iterator[tuple[int, Batch]]:
        """Yield position and header of each batch from a position on."""
        while position < self.size:
            batch = self._batch_at(position)
            if batch is None:
                raise OSError(f"{self._paths[0]}: no record batch at byte {position}, where one was written")
            yield position, batch
            position += batch.size

    def read(self, position: int, size: int) -> bytes:
        """Return bytes of the log."""
        return os.pread(self._log, size, position)

    def find_time(self, timestamp: int) -> tuple[int, Batch] | None:
        """Return position and header of the first batch with a record of that timestamp or a later one."""
        entry = bisect_right(self._times, timestamp - 1) - 1
        start = self._time_offsets[entry] if entry >= 0 else self.base
        for position, batch in self.batches(self._position_before(start)):
            if batch.timestamp >= timestamp:
                return position, batch
        return None

    def _position_before(self, offset: int) -> int:
        """Return the position of the last index entry at or before the batch with an offset.

        An entry has the last offset of its batch, which may begin before the offset in question.
        """
        entry = bisect_right(self._offsets, offset) - 1
        return self._positions[entry] if entry >= 0 else 0

    def _batch_at(self, position: int, end: int | None = None) -> Batch | None:
        batch = look(os.pread(self._log, HEADER.size, position))
        if batch is None or (end is not None and position + batch.size > end):
            return None
        return batch


def _close_all(handles: list[int]) -> None:
    for handle in handles:
        os.close(handle)


def _entries(handle: int, entry: struct.Struct) -> list[tuple[int, int]] | None:
    """Return the entries of an index, None if it is torn."""
    data = os.pread(handle, os.fstat(handle).st_size, 0)
    if len(data) % entry.size:
        return None
    return [(first, second) for first, second in entry.iter_unpack(data)]


def _increases(entries: list[tuple[int, int]]) -> bool:
    """Whether both numbers increase from entry to entry, and none is negative."""
    return all(a[0] < b[0] and a[1] < b[1] for a, b in zip([(-1, -1), *entries], entries, strict=False))
