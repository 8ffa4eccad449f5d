"""The servers of a KRaft cluster of real Kafka as processes on loopback: controllers, one of which may be ours, and brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST, SETTINGS, ServerProcesses, free_port

CONTROLLER = 100
ERAS: Mapping[str, str] = {"4.1.2": "kraft_4_1", "4.4.0": "kraft_4_3"}
"""The versions whose brokers our controller leads, with the era that decides as their own controllers do."""
CLUSTER_ID = "kafkaSpecKRaftCluster1"
KRAFT_SETTINGS: Mapping[str, Any] = {
    **SETTINGS,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


class KRaftProcesses(ServerProcesses):
    """Controllers and brokers, each a process of its own. A server's folder is formatted before its first start."""

    def __init__(
        self, folder: Path, jars: Sequence[Path], settings: Mapping[str, Any], controllers: Sequence[int] = (CONTROLLER,)
    ) -> None:
        """`settings` are added to those of every server."""
        super().__init__(folder, jars, {**KRAFT_SETTINGS, **settings})
        self.controllers = controllers
        self.ports.update({controller: free_port() for controller in controllers})

    def own_settings(self, broker: int) -> Mapping[str, Any]:
        """Return the node's id and role, its addresses, and those of the quorum."""
        voters = [f"{one}@{HOST}:{self.seen_at.get(one, self.ports[one])}" for one in self.controllers]
        role, listener = ("controller", "CONTROLLER") if broker in self.controllers else ("broker", "PLAINTEXT")
        return {
            "node.id": broker,
            "process.roles": role,
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"{listener}://{HOST}:{self.ports[broker]}",
            "advertised.listeners": f"{listener}://{HOST}:{self.seen_at.get(broker, self.ports[broker])}",
        }

    def start(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start a server, or start it again; `settings` are this one's alone."""
        if not self.data(broker).exists():
            file = self.write_settings(broker, settings or {})
            self.tool("kafka.tools.StorageTool", ["format", "-t", CLUSTER_ID, "-c", str(file)])
        super().start(broker, settings)
