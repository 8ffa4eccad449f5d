"""ZooKeeper in memory as the control-plane model has it, for replays.

Three things are the model's to decide and not the servers': when somebody hears of a change (so no watch fires, and nobody is told
that his session is over), that a session which is over still reaches ZooKeeper with what its owner is at (see the abstractions
of spec/control/eras.py), and when an operation meets an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from kafka_spec.impl.coordination.interface import CoordinationError, Session, SessionEvent
from kafka_spec.impl.coordination.memory import Ensemble, MemorySession, MemoryZnode, parent_of

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Znode:
    """A node to put into an ensemble as it was read from elsewhere; `owner` is the session of an ephemeral one."""

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
        """Forget it: rules tell who hears of what."""

    def revive(self, session: Session) -> None:
        """Let a session live that was over."""
        assert isinstance(session, ModelSession)
        self._sessions[session.id] = session

    def put(self, znodes: Iterable[Znode], zxid: int) -> None:
        """Hold these nodes and no others, parents first; the last transaction was `zxid`."""
        self._nodes = {"/": MemoryZnode(b"", 0, 0, 0)}
        self._zxid = zxid
        for znode in znodes:
            self._nodes[znode.path] = MemoryZnode(znode.data, znode.czxid, znode.czxid, znode.owner, znode.version)
            parent = self._nodes[parent_of(znode.path)]
            parent.children.add(znode.path)
            parent.created += 1


class ModelSession(MemorySession):
    """A session that goes on when it is over, hears nothing, and fails when told to."""

    fails = False
    """Whether the next operation meets an error that nobody expects."""

    def events(self) -> list[SessionEvent]:
        """Return nothing: rules tell who hears of what."""
        self._heard.clear()
        return []

    def _do(self, act: Callable[[], Answer]) -> Answer:
        if self.fails:
            self.fails = False
            raise CoordinationError("the operation failed")
        return self._connected(act)
