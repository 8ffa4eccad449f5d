"""Follows a metadata log while it grows: each event as soon as its batch is in the file, and what violates a property.

The folder of a node is read again and again; nothing is locked, and nothing is asked of the cluster. The end of an active
controller's log may not be committed yet: a new controller may truncate it, which ends the following.

Source: Kafka 3.9 KafkaMetadataLog.scala, LogSegment.java.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kafka_spec.conformance.metadata.batches import LogBatch, TornTail, batches_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.sources import Sources
from kafka_spec.conformance.metadata.story import Story, StoryLine
from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.spec.vocabulary.table import SpecError

SEGMENT_NAME = re.compile(r"\d{20}\.log")
EVERY = 0.25
"""Seconds between two looks at the folder."""


class LogTruncated(Exception):  # noqa: N818 - says what happened
    """The log does not continue where it was read up to."""


class GrowingLog:
    """The batches of a folder from an offset on, as they come."""

    def __init__(self, folder: Path, start: int) -> None:
        self.folder, self.next = folder, start
        self._segment: Path | None = None
        self._place = 0
        self._last = b""
        """The batch before the place, to notice that it was replaced."""

    def more(self) -> Iterator[tuple[Path, LogBatch]]:
        """Yield the batches that have come since the last call, each with its segment.

        Raises:
            LogTruncated: the log was truncated, or what follows is gone.
        """
        while True:
            if self._segment is not None:
                yield from self._rest(self._segment)
            following = self._following()
            if following is None:
                return
            self._segment, self._place, self._last = following, 0, b""

    def _following(self) -> Path | None:
        """Return the segment in which the next batch is, if it is not the one that is read."""
        segments = sorted(one for one in self.folder.iterdir() if SEGMENT_NAME.fullmatch(one.name))
        begun = [one for one in segments if int(one.stem) <= self.next]
        if not begun:
            raise LogTruncated(f"no segment holds offset {self.next:,}")
        return begun[-1] if begun[-1] != self._segment else None

    def _rest(self, segment: Path) -> Iterator[tuple[Path, LogBatch]]:
        """Yield the complete batches of a segment behind the place that was read."""
        with segment.open("rb") as file:
            file.seek(self._place - len(self._last))
            last, data = file.read(len(self._last)), file.read()
        if last != self._last:
            raise LogTruncated(f"{segment.name} was truncated or replaced below offset {self.next:,}")
        for batch in batches_of(data):
            if isinstance(batch, TornTail):
                return
            if batch.base > self.next:
                raise LogTruncated(f"offset {batch.base:,} comes after {self.next - 1:,}")
            self._place, self._last = self._place + len(batch.data), batch.data
            if batch.base == self.next:
                self.next = batch.last + 1
                yield segment, batch


def folder_of(sources: Sources) -> Path:
    """Return the folder of the one node whose log is followed.

    Raises:
        SpecError: there are several, or there is no segment.
    """
    if len(sources.nodes) != 1 or not sources.nodes[0].segments or sources.scratch is not None:
        raise SpecError("--follow takes the folder __cluster_metadata-0 of one running node, with its segments")
    return sources.nodes[0].segments[-1][1].parent


def follow(
    sources: Sources,
    judge: LogJudge,
    explaining: Explaining,
    stopped: Callable[[], bool],
    show: Callable[[StoryLine | Violation], None],
    looked: Callable[[], None],
) -> str:
    """Read on from where a validation ended, and show each event and each violation; return why it ended, "" if it was stopped.

    `looked` is called after each look at the folder.
    """
    log = GrowingLog(folder_of(sources), judge.next or 0)
    story = Story(causes=explaining.causes, everything=True)
    explaining.followers.append(story.take)
    while not stopped():
        try:
            for segment, batch in log.more():
                _feed(sources, judge, segment, batch, story, show)
        except LogTruncated as reason:
            return f"the log does not continue: {reason}; start again"
        looked()
        time.sleep(EVERY)
    return ""


def _feed(
    sources: Sources,
    judge: LogJudge,
    segment: Path,
    batch: LogBatch,
    story: Story,
    show: Callable[[StoryLine | Violation], None],
) -> None:
    """Judge a batch, and show what it brings."""
    if str(segment) not in sources.files:
        sources.files.append(str(segment))
    known = len(judge.violations)
    judge.feed(batch, sources.files.index(str(segment)))
    for moment in story.moments:
        show(moment)
    story.moments.clear()
    for violation in judge.violations[known:]:
        show(violation)
