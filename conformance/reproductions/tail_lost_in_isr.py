"""FINDINGS, tail-lost-in-isr, on three real brokers of Kafka 2.8.2.

Broker 0 is the controller; 1 leads and 2 follows, both in the ISR; a producer with acks=all is acknowledged. The controller is
stopped (SIGSTOP). Broker 1 is killed, and the end of its log is cut from its file, as a machine's loss of power may do: Kafka does
not flush. Broker 1 is started again. Then the controller's session expires, and the next controller finds everybody alive: it
elects nobody, 1 leads on, and 2 truncates what 1 has lost.

    python -m kafka_spec.conformance.reproductions.tail_lost_in_isr
"""

from __future__ import annotations

import signal

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show
from kafka_spec.impl.log.batches import split

STATE = "/brokers/topics/p/partitions/0/state"
RECORDS = 10
LOST = 3
"""The records at the end of the log that the machine loses."""


def finding() -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with RealCluster("tail-lost-in-isr") as cluster:
        clients = Clients(Kafka(VERSION, cluster.jars))
        cluster.start_controller(0, {"zookeeper.session.timeout.ms": 40_000})
        cluster.start_others(1, 2)
        clients.create_topic(cluster.addresses(0), "p", {0: [1, 2]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        producer = clients.producer(cluster.addresses(1), acks="all")
        acknowledged = [f"record {number}" for number in range(RECORDS)]
        for value in acknowledged:
            clients.produce(producer, "p", value)
        before = cluster.content(STATE)
        cluster.say(f"{RECORDS} records are acknowledged with acks=all; ISR {before['isr']}, leader epoch {before['leader_epoch']}")

        cluster.signal(0, signal.SIGSTOP)
        cluster.signal(1, signal.SIGKILL)
        cluster.wait("broker 1 has ended", lambda: cluster.has_ended(1))
        log = cluster.brokers.data(1) / "p-0" / f"{0:020}.log"
        batches = [batch for _, batch in split(log.read_bytes())]
        log.write_bytes(b"".join(batches[:-LOST]))
        cluster.say(f"its machine has lost the last {LOST} of {len(batches)} batches")
        cluster.wait("its session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
        cluster.start(1)
        cluster.wait("broker 1 is registered again", lambda: "1" in cluster.session.children("/brokers/ids"))
        if cluster.content("/controller")["brokerid"] != 0:
            cluster.say("the controller's session has expired too early")
            return False
        cluster.wait("another broker is the controller", lambda: cluster.content("/controller")["brokerid"] != 0, 90)
        after = cluster.content(STATE)
        cluster.say(f"broker {after['leader']} leads under leader epoch {after['leader_epoch']}, ISR {after['isr']}")

        def truncated() -> bool:
            follower = cluster.brokers.data(2) / "p-0" / f"{0:020}.log"
            return follower.stat().st_size == log.stat().st_size

        cluster.wait("broker 2 has truncated its log to that of broker 1", truncated)
        lost = cluster.lost(acknowledged, clients.read_all(cluster.addresses(1, 2), "p"))
        return bool(lost)


if __name__ == "__main__":
    show(finding)
