"""Measure a controller's time for 10,000 partitions on 10 brokers in memory: `python -m benchmarks.controller`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from random import Random

from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble

BROKERS = 10
PARTITIONS = 10_000


def main() -> None:
    """Create a topic, fail one broker, fail the controller over; print seconds and the requests sent."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), Ensemble(), write=lines.append, clock=time.time) as cluster:
        for number in range(BROKERS):
            cluster.start(number)
        measure(cluster, lines)


def measure(cluster: Cluster, lines: list[str]) -> None:
    """Let the controllers handle events in order; their requests wait in the channels."""

    def settle(what: str) -> None:
        start = time.perf_counter()
        while sum(broker.step() for broker in cluster.brokers.values()) > 0:
            pass
        requests = sum(len(queue) for broker in cluster.brokers.values() for queue in broker.channels.queues.values())
        print(f"{what:28} {time.perf_counter() - start:6.1f} s, {requests} requests wait, {len(lines)} lines logged")

    settle("election")
    Admin(cluster.tools, Random(7), print).create_topic("orders", PARTITIONS, 3)
    settle(f"creation of {PARTITIONS} partitions")
    cluster.expire(9)
    settle("failure of one broker")
    cluster.expire(0)
    settle("fail-over")


if __name__ == "__main__":
    main()
