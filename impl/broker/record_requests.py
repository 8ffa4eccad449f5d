"""Produce and fetch requests at a broker, those that wait included, whoever decides on ISR and leaders.

Sans-IO except for the logs: requests come in with the time, answers go to a callback, at once or later. A callback must not call
back into the broker. Times are milliseconds of one clock that never goes back.

Source: Kafka 2.8 ReplicaManager.scala, DelayedProduce.scala, DelayedFetch.scala.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeAlias

from kafka_spec.impl.broker.delayed import DelayedFetch, DelayedProduce
from kafka_spec.impl.broker.led_partitions import ACKS_ALL, Hosting, LedPartitions
from kafka_spec.impl.broker.purgatory import Purgatory
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    Fetched,
    FetchPosition,
    FetchRequest,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Produces: TypeAlias = Mapping[TopicPartition, Produced]
Fetches: TypeAlias = Mapping[TopicPartition, Fetched]


class RecordRequests(LedPartitions):
    """The produce and fetch requests of one broker."""

    def __init__(self, replicas: Hosting) -> None:
        """`replicas` are all that the broker hosts."""
        super().__init__(replicas)
        self.produces = Purgatory()
        self.fetches = Purgatory()
        replicas.changed = self._look_again

    @abstractmethod
    def advance_high_watermark(self, partition: TopicPartition, now: int, at_most: int | None = None) -> bool:
        """Advance a leader's high watermark; return whether it rose."""

    @abstractmethod
    def _follower_fetched(self, partition: TopicPartition, position: FetchPosition, request: FetchRequest, now: int) -> None:
        """Update what a leader knows after a follower's fetch."""

    def _look_again(self, partition: TopicPartition) -> None:
        """Check the operations that wait for a partition: its role, its high watermark or its log end has changed."""
        self.produces.check(partition)
        self.fetches.check(partition)

    # Produce

    def handle_produce(self, request: ProduceRequest, now: int, reply: Callable[[Produces], object]) -> None:
        """Append batches; with acks -1 the answer waits for the ISR, with acks 0 `reply` is not called."""
        if request.acks not in (ACKS_ALL, 0, 1):
            reply({p: Produced(ErrorCode.INVALID_REQUIRED_ACKS) for p in request.partitions})
            return
        done: dict[TopicPartition, Produced] = {}
        required: dict[TopicPartition, int] = {}
        for partition, records in request.partitions.items():
            try:
                self.check_named(partition)
                first, last = self.append_as_leader(partition, records, request.acks)
                done[partition], required[partition] = Produced(ErrorCode.NONE, first), last + 1
            except KafkaError as error:
                done[partition] = Produced(error.code)
        for partition in required:
            if not self.advance_high_watermark(partition, now):
                self.fetches.check(partition)
        if request.acks == ACKS_ALL and required:
            waiting = DelayedProduce(now + request.timeout_ms, done, required, self.reached, reply)
            self.produces.complete_or_watch(waiting, required)
        elif request.acks != 0:
            reply(done)

    def reached(self, partition: TopicPartition, required: int) -> ErrorCode | None:
        """Return the answer to a produce with acks=all, None while it has to wait (checkEnoughReplicasReachOffset)."""
        try:
            hosted = self.led(partition)
            if hosted.high_watermark < required:
                return None
            enough = len(hosted.maximal_isr) >= self.replicas.min_insync_replicas(partition)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # Fetch

    def handle_fetch(self, request: FetchRequest, now: int, reply: Callable[[Fetches], object]) -> None:
        """Read up to the log's end for a follower, up to the high watermark for a consumer; wait for `min_bytes`."""
        fetched = self.read_all(request)
        if request.replica != CONSUMER:
            for partition, position in request.partitions.items():
                if fetched[partition].error == ErrorCode.NONE and fetched[partition].diverging is None:
                    self._follower_fetched(partition, position, request, now)
        if request.max_wait_ms <= 0 or not fetched or self.has_enough(request, fetched):
            reply(fetched)
        else:
            waiting = DelayedFetch(now + request.max_wait_ms, request, self.read_all, self.has_enough, reply)
            self.fetches.complete_or_watch(waiting, request.partitions)

    def read_all(self, request: FetchRequest) -> Fetches:
        """Read what a fetch requests, without a change to the broker."""
        return {p: self.read(p, one, request.replica, request.topic_ids.get(p.topic)) for p, one in request.partitions.items()}

    def has_enough(self, request: FetchRequest, fetched: Fetches) -> bool:
        """Whether a fetch need not wait: a partition is refused or diverges, there are enough bytes, or it reads a full segment."""
        if any(one.error != ErrorCode.NONE or one.diverging is not None for one in fetched.values()):
            return True
        if sum(len(one.records) for one in fetched.values()) >= request.min_bytes:
            return True
        for partition, position in request.partitions.items():
            hosted = self.replicas.partitions[partition]
            end = hosted.high_watermark if request.replica == CONSUMER else hosted.opened.end_offset
            if position.offset < end and not hosted.opened.same_segment(position.offset, end):
                return True
        return False
