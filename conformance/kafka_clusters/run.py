"""A run with real brokers and ZooKeeper, from the start of ZooKeeper to the verdict."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.jars import checked_jars
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses, NotSeen
from kafka_spec.conformance.kafka_clusters.led_course import LedCourse
from kafka_spec.conformance.kafka_clusters.mixed_course import MixedCourse
from kafka_spec.conformance.kafka_clusters.our_brokers import OurBrokers
from kafka_spec.conformance.kafka_clusters.outcome import RealOutcome, read_at_rest
from kafka_spec.conformance.kafka_clusters.verdict import (
    LogsChecked,
    broken_in_logs,
    broken_in_zookeeper,
    broken_on_disk,
)
from kafka_spec.conformance.kafka_clusters.zookeeper_course import FIRST_OF_OURS, ZooKeeperCourse
from kafka_spec.impl.kafka_wire.protocols import PROTOCOLS, InterBrokerProtocol, protocol_named
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.server import NoServer, ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers
from kafka_spec.spec.vocabulary.table import Spec, SpecError

NEWEST = {"2.8.2": "2.8", "3.9.1": "3.9"}
"""The newest inter.broker.protocol.version of each version."""


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

    @property
    def title(self) -> str:
        """The cluster in words."""
        return (
            f"Kafka {self.version}, inter-broker protocol {self.protocol.name}, {self.era.name}: "
            f"{self.brokers} real brokers{' and our broker' * self.mixed}"
        )

    def plain(self) -> dict[str, object]:
        """Return what only clusters with ZooKeeper have, for JSON."""
        return {"inter_broker_protocol": self.protocol.name, "mixed": self.mixed}


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
    kind: type[ZooKeeperCourse] = MixedCourse if options.mixed else LedCourse
    course = kind(options.brokers, options.partitions, kafka, ours, session, admin, say)
    stopped, broken, logs = "", list[Broken](), LogsChecked()
    try:
        await course.conduct()
        broken = await _judged(course, kafka)
    except (NotSeen, OSError) as error:
        stopped = str(error)
    finally:
        await course.end()
        await ours.end()
    kafka.end()
    if not stopped:
        broken += broken_on_disk(course.assigned, kafka.data)
        logs = broken_in_logs(folder)
    broken += [*course.seen.broken, *logs.broken]
    return RealOutcome.of(options, course, began, course.seen.elections, course.seen.controllers, logs, broken, stopped)


async def _judged(course: ZooKeeperCourse, kafka: KafkaProcesses) -> list[Broken]:
    """Let the cluster become quiet, read everything, and return the violated properties."""
    return [*await read_at_rest(course, kafka), *broken_in_zookeeper(course.zookeeper)]
