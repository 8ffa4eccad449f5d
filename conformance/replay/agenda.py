"""What is left of a controller's event: tasks on the agenda here, a step and sets of brokers in the model.

`written` and `read` are each other's inverse on what stands on an agenda between two steps of the model. That the controller's own
answers to who asked it (`AnswerShutdown`, `AnswerElection`) are still to come means nothing there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafka_spec.impl.controller.broker_changes import FailBrokers, StartBrokers
from kafka_spec.impl.controller.controlled_shutdown import AnswerShutdown
from kafka_spec.impl.controller.controller_election import IncrementEpoch
from kafka_spec.impl.controller.core import ControllerTask
from kafka_spec.impl.controller.failover import FAIL_OVER, DeleteNotifications, EndFailover, StartPartitionMachine
from kafka_spec.impl.controller.preferred_election import AnswerElection, EndPreferredElection
from kafka_spec.impl.controller.state_changes import ChangePartitions, ChangeReplicas, ElectAgain
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.order import Stage
from kafka_spec.spec.control.state import ControllerState, Step
from kafka_spec.spec.domain import NO_BROKERS, BrokerSet
from kafka_spec.spec.election import Strategy

WITHOUT_MEANING = (ElectAgain, StartPartitionMachine, EndFailover, AnswerShutdown, AnswerElection, EndPreferredElection)
"""Tasks of which the model has nothing to remember: they follow from what stands there, or answer who asked."""


@dataclass
class RemainingWork:
    """The rest of an event in the model's words, fields of spec.control.state.Controller and Context.

    `registrations` are the brokers that are still to be taken for live, with what was read of them.
    """

    step: int = Step.IDLE
    strategy: int = Strategy.OFFLINE
    creating: int = 0
    leaving: BrokerSet = NO_BROKERS
    bounced: BrokerSet = NO_BROKERS
    rejoining: BrokerSet = NO_BROKERS
    failed: BrokerSet = NO_BROKERS
    registrations: dict[int, tuple[BrokerRegistration, int]] = field(default_factory=dict)


def is_due(task: ControllerTask) -> bool:
    """Whether a task is where a step of the model begins: it reads and, as the table allows, writes the state znode."""
    if isinstance(task, ChangePartitions):
        return task.trigger == "online_partition"
    return isinstance(task, ChangeReplicas) and task.trigger == "offline_replica"


def written(
    rest: RemainingWork,
    partition: TopicPartition,
    replicas: Sequence[int],
    *,
    life: ControllerState,
    seeded: bool,
    leaves_alive: bool,
) -> list[ControllerTask]:
    """Return the tasks of a rest, for a controller of this life, in the order of spec/control/order.py.

    `seeded` says, while it takes over, that the partition machine was started; `leaves_alive` that those who leave are in a
    controlled shutdown.
    """
    if life == ControllerState.ELECTING:
        return [IncrementEpoch()]
    if rest.step == Step.READ:
        return list(FAIL_OVER)
    left = {
        Stage.ELECT: _election(rest, partition, replicas),
        Stage.REMOVE: _removals(rest, partition, elects_again=life == ControllerState.ACTIVE and not leaves_alive),
        Stage.FAIL_BOUNCED: _fail(rest.bounced),
        Stage.START_BOUNCED: _start(rest, rest.bounced | rest.rejoining),
        Stage.FAIL_DEAD: _fail(rest.failed),
    }
    if life == ControllerState.LOADING:
        left[Stage.START_PARTITION_MACHINE] = [] if seeded else [StartPartitionMachine()]
        left[Stage.BE_ACTIVE] = [EndFailover()]
    return [task for stage in Stage for task in left.get(stage, ())]


def _election(rest: RemainingWork, partition: TopicPartition, replicas: Sequence[int]) -> list[ControllerTask]:
    elections = [ChangePartitions("online_partition", deque([partition]), Strategy(rest.strategy))]
    created = [ChangeReplicas("online_replica", deque((partition, broker) for broker in replicas))]
    return [*(elections if rest.step == Step.ELECT else []), *(created if rest.creating else [])]


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
    """Return what the tasks on an agenda are in the model's words.

    Raises:
        ValueError: a step of the model has begun and not ended.
    """
    rest = RemainingWork()
    tasks = list(agenda)
    if not tasks:
        return rest
    if isinstance(tasks[0], DeleteNotifications):
        return RemainingWork(step=Step.READ)
    if isinstance(tasks[0], IncrementEpoch):
        return rest
    if not is_due(tasks[0]):
        raise ValueError(f"a controller is about to do {tasks[0]}, in the middle of a step of the model")
    rest.step = Step.ELECT if isinstance(tasks[0], ChangePartitions) else Step.REMOVE
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
        elif not isinstance(task, WITHOUT_MEANING):
            raise ValueError(f"{task} is still to be done, which is no beginning of a step of the model")
    return rest
