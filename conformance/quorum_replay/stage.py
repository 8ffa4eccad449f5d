"""A quorum of controllers that can be put into any state of the model, and read as one.

A batch of the model is a batch of Kafka's format. Those of a loaded state have one record each, so that an offset is the number of
batches before it; of batches that a step appends, the number is counted. The timestamp of a batch is the number of lossy crashes
before it, by which the model distinguishes batches that were written twice at one epoch and offset.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kafka_spec.conformance.replay.core import Edge
from kafka_spec.impl.kraft.control_records import voters_change, voters_in
from kafka_spec.impl.kraft.quorum.election_state import ElectionState
from kafka_spec.impl.kraft.quorum.leader_state import LeaderState
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.quorum.node import QuorumNode
from kafka_spec.impl.kraft.quorum.snapshots import QuorumSnapshots
from kafka_spec.impl.kraft.snapshots import records_in
from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.quorum_requests import FetchLogRequest, SnapshotId
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.quorum import state
from kafka_spec.spec.quorum.machines import LEADER, QuorumRole
from kafka_spec.spec.quorum.state import FORMATTED_AT, UNKNOWN, FetchUnderWay, MetadataBatch, MetadataQuorum, VotersAt
from kafka_spec.spec.vocabulary.table import Spec

Entry = tuple[int, int, int]
"""A batch: its epoch, the voters that it sets, the lossy crashes before it."""
ENTRY = struct.Struct(">iii")
RECORD = b"record"
"""A record of the controller."""


class QuorumStage:
    """The nodes within the bounds of a model."""

    def __init__(self, folder: Path, era: Spec, bounds: Mapping[str, int]) -> None:
        """`folder` is for the nodes' logs; `bounds` are those of the model."""
        self.k = era.constants(bounds)
        self.losses = 0
        """The lossy crashes so far, which batches have as their timestamp."""
        self.delayed: tuple[int, FetchLogRequest] | None = None
        """A fetch on the network, and the leader to whom it is sent."""
        self._folder = folder
        self._loaded: list[state.QuorumNode | None] = [None] * bounds["nodes"]
        self.nodes = [self.open(node, (), 0) for node in range(bounds["nodes"])]

    # Processes

    def open(self, number: int, formatted: tuple[int, ...], flushed: int) -> QuorumNode:
        """Start the process of a node, whose log is on disk up to an offset."""
        folder = self._folder / str(number)
        log = QuorumLog(folder, self.k, formatted, lambda: self.losses, flushed)
        return QuorumNode(number, self.k, folder, log)

    def restart(self, number: int, loses: bool = False) -> None:
        """End the process of a node, and start it again; it may lose what is not flushed."""
        log = self.nodes[number].log
        if loses:
            log.store.truncate_to(log.flushed)
        log.close()
        self.nodes[number] = self.open(number, tuple(log.formatted), log.flushed)

    def format(self, number: int) -> None:
        """End the process of a node, empty its disk, and start it again with the voters that it had."""
        log = self.nodes[number].log
        log.close()
        shutil.rmtree(self._folder / str(number))
        self.nodes[number] = self.open(number, tuple(log.formatted), 0)

    def flush(self, number: int) -> None:
        """Let a leader flush what it has appended, as the model does in the same step unless there are lossy crashes."""
        if not self.k.lossy_crashes:
            self.nodes[number].flush()

    def read_by_batches(self, number: int, reads_at: int) -> None:
        """Let the reader of control records be where the model has it, after a batch of several records was appended.

        A reader that did not move back with a truncation is beyond the end of the log. Kafka's counts records, and the model's
        batches: it was at `reads_at`, which in a loaded state is both.
        """
        log = self.nodes[number].log
        (*_, base, end), count = on_disk(log)[0], len(on_disk(log)[1])
        if base < reads_at:
            log.changes = [change for change in log.changes if change[0] < base]
            log.read_up_to = end + max(reads_at - count, 0)

    def end(self) -> None:
        """Close all files."""
        for node in self.nodes:
            node.log.close()

    # Reading

    def project(self, after: MetadataQuorum) -> MetadataQuorum:
        """Return the state of the nodes as one of the model, with the bookkeeping of `after`."""
        fetches = [] if self.delayed is None else [fetch_of(*self.delayed)]
        return MetadataQuorum([self._node(node) for node in self.nodes], fetches, after.spent, after.history)

    def _node(self, node: QuorumNode) -> state.QuorumNode:
        log, leading = node.log, node.leading
        bases, entries = on_disk(log)
        ends = {} if leading is None else leading.ends

        def count(offset: int) -> int:
            return bases.index(offset) if offset in bases else offset - log.end + len(entries)

        return state.QuorumNode(
            role=int(node.role),
            epoch=node.epoch,
            leader=node.leader,
            voted=node.voted,
            formatted=int(BrokerSet.of(log.formatted)),
            log=[MetadataBatch(*entry) for entry in entries],
            flushed=count(log.flushed) if self.k.lossy_crashes else len(entries),
            segment_start=count(log.store.start_offset),
            log_start=count(log.log_start),
            earliest=count(log.snapshots.earliest.end),
            snapshot=count(log.snapshots.end),
            snapshot_voters=int(BrokerSet.of(log.snapshots.voters)),
            changes=[VotersAt(FORMATTED_AT if at < 0 else count(at), int(BrokerSet.of(voters))) for at, voters in log.changes],
            read_up_to=count(log.read_up_to),
            high_watermark=count(node.high_watermark),
            granted=int(BrokerSet.of(node.granted)),
            has_fetched=int(node.has_fetched),
            epoch_start=0 if leading is None else count(leading.epoch_start),
            ends=[count(ends[other]) if other in ends else UNKNOWN for other in range(len(self.nodes))],
        )

    # Loading

    def load(self, wanted: MetadataQuorum) -> None:
        """Put the nodes into a state of the model."""
        self.losses = wanted.spent.lossy_crashes
        self.delayed = None
        for fetch in wanted.fetches:
            request = FetchLogRequest(fetch.sender, fetch.epoch, fetch.end, fetch.last_epoch, max_bytes=1, max_wait_ms=0)
            self.delayed = fetch.leader, request
        for number, node in enumerate(wanted.nodes):
            if self._loaded[number] != node:
                self._load_node(number, node)
                self._loaded[number] = node
            leads = node.role == LEADER
            ends = {other: end for other, end in enumerate(node.ends) if end != UNKNOWN}
            self.nodes[number].leading = LeaderState(node.epoch_start, ends) if leads else None

    def _load_node(self, number: int, wanted: state.QuorumNode) -> None:
        node = self.nodes[number]
        log = node.log
        log.formatted = frozenset(BrokerSet(wanted.formatted))
        self._load_log(log, wanted)
        log.changes = [(change.offset, frozenset(BrokerSet(change.voters))) for change in wanted.changes]
        log.read_up_to = wanted.read_up_to
        node.load(ElectionState(wanted.epoch, wanted.leader, wanted.voted), QuorumRole(wanted.role))
        node.high_watermark = wanted.high_watermark
        node.granted = set(BrokerSet(wanted.granted))
        node.has_fetched = wanted.has_fetched == 1

    def _load_log(self, log: QuorumLog, wanted: state.QuorumNode) -> None:
        """Bring the files to the batches of the model, flushed as far as they are there."""
        if wanted.snapshot > 0 or log.snapshots.end > 0:
            self._load_snapshots(log, wanted)
        bases, found = on_disk(log)
        entries = [as_entry(batch) for batch in wanted.log]
        kept = 0
        while kept < min(len(found), len(entries)) and found[kept] == entries[kept] and bases[kept + 1] == kept + 1:
            kept += 1
        log.store.truncate_to(kept if log.flushed == wanted.flushed else min(kept, wanted.flushed))
        for offset in range(log.end, len(entries)):
            if offset == wanted.flushed:
                log.flush()
            log.store.append_as_follower(stamped(offset, entries[offset]))
        if wanted.flushed == log.end:
            log.flush()

    def _load_snapshots(self, log: QuorumLog, wanted: state.QuorumNode) -> None:
        """Bring the snapshots to those of the model, and let an empty log begin where the model's does."""
        for path in log.store.folder.glob("*.checkpoint"):
            path.unlink()
        log.snapshots = QuorumSnapshots(log.store.folder)
        for end in sorted({wanted.earliest, wanted.snapshot}):
            records = [packed(as_entry(batch)) for batch in wanted.log[:end]]
            voters = frozenset(BrokerSet(wanted.snapshot_voters))
            log.snapshots.write(SnapshotId(end, wanted.log[end - 1].epoch if end else 0), self.losses, voters, records)
        log.store.truncate_fully(wanted.segment_start)
        log.log_start = wanted.log_start

    def forget(self, edge: Edge[MetadataQuorum], found: MetadataQuorum | None) -> None:
        """Mark as unknown what the step may have changed."""
        for number in range(len(self.nodes)):
            if found is None or found.nodes[number] != edge.source.nodes[number]:
                self._loaded[number] = None

    def refuses(self, edge: Edge[MetadataQuorum]) -> bool:
        """Whether the implementation is stricter than the model: nowhere."""
        return False

    def pass_time(self) -> None:
        """Nothing here looks at a clock."""


