"""FINDINGS, stop-replica-of-former-topic, on two real brokers of Kafka 2.8.2 or 3.9.1 and a proxy before one of them.

A topic on broker 1 is deleted. The proxy holds the StopReplica with delete; the controller waits 3 s for the answer, closes the
connection, and sends the request again over another one: it is answered, and the deletion is complete. A topic of the same name is
created, and broker 1 acknowledges ten records with acks=all. Then the network delivers the first copy, which was sent before its
connection was closed. All its epochs are current, and its leader epoch, -2, passes: broker 1 deletes the log of the new topic.

    python -m kafka_spec.conformance.reproductions.stop_replica_of_former_topic --kafka 3.9.1
"""

from __future__ import annotations

import argparse
import signal
from functools import partial

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_proxy import STOP_REPLICA
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

P = TopicPartition("p", 0)
STATE = znodes.state(P)
RECORDS = 10
IMPATIENT = {"request.timeout.ms": 3_000, "controller.socket.timeout.ms": 3_000}


def finding(version: str) -> bool:
    """Make it happen; return whether records of the new topic that were acknowledged with acks=all are lost."""
    with RealCluster("stop-replica-of-former-topic", IMPATIENT, version) as cluster:
        clients = Clients(Kafka(version, cluster.jars))
        proxy = cluster.behind_proxy(1)
        cluster.start_controller(0)
        cluster.start_others(1)
        clients.create_topic(cluster.addresses(0), P.topic, {0: [1]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        producer = clients.producer(cluster.addresses(1), acks="all")
        clients.produce(producer, P.topic, "of the former topic")
        producer.close()

        gate = proxy.gate(STOP_REPLICA, most=1, late=True)
        gate.let_pass()  # the first stops the replica, the second deletes it
        cluster.session.create(znodes.delete_topic(P.topic))
        cluster.wait("the topic is to be deleted, and the StopReplica with delete is held", lambda: gate.held)
        cluster.wait("the controller sends it again over another connection", lambda: gate.arrived > 2)
        cluster.wait("the deletion is complete", lambda: cluster.session.exists(znodes.topic(P.topic)) is None)
        cluster.wait("and its request is gone", lambda: cluster.session.exists(znodes.delete_topic(P.topic)) is None)

        clients.create_topic(cluster.addresses(0), P.topic, {0: [1]})
        cluster.wait("a topic of the same name is created, and broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        producer = clients.producer(cluster.addresses(1), acks="all")
        acknowledged = [f"record {number}" for number in range(RECORDS)]
        offsets = [clients.produce(producer, P.topic, value) for value in acknowledged]
        cluster.say(f"broker 1 acknowledges {len(offsets)} records with acks=all, at offsets {offsets[0]} to {offsets[-1]}")
        log = cluster.brokers.data(1) / str(P)
        if not log.exists():
            return False
        gate.open()
        cluster.wait("the first copy is delivered, and broker 1 deletes the log", lambda: not log.exists())
        state = cluster.content(STATE)
        cluster.say(f"in ZooKeeper: leader {state['leader']}, leader epoch {state['leader_epoch']}, ISR {state['isr']}")
        cluster.signal(1, signal.SIGKILL)
        cluster.wait("broker 1's session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
        cluster.start(1)
        cluster.wait("broker 1 is started again, and leads", lambda: cluster.content(STATE)["leader"] == 1)
        lost = cluster.lost(acknowledged, clients.read_all(cluster.addresses(1), P.topic))
        return bool(lost)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", choices=("2.8.2", "3.9.1"), default=VERSION)
    show(partial(finding, parser.parse_args().kafka))
