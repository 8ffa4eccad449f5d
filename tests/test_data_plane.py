"""Leaders and followers on real logs: produce, fetch, the high watermark, the ISR in ZooKeeper, truncation, and what fails."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_log import MEMORY, batch, values

from impl import znodes
from impl.coordination.memory import Ensemble, MemorySession
from impl.data_plane import DataPlane
from impl.data_requests import (
    CONSUMER,
    Fetched,
    FetchPosition,
    FetchRequest,
    ListOffsetsRequest,
    OffsetsForLeaderEpochRequest,
    Produced,
    ProduceRequest,
)
from impl.errors import Code
from impl.fetcher import FollowersRequest
from impl.isr import IsrWrite
from impl.partition import Partition
from impl.partitions import TopicPartition
from impl.replica_manager import Answer, ReplicaManager
from impl.requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from impl.settings import Settings
from impl.state_change_log import StateChangeLog
from spec.control.eras import BUG, ERA_0_10, ERA_2_8, FIXED
from spec.table import Spec

P = TopicPartition("orders", 0)
BROKERS = (1, 2, 3)


class Brokers:
    """Brokers 1, 2 and 3 with one partition, and in place of a controller the test, which writes the state znode and tells them."""

    def __init__(self, folder: Path, era: Spec = FIXED, settings: Settings | None = None) -> None:
        self.folder, self.era, self.settings = folder, era, settings
        self.now = 1_000_000
        self.epoch = -1
        self.ensemble = Ensemble()
        self.tools = self.ensemble.connect()
        for path in (*znodes.PERSISTENT, znodes.topic(P.topic), *znodes.partition_parents(P)):
            self.tools.create(path)
        self.lines: list[str] = []
        self.planes: dict[int, DataPlane] = {}
        self.sessions: dict[int, MemorySession] = {}
        for number in BROKERS:
            self.start(number)

    def start(self, number: int) -> DataPlane:
        """Start a broker's process on what is on its disk: registered, and told who is alive."""
        self.sessions[number] = self.ensemble.connect()
        _, stat = self.sessions[number].create(znodes.broker(number), znodes.Broker(number, ()).encode(), ephemeral=True)
        log = StateChangeLog(self.lines.append, lambda: 0.0)
        replicas = ReplicaManager(number, self.era, self.folder / str(number), log, None, self.settings)
        replicas.broker_epoch = stat.czxid
        self.planes[number] = DataPlane(replicas, self.sessions[number])
        self.tell_metadata(number)
        return self.planes[number]

    def crash(self, number: int) -> None:
        """End a broker's process, and its session."""
        self.planes.pop(number).replicas.crash()
        self.ensemble.expire(self.sessions.pop(number))

    def close(self) -> None:
        """End all processes."""
        for plane in self.planes.values():
            plane.replicas.crash()

    def tell_metadata(self, number: int, alive: tuple[int, ...] = BROKERS) -> None:
        """Tell a broker who is alive, and that the partition is there."""
        live = tuple(znodes.Broker(one, ()) for one in alive)
        state = UpdateMetadataState(Leadership(-1, self.epoch, (), 0, 7), BROKERS, ())
        self.planes[number].replicas.handle(UpdateMetadataRequest(5, 7, -1, {P: state}, live))

    def elect(self, leader: int, isr: tuple[int, ...] = BROKERS, told: tuple[int, ...] = BROKERS) -> dict[int, Answer]:
        """Write the state znode with the next leader epoch, and tell some brokers, the leader first."""
        self.epoch += 1
        state = znodes.State(leader, self.epoch, isr, 7)
        path = znodes.state(P)
        if self.tools.exists(path) is None:
            _, stat = self.tools.create(path, state.encode())
        else:
            stat = self.tools.set(path, state.encode())
        told_state = LeaderAndIsrState(Leadership(leader, self.epoch, isr, stat.version, 7), BROKERS, False)
        request = LeaderAndIsrRequest(5, 7, -1, {P: told_state}, ())
        first = sorted((number for number in told if number in self.planes), key=lambda number: number != leader)
        return {number: self.planes[number].replicas.handle(request, 12, self.now) for number in first}

    def partition(self, number: int) -> Partition:
        """Return a broker's partition."""
        return self.planes[number].replicas.partitions[P]

    def state(self) -> znodes.State:
        """Return what the state znode says."""
        return znodes.State.decode(P, self.tools.get(znodes.state(P))[0])

    def log(self, number: int) -> list[bytes | None]:
        """Return the values in a broker's log."""
        log = self.partition(number).log
        assert log is not None
        return values(log)

    # Clients and followers

    def produce(self, leader: int, *records: bytes, acks: int = 1, partition: TopicPartition = P) -> list[Produced]:
        """Produce one batch; return the answers, to which a late one is added when it comes."""
        answers: list[Produced] = []
        request = ProduceRequest(acks, {partition: batch(*records)}, 1_000)
        self.planes[leader].handle_produce(request, self.now, lambda done: answers.append(done[partition]))
        return answers

    def consume(self, leader: int, offset: int = 0, max_wait_ms: int = 0, epoch: int = -1) -> list[Fetched]:
        """Fetch as a consumer; return the answers, to which a late one is added when it comes."""
        answers: list[Fetched] = []
        request = FetchRequest(CONSUMER, -1, {P: FetchPosition(offset, epoch)}, max_wait_ms)
        self.planes[leader].handle_fetch(request, self.now, lambda fetched: answers.append(fetched[P]))
        return answers

    def answer(self, leader: int, request: FollowersRequest) -> Any:
        """Return what a leader answers to a follower at once, None if it waits."""
        plane = self.planes[leader]
        if isinstance(request, OffsetsForLeaderEpochRequest):
            return plane.handle_offsets_for_leader_epoch(request)
        if isinstance(request, ListOffsetsRequest):
            return plane.handle_list_offsets(request)
        answers: list[Any] = []
        plane.handle_fetch(request, self.now, answers.append)
        if not answers:
            self.now += request.max_wait_ms
            plane.tick(self.now)
        return answers[0]

    def ask(self, follower: int) -> FollowersRequest | None:
        """Have a follower ask its leader once, and take the answer."""
        fetchers = self.planes[follower].fetchers
        for leader in fetchers.leaders():
            request = fetchers.next_request(leader, self.now)
            if request is None:
                continue
            if leader in self.planes:
                fetchers.take(leader, self.answer(leader, request), self.now)
            else:
                fetchers.lost(leader, self.now)
            return request
        return None

    def sync(self, *followers: int, rounds: int = 6) -> None:
        """Have followers ask in turns until all has been said."""
        for _ in range(rounds):
            for follower in followers:
                self.ask(follower)