def fetch_of(leader: int, request: FetchLogRequest) -> FetchUnderWay:
    """Return a fetch on the network as the model has it."""
    return FetchUnderWay(request.replica, leader, request.epoch, request.offset, request.last_epoch)


def as_entry(batch: MetadataBatch) -> Entry:
    """Return a batch of the model."""
    return batch.epoch, batch.voters, batch.losses


def packed(entry: Entry) -> bytes:
    """Return a batch as the record of a snapshot that stands for it."""
    return ENTRY.pack(*entry)


def on_disk(log: QuorumLog) -> tuple[tuple[int, ...], tuple[Entry, ...]]:
    """Return where each batch of a log begins, with the end of the log, and the batches; the first ones a snapshot stands for."""
    start, known = log.store.start_offset, log.snapshots
    stands_for = list(records_in((known.folder / known.newest.file).read_bytes()))[:start] if start else []
    bases, entries = _decoded(start, log.store.read(start, 1 << 20) if log.end > start else b"")
    return (*range(len(stands_for)), *bases), (*map(ENTRY.unpack, stands_for), *entries)


@lru_cache(maxsize=4096)
def _decoded(start: int, data: bytes) -> tuple[tuple[int, ...], tuple[Entry, ...]]:
    bases, entries = [start], []
    for batch, one in batches.split(data):
        bases.append(batch.last + 1)
        entries.append((batch.epoch, int(BrokerSet.of(voters_in(one))), batch.timestamp))
    return tuple(bases), tuple(entries)


@lru_cache(maxsize=4096)
def stamped(offset: int, entry: Entry) -> bytes:
    """Return a batch of the model as a leader has it in its log, with one record."""
    epoch, voters, losses = entry
    batch = voters_change(losses, BrokerSet(voters)) if voters else batches.build([(losses, None, RECORD)])
    batches.stamp(batch, offset, epoch)
    return bytes(batch)
