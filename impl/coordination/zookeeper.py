"""Sessions with real ZooKeeper servers, through kazoo.

What kazoo does otherwise is closed here. After a session has expired kazoo opens another, and what was asked under the old one
would be done under the new one: here submitting and expiring exclude each other, so nothing is sent by a session that is over.
Kazoo forgets its watches with a connection and calls them with an event of no type: here that is one `DISCONNECTED`.
Kazoo tries to reach servers that are gone for ever: here all sessions of a service share one `Silence`, which says when to give up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from kazoo import exceptions
from kazoo.client import KazooClient, KazooState
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from kafka_spec.impl.coordination.interface import (
    ANY,
    BadVersion,
    Check,
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

ERRORS: dict[type[Exception], type[CoordinationError]] = {
    exceptions.NoNodeError: NoNode,
    exceptions.NodeExistsError: NodeExists,
    exceptions.BadVersionError: BadVersion,
    exceptions.NotEmptyError: NotEmpty,
    exceptions.NoChildrenForEphemeralsError: EphemeralParent,
    exceptions.SessionExpiredError: SessionExpired,
    exceptions.ConnectionClosedError: SessionExpired,
    exceptions.ConnectionLoss: ConnectionLost,
}
KINDS = {
    EventType.CREATED: SessionEventType.CREATED,
    EventType.CHANGED: SessionEventType.CHANGED,
    EventType.DELETED: SessionEventType.DELETED,
    EventType.CHILD: SessionEventType.CHILDREN,
}


LOOK = 0.1
"""Seconds after which who waits for an answer looks whether it is still waited for."""


STRANGE = 1.0
"""Seconds without an answer after which it is strange that there is none."""


class Silence:
    """Since when servers owe an answer, to whoever asks or has lost a connection, and have answered nobody."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.abandoned = False
        """Whether nobody waits for answers any more."""

    def begins(self) -> None:
        """Somebody waits for the servers; who waited before did so longer."""
        if self.since is None:
            self.since = time.monotonic()

    def ends(self) -> None:
        """The servers have answered somebody."""
        self.since = None

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        since = self.since
        return 0.0 if since is None else time.monotonic() - since

    def wait(self, done: Callable[[float], object], patience: float) -> bool:
        """Wait so many seconds at the most, or until all is abandoned; return whether it is `done`, which waits some seconds."""
        self.begins()
        deadline = time.monotonic() + patience
        while not self.abandoned and (left := deadline - time.monotonic()) > 0:
            if done(min(left, LOOK)):
                return True
        return False


class KazooSession:
    """A session with real servers; the interface is `Session`. Opening it waits until the servers answer."""

    def __init__(self, hosts: str, timeout: float = 6.0, patience: float = 30.0, silence: Silence | None = None) -> None:
        """`hosts` is HOST:PORT,...; `timeout` is the session's, `patience` how long a reply is waited for, both in seconds.

        Raises:
            ConnectionLost: no server answers within the patience.
        """
        self._silence = silence or Silence()
        self._client = KazooClient(hosts, timeout=timeout)
        self._patience = patience
        self._lock = threading.Lock()
        self._over = False
        self._ending: threading.Thread | None = None
        self._heard: list[SessionEvent] = []
        self._last: WatchedEvent | None = None
        if not self._silence.wait(self._client.start_async().wait, patience):
            _end_beside(self._client)
            raise ConnectionLost(f"no ZooKeeper answers at {hosts} within {patience:g} s; is it running?")
        self._silence.ends()
        self._id: int
        self._password: bytes
        self._id, self._password = self._client.client_id
        self._client.add_listener(self._state_changed)

    @property
    def id(self) -> int:
        """The number by which the servers know the session."""
        return self._id

    @property
    def credentials(self) -> tuple[int, bytes]:
        """Number and password, with which another client can take the session over."""
        return self._id, self._password

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        """See `Session.create`."""
        check_path(path)
        created, stat = self._do(
            lambda: self._client.create_async(path, data, ephemeral=ephemeral, sequence=sequential, include_data=True)
        )
        return created, _stat(stat)

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """See `Session.get`."""
        check_path(path)
        data, stat = self._do(lambda: self._client.get_async(path, self._fired if watch else None))
        return data, _stat(stat)

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """See `Session.exists`."""
        check_path(path)
        stat = self._do(lambda: self._client.exists_async(path, self._fired if watch else None))
        return None if stat is None else _stat(stat)

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        """See `Session.children`."""
        check_path(path)
        return sorted(self._do(lambda: self._client.get_children_async(path, self._fired if watch else None)))

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        """See `Session.set`."""
        check_path(path)
        return _stat(self._do(lambda: self._client.set_async(path, data, version)))

    def delete(self, path: str, version: int = ANY) -> None:
        """See `Session.delete`."""
        check_path(path)
        self._do(lambda: self._client.delete_async(path, version))

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
        """See `Session.multi`."""
        transaction = self._client.transaction()
        for operation in operations:
            check_path(operation.path)
            match operation:
                case Create(path, data, ephemeral, sequential):
                    transaction.create(path, data, ephemeral=ephemeral, sequence=sequential)
                case Set(path, data, version):
                    transaction.set_data(path, data, version)
                case Delete(path, version):
                    transaction.delete(path, version)
                case Check(path, version):
                    transaction.check(path, version)
        answers = self._do(transaction.commit_async)
        for index, answer in enumerate(answers):
            if isinstance(answer, Exception) and not isinstance(answer, exceptions.RolledBackError):
                raise MultiRefused(index, _error(answer))
        return [_stat(a) if isinstance(a, ZnodeStat) else a if isinstance(a, str) else None for a in answers]

    @property
    def is_over(self) -> bool:
        """Whether the session is known to have ended."""
        return self._over

    def events(self) -> list[SessionEvent]:
        """See `Session.events`."""
        with self._lock:
            heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        """See `Session.close`."""
        self._client.remove_listener(self._state_changed)
        with self._lock:
            self._end()
        if self._ending is not None and not self._silence.abandoned:  # where nobody answers, taking leave takes long
            self._ending.join()

    def _end(self) -> None:
        """Do nothing any more, and stop the client beside, once: its own thread cannot."""
        if not self._over:
            self._over = True
            self._ending = _end_beside(self._client)

    def _do(self, submit: Callable[[], Any]) -> Any:
        """Submit an operation while the session lives, and wait for its answer."""
        with self._lock:
            if self._over:
                raise SessionExpired(f"session {self._id:#x}")
            answer = submit()
        if not self._silence.wait(answer.wait, self._patience):
            raise ConnectionLost(f"session {self._id:#x}: no answer within {self._patience:g} s")
        if not isinstance(answer.exception, exceptions.ConnectionLoss):
            self._silence.ends()
        try:
            return answer.get()
        except tuple(ERRORS) as error:
            raise _error(error) from None

    def _fired(self, event: WatchedEvent) -> None:
        """Take the event of a watch; kazoo's own thread calls this, twice with one deletion that both kinds of watch wait for."""
        if event.type in KINDS:
            with self._lock:
                twice, self._last = event is self._last, event
                if not self._over and not twice:
                    self._heard.append(SessionEvent(KINDS[event.type], event.path))

    def _state_changed(self, state: str) -> None:
        """Take a change of the connection; kazoo calls this before it connects again, and before it fails what waits."""
        with self._lock:
            if state == KazooState.SUSPENDED:
                self._heard.append(SessionEvent(SessionEventType.DISCONNECTED))
                self._silence.begins()
                return
            self._silence.ends()
            if state == KazooState.LOST and not self._over:
                self._heard.append(SessionEvent(SessionEventType.EXPIRED))
                self._end()  # and with it the session that kazoo would open next


