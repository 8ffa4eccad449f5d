"""Brokers of ours on Kafka's wire protocol, with real clients and a ZooKeeper in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from conftest import ROOT

from kafka_spec.conformance.kafka_classes.jars import FOLDER, checked_jars
from kafka_spec.conformance.kafka_clusters.clients import RecordWriters, read_all
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses
from kafka_spec.conformance.kafka_clusters.kcat import has_kcat, kcat_reads, kcat_writes
from kafka_spec.conformance.kafka_clusters.our_brokers import OurBrokers
from kafka_spec.conformance.kafka_clusters.verdict import broken_for_clients, broken_in_logs, broken_in_zookeeper, broken_on_disk
from kafka_spec.conformance.kafka_clusters.zookeeper_state import ZooKeeperState
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import History
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble
from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers
from kafka_spec.spec.zookeeper.eras import ERA_2_8
from kafka_spec.spec.zookeeper.machines import ControllerState

VERSION = "2.8.2"
HAS_JARS = (ROOT / FOLDER / VERSION).is_dir()
NUMBERS = [0, 1, 2]
PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
PATIENCE = 30.0


class OurCluster:
    """Three brokers of ours; `state` is what ZooKeeper says."""

    def __init__(self, folder: Path) -> None:
        service = Ensemble()
        self.folder = folder
        self.ports: dict[int, int] = {}
        self.brokers = OurBrokers(folder, service, ERA_2_8, self.ports, {}, NUMBERS)
        self.session = service.connect()
        self.state = ZooKeeperState(self.session)
        self.admin = Admin(self.session, Random(1), lambda _: None, 2)

    async def begin(self) -> str:
        """Start the brokers, create the topic; return the brokers' addresses."""
        for number in NUMBERS:
            await self.brokers.start(number)
        self.admin.create_topic_with_assignment("orders", {p: [(p + i) % 3 for i in range(3)] for p in range(3)})
        await self.until(self.in_sync)
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def in_sync(self) -> bool:
        """Whether all replicas are in the ISRs of leaders that are registered."""
        states = [self.state.leadership(partition) for partition in PARTITIONS]
        registered = self.state.registered()
        return all(one is not None and one.leader in registered and sorted(one.isr) == NUMBERS for one in states)

    async def until(self, happens: Callable[[], bool]) -> None:
        """Wait until something is true."""
        async with asyncio.timeout(PATIENCE):
            while not await self.brokers.thread.do(happens):
                if self.brokers.failure.done():
                    self.brokers.failure.result()
                await asyncio.sleep(0.05)


def test_clients_of_kafka_lose_nothing(tmp_path: Path) -> None:
    """Real clients write with acks=all and read while a leader is killed and another shuts down; what was acknowledged is there.

    The followers fetch over Kafka's wire, so their logs are the leader's, byte for byte, and the state-change logs are valid.
    """

    async def run() -> tuple[History, list[TopicPartition]]:
        cluster, history = OurCluster(tmp_path), History()
        writers = RecordWriters(history)
        try:
            addresses = await cluster.begin()
            await writers.begin(addresses)
            writers.write(PARTITIONS)
            await asyncio.sleep(0.5)
            await cluster.brokers.kill(0)
            await cluster.until(lambda: (held := cluster.state.leadership(PARTITIONS[0])) is not None and held.leader != 0)
            await asyncio.sleep(0.5)
            await cluster.brokers.start(0)
            await cluster.until(cluster.in_sync)
            await cluster.brokers.ask_for_shutdown(1)
            assert 1 not in [held.leader for one in PARTITIONS if (held := cluster.state.leadership(one)) is not None]
            await cluster.brokers.close(1)
            await cluster.brokers.start(1)
            await cluster.until(cluster.in_sync)
            await asyncio.sleep(0.5)
            await writers.end()
            await cluster.until(cluster.in_sync)
            left = await read_all(addresses, PARTITIONS, history, PATIENCE)
            assert broken_in_zookeeper(cluster.state) == []
        finally:
            await writers.end()
            await cluster.brokers.end()
        return history, left

    history, left = asyncio.run(run())
    assert sum(sent.acknowledged for sent in history.sent.values()) > 30
    assert broken_for_clients(history, left, PARTITIONS) == []
    assigned = {partition: tuple(NUMBERS) for partition in PARTITIONS}
    assert broken_on_disk(assigned, lambda number: tmp_path / f"data-{number}") == []
    checked = broken_in_logs(tmp_path)
    assert checked.broken == []
    assert checked.transitions > 20


