"""What the process of a controller needs of the run that it is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.quorum.metadata import QuorumMetadata
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.tasks import Task


class Surroundings(Protocol):
    """What a process needs of the run."""

    def now(self) -> float:
        """Return the seconds since the run began."""

    def clock(self) -> float:
        """Return the time in seconds since 1970."""

    def uniform(self, least: float, most: float) -> float:
        """Return a random number of seconds."""

    def spawn(self, number: int, task: Task) -> None:
        """Begin a task of a process."""

    def after(self, number: int, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call, unless the process has ended by then."""

    def new_controller(self, metadata: QuorumMetadata) -> KRaftController:
        """Return a controller that becomes active, with what a new cluster needs committed."""

    def leads(self, number: int, epoch: int) -> None:
        """Note that a node leads an epoch."""

    def committed(self, number: int) -> None:
        """Note that the high watermark of a node has risen."""

    def snapshot(self, what: str) -> None:
        """Note that a snapshot is written, or loaded."""

    def failed(self, number: int, name: str, error: Exception) -> None:
        """End a process after a fatal error, by which it violates a property."""

    def appended(self, epoch: int, end: int, then: Callable[[], object]) -> None:
        """Have something called once the batch of an epoch that ends at an offset is committed."""

    def elected_uncleanly(self, partitions: list[TopicPartition]) -> None:
        """Note that a committed batch has elected leaders which may lack committed records."""
