"""A KRaft cluster of real Kafka on loopback for the findings: one controller and brokers, with the features of a new cluster."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from kafka_spec.conformance.kafka_classes.jars import BROKERS
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Clients
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER, KRaftProcesses
from kafka_spec.conformance.reproductions.real_cluster import ServersOnLoopback


class KRaftCluster(ServersOnLoopback):
    """A controller and brokers. `settings` are added to those of every server."""

    not_yet = (OSError, EXCEPTION)

    def __init__(self, version: str, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(BROKERS[version])
        self.clients = Clients(Kafka(version, self.jars))
        self.brokers = KRaftProcesses(self.folder, self.jars, settings or {})
        self._ends.callback(self.brokers.end)

    def start_all(self, *brokers: int, own: Mapping[int, Mapping[str, Any]] | None = None) -> AdminClient:
        """Start the controller and brokers; return an admin client of the last one. `own` are the settings of single brokers."""
        for server in (CONTROLLER, *brokers):
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

    def partition_records(self) -> list[str]:
        """Return the partition's records in the controller's log, as Kafka's classes read it."""
        log = self.brokers.data(CONTROLLER) / "__cluster_metadata-0" / f"{0:020}.log"
        return [
            f"{one.name} {one.json}"
            for one in self.clients.metadata(log)
            if one.name in ("PartitionRecord", "PartitionChangeRecord")
        ]
