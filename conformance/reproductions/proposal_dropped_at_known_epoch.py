"""FINDINGS, proposal-dropped-at-known-epoch, on a real KRaft cluster and two proxies: an acknowledged record is lost by one crash.

Broker 0 leads alone in its ISR; followers 1 and 2 are held. A proxy before the controller makes broker 0's metadata log late. The
leader proposes follower 1 and is answered; it proposes follower 2, and that answer is late. Now the metadata log brings the first
change, under the partition epoch that the leader knows from the answer, and the leader drops its second proposal, which the
controller has accepted. Follower 2 fetches no more. After `replica.lag.time.max.ms` the leader acknowledges a record that brokers 0
and 1 have, with acks=all and min.insync.replicas=2. It is killed, and follower 2, in the controller's ISR, is elected.

    python -m kafka_spec.conformance.reproductions.proposal_dropped_at_known_epoch --kafka 4.4.0
"""

from __future__ import annotations

import time

from kafka_spec.conformance.kafka_classes.jars import BROKERS
from kafka_spec.conformance.kafka_clusters.kafka_proxy import ALTER_PARTITION, FETCH
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import NOT_REPEATED, KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

TOPIC = "p"
LAG = 10.0
"""The seconds of replica.lag.time.max.ms; Kafka's own 30 only make it longer."""
SETTINGS = {
    "replica.lag.time.max.ms": int(LAG * 1000),
    **NOT_REPEATED,
}


def finding(version: str) -> bool:
    """Make it happen; return whether a record that was acknowledged with acks=all is lost."""
    with KRaftCluster(version, SETTINGS) as cluster:
        controller, leader = cluster.behind_proxy(CONTROLLER), cluster.behind_proxy(0)
        clients, admin = cluster.clients, cluster.start_all(0, 1, 2, 3)
        admin.create_topic(TOPIC, {0: [0, 2, 1]}, {"min.insync.replicas": "2"})
        cluster.wait("three replicas are in sync", lambda: sorted(cluster.partition().isr) == [0, 1, 2])
        producer = clients.producer(cluster.addresses(3), acks="all")
        acknowledged = cluster.written(producer, TOPIC)

        other = clients.producer(cluster.addresses(3), acks="1")
        one, two = (leader.gate(FETCH, f"broker-{follower}-fetcher-0") for follower in (1, 2))
        clients.produce(other, TOPIC, "with acks=1")
        cluster.wait("followers are held, and broker 0 is the whole ISR", lambda: cluster.partition().isr == [0])
        asks, log = (controller.gate(FETCH, "raft-client-0", answers) for answers in (False, True))
        answers = controller.gate(ALTER_PARTITION, answers=True)
        log.let_pass(1)  # to the request that the controller has already
        cluster.wait("broker 0's next request for the metadata log is held", lambda: asks.arrived)
        one.open()
        cluster.wait("the leader has proposed broker 1", lambda: answers.arrived == 1)
        answers.let_pass()
        cluster.wait("the controller has accepted", lambda: sorted(cluster.partition().isr) == [0, 1])
        asks.let_pass()
        cluster.wait("the metadata log's answer with that change is held", lambda: log.arrived == 2)
        two.let_pass(2)  # it fetches the record, and tells that it has it
        cluster.wait("the leader has proposed broker 2; the answer is held", lambda: answers.arrived == 2)
        cluster.wait("the controller has accepted", lambda: sorted(cluster.partition().isr) == [0, 1, 2])
        cluster.say(f"    {cluster.partition()}")
        log.let_pass()
        cluster.wait("the metadata log has brought broker 0 the first change, and it asks for more", lambda: asks.arrived == 2)
        time.sleep(1)
        answers.open()
        cluster.say(f"the second answer has gone on; the leader waits {LAG:.0f} s for broker 2, which does not fetch")
        time.sleep(LAG + 1)
        offset = clients.produce(producer, TOPIC, "with acks=all")
        cluster.say(f"'with acks=all' is acknowledged at offset {offset}")
        everybody = "broker 2, which does not have it, is in the controller's ISR"
        cluster.wait(everybody, lambda: sorted(cluster.partition().isr) == [0, 1, 2])
        return cluster.loses_with_leader(0, 2, TOPIC, [*acknowledged, "with acks=all"])


if __name__ == "__main__":
    show_on_release(finding, __doc__, BROKERS)
