"""FINDINGS, unanswered-expansion-forgotten, on three real brokers of Kafka 2.7.2, and proxies before one of them and its ZooKeeper.

Broker 1 leads alone in its ISR. It adds broker 0 by a write to ZooKeeper: the proxy passes the write on, and holds the answer. A
preferred election makes broker 0 the leader; the LeaderAndIsr to broker 1 is held. Then broker 1's connection to ZooKeeper is cut:
its client connects again and repeats the write, which finds another version. So broker 1 takes it for failed, continues with itself
alone as ISR, and acknowledges records with acks=all that broker 0, which leads by now, does not have.

    python -m kafka_spec.conformance.reproductions.unanswered_expansion_forgotten
"""

from __future__ import annotations

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_proxy import LEADER_AND_ISR
from kafka_spec.conformance.kafka_clusters.proxy import Proxy
from kafka_spec.conformance.reproductions.real_cluster import RealCluster, show
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

VERSION = "2.7.2"
"""The last version with this code; 2.8 leaves the change in flight."""
P = TopicPartition("p", 0)
STATE = znodes.state(P)
LONG = {"zookeeper.session.timeout.ms": 60_000}
SET_DATA = b'{"controller_epoch"'
"""The beginning of a state znode's content, which only a write of it sends to ZooKeeper."""
PROTOCOL = {"inter.broker.protocol.version": "2.6"}
"""From 2.7 on leaders ask the controller to change the ISR."""


def writes_state(piece: bytes) -> bool:
    """Whether a client sends ZooKeeper a write of the partition's state."""
    return STATE.encode() in piece and SET_DATA in piece


def finding() -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with RealCluster("unanswered-expansion-forgotten", PROTOCOL, VERSION) as cluster, Proxy(cluster.zookeeper_port) as zookeeper:
        clients = Clients(Kafka(VERSION, cluster.jars))
        proxy = cluster.behind_proxy(1)
        cluster.start_controller(2)
        cluster.start_others(1, settings={**LONG, "zookeeper.connect": f"127.0.0.1:{zookeeper.port}"})
        clients.create_topic(cluster.addresses(2), P.topic, {0: [0, 1]})
        cluster.wait("broker 1 leads alone", lambda: cluster.content(STATE)["isr"] == [1])
        producer = clients.producer(cluster.addresses(1), acks="all")
        before = [f"before {number}" for number in range(5)]
        for value in before:
            clients.produce(producer, P.topic, value)

        zookeeper.hold_when(writes_state, passes=True)
        cluster.start(0)
        cluster.wait("broker 1 has added broker 0 to the ISR", lambda: sorted(cluster.content(STATE)["isr"]) == [0, 1])
        cluster.say(f"the answer is {'held' if zookeeper.held_by else 'not held'}")
        reported = proxy.gate(LEADER_AND_ISR)
        cluster.session.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions([P]))
        cluster.wait("a preferred election makes broker 0 the leader", lambda: cluster.content(STATE)["leader"] == 0)
        cluster.wait("the request to broker 1 is held", lambda: reported.arrived)
        zookeeper.cut()
        zookeeper.release()
        zookeeper.mend()
        cluster.say("broker 1's connection to ZooKeeper is cut, and restored")
        cluster.wait("broker 1's repeated write is refused", lambda: cluster.lines(1, "server", "skip updating ISR"))

        acknowledged = [f"lost {number}" for number in range(3)]
        for value in acknowledged:
            cluster.say(f"broker 1 acknowledges {value!r} with acks=all at offset {clients.produce(producer, P.topic, value)}")
        state = cluster.content(STATE)
        cluster.say(f"in ZooKeeper: leader {state['leader']}, leader epoch {state['leader_epoch']}, ISR {state['isr']}")
        reported.open()
        cluster.wait("broker 1 is informed, and follows broker 0", lambda: cluster.lines(1, "server", "Truncating to offset"))
        read = clients.read_all(cluster.addresses(0, 2), P.topic)
        lost = cluster.lost(acknowledged, read)
        return bool(lost) and set(before) <= set(read)


if __name__ == "__main__":
    show(finding)
