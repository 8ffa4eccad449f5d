"""A long metadata log is cut into slices that are judged in parallel; the report is that of one judge.

Theory of operation: A *scout* folds the log without judging it, and cuts it between two events now and then. For each cut it keeps
the image, as a snapshot, and guesses what else the judge of the slice before will hand over. A slice is judged from there, and
says what its judge hands over. Where that differs from what the next slice began with, that slice is judged again, with what was
handed over. So what the guesses are decides the time alone, never the outcome.

Depends on the judge and its explanations, not on where slices are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from kafka_spec.conformance.metadata.batches import LogBatch, MetadataEntry, batches_of
from kafka_spec.conformance.metadata.causes import causes_of
from kafka_spec.conformance.metadata.checkpoint import checkpoint_of
from kafka_spec.conformance.metadata.claims import PropertyChecker
from kafka_spec.conformance.metadata.explaining import Explaining, possible_releases
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LARGEST_EVENT, LogJudge
from kafka_spec.conformance.metadata.shapes import FoldedPartition, PartitionShape
from kafka_spec.conformance.metadata.slices import Failing, Handover, LogSlice, SliceResult, digest_of
from kafka_spec.conformance.metadata.snapshots import differences, image_in
from kafka_spec.conformance.metadata.sources import Sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome, Places, Validation
from kafka_spec.spec.vocabulary.table import SpecError

LEAST_RECORDS = 250_000
"""The records of a slice, at least."""
RECORDS_PER_PARTITION = 20
"""How many records a slice has at least for each partition of the image, which has to be written and read."""


def length_of_slice(image: Image) -> int:
    """Return how many records a slice has at least, by the image where it ends."""
    return max(LEAST_RECORDS, RECORDS_PER_PARTITION * image.partitions)


class _Untested(PropertyChecker):
    """Tests nothing."""

    def of_state(self, *_: object) -> tuple[str, ...]:
        return ()

    def of_change(self, *_: object) -> tuple[str, ...]:
        return ()

    def of_registration(self, *_: object) -> tuple[str, ...]:
        return ()


class _Unindexed(Image):
    """An image without the indexes that explanations need."""

    def _index(self, partition: FoldedPartition, old: PartitionShape | None, new: PartitionShape | None) -> None:
        if new is not None and new.leader < 0:
            self.leaderless[partition] = None
        elif old is not None and old.leader < 0:
            self.leaderless.pop(partition, None)


class Scout(LogJudge):
    """Folds a log as its judge does, judges nothing, and cuts it into slices."""

    def __init__(self, first: LogSlice, length: Callable[[Image], int], ready: Callable[[LogSlice], None]) -> None:
        """`first` is the first slice, without its end; `ready` receives each slice as soon as its end is known."""
        super().__init__(first.settings, _Unindexed(), _Untested())
        self._slice, self._length, self._ready = first, length, ready
        self._causes = first.causes
        self._cut_at = 0
        self._explained_epoch: int | None = None
        self._checker = PropertyChecker()
        self._is_inside = False

    def begin_with(self, image: Image, end: int) -> None:
        """Begin with the image of a snapshot, which the judge of the first slice judges.

        Raises:
            SpecError: it cannot be sent to that judge.
        """
        super().begin_with(image, end)
        data = _faithful(image)
        if data is None:
            raise SpecError(f"the snapshot of offset {end:,} holds what Kafka never writes; leave --engine spark out")
        self._slice = replace(self._slice, image=data, begin=end)

    def before(self, batch: LogBatch, places: Places) -> None:
        """Cut before a batch, if the slice is long enough, and no event and no transaction is under way."""
        long = self.records - self._cut_at >= self._length(self.image)
        if not long or self._is_inside or self.open_transaction is not None:
            return
        image = _faithful(self.image)
        if image is None:
            return
        self._cut_at = self.records
        self._finish(batch.base, image)
        self._slice = replace(self._slice, image=image, begin=None, places=places, handover=self._guess(), end=None, digest=b"")

    def finish(self) -> None:
        """End the last slice with the log."""
        self._finish(None, b"")

    def _finish(self, end: int | None, image: bytes) -> None:
        begin = self._slice.handover.next if self._slice.handover is not None else None
        causes = {
            offset: text
            for offset, text in self._causes.items()
            if (begin is None or begin <= offset) and (end is None or offset < end)
        }
        self._ready(replace(self._slice, end=end, digest=digest_of(image), causes=causes))

    def _guess(self) -> Handover:
        """Return what the judge will hand over, if nothing is explained by another release than the likeliest."""
        failing = []
        for partition in self.image.all_partitions():
            if names := self._checker.of_state(self.image, partition, self.min_isr(partition.topic_id)):
                failing.append(Failing(partition.topic_id, partition.number, frozenset(names)))
        choice = None
        if self._slice.explains and self._explained_epoch is not None:
            choice = self._explained_epoch, possible_releases(self, self._slice.release)[0]
        reign = self.reigns[-1] if self.reigns else None
        return Handover(self.next, reign, self.largest_broker_epoch, frozenset(failing), choice)

    def apply_entries(self, entries: Sequence[MetadataEntry]) -> None:
        """Apply the records of a batch."""
        super().apply_entries(entries)
        self._is_inside = len(entries) >= LARGEST_EVENT
        if entries:
            self._explained_epoch = self.reigns[-1].epoch if self.reigns else 0

    def _change(self, offset: int, record: Any) -> None:
        self.changes += 1
        partition = self.image.find(record.topic_id, record.partition_id)
        if partition is not None:
            self.image.change(partition, record)

    def judge_state(self, partition: FoldedPartition, offset: int) -> None:
        """Report nothing."""

    def report(self, kind: str, offset: int, subject: str, summary: str) -> None:
        """Report nothing: the judge of the slice does."""


def _faithful(image: Image) -> bytes | None:
    """Return an image as a snapshot, None if a snapshot cannot hold it: a broken log has images that Kafka never writes."""
    data = checkpoint_of(image, 0, 0)
    return None if differences(image, image_in(batches_of(data))) else data


# ---------------------------------------------------------------------------------------------------------------------
# The log


def validate_in_slices(
    sources: Sources,
    first: LogSlice,
    start: Callable[[LogSlice], Future[SliceResult]],
    progress: Callable[[int], None] = lambda _: None,
    length: Callable[[Image], int] = length_of_slice,
) -> MetadataOutcome:
    """Validate a log in slices of some length, which `start` lets somebody judge; `first` says how to judge."""
    slices: list[LogSlice] = []
    running: list[Future[SliceResult]] = []

    def ready(one: LogSlice) -> None:
        slices.append(one)
        running.append(start(one))

    scout = Scout(replace(first, nodes=tuple(sources.nodes), causes=causes_of(sources.controllers)), length, ready)
    outcome = Validation(sources, scout, progress).run(before=scout.before)
    scout.finish()
    results = [one.result() for one in running]
    while wrong := [at for at in range(1, len(slices)) if slices[at].handover != results[at - 1].handover]:
        again = [(at, replace(slices[at], handover=results[at - 1].handover)) for at in wrong]
        for (at, one), found in [(pair, start(pair[1])) for pair in again]:
            slices[at], results[at] = one, found.result()
    _put_together(scout, outcome, results, first)
    return outcome


def _put_together(scout: Scout, outcome: MetadataOutcome, results: Sequence[SliceResult], first: LogSlice) -> None:
    """Put what the slices found into the outcome of the scout, which has counted the records."""
    scout.claims = PropertyChecker()
    explaining = outcome.explaining = Explaining(scout, first.release) if first.explains else None
    scout.violations = [one for result in results for one in result.violations] + scout.violations
    for result in results:
        scout.claims.tested.update(result.tested)
        if explaining is not None:
            explaining.explained += result.explained
            explaining.unexplained += result.unexplained
            explaining.changes_explained += result.changes_explained
            explaining.compared_causes += result.compared_causes
            explaining.events.update(result.events)
            explaining.acting += result.acting
            named = explaining.releases[-1][1] if explaining.releases else ""
            explaining.releases += [one for at, one in enumerate(result.releases) if at or one[1] != named]
