"""Maps what the model's controller has of a partition to a controller: its machines, its knowledge, and the rest of its event."""

from __future__ import annotations

from kafka_spec.conformance.replay.agenda import PartitionWork
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping, attribute
from kafka_spec.conformance.replay.request_mapping import PARTITIONS, in_order, leadership, model_leadership
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.spec.decisions.reassignment import PartitionAssignment
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.zookeeper import state


class PartitionView:
    """What a controller has of one partition, as the mapping reads and writes it."""

    def __init__(self, controller: KafkaController, number: int, brokers: int, work: PartitionWork) -> None:
        self.controller, self.context = controller, controller.context
        self.name = PARTITIONS[number]
        self.brokers = brokers
        self.work = work
        """What remains to be done about it in the event that the controller handles."""

    @property
    def partition_state(self) -> int:
        """The state of the partition in the controller's machine."""
        return int(self.controller.partitions.state_of(self.name))

    @partition_state.setter
    def partition_state(self, found: int) -> None:
        self.controller.partitions.load((self.name,), PartitionState(found))

    @property
    def replicas(self) -> list[int]:
        """The state of each broker's replica in the controller's machine."""
        return [int(self.controller.replicas.state_of(self.name, broker)) for broker in range(self.brokers)]

    @replicas.setter
    def replicas(self, found: list[int]) -> None:
        for broker, one in enumerate(found):
            self.controller.replicas.load((self.name, broker), ReplicaState(one))

    @property
    def reassignment(self) -> int:
        """The controller's step in the partition's reassignment."""
        return int(self.controller.reassignments.state_of(self.name))

    @reassignment.setter
    def reassignment(self, found: int) -> None:
        self.controller.reassignments.load((self.name,), ReassignmentState(found))

    @property
    def assignment(self) -> state.ReplicaAssignment:
        """The assignment of the partition; none before it knows the partition."""
        known = self.context.assignment(self.name)
        return state.ReplicaAssignment(list(known.replicas), BrokerSet.of(known.adding), BrokerSet.of(known.removing))

    @assignment.setter
    def assignment(self, known: state.ReplicaAssignment) -> None:
        for held in (self.context.assignments, self.context.adding, self.context.removing):
            held.pop(self.name, None)
        if known.replicas:
            adding, removing = in_order(known.adding, known.replicas), in_order(known.removing, known.replicas)
            self.context.assign(self.name, PartitionAssignment(tuple(known.replicas), adding, removing))

    @property
    def leadership(self) -> state.LeaderIsrAndControllerEpoch:
        """The cached state of the partition."""
        return model_leadership(self.context.leadership.get(self.name))

    @leadership.setter
    def leadership(self, cached: state.LeaderIsrAndControllerEpoch) -> None:
        held = leadership(cached)
        self.context.leadership.pop(self.name, None)
        if held is not None:  # the replicas of a partition that is being deleted may be gone
            self.context.leadership[self.name] = held
            self.context.assignments.setdefault(self.name, ())

    @property
    def target(self) -> list[int]:
        """The target of the partition's reassignment; none if it is not reassigned."""
        return list(self.context.targets.get(self.name, ()))

    @target.setter
    def target(self, brokers: list[int]) -> None:
        self.context.targets.pop(self.name, None)
        if brokers:
            self.context.targets[self.name] = tuple(brokers)

    @property
    def planned(self) -> int:
        """Whether the controller has read what /admin/reassign_partitions names for the partition."""
        return int(self.name in self.context.planned)

    @planned.setter
    def planned(self, is_planned: int) -> None:
        self.context.planned.discard(self.name)
        if is_planned:
            self.context.planned.add(self.name)


def _nothing(view: PartitionView, record: object) -> None:
    """Do nothing: the agenda is written as a whole, with the controller's step."""


def _of_work(field: str) -> FieldMapping:
    """Map a field to the remaining work about a partition."""
    return FieldMapping(field, lambda view: getattr(view.work, field), _nothing)


KNOWN = RecordMapping(
    state.PartitionContext,
    attribute("assignment"),
    attribute("leadership"),
    _of_work("strategy"),
    _of_work("creating"),
    _of_work("leaving"),
    _of_work("deleting"),
    attribute("target"),
    _of_work("reassignment_resumes"),
    attribute("planned"),
)
"""What a controller knows of a partition, and what it still does about it."""

MACHINES = RecordMapping(
    state.PartitionMachines, attribute("state", "partition_state"), attribute("replicas"), attribute("reassignment")
)
"""A controller's machines for a partition."""
