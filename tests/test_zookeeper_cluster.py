"""Three brokers on sockets with real ZooKeeper: a fail-over, fencing of the old controller, a rolling restart; nothing is lost."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from conftest import Command
from test_log import MEMORY

from kafka_spec.impl.protocol.controller_requests import UpdateMetadataRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.client import Producer
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.options import TOPIC, Options
from kafka_spec.impl.run.zookeeper.loopback_world import LoopbackWorld
from kafka_spec.impl.run.zookeeper.quiescence import unrest
from kafka_spec.impl.run.zookeeper.verdict import Judge
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession, Servers
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState

PARTITIONS = [TopicPartition(TOPIC, number) for number in range(100)]


async def until(world: LoopbackWorld, done: Callable[[], bool], what: object, every: float = 0.02) -> None:
    """Let the cluster run until a condition holds, which is evaluated in its thread."""
    deadline = time.monotonic() + 120
    while not await world.thread.do(done):
        assert time.monotonic() < deadline, what
        await asyncio.sleep(every)


async def at_rest(world: LoopbackWorld, controllers: int = 1, written: bool = True) -> None:
    """Let the cluster run until all partitions are in sync."""
    expected = [] if controllers == 1 else [f"{controllers} brokers are active as controllers"]
    left: list[str] = []

    def done() -> bool:
        left[:] = unrest(world.cluster, world.numbers, PARTITIONS, written=written)
        return left == expected or failed(world)

    await until(world, done, left, 0.3)


def failed(world: LoopbackWorld) -> bool:
    """Raise the error that a task has met, if there is one."""
    return world.failure.done() and world.failure.result() is None


def active(world: LoopbackWorld) -> list[int]:
    """Return the brokers that are active as controllers."""
    return [n for n in world.numbers if world.nodes[n].broker.controller.life == ControllerState.ACTIVE]


async def fail_over(world: LoopbackWorld) -> None:
    """End the controller's session, which it does not notice: another takes over, and what the old one sends is refused."""
    (old,) = active(world)
    broker, other = world.nodes[old].broker, (old + 1) % 3
    await world.thread.do(lambda: world.expire(old, deaf=3600.0))
    await until(world, lambda: len(active(world)) == 2, "nobody takes over")
    (new,) = [number for number in active(world) if number != old]
    newest = world.nodes[new].broker.controller.controller_epoch
    await until(world, lambda: world.nodes[other].broker.replicas.controller_epoch == newest, "the new controller is not heard of")
    context = broker.controller.context
    stale = UpdateMetadataRequest(old, context.epoch, context.broker_epochs[other], {}, ())

    assert newest == context.epoch + 1
    assert (await world.thread.do(lambda: world.nodes[other].broker.take(stale))).error == ErrorCode.STALE_CONTROLLER_EPOCH
    world.nodes[old].deaf_until = 0
    await until(world, lambda: active(world) == [new] and broker.has_session, "the old controller does not resign")


async def fence(world: LoopbackWorld) -> None:
    """Depose a controller that keeps its session, and has not noticed: its next write is refused, and it resigns."""
    (old,) = active(world)
    broker, victim = world.nodes[old].broker, (old + 1) % 3
    world.nodes[old].deaf_until = 1 << 62
    await world.thread.do(lambda: world.cluster.tools.delete(znodes.CONTROLLER))
    await until(world, lambda: len(active(world)) == 2, "nobody takes over")
    await at_rest(world, controllers=2)

    def write() -> None:
        before = [world.cluster.leadership(partition) for partition in PARTITIONS]
        broker.session.events()  # what tells it of the new controller is late
        answers: list[Any] = []
        broker.controller.handle(
            ControlledShutdown(victim, world.nodes[victim].broker.epoch, lambda *answer: answers.append(answer))
        )
        while broker.controller.life == ControllerState.ACTIVE:
            assert broker.step()

        assert answers == [(ErrorCode.STALE_CONTROLLER_EPOCH, ())]
        assert [world.cluster.leadership(partition) for partition in PARTITIONS] == before
        world.nodes[old].deaf_until = 0

    await world.thread.do(write)


def test_fail_over_fencing_and_a_rolling_restart(server: ZooKeeperServer) -> None:
    """A hundred partitions on three brokers survive it all: at the end all have leaders, all ISRs are full, no record is lost."""

    async def main(servers: Servers, folder: Path) -> None:
        options = Options(brokers=3, partitions=len(PARTITIONS), real=True)
        world = await LoopbackWorld.begin(options, folder, servers, lambda _: None, lambda _: None, Random(1))
        history = History()
        producer = Producer("p", ALL, 20.0, Random(2), world.clock, world.numbers, PARTITIONS, history)
        try:
            for number in world.numbers:
                await world.thread.do(lambda n=number: world.start(n))  # type: ignore[misc]
            await until(world, lambda: len(active(world)) == 1, "nobody is elected")
            admin = Admin(world.cluster.tools, Random(1), print)
            await world.thread.do(lambda: admin.create_topic(TOPIC, len(PARTITIONS), 3))
            await at_rest(world)
            world.process("producer").spawn(producer.run())

            await fail_over(world)
            await at_rest(world)
            await fence(world)
            await at_rest(world)
            for number in world.numbers:
                epoch = world.nodes[number].broker.epoch
                await world.thread.do(lambda n=number: world.shut_down(n))  # type: ignore[misc]

                def again(n: int = number, before: int = epoch) -> bool:
                    return n in world.nodes and world.nodes[n].broker.epoch > before

                await until(world, again, "it does not start")
                await at_rest(world)
            producer.stopping = True
            await at_rest(world, written=False)

            def judge() -> None:
                verdict = Judge(world.cluster, history, FIXED, 0, []).judge(PARTITIONS)
                assert (verdict.lost, verdict.broken, verdict.leaderless) == ([], [], [])
                assert history.count(ALL)[1] > 0
                assert {world.cluster.leadership(p).leader for p in PARTITIONS} <= set(world.numbers)  # type: ignore[union-attr]

            await world.thread.do(judge)
        finally:
            await world.thread.do(world.end)
            await world.ended()

    session = KazooSession(server.hosts)
    session.create("/rolling")
    session.close()
    with Servers(f"{server.hosts}/rolling") as servers, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        asyncio.run(main(servers, Path(folder)))


def test_the_command(server: ZooKeeperServer, inside: Command) -> None:
    """`run --zookeeper` runs in an empty place and leaves it empty; where a cluster lives already it refuses, and ends with 2."""
    run = ("run", "--seconds", "1", "--faults", "none", "--partitions", "2", "--brokers", "2", "-q")
    done = inside(*run, "--zookeeper", f"{server.hosts}/one/two")

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 brokers, 2 partitions, replication factor 2, 1 real seconds" in done.stdout
    assert "every property was satisfied" in done.stdout
    with Servers(server.hosts) as servers:
        session = servers.connect()
        assert session.children("/one/two") == []
        session.create("/taken")
        session.create("/taken/brokers")
        refused = inside(*run, "--zookeeper", f"{server.hosts}/taken")
        assert session.children("/taken") == ["brokers"]

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "it holds a cluster already (/brokers); name an empty path: " in refused.stderr
