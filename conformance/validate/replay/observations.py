"""What a cluster's logs show of each partition, as observations in one order that a run of the model has to follow.

A controller's lines of one epoch are in one file, and so are a broker's; times bring the files together. A request arrives after
it was sent, whatever the clocks say; one that was sent by a controller that then ended arrived before the next controller's lines,
since the model loses it otherwise. Nothing here depends on the texts of lines or on the model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka_spec.conformance.validate.actors import Actors
from kafka_spec.conformance.validate.embedded import without_collections
from kafka_spec.conformance.validate.events import Cursor, LeaderAndIsr, Message, Sender
from kafka_spec.conformance.validate.files import Source, in_turns
from kafka_spec.conformance.validate.lines import Parser

ARRIVED, TAKEN, IGNORED = "arrived", "taken", "ignored"
"""What a broker's log shows of a request: that it arrived, that it was acted on, or that it was refused."""


@dataclass(frozen=True)
class SeenLine:
    """One line of a controller: what kind of line, about which replica or broker, with which states or leadership."""

    when: str
    place: int
    epoch: int
    kind: str
    """`partition`, `replica`, `removed`, `told` or `stopped`."""
    about: int = -1
    """The replica, or the receiver of a request; -1 for a change of the partition."""
    source: int = -1
    target: int = -1
    now: LeaderAndIsr | None = None
    deletes: bool = False
    """A StopReplica deletes."""


@dataclass
class Arrival:
    """A LeaderAndIsr or a StopReplica that a broker's log shows."""

    when: str
    place: int
    epoch: int
    """The sender's controller epoch."""
    broker: int
    kind: str
    """`told` or `stopped`."""
    now: LeaderAndIsr | None = None
    leader_epoch: int = -1
    deletes: bool = False
    outcome: str = ARRIVED
    previous: int | None = None
    """The leader epoch that the replica had before, if the log says so; -1 after a restart."""
    after: int = 0
    """How many of the controllers' lines come before it."""


@dataclass
class PartitionStory:
    """All that the logs show of one partition."""

    name: str
    lines: list[SeenLine] = field(default_factory=list)
    """The controllers' lines, in order."""
    arrivals: list[Arrival] = field(default_factory=list)
    controllers: dict[int, int] = field(default_factory=dict)
    """The controller of each epoch that has lines about the partition."""
    assigned: tuple[int, ...] = ()
    """The replicas, the preferred one first, as the first line shows them that does."""
    gaps: list[str] = field(default_factory=list)
    """The times after which lines that are missing may have been about it."""
    moves: int = -1
    """The place of the first line that shows a reassignment, or -1."""

    @property
    def count(self) -> int:
        """How many observations there are."""
        return len(self.lines) + len(self.arrivals)

    def first(self, count: int) -> PartitionStory:
        """Return the beginning of the log, of this many observations."""
        lines = arrivals = 0
        for _ in range(min(count, self.count)):
            if arrivals < len(self.arrivals) and (lines == len(self.lines) or self.arrivals[arrivals].after <= lines):
                arrivals += 1
            else:
                lines += 1
        return replace(self, lines=self.lines[:lines], arrivals=self.arrivals[:arrivals])

    def put_in_order(self) -> None:
        """Order the lines, and the arrivals among them."""
        self.lines.sort(key=lambda one: (one.when, one.epoch, one.place))
        ended = _first_lines_after(self.lines)
        by_broker: dict[int, list[Arrival]] = {}
        for arrival in self.arrivals:
            by_broker.setdefault(arrival.broker, []).append(arrival)
        times = [line.when for line in self.lines]
        for arrivals in by_broker.values():
            sent, before = 0, 0
            for arrival in arrivals:
                place = bisect_right(times, arrival.when)
                place = min(place, ended.get(arrival.epoch, place))
                found = next((n for n in range(sent, len(self.lines)) if _is_sending(self.lines[n], arrival)), None)
                if found is not None:
                    place, sent = max(place, found + 1), found + 1
                arrival.after = before = max(before, place)
        self.arrivals.sort(key=lambda one: (one.after, one.when, one.broker, one.place))


