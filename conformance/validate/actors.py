"""The writers of a log: a controller in one epoch, and a broker; checks of them beyond single partitions.

A controller's lines form batches: first the changes, then all requests that they caused, LeaderAndIsr before UpdateMetadata
before StopReplica (ControllerBrokerRequestBatch). A broker passes whole requests through a gate, by controller epoch.
Independent of log texts. Events of a partition go to its views, which other modules make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kafka_spec.conformance.validate.events import BrokerEvents, ControllerEvents, Cursor, Sender
from kafka_spec.conformance.validate.exchange import LIFE_BITS
from kafka_spec.conformance.validate.findings import Violation
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.gates import answer_to_request

LAST_BITS = (1 << LIFE_BITS) - 1


class ChannelEvents(Protocol):
    """Events that both sides log about whole UpdateMetadata requests on one channel."""

    def send(self, request: int, place: int, when: bytes) -> None:
        """A request with this number of partitions is sent."""

    def receive(self, request: int, number: int, place: int, when: bytes) -> None:
        """A request with this number of partitions arrived."""


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
    place: int
    when: str


@dataclass
class Claims:
    """Statements of a source about controllers, topics and brokers: small, and merged at the end."""

    epochs: dict[tuple[int, int], Epoch] = field(default_factory=dict)
    named: dict[tuple[int, int], tuple[int, str, str]] = field(default_factory=dict)
    """(epoch, controller) as brokers and controllers name them: place, time, who names it."""
    brokers: set[int] = field(default_factory=set)
    deletions: dict[str, tuple[bool, str, int]] = field(default_factory=dict)
    """Topics: whether the last deletion was finished, when that was logged, place."""
    elections: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Epochs: the controller that logs its election, and when."""
    violations: list[Violation] = field(default_factory=list)


def partition_name(raw: bytes) -> str:
    """Return topic-partition, also for the older form [topic,partition]."""
    text = raw.decode("utf-8", "replace")
    return text[1:-1].replace(",", "-") if text.startswith("[") and text.endswith("]") else text


class ControllerLog:
    """The lines of a controller in one epoch: its batches."""

    __slots__ = ("_actors", "_alive", "_flushed", "_flushing", "_registered", "_touched", "_views", "epoch", "number", "plain")

    def __init__(self, number: int, epoch: int, plain: bool, actors: Actors) -> None:
        self.number, self.epoch, self.plain = number, epoch, plain
        self._actors = actors
        self._views: dict[bytes, ControllerEvents] = {}
        self._touched: dict[ControllerEvents, None] = {}
        self._flushing = False
        self._flushed = False
        self._registered: frozenset[int] | None = None
        self._alive: frozenset[int] | None = None

    def view(self, name: bytes) -> ControllerEvents:
        """Return the listener to the lines about a partition."""
        view = self._views.get(name)
        if view is None:
            made = self._actors.views.of_controller(self.number, self.epoch, self.plain, partition_name(name))
            view = self._views[name] = made
        return view

    def changing(self, name: bytes) -> ControllerEvents:
        """Return the view for a change, which begins a new batch if requests were sent since the last one."""
        if self._flushing:
            self.end_batch()
        view = self._views.get(name) or self.view(name)
        self._touched[view] = None
        return view

    def telling(self, name: bytes) -> ControllerEvents:
        """Return the view for a request that precedes the UpdateMetadata of its batch, or for a remark."""
        view = self._views.get(name) or self.view(name)
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

    def flush(self, brokers: tuple[int, ...], count: int) -> None:
        """An UpdateMetadata for this many partitions is sent to these brokers: to all registered ones if there was a change."""
        if self._flushed:
            self.end_batch()
        self._flushing = self._flushed = True
        if brokers:
            told = frozenset(brokers)
            newcomers = self._alive is not None and not told & self._alive
            self._alive = told | self._alive if newcomers and self._alive else told
        if count:
            self._registered = frozenset(brokers)
            cursor = self._actors.cursor
            when = cursor.line[1:24]
            for broker in brokers:
                self._actors.channel(self.epoch, broker).send(count, cursor.place, when)

    def flush_one(self, brokers: tuple[int, ...]) -> None:
        """An UpdateMetadata for one partition is logged by itself, as in Kafka before 2.4."""
        self._flushing = self._flushed = True
        self._registered = (self._registered or frozenset()) | frozenset(brokers)

    def end_batch(self) -> None:
        """All requests of the batch are sent."""
        registered = self._registered if self._flushed else None
        for view in self._touched:
            view.flushed(registered, self._alive)
        self._touched.clear()
        self._flushing = self._flushed = False
        self._registered = None


