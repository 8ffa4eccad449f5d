"""The writers of a log: a controller in one epoch, and a broker; checks of them beyond single partitions.

A controller's lines form batches: first the changes, then all requests that they caused, LeaderAndIsr before UpdateMetadata
before StopReplica (ControllerBrokerRequestBatch). A broker passes whole requests through a gate, by controller epoch.
Independent of log texts. Events of a partition go to its views, which other modules make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from kafka_spec.conformance.validate.broker_requests import BrokerRequests
from kafka_spec.conformance.validate.events import BrokerEvents, ControllerEvents, Cursor, Sender
from kafka_spec.conformance.validate.exchange import LIFE_BITS
from kafka_spec.conformance.validate.findings import Violation
from kafka_spec.spec.decisions.fencing import answer_to_request
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode

LAST_BITS = (1 << LIFE_BITS) - 1


class HasGaps(Protocol):
    """A listener that missing lines can be reported to."""

    def gap(self) -> None:
        """Lines of this log are missing here."""


View = TypeVar("View", bound=HasGaps)


class Listeners(Generic[View]):
    """The listeners of one writer, by partition; after a gap each is informed of it before anything else."""

    __slots__ = ("_make", "_stale", "_torn", "current")

    def __init__(self, make: Callable[[bytes], View]) -> None:
        self.current: dict[bytes, View] = {}
        """Those that know of all gaps; the caller looks here first."""
        self._stale: dict[bytes, View] = {}
        self._torn = False
        self._make = make

    def get(self, name: bytes) -> View:
        """Return the listener of a partition."""
        view = self.current.get(name)
        if view is None:
            view = self._stale.pop(name, None) or self._make(name)
            if self._torn:
                view.gap()
            self.current[name] = view
        return view

    def gap(self) -> None:
        """Lines are missing here, about any partition."""
        self._torn = True
        self._stale.update(self.current)
        self.current.clear()

    def finish(self) -> None:
        """Tell those of a gap that have heard of nothing since."""
        for name in list(self._stale):
            self.get(name)


class ChannelEvents(Protocol):
    """Events that both sides log about whole UpdateMetadata requests on one channel."""

    def send(self, request: int, place: int, when: bytes) -> None:
        """A request with this number of partitions is sent."""

    def receive(self, request: int, number: int, place: int, when: bytes) -> None:
        """A request with this number of partitions arrived."""

    def sender_gap(self) -> None:
        """Lines of the controller are missing here."""

    def receiver_gap(self) -> None:
        """Lines of the broker are missing here."""


class Views(Protocol):
    """Makes the listeners for events of partitions and channels."""

    def of_controller(self, controller: int, epoch: int, plain: bool, name: str) -> ControllerEvents:
        """Return the listener to a controller's lines about a partition; `plain` lines are those of 0.10."""

    def of_broker(self, broker: int, name: str) -> BrokerEvents:
        """Return the listener to a broker's lines about a partition."""

    def of_channel(self, epoch: int, broker: int) -> ChannelEvents:
        """Return the listener to the whole requests of one channel."""


@dataclass
class Epoch:
    """One controller in one epoch, as one source shows it."""

    controller: int
    epoch: int
    plain: bool
    begun: bool
    """Whether the source contains the beginning of the epoch."""
    torn: bool = field(default=False, kw_only=True)
    """Whether lines are missing after its beginning."""
    place: int
    when: str


