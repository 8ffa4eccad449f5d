"""The promises of kraft/fixed about registrations and a partition, judged on what either controller shows. No Java is needed."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.conformance.classes.kraft_ours import KRaftView
from kafka_spec.spec.domain import NONE
from kafka_spec.spec.kraft.machines import BrokerState


@dataclass(frozen=True)
class Setting:
    """What a sequence starts from."""

    brokers: int
    min_isr: int
    unclean: bool
    elr: bool


def broken(setting: Setting, before: KRaftView, now: KRaftView) -> list[str]:
    """Return the promises about registrations and partition that a step of either side breaks, by the names of kraft/fixed."""
    was, held = before.partition, now.partition
    states = {broker: state for broker, (state, _) in enumerate(now.registrations)}
    inactive = [broker for broker in held.isr if states[broker] != BrokerState.UNFENCED]
    changed = was.leader != held.leader or was.isr != held.isr or was.elr != held.elr
    judged = {
        "LeaderInIsr": held.leader == NONE or held.leader in held.isr,
        "LeaderIsActive": held.leader == NONE or states[held.leader] == BrokerState.UNFENCED,
        "IsrIsActive": not inactive or (not setting.elr and len(held.isr) == 1),
        "IsrNeverEmpty": setting.elr or bool(held.isr),
        "ElrBesideSmallIsr": not held.elr
        or (setting.elr and not set(held.isr) & set(held.elr) and len(held.isr) < min(setting.min_isr, len(held.replicas))),
        "EpochsNeverGoBack": held.leader_epoch >= was.leader_epoch and held.partition_epoch >= was.partition_epoch,
        "ChangesHaveTheirEpochs": (not changed or held.partition_epoch > was.partition_epoch)
        and (was.leader == held.leader or held.leader_epoch > was.leader_epoch),
        "ReplicasListed": set(held.isr) | set(held.elr) <= set(held.replicas)
        and len(set(held.isr)) == len(held.isr)
        and len(set(held.elr)) == len(held.elr),
    }
    return [name for name, kept in judged.items() if not kept]
