"""Operations that wait: a produce until the ISR has it, a fetch until there is enough to read; or until their time is up.

An operation is looked at again whenever something happens to a partition that it waits for, and at its deadline; it is completed
once. Knows neither produce nor fetch. Times are milliseconds of the caller's clock.

Source: Kafka 2.8 DelayedOperation.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kafka_spec.impl.protocol.topic_partition import TopicPartition


class Delayed(Protocol):
    """An operation that waits."""

    deadline: int

    def is_ready(self) -> bool:
        """Return whether it can be completed."""

    def complete(self) -> None:
        """Answer, with what is true now."""


class Purgatory:
    """The operations of one kind that wait at one broker, by the partitions that they wait for."""

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
        """Complete what waits for a partition and is ready, oldest first; return how many."""
        if partition not in self._watchers:
            return 0
        ready = [number for number, one in self._watchers[partition].items() if one.is_ready()]
        return self._complete(ready)

    def expire(self, now: int) -> int:
        """Complete what has waited long enough; return how many."""
        return self._complete([number for number, (operation, _) in self._waiting.items() if operation.deadline <= now])

    def next_deadline(self) -> int | None:
        """Return the first deadline, None if nothing waits."""
        return min((operation.deadline for operation, _ in self._waiting.values()), default=None)

    def _complete(self, numbers: list[int]) -> int:
        done = 0
        for number in numbers:
            if number not in self._waiting:  # completed by what the one before has set off
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
