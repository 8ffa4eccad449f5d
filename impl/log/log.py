"""The log of one partition: a folder of segments, the last of which is written, and a checkpoint of leader epochs.

A crash of the process loses nothing that was appended. A power loss may lose what was not flushed; a segment is flushed when the
next one begins. Opening a log checks its end, and cuts everything from the first torn batch on.

Source: Kafka 2.8 Log.scala.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.log.batches import NO_PRODUCER, Batch
from kafka_spec.impl.log.epochs import LeaderEpochs
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.log.producers import Producers
from kafka_spec.impl.log.reader import LogReader
from kafka_spec.impl.log.segment import LARGEST_RELATIVE, NO_TIMESTAMP, Segment


class PartitionLog(LogReader):
    """An open log. It has one writer; readers see appended records at once."""

    def __init__(self, folder: Path, config: LogConfig | None = None, recovery_point: int = 0) -> None:
        """Open the log in a folder, or create it; a torn batch is cut, and all later segments with it.

        Records before the `recovery_point` are known to be flushed: of such segments only the indexes are read.

        Raises:
            CheckpointError: the checkpoint of leader epochs is unreadable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.config = config or LogConfig()
        path = folder / checkpoint.LEADER_EPOCHS
        self._epochs = LeaderEpochs(checkpoint.read_epochs(path), lambda entries: checkpoint.write_epochs(path, entries))
        self._segments: list[Segment] = []
        self._producers: Producers | None = None
        self.cut_bytes = 0
        """The number of bytes cut when the log was opened."""
        try:
            self._open_segments(recovery_point)
            self._epochs.truncate_from_end(self.end_offset)
            self._epochs.truncate_from_start(self.start_offset)
        except OSError:
            self.crash()
            raise
        self._flushed = min(recovery_point, self.end_offset)

    def _open_segments(self, recovery_point: int) -> None:
        bases = sorted(int(path.stem) for path in self.folder.glob("[0-9]*.log"))
        for path in sorted(self.folder.glob("[0-9]*.*index")):
            if int(path.stem) not in bases:
                path.unlink()
        torn = False
        for place, base in enumerate(bases):
            segment = Segment(self.folder, base, self.config.index_interval_bytes)
            if torn or (self._segments and base != self.end_offset):
                torn = True
                segment.delete()
                continue
            end = bases[place + 1] if place + 1 < len(bases) else base + 1
            cut = segment.open_existing(self._note_found) if end <= recovery_point else segment.recover(self._note_found)
            if segment.next_offset > recovery_point and end <= recovery_point:
                cut += segment.recover(self._note_found)
            self.cut_bytes += cut
            torn = cut > 0
            self._segments.append(segment)
        if not self._segments:
            checkpoint.sync_folder(self.folder.parent)  # a power loss would lose the name of a new folder
            self._begin_segment(0)

    def _note_found(self, batch: Batch) -> None:
        """Correct the checkpoint where it has another epoch, or none, for a batch.

        A power loss may bring back batches truncated after the last flush. Under the epoch of the records that replaced them, no
        comparison of epochs would ever find them.
        """
        if self._epochs.epoch_at(batch.base) != batch.epoch:
            self._epochs.truncate_from_end(batch.base)
        if self._epochs.epoch_at(batch.base) != batch.epoch:
            self._epochs.assign(batch.epoch, batch.base)

    # Writing

    @property
    def recovery_point(self) -> int:
        """The offset up to which everything is flushed, so survives a power loss."""
        return self._flushed

    def assign_epoch(self, epoch: int) -> None:
        """Record that a leader epoch begins at the end of the log: its leader starts here."""
        self._epochs.assign(epoch, self.end_offset)

    def put_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replace the leader epochs and their start offsets, for states read from elsewhere."""
        self._epochs.replace(entries)

    def append_as_leader(self, data: bytes, epoch: int) -> tuple[int, int]:
        """Append a producer's batches under a leader epoch; return the offsets of the first and the last record.

        A batch that an idempotent producer sends once more is not appended again; the offsets are those that it has.

        Raises:
            Corrupt: they are not complete, valid batches; nothing is appended.
            ValueError: there are none, or more than one of an idempotent producer; see also `Producers.check`.
        """
        sent = list(batches.split(data))
        if (known := self._sent_before([batch for batch, _ in sent])) is not None:
            return known.base, known.last
        first = offset = self.end_offset
        stamped = []
        for batch, one in sent:
            copy = bytearray(one)
            batches.stamp(copy, offset, epoch)
            last = offset + batch.last - batch.base
            stamped.append((replace(batch, base=offset, last=last, epoch=epoch), bytes(copy)))
            offset = last + 1
        if not stamped:
            raise ValueError("no batches to append")
        self._append(stamped)
        return first, offset - 1

    def append_as_follower(self, data: bytes) -> None:
        """Append batches byte for byte as their leader has stored them.

        Raises:
            Corrupt: they are not complete, valid batches; nothing is appended.
            ValueError: they do not continue the log.
        """
        offset = self.end_offset
        fetched = list(batches.split(data))
        for batch, _ in fetched:
            if batch.base != offset:
                raise ValueError(f"{self.folder.name} ends at {offset}, and the batch begins at {batch.base}")
            offset = batch.last + 1
        self._append(fetched)

    def _append(self, stamped: list[tuple[Batch, bytes]]) -> None:
        for batch, data in stamped:
            if self._is_full(batch):
                self._roll()
            self._epochs.assign(batch.epoch, batch.base)
            self._segments[-1].append(data, batch)
            if self._producers is not None:
                self._producers.add(batch)

    @property
    def producers(self) -> Producers:
        """The idempotent producers of the log, from the headers of its batches, which are read when they are needed first."""
        if self._producers is None:
            self._producers = Producers()
            for segment in self._segments:
                for _, batch in segment.batches():
                    self._producers.add(batch)
        return self._producers

    def _sent_before(self, sent: Sequence[Batch]) -> Batch | None:
        """Return the batch of the log that an idempotent producer sends once more, None if it is new; see `append_as_leader`."""
        if all(batch.producer == NO_PRODUCER for batch in sent):
            return None
        if len(sent) > 1:
            raise ValueError("an idempotent producer sends one batch at a time")
        known = self.producers.duplicate_of(sent[0])
        if known is None:
            self.producers.check(sent[0])
        return known

    def _is_full(self, batch: Batch) -> bool:
        """Whether a batch must begin a new segment: size, age, index or relative offset would exceed its limit."""
        active, config = self._segments[-1], self.config
        if active.size == 0:
            return False
        age = batch.timestamp - active.first_timestamp if active.first_timestamp != NO_TIMESTAMP else 0
        return (
            active.size + batch.size > config.segment_bytes
            or age > config.segment_ms
            or active.has_full_index(config.segment_index_bytes)
            or batch.last - active.base > LARGEST_RELATIVE
        )

    def _roll(self) -> None:
        """Begin a new segment at the end offset, and flush the one that ends."""
        self._segments[-1].end_writing()
        self.flush()
        self._begin_segment(self.end_offset)

    def _begin_segment(self, base: int) -> None:
        self._segments.append(Segment(self.folder, base, self.config.index_interval_bytes))
        checkpoint.sync_folder(self.folder)

    def truncate_to(self, offset: int) -> None:
        """Truncate so that no record from the offset on remains; a batch that contains it is removed whole.

        Newest segments are deleted first, so that a crash leaves a prefix of the log. An epoch that this replica began as a leader
        without writing a record is removed even if no record is: otherwise the follower would ask about it forever.
        """
        if offset >= self.end_offset:
            self._epochs.truncate_from_end(self.end_offset)
            return
        if offset <= self.start_offset:
            self.truncate_fully(self.start_offset)
            return
        self._producers = None
        while self._segments[-1].base > offset:
            self._segments.pop().delete()
        self._segments[-1].truncate(offset)
        self._flushed = min(self._flushed, self.end_offset)
        self._epochs.truncate_from_end(self.end_offset)

    def truncate_fully(self, start: int) -> None:
        """Delete everything; the next record has this offset."""
        self._producers = None
        while self._segments:
            self._segments.pop().delete()
        self._begin_segment(start)
        self._flushed = start
        self._epochs.clear()

    def delete_before(self, offset: int) -> None:
        """Delete the segments with records before an offset alone; at the end of the log a new segment begins first."""
        if offset >= self.end_offset and self._segments[-1].size > 0:
            self._roll()
        self.delete_segments_before(offset)

    def delete_segments_before(self, offset: int) -> None:
        """Delete the segments with records before an offset alone, but for the one that is written."""
        while len(self._segments) > 1 and self._segments[1].base <= offset:
            self._segments.pop(0).delete()
        checkpoint.sync_folder(self.folder)
        self._epochs.truncate_from_start(self.start_offset)

    def flush(self) -> None:
        """Flush everything appended, so that it survives a power loss."""
        for segment in self._segments[self._place_of(self._flushed) :]:
            segment.flush()
        self._flushed = self.end_offset

    def close(self) -> None:
        """Flush and close the files; opened again with this recovery point, the log is not searched for torn batches."""
        self._segments[-1].end_writing()
        self.flush()
        self.crash()

    def crash(self) -> None:
        """Close the files as a crash does: nothing is flushed, and time indexes are not completed."""
        for segment in self._segments:
            segment.close()
