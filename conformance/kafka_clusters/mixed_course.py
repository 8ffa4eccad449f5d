"""A mixed cluster: our broker hosts replicas beside Kafka's brokers, first under Kafka's controllers, then under its own.

Each side leads and follows the other, is killed and shut down as a leader, and truncates what it had too much when it is back.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_clusters.course import ORDERS
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen, free_port
from kafka_spec.conformance.kafka_clusters.kcat import has_kcat, kcat_reads, kcat_writes
from kafka_spec.conformance.kafka_clusters.proxy import Proxy
from kafka_spec.conformance.kafka_clusters.zookeeper_course import FIRST_OF_OURS, ZooKeeperCourse
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

TOOLS = "tools"
CONSUMER = "kafka.tools.ConsoleConsumer"
LINES = 5
FAULT = 7.0
"""The seconds for which connections are cut or held: longer than clients and followers wait for an answer."""


class MixedCourse(ZooKeeperCourse):
    """Kafka's brokers, and our broker, which hosts replicas."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._proxies: dict[int, Proxy] = {}

    async def conduct(self) -> None:
        """Run the scenes: proxies cut and hold connections while our broker works among Kafka's."""
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
        await self.scene("connections to a leader of Kafka's are held", self._hold)
        await self.scene("connections to our broker are cut", partial(self._cut, ours))
        await self.scene("from Kafka's controller to ours", partial(self.take_over_from_kafka, FIRST_OF_OURS))
        await self.scene("a leader of Kafka's is killed", self.kill_a_leader)
        await self.scene("preferred election", self.elect_preferred)
        await self.scene("connections to our broker are held", partial(self._hold, ours))
        await self.scene("connections to a leader of Kafka's are cut", self._cut)

    async def end(self) -> None:
        """End the run, and the proxies with it."""
        await super().end()
        for proxy in self._proxies.values():
            await asyncio.to_thread(proxy.close)
        self._proxies.clear()

    async def _brokers_begin(self) -> None:
        """Kafka's brokers start first, and one of them becomes the controller. Each broker is found behind a proxy."""
        for number in self.hosts:
            proxy = self._proxies[number] = Proxy(self.kafka.ports.setdefault(number, free_port()))
            self.kafka.seen_at[number] = proxy.port
        self.session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        await self.kafkas_brokers_begin()
        await self.until("a broker of Kafka is the controller", lambda: self.zookeeper.controller() in self.kafkas)
        self.session.let_write(znodes.CONTROLLER_EPOCH, everyone=True)
        await self.watch_epochs()
        self.ours.abstain()
        await self.ours.start(FIRST_OF_OURS)
        await self.until(f"{self.named(FIRST_OF_OURS)} is registered", lambda: FIRST_OF_OURS in self.zookeeper.registered())

    async def _cut(self, number: int = 0) -> None:
        """Break all connections to the leader of a partition, and let nobody connect for some seconds."""
        partition, proxy = self._leader_behind_proxy(number)
        await asyncio.to_thread(proxy.cut)
        self.tell(f"all connections to {self.named(self.leader(partition))}, the leader of {partition}, are cut")
        await asyncio.sleep(FAULT)
        proxy.mend()
        await self.until(f"after {FAULT:.0f} s they are restored, and all replicas are in their ISRs", self.in_sync)

    async def _hold(self, number: int = 0) -> None:
        """Let nothing pass to the leader of a partition, and nothing back, for some seconds; then all of it."""
        partition, proxy = self._leader_behind_proxy(number)
        await asyncio.to_thread(proxy.hold)
        self.tell(f"all connections to {self.named(self.leader(partition))}, the leader of {partition}, are held")
        await asyncio.sleep(FAULT)
        await asyncio.to_thread(proxy.release)
        await self.until(f"after {FAULT:.0f} s they are released, and all replicas are in their ISRs", self.in_sync)

    def _leader_behind_proxy(self, number: int) -> tuple[TopicPartition, Proxy]:
        partition = TopicPartition(ORDERS, number)
        return partition, self._proxies[self.leader(partition)]

    async def _use_tools(self) -> None:
        """Write with kafka-console-producer and read with kafka-console-consumer, which know our broker's address only."""
        address = self.kafka.addresses(FIRST_OF_OURS)
        await self.create_topic(TOOLS, {0: [FIRST_OF_OURS, *self.kafkas]})
        await self.until(f"{TOOLS} has a leader", self.in_sync)
        lines = "".join(f"line {number}\n" for number in range(LINES))
        common = ("--bootstrap-server", address, "--topic", TOOLS)
        acks = ("--request-required-acks", "-1")  # the default since 3.0, and with it enable.idempotence
        await asyncio.to_thread(self.kafka.tool, "kafka.tools.ConsoleProducer", (*common, *acks), lines)
        self.tell(f"kafka-console-producer has written {LINES} lines through {self.named(FIRST_OF_OURS)}")
        if self.kafka.has_class(CONSUMER):  # from 3.5 on it is in a jar of its own, which is not among those fetched
            await self._use_consumer(common, lines)
        if has_kcat():
            await self._use_kcat(address)

    async def _use_consumer(self, common: tuple[str, ...], lines: str) -> None:
        """Read what the producer has written."""
        reading = (*common, "--partition", "0", "--offset", "earliest", "--max-messages", str(LINES), "--timeout-ms", "30000")
        read = await asyncio.to_thread(self.kafka.tool, CONSUMER, reading)
        if read != lines:
            raise NotSeen(f"kafka-console-consumer reads {read!r} from {TOOLS}-0, where {lines!r} was written")
        self.tell(f"kafka-console-consumer has read them from {self.named(FIRST_OF_OURS)}")

    async def _use_kcat(self, address: str) -> None:
        """Write and read with kcat, and read what Kafka's tool has written."""
        partition = TopicPartition(TOOLS, 0)
        lines = [f"line {number}" for number in range(LINES, 2 * LINES)]
        await asyncio.to_thread(kcat_writes, address, partition, lines)
        read = await asyncio.to_thread(kcat_reads, address, partition)
        if read != (wanted := tuple(f"line {number}" for number in range(2 * LINES))):
            raise NotSeen(f"kcat reads {read} from {partition}, where {wanted} were written")
        self.tell(f"kcat has written {LINES} more, and read all from {self.named(FIRST_OF_OURS)}")
