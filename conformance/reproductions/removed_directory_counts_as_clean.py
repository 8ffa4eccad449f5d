"""FINDINGS, removed-directory-counts-as-clean, on a real KRaft cluster: nobody is killed, and records are lost with a removed disk.

Brokers 0 and 1 hold records that were acknowledged with acks=all and min.insync.replicas=2. Broker 1 has two log directories. It is
shut down in order, and stays eligible as leader. The operator takes the directory of the partition out of `log.dirs`, as after the
loss of a disk, and starts the broker again. Its end before was clean, so it is still eligible, and it begins to copy into the other
directory, under a throttle as operators set it. Then broker 0 is shut down in order. Broker 1 is elected from the ELR, cleanly, and
broker 0 truncates to what broker 1 has.

    python -m kafka_spec.conformance.reproductions.removed_directory_counts_as_clean --kafka 4.4.0

With `--fails` the directory fails while broker 1 runs, and the operator takes it away then.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
RECORDS, SIZE = 40, 200_000
"""The number of records, and the size of each in bytes."""
RATE = 100_000
"""The throttle of the copy in bytes per second."""
SETTINGS = {"log.flush.offset.checkpoint.interval.ms": 2000}
"""With it a broker notices soon that a directory is gone."""


def throttle(admin: AdminClient) -> None:
    """Limit the copy of the topic, as for a reassignment."""
    rate = {f"{side}.replication.throttled.rate": str(RATE) for side in ("leader", "follower")}
    for broker in (0, 1):
        admin.configure("BROKER", str(broker), rate)
    admin.configure("TOPIC", TOPIC, {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")})


def remove_directory(cluster: KRaftCluster, admin: AdminClient, folder: Path, fails: bool) -> None:
    """Shut broker 1 down, and start it again without the directory that holds its replica; before, it `fails` or not."""
    lost = next(folder.glob(f"[ab]/{TOPIC}-0")).parent
    if fails:
        shutil.rmtree(lost)
        cluster.wait("a directory of broker 1 has failed", lambda: admin.partition(TOPIC).isr == [0])
        cluster.say(f"    {admin.partition(TOPIC)}")
    cluster.shut_down(1)
    cluster.wait("broker 1 is eligible", lambda: admin.partition(TOPIC).elr == [1])
    cluster.say(f"    {admin.partition(TOPIC)}")
    left = folder / ("a" if lost.name == "b" else "b")
    cluster.start(1, {"log.dirs": str(left), "metadata.log.dir": f"{folder}/m"})
    cluster.say("broker 1 starts without the directory of its replica")
    cluster.wait("it copies into the other directory", lambda: (left / f"{TOPIC}-0").exists())
    cluster.wait("it is unfenced", lambda: admin.brokers() == [0, 1, 2])


def finding(version: str, fails: bool) -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with KRaftCluster(version, SETTINGS) as cluster:
        folder = cluster.brokers.data(1)
        admin = cluster.start_all(0, 1, 2, own={1: {"log.dirs": f"{folder}/a,{folder}/b", "metadata.log.dir": f"{folder}/m"}})
        admin.create_topic(TOPIC, {0: [0, 1]}, {"min.insync.replicas": "2"})
        cluster.wait("two replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 2)
        acknowledged = [f"record {number} {'.' * SIZE}" for number in range(RECORDS)]
        producer = cluster.clients.producer(cluster.addresses(2), acks="all")
        for value in acknowledged:
            cluster.clients.produce(producer, TOPIC, value)
        cluster.say(f"{RECORDS} records are acknowledged with acks=all, min.insync.replicas=2")
        throttle(admin)
        remove_directory(cluster, admin, folder, fails)
        cluster.say(f"    {admin.partition(TOPIC)}")
        cluster.shut_down(0)
        cluster.wait("broker 1 leads", lambda: admin.partition(TOPIC).leader == 1)
        cluster.say(f"    {admin.partition(TOPIC)}")
        cluster.start(0)
        cluster.wait("broker 0 is in the ISR again", lambda: 0 in admin.partition(TOPIC).isr)
        left = set(cluster.clients.read_all(cluster.addresses(2), TOPIC))
        lost = [value for value in acknowledged if value not in left]
        cluster.say(f"lost {len(lost)} of {RECORDS} records that were acknowledged with acks=all")
        return bool(lost)


def main(arguments: Sequence[str]) -> None:
    """Show the finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--fails", action="store_true", help="the directory fails before it is taken away")
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, options.fails))


if __name__ == "__main__":
    main(sys.argv[1:])