@dataclass
class Claims:
    """Statements of a source about controllers, topics and brokers: small, and merged at the end."""

    epochs: dict[tuple[int, int], Epoch] = field(default_factory=dict)
    named: dict[tuple[int, int], tuple[int, str, str]] = field(default_factory=dict)
    """(epoch, controller) as brokers and controllers name them: place, time, who names it."""
    brokers: set[int] = field(default_factory=set)
    """Brokers that write this source."""
    receivers: set[int] = field(default_factory=set)
    """Brokers to which a controller sends, according to this source."""
    alive: dict[int, frozenset[int]] = field(default_factory=dict)
    """Controller epochs: the brokers that were registered at its end, as far as its last requests show."""
    deletions: dict[str, tuple[bool, str, int]] = field(default_factory=dict)
    """Topics: whether the last deletion was finished, when that was logged, place."""
    elections: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Epochs: the controller that logs its election, and when."""
    violations: list[Violation] = field(default_factory=list)
    started: set[tuple[int, str]] = field(default_factory=set)
    """Controller epochs and machines whose states at the start-up are logged."""
    arrived: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often a request with a number was followed by another one on its channel."""
    answered: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often the controller got an answer to a request with a number."""
    answered_logged: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """The same, of requests that a broker's log shows in any case: an UpdateMetadata without partitions is in none."""
    all_arrived: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often a request with a number arrived."""
    missing: list[tuple[int, str]] = field(default_factory=list)
    """Lines that other lines say must be here: the place where one is missed, and which."""
    missing_at_trace: list[tuple[int, str]] = field(default_factory=list)
    """The same, if this source is at TRACE."""
    unfinished: list[str] = field(default_factory=list)
    """What the source ends in the middle of."""


def partition_name(raw: bytes) -> str:
    """Return topic-partition, also for the older form [topic,partition]."""
    text = raw.decode("utf-8", "replace")
    return text[1:-1].replace(",", "-") if text.startswith("[") and text.endswith("]") else text


class ControllerLog:
    """The lines of a controller in one epoch: its batches."""

    __slots__ = (
        "_actors",
        "_announces",
        "_flushed",
        "_flushing",
        "_registered",
        "_stops",
        "_told",
        "_torn",
        "_touched",
        "_views",
        "alive",
        "channels",
        "epoch",
        "listeners",
        "number",
        "plain",
    )  # fmt: skip

    def __init__(self, number: int, epoch: int, plain: bool, actors: Actors) -> None:
        self.number, self.epoch, self.plain = number, epoch, plain
        self._actors = actors
        self.listeners = Listeners(lambda name: actors.views.of_controller(number, epoch, plain, partition_name(name)))
        self._views = self.listeners.current
        self._touched: dict[ControllerEvents, None] = {}
        self.channels: dict[int, ChannelEvents] = {}
        self._announces = False
        """This version announces its requests to a broker after their partitions (2.6 and later), and the log has shown so."""
        self._told: dict[int, list[int]] = {}
        """Brokers: how many of its partitions were assigned to lead, and to follow, since the last announcement."""
        self._stops: dict[int, int] = {}
        self._torn = 0
        """How many batches from this one on may lack a line."""
        self._flushing = False
        self._flushed = False
        self._registered: frozenset[int] | None = None
        self.alive: frozenset[int] | None = None

    def view(self, name: bytes) -> ControllerEvents:
        """Return the listener to the lines about a partition."""
        return self._views.get(name) or self.listeners.get(name)

    def gap(self) -> None:
        """Lines are missing here: of this batch, or the first ones of the next."""
        self._actors.claims.epochs[self.epoch, self.number].torn = True
        self._told.clear()
        self._stops.clear()
        self.listeners.gap()
        self._torn = 2
        self.alive = None
        for channel in self.channels.values():
            channel.sender_gap()

    def channel(self, broker: int) -> ChannelEvents:
        """Return the listener to the whole requests to a broker."""
        channel = self.channels.get(broker)
        if channel is None:
            channel = self.channels[broker] = self._actors.views.of_channel(self.epoch, broker)
            self._actors.claims.receivers.add(broker)
        return channel

    def changing(self, name: bytes) -> ControllerEvents:
        """Return the view for a change, which begins a new batch if requests were sent since the last one."""
        if self._flushing:
            self.end_batch()
        view = self._views.get(name) or self.listeners.get(name)
        self._touched[view] = None
        return view

    def telling(self, name: bytes) -> ControllerEvents:
        """Return the view for a request that precedes the UpdateMetadata of its batch, or for a remark."""
        view = self._views.get(name) or self.listeners.get(name)
        self._touched[view] = None
        return view

    def sending(self, name: bytes) -> ControllerEvents:
        """Return the view for a LeaderAndIsr that is sent: a new batch if one was flushed before."""
        if self._flushed:
            self.end_batch()
        self._flushing = True
        return self.telling(name)

    def stopping(self, name: bytes) -> ControllerEvents:
        """Return the view for a StopReplica, which is sent last."""
        self._flushing = True
        return self.telling(name)

    def counts(self, broker: int, leads: bool) -> None:
        """A LeaderAndIsr of one partition is sent to a broker."""
        reported = self._told.get(broker)
        if reported is None:
            reported = self._told[broker] = [0, 0]
        reported[not leads] += 1

    def counts_stop(self, broker: int) -> None:
        """A StopReplica of one partition is sent to a broker."""
        self._stops[broker] = self._stops.get(broker, 0) + 1

    def announces(self, broker: int, leaders: int, followers: int) -> None:
        """A LeaderAndIsr was sent to a broker with so many partitions to lead and to follow."""
        self._announces = True
        reported = self._told.pop(broker, [0, 0])
        if reported != [leaders, followers]:
            wanted = f"{leaders} and {followers} partitions that broker {broker} is to lead and to follow"
            summary = f"of {wanted}, {reported[0]} and {reported[1]} are here"
            self._actors.misses(summary, at_trace=reported == [0, 0])

    def answered(self, broker: int, correlation: int, is_logged: bool) -> None:
        """A request was answered; `is_logged`: a broker's log shows all of this kind."""
        claims = self._actors.claims
        claims.answered.setdefault((self.epoch, broker), Counter())[correlation] += 1
        if is_logged:
            claims.answered_logged.setdefault((self.epoch, broker), Counter())[correlation] += 1

    def announces_stops(self, broker: int, count: int) -> None:
        """A StopReplica was sent to a broker with so many partitions."""
        self._announces = True
        reported = self._stops.pop(broker, 0)
        if reported != count:
            self._actors.misses(f"of {count} StopReplica to broker {broker}, {reported} are here", at_trace=not reported)

    def flush(self, brokers: tuple[int, ...], count: int) -> None:
        """An UpdateMetadata for this many partitions is sent to these brokers: to all registered ones if there was a change."""
        if self._flushed:
            self.end_batch()
        self._flushing = self._flushed = True
        if brokers:
            reported = frozenset(brokers)
            newcomers = self.alive is not None and not reported & self.alive
            self.alive = reported | self.alive if newcomers and self.alive else reported
        if count:
            self._registered = frozenset(brokers)
            cursor = self._actors.cursor
            when = cursor.line[1:24]
            for broker in brokers:
                self.channel(broker).send(count, cursor.place, when)
        else:
            self._actors.claims.receivers.update(brokers)

    def flush_one(self, brokers: tuple[int, ...]) -> None:
        """An UpdateMetadata for one partition is logged by itself, as in Kafka before 2.4."""
        self._flushing = self._flushed = True
        self._registered = (self._registered or frozenset()) | frozenset(brokers)

    def end_batch(self) -> None:
        """All requests of the batch are sent."""
        if self._told or self._stops:
            self._told.clear()
            self._stops.clear()
            if self._announces:
                self._actors.misses("the announcement of a request")
        registered = self._registered if self._flushed else None
        whole = self._torn == 0
        for view in self._touched:
            view.flushed(registered, self.alive, whole)
        self._torn -= not whole
        self._touched.clear()
        self._flushing = self._flushed = False
        self._registered = None


