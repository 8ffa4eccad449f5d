"""Controllers of real Kafka on loopback that elect their leader, each behind a proxy, for the findings about the quorum."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient, Clients, QuorumSeen
from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST, ServerProcesses
from kafka_spec.conformance.kafka_clusters.kafka_proxy import Gate, KafkaProxy
from kafka_spec.conformance.kafka_clusters.kraft_processes import CLUSTER_ID, KRAFT_SETTINGS
from kafka_spec.conformance.metadata.batches import LogBatch, batches_of
from kafka_spec.conformance.reproductions.real_cluster import ServersOnLoopback
from kafka_spec.impl.kraft.control_records import voters_in
from kafka_spec.impl.log import batches

NODES = (1, 2, 3)


def raft_client(node: int) -> str:
    """Return the client id of a controller's Raft requests."""
    return f"raft-client-{node}"


class ControllerProcesses(ServerProcesses):
    """Controllers, each a process of its own, formatted with the same voters (KIP-853), or configured with voters."""

    def __init__(self, folder: Path, jars: Sequence[Path], directories: Mapping[int, str]) -> None:
        """`directories` are the directory ids of the voters, by their numbers; without them voters are configured."""
        super().__init__(folder, jars, KRAFT_SETTINGS)
        self._directories = directories

    def own_settings(self, broker: int) -> Mapping[str, Any]:
        """Return the node's id, its address, and those of all."""
        servers = ",".join(f"{HOST}:{port}" for port in self.seen_at.values())
        return {
            "node.id": broker,
            "process.roles": "controller",
            **({"controller.quorum.bootstrap.servers": servers} if self._directories else {}),
            "listeners": f"CONTROLLER://{HOST}:{self.ports[broker]}",
            "advertised.listeners": f"CONTROLLER://{HOST}:{self.seen_at[broker]}",
        }

    def start(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start a controller, or start it again; its folder is formatted before its first start."""
        if not self.data(broker).exists():
            file = self.write_settings(broker, settings or {})
            voters = ",".join(f"{one}@{HOST}:{self.seen_at[one]}:{directory}" for one, directory in self._directories.items())
            first = ["--initial-controllers", voters] if voters else []
            self.tool("kafka.tools.StorageTool", ["format", "-t", CLUSTER_ID, "-c", str(file), *first])
        super().start(broker, settings)

    def format_as_observer(self, broker: int) -> None:
        """Format the folder of a controller that finds the voters in the log: it gets a directory id of its own."""
        file = self.write_settings(broker, {})
        self.tool("kafka.tools.StorageTool", ["format", "-t", CLUSTER_ID, "-c", str(file), "--no-initial-controllers"])


class ControllerQuorum(ServersOnLoopback):
    """Controllers that elect their leader; a node's Raft traffic with others can be cut."""

    not_yet = (OSError, EXCEPTION)

    def __init__(self, version: str, *nodes: int, configured: bool = False) -> None:
        """`configured`: the voters are those that a node's settings name, not those of its log."""
        super().__init__(version)
        self.clients = Clients(Kafka(version, self.jars))
        self._directories = {node: base64.urlsafe_b64encode(bytes([node] * 16)).decode().rstrip("=") for node in nodes}
        self.brokers: ControllerProcesses = ControllerProcesses(self.folder, self.jars, {} if configured else self._directories)
        self._ends.callback(self.explain_metadata)
        self._ends.callback(self.brokers.end)
        self.proxies: dict[int, KafkaProxy] = {node: self.behind_proxy(node) for node in nodes}

    @contextmanager
    def admin(self, node: int) -> Iterator[AdminClient]:
        """Open an admin client that asks one controller; one that stays open remembers the leader of before."""
        admin = self.clients.admin_of_controller(self.addresses(node))
        try:
            yield admin
        finally:
            admin.close()

    def quorum(self, node: int) -> QuorumSeen:
        """Return the quorum, as the leader that a controller knows describes it."""
        with self.admin(node) as admin:
            return admin.quorum()

    def leads(self, node: int) -> bool:
        """Whether a controller leads, and has committed something in its epoch."""
        seen = self.quorum(node)
        return seen.leader == node and self.epochs(node).get(seen.high_watermark - 1) == seen.epoch

    def elected(self, nodes: Iterable[int], seconds: float) -> int | None:
        """Look for a leader among controllers until time is up; return it, None if there is none."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for node in nodes:
                with suppress(*self.not_yet):
                    if self.leads(node):
                        return node
            time.sleep(1)
        return None

    def cut(self, node: int, *others: int) -> list[Gate]:
        """Hold what Raft sends between a controller and others, in both directions; the gates let it pass again."""
        gates = []
        for sender, receiver in [pair for other in others for pair in ((node, other), (other, node))]:
            gates += [self.proxies[receiver].gate(None, raft_client(sender), answers) for answers in (False, True)]
        self.say(f"controller {node} is cut off from {', '.join(map(str, others))}")
        return gates

    def connect(self, gates: Sequence[Gate]) -> None:
        """Let pass what gates hold, and what comes after."""
        for gate in gates:
            gate.open()
        self.say("it is connected again")

    def epochs(self, node: int) -> dict[int, int]:
        """Return the epoch of each offset of a controller's metadata log."""
        found = [one for one in batches_of(self._log(node)) if isinstance(one, LogBatch)]
        return {offset: one.epoch for one in found for offset in range(one.base, one.last + 1)}

    def log_end(self, node: int) -> int:
        """Return the end of a controller's metadata log."""
        begins = max((int(path.stem) for path in self._segments(node)), default=0)
        return max(self.epochs(node), default=begins - 1) + 1

    def _segments(self, node: int) -> list[Path]:
        return sorted((self.brokers.data(node) / "__cluster_metadata-0").glob("*.log"))

    def _log(self, node: int) -> bytes:
        return b"".join(path.read_bytes() for path in self._segments(node))

    def directory(self, node: int) -> str:
        """Return the directory id of a controller."""
        return self._directories[node]

    def voters_in_log(self, node: int) -> list[list[int]]:
        """Return the voters of each VotersRecord in a controller's metadata log, the newest last."""
        data, found, place = self._log(node), [], 0
        while (batch := batches.look(data[place : place + batches.HEADER.size])) is not None and place + batch.size <= len(data):
            one = data[place : place + batch.size]
            found += [list(voters)] if (voters := voters_in(one)) else []
            place += batch.size
        return found

    def remove(self, leader: int, voter: int) -> None:
        """Let a leader remove a voter, and wait until that is committed."""

        def removed() -> bool:
            if voter in self.quorum(leader).ends:
                with self.admin(leader) as admin:
                    admin.remove_voter(voter, self._directories[voter])
            return voter not in self.quorum(leader).ends

        self.wait(f"voter {voter} is removed: {self.quorum(leader)}", removed)
