"""The lines of a controller in one epoch: its batches.

A controller's lines form batches: first the changes, then all requests that they caused, LeaderAndIsr before UpdateMetadata
before StopReplica (ControllerBrokerRequestBatch). Independent of log texts. Events of a partition go to its views.
"""

from __future__ import annotations

from collections import Counter

from kafka_spec.conformance.validate.events import ControllerEvents
from kafka_spec.conformance.validate.line_source import LineSource
from kafka_spec.conformance.validate.listeners import ChannelEvents, Listeners, partition_name


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

    def __init__(self, number: int, epoch: int, plain: bool, actors: LineSource) -> None:
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