class BrokerLog:
    """The lines of a broker: the gate for whole requests."""

    __slots__ = (
        "_actors", "_announces", "_last", "_metadata", "_numbers", "_seen", "_stopping", "_stops", "_taken", "_views", "channels",
        "listeners", "number", "requests", "stale",
    )  # fmt: skip

    def __init__(self, number: int, actors: Actors) -> None:
        self.number = number
        self.stale: dict[tuple[int, int], int] = {}
        """Arrived requests of an old controller epoch that are not refused so far: (controller, correlation), epoch."""
        self._actors = actors
        self.listeners = Listeners(lambda name: actors.views.of_broker(number, partition_name(name)))
        self._views = self.listeners.current
        self.channels: dict[int, ChannelEvents] = {}
        self.requests = BrokerRequests(number, actors.misses, self._differs, lambda: actors.trace)
        self._announces = False
        """This version says at the end of an UpdateMetadata how many partitions it has (2.4 and later)."""
        self._metadata = [0, 0]
        """Partitions that the last UpdateMetadata has changed and deleted so far."""
        self._stopping: set[bytes] = set()
        """The partitions of the last StopReplica."""
        self._stops: list[int] | None = None
        """Of the last StopReplica: controller, correlation id, partitions that it announces, partitions so far."""
        self._seen = 0
        self._numbers: dict[tuple[int, int], int] = {}
        self._last: Sender | None = None
        self._taken: Sender | None = None

    def view(self, name: bytes) -> BrokerEvents:
        """Return the listener to the lines about a partition."""
        return self._views.get(name) or self.listeners.get(name)

    def gap(self) -> None:
        """Lines are missing here: what arrived may be among them, or refused by them."""
        self.listeners.gap()
        self.stale.clear()
        self.requests.new_channel()
        self._stops = None
        self._taken = None
        for channel in self.channels.values():
            channel.receiver_gap()

    def arrives(self, controller: int, epoch: int, correlation: int) -> Sender:
        """A request is logged before the gate checks it; return its sender."""
        sender = self._sender(controller, epoch, correlation)
        if epoch > self._seen:
            self._seen = epoch
        elif epoch < self._seen:
            self.stale[controller, correlation] = epoch
        return sender

    def acts(self, controller: int, correlation: int) -> None:
        """The broker acts on an arrived request."""
        epoch = self.stale.pop((controller, correlation), None)
        if epoch is not None:
            self._accepted("LeaderAndIsr", controller, epoch)

    def announces_stops(self, controller: int, correlation: int, count: int) -> None:
        """A StopReplica of so many partitions arrives."""
        self._next(controller, correlation)
        self._stops = [controller, correlation, count, 0]
        self._stopping.clear()

    def refuses_stop(self, controller: int, epoch: int, correlation: int, name: bytes) -> None:
        """A partition of a StopReplica is refused, in a line that names its request."""
        stops, sender = self._stops, self._last
        same = sender is not None and (sender.controller, sender.epoch, sender.number & LAST_BITS) == (
            controller,
            epoch,
            correlation,
        )
        if stops is not None and (stops[:2] != [controller, correlation] or not same or name not in self._stopping):
            self._actors.misses("the request of a StopReplica that is refused", at_trace=True)

    def stops(self, controller: int, correlation: int, name: bytes) -> None:
        """A partition of a StopReplica arrived."""
        stops = self._stops
        if stops is not None and stops[:2] == [controller, correlation]:
            stops[3] += 1
            self._stopping.add(name)
        elif self.requests.announces:
            self._actors.misses("the beginning of a StopReplica request")

    def _next(self, controller: int, correlation: int) -> None:
        """Another request is read: those before it must be complete."""
        self.requests.next((controller, correlation))
        self._end_stops()

    def _end_stops(self) -> None:
        stops, self._stops = self._stops, None
        if stops is not None and stops[2] != stops[3]:
            self._actors.misses(f"of {stops[2]} partitions of a StopReplica {stops[3]} are here", at_trace=not stops[3])

    def takes(self, controller: int, epoch: int, correlation: int, deletes: int = -1) -> Sender:
        """The broker acts on an UpdateMetadata, for a partition that changes (0) or is deleted (1); return its sender."""
        sender = self._sender(controller, epoch, correlation)
        taken = self._taken
        if sender is not taken and sender != taken:
            if epoch < self._seen:
                self._accepted("UpdateMetadata", controller, epoch)
            self._end_metadata(sender)
            self._taken = sender
        if epoch > self._seen:
            self._seen = epoch
        if deletes >= 0:
            self._metadata[deletes] += 1
        return sender

    def _end_metadata(self, following: Sender) -> None:
        """The UpdateMetadata before must be complete, unless its channel has closed."""
        taken = self._taken
        if taken is not None and any(self._metadata):
            if self._announces and taken[:2] == following[:2] and taken.number >> LIFE_BITS == following.number >> LIFE_BITS:
                self._actors.misses("the end of an UpdateMetadata request")
            self._metadata = [0, 0]

    def takes_all(self, sender: Sender, changed: int, deleted: int) -> None:
        """The UpdateMetadata that the broker acted on has this many partitions."""
        cursor = self._actors.cursor
        seen, self._metadata = self._metadata, [0, 0]
        self._announces = True
        if seen != [changed, deleted]:
            wanted = f"{changed} and {deleted} partitions that an UpdateMetadata changes and deletes"
            summary = f"of {wanted}, {seen[0]} and {seen[1]} are here"
            self._actors.misses(summary, at_trace=seen == [0, 0])
        partitions = changed + deleted
        channel = self.channels.get(sender.epoch)
        if channel is None:
            channel = self.channels[sender.epoch] = self._actors.views.of_channel(sender.epoch, self.number)
        channel.receive(partitions, sender.number, cursor.place, cursor.line[1:24])

    def _sender(self, controller: int, epoch: int, correlation: int) -> Sender:
        """Return the sender; numbers that restart belong to a new channel."""
        last = self._last
        if last is not None and last[0] == controller and last[1] == epoch and last[2] & LAST_BITS == correlation:
            return last
        before = self._numbers.get((epoch, controller))
        if before is None:
            self._actors.name(controller, epoch, f"broker {self.number}")
            before = 0
        life = before >> LIFE_BITS
        key = (controller, correlation)
        stops = self._stops
        if correlation < before & LAST_BITS:
            life += 1
            self.requests.new_channel(key)
            self._stops = stops if stops is not None and stops[:2] == [*key] else None
        else:
            if last is not None and last[:2] == (controller, epoch):
                self._actors.claims.arrived.setdefault((epoch, self.number), Counter())[last.number & LAST_BITS] += 1
            self.requests.next(key)
            if stops is not None and stops[:2] != [*key]:
                self._end_stops()
        number = life << LIFE_BITS | correlation
        self._numbers[epoch, controller] = number
        self._actors.claims.all_arrived.setdefault((epoch, self.number), Counter())[correlation] += 1
        self._last = sender = Sender(controller, epoch, number)
        return sender

    def _differs(self, name: bytes, summary: str) -> None:
        """A line about a partition contradicts the request that it is about."""
        cursor = self._actors.cursor
        violation = Violation(cursor.place, "told-otherwise", cursor.when, partition_name(name), f"broker {self.number}", summary)
        self._actors.claims.violations.append(violation)

    def finish(self) -> None:
        """Check what the log ends with."""
        self.listeners.finish()
        self._end_stops()
        if self.requests.unfinished():
            self._actors.claims.unfinished.append(f"broker {self.number} has not finished a LeaderAndIsr request")
        if any(self._metadata) and self._announces:
            self._actors.claims.unfinished.append(f"broker {self.number} has not finished an UpdateMetadata request")

    def refuses(self, controller: int, epoch: int, correlation: int, latest: int) -> None:
        """A request is refused because its controller epoch is old."""
        self.stale.pop((controller, correlation), None)
        answer = answer_to_request(epoch, latest, Checked.YES, -1, -1, Checked.NO)
        if answer != ErrorCode.STALE_CONTROLLER_EPOCH:
            self._tell("wrong-refusal", epoch, f"controller epoch {epoch} is refused as old while the latest is {latest}")

    def _accepted(self, request: str, controller: int, epoch: int) -> None:
        summary = f"{request} of controller {controller} in epoch {epoch} takes effect after epoch {self._seen} was seen"
        self._tell("stale-controller-accepted", epoch, summary)

    def _tell(self, kind: str, epoch: int, summary: str) -> None:
        cursor, actor = self._actors.cursor, f"broker {self.number}"
        self._actors.claims.violations.append(Violation(cursor.place, kind, cursor.when, actor, actor, summary, epoch=epoch))


