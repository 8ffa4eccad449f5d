"""FINDINGS, re-elected-leader-remembers, on a real KRaft cluster and two proxies: an acknowledged record is lost by one crash.

Broker 1 leads; follower 2 has fetched a record that follower 0, in the ISR too, has not: it is not committed. A proxy before the
controller makes broker 1's metadata log late. A preferred election makes broker 0 the leader, and follower 2 truncates the record.
Broker 0 is shut down as operators do it, and the controller elects broker 1. Then the metadata log brings broker 1 both elections
in one image: it was the leader and is the leader, remembers that 2 has the record, and acknowledges it with acks=all and
min.insync.replicas=2. Before follower 2 fetches, broker 1 is killed; 2, in the ISR, is elected cleanly, and the record is lost.

    python -m kafka_spec.conformance.reproductions.re_elected_leader_in_kraft --kafka 4.4.0
"""

from __future__ import annotations

import signal
from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_classes.jars import BROKERS
from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import NOT_REPEATED, KRaftCluster
from kafka_spec.conformance.reproductions.re_elected_leader_remembers import P, size_of_log
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    **NOT_REPEATED,
}


def finding(version: str) -> bool:
    """Make it happen; return whether a record that was acknowledged with acks=all is lost."""
    with KRaftCluster(version, SETTINGS) as cluster:
        controller, leader = cluster.behind_proxy(CONTROLLER), cluster.behind_proxy(1)
        clients, admin = cluster.clients, cluster.start_all(0, 1, 2, 3)
        admin.create_topic(P.topic, {0: [1, 0, 2]}, {"min.insync.replicas": "2"})
        cluster.wait("broker 1 leads, and three replicas are in sync", lambda: sorted(cluster.partition().isr) == [0, 1, 2])
        admin.reassign(P.topic, [0, 1, 2])
        cluster.wait("a reassignment makes broker 0 the preferred leader", lambda: cluster.partition().replicas == [0, 1, 2])
        producer = clients.producer(cluster.addresses(3), acks="all", patience_ms=180_000)
        acknowledged = cluster.written(producer, P.topic)

        size = partial(size_of_log, cluster)
        cluster.wait("all replicas have them", lambda: size(0) == size(1) == size(2))
        committed = size(1)
        lags = leader.gate(FETCH, "broker-0-fetcher-0")
        cluster.wait("follower 0 is held", lambda: lags.arrived)
        future = clients.send(producer, P.topic, "acknowledged")
        cluster.wait("follower 2 has one more record", lambda: size(2) == size(1) > committed)
        log = controller.gate(FETCH, "raft-client-1")
        cluster.wait("broker 1's request for the metadata log is held", lambda: log.arrived)
        admin.elect("PREFERRED", [(P.topic, 0)])
        cluster.wait("a preferred election makes broker 0 the leader", lambda: cluster.partition().leader == 0)
        cluster.wait("follower 2 has truncated the record", lambda: size(2) == committed)
        cluster.say(f"the producer has {'an' if future.isDone() else 'no'} answer")
        late = leader.gate(FETCH, "broker-2-fetcher-0")
        cluster.signal(0, signal.SIGTERM)
        cluster.wait("broker 0 is shut down: it leaves the ISR", lambda: sorted(cluster.partition().isr) == [1, 2])
        cluster.say(f"    {cluster.partition()}")
        log.open()
        acknowledges(cluster, future)
        cluster.say(f"follower 2 has {'it' if size(2) > committed else 'it not'}; {late.arrived} of its fetches are held")
        return cluster.loses_with_leader(1, 2, P.topic, [*acknowledged, "acknowledged"])


def acknowledges(cluster: KRaftCluster, future: Any) -> None:
    """Wait until broker 1, which learns of both elections at once, acknowledges the record that waits."""
    cluster.say("the metadata log brings broker 1 both elections at once")
    cluster.wait("broker 1 acknowledges the record, with acks=all", future.isDone)
    cluster.say(f"its offset is {int(future.get().offset())}")


if __name__ == "__main__":
    show_on_release(finding, __doc__, BROKERS)
