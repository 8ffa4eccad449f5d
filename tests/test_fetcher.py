"""Followers: truncation, fetches, and the handling of each answer; leader and followers compared with a list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_data_plane import P, Start, brokers
from test_log import batch

from kafka_spec.impl.broker.partition import NEVER, FetchState, Phase
from kafka_spec.impl.log.epochs import LeaderEpochs
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest
from kafka_spec.impl.protocol.data_requests import (
    EARLIEST,
    LATEST,
    EpochEnd,
    Fetched,
    FetchPosition,
    FetchRequest,
    ListOffsetsRequest,
    OffsetsForLeaderEpochRequest,
    Produced,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.decisions.log import divergence_offset, truncation_after_answer
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.state import LogEntry

__all__ = ["brokers"]


def test_truncating_comes_first(brokers: Start) -> None:
    """A follower whose log has an epoch asks where it ends before it fetches; one whose log has none fetches at once."""
    cluster = brokers()
    cluster.elect(1)
    fetchers = cluster.planes[2].fetchers
    assert cluster.planes[2].replicas.fetchers[P] == FetchState(1, 0, 0, Phase.TRUNCATING)
    assert isinstance(cluster.ask(2), FetchRequest)
    cluster.produce(1, b"a")
    cluster.sync(2)
    cluster.elect(1)
    request = fetchers.next_request(1, cluster.now)
    assert isinstance(request, OffsetsForLeaderEpochRequest)
    assert (request.partitions[P].current_epoch, request.partitions[P].leader_epoch) == (1, 0)
    assert fetchers.next_request(1, cluster.now) is None
    fetchers.take(1, cluster.answer(1, request), cluster.now)
    assert cluster.planes[2].replicas.fetchers[P] == FetchState(1, 1, 1)
    request = fetchers.next_request(1, cluster.now)
    assert isinstance(request, FetchRequest)
    assert (request.replica, request.broker_epoch) == (2, cluster.planes[2].replicas.broker_epoch)
    assert (request.partitions[P].offset, request.partitions[P].leader_epoch) == (1, 1)


def test_truncation_on_fetch(brokers: Start) -> None:
    """With KIP-595 a follower fetches at once, is told where its log diverges, and truncates; until then it counts for nothing."""
    cluster = brokers(truncation_on_fetch=True)
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2, 3)
    cluster.produce(1, b"b", b"c")
    cluster.sync(3)
    cluster.elect(2, isr=(2, 3), reported=(2,))
    cluster.produce(2, b"d")
    cluster.elect(2, isr=(2,))
    led = cluster.partition(2)
    before = led.followers[3].end
    request = cluster.planes[3].fetchers.next_request(2, cluster.now)
    assert isinstance(request, FetchRequest)
    assert request.partitions[P] == FetchPosition(3, 2, 1 << 20, last_fetched_epoch=0)
    answer = cluster.answer(2, request)[P]
    assert (answer.error, answer.records, answer.diverging) == (ErrorCode.NONE, b"", EpochEnd(ErrorCode.NONE, 0, 1))
    assert (led.followers[3].end, led.high_watermark) == (before, 2)
    cluster.planes[3].fetchers.take(2, {P: answer}, cluster.now)
    assert cluster.log(3) == [b"a"]
    cluster.sync(3)
    assert cluster.log(3) == cluster.log(2) == [b"a", b"d"]


def test_a_fetch_below_the_start_of_the_log_diverges_nowhere(brokers: Start) -> None:
    """An offset that the leader has deleted is out of range, whatever the last fetched epoch is."""
    cluster = brokers(truncation_on_fetch=True)
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.partition(1).truncate_fully(5)
    for last in (0, 7):
        answers: list[Any] = []
        position = FetchPosition(1, 0, last_fetched_epoch=last)
        cluster.planes[1].handle_fetch(FetchRequest(2, -1, {P: position}, 0), cluster.now, answers.append)
        assert answers[0][P].error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_old_eras_only_fetch(brokers: Start) -> None:
    """In 0.10 a follower fetches from its log's end, without a leader epoch."""
    cluster = brokers(ERA_0_10)
    cluster.elect(1)
    request = cluster.ask(2)
    assert isinstance(request, FetchRequest)
    assert (request.partitions[P].offset, request.partitions[P].leader_epoch) == (0, -1)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_errors_delay(brokers: Start, error: ErrorCode) -> None:
    """After most errors, and after a lost connection, a partition waits before it is asked for again."""
    cluster = brokers(replica_fetch_backoff_ms=100)
    cluster.elect(1)
    fetchers, start = cluster.planes[2].fetchers, cluster.now
    for number in range(3):
        assert fetchers.leaders() == (1,)
        assert fetchers.next_request(1, cluster.now) is not None
        assert fetchers.next_due(1) is None
        if number:
            fetchers.take(1, {P: Fetched(error)}, cluster.now)
        else:
            fetchers.lost(1, cluster.now)
        assert fetchers.next_request(1, cluster.now + 99) is None
        assert fetchers.next_due(1) == cluster.now + 100
        cluster.now += 100
    assert cluster.now == start + 300
    cluster.elect(1)
    assert cluster.planes[2].replicas.fetchers[P].delayed_until == NEVER