class Actors:
    """All writers of one source."""

    def __init__(self, views: Views, cursor: Cursor) -> None:
        self.views = views
        self.cursor = cursor
        self.claims = Claims()
        self._controllers: dict[tuple[int, int], ControllerLog] = {}
        self._brokers: dict[int, BrokerLog] = {}
        self._highest = 0
        self._torn = False
        self.trace = False
        """A line of this source is at TRACE."""

    def controller(self, number: int, epoch: int, plain: bool) -> ControllerLog:
        """Return a controller in an epoch."""
        key = (epoch, number)
        log = self._controllers.get(key)
        if log is None:
            begun = not self._torn and (epoch == 1 or 0 < self._highest < epoch)
            cursor = self.cursor
            self.claims.epochs[key] = Epoch(number, epoch, plain, begun, cursor.place, cursor.when)
            self.name(number, epoch, f"controller {number}")
            log = self._controllers[key] = ControllerLog(number, epoch, plain, self)
        return log

    def broker(self, number: int) -> BrokerLog:
        """Return a broker."""
        log = self._brokers.get(number)
        if log is None:
            self.claims.brokers.add(number)
            log = self._brokers[number] = BrokerLog(number, self)
        return log

    def misses(self, summary: str, at_trace: bool = False) -> None:
        """Other lines show that one is missing about here; `at_trace` says that this is so only if the source is at TRACE."""
        if at_trace and not self.trace:
            self.claims.missing_at_trace.append((self.cursor.place, summary))
            return
        self.claims.missing.append((self.cursor.place, summary))
        self.gap()

    def gap(self) -> None:
        """Lines of this source are missing here, of any writer."""
        self._torn = True
        for controller in self._controllers.values():
            controller.gap()
        for broker in self._brokers.values():
            broker.gap()

    def name(self, controller: int, epoch: int, who: str) -> None:
        """Record that a line names the controller of an epoch."""
        self._highest = max(self._highest, epoch)
        self.claims.named.setdefault((epoch, controller), (self.cursor.place, self.cursor.when, who))

    def finish(self) -> None:
        """End the last batches, after the whole source is read."""
        for log in self._controllers.values():
            log.end_batch()
            log.listeners.finish()
        for broker in self._brokers.values():
            broker.finish()
        if self.trace:
            self.claims.missing += self.claims.missing_at_trace
        self.claims.missing_at_trace.clear()
        for (epoch, _), log in self._controllers.items():
            if log.alive is not None:
                self.claims.alive[epoch] = log.alive
