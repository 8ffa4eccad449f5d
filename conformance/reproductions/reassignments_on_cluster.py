"""FINDINGS on reassignments, on a real KRaft cluster with a new one's features and with real clients.

    python -m kafka_spec.conformance.reproductions.reassignments_on_cluster --kafka 4.4.0 --finding stale-reassignment-lists

Records are acknowledged with acks=all. Brokers are shut down in an orderly way; a broker that is down cannot join an ISR, so that a
reassignment waits as long as the script wants. The findings cancellation-below-min-isr and stale-reassignment-lists leave a single
copy where two were due: there the machine of that copy is lost at the end, its process killed and its log with it. KAFKA-19975 and
reassignment-waits-after-election lose no record: the script shows a refused record, and a reassignment that stays listed.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_classes.java import EXCEPTION
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Described
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show

VERSIONS = ("4.1.2", "4.4.0")
TOPIC = "p"
RESIGNS = "Renouncing leadership"
"""What a controller logs that gives up its leadership."""
RECORDS = 5
"""The number of records of each batch that is written."""


class ReassignedOnCluster:
    """The steps on one cluster; the last broker holds no replica, and is whom clients ask."""

    def __init__(self, cluster: KRaftCluster, admin: AdminClient, last: int) -> None:
        self._cluster = cluster
        self._admin = admin
        self._addresses = cluster.addresses(last)
        self._acknowledged: list[str] = []

    def create(self, replicas: Sequence[int], settings: Mapping[str, str]) -> None:
        """Create the topic."""
        self._admin.create_topic(TOPIC, {0: list(replicas)}, settings)
        self.until("the replicas are in sync", lambda held: sorted(held.isr) == sorted(replicas))

    def until(self, what: str, happens: Callable[[Described], bool]) -> None:
        """Wait for something of the partition, and report the partition."""
        self._cluster.wait(what, lambda: happens(self._admin.partition(TOPIC)))
        self._cluster.say(f"    {self._admin.partition(TOPIC)}")

    def write(self) -> None:
        """Write records, each of which is acknowledged with acks=all."""
        producer = self._cluster.clients.producer(self._addresses, acks="all")
        first = len(self._acknowledged)
        for number in range(first, first + RECORDS):
            self._cluster.clients.produce(producer, TOPIC, f"record {number}")
            self._acknowledged.append(f"record {number}")
        producer.close()
        self._cluster.say(f"{RECORDS} records are acknowledged with acks=all")

    def shut_down(self, broker: int) -> None:
        """Shut a broker down; it leaves the ISR."""
        self._cluster.shut_down(broker)
        self.until(f"broker {broker} is out of the ISR", lambda held: broker not in (held.leader, *held.isr))

    def stop_idle(self, broker: int) -> None:
        """Shut a broker down that is in no ISR."""
        self._cluster.shut_down(broker)

    def start(self, broker: int) -> None:
        """Start a broker."""
        self._cluster.start(broker)

    def reassign(self, replicas: Sequence[int] | None) -> None:
        """Reassign the partition, or cancel the reassignment."""
        if replicas is None:
            self._cluster.say("the reassignment is cancelled")
            self._admin.cancel(TOPIC)
        else:
            self._cluster.say(f"the partition is reassigned to {list(replicas)}")
            self._admin.reassign(TOPIC, replicas)

    def log_goes(self, broker: int) -> None:
        """Wait until a broker has deleted its log."""
        folder = self._cluster.brokers.data(broker) / f"{TOPIC}-0"
        self._cluster.wait(f"broker {broker} has no log of the partition any more", lambda: not folder.exists())

    def lose_machine(self, broker: int) -> None:
        """Kill a broker, lose its log of the partition, and start it again; if nobody leads then, the operator elects uncleanly."""
        self._cluster.signal(broker, signal.SIGKILL)
        self._cluster.wait(f"broker {broker} has ended", lambda: self._cluster.has_ended(broker))
        shutil.rmtree(self._cluster.brokers.data(broker) / f"{TOPIC}-0")
        self._cluster.say("its log is lost")
        self._cluster.wait(f"broker {broker} is fenced", lambda: broker not in self._admin.brokers())
        self._cluster.start(broker)
        self.until(f"broker {broker} is unfenced", lambda _: broker in self._admin.brokers())
        if self._admin.partition(TOPIC).leader < 0:
            self._cluster.say("the operator asks for an unclean election")
            self._admin.elect_unclean(TOPIC)

    def kill(self, broker: int) -> None:
        """Kill a broker's process."""
        self._cluster.signal(broker, signal.SIGKILL)
        self._cluster.wait(f"broker {broker} has ended", lambda: self._cluster.has_ended(broker))

    def report_resignations(self, seconds: float = 20) -> bool:
        """Report how often the active controller resigns within some time; return whether it does, and broker 1 stays fenced."""
        failed = "Replica 1 is not assigned to this partition"
        self._cluster.wait("the controller fails at a heartbeat", lambda: self._cluster.lines(CONTROLLER, "server", failed))
        time.sleep(seconds)
        resigned, unfenced = self._cluster.lines(CONTROLLER, "server", RESIGNS), self._admin.brokers()
        self._cluster.say(f"in {seconds:.0f} s the active controller resigned {len(resigned)} times; unfenced are {unfenced}")
        self._cluster.say(f"the controller's log: {resigned[-1][:240]}" if resigned else "it did not resign")
        return len(resigned) > 1 and 1 not in unfenced

    def report_refused(self) -> bool:
        """Write one more record, and report the answer; return whether too few replicas are in sync for it."""
        producer = self._cluster.clients.producer(self._addresses, acks="all", retries=0)
        try:
            self._cluster.clients.produce(producer, TOPIC, "one more record")
        except EXCEPTION as error:
            self._cluster.say(f"one more record is refused: {error}")
            return "NotEnoughReplicas" in str(error)
        finally:
            producer.close()
        self._cluster.say("one more record is acknowledged")
        return False

    def report_listed(self, seconds: float = 30) -> bool:
        """Report the partition after some time; return whether it still has replicas outside the ISR."""
        time.sleep(seconds)
        held = self._admin.partition(TOPIC)
        self._cluster.say(f"{seconds:.0f} s later: {held}")
        return held.replicas != held.isr

    def lost(self) -> list[str]:
        """Return the acknowledged records that nobody can read."""
        left = set(self._cluster.clients.read_all(self._addresses, TOPIC))
        return [value for value in self._acknowledged if value not in left]

    def report_lost(self) -> bool:
        """Report what was lost; return whether anything was."""
        lost = self.lost()
        self._cluster.say(f"lost {len(lost)} of {len(self._acknowledged)} records that were acknowledged with acks=all")
        return bool(lost)


