"""Changes of state: tasks that fire a trigger on one entity after another, and then send the gathered requests.

Source: Kafka 2.8 PartitionStateMachine.scala and ReplicaStateMachine.scala (handleStateChanges).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.elections import ElectionInputs, StateZnode
from kafka_spec.impl.zookeeper.controller.zk_client import StateZnodeChanged
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, CoordinationError, NodeExists, NoNode, SessionExpired
from kafka_spec.spec.decisions.election import Strategy, election_is_due, election_is_due_after_removal
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.zookeeper.machines import ControllerState


def ends_the_event(core: ControllerCore, error: CoordinationError) -> bool:
    """Whether an error is one of the session, or one that ends a fail-over; any other concerns one partition or replica alone."""
    if isinstance(error, (NodeExists, NoNode)):  # the znode was created or deleted between the read and the write
        return False
    return isinstance(error, (ConnectionLost, SessionExpired)) or core.life != ControllerState.ACTIVE


@dataclass
class ChangePartitions(ControllerTask):
    """Fire a trigger of the partition table, partition by partition; then send. `failed` are the refused partitions.

    With `unclean`, an operator has asked for leaders from outside the ISR where no member of it is live.
    """

    trigger: str
    todo: deque[TopicPartition]
    strategy: Strategy = Strategy.OFFLINE
    unclean: bool = False
    begun: bool = False
    failed: list[TopicPartition] = field(default_factory=list)

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Change one partition."""
        if not self.begun:
            core.batch.begin()
            self.begun = True
        if self.todo:
            self._change(core, self.todo[0])
            self.todo.popleft()
        if self.todo:
            return [self]
        core.batch.send()
        return []

    def _change(self, core: ControllerCore, partition: TopicPartition) -> None:
        """Read the inputs of the guards and fire for one partition; repeat if the state znode was written in between."""
        while True:
            try:
                inputs = self._read(core, partition) if self.trigger == "online_partition" else None
                if not core.partitions.fire(self.trigger, partition, inputs=inputs):
                    self.failed.append(partition)
                return
            except StateZnodeChanged:
                continue
            except CoordinationError as error:
                if ends_the_event(core, error):
                    raise
                self.failed.append(partition)
                core.note(LogLevel.ERROR, f"{self.trigger} of partition {partition} failed: {error!r}")
                return

    def _read(self, core: ControllerCore, partition: TopicPartition) -> ElectionInputs:
        """Read the state znode, and the topic's configuration where an unclean election may be needed.

        For a new partition whose znode exists already, Kafka tries to create it without reading, and the refused write shows
        whether there is a newer controller.
        """
        read, unclean = core.zk.read_state(partition), self.unclean
        is_new = core.partitions.state_of(partition) == PartitionState.NEW
        if read is not None and is_new and (read.version, read.controller_epoch) == (0, core.context.epoch):
            return ElectionInputs(None, self.strategy, unclean)  # the reply to its creation was lost
        if not unclean and read is not None and read.members & core.context.online(partition) == 0:
            unclean = core.zk.unclean_is_enabled(partition)
        is_new = core.partitions.state_of(partition) == PartitionState.NEW
        if read is not None and is_new and core.context.assigned_online(partition) != 0:
            core.zk.write()
        return ElectionInputs(read, self.strategy, unclean)


@dataclass
class ChangeReplicas(ControllerTask):
    """Fire a trigger of the replica table, replica by replica; then send."""

    trigger: str
    todo: deque[tuple[TopicPartition, int]]
    begun: bool = False

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Change one replica."""
        if not self.begun:
            core.batch.begin()
            self.begun = True
        if self.todo:
            self._change(core, *self.todo[0])
            self.todo.popleft()
        if self.todo:
            return [self]
        core.batch.send()
        return []

    def _change(self, core: ControllerCore, partition: TopicPartition, replica: int) -> None:
        """Fire for one replica. A legal change to offline that fails still sends StopReplica; an illegal one sends nothing."""
        goes_offline = self.trigger == "offline_replica" and core.replicas.allows(self.trigger, partition, replica)
        while True:
            try:
                inputs = StateZnode(core.zk.read_state(partition)) if goes_offline else None
                if not core.replicas.fire(self.trigger, partition, replica, inputs=inputs) and goes_offline:
                    core.batch.add_stop_replica(replica, partition)
                return
            except StateZnodeChanged:
                continue
            except CoordinationError as error:
                if ends_the_event(core, error):
                    raise
                if goes_offline:
                    core.batch.add_stop_replica(replica, partition)
                core.note(LogLevel.ERROR, f"{self.trigger} of replica {replica} of partition {partition} failed: {error!r}")
                return


def change_partitions(trigger: str, todo: Sequence[TopicPartition], strategy: Strategy = Strategy.OFFLINE) -> list[ControllerTask]:
    """Return the change as a task, none if there is nothing to change: Kafka then sends nothing."""
    return [ChangePartitions(trigger, deque(todo), strategy)] if todo else []


def change_replicas(trigger: str, todo: Sequence[tuple[TopicPartition, int]]) -> list[ControllerTask]:
    """Return the change as a task, none if there is nothing to change: Kafka then sends nothing."""
    return [ChangeReplicas(trigger, deque(todo))] if todo else []


@dataclass(frozen=True)
class ElectOfflinePartitions(ControllerTask):
    """Try to bring every new and offline partition online, but for those to be deleted (triggerOnlinePartitionStateChange)."""

    topic: str | None = None
    """Only this one's."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        named = [p for p in context.assignments if self.topic is None or p.topic == self.topic]
        kept = [p for p in named if not context.is_queued_for_deletion(p.topic)]
        waiting = [p for p in kept if election_is_due(core.partitions.state_of(p), Strategy.OFFLINE)]
        return change_partitions("online_partition", waiting)


@dataclass(frozen=True)
class ElectAgain(ControllerTask):
    """Elect again where a live member joined the ISR between the election and the removal."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        waiting = [
            p
            for p, held in core.context.leadership.items()
            if not core.context.is_queued_for_deletion(p.topic)
            and election_is_due_after_removal(
                core.partitions.state_of(p), held.members, core.context.online(p), core.k.election_after_removal
            )
        ]
        return change_partitions("online_partition", waiting)


# ---------------------------------------------------------------------------------------------------------------------
# For callers outside: any change, asked for by hand


@dataclass(frozen=True)
class PartitionChange(ControllerEvent):
    """Fire a trigger of the partition table on some partitions, as handleStateChanges does; `reply` receives those refused.

    `unclean` asks an election for leaders from outside the ISR where no member of it is live.
    """

    trigger: str
    partitions: tuple[TopicPartition, ...]
    reply: Callable[[Sequence[TopicPartition]], object]
    strategy: Strategy = Strategy.OFFLINE
    unclean: bool = False

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        change = ChangePartitions(self.trigger, deque(self.partitions), self.strategy, self.unclean)
        return [change, Reply(lambda: self.reply(change.failed))]


@dataclass(frozen=True)
class ReplicaChange(ControllerEvent):
    """Fire a trigger of the replica table on some replicas, as handleStateChanges does; `reply` is called when it is done."""

    trigger: str
    replicas: tuple[tuple[TopicPartition, int], ...]
    reply: Callable[[], object]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        return [*change_replicas(self.trigger, self.replicas), Reply(self.reply)]


@dataclass(frozen=True)
class Reply(ControllerTask):
    """Tell a caller that the tasks before this one are done; a controller that resigns meanwhile does not."""

    call: Callable[[], object]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        self.call()
        return []
