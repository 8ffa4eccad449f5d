"""Leaders and followers on real logs: produce, fetch, the high watermark, the ISR in ZooKeeper, truncation, and what fails."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_log import MEMORY, batch, values

from kafka_spec.impl.broker.fetcher import FollowersRequest
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.broker.partition import UNKNOWN_END, Follower, HostedPartition
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    EARLIEST,
    LATEST,
    EpochPosition,
    Fetched,
    FetchPosition,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.responses import ControllerResponse
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.data_plane import DataPlane
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import encode_broker
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED

P = TopicPartition("orders", 0)
BROKERS = (1, 2, 3)


class DataPlanes:
    """Brokers 1, 2 and 3 with one partition; the test acts as controller: it writes the state znode and sends the requests."""

    def __init__(self, folder: Path, era: Spec, settings: Settings, config: LogConfig | None) -> None:
        self.folder, self.era, self.settings, self.config = folder, era, settings, config
        self.now = 1_000_000
        self.epoch = -1
        self.ensemble = Ensemble()
        self.tools = self.ensemble.connect()
        for path in (*znodes.PERSISTENT, znodes.topic(P.topic), *znodes.partition_parents(P)):
            self.tools.create(path)
        self.requests: list[LeaderAndIsrRequest] = []
        """All that were made."""
        self.lines: list[str] = []
        self.planes: dict[int, DataPlane] = {}
        self.sessions: dict[int, MemorySession] = {}
        for number in BROKERS:
            self.start(number)

    def start(self, number: int) -> DataPlane:
        """Start a broker's process on its folder: registered, and with the live brokers in its cache."""
        self.sessions[number] = self.ensemble.connect()
        registration = encode_broker(BrokerRegistration(number, ()))
        _, stat = self.sessions[number].create(znodes.broker(number), registration, ephemeral=True)
        log = StateChangeLog(self.lines.append, lambda: 0.0)
        replicas = ReplicaManager(number, self.era, self.folder / str(number), log, self.config, self.settings)
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
        """Send a broker the live brokers and the partition's metadata."""
        live = tuple(BrokerRegistration(one, ()) for one in alive)
        state = UpdateMetadataState(Leadership(-1, self.epoch, (), 0, 7), BROKERS, ())
        self.planes[number].replicas.handle(UpdateMetadataRequest(5, 7, -1, {P: state}, live), 0)

    def elect(
        self, leader: int, isr: tuple[int, ...] = BROKERS, reported: tuple[int, ...] = BROKERS
    ) -> dict[int, ControllerResponse]:
        """Write the state znode with the next leader epoch, and send it to some brokers, the leader first."""
        self.epoch += 1
        state = znodes.State(leader, self.epoch, isr, 7)
        path = znodes.state(P)
        if self.tools.exists(path) is None:
            _, stat = self.tools.create(path, state.encode())
        else:
            stat = self.tools.set(path, state.encode())
        told_state = LeaderAndIsrState(Leadership(leader, self.epoch, isr, stat.version, 7), BROKERS, False)
        request = LeaderAndIsrRequest(5, 7, -1, {P: told_state}, ())
        self.requests.append(request)
        first = sorted((number for number in reported if number in self.planes), key=lambda number: number != leader)
        return {number: self.planes[number].replicas.handle(request, self.now, 12) for number in first}

    def partition(self, number: int) -> HostedPartition:
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
        """Return a leader's immediate answer to a follower, None if it waits."""
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
def brokers() -> Iterator[Callable[..., DataPlanes]]:
    """Return a function that starts three brokers."""
    made: list[DataPlanes] = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:

        def start(era: Spec = FIXED, config: LogConfig | None = None, **settings: int) -> DataPlanes:
            made.append(DataPlanes(Path(name) / str(len(made)), era, Settings(replica_fetch_wait_max_ms=10, **settings), config))
            return made[-1]

        yield start
        for one in made:
            one.close()


Start = Callable[..., DataPlanes]


