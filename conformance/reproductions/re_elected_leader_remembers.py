"""FINDINGS, re-elected-leader-remembers, on four real brokers of Kafka 2.8.2 and a proxy before the leader.

Broker 1 leads; follower 2 has fetched a record that follower 0, in the ISR too, has not: it is not committed. A preferred election
makes broker 0 the leader; the proxy holds the LeaderAndIsr to broker 1. Follower 2 truncates the record. Broker 0 and the
controller are killed. The next controller elects broker 1, for which nothing has happened: it remembers that 2 has the record, and
acknowledges it with acks=all. Before follower 2 fetches, broker 1 is killed; 2 is elected, and the record is lost.

    python -m kafka_spec.conformance.reproductions.re_elected_leader_remembers
"""

from __future__ import annotations

import signal
from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH, LEADER_AND_ISR
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, ServersOnLoopback, show
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

P = TopicPartition("p", 0)
STATE = znodes.state(P)
RECORDS = 5


def finding() -> bool:
    """Make it happen; return whether a record that was acknowledged with acks=all is lost."""
    with RealCluster("re-elected-leader-remembers", {"replica.lag.time.max.ms": 30_000}) as cluster:
        clients = Clients(Kafka(VERSION, cluster.jars))
        proxy = cluster.behind_proxy(1)
        cluster.start_controller(3)
        cluster.start_others(1, 2)
        clients.create_topic(cluster.addresses(3), P.topic, {0: [0, 1, 2]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        cluster.start(0)
        cluster.wait("three replicas are in sync", lambda: sorted(cluster.content(STATE)["isr"]) == [0, 1, 2])
        producer = clients.producer(cluster.addresses(2), acks="all", patience_ms=180_000)
        acknowledged = [f"record {number}" for number in range(RECORDS)]
        for value in acknowledged:
            clients.produce(producer, P.topic, value)
        size = partial(size_of_log, cluster)
        committed = size(1)
        lags = proxy.gate(FETCH, "broker-0-fetcher-0")
        cluster.wait("follower 0 is held", lambda: lags.arrived)
        future = clients.send(producer, P.topic, "acknowledged")
        cluster.wait("follower 2 has the record", lambda: size(2) == size(1) > committed)
        reported = proxy.gate(LEADER_AND_ISR)
        cluster.session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions([P]))
        cluster.wait("a preferred election makes broker 0 the leader", lambda: cluster.content(STATE)["leader"] == 0)
        cluster.wait("the request to broker 1 is held", lambda: reported.arrived)
        late = proxy.gate(FETCH, "broker-2-fetcher-0")
        cluster.wait("follower 2 has truncated the record", lambda: size(2) == committed)
        cluster.say(f"the producer has {'an' if future.isDone() else 'no'} answer")
        for broker in (0, 3):
            cluster.signal(broker, signal.SIGKILL)
        cluster.wait("they have ended", lambda: cluster.has_ended(0) and cluster.has_ended(3))
        reported.open()
        acknowledged_again(cluster, future)
        cluster.say(f"follower 2 has {'it' if size(2) > committed else 'it not'}; {late.arrived} fetches are held")
        cluster.signal(1, signal.SIGKILL)
        cluster.wait("broker 2 leads", lambda: cluster.content(STATE)["leader"] == 2)
        lost = cluster.lost([*acknowledged, "acknowledged"], clients.read_all(cluster.addresses(2), P.topic))
        return bool(lost)


def size_of_log(cluster: ServersOnLoopback, broker: int) -> int:
    """Return the size of a replica's log in bytes."""
    return (cluster.brokers.data(broker) / str(P) / f"{0:020}.log").stat().st_size


def acknowledged_again(cluster: RealCluster, future: Any) -> None:
    """Wait until broker 1 is elected again, and acknowledges the record that waits."""
    cluster.wait("another controller elects broker 1", lambda: cluster.content(STATE)["leader"] == 1)
    cluster.say(f"the ISR is {cluster.content(STATE)['isr']}")
    cluster.wait("broker 1 acknowledges the record, with acks=all", future.isDone)
    cluster.say(f"its offset is {int(future.get().offset())}")


if __name__ == "__main__":
    show(finding)
