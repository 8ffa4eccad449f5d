"""ZooKeeper in memory: deterministic; faults are explicit operations.

An `Ensemble` stands for all servers: one order of transactions, each of which takes effect at once. There is no clock: a session
expires only by `expire`, and a request or a reply is lost only by `lose`.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from kafka_spec.impl.zookeeper.coordination.interface import (
    ANY,
    BadVersion,
    ConnectionLost,
    CoordinationError,
    Create,
    Delete,
    EphemeralParent,
    MultiRefused,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Result,
    Session,
    SessionEvent,
    SessionEventType,
    SessionExpired,
    Set,
    Stat,
    check_path,
)
from kafka_spec.impl.zookeeper.coordination.memory_znode import MemoryZnode, copy_of, parent_of

Answer = TypeVar("Answer")


class Loss(enum.Enum):
    """What is lost with a connection."""

    REQUEST = "the operation never reached the servers"
    REPLY = "the operation took effect, and its reply never came"


class Ensemble:
    """The servers: the tree of nodes, the sessions, and the watches."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """`clock` is the servers': it returns seconds since 1970."""
        self._clock = clock
        self._nodes = {"/": MemoryZnode(b"", 0, 0, 0)}
        self._zxid = 0
        self._sessions: dict[int, MemorySession] = {}
        self._opened = 0
        self._watches: dict[tuple[str, bool], list[int]] = {}
        """The sessions that watch the data (False) or the children (True) of a path, in the order of their watches."""

    def connect(self) -> MemorySession:
        """Open a session."""
        self._opened += 1
        self._zxid += 1
        session = self._session(self._opened)
        self._sessions[session.id] = session
        return session

    def _session(self, number: int) -> MemorySession:
        """Return a session of the class that this ensemble uses."""
        return MemorySession(self, number)

    def expire(self, session: Session) -> None:
        """Expire a session, as when its timeout passes without a heartbeat; its owner notices later."""
        if session.id in self._sessions:
            expired = self._sessions[session.id]
            self._end(session.id)
            expired.heard(SessionEvent(SessionEventType.EXPIRED))

    def lost(self) -> str:
        """Return "": an ensemble in memory always answers."""
        return ""

    def is_silent(self) -> bool:
        return False

    def abandon(self) -> None:
        """Do nothing: no caller ever waits."""

    # Used by sessions

    def is_over(self, session: int) -> bool:
        """Whether a session has ended."""
        return session not in self._sessions

    def end(self, session: int) -> None:
        """End a session that closes itself."""
        if session in self._sessions:
            self._end(session)

    def _end(self, session: int) -> None:
        self.forget_watches(session)
        del self._sessions[session]
        self._zxid += 1
        for path in sorted(path for path, node in self._nodes.items() if node.owner == session):
            self._remove(path)

    def forget_watches(self, session: int) -> None:
        """Drop all watches of a session."""
        for key in list(self._watches):
            self._watches[key] = [watcher for watcher in self._watches[key] if watcher != session]
            if not self._watches[key]:
                del self._watches[key]

    def watch(self, path: str, children: bool, session: int) -> None:
        """Set a watch on the next change; a second watch of the same kind and path adds nothing."""
        watchers = self._watches.setdefault((path, children), [])
        if session not in watchers:
            watchers.append(session)

    def node(self, path: str) -> MemoryZnode:
        """Return a node, or raise NoNode."""
        if path not in self._nodes:
            raise NoNode(path)
        return self._nodes[path]

    def find(self, path: str) -> MemoryZnode | None:
        """Return a node, if it exists."""
        return self._nodes.get(path)

    def commit(self, session: int, operations: Sequence[Operation]) -> list[Result]:
        """Do all operations as one transaction, or none."""
        before = {path: None if node is None else copy_of(node) for path, node in self._touched(operations).items()}
        self._zxid += 1
        results: list[Result] = []
        fired: list[tuple[SessionEventType, str]] = []
        for index, operation in enumerate(operations):
            try:
                results.append(self._apply(session, operation, fired))
            except CoordinationError as reason:
                for path in [p for p in self._nodes if p not in before and self._nodes[p].czxid == self._zxid]:
                    del self._nodes[path]
                for path, node in before.items():
                    if node is None:
                        self._nodes.pop(path, None)
                    else:
                        self._nodes[path] = node
                raise MultiRefused(index, reason) from None
        for kind, path in fired:
            self._fire(kind, path)
        return results

    def _touched(self, operations: Sequence[Operation]) -> dict[str, MemoryZnode | None]:
        """Return the nodes that operations may change, and their parents, as they are."""
        paths = [path for operation in operations for path in (operation.path, parent_of(operation.path))]
        return {path: self._nodes.get(path) for path in paths}

    def _apply(self, session: int, operation: Operation, fired: list[tuple[SessionEventType, str]]) -> Result:
        if isinstance(operation, Create):
            return self._create(session, operation, fired)
        node = self.node(operation.path)
        if operation.version not in (ANY, node.version):
            raise BadVersion(f"{operation.path} has version {node.version}, not {operation.version}")
        if isinstance(operation, Set):
            node.data, node.mzxid, node.version = operation.data, self._zxid, node.version + 1
            fired.append((SessionEventType.CHANGED, operation.path))
            return node.stat()
        if isinstance(operation, Delete):
            if node.children:
                raise NotEmpty(operation.path)
            self._unlink(operation.path)
            fired.append((SessionEventType.DELETED, operation.path))
        return None

    def _create(self, session: int, operation: Create, fired: list[tuple[SessionEventType, str]]) -> str:
        parent = self.node(parent_of(operation.path))
        path = f"{operation.path}{parent.created:010}" if operation.sequential else operation.path
        if path in self._nodes:
            raise NodeExists(path)
        if parent.owner != 0:
            raise EphemeralParent(path)
        self._nodes[path] = MemoryZnode(operation.data, self._zxid, self._zxid, session if operation.ephemeral else 0)
        self._nodes[path].ctime = int(self._clock() * 1000)
        parent.children.add(path)
        parent.created += 1
        fired.append((SessionEventType.CREATED, path))
        return path

    def _unlink(self, path: str) -> None:
        del self._nodes[path]
        self._nodes[parent_of(path)].children.discard(path)

    def _remove(self, path: str) -> None:
        self._unlink(path)
        self._fire(SessionEventType.DELETED, path)

    def _fire(self, kind: SessionEventType, path: str) -> None:
        """Fire the watches on a node, once for each session, and those on its parent's children."""
        heard = self._watches.pop((path, False), [])
        if kind == SessionEventType.DELETED:
            heard += [session for session in self._watches.pop((path, True), []) if session not in heard]
        for session in heard:
            self._sessions[session].heard(SessionEvent(kind, path))
        if kind in (SessionEventType.CREATED, SessionEventType.DELETED):
            parent = parent_of(path)
            for session in self._watches.pop((parent, True), []):
                self._sessions[session].heard(SessionEvent(SessionEventType.CHILDREN, parent))


