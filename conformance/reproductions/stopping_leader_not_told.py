"""FINDINGS, `stopping-leader-not-told`, on four real brokers of Kafka 2.8.2.

Broker 0 is the controller; 1 leads and 2 follows. 2 dies. 1 asks for a controlled shutdown as the only ISR member, and has to stay.
2 comes back and joins the ISR. Then 3 shuts down, and the controller elects 2 in place of 1 at that occasion, without telling 1.
A client that still writes to 1 with acks=1 loses what is acknowledged.

    python -m kafka_spec.conformance.reproductions.stopping_leader_not_told
"""

from __future__ import annotations

import signal

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show

STATE = "/brokers/topics/p/partitions/0/state"


def finding() -> bool:
    """Make it happen; return whether the old leader received nothing, and records were lost."""
    # the stopping broker asks the controller again after 25 s, so there is time to see what happens in between
    with RealCluster("stopping-leader-not-told", {"controlled.shutdown.retry.backoff.ms": 25_000}) as cluster:
        clients = Clients(Kafka(VERSION, cluster.jars))
        cluster.start_controller(0)
        cluster.start_others(1, 2, 3)
        clients.create_topic(cluster.addresses(0), "p", {0: [1, 2]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
        producer = clients.producer(cluster.addresses(1), acks="1")
        for number in range(20):
            clients.produce(producer, "p", f"before {number}")

        cluster.signal(2, signal.SIGKILL)
        cluster.wait("1 is the whole ISR", lambda: cluster.content(STATE)["isr"] == [1])
        cluster.signal(1, signal.SIGTERM)
        cluster.wait("the controller hears of the shutdown", lambda: cluster.lines(0, "controller", "Shutting down broker 1"))
        cluster.start(2)
        cluster.wait("2 is in the ISR again", lambda: sorted(cluster.content(STATE)["isr"]) == [1, 2], 22)
        cluster.signal(3, signal.SIGTERM)
        cluster.wait("2 is elected", lambda: cluster.content(STATE)["leader"] == 2, 15)
        epoch = cluster.content(STATE)["leader_epoch"]

        acknowledged = [f"lost {number}" for number in range(3)]
        for value in acknowledged:
            offset = clients.produce(producer, "p", value)
            cluster.say(f"broker 1, which no longer leads, acknowledges {value!r} at offset {offset}")
        reported = cluster.lines(0, "state-change", "to broker 1 for partition p-0")
        reported = [line for line in reported if "LeaderAndIsr" in line and f"leaderEpoch={epoch}," in line]
        cluster.say(f"the controller has sent broker 1 {len(reported)} LeaderAndIsr requests of leader epoch {epoch}")
        cluster.wait("broker 1 has ended", lambda: cluster.has_ended(1), 60)
        lost = cluster.lost(acknowledged, clients.read_all(cluster.addresses(0, 2), "p"), acks="1")
        return not reported and bool(lost)


if __name__ == "__main__":
    show(finding)
