"""Measure 1,000 partitions reassigned and 1,000 topics deleted on 10 brokers in memory: `python -m benchmarks.operations`.

Brokers keep their logs in a temporary folder; requests, answers and fetches are delivered at once. Each has a limit of 60 seconds.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.controller.reassignment import AlterPartitionReassignments
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble

BROKERS = 10
COUNT = 1_000
LIMIT = 60.0
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Clock:
    """The brokers' clock, moved by hand."""

    now = 1_600_000_000.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now


def main() -> int:
    """Measure both; return 1 if one takes longer than its limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    taken = [measured(reassign, "partitions reassigned"), measured(delete, "topics deleted")]
    return int(max(taken) > LIMIT)


def measured(what: Callable[[Cluster, Clock, int], Callable[[], None]], name: str, count: int = COUNT) -> float:
    """Prepare a cluster, let it do the work, print and return the seconds."""
    clock = Clock()
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as folder,
        Cluster(Path(folder), Ensemble(), write=lambda _: None, clock=clock) as cluster,
    ):
        for number in range(BROKERS):
            cluster.start(number)
        work = what(cluster, clock, count)
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
    print(f"{count:,} {name}: {seconds:.1f} s")
    return seconds


def reassign(cluster: Cluster, clock: Clock, count: int) -> Callable[[], None]:
    """Create a topic with two replicas for each partition; return what moves all of them to two other brokers."""
    assignment = {n: (n % BROKERS, (n + 1) % BROKERS) for n in range(count)}
    Admin(cluster.tools, Random(7), print).create_topic_with_assignment("orders", assignment)
    cluster.rest()
    targets = {n: ((n + 4) % BROKERS, (n + 7) % BROKERS) for n in range(count)}

    def work() -> None:
        wanted = {TopicPartition("orders", n): target for n, target in targets.items()}
        cluster.active.handle(AlterPartitionReassignments(wanted, lambda _: None))
        while cluster.active.context.targets or cluster.active.events or cluster.active.agenda:
            cluster.rest()
            clock.now += 1.0
            for broker in cluster.brokers.values():
                fetch(cluster, broker)
        cluster.rest()
        topic = znodes.Topic.decode("orders", cluster.tools.get(znodes.topic("orders"))[0])
        assert topic.partitions == targets
        for n, target in targets.items():
            held = [b for b in cluster.brokers if TopicPartition("orders", n) in cluster.brokers[b].replicas.partitions]
            assert held == sorted(target)

    return work


def fetch(cluster: Cluster, broker: Any) -> None:
    """Let a broker send each leader its next request, and take the answer."""
    for leader in broker.data.fetchers.leaders():
        request = broker.data.fetchers.next_request(leader, broker.now)
        if request is not None:
            plane, answers = cluster.brokers[leader].data, []  # type: ignore[var-annotated]
            cluster.brokers[leader].serve(request, answers.append)
            plane.fetches.expire(broker.now + 10**6)
            broker.data.fetchers.take(leader, answers[0].partitions, broker.now)


def delete(cluster: Cluster, clock: Clock, count: int) -> Callable[[], None]:
    """Create topics of one partition with three replicas; return what deletes them all."""
    admin = Admin(cluster.tools, Random(7), print)
    for n in range(count):
        admin.create_topic_with_assignment(f"topic{n}", {0: tuple((n + place) % BROKERS for place in range(3))})
    cluster.rest()

    def work() -> None:
        for n in range(count):
            admin.delete_topic(f"topic{n}")
        cluster.rest()
        assert cluster.tools.children(znodes.TOPICS) == cluster.tools.children(znodes.DELETE_TOPICS) == []
        assert not any(broker.replicas.partitions for broker in cluster.brokers.values())
        clock.now += 61.0
        for _ in range(2):
            clock.now += 61.0
            for broker in cluster.brokers.values():
                broker.replicas.logs.remove_deleted(broker.now, 60_000)
        assert not any(path.is_dir() for n in cluster.brokers for path in (cluster.folder / str(n)).iterdir())

    return work


if __name__ == "__main__":
    sys.exit(main())
