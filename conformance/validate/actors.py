"""The writers of a log: controllers in their epochs, and brokers. Independent of log texts."""

from __future__ import annotations

from kafka_spec.conformance.validate.broker_log import BrokerLog
from kafka_spec.conformance.validate.claims import Claims, Epoch
from kafka_spec.conformance.validate.controller_log import ControllerLog
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.listeners import Views


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
