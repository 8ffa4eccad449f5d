"""Delayed operations: a produce waits for the ISR, a fetch for enough data, each up to its timeout.

An operation is checked whenever a partition that it waits for changes, and at its deadline; it is completed once. The operations
themselves are in delayed.py. Times are milliseconds of the caller's clock.

Source: Kafka 2.8 DelayedOperation.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kafka_spec.impl.protocol.topic_partition import TopicPartition


class Delayed(Protocol):
    """A delayed operation."""

    deadline: int

    def is_ready(self) -> bool:
        """Return whether it can be completed."""

    def complete(self) -> None:
        """Answer with the current results."""


class Purgatory:
    """The delayed operations of one kind at one broker, by the partitions that they wait for."""

    def __init__(self) -> None:
        self._watchers: dict[TopicPartition, dict[int, Delayed]] = {}
        self._waiting: dict[int, tuple[Delayed, tuple[TopicPartition, ...]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def complete_or_watch(self, operation: Delayed, partitions: Iterable[TopicPartition]) -> bool:
        """Complete an operation at once if it is ready, else let it wait; return whether it was completed."""
        if operation.is_ready():
            operation.complete()
            return True
        self._count += 1
        self._waiting[self._count] = (operation, tuple(partitions))
        for partition in self._waiting[self._count][1]:
            self._watchers.setdefault(partition, {})[self._count] = operation
        return False

    def check(self, partition: TopicPartition) -> int:
        """Complete the ready operations that wait for a partition, oldest first; return their number."""
        if partition not in self._watchers:
            return 0
        ready = [number for number, one in self._watchers[partition].items() if one.is_ready()]
        return self._complete(ready)

    def expire(self, now: int) -> int:
        """Complete the operations whose deadline has passed; return their number."""
        return self._complete([number for number, (operation, _) in self._waiting.items() if operation.deadline <= now])

    def next_deadline(self) -> int | None:
        """Return the first deadline, None if nothing waits."""
        return min((operation.deadline for operation, _ in self._waiting.values()), default=None)

    def _complete(self, numbers: list[int]) -> int:
        done = 0
        for number in numbers:
            if number not in self._waiting:  # completed as a consequence of an earlier one
                continue
            operation, partitions = self._waiting.pop(number)
            for partition in partitions:
                watchers = self._watchers[partition]
                del watchers[number]
                if not watchers:
                    del self._watchers[partition]
            operation.complete()
            done += 1
        return done
