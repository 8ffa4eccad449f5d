"""An in-memory ZooKeeper that behaves as in the control-plane model, for replays.

The model, not the servers, decides three things: when a change is noticed (so no watch fires, and no session event is delivered),
that an expired session can still complete its owner's current step (see spec/zookeeper/abstractions.py), and when an
operation fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError, Session, SessionEvent
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, MemorySession
from kafka_spec.impl.zookeeper.coordination.memory_znode import MemoryZnode, parent_of

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Znode:
    """A node to put into an ensemble; `owner` is the session of an ephemeral one."""

    path: str
    data: bytes = b""
    version: int = 0
    czxid: int = 0
    owner: int = 0


class ModelEnsemble(Ensemble):
    """The servers, without watches."""

    def _session(self, number: int) -> ModelSession:
        return ModelSession(self, number)

    def watch(self, path: str, children: bool, session: int) -> None:
        """Do nothing: the model's rules decide when a change is noticed."""

    def revive(self, session: Session) -> None:
        """Revive an expired session."""
        assert isinstance(session, ModelSession)
        self._sessions[session.id] = session

    def put(self, znodes: Iterable[Znode], zxid: int) -> None:
        """Replace all nodes by these, parents first; `zxid` is the last transaction."""
        self._nodes = {"/": MemoryZnode(b"", 0, 0, 0)}
        self._zxid = zxid
        for znode in znodes:
            self._nodes[znode.path] = MemoryZnode(znode.data, znode.czxid, znode.czxid, znode.owner, znode.version)
            parent = self._nodes[parent_of(znode.path)]
            parent.children.add(znode.path)
            parent.created += 1


class ModelSession(MemorySession):
    """A session that works even after it expired, delivers no events, and can fail on request."""

    fails = False
    """Whether the next operation raises an unexpected error."""

    def events(self) -> list[SessionEvent]:
        """Return nothing: the model's rules decide when an event is noticed."""
        self._heard.clear()
        return []

    def _do(self, act: Callable[[], Answer]) -> Answer:
        if self.fails:
            self.fails = False
            raise CoordinationError("the operation failed")
        return self._connected(act)
