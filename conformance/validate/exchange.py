"""Matches the two sides of the requests on one channel: those a controller sent to a broker in one epoch, and those that arrived.

A channel is ordered and delivers at least once while it is open; a repeated request has its own number (RequestSendThread).
Independent of log texts. Both sides may be read in any order, so a request without a counterpart waits; if the broker's log is
missing, the request is dropped and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

MOST_WAITING = 1024
LIFE_BITS = 32
"""A number consists of the channel's number among those of one controller epoch to one broker, and Kafka's correlation id."""
Told = Callable[[int, str, Any, bool], None]
"""Takes place, time and request, and whether it was lost (True) or never sent (False)."""


class Exchange:
    """One channel, for one partition or for whole requests."""

    __slots__ = ("_last", "_number", "_overflowed", "_tell", "arrived", "dropped", "got", "sent")

    def __init__(self, tell: Told) -> None:
        self.sent: deque[tuple[Any, int, bytes]] = deque()
        self.got: deque[tuple[Any, int, int, bytes]] = deque()
        self.arrived = 0
        self.dropped = 0
        self._last: Any = None
        self._number = 0
        self._overflowed = False
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
                continue
            elif not self._skip_to(request, number):
                return
            got.popleft()
            self._last, self._number = request, number

    def _skip_to(self, request: Any, number: int) -> bool:
        """Skip requests that were sent before this one and did not arrive; return whether this one was sent at all."""
        index = next((at for at, (one, _, _) in enumerate(self.sent) if one == request), None)
        if index is None:
            return False
        same_channel = self._last is not None and self._is_same_channel(number)
        for _ in range(index):
            lost, place, when = self.sent.popleft()
            self.dropped += 1
            if same_channel and not self._overflowed:
                self._tell(place, when.decode(), lost, True)
        self.sent.popleft()
        return True

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