def test_fenced(brokers: Start) -> None:
    """A fenced follower stops fetching until a controller sends another leader epoch."""
    cluster = brokers()
    cluster.elect(1)
    cluster.elect(1, reported=(1,))
    cluster.ask(2)
    assert (cluster.planes[2].fetchers.leaders(), cluster.planes[2].fetchers.next_due(1)) == ((), None)
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2)
    assert cluster.log(2) == [b"a"]


def test_late_answers_are_ignored(brokers: Start) -> None:
    """An answer that arrives after the follower received another epoch or leader changes nothing."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    for leader in (1, 3):
        fetchers = cluster.planes[2].fetchers
        request = fetchers.next_request(1, cluster.now)
        assert request is not None
        answer = cluster.answer(1, request)
        assert answer[P].error == ErrorCode.NONE and answer[P].records
        cluster.elect(leader, reported=(1, 2) if leader == 1 else (2,))
        fetchers.take(1, answer, cluster.now)
        assert (cluster.log(2), cluster.planes[2].replicas.fetchers[P].phase) == ([], Phase.TRUNCATING)
    fetchers.take(1, answer, cluster.now)
    assert cluster.log(2) == []


@pytest.mark.parametrize(("era", "taken"), [(FIXED, False), (ERA_2_8, False), (ERA_0_10, True)], ids=["fixed", "2.8", "0.10"])
def test_an_answer_of_an_earlier_epoch(brokers: Start, era: Spec, taken: bool) -> None:
    """A follower of 0.10 takes an answer to a fetch of an earlier leader epoch, if its offset fits; later ones truncate first."""
    cluster = brokers(era)
    cluster.elect(1)
    fetchers = cluster.planes[2].fetchers
    request = fetchers.next_request(1, cluster.now)
    assert isinstance(request, FetchRequest)
    cluster.produce(1, b"old")
    answer = cluster.answer(1, request)
    cluster.elect(1, reported=(2,))
    fetchers.take(1, answer, cluster.now)
    assert cluster.log(2) == ([b"old"] if taken else [])


def test_bad_records(brokers: Start) -> None:
    """Records that are torn are fetched again after a while; those that do not continue the log end the fetching."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.produce(1, b"b")
    fetchers = cluster.planes[2].fetchers
    request = fetchers.next_request(1, cluster.now)
    assert request is not None
    good = cluster.answer(1, request)[P]
    fetchers.take(1, {P: replace(good, records=good.records[:-1])}, cluster.now)
    assert cluster.log(2) == []
    assert cluster.planes[2].replicas.fetchers[P].delayed_until == cluster.now + 1_000
    cluster.now += 1_000
    fetchers.next_request(1, cluster.now)
    fetchers.take(1, {P: replace(good, records=good.records[len(batch(b"a")) :])}, cluster.now)
    assert (cluster.log(2), fetchers.leaders()) == ([], ())


