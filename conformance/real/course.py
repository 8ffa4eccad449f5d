"""The course of a run with real brokers: what operators and faults do, one scene after the other, while clients work.

Each scene waits until ZooKeeper shows what should come of it. A scene that does not come to its end in time ends the run, whose
outcome is then inconclusive.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kafka_spec.conformance.real.clients import RecordWriters, follow
from kafka_spec.conformance.real.kafka_processes import KafkaProcesses, NotSeen
from kafka_spec.conformance.real.our_brokers import OurBrokers
from kafka_spec.conformance.real.zookeeper_state import SeenEpochs, ZooKeeperState
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.admin import Admin
from kafka_spec.impl.coordination.interface import CoordinationError
from kafka_spec.impl.coordination.zookeeper import KazooSession
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import History

LOOK = 0.1
"""The seconds between two looks at ZooKeeper."""
PATIENCE = 90.0
"""The longest time in seconds until something should have happened."""
WORK = 1.5
"""The seconds between two scenes, in which clients work."""
FIRST_OF_OURS = 100
"""The broker id of our first controller; Kafka's brokers count from 0."""
ORDERS, MOVES, GONE = "orders", "moves", "gone"


class Course:
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
        self.zookeeper = ZooKeeperState(session)
        self.watch = SeenEpochs()
        self.history = History()
        self.scenes: list[str] = []
        """The scenes that came to their end."""
        self._numbers = list(range(brokers))
        self._partitions = partitions
        self._kafka = kafka
        self._ours = ours
        self._session = session
        self._admin = admin
        self._say = say
        self._started = time.monotonic()
        self._writers: RecordWriters | None = None
        self._background: list[asyncio.Task[Any]] = []

    async def conduct(self) -> None:
        """Run all scenes.

        Raises:
            NotSeen: a scene did not come to its end.
        """
        first, second = FIRST_OF_OURS, FIRST_OF_OURS + 1
        await self._our_controller_begins(first, second)
        await self._kafkas_brokers_begin()
        await self._scene("create topics", self._create_topics)
        await self._begin_clients()
        await self._scene("kill -9 of a leader", self._kill_a_leader)
        await self._scene("preferred election", self._elect_preferred)
        await self._scene("controlled shutdown", self._shut_a_leader_down)
        await self._scene("preferred election", self._elect_preferred)
        await self._scene("added partitions", self._add_partitions)
        await self._scene("reassignment", self._reassign)
        await self._scene("deletion", self._delete)
        await self._scene("fail-over between two controllers of ours", partial(self._fail_over, first, second))
        await self._scene("kill -9 of a leader", self._kill_a_leader)
        await self._scene("from our controller to Kafka's", partial(self._hand_over_to_kafka, second))
        await self._scene("kill -9 of a leader", self._kill_a_leader)
        await self._scene("from Kafka's controller to ours", partial(self._take_over_from_kafka, first))
        await self._scene("kill -9 of a leader", self._kill_a_leader)
        await self._scene("preferred election", self._elect_preferred)

    async def rest(self) -> list[str]:
        """Stop the clients, wait until all replicas are in sync; return what is not quiet by then."""
        if self._writers is not None:
            await self._writers.end()
        try:
            await self._until("all replicas are in their ISRs", self._in_sync)
        except NotSeen as error:
            return [str(error)]
        return []

    async def end(self) -> None:
        """End what works in the background."""
        if self._writers is not None:
            await self._writers.end()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def tell(self, what: str) -> None:
        """Tell what happens."""
        self._say(f"{time.monotonic() - self._started:6.1f} s  {what}")

    # The beginning

    async def _our_controller_begins(self, first: int, second: int) -> None:
        """Only we may write /controller_epoch, without which nobody is elected; then our controllers start."""
        self._session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        self._session.let_write(znodes.CONTROLLER_EPOCH, everyone=False)
        await self._ours.start(first)
        await self._until(f"broker {first}, ours, is the controller", lambda: self.zookeeper.controller() == first)
        await self._ours.start(second)
        self.tell(f"broker {second}, ours, is on standby")
        self._background.append(asyncio.create_task(self._watch_epochs()))

    async def _kafkas_brokers_begin(self) -> None:
        for number in self._numbers:
            self._kafka.start(number)
        await self._until(
            f"Kafka's brokers {', '.join(map(str, self._numbers))} are registered",
            lambda: self.zookeeper.registered() >= set(self._numbers),
        )

    async def _begin_clients(self) -> None:
        self._writers = RecordWriters(self._kafka.addresses(), self.history)
        await self._writers.begin()
        self._writers.write([one for one in self.zookeeper.assignments() if one.topic != GONE])
        written = [TopicPartition(ORDERS, number) for number in range(self._partitions)]
        self._background.append(asyncio.create_task(follow(self._kafka.addresses(), written, self.history)))
        self.tell("clients produce with acks=all, and consume")

    # The scenes

    async def _create_topics(self) -> None:
        """All replicas are on Kafka's brokers; `moves` leaves one broker free to move to."""
        numbers = self._numbers
        factor = min(3, len(numbers))
        spread = {p: [numbers[(p + i) % len(numbers)] for i in range(factor)] for p in range(self._partitions)}
        self._admin.create_topic_with_assignment(ORDERS, spread)
        self._admin.create_topic_with_assignment(MOVES, {0: numbers[: max(1, len(numbers) - 1)]})
        self._admin.create_topic_with_assignment(GONE, {0: numbers, 1: numbers})
        await self._until("all partitions have leaders", self._in_sync)

    async def _kill_a_leader(self) -> None:
        """Kill the leader of orders-0, wait for the next one, and start the broker again."""
        partition = TopicPartition(ORDERS, 0)
        leader = self._leader(partition)
        self._kafka.signal(leader, signal.SIGKILL)
        self.tell(f"kill -9 of broker {leader}, the leader of {partition}")
        await self._until(f"{partition} has another leader", lambda: self._leader(partition) not in (leader, znodes.NOBODY))
        await asyncio.sleep(WORK)
        await self._start_again(leader)

    async def _shut_a_leader_down(self) -> None:
        """Send SIGTERM to a leader: it asks our controller to move its leadership, and exits after that."""
        partition = TopicPartition(ORDERS, 0)
        leader = self._leader(partition)
        self._kafka.signal(leader, signal.SIGTERM)
        self.tell(f"SIGTERM to broker {leader}, the leader of {partition}")
        await self._until(f"{partition} has another leader", lambda: self._leader(partition) not in (leader, znodes.NOBODY))
        await self._until(f"broker {leader} has ended", lambda: self._kafka.has_ended(leader))
        if not self._kafka.lines(leader, "server", "Controlled shutdown succeeded"):
            raise NotSeen(f"broker {leader} ended without its controlled shutdown having succeeded")
        self.tell("its log says: Controlled shutdown succeeded")
        await self._start_again(leader)

    async def _elect_preferred(self) -> None:
        wanted = self.zookeeper.assignments()
        self._session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(sorted(wanted)))
        await self._until(
            "the first replica of each partition leads it",
            lambda: all(self._leader(p) == replicas[0] for p, replicas in wanted.items()),
        )

    async def _add_partitions(self) -> None:
        total = self._partitions + 2
        new = {p: [self._numbers[p % len(self._numbers)], self._numbers[(p + 1) % len(self._numbers)]] for p in range(total)}
        factor = len(self.zookeeper.assignments()[TopicPartition(ORDERS, 0)])
        numbers = self._numbers
        new = {p: [numbers[(p + i) % len(numbers)] for i in range(factor)] for p in range(self._partitions, total)}
        self._admin.add_partitions(ORDERS, total, new)
        await self._until(f"{ORDERS} has {total} partitions with leaders", self._in_sync)
        self._write_to([TopicPartition(ORDERS, number) for number in new])

    async def _reassign(self) -> None:
        """Move `moves` from its first broker to the one that it leaves free."""
        partition = TopicPartition(MOVES, 0)
        before = self.zookeeper.assignments()[partition]
        after = (*before[1:], self._numbers[-1])
        self._session.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({partition: after}))
        self.tell(f"{partition} is to move from {list(before)} to {list(after)}")
        await self._until(
            f"{partition} has moved",
            lambda: (
                self.zookeeper.assignments()[partition] == after
                and self._session.exists(znodes.REASSIGN_PARTITIONS) is None
                and self._isr(partition) == set(after)
            ),
        )
        await self._until(f"broker {before[0]} has deleted its replica", partial(self._is_deleted, before[0], partition))

    async def _delete(self) -> None:
        self._admin.delete_topic(GONE)
        self.tell(f"{GONE} is to be deleted")
        await self._until(f"ZooKeeper knows no topic {GONE}", lambda: GONE not in self._session.children(znodes.TOPICS))
        for number in self._numbers:
            gone = partial(self._is_deleted, number, TopicPartition(GONE, 0))
            await self._until(f"broker {number} has deleted its replicas", gone)

    async def _fail_over(self, first: int, second: int) -> None:
        """Kill our controller; our other one takes over. The killed broker is started again, on standby."""
        epoch = self.zookeeper.controller_epoch()
        await self._ours.kill(first)
        self.tell(f"broker {first}, ours and the controller, is killed")
        await self._until(f"broker {second}, ours, is the controller", lambda: self.zookeeper.controller() == second)
        self._expect_epoch(epoch + 1)
        await self._ours.start(first)

    async def _hand_over_to_kafka(self, active: int) -> None:
        """Let everybody be elected, and kill both of ours: one of Kafka's brokers takes over."""
        epoch = self.zookeeper.controller_epoch()
        self._session.let_write(znodes.CONTROLLER_EPOCH, everyone=True)
        for number in sorted(self._ours.running, key=lambda number: number == active):
            await self._ours.kill(number)
        self.tell("both of our controllers are killed, and everybody may be elected")
        await self._until("a broker of Kafka is the controller", lambda: self.zookeeper.controller() in self._numbers)
        self._expect_epoch(epoch + 1)
        self.tell(f"broker {self.zookeeper.controller()}, Kafka's, is the controller under epoch {epoch + 1}")

    async def _take_over_from_kafka(self, first: int) -> None:
        """Start ours under Kafka's controller, let only ours be elected, and delete /controller, as operators do."""
        epoch = self.zookeeper.controller_epoch()
        await self._ours.start(first)
        await self._until(f"broker {first}, ours, is registered", lambda: first in self.zookeeper.registered())
        self._session.let_write(znodes.CONTROLLER_EPOCH, everyone=False)
        self._session.delete(znodes.CONTROLLER)
        self.tell("only ours may be elected, and /controller is deleted")
        await self._until(f"broker {first}, ours, is the controller", lambda: self.zookeeper.controller() == first)
        if (now := self.zookeeper.controller_epoch()) <= epoch:
            raise NotSeen(f"the controller epoch is {now} after {epoch}")

    # What scenes use

    async def _scene(self, name: str, play: Callable[[], Any]) -> None:
        self.tell(f"-- {name}")
        await play()
        self.scenes.append(name)
        await asyncio.sleep(WORK)

    async def _start_again(self, broker: int) -> None:
        self._kafka.start(broker)
        await self._until(f"broker {broker} is back, and in all its ISRs", self._in_sync)

    def _write_to(self, partitions: Iterable[TopicPartition]) -> None:
        if self._writers is not None:
            self._writers.write(partitions)

    def _leader(self, partition: TopicPartition) -> int:
        held = self.zookeeper.leadership(partition)
        return znodes.NOBODY if held is None else held.leader

    def _isr(self, partition: TopicPartition) -> set[int]:
        held = self.zookeeper.leadership(partition)
        return set() if held is None else set(held.isr)

    def _in_sync(self) -> bool:
        """Whether every partition has a leader that is registered, and all its replicas in the ISR."""
        registered = self.zookeeper.registered()
        return all(
            self._leader(p) in registered and self._isr(p) == set(replicas) for p, replicas in self.zookeeper.assignments().items()
        )

    def _is_deleted(self, broker: int, partition: TopicPartition) -> bool:
        return not (self._kafka.data(broker) / str(partition)).exists()

    def _expect_epoch(self, epoch: int) -> None:
        if (now := self.zookeeper.controller_epoch()) != epoch:
            raise NotSeen(f"the controller epoch is {now}, and not {epoch}")

    async def _until(self, what: str, happens: Callable[[], Any]) -> None:
        """Wait until something is true, and tell it."""
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE:
            if self._ours.failure.done():
                self._ours.failure.result()
            try:
                if await asyncio.to_thread(happens):
                    self.tell(what)
                    return
            except (CoordinationError, KeyError):
                pass  # read again: topics come and go
            await asyncio.sleep(LOOK)
        raise NotSeen(f"not within {PATIENCE:.0f} s: {what}")

    async def _watch_epochs(self) -> None:
        while True:
            await asyncio.to_thread(self.watch.look, self.zookeeper)
            await asyncio.sleep(LOOK)
