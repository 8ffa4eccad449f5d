"""A run with real brokers, from the start of ZooKeeper to the verdict."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.jars import checked_jars
from kafka_spec.conformance.kafka_clusters.clients import read_all
from kafka_spec.conformance.kafka_clusters.course import FIRST_OF_OURS, Course
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses, NotSeen
from kafka_spec.conformance.kafka_clusters.led_course import LedCourse
from kafka_spec.conformance.kafka_clusters.mixed_course import MixedCourse
from kafka_spec.conformance.kafka_clusters.our_brokers import OurBrokers
from kafka_spec.conformance.kafka_clusters.verdict import (
    LogsChecked,
    broken_for_clients,
    broken_in_logs,
    broken_in_zookeeper,
    broken_on_disk,
    merged,
)
from kafka_spec.impl.kafka_wire.protocols import PROTOCOLS, InterBrokerProtocol, protocol_named
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.server import NoServer, ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers
from kafka_spec.spec.vocabulary.table import Spec, SpecError

NEWEST = {"2.8.2": "2.8", "3.9.1": "3.9"}
"""The newest inter.broker.protocol.version of each version."""
READING = 60.0
"""The longest time in seconds in which a consumer has to read everything."""


@dataclass(frozen=True)
class RealOptions:
    """The cluster: Kafka's brokers in number, the partitions of the topic that clients use, and the era of our controllers."""

    version: str
    jars: Path
    brokers: int
    partitions: int
    era: Spec
    seed: int
    mixed: bool = False
    """Whether our broker hosts replicas too."""
    named_protocol: str = ""
    """The inter.broker.protocol.version of all brokers, "" for the newest."""

    @property
    def protocol(self) -> InterBrokerProtocol:
        """The inter.broker.protocol.version: from 2.7 on Kafka's leaders ask the controller for ISRs, from 2.8 on topics have ids.

        Raises:
            SpecError: it is not known, or newer than Kafka's brokers.
        """
        newest = NEWEST[self.version]
        found = protocol_named(self.named_protocol or newest)
        if list(PROTOCOLS).index(found.name) > list(PROTOCOLS).index(newest):
            raise SpecError(f"Kafka {self.version} knows no inter.broker.protocol.version {found.name}; its newest is {newest}")
        return found


@dataclass
class RealOutcome:
    """The outcome of a run."""

    options: RealOptions
    scenes: list[str]
    seconds: float
    produced: int
    acknowledged: int
    read: int
    leaders: int
    """Rises of leader epochs that ZooKeeper showed."""
    controllers: dict[int, int]
    """The controller of each controller epoch."""
    logs: LogsChecked
    broken: list[Broken] = field(default_factory=list)
    stopped: str = ""
    """Why the run was stopped before its end, else empty; then nothing is judged."""

    @property
    def kept(self) -> bool:
        """Whether the run came to its end and no property was violated."""
        return not self.stopped and not self.broken


def run_with_kafka(options: RealOptions, folder: Path, say: Callable[[str], object]) -> RealOutcome:
    """Run, and return the outcome; the files are in a folder. `say` receives what happens.

    Raises:
        SpecError: Kafka's jars are missing, or Java.
        CoordinationError: ZooKeeper was lost.
    """
    jars = checked_jars(options.version, options.jars)
    owner = f"kafka-spec:{secrets.token_hex(16)}"
    try:
        server = ZooKeeperServer(folder / "zookeeper", jars=options.jars)
    except NoServer as error:
        raise SpecError(f"--kafka {options.version}: {error}") from None
    with server, Servers(server.hosts, ended=lambda: server.exit_code, owner=owner) as servers:
        kafka = KafkaProcesses(folder, jars, server.hosts, {"inter.broker.protocol.version": options.protocol.name})
        try:
            return asyncio.run(_run(options, folder, kafka, servers, say))
        finally:
            kafka.end()


async def _run(
    options: RealOptions, folder: Path, kafka: KafkaProcesses, servers: Servers, say: Callable[[str], object]
) -> RealOutcome:
    session, began = servers.connect(), time.monotonic()
    numbers = [*range(options.brokers), FIRST_OF_OURS, FIRST_OF_OURS + 1]
    ours = OurBrokers(folder, servers, options.era, kafka.ports, kafka.seen_at, numbers, options.protocol)
    admin = Admin(session, Random(options.seed), lambda _: None, 3 if options.protocol.topic_ids else 2)
    kind = MixedCourse if options.mixed else LedCourse
    course = kind(options.brokers, options.partitions, kafka, ours, session, admin, say)
    stopped, broken, logs = "", list[Broken](), LogsChecked()
    try:
        await course.conduct()
        broken = await _judged(course, kafka)
    except NotSeen as error:
        stopped = str(error)
    finally:
        await course.end()
        await ours.end()
    kafka.end()
    if not stopped:
        broken += broken_on_disk(course.assigned, kafka.data)
        logs = broken_in_logs(folder)
    sent = course.history.sent.values()
    return RealOutcome(
        options,
        course.scenes,
        time.monotonic() - began,
        len(sent),
        sum(one.acknowledged for one in sent),
        sum(len(values) for values in course.history.read.values()),
        course.seen.elections,
        course.seen.controllers,
        logs,
        [*broken, *course.seen.broken, *logs.broken],
        stopped,
    )


async def _judged(course: Course, kafka: KafkaProcesses) -> list[Broken]:
    """Let the cluster become quiet, read everything, and return the violated properties."""
    broken = [Broken("Recovers", found) for found in await course.rest()]
    course.assigned = course.zookeeper.assignments()
    partitions = sorted(course.assigned)
    earlier = deepcopy(course.history.read)
    course.history.read.clear()
    left = await read_all(kafka.addresses(*course.hosts), partitions, course.history, READING)
    merged(course.history, earlier)
    course.tell("a consumer has read all partitions from their beginning")
    return broken + broken_for_clients(course.history, left, partitions) + broken_in_zookeeper(course.zookeeper)
