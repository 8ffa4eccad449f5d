"""The lines of state-change.log about a controller's partitions and replicas, word for word as in Kafka.

The words are those of 2.8 in every era.

Source: Kafka 2.8 StateChangeLogger.scala, PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol

from kafka_spec.impl.fire_log import FireResult
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState


class LoggedController(Protocol):
    """The controller's part of its lines."""

    @property
    def controller_id(self) -> int:
        """The broker id of the controller."""

    @property
    def controller_epoch(self) -> int:
        """The controller's epoch."""

    def assigned_replicas(self, partition: TopicPartition) -> Sequence[int]:
        """Return the assignment."""

    def leadership(self, partition: TopicPartition) -> Leadership:
        """Return leader and ISR of a partition that has them."""


def state_name(state: enum.IntEnum) -> str:
    """Return Kafka's name of a state: `OnlinePartition`, `ReplicaDeletionStarted`."""
    words = "".join(word.capitalize() for word in state.name.split("_"))
    if isinstance(state, PartitionState):
        return words + "Partition"
    return f"Replica{words}" if words.startswith("Deletion") else f"{words}Replica"


class ControllerLines:
    """Writes what a controller's machines did into the state-change log; the `FireLog` of `machine.build`."""

    def __init__(self, log: StateChangeLog, controller: LoggedController) -> None:
        self._log = log
        self._controller = controller

    def attempted(self, attempt: FireResult) -> None:
        """Write the lines of one attempt. Initialisations have none, and neither have machines that Kafka does not log."""
        if all(row.kind == "initialisation" for row in attempt.machine.rows_of(attempt.trigger)):
            return
        if attempt.machine.name == PARTITION.name:
            self._of_partition(attempt, *attempt.entity)  # type: ignore[arg-type]
        elif attempt.machine.name == REPLICA.name:
            self._of_replica(attempt, *attempt.entity)  # type: ignore[arg-type]

    def _line(self, level: LogLevel, message: str, exception: str = "") -> None:
        frame = f"[Controller id={self._controller.controller_id} epoch={self._controller.controller_epoch}]"
        self._log.line(level, f"{frame} {message}", exception)

    def _who(self) -> str:
        """Return the controller's name within error lines."""
        return f"Controller {self._controller.controller_id} epoch {self._controller.controller_epoch}"

    def _of_partition(self, attempt: FireResult, partition: TopicPartition) -> None:
        source, wanted = state_name(attempt.source), state_name(attempt.wanted)
        if attempt.target is None:
            allowed = ",".join(map(state_name, attempt.allowed))
            text = f"Partition {partition} should be in one of {allowed} states before moving to {wanted} state. "
            self._line(
                LogLevel.ERROR,
                f"{self._who()} failed to change state for partition {partition} from {source} to {wanted}",
                _exception(attempt, f"{text}Instead it is in {source} state"),
            )
        elif attempt.target == PartitionState.ONLINE:
            held = self._controller.leadership(partition)
            isr = ", ".join(map(str, held.isr))
            self._line(
                LogLevel.INFO,
                f"Changed partition {partition} from {source} to {wanted} with state "
                f"LeaderAndIsr(leader={held.leader}, leaderEpoch={held.leader_epoch}, isr=List({isr}), zkVersion={held.version})",
            )
        elif attempt.target == PartitionState.NEW:
            replicas = ",".join(map(str, self._controller.assigned_replicas(partition)))
            self._line(
                LogLevel.INFO, f"Changed partition {partition} state from {source} to {wanted} with assigned replicas {replicas}"
            )
        else:
            self._line(LogLevel.TRACE, f"Changed partition {partition} state from {source} to {wanted}")

    def _of_replica(self, attempt: FireResult, partition: TopicPartition, replica: int) -> None:
        source, wanted = state_name(attempt.source), state_name(attempt.wanted)
        if attempt.target is not None:
            self._line(LogLevel.TRACE, f"Changed state of replica {replica} for partition {partition} from {source} to {wanted}")
            return
        named = f"[Topic={partition.topic},Partition={partition.partition},Replica={replica}]"
        allowed = ",".join(map(state_name, attempt.allowed))
        text = f"Replica {named} should be in the {allowed} states before moving to {wanted} state. Instead it is in {source} state"
        if attempt.wanted == ReplicaState.NEW and not attempt.illegal:
            wanted = state_name(ReplicaState.OFFLINE)  # Kafka names the wrong target here
        self._line(
            LogLevel.ERROR,
            f"{self._who()} initiated state change of replica {replica} for partition {partition} from {source} to {wanted} failed",
            _exception(attempt, text),
        )


def _exception(attempt: FireResult, illegal: str) -> str:
    """Return the first line of the exception: Kafka's for an illegal change; otherwise the guards that did not hold."""
    if attempt.illegal:
        return f"java.lang.IllegalStateException: {illegal}"
    return f"kafka.common.StateChangeFailedException: {', '.join(attempt.false)} did not hold"
