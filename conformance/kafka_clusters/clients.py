"""Real clients, those of aiokafka: producers that wait for the whole ISR, and consumers that read partitions from their beginning.

What they see goes into a `History`, as in other runs. Every value is unique.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as ClientPartition
from aiokafka.errors import KafkaError

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History, Sent

PAUSE = 0.02
"""The seconds between two records of a producer."""
REQUEST_MS = 5_000
BACKOFF_MS = 100
POLL_MS = 500
LAST_ANSWERS = 30.0
"""The seconds for which the last answers are waited for."""


class RecordWriters:
    """One producer with acks=all, and a task for each partition that it writes to."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._stopping = False
        self._count = 0
        self._producer: AIOKafkaProducer | None = None

    async def begin(self, addresses: str) -> None:
        """Connect."""
        self._producer = AIOKafkaProducer(
            bootstrap_servers=addresses,
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=REQUEST_MS,
            retry_backoff_ms=BACKOFF_MS,
            metadata_max_age_ms=1_000,
            linger_ms=5,
        )
        await self._producer.start()

    def write(self, partitions: Iterable[TopicPartition]) -> None:
        """Begin to write to partitions."""
        for partition in partitions:
            if partition not in self._tasks:
                self._tasks[partition] = asyncio.create_task(self._write(partition))

    async def end(self) -> None:
        """Stop, once every record has its answer or its error; a cluster that answers no more is not waited for."""
        self._stopping = True
        if self._tasks:
            _, waiting = await asyncio.wait(self._tasks.values(), timeout=LAST_ANSWERS)
            for task in waiting:
                task.cancel()
        if self._producer is not None:
            with suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(LAST_ANSWERS):
                    await self._producer.stop()
            self._producer = None

    async def _write(self, partition: TopicPartition) -> None:
        producer = self._producer
        while not self._stopping and producer is not None:
            self._count += 1
            value = f"r{self._count}"
            sent = self._history.sent[value] = Sent(partition, ALL, attempts=1)
            try:
                done = await producer.send_and_wait(partition.topic, value.encode(), partition=partition.partition)
                sent.offset = done.offset
            except (KafkaError, OSError):
                await asyncio.sleep(BACKOFF_MS / 1000)
            await asyncio.sleep(PAUSE)


async def follow(addresses: str, partitions: Iterable[TopicPartition], history: History) -> None:
    """Read partitions from their beginning, until the task is cancelled."""
    consumer = await _consumer(addresses, partitions)
    try:
        while True:
            await _poll(consumer, history)
    finally:
        await consumer.stop()


async def read_all(addresses: str, partitions: Iterable[TopicPartition], history: History, seconds: float) -> list[TopicPartition]:
    """Read partitions from their beginning to their end; return those whose end was not reached in so many seconds."""
    named = list(partitions)
    consumer = await _consumer(addresses, named)
    try:
        asked = [ClientPartition(*one) for one in named]
        async with asyncio.timeout(seconds):
            ends = await consumer.end_offsets(asked)
        left = asked
        until = asyncio.get_running_loop().time() + seconds
        while left and asyncio.get_running_loop().time() < until:
            await _poll(consumer, history)
            left = [one for one in asked if await consumer.position(one) < ends[one]]
        return [TopicPartition(one.topic, one.partition) for one in left]
    except (TimeoutError, KafkaError):
        return named
    finally:
        await consumer.stop()


async def _consumer(addresses: str, partitions: Iterable[TopicPartition]) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=addresses,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        request_timeout_ms=REQUEST_MS,
        retry_backoff_ms=BACKOFF_MS,
        metadata_max_age_ms=1_000,
    )
    await consumer.start()
    named = [ClientPartition(*one) for one in partitions]
    consumer.assign(named)
    await consumer.seek_to_beginning(*named)
    return consumer


async def _poll(consumer: AIOKafkaConsumer, history: History) -> None:
    polled = await consumer.getmany(timeout_ms=POLL_MS)
    for partition, records in polled.items():
        for record in records:
            history.saw(TopicPartition(partition.topic, partition.partition), record.offset, (record.value or b"").decode())
