"""The lines of a broker: the gate for whole requests, by controller epoch, and the requests that are being handled.

Independent of log texts. Events of a partition go to its views, which other modules make.
"""

from __future__ import annotations

from collections import Counter

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.broker_requests import BrokerRequests
from kafka_spec.conformance.validate.events import BrokerEvents, Sender
from kafka_spec.conformance.validate.exchange import LIFE_BITS
from kafka_spec.conformance.validate.line_source import LineSource
from kafka_spec.conformance.validate.listeners import ChannelEvents, Listeners, partition_name
from kafka_spec.spec.decisions.fencing import answer_to_request
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode

LAST_BITS = (1 << LIFE_BITS) - 1


class BrokerLog:
    """The lines of a broker: the gate for whole requests."""

    __slots__ = (
        "_actors", "_announces", "_last", "_metadata", "_numbers", "_seen", "_stopping", "_stops", "_taken", "_views", "channels",
        "listeners", "number", "requests", "stale",
    )  # fmt: skip

    def __init__(self, number: int, actors: LineSource) -> None:
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
