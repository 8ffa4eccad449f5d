"""The course of a run with real brokers: what operators and faults do, one scene after the other, while clients work.

Each scene waits until ZooKeeper shows what should come of it. A scene that does not come to its end in time ends the run, whose
outcome is then inconclusive. This module has the scenes that courses share; each course is a module of its own.
"""

from __future__ import annotations

import asyncio
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_clusters.clients import RecordWriters, follow
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses, NotSeen
from kafka_spec.conformance.kafka_clusters.our_brokers import OurBrokers
from kafka_spec.conformance.kafka_clusters.zookeeper_state import SeenEpochs, ZooKeeperState
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import History
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession

LOOK = 0.1
"""The seconds between two looks at ZooKeeper."""
PATIENCE = 90.0
"""The longest time in seconds until something should have happened."""
WORK = 1.5
"""The seconds between two scenes, in which clients work."""
FIRST_OF_OURS = 100
"""The broker id of our first broker; Kafka's brokers count from 0."""
SHUT_DOWN = ("Controlled shutdown succeeded", "Controlled shutdown request returned successfully")
"""What brokers log when their controlled shutdown has succeeded: those of 2.8, and those of 3.x."""
ORDERS, MOVES, GONE = "orders", "moves", "gone"
MOST_REPLICAS = 3


