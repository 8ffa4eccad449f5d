"""The start offset of each leader epoch in a log, by which followers and leaders compare their logs.

Source: Kafka 2.8 LeaderEpochFileCache.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_spec.impl.log.checkpoint import CheckpointError

UNDEFINED = -1
"""No epoch, no offset."""


class LeaderEpochs:
    """Entries (epoch, start offset), both increasing; `save` receives all entries whenever they change."""

    def __init__(self, entries: Sequence[tuple[int, int]], save: Callable[[Sequence[tuple[int, int]]], object]) -> None:
        """Of entries that contradict each other, the later ones count, as if each were added; nothing is saved for that.

        Raises:
            CheckpointError: an epoch or an offset is negative.
        """
        if any(epoch < 0 or start < 0 for epoch, start in entries):
            raise CheckpointError(f"leader epochs {entries}: an epoch or an offset is negative")
        self._entries: list[tuple[int, int]] = []
        self._save = save
        for entry in entries:
            self._put(*entry)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """The entries, oldest first."""
        return tuple(self._entries)

    @property
    def latest(self) -> int:
        """The newest epoch, or UNDEFINED."""
        return self._entries[-1][0] if self._entries else UNDEFINED

    def epoch_at(self, offset: int) -> int:
        """Return the epoch that an offset belongs to, or UNDEFINED."""
        return next((epoch for epoch, start in reversed(self._entries) if start <= offset), UNDEFINED)

    def assign(self, epoch: int, start: int) -> None:
        """Add an epoch with its start offset, and remove contradicting entries; the newest epoch, added again, changes nothing."""
        if self._put(epoch, start):
            self._save(self._entries)

    def _put(self, epoch: int, start: int) -> bool:
        """Add an entry; return whether that changes anything."""
        if self._entries and self._entries[-1][0] == epoch and start >= self._entries[-1][1]:
            return False
        while self._entries and (self._entries[-1][0] >= epoch or self._entries[-1][1] >= start):
            self._entries.pop()
        self._entries.append((epoch, start))
        return True

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """Return the largest epoch not above `epoch`, and its end offset; UNDEFINED twice if there is none.

        The newest epoch ends at `log_end`; an older one where the next larger one begins.
        """
        if epoch == UNDEFINED or not self._entries:
            return UNDEFINED, UNDEFINED
        if epoch == self.latest:
            return epoch, log_end
        larger = [start for known, start in self._entries if known > epoch]
        if not larger:
            return UNDEFINED, UNDEFINED
        smaller = [known for known, _ in self._entries if known <= epoch]
        return (smaller[-1] if smaller else epoch), larger[0]

    def truncate_from_end(self, end: int) -> None:
        """Remove epochs that begin at or after the log's new end; UNDEFINED removes none."""
        if end != UNDEFINED:
            self._keep([entry for entry in self._entries if entry[1] < end])

    def truncate_from_start(self, start: int) -> None:
        """Remove epochs that end before the log's new start; the epoch at that offset now begins there."""
        before = [entry for entry in self._entries if entry[1] <= start]
        after = [entry for entry in self._entries if entry[1] > start]
        self._keep([*([(before[-1][0], start)] if before else []), *after])

    def clear(self) -> None:
        """Remove all epochs, and save that even if there were none."""
        self._entries = []
        self._save([])

    def replace(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replace all entries."""
        self._keep(list(entries))

    def _keep(self, entries: list[tuple[int, int]]) -> None:
        if entries != self._entries:
            self._entries = entries
            self._save(entries)