def asked_for_again(on: ReassignedOnCluster) -> bool:
    """Two replicas move to a third, then all three are asked for: two are removed, and one copy is left."""
    on.create((0, 1), {"min.insync.replicas": "2"})
    on.write()
    on.stop_idle(2)
    on.reassign((2,))
    on.reassign((0, 1, 2))
    on.until("the replicas are those that were asked for last", lambda held: sorted(held.replicas) == [0, 1, 2])
    on.start(2)
    on.until("broker 2 alone is left", lambda held: held.replicas == [2] and held.isr == [2])
    on.log_goes(0)
    on.log_goes(1)
    on.write()
    on.lose_machine(2)
    on.until("broker 2 leads again", lambda held: held.leader == 2)
    return on.report_lost()


def cancelled_cleanly(on: ReassignedOnCluster) -> bool:
    """A cancellation empties the ISR: the first replica, which is down, is the ISR, and leads cleanly once it is up."""
    on.create((0,), {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"})
    on.write()
    on.stop_idle(2)
    on.reassign((1, 2))
    on.until("broker 1 is in the ISR", lambda held: sorted(held.isr) == [0, 1])
    on.shut_down(0)
    on.write()
    on.reassign(None)
    on.until("broker 0, which is down, is the ISR", lambda held: held.isr == [0] and held.leader < 0)
    on.log_goes(1)
    on.start(0)
    on.until("broker 0 leads", lambda held: held.leader == 0)
    return on.report_lost()


def cancelled_below_minimum(on: ReassignedOnCluster) -> bool:
    """A cancellation leaves one copy in sync, where min.insync.replicas is 2."""
    on.create((0, 1), {"min.insync.replicas": "2"})
    on.write()
    on.stop_idle(3)
    on.reassign((0, 1, 2, 3))
    on.until("broker 2 is in the ISR", lambda held: sorted(held.isr) == [0, 1, 2])
    on.shut_down(1)
    on.write()
    on.reassign(None)
    on.until("broker 0 alone is in the ISR", lambda held: held.isr == [0] and sorted(held.replicas) == [0, 1])
    on.log_goes(2)
    on.lose_machine(0)
    on.start(1)
    on.until("somebody leads again", lambda held: held.leader >= 0)
    return on.report_lost()


def completed_below_minimum(on: ReassignedOnCluster) -> bool:
    """From 4.3 on a second request completes at once, and leaves two members, where min.insync.replicas is 3."""
    on.create((0, 1, 2), {"min.insync.replicas": "3"})
    on.shut_down(2)
    on.reassign((2, 3))
    on.until("broker 3 is in the ISR", lambda held: sorted(held.isr) == [0, 1, 3])
    on.write()
    on.reassign((0, 2, 3))
    on.until("broker 1 has left the replicas and the ISR", lambda held: 1 not in (*held.replicas, *held.isr))
    on.log_goes(1)
    return on.report_refused()


def completed_by_election(on: ReassignedOnCluster) -> bool:
    """The target is elected from the ELR and is the whole ISR: the reassignment stays listed until it is asked for again."""
    on.create((0, 1), {"min.insync.replicas": "2"})
    on.kill(0)
    on.until("broker 1 alone is in the ISR", lambda held: held.isr == [1])
    on.shut_down(1)
    on.reassign((1,))
    on.start(1)
    on.until("broker 1 leads", lambda held: held.leader == 1 and held.isr == [1])
    listed = on.report_listed()
    on.reassign((1,))
    on.until("the second request has completed it", lambda held: held.replicas == [1])
    return listed


def heartbeat_fails(on: ReassignedOnCluster) -> bool:
    """A former leader that was removed while nobody led comes back: its heartbeat makes each active controller resign."""
    on.create((0, 1), {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"})
    on.kill(0)
    on.until("broker 1 alone is in the ISR", lambda held: held.isr == [1])
    on.shut_down(1)
    on.until("nobody leads", lambda held: held.leader < 0 and held.isr == [])
    on.reassign((0,))
    on.reassign(None)
    on.until("broker 0, which is down, is the ISR", lambda held: held.isr == [0] and held.leader < 0)
    on.reassign((0,))
    on.until("broker 1 is not a replica", lambda held: held.replicas == [0] and held.leader < 0)
    on.start(0)
    on.until("broker 0 has registered, and is not the ISR any more", lambda held: held.isr == [])
    on.kill(0)
    on.start(1)
    return on.report_resignations()


FINDINGS: Mapping[str, tuple[Callable[[ReassignedOnCluster], bool], int]] = {
    "stale-reassignment-lists": (asked_for_again, 4),
    "cancellation-elects-cleanly": (cancelled_cleanly, 4),
    "cancellation-below-min-isr": (cancelled_below_minimum, 5),
    "KAFKA-19975": (completed_below_minimum, 5),
    "reassignment-waits-after-election": (completed_by_election, 3),
    "last-known-leader-outside-replicas": (heartbeat_fails, 3),
}
"""For each finding its steps, and the number of brokers."""


def finding(version: str, name: str) -> bool:
    """Make it happen; return whether it was seen."""
    steps, brokers = FINDINGS[name]
    with KRaftCluster(version) as cluster:
        admin = cluster.start_all(*range(brokers))
        seen = steps(ReassignedOnCluster(cluster, admin, brokers - 1))
        cluster.print_partition_records()
        return seen


def main(arguments: Sequence[str]) -> None:
    """Show a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--finding", choices=FINDINGS, default="stale-reassignment-lists")
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, options.finding))


if __name__ == "__main__":
    main(sys.argv[1:])
