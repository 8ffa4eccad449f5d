"""Checks a broker's log of one partition: the leader epochs that it accepts and refuses, and the metadata that it receives.

Independent of log texts. spec/decisions/fencing.py decides which epoch passes. A broker that restarts forgets its epochs and logs
-1 as its previous leader epoch. A topic that was deleted and created again starts at leader epoch 0.
"""

from __future__ import annotations

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.events import LeaderAndIsr, Message, Sender
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.partition_record import PartitionRecord
from kafka_spec.spec.decisions.fencing import answer_to_leader_and_isr, answer_to_stop_replica
from kafka_spec.spec.decisions.variants import StopReplicaEpoch
from kafka_spec.spec.error_codes import ErrorCode


class BrokerView:
    """One partition on one broker."""

    def __init__(self, broker: int, of: PartitionRecord) -> None:
        self.broker = broker
        self._of = of
        self._cursor = of.cursor
        self._shown: tuple[int, LeaderAndIsr] | None = None
        self._current = -1
        self._exchanges: dict[int, Exchange] = {}
        self._cached: dict[int, tuple[int, int]] = {}
        self._sees_stops = False
        """A StopReplica was seen to arrive, and no line is missing since."""
        self._sees_all = False
        """The broker logs at TRACE, so its log would show a deletion and a new creation."""
        self._stop: tuple[int, str, int, bool] | None = None
        """A StopReplica that arrived and is not refused so far: place, time, leader epoch, whether to delete."""

    def __repr__(self) -> str:
        return f"broker {self.broker}"

    def received(self, sender: Sender, now: LeaderAndIsr) -> None:
        """Record an arrived request for the comparison with the sender's log."""
        if self._stop is not None:
            self._stopped()
        self._sees_all = True
        exchange = self._exchanges.get(sender.epoch)
        if exchange is None:
            exchange = self._exchanges[sender.epoch] = self._of.exchange("LeaderAndIsr", sender.epoch, self.broker)
        exchange.receive(now.message, sender.number, self._cursor.place, self._cursor.line[1:24])
        self._leads(sender.epoch, now)
        if now.epoch == 0 and now.version <= 0:
            self._current = -1

    def begins(self, epoch: int, previous: int | None) -> None:
        """Check the leader epoch with the gate: against the previous one in this line, and in earlier lines."""
        if self._stop is not None:
            self._stopped()
        if previous is not None and answer_to_leader_and_isr(epoch, previous, 1) != ErrorCode.NONE:
            self._tell("stale-leader-epoch-accepted", f"leader epoch {epoch} starts after {previous}")
        elif epoch < self._current and self._sees_all:
            self._tell("stale-leader-epoch-accepted", f"leader epoch {epoch} starts, and {self._current} had started before")
        self._current = epoch

    def ignored(self, epoch: int, current: int | None) -> None:
        """Check a refusal with the gate."""
        if self._stop is not None:
            self._stopped()
        if current is not None and answer_to_leader_and_isr(epoch, current, 1) == ErrorCode.NONE:
            self._tell("wrong-refusal", f"a LeaderAndIsr with leader epoch {epoch} is refused while the current one is {current}")

    def stop_received(self, sender: Sender, epoch: int, delete: bool, message: Message) -> None:
        """Keep a StopReplica until the log shows whether it is refused."""
        if self._stop is not None:
            self._stopped()
        exchange = self._of.exchange("StopReplica", sender.epoch, self.broker)
        exchange.receive(message, sender.number, self._cursor.place, self._cursor.line[1:24])
        self._sees_stops = True
        self._stop = (self._cursor.place, self._cursor.when, epoch, delete)

    def stop_ignored(self, epoch: int, current: int | None, deletes: bool | None) -> None:
        """Check a refusal with the strictest gate of Kafka, that of 2.6 to 3.4, and with the request."""
        stop, self._stop = self._stop, None
        if stop is not None and (stop[2] != epoch or deletes not in (None, stop[3])):
            what = f"leader epoch {epoch} is refused" + ("" if deletes is None else f", which deletes: {deletes}")
            self._tell("told-otherwise", f"a StopReplica with {what}, and the request had leader epoch {stop[2]}, {stop[3]}")
        elif stop is None and self._sees_stops:
            self._tell("told-otherwise", f"a StopReplica with leader epoch {epoch} is refused that did not arrive")
        if current is not None and answer_to_stop_replica(epoch, current, StopReplicaEpoch.LARGER) == ErrorCode.NONE:
            self._tell("wrong-refusal", f"a StopReplica with leader epoch {epoch} is refused while the current one is {current}")

    def stop_skipped(self) -> None:
        """Forget a StopReplica that is refused for its log directory."""
        self._stop = None

    def _stopped(self) -> None:
        """Check a StopReplica that took effect with the most permissive gate, that of 3.5: an older leader epoch never passes."""
        assert self._stop is not None
        place, when, epoch, delete = self._stop
        self._stop = None
        if answer_to_stop_replica(epoch, self._current, StopReplicaEpoch.AT_LEAST) != ErrorCode.NONE:
            summary = f"a StopReplica with leader epoch {epoch} takes effect while the current one is {self._current}"
            self._tell("stale-stop-accepted", summary, place, when)
        if delete:
            self._current = -1

    def cached(self, sender: Sender, now: LeaderAndIsr) -> None:
        """Check that the metadata of one controller arrives in the order of its writes."""
        before = self._cached.get(sender.epoch)
        if now.leader == -2:  # deleted
            return
        if before is not None and now.epoch > 0 and (now.epoch, now.version) < before:
            summary = f"controller {sender.controller} reports {now} after leader epoch {before[0]}, version {before[1]}"
            self._tell("metadata-back", summary)
        self._cached[sender.epoch] = (now.epoch, now.version)
        self._leads(sender.epoch, now)

    def _leads(self, epoch: int, now: LeaderAndIsr) -> None:
        shown = self._shown
        if shown is None or shown[1] is not now or shown[0] != epoch:
            self._shown = (epoch, now)
            self._of.shows(epoch, now)

    def uncached(self, sender: Sender) -> None:
        """Forget a deleted partition."""
        self._cached.pop(sender.epoch, None)
        self._of.uncached.add(sender.epoch)

    def gap(self) -> None:
        """Forget what lines that are missing may have changed."""
        self._stop = None
        self._sees_stops = False
        self._current = -1
        self._cached.clear()
        self._of.receiver_gap(self.broker)

    def finish(self) -> None:
        """Check what is still pending."""
        if self._stop is not None:
            self._stopped()

    def _tell(self, kind: str, summary: str, place: int = -1, when: str = "") -> None:
        of = self._of
        place = of.cursor.place if place < 0 else place
        of.violations.append(Violation(place, kind, when or of.cursor.when, of.name, repr(self), summary))
