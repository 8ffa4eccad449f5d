"""The course of a run with real brokers: what operators and faults do, one scene after the other, while clients work.

Each scene waits until the cluster's metadata show what should come of it. A scene that does not come to its end in time ends the
run, whose outcome is then inconclusive. This module has the scenes that all courses share; `zookeeper_course.py` has those of
clusters with ZooKeeper, and each course is a module of its own.
"""

from __future__ import annotations

import asyncio
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_clusters.clients import RecordWriters, follow
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen, ServerProcesses
from kafka_spec.impl.protocol.controller_requests import NO_LEADER
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import History

LOOK = 0.1
"""The seconds between two looks at the cluster's metadata."""
PATIENCE = 90.0
"""The longest time in seconds until something should have happened."""
WORK = 1.5
"""The seconds between two scenes, in which clients work."""
ORDERS, MOVES, GONE = "orders", "moves", "gone"
MOST_REPLICAS = 3


class Course(ABC):
    """One run. `say` receives what happens, with the seconds since the start."""

    not_yet: tuple[type[Exception], ...] = (KeyError,)
    """The errors that say no more than that something has not happened yet: topics come and go."""
    shut_down_lines: tuple[str, ...]
    """What brokers log when their controlled shutdown has succeeded, each version its own."""

    def __init__(self, brokers: int, partitions: int, kafka: ServerProcesses, say: Callable[[str], object]) -> None:
        """`brokers` is the number of Kafka's brokers, `partitions` that of the topic that clients use."""
        self.history = History()
        self.scenes: list[str] = []
        """The scenes that came to their end."""
        self.assigned: dict[TopicPartition, tuple[int, ...]] = {}
        """The replicas of each partition at the end."""
        self.kafkas = list(range(brokers))
        """Kafka's brokers."""
        self.hosts = self.kafkas
        """The brokers that host replicas."""
        self.partitions = partitions
        self.kafka = kafka
        self._say = say
        self._started = time.monotonic()
        self._writers = RecordWriters(self.history)
        self._background: list[asyncio.Task[Any]] = []

    @abstractmethod
    async def conduct(self) -> None:
        """Run all scenes.

        Raises:
            NotSeen: a scene did not come to its end.
        """

    # What a kind of cluster says and asks

    @property
    @abstractmethod
    def failure(self) -> asyncio.Future[None]:
        """The first unexpected error of what is ours in the cluster."""

    @abstractmethod
    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the replicas of all partitions."""

    @abstractmethod
    def leader(self, partition: TopicPartition) -> int:
        """Return the leader, NO_LEADER if there is none."""

    @abstractmethod
    def isr(self, partition: TopicPartition) -> set[int]:
        """Return the ISR."""

    @abstractmethod
    def registered(self) -> set[int]:
        """Return the brokers that are registered and alive."""

    @abstractmethod
    def exists(self, topic: str) -> bool:
        """Whether there is a topic."""

    @abstractmethod
    def moves(self) -> bool:
        """Whether a reassignment runs."""

    @abstractmethod
    async def create_topic(self, name: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with these replicas."""

    @abstractmethod
    async def ask_for_preferred(self, partitions: Sequence[TopicPartition]) -> None:
        """Ask for preferred elections."""

    @abstractmethod
    async def ask_for_partitions(self, topic: str, total: int, new: Mapping[int, Sequence[int]]) -> None:
        """Ask for more partitions of a topic, so that it has `total`."""

    @abstractmethod
    async def ask_to_move(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Ask for a reassignment."""

    @abstractmethod
    async def ask_to_delete(self, topic: str) -> None:
        """Ask for a topic's deletion."""

    async def rest(self) -> list[str]:
        """Stop the clients, wait until all replicas are in sync; return what is not quiet by then."""
        await self._writers.end()
        try:
            await self.until("all replicas are in their ISRs", self.in_sync)
        except NotSeen as error:
            return [str(error)]
        return []

    async def end(self) -> None:
        """End what works in the background."""
        await self._writers.end()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def tell(self, what: str) -> None:
        """Tell what happens."""
        self._say(f"{time.monotonic() - self._started:6.1f} s  {what}")

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something work until the run ends."""
        self._background.append(asyncio.create_task(work))

    async def scene(self, name: str, play: Callable[[], Any]) -> None:
        """Play a scene to its end; then clients work for a moment."""
        self.tell(f"-- {name}")
        await play()
        self.scenes.append(name)
        await asyncio.sleep(WORK)

    async def until(self, what: str, happens: Callable[[], Any]) -> None:
        """Wait until something is true, and tell it.

        Raises:
            NotSeen: it does not happen in time.
        """
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE:
            if self.failure.done():
                self.failure.result()
            try:
                if await asyncio.to_thread(happens):
                    self.tell(what)
                    return
            except self.not_yet:
                pass
            await asyncio.sleep(LOOK)
        raise NotSeen(f"not within {PATIENCE:.0f} s: {what}")

    # The beginning

    async def kafkas_brokers_begin(self) -> None:
        """Start Kafka's brokers."""
        for number in self.kafkas:
            await self.start(number)
        await self.until(
            f"Kafka's brokers {', '.join(map(str, self.kafkas))} are registered",
            lambda: self.registered() >= set(self.kafkas),
        )

    async def clients_begin(self) -> None:
        """Write to all partitions but those that will be deleted, and read those of the first topic."""
        addresses = self.kafka.addresses(*self.hosts)
        await self._writers.begin(addresses)
        self._writers.write([one for one in self.assignments() if one.topic != GONE])
        written = [TopicPartition(ORDERS, number) for number in range(self.partitions)]
        self.in_background(follow(addresses, written, self.history))
        self.tell("clients produce with acks=all, and consume")

    # Scenes

    async def create_topics(self) -> None:
        """Replicas go round all hosts; `moves` leaves one of them free to move to."""
        await self.create_topic(ORDERS, {p: self._spread(p) for p in range(self.partitions)})
        await self.create_topic(MOVES, {0: self.hosts[:-1]})
        await self.create_topic(GONE, {0: self.hosts, 1: self.hosts})
        await self.until("all partitions have leaders", self.in_sync)

    async def kill_a_leader(self, number: int = 0) -> None:
        """Kill the leader of a partition of `orders`, wait for the next one, and start the broker again."""
        partition = TopicPartition(ORDERS, number)
        leader = self.leader(partition)
        await self.kill(leader)
        self.tell(f"{self.named(leader)}, the leader of {partition}, is killed")
        await self._until_another_leads(partition, leader)
        await asyncio.sleep(WORK)
        await self._start_again(leader)

    async def shut_a_leader_down(self, number: int = 0) -> None:
        """Shut a leader down: it asks the controller to move its leadership, and exits after that."""
        partition = TopicPartition(ORDERS, number)
        leader = self.leader(partition)
        self.tell(f"{self.named(leader)}, the leader of {partition}, is to shut down")
        await self.shut_down(leader)
        await self._start_again(leader)

    async def elect_preferred(self) -> None:
        """Elect the first replica of each partition."""
        wanted = self.assignments()
        await self.ask_for_preferred(sorted(wanted))
        await self.until(
            "the first replica of each partition leads it",
            lambda: all(self.leader(p) == replicas[0] for p, replicas in wanted.items()),
        )

    async def add_partitions(self) -> None:
        """Add two partitions to the clients' topic."""
        total = self.partitions + 2
        new = {p: self._spread(p) for p in range(self.partitions, total)}
        await self.ask_for_partitions(ORDERS, total, new)
        await self.until(f"{ORDERS} has {total} partitions with leaders", self.in_sync)
        self._writers.write([TopicPartition(ORDERS, number) for number in new])

    async def reassign(self) -> None:
        """Move `moves` from its first broker to the one that it leaves free."""
        partition = TopicPartition(MOVES, 0)
        before = self.assignments()[partition]
        (free,) = set(self.hosts) - set(before)
        after = (*before[1:], free)
        await self.ask_to_move(partition, after)
        self.tell(f"{partition} is to move from {list(before)} to {list(after)}")
        await self.until(
            f"{partition} has moved",
            lambda: self.assignments()[partition] == after and not self.moves() and self.isr(partition) == set(after),
        )
        await self.until(f"{self.named(before[0])} has deleted its replica", partial(self._is_deleted, before[0], partition))

    async def delete(self) -> None:
        """Delete a topic."""
        await self.ask_to_delete(GONE)
        self.tell(f"{GONE} is to be deleted")
        await self.until(f"there is no topic {GONE}", lambda: not self.exists(GONE))
        for number in self.hosts:
            gone = partial(self._is_deleted, number, TopicPartition(GONE, 0))
            await self.until(f"{self.named(number)} has deleted its replicas", gone)

    # What scenes use

    def named(self, broker: int) -> str:
        """Return a broker's number, and whose it is."""
        return f"Kafka's broker {broker}"

    def in_sync(self) -> bool:
        """Whether every partition has a leader that is registered, and all its replicas in the ISR."""
        registered = self.registered()
        return all(self.leader(p) in registered and self.isr(p) == set(replicas) for p, replicas in self.assignments().items())

    def _spread(self, first: int) -> list[int]:
        return [self.hosts[(first + i) % len(self.hosts)] for i in range(min(MOST_REPLICAS, len(self.hosts)))]

    async def kill(self, broker: int) -> None:
        """Kill a broker."""
        self.kafka.signal(broker, signal.SIGKILL)

    async def start(self, broker: int) -> None:
        """Start a broker, or start it again."""
        await asyncio.to_thread(self.kafka.start, broker)

    async def shut_down(self, broker: int) -> None:
        """Shut a broker down: it asks the controller to move its leaderships, and exits after that.

        Raises:
            NotSeen: it does not end, or its controlled shutdown failed.
        """
        self.kafka.signal(broker, signal.SIGTERM)
        await self.until(f"{self.named(broker)} has ended", lambda: self.kafka.has_ended(broker))
        said = [text for text in self.shut_down_lines if self.kafka.lines(broker, "server", text)]
        if not said:
            raise NotSeen(f"{self.named(broker)} ended without its controlled shutdown having succeeded")
        if left := [str(one) for one in self.assignments() if self.leader(one) == broker]:
            raise NotSeen(f"after its controlled shutdown {self.named(broker)} still leads {', '.join(left)}")
        self.tell(f"its log says: {said[0]}")

    async def _start_again(self, broker: int) -> None:
        await self.start(broker)
        await self.until(f"{self.named(broker)} is back, and in all its ISRs", self.in_sync)

    async def _until_another_leads(self, partition: TopicPartition, leader: int) -> None:
        await self.until(f"{partition} has another leader", lambda: self.leader(partition) not in (leader, NO_LEADER))

    def _is_deleted(self, broker: int, partition: TopicPartition) -> bool:
        return not (self.kafka.data(broker) / str(partition)).exists()
