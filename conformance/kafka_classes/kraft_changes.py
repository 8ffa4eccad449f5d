"""Changes of a partition in KRaft: our decision table of elections and what follows from it, beside PartitionChangeBuilder.

Every change of one and of two replicas: every ISR, ELR, leader, last known leader, set of active brokers, kind of election,
min.insync.replicas and recovery state, with the ELR and without, and also at a metadata version that grows the leader epoch with
each shrink. Every change of three replicas in an order that is not that of their numbers; then random ones of up to four.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import read
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS, KRaftPartition, executable, partition_of, with_partition
from kafka_spec.spec.decisions.partition_change import ElectionKind, RecoveryState
from kafka_spec.spec.kraft.controller import change_partition
from kafka_spec.spec.language.domain import NONE, BrokerSet

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

BROKERS = 4
ALL = 2000
"""From so many cases on, the small changes are all compared."""


@dataclass(frozen=True)
class WantedChange:
    """One input of the builder: the partition before, the ISR and the recovery state that are wanted, and the rest of the question.

    `bumps` says that the metadata version is one that grows the leader epoch when the ISR shrinks.
    """

    before: KRaftPartition
    isr: tuple[int, ...]
    acceptable: tuple[int, ...]
    election: ElectionKind
    min_isr: int
    elr: bool = True
    unclean: tuple[int, ...] = ()
    recovery: int = RecoveryState.RECOVERED
    bumps: bool = False


# ---------------------------------------------------------------------------------------------------------------------
# Inputs


def subsets(brokers: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all subsets, members ascending."""
    return [chosen for size in range(len(brokers) + 1) for chosen in itertools.combinations(sorted(brokers), size)]