class Servers:
    """Real servers; the interface is `Service`. As a context it closes every session that it has opened."""

    def __init__(
        self, hosts: str, timeout: float = 6.0, patience: float = 30.0, ended: Callable[[], int | None] = lambda: None
    ) -> None:
        """See `KazooSession`; `ended` returns what the only server's process has ended with, None as far as is known it runs."""
        self._hosts = hosts
        self._timeout = timeout
        self._patience = patience
        self._ended = ended
        self._silence = Silence()
        self._opened: dict[int, KazooSession] = {}

    def connect(self) -> KazooSession:
        """See `Service.connect`."""
        session = KazooSession(self._hosts, self._timeout, self._patience, self._silence)
        self._opened[session.id] = session
        return session

    def lost(self) -> str:
        """See `Service.lost`: the server's process has ended, or nobody was answered for session timeout and patience in all."""
        if (code := self._ended()) is not None:
            return f"the ZooKeeper server's process has ended with {code}"
        if self._silence.seconds > self._timeout + self._patience:
            return f"no ZooKeeper at {self._hosts} has answered anybody for {self._timeout + self._patience:g} s"
        return ""

    def is_silent(self) -> bool:
        """See `Service.is_silent`."""
        return self._silence.seconds > STRANGE

    def abandon(self) -> None:
        """See `Service.abandon`."""
        self._silence.abandoned = True

    def expire(self, session: Session) -> None:
        """Take the session over from elsewhere and end it, as its timeout would; wait until its owner has heard of it.

        Raises:
            ConnectionLost: no server answers, or the owner has not heard of it, within the patience.
        """
        expired, silence = self._opened[session.id], self._silence
        if silence.abandoned:
            expired.close()
            return
        thief = KazooClient(self._hosts, client_id=expired.credentials)
        if not silence.wait(thief.start_async().wait, self._patience):
            _end_beside(thief)
            raise ConnectionLost(f"session {session.id:#x} cannot be ended: no answer within {self._patience:g} s")
        silence.ends()
        thief.stop()
        thief.close()

        def heard(seconds: float) -> bool:
            time.sleep(min(seconds, 0.01))
            return expired.is_over

        if not silence.wait(heard, self._patience):
            raise ConnectionLost(f"session {session.id:#x} has not heard of its end within {self._patience:g} s")
        silence.ends()

    def close(self) -> None:
        """Close all sessions."""
        for session in self._opened.values():
            session.close()

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _end_beside(client: KazooClient) -> threading.Thread:
    """End a client in a thread of its own: its own cannot, and where it reaches nobody that takes as long as its timeouts."""

    def end() -> None:
        client.stop()
        client.close()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    return ending


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(stat.czxid, stat.mzxid, stat.version, stat.ephemeralOwner, stat.numChildren)


def _error(error: Exception) -> CoordinationError:
    """Return the error of the interface for one of kazoo's."""
    return next((ours(str(error)) for theirs, ours in ERRORS.items() if isinstance(error, theirs)), CoordinationError(repr(error)))
