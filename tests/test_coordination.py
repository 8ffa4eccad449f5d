"""The behaviour of ZooKeeper: every claim holds in memory and with a real server."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    Service,
    Session,
    SessionEvent,
    SessionEventType,
    SessionExpired,
    Set,
    Stat,
)
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession
from kafka_spec.impl.zookeeper.coordination.server import NoServer, ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession, Servers


@pytest.fixture(params=["memory", "real"])
def world(request: pytest.FixtureRequest) -> Iterator[Service]:
    """Return a world for each adapter."""
    if request.param == "memory":
        yield Ensemble()
    else:
        with Servers(request.getfixturevalue("server").hosts) as servers:
            yield servers


numbers = itertools.count()


@pytest.fixture
def root(world: Service) -> str:
    """Return the path of a node that is this test's own."""
    return world.connect().create(f"/test{next(numbers)}")[0]


def heard(session: Session, count: int) -> list[SessionEvent]:
    """Return a session's events until there are so many, and those shortly after."""
    events: list[SessionEvent] = []
    deadline = time.monotonic() + 10
    while len(events) < count and time.monotonic() < deadline:
        events += session.events()
        time.sleep(0.001)
    if isinstance(session, KazooSession):
        time.sleep(0.05)
    return events + session.events()


def test_versions(world: Service, root: str) -> None:
    """A node begins at version 0, every write adds one, whatever it writes; a write or deletion with another version is refused."""
    session = world.connect()
    path, created = session.create(f"{root}/state", b"one")
    assert (path, created.version, created.owner, created.children) == (f"{root}/state", 0, 0, 0)
    assert session.get(path) == (b"one", created)

    assert session.set(path, b"one", 0).version == 1
    assert session.set(path, b"two").version == 2
    with pytest.raises(BadVersion):
        session.set(path, b"three", 1)
    with pytest.raises(BadVersion):
        session.delete(path, 1)
    data, stat = session.get(path)
    assert (data, stat.version, stat.czxid == created.czxid, stat.mzxid > created.mzxid) == (b"two", 2, True, True)

    session.delete(path, 2)
    assert session.exists(path) is None


def test_creations(world: Service, root: str) -> None:
    """A node needs its parent, is created once, and is deleted without children; a parent counts and names its children."""
    session = world.connect()
    session.create(f"{root}/b")
    session.create(f"{root}/a")
    session.create(f"{root}/b/c")
    with pytest.raises(NodeExists):
        session.create(f"{root}/a")
    with pytest.raises(NoNode):
        session.create(f"{root}/x/y")
    with pytest.raises(NotEmpty):
        session.delete(f"{root}/b")
    for missing in (session.get, session.children, session.delete):
        with pytest.raises(NoNode):
            missing(f"{root}/x")
    with pytest.raises(NoNode):
        session.set(f"{root}/x", b"")

    assert session.children(root) == ["a", "b"]
    stat = session.exists(root)
    assert stat is not None
    assert stat.children == 2


@pytest.mark.parametrize("path", ["", "one", "/one/", "//one", "/one//two"])
def test_paths(world: Service, path: str) -> None:
    """A path that ZooKeeper does not take is refused before it is sent."""
    with pytest.raises(ValueError, match="is not a ZooKeeper path"):
        world.connect().exists(path)


@pytest.mark.parametrize("ends_by", ["close", "expiry"])
def test_ephemeral_nodes_end_with_their_session(world: Service, root: str, ends_by: str) -> None:
    """Ephemeral nodes name their session, have no children, and go with it; others stay. Watches on them fire."""
    session, other = world.connect(), world.connect()
    _, stat = session.create(f"{root}/id", ephemeral=True)
    session.create(f"{root}/topic")
    assert stat.owner == session.id
    with pytest.raises(EphemeralParent):
        other.create(f"{root}/id/child")
    other.exists(f"{root}/id", watch=True)
    other.children(root, watch=True)
    if ends_by == "close":
        session.close()
    else:
        world.expire(session)

    assert set(heard(other, 2)) == {
        SessionEvent(SessionEventType.DELETED, f"{root}/id"),
        SessionEvent(SessionEventType.CHILDREN, root),
    }
    assert other.children(root) == ["topic"]


