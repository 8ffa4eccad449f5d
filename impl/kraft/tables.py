"""The machines of the controller: registrations, and where each replica stands; batches change them by rows of their tables."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_spec.impl.fire_log import OnlyTheTable
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredPartition
from kafka_spec.impl.machine import build
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, OUTSIDE, UNREGISTERED, BrokerState, Membership
from kafka_spec.spec.vocabulary.table import Spec

TRIGGER = {
    BrokerState.UNFENCED: "unfence",
    BrokerState.CONTROLLED_SHUTDOWN: "begin_controlled_shutdown",
    BrokerState.FENCED: "fence",
}
"""The trigger that leads a registration to a state."""


class ControllerTables:
    """The states of registrations and memberships; `follow` fires the rows of a batch."""

    def __init__(self, era: Spec) -> None:
        machines = {machine.name: machine for machine in era.machines}
        wanted = {machines["Registration"]: ("broker",), machines["Membership"]: ("partition", "replica")}
        running = build(self, wanted, OnlyTheTable())
        self._registrations, self._memberships = running["Registration"], running["Membership"]

    def state_of(self, broker: int) -> BrokerState:
        """Return the state of a broker's registration."""
        return BrokerState(self._registrations.state_of(broker))

    def membership_of(self, partition: TopicPartition, replica: int) -> Membership:
        """Return where a replica stands."""
        return Membership(self._memberships.state_of(partition, replica))

    def load(self, image: ClusterImage) -> None:
        """Take the states from an image, as a controller does that takes over."""
        for entity in self._memberships.entities():
            self._memberships.load(entity, OUTSIDE)
        for entity in self._registrations.entities():
            self._registrations.load(entity, UNREGISTERED)
        for broker, known in image.brokers.items():
            self._registrations.load((broker,), known.state)
        for partition, held in image.partitions.items():
            for replica in named(held):
                self._memberships.load((partition, replica), membership(held, replica))

    def follow(self, before: ClusterImage, after: ClusterImage) -> None:
        """Change the states as a batch has changed the image, each by a row of its table."""
        for broker, known in after.brokers.items():
            if known is not before.brokers.get(broker):
                self._follow_registration(broker, known.epoch != before.epoch_of(broker), known.state)
        for broker in before.brokers:
            if broker not in after.brokers:
                self._registrations.fire("unregister", broker)
        for partition in dict.fromkeys((*before.partitions, *after.partitions)):
            old, held = before.partitions.get(partition), after.partitions.get(partition)
            if held is not old:
                for trigger, replica in moves(old, held):
                    self._memberships.fire(trigger, partition, replica)

    def _follow_registration(self, broker: int, is_new: bool, state: BrokerState) -> None:
        if is_new:
            self._registrations.fire("register", broker)
        if self.state_of(broker) != state:
            self._registrations.fire(TRIGGER[state], broker)


def named(held: RegisteredPartition | None) -> tuple[int, ...]:
    """Return the brokers that a partition names; one that is not a replica may be in the ELR (elr-outside-replicas)."""
    return () if held is None else (*held.replicas, *held.elr)


def membership(held: RegisteredPartition | None, replica: int) -> Membership:
    """Return where a partition has a replica; nowhere while there is no partition."""
    if held is None:
        return OUTSIDE
    if replica in held.isr:
        return IN_ISR
    return IN_ELR if replica in held.elr else OUTSIDE


def moves(old: RegisteredPartition | None, new: RegisteredPartition | None) -> Iterator[tuple[str, int]]:
    """Yield the triggers of the replicas that a change moves; a partition that is created or deleted is None before or after."""
    for replica in dict.fromkeys((*named(new), *named(old))):
        before, after = membership(old, replica), membership(new, replica)
        if before != after:
            if after == OUTSIDE:
                yield ("leave_isr" if before == IN_ISR else "leave_elr"), replica
            else:
                yield ("join_isr" if after == IN_ISR else "keep_eligible"), replica