def test_replication(brokers: Start) -> None:
    """Produced records reach the followers by fetches; then the high watermark rises, first the leader's, then theirs."""
    cluster = brokers()
    cluster.elect(1)
    assert cluster.produce(1, b"a", b"b") == [Produced(ErrorCode.NONE, 0)]
    assert cluster.produce(1, b"c") == [Produced(ErrorCode.NONE, 2)]
    assert cluster.partition(1).high_watermark == 0
    assert cluster.consume(1) == [Fetched(ErrorCode.NONE, 0, 0, b"")]
    cluster.sync(2)
    assert cluster.partition(1).high_watermark == 0
    cluster.sync(2, 3)

    assert cluster.log(1) == cluster.log(2) == cluster.log(3) == [b"a", b"b", b"c"]
    assert [cluster.partition(number).high_watermark for number in BROKERS] == [3, 3, 3]
    (fetched,) = cluster.consume(1)
    log = cluster.partition(1).log
    assert log is not None and fetched == Fetched(ErrorCode.NONE, 3, 0, log.read(0, 1 << 20))


def test_acks(brokers: Start) -> None:
    """Acks 0 is not answered, 1 at once, -1 when the high watermark has passed; anything else is refused."""
    cluster = brokers()
    cluster.elect(1)
    assert cluster.produce(1, b"a", acks=0) == []
    assert cluster.produce(1, b"b", acks=1) == [Produced(ErrorCode.NONE, 1)]
    answers = cluster.produce(1, b"c", b"d", acks=-1)
    assert cluster.produce(1, b"e", acks=2) == [Produced(ErrorCode.INVALID_REQUIRED_ACKS)]
    cluster.sync(2)
    assert (answers, len(cluster.planes[1].produces)) == ([], 1)
    cluster.sync(3)
    assert (answers, len(cluster.planes[1].produces)) == ([Produced(ErrorCode.NONE, 2)], 0)
    assert cluster.log(3) == [b"a", b"b", b"c", b"d"]


def test_alone_in_the_isr(brokers: Start) -> None:
    """A leader that is the whole ISR commits what it appends, so acks=all is answered at once."""
    cluster = brokers()
    cluster.elect(1, isr=(1,))
    assert cluster.produce(1, b"a", acks=-1) == [Produced(ErrorCode.NONE, 0)]
    assert cluster.partition(1).high_watermark == 1


