"""FINDINGS, elr-cleared-while-offline, on a real KRaft cluster: all replicas are back, and none of them may lead.

There are three replicas. Broker 2 is shut down first; the other two acknowledge records with acks=all and min.insync.replicas=2.
They are shut down too: nobody leads, and both are eligible leader replicas. The operator lowers min.insync.replicas to 1, which
empties the ELR. All three start again, and none of them is a candidate, so that no broker leads. The operator asks for an unclean
election. It takes the first replica, broker 2, and the two others truncate what they had acknowledged.

    python -m kafka_spec.conformance.reproductions.elr_cleared_while_offline --kafka 4.4.0

With `--unchanged` the operator does not touch min.insync.replicas: one of the two leads as soon as it is back, and nothing is lost.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Described
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
WATCHED = 20
"""Seconds in which a leader would be elected many times."""
NOBODY = -1


def take_offline(cluster: KRaftCluster, admin: AdminClient) -> list[str]:
    """Shut all replicas down, the empty one first; return what the other two acknowledged."""
    admin.create_topic(TOPIC, {0: [2, 0, 1]}, {"min.insync.replicas": "2"})
    cluster.wait("three replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 3)
    cluster.shut_down(2)
    acknowledged = cluster.written(cluster.clients.producer(cluster.addresses(3), acks="all"), TOPIC)
    cluster.shut_down(0)
    cluster.shut_down(1)
    cluster.wait("nobody leads, and two replicas are in the ELR", lambda: sorted(admin.partition(TOPIC).elr) == [0, 1])
    cluster.say(f"    {admin.partition(TOPIC)}")
    return acknowledged


def all_are_back(cluster: KRaftCluster, admin: AdminClient) -> Described:
    """Start all replicas, and return the partition once there has been time for an election."""
    for broker in (0, 1, 2):
        cluster.start(broker)
    cluster.wait("all brokers are unfenced", lambda: admin.brokers() == [0, 1, 2, 3])
    time.sleep(WATCHED)
    found = admin.partition(TOPIC)
    cluster.say(f"after {WATCHED} s:")
    cluster.say(f"    {found}")
    return found


def finding(version: str, changed: bool) -> bool:
    """Make it happen; return whether nobody leads although all are back, and the unclean election loses records."""
    with KRaftCluster(version) as cluster:
        admin = cluster.start_all(0, 1, 2, 3)
        acknowledged = take_offline(cluster, admin)
        if changed:
            admin.configure("TOPIC", TOPIC, {"min.insync.replicas": "1"})
            cluster.wait("min.insync.replicas=1 has emptied the ELR", lambda: not admin.partition(TOPIC).elr)
        if all_are_back(cluster, admin).leader == NOBODY:
            admin.elect_unclean(TOPIC)
            cluster.wait("an unclean election makes a replica the leader", lambda: admin.partition(TOPIC).leader != NOBODY)
            cluster.say(f"    {admin.partition(TOPIC)}")
        return bool(cluster.lost(acknowledged, cluster.clients.read_all(cluster.addresses(3), TOPIC)))


def main(arguments: Sequence[str]) -> None:
    """Show the finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--unchanged", action="store_true", help="the operator does not change min.insync.replicas")
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, not options.unchanged))


if __name__ == "__main__":
    main(sys.argv[1:])
