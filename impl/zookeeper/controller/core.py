"""The base classes of a controller's events and tasks, and the state that they work on.

An event is a request to the controller, or a possible change in ZooKeeper; it becomes tasks. A task is remaining work, as data.
The concrete events and tasks are in the modules beside this one.

Source: Kafka 2.8 KafkaController.scala, ControllerEventManager.scala.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from kafka_spec.impl.machine import Running, build
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.channels import Channels
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.elections import ElectionInputs, StateZnode
from kafka_spec.impl.zookeeper.controller.partition_rows import PartitionRows
from kafka_spec.impl.zookeeper.controller.reassignment_rows import ReassignmentInputs, ReassignmentRows
from kafka_spec.impl.zookeeper.controller.replica_rows import ReplicaRows
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.state_change_lines import ControllerLines
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.impl.zookeeper.coordination.interface import Session
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.machines import ControllerState

AHEAD = tuple(dict.fromkeys(row.trigger for machine in (PARTITION, REPLICA) for row in machine.rows if row.waits_for))
"""The triggers of rows that the model does not use yet, and that controllers run."""


class ControllerEvent(ABC):
    """A request to the controller, or a possible change in ZooKeeper."""

    ends_with_controller = False
    """Whether it is dropped when the controller resigns: it answers a request of this controller."""

    @abstractmethod
    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Return the tasks. Reads come first, so that the event can be handled again after a lost connection."""

    def refuse(self) -> None:  # noqa: B027 - to override is the exception
        """Answer a waiting caller that this is not the controller; most events have none."""


class ControllerTask(ABC):
    """A piece of an event's remaining work."""

    @abstractmethod
    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Do one piece, with one access to a state znode at most; return the tasks that replace this one.

        After a lost connection the same piece is repeated, so it reads first.
        """

    def refuse(self) -> None:  # noqa: B027 - to override is the exception
        """Answer a waiting caller that this is not the controller; most tasks have none."""


class ControllerCore:
    """One controller's context, ZooKeeper, state machines, batch and queues.

    `agenda` holds the remaining tasks of the current event; `events` wait until it is empty.
    """

    def __init__(
        self,
        number: int,
        era: Spec,
        session: Session,
        channels: Channels,
        log: StateChangeLog,
        clock: Callable[[], float],
        settings: Settings | None = None,
    ) -> None:
        """`number` is the broker id; `era` one of spec/zookeeper/eras.py; `settings` are those of the broker.

        Raises:
            SpecError: the rows of the era's tables and the row functions do not match.
        """
        self.controller_id = number
        self.k = era.constants({})
        self.context = ControllerContext()
        self.channels = channels
        self.clock = clock
        self.settings = settings or Settings()
        unclean = self.settings.unclean_leader_election_enable
        self.zk = ControllerZkClient(
            session, self.context, bool(self.k.controller_writes_fenced), unclean, self.note, self.settings.topic_ids
        )
        self.batch = RequestBatch(number, self.context, channels, log)
        self.events: deque[ControllerEvent] = deque()
        self.agenda: deque[ControllerTask] = deque()
        self.awaits_epoch = False
        """Whether it did not stand for election because /controller_epoch could not be read."""
        self._log = log
        self._build_machines(era, ControllerLines(log, self))

    def _build_machines(self, era: Spec, lines: ControllerLines) -> None:
        """Build the machines of the era's tables, each with the actor that has its row functions."""
        (life, partition, replica) = (
            next(machine for machine in era.machines if machine.name == name) for name in ("Controller", "Partition", "Replica")
        )
        self.lives: Running[None] = build(object(), {life: ("broker",)}, lines)["Controller"]
        self._partition_rows = PartitionRows(self.context, self.zk, self.batch, self.k)
        self.partitions: Running[ElectionInputs] = build(
            self._partition_rows, {partition: ("partition",)}, lines, every_era=(PARTITION,), ahead=AHEAD, inputs=ElectionInputs
        )["Partition"]
        self.replicas: Running[StateZnode] = build(
            ReplicaRows(self.context, self.zk, self.batch, self.k, self.note),
            {replica: ("partition", "replica")},
            lines,
            every_era=(REPLICA, REPLICA_0_10),
            ahead=AHEAD,
            inputs=StateZnode,
        )["Replica"]
        self.deletions: Running[None] = build(object(), {TOPIC_DELETION: ("topic",)}, lines)["TopicDeletion"]
        self.context.deletions = self.deletions
        rows = ReassignmentRows(self.context, self.zk, self.batch, self.k, self.partitions, self.replicas)
        self.reassignments: Running[ReassignmentInputs] = build(
            rows, {REASSIGNMENT: ("partition",)}, lines, inputs=ReassignmentInputs
        )["Reassignment"]

    # For the state-change log

    @property
    def controller_epoch(self) -> int:
        """The epoch of this controller, 0 on standby."""
        return self.context.epoch

    def assigned_replicas(self, partition: TopicPartition) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first."""
        return self.context.assignments[partition]

    def leadership(self, partition: TopicPartition) -> Leadership:
        """Return the cached leader and ISR of a partition."""
        return self.context.leadership[partition]

    def note(self, level: LogLevel, message: str) -> None:
        """Write a line into the state-change log."""
        self._log.line(level, f"[Controller id={self.controller_id} epoch={self.context.epoch}] {message}")

    # Used by several events

    @property
    def deletes_topics(self) -> bool:
        """Whether topics may be deleted (delete.topic.enable)."""
        return self.settings.delete_topic_enable

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
        """The state of the controller's life: standby, electing, loading, active or resigned."""
        return ControllerState(self.lives.state_of(self.controller_id))

    def send_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send brokers an UpdateMetadata: the live brokers, and the leadership of some partitions."""
        self.batch.begin()
        self.batch.add_update_metadata(brokers, partitions)
        self.batch.send()

    def drop_agenda(self) -> None:
        """Drop the remaining tasks of an event; waiting callers are answered."""
        agenda = list(self.agenda)
        self.agenda.clear()
        for task in agenda:
            task.refuse()

    def resign(self) -> None:
        """Stop being the controller: clear the memory, close all channels (onControllerResignation)."""
        self.drop_agenda()
        self.batch.clear()
        for entity in self.partitions.entities():
            self.partitions.fire("shutdown", *entity)
        for entity in self.replicas.entities():
            self.replicas.fire("shutdown", *entity)
        for entity in self.reassignments.entities():
            self.reassignments.fire("resign", *entity)
        for entity in self.deletions.entities():
            self.deletions.fire("shutdown", *entity)
        for event in [event for event in self.events if event.ends_with_controller]:
            self.events.remove(event)
        self.channels.close_all()
        self.context.reset()
        if self.life != ControllerState.STANDBY:
            self.lives.fire("resign", self.controller_id)
