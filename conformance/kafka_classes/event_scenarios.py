"""Scenarios for Kafka's whole controller: a cluster that works, and a sequence of events, one after the other.

Plain data, for both sides. Two kinds: deletions of a topic, with answers of brokers, and reassignments of its partitions. In both
brokers die and come back, and leaders change ISRs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias

from kafka_spec.conformance.kafka_classes.controller_scenarios import EPOCH, VERSION, Observation, PartitionSetup, Scenario
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.zookeeper.coordination.znodes import State, Topic
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState

Targets: TypeAlias = Mapping[int, tuple[int, ...] | None]


@dataclass(frozen=True)
class DeletionAsked:
    """The topic is named in /admin/delete_topics."""


@dataclass(frozen=True)
class DeletionAnswered:
    """A broker answers a StopReplica that deletes: a code for each partition; with an error of the request all have failed."""

    broker: int
    error: ErrorCode
    codes: Mapping[int, ErrorCode]


@dataclass(frozen=True)
class BrokerFails:
    """The controller notices that a live broker is gone."""

    broker: int


@dataclass(frozen=True)
class BrokerStarts:
    """The controller notices that a dead broker is back."""

    broker: int


@dataclass(frozen=True)
class ReassignmentAsked:
    """An operator reassigns partitions through the API; a target None cancels (KIP-455)."""

    targets: Targets


@dataclass(frozen=True)
class ReassignmentInZnode:
    """An operator writes /admin/reassign_partitions, if it does not exist."""

    targets: Targets


@dataclass(frozen=True)
class IsrWritten:
    """A leader writes another ISR, and the controller notices what that means for a reassignment."""

    partition: int
    isr: tuple[int, ...]


ControllerStep: TypeAlias = (
    DeletionAsked | DeletionAnswered | BrokerFails | BrokerStarts | ReassignmentAsked | ReassignmentInZnode | IsrWritten
)


@dataclass(frozen=True)
class EventCourse:
    """A cluster, and what happens to it."""

    cluster: Scenario
    steps: tuple[ControllerStep, ...]


@dataclass
class Seen(Observation):
    """What is seen after a step, beside states, znodes, caches, assignments and requests.

    `deletion` says whether the topic is queued, ineligible, and started; `moving` are the partitions that are being reassigned;
    `topic` is what its znode assigns; `asked` what /admin names; `answers` are codes of the API by partition.
    """

    deletion: tuple[bool, bool, bool] = (False, False, False)
    moving: tuple[int, ...] = ()
    topic: Mapping[int, tuple[tuple[int, ...], ...]] | None = None
    asked: tuple[bool, Mapping[int, tuple[int, ...]]] = (False, {})
    answers: Mapping[int, int] = field(default_factory=dict)


def cluster(replicas: Sequence[tuple[int, ...]], isrs: Sequence[tuple[int, ...]], brokers: Sequence[str]) -> Scenario:
    """Return a cluster at rest: the first live member of each ISR leads; replicas on dead brokers are offline."""
    setups = []
    for assigned, isr in zip(replicas, isrs, strict=True):
        leader = next((broker for broker in isr if brokers[broker] == "live"), NONE)
        states = {broker: ReplicaState.ONLINE if brokers[broker] == "live" else ReplicaState.OFFLINE for broker in assigned}
        setups.append(
            PartitionSetup(
                assigned,
                PartitionState.OFFLINE if leader == NONE else PartitionState.ONLINE,
                states,
                State(leader, 7, isr, EPOCH),
                Leadership(leader, 7, isr, VERSION, EPOCH),
            )
        )
    return Scenario(tuple(brokers), tuple(setups), "events")


def assigned_in(topic: Topic) -> dict[int, tuple[tuple[int, ...], ...]]:
    """Return what the znode of a topic assigns: replicas, added and removed ones."""
    held = {number: topic.assignment(number) for number in topic.partitions}
    return {number: (one.replicas, one.adding, one.removing) for number, one in held.items()}


def isr_of_leader(held: State, isr: tuple[int, ...]) -> State | None:
    """Return what a leader writes to have this ISR, which holds itself; None if nobody leads."""
    if held.leader == NONE:
        return None
    return replace(held, isr=isr if held.leader in isr else (held.leader, *isr))


LIVE = ("live",) * 4


def small_deletions() -> Iterator[EventCourse]:
    """Yield deletions of a topic with one partition: every order of two brokers' answers, failures and starts."""
    codes = (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
    answers = [DeletionAnswered(b, ErrorCode.NONE, {0: code}) for b in (0, 1) for code in codes]
    raised = [DeletionAnswered(1, ErrorCode.UNKNOWN_SERVER_ERROR, {0: ErrorCode.UNKNOWN_SERVER_ERROR})]
    happens: list[ControllerStep] = [*answers, *raised, BrokerFails(1), BrokerStarts(1)]
    for brokers in (LIVE, ("live", "dead", "live", "live"), ("live", "stopping", "live", "live")):
        one = cluster([(1, 0)], [(1, 0)], brokers)
        for steps in itertools.product(happens, repeat=3):
            if _is_possible(brokers, steps):
                yield EventCourse(one, (DeletionAsked(), *steps))


def small_reassignments() -> Iterator[EventCourse]:
    """Yield reassignments of a partition on brokers 0 and 1, by both ways: every two of what may happen to one."""
    happens: list[ControllerStep] = [
        *(IsrWritten(0, isr) for isr in ((0, 1, 2), (0, 1, 2, 3), (0, 2))),
        *(ReassignmentAsked({0: target}) for target in (None, (1, 3), (2, 3), (0, 1))),
        *(BrokerFails(broker) for broker in (0, 2)),
        BrokerStarts(2),
    ]
    for begin in (ReassignmentAsked, ReassignmentInZnode):
        for target in ((2, 1), (2, 3), (1, 0)):
            for steps in itertools.product(happens, repeat=2):
                if _is_possible(LIVE, steps):
                    yield EventCourse(cluster([(0, 1)], [(0, 1)], LIVE), (begin({0: target}), *steps))


def odd_deletions() -> Iterator[EventCourse]:
    """Yield a course for each chosen difference of deletions, and the finding late-deletion-answer."""
    failed = DeletionAnswered(0, ErrorCode.NONE, {0: ErrorCode.KAFKA_STORAGE_ERROR})
    yield EventCourse(cluster([(1, 0)], [(1, 0)], LIVE), (DeletionAsked(), failed, BrokerFails(1), BrokerStarts(1)))
    yield late_answer()


def late_answer() -> EventCourse:
    """Return the finding late-deletion-answer: a broker restarts, is asked again, and then its former error is handled."""
    restart: tuple[ControllerStep, ...] = (BrokerFails(1), BrokerStarts(1))
    failed = DeletionAnswered(1, ErrorCode.NONE, {0: ErrorCode.KAFKA_STORAGE_ERROR})
    deleted = [DeletionAnswered(broker, ErrorCode.NONE, {0: ErrorCode.NONE}) for broker in (0, 1)]
    return EventCourse(cluster([(1, 0)], [(1, 0)], LIVE), (DeletionAsked(), deleted[0], *restart, failed, deleted[1]))


def odd_reassignments() -> Iterator[EventCourse]:
    """Yield a course for each chosen difference of reassignments, and another order of replicas that are not all in the ISR."""
    one = cluster([(0, 1)], [(0, 1)], LIVE)
    yield EventCourse(one, (ReassignmentInZnode({0: (2, 1)}), BrokerFails(0), ReassignmentAsked({0: (2, 3)})))
    yield EventCourse(cluster([(0, 1)], [(0,)], LIVE), (ReassignmentAsked({0: (1, 0)}),))
    yield EventCourse(one, (ReassignmentAsked({0: (2, 1)}), ReassignmentInZnode({0: (2, 1)})))


def _is_possible(brokers: Sequence[str], steps: Sequence[ControllerStep]) -> bool:
    """Whether only live brokers fail, and only dead ones start."""
    dead = {number for number, state in enumerate(brokers) if state == "dead"}
    for step in steps:
        if isinstance(step, BrokerFails):
            if step.broker in dead:
                return False
            dead.add(step.broker)
        elif isinstance(step, BrokerStarts):
            if step.broker not in dead:
                return False
            dead.discard(step.broker)
    return True


def random_course(random: Random, reassigns: bool) -> EventCourse:
    """Return a random course: three to five brokers, one or two partitions, up to seven steps."""
    brokers = [random.choice(("live", "live", "live", "live", "dead", "stopping")) for _ in range(random.randint(3, 5))]
    everyone = range(len(brokers))
    replicas = [tuple(random.sample(everyone, random.randint(1, 3))) for _ in range(random.randint(1, 2))]
    isrs = [tuple(random.sample(assigned, random.randint(1, len(assigned)))) for assigned in replicas]
    dead, steps = {b for b in everyone if brokers[b] == "dead"}, list[ControllerStep]()
    if not reassigns:
        steps.append(DeletionAsked())
    for _ in range(random.randint(2, 7)):
        gone = random.choice(everyone)
        if random.random() < 0.25:
            steps.append(BrokerStarts(gone) if gone in dead else BrokerFails(gone))
            dead ^= {gone}
        elif reassigns:
            steps.append(_random_reassignment(random, everyone, len(replicas)))
        elif random.random() < 0.1:
            steps.append(DeletionAsked())
        else:
            steps.append(_random_answer(random, random.choice(everyone), replicas))
    return EventCourse(cluster(replicas, isrs, brokers), tuple(steps))


def _random_answer(random: Random, broker: int, replicas: Sequence[tuple[int, ...]]) -> DeletionAnswered:
    error = ErrorCode.UNKNOWN_SERVER_ERROR if random.random() < 0.15 else ErrorCode.NONE
    kinds = (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.FENCED_LEADER_EPOCH)
    return DeletionAnswered(broker, error, {p: random.choice(kinds) for p, held in enumerate(replicas) if broker in held})


def _random_reassignment(random: Random, brokers: range, partitions: int) -> ControllerStep:
    number = random.randrange(partitions)
    some = tuple(random.sample(brokers, random.randint(1, 3)))
    if random.random() < 0.45:
        return IsrWritten(number, tuple(random.sample(brokers, random.randint(1, len(brokers)))))
    if random.random() < 0.7:
        odd = random.choice(((), (0, 0), (-1,), (99,))) if random.random() < 0.1 else some
        return ReassignmentAsked({number: None if random.random() < 0.25 else odd})
    return ReassignmentInZnode({number: some} if random.random() < 0.8 else {number: some, 7: (0,)})
