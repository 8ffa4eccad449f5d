"""The scenes of clusters with ZooKeeper: what a course sees is in its znodes, where operators ask, too."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import Callable, Mapping, Sequence

from kafka_spec.conformance.kafka_clusters.course import LOOK, Course
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses, NotSeen
from kafka_spec.conformance.kafka_clusters.our_brokers import OurBrokers
from kafka_spec.conformance.kafka_clusters.zookeeper_state import SeenEpochs, ZooKeeperState
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession

FIRST_OF_OURS = 100
"""The broker id of our first broker; Kafka's brokers count from 0."""


class ZooKeeperCourse(Course, ABC):
    """A course of Kafka's brokers and ours on one ZooKeeper."""

    not_yet = (CoordinationError, KeyError)
    shut_down_lines = ("Controlled shutdown succeeded", "Controlled shutdown request returned successfully")

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
        super().__init__(brokers, partitions, kafka, say)
        self.zookeeper = ZooKeeperState(session)
        self.seen = SeenEpochs()
        self.ours = ours
        self.session = session
        self._admin = admin

    @property
    def failure(self) -> asyncio.Future[None]:
        """The first unexpected error of our brokers."""
        return self.ours.failure

    # What the znodes say

    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the replicas of all partitions."""
        return self.zookeeper.assignments()

    def leader(self, partition: TopicPartition) -> int:
        """Return the leader in ZooKeeper, NOBODY if there is none."""
        held = self.zookeeper.leadership(partition)
        return znodes.NOBODY if held is None else held.leader

    def isr(self, partition: TopicPartition) -> set[int]:
        """Return the ISR in ZooKeeper."""
        held = self.zookeeper.leadership(partition)
        return set() if held is None else set(held.isr)

    def registered(self) -> set[int]:
        """Return the brokers that are registered."""
        return self.zookeeper.registered()

    def exists(self, topic: str) -> bool:
        """Whether there is a topic."""
        return topic in self.session.children(znodes.TOPICS)

    def moves(self) -> bool:
        """Whether a reassignment runs."""
        return self.session.exists(znodes.REASSIGN_PARTITIONS) is not None

    async def watch_epochs(self) -> None:
        """Begin to watch the epochs in ZooKeeper."""

        async def watch() -> None:
            while True:
                await asyncio.to_thread(self.seen.look, self.zookeeper)
                await asyncio.sleep(LOOK)

        self.in_background(watch())

    # What operators ask

    async def create_topic(self, name: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with these replicas."""
        self._admin.create_topic_with_assignment(name, replicas)

    async def ask_for_preferred(self, partitions: Sequence[TopicPartition]) -> None:
        """Ask for preferred elections."""
        self.session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(partitions))

    async def ask_for_partitions(self, topic: str, total: int, new: Mapping[int, Sequence[int]]) -> None:
        """Ask for more partitions."""
        self._admin.add_partitions(topic, total, new)

    async def ask_to_move(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Ask for a reassignment."""
        self.session.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({partition: replicas}))

    async def ask_to_delete(self, topic: str) -> None:
        """Ask for a topic's deletion."""
        self._admin.delete_topic(topic)

    # Our brokers

    def named(self, broker: int) -> str:
        """Return a broker's number, and whose it is."""
        return super().named(broker) if broker in self.kafkas else f"our broker {broker}"

    async def shut_down(self, broker: int) -> None:
        """Shut a broker down in order; ours asks the controller before it ends."""
        if broker in self.kafkas:
            await super().shut_down(broker)
            return
        await self.ours.ask_for_shutdown(broker)
        if left := [str(one) for one in self.assignments() if self.leader(one) == broker]:
            raise NotSeen(f"after its controlled shutdown {self.named(broker)} still leads {', '.join(left)}")
        await self.ours.close(broker)
        self.tell(f"{self.named(broker)} has ended, and led nothing by then")

    async def kill(self, broker: int) -> None:
        """Kill a broker."""
        if broker in self.kafkas:
            await super().kill(broker)
        else:
            await self.ours.kill(broker)

    async def start(self, broker: int) -> None:
        """Start a broker again."""
        if broker in self.kafkas:
            await super().start(broker)
        else:
            await self.ours.start(broker)

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

    def expect_epoch(self, epoch: int) -> None:
        """Refuse to continue unless the controller epoch is this one.

        Raises:
            NotSeen: it is another.
        """
        if (now := self.zookeeper.controller_epoch()) != epoch:
            raise NotSeen(f"the controller epoch is {now}, and not {epoch}")