def test_creation_ids(world: Service, root: str) -> None:
    """A node that is created again has a larger czxid, in the order of transactions: a broker's epoch."""
    session, other = world.connect(), world.connect()
    _, first = session.create(f"{root}/1", ephemeral=True)
    _, second = other.create(f"{root}/2", ephemeral=True)
    session.delete(f"{root}/1")
    _, third = session.create(f"{root}/1", ephemeral=True)

    assert first.czxid < second.czxid < third.czxid
    assert session.get(f"{root}/1")[1].czxid == third.czxid


def test_sequential_nodes(world: Service, root: str) -> None:
    """A sequential node's name ends in ten digits that count all children its parent has ever had."""
    session = world.connect()
    session.create(f"{root}/plain")
    assert session.create(f"{root}/isr_change_", sequential=True)[0] == f"{root}/isr_change_0000000001"
    session.delete(f"{root}/isr_change_0000000001")
    assert session.create(f"{root}/isr_change_", ephemeral=True, sequential=True)[0] == f"{root}/isr_change_0000000002"
    (path,) = session.multi([Create(f"{root}/other_", b"", False, True)])
    assert path == f"{root}/other_0000000003"


def test_multi_is_all(world: Service, root: str) -> None:
    """A multi does all its operations in order, and later ones see earlier ones; it is one transaction."""
    session = world.connect()
    session.create(f"{root}/epoch", b"7")
    results = session.multi(
        [
            Check(f"{root}/epoch", 0),
            Create(f"{root}/parent", b"p"),
            Create(f"{root}/parent/child", b"c", ephemeral=True),
            Set(f"{root}/epoch", b"8", 0),
            Set(f"{root}/epoch", b"9", 1),
            Delete(f"{root}/parent/child"),
        ]
    )

    assert (results[0], results[1], results[2], results[5]) == (None, f"{root}/parent", f"{root}/parent/child", None)
    assert isinstance(results[4], Stat)
    data, stat = session.get(f"{root}/epoch")
    assert (data, stat.version, session.children(f"{root}/parent")) == (b"9", 2, [])
    assert session.get(f"{root}/parent")[1].czxid == stat.mzxid


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (lambda root: Check(f"{root}/epoch", 0), BadVersion),
        (lambda root: Set(f"{root}/epoch", b"", 2), BadVersion),
        (lambda root: Create(f"{root}/epoch"), NodeExists),
        (lambda root: Create(f"{root}/a/b"), NoNode),
        (lambda root: Delete(f"{root}/none"), NoNode),
        (lambda root: Delete(root), NotEmpty),
        (lambda root: Check(f"{root}/none", 0), NoNode),
    ],
)
def test_multi_or_nothing(world: Service, root: str, last: Callable[[str], Any], reason: type[CoordinationError]) -> None:
    """A multi of which one operation is refused changes nothing, fires no watch, and says which one it was, and why."""
    session = world.connect()
    session.create(f"{root}/epoch", b"7")
    before = session.get(f"{root}/epoch", watch=True)
    session.children(root, watch=True)
    operations = [Create(f"{root}/new_", b"", False, True), Set(f"{root}/epoch", b"8")]
    with pytest.raises(MultiRefused) as refused:
        session.multi([*operations, last(root), Set(f"{root}/after", b"")])

    assert (refused.value.index, type(refused.value.reason)) == (len(operations), reason)
    assert session.get(f"{root}/epoch") == before
    assert session.children(root) == ["epoch"]
    assert heard(session, 0) == []
    assert session.create(f"{root}/next_", sequential=True)[0] == f"{root}/next_0000000001"


def test_data_watches(world: Service, root: str) -> None:
    """A watch on data fires once: on creation, a write or deletion; one on a missing node comes from `exists` alone."""
    session, other = world.connect(), world.connect()
    path = f"{root}/state"
    with pytest.raises(NoNode):
        session.get(path, watch=True)
    other.create(path)
    assert heard(session, 0) == []
    other.delete(path)

    session.exists(path, watch=True)
    other.create(path)
    other.set(path, b"")
    assert heard(session, 1) == [SessionEvent(SessionEventType.CREATED, path)]
    session.get(path, watch=True)
    session.exists(path, watch=True)
    other.set(path, b"")
    other.set(path, b"")
    assert heard(session, 1) == [SessionEvent(SessionEventType.CHANGED, path)]
    session.get(path, watch=True)
    other.create(f"{path}/child")
    other.delete(f"{path}/child")
    other.delete(path)
    assert heard(session, 1) == [SessionEvent(SessionEventType.DELETED, path)]


