"""A validation of metadata logs: the files of one or several nodes, read as one log, judged, and compared with what lies beside.

Source: KIP-595, KIP-630; Kafka 3.9 KafkaMetadataLog.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kafka_spec.conformance.metadata.batches import LogBatch
from kafka_spec.conformance.metadata.elections import LoggedElections, elections_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.kinds import VOTERS_DIFFER
from kafka_spec.conformance.metadata.merge import Merger, NodeEnd
from kafka_spec.conformance.metadata.snapshots import DamagedSnapshot, differences, image_of, voters_of
from kafka_spec.conformance.metadata.sources import LogPlace, NodeLog, Snapshot, Sources, epochs_in, quorum_in
from kafka_spec.conformance.outcome.violations import Unfinished, Violation, file_and_line

NO_SNAPSHOT = "no snapshot at or after it is there"
"""What is unseen if the image lacks what came before the log."""
Places = tuple[LogPlace | None, ...]
"""A place in each node's log, None at its end."""
MOST_DIFFERENCES = 3
"""The differences between a snapshot and the image that a report names."""


@dataclass
class MetadataOutcome:
    """The outcome: what was read, the judge with its violations, and what could not be seen."""

    files: list[str]
    size: int
    judge: LogJudge
    nodes: list[NodeEnd] = field(default_factory=list)
    started_at: int = 0
    started_with: str = ""
    compared: list[int] = field(default_factory=list)
    """The ends of snapshots that were compared with the image."""
    explaining: Explaining | None = None
    elections: LoggedElections | None = None
    """What the logs of controllers say about elections; None if they say nothing."""
    elections_compared: int = 0
    """The epochs whose leader the metadata log and those logs name."""
    notes: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[Violation]:
        """What must not happen and did, in the order of the log."""
        return sorted(self.judge.violations, key=lambda one: (file_and_line(one.place)[1], one.kind, one.subject))

    @property
    def verdict(self) -> Literal["holds", "violated", "inconclusive"]:
        """`violated`, `holds` if everything was seen, or inconclusive."""
        return "violated" if self.judge.violations else "inconclusive" if self.open_reasons else "holds"

    @property
    def open_reasons(self) -> list[str]:
        """Reasons why the verdict is inconclusive."""
        return [*self.unseen, *(["there is no record of the metadata log"] if not self.judge.records else [])]

    @property
    def unfinished(self) -> list[Unfinished]:
        """What has not ended where the log ends: nothing, since an event is one batch."""
        return []

    def at(self, place: int) -> str:
        """Return FILE:OFFSET."""
        file, offset = file_and_line(place)
        return f"{self.files[file]}:{offset}"


