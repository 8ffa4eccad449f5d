"""FINDINGS, high-watermark-waits-after-rollback, on a real KRaft cluster: a producer waits though the whole ISR has its record.

Broker 0 leads alone in its ISR. Follower 1 has caught up, and the leader proposes to add it; a proxy before the controller holds
that request. The follower is killed, and a producer writes with acks=all. When the controller has fenced the follower, the request
continues, and is refused: INELIGIBLE_REPLICA. The ISR is the leader alone again, which has the record; but its high watermark
stays, consumers do not see the record, and the producer waits, until another record is written.

    python -m kafka_spec.conformance.reproductions.high_watermark_waits_after_rollback --kafka 4.4.0
"""

from __future__ import annotations

import signal
import time

from kafka_spec.conformance.kafka_classes.jars import BROKERS
from kafka_spec.conformance.kafka_clusters.kafka_proxy import ALTER_PARTITION
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

TOPIC = "p"
WAITS = 20.0
"""The seconds for which the producer is to wait; its request would be repeated after `request.timeout.ms`, which ends it too."""
SOON = 2.0
"""The seconds within which the next record is to end that."""


def finding(version: str) -> bool:
    """Make it happen; return whether a producer waits for a record that the whole ISR has."""
    with KRaftCluster(version) as cluster:
        proxy = cluster.behind_proxy(CONTROLLER)
        clients, admin = cluster.clients, cluster.start_all(0, 1, 2)
        admin.create_topic(TOPIC, {0: [0, 1]})
        cluster.wait("both replicas are in sync", lambda: sorted(admin.partition(TOPIC).isr) == [0, 1])
        one, other = (clients.producer(cluster.addresses(2), acks, patience_ms=180_000) for acks in ("all", "1"))
        clients.produce(one, TOPIC, "before")
        clients.produce(other, TOPIC, "also before")
        cluster.shut_down(1)
        cluster.wait("broker 0 is the whole ISR", lambda: admin.partition(TOPIC).isr == [0])

        gate = proxy.gate(ALTER_PARTITION)
        cluster.start(1)
        cluster.wait("broker 0 proposes broker 1 for the ISR, and the request is held", lambda: gate.arrived)
        cluster.signal(1, signal.SIGKILL)
        future = clients.send(one, TOPIC, "waits")
        cluster.wait("the controller has fenced broker 1", lambda: admin.brokers() == [0, 2])
        gate.open()
        cluster.wait("broker 0 receives INELIGIBLE_REPLICA", lambda: cluster.lines(0, "server", "INELIGIBLE_REPLICA"))
        print(f"          {cluster.lines(0, 'server', 'INELIGIBLE_REPLICA')[-1]}")
        cluster.say(f"    {admin.partition(TOPIC)}")
        until = time.monotonic() + WAITS
        while time.monotonic() < until:
            if future.isDone():
                cluster.say("the producer is acknowledged")
                return False
            time.sleep(0.1)
        read = clients.read_all(cluster.addresses(2), TOPIC, 3)
        cluster.say(f"for {WAITS:.0f} s and more the producer with acks=all waits, and a consumer reads {read}")
        clients.produce(other, TOPIC, "another")
        cluster.wait("another record is written; the producer is acknowledged", future.isDone, SOON)
        cluster.say(f"a consumer reads {clients.read_all(cluster.addresses(2), TOPIC, 3)}")
        return "waits" not in read


if __name__ == "__main__":
    show_on_release(finding, __doc__, BROKERS)
