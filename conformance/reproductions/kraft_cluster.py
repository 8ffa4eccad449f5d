"""A KRaft cluster of real Kafka on loopback for the findings: one controller and brokers, with the features of a new cluster."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.jars import BROKERS
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST, SETTINGS, ServerProcesses, free_port
from kafka_spec.conformance.reproductions.clients import AdminClient, Clients
from kafka_spec.conformance.reproductions.real_cluster import ServersOnLoopback

CONTROLLER = 100
CLUSTER_ID = "kafkaSpecKRaftCluster1"
KRAFT_SETTINGS: Mapping[str, Any] = {
    **SETTINGS,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


class KRaftProcesses(ServerProcesses):
    """The controller and the brokers, each a process of its own. A server's folder is formatted before its first start."""

    def __init__(self, folder: Path, jars: Sequence[Path], settings: Mapping[str, Any]) -> None:
        """`settings` are added to those of every server."""
        super().__init__(folder, jars, {**KRAFT_SETTINGS, **settings})
        self.ports[CONTROLLER] = free_port()

    def own_settings(self, broker: int) -> Mapping[str, Any]:
        """Return the node's id and role, its addresses, and those of the quorum."""
        voter = f"{CONTROLLER}@{HOST}:{self.seen_at.get(CONTROLLER, self.ports[CONTROLLER])}"
        role, listener = ("controller", "CONTROLLER") if broker == CONTROLLER else ("broker", "PLAINTEXT")
        return {
            "node.id": broker,
            "process.roles": role,
            "controller.quorum.voters": voter,
            "listeners": f"{listener}://{HOST}:{self.ports[broker]}",
            "advertised.listeners": f"{listener}://{HOST}:{self.seen_at.get(broker, self.ports[broker])}",
        }

    def start(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start a server, or start it again; `settings` are this one's alone."""
        if not self.data(broker).exists():
            file = self.write_settings(broker, settings or {})
            self.tool("kafka.tools.StorageTool", ["format", "-t", CLUSTER_ID, "-c", str(file)])
        super().start(broker, settings)


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