def _first_lines_after(lines: Sequence[SeenLine]) -> dict[int, int]:
    """Return, for each epoch that writes no more once a later one writes, the number of that later one's first line."""
    found = {}
    for number, line in enumerate(lines):
        if number and line.epoch > lines[number - 1].epoch:
            for epoch in range(lines[0].epoch, line.epoch):
                if epoch not in found and all(later.epoch != epoch for later in lines[number:]):
                    found[epoch] = number
    return found


def _is_sending(line: SeenLine, arrival: Arrival) -> bool:
    """Whether the line sends what has arrived."""
    if (line.kind, line.epoch, line.about) != (arrival.kind, arrival.epoch, arrival.broker):
        return False
    if line.now is None or arrival.now is None:
        return line.deletes == arrival.deletes
    return same_leadership(line.now, arrival.now)


def same_leadership(one: LeaderAndIsr, other: LeaderAndIsr) -> bool:
    """Whether two lines show the same leader, leader epoch, ISR and version."""
    return (one.leader, one.epoch, sorted(one.isr), one.version) == (other.leader, other.epoch, sorted(other.isr), other.version)


class _ControllerListener:
    """Records a controller's lines about a partition."""

    def __init__(self, epoch: int, log: PartitionStory, cursor: Cursor) -> None:
        self._epoch, self._log, self._cursor = epoch, log, cursor

    def _add(self, kind: str, **what: object) -> None:
        self._log.lines.append(SeenLine(self._cursor.when, self._cursor.place, self._epoch, kind, **what))  # type: ignore[arg-type]

    def _assigned(self, replicas: tuple[int, ...]) -> None:
        if replicas and not self._log.assigned:
            self._log.assigned = replicas

    def partition_changed(self, source: int, target: int, now: LeaderAndIsr | None, assigned: tuple[int, ...]) -> None:
        self._assigned(assigned)
        self._add("partition", source=source, target=target, now=now)

    def replica_changed(self, replica: int, source: int, target: int) -> None:
        self._add("replica", about=replica, source=source, target=target)

    def removed(self, replica: int, now: LeaderAndIsr) -> None:
        self._add("removed", about=replica, now=now)

    def reported(self, broker: int, now: LeaderAndIsr) -> None:
        self._assigned(now.replicas)
        if now.moving:
            self._moves()
        self._add("told", about=broker, now=now)

    def stopped(self, broker: int, epoch: int, delete: bool, message: Message) -> None:
        self._add("stopped", about=broker, source=epoch, deletes=delete)

    def moves(self, now: LeaderAndIsr) -> None:
        self._moves()

    def _moves(self) -> None:
        if self._log.moves < 0:
            self._log.moves = self._cursor.place

    def refused(self, replica: int, source: int, target: int) -> None:
        """Nothing changes."""

    def started(self, replica: int, state: int) -> None:
        """What a machine starts with is not a line of its own."""

    def flushed(self, registered: frozenset[int] | None, alive: frozenset[int] | None, whole: bool) -> None:
        """The end of a batch is not an observation."""

    def gap(self) -> None:
        """Record where lines are missing."""
        self._log.gaps.append(self._cursor.when)


