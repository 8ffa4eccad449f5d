"""The logs of several nodes as one: each batch once, in order; what two nodes have differently is reported.

A node's tail that was never committed differs from what the others have there, and is of an older epoch of the quorum: the node
truncates it later. That is not a violation.

Source: KIP-595.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kafka_spec.conformance.metadata.batches import LogBatch, TornTail
from kafka_spec.conformance.metadata.sources import LogPlace, NodeLog, batches_of_node


@dataclass
class NodeEnd:
    """What a node's log is like at its ends: the first offset, the offset after the last batch, how it is torn, its last epoch."""

    name: str
    first: int | None = None
    end: int = 0
    epoch: int = -1
    epochs: list[tuple[int, int]] = field(default_factory=list)
    torn: list[tuple[int, TornTail]] = field(default_factory=list)
    batches: int = 0


class _Reader:
    """Reads one node's batches, one ahead."""

    def __init__(self, node: NodeLog, start: LogPlace | None = None) -> None:
        self.end = NodeEnd(node.name)
        self._batches = batches_of_node(node, start)
        self.file = 0
        self.head: LogBatch | None = None
        self.dropped = False
        self.advance()

    def advance(self) -> None:
        self.head = None
        for number, one in self._batches:
            self.file = number
            if isinstance(one, TornTail):
                self.end.torn.append((self.file, one))
                continue
            if self.end.first is None:
                self.end.first = one.base
            if one.epoch > self.end.epoch:
                self.end.epoch = one.epoch
                self.end.epochs.append((one.epoch, one.base))
            self.end.end = max(self.end.end, one.last + 1)
            self.end.batches += 1
            self.head = one
            return


def same_batch(one: LogBatch, other: LogBatch) -> bool:
    """Whether two copies of a batch are equal; one of them may be of a text."""
    if (one.base, one.last, one.epoch) != (other.base, other.last, other.epoch):
        return False
    if one.data and other.data:
        return one.fingerprint == other.fingerprint
    return [entry[:2] for entry in one.entries()] == [entry[:2] for entry in other.entries()]


Differs = Callable[[int, int, str], None]
"""Called with a file, an offset and a sentence for what two nodes have differently."""


class Merger:
    """Merges the logs of nodes. `differs` receives what two nodes have differently; `notes` are tails that were never committed.

    It begins where another one was: `places` has a place for each node, or None where the other one had read all of its log.
    """

    def __init__(self, nodes: Sequence[NodeLog], differs: Differs, places: Sequence[LogPlace | None] | None = None) -> None:
        starts = [None] * len(nodes) if places is None else places
        self._readers = [
            _Reader(node, start) for node, start in zip(nodes, starts, strict=True) if places is None or start is not None
        ]
        self._differs = differs
        self.places: tuple[LogPlace | None, ...] = ()
        """Where each node's log was to be read on before the current batch was yielded."""
        self.notes: list[str] = []

    @property
    def ends(self) -> list[NodeEnd]:
        """What each node's log is like at its ends."""
        return [reader.end for reader in self._readers]

    def __iter__(self) -> Iterator[tuple[int, LogBatch]]:
        while live := [one for one in self._readers if one.head is not None]:
            self.places = tuple([None if one.head is None else LogPlace(one.file, one.head.place) for one in self._readers])
            base = min(one.head.base for one in live if one.head is not None)
            at = [one for one in live if one.head is not None and one.head.base == base]
            chosen = at[0]
            for other in at[1:]:
                assert chosen.head is not None and other.head is not None
                if not same_batch(chosen.head, other.head):
                    chosen = self._settle(chosen, other)
            batch, file = chosen.head, chosen.file
            assert batch is not None
            for one in at:
                if one.head is batch or (one.head is not None and one.head.base == base):
                    one.advance()
            yield file, batch
            self._skip(batch)

    def _settle(self, one: _Reader, other: _Reader) -> _Reader:
        """Return the node whose batch counts, of two that differ; the other is read no further if its tail was never committed."""
        assert one.head is not None and other.head is not None
        base = one.head.base
        newer, older = (one, other) if one.head.epoch >= other.head.epoch else (other, one)
        assert newer.head is not None and older.head is not None
        epoch = older.head.epoch
        newer_epoch = newer.head.epoch
        last = base
        while older.head is not None and older.head.epoch == epoch and epoch < newer_epoch:
            last = older.head.last
            older.advance()
        if epoch < newer_epoch and older.head is None:
            where = f"{older.end.name}: offsets {base} to {last} of epoch {epoch}"
            self.notes.append(f"{where} were not committed, unless a disk was lost")
            return newer
        text = f"{one.end.name} and {other.end.name} have different batches (epochs {newer_epoch} and {epoch})"
        self._differs(newer.file, base, text)
        while older.head is not None:
            older.advance()
        return newer

    def _skip(self, batch: LogBatch) -> None:
        """Pass over batches of other nodes that begin inside the one just read: they are cut otherwise, which no node does."""
        for reader in self._readers:
            while reader.head is not None and reader.head.base <= batch.last:
                self._differs(reader.file, reader.head.base, f"{reader.end.name} has a batch that begins inside another node's")
                reader.advance()
