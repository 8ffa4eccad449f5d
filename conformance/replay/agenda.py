"""The remaining work of a controller's event: tasks on the agenda of the implementation, a step and sets of brokers in the model.

`written` and `read` are inverse to each other on agendas between two steps of the model. Pending answers to callers
(`AnswerShutdown`, `AnswerElection`) have no counterpart in the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_spec.conformance.replay.request_mapping import PARTITION
from kafka_spec.impl.controller.broker_changes import FailBrokers, StartBrokers
from kafka_spec.impl.controller.controlled_shutdown import AnswerShutdown
from kafka_spec.impl.controller.controller_election import IncrementEpoch
from kafka_spec.impl.controller.core import ControllerTask
from kafka_spec.impl.controller.deletion import DeletePaths, ForgetTopic, ResumeDeletions, StartDeletions, delete_paths
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
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.order import Stage
from kafka_spec.spec.control.state import ControllerState, ControllerStep, Resuming
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
    ForgetTopic,
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
STATE, TOPIC = znodes.state(PARTITION), znodes.topic(PARTITION.topic)
CONFIG, MARK = znodes.topic_config(PARTITION.topic), znodes.delete_topic(PARTITION.topic)
ZNODES: Mapping[str, ControllerStep] = {
    STATE: ControllerStep.DELETE_STATE,
    TOPIC: ControllerStep.DELETE_TOPIC,
    CONFIG: ControllerStep.DELETE_CONFIG,
    MARK: ControllerStep.DELETE_MARK,
}
"""The step of the model that deletes a znode, in the order of the steps; the parents of the state znode belong to its step."""


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
    resuming: int = Resuming.NOTHING
    deleting: BrokerSet = NO_BROKERS
    registrations: dict[int, tuple[BrokerRegistration, int]] = field(default_factory=dict)


def is_due(task: ControllerTask) -> bool:
    """Whether a step of the model begins with this task: it reads and possibly writes a znode of the topic."""
    if isinstance(task, ChangePartitions):
        return task.trigger == "online_partition"
    if isinstance(task, Reassign):
        return task.trigger in WRITING
    if isinstance(task, DeletePaths):
        return task.todo[0] in ZNODES
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
    is_queued: bool,
) -> list[ControllerTask]:
    """Return the tasks of remaining work, for a controller in this state of its life, in the order of spec/control/order.py.

    `seeded` says, during fail-over, that the partition machine was started; `leaves_alive` that the leaving brokers are in a
    controlled shutdown. `reassignment` is where the controller stands in the reassignment to `target`; `is_queued` says that
    the topic is queued for deletion.
    """
    if life == ControllerState.ELECTING:
        return [IncrementEpoch()]
    if rest.step == ControllerStep.READ:
        return list(FAIL_OVER)
    removes = reassignment in REMOVING
    elects_again = life == ControllerState.ACTIVE and not leaves_alive and not removes and not is_queued
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
    if rest.deleting:
        stopped = deque((partition, broker) for broker in BrokerSet(rest.deleting))
        left[Stage.ASK_TO_DELETE] = [ChangeReplicas("replica_deletion_started", stopped)]
    left[Stage.CONSIDER_DELETION] = _deletion(rest, is_queued=is_queued)
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


def _deletion(rest: RemainingWork, *, is_queued: bool) -> list[ControllerTask]:
    """Return the tasks of the topic's deletion; without a queued topic, only a request for it can be left to delete."""
    if rest.resuming:
        return [ResumeDeletions() if rest.resuming == Resuming.CONSIDER else StartDeletions((PARTITION.topic,))]
    if rest.step < ControllerStep.DELETE_STATE:
        return []
    left = [path for path, step in ZNODES.items() if step >= rest.step]
    if rest.step == ControllerStep.DELETE_STATE:
        left[1:1] = reversed(znodes.partition_parents(PARTITION))
    return [*delete_paths(left), *([ForgetTopic(PARTITION.topic)] if is_queued else [])]


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
    first = tasks[0]
    rest.step = ZNODES[first.todo[0]] if isinstance(first, DeletePaths) else STEPS[type(first)]
    for place, task in enumerate(tasks):
        if isinstance(task, ChangePartitions):
            rest.strategy = task.strategy
        elif isinstance(task, ChangeReplicas) and task.trigger == "online_replica":
            rest.creating = 1
        elif isinstance(task, ChangeReplicas) and task.trigger == "replica_deletion_started":
            rest.deleting = BrokerSet.of(broker for _, broker in task.todo)
        elif isinstance(task, ResumeDeletions):
            rest.resuming = Resuming.CONSIDER
        elif isinstance(task, StartDeletions):
            rest.resuming = Resuming.START
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
        elif not isinstance(task, (Reassign, DeletePaths, *WITHOUT_MEANING)):
            raise ValueError(f"{task} remains, which begins no step of the model")
    return rest
