"""Changes of partitions: what one event of the controller writes for a partition, as a record.

The decisions are those of spec/partition_change.py; this module asks them in the order of Kafka's builder, and writes what differs.

Source: Kafka 3.9 PartitionChangeBuilder.java.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.kraft.records import NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, PartitionChangeRecord
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.partition_change import (
    ElectionKind,
    effective_min_isr,
    elect_by_choice,
    elr_after,
    is_unclean,
    isr_after,
    last_known_after,
    leader_epoch_grows,
    recovery_after,
    target_elr,
)
from kafka_spec.spec.table import Constants


@dataclass(frozen=True)
class AskedChange:
    """What an event wants of a partition: an ISR, a recovery state and an election.

    `acceptable` may lead; the brokers in `lost_records` have restarted without all their records.
    """

    isr: tuple[int, ...]
    acceptable: BrokerSet
    election: ElectionKind = ElectionKind.ONLINE
    recovery: int | None = None
    lost_records: BrokerSet = NO_BROKERS


@dataclass(frozen=True)
class BuiltChange:
    """The record of a change, None if nothing differs, and whether it elects a leader that may lack committed records."""

    record: PartitionChangeRecord | None
    unclean: bool = False


def build_change(name: TopicPartition, old: RegisteredPartition, wanted: AskedChange, min_isr: int, k: Constants) -> BuiltChange:
    """Return the change of a partition; `min_isr` is min.insync.replicas of its topic."""
    isr, elr = BrokerSet.of(wanted.isr), BrokerSet.of(old.elr)
    old_isr = BrokerSet.of(old.isr)
    least = effective_min_isr(min_isr, len(old.replicas))
    elr = target_elr(old.replicas, old_isr, elr, isr, wanted.lost_records, least, k.elr)
    leader, choice = elect_by_choice(
        wanted.election, old.replicas, old.leader, isr, elr, old.last_known, wanted.acceptable, k.elr, k.last_known_acceptable
    )
    new_isr = isr_after(choice, old.leader, leader, old_isr, isr, elr, k.elr)
    new_elr = elr_after(choice, old.leader, leader, elr)
    recovery = old.recovery if wanted.recovery is None else wanted.recovery
    recovery = recovery_after(choice, old.leader, leader, old.recovery, recovery)
    names_leader = leader_epoch_grows(old.leader, leader, old_isr, new_isr, k.bump_on_shrink)
    last_known = old.last_known
    if k.elr == Checked.YES:
        grows = int(names_leader)
        last_known = last_known_after(k.last_known_leader, old.last_known, old.leader, leader, grows, old_isr, new_isr)
    record = PartitionChangeRecord(
        name.partition,
        old.topic_id,
        isr=in_order(new_isr, wanted.isr, old.isr) if new_isr != old_isr else None,
        leader=leader if names_leader else NO_LEADER_CHANGE,
        leader_recovery_state=recovery if recovery != old.recovery else NO_RECOVERY_CHANGE,
        eligible_leader_replicas=in_order(new_elr, old.elr, old.isr) if new_elr != BrokerSet.of(old.elr) else None,
        last_known_elr=(() if last_known == NONE else (last_known,)) if last_known != old.last_known else None,
    )
    if record == PartitionChangeRecord(name.partition, old.topic_id):
        return BuiltChange(None)
    return BuiltChange(record, is_unclean(choice) and leader != old.leader)


def in_order(brokers: int, *lists: tuple[int, ...]) -> tuple[int, ...]:
    """Return a set of brokers in the order of these lists; brokers of none of them come last."""
    known = dict.fromkeys(broker for one in lists for broker in one)
    found = BrokerSet(brokers)
    return (*(broker for broker in known if broker in found), *(broker for broker in found if broker not in known))
