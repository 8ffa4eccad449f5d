"""What happens in a run, as it happens: lines of the state-change log, faults; and who was elected, as these lines say."""

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
"""Why leaders are elected, by the state that a partition was in."""
NEWEST = 8


@dataclass(frozen=True)
class Election:
    """A leader was elected, under a leader epoch and a controller epoch; `why` is one of `WHY`."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    controller_epoch: int
    why: str


class Observer:
    """Takes every line and every event; keeps the elections, counts faults, and hands on what is news."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], news: Callable[[str], object]) -> None:
        """`write` takes the lines for the file, `news` what people see; `clock` returns seconds since the run began."""
        self.elections: list[Election] = []
        self.errors: list[str] = []
        """What controllers say of errors that no step may have, and resign for."""
        self.faults: Counter[str] = Counter()
        self.newest: deque[str] = deque(maxlen=NEWEST)
        self._write = write
        self._clock = clock
        self._news = news

    def line(self, line: str) -> None:
        """Take a line of the state-change log."""
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
        """Take note of a fault; one without a text is counted alone."""
        self.faults[name] += 1
        if text:
            self.tell(text)

    def tell(self, text: str) -> None:
        """Tell what has happened."""
        event = f"{self._clock():8.3f}  {text}"
        self.newest.append(event)
        self._news(event)
