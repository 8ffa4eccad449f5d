"""The outcome of a run with real brokers, and the end that all runs have: the cluster rests, and a consumer reads everything."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Protocol, Self

from kafka_spec.conformance.kafka_clusters.clients import read_all
from kafka_spec.conformance.kafka_clusters.course import Course
from kafka_spec.conformance.kafka_clusters.kafka_processes import ServerProcesses
from kafka_spec.conformance.kafka_clusters.verdict import broken_for_clients, merged
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.spec.vocabulary.table import Spec

READING = 60.0
"""The longest time in seconds in which a consumer has to read everything."""


class ClusterOptions(Protocol):
    """A kind of cluster, as it was asked for."""

    @property
    def version(self) -> str:
        """The version of Kafka."""

    @property
    def brokers(self) -> int:
        """The number of Kafka's brokers."""

    @property
    def partitions(self) -> int:
        """The partitions of the clients' topic."""

    @property
    def era(self) -> Spec:
        """The era of our controllers."""

    @property
    def title(self) -> str:
        """The cluster in words."""

    def plain(self) -> dict[str, object]:
        """Return what only this kind of cluster has, for JSON."""


class CheckedLogs(Protocol):
    """What was found in the logs of a cluster."""

    @property
    def broken(self) -> Sequence[Broken]:
        """The violations."""

    @property
    def text(self) -> str:
        """What was seen, in words."""

    def plain(self) -> dict[str, object]:
        """Return what was seen, for JSON."""


@dataclass
class RealOutcome:
    """The outcome of a run."""

    options: ClusterOptions
    scenes: list[str]
    seconds: float
    produced: int
    acknowledged: int
    read: int
    leaders: int
    """Rises of leader epochs that were seen."""
    controllers: Mapping[int, int]
    """The controller of each epoch of controllers."""
    logs: CheckedLogs
    broken: list[Broken] = field(default_factory=list)
    stopped: str = ""
    """Why the run was stopped before its end, else empty; then nothing is judged."""

    @property
    def kept(self) -> bool:
        """Whether the run came to its end and no property was violated."""
        return not self.stopped and not self.broken

    @classmethod
    def of(
        cls,
        options: ClusterOptions,
        course: Course,
        began: float,
        leaders: int,
        controllers: Mapping[int, int],
        logs: CheckedLogs,
        broken: list[Broken],
        stopped: str,
    ) -> Self:
        """Return the outcome of a course that began at this time of the monotonic clock."""
        sent = course.history.sent.values()
        read = sum(len(values) for values in course.history.read.values())
        acknowledged = sum(one.acknowledged for one in sent)
        seconds = time.monotonic() - began
        return cls(options, course.scenes, seconds, len(sent), acknowledged, read, leaders, controllers, logs, broken, stopped)


async def read_at_rest(course: Course, kafka: ServerProcesses) -> list[Broken]:
    """Let the cluster become quiet, read everything, and return the properties that clients saw violated."""
    broken = [Broken("Recovers", found) for found in await course.rest()]
    course.assigned = course.assignments()
    partitions = sorted(course.assigned)
    earlier = deepcopy(course.history.read)
    course.history.read.clear()
    left = await read_all(kafka.addresses(*course.hosts), partitions, course.history, READING)
    merged(course.history, earlier)
    course.tell("a consumer has read all partitions from their beginning")
    return broken + broken_for_clients(course.history, left, partitions)
