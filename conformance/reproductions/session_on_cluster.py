"""A random session of a real KRaft cluster, whose metadata logs are then explained.

Topics are created, reassigned, configured and deleted while brokers and controllers are killed and shut down. There are three
controllers and four brokers, two of them with two log directories.

    python -m kafka_spec.conformance.reproductions.session_on_cluster --kafka 4.4.0 --seed 1 --seconds 600 --keep FOLDER

It ends with 0 if each record of all nodes is explained, and known bugs account for all violations; the logs stay in FOLDER.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.jars import BROKERS as VERSIONS
from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show
from kafka_spec.impl.protocol.quorum_requests import TOPIC

CONTROLLERS, BROKERS = (100, 101, 102), (0, 1, 2, 3)
OF_TWO_DIRECTORIES = (0, 1)
SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": 6000,
    "metadata.log.max.snapshot.interval.ms": 60_000,
    "controlled.shutdown.max.retries": 3,
    "replica.lag.time.max.ms": 4000,
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": 20,
    "default.api.timeout.ms": 8000,
}
MOST_TOPICS = 6
PAUSES = (0.0, 1.0, 4.0, 11.0)
"""Seconds between two operations; a broker that is killed is fenced after nine."""


class RandomSession:
    """The operations on one cluster. What the cluster refuses is said, and counts as done."""

    def __init__(self, cluster: KRaftCluster, admin: AdminClient, random: Random) -> None:
        self.cluster, self.admin, self.random = cluster, admin, random
        self.topics: dict[str, int] = {}
        """The topics with their partitions."""
        self.down: set[int] = set()
        self.counts: Counter[str] = Counter()
        self._made = 0

    def run(self, seconds: float) -> None:
        """Do one operation after the other for some time, then let all servers come back."""
        operations: list[tuple[Callable[[], None], int]] = [
            (self.create, 3), (self.delete, 1), (self.add_partitions, 1), (self.reassign, 4), (self.cancel, 2), (self.configure, 3),
            (self.elect, 2), (self.elect_uncleanly, 1), (self.write, 3), (self.end_broker, 4), (self.start_broker, 7),
            (self.end_controller, 1), (self.unregister, 1),
        ]  # fmt: skip
        chosen, weights = zip(*operations, strict=True)
        for _ in range(3):
            self.attempt(self.create)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            (operation,) = self.random.choices(chosen, weights)
            self.attempt(operation)
            time.sleep(self.random.choice(PAUSES))
        for server in sorted(self.down):
            self.start(server)
        self.cluster.wait("all brokers are unfenced", lambda: self.admin.brokers() == list(BROKERS), 120)

    def attempt(self, operation: Callable[[], None]) -> None:
        """Do an operation; say what the cluster refuses."""
        self.counts[operation.__name__.replace("_", " ")] += 1
        try:
            operation()
        except self.cluster.not_yet as error:
            self.counts["refused"] += 1
            self.cluster.say(f"    refused: {str(error)[:160]}")

    def topic(self) -> str:
        """Return one of the topics.

        Raises:
            LookupError: there is none.
        """
        return self.random.choice(sorted(self.topics))

    def replicas(self) -> list[int]:
        """Return one to three replicas of a partition, in any order."""
        return self.random.sample(BROKERS, self.random.choice((1, 2, 3, 3)))

    def create(self) -> None:
        """Create a topic, with settings of its own or without."""
        if len(self.topics) >= MOST_TOPICS:
            return self.delete()
        self._made += 1
        name, size = f"t{self._made}", self.random.choice((1, 2, 3))
        replicas = [self.random.sample(BROKERS, size) for _ in range(self.random.randint(1, 4))]
        settings = {"min.insync.replicas": str(self.random.randint(1, size))} if self.random.random() < 0.6 else {}
        self.cluster.say(f"create {name} with {replicas} {settings or ''}")
        self.topics[name] = len(replicas)
        return self.admin.create_topic(name, dict(enumerate(replicas)), settings)

    def delete(self) -> None:
        """Delete a topic."""
        name = self.topic()
        self.cluster.say(f"delete {name}")
        del self.topics[name]
        self.admin.delete_topics([name])

    def add_partitions(self) -> None:
        """Add a partition to a topic."""
        name, replicas = self.topic(), self.replicas()
        self.cluster.say(f"add a partition to {name} on {replicas}")
        self.admin.add_partitions(name, self.topics[name] + 1, [replicas])
        self.topics[name] += 1

    def reassign(self) -> None:
        """Reassign a partition, whose reassignment may not have ended."""
        name, replicas = self.topic(), self.replicas()
        number = self.random.randrange(self.topics[name])
        self.cluster.say(f"reassign {name}-{number} to {replicas}")
        self.admin.reassign(name, replicas, number)

    def cancel(self) -> None:
        """Cancel the reassignment of a partition, which may have none."""
        name = self.topic()
        number = self.random.randrange(self.topics[name])
        self.cluster.say(f"cancel {name}-{number}")
        self.admin.cancel(name, number)

    def configure(self) -> None:
        """Set what decides about ISRs and elections, of a topic or of the cluster."""
        setting = self.random.choice(
            (
                {"min.insync.replicas": str(self.random.randint(1, 3))},
                {"unclean.leader.election.enable": self.random.choice(("true", "false"))},
            )
        )
        kind, name = ("TOPIC", self.topic()) if self.random.random() < 0.8 else ("BROKER", "")
        self.cluster.say(f"set {setting} of {name or 'the cluster'}")
        self.admin.configure(kind, name, setting)

    def elect(self) -> None:
        """Elect preferred leaders."""
        name = self.topic()
        self.cluster.say(f"elect the preferred leaders of {name}")
        self.admin.elect("PREFERRED", [(name, number) for number in range(self.topics[name])])

    def elect_uncleanly(self) -> None:
        """Ask for an unclean election, which a partition with a leader refuses."""
        name = self.topic()
        number = self.random.randrange(self.topics[name])
        self.cluster.say(f"elect uncleanly a leader of {name}-{number}")
        self.admin.elect_unclean(name, number)

    def write(self) -> None:
        """Write some records to a topic."""
        name = self.topic()
        producer = self.cluster.clients.producer(self.cluster.addresses(*self.up()), acks="all", patience_ms=4000)
        try:
            for future in [self.cluster.clients.send(producer, name, f"{number}") for number in range(5)]:
                future.get()
        finally:
            producer.close()

    def up(self) -> list[int]:
        """Return the brokers that run."""
        return [broker for broker in BROKERS if broker not in self.down]

    def end_broker(self) -> None:
        """Kill a broker, or shut it down; the last one that runs stays, which the admin client may ask."""
        if len(self.up()) > 1:
            self.end(self.random.choice(self.up()), self.random.choice((signal.SIGKILL, signal.SIGTERM)))

    def end_controller(self) -> None:
        """Kill the active controller, or another one, and start it again after a while."""
        controller = self.random.choice((self.admin.quorum().leader, self.random.choice(CONTROLLERS)))
        self.end(controller, self.random.choice((signal.SIGKILL, signal.SIGTERM)))
        time.sleep(self.random.choice((0.0, 6.0)))
        self.start(controller)

    def end(self, server: int, how: signal.Signals) -> None:
        """End a server; one that does not end in time is killed."""
        self.cluster.signal(server, how)
        self.down.add(server)
        try:
            self.cluster.wait(f"{server} has ended", lambda: self.cluster.has_ended(server), 40)
        except NotSeen:
            self.cluster.signal(server, signal.SIGKILL)
            self.cluster.wait(f"{server} has ended", lambda: self.cluster.has_ended(server), 40)

    def start_broker(self) -> None:
        """Start a broker that is down."""
        down = sorted(self.down & set(BROKERS))
        if down:
            self.start(self.random.choice(down))

    def start(self, server: int) -> None:
        """Start a server."""
        self.cluster.say(f"start {server}")
        self.cluster.start(server, own_settings(self.cluster, server))
        self.down.discard(server)

    def unregister(self) -> None:
        """Unregister a broker that is down; it registers again when it is started."""
        down = sorted(self.down & set(BROKERS))
        if down:
            broker = self.random.choice(down)
            self.cluster.say(f"unregister {broker}")
            self.admin.unregister(broker)


def own_settings(cluster: KRaftCluster, server: int) -> dict[str, str]:
    """Return the settings of one server: some brokers have two log directories."""
    data = cluster.brokers.data(server)
    return {"log.dirs": f"{data}/a,{data}/b"} if server in OF_TWO_DIRECTORIES else {}


def session(version: str, seed: int, seconds: float, keep: Path | None) -> bool:
    """Make a session; return whether its logs are explained."""
    with KRaftCluster(version, SETTINGS, CONTROLLERS) as cluster:
        own = {server: own_settings(cluster, server) for server in (*CONTROLLERS, *BROKERS)}
        made = RandomSession(cluster, cluster.start_all(*BROKERS, own=own), Random(seed))
        try:
            made.run(seconds)
        finally:
            cluster.brokers.end()
            for log in cluster.folder.rglob(str(TOPIC)) if keep is not None else ():
                shutil.copytree(log, Path(keep or "", log.relative_to(cluster.folder)), dirs_exist_ok=True)
        print(f"Kafka {version}, seed {seed}: {dict(made.counts)}")
    return True  # else the cluster's end has raised


def main(arguments: Sequence[str]) -> None:
    """Make a session."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--keep", type=Path, help="the folder to which the metadata logs of all nodes are copied")
    options = parser.parse_args(arguments)
    show(lambda: session(options.kafka, options.seed, options.seconds, options.keep))


if __name__ == "__main__":
    main(sys.argv[1:])
