"""FINDINGS, old-leader-without-successor, on four real brokers of Kafka 2.8.2 and a proxy before one of them.

Broker 1 leads; a preferred election makes broker 2 the leader; the proxy holds the LeaderAndIsr to broker 1. Broker 2
takes it out of the ISR, and is killed: nobody leads. The controller is killed too, and what it had to tell broker 1 is lost.
The next controller informs broker 1 that there is no leader, which changes nothing there: broker 1 leads on under its old leader
epoch. What it acknowledges with acks=1 is lost when broker 2 is back.

    python -m kafka_spec.conformance.reproductions.old_leader_without_successor
"""

from __future__ import annotations

import signal

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_proxy import LEADER_AND_ISR
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

P = TopicPartition("p", 0)
STATE = znodes.state(P)


def finding() -> bool:
    """Make it happen; return whether records that the old leader acknowledged are lost."""
    with RealCluster("old-leader-without-successor") as cluster:
        clients = Clients(Kafka(VERSION, cluster.jars))
        proxy = cluster.behind_proxy(1)
        cluster.start_controller(0)
        cluster.start_others(1, 3)
        clients.create_topic(cluster.addresses(0), P.topic, {0: [2, 1]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        producer = clients.producer(cluster.addresses(3), acks="1")
        before = [f"before {number}" for number in range(5)]
        for value in before:
            clients.produce(producer, P.topic, value)
        cluster.start(2)
        cluster.wait("broker 2 is in the ISR", lambda: sorted(cluster.content(STATE)["isr"]) == [1, 2])

        gate = proxy.gate(LEADER_AND_ISR)
        cluster.session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions([P]))
        cluster.wait("a preferred election makes broker 2 the leader", lambda: cluster.content(STATE)["leader"] == 2)
        cluster.wait("the request to broker 1 is held", lambda: gate.arrived)
        cluster.wait("broker 2 is the whole ISR", lambda: cluster.content(STATE)["isr"] == [2])
        cluster.signal(2, signal.SIGKILL)
        cluster.wait("nobody leads", lambda: cluster.content(STATE)["leader"] == -1)
        cluster.signal(0, signal.SIGKILL)
        cluster.wait("the controller has ended", lambda: cluster.has_ended(0))
        gate.open()
        cluster.wait("there is another controller", lambda: cluster.content("/controller")["brokerid"] != 0)
        cluster.wait("it informs broker 1 that nobody leads", lambda: cluster.lines(1, "state-change", "leader=-1"))
        state = cluster.content(STATE)
        cluster.say(f"in ZooKeeper: leader {state['leader']}, leader epoch {state['leader_epoch']}, ISR {state['isr']}")

        acknowledged = [f"lost {number}" for number in range(3)]
        for value in acknowledged:
            cluster.say(f"broker 1 acknowledges {value!r} at offset {clients.produce(producer, P.topic, value)}")
        cluster.start(2)
        cluster.wait("broker 2 leads, and broker 1 is in the ISR", lambda: sorted(cluster.content(STATE)["isr"]) == [1, 2])
        read = clients.read_all(cluster.addresses(2, 3), P.topic)
        lost = cluster.lost(acknowledged, read, acks="1")
        return bool(lost) and set(before) <= set(read)


if __name__ == "__main__":
    show(finding)
