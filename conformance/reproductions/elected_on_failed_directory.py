"""FINDINGS, elected-on-failed-directory, on a real KRaft cluster: a broker leads from a disk that it has reported as failed.

Brokers 0 and 1 hold the partition. A proxy before the controller holds the heartbeats of broker 1, which is fenced; then broker 0
is shut down in order. Both are eligible, and nobody leads. A log directory of broker 1, that of its replica, fails. The next
heartbeat that reaches the controller ends the fence and reports the directory: broker 1 is elected. Broker 0 comes back with all
records, and does not lead.

    python -m kafka_spec.conformance.reproductions.elected_on_failed_directory --kafka 4.4.0
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from kafka_spec.conformance.kafka_clusters.kafka_proxy import BROKER_HEARTBEAT
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

TOPIC = "p"
SETTINGS = {"log.flush.offset.checkpoint.interval.ms": 2000}
"""With it a broker notices soon that a directory is gone."""
REPORTED_ANEW = 22
"""The seconds after which a heartbeat that was held has timed out twice, and the next one names the failed directory."""
WAIT = 20
"""The seconds for which somebody could be elected."""


def two_directories(folder: Path) -> dict[str, str]:
    """Return the settings of a broker with two log directories, and a third for the metadata log."""
    return {"log.dirs": f"{folder}/a,{folder}/b", "metadata.log.dir": f"{folder}/m"}


def fail_directory(cluster: KRaftCluster, broker: int, topic: str) -> None:
    """Take the log directory of a broker's replica away while it runs, and wait until it notices."""
    shutil.rmtree(next(cluster.brokers.data(broker).glob(f"[ab]/{topic}-0")).parent)
    noticed = "has failed"
    cluster.wait(f"a log directory of broker {broker} has failed", lambda: cluster.lines(broker, "server", noticed))


def finding(version: str) -> bool:
    """Make it happen; return whether broker 1 leads from its failed directory, and broker 0 never does."""
    with KRaftCluster(version, SETTINGS) as cluster:
        proxy = cluster.behind_proxy(CONTROLLER)
        admin = cluster.start_all(0, 1, 2, own={1: two_directories(cluster.brokers.data(1))})
        admin.create_topic(TOPIC, {0: [0, 1]}, {"min.insync.replicas": "2"})
        cluster.wait("two replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 2)
        cluster.written(cluster.clients.producer(cluster.addresses(2), acks="all"), TOPIC)

        beats = proxy.gate(BROKER_HEARTBEAT, "1")
        cluster.wait("broker 1 is fenced", lambda: admin.brokers() == [0, 2])
        cluster.shut_down(0)
        cluster.wait("nobody leads", lambda: cluster.partition().leader == -1)
        cluster.say(f"    {cluster.partition()}")
        fail_directory(cluster, 1, TOPIC)
        time.sleep(REPORTED_ANEW)
        beats.open()
        cluster.wait("broker 1 is unfenced", lambda: 1 in admin.brokers())
        cluster.wait("broker 1 leads, from the failed directory", lambda: cluster.partition().leader == 1)
        cluster.start(0)
        cluster.wait("broker 0 is unfenced", lambda: 0 in admin.brokers())
        time.sleep(WAIT)
        cluster.say(f"after {WAIT} s: {cluster.partition()}")
        led = cluster.partition().leader
        cluster.shut_down(1)
        cluster.wait("broker 0 leads once broker 1 is shut down", lambda: cluster.partition().leader == 0)
        return led == 1


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("4.1.2", "4.3.1", "4.4.0"))