def without(brokers: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Return the brokers that are not among the others."""
    return tuple(broker for broker in brokers if broker not in others)


def partitions(
    replicas: tuple[int, ...], last_known: tuple[int, ...], recoveries: tuple[RecoveryState, ...], elr: bool
) -> Iterator[KRaftPartition]:
    """Yield every partition of these replicas: each ISR, ELR beside it, leader in the ISR, and last known leader."""
    for isr in subsets(replicas):
        for eligible in subsets(without(replicas, isr)) if elr else [()]:
            for leader, last, recovery in itertools.product((NONE, *isr), last_known if elr else (NONE,), recoveries):
                yield KRaftPartition(replicas, leader, isr, eligible, last, recovery, 5, 9)


def small() -> Iterator[WantedChange]:
    """Yield every change of one and two replicas."""
    recoveries = tuple(RecoveryState)
    for replicas, elr in itertools.product(((1,), (0, 1), (1, 0)), (True, False)):
        for before in partitions(replicas, (NONE, 0, 1), recoveries, elr):
            for isr, acceptable, election in itertools.product(subsets(replicas), subsets(replicas), ElectionKind):
                for unclean, min_isr in itertools.product(subsets(without(replicas, isr)), range(1, len(replicas) + 1)):
                    for recovery in recoveries:
                        yield WantedChange(before, isr, acceptable, election, min_isr, elr, unclean, recovery)
                    if before.recovery == RecoveryState.RECOVERED:
                        yield WantedChange(before, isr, acceptable, election, min_isr, elr, unclean, bumps=True)


def of_three() -> Iterator[WantedChange]:
    """Yield every change of three replicas, one of which may have lost records, at min.insync.replicas 2."""
    replicas = (2, 0, 1)
    for before in partitions(replicas, (NONE, 0), (RecoveryState.RECOVERED,), elr=True):
        for isr, acceptable, election in itertools.product(subsets(replicas), subsets(replicas), ElectionKind):
            for unclean in ((), (0,)) if 0 not in isr else ((),):
                yield WantedChange(before, isr, acceptable, election, 2, unclean=unclean)


def at_random(random: Random) -> WantedChange:
    """Return a random change of up to four replicas."""

    def some(brokers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(random.sample(brokers, random.randint(0, len(brokers)))))

    replicas = tuple(random.sample(range(BROKERS), random.randint(1, BROKERS)))
    elr, isr, wanted = random.random() < 0.8, some(replicas), some(replicas)
    before = KRaftPartition(
        replicas,
        random.choice((NONE, *isr)),
        isr,
        some(without(replicas, isr)) if elr else (),
        random.choice((NONE, *replicas)) if elr else NONE,
        random.choice(tuple(RecoveryState)),
        5,
        9,
    )
    kind, recovery = random.choice(tuple(ElectionKind)), random.choice(tuple(RecoveryState))
    lost, min_isr = some(without(replicas, wanted)), random.randint(1, len(replicas))
    return WantedChange(before, wanted, some(replicas), kind, min_isr, elr, lost, recovery, random.random() < 0.2)


# ---------------------------------------------------------------------------------------------------------------------
# Both sides


def ours(version: str, change: WantedChange) -> KRaftPartition:
    """Return the partition after our change."""
    settings = {"brokers": BROKERS, "min_isr": change.min_isr, "elr": int(change.elr), "bump_on_shrink": int(change.bumps)}
    rules = executable(version, tuple(settings.items()))
    s = with_partition(rules, change.before)
    isr, acceptable, unclean = (BrokerSet.of(members) for members in (change.isr, change.acceptable, change.unclean))
    change_partition(s, rules.k, isr, acceptable, unclean, change.election, change.recovery)
    rules.attempts.clear()
    return partition_of(s)


class ChangeBuilder:
    """PartitionChangeBuilder of one version."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._builder = kafka.named("org.apache.kafka.controller.PartitionChangeBuilder")
        self._elr_is_an_argument = not hasattr(self._builder, "setEligibleLeaderReplicasEnabled")
        """Since 4.3; before, it is set."""
        self._elections = kafka.named("org.apache.kafka.controller.PartitionChangeBuilder$Election")
        self._registration = kafka.named("org.apache.kafka.metadata.PartitionRegistration$Builder")
        self._recovery = kafka.named("org.apache.kafka.metadata.LeaderRecoveryState")
        self._versions = kafka.named("org.apache.kafka.server.common.MetadataVersion")
        self._topic = kafka.named("org.apache.kafka.common.Uuid")(1, 2)
        self._directory = kafka.named("org.apache.kafka.common.Uuid")(3, 4)
        self._lists = functools.cache(lambda brokers: kafka.java_list(brokers))
        self._predicate = functools.cache(
            lambda brokers: kafka.implementing("java.util.function.IntPredicate", {"test": frozenset(brokers).__contains__})
        )
        self._directories = kafka.implementing(
            "org.apache.kafka.metadata.placement.DefaultDirProvider", {"defaultDir": lambda _: self._directory}
        )
        self._before = functools.lru_cache(maxsize=4)(self._registered)

    def _registered(self, partition: KRaftPartition) -> Any:
        arrays = {name: self._kafka.integers(getattr(partition, name)) for name in ("replicas", "isr", "elr")}
        last = () if partition.last_known_leader == NONE else (partition.last_known_leader,)
        directories = self._kafka.array("org.apache.kafka.common.Uuid", [self._directory] * len(partition.replicas))
        return (
            self._registration()
            .setReplicas(arrays["replicas"])
            .setDirectories(directories)
            .setIsr(arrays["isr"])
            .setElr(arrays["elr"])
            .setLastKnownElr(self._kafka.integers(last))
            .setLeader(self._kafka.boxed(partition.leader))
            .setLeaderRecoveryState(self._recovery.of(partition.recovery))
            .setLeaderEpoch(self._kafka.boxed(partition.leader_epoch))
            .setPartitionEpoch(self._kafka.boxed(partition.partition_epoch))
            .build()
        )

    def changed(self, change: WantedChange) -> KRaftPartition:
        """Return the partition after Kafka's change."""
        before = self._before(change.before)
        metadata_version = self._versions.IBP_3_5_IV2 if change.bumps else self._versions.IBP_4_0_IV1
        asked = (before, self._topic, 0, self._predicate(change.acceptable), metadata_version, change.min_isr)
        if self._elr_is_an_argument:
            builder = self._builder(*asked, change.elr)
        else:
            builder = self._builder(*asked).setEligibleLeaderReplicasEnabled(change.elr)
        record = (
            builder.setElection(getattr(self._elections, change.election.name))
            .setDefaultDirProvider(self._directories)
            .setTargetIsr(self._lists(change.isr))
            .setUncleanShutdownReplicas(self._lists(change.unclean))
            .setTargetLeaderRecoveryState(self._recovery.of(change.recovery))
            .build()
        )
        return read(self._kafka, before.merge(record.get().message()) if record.isPresent() else before)


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare all small changes, or a sample of them if fewer cases are asked for than usual, and random ones."""
    builder = ChangeBuilder(kafka)
    share = min(1.0, cases / ALL)
    exhaustive = (change for change in itertools.chain(small(), of_three()) if share == 1 or random.random() < share)
    drawn = (at_random(random) for _ in range(10 * cases))
    for change in itertools.chain(exhaustive, drawn):
        found = builder.changed(change)
        comparison.seen["nothing is written" if found == change.before else "a change"] += 1
        comparison.compare(change, ours(kafka.version, change), found)


SUBJECT = Subject(
    "kraft-changes",
    "PartitionChangeBuilder: leader, ISR, ELR, last known leader, epochs of every small change",
    compare,
    (),
    VERSIONS,
)
