"""Matches the two sides of the requests on one channel: those a controller sent to a broker in one epoch, and those that arrived.

A channel is ordered and delivers at least once while it is open; a repeated request has its own number (RequestSendThread).
Independent of log texts. Both sides may be read in any order, so a request without a counterpart waits; if the broker's log is
missing, the request is dropped and counted. Where lines are missing on a side, a mark stands among its requests: what its
counterpart does not find may be there, and is counted, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

MOST_WAITING = 1024
MOST_ALIKE = 64
"""The most requests of one channel that are remembered, and the most that are looked at, where requests are alike."""
LIFE_BITS = 32
"""A number consists of the channel's number among those of one controller epoch to one broker, and Kafka's correlation id."""
GAP = object()
"""Stands for lines that are missing on one side."""
Report = Callable[[int, str, Any, bool], None]
"""Takes place, time and request, and whether it was lost (True) or never sent (False)."""


@dataclass
class Fates:
    """How many requests of one channel met each end, besides arriving."""

    arrived: int = 0
    lost: int = 0
    """Another one of the same channel has overtaken them: violations."""
    closed: int = 0
    """Their channel closed: the next one that arrived came on a new channel."""
    early: int = 0
    """Sent before the first one that arrived."""
    late: int = 0
    """Sent after the last one that arrived."""
    across_gaps: int = 0
    """Lines are missing where the counterpart may be, or too many requests waited for theirs."""

    @property
    def open(self) -> int:
        """How many were not seen to arrive."""
        return self.lost + self.closed + self.early + self.late + self.across_gaps


class Exchange:
    """One channel, for one partition or for whole requests."""

    __slots__ = ("_hole", "_last", "_matched", "_number", "_overflowed", "_report", "_run", "fates", "got", "last_sent", "sent")

    def __init__(self, report: Report, alike: bool = False) -> None:
        """`alike` says that requests can be equal without being the same one: then what the channel has brought is remembered."""
        self.sent: deque[tuple[Any, int, bytes]] = deque()
        self.got: deque[tuple[Any, int, int, bytes]] = deque()
        self.fates = Fates()
        self.last_sent = b""
        self._last: Any = None
        self._number = 0
        self._overflowed = False
        self._hole = False
        """Lines of the broker are missing since the last request that was followed."""
        self._run: list[Any] | None = [] if alike else None
        self._matched: list[Any] = []
        self._report = report

    def send(self, request: Any, place: int, when: bytes) -> None:
        """The controller sends."""
        self.sent.append((request, place, when))
        self.last_sent = when
        if self.got:
            self._advance()
        elif len(self.sent) > MOST_WAITING:
            if self.sent.popleft()[0] is not GAP:
                self.fates.across_gaps += 1
            self._overflowed = True

    def receive(self, request: Any, number: int, place: int, when: bytes) -> None:
        """The broker receives, under a number that increases on a channel and from channel to channel (`BrokerLog.number_of`)."""
        self.fates.arrived += 1
        self.got.append((request, number, place, when))
        if self.sent:
            self._advance()
            if len(self.got) > MOST_WAITING:
                self.fates.across_gaps += self.got.popleft()[0] is not GAP
                self._overflowed = True

    def sender_gap(self) -> None:
        """Lines of the controller are missing here; where requests are alike, nothing is judged any more."""
        if self._run is not None:
            self._overflowed = True
        elif not self.sent or self.sent[-1][0] is not GAP:
            self.sent.append((GAP, 0, b""))

    def receiver_gap(self) -> None:
        """Lines of the broker are missing here; where requests are alike, nothing is judged any more."""
        if self._run is not None:
            self._overflowed = True
        elif not self.got or self.got[-1][0] is not GAP:
            self.got.append((GAP, 0, 0, b""))

    def _advance(self) -> None:
        sent, got = self.sent, self.got
        while got:
            request, number, _, _ = got[0]
            if request is GAP:
                got.popleft()
                self._hole = True
                continue
            if sent and (sent[0][0] is request or sent[0][0] == request):
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
            self._last, self._number, self._hole = request, number, False

    def _skip_to(self, request: Any, number: int) -> bool:
        """Skip requests that were sent before this one and did not arrive; return whether this one was sent at all."""
        index = next((at for at, (one, _, _) in enumerate(self.sent) if one == request), None)
        if index is None:
            return False
        first = self._last is None
        same_channel = not first and self._is_same_channel(number)
        torn = self._hole or self._overflowed or any(one is GAP for one, _, _ in islice(self.sent, index))
        if same_channel and not torn and (later := self._later_beginning(request)):
            self.fates.closed += later
            for _ in range(later):
                self.sent.popleft()
            return True
        for _ in range(index):
            lost, place, when = self.sent.popleft()
            if lost is GAP:
                continue
            taken_for_earlier = self._run is None and lost == self._last  # the earlier one was lost with the channel before
            if torn:
                self.fates.across_gaps += 1
            elif first:
                self.fates.early += 1
            elif not same_channel or taken_for_earlier:
                self.fates.closed += 1
            else:
                self.fates.lost += 1
                self._report(place, when.decode(), lost, True)
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

    def finish(self) -> Fates:
        """Check the requests that still wait; return what became of all."""
        while self.got:
            self._advance()
            if self.got:
                request, _, place, when = self.got.popleft()
                if self._overflowed or any(one is GAP for one, _, _ in self.sent):
                    self.fates.across_gaps += 1
                elif request != self._last:
                    self._report(place, when.decode(), request, False)
        rest = sum(one is not GAP for one, _, _ in self.sent)
        if self._hole:
            self.fates.across_gaps += rest
        else:
            self.fates.late += rest
        return self.fates