def test_produce_is_refused(brokers: Start) -> None:
    """Nothing is appended for a partition that is unknown, not hosted, led by another, or for junk; each has Kafka's code."""
    cluster = brokers()
    cluster.elect(1, reported=(1, 2))
    assert cluster.produce(1, b"a", partition=TopicPartition("none", 0)) == [Produced(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert cluster.produce(3, b"a") == cluster.produce(2, b"a") == [Produced(ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    for junk, code in ((b"junk", ErrorCode.CORRUPT_MESSAGE), (b"", ErrorCode.INVALID_RECORD)):
        answers: list[Produced] = []
        request = ProduceRequest(1, {P: junk})
        cluster.planes[1].handle_produce(request, cluster.now, lambda done, answers=answers: answers.append(done[P]))
        assert answers == [Produced(code)]
    assert cluster.log(1) == cluster.log(2) == []


def test_min_insync_replicas(brokers: Start) -> None:
    """With acks=all an ISR that is too small is an error before appending or, if it shrinks then, after; acks=1 ignores it."""
    cluster = brokers(min_insync_replicas=2)
    cluster.elect(1, isr=(1, 2))
    answers = cluster.produce(1, b"a", acks=-1)
    assert cluster.planes[1].try_shrink_isr(P, (2,), cluster.now) == IsrWrite.WRITTEN
    assert answers == []
    assert cluster.planes[1].advance_high_watermark(P, cluster.now + 30_001)
    assert answers == [Produced(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)]
    assert cluster.produce(1, b"b", acks=-1) == [Produced(ErrorCode.NOT_ENOUGH_REPLICAS)]
    assert cluster.produce(1, b"c", acks=1) == [Produced(ErrorCode.NONE, 1)]
    assert cluster.log(1) == [b"a", b"c"]


def test_a_produce_waits_in_vain(brokers: Start) -> None:
    """A delayed produce is answered with a timeout at its deadline, and with an error at once when leadership is lost."""
    cluster = brokers()
    cluster.elect(1)
    late, lost = cluster.produce(1, b"a", acks=-1), []
    cluster.planes[1].tick(cluster.now + 999)
    assert late == []
    assert cluster.planes[1].next_tick(cluster.now + 999) == cluster.now + 1_000
    cluster.planes[1].tick(cluster.now + 1_000)
    assert late == [Produced(ErrorCode.REQUEST_TIMED_OUT)]
    lost = cluster.produce(1, b"b", acks=-1)
    cluster.elect(2, reported=(1,))
    assert lost == [Produced(ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    cluster.planes[1].tick(cluster.now + 9_000)
    assert (len(late), len(lost)) == (1, 1)


def test_one_partition_of_two_is_refused(brokers: Start) -> None:
    """A produce to two partitions answers once, each partition for itself."""
    cluster = brokers()
    cluster.elect(1)
    answers: list[Any] = []
    request = ProduceRequest(-1, {P: batch(b"a"), TopicPartition("none", 0): batch(b"b")})
    cluster.planes[1].handle_produce(request, cluster.now, answers.append)
    cluster.sync(2, 3)
    assert answers == [{P: Produced(ErrorCode.NONE, 0), TopicPartition("none", 0): Produced(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}]


# Fetching


def test_a_consumer_waits_for_the_high_watermark(brokers: Start) -> None:
    """A consumer's fetch that finds nothing waits until the high watermark has risen, or until its time is up."""
    cluster = brokers()
    cluster.elect(1)
    early = cluster.consume(1, max_wait_ms=100)
    cluster.produce(1, b"a")
    cluster.planes[1].tick(cluster.now + 99)
    assert early == []
    cluster.planes[1].tick(cluster.now + 100)
    assert early == [Fetched(ErrorCode.NONE, 0, 0, b"")]
    late = cluster.consume(1, max_wait_ms=100_000)
    cluster.sync(2, 3)
    assert [fetched.high_watermark for fetched in late] == [1]
    assert late == cluster.consume(1)


def test_a_followers_fetch_waits_for_an_append(brokers: Start) -> None:
    """A follower's fetch that finds nothing is answered by the next append, before anything is committed."""
    cluster = brokers()
    cluster.elect(1)
    cluster.sync(2)
    request = cluster.planes[2].fetchers.next_request(1, cluster.now)
    assert isinstance(request, FetchRequest)
    answers: list[Any] = []
    cluster.planes[1].handle_fetch(request, cluster.now, answers.append)
    assert answers == []
    cluster.produce(1, b"a")
    assert [fetched[P].error for fetched in answers] == [ErrorCode.NONE]
    assert answers[0][P].records


@pytest.mark.parametrize("change", ["leader", "epoch"])
def test_a_fetch_hears_that_leadership_is_lost(brokers: Start, change: str) -> None:
    """A fetch that waits is refused as soon as the broker follows, or leads in another epoch than the fetch knows."""
    cluster = brokers()
    cluster.elect(1)
    answers = cluster.consume(1, max_wait_ms=100_000, epoch=-1 if change == "leader" else 0)
    cluster.elect(2 if change == "leader" else 1, reported=(1,))
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER if change == "leader" else ErrorCode.FENCED_LEADER_EPOCH
    assert [fetched.error for fetched in answers] == [code]


def test_fetches_are_bounded(brokers: Start) -> None:
    """A fetch waits for min_bytes, but not across the end of a segment; at least one batch comes, whatever its size."""
    cluster = brokers(config=LogConfig(segment_bytes=150))
    cluster.elect(1, isr=(1,))
    plane, size = cluster.planes[1], len(batch(b"a"))
    answers: list[Any] = []
    position = {P: FetchPosition(0, -1, 1)}
    plane.handle_fetch(FetchRequest(CONSUMER, -1, position, 1_000, 10 * size), cluster.now, answers.append)
    cluster.produce(1, b"a")
    cluster.produce(1, b"b")
    assert answers == []
    cluster.produce(1, b"c")
    assert [len(fetched[P].records) for fetched in answers] == [size]


def test_fetches_out_of_range(brokers: Start) -> None:
    """An offset beyond the log's end is refused; one between high watermark and end is accepted."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a", b"b")
    assert cluster.consume(1, 2) == [Fetched(ErrorCode.NONE, 0, 0, b"")]
    assert cluster.consume(1, 3) == [Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)]


@pytest.mark.parametrize(("era", "checked"), [(FIXED, True), (ERA_2_8, True), (ERA_0_10, False)], ids=["fixed", "2.8", "0.10"])
def test_leader_epochs_are_compared(brokers: Start, era: Spec, checked: bool) -> None:
    """In eras that compare the fetcher's leader epoch, that comes before the check of leadership; an unknown epoch passes."""
    cluster = brokers(era)
    for _ in range(3):
        cluster.elect(1, reported=(1, 2))
    for leader, otherwise in ((1, ErrorCode.NONE), (2, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        for epoch, refusal in (
            (-1, otherwise),
            (1, ErrorCode.FENCED_LEADER_EPOCH),
            (2, otherwise),
            (3, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            code = refusal if checked else otherwise
            plane = cluster.planes[leader]
            assert [fetched.error for fetched in cluster.consume(leader, epoch=epoch)] == [code]
            asked = OffsetsForLeaderEpochRequest(3, {P: EpochPosition(epoch, 0)})
            assert plane.handle_offsets_for_leader_epoch(asked)[P].error == code
            assert plane.handle_list_offsets(ListOffsetsRequest(3, {P: OffsetQuery(LATEST, epoch)}))[P].error == code


def test_offsets_are_listed(brokers: Start) -> None:
    """The earliest and latest offset, and those of timestamps, each with its leader epoch.

    A consumer sees none above the high watermark. While that lags behind the start of the leader's epoch, it is told to ask again,
    but for a timestamp that is found below (KIP-207).
    """
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2, 3)
    answers: list[Any] = []
    cluster.planes[1].handle_produce(ProduceRequest(1, {P: batch(b"b", timestamp=50)}), cluster.now, answers.append)

    def listed(timestamp: int, replica: int = CONSUMER) -> ListedOffset:
        return cluster.planes[1].handle_list_offsets(ListOffsetsRequest(replica, {P: OffsetQuery(timestamp)}))[P]

    assert (listed(EARLIEST).offset, listed(LATEST).offset, listed(LATEST, 2).offset, listed(0).offset) == (0, 1, 2, 0)
    assert (listed(50).offset, listed(50, 2).offset, listed(51, 2).offset) == (-1, 1, -1)
    cluster.elect(1)
    later = ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
    assert (listed(LATEST), listed(50), listed(51)) == (later, later, later)
    assert (listed(LATEST, 2), listed(50, 2)) == (ListedOffset(ErrorCode.NONE, 2, 1), ListedOffset(ErrorCode.NONE, 1, 0))
    assert listed(EARLIEST) == listed(0) == ListedOffset(ErrorCode.NONE, 0, 0)
    cluster.sync(2, 3)
    assert (listed(LATEST), listed(50)) == (ListedOffset(ErrorCode.NONE, 2, 1), ListedOffset(ErrorCode.NONE, 1, 0))
    assert listed(51) == ListedOffset(ErrorCode.NONE)


def test_a_stranger_fetches(brokers: Start) -> None:
    """A fetch of a broker without a replica is answered without records, and not recorded."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    answers: list[Any] = []
    cluster.planes[1].handle_fetch(FetchRequest(9, 1, {P: FetchPosition(0)}, 0), cluster.now, answers.append)
    assert answers == [{P: Fetched(ErrorCode.NONE, 0, 0, b"")}]
    assert sorted(cluster.partition(1).followers) == [2, 3]


# The high watermark, and who is caught up


def test_caught_up(brokers: Start) -> None:
    """A follower was last caught up when it fetched from the end, or at its last fetch, if it now has the records of that time."""
    cluster = brokers()
    cluster.elect(1)
    start, partition = cluster.now, cluster.partition(1)
    follower = partition.followers[2]
    assert follower == Follower(UNKNOWN_END, start, 0, start)
    for value in (b"a", b"b", b"c"):
        cluster.produce(1, value)
    for now, offset, caught_up in ((10, 0, 0), (20, 2, 0), (30, 3, 30), (40, 3, 40)):
        assert partition.note_fetch(2, offset, 7, start + now) == (now != 40)
        assert (follower.end, follower.caught_up_at, follower.leader_end) == (offset, start + caught_up, 3)
    cluster.produce(1, b"d")
    for now, offset, caught_up in ((50, 3, 40), (60, 3, 40), (70, 3, 40)):
        partition.note_fetch(2, offset, 7, start + now)
        assert follower.caught_up_at == start + caught_up
    cluster.produce(1, b"e")
    partition.note_fetch(2, 4, 7, start + 80)
    assert (follower.caught_up_at, partition.out_of_sync(start + 80, 9)) == (start + 70, (2, 3))
    assert partition.out_of_sync(start + 80, 10) == (3,)


@pytest.mark.parametrize(("era", "end"), [(FIXED, 1), (ERA_2_8, 2)], ids=["fixed", "era_2_8"])
def test_a_late_fetch_of_an_earlier_process(brokers: Start, era: Spec, end: int) -> None:
    """Records of an ended process that its successor lacks do not count as replicated, in eras that compare broker epochs."""
    cluster = brokers(era)
    cluster.elect(1, isr=(1, 2))
    for value in (b"a", b"b"):
        cluster.produce(1, value)
    plane, epoch = cluster.planes[1], cluster.planes[2].replicas.broker_epoch
    plane.note_fetch(P, 2, 1, epoch, cluster.now)
    assert plane.note_fetch(P, 2, 2, epoch - 1, cluster.now) == (era is ERA_2_8)
    plane.advance_high_watermark(P, cluster.now)
    assert cluster.partition(1).followers[2].end == cluster.partition(1).high_watermark == end


def test_who_holds_the_high_watermark(brokers: Start) -> None:
    """The ISR counts, and so do recently caught-up followers that may join; `fixed` counts only live ones (KAFKA-15021)."""
    for era, alive, held in ((FIXED, BROKERS, 0), (FIXED, (1, 2), 1), (ERA_2_8, (1, 2), 0)):
        cluster = brokers(era)
        cluster.elect(1, isr=(1, 2))
        cluster.tell_metadata(1, alive)
        partition = cluster.partition(1)
        partition.note_fetch(3, 0, 7, cluster.now)
        cluster.produce(1, b"a")
        partition.note_fetch(2, 1, 7, cluster.now)
        cluster.planes[1].advance_high_watermark(P, cluster.now)
        assert partition.high_watermark == held
        cluster.planes[1].advance_high_watermark(P, cluster.now + 30_001)
        assert partition.high_watermark == 1


def test_the_high_watermark_goes_step_by_step(brokers: Start) -> None:
    """It advances to the given offset at most, never beyond the log ends of the ISR, and never back."""
    cluster = brokers()
    cluster.elect(1, isr=(1, 2))
    for value in (b"a", b"b", b"c"):
        cluster.produce(1, value)
    plane = cluster.planes[1]
    plane.note_fetch(P, 2, 2, 7, cluster.now)
    for at_most, moved, reached in ((1, True, 1), (1, False, 1), (None, True, 2), (3, False, 2)):
        assert (plane.advance_high_watermark(P, cluster.now, at_most), cluster.partition(1).high_watermark) == (moved, reached)
    plane.note_fetch(P, 2, 0, 7, cluster.now)
    assert not plane.advance_high_watermark(P, cluster.now)
    assert cluster.partition(1).high_watermark == 2


# The ISR


def test_isr_in_zookeeper(brokers: Start) -> None:
    """A lagging follower leaves the ISR by a conditional write, and the high watermark advances; it rejoins once caught up."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2)
    cluster.now += 30_001
    cluster.ask(2)
    cluster.planes[1].isr.shrink_all(cluster.now)
    assert cluster.state() == znodes.State(1, 0, (1, 2), 7)
    assert (cluster.partition(1).isr, cluster.partition(1).partition_epoch, cluster.partition(1).high_watermark) == ((1, 2), 1, 1)
    cluster.sync(3)
    assert cluster.state().isr == cluster.partition(1).isr == (1, 2, 3)


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=["fixed", "era_2_8", "era_0_10"])
def test_an_isr_write_meets_another_version(brokers: Start, era: Spec) -> None:
    """An ISR write with an old version is skipped; since 2.7 both ISRs count, and nothing is tried, until the next LeaderAndIsr."""
    cluster = brokers(era)
    cluster.elect(1, isr=(1, 2))
    plane, partition = cluster.planes[1], cluster.partition(1)
    cluster.produce(1, b"a")
    plane.note_fetch(P, 3, 1, cluster.planes[3].replicas.broker_epoch, cluster.now)
    cluster.tools.set(znodes.state(P), znodes.State(2, 1, (2,), 7).encode())
    assert plane.try_expand_isr(P, 3, cluster.now) == IsrWrite.SKIPPED
    keeps = era is not ERA_0_10
    assert (partition.isr, partition.maximal_isr) == ((1, 2), (1, 2, 3) if keeps else (1, 2))
    assert cluster.state().isr == (2,)
    assert plane.try_shrink_isr(P, (2,), cluster.now) == (IsrWrite.NOT_NEEDED if keeps else IsrWrite.SKIPPED)
    plane.tick(cluster.now)
    assert partition.maximal_isr == ((1, 2, 3) if keeps else (1, 2))
    cluster.elect(1, isr=(1, 2))
    assert (partition.isr, partition.pending_isr, partition.maximal_isr) == ((1, 2), None, (1, 2))
    assert plane.try_shrink_isr(P, (2,), cluster.now) == IsrWrite.WRITTEN


@pytest.mark.parametrize(("reads_back", "loss"), [(True, Loss.REPLY), (False, Loss.REPLY), (False, Loss.REQUEST)])
def test_an_isr_write_is_not_answered(brokers: Start, reads_back: bool, loss: Loss) -> None:
    """A write without an answer stays pending, and counts for both; tried again, it is known for done (KAFKA-1382), or skipped."""
    cluster = brokers(FIXED if reads_back else MODELS["zookeeper/KAFKA-1382"])
    cluster.elect(1, isr=(1, 2))
    plane, partition = cluster.planes[1], cluster.partition(1)
    cluster.produce(1, b"a")
    cluster.now += 30_001
    cluster.sessions[1].lose(loss)
    assert plane.try_shrink_isr(P, (2,), cluster.now) == IsrWrite.UNANSWERED
    assert (partition.isr, partition.pending_isr, partition.maximal_isr, partition.partition_epoch) == ((1, 2), (1,), (1, 2), 0)
    assert not plane.advance_high_watermark(P, cluster.now)
    assert plane.try_shrink_isr(P, (2,), cluster.now) == IsrWrite.NOT_NEEDED
    plane.tick(cluster.now)
    assert cluster.state().isr == (1,)
    written = reads_back or loss == Loss.REQUEST
    assert (partition.pending_isr, partition.isr_write_refused) == (None, False)
    assert (partition.isr, partition.partition_epoch, partition.high_watermark) == (((1,), 1, 1) if written else ((1, 2), 0, 0))
    assert plane.retry_isr_write(P, cluster.now) == IsrWrite.NOT_NEEDED


@pytest.mark.parametrize("counts", [True, False])
def test_an_unanswered_write_is_overtaken(brokers: Start, counts: bool) -> None:
    """A leader adds a follower without an answer, and another writes: since 2.8 it goes on to wait for that follower."""
    cluster = brokers(FIXED if counts else MODELS["zookeeper/unanswered-expansion-forgotten"])
    cluster.elect(1, isr=(1,))
    plane, partition = cluster.planes[1], cluster.partition(1)
    plane.note_fetch(P, 2, 0, cluster.planes[2].replicas.broker_epoch, cluster.now)
    cluster.sessions[1].lose(Loss.REPLY, after=1)  # it first reads the follower's registration
    assert plane.try_expand_isr(P, 2, cluster.now) == IsrWrite.UNANSWERED
    assert cluster.state().isr == (1, 2) == partition.maximal_isr
    cluster.tools.set(znodes.state(P), znodes.State(2, 1, (1, 2), 1).encode())
    assert plane.retry_isr_write(P, cluster.now) == IsrWrite.SKIPPED
    assert (partition.isr, partition.maximal_isr) == ((1,), (1, 2) if counts else (1,))
    cluster.now += 30_001  # a leader also waits for who has caught up within replica.lag.time.max.ms
    cluster.produce(1, b"a")
    assert partition.high_watermark == (0 if counts else 1)


def test_an_isr_write_without_a_session(brokers: Start) -> None:
    """A session that is over leaves the write pending until there is another; a new leader epoch ends the waiting."""
    cluster = brokers()
    cluster.elect(1, isr=(1, 2))
    plane = cluster.planes[1]
    cluster.ensemble.expire(cluster.sessions[1])
    assert plane.try_shrink_isr(P, (2,), cluster.now) == IsrWrite.UNANSWERED
    plane.tick(cluster.now)
    assert (cluster.partition(1).pending_isr, cluster.state().isr) == ((1,), (1, 2))
    cluster.sessions[1] = cluster.ensemble.connect()
    plane.session_opened(cluster.sessions[1])
    plane.tick(cluster.now + 2_500)
    assert cluster.state().isr == cluster.partition(1).isr == (1,)
    cluster.ensemble.expire(cluster.sessions[1])
    cluster.sync(2)
    cluster.elect(1, isr=(1, 2))
    plane.try_shrink_isr(P, (2,), cluster.now)
    cluster.elect(1, isr=(1, 2, 3))
    assert (cluster.partition(1).pending_isr, cluster.partition(1).isr) == (None, BROKERS)


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=["fixed", "era_2_8", "era_0_10"])
@pytest.mark.parametrize("lacks", ["nothing", "high watermark", "epoch start", "life", "generation", "registration"])
def test_who_may_join(brokers: Start, era: Spec, lacks: str) -> None:
    """A follower joins the ISR with all that is committed, and, as the era has it, the epoch's start, its life and generation."""
    cluster = brokers(era)
    cluster.elect(1, isr=(1, 2))
    cluster.produce(1, b"a")
    cluster.sync(2)
    cluster.produce(1, b"b")
    cluster.elect(1, isr=(1, 2), reported=(1,))
    partition, plane = cluster.partition(1), cluster.planes[1]
    assert (partition.high_watermark, partition.epoch_start) == (1, 2)
    if lacks == "life":
        cluster.tell_metadata(1, (1, 2))
    if lacks == "registration":
        cluster.ensemble.expire(cluster.sessions[3])
    epoch = cluster.planes[3].replicas.broker_epoch - (lacks == "generation")
    end = {"high watermark": 0, "epoch start": 1}.get(lacks, 2)
    plane.note_fetch(P, 3, end, epoch, cluster.now)
    kept_out = {
        "zookeeper/fixed": ("high watermark", "epoch start", "life", "generation", "registration"),
        "zookeeper/era_2_8": ("high watermark", "epoch start"),
        "zookeeper/era_0_10": ("high watermark",),
    }[era.name]
    assert plane.try_expand_isr(P, 3, cluster.now) == (IsrWrite.NOT_NEEDED if lacks in kept_out else IsrWrite.WRITTEN)
    assert (3 in cluster.state().isr) == (lacks not in kept_out)


def test_isr_changes_are_told(brokers: Start) -> None:
    """Changed ISRs are reported in one notification, after 5 seconds without a change or after a minute, whichever is first."""
    cluster = brokers()
    cluster.elect(1)
    plane, start = cluster.planes[1], cluster.now

    def reported() -> list[str]:
        plane.isr.propagate(cluster.now)
        return cluster.tools.children(znodes.ISR_CHANGE_NOTIFICATION)

    assert reported() == []
    plane.try_shrink_isr(P, (3,), cluster.now)
    cluster.now = start + 5_000
    assert reported() == []
    cluster.now = start + 5_001
    cluster.sessions[1].lose(Loss.REQUEST)
    assert reported() == []
    (name,) = reported()
    path = f"{znodes.ISR_CHANGE_NOTIFICATION}/{name}"
    assert (name, znodes.decode_partitions(path, cluster.tools.get(path)[0])) == ("isr_change_0000000000", (P,))
    assert len(reported()) == 1
    for step in range(1, 21):
        cluster.now = start + 5_001 + 3_000 * step
        plane.try_shrink_isr(P, (2,), cluster.now)
        plane.isr.changed_at = cluster.now
        assert len(reported()) == 1
    cluster.now += 1
    assert len(reported()) == 2


def test_eras_have_all_of_it(brokers: Start) -> None:
    """A record reaches all logs in every era."""
    for era in (FIXED, ERA_2_8, ERA_0_10, MODELS["zookeeper/KIP-101"]):
        cluster = brokers(era)
        cluster.elect(1)
        cluster.produce(1, b"a")
        cluster.sync(2, 3)
        assert [cluster.log(number) for number in BROKERS] == [[b"a"]] * 3
