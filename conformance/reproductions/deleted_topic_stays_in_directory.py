"""FINDINGS, deleted-topic-stays-in-directory, on a real KRaft cluster: a disk fails, and its partitions keep a leader on it.

Broker 0 has two log directories. It is shut down in an orderly way, so that the ISR of a topic that it holds alone is empty, and
the topic is deleted meanwhile. Broker 0 starts again. Later one of its directories fails: each heartbeat that reports it makes the
active controller resign. So the leaders of the partitions there do not move, although broker 1 is in sync: nobody can write there.

    python -m kafka_spec.conformance.reproductions.deleted_topic_stays_in_directory --kafka 4.4.0

At the end the controller is started again, behind a snapshot that is newer than the deletion: then the leaders move.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release
from kafka_spec.impl.protocol.quorum_requests import TOPIC as TOPIC_OF_METADATA

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
SETTINGS = {"metadata.log.max.snapshot.interval.ms": 5000, "log.flush.offset.checkpoint.interval.ms": 2000}
"""With the second a broker notices soon that a directory is gone."""
DELETED, KEPT = "p", "q"
PARTITIONS = range(6)
WATCHED = 30
FAILED = "existed in isrMembers, but not in the topics map"
RESIGNED = "Renouncing leadership"


def delete_while_down(cluster: KRaftCluster, admin: AdminClient, directories: dict[str, str]) -> Path:
    """Shut broker 0 down, delete a topic that it holds alone, and start it again; return the directory that is to fail."""
    folder = cluster.brokers.data(0)
    admin.create_topic(DELETED, {number: [0] for number in PARTITIONS})
    admin.create_topic(KEPT, {number: [0, 1] for number in PARTITIONS})
    cluster.wait("broker 0 has its logs", lambda: len([*folder.glob(f"[ab]/[{DELETED}{KEPT}]-*")]) == 2 * len(PARTITIONS))
    failing = next(folder.glob(f"[ab]/{KEPT}-0")).parent
    cluster.shut_down(0)
    cluster.wait(f"{DELETED}-0 has no ISR", lambda: not admin.partition(DELETED).isr)
    cluster.say(f"    {admin.partition(DELETED)}")
    admin.delete_topics([DELETED])
    cluster.say(f"{DELETED} is deleted")
    cluster.start(0, directories)
    cluster.wait("broker 0 is in the ISR again", lambda: 0 in admin.partition(KEPT).isr)
    admin.elect("PREFERRED", [(KEPT, number) for number in PARTITIONS])
    cluster.wait(f"broker 0 leads {KEPT}-0", lambda: admin.partition(KEPT).leader == 0)
    return failing


def is_written(cluster: KRaftCluster) -> bool:
    """Whether a producer gets an answer for a record of the partition."""
    producer = cluster.clients.producer(cluster.addresses(1), acks="all", patience_ms=5000)
    try:
        cluster.clients.produce(producer, KEPT, "a record")
    except cluster.not_yet as error:
        cluster.say(f"a record is not written: {error}")
        return False
    finally:
        producer.close()
    cluster.say("a record is written")
    return True


def finding(version: str) -> bool:
    """Make it happen; return whether the controller resigns when the directory fails, and nobody can write to a partition there."""
    with KRaftCluster(version, SETTINGS) as cluster:
        folder = cluster.brokers.data(0)
        directories = {"log.dirs": f"{folder}/a,{folder}/b", "metadata.log.dir": f"{folder}/m"}
        admin = cluster.start_all(0, 1, own={0: directories})
        failing = delete_while_down(cluster, admin, directories)
        shutil.rmtree(failing)
        cluster.say(f"the directory of {KEPT}-0 on broker 0 is gone")
        cluster.wait("the controller fails", lambda: cluster.lines(CONTROLLER, "server", FAILED))
        time.sleep(WATCHED)
        failed, resigned = cluster.lines(CONTROLLER, "server", FAILED), cluster.lines(CONTROLLER, "server", RESIGNED)
        cluster.say(f"it failed {len(failed)} times and resigned {len(resigned)} times; {KEPT}-0: {admin.partition(KEPT)}")
        cluster.say(f"    {resigned[0][:200]}")
        seen = len(resigned) > 1 and admin.partition(KEPT).leader == 0 and not is_written(cluster)
        log = cluster.brokers.data(CONTROLLER) / str(TOPIC_OF_METADATA)
        cluster.wait("there is a snapshot", lambda: any(log.glob("*.checkpoint")))
        cluster.shut_down(CONTROLLER)
        cluster.start(CONTROLLER)
        cluster.wait(
            "once the controller has started behind the snapshot, broker 1 leads", lambda: admin.partition(KEPT).leader == 1
        )
        return is_written(cluster) and seen


if __name__ == "__main__":
    show_on_release(finding, __doc__, VERSIONS)
