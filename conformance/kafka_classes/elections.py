"""Elections: the four strategies, with ISR and recipients.

Every ordered assignment of three brokers, every ISR, every broker live, stopping or dead, with and without unclean election; then
random ones of up to eight brokers. The order of the ISR has no effect on the elected leader, and is left out here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.records import LeaderAndIsrRecords
from kafka_spec.spec.decisions import election
from kafka_spec.spec.language.domain import NONE, BrokerSet
from kafka_spec.spec.zookeeper.eras import ERA_2_8

K = ERA_2_8.constants({})


@dataclass(frozen=True)
class Voters:
    """One input of an election: the assignment, the ISR, the leader's id, whether the topic allows unclean leaders."""

    assignment: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    unclean: bool


Ours = Callable[[Voters, BrokerSet, BrokerSet], tuple[int, BrokerSet, BrokerSet]]


def _offline(v: Voters, live: BrokerSet, stopping: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    return election.elect_offline(v.assignment, live, stopping, BrokerSet.of(v.isr), int(v.unclean), K.offline_recipients)


def _reassigned(v: Voters, live: BrokerSet, _: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    return election.elect_reassigned(v.assignment, live, BrokerSet.of(v.isr))


def _preferred(v: Voters, live: BrokerSet, _: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    return election.elect_preferred(v.assignment, live, BrokerSet.of(v.isr))


def _shutdown(v: Voters, live: BrokerSet, stopping: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    return election.elect_controlled_shutdown(v.assignment, live, stopping, BrokerSet.of(v.isr), K.shutdown_recipients)


STRATEGIES: dict[str, Ours] = {
    "leaderForOffline": _offline,
    "leaderForReassign": _reassigned,
    "leaderForPreferredReplica": _preferred,
    "leaderForControlledShutdown": _shutdown,
}


class _Kafkas:
    """Elections by Kafka's own class, many partitions at once."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._records = LeaderAndIsrRecords(kafka)
        self._election = kafka.singleton("kafka.controller.Election")

    def elect(
        self, voters: Sequence[Voters], live: Iterable[int], stopping: Iterable[int]
    ) -> dict[str, list[tuple[int, BrokerSet, BrokerSet] | None]]:
        """Return leader, ISR and recipients of each partition for each strategy, None where nobody is elected."""
        kafka, context = self._kafka, self._records.context(live, stopping)
        inputs = []
        for number, one in enumerate(voters):
            partition = kafka.partition("t", number)
            context.updatePartitionFullReplicaAssignment(partition, self._records.assignment(one.assignment))
            inputs.append((partition, self._records.leader_and_isr(one.leader, 5, one.isr, 7), one.unclean))
        pairs = kafka.sequence(kafka.pair(p, held) for p, held, _ in inputs)
        boolean = kafka.named("java.lang.Boolean")
        triples = kafka.sequence(kafka.triple(p, kafka.option(held), boolean(unclean)) for p, held, unclean in inputs)
        found = {}
        for name in STRATEGIES:
            if name == "leaderForOffline":
                results = self._election.leaderForOffline(context, *self._records.without_recovery, triples)
            else:
                results = getattr(self._election, name)(context, pairs)
            by_partition = {int(r.topicPartition().partition()): r for r in kafka.listed(results)}
            found[name] = [self._result(by_partition[number]) for number in range(len(voters))]
        return found

    def _result(self, result: Any) -> tuple[int, BrokerSet, BrokerSet] | None:
        held = self._kafka.optional(result.leaderAndIsr())
        if held is None:
            return None
        isr = BrokerSet.of(self._records.isr(held))
        return int(held.leader()), isr, BrokerSet.of(self._kafka.numbers(result.liveReplicas()))


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare all elections among three brokers, and random ones among up to eight."""
    kafkas = _Kafkas(kafka)
    small = [Voters(a, i, a[0], u) for a in assignments(range(3)) for i in _subsets(range(3)) for u in (False, True) if a]
    for states in itertools.product(("live", "stopping", "dead"), repeat=3):
        _compare(kafkas, comparison, small, states)
    for _ in range(max(1, cases // 100)):
        brokers = range(random.randint(1, 8))
        states = tuple(random.choice(("live", "live", "stopping", "dead")) for _ in brokers)
        _compare(kafkas, comparison, [_random_voters(random, brokers) for _ in range(100)], states)


def _random_voters(random: Random, brokers: Sequence[int]) -> Voters:
    assignment = tuple(random.sample(brokers, random.randint(1, len(brokers))))
    isr = tuple(random.sample(brokers, random.randint(0, len(brokers))))
    return Voters(assignment, isr, random.choice((NONE, *brokers)), random.random() < 0.5)


def _compare(kafkas: _Kafkas, comparison: Comparison, voters: Sequence[Voters], states: Sequence[str]) -> None:
    live = BrokerSet.of(b for b, state in enumerate(states) if state == "live")
    stopping = BrokerSet.of(b for b, state in enumerate(states) if state == "stopping")
    for name, results in kafkas.elect(voters, live, stopping).items():
        for one, result in zip(voters, results, strict=True):
            ours = STRATEGIES[name](one, live, stopping)
            comparison.seen[f"{name}: {'nobody' if result is None else 'a leader'}"] += 1
            comparison.compare(f"{name} of {one} among {states}", None if ours[0] == NONE else ours, result)


def assignments(brokers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return every ordered choice of brokers."""
    return [chosen for size in range(len(brokers) + 1) for chosen in itertools.permutations(brokers, size)]


def _subsets(brokers: Sequence[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(len(brokers) + 1) for chosen in itertools.combinations(brokers, size)]


SUBJECT = Subject("elections", "all four strategies: leader, ISR, recipients", compare)
