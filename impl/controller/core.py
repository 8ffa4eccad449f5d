"""What events and tasks of a controller work on, and what events and tasks are.

An event is what others want of the controller; it becomes tasks. A task is a piece of work that is left, as data. Nothing here
knows which events and tasks there are.

Source: Kafka 2.8 KafkaController.scala, ControllerEventManager.scala.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from kafka_spec.impl.controller.channels import Channels
from kafka_spec.impl.controller.context import ControllerContext
from kafka_spec.impl.controller.elections import ElectionInputs, StateZnode
from kafka_spec.impl.controller.partition_rows import PartitionRows
from kafka_spec.impl.controller.replica_rows import ReplicaRows
from kafka_spec.impl.controller.request_batch import RequestBatch
from kafka_spec.impl.controller.state_change_lines import ControllerLines
from kafka_spec.impl.controller.zk_client import ControllerZkClient
from kafka_spec.impl.coordination.interface import Session
from kafka_spec.impl.machine import Running, build
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.state import ControllerState
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.table import Spec


class ControllerEvent(ABC):
    """What others want of the controller, or what may have changed in ZooKeeper."""

    @abstractmethod
    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Return what is to be done. Reads come first, so that after a lost connection it can be handled again."""

    def refuse(self) -> None:  # noqa: B027 - to override is the exception
        """Answer who waits for an answer that this is no controller; of most events nobody does."""


class ControllerTask(ABC):
    """A piece of work that is left of an event."""

    @abstractmethod
    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Do one piece, with one access to a state znode at most; return what is to be done next in place of this task.

        After a lost connection the same piece is done again, so it reads first.
        """

    def refuse(self) -> None:  # noqa: B027 - to override is the exception
        """Answer who waits for this task that this is no controller; for most tasks nobody does."""


class ControllerCore:
    """One controller's context, ZooKeeper, state machines, batch and queues.

    `events` wait for the agenda to be empty; `agenda` is what is left of the event at hand.
    """

    def __init__(
        self,
        number: int,
        era: Spec,
        session: Session,
        channels: Channels,
        log: StateChangeLog,
        clock: Callable[[], float],
        unclean: bool = False,
    ) -> None:
        """`number` is the broker's; `era` one of spec/control/eras.py; `unclean` the broker's unclean.leader.election.enable.

        Raises:
            SpecError: the rows of the era's tables and the row functions do not meet.
        """
        self.controller_id = number
        self.k = era.constants({})
        self.context = ControllerContext()
        self.channels = channels
        self.clock = clock
        self.zk = ControllerZkClient(session, self.context, bool(self.k.controller_writes_fenced), unclean, self.note)
        self.batch = RequestBatch(number, self.context, channels, log)
        self.events: deque[ControllerEvent] = deque()
        self.agenda: deque[ControllerTask] = deque()
        self.awaits_epoch = False
        """Whether it could not stand for election since /controller_epoch cannot be read."""
        self._log = log
        lines = ControllerLines(log, self)
        (life, partition, replica) = (
            next(machine for machine in era.machines if machine.name == name) for name in ("Controller", "Partition", "Replica")
        )
        self.lives: Running[None] = build(object(), {life: ("broker",)}, lines)["Controller"]
        self._partition_rows = PartitionRows(self.context, self.zk, self.batch, self.k)
        self.partitions: Running[ElectionInputs] = build(
            self._partition_rows, {partition: ("partition",)}, lines, every_era=(PARTITION,), inputs=ElectionInputs
        )["Partition"]
        replica_rows = ReplicaRows(self.context, self.zk, self.batch, self.k, self.note)
        self.replicas: Running[StateZnode] = build(
            replica_rows, {replica: ("partition", "replica")}, lines, every_era=(REPLICA, REPLICA_0_10), inputs=StateZnode
        )["Replica"]

    # What the state-change log asks

    @property
    def controller_epoch(self) -> int:
        """The epoch of this controller, 0 while it stands by."""
        return self.context.epoch

    def assigned_replicas(self, partition: TopicPartition) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first."""
        return self.context.assignments[partition]

    def leadership(self, partition: TopicPartition) -> Leadership:
        """Return leader and ISR of a partition, as they are cached."""
        return self.context.leadership[partition]

    def note(self, level: LogLevel, message: str) -> None:
        """Write a line into the state-change log."""
        self._log.line(level, f"[Controller id={self.controller_id} epoch={self.context.epoch}] {message}")

    # What more than one event does

    @property
    def session(self) -> Session:
        """The session with ZooKeeper."""
        return self.zk.session

    @property
    def unclean_elections(self) -> list[TopicPartition]:
        """Partitions for which this process has elected a leader from outside the ISR (UncleanLeaderElectionsPerSec)."""
        return self._partition_rows.unclean_elections

    @property
    def life(self) -> ControllerState:
        """Whether this is the controller, or about to be."""
        return ControllerState(self.lives.state_of(self.controller_id))

    def send_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send brokers an UpdateMetadata: who is live, and the leadership of some partitions."""
        self.batch.begin()
        self.batch.add_update_metadata(brokers, partitions)
        self.batch.send()

    def drop_agenda(self) -> None:
        """Drop what is left of an event; who waits for its answer gets one."""
        agenda = list(self.agenda)
        self.agenda.clear()
        for task in agenda:
            task.refuse()

    def resign(self) -> None:
        """Stop being the controller: forget everything, close all channels (onControllerResignation)."""
        self.drop_agenda()
        self.batch.clear()
        for entity in self.partitions.entities():
            self.partitions.fire("shutdown", *entity)
        for entity in self.replicas.entities():
            self.replicas.fire("shutdown", *entity)
        self.channels.close_all()
        self.context.reset()
        if self.life != ControllerState.STANDBY:
            self.lives.fire("resign", self.controller_id)
