"""Sessions with real ZooKeeper servers, through kazoo.

kazoo differs from the interface in three ways, which this module hides. After a session has expired, kazoo opens another and would
execute pending requests under it: here submitting and expiring exclude each other, so a session that is over sends nothing.
kazoo drops its watches with a connection and calls each with an event without a type: here that is one `DISCONNECTED`.
kazoo tries forever to reach servers that have ended: here all sessions of a service share one `Silence`, which limits the wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from kazoo import exceptions, security
from kazoo.client import KazooClient, KazooState
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from kafka_spec.impl.zookeeper.coordination.interface import (
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
from kafka_spec.impl.zookeeper.coordination.silence import STRANGE, Silence
from kafka_spec.spec.vocabulary.table import SpecError

ERRORS: dict[type[Exception], type[CoordinationError]] = {
    exceptions.NoNodeError: NoNode,
    exceptions.NodeExistsError: NodeExists,
    exceptions.BadVersionError: BadVersion,
    exceptions.NotEmptyError: NotEmpty,
    exceptions.NoChildrenForEphemeralsError: EphemeralParent,
    exceptions.SessionExpiredError: SessionExpired,
    exceptions.ConnectionClosedError: SessionExpired,
    exceptions.ConnectionLoss: ConnectionLost,
    exceptions.NoAuthError: CoordinationError,
}
KINDS = {
    EventType.CREATED: SessionEventType.CREATED,
    EventType.CHANGED: SessionEventType.CHANGED,
    EventType.DELETED: SessionEventType.DELETED,
    EventType.CHILD: SessionEventType.CHILDREN,
}


class KazooSession:
    """A session with real servers; the interface is `Session`. Opening it waits until the servers answer."""

    def __init__(
        self, hosts: str, timeout: float = 6.0, patience: float = 30.0, silence: Silence | None = None, owner: str = ""
    ) -> None:
        """`hosts` is HOST:PORT,...; `timeout` is the session's, `patience` the longest wait for a reply, both in seconds.

        `owner` is NAME:PASSWORD, under which ZooKeeper knows the session; see `let_write`.

        Raises:
            ConnectionLost: no server answers within the patience.
        """
        self._silence = silence or Silence()
        self._owner = owner
        try:
            self._client = KazooClient(hosts, timeout=timeout, auth_data=[("digest", owner)] if owner else None)
        except ValueError as error:
            raise SpecError(f"ZooKeeper at {hosts}: {error}; name its servers as HOST:PORT") from None
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
        """The session id."""
        return self._id

    @property
    def credentials(self) -> tuple[int, bytes]:
        """The session id and password, with which another client can take the session over."""
        return self._id, self._password

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False) -> tuple[str, Stat]:
        check_path(path)
        created, stat = self._do(
            lambda: self._client.create_async(path, data, ephemeral=ephemeral, sequence=sequential, include_data=True)
        )
        return created, _stat(stat)

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        check_path(path)
        data, stat = self._do(lambda: self._client.get_async(path, self._fired if watch else None))
        return data, _stat(stat)

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        check_path(path)
        stat = self._do(lambda: self._client.exists_async(path, self._fired if watch else None))
        return None if stat is None else _stat(stat)

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        check_path(path)
        return sorted(self._do(lambda: self._client.get_children_async(path, self._fired if watch else None)))

    def set(self, path: str, data: bytes, version: int = ANY) -> Stat:
        check_path(path)
        return _stat(self._do(lambda: self._client.set_async(path, data, version)))

    def delete(self, path: str, version: int = ANY) -> None:
        check_path(path)
        self._do(lambda: self._client.delete_async(path, version))

    def let_write(self, path: str, everyone: bool) -> None:
        """Let every session write a node, or those of this session's owner alone; all can read it. It is not in the interface.

        On /controller_epoch this decides who can be elected: an election writes it together with /controller.
        """
        others = security.OPEN_ACL_UNSAFE if everyone else security.READ_ACL_UNSAFE
        name, _, password = self._owner.partition(":")
        mine = [security.make_digest_acl(name, password, all=True)] if self._owner else []
        self._do(lambda: self._client.set_acls_async(check_path(path), [*mine, *others]))

    def multi(self, operations: Sequence[Operation]) -> list[Result]:
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
        with self._lock:
            heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        self._client.remove_listener(self._state_changed)
        with self._lock:
            self._end()
        if self._ending is not None and not self._silence.abandoned:  # where no server answers, closing takes long
            self._ending.join()

    def _end(self) -> None:
        """End the session, once, and stop the client in another thread: the client's own thread cannot."""
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
        """Queue the event of a watch. kazoo's thread calls this, twice for a deletion on which both kinds of watch are set."""
        if event.type in KINDS:
            with self._lock:
                twice, self._last = event is self._last, event
                if not self._over and not twice:
                    self._heard.append(SessionEvent(KINDS[event.type], event.path))

    def _state_changed(self, state: str) -> None:
        """Handle a change of the connection; kazoo calls this before it reconnects and before it fails pending requests."""
        with self._lock:
            if state == KazooState.SUSPENDED:
                self._heard.append(SessionEvent(SessionEventType.DISCONNECTED))
                self._silence.begins()
                return
            self._silence.ends()
            if state == KazooState.LOST and not self._over:
                self._heard.append(SessionEvent(SessionEventType.EXPIRED))
                self._end()  # and with it the client, which would open another session


class Servers:
    """Real servers; the interface is `Service`. As a context manager it closes every session that it has opened."""

    def __init__(
        self,
        hosts: str,
        timeout: float = 6.0,
        patience: float = 30.0,
        ended: Callable[[], int | None] = lambda: None,
        owner: str = "",
    ) -> None:
        """`ended` returns the exit code of the only server's process, None while it runs or is not known."""
        self._hosts = hosts
        self._timeout = timeout
        self._patience = patience
        self._ended = ended
        self._owner = owner
        self._silence = Silence()
        self._opened: dict[int, KazooSession] = {}

    def connect(self) -> KazooSession:
        session = KazooSession(self._hosts, self._timeout, self._patience, self._silence, self._owner)
        self._opened[session.id] = session
        return session

    def lost(self) -> str:
        """Return why it is lost: its process has ended, or nobody was answered for session timeout plus patience."""
        if (code := self._ended()) is not None:
            return f"the ZooKeeper server's process has ended with {code}"
        if self._silence.seconds > self._timeout + self._patience:
            return f"no ZooKeeper at {self._hosts} has answered for {self._timeout + self._patience:g} s"
        return ""

    def is_silent(self) -> bool:
        return self._silence.seconds > STRANGE

    def abandon(self) -> None:
        self._silence.abandoned = True

    def expire(self, session: Session) -> None:
        """Expire a session: another client takes it over and closes it; wait until its owner has noticed.

        Raises:
            ConnectionLost: no server answers, or the owner does not notice, within the patience.
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
            raise ConnectionLost(f"session {session.id:#x} has not noticed its expiry within {self._patience:g} s")
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
    """Stop a client in another thread: its own thread cannot, and without an answer stopping lasts as long as its timeouts."""

    def end() -> None:
        client.stop()
        client.close()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    return ending


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(stat.czxid, stat.mzxid, stat.version, stat.ephemeralOwner, stat.numChildren, stat.ctime)


def _error(error: Exception) -> CoordinationError:
    """Return the interface's error for an error of kazoo."""
    said = str(error) or type(error).__name__
    return next((ours(said) for theirs, ours in ERRORS.items() if isinstance(error, theirs)), CoordinationError(repr(error)))
