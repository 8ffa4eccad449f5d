"""Our side of the comparisons with KRaft's controller: the rules of spec/kraft, executed by the reference interpreter.

The decisions are those of `kraft/fixed`, but for what the compared version of Kafka decides otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.oracle import ExecutableSpec
from kafka_spec.spec.decisions import Checked, LastKnownLeader, NewIncarnation
from kafka_spec.spec.domain import NONE, BrokerSet, append
from kafka_spec.spec.kraft.eras import FIXED
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, OUTSIDE, BrokerState

VERSIONS = ("3.9.1", "4.1.2", "4.3.1", "4.4.0")
"""The versions of Kafka whose controller is compared."""

DECISIONS: Mapping[str, Mapping[str, Any]] = {
    "3.9.1": {
        "last_known_acceptable": Checked.NO,
        "last_known_leader": LastKnownLeader.WHEN_ISR_EMPTIES,
        "clean_shutdown_detected": Checked.NO,
        "new_incarnation": NewIncarnation.STAYS,
    },
}
"""What a version decides otherwise than `kraft/fixed`, as the classes that are compared ask it."""


@dataclass(frozen=True)
class KRaftPartition:
    """A partition's registration on either side. The ISR and the ELR are in ascending order: theirs has no effect on elections."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_leader: int = NONE
    recovery: int = 0
    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass(frozen=True)
class KRaftView:
    """What is seen of a controller on either side: state and epoch of each broker, and the partition.

    An epoch is its place among those that the broker has had.
    """

    registrations: tuple[tuple[BrokerState, int], ...]
    partition: KRaftPartition


@functools.cache
def executable(version: str, settings: tuple[tuple[str, int], ...]) -> ExecutableSpec:
    """Return `kraft/fixed` with the decisions of a version of Kafka; `settings` are bounds and further decisions."""
    asked = dict(settings)
    decisions = {d.name: type(d.value)(asked.pop(d.name)) for d in FIXED.decisions if d.name in asked}
    spec = FIXED.replacing(
        f"kraft/{version}", f"Kafka {version} as compared", decisions={**DECISIONS.get(version, {}), **decisions}
    )
    return ExecutableSpec(spec, spec.bound_values({**spec.bound_sets[0].values, **asked}))


@functools.cache
def _fresh(rules: ExecutableSpec) -> Any:
    return rules.space.fresh()


def with_partition(rules: ExecutableSpec, partition: KRaftPartition) -> Any:
    """Return a state whose controller has this partition; nobody is registered."""
    s = rules.space.root.copy(_fresh(rules))
    for replica in partition.replicas:
        append(s.controller.partition.replicas, replica)
    held = s.controller.partition
    held.leader, held.leader_epoch = partition.leader, partition.leader_epoch
    held.partition_epoch, held.recovery = partition.partition_epoch, partition.recovery
    held.isr, held.elr = BrokerSet.of(partition.isr), BrokerSet.of(partition.elr)
    held.last_known_leader = partition.last_known_leader
    for broker in range(rules.k.brokers):
        place = IN_ISR if broker in partition.isr else IN_ELR if broker in partition.elr else OUTSIDE
        list.__setitem__(s.controller.memberships, broker, place)
    return s


def partition_of(s: Any) -> KRaftPartition:
    """Return the partition of the controller."""
    held = s.controller.partition
    return KRaftPartition(
        tuple(held.replicas),
        held.leader,
        tuple(BrokerSet(held.isr)),
        tuple(BrokerSet(held.elr)),
        held.last_known_leader,
        held.recovery,
        held.leader_epoch,
        held.partition_epoch,
    )
