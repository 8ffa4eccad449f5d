"""The listeners to what a log says of partitions and channels, and how they learn of missing lines. Independent of log texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kafka_spec.conformance.validate.events import BrokerEvents, ControllerEvents


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


def partition_name(raw: bytes) -> str:
    """Return topic-partition, also for the older form [topic,partition]."""
    text = raw.decode("utf-8", "replace")
    return text[1:-1].replace(",", "-") if text.startswith("[") and text.endswith("]") else text