def test_child_watches(world: Service, root: str) -> None:
    """A watch on children fires once when one comes or goes, not when one is written; the deletion of the node is reported once."""
    session, other = world.connect(), world.connect()
    session.children(root, watch=True)
    other.create(f"{root}/a")
    other.create(f"{root}/b")
    assert heard(session, 1) == [SessionEvent(SessionEventType.CHILDREN, root)]
    session.children(root, watch=True)
    other.set(f"{root}/a", b"")
    other.set(root, b"")
    assert heard(session, 0) == []
    other.delete(f"{root}/a")
    other.delete(f"{root}/b")
    assert heard(session, 1) == [SessionEvent(SessionEventType.CHILDREN, root)]
    session.children(root, watch=True)
    session.get(root, watch=True)
    other.delete(root)
    assert heard(session, 1) == [SessionEvent(SessionEventType.DELETED, root)]


def test_expired_session_does_nothing(world: Service, root: str) -> None:
    """An expired session reports it once, and refuses every operation from then on, also reads: no other session executes them."""
    session, other = world.connect(), world.connect()
    session.create(f"{root}/data", b"kept")
    world.expire(session)
    assert heard(session, 1)[-1] == SessionEvent(SessionEventType.EXPIRED)
    for _ in range(3):
        with pytest.raises(SessionExpired):
            session.get(f"{root}/data")
        with pytest.raises(SessionExpired):
            session.create(f"{root}/late", ephemeral=True)
        with pytest.raises(SessionExpired):
            session.multi([Set(f"{root}/data", b"late")])
    session.close()

    assert other.get(f"{root}/data")[0] == b"kept"
    assert other.children(root) == ["data"]
    assert heard(session, 0) == []


def test_closed_session_does_nothing(world: Service, root: str) -> None:
    """A session that was closed refuses every operation, and may be closed again."""
    session = world.connect()
    session.close()
    session.close()
    with pytest.raises(SessionExpired):
        session.exists(root)


# Both at once: the same operations, the same answers


NAMES = st.sampled_from(["a", "b", "a/a", "a/b", "b/a"])
VERSIONS = st.sampled_from([ANY, 0, 0, 1, 2])
DATA = st.sampled_from([b"", b"x"])
WRITES = st.one_of(
    st.builds(Create, NAMES, DATA, st.booleans(), st.booleans()),
    st.builds(Set, NAMES, DATA, VERSIONS),
    st.builds(Delete, NAMES, VERSIONS),
    st.builds(Check, NAMES, st.integers(0, 2)),
)
STEPS = st.one_of(
    st.tuples(st.just("multi"), st.lists(WRITES, min_size=1, max_size=3)),
    st.tuples(st.just("multi"), st.lists(WRITES, min_size=1, max_size=1)),
    st.tuples(st.sampled_from(["get", "exists", "children"]), st.tuples(NAMES, st.booleans())),
)


def answer(session: Session, root: str, kind: str, step: Any) -> Any:
    """Return what an operation answers, or how it is refused, without transaction ids and numbers of sessions."""

    def plain(stat: Any) -> Any:
        return (stat.version, stat.owner == session.id, stat.owner != 0, stat.children) if isinstance(stat, Stat) else stat

    try:
        if kind == "multi":
            return [plain(r) for r in session.multi([dataclasses.replace(o, path=f"{root}/{o.path}") for o in step])]
        name, watch = step
        result = getattr(session, kind)(f"{root}/{name}", watch=watch)
        return [plain(r) for r in result] if isinstance(result, tuple) else plain(result)
    except MultiRefused as refused:
        return refused.index, type(refused.reason)
    except CoordinationError as refused:
        return type(refused)


@pytest.fixture(scope="module")
def pair(server: ZooKeeperServer) -> Iterator[list[tuple[Session, Session]]]:
    """Return two sessions of each adapter."""
    ensemble = Ensemble()
    with Servers(server.hosts) as real:
        yield [(ensemble.connect(), ensemble.connect()), (real.connect(), real.connect())]


