"""Changes of partitions: what one event of the controller writes for a partition, as a record.

The decisions are in spec/decisions/partition_change.py; this module calls them in the order of Kafka's builder
and writes what differs.

Source: Kafka 3.9 PartitionChangeBuilder.java.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.kraft.records import NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, PartitionChangeRecord
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import (
    ElectionKind,
    awaited_replicas,
    elect_by_choice,
    elr_after,
    elr_beside,
    elr_of_replicas,
    is_unclean,
    isr_after,
    last_known_after,
    leader_epoch_grows,
    reassignment_completes,
    recovery_after,
    replicas_leave,
    target_elr,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.vocabulary.table import Constants


@dataclass(frozen=True)
class AssignedReplicas:
    """The replicas, and those among them that a reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @classmethod
    def of(cls, held: RegisteredPartition) -> AssignedReplicas:
        """Return the assignment of a partition."""
        return cls(held.replicas, held.adding, held.removing)

    def without(self, left: tuple[int, ...]) -> AssignedReplicas:
        """Return the assignment after a reassignment: these replicas have left, and nothing is added or removed."""
        return AssignedReplicas(tuple(replica for replica in self.replicas if replica not in left))


@dataclass(frozen=True)
class AskedChange:
    """What an event wants of a partition: an ISR, a recovery state, an election, and another assignment if it names one.

    `acceptable` may lead; the brokers in `lost_records` have restarted without all their records.
    """

    isr: tuple[int, ...]
    acceptable: BrokerSet
    election: ElectionKind = ElectionKind.ONLINE
    recovery: int | None = None
    lost_records: BrokerSet = NO_BROKERS
    assignment: AssignedReplicas | None = None


@dataclass(frozen=True)
class BuiltChange:
    """The record of a change, None if nothing differs, and whether it elects a leader that may lack committed records."""

    record: PartitionChangeRecord | None
    unclean: bool = False


def completed(assignment: AssignedReplicas, isr: BrokerSet, k: Constants) -> AssignedReplicas:
    """Return the assignment after a change to this ISR, which completes a reassignment if it can (maybeCompleteReassignment)."""
    adding, removing = BrokerSet.of(assignment.adding), BrokerSet.of(assignment.removing)
    awaited = awaited_replicas(k.reassignment_lists, adding, removing)
    if not reassignment_completes(k.reassignment_completion, assignment.replicas, awaited, removing, isr):
        return assignment
    return assignment.without(assignment.removing)


def remembered(old: RegisteredPartition, leader: int, names_leader: bool, isr: BrokerSet, k: Constants) -> int:
    """Return the last known leader after a change to this leader and ISR; without the ELR, it stays."""
    if k.elr == Checked.NO:
        return old.last_known
    old_isr = BrokerSet.of(old.isr)
    return last_known_after(k.last_known_leader, old.last_known, old.leader, leader, int(names_leader), old_isr, isr)


def build_change(name: TopicPartition, old: RegisteredPartition, wanted: AskedChange, least: int, k: Constants) -> BuiltChange:
    """Return the change of a partition; `least` is the effective min.insync.replicas, which takes partition 0 of its topic.

    First, the change completes a reassignment if it can; in `fixed`, a leader that is elected outside the ISR may complete it too.
    """
    before = AssignedReplicas.of(old)
    asked = wanted.assignment or before
    now = completed(asked, BrokerSet.of(wanted.isr), k)
    asked_isr = wanted.isr if now is asked else tuple(broker for broker in wanted.isr if broker not in asked.removing)
    isr, elr, old_isr = BrokerSet.of(asked_isr), BrokerSet.of(old.elr), BrokerSet.of(old.isr)
    elr = target_elr(now.replicas, old_isr, elr, isr, wanted.lost_records, least, k.elr)
    elr = elr_of_replicas(elr, now.replicas, k.elr_within_replicas)
    leader, choice = elect_by_choice(
        wanted.election, now.replicas, old.leader, isr, elr, old.last_known, wanted.acceptable, k.elr, k.last_known_acceptable
    )
    new_isr = isr_after(choice, old.leader, leader, old_isr, isr, elr, k.elr)
    if k.completes_after_election == Checked.YES:
        now = completed(now, new_isr, k)
    new_elr = elr_after(choice, old.leader, leader, elr)
    new_elr = elr_beside(new_isr, new_elr, now.replicas, least, k.elr_within_replicas, k.elr_kept_without_isr)
    recovery = old.recovery if wanted.recovery is None else wanted.recovery
    recovery = recovery_after(choice, old.leader, leader, old.recovery, recovery)
    leaves = replicas_leave(BrokerSet.of(before.replicas), BrokerSet.of(now.replicas))
    names_leader = leaves or leader_epoch_grows(k.bump_on_shrink, old.leader, leader, old_isr, isr, new_isr)
    last_known = remembered(old, leader, names_leader, new_isr, k)
    nothing = PartitionChangeRecord(name.partition, old.topic_id)
    record = replace(
        nothing,
        isr=in_order(new_isr, asked_isr, old.isr) if new_isr != old_isr else None,
        leader=leader if names_leader else NO_LEADER_CHANGE,
        replicas=now.replicas if now.replicas != before.replicas else None,
        removing_replicas=now.removing if now.removing != before.removing else None,
        adding_replicas=now.adding if now.adding != before.adding else None,
        leader_recovery_state=recovery if recovery != old.recovery else NO_RECOVERY_CHANGE,
        eligible_leader_replicas=tuple(BrokerSet(new_elr)) if new_elr != BrokerSet.of(old.elr) else None,
        last_known_elr=(() if last_known == NONE else (last_known,)) if last_known != old.last_known else None,
    )
    if record == nothing:
        return BuiltChange(None)
    return BuiltChange(record, is_unclean(choice) and leader != old.leader)


def in_order(brokers: int, *lists: tuple[int, ...]) -> tuple[int, ...]:
    """Return a set of brokers in the order of these lists; brokers of none of them come last."""
    known = dict.fromkeys(broker for one in lists for broker in one)
    found = BrokerSet(brokers)
    return (*(broker for broker in known if broker in found), *(broker for broker in found if broker not in known))