class _BrokerListener:
    """Records a broker's lines about a partition."""

    def __init__(self, broker: int, log: PartitionStory, cursor: Cursor, heard: set[int]) -> None:
        self._broker, self._log, self._cursor, self._heard = broker, log, cursor, heard
        self._waiting: dict[tuple[str, int], Arrival] = {}

    def _arrives(self, sender: Sender, kind: str, epoch: int, now: LeaderAndIsr | None, deletes: bool = False) -> None:
        cursor = self._cursor
        arrival = Arrival(cursor.when, cursor.place, sender.epoch, self._broker, kind, now, epoch, deletes)
        self._log.arrivals.append(arrival)
        self._heard.add(self._broker)
        self._waiting[kind, epoch] = arrival

    def received(self, sender: Sender, now: LeaderAndIsr) -> None:
        self._arrives(sender, "told", now.epoch, now)

    def begins(self, epoch: int, previous: int | None) -> None:
        self._outcome("told", epoch, TAKEN, previous)

    def ignored(self, epoch: int, current: int | None) -> None:
        self._outcome("told", epoch, IGNORED, current if current is not None else epoch)

    def stop_received(self, sender: Sender, epoch: int, delete: bool, message: Message) -> None:
        self._arrives(sender, "stopped", epoch, None, delete)

    def stop_ignored(self, epoch: int, current: int | None, deletes: bool | None) -> None:
        self._outcome("stopped", epoch, IGNORED)

    def _outcome(self, kind: str, epoch: int, outcome: str, previous: int | None = None) -> None:
        arrival = self._waiting.pop((kind, epoch), None)
        if arrival is not None:
            arrival.outcome, arrival.previous = outcome, previous

    def stop_skipped(self) -> None:
        """Why is not said; the model decides."""

    def cached(self, sender: Sender, now: LeaderAndIsr) -> None:
        """What a broker reports to its clients is not modelled."""

    def uncached(self, sender: Sender) -> None:
        """What a broker reports to its clients is not modelled."""

    def gap(self) -> None:
        """Record where lines are missing."""
        self._log.gaps.append(self._cursor.when)


class _NoChannel:
    def send(self, request: int, place: int, when: bytes) -> None:
        """Whole requests are not observations."""

    def receive(self, request: int, number: int, place: int, when: bytes) -> None:
        """Whole requests are not observations."""

    def sender_gap(self) -> None:
        """Whole requests are not observations."""

    def receiver_gap(self) -> None:
        """Whole requests are not observations."""


class Observations:
    """Records what the logs show, by partition; the views of all sources."""

    def __init__(self, wanted: frozenset[str], cursor: Cursor) -> None:
        """Record these partitions only; all if there are none."""
        self._wanted, self._cursor = wanted, cursor
        self.logs: dict[str, PartitionStory] = {}
        self.brokers: set[int] = set()
        """Brokers whose logs show which requests arrived."""
        self.terse: set[int] = set()
        """Controller epochs whose logs are at INFO."""
        self.plain: set[bool] = set()
        """Whether lines of controllers are in the form of 0.10."""

    def _log(self, name: str) -> PartitionStory:
        if self._wanted and name not in self._wanted:
            return PartitionStory(name)
        return self.logs.setdefault(name, PartitionStory(name))

    def of_controller(self, controller: int, epoch: int, plain: bool, name: str) -> _ControllerListener:
        """Return the listener to a controller's lines about a partition."""
        log = self._log(name)
        self.plain.add(plain)
        log.controllers[epoch] = controller
        return _ControllerListener(epoch, log, self._cursor)

    def of_broker(self, broker: int, name: str) -> _BrokerListener:
        """Return the listener to a broker's lines about a partition."""
        return _BrokerListener(broker, self._log(name), self._cursor, self.brokers)

    def of_channel(self, epoch: int, broker: int) -> _NoChannel:
        """Return the listener to whole requests."""
        return _NoChannel()


def observe(sources: Sequence[Source], wanted: frozenset[str] = frozenset()) -> Observations:
    """Read all sources; return what they show of these partitions, or of all, in order."""
    cursor = Cursor()
    found = Observations(wanted, cursor)
    actors = [Actors(found, cursor) for _ in sources]
    parsers = [Parser(one, cursor) for one in actors]
    with without_collections():
        for index, chunk in in_turns(sources):
            parsers[index].read(chunk)
    for one, parser in zip(actors, parsers, strict=True):
        one.finish()
        if not parser.counts.trace:
            found.terse |= {epoch for epoch, _ in one.claims.epochs}
    for log in found.logs.values():
        log.put_in_order()
    return found
