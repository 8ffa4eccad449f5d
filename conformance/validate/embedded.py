"""The engine in one process: reads all sources in turns, and checks each partition as its lines arrive.

Memory grows with partitions, controller epochs and requests in flight, not with the length of the logs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.actors import Actors
from kafka_spec.conformance.validate.broker_check import BrokerView
from kafka_spec.conformance.validate.claims import Claims
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.files import Source, in_turns
from kafka_spec.conformance.validate.lines import LineCounts, Parser
from kafka_spec.conformance.validate.partition_check import ControllerView
from kafka_spec.conformance.validate.partitions import Followed, PartitionCheck, PartitionResult, told_of_request


@dataclass
class SourceResult:
    """The results of one source, without partitions."""

    name: str
    counts: LineCounts
    claims: Claims
    layouts: tuple[str, ...] = ()
    """The layouts of its files, unless they are Kafka's own."""
    copies: tuple[str, ...] = ()
    """Files that are copies of it, and left out."""


def of_source(source: Source, counts: LineCounts, claims: Claims) -> SourceResult:
    """Return the results of a source."""
    layouts = dict.fromkeys(layout.shown for layout in source.layouts if layout is not None)
    return SourceResult(source.name, counts, claims, tuple(layouts), source.copies)


@dataclass
class ChannelResult:
    """The results of the whole requests on one channel."""

    followed: Followed
    violations: list[Violation]


@dataclass
class Results:
    """The results of all logs, before they are merged into an outcome."""

    sources: list[SourceResult]
    partitions: list[PartitionResult]
    channels: list[ChannelResult]


class ChannelCheck:
    """Checks the whole UpdateMetadata requests on one channel."""

    def __init__(self, epoch: int, broker: int) -> None:
        self._epoch, self._broker = epoch, broker
        self._violations: list[Violation] = []
        self.exchange = Exchange(self._told, alike=True)

    def _told(self, place: int, when: str, request: Any, lost: bool) -> None:
        actor = f"broker {self._broker}"
        kind, summary, needs = told_of_request(
            f"an UpdateMetadata for {request} partitions", self._epoch, self._broker, lost, whole=True
        )
        self._violations.append(Violation(place, kind, when, actor, actor, summary, "", self._epoch, needs))

    def finish(self) -> ChannelResult:
        """Check what is still pending."""
        fates = self.exchange.finish()
        followed = Followed(self._epoch, self._broker, fates, self.exchange.last_sent.decode())
        return ChannelResult(followed, sorted(self._violations))


class Checks:
    """All partitions and channels; makes the views of all sources."""

    def __init__(self, cursor: Cursor, era: str | None, keeps_moments: bool) -> None:
        self._cursor, self._era, self._keeps_moments = cursor, era, keeps_moments
        self.partitions: dict[str, PartitionCheck] = {}
        self.channels: dict[tuple[int, int], ChannelCheck] = {}

    def partition(self, name: str) -> PartitionCheck:
        """Return the check of a partition."""
        check = self.partitions.get(name)
        if check is None:
            check = self.partitions[name] = PartitionCheck(name, self._cursor, self._era, self._keeps_moments)
        return check

    def of_controller(self, controller: int, epoch: int, plain: bool, name: str) -> ControllerView:
        """Return the listener to a controller's lines about a partition."""
        return self.partition(name).of_controller(controller, epoch, plain)

    def of_broker(self, broker: int, name: str) -> BrokerView:
        """Return the listener to a broker's lines about a partition."""
        return self.partition(name).of_broker(broker)

    def of_channel(self, epoch: int, broker: int) -> Exchange:
        """Return the listener to the whole requests of one channel."""
        check = self.channels.get((epoch, broker))
        if check is None:
            check = self.channels[epoch, broker] = ChannelCheck(epoch, broker)
        return check.exchange

    def finish(self) -> tuple[list[PartitionResult], list[ChannelResult]]:
        """Do the checks that need all lines."""
        partitions = [self.partitions[name].finish() for name in sorted(self.partitions)]
        return partitions, [self.channels[key].finish() for key in sorted(self.channels)]


@contextmanager
def without_collections() -> Iterator[None]:
    """Do not look for objects that refer to each other in cycles: lines make none, and looking takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def run(sources: Sequence[Source], era: str | None, keeps_moments: bool, progress: Callable[[int], None]) -> Results:
    """Read and check all sources; `progress` is called with the number of further bytes read."""
    cursor = Cursor()
    checks = Checks(cursor, era, keeps_moments)
    actors = [Actors(checks, cursor) for _ in sources]
    parsers = [Parser(one, cursor) for one in actors]
    with without_collections():
        for index, chunk in in_turns(sources):
            before = parsers[index].counts.size
            parsers[index].read(chunk)
            progress(parsers[index].counts.size - before)
    for one in actors:
        one.finish()
    partitions, channels = checks.finish()
    found = [of_source(s, p.counts, a.claims) for s, p, a in zip(sources, parsers, actors, strict=True)]
    return Results(found, partitions, channels)
