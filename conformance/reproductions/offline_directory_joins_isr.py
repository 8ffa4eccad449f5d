"""FINDINGS, offline-directory-joins-isr, on a real KRaft cluster: an offline replica joins the ISR, and nobody else may lead.

Broker 1 restarts and catches up; a proxy before the controller holds the proposal by which the leader, broker 0, takes it back into
the ISR. The log directory of broker 1's replica fails, and the controller knows. Then the proposal arrives, and is accepted. Broker
0 is shut down in order and comes back with all records: the ISR is broker 1, which cannot lead, and no other replica may.

    python -m kafka_spec.conformance.reproductions.offline_directory_joins_isr --kafka 4.4.0
"""

from __future__ import annotations

import time

from kafka_spec.conformance.kafka_clusters.kafka_proxy import ALTER_PARTITION
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.elected_on_failed_directory import (
    SETTINGS,
    TOPIC,
    WAIT,
    fail_directory,
    two_directories,
)
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release


def finding(version: str) -> bool:
    """Make it happen; return whether nobody leads although broker 0 is active and holds all records."""
    with KRaftCluster(version, SETTINGS) as cluster:
        proxy = cluster.behind_proxy(CONTROLLER)
        own = {1: two_directories(cluster.brokers.data(1))}
        admin = cluster.start_all(0, 1, 2, own=own)
        admin.create_topic(TOPIC, {0: [0, 1]}, {"min.insync.replicas": "2"})
        cluster.wait("two replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 2)
        cluster.written(cluster.clients.producer(cluster.addresses(2), acks="all"), TOPIC)

        cluster.shut_down(1)
        proposals = proxy.gate(ALTER_PARTITION)
        cluster.start(1, own[1])
        cluster.wait("broker 0 proposes broker 1, which has caught up: the request is held", lambda: proposals.arrived)
        fail_directory(cluster, 1, TOPIC)
        cluster.wait("the controller knows", lambda: cluster.lines(CONTROLLER, "controller", "marked offline"))
        proposals.open()
        cluster.wait("broker 1 is in the ISR all the same", lambda: sorted(cluster.partition().isr) == [0, 1])
        cluster.shut_down(0)
        cluster.say(f"    {cluster.partition()}")
        cluster.start(0)
        cluster.wait("broker 0 is unfenced", lambda: 0 in admin.brokers())
        time.sleep(WAIT)
        cluster.say(f"after {WAIT} s: {cluster.partition()}")
        return cluster.partition().leader == -1


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.3.1", "4.4.0"))
