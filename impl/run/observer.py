"""The events of a run: lines of the state-change log, the elections that they report, and faults."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from kafka_spec.impl.protocol.topic_partition import TopicPartition

ELECTED = re.compile(
    r"\[Controller id=\d+ epoch=(?P<controller>\d+)\] Changed partition (?P<topic>\S+)-(?P<partition>\d+) from (?P<source>\w+) "
    r"to OnlinePartition with state LeaderAndIsr\(leader=(?P<leader>\d+), leaderEpoch=(?P<epoch>\d+), "
)
UNEXPECTED = re.compile(r"\[Controller id=\d+ epoch=\d+\] Unexpected error.*")
WHY = {
    "NewPartition": "first",
    "OfflinePartition": "after a failure",
    "OnlinePartition": "preferred or for a shutdown",
}
"""The reason of a leader election, by the partition's state before it."""
NEWEST = 8


@dataclass(frozen=True)
class Election:
    """An elected leader, with leader epoch and controller epoch; `why` is one of `WHY`."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    controller_epoch: int
    why: str


class Observer:
    """Receives lines and events; records elections, counts faults and operations, and passes events to the display."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], news: Callable[[str], object]) -> None:
        """`write` receives the lines of the file, `news` the events to display; `clock` returns seconds since the run began."""
        self.elections: list[Election] = []
        self.errors: list[str] = []
        """The log messages of controllers that resigned after an unexpected error."""
        self.faults: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.newest: deque[str] = deque(maxlen=NEWEST)
        self._write = write
        self._clock = clock
        self._news = news

    def line(self, line: str) -> None:
        """Handle a line of the state-change log."""
        self._write(line)
        if (error := UNEXPECTED.search(line)) is not None:
            self.errors.append(error[0])
            self.tell(error[0])
        found = ELECTED.search(line)
        if found is not None:
            partition = TopicPartition(found["topic"], int(found["partition"]))
            leader, epoch = int(found["leader"]), int(found["epoch"])
            self.elections.append(Election(partition, leader, epoch, int(found["controller"]), WHY[found["source"]]))
            self.tell(f"controller {found['controller']} elects broker {leader} for {partition} under leader epoch {epoch}")

    def fault(self, name: str, text: str = "") -> None:
        """Count a fault, and display its text if it has one."""
        self.faults[name] += 1
        if text:
            self.tell(text)

    def tell(self, text: str) -> None:
        """Display an event."""
        event = f"{self._clock():8.3f}  {text}"
        self.newest.append(event)
        self._news(event)