def test_who_abstains_is_not_elected(tmp_path: Path) -> None:
    """Brokers that abstain register, and leave /controller alone until they are told to stand for election."""

    async def run() -> tuple[set[int], int | None, int | None]:
        cluster = OurCluster(tmp_path)
        try:
            cluster.brokers.abstain()
            for number in NUMBERS:
                await cluster.brokers.start(number)
            await asyncio.sleep(0.2)
            registered, before = cluster.state.registered(), cluster.state.controller()
            await cluster.brokers.stand()
            await cluster.until(lambda: cluster.state.controller() is not None)
            return registered, before, cluster.state.controller()
        finally:
            await cluster.brokers.end()

    registered, before, after = asyncio.run(run())
    assert (registered, before) == (set(NUMBERS), None)
    assert after in NUMBERS


def test_who_may_not_write_the_epoch_is_not_elected(tmp_path: Path, server: ZooKeeperServer) -> None:
    """On a real ZooKeeper a broker that may not write /controller_epoch stays on standby, and says why; it tries no second time."""
    lines: list[str] = []
    with Servers(server.hosts, owner="ours:secret") as ours, Servers(server.hosts) as others:
        owner = ours.connect()
        owner.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        owner.let_write(znodes.CONTROLLER_EPOCH, everyone=False)
        log = StateChangeLog(lines.append, lambda: 0.0)
        broker = BrokerProcess(7, ERA_2_8, others.connect(), tmp_path, log, lambda: 0.0, Random(1))
        broker.register()
        assert [broker.step() for _ in range(2)] == [True, False]
        assert broker.controller.life == ControllerState.STANDBY
        assert owner.exists(znodes.CONTROLLER) is None
        assert "NoAuth" in lines[0]
        broker.close()
        owner.delete(znodes.CONTROLLER_EPOCH)
        for path in reversed(znodes.PERSISTENT):
            owner.delete(path)


def test_logs_that_differ(tmp_path: Path) -> None:
    """Two replicas that differ below their common length break LogMatch; one that is shorter does not."""
    partition = TopicPartition("orders", 0)
    for number, text in enumerate((b"abc", b"abcd", b"ab")):
        folder = tmp_path / str(number) / "orders-0"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(text)
    where = {partition: (0, 1, 2)}
    assert broken_on_disk(where, lambda number: tmp_path / str(number)) == []
    (tmp_path / "2" / "orders-0" / f"{0:020}.log").write_bytes(b"ax")
    (broken,) = broken_on_disk(where, lambda number: tmp_path / str(number))
    assert (broken.promise, "brokers 2 and 1 differ" in broken.found) == ("LogMatch", True)


@pytest.mark.skipif(not has_kcat(), reason="apt-get install kcat")
def test_kcat(tmp_path: Path) -> None:
    """kcat, a client of librdkafka, writes to brokers of ours with acks=all, also compressed, and reads what it wrote."""
    plain, compressed = (tuple(f"{kind} {number}" for number in range(50)) for kind in ("plain", "compressed"))

    async def run() -> tuple[str, ...]:
        cluster = OurCluster(tmp_path)
        try:
            addresses = await cluster.begin()
            await asyncio.to_thread(kcat_writes, addresses, PARTITIONS[0], plain)
            await asyncio.to_thread(kcat_writes, addresses, PARTITIONS[0], compressed, "gzip")
            return await asyncio.to_thread(kcat_reads, addresses, PARTITIONS[0])
        finally:
            await cluster.brokers.end()

    assert asyncio.run(run()) == plain + compressed


@pytest.mark.long
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_kafkas_console_tools(tmp_path: Path) -> None:
    """kafka-console-producer writes to brokers of ours, and kafka-console-consumer reads what it wrote."""
    lines = "".join(f"line {number}\n" for number in range(5))
    tools = KafkaProcesses(tmp_path, checked_jars(VERSION, ROOT / FOLDER / VERSION), "")

    async def run() -> str:
        cluster = OurCluster(tmp_path)
        try:
            addresses = await cluster.begin()
            cluster.admin.create_topic_with_assignment("tools", {0: NUMBERS})
            await cluster.until(lambda: cluster.state.leadership(TopicPartition("tools", 0)) is not None)
            common = ("--bootstrap-server", addresses, "--topic", "tools")
            writing = (*common, "--request-required-acks", "-1")
            await asyncio.to_thread(tools.tool, "kafka.tools.ConsoleProducer", writing, lines)
            reading = ("--partition", "0", "--offset", "earliest", "--max-messages", "5", "--timeout-ms", "20000")
            return await asyncio.to_thread(tools.tool, "kafka.tools.ConsoleConsumer", (*common, *reading))
        finally:
            await cluster.brokers.end()

    assert asyncio.run(run()) == lines
