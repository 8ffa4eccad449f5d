"""A real KRaft cluster: nobody is killed, and a move between two log directories loses records that were acknowledged.

Brokers 0 and 1 are in sync. An operator moves the replica of broker 0 to another of its log directories. The copy has caught up,
and the controller notes the new directory; its answer is late, which a proxy sees to. Meanwhile records are acknowledged with
acks=all and min.insync.replicas=2, and the throttle of the move keeps the copy behind. The brokers are shut down in order, and
started again. Broker 0 promotes its copy, since the metadata names that directory, and deletes the log, which has more. It is the
last that was in the ISR, so it leads, and broker 1 truncates to what it has.

    python -m kafka_spec.conformance.reproductions.lagging_future_log_promoted --kafka 4.4.0
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.kafka_clusters.kafka_proxy import ASSIGN_REPLICAS_TO_DIRS, KafkaProxy
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.elected_on_failed_directory import TOPIC, two_directories
from kafka_spec.conformance.reproductions.kraft_cluster import NOT_REPEATED, KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

RECORDS, SIZE = 40, 200_000
"""The number of records that are written during the move, and the size of each in bytes."""
THROTTLE = {"replica.alter.log.dirs.io.max.bytes.per.second": "1000"}


def write_during_move(cluster: KRaftCluster, admin: AdminClient, proxy: KafkaProxy, producer: Any) -> list[str]:
    """Move the replica of broker 0 to its other directory, and write once the controller has noted that; return the records."""
    folder = cluster.brokers.data(0)
    old = next(folder.glob(f"[ab]/{TOPIC}-0")).parent
    answers = proxy.gate(ASSIGN_REPLICAS_TO_DIRS, answers=True)
    admin.configure("BROKER", "0", THROTTLE)
    admin.move(TOPIC, 0, str(folder / ("a" if old.name == "b" else "b")))
    cluster.wait("the copy has caught up; the controller has noted its directory, and the answer is held", lambda: answers.arrived)
    values = [f"record {number} {'.' * SIZE}" for number in range(RECORDS)]
    for value in values:
        cluster.clients.produce(producer, TOPIC, value)
    cluster.say(f"{RECORDS} more records are acknowledged with acks=all")
    return values


def is_in_isr(admin: AdminClient, broker: int) -> bool:
    """Whether a broker is in the ISR."""
    return broker in admin.partition(TOPIC).isr


def finding(version: str) -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with KRaftCluster(version, NOT_REPEATED) as cluster:
        proxy = cluster.behind_proxy(CONTROLLER)
        own = {0: two_directories(cluster.brokers.data(0))}
        admin = cluster.start_all(0, 1, 2, own=own)
        admin.create_topic(TOPIC, {0: [0, 1]}, {"min.insync.replicas": "2"})
        cluster.wait("two replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 2)
        producer = cluster.clients.producer(cluster.addresses(2), acks="all")
        acknowledged = cluster.written(producer, TOPIC) + write_during_move(cluster, admin, proxy, producer)
        for broker in (1, 0):
            cluster.shut_down(broker)
        cluster.say(f"    {cluster.partition()}")
        for broker in (0, 1):
            cluster.start(broker, own.get(broker))
            cluster.wait(f"broker {broker} is in the ISR", partial(is_in_isr, admin, broker))
        cluster.say(f"    {cluster.partition()}")
        for line in cluster.lines(0, "server", "recover abandoned future log"):
            cluster.say(line)
        left = set(cluster.clients.read_all(cluster.addresses(2), TOPIC))
        lost = [value for value in acknowledged if value not in left]
        cluster.say(f"lost {len(lost)} of {len(acknowledged)} records that were acknowledged with acks=all")
        return bool(lost)


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.3.1", "4.4.0"))
