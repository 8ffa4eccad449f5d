"""A follower's fetches and its handling of the answers: it truncates where a fetch tells that the logs diverge (KIP-595).

Sans-IO: `next_request` returns the next request to one leader, at most one at a time; `take` receives its answer, `lost` reports a
lost connection. Times are milliseconds of the caller's clock.

Source: Kafka 3.9 AbstractFetcherThread.scala, ReplicaFetcherThread.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from kafka_spec.impl.broker.partition import FetchState
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.log.batches import Corrupt
from kafka_spec.impl.protocol.data_requests import EpochEnd, Fetched, FetchPosition, FetchRequest
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.log import truncation_after_answer


@dataclass(frozen=True)
class FetchInFlight:
    """A fetch without an answer yet, with each partition's state when it was made."""

    request: FetchRequest
    asked: Mapping[TopicPartition, FetchState]


class KRaftFetchers:
    """The fetchers of one broker, one for each leader; `replicas.fetchers` holds the state of each partition."""

    def __init__(self, replicas: KRaftReplicas) -> None:
        self.in_flight: dict[int, FetchInFlight] = {}
        """The fetch in flight to each leader."""
        self._replicas = replicas
        self._states = replicas.fetchers

    def next_request(self, leader: int, now: int) -> FetchRequest | None:
        """Return the next fetch from a leader; None if there is none, or one is in flight."""
        if leader in self.in_flight:
            return None
        ready = {p: s for p, s in self._states.items() if s.leader == leader and s.delayed_until <= now}
        if not ready:
            return None
        settings = self._replicas.settings
        positions = {partition: self.position(partition, state) for partition, state in ready.items()}
        wait, size = settings.replica_fetch_wait_max_ms, settings.replica_fetch_min_bytes
        request = FetchRequest(self._replicas.number, self._replicas.broker_epoch, positions, wait, size)
        self.in_flight[leader] = FetchInFlight(request, {partition: replace(state) for partition, state in ready.items()})
        return request

    def position(self, partition: TopicPartition, state: FetchState) -> FetchPosition:
        """Return where a partition's next fetch begins: at the end of its log, with its last epoch."""
        log = self._replicas.partitions[partition].opened
        size = self._replicas.settings.replica_fetch_max_bytes
        return FetchPosition(state.offset, state.leader_epoch, size, log.epoch_of(state.offset - 1) if state.offset else -1)

    def take(self, leader: int, answers: Mapping[TopicPartition, Fetched], now: int) -> None:
        """Handle a leader's answer to the fetch in flight; partitions whose state has changed since ignore it."""
        flight = self.in_flight.pop(leader, None)
        for partition, answer in {} if flight is None else answers.items():
            state = self._states.get(partition)
            if flight is not None and state is not None and state == flight.asked.get(partition):
                with suppress(KafkaError):  # the log directory has failed: the process ends
                    self._take_one(partition, state, answer, now)

    def lost(self, leader: int, now: int) -> None:
        """Handle a lost or failed connection to a leader: its partitions wait before the next fetch."""
        flight = self.in_flight.pop(leader, None)
        for partition, state in self._states.items():
            if flight is not None and state == flight.asked.get(partition):
                self._wait(state, now)

    def _wait(self, state: FetchState, now: int) -> None:
        state.delayed_until = now + self._replicas.settings.replica_fetch_backoff_ms

    def _take_one(self, partition: TopicPartition, state: FetchState, answer: Fetched, now: int) -> None:
        if answer.error == ErrorCode.FENCED_LEADER_EPOCH:
            del self._states[partition]  # until the metadata log has another leader epoch
        elif answer.error != ErrorCode.NONE:
            self._wait(state, now)
        elif answer.diverging is not None:
            self.truncate(partition, answer.diverging)
        else:
            try:
                self.append(partition, answer)
            except Corrupt:
                self._wait(state, now)
            except ValueError:
                del self._states[partition]  # as for FENCED: the records do not continue its log

    def truncate(self, partition: TopicPartition, diverging: EpochEnd) -> None:
        """Truncate by the end of an epoch in the leader's log; the next fetch may find that the logs diverge further back.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
        """
        with self._replicas.storage(partition) as hosted:
            log = hosted.opened
            own, own_end = log.end_offset_for_epoch(diverging.leader_epoch)
            offset, _ = truncation_after_answer(
                diverging.leader_epoch, diverging.end_offset, own, own_end, log.end_offset, hosted.high_watermark
            )
            hosted.truncate_to(offset)
            self._states[partition].offset = log.end_offset

    def append(self, partition: TopicPartition, fetched: Fetched) -> None:
        """Append the fetched records, and adopt the leader's high watermark up to the log's end.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
            Corrupt: the data is not a sequence of complete, valid batches.
            ValueError: the data does not continue the log.
        """
        with self._replicas.storage(partition) as hosted:
            hosted.append_fetched(fetched.records, fetched.high_watermark)
            self._states[partition].offset = hosted.opened.end_offset