class MemorySession:
    """A session with an ensemble in memory; the interface is `Session`."""

    def __init__(self, ensemble: Ensemble, number: int) -> None:
        self._ensemble = ensemble
        self._number = number
        self._heard: list[SessionEvent] = []
        self._loss: Loss | None = None
        self._losing_in = 0

    @property
    def id(self) -> int:
        """The session id."""
        return self._number

    def lose(self, loss: Loss, after: int = 0) -> None:
        """Break the connection during the next operation, or after `after` more; it is restored after that operation."""
        self._loss, self._losing_in = loss, after

    @property
    def will_lose(self) -> bool:
        """Whether a loss is still to come."""
        return self._loss is not None

    def heard(self, event: SessionEvent) -> None:
        """Queue an event for `events`."""
        self._heard.append(event)

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        (created,) = self._commit([Create(path, data, ephemeral, sequential)])
        assert isinstance(created, str)
        return created, self._ensemble.node(created).stat()

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        node = self._do(lambda: self._ensemble.node(check_path(path)))
        if watch:
            self._ensemble.watch(path, False, self.id)
        return node.data, node.stat()

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        node = self._do(lambda: self._ensemble.find(check_path(path)))
        if watch:
            self._ensemble.watch(path, False, self.id)
        return None if node is None else node.stat()

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        node = self._do(lambda: self._ensemble.node(check_path(path)))
        if watch:
            self._ensemble.watch(path, True, self.id)
        return sorted(child.rpartition("/")[2] for child in node.children)

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        (stat,) = self._commit([Set(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    def delete(self, path: str, version: int = ANY) -> None:
        self._commit([Delete(path, version)])

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
        for operation in operations:
            check_path(operation.path)
        return self._do(lambda: self._ensemble.commit(self.id, operations))

    def events(self) -> list[SessionEvent]:
        heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        self._ensemble.end(self.id)

    def _commit(self, operations: list[Operation]) -> list[Result]:
        try:
            return self.multi(operations)
        except MultiRefused as refused:
            raise refused.reason from None

    def _do(self, act: Callable[[], Answer]) -> Answer:
        """Do an operation, unless the session has ended."""
        if self._ensemble.is_over(self.id):
            raise SessionExpired(f"session {self.id}")
        return self._connected(act)

    def _connected(self, act: Callable[[], Answer]) -> Answer:
        """Do an operation; lose it, or its reply, if `lose` was called for it."""
        lost = self._loss if self._losing_in == 0 else None
        self._losing_in -= 1
        if lost == Loss.REQUEST:
            self._break()
        try:
            return act()
        finally:
            if lost == Loss.REPLY:
                self._break()

    def _break(self) -> None:
        self._loss = None
        self._ensemble.forget_watches(self.id)
        self.heard(SessionEvent(SessionEventType.DISCONNECTED))
        raise ConnectionLost(f"session {self.id}")
