"""What the cluster asks of ZooKeeper: sessions, nodes with versions, multi, one-shot watches.

One set of claims, tests/test_coordination.py, holds for every adapter. A *session* is what a broker has: its ephemeral nodes live
as long. It ends once, and then every operation raises `SessionExpired`: no adapter opens another by itself, since an old
controller would read under it and believe what it reads. Watches are one-shot, and belong to the session and its connection: after
`DISCONNECTED` none is left, and who watches must read again.

Source: ZooKeeper 3.9; what Kafka 2.8 uses of it (KafkaZkClient.scala, ZooKeeperClient.scala).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

ANY = -1
"""The version that every node has."""


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
    """The session is over: its ephemeral nodes are gone, and it does nothing any more."""


class ConnectionLost(CoordinationError):  # noqa: N818
    """The connection was lost, and whether the operation took effect is unknown; the session may go on."""


class MultiRefused(CoordinationError):  # noqa: N818
    """A multi changed nothing, since its operation number `index` was refused for the `reason`."""

    def __init__(self, index: int, reason: CoordinationError) -> None:
        super().__init__(f"operation {index} was refused: {type(reason).__name__} {reason}")
        self.index = index
        self.reason = reason


@dataclass(frozen=True)
class Stat:
    """What is known of a node beside its data.

    `czxid` and `mzxid` are the transactions that created it and that last wrote its data; `version` counts writes of data, from 0;
    `owner` is the session of an ephemeral node, else 0; `children` how many it has.
    """

    czxid: int
    mzxid: int
    version: int
    owner: int
    children: int


class SessionEventType(enum.Enum):
    """What a session hears of."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"
    DISCONNECTED = "disconnected"
    EXPIRED = "expired"


@dataclass(frozen=True)
class SessionEvent:
    """A watch that fired, with its path; or a change of the session, without one."""

    kind: SessionEventType
    path: str = ""


@dataclass(frozen=True)
class Create:
    """Create a node. `sequential` appends to the path, in ten digits, how many children its parent has ever had."""

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
        """The number by which the server knows the session."""

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        """Create a node; return its path, which `sequential` makes longer, and its stat."""

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """Return a node's data; a watch hears of the next write, or of the deletion."""

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Return a node's stat, or None; a watch hears of creation, the next write, or deletion."""

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        """Return the names of a node's children, sorted; a watch hears when one comes or goes, or of the node's deletion."""

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        """Write a node's data, if it has the version."""

    def delete(self, path: str, version: int = ANY) -> None:
        """Delete a node without children, if it has the version."""

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
        """Do all operations as one transaction, or none; return paths of creations, stats of writes, None for the others."""

    def events(self) -> list[SessionEvent]:
        """Return what was heard since the last call, in order."""

    def close(self) -> None:
        """End the session; its ephemeral nodes go at once. Nothing happens if it is over."""


class Service(Protocol):
    """The servers, as somebody sees them who starts and ends brokers."""

    def connect(self) -> Session:
        """Open a session.

        Raises:
            ConnectionLost: no server answers.
        """

    def expire(self, session: Session) -> None:
        """End a session of this service from the servers' side, as when nothing was heard of it for its timeout."""

    def lost(self) -> str:
        """Return why nobody there will answer any more; nothing while somebody may. It never waits."""

    def is_silent(self) -> bool:
        """Whether somebody has waited for an answer for so long that it is strange."""

    def abandon(self) -> None:
        """Wait for no answer any more: what is asked, now or later, is a lost connection at once."""


def check_path(path: str) -> str:
    """Return a path that ZooKeeper takes.

    Raises:
        ValueError: it does not begin with a slash, or has an empty part.
    """
    if path != "/" and (not path.startswith("/") or "" in path[1:].split("/")):
        raise ValueError(f"{path!r} is no path of ZooKeeper; write /one/two")
    return path
