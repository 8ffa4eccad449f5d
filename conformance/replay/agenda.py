"""The remaining work of a controller's event: tasks on the agenda of the implementation, a step and sets of brokers in the model.

`written` and `read` are inverse to each other on agendas between two steps of the model. Pending answers to callers
(`AnswerShutdown`, `AnswerElection`) have no counterpart in the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_spec.impl.controller.broker_changes import FailBrokers, StartBrokers
from kafka_spec.impl.controller.controlled_shutdown import AnswerShutdown
from kafka_spec.impl.controller.controller_election import IncrementEpoch
from kafka_spec.impl.controller.core import ControllerTask
from kafka_spec.impl.controller.failover import FAIL_OVER, DeleteNotifications, EndFailover, StartPartitionMachine
from kafka_spec.impl.controller.preferred_election import AnswerElection, EndPreferredElection
from kafka_spec.impl.controller.reassignment import (
    REMOVING,
    TRIGGERS,
    AnswerReassignments,
    BeginReassignment,
    Reassign,
    ResumeReassignments,
)
from kafka_spec.impl.controller.state_changes import ChangePartitions, ChangeReplicas, ElectAgain
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.order import Stage
from kafka_spec.spec.control.state import ControllerState, ControllerStep
from kafka_spec.spec.domain import NO_BROKERS, BrokerSet
from kafka_spec.spec.election import Strategy
from kafka_spec.spec.reassignment_steps import ReassignmentState

WITHOUT_MEANING = (
    ElectAgain,
    StartPartitionMachine,
    EndFailover,
    AnswerShutdown,
    AnswerElection,
    AnswerReassignments,
    EndPreferredElection,
)
"""Tasks without a counterpart in the model: they follow from the other tasks, or answer a caller."""
WRITING = ("supplant", "record", "extend", "move_leader", "finish", "clear")
"""The triggers of the steps of a reassignment that use ZooKeeper."""
STEPS: Mapping[type, ControllerStep] = {
    ChangePartitions: ControllerStep.ELECT,
    ChangeReplicas: ControllerStep.REMOVE,
    Reassign: ControllerStep.REASSIGN,
}
"""The step of the model that begins with a task of this class."""


@dataclass
class RemainingWork:
    """The remaining work in fields of the model: of spec.control.state.Controller and Context.

    `registrations` holds the started brokers that are not handled yet, with the registrations and epochs that were read.
    """

    step: int = ControllerStep.IDLE
    strategy: int = Strategy.OFFLINE
    creating: int = 0
    leaving: BrokerSet = NO_BROKERS
    bounced: BrokerSet = NO_BROKERS
    rejoining: BrokerSet = NO_BROKERS
    failed: BrokerSet = NO_BROKERS
    reassignment_resumes: int = 0
    registrations: dict[int, tuple[BrokerRegistration, int]] = field(default_factory=dict)


def is_due(task: ControllerTask) -> bool:
    """Whether a step of the model begins with this task: it reads and possibly writes a znode of the topic."""
    if isinstance(task, ChangePartitions):
        return task.trigger == "online_partition"
    if isinstance(task, Reassign):
        return task.trigger in WRITING
    return isinstance(task, ChangeReplicas) and task.trigger == "offline_replica"


def written(
    rest: RemainingWork,
    partition: TopicPartition,
    replicas: Sequence[int],
    *,
    life: ControllerState,
    seeded: bool,
    leaves_alive: bool,
    reassignment: ReassignmentState,
    target: Sequence[int],
) -> list[ControllerTask]:
    """Return the tasks of remaining work, for a controller in this state of its life, in the order of spec/control/order.py.

    `seeded` says, during fail-over, that the partition machine was started; `leaves_alive` that the leaving brokers are in a
    controlled shutdown. `reassignment` is where the controller stands in the reassignment to `target`.
    """
    if life == ControllerState.ELECTING:
        return [IncrementEpoch()]
    if rest.step == ControllerStep.READ:
        return list(FAIL_OVER)
    removes = reassignment in REMOVING
    elects_again = life == ControllerState.ACTIVE and not leaves_alive and not removes
    left = {
        Stage.ELECT: _election(rest, partition, replicas),
        Stage.REMOVE: _removals(rest, partition, elects_again=elects_again),
        Stage.FAIL_BOUNCED: _fail(rest.bounced),
        Stage.START_BOUNCED: _start(rest, rest.bounced | rest.rejoining),
        Stage.FAIL_DEAD: _fail(rest.failed),
    }
    if rest.step == ControllerStep.REASSIGN or removes:
        left[Stage.REASSIGN] = [Reassign(partition, TRIGGERS[reassignment])]
    elif rest.reassignment_resumes:
        begins = BeginReassignment(partition, tuple(target), "reassign")
        left[Stage.REASSIGN] = [ResumeReassignments() if life == ControllerState.LOADING else begins]
    if life == ControllerState.LOADING:
        left[Stage.START_PARTITION_MACHINE] = [] if seeded else [StartPartitionMachine()]
        left[Stage.BE_ACTIVE] = [EndFailover()]
    return [task for stage in Stage for task in left.get(stage, ())]


def _election(rest: RemainingWork, partition: TopicPartition, replicas: Sequence[int]) -> list[ControllerTask]:
    elections = [ChangePartitions("online_partition", deque([partition]), Strategy(rest.strategy))]
    created = [ChangeReplicas("online_replica", deque((partition, broker) for broker in replicas))]
    return [*(elections if rest.step == ControllerStep.ELECT else []), *(created if rest.creating else [])]


def _removals(rest: RemainingWork, partition: TopicPartition, *, elects_again: bool) -> list[ControllerTask]:
    if not rest.leaving:
        return []
    removals = ChangeReplicas("offline_replica", deque((partition, broker) for broker in BrokerSet(rest.leaving)))
    return [removals, ElectAgain()] if elects_again else [removals]


def _fail(brokers: BrokerSet) -> list[ControllerTask]:
    return [FailBrokers(tuple(BrokerSet(brokers)))] if brokers else []


def _start(rest: RemainingWork, brokers: BrokerSet) -> list[ControllerTask]:
    return [StartBrokers({broker: rest.registrations[broker] for broker in BrokerSet(brokers)})] if brokers else []


def read(agenda: Iterable[ControllerTask]) -> RemainingWork:
    """Return the remaining work of the tasks on an agenda.

    Raises:
        ValueError: a step of the model has begun and not ended.
    """
    rest = RemainingWork()
    tasks = list(agenda)
    if not tasks:
        return rest
    if isinstance(tasks[0], DeleteNotifications):
        return RemainingWork(step=ControllerStep.READ)
    if isinstance(tasks[0], IncrementEpoch):
        return rest
    if not is_due(tasks[0]):
        raise ValueError(f"the next task is {tasks[0]}, which is in the middle of a step of the model")
    rest.step = STEPS[type(tasks[0])]
    for place, task in enumerate(tasks):
        if isinstance(task, ChangePartitions):
            rest.strategy = task.strategy
        elif isinstance(task, ChangeReplicas) and task.trigger == "online_replica":
            rest.creating = 1
        elif isinstance(task, ChangeReplicas):
            rest.leaving = BrokerSet.of(broker for _, broker in task.todo)
        elif isinstance(task, FailBrokers):
            following = tasks[place + 1] if place + 1 < len(tasks) else None
            if isinstance(following, StartBrokers):
                rest.bounced = BrokerSet.of(task.brokers)
            else:
                rest.failed = BrokerSet.of(task.brokers)
        elif isinstance(task, StartBrokers):
            rest.registrations = dict(task.registrations)
            rest.rejoining = BrokerSet.of(task.registrations) & ~rest.bounced
        elif isinstance(task, (BeginReassignment, ResumeReassignments)):
            rest.reassignment_resumes = 1
        elif not isinstance(task, (Reassign, *WITHOUT_MEANING)):
            raise ValueError(f"{task} remains, which begins no step of the model")
    return rest
