"""The properties of kraft/fixed about registrations and a partition, judged on what either controller shows. No Java is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafka_spec.conformance.kafka_classes.kraft_ours import NO_PARTITION, KRaftPartition, KRaftView
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE


@dataclass(frozen=True)
class Setting:
    """What a sequence starts from."""

    brokers: int
    min_isr: int
    unclean: bool
    elr: bool
    spares: int = 0
    """Brokers that hold no replica at first: the last ones."""
    two_directories: bool = False
    """Whether brokers have another log directory, so that the one of their replica can fail."""


def within_replicas(held: KRaftPartition) -> KRaftPartition:
    """Return a partition whose ELR names replicas only: what is left of it satisfies every property (elr-outside-replicas)."""
    return replace(held, elr=tuple(broker for broker in held.elr if broker in held.replicas))


def broken(setting: Setting, before: KRaftView, now: KRaftView) -> list[str]:
    """Return the properties of registrations and partition that a step of either side breaks, by the names of kraft/fixed."""
    was, held = before.partition, now.partition
    another = before.topic != now.topic
    states = {broker: state for broker, (state, _) in enumerate(now.registrations)}
    inactive = [broker for broker in held.isr if states[broker] != BrokerState.UNFENCED]
    changed = replace(was, leader_epoch=0, partition_epoch=0) != replace(held, leader_epoch=0, partition_epoch=0)
    moved = was.leader != held.leader or not set(was.replicas) <= set(held.replicas)
    judged = {
        "LeaderInIsr": held.leader == NONE or held.leader in held.isr,
        "LeaderIsActive": held.leader == NONE or states[held.leader] == BrokerState.UNFENCED,
        "IsrIsActive": not inactive or (not setting.elr and len(held.isr) == 1),
        "IsrNeverEmpty": setting.elr or bool(held.isr) or held == NO_PARTITION,
        "ElrBesideSmallIsr": not held.elr
        or (setting.elr and not set(held.isr) & set(held.elr) and len(held.isr) < min(setting.min_isr, len(held.replicas))),
        "EpochsNeverGoBack": another or (held.leader_epoch >= was.leader_epoch and held.partition_epoch >= was.partition_epoch),
        "ChangesHaveTheirEpochs": another
        or ((not changed or held.partition_epoch > was.partition_epoch) and (not moved or held.leader_epoch > was.leader_epoch)),
        "ListsNameReplicas": all(
            set(members) <= set(held.replicas) and len(set(members)) == len(members)
            for members in (held.isr, held.elr, held.adding, held.removing, held.replicas)
        ),
    }
    return [name for name, kept in judged.items() if not kept]