def test_the_leaders_log_is_shorter(brokers: Start) -> None:
    """A follower that fetches beyond the leader's end goes back to it."""
    cluster = brokers(ERA_0_10)
    cluster.elect(2, isr=(2,))
    for value in (b"a", b"b", b"c"):
        cluster.produce(2, value)
    cluster.elect(1)
    cluster.produce(1, b"x")
    assert isinstance(cluster.ask(2), FetchRequest)
    asked = cluster.ask(2)
    assert isinstance(asked, ListOffsetsRequest) and asked.partitions[P].timestamp == LATEST
    assert (cluster.log(2), cluster.partition(2).high_watermark) == ([b"a"], 1)
    assert cluster.planes[2].replicas.fetchers[P] == FetchState(1, 1, 1)


def test_the_leaders_log_starts_later(brokers: Start) -> None:
    """A follower that fetches below the leader's start deletes its log, and continues there."""
    cluster = brokers()
    cluster.elect(1)
    log = cluster.partition(1).log
    assert log is not None
    log.truncate_fully(5)
    cluster.produce(1, b"a")
    asked = [cluster.ask(2) for _ in range(4)]
    assert [type(request) for request in asked] == [FetchRequest, ListOffsetsRequest, ListOffsetsRequest, FetchRequest]
    assert isinstance(asked[2], ListOffsetsRequest) and asked[2].partitions[P].timestamp == EARLIEST
    assert (cluster.log(2), cluster.partition(2).opened.start_offset, cluster.partition(2).high_watermark) == ([b"a"], 5, 5)


