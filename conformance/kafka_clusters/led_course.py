"""Real brokers led by our controllers: all that a controller does, and fail-overs between ours, to Kafka's own, and back."""

from __future__ import annotations

from functools import partial

from kafka_spec.conformance.kafka_clusters.zookeeper_course import FIRST_OF_OURS, ZooKeeperCourse
from kafka_spec.impl.zookeeper.coordination import znodes


class LedCourse(ZooKeeperCourse):
    """Our two controllers, which host no replicas, and Kafka's brokers."""

    async def conduct(self) -> None:
        """Run the scenes: our controllers lead, hand over to one of Kafka, and take over again."""
        first, second = FIRST_OF_OURS, FIRST_OF_OURS + 1
        await self._controllers_begin(first, second)
        await self.kafkas_brokers_begin()
        await self.scene("create topics", self.create_topics)
        await self.clients_begin()
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("controlled shutdown", self.shut_a_leader_down)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("added partitions", self.add_partitions)
        await self.scene("reassignment", self.reassign)
        await self.scene("deletion", self.delete)
        await self.scene("fail-over between our two controllers", partial(self._fail_over, first, second))
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("from our controller to Kafka's", partial(self._hand_over_to_kafka, second))
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("from Kafka's controller to ours", partial(self._take_over, first))
        await self.scene("kill -9 of a leader", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)

    async def _controllers_begin(self, first: int, second: int) -> None:
        """Only we may write /controller_epoch, without which nobody is elected; then our controllers start."""
        self.session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        self.session.let_write(znodes.CONTROLLER_EPOCH, everyone=False)
        await self.ours.start(first)
        await self.until(f"{self.named(first)} is the controller", lambda: self.zookeeper.controller() == first)
        await self.ours.start(second)
        self.tell(f"{self.named(second)} is on standby")
        await self.watch_epochs()

    async def _fail_over(self, first: int, second: int) -> None:
        """Kill our controller; our other one takes over. The killed broker is started again, on standby."""
        epoch = self.zookeeper.controller_epoch()
        await self.ours.kill(first)
        self.tell(f"{self.named(first)}, the controller, is killed")
        await self.until(f"{self.named(second)} is the controller", lambda: self.zookeeper.controller() == second)
        self.expect_epoch(epoch + 1)
        await self.ours.start(first)

    async def _hand_over_to_kafka(self, active: int) -> None:
        """Let everybody be elected, and kill both our brokers: one of Kafka's brokers takes over."""
        epoch = self.zookeeper.controller_epoch()
        self.session.let_write(znodes.CONTROLLER_EPOCH, everyone=True)
        for number in sorted(self.ours.running, key=lambda number: number == active):
            await self.ours.kill(number)
        self.tell("both of our controllers are killed, and everybody may be elected")
        await self.until("a broker of Kafka is the controller", lambda: self.zookeeper.controller() in self.kafkas)
        self.expect_epoch(epoch + 1)
        self.tell(f"Kafka's broker {self.zookeeper.controller()} is the controller under epoch {epoch + 1}")

    async def _take_over(self, ours: int) -> None:
        """Start ours under Kafka's controller; then it takes over."""
        await self.ours.start(ours)
        await self.until(f"{self.named(ours)} is registered", lambda: ours in self.zookeeper.registered())
        await self.take_over_from_kafka(ours)