@pytest.fixture
def brokers() -> Iterator[Callable[..., Brokers]]:
    """Return a function that starts three brokers."""
    made: list[Brokers] = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:

        def start(era: Spec = FIXED, **settings: int) -> Brokers:
            made.append(Brokers(Path(name) / str(len(made)), era, Settings(**settings)))
            return made[-1]

        yield start
        for one in made:
            one.close()


Start = Callable[..., Brokers]


def test_replication(brokers: Start) -> None:
    """What is produced reaches the followers by fetches; the high watermark follows, first the leader's, then theirs."""
    cluster = brokers()
    cluster.elect(1)
    assert cluster.produce(1, b"a", b"b") == [Produced(Code.NONE, 0)]
    assert cluster.produce(1, b"c") == [Produced(Code.NONE, 2)]
    assert cluster.partition(1).high_watermark == 0
    assert cluster.consume(1) == [Fetched(Code.NONE, 0, 0, b"")]
    cluster.sync(2)
    assert cluster.partition(1).high_watermark == 0
    cluster.sync(2, 3)

    assert cluster.log(1) == cluster.log(2) == cluster.log(3) == [b"a", b"b", b"c"]
    assert [cluster.partition(number).high_watermark for number in BROKERS] == [3, 3, 3]
    (fetched,) = cluster.consume(1)
    log = cluster.partition(1).log
    assert log is not None and fetched == Fetched(Code.NONE, 3, 0, log.read(0, 1 << 20))


def test_isr_in_zookeeper(brokers: Start) -> None:
    """Who lags too long leaves the ISR by a conditional write, and the high watermark goes on; who has caught up comes back."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2)
    cluster.now += 30_001
    cluster.ask(2)
    cluster.planes[1].isr.shrink_all(cluster.now)
    assert cluster.state() == znodes.State(1, 0, (1, 2), 7)
    assert (cluster.partition(1).isr, cluster.partition(1).version, cluster.partition(1).high_watermark) == ((1, 2), 1, 1)
    cluster.sync(3)
    assert cluster.state().isr == cluster.partition(1).isr == (1, 2, 3)


def test_an_isr_write_meets_another_version(brokers: Start) -> None:
    """An ISR write with an old version is skipped, and nothing changes."""
    cluster = brokers()
    cluster.elect(1)
    cluster.tools.set(znodes.state(P), znodes.State(2, 1, (2,), 7).encode())
    assert cluster.planes[1].try_shrink_isr(P, (3,), cluster.now) == IsrWrite.SKIPPED
    assert (cluster.partition(1).isr, cluster.partition(1).pending_isr) == (BROKERS, None)
    assert cluster.state().isr == (2,)


def test_eras_have_all_of_it(brokers: Start) -> None:
    """A record reaches all logs in every era."""
    for era in (FIXED, ERA_2_8, ERA_0_10, BUG["KIP-101"].on(FIXED)):
        cluster = brokers(era)
        cluster.elect(1)
        cluster.produce(1, b"a")
        cluster.sync(2, 3)
        assert [cluster.log(number) for number in BROKERS] == [[b"a"]] * 3
