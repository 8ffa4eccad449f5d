"""A leader and its followers compared with a list: committed records stay, in any order of requests, crashes and epochs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from test_data_plane import BROKERS, DataPlanes, P
from test_log import MEMORY, batch

from kafka_spec.impl.broker.fetcher import FollowersRequest
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest
from kafka_spec.impl.protocol.data_requests import Produced, ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.zookeeper.fixed import FIXED


class ReplicatedLog(RuleBasedStateMachine):
    """Three brokers; requests of a controller, which sees crashes at once, and answers of leaders arrive when a rule says so."""

    truncation_on_fetch = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.settings = Settings(min_insync_replicas=2, replica_fetch_wait_max_ms=0, truncation_on_fetch=self.truncation_on_fetch)
        small = LogConfig(segment_bytes=300, index_interval_bytes=80)
        self.cluster = DataPlanes(self.folder, FIXED, self.settings, small)
        self.controller: dict[int, list[LeaderAndIsrRequest]] = {number: [] for number in BROKERS}
        self.answers: dict[tuple[int, int], Any] = {}
        """The answer on its way from a leader to a follower, None if the leader was down."""
        self.count = 0
        self.committed: list[bytes | None] = []
        self.acknowledged: list[bytes] = []
        self.elect(1, BROKERS)

    def elect(self, leader: int, isr: tuple[int, ...]) -> None:
        """Write the state znode; live brokers will receive it."""
        self.cluster.elect(leader, isr, reported=())
        for number in self.cluster.planes:
            self.controller[number].append(self.cluster.requests[-1])

    def hosts(self, number: int) -> bool:
        """Whether a broker runs, and has received its partition."""
        return number in self.cluster.planes and P in self.cluster.planes[number].replicas.partitions

    # What happens

    @rule(broker=st.sampled_from(BROKERS), acks=st.sampled_from([1, -1]), records=st.integers(1, 3))
    def produce(self, broker: int, acks: int, records: int) -> None:
        """A client produces to the broker that it believes to lead."""
        if broker not in self.cluster.planes:
            return
        values = [b"%d" % (self.count + n) for n in range(records)]
        self.count += records

        def answered(done: dict[Any, Produced]) -> None:
            if acks == -1 and done[P].error == ErrorCode.NONE:
                self.acknowledged.extend(values)

        self.cluster.planes[broker].handle_produce(ProduceRequest(acks, {P: batch(*values)}), self.cluster.now, answered)

    @rule(follower=st.sampled_from(BROKERS))
    def ask(self, follower: int) -> None:
        """A follower asks, and its leader answers, or is not there; the answer is on its way."""
        if follower not in self.cluster.planes:
            return
        fetchers = self.cluster.planes[follower].fetchers
        for leader in fetchers.leaders():
            request = fetchers.next_request(leader, self.cluster.now)
            if request is not None:
                self.answers[follower, leader] = self._answer(leader, request)

    def _answer(self, leader: int, request: FollowersRequest) -> Any:
        return self.cluster.answer(leader, request) if leader in self.cluster.planes else None

    @rule(follower=st.sampled_from(BROKERS))
    def take(self, follower: int) -> None:
        """The answers to a follower arrive."""
        if follower not in self.cluster.planes:
            return
        fetchers = self.cluster.planes[follower].fetchers
        for leader in BROKERS:
            answer = self.answers.pop((follower, leader), "none")
            if answer is None:
                fetchers.lost(leader, self.cluster.now)
            elif answer != "none":
                fetchers.take(leader, answer, self.cluster.now)

    @rule(follower=st.sampled_from(BROKERS), times=st.integers(2, 6))
    def keep_up(self, follower: int, times: int) -> None:
        """A follower sends some requests and handles the answers."""
        for _ in range(times):
            self.ask(follower)
            self.take(follower)

    @rule(broker=st.sampled_from(BROKERS))
    def tell(self, broker: int) -> None:
        """The next request of the controller arrives at a broker."""
        if broker in self.cluster.planes and self.controller[broker]:
            self.cluster.planes[broker].replicas.handle(self.controller[broker].pop(0), self.cluster.now, 12)

    @rule(first=st.sampled_from(BROKERS))
    def tell_all(self, first: int) -> None:
        """All requests of the controller arrive, at one broker first."""
        for number in (first, *BROKERS):
            while number in self.cluster.planes and self.controller[number]:
                self.tell(number)

    @rule(ms=st.sampled_from([1_000, 31_000]))
    def wait(self, ms: int) -> None:
        """Time passes for everybody."""
        self.cluster.now += ms
        for plane in self.cluster.planes.values():
            plane.tick(self.cluster.now)

    @precondition(lambda self: len(self.cluster.planes) > 1)
    @rule(broker=st.sampled_from(BROKERS))
    def crash(self, broker: int) -> None:
        """A process ends; the controller takes it out of the ISR, unless it is the last member, and elects."""
        if broker not in self.cluster.planes:
            return
        self.cluster.crash(broker)
        self.controller[broker].clear()
        self.answers = {way: answer for way, answer in self.answers.items() if way[0] != broker}
        state = self.cluster.state()
        left = tuple(number for number in state.isr if number in self.cluster.planes)
        if left:
            self.elect(state.leader if state.leader in left else left[0], left)
        elif state.leader == broker:
            self.elect(-1, state.isr)

    @rule(broker=st.sampled_from(BROKERS))
    def restart(self, broker: int) -> None:
        """A process starts again, and receives the state, or is elected if no other replica can be."""
        if broker in self.cluster.planes:
            return
        self.cluster.start(broker)
        state = self.cluster.state()
        if state.leader == -1 and broker in state.isr:
            self.elect(broker, (broker,))
        else:
            self.controller[broker].append(self.cluster.requests[-1])

    @rule(broker=st.sampled_from(BROKERS))
    def prefer(self, broker: int) -> None:
        """The controller moves leadership to another member of the ISR."""
        state = self.cluster.state()
        if broker in self.cluster.planes and broker in state.isr and state.leader != -1:
            self.elect(broker, state.isr)

    # What must hold

    @invariant()
    def committed_stays(self) -> None:
        """Records below a high watermark are the same on every broker, for ever; and no high watermark is beyond its log."""
        for number in self.cluster.planes:
            if not self.hosts(number) or self.cluster.partition(number).log is None:
                continue
            partition, log = self.cluster.partition(number), self.cluster.log(number)
            assert partition.high_watermark <= len(log)
            below = log[: partition.high_watermark]
            common = min(len(below), len(self.committed))
            assert below[:common] == self.committed[:common]
            if len(below) > common:
                self.committed = below

    @invariant()
    def isr_has_it(self) -> None:
        """Every member of the ISR that runs holds all that is committed; so may any of them be elected."""
        for number in self.cluster.state().isr:
            if self.hosts(number) and self.cluster.partition(number).log is not None:
                assert self.cluster.log(number)[: len(self.committed)] == self.committed

    def teardown(self) -> None:
        """Once all run, know the state and have caught up, all logs are equal, and contain the acknowledged records in order."""
        try:
            for number in BROKERS:
                self.restart(number)
            for _ in range(12):
                for number in BROKERS:
                    while self.controller[number]:
                        self.tell(number)
                    self.keep_up(number, 2)
                self.wait(1_000)
            self.committed_stays()
            self.isr_has_it()
            one, two, three = (self.cluster.log(number) for number in BROKERS)
            assert one == two == three
            assert [value for value in one if value in self.acknowledged] == self.acknowledged
            state = self.cluster.state()
            assert sorted(state.isr) == list(BROKERS)
            assert self.cluster.partition(state.leader).high_watermark == len(one)
        finally:
            self.cluster.close()
            shutil.rmtree(self.folder)


ReplicatedLog.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestReplicatedLog = ReplicatedLog.TestCase


class TruncatedOnFetch(ReplicatedLog):
    """The same, where followers do not ask before they fetch (KIP-595)."""

    truncation_on_fetch = True


TruncatedOnFetch.TestCase.settings = settings(max_examples=30, stateful_step_count=50, deadline=None)
TestTruncatedOnFetch = TruncatedOnFetch.TestCase


def test_a_controller_writes_unconditionally_here() -> None:
    """The test raises the znode's version with each election, so that a leader that does not know it yet writes nothing."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    cluster = DataPlanes(folder, FIXED, Settings(), None)
    try:
        cluster.elect(1)
        cluster.elect(2, reported=(2,))
        assert cluster.tools.get(znodes.state(P))[1].version == cluster.partition(1).partition_epoch + 1
    finally:
        cluster.close()
        shutil.rmtree(folder)
