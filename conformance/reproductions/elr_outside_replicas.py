"""FINDINGS, elr-outside-replicas, on a real KRaft cluster with a new one's features: nobody is killed, and records are lost.

Three replicas hold records that were acknowledged with acks=all. Brokers are shut down in an orderly way, so that one of them is an
eligible leader replica (ELR). It is taken off the replicas: it stays in the ELR, starts again, and deletes its log. It is assigned
again, and begins to copy, under a throttle as operators set it. Then the leader is shut down in an orderly way. The broker is
elected from the ELR, cleanly, and the other replicas truncate to what it has.

    python -m kafka_spec.conformance.reproductions.elr_outside_replicas --kafka 4.4.0

`--removal fewer` reassigns to fewer replicas, and then to as many as before. `--removal replaced` replaces a broker by another, and
that by it again: since 4.3, where this completes while the ISR is below min.insync.replicas.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Described
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show

VERSIONS = ("4.1.2", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
MIN_INSYNC = 3
RECORDS, SIZE = 40, 200_000
"""The number of records, and the size of each in bytes."""
RATE = 100_000
"""The throttle of the copy in bytes per second."""


class Removal(NamedTuple):
    """How a broker of the ELR gets out of the replicas and back; the last broker holds no replica, and is whom clients ask."""

    brokers: int
    before: tuple[int, ...]
    """The brokers to shut down before the first reassignment."""
    without: tuple[int, ...]
    returned: int
    after: tuple[int, ...]
    """The brokers to shut down after the removed broker has restarted."""
    again: tuple[int, ...]
    last: tuple[int, ...]
    """The brokers to shut down while it copies."""


REMOVALS = {
    "fewer": Removal(4, (2,), (0, 1), 2, (1,), (0, 1, 2), (0,)),
    "replaced": Removal(5, (1, 2), (0, 1, 3), 2, (), (0, 1, 2), (3, 0)),
}


class RemovedAndBack:
    """The steps on one cluster."""

    def __init__(self, cluster: KRaftCluster, admin: AdminClient, removal: Removal) -> None:
        self._cluster = cluster
        self._admin = admin
        self._removal = removal
        self._addresses = cluster.addresses(removal.brokers - 1)

    def until(self, what: str, happens: Callable[[Described], bool]) -> None:
        """Wait for something of the partition, and tell the partition."""
        self._cluster.wait(what, lambda: happens(self._admin.partition(TOPIC)))
        self.tell()

    def tell(self) -> None:
        """Tell the partition."""
        self._cluster.say(f"    {self._admin.partition(TOPIC)}")

    def lost(self) -> list[str]:
        """Take all steps; return the acknowledged records that are lost."""
        cluster, admin, removal = self._cluster, self._admin, self._removal
        admin.create_topic(TOPIC, {0: [0, 1, 2]}, {"min.insync.replicas": str(MIN_INSYNC)})
        self.until("three replicas are in sync", lambda held: sorted(held.isr) == [0, 1, 2])
        acknowledged = [f"record {number} {'.' * SIZE}" for number in range(RECORDS)]
        producer = cluster.clients.producer(self._addresses, acks="all")
        for value in acknowledged:
            cluster.clients.produce(producer, TOPIC, value)
        producer.close()
        read = cluster.clients.read_all(self._addresses, TOPIC)
        cluster.say(f"{RECORDS} records are acknowledged with acks=all, min.insync.replicas={MIN_INSYNC}; {len(read)} are read")

        self.shut_down(*removal.before)
        self.reassign(removal.without)
        self.until(f"broker {removal.returned} is not a replica", lambda held: removal.returned not in held.replicas)
        self.start_returned()
        self.shut_down(*removal.after)
        cluster.say(f"the copy to broker {removal.returned} is throttled to {RATE:,} bytes per second")
        rate = {f"{side}.replication.throttled.rate": str(RATE) for side in ("leader", "follower")}
        for broker in (0, removal.returned):
            admin.configure("BROKER", str(broker), rate)
        admin.configure("TOPIC", TOPIC, {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")})
        self.reassign(removal.again)
        self.until(f"broker {removal.returned} is a replica", lambda held: removal.returned in held.replicas)
        self.shut_down(*removal.last)
        self.until(f"broker {removal.returned} leads", lambda held: held.leader == removal.returned)
        cluster.start(0)
        self.until("broker 0 is in the ISR again", lambda held: 0 in held.isr)
        left = set(cluster.clients.read_all(self._addresses, TOPIC))
        return [value for value in acknowledged if value not in left]

    def shut_down(self, *brokers: int) -> None:
        """Shut brokers down, one after the other."""
        for broker in brokers:
            self._cluster.shut_down(broker)
            self.until("it is out of the ISR, and leads nothing", partial(_without, broker))

    def reassign(self, replicas: Sequence[int]) -> None:
        """Reassign the partition."""
        self._cluster.say(f"the partition is reassigned to {list(replicas)}")
        self._admin.reassign(TOPIC, replicas)

    def start_returned(self) -> None:
        """Start the broker that was removed, and wait until it has deleted its log."""
        returned = self._removal.returned
        self._cluster.start(returned)
        self._cluster.wait(f"broker {returned} is unfenced", lambda: returned in self._admin.brokers())
        folder = self._cluster.brokers.data(returned) / f"{TOPIC}-0"
        self._cluster.wait("it has no log of the partition any more", lambda: not folder.exists())
        self.tell()


def _without(broker: int, held: Described) -> bool:
    return broker not in (held.leader, *held.isr)


def finding(version: str, removal: Removal) -> bool:
    """Make it happen; return whether records that were acknowledged with acks=all are lost."""
    with KRaftCluster(version) as cluster:
        admin = cluster.start_all(*range(removal.brokers))
        lost = RemovedAndBack(cluster, admin, removal).lost()
        cluster.say(f"lost {len(lost)} of {RECORDS} records that were acknowledged with acks=all")
        cluster.print_partition_records()
        return bool(lost)


def main(arguments: Sequence[str]) -> None:
    """Show the finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--removal", choices=REMOVALS, default="fewer")
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, REMOVALS[options.removal]))


if __name__ == "__main__":
    main(sys.argv[1:])
