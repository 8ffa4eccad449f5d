"""Kafka's state-change.log: the lines that a controller writes about its partitions and replicas, word for word.

The frame is that of Kafka's log4j configuration; an exception stands on the next line, without a frame. The words are those of 2.8
in every era. What is traced up to 2.5 only is left out above level TRACE.

Source: Kafka 2.8 StateChangeLogger.scala, PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from kafka_spec.impl.machine import Attempt
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.partition import PARTITION, PartitionState
from kafka_spec.spec.replica import REPLICA, ReplicaState


class Level(enum.IntEnum):
    """How loud a line is; the default of Kafka is TRACE up to 2.5, and INFO from 2.6 (KAFKA-8470)."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


class Leadership(Protocol):
    """Leader and ISR of a partition, as a controller has them in its cache."""

    @property
    def leader(self) -> int:
        """The broker that leads, or -1."""

    @property
    def leader_epoch(self) -> int:
        """The leader epoch."""

    @property
    def isr(self) -> Sequence[int]:
        """The brokers in sync, in Kafka's order."""

    @property
    def version(self) -> int:
        """The data version of the state znode."""


class Context(Protocol):
    """What a controller's lines tell beside the change itself."""

    @property
    def controller_id(self) -> int:
        """The controller's broker."""

    @property
    def controller_epoch(self) -> int:
        """The controller's epoch."""

    def assigned_replicas(self, partition: TopicPartition) -> Sequence[int]:
        """Return the assignment."""

    def leadership(self, partition: TopicPartition) -> Leadership:
        """Return leader and ISR of a partition that has them."""


def state_name(state: enum.IntEnum) -> str:
    """Return what Kafka calls a state: `OnlinePartition`, `ReplicaDeletionStarted`."""
    words = "".join(word.capitalize() for word in state.name.split("_"))
    if isinstance(state, PartitionState):
        return words + "Partition"
    return f"Replica{words}" if words.startswith("Deletion") else f"{words}Replica"


class StateChangeLog:
    """The file: lines in their frame, from a level on."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], level: Level = Level.INFO) -> None:
        """`write` takes a line with its newline; `clock` returns seconds since 1970."""
        self._write = write
        self._clock = clock
        self._level = level

    def line(self, level: Level, message: str, exception: str = "") -> None:
        """Write a message, and the exception that belongs to it, if the level is loud enough."""
        if level < self._level:
            return
        now = datetime.fromtimestamp(self._clock(), UTC)
        date = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        self._write(f"[{date}] {level.name} {message} (state.change.logger)\n" + (f"{exception}\n" if exception else ""))


class ControllerLines:
    """Tells the state-change log what the machines of a controller did: the log of `machine.build`."""

    def __init__(self, log: StateChangeLog, context: Context) -> None:
        self._log = log
        self._context = context

    def attempted(self, attempt: Attempt) -> None:
        """Write the lines of one attempt. Initialisations have none, nor have machines that Kafka does not log."""
        if all(row.kind == "initialisation" for row in attempt.machine.rows_of(attempt.trigger)):
            return
        if attempt.machine.name == PARTITION.name:
            self._of_partition(attempt, *attempt.entity)  # type: ignore[arg-type]
        elif attempt.machine.name == REPLICA.name:
            self._of_replica(attempt, *attempt.entity)  # type: ignore[arg-type]

    def _line(self, level: Level, message: str, exception: str = "") -> None:
        context = self._context
        self._log.line(level, f"[Controller id={context.controller_id} epoch={context.controller_epoch}] {message}", exception)

    def _who(self) -> str:
        """Return the controller as error lines name it once more."""
        return f"Controller {self._context.controller_id} epoch {self._context.controller_epoch}"

    def _of_partition(self, attempt: Attempt, partition: TopicPartition) -> None:
        source, wanted = state_name(attempt.source), state_name(attempt.wanted)
        if attempt.target is None:
            allowed = ",".join(map(state_name, attempt.allowed))
            text = f"Partition {partition} should be in one of {allowed} states before moving to {wanted} state. "
            self._line(
                Level.ERROR,
                f"{self._who()} failed to change state for partition {partition} from {source} to {wanted}",
                _exception(attempt, f"{text}Instead it is in {source} state"),
            )
        elif attempt.target == PartitionState.ONLINE:
            held = self._context.leadership(partition)
            isr = ", ".join(map(str, held.isr))
            self._line(
                Level.INFO,
                f"Changed partition {partition} from {source} to {wanted} with state "
                f"LeaderAndIsr(leader={held.leader}, leaderEpoch={held.leader_epoch}, isr=List({isr}), zkVersion={held.version})",
            )
        elif attempt.target == PartitionState.NEW:
            replicas = ",".join(map(str, self._context.assigned_replicas(partition)))
            self._line(
                Level.INFO, f"Changed partition {partition} state from {source} to {wanted} with assigned replicas {replicas}"
            )
        else:
            self._line(Level.TRACE, f"Changed partition {partition} state from {source} to {wanted}")

    def _of_replica(self, attempt: Attempt, partition: TopicPartition, replica: int) -> None:
        source, wanted = state_name(attempt.source), state_name(attempt.wanted)
        if attempt.target is not None:
            self._line(Level.TRACE, f"Changed state of replica {replica} for partition {partition} from {source} to {wanted}")
            return
        named = f"[Topic={partition.topic},Partition={partition.partition},Replica={replica}]"
        allowed = ",".join(map(state_name, attempt.allowed))
        text = f"Replica {named} should be in the {allowed} states before moving to {wanted} state. Instead it is in {source} state"
        if attempt.wanted == ReplicaState.NEW and not attempt.illegal:
            wanted = state_name(ReplicaState.OFFLINE)  # Kafka names the wrong target here
        self._line(
            Level.ERROR,
            f"{self._who()} initiated state change of replica {replica} for partition {partition} from {source} to {wanted} failed",
            _exception(attempt, text),
        )


def _exception(attempt: Attempt, illegal: str) -> str:
    """Return the first line of the exception: Kafka's for an illegal change; for a failed one, the guards that did not hold."""
    if attempt.illegal:
        return f"java.lang.IllegalStateException: {illegal}"
    return f"kafka.common.StateChangeFailedException: {', '.join(attempt.false)} did not hold"
