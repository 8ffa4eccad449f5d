"""The task that fetches from one leader: the same for brokers of ZooKeeper and of KRaft.

Source: Kafka 2.8 and 3.9 AbstractFetcherThread.scala.
"""

from __future__ import annotations

from typing import Protocol

from kafka_spec.impl.broker.fetcher import Fetchers
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task

IDLE = 0.01
"""The seconds between two checks of an idle task."""


class FetchingData(Protocol):
    """The data plane of a broker."""

    @property
    def fetchers(self) -> Fetchers:
        """What it fetches from its leaders."""


class FetchingBroker(Protocol):
    """A broker that follows."""

    @property
    def now(self) -> int:
        """The time in milliseconds."""

    @property
    def data(self) -> FetchingData:
        """Its data plane."""


def fetch(broker: FetchingBroker, leader: int, patience: float) -> Task:
    """Fetch from one leader; an answer that takes longer than `patience` seconds is lost."""
    fetchers = broker.data.fetchers
    while True:
        request = fetchers.next_request(leader, broker.now)
        if request is None:
            yield Sleep(IDLE)
            continue
        answer = yield RemoteCall(leader, request, patience)
        if answer is None:
            fetchers.lost(leader, broker.now)
        else:
            fetchers.take(leader, answer.partitions, broker.now)
