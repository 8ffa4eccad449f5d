"""How long each partition was led, without a leader or below its minimum, and how brokers were fenced: what a page shows.

A follower of a validation: it is shown each event after it has been applied. What a log that begins with a snapshot does not say of
the time before a partition's first change is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.explaining import Explaining, LogEvent
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.shapes import FoldedPartition
from kafka_spec.spec.decisions.partition_change import effective_min_isr

TIMED_OUT = frozenset({"processExpiredBrokerHeartbeat", "maybeFenceStaleBroker", "maybeFenceReplicas"})
"""The operations of a controller's log that fence a broker whose session has ended."""


@dataclass(frozen=True)
class Span:
    """A part of a partition's time, from `since` on, in milliseconds since 1970; `leader` is -1 if there is none."""

    since: int
    offset: int
    event: str
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    below_minimum: bool
    exists: bool = True


@dataclass
class Lane:
    """A partition's spans."""

    name: str
    spans: list[Span] = field(default_factory=list)

    def times(self, end: int) -> tuple[int, int]:
        """Return the milliseconds without a leader, and below the minimum, up to the end of the log."""
        leaderless = below = 0
        for span, until in zip(self.spans, [*(one.since for one in self.spans[1:]), end], strict=True):
            leaderless += (until - span.since) if span.exists and span.leader < 0 else 0
            below += (until - span.since) if span.exists and span.below_minimum else 0
        return leaderless, below

    @property
    def fail_overs(self) -> int:
        """How often another broker became leader."""
        leaders = [span.leader for span in self.spans if span.exists and span.leader >= 0]
        return sum(before != after for before, after in pairwise(leaders))


class Timelines:
    """Gathers the lanes of all partitions, and counts how brokers were fenced."""

    def __init__(self, explaining: Explaining) -> None:
        self.lanes: dict[tuple[bytes, int], Lane] = {}
        self.fences: Counter[tuple[int, str]] = Counter()
        """How often a broker was fenced, by `time-out` or by `request`."""
        self._judge, self._causes = explaining.judge, explaining.causes
        self._stopping: set[str] = set()
        explaining.followers.append(self.take)

    def take(self, image: Image, reported: LogEvent, entries: list[MetadataEntry]) -> None:
        """Note what an event did."""
        name = reported.event.name if reported.event is not None else "not explained"
        for offset, key, record in entries:
            if key in (keys.PARTITION, keys.PARTITION_CHANGE):
                partition = image.find(record.topic_id, record.partition_id)
                if partition is not None:
                    self._add(image, partition, offset, reported.when, name)
            elif key == keys.REMOVE_TOPIC:
                for (topic_id, _), lane in self.lanes.items():
                    if topic_id == record.topic_id:
                        lane.spans.append(Span(reported.when, offset, name, -1, (), 0, False, False))
        if reported.event is not None:
            self._fence(reported.event.name, reported.event.subject, self._causes.get(reported.last, ""))

    def _add(self, image: Image, partition: FoldedPartition, offset: int, when: int, event: str) -> None:
        shape = partition.shape
        lane = self.lanes.setdefault((partition.topic_id, partition.number), Lane(image.name_of(partition)))
        below = len(shape.isr) < effective_min_isr(self._judge.min_isr(partition.topic_id), len(shape.replicas))
        lane.spans.append(Span(when, offset, event, shape.leader, shape.isr, partition.leader_epoch, below))

    def _fence(self, event: str, broker: str, cause: str) -> None:
        """Count a fence: a controlled shutdown, and what follows it, is a request of the broker."""
        if event == "controlled shutdown":
            self._stopping.add(broker)
        elif event == "fence":
            asked = broker in self._stopping or (cause != "" and cause not in TIMED_OUT)
            self.fences[int(broker.removeprefix("broker ")), "request" if asked else "time-out"] += 1
            self._stopping.discard(broker)
        elif event.startswith("register"):
            self._stopping.discard(broker)

    def finish(self) -> list[Lane]:
        """Return all lanes by name; what no event touched is as the image has it, from the log's beginning on."""
        image, judge = self._judge.image, self._judge
        for partition in image.all_partitions():
            if (partition.topic_id, partition.number) not in self.lanes:
                self._add(image, partition, 0, judge.first_time, "before the log")
        return sorted(self.lanes.values(), key=lambda lane: lane.name)
