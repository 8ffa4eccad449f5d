"""A session that outlives its expiry, for tools that own nothing in ZooKeeper: the next operation opens another.

Source: Kafka 2.8 ZooKeeperClient.scala (reinitialize, after the state EXPIRED).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kafka_spec.impl.zookeeper.coordination.interface import (
    ANY,
    Operation,
    Result,
    Service,
    Session,
    SessionEvent,
    SessionExpired,
    Stat,
)

Answer = TypeVar("Answer")


class LastingSession:
    """The interface is `Session`; an ephemeral node and watches end with the session that made them.

    An operation is repeated if its session had expired. If it had taken effect, a creation or a deletion then meets its own result:
    NodeExists, or NoNode.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._session: Session = service.connect()

    @property
    def id(self) -> int:
        """The session id, which changes when the session has expired."""
        return self._session.id

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        return self._do(lambda: self._session.create(path, data, ephemeral=ephemeral, sequential=sequential))

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        return self._do(lambda: self._session.get(path, watch=watch))

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        return self._do(lambda: self._session.exists(path, watch=watch))

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        return self._do(lambda: self._session.children(path, watch=watch))

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        return self._do(lambda: self._session.set(path, data, version))

    def delete(self, path: str, version: int = ANY) -> None:
        self._do(lambda: self._session.delete(path, version))

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
        return self._do(lambda: self._session.multi(operations))

    def events(self) -> list[SessionEvent]:
        return self._session.events()

    def close(self) -> None:
        self._session.close()

    def _do(self, operation: Callable[[], Answer]) -> Answer:
        """Return the answer to an operation, under another session if this one has expired."""
        try:
            return operation()
        except SessionExpired:
            self._session.close()
            self._session = self._service.connect()
            return operation()