class Course(ABC):
    """One run. `say` receives what happens, with the seconds since the start."""

    def __init__(
        self,
        brokers: int,
        partitions: int,
        kafka: KafkaProcesses,
        ours: OurBrokers,
        session: KazooSession,
        admin: Admin,
        say: Callable[[str], object],
    ) -> None:
        """`brokers` is the number of Kafka's brokers, `partitions` that of the topic that clients use."""
        self.zookeeper = ZooKeeperState(session)
        self.seen = SeenEpochs()
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
        self.ours = ours
        self.session = session
        self._admin = admin
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
            if self.ours.failure.done():
                self.ours.failure.result()
            try:
                if await asyncio.to_thread(happens):
                    self.tell(what)
                    return
            except (CoordinationError, KeyError):
                pass  # read again: topics come and go
            await asyncio.sleep(LOOK)
        raise NotSeen(f"not within {PATIENCE:.0f} s: {what}")

    # The beginning

    async def kafkas_brokers_begin(self) -> None:
        """Start Kafka's brokers, and begin to watch epochs."""
        for number in self.kafkas:
            self.kafka.start(number)
        await self.until(
            f"Kafka's brokers {', '.join(map(str, self.kafkas))} are registered",
            lambda: self.zookeeper.registered() >= set(self.kafkas),
        )

    async def clients_begin(self) -> None:
        """Write to all partitions but those that will be deleted, and read those of the first topic."""
        addresses = self.kafka.addresses(*self.hosts)
        await self._writers.begin(addresses)
        self._writers.write([one for one in self.zookeeper.assignments() if one.topic != GONE])
        written = [TopicPartition(ORDERS, number) for number in range(self.partitions)]
        self._background.append(asyncio.create_task(follow(addresses, written, self.history)))
        self.tell("clients produce with acks=all, and consume")

    async def watch_epochs(self) -> None:
        """Begin to watch the epochs in ZooKeeper."""

        async def watch() -> None:
            while True:
                await asyncio.to_thread(self.seen.look, self.zookeeper)
                await asyncio.sleep(LOOK)

        self._background.append(asyncio.create_task(watch()))

    # Scenes

    async def create_topics(self) -> None:
        """Replicas go round all hosts; `moves` leaves one of them free to move to."""
        self.create_topic(ORDERS, {p: self._spread(p) for p in range(self.partitions)})
        self.create_topic(MOVES, {0: self.hosts[:-1]})
        self.create_topic(GONE, {0: self.hosts, 1: self.hosts})
        await self.until("all partitions have leaders", self.in_sync)

    def create_topic(self, name: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with these replicas."""
        self._admin.create_topic_with_assignment(name, replicas)

    async def kill_a_leader(self, number: int = 0) -> None:
        """Kill the leader of a partition of `orders`, wait for the next one, and start the broker again."""
        partition = TopicPartition(ORDERS, number)
        leader = self.leader(partition)
        await self._kill(leader)
        self.tell(f"{self.named(leader)}, the leader of {partition}, is killed")
        await self._until_another_leads(partition, leader)
        await asyncio.sleep(WORK)
        await self._start_again(leader)

    async def shut_a_leader_down(self, number: int = 0) -> None:
        """Shut a leader down: it asks the controller to move its leadership, and exits after that."""
        partition = TopicPartition(ORDERS, number)
        leader = self.leader(partition)
        self.tell(f"{self.named(leader)}, the leader of {partition}, is to shut down")
        if leader in self.kafkas:
            self.kafka.signal(leader, signal.SIGTERM)
            await self._until_another_leads(partition, leader)
            await self.until(f"{self.named(leader)} has ended", lambda: self.kafka.has_ended(leader))
            said = [text for text in SHUT_DOWN if self.kafka.lines(leader, "server", text)]
            if not said:
                raise NotSeen(f"{self.named(leader)} ended without its controlled shutdown having succeeded")
            self.tell(f"its log says: {said[0]}")
        else:
            await self.ours.ask_for_shutdown(leader)
            if left := [str(one) for one in self.zookeeper.assignments() if self.leader(one) == leader]:
                raise NotSeen(f"after its controlled shutdown {self.named(leader)} still leads {', '.join(left)}")
            await self.ours.close(leader)
            self.tell(f"{self.named(leader)} has ended, and led nothing by then")
        await self._start_again(leader)

    async def elect_preferred(self) -> None:
        """Elect the first replica of each partition."""
        wanted = self.zookeeper.assignments()
        self.session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(sorted(wanted)))
        await self.until(
            "the first replica of each partition leads it",
            lambda: all(self.leader(p) == replicas[0] for p, replicas in wanted.items()),
        )

    async def add_partitions(self) -> None:
        """Add two partitions to the clients' topic."""
        total = self.partitions + 2
        new = {p: self._spread(p) for p in range(self.partitions, total)}
        self._admin.add_partitions(ORDERS, total, new)
        await self.until(f"{ORDERS} has {total} partitions with leaders", self.in_sync)
        self._writers.write([TopicPartition(ORDERS, number) for number in new])

    async def reassign(self) -> None:
        """Move `moves` from its first broker to the one that it leaves free."""
        partition = TopicPartition(MOVES, 0)
        before = self.zookeeper.assignments()[partition]
        (free,) = set(self.hosts) - set(before)
        after = (*before[1:], free)
        self.session.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({partition: after}))
        self.tell(f"{partition} is to move from {list(before)} to {list(after)}")
        await self.until(
            f"{partition} has moved",
            lambda: (
                self.zookeeper.assignments()[partition] == after
                and self.session.exists(znodes.REASSIGN_PARTITIONS) is None
                and self.isr(partition) == set(after)
            ),
        )
        await self.until(f"{self.named(before[0])} has deleted its replica", partial(self._is_deleted, before[0], partition))

    async def delete(self) -> None:
        """Delete a topic."""
        self._admin.delete_topic(GONE)
        self.tell(f"{GONE} is to be deleted")
        await self.until(f"ZooKeeper knows no topic {GONE}", lambda: GONE not in self.session.children(znodes.TOPICS))
        for number in self.hosts:
            gone = partial(self._is_deleted, number, TopicPartition(GONE, 0))
            await self.until(f"{self.named(number)} has deleted its replicas", gone)

    async def take_over_from_kafka(self, ours: int) -> None:
        """Let only ours be elected, and delete /controller, as operators do."""
        epoch = self.zookeeper.controller_epoch()
        await self.ours.stand()
        self.session.let_write(znodes.CONTROLLER_EPOCH, everyone=False)
        self.session.delete(znodes.CONTROLLER)
        self.tell("only ours may be elected, and /controller is deleted")
        await self.until(f"{self.named(ours)} is the controller", lambda: self.zookeeper.controller() == ours)
        if (now := self.zookeeper.controller_epoch()) <= epoch:
            raise NotSeen(f"the controller epoch is {now} after {epoch}")

    # What scenes use

    def named(self, broker: int) -> str:
        """Return a broker's number, and whose it is."""
        return f"Kafka's broker {broker}" if broker in self.kafkas else f"our broker {broker}"

    def leader(self, partition: TopicPartition) -> int:
        """Return the leader in ZooKeeper, NOBODY if there is none."""
        held = self.zookeeper.leadership(partition)
        return znodes.NOBODY if held is None else held.leader

    def isr(self, partition: TopicPartition) -> set[int]:
        """Return the ISR in ZooKeeper."""
        held = self.zookeeper.leadership(partition)
        return set() if held is None else set(held.isr)

    def in_sync(self) -> bool:
        """Whether every partition has a leader that is registered, and all its replicas in the ISR."""
        registered = self.zookeeper.registered()
        return all(
            self.leader(p) in registered and self.isr(p) == set(replicas) for p, replicas in self.zookeeper.assignments().items()
        )

    def expect_epoch(self, epoch: int) -> None:
        """Refuse to continue unless the controller epoch is this one.

        Raises:
            NotSeen: it is another.
        """
        if (now := self.zookeeper.controller_epoch()) != epoch:
            raise NotSeen(f"the controller epoch is {now}, and not {epoch}")

    def _spread(self, first: int) -> list[int]:
        return [self.hosts[(first + i) % len(self.hosts)] for i in range(min(MOST_REPLICAS, len(self.hosts)))]

    async def _kill(self, broker: int) -> None:
        if broker in self.kafkas:
            self.kafka.signal(broker, signal.SIGKILL)
        else:
            await self.ours.kill(broker)

    async def _start_again(self, broker: int) -> None:
        if broker in self.kafkas:
            self.kafka.start(broker)
        else:
            await self.ours.start(broker)
        await self.until(f"{self.named(broker)} is back, and in all its ISRs", self.in_sync)

    async def _until_another_leads(self, partition: TopicPartition, leader: int) -> None:
        await self.until(f"{partition} has another leader", lambda: self.leader(partition) not in (leader, znodes.NOBODY))

    def _is_deleted(self, broker: int, partition: TopicPartition) -> bool:
        return not (self.kafka.data(broker) / str(partition)).exists()
