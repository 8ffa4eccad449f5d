"""FINDINGS, cleared-elr-stays-listed, on a real KRaft cluster: a broker that was killed can never register again.

A broker is killed and stays in the ELR of a topic whose ISR is below min.insync.replicas. The operator lowers min.insync.replicas,
which empties the ELR, and deletes the topic. The controller still lists the topic for the broker: when it starts, its registration
fails, and the active controller resigns. The next one has replayed the same log. At the end the controller is started again, behind
a snapshot that is newer than the change: then the broker registers.

    python -m kafka_spec.conformance.reproductions.cleared_elr_stays_listed --kafka 4.4.0

With `--unregister` the operator gives the broker up instead, and asks to unregister it: that fails in the same way.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show
from kafka_spec.impl.protocol.quorum_requests import TOPIC as TOPIC_OF_METADATA

VERSIONS = ("4.1.2", "4.3.1", "4.4.0")
"""The versions of which a new cluster has eligible leader replicas."""
TOPIC = "p"
SETTINGS = {"metadata.log.max.snapshot.interval.ms": 5000}
WATCHED = 30
"""Seconds in which the broker would register many times."""
FAILED = "existed in isrMembers, but not in the topics map"
RESIGNED = "Renouncing leadership"


def clear_and_delete(cluster: KRaftCluster, admin: AdminClient) -> None:
    """Kill broker 1, so that it is in the ELR of a topic; clear that ELR, and delete the topic."""
    admin.create_topic(TOPIC, {0: [0, 1]}, {"min.insync.replicas": "2"})
    cluster.wait("both replicas are in sync", lambda: len(admin.partition(TOPIC).isr) == 2)
    cluster.signal(1, signal.SIGKILL)
    cluster.wait("broker 1 is in the ELR", lambda: admin.partition(TOPIC).elr == [1])
    cluster.say(f"    {admin.partition(TOPIC)}")
    admin.configure("TOPIC", TOPIC, {"min.insync.replicas": "1"})
    cluster.wait("min.insync.replicas=1 has emptied the ELR", lambda: not admin.partition(TOPIC).elr)
    cluster.say(f"    {admin.partition(TOPIC)}")
    admin.delete_topics([TOPIC])
    cluster.say("the topic is deleted")


def finding(version: str, unregisters: bool) -> bool:
    """Make it happen; return whether the broker cannot register, or cannot be unregistered, and the controller resigns."""
    with KRaftCluster(version, SETTINGS) as cluster:
        admin = cluster.start_all(0, 1, 2)
        clear_and_delete(cluster, admin)
        log = cluster.brokers.data(CONTROLLER) / str(TOPIC_OF_METADATA)
        known = set(log.glob("*.checkpoint"))
        if unregisters:
            try:
                admin.unregister(1)
            except cluster.not_yet as error:
                cluster.say(f"broker 1 is not unregistered: {error}")
        else:
            cluster.start(1)
            time.sleep(WATCHED)
        failed, resigned = cluster.lines(CONTROLLER, "server", FAILED), cluster.lines(CONTROLLER, "server", RESIGNED)
        cluster.say(f"the controller failed {len(failed)} times and resigned {len(resigned)} times; broker 1 is still away")
        for line in failed[:1] + resigned[:1]:
            cluster.say(f"    {line[:200]}")
        seen = bool(failed and resigned) and (unregisters or 1 not in admin.brokers())
        cluster.wait("there is a snapshot that is newer than the deletion", lambda: set(log.glob("*.checkpoint")) - known)
        cluster.shut_down(CONTROLLER)
        cluster.start(CONTROLLER)
        what = "is unregistered" if unregisters else "is unfenced"

        def is_over() -> bool:
            if unregisters:
                admin.unregister(1)
            return unregisters or 1 in admin.brokers()

        cluster.wait(f"once the controller has started behind a snapshot, broker 1 {what}", is_over)
        return seen


def main(arguments: Sequence[str]) -> None:
    """Show the finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--unregister", action="store_true", help="the operator unregisters the broker, which stays down")
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, options.unregister))


if __name__ == "__main__":
    main(sys.argv[1:])
