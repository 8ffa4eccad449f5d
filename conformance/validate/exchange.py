"""Matches the two sides of the requests on one channel: those a controller sent to a broker in one epoch, and those that arrived.

A channel is ordered and delivers at least once while it is open; a repeated request has its own number (RequestSendThread).
Independent of log texts. Both sides may be read in any order, so a request without a counterpart waits; if the broker's log is
missing, the request is dropped and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

MOST_WAITING = 1024
MOST_ALIKE = 64
"""The most requests of one channel that are remembered, and the most that are looked at, where requests are alike."""
LIFE_BITS = 32
"""A number consists of the channel's number among those of one controller epoch to one broker, and Kafka's correlation id."""
Told = Callable[[int, str, Any, bool], None]
"""Takes place, time and request, and whether it was lost (True) or never sent (False)."""


class Exchange:
    """One channel, for one partition or for whole requests."""

    __slots__ = ("_last", "_matched", "_number", "_overflowed", "_run", "_tell", "arrived", "dropped", "got", "sent")

    def __init__(self, tell: Told, alike: bool = False) -> None:
        """`alike` says that requests can be equal without being the same one: then what the channel has brought is remembered."""
        self.sent: deque[tuple[Any, int, bytes]] = deque()
        self.got: deque[tuple[Any, int, int, bytes]] = deque()
        self.arrived = 0
        self.dropped = 0
        self._last: Any = None
        self._number = 0
        self._overflowed = False
        self._run: list[Any] | None = [] if alike else None
        self._matched: list[Any] = []
        self._tell = tell

    def send(self, request: Any, place: int, when: bytes) -> None:
        """The controller sends."""
        self.sent.append((request, place, when))
        if self.got:
            self._advance()
        elif len(self.sent) > MOST_WAITING:
            self.sent.popleft()
            self.dropped += 1
            self._overflowed = True

    def receive(self, request: Any, number: int, place: int, when: bytes) -> None:
        """The broker receives, under a number that increases on a channel and from channel to channel (`BrokerLog.number_of`)."""
        self.arrived += 1
        self.got.append((request, number, place, when))
        if self.sent:
            self._advance()

    def _advance(self) -> None:
        sent, got = self.sent, self.got
        while got:
            request, number, _, _ = got[0]
            if sent and sent[0][0] == request:
                sent.popleft()
            elif not sent:
                return
            elif request == self._last and self._is_same_channel(number):  # repeated, since the answer was lost
                got.popleft()
                self._remember(request, number, matched=False)
                continue
            elif not self._skip_to(request, number):
                return
            got.popleft()
            self._remember(request, number, matched=True)
            self._last, self._number = request, number

    def _skip_to(self, request: Any, number: int) -> bool:
        """Skip requests that were sent before this one and did not arrive; return whether this one was sent at all."""
        index = next((at for at, (one, _, _) in enumerate(self.sent) if one == request), None)
        if index is None:
            return False
        same_channel = self._last is not None and self._is_same_channel(number)
        if same_channel and (later := self._later_beginning(request)):
            self.dropped += later
            for _ in range(later):
                self.sent.popleft()
            return True
        for _ in range(index):
            lost, place, when = self.sent.popleft()
            self.dropped += 1
            taken_for_earlier = self._run is None and lost == self._last  # the earlier one was lost with the channel before
            if same_channel and not self._overflowed and not taken_for_earlier:
                self._tell(place, when.decode(), lost, True)
        self.sent.popleft()
        return True

    def _later_beginning(self, request: Any) -> int:
        """Return by how many requests later the channel may have begun, so that it has brought all since then; 0 if it may not.

        Requests before a channel are lost with the one before, and one that is like them may have been taken for one of them.
        """
        if not self._run or len(self._run) >= MOST_ALIKE:
            return 0
        arrived = [*self._run, request]
        sent = [*self._matched, *(one for one, _, _ in islice(self.sent, MOST_ALIKE))]
        ends = range(len(self._matched) + 1, len(sent) + 1)
        found = next((end for end in ends if sent[max(end - len(arrived), 0) : end] == arrived), 0)
        return found and found - len(self._matched)

    def _remember(self, request: Any, number: int, matched: bool) -> None:
        """Remember what the channel has brought, and what that was taken for."""
        if self._run is None:
            return
        if not self._is_same_channel(number):
            self._run.clear()
            self._matched.clear()
        if len(self._run) < MOST_ALIKE:
            self._run.append(request)
            if matched:
                self._matched.append(request)

    def _is_same_channel(self, number: int) -> bool:
        """Whether the last request that was followed came on the channel of this one; a new channel repeats nothing."""
        return number >> LIFE_BITS == self._number >> LIFE_BITS

    def finish(self) -> int:
        """Check the requests that still wait; return how many could not be followed to the broker."""
        while self.got:
            self._advance()
            if self.got:
                request, _, place, when = self.got.popleft()
                if not self._overflowed and request != self._last:
                    self._tell(place, when.decode(), request, False)
        return len(self.sent) + self.dropped
