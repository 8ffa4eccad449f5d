"""A mixed cluster: a broker of ours hosts replicas beside Kafka's brokers, first under Kafka's controllers, then under its own.

Each side leads and follows the other, is killed and shut down as a leader, and truncates what it had too much when it is back.
"""

from __future__ import annotations

import asyncio
from functools import partial

from kafka_spec.conformance.real.course import FIRST_OF_OURS, Course
from kafka_spec.conformance.real.kafka_processes import NotSeen
from kafka_spec.impl.coordination import znodes

TOOLS = "tools"
LINES = 5


class MixedCourse(Course):
    """Kafka's brokers, and one of ours that hosts replicas."""

    async def conduct(self) -> None:
        """See `Course.conduct`."""
        self.hosts = [*self.kafkas, FIRST_OF_OURS]
        ours = self.hosts.index(FIRST_OF_OURS)
        await self._brokers_begin()
        await self.scene("create topics", self.create_topics)
        await self.clients_begin()
        await self.scene("Kafka's console tools with our broker", self._use_tools)
        await self.scene("a leader of Kafka's is killed", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("our broker is killed as a leader", partial(self.kill_a_leader, ours))
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("controlled shutdown of a leader of Kafka's", self.shut_a_leader_down)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("controlled shutdown of our broker", partial(self.shut_a_leader_down, ours))
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("reassignment to our broker", self.reassign)
        await self.scene("added partitions", self.add_partitions)
        await self.scene("deletion", self.delete)
        await self.scene("from Kafka's controller to ours", partial(self.take_over_from_kafka, FIRST_OF_OURS))
        await self.scene("a leader of Kafka's is killed", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)

    async def _brokers_begin(self) -> None:
        """Kafka's brokers start first, and one of them becomes the controller."""
        self.session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        await self.kafkas_brokers_begin()
        await self.until("a broker of Kafka is the controller", lambda: self.zookeeper.controller() in self.kafkas)
        self.session.let_write(znodes.CONTROLLER_EPOCH, everyone=True)
        await self.watch_epochs()
        self.ours.abstain()
        await self.ours.start(FIRST_OF_OURS)
        await self.until(f"{self.named(FIRST_OF_OURS)} is registered", lambda: FIRST_OF_OURS in self.zookeeper.registered())

    async def _use_tools(self) -> None:
        """Write with kafka-console-producer and read with kafka-console-consumer, which know our broker's address only."""
        address = self.kafka.addresses(FIRST_OF_OURS)
        self.create_topic(TOOLS, {0: [FIRST_OF_OURS, *self.kafkas]})
        await self.until(f"{TOOLS} has a leader", self.in_sync)
        lines = "".join(f"line {number}\n" for number in range(LINES))
        common = ("--bootstrap-server", address, "--topic", TOOLS)
        await asyncio.to_thread(self.kafka.tool, "kafka.tools.ConsoleProducer", (*common, "--request-required-acks", "-1"), lines)
        self.tell(f"kafka-console-producer has written {LINES} lines through {self.named(FIRST_OF_OURS)}")
        reading = (*common, "--partition", "0", "--offset", "earliest", "--max-messages", str(LINES), "--timeout-ms", "30000")
        read = await asyncio.to_thread(self.kafka.tool, "kafka.tools.ConsoleConsumer", reading)
        if read != lines:
            raise NotSeen(f"kafka-console-consumer reads {read!r} from {TOOLS}-0, where {lines!r} was written")
        self.tell(f"kafka-console-consumer has read them from {self.named(FIRST_OF_OURS)}")
