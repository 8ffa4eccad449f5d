"""A KRaft cluster of real Kafka on loopback for the findings: one controller and brokers, with the features of a new cluster."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Clients, Described, MetadataRecord
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER, KRaftProcesses
from kafka_spec.conformance.reproductions.real_cluster import ServersOnLoopback

RECORDS = 5
NOT_REPEATED = {
    "controller.quorum.request.timeout.ms": 90_000,
    "controller.quorum.fetch.timeout.ms": 90_000,
    "replica.socket.timeout.ms": 90_000,
}
"""Settings with which a request that a proxy holds is not sent once more, and a broker whose metadata log is late waits for it."""


class KRaftCluster(ServersOnLoopback):
    """Controllers and brokers. `settings` are added to those of every server.

    When it ends, its metadata logs are explained. NotSeen is raised if they have what no known bug accounts for.
    """

    brokers: KRaftProcesses
    not_yet = (OSError, LookupError, EXCEPTION)

    def __init__(self, version: str, settings: Mapping[str, Any] | None = None, controllers: Sequence[int] = (CONTROLLER,)) -> None:
        super().__init__(version)
        self.clients = Clients(Kafka(version, self.jars))
        self.brokers = KRaftProcesses(self.folder, self.jars, settings or {}, controllers)
        self._ends.callback(self._explain)
        self._ends.callback(self.brokers.end)

    def _explain(self) -> None:
        if left := self.explain_metadata():
            raise NotSeen(f"no known bug accounts for {len(left)} violations in the metadata logs")

    def start_all(self, *brokers: int, own: Mapping[int, Mapping[str, Any]] | None = None) -> AdminClient:
        """Start the controller and brokers; return an admin client of the last one. `own` are the settings of single brokers."""
        for server in (*self.brokers.controllers, *brokers):
            self.start(server, (own or {}).get(server))
        last = self.addresses(brokers[-1])
        self.wait("the brokers answer", lambda: self.lines(brokers[-1], "server", "Kafka Server started"))
        admin = self.clients.admin(last)
        self._ends.callback(admin.close)
        self.wait(f"brokers {', '.join(map(str, brokers))} are unfenced", lambda: admin.brokers() == sorted(brokers))
        return admin

    def shut_down(self, broker: int) -> None:
        """Shut a broker down as operators do, and wait for its end."""
        self.signal(broker, signal.SIGTERM)
        self.wait(f"broker {broker} has ended", lambda: self.has_ended(broker))

    def partition(self) -> Described:
        """Return the cluster's only partition as the controller has it; a broker that is asked may be behind.

        Raises:
            LookupError: there is none yet.
        """
        known: dict[str, Any] = {"eligibleLeaderReplicas": []}
        for record in self._partition_records():
            known |= json.loads(record.json)
        return Described(known["leader"], known["replicas"], known["isr"], known["eligibleLeaderReplicas"])

    def written(self, producer: Any, topic: str) -> list[str]:
        """Write some records; return them when the producer, which has acks=all, has the answers."""
        values = [f"record {number}" for number in range(RECORDS)]
        for value in values:
            self.clients.produce(producer, topic, value)
        self.say(f"{RECORDS} records are acknowledged with acks=all, min.insync.replicas=2")
        return values

    def loses_with_leader(self, leader: int, next_leader: int, topic: str, acknowledged: Sequence[str]) -> bool:
        """Kill the leader of partition 0; return whether the broker that leads then lacks an acknowledged record.

        Broker 3 is asked for the records, as one that is not a replica.
        """
        self.signal(leader, signal.SIGKILL)
        self.wait(f"broker {next_leader} leads", lambda: self.partition().leader == next_leader)
        self.say(f"    {self.partition()}")
        lost = self.lost(acknowledged, self.clients.read_all(self.addresses(3), topic))
        self.print_partition_records()
        return bool(lost)

    def print_partition_records(self) -> None:
        """Print the partition's records in the controller's log."""
        print("the partition in the controller's metadata log:")
        for one in self._partition_records():
            print(f"  {one.name} {one.json}")

    def _partition_records(self) -> list[MetadataRecord]:
        """Return the partition's records in the controller's log, as Kafka's classes read it."""
        log = self.brokers.data(CONTROLLER) / "__cluster_metadata-0" / f"{0:020}.log"
        return [one for one in self.clients.metadata(log) if one.name in ("PartitionRecord", "PartitionChangeRecord")]
