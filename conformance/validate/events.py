"""The events of a log line, typed: a listener has one method for each kind of line.

Independent of log texts and rules. A controller's lines have a listener for each controller epoch and partition, a broker's lines
one for each broker and partition, so that logs can be divided by partition. A `Cursor` gives the current line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class Cursor:
    """The current line."""

    __slots__ = ("line", "place")

    def __init__(self) -> None:
        self.place = 0
        self.line = b""

    @property
    def when(self) -> str:
        """The time at the beginning of the line."""
        return self.line[1:24].decode("ascii", "replace")


class Message:
    """All fields of a message as a line prints it: two lines show the same message if the fields agree that both print.

    Versions of Kafka print more fields or fewer, and call the version of the state znode `zkVersion` or `partitionEpoch`.
    """

    __slots__ = ("_fields", "_parse", "text")

    def __init__(self, text: bytes, parse: Callable[[bytes], Mapping[str, str]]) -> None:
        """`parse` returns the fields; it is asked only where two texts differ."""
        self.text = text
        self._parse = parse
        self._fields: Mapping[str, str] | None = None

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields by name, with their values as text."""
        if self._fields is None:
            self._fields = self._parse(self.text)
        return self._fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.text == other.text or not self.differences(other)

    __hash__ = None  # type: ignore[assignment]

    def differences(self, other: Message) -> list[str]:
        """Return the fields that both print and in which they differ."""
        theirs = other.fields
        return [name for name, value in self.fields.items() if theirs.get(name, value) != value]

    def __str__(self) -> str:
        shown = {
            "leader": "leader",
            "leaderEpoch": "epoch",
            "isr": "ISR",
            "partitionEpoch": "version",
            "deletePartition": "deletes",
        }
        return ", ".join(f"{word} {self.fields[name].strip('[]')}" for name, word in shown.items() if name in self.fields)


class LeaderAndIsr(NamedTuple):
    """Leadership of a partition, as a line shows it; -1 and () for what the line does not contain."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int = -1
    replicas: tuple[int, ...] = ()
    moving: bool = False
    """Replicas are being added or removed."""
    message: Message | None = None
    """All fields of the message that shows it."""

    def __str__(self) -> str:
        version = f", version {self.version}" if self.version >= 0 else ""
        return f"leader {self.leader}, epoch {self.epoch}, ISR {','.join(map(str, self.isr)) or 'empty'}{version}"


class Sender(NamedTuple):
    """The sender of a request as a broker's line names it: the controller, its epoch, and the request's number."""

    controller: int
    epoch: int
    number: int


class ControllerEvents(Protocol):
    """A controller's log of one partition in one controller epoch."""

    def partition_changed(self, source: int, target: int, now: LeaderAndIsr | None, assigned: tuple[int, ...]) -> None:
        """The partition enters a state; with the leadership or the assignment, if the line contains it."""

    def replica_changed(self, replica: int, source: int, target: int) -> None:
        """A replica enters a state."""

    def removed(self, replica: int, now: LeaderAndIsr) -> None:
        """A replica left the ISR, or was not in it."""

    def reported(self, broker: int, now: LeaderAndIsr) -> None:
        """A LeaderAndIsr for the partition is sent to a broker."""

    def stopped(self, broker: int, epoch: int, delete: bool, message: Message) -> None:
        """A StopReplica is sent to a broker."""

    def moves(self, now: LeaderAndIsr) -> None:
        """A LeaderAndIsr was sent for a reassignment, without a row."""

    def refused(self, replica: int, source: int, target: int) -> None:
        """A change failed; the replica is -1 for a change of the partition."""

    def started(self, replica: int, state: int) -> None:
        """At the end of its start-up, a state machine has the partition or a replica in this state."""

    def flushed(self, registered: frozenset[int] | None, alive: frozenset[int] | None, whole: bool) -> None:
        """All requests of a batch are sent, to these registered brokers if the line names them, otherwise to those known before.

        `whole` says that no line of the batch is missing.
        """

    def gap(self) -> None:
        """Lines of this log are missing here, which may have been about this partition: what is known is forgotten."""


class BrokerEvents(Protocol):
    """A broker's log of one partition."""

    def received(self, sender: Sender, now: LeaderAndIsr) -> None:
        """A LeaderAndIsr arrived."""

    def begins(self, epoch: int, previous: int | None) -> None:
        """The broker leads or follows in a leader epoch; `previous` is the one before, if the line states it reliably."""

    def ignored(self, epoch: int, current: int | None) -> None:
        """A LeaderAndIsr is refused for its leader epoch, which is smaller than the current one, or equal (None)."""

    def stop_received(self, sender: Sender, epoch: int, delete: bool, message: Message) -> None:
        """A StopReplica arrived."""

    def stop_ignored(self, epoch: int, current: int | None, deletes: bool | None) -> None:
        """A StopReplica is refused for its leader epoch; whether it deletes, if the line says so."""

    def stop_skipped(self) -> None:
        """A StopReplica is refused for another reason."""

    def cached(self, sender: Sender, now: LeaderAndIsr) -> None:
        """An UpdateMetadata contains the partition."""

    def uncached(self, sender: Sender) -> None:
        """An UpdateMetadata marks the partition as deleted."""

    def gap(self) -> None:
        """Lines of this log are missing here, which may have been about this partition: what is known is forgotten."""
