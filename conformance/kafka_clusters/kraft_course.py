"""Real brokers of KRaft led by our controller: all that it does, and its fail-over, asked for through Kafka's own clients.

What a course sees is the metadata that our controller has; operators ask brokers, which forward their requests to it (KIP-590).
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kafka_spec.conformance.kafka_clusters.course import MOVES, ORDERS, WORK, Course
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Clients
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen
from kafka_spec.conformance.kafka_clusters.kraft_processes import KRaftProcesses
from kafka_spec.conformance.kafka_clusters.our_controller import OurController
from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.protocol.controller_requests import NO_LEADER
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.impl.protocol.topic_partition import TopicPartition

ELR = 1
"""The partition of `orders` whose whole ISR is killed."""


class KRaftCourse(Course):
    """Kafka's brokers, and our controller."""

    shut_down_lines = ("The controller has asked us to exit controlled shutdown",)

    def __init__(
        self,
        brokers: int,
        partitions: int,
        kafka: KRaftProcesses,
        controller: OurController,
        clients: Clients,
        say: Callable[[str], object],
    ) -> None:
        """`brokers` is the number of brokers, `partitions` that of the topic that clients use."""
        super().__init__(brokers, partitions, kafka, say)
        self.controller = controller
        self._clients = clients
        self._admin: AdminClient | None = None

    async def conduct(self) -> None:
        """Run the scenes: our controller leads from the first broker on, and ends twice."""
        await self.controller.start()
        await self.kafkas_brokers_begin()
        self._admin = await asyncio.to_thread(self._clients.admin, self.kafka.addresses(*self.kafkas))
        await self.scene("create topics", self.create_topics)
        await self.clients_begin()
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("controlled shutdown", self.shut_a_leader_down)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("added partitions", self.add_partitions)
        await self.scene("reassignment", self.reassign)
        await self.scene("cancelled reassignment", self._cancel)
        await self.scene("min.insync.replicas", self._configure)
        await self.scene("deletion", self.delete)
        await self.scene("unregistered leader", self._unregister)
        await self.scene("fail-over of our controller", self._fail_over)
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("a broker starts from our snapshot", self._start_from_snapshot)
        await self.scene("kill -9 of a leader while there is no controller", self._kill_without_controller)
        await self.scene("kill -9 of a whole ISR", self._kill_all)
        await self.scene("preferred election", self.elect_preferred)

    async def end(self) -> None:
        """End what works in the background, and the admin client."""
        await super().end()
        if self._admin is not None:
            await asyncio.to_thread(self._admin.close)

    # What the metadata say

    @property
    def failure(self) -> asyncio.Future[None]:
        """The first unexpected error of our controller."""
        return self.controller.failure

    @property
    def _partitions(self) -> Mapping[TopicPartition, RegisteredPartition]:
        return self.controller.image.partitions

    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the replicas of all partitions."""
        return {partition: held.replicas for partition, held in self._partitions.items()}

    def leader(self, partition: TopicPartition) -> int:
        """Return the leader, NO_LEADER if there is none."""
        held = self._partitions.get(partition)
        return NO_LEADER if held is None or held.leader not in self.kafkas else held.leader

    def isr(self, partition: TopicPartition) -> set[int]:
        """Return the ISR."""
        held = self._partitions.get(partition)
        return set() if held is None else set(held.isr)

    def registered(self) -> set[int]:
        """Return the brokers that are registered, and not fenced."""
        return {broker for broker, known in self.controller.image.brokers.items() if not known.fenced}

    def exists(self, topic: str) -> bool:
        """Whether there is a topic."""
        return topic in self.controller.image.topics.values()

    def moves(self) -> bool:
        """Whether a reassignment runs."""
        return any(held.adding or held.removing for held in self._partitions.values())

    # What operators ask

    @property
    def admin(self) -> AdminClient:
        """Kafka's admin client; its calls wait, so they are made on another thread than our controller's."""
        assert self._admin is not None, "brokers have not begun"
        return self._admin

    async def create_topic(self, name: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with these replicas."""
        await asyncio.to_thread(self.admin.create_topic, name, replicas)

    async def ask_for_preferred(self, partitions: Sequence[TopicPartition]) -> None:
        """Ask for preferred elections."""
        await asyncio.to_thread(self.admin.elect, "PREFERRED", [(one.topic, one.partition) for one in partitions])

    async def ask_for_partitions(self, topic: str, total: int, new: Mapping[int, Sequence[int]]) -> None:
        """Ask for more partitions."""
        await asyncio.to_thread(self.admin.add_partitions, topic, total, list(new.values()))

    async def ask_to_move(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Ask for a reassignment."""
        await asyncio.to_thread(self.admin.reassign, partition.topic, replicas)

    async def ask_to_delete(self, topic: str) -> None:
        """Ask for a topic's deletion."""
        await asyncio.to_thread(self.admin.delete_topics, [topic])

    # Scenes

    async def _cancel(self) -> None:
        """Begin to move `moves` to a broker that is dead, and cancel that."""
        partition = TopicPartition(MOVES, 0)
        before = self.assignments()[partition]
        (free,) = set(self.hosts) - set(before)
        await self.kill(free)
        self.tell(f"{self.named(free)} is killed")
        await self.until(f"{self.named(free)} is fenced", lambda: free not in self.registered())
        await self.ask_to_move(partition, (*before[1:], free))
        await self.until(f"{partition} is being moved to it", self.moves)
        await asyncio.to_thread(self.admin.cancel, MOVES)
        await self.until(
            f"{partition} is as before", lambda: not self.moves() and set(self.assignments()[partition]) == set(before)
        )
        await self._start_again(free)

    async def _configure(self) -> None:
        """Change min.insync.replicas of the clients' topic, and back."""
        for value in ("1", "2"):
            await asyncio.to_thread(self.admin.configure, "TOPIC", ORDERS, {MIN_ISR: value})
            known = partial(self.controller.image.configs.get, (ORDERS, MIN_ISR))
            await self.until(f"{MIN_ISR} of {ORDERS} is {value}", lambda known=known, value=value: known() == value)  # type: ignore[misc]

    async def _unregister(self) -> None:
        """Unregister a leader that runs: another leads, and it is back once its process was killed and started again."""
        partition = TopicPartition(ORDERS, 0)
        leader = self.leader(partition)
        await asyncio.to_thread(self.admin.unregister, leader)
        self.tell(f"{self.named(leader)}, the leader of {partition}, is unregistered while it runs")
        await self._until_another_leads(partition, leader)
        if leader in self.controller.image.brokers:
            raise NotSeen(f"{self.named(leader)} is registered")
        await self.kill(leader)
        await asyncio.sleep(WORK)
        await self._start_again(leader)

    async def _fail_over(self) -> None:
        """Kill our controller; the next one begins another epoch on its log."""
        epoch = self.controller.leaders[-1].epoch
        await self.controller.kill()
        self.tell("our controller is killed")
        await asyncio.sleep(1)
        await self.controller.start()
        if (now := self.controller.leaders[-1].epoch) != epoch + 1:
            raise NotSeen(f"the epoch is {now}, and not {epoch + 1}")
        self.tell(f"our controller leads epoch {now}")
        await self.until("all replicas are in their ISRs", self.in_sync)

    async def _start_from_snapshot(self) -> None:
        """Take a snapshot, with which the log begins from then on; a broker that has lost its copy of the log fetches it."""
        snapshot = self.controller.take_snapshot()
        broker = self.kafkas[-1]
        copy = self.kafka.data(broker) / str(TOPIC)
        await self.kill(broker)
        await asyncio.to_thread(shutil.rmtree, copy)
        self.tell(f"our controller has taken the snapshot {snapshot.file}")
        await self.until(
            f"{self.named(broker)}, whose copy of the log is deleted, is fenced", lambda: broker not in self.registered()
        )
        await self._start_again(broker)
        if not (copy / snapshot.file).exists():
            raise NotSeen(f"{self.named(broker)} is back without the snapshot {snapshot.file}")
        self.tell(f"{self.named(broker)} has fetched the snapshot")

    async def _kill_without_controller(self) -> None:
        """Kill the controller, then a leader; the next controller fences the leader once its fresh session has ended."""
        partition = TopicPartition(ORDERS, 0)
        leader = self.leader(partition)
        await self.controller.kill()
        await self.kill(leader)
        self.tell(f"our controller is killed, and {self.named(leader)}, the leader of {partition}")
        await asyncio.sleep(1)
        await self.controller.start()
        self.tell(f"our controller leads epoch {self.controller.leaders[-1].epoch}")
        await self._until_another_leads(partition, leader)
        await self._start_again(leader)

    async def _kill_all(self) -> None:
        """Kill all replicas of a partition, one after the other; the last known leader leads once it is back."""
        partition = TopicPartition(ORDERS, ELR)
        replicas = self.assignments()[partition]
        for broker in (*(one for one in replicas if one != self.leader(partition)), self.leader(partition)):
            await self.kill(broker)
            self.tell(f"{self.named(broker)} is killed")
            await self.until(f"{self.named(broker)} is fenced", lambda broker=broker: broker not in self.registered())  # type: ignore[misc]
        held = self._partitions[partition]
        if self.isr(partition) or held.leader in self.kafkas:
            raise NotSeen(f"{partition} has the ISR {held.isr} and the leader {held.leader} while its brokers are dead")
        self.tell(f"{partition} has no leader; ELR {list(held.elr)}, last known leader {held.last_known}")
        for broker in replicas:
            await self.start(broker)
        await self.until("all brokers are back, and in all their ISRs", self.in_sync)