@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")  # threads of kazoo use it meanwhile
@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 1), STEPS), max_size=15))
def test_both_adapters_agree(pair: list[tuple[Session, Session]], steps: list[tuple[int, tuple[str, Any]]]) -> None:
    """Random operations of two sessions have the same answers, refusals and events in memory and with a real server."""
    root = f"/pair{next(numbers)}"
    memory, real = pair
    for sessions in pair:
        sessions[0].create(root)
    for who, (kind, step) in steps:
        assert answer(memory[who], root, kind, step) == answer(real[who], root, kind, step)
        for ours, theirs in zip(memory, real, strict=True):
            expected = ours.events()
            got = theirs.events()
            deadline = time.monotonic() + 10
            while len(got) < len(expected) and time.monotonic() < deadline:
                time.sleep(0.0005)
                got += theirs.events()
            assert sorted(map(str, got)) == sorted(map(str, expected))


# What only one of them can show


@pytest.mark.parametrize("loss", list(Loss))
def test_lost_request_and_lost_reply(loss: Loss) -> None:
    """With a lost request nothing happened, with a lost reply it did; both raise the same error, and all watches are lost."""
    ensemble = Ensemble()
    session, other = ensemble.connect(), ensemble.connect()
    session.create("/state", b"0")
    session.get("/state", watch=True)
    session.lose(loss)
    with pytest.raises(ConnectionLost):
        session.set("/state", b"1", 0)

    assert other.get("/state")[0] == (b"0" if loss == Loss.REQUEST else b"1")
    other.set("/state", b"2")
    assert [event.kind for event in session.events()] == (
        [SessionEventType.DISCONNECTED] if loss == Loss.REQUEST else [SessionEventType.CHANGED, SessionEventType.DISCONNECTED]
    )
    assert session.get("/state")[0] == b"2"


def test_a_lost_reply_hides_a_refusal() -> None:
    """A refusal whose reply is lost is a lost connection too."""
    session: MemorySession = Ensemble().connect()
    session.lose(Loss.REPLY)
    with pytest.raises(ConnectionLost):
        session.get("/none")
    with pytest.raises(NoNode):
        session.get("/none")


def test_real_session_outlives_its_connection(tmp_path: Path) -> None:
    """A session outlives a restart of the server: it reports lost watches, keeps its ephemeral nodes, and can write again."""
    first = ZooKeeperServer(tmp_path)
    session = KazooSession(first.hosts, timeout=20)
    try:
        session.create("/id", b"1", ephemeral=True)
        session.get("/id", watch=True)
        number = session.id
        first.stop()
        with ZooKeeperServer(tmp_path, port=first.port):
            assert session.set("/id", b"2").version == 1
            assert session.id == number
            assert heard(session, 1) == [SessionEvent(SessionEventType.DISCONNECTED)]
            session.close()
    finally:
        session.close()


def test_no_server_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server cannot be started or reached, the error names what is missing."""
    with pytest.raises(ConnectionLost, match="is it running"):
        KazooSession("127.0.0.1:1", patience=0.2)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoServer, match="needs java"):
        ZooKeeperServer(tmp_path)


def test_only_an_owner_may_write(server: ZooKeeperServer) -> None:
    """A node that only its owner may write: others read it, and their transactions with a write of it are refused as a whole."""
    with Servers(server.hosts, owner="ours:secret") as ours, Servers(server.hosts) as others:
        owner, other = ours.connect(), others.connect()
        owner.create("/epoch", b"1")
        owner.let_write("/epoch", everyone=False)
        assert other.get("/epoch")[0] == b"1"
        with pytest.raises(CoordinationError):
            other.set("/epoch", b"2")
        with pytest.raises(MultiRefused):
            other.multi([Create("/elected", b"", ephemeral=True, sequential=False), Set("/epoch", b"2", 0)])
        assert (other.exists("/elected"), owner.get("/epoch")[0]) == (None, b"1")
        owner.multi([Create("/elected", b"", ephemeral=True, sequential=False), Set("/epoch", b"2", 0)])
        owner.let_write("/epoch", everyone=True)
        other.set("/epoch", b"3")
        owner.delete("/elected")
        owner.delete("/epoch")
