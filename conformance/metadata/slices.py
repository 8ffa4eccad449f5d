"""A slice of a long metadata log, judged apart as one judge of the whole log would have come to it.

A slice begins with an image and with what the judge of the slice before hands over; it says what its own judge hands over. scout.py
cuts a log into slices.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_spec.conformance.metadata.batches import batches_of
from kafka_spec.conformance.metadata.checkpoint import checkpoint_of
from kafka_spec.conformance.metadata.explaining import Acting, Choice, Explaining
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge, Reign
from kafka_spec.conformance.metadata.merge import Merger
from kafka_spec.conformance.metadata.rulings import Release
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.snapshots import image_in
from kafka_spec.conformance.metadata.sources import NodeLog
from kafka_spec.conformance.metadata.validation import Places
from kafka_spec.conformance.outcome.violations import Violation


class Failing(NamedTuple):
    """What a partition violates: its topic's id, its number, the properties."""

    topic_id: bytes
    number: int
    properties: frozenset[str]


@dataclass(frozen=True)
class Handover:
    """What a judge and its explanations know between two batches, beside the image."""

    next: int | None = None
    reign: Reign | None = None
    largest_broker_epoch: int = -1
    failing: frozenset[Failing] = frozenset()
    choice: Choice | None = None


@dataclass(frozen=True)
class LogSlice:
    """A slice: the batches from where it begins up to the offset `end`, or to the end of the log.

    The first slice begins with an empty log, or with the snapshot of a truncated one, which is judged with it; each other one with
    an image and a handover.
    """

    nodes: tuple[NodeLog, ...]
    settings: StaticSettings
    explains: bool
    release: Release | None = None
    causes: Mapping[int, str] = field(default_factory=dict)
    image: bytes | None = None
    """The image where it begins, as a snapshot."""
    begin: int | None = None
    """Of the first slice: the offset that its snapshot ends before, None without one."""
    places: Places | None = None
    handover: Handover | None = None
    """What the judge of the slice before hands over; None of the first slice."""
    end: int | None = None
    digest: bytes = b""
    """The digest of the image where it ends."""


@dataclass(frozen=True)
class SliceResult:
    """What the judge of a slice found, and what it hands over."""

    violations: list[Violation]
    tested: Counter[tuple[str, ...]]
    handover: Handover
    explained: int = 0
    unexplained: int = 0
    changes_explained: int = 0
    compared_causes: int = 0
    events: Counter[str] = field(default_factory=Counter)
    acting: list[Acting] = field(default_factory=list)
    releases: list[tuple[int, str]] = field(default_factory=list)


# ---------------------------------------------------------------------------------------------------------------------
# A slice


def judge_slice(work: LogSlice) -> SliceResult:
    """Judge a slice.

    Raises:
        RuntimeError: the image at its end is not the one that the scout has there.
    """
    judge = LogJudge(work.settings)
    explaining = Explaining(judge, work.release, causes=work.causes) if work.explains else None
    _begin(judge, explaining, work)
    for file, batch in Merger(work.nodes, lambda _file, _offset, _text: None, work.places):
        if work.end is not None and batch.base >= work.end:
            break
        if batch.last >= (judge.next or 0):
            judge.feed(batch, file)
    if work.end is not None and digest_of(checkpoint_of(judge.image, 0, 0)) != work.digest:
        raise RuntimeError(f"the images before offset {work.end:,} differ between the scout and the judge; please report this")
    handover = _handed_over(judge, explaining)
    if explaining is None:
        return SliceResult(judge.violations, judge.claims.tested, handover)
    return SliceResult(
        judge.violations,
        judge.claims.tested,
        handover,
        explaining.explained,
        explaining.unexplained,
        explaining.changes_explained,
        explaining.compared_causes,
        explaining.events,
        explaining.acting,
        explaining.releases,
    )


def _begin(judge: LogJudge, explaining: Explaining | None, work: LogSlice) -> None:
    image = Image() if work.image is None else image_in(batches_of(work.image))
    given = work.handover
    if given is None:
        if work.begin is not None:
            judge.begin_with(image, work.begin)
        return
    judge.image, judge.next, judge.largest_broker_epoch = image, given.next, given.largest_broker_epoch
    judge.reigns = [] if given.reign is None else [given.reign]
    for topic_id, number, names in given.failing:
        partition = image.find(topic_id, number)
        assert partition is not None, "a handover names partitions of its image"
        judge.failing[partition] = names
    if explaining is not None:
        explaining.resume(given.choice)


def _handed_over(judge: LogJudge, explaining: Explaining | None) -> Handover:
    """Return what the judge of the next slice needs; what a deleted partition violates does not matter any more."""
    failing = frozenset(
        Failing(partition.topic_id, partition.number, names)
        for partition, names in judge.failing.items()
        if judge.image.find(partition.topic_id, partition.number) is partition
    )
    reign = judge.reigns[-1] if judge.reigns else None
    choice = explaining.choice if explaining is not None else None
    return Handover(judge.next, reign, judge.largest_broker_epoch, failing, choice)


def digest_of(image: bytes) -> bytes:
    """Return the digest of an image's snapshot."""
    return hashlib.sha256(image).digest()
