"""FINDINGS, removed-directory-counts-as-clean, on a real KRaft cluster: nobody is killed, and records are lost with a removed disk.

Brokers 0 and 1 hold records that were acknowledged with acks=all and min.insync.replicas=2. Broker 1 has two log directories. It is
shut down in order, and stays eligible as leader. The operator takes the directory of the partition out of `log.dirs`, as after the
loss of a disk, and starts the broker again. Its end before was clean, so it is still eligible, and it begins to copy into the other
directory, under a throttle as operators set it. Then broker 0 is shut down in order. Broker 1 is elected from the ELR, cleanly, and
broker 0 truncates to what broker 1 has.

    python -m kafka_spec.conformance.reproductions.removed_directory_counts_as_clean --kafka 4.4.0
"""

from __future__ import annotations

from pathlib import Path

from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
RECORDS, SIZE = 40, 200_000
"""The number of records, and the size of each in bytes."""
RATE = 100_000
"""The throttle of the copy in bytes per second."""


def throttle(admin: AdminClient) -> None:
    """Limit the copy of the topic, as for a reassignment."""
    rate = {f"{side}.replication.throttled.rate": str(RATE) for side in ("leader", "follower")}
    for broker in (0, 1):
        admin.configure("BROKER", str(broker), rate)
    admin.configure("TOPIC", TOPIC, {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")})


def remove_directory(cluster: KRaftCluster, admin: AdminClient, folder: Path) -> None:
    """Shut broker 1 down, and start it again without the directory that holds its replica."""
    lost = next(folder.glob(f"[ab]/{TOPIC}-0")).parent
    cluster.shut_down(1)
    cluster.wait("broker 1 is eligible", lambda: admin.partition(TOPIC).elr == [1])
    cluster.say(f"    {admin.partition(TOPIC)}")
    left = folder / ("a" if lost.name == "b" else "b")
    cluster.start(1, {"log.dirs": str(left), "metadata.log.dir": f"{folder}/m"})
    cluster.say("broker 1 starts without the directory of its replica")
    cluster.wait("it copies into the other directory", lambda: (left / f"{TOPIC}-0").exists())
    cluster.wait("it is unfenced", lambda: admin.brokers() == [0, 1, 2])


def finding(version: str) -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with KRaftCluster(version) as cluster:
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
        remove_directory(cluster, admin, folder)
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


if __name__ == "__main__":
    show_on_release(finding, __doc__, VERSIONS)