class BrokerLog:
    """The lines of a broker: the gate for whole requests."""

    __slots__ = ("_actors", "_last", "_numbers", "_seen", "_taken", "_views", "number", "stale")

    def __init__(self, number: int, actors: Actors) -> None:
        self.number = number
        self.stale: dict[tuple[int, int], int] = {}
        """Arrived requests of an old controller epoch that are not refused so far: (controller, correlation), epoch."""
        self._actors = actors
        self._views: dict[bytes, BrokerEvents] = {}
        self._seen = 0
        self._numbers: dict[tuple[int, int], int] = {}
        self._last: Sender | None = None
        self._taken: Sender | None = None

    def view(self, name: bytes) -> BrokerEvents:
        """Return the listener to the lines about a partition."""
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._actors.views.of_broker(self.number, partition_name(name))
        return view

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

    def takes(self, controller: int, epoch: int, correlation: int) -> Sender:
        """The broker acts on an UpdateMetadata; return its sender."""
        sender = self._sender(controller, epoch, correlation)
        if epoch < self._seen:
            if sender != self._taken:
                self._accepted("UpdateMetadata", controller, epoch)
        else:
            self._seen = epoch
        self._taken = sender
        return sender

    def takes_all(self, sender: Sender, partitions: int) -> None:
        """The UpdateMetadata that the broker acted on has this many partitions."""
        cursor = self._actors.cursor
        self._actors.channel(sender.epoch, self.number).receive(partitions, sender.number, cursor.place, cursor.line[1:24])

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
        number = (life + 1 if correlation < before & LAST_BITS else life) << LIFE_BITS | correlation
        self._numbers[epoch, controller] = number
        self._last = sender = Sender(controller, epoch, number)
        return sender

    def refuses(self, controller: int, epoch: int, correlation: int, latest: int) -> None:
        """A request is refused because its controller epoch is old."""
        self.stale.pop((controller, correlation), None)
        answer = answer_to_request(epoch, latest, Checked.YES, -1, -1, Checked.NO)
        if answer != ErrorCode.STALE_CONTROLLER_EPOCH:
            self._tell("wrong-refusal", epoch, f"controller epoch {epoch} is refused as old while the latest is {latest}")

    def _accepted(self, request: str, controller: int, epoch: int) -> None:
        says = f"{request} of controller {controller} in epoch {epoch} takes effect after epoch {self._seen} was seen"
        self._tell("stale-controller-accepted", epoch, says)

    def _tell(self, kind: str, epoch: int, says: str) -> None:
        cursor, actor = self._actors.cursor, f"broker {self.number}"
        self._actors.claims.violations.append(Violation(cursor.place, kind, cursor.when, actor, actor, says, epoch=epoch))


class Actors:
    """All writers of one source."""

    def __init__(self, views: Views, cursor: Cursor) -> None:
        self.views = views
        self.cursor = cursor
        self.claims = Claims()
        self._controllers: dict[tuple[int, int], ControllerLog] = {}
        self._brokers: dict[int, BrokerLog] = {}
        self._channels: dict[tuple[int, int], ChannelEvents] = {}
        self._highest = 0

    def controller(self, number: int, epoch: int, plain: bool) -> ControllerLog:
        """Return a controller in an epoch."""
        key = (epoch, number)
        log = self._controllers.get(key)
        if log is None:
            begun = epoch == 1 or 0 < self._highest < epoch
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

    def channel(self, epoch: int, broker: int) -> ChannelEvents:
        """Return the listener to the whole requests of one channel."""
        key = (epoch, broker)
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = self.views.of_channel(epoch, broker)
        return channel

    def name(self, controller: int, epoch: int, who: str) -> None:
        """Record that a line names the controller of an epoch."""
        self._highest = max(self._highest, epoch)
        self.claims.named.setdefault((epoch, controller), (self.cursor.place, self.cursor.when, who))

    def finish(self) -> None:
        """End the last batches, after the whole source is read."""
        for log in self._controllers.values():
            log.end_batch()
