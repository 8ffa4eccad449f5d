"""A follower's requests to its leaders and its handling of their answers: first truncation, then fetching.

Sans-IO: `next_request` returns the next request to one leader, at most one at a time; `take` receives its answer, `lost` reports a
lost connection. The caller calls `leaders` and `next_request` after each request of a controller, after each answer, and at
`next_due`. Times are milliseconds of the caller's clock.

Source: Kafka 2.8 AbstractFetcherThread.scala, ReplicaFetcherThread.scala at inter.broker.protocol 2.6, or 2.7 and later with
`truncation_on_fetch` (KIP-595), as brokers of KRaft always have it (Kafka 3.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from kafka_spec.impl.broker.led_partitions import Hosting
from kafka_spec.impl.broker.partition import FetchState, Phase
from kafka_spec.impl.log.batches import Corrupt
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.data_requests import (
    EARLIEST,
    LATEST,
    EpochEnd,
    EpochPosition,
    Fetched,
    FetchPosition,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.fencing import late_answer_is_taken, leader_epoch_in_fetch
from kafka_spec.spec.decisions.log import truncation_after_answer

FollowersRequest: TypeAlias = FetchRequest | OffsetsForLeaderEpochRequest | ListOffsetsRequest
Answer: TypeAlias = Fetched | EpochEnd | ListedOffset
SEEKING = {Phase.SEEKING_END: LATEST, Phase.SEEKING_START: EARLIEST}


@dataclass(frozen=True)
class InFlight:
    """A request without an answer yet, with each partition's state when it was made."""

    request: FollowersRequest
    asked: Mapping[TopicPartition, FetchState]


class Following(Hosting, Protocol):
    """The replicas of a broker that follows leaders, on whose request ever."""

    number: int
    broker_epoch: int
    fetchers: dict[TopicPartition, FetchState]


