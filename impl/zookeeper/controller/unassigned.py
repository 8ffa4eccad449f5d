"""Brokers delete replicas that they are not assigned: a former controller's StopReplica may never have arrived.

Source: KIP-866, where a full LeaderAndIsr has this effect; no version without a migration to KRaft does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerTask
from kafka_spec.spec.decisions.reassignment import brokers_to_clean
from kafka_spec.spec.language.domain import BrokerSet


@dataclass(frozen=True)
class StopUnassigned(ControllerTask):
    """Send those of the live brokers a StopReplica with delete for the led partitions that they are not assigned.

    So it is also for topics that are queued for deletion: a deletion asks only the brokers that are assigned.
    """

    brokers: BrokerSet

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.batch.begin()
        for partition in core.context.leadership:
            assigned = BrokerSet.of(core.context.assignments.get(partition, ()))
            for broker in brokers_to_clean(self.brokers, assigned, core.k.unassigned_brokers):
                core.batch.add_stop_unassigned(broker, partition)
        core.batch.send()
        return []
