"""A cluster's place in ZooKeeper: a server of its own, or an empty path on a running server, which is left empty again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError, NodeExists, NoNode, Session
from kafka_spec.impl.zookeeper.coordination.server import NoServer, ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers
from kafka_spec.spec.vocabulary.table import SpecError

START = "start"
PATIENCE = 15.0
"""The longest wait for an answer of ZooKeeper, in seconds."""
OURS = ("brokers", "controller", "controller_epoch", "config", "admin", "isr_change_notification", "log_dir_event_notification")
"""The root paths of a cluster's znodes."""


@contextmanager
def zookeeper(where: str, folder: Path) -> Iterator[Servers]:
    """Yield servers with an empty place: `start` runs one with its files in the folder, HOST:PORT or HOST:PORT/PATH must run.

    Raises:
        SpecError: no server can be started or answers, or the path holds a cluster.
    """
    if where == START:
        try:
            server = ZooKeeperServer(folder / "zookeeper")
        except NoServer as error:
            raise SpecError(f"--zookeeper start: {error}") from None
        with server, Servers(server.hosts, patience=PATIENCE, ended=lambda: server.exit_code) as servers:
            yield servers
        return
    hosts, slash, path = where.partition("/")
    _make(hosts, path)
    with _connected(where if slash and path else hosts) as servers:
        session = servers.connect()
        if found := [name for name in session.children("/") if name in OURS]:
            raise SpecError(f"--zookeeper {where}: it holds a cluster already (/{found[0]}); name an empty path: {hosts}/PATH")
        try:
            yield servers
        finally:
            for name in OURS if not servers.lost() else ():
                _delete(session, f"/{name}")


@contextmanager
def _connected(hosts: str) -> Iterator[Servers]:
    with Servers(hosts, patience=PATIENCE) as servers:
        try:
            servers.connect().exists("/")
        except CoordinationError as error:
            raise SpecError(f"--zookeeper {hosts}: {error}") from None
        yield servers


def _make(hosts: str, path: str) -> None:
    """Create the missing nodes of a path."""
    parts = [part for part in path.split("/") if part]
    if not parts:
        return
    with _connected(hosts) as servers:
        session = servers.connect()
        for end in range(1, len(parts) + 1):
            with suppress(NodeExists):
                session.create("/" + "/".join(parts[:end]))


def _delete(session: Session, path: str) -> None:
    """Delete a node and all below it; nodes that are missing by now are skipped."""
    with suppress(NoNode):
        for child in session.children(path):
            _delete(session, f"{path}/{child}")
        session.delete(path)
