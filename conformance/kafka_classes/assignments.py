"""Which brokers hold a new partition: both algorithms, with and without racks.

Kafka chooses start and shift at random, or makes both the same number. With its source of random numbers seeded, both are known.
(3.9 hides the source, so there start and shift are equal.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.spec.decisions.assignment import alternate_racks, assign_rack_aware, assign_rack_unaware

REFUSED = "refused"


@dataclass(frozen=True)
class AssignmentTask:
    """What is asked: brokers with their racks, None for all without; start and shift come from `seed`, or both are `fixed`."""

    racks: Mapping[int, str | None]
    partitions: int
    replication_factor: int
    first_partition: int
    fixed: int
    seed: int


class _Kafkas:
    """Assignments by Kafka's own class."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self.is_newer = kafka.version.startswith("3.")
        name = "org.apache.kafka.admin" if self.is_newer else "kafka.admin"
        self._utils = kafka.named(f"{name}.AdminUtils") if self.is_newer else kafka.singleton(f"{name}.AdminUtils")
        self._metadata = kafka.named(f"{name}.BrokerMetadata")

    def start_and_shift(self, task: AssignmentTask) -> tuple[int, int]:
        """Return what Kafka will choose, and prepare its source of random numbers."""
        if task.fixed >= 0:
            return task.fixed, task.fixed
        self._utils.rand().setSeed(task.seed)
        twin = self._kafka.named("java.util.Random")(task.seed)
        return int(twin.nextInt(len(task.racks))), int(twin.nextInt(len(task.racks)))

    def assign(self, task: AssignmentTask) -> Any:
        """Return the replicas of each partition, or REFUSED."""
        kafka = self._kafka
        brokers: Any = [self._metadata(b, self._rack(rack)) for b, rack in sorted(task.racks.items())]
        brokers = kafka.java_list(brokers) if self.is_newer else kafka.sequence(brokers)
        try:
            found = self._utils.assignReplicasToBrokers(
                brokers, task.partitions, task.replication_factor, task.fixed, task.first_partition
            )
        except EXCEPTION:
            return REFUSED
        return [replicas for _, replicas in sorted((p, kafka.numbers(r)) for p, r in kafka.items(found))]

    def alternated(self, racks: Mapping[int, str]) -> list[int]:
        """Return the brokers so that neighbours are in different racks."""
        kafka = self._kafka
        if self.is_newer:
            found = kafka.named("java.util.LinkedHashMap")()
            for broker, rack in racks.items():
                found.put(kafka.boxed(broker), rack)
            return list(kafka.numbers(self._utils.getRackAlternatedBrokerList(found)))
        return list(kafka.numbers(self._utils.getRackAlternatedBrokerList(kafka.mapping(racks))))

    def _rack(self, rack: str | None) -> Any:
        return self._kafka.named("java.util.Optional").ofNullable(rack) if self.is_newer else self._kafka.option(rack)


def _ours(task: AssignmentTask, start: int, shift: int) -> Any:
    try:
        if None in task.racks.values():
            brokers = sorted(task.racks)
            return assign_rack_unaware(brokers, task.partitions, task.replication_factor, start, shift, task.first_partition)
        racks = {broker: str(rack) for broker, rack in task.racks.items()}
        return assign_rack_aware(racks, task.partitions, task.replication_factor, start, shift, task.first_partition)
    except ValueError:
        return REFUSED


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare all assignments of up to three partitions to four brokers in up to three racks, and random ones to twelve."""
    kafkas = _Kafkas(kafka)
    for task in itertools.chain(_small(), (_random(random, kafkas.is_newer) for _ in range(cases))):
        start, shift = kafkas.start_and_shift(task)
        ours, theirs = _ours(task, start, shift), kafkas.assign(task)
        comparison.seen["refused" if theirs == REFUSED else "without racks" if None in task.racks.values() else "with racks"] += 1
        comparison.compare(task, ours, theirs)
        if None not in task.racks.values():
            racks = {broker: str(rack) for broker, rack in task.racks.items()}
            comparison.compare(f"alternated {racks}", alternate_racks(racks), kafkas.alternated(racks))


def _small() -> list[AssignmentTask]:
    found = []
    for count in range(1, 5):
        ways: list[tuple[str | None, ...]] = [(None,) * count, *itertools.product("abc", repeat=count)]
        for racks, factor, start in itertools.product(ways, range(count + 2), range(count)):
            found.append(AssignmentTask(dict(enumerate(racks)), 3, factor, 0, start, 0))
    return found


def _random(random: Random, is_fixed: bool) -> AssignmentTask:
    brokers = random.sample(range(100), random.randint(1, 12))
    rack: Callable[[], str | None] = (lambda: None) if random.random() < 0.4 else (lambda: random.choice("abcde"))
    return AssignmentTask(
        {broker: rack() for broker in brokers},
        random.randint(1, 40),
        random.randint(1, len(brokers)),
        random.choice((0, random.randint(0, 60))),
        random.randrange(len(brokers)) if is_fixed or random.random() < 0.5 else -1,
        random.getrandbits(40),
    )


SUBJECT = Subject("assignments", "replicas of new partitions, with and without racks", compare)