def test_several_partitions_share_a_request(brokers: Start) -> None:
    """One request at a time goes to a leader, with all partitions that are ready; others wait for their turn."""
    cluster = brokers()
    cluster.elect(1)
    manager, fetchers = cluster.planes[2].replicas, cluster.planes[2].fetchers
    other = P._replace(partition=1)
    state = next(iter(cluster.requests[-1].partitions.values()))
    manager.handle(LeaderAndIsrRequest(5, 7, -1, {other: state}, ()), cluster.now, 0)
    request = fetchers.next_request(1, cluster.now)
    assert request is not None
    assert list(request.partitions) == [P, other]
    fetchers.take(1, {P: Fetched(ErrorCode.NONE, 0, 0), other: Fetched(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}, cluster.now)
    request = fetchers.next_request(1, cluster.now)
    assert request is not None
    assert list(request.partitions) == [P]


# What Kafka's history has shown


@pytest.mark.parametrize(
    ("era", "kept"), [(FIXED, True), (MODELS["zookeeper/KIP-101"], False), (ERA_0_10, False)], ids=["fixed", "KIP-101", "era_0_10"]
)
def test_kip_101(brokers: Start, era: Spec, kept: bool) -> None:
    """A follower restarts before it knows that a record is committed, and then leads: it has cut the record, or it has not."""
    cluster = brokers(era)
    cluster.elect(1, isr=(1, 2))
    cluster.produce(1, b"a")
    cluster.sync(2)
    cluster.planes[2].replicas.checkpoint_high_watermarks()
    answers = cluster.produce(1, b"b", acks=-1)
    cluster.ask(2)
    request = cluster.planes[2].fetchers.next_request(1, cluster.now)
    assert isinstance(request, FetchRequest)
    cluster.planes[1].handle_fetch(request, cluster.now, lambda _: None)
    assert answers == [Produced(ErrorCode.NONE, 1)]
    cluster.crash(2)
    cluster.start(2)
    cluster.elect(1, isr=(1, 2))
    cluster.crash(1)
    cluster.elect(2, isr=(2,))
    assert (cluster.log(2) == [b"a", b"b"]) == kept


@pytest.mark.parametrize("answers_epochs", [True, False])
def test_kip_279(brokers: Start, answers_epochs: bool) -> None:
    """Two epochs without a common record meet: (epoch, end) answers find the place, and offsets alone do not (KIP-101)."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"x")
    cluster.sync(2)
    cluster.elect(1, isr=(1,), reported=(1,))
    cluster.produce(1, b"y")
    cluster.elect(2, isr=(2,), reported=(2,))
    cluster.produce(2, b"z")
    cluster.elect(1, isr=(1,))
    asked = 0
    while cluster.planes[2].replicas.fetchers[P].phase == Phase.TRUNCATING:
        request = cluster.planes[2].fetchers.next_request(1, cluster.now)
        assert request is not None
        answer = cluster.answer(1, request)[P]
        assert isinstance(answer, EpochEnd)
        reported = answer if answers_epochs else EpochEnd(ErrorCode.NONE, -1, answer.end_offset)
        cluster.planes[2].fetchers.take(1, {P: reported}, cluster.now)
        asked += 1
    cluster.sync(2)
    assert asked == (2 if answers_epochs else 1)
    assert cluster.log(2) == ([b"x", b"y"] if answers_epochs else [b"x", b"z"])
    assert cluster.log(1) == [b"x", b"y"]


def test_an_epoch_without_records(brokers: Start) -> None:
    """A follower that has led without writing forgets that epoch on the way, and finds where the logs part."""
    cluster = brokers()
    cluster.elect(1, reported=(1,))
    cluster.produce(1, b"mine")
    cluster.elect(2, reported=(2,))
    cluster.produce(2, b"theirs")
    cluster.elect(1, reported=(1,))
    assert cluster.partition(1).opened.epochs == ((0, 0), (2, 1))
    cluster.elect(2)
    asked = [cluster.ask(1) for _ in range(4)]
    assert [type(request) for request in asked] == [*[OffsetsForLeaderEpochRequest] * 2, FetchRequest, FetchRequest]
    assert cluster.log(1) == [b"theirs"]


@pytest.mark.parametrize(("era", "fenced"), [(FIXED, True), (MODELS["zookeeper/KAFKA-7395"], False)], ids=["fixed", "KAFKA-7395"])
def test_kip_320(brokers: Start, era: Spec, fenced: bool) -> None:
    """A follower of a leader that does not know its new epoch yet waits; without fencing it takes records of the old epoch."""
    cluster = brokers(era)
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(2, 3)
    cluster.elect(2, reported=(2, 3))
    cluster.produce(1, b"old")
    cluster.elect(1, reported=(3,))
    cluster.sync(3)
    assert cluster.log(3) == ([b"a"] if fenced else [b"a", b"old"])
    assert 3 in cluster.partition(1).isr
    assert cluster.partition(1).high_watermark == 1


# The exchange finds what spec/decisions/log.py says it does


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_the_exchange_converges(history: list[tuple[int, int, int]]) -> None:
    """After any history of epochs, asking and truncating ends where the two logs part: `divergence_offset`.

    In each epoch one of two replicas writes some records, after the other has perhaps copied some of its log.
    """
    logs: list[list[LogEntry]] = [[], []]
    caches = [LeaderEpochs([], lambda _: None) for _ in logs]

    def copy(leader: int, follower: int, count: int) -> None:
        end = divergence_offset(logs[leader], logs[follower])
        del logs[follower][end:]
        caches[follower].truncate_from_end(end)
        for entry in logs[leader][end : end + count]:
            caches[follower].assign(entry.epoch, len(logs[follower]))
            logs[follower].append(entry)

    for epoch, (leader, copied, written) in enumerate(history):
        if copied:
            copy(leader, 1 - leader, copied)
        caches[leader].assign(epoch, len(logs[leader]))
        logs[leader] += [LogEntry(10 * epoch + n, epoch) for n in range(written)]

    for leader, follower in ((0, 1), (1, 0)):
        end, own = len(logs[follower]), LeaderEpochs(caches[follower].entries, lambda _: None)
        wanted = divergence_offset(logs[leader], logs[follower])
        theirs = LeaderEpochs(caches[leader].entries, lambda _: None)
        theirs.assign(len(history), len(logs[leader]))
        for _ in range(len(history) + 1):
            answered, answered_end = theirs.end_offset_for(own.latest, len(logs[leader]))
            mine, mine_end = own.end_offset_for(answered, end)
            end, complete = truncation_after_answer(answered, answered_end, mine, mine_end, end, 0)
            own.truncate_from_end(end)
            if complete:
                break
        assert complete
        assert end == wanted
