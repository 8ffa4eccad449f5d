"""Four brokers on sockets with real ZooKeeper: a move whose controller dies in the middle, a deletion with a dead replica."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from conftest import Command
from test_log import MEMORY
from test_zookeeper_cluster import until

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.client import Producer
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.options import TOPIC, Options
from kafka_spec.impl.run.zookeeper.assignment_verdict import broken_assignments, work_left
from kafka_spec.impl.run.zookeeper.loopback_world import LoopbackWorld
from kafka_spec.impl.run.zookeeper.quiescence import unrest
from kafka_spec.impl.run.zookeeper.verdict import Judge
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession, Servers
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState

PARTITIONS = [TopicPartition(TOPIC, number) for number in range(10)]
MOVED = {partition: ((partition.partition + 2) % 4, (partition.partition + 3) % 4) for partition in PARTITIONS}
GONE = TopicPartition("gone", 0)


def active(world: LoopbackWorld) -> list[int]:
    """Return the running brokers that are active as controllers."""
    return [n for n, node in sorted(world.nodes.items()) if node.broker.controller.life == ControllerState.ACTIVE]


async def quiet(world: LoopbackWorld, partitions: list[TopicPartition], written: bool = True) -> None:
    """Let the cluster run until nothing is left to do."""
    left: list[str] = []

    def done() -> bool:
        left[:] = unrest(world.cluster, world.numbers, partitions, written=written)
        left.extend(found for _, found in work_left(world.cluster.tools))
        return not left

    await until(world, done, left, 0.1)


async def move_while_the_controller_dies(world: LoopbackWorld, say: Callable[..., asyncio.Future[str]]) -> None:
    """Begin to move all partitions by the command line, kill the controller in the middle, and let the next one end it."""
    plan = {"version": 1, "partitions": [{"topic": p.topic, "partition": p.partition, "replicas": t} for p, t in MOVED.items()]}
    assert "Successfully started" in await say("reassign", "execute", plan=plan)
    (dying,) = active(world)

    def in_the_middle() -> bool:
        states = [world.nodes[dying].broker.controller.reassignments.state_of(p) for p in PARTITIONS]
        return any(state not in (ReassignmentState.NONE, ReassignmentState.RECORDING) for state in states)

    await until(world, in_the_middle, "no reassignment begins", 0.001)
    assert "still in progress" in await say("reassign", "verify", plan=plan)
    await world.thread.do(lambda: world.cluster.service.expire(world.kill(dying)))
    await until(world, lambda: len(active(world)) == 1, "nobody takes over")
    await world.thread.do(lambda: world.start(dying))
    await quiet(world, PARTITIONS)
    assert (await say("reassign", "verify", plan=plan)).count("is complete.") == len(PARTITIONS)
    topic = znodes.Topic.decode(TOPIC, (await world.thread.do(lambda: world.cluster.tools.get(znodes.topic(TOPIC))))[0])
    assert (topic.partitions, topic.adding, topic.removing) == ({p.partition: t for p, t in MOVED.items()}, {}, {})


async def delete_with_a_dead_replica(world: LoopbackWorld, say: Callable[..., asyncio.Future[str]]) -> None:
    """Delete a topic while a broker with a replica is dead: it waits, and is gone, also from that disk, once the broker is back."""
    (controller,) = active(world)
    dead, other = [number for number in world.numbers if number != controller][:2]
    await say("create", GONE.topic, "--assignment", f"{other}:{dead}")
    await quiet(world, [*PARTITIONS, GONE])
    await world.thread.do(lambda: world.cluster.service.expire(world.kill(dead)))
    context = world.nodes[controller].broker.controller.context
    await until(world, lambda: dead not in context.live, "the death is not noticed")
    await say("delete", GONE.topic)
    await until(world, lambda: GONE not in world.nodes[other].broker.replicas.partitions, "the live replica is not deleted")
    assert f"{GONE.topic} - marked for deletion" in await say("list")
    assert (world.cluster.folder / str(dead) / str(GONE)).exists()

    await world.thread.do(lambda: world.start(dead))
    await quiet(world, PARTITIONS)
    assert not (world.cluster.folder / str(dead) / str(GONE)).exists()
    assert (await say("list")).split() == [TOPIC]
    await say("create", GONE.topic, "--assignment", f"{dead}:{other}")
    await quiet(world, [*PARTITIONS, GONE])


def test_a_reassignment_and_a_deletion(server: ZooKeeperServer, inside: Command, tmp_path: Path) -> None:
    """Both end as promised on real ZooKeeper, asked for by `kafka-spec admin`; no acknowledged record is lost."""
    place = f"{server.hosts}/operations"

    async def main(servers: Servers, folder: Path) -> None:
        options = Options(brokers=4, partitions=len(PARTITIONS), replication_factor=2, real=True)
        world = await LoopbackWorld.begin(options, folder, servers, lambda _: None, lambda _: None, Random(1))
        history = History()
        producer = Producer("p", ALL, 20.0, Random(2), world.clock, world.numbers, PARTITIONS, history)

        async def say(*words: str, plan: object = None) -> str:
            if plan is not None:
                (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
                words = (*words, "--file", str(tmp_path / "plan.json"))
            done = await asyncio.to_thread(inside, "admin", "--zookeeper", place, *words)
            assert done.returncode in (0, 1), done.stderr
            return done.stdout

        try:
            for number in world.numbers:
                await world.thread.do(lambda n=number: world.start(n))  # type: ignore[misc]
            await until(world, lambda: len(active(world)) == 1, "nobody is elected")
            assignment = {p.partition: (p.partition % 4, (p.partition + 1) % 4) for p in PARTITIONS}
            admin = Admin(world.cluster.tools, Random(1), print)
            await world.thread.do(lambda: admin.create_topic_with_assignment(TOPIC, assignment))
            await quiet(world, PARTITIONS)
            world.process("producer").spawn(producer.run())

            await move_while_the_controller_dies(world, say)  # type: ignore[arg-type]
            await delete_with_a_dead_replica(world, say)  # type: ignore[arg-type]
            producer.stopping = True
            await quiet(world, PARTITIONS, written=False)

            def judge() -> None:
                verdict = Judge(world.cluster, history, FIXED, 0, []).judge(PARTITIONS)
                assert (verdict.lost, verdict.broken, verdict.leaderless) == ([], [], [])
                assert list(broken_assignments(world.cluster, {})) == []
                assert history.count(ALL)[1] > 0
                assert [n for n in world.numbers if world.nodes[n].broker.controller.life == ControllerState.ACTIVE]

            await world.thread.do(judge)
        finally:
            await world.thread.do(world.end)
            await world.ended()

    session = KazooSession(server.hosts)
    session.create("/operations")
    session.close()
    with Servers(place) as servers, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        asyncio.run(main(servers, Path(folder)))


def test_the_command_refuses(server: ZooKeeperServer, inside: Command) -> None:
    """Without a cluster, or with words that make no sense, the command ends with 2; what Kafka refuses ends with 1."""
    none = inside("admin", "--zookeeper", f"{server.hosts}/nowhere", "list")
    assert (none.returncode, none.stdout) == (2, "")
    assert "there is no cluster" in none.stderr
    with Servers(server.hosts) as servers:
        session = servers.connect()
        for path in ("/some", *(f"/some{one}" for one in znodes.PERSISTENT)):
            session.create(path)
    place = ("admin", "--zookeeper", f"{server.hosts}/some")
    assert inside(*place, "delete", "nothing").returncode == 1
    assert "Topic 'nothing' does not exist" in inside(*place, "describe", "nothing").stderr
    assert inside(*place, "elect", "preferred").returncode == 1
    assert inside(*place, "reassign", "execute").returncode == 2
    assert inside(*place, "list").stdout == ""
