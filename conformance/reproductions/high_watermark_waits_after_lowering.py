"""FINDINGS, high-watermark-waits-after-lowering, on a real KRaft cluster: min.insync.replicas is lowered, and a producer waits on.

A follower is killed before it has the last record: the ISR is smaller than min.insync.replicas=2, and the producer, with acks=all,
waits. The operator lowers min.insync.replicas to 1, so that the leader alone suffices. The record is still not acknowledged, and
consumers do not see it, until something else is written to the partition.

    python -m kafka_spec.conformance.reproductions.high_watermark_waits_after_lowering --kafka 4.4.0
"""

from __future__ import annotations

import signal
import time

from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH
from kafka_spec.conformance.reproductions.kraft_cluster import NOT_REPEATED, KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

TOPIC = "p"
WATCHED = 20
"""Seconds in which the record would be acknowledged."""


def finding(version: str) -> bool:
    """Make it happen; return whether the record waits until another one is written."""
    with KRaftCluster(version, NOT_REPEATED) as cluster:
        leader = cluster.behind_proxy(1)
        clients, admin = cluster.clients, cluster.start_all(1, 2, 3)
        admin.create_topic(TOPIC, {0: [1, 2]}, {"min.insync.replicas": "2"})
        cluster.wait("broker 1 leads, and two replicas are in sync", lambda: sorted(admin.partition(TOPIC).isr) == [1, 2])
        producer = clients.producer(cluster.addresses(3), acks="all", patience_ms=180_000)
        cluster.written(producer, TOPIC)
        fetches = leader.gate(FETCH, "broker-2-fetcher-0")
        cluster.wait("follower 2 is held", lambda: fetches.arrived)
        future = clients.send(producer, TOPIC, "waits")
        time.sleep(1)
        cluster.signal(2, signal.SIGKILL)
        cluster.wait("broker 1 is alone in the ISR", lambda: admin.partition(TOPIC).isr == [1])
        cluster.say(f"    {admin.partition(TOPIC)}")
        admin.configure("TOPIC", TOPIC, {"min.insync.replicas": "1"})
        cluster.wait("broker 1 has min.insync.replicas=1", lambda: cluster.lines(1, "server", "min.insync.replicas -> 1"))
        time.sleep(WATCHED)
        waits = not future.isDone()
        cluster.say(f"{WATCHED} s later the record is {'not ' if waits else ''}acknowledged")
        clients.produce(clients.producer(cluster.addresses(3), acks="1"), TOPIC, "another")
        cluster.wait("another record is written, and the first is acknowledged", future.isDone)
        return waits


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.4.0"))
