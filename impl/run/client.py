"""Clients as tasks: producers and consumers. They address brokers by number.

A producer requests metadata from any broker, sends each record to the leader named there, and retries until the record is
acknowledged or its time is over. It is not idempotent, like producers before KIP-98, so a record may be stored twice.

Source: Kafka 2.8 KafkaProducer, Sender, Fetcher of the clients, without their batching.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, NO_LEADER
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    FetchPosition,
    FetchRequest,
    Metadata,
    MetadataRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History, Sent
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task


@dataclass(frozen=True)
class Patience:
    """Clients' limits in seconds: for an answer, between attempts, for the delivery of a record, for the age of metadata."""

    request: float = 2.0
    backoff: float = 0.1
    delivery: float = 20.0
    metadata: float = 1.0


class Client:
    """The common part of producers and consumers: the last metadata."""

    def __init__(
        self,
        random: Random,
        clock: Callable[[], float],
        brokers: Sequence[int],
        partitions: Sequence[TopicPartition],
        history: History,
        patience: Patience = Patience(),
    ) -> None:
        """`brokers` are those that may receive metadata requests; `clock` returns seconds."""
        self.random = random
        self.clock = clock
        self.history = history
        self.partitions = list(partitions)
        self.patience = patience
        self.stopping = False
        """Set by the caller: the client begins nothing new."""
        self._brokers = list(brokers)
        self._leaders: dict[TopicPartition, tuple[int, int]] = {}
        self._told = 0.0

    def _leader(self, partition: TopicPartition) -> Generator[Sleep | RemoteCall, Any, int | None]:
        """Return the known leader of a partition, None if there is none; requests metadata if it is missing or old."""
        if partition not in self._leaders or self.clock() >= self._told + self.patience.metadata:
            topics = tuple(dict.fromkeys(p.topic for p in self.partitions))
            reported = yield RemoteCall(self.random.choice(self._brokers), MetadataRequest(topics), self.patience.request)
            if isinstance(reported, Metadata):
                self._learn(reported)
                self._told = self.clock()
        return self._leaders[partition][0] if partition in self._leaders else None

    def _learn(self, reported: Metadata) -> None:
        """Cache known leaders, unless their leader epoch is older than the cached one (KIP-320)."""
        for partition, state in reported.partitions.items():
            held = state.leadership
            if held.leader != NO_LEADER and held.leader_epoch >= self._leaders.get(partition, (0, NO_EPOCH))[1]:
                self._leaders[partition] = held.leader, held.leader_epoch

    def _forget(self, partition: TopicPartition) -> None:
        self._leaders.pop(partition, None)


class Producer(Client):
    """Sends records of its own, each to a random partition, on average `rate` a second."""

    def __init__(self, name: str, acks: int, rate: float, *arguments: Any, **options: Any) -> None:
        """`name` is the prefix of all its records."""
        super().__init__(*arguments, **options)
        self.name = name
        self.acks = acks
        self.rate = rate

    def run(self) -> Task:
        """Send until stopped."""
        number = 0
        while not self.stopping:
            yield Sleep(self.random.expovariate(self.rate))
            partition = self.random.choice(self.partitions)
            value = f"{self.name}-{number}"
            number += 1
            self.history.sent[value] = Sent(partition, self.acks)
            yield from self._send(value, self.history.sent[value])

    def _send(self, value: str, sent: Sent) -> Task:
        """Retry until the record is acknowledged, or its time is over."""
        deadline = self.clock() + self.patience.delivery
        batch = bytes(batches.build([(int(self.clock() * 1000), None, value.encode())]))
        while self.clock() < deadline:
            leader = yield from self._leader(sent.partition)
            if leader is None:
                yield Sleep(self.patience.backoff)
                continue
            sent.attempts += 1
            request = ProduceRequest(self.acks, {sent.partition: batch}, int(self.patience.request * 1000))
            answer = yield RemoteCall(leader, request, 2 * self.patience.request, answered=self.acks != 0)
            if self.acks == 0:
                return
            produced = None if answer is None else answer.partitions.get(sent.partition)
            if produced is not None and produced.error == ErrorCode.NONE:
                sent.offset = produced.base_offset
                return
            self._forget(sent.partition)
            yield Sleep(self.patience.backoff)


class Consumer(Client):
    """Reads all partitions from the beginning, one after the other."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.offsets: dict[TopicPartition, int] = dict.fromkeys(self.partitions, 0)

    def run(self) -> Task:
        """Read until stopped."""
        while not self.stopping:
            yield Sleep(self.patience.backoff)
            for partition in self.partitions:
                leader = yield from self._leader(partition)
                if leader is not None:
                    yield from self._fetch(leader, partition)

    def _fetch(self, leader: int, partition: TopicPartition) -> Task:
        epoch = self._leaders[partition][1]
        position = FetchPosition(self.offsets[partition], epoch)
        request = FetchRequest(CONSUMER, NO_EPOCH, {partition: position}, max_wait_ms=0)
        answer = yield RemoteCall(leader, request, self.patience.request)
        fetched = None if answer is None else answer.partitions.get(partition)
        if fetched is not None and fetched.error == ErrorCode.NONE:
            for record in batches.records(fetched.records, self.offsets[partition]):
                self.history.saw(partition, record.offset, (record.value or b"").decode())
                self.offsets[partition] = record.offset + 1
        elif fetched is not None and fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.offsets[partition] = 0  # auto.offset.reset=earliest
        else:
            self._forget(partition)


def producers(count: int, make: Callable[[str, int], Producer]) -> list[Producer]:
    """Return producers with acks=all, 1 and 0 in turn."""
    return [make(f"p{number}", (ALL, 1, 0)[number % 3]) for number in range(count)]
