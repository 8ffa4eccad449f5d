"""The interface to ZooKeeper: sessions, nodes with versions, multi, one-shot watches.

tests/test_coordination.py runs against every adapter. A broker has one *session* at a time; its ephemeral nodes live as long as the
session. A session ends once; after that every operation raises `SessionExpired`. No adapter opens another session by itself, since
an old controller would read under it and act on what it reads. Watches are one-shot, and belong to the session and its connection:
`DISCONNECTED` removes them all, and a watcher must read again.

Source: ZooKeeper 3.9; what Kafka 2.8 uses of it (KafkaZkClient.scala, ZooKeeperClient.scala).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

ANY = -1
"""The version that matches any version of a node."""


class CoordinationError(Exception):
    """An operation was refused, or its outcome is unknown."""


class NoNode(CoordinationError):  # noqa: N818 - ZooKeeper's names
    """The node, or the parent of the node to create, does not exist."""


class NodeExists(CoordinationError):  # noqa: N818
    """The node to create exists."""


class BadVersion(CoordinationError):  # noqa: N818
    """The node has another version."""


class NotEmpty(CoordinationError):  # noqa: N818
    """The node to delete has children."""


class EphemeralParent(CoordinationError):  # noqa: N818
    """An ephemeral node can have no children."""


class SessionExpired(CoordinationError):  # noqa: N818
    """The session has ended: its ephemeral nodes are deleted, and it refuses every operation."""


class ConnectionLost(CoordinationError):  # noqa: N818
    """The connection was lost, and whether the operation took effect is unknown; the session may still live."""


class MultiRefused(CoordinationError):  # noqa: N818
    """A multi changed nothing, since its operation number `index` was refused for the `reason`."""

    def __init__(self, index: int, reason: CoordinationError) -> None:
        super().__init__(f"operation {index} was refused: {type(reason).__name__} {reason}")
        self.index = index
        self.reason = reason


@dataclass(frozen=True)
class Stat:
    """The metadata of a node.

    `czxid` and `mzxid` are the transactions that created it and that last wrote its data; `version` counts writes of data, from 0;
    `owner` is the session of an ephemeral node, else 0; `children` counts its children; `ctime` is the time of its creation by the
    servers' clock, in milliseconds since 1970.
    """

    czxid: int
    mzxid: int
    version: int
    owner: int
    children: int
    ctime: int = field(default=0, compare=False)


class SessionEventType(enum.Enum):
    """The types of a session's events."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"
    DISCONNECTED = "disconnected"
    EXPIRED = "expired"


@dataclass(frozen=True)
class SessionEvent:
    """A watch that fired, with its path; or a change of the session, without a path."""

    kind: SessionEventType
    path: str = ""


@dataclass(frozen=True)
class Create:
    """Create a node. `sequential` appends ten digits to the path: the number of children that the parent has ever had."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True)
class Set:
    """Write a node's data, if it has the version."""

    path: str
    data: bytes
    version: int = ANY


@dataclass(frozen=True)
class Delete:
    """Delete a node without children, if it has the version."""

    path: str
    version: int = ANY


@dataclass(frozen=True)
class Check:
    """Refuse the multi unless the node has the version."""

    path: str
    version: int


Operation: TypeAlias = Create | Set | Delete | Check
Result: TypeAlias = str | Stat | None


class Session(Protocol):
    """A session with ZooKeeper. Paths begin with a slash and do not end with one."""

    @property
    def id(self) -> int:
        """The session id."""

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        """Create a node; return its path, with the digits that `sequential` appends, and its stat."""

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """Return a node's data and stat; a watch fires at the next write, or at the deletion."""

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Return a node's stat, or None; a watch fires at its creation, next write, or deletion."""

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        """Return the names of a node's children, sorted; a watch fires when a child comes or goes, or the node is deleted."""

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        """Write a node's data, if it has the version."""

    def delete(self, path: str, version: int = ANY) -> None:
        """Delete a node without children, if it has the version."""

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
        """Do all operations as one transaction, or none; return paths of creations, stats of writes, None for the others."""

    def events(self) -> list[SessionEvent]:
        """Return the events since the last call, in order."""

    def close(self) -> None:
        """End the session; its ephemeral nodes are deleted at once. A session that has ended stays as it is."""


class Service(Protocol):
    """The servers, as the code that starts and ends brokers uses them."""

    def connect(self) -> Session:
        """Open a session.

        Raises:
            ConnectionLost: no server answers.
        """

    def expire(self, session: Session) -> None:
        """Expire a session of this service, as the servers do when its timeout passes without a heartbeat."""

    def lost(self) -> str:
        """Return why no server will answer any more, or an empty text while one may. It never waits."""

    def is_silent(self) -> bool:
        """Whether some caller has waited unusually long for an answer."""

    def abandon(self) -> None:
        """Stop waiting for answers: every operation, pending or later, raises `ConnectionLost` at once."""


def check_path(path: str) -> str:
    """Return a path that ZooKeeper accepts.

    Raises:
        ValueError: it does not begin with a slash, or has an empty part.
    """
    if path != "/" and (not path.startswith("/") or "" in path[1:].split("/")):
        raise ValueError(f"{path!r} is not a ZooKeeper path; write /one/two")
    return path
