"""FINDINGS, raised-min-isr-learned-late, on a real KRaft cluster and two proxies: an acknowledged record is lost by one crash.

Brokers 1 and 2 are in sync, and min.insync.replicas is 1. Follower 2 stops fetching. The operator raises min.insync.replicas to 2,
and a proxy before the controller makes the metadata log late for the leader, broker 1. It removes follower 2 from the ISR. The
controller, which knows of the 2, keeps broker 2 as an eligible leader replica. Its answer overtakes the metadata log: broker 1
leads alone, under min.insync.replicas=1, and acknowledges a record with acks=all. It is killed, and broker 2 is elected from the
ELR, cleanly.

    python -m kafka_spec.conformance.reproductions.raised_min_isr_learned_late --kafka 4.4.0
"""

from __future__ import annotations

from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import NOT_REPEATED, KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
LAG = 5000
"""Milliseconds after which a follower that does not fetch leaves the ISR; Kafka's own default is 30,000."""
SETTINGS = {"replica.lag.time.max.ms": LAG, **NOT_REPEATED}


def finding(version: str) -> bool:
    """Make it happen; return whether a record that was acknowledged with acks=all is lost."""
    with KRaftCluster(version, SETTINGS) as cluster:
        controller, leader = cluster.behind_proxy(CONTROLLER), cluster.behind_proxy(1)
        clients, admin = cluster.clients, cluster.start_all(1, 2, 3)
        admin.create_topic(TOPIC, {0: [1, 2]}, {"min.insync.replicas": "1"})
        cluster.wait("broker 1 leads, and two replicas are in sync", lambda: sorted(cluster.partition().isr) == [1, 2])
        producer = clients.producer(cluster.addresses(3), acks="all", patience_ms=180_000)
        acknowledged = cluster.written(producer, TOPIC)
        fetches = leader.gate(FETCH, "broker-2-fetcher-0")
        cluster.wait("follower 2 is held", lambda: fetches.arrived)
        future = clients.send(producer, TOPIC, "acknowledged")
        log = controller.gate(FETCH, "raft-client-1")
        cluster.wait("broker 1's request for the metadata log is held", lambda: log.arrived)
        admin.configure("TOPIC", TOPIC, {"min.insync.replicas": "2"})
        cluster.say("the operator has set min.insync.replicas=2")
        cluster.wait("broker 1 has removed follower 2 from the ISR", lambda: cluster.partition().isr == [1])
        cluster.say(f"    {cluster.partition()}")
        cluster.wait("broker 1 acknowledges the record, with acks=all", future.isDone)
        cluster.say(f"its offset is {int(future.get().offset())}")
        return cluster.loses_with_leader(1, 2, TOPIC, [*acknowledged, "acknowledged"])


if __name__ == "__main__":
    show_on_release(finding, __doc__, VERSIONS)