class Validation:
    """Validates sources. `progress` receives the number of bytes read; a `live` log may be torn where it is being written."""

    def __init__(
        self, sources: Sources, judge: LogJudge, progress: Callable[[int], None] = lambda _: None, live: bool = False
    ) -> None:
        self._live = live
        self._sources = sources
        self.judge = judge
        explaining = judge.explaining if isinstance(judge.explaining, Explaining) else None
        self.outcome = MetadataOutcome(sources.files, sources.size, judge, explaining=explaining)
        self._progress = progress
        self._snapshots = sorted((one for node in sources.nodes for one in node.snapshots), key=lambda one: one.end)

    def run(
        self, until: Callable[[LogBatch], bool] = lambda _: False, before: Callable[[LogBatch, Places], None] | None = None
    ) -> MetadataOutcome:
        """Read everything, or up to the first batch of which `until` holds, and return the outcome.

        `before` receives each batch before it is judged, and where the nodes' logs are to be read on for it.
        """
        outcome, judge = self.outcome, self.judge
        merger = Merger(
            self._sources.nodes, lambda file, offset, text: judge.report_at("nodes-differ", file, offset, "the log", text)
        )
        pending = list(self._snapshots)
        begun = False
        for file, batch in merger:
            if not begun:
                begun, pending = True, self._begin(batch.base, pending)
            if batch.last < (judge.next or 0):
                continue
            while pending and pending[0].end <= batch.base:
                self._compare(pending.pop(0))
            if until(batch):
                self.outcome.unseen.append(f"the log is read up to offset {batch.base - 1:,} alone")
                return self.outcome
            if before is not None:
                before(batch, merger.places)
            judge.feed(batch, file)
            self._progress(len(batch.data))
        if not begun:
            pending = self._begin(0, pending) if pending and pending[0].end == 0 else self._only_snapshots(pending)
        for snapshot in pending:
            self._compare(snapshot)
        outcome.nodes, outcome.notes = merger.ends, outcome.notes + merger.notes
        for node, end in zip(self._sources.nodes, merger.ends, strict=True):
            self._look_beside(node, end)
        self._look_at_elections()
        if judge.open_transaction is not None:
            outcome.unseen.append("a transaction has not ended where the log ends; its records are not judged")
        if judge.unknown_tags:
            outcome.unseen.append(f"{judge.unknown_tags:,} records have fields that are unknown here")
        return outcome

    # -----------------------------------------------------------------------------------------------------------------
    # Where the log begins

    def _begin(self, first: int, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
        """Begin with the empty image, or with the first snapshot of a log whose head is truncated; return the later snapshots."""
        if first == 0:
            return list(snapshots)
        for place, snapshot in enumerate(snapshots):
            if snapshot.end >= first and (image := self._read(snapshot)) is not None:
                self._begin_with(snapshot, image)
                if snapshot.end > first:
                    self.outcome.unseen.append(
                        f"offsets {first} to {snapshot.end - 1} are before the oldest snapshot, and could not be judged"
                    )
                return list(snapshots[place + 1 :])
        self.outcome.unseen.append(f"the log begins at offset {first}, and {NO_SNAPSHOT}")
        return list(snapshots)

    def _only_snapshots(self, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
        """Judge snapshots without a log: the first by itself, the others are not judged."""
        for place, snapshot in enumerate(snapshots):
            if (image := self._read(snapshot)) is not None:
                self._begin_with(snapshot, image)
                self.judge.records += image.partitions + len(image.brokers)
                self.outcome.unseen.append("there are snapshots without a log: only the first of them is judged, by itself")
                return list(snapshots[place + 1 :])
        return []

    def _begin_with(self, snapshot: Snapshot, image: Image) -> None:
        self.judge.begin_with(image, snapshot.end)
        self.outcome.started_at = snapshot.end
        self.outcome.started_with = self.outcome.files[snapshot.file]

    def _read(self, snapshot: Snapshot) -> Image | None:
        try:
            return image_of(snapshot.path)
        except DamagedSnapshot as error:
            self.outcome.unseen.append(f"{self.outcome.files[snapshot.file]} is damaged: {error}")
            return None

    # -----------------------------------------------------------------------------------------------------------------
    # What lies beside the log

    def _compare(self, snapshot: Snapshot) -> None:
        """Compare a snapshot with the image at its end."""
        if snapshot.end == 0:
            return  # the bootstrap snapshot, whose records the first controller writes into the log
        if self.judge.next != snapshot.end or self.judge.open_transaction is not None:
            self.outcome.unseen.append(f"{self.outcome.files[snapshot.file]}: the log here has no image of offset {snapshot.end}")
            return
        image = self._read(snapshot)
        if image is None:
            return
        self.outcome.compared.append(snapshot.end)
        mine, theirs = voters_of(self.judge.image), voters_of(image)
        if mine != theirs:
            text = f"the log says {in_words(mine)}, the snapshot {in_words(theirs)}; a process that starts reads the snapshot"
            self.judge.report_at(VOTERS_DIFFER, snapshot.file, snapshot.end, "the voters of the quorum", text)
        found = differences(self.judge.image, image)
        for subject, mine, theirs in found[:MOST_DIFFERENCES]:
            text = f"the log says {mine}, the snapshot {theirs}" + (f"; and {len(found) - 1} more" if len(found) > 1 else "")
            self.judge.report_at("snapshot-differs", snapshot.file, snapshot.end, subject, text)

    def _look_at_elections(self) -> None:
        """Judge the elections that the logs of controllers name, and compare their leaders with those of the log."""
        found = elections_of(self._sources.controllers, self.judge.report_at)
        if not found.count:
            return
        self.outcome.elections = found
        for one in found.gaps[:MOST_DIFFERENCES]:
            place = f"{self.outcome.files[one.file]}, line {one.line}"
            self.outcome.unseen.append(f"{place}: node {one.node} was something else in the line before; lines are missing")
        files = [number for node in self._sources.nodes for number, _ in (*node.segments, *node.dumps)]
        for reign in self.judge.reigns if files else ():
            self.outcome.elections_compared += found.compare([(reign.epoch, reign.controller)], files[0], reign.first)

    def _start_of(self, node: NodeLog, first: int, reported: Sequence[tuple[int, int]]) -> int:
        """Return where a log begins, -1 if it has all batches: at its first, or at a snapshot, by its checkpoint of epochs."""
        begins = reported[0][1] if reported else 0
        is_cut = begins > first and any(one.end == begins for one in node.snapshots)
        return begins if is_cut else first if first else -1

    def _look_beside(self, node: NodeLog, end: NodeEnd) -> None:
        """Compare leader-epoch-checkpoint and quorum-state with the batches; name how the log is torn."""
        for file, tail in [] if self._live else end.torn:
            place = f"{self.outcome.files[file]}, byte {tail.place}"
            self.outcome.unseen.append(f"{place}: {tail.why}; {tail.lost:,} bytes are not read")
        if node.epochs is not None and end.first is not None:
            file, path = node.epochs
            try:
                reported = epochs_in(path)
            except ValueError as error:
                self.outcome.unseen.append(f"{self.outcome.files[file]} cannot be read: {error}")
                return
            # the first epoch of a log that was cut begins at a snapshot, where the segment that it is in may begin before
            start = self._start_of(node, end.first, reported)
            seen = [one for one in end.epochs if one[1] > start]
            first_epoch = end.epochs[0][0] if end.first else -1
            wanted = [one for one in reported if start < one[1] < end.end and one[0] > first_epoch]
            if wanted != seen:
                text = f"it says (epoch, first offset) {wanted}, the batches {seen}"
                self.judge.report_at("epoch-checkpoint-differs", file, end.end, "the log", text)
        if node.quorum is not None and end.epoch >= 0:
            file, path = node.quorum
            try:
                epoch = quorum_in(path).get("leaderEpoch", -1)
            except ValueError as error:
                self.outcome.unseen.append(f"{self.outcome.files[file]} cannot be read: {error}")
                return
            if epoch < end.epoch:
                text = f"it has epoch {epoch}, and the log goes to epoch {end.epoch}"
                self.judge.report_at("quorum-state-differs", file, end.end, "the log", text)


def in_words(voters: Sequence[int]) -> str:
    """Return voters as a report names them."""
    return f"voters {', '.join(map(str, voters))}" if voters else "no voters"