class Fetchers:
    """The fetchers of one broker, one for each leader; `replicas.fetchers` holds the state of each partition."""

    def __init__(self, replicas: Following, truncation_on_fetch: bool) -> None:
        self.in_flight: dict[int, InFlight] = {}
        """The request in flight to each leader."""
        self._replicas = replicas
        self._truncation_on_fetch = truncation_on_fetch
        self._states = replicas.fetchers

    # Requests

    def leaders(self) -> tuple[int, ...]:
        """Return the brokers that this one follows, in ascending order."""
        return tuple(sorted({state.leader for state in self._states.values()}))

    def next_due(self, leader: int) -> int | None:
        """Return the time of the next request to a leader, which may lie in the past; None if there is none."""
        if leader in self.in_flight:
            return None
        return min((state.delayed_until for state in self._states.values() if state.leader == leader), default=None)

    def next_request(self, leader: int, now: int) -> FollowersRequest | None:
        """Return the next request to a leader; None if there is none, or one is in flight.

        Partitions to truncate come first. Those whose log has no leader epoch are truncated to the high watermark at once; with
        truncation on fetch the others are fetched.
        """
        if leader in self.in_flight:
            return None
        ready = {p: s for p, s in self._states.items() if s.leader == leader and s.delayed_until <= now}
        for partition, state in ready.items():
            if state.phase == Phase.TRUNCATING:
                with suppress(KafkaError):  # the replica is offline now, and fetches no more
                    self._truncate_alone(partition, state)
        ready = {p: s for p, s in ready.items() if p in self._states}
        request = self._request(list(ready.items()))
        if request is not None:
            self.in_flight[leader] = InFlight(request, {p: replace(ready[p]) for p in request.partitions})
        return request

    def _truncate_alone(self, partition: TopicPartition, state: FetchState) -> None:
        """Prepare to fetch without a question, where that is possible."""
        log = self._replicas.partitions[partition].opened
        if log.latest_epoch == NO_EPOCH:
            self.truncate_to_answer(partition, EpochEnd(ErrorCode.NONE))
        elif self._truncation_on_fetch:
            state.offset, state.phase = log.end_offset, Phase.FETCHING

    def _request(self, ready: list[tuple[TopicPartition, FetchState]]) -> FollowersRequest | None:
        replicas = self._replicas
        truncating = {
            p: EpochPosition(self._epoch(s), replicas.partitions[p].opened.latest_epoch)
            for p, s in ready
            if s.phase == Phase.TRUNCATING
        }
        if truncating:
            return OffsetsForLeaderEpochRequest(replicas.number, truncating)
        seeking = {p: OffsetQuery(SEEKING[s.phase], self._epoch(s)) for p, s in ready if s.phase in SEEKING}
        if seeking:
            return ListOffsetsRequest(replicas.number, seeking)
        settings = replicas.settings
        most = settings.replica_fetch_max_bytes
        fetching = {p: FetchPosition(s.offset, self._epoch(s), most, self._last_fetched_epoch(p)) for p, s in ready}
        if not fetching:
            return None
        wait, size = settings.replica_fetch_wait_max_ms, settings.replica_fetch_min_bytes
        topics = {p.topic: replicas.partitions[p].topic_id for p in fetching}
        ids = {topic: topic_id for topic, topic_id in topics.items() if topic_id is not None}
        return FetchRequest(replicas.number, replicas.broker_epoch, fetching, wait, size, ids)

    def _epoch(self, state: FetchState) -> int:
        return leader_epoch_in_fetch(state.leader_epoch, self._replicas.k.fetches_fenced)

    def _last_fetched_epoch(self, partition: TopicPartition) -> int:
        if not self._truncation_on_fetch:
            return NO_EPOCH
        return self._replicas.partitions[partition].opened.latest_epoch

    # Answers

    def take(self, leader: int, answers: Mapping[TopicPartition, Answer], now: int) -> None:
        """Handle a leader's answer to the request in flight; partitions whose state has changed since ignore it.

        Up to 0.10 a new leader epoch alone is not a change.
        """
        asked = self.in_flight.pop(leader, None)
        if asked is None:
            return
        for partition, answer in answers.items():
            state = self._states.get(partition)
            if state is None or not self._waits_for(partition, state, asked):
                continue
            with suppress(KafkaError):  # the replica is offline now, and fetches no more
                self._take_one(partition, state, answer, now)

    def _waits_for(self, partition: TopicPartition, state: FetchState, flight: InFlight) -> bool:
        asked = flight.asked.get(partition)
        if asked is None or (asked.leader, asked.offset, asked.phase) != (state.leader, state.offset, state.phase):
            return False
        return late_answer_is_taken(asked.leader_epoch, state.leader_epoch, self._replicas.k.fetch_answers_taken)

    def lost(self, leader: int, now: int) -> None:
        """Handle a lost or failed connection to a leader: its partitions wait before the next request."""
        asked = self.in_flight.pop(leader, None)
        for partition, state in self._states.items():
            if asked is not None and state == asked.asked.get(partition):
                self._wait(state, now)

    def _wait(self, state: FetchState, now: int) -> None:
        state.delayed_until = now + self._replicas.settings.replica_fetch_backoff_ms

    def _take_one(self, partition: TopicPartition, state: FetchState, answer: Answer, now: int) -> None:
        if answer.error == ErrorCode.FENCED_LEADER_EPOCH:
            del self._states[partition]  # until a controller sends another leader epoch
        elif answer.error == ErrorCode.OFFSET_OUT_OF_RANGE and isinstance(answer, Fetched):
            state.phase = Phase.SEEKING_END
        elif answer.error != ErrorCode.NONE:
            self._wait(state, now)
        elif isinstance(answer, EpochEnd):
            self.truncate_to_answer(partition, answer)
        elif isinstance(answer, ListedOffset):
            self._go_on_from(partition, state, answer.offset)
        elif answer.diverging is not None:
            self.truncate_to_answer(partition, answer.diverging)  # the next fetch shows whether they still diverge
        else:
            try:
                self.append_fetched(partition, answer)
            except Corrupt:
                self._wait(state, now)
            except ValueError:
                del self._states[partition]  # as for FENCED: the records do not continue its log

    def truncate_to_answer(self, partition: TopicPartition, answer: EpochEnd) -> bool:
        """Truncate a follower by its leader's answer; return True if it may fetch, False if it must ask again (KIP-279).

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
        """
        state = self._states[partition]
        with self._replicas.storage(partition) as hosted:
            log = hosted.opened
            own, own_end = log.end_offset_for_epoch(answer.leader_epoch)
            offset, done = truncation_after_answer(
                answer.leader_epoch, answer.end_offset, own, own_end, log.end_offset, hosted.high_watermark
            )
            hosted.truncate_to(offset)
            state.offset = log.end_offset
        if done:
            state.phase = Phase.FETCHING
        return bool(done)

    def append_fetched(self, partition: TopicPartition, fetched: Fetched) -> None:
        """Append the fetched records, and adopt the leader's high watermark.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
            Corrupt: the data is not a sequence of complete, valid batches.
            ValueError: the data does not continue the log.
        """
        with self._replicas.storage(partition) as hosted:
            hosted.append_fetched(fetched.records, fetched.high_watermark)
            self._states[partition].offset = hosted.opened.end_offset

    def _go_on_from(self, partition: TopicPartition, state: FetchState, offset: int) -> None:
        """Continue from an offset that the leader has (fetchOffsetAndTruncate): its end if that is below ours, else its start."""
        with self._replicas.storage(partition) as hosted:
            end = hosted.opened.end_offset
            if state.phase == Phase.SEEKING_END and offset >= end:
                state.phase = Phase.SEEKING_START
                return
            if state.phase == Phase.SEEKING_END:
                hosted.truncate_to(offset)
            elif offset > end:
                hosted.truncate_fully(offset)
            state.offset, state.phase = hosted.opened.end_offset, Phase.FETCHING
