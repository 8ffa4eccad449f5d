"""The controller: one queue of events, work that is data, and Kafka's two tables that decide what becomes of everything.

An event becomes tasks on the agenda; `step` does one piece of one task, which reads and writes at most one state znode. Between
steps others have their turn, and the process may die: nothing of what is left stands on a Python stack. A task that changes states
gathers requests and sends them when its last entity is done, as Kafka's handleStateChanges does. Three things end a step early:
a write that is refused since /controller_epoch has moved, or a session that is over (both end the controller), and a lost
connection, after which the same step is done again.

Which row a change takes, and what it does, is PARTITION's and REPLICA's to say: their guards and effects are the marked
methods. Who leads is decided by spec/election.py, and the decisions of an era are those of spec/control/eras.py.

Source: Kafka 2.8 KafkaController.scala, PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from kafka_spec.impl.controller.context import Channels, ControllerContext, RequestBatch, following, mask, unmask, written
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.interface import (
    BadVersion,
    Check,
    ConnectionLost,
    CoordinationError,
    Create,
    Delete,
    Kind,
    MultiRefused,
    NodeExists,
    NoNode,
    Operation,
    Result,
    Session,
    SessionExpired,
    Set,
    Stat,
)
from kafka_spec.impl.machine import build, effect, guard
from kafka_spec.impl.protocol.controller_requests import NO_LEADER, Leadership
from kafka_spec.impl.protocol.errors import Code
from kafka_spec.impl.protocol.state_change_log import ControllerLines, Level, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.decisions import (
    Checked,
    ControllerElection,
    DeadReplicas,
    EpochWatch,
    GivingUp,
    LastIsrMember,
    OfflineRecipients,
    ShrinkRecipients,
    ShutdownRecipients,
)
from kafka_spec.spec.control.state import ControllerState, Strategy
from kafka_spec.spec.domain import contains, only
from kafka_spec.spec.election import (
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    first_leader_and_isr,
    isr_without,
    leader_without,
    unclean_election_is_permitted,
)
from kafka_spec.spec.partition import PARTITION, PartitionState
from kafka_spec.spec.replica import REPLICA, REPLICA_0_10, ReplicaState
from kafka_spec.spec.table import Spec

Told = TypeVar("Told")
WATCHED = {
    znodes.CONTROLLER: "controller",
    znodes.CONTROLLER_EPOCH: "controller epoch",
    znodes.BROKER_IDS: "brokers",
    znodes.TOPICS: "topics",
    znodes.ISR_CHANGE_NOTIFICATION: "isr changes",
    znodes.LOG_DIR_EVENT_NOTIFICATION: "log directories",
    znodes.PREFERRED_REPLICA_ELECTION: "preferred elections",
}


class ControllerMoved(Exception):  # noqa: N818 - Kafka's name
    """A write was refused since /controller_epoch has moved: there is a newer controller."""


class _Retry(Exception):  # noqa: N818
    """The state znode was written between the read and the write: read again."""


# ---------------------------------------------------------------------------------------------------------------------
# Events: what others want of the controller


@dataclass(frozen=True)
class Changed:
    """Something in ZooKeeper may differ from what the controller knows: read `what` again."""

    what: str


@dataclass(frozen=True)
class ElectPreferred:
    """Have preferred leaders elected, of all partitions if none is named; `reply` is told what came of each."""

    partitions: tuple[TopicPartition, ...] | None
    reply: Callable[[Mapping[TopicPartition, Code]], object]


@dataclass(frozen=True)
class ShutDown:
    """A broker wants to stop; `reply` is told an error, or the partitions that it still leads."""

    broker: int
    broker_epoch: int
    reply: Callable[[Code, tuple[TopicPartition, ...]], object]


@dataclass(frozen=True)
class LeaderAndIsrAnswer:
    """A broker has answered a LeaderAndIsr: an error for all, or one for each partition."""

    broker: int
    error: Code
    partitions: Mapping[TopicPartition, Code]


Event: TypeAlias = Changed | ElectPreferred | ShutDown | LeaderAndIsrAnswer

# ---------------------------------------------------------------------------------------------------------------------
# Tasks: what is left of an event


@dataclass
class ChangePartitions:
    """Ask the partition table for a change, partition after partition; then send. `failed` are those it was refused for."""

    trigger: str
    todo: deque[TopicPartition]
    strategy: Strategy = Strategy.OFFLINE
    begun: bool = False
    failed: list[TopicPartition] = field(default_factory=list)


@dataclass
class ChangeReplicas:
    """Ask the replica table for a change, replica after replica; then send."""

    trigger: str
    todo: deque[tuple[TopicPartition, int]]
    begun: bool = False


@dataclass(frozen=True)
class Do:
    """One of the controller's own steps, by name, with what it is about."""

    step: Literal[
        "give_up",
        "increment_epoch",
        "delete_notifications",
        "read_everything",
        "start_replicas",
        "start_partitions",
        "end_failover",
        "elect_offline_partitions",
        "elect_again",
        "start_brokers",
        "fail_brokers",
        "replicas_gone",
        "stop_followers",
        "tell_remaining",
        "tell_elected",
        "end_preferred_election",
    ]
    about: object = None


Task: TypeAlias = ChangePartitions | ChangeReplicas | Do


class Controller:
    """A broker's controller: active, or standing by. It sends through `channels`, and does nothing but in `step`."""

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
            SpecError: the rows of the era's tables and the methods here do not meet.
        """
        self.controller_id = number
        self.context = ControllerContext()
        self.channels = channels
        self.events: deque[Event] = deque()
        self.agenda: deque[Task] = deque()
        self.has_session = True
        """False once it has noticed that its session is over; then it waits for another."""
        self.unclean_elections: list[TopicPartition] = []
        """Partitions for which this process has elected a leader from outside the ISR (UncleanLeaderElectionsPerSec)."""
        self._k = era.constants({})
        self._session = session
        self._clock = clock
        self._unclean_default = unclean
        self.batch = RequestBatch(number, self.context, channels, log)
        self._log = log
        entities = {"Controller": ("broker",), "Partition": ("partition",), "Replica": ("partition", "replica")}
        machines = {machine: entities[machine.name] for machine in era.machines if machine.name in entities}
        running = build(self, machines, ControllerLines(log, self), every_era=(PARTITION, REPLICA, REPLICA_0_10))
        self.lives, self.partitions, self.replicas = (running[name] for name in ("Controller", "Partition", "Replica"))
        # what rows look at, read by the step that fires them
        self._state: Leadership | None = None
        self._strategy = Strategy.OFFLINE
        self._unclean = 0

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

    @property
    def life(self) -> ControllerState:
        """Whether this is the controller, or about to be."""
        return ControllerState(self.lives.state_of(self.controller_id))

    # The queue

    def start(self) -> None:
        """Watch /controller, and stand for election."""
        self.events.append(Changed("controller"))

    def handle(self, event: Event) -> None:
        """Put an event at the end of the queue."""
        self.events.append(event)

    def step(self) -> bool:
        """Do the next piece of work; return whether there was any."""
        self._hear()
        try:
            if self.agenda:
                self._advance(self.agenda[0])
            elif self.events:
                self._expand(self.events[0])
                self.events.popleft()
            else:
                return False
        except ConnectionLost:
            pass  # whether it was done is unknown: the step is done again, and reads first
        except ControllerMoved:
            self._resign()
            self.events.append(Changed("controller"))
        except SessionExpired:
            self._expire()
            self.has_session = False
        except (CoordinationError, znodes.Undecodable) as error:
            self._fail(error)
        return True

    def _fail(self, error: Exception) -> None:
        """End an event that met an error: the rest of it is dropped; a fail-over ends with it, so that another tries."""
        self._note(Level.ERROR, f"Error processing event: {error!r}")
        if self.life == ControllerState.LOADING:
            epoch_version = self.context.epoch_version
            self._resign()
            self.agenda.append(Do("give_up", epoch_version))
            return
        if not self.agenda:
            self._refuse(self.events.popleft())
        self._refuse_agenda()
        self.batch.clear()

    def _give_up(self, epoch_version: int) -> None:
        """Delete /controller, so that another is elected: the last step of a fail-over that failed (triggerControllerMove)."""
        if self._k.giving_up == GivingUp.UNCONDITIONAL:  # whoever it belongs to by now
            with suppress(NoNode):
                self._session.delete(znodes.CONTROLLER)
        elif (stat := self._session.exists(znodes.CONTROLLER)) is not None and stat.owner == self._session.id:
            with suppress(MultiRefused):
                self._session.multi([Check(znodes.CONTROLLER_EPOCH, epoch_version), Delete(znodes.CONTROLLER)])
        self.events.append(Changed("controller"))

    def session_opened(self, session: Session) -> None:
        """Go on under a new session: the old one is over; the broker has registered again."""
        self._expire()
        self._session, self.has_session = session, True
        self.start()

    def _hear(self) -> None:
        """Turn what the session has heard into events."""
        for heard in self._session.events():
            if heard.kind == Kind.EXPIRED:
                self._expire()
                self.has_session = False
            elif heard.kind == Kind.DISCONNECTED:  # no watch is left: everything is read again
                self.events.extend(Changed(what) for what in WATCHED.values())
                self.events.extend(Changed(f"topic {topic}") for topic in sorted(self.context.topics))
            elif heard.path in WATCHED:
                self.events.append(Changed(WATCHED[heard.path]))
            elif heard.path.startswith(f"{znodes.TOPICS}/"):
                self.events.append(Changed(f"topic {heard.path.rpartition('/')[2]}"))

    def _expire(self) -> None:
        """Drop everything that waits; who asked for something hears that this is no controller."""
        events, self.events = self.events, deque()
        if self.life != ControllerState.STANDBY:
            self._resign()
        for event in events:
            self._refuse(event)

    def _refuse(self, event: Event) -> None:
        if isinstance(event, ElectPreferred):
            event.reply(dict.fromkeys(event.partitions or (), Code.NOT_CONTROLLER))
        elif isinstance(event, ShutDown):
            event.reply(Code.NOT_CONTROLLER, ())

    def _refuse_agenda(self) -> None:
        """Drop what is left of an event; who waits for its answer gets one."""
        agenda, self.agenda = self.agenda, deque()
        for task in agenda:
            if isinstance(task, Do) and isinstance(task.about, ShutDown):
                self._refuse(task.about)
            elif isinstance(task, Do) and isinstance(task.about, _Elected):
                self._refuse(task.about.event)

    def _resign(self) -> None:
        """Stop being the controller: forget everything, close all channels (onControllerResignation)."""
        self._refuse_agenda()
        self.batch.clear()
        for entity in self.partitions.entities():
            self.partitions.fire("shutdown", *entity)
        for entity in self.replicas.entities():
            self.replicas.fire("shutdown", *entity)
        self.channels.close_all()
        self.context.__init__()  # type: ignore[misc]
        if self.life != ControllerState.STANDBY:
            self.lives.fire("resign", self.controller_id)

    # ZooKeeper, as a controller writes it

    def _fenced(self, *operations: Operation) -> list[Result]:
        """Write as the controller of this epoch.

        Raises:
            ControllerMoved: /controller_epoch has moved.
            NoNode, NodeExists, BadVersion: an operation was refused, for its own reason.
        """
        fence = [Check(znodes.CONTROLLER_EPOCH, self.context.epoch_version)] if self._k.controller_writes_fenced else []
        if not fence and not operations:
            return []
        try:
            return self._session.multi([*fence, *operations])[len(fence) :]
        except MultiRefused as refused:
            if fence and refused.index == 0:
                raise ControllerMoved(str(refused)) from None
            raise refused.reason from None

    def _read_state(self, partition: TopicPartition) -> Leadership | None:
        """Return what the state znode of a partition holds; None if there is none, or nothing that can be read."""
        try:
            data, stat = self._session.get(znodes.state(partition))
            return written(znodes.State.decode(partition, data), stat.version)
        except (NoNode, znodes.Undecodable):
            return None

    def _write_state(self, partition: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        """Write leader and ISR under the next leader epoch, in place of what this step has read."""
        assert self._state is not None
        new = following(self._state, leader, isr)
        state = znodes.State(new.leader, new.leader_epoch, new.isr, self.context.epoch)
        try:
            (stat,) = self._fenced(Set(znodes.state(partition), state.encode(), self._state.version))
        except BadVersion:
            raise _Retry from None
        assert isinstance(stat, Stat)
        self.context.leadership[partition] = written(state, stat.version)

    # Guards and effects of the two tables

    @guard
    def leadership_is_known(self, partition: TopicPartition) -> bool:
        """Leader and ISR are cached."""
        return partition in self.context.leadership

    @guard
    def leadership_is_unknown(self, partition: TopicPartition) -> bool:
        """Leader and ISR are not cached: there never were any."""
        return partition not in self.context.leadership

    @guard
    def cached_leader_is_live(self, partition: TopicPartition) -> bool:
        """The cached leader can lead."""
        return self.context.is_online(self.context.leadership[partition].leader, partition)

    @guard
    def cached_leader_is_not_live(self, partition: TopicPartition) -> bool:
        """The cached leader is dead, shutting down, or nobody."""
        return not self.cached_leader_is_live(partition)

    @guard
    def an_assigned_replica_is_live(self, partition: TopicPartition) -> bool:
        """Some assigned replica can lead."""
        return self.context.online(partition) != 0

    @guard
    def state_znode_is_absent(self) -> bool:
        """There was no state znode when this step looked."""
        return self._state is None

    @guard
    def no_newer_controller_wrote(self) -> bool:
        """There is a state znode, and no newer controller has written it."""
        return self._state is not None and self._state.controller_epoch <= self.context.epoch

    @guard
    def a_leader_can_be_elected(self, partition: TopicPartition) -> bool:
        """The strategy at hand finds a leader."""
        return self._elected(partition)[0] != NO_LEADER

    @guard
    def replica_is_live(self, partition: TopicPartition, replica: int) -> bool:
        """The replica's broker is live, and its log directory is there."""
        return self.context.is_online(replica, partition)

    @guard
    def replica_is_not_live(self, partition: TopicPartition, replica: int) -> bool:
        """The replica's broker is dead or shutting down, or its log directory is lost."""
        return not self.context.is_online(replica, partition)

    @guard
    def replica_is_not_cached_leader(self, partition: TopicPartition, replica: int) -> bool:
        """Another broker is the cached leader."""
        return self.context.leadership[partition].leader != replica

    @guard
    def replica_is_assigned(self, partition: TopicPartition, replica: int) -> bool:
        """The replica is part of the assignment."""
        return replica in self.context.assignments[partition]

    @guard
    def replica_is_not_assigned(self, partition: TopicPartition, replica: int) -> bool:
        """The replica is missing from the assignment."""
        return replica not in self.context.assignments[partition]

    @guard
    def isr_contains_replica(self, replica: int) -> bool:
        """The state znode's ISR holds the replica."""
        return self._state is not None and replica in self._state.isr

    @guard
    def isr_does_not_contain_replica(self, replica: int) -> bool:
        """The state znode's ISR does not hold the replica: nothing to write, and no new leader epoch."""
        return self._state is not None and replica not in self._state.isr

    def _elected(self, partition: TopicPartition) -> tuple[int, int, int]:
        """Return leader, ISR and recipients as the strategy at hand elects them from the state znode, as sets."""
        assert self._state is not None
        context, replicas = self.context, self.context.assignments[partition]
        isr, live, stopping = mask(self._state.isr), context.online(partition), mask(context.stopping)
        if self._strategy == Strategy.PREFERRED:
            return elect_preferred(replicas, live, isr)
        if self._strategy == Strategy.CONTROLLED_SHUTDOWN:
            leader, left, told = elect_controlled_shutdown(replicas, live, stopping, isr)
            return leader, left, told & ~stopping if self._k.shutdown_recipients == ShutdownRecipients.LIVE else told
        unclean = unclean_election_is_permitted(isr, live, 0, self._unclean)
        leader, left, told = elect_offline(replicas, live, isr, unclean)
        if self._k.offline_recipients == OfflineRecipients.LIVE_OR_STOPPING:
            told |= mask(replicas) & stopping
        return leader, left, told

    @effect
    def write_elected_leader_and_isr(self, partition: TopicPartition) -> None:
        """Write the elected leader and ISR with the next leader epoch, even where both stay."""
        assert self._state is not None
        leader, isr, _ = self._elected(partition)
        kept = [broker for broker in self._state.isr if contains(isr, broker)]
        kept += [broker for broker in unmask(isr) if broker not in kept]
        self._write_state(partition, leader, tuple(kept))
        if not contains(mask(self._state.isr), leader):
            self.unclean_elections.append(partition)

    @effect
    def send_leader_and_isr_to_recipients(self, partition: TopicPartition) -> None:
        """Send LeaderAndIsr to whom the strategy tells; it elects once more from what was read, and so the same."""
        self.batch.add_leader_and_isr(unmask(self._elected(partition)[2]), partition, is_new=False)

    @effect
    def create_state_znode(self, partition: TopicPartition) -> None:
        """Create the state znode, and what is above it: the first live replica leads, all live ones are in sync."""
        replicas = self.context.assignments[partition]
        leader, isr, _ = first_leader_and_isr(replicas, self.context.online(partition))
        state = znodes.State(leader, 0, tuple(broker for broker in replicas if contains(isr, broker)), self.context.epoch)
        for parent in znodes.partition_parents(partition):
            if self._session.exists(parent) is None:
                self._fenced(Create(parent))
        self._fenced(Create(znodes.state(partition), state.encode()))
        self.context.leadership[partition] = written(state, 0)

    @effect
    def send_leader_and_isr_to_first_isr(self, partition: TopicPartition) -> None:
        """Send LeaderAndIsr to the members of the first ISR, and to nobody else."""
        self.batch.add_leader_and_isr(self.context.leadership[partition].isr, partition, is_new=True)

    @effect
    def send_leader_and_isr_to_replica(self, partition: TopicPartition, replica: int) -> None:
        """Send the replica's broker the cached leader and ISR; the leader epoch is not a new one."""
        self.batch.add_leader_and_isr([replica], partition, is_new=False)

    @effect
    def send_stop_replica(self, partition: TopicPartition, replica: int) -> None:
        """Ask the replica's broker to stop it, with the leader epoch from before the ISR shrinks."""
        self.batch.add_stop_replica(replica, partition)

    @effect
    def write_isr_without_replica(self, partition: TopicPartition, replica: int) -> None:
        """Write the ISR without the replica, nobody leading if it led, with the next leader epoch."""
        assert self._state is not None
        keeps = self._k.last_isr_member == LastIsrMember.KEPT
        if self._k.last_isr_member == LastIsrMember.DROPPED_IF_UNCLEAN:
            keeps = not self._unclean_is_enabled(partition)
        left = isr_without(mask(self._state.isr), replica, int(keeps))
        leader = leader_without(self._state.leader, replica)
        if self._k.last_isr_member == LastIsrMember.DROPPED and left == 0:
            leader = replica
        self._write_state(partition, leader, tuple(broker for broker in self._state.isr if contains(left, broker)))
        self._note_removal(partition, replica)

    @effect
    def refresh_leadership(self, partition: TopicPartition, replica: int) -> None:
        """Take leader and ISR from the state znode into the cache."""
        assert self._state is not None
        self.context.leadership[partition] = self._state
        self._note_removal(partition, replica)

    @effect
    def send_leader_and_isr_to_other_replicas(self, partition: TopicPartition, replica: int) -> None:
        """Send LeaderAndIsr to all assigned replicas but this one."""
        others = mask(self.context.assignments[partition]) & ~only(replica)
        if self._k.shrink_recipients == ShrinkRecipients.LEADER_ONLY:
            leader = self.context.leadership[partition].leader
            others = others & only(leader) if leader != NO_LEADER else 0
        self.batch.add_leader_and_isr(unmask(others), partition, is_new=False)

    def _note_removal(self, partition: TopicPartition, replica: int) -> None:
        held = self.context.leadership[partition]
        isr = ",".join(map(str, held.isr))
        self._note(
            Level.INFO,
            f"Partition {partition} state changed to (Leader:{held.leader},ISR:{isr},LeaderEpoch:{held.leader_epoch},"
            f"ZkVersion:{held.version},ControllerEpoch:{held.controller_epoch}) after removing replica {replica} from the ISR "
            "as part of transition to OfflineReplica",
        )

    def _note(self, level: Level, message: str) -> None:
        self._log.line(level, f"[Controller id={self.controller_id} epoch={self.context.epoch}] {message}")

    def _unclean_is_enabled(self, partition: TopicPartition) -> bool:
        """Whether the topic, or else the broker, lets a replica outside the ISR lead."""
        try:
            config = znodes.decode_config(
                znodes.topic_config(partition.topic), self._session.get(znodes.topic_config(partition.topic))[0]
            )
        except NoNode:
            config = {}
        return config.get("unclean.leader.election.enable", str(self._unclean_default).lower()) == "true"

    # Tasks

    def _advance(self, task: Task) -> None:
        """Do one piece of the first task; take it off the agenda when it is done."""
        if isinstance(task, Do):
            following_tasks = getattr(self, f"_{task.step}")(*([] if task.about is None else [task.about]))
            self.agenda.popleft()
            self.agenda.extendleft(reversed(following_tasks or []))
            return
        if not task.begun:
            self.batch.begin()
            task.begun = True
        if task.todo:
            if isinstance(task, ChangePartitions):
                self._change_partition(task, task.todo[0])
            else:
                self._change_replica(task.trigger, *task.todo[0])
            task.todo.popleft()
        if not task.todo:
            self.batch.send()
            self.agenda.popleft()

    def _change_partition(self, task: ChangePartitions, partition: TopicPartition) -> None:
        """Ask the table for one partition: read what its guards look at, fire, and again if the znode was written meanwhile."""
        while True:
            if task.trigger == "online_partition":
                self._state = self._read_state(partition)
                self._strategy, self._unclean = task.strategy, 0
                if self._state is not None and mask(self._state.isr) & self.context.online(partition) == 0:
                    self._unclean = int(self._unclean_is_enabled(partition))
                if self._state is not None and self._would_create(partition):
                    self._fenced()
            try:
                if not self.partitions.fire(task.trigger, partition):
                    task.failed.append(partition)
                return
            except _Retry:
                continue
            except (NodeExists, NoNode) as error:  # the znode came, or went, between the read and the write
                task.failed.append(partition)
                self._note(Level.ERROR, f"{task.trigger} of partition {partition} failed: {error!r}")
                return

    def _would_create(self, partition: TopicPartition) -> bool:
        """Whether Kafka would try to create the state znode, without looking, and so find out that there is a newer controller."""
        return self.partitions.state_of(partition) == PartitionState.NEW and self.context.online(partition) != 0

    def _change_replica(self, trigger: str, partition: TopicPartition, replica: int) -> None:
        """Ask the table for one replica; where it refuses to take one offline, StopReplica is sent all the same."""
        while True:
            if trigger == "offline_replica":
                self._state = self._read_state(partition)
            try:
                if not self.replicas.fire(trigger, partition, replica) and trigger == "offline_replica":
                    self.batch.add_stop_replica(replica, partition)
                return
            except _Retry:
                continue

    def _send_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        self.batch.begin()
        self.batch.add_update_metadata(brokers, partitions)
        self.batch.send()

    # Events

    def _expand(self, event: Event) -> None:
        """Turn an event into tasks; reads come first, so that a lost connection lets it be done again."""
        if isinstance(event, Changed) and event.what == "controller":
            self._controller_changed()
        elif self.life != ControllerState.ACTIVE:
            self._refuse(event)
        elif isinstance(event, ElectPreferred):
            self.agenda.extend(self._preferred_election(event))
        elif isinstance(event, ShutDown):
            self.agenda.extend(self._shut_down(event))
        elif isinstance(event, LeaderAndIsrAnswer):
            self.agenda.extend(self._leader_and_isr_answered(event))
        elif event.what == "controller epoch":
            self._controller_epoch_changed()
        elif event.what == "brokers":
            self.agenda.extend(self._brokers_changed())
        elif event.what == "topics":
            self.agenda.extend(self._topics_changed())
        elif event.what == "isr changes":
            self._isrs_changed()
        elif event.what == "log directories":
            self.agenda.extend(self._log_directories_failed())
        elif event.what == "preferred elections":
            self.agenda.extend(self._preferred_election_asked())
        else:
            self.agenda.extend(self._topic_changed(event.what.removeprefix("topic ")))

    def _controller_changed(self) -> None:
        """Look who is the controller: resign if it is not this any more, and look again; stand for election if it is nobody."""
        while True:
            stat = self._session.exists(znodes.CONTROLLER, watch=True)
            mine = stat is not None and stat.owner == self._session.id
            if not mine and self.life != ControllerState.STANDBY:
                self._resign()
                self.events.append(Changed("controller"))
                return
            if stat is not None and not (mine and self.life == ControllerState.STANDBY):
                return
            if self._elect(already=mine):
                return

    def _controller_epoch_changed(self) -> None:
        """Take the newest controller epoch for one's own, in an era that does so (KAFKA-1096)."""
        if self._k.epoch_watch == EpochWatch.ADOPTED:
            data, stat = self._session.get(znodes.CONTROLLER_EPOCH, watch=True)
            self.context.epoch, self.context.epoch_version = znodes.decode_controller_epoch(data), stat.version

    def _elect(self, already: bool) -> bool:
        """Become the controller, unless another was faster; `already` if /controller is this session's: the reply was lost."""
        try:
            data, stat = self._session.get(znodes.CONTROLLER_EPOCH)
        except NoNode:
            with suppress(NodeExists):
                self._session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
            data, stat = self._session.get(znodes.CONTROLLER_EPOCH)
        epoch = znodes.decode_controller_epoch(data)
        own = znodes.Controller(self.controller_id, int(self._clock() * 1000)).encode()
        if self._k.controller_election == ControllerElection.TWO_STEPS:
            if not already:
                try:
                    self._session.create(znodes.CONTROLLER, own, ephemeral=True)
                except NodeExists:
                    return False
            self.lives.fire("create_controller_znode", self.controller_id)
            self.agenda.append(Do("increment_epoch"))
            return True
        if already:
            self._take_over(epoch, stat.version)
            return True
        try:
            _, set_stat = self._session.multi(
                [
                    Create(znodes.CONTROLLER, own, ephemeral=True),
                    Set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(epoch + 1), stat.version),
                ]
            )
        except MultiRefused:
            return False
        assert isinstance(set_stat, Stat)
        self._take_over(epoch + 1, set_stat.version)
        return True

    def _take_over(self, epoch: int, version: int, trigger: str = "elect") -> None:
        """Begin the fail-over under an epoch, in Kafka's order."""
        self.context.epoch, self.context.epoch_version = epoch, version
        if self._k.epoch_watch == EpochWatch.ADOPTED:
            self._session.exists(znodes.CONTROLLER_EPOCH, watch=True)
        self.lives.fire(trigger, self.controller_id)
        steps = ("delete_notifications", "read_everything", "start_replicas", "start_partitions", "end_failover")
        self.agenda.extend(Do(step) for step in steps)  # type: ignore[arg-type]

    def _increment_epoch(self) -> None:
        """Read /controller_epoch and write the next one: 0.10's second step, whoever has written it meanwhile."""
        data, stat = self._session.get(znodes.CONTROLLER_EPOCH)
        epoch = znodes.decode_controller_epoch(data) + 1
        try:
            stat = self._session.set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(epoch), stat.version)
        except BadVersion:
            raise ControllerMoved(znodes.CONTROLLER_EPOCH) from None
        self._take_over(epoch, stat.version, "increment_epoch")

    # Fail-over

    def _delete_notifications(self) -> None:
        """Delete notifications that are older than this controller: it reads everything anyway, and asks all brokers."""
        for folder in (znodes.LOG_DIR_EVENT_NOTIFICATION, znodes.ISR_CHANGE_NOTIFICATION):
            self._delete_all(f"{folder}/{name}" for name in self._session.children(folder, watch=True))

    def _delete_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(NoNode):
                self._fenced(Delete(path))

    def _read_everything(self) -> list[Task]:
        """Read brokers, topics and leadership; open channels; tell all brokers who is live."""
        brokers = self._read_brokers()
        topics = self._session.children(znodes.TOPICS, watch=True)
        assignments = {p: replicas for topic in topics for p, replicas in self._read_topic(topic).items()}
        leadership = {p: state for p in assignments if (state := self._read_state(p)) is not None}
        context = self.context
        context.live = {number: broker for number, (broker, _) in brokers.items()}
        context.broker_epochs = {number: epoch for number, (_, epoch) in brokers.items()}
        context.topics, context.assignments, context.leadership = set(topics), assignments, leadership
        for number in brokers:
            self.channels.open(number)
        self._send_metadata(context.live, [])
        return []

    def _read_brokers(self) -> dict[int, tuple[znodes.Broker, int]]:
        """Return the registered brokers, each with its epoch."""
        brokers = {}
        for number in sorted(map(int, self._session.children(znodes.BROKER_IDS, watch=True))):
            try:
                data, stat = self._session.get(znodes.broker(number))
            except NoNode:
                continue
            brokers[number] = (znodes.Broker.decode(number, data), stat.czxid)
        return brokers

    def _read_topic(self, topic: str) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the assignment of a topic, and watch it."""
        try:
            data, _ = self._session.get(znodes.topic(topic), watch=True)
        except NoNode:
            return {}
        return {TopicPartition(topic, number): replicas for number, replicas in znodes.Topic.decode(topic, data).partitions.items()}

    def _start_replicas(self) -> list[Task]:
        """Seed the replica machine; live ones go online, dead ones offline (ReplicaStateMachine.startup)."""
        seeded = [(p, broker) for p, replicas in self.context.assignments.items() for broker in replicas]
        for partition, replica in seeded:
            self.replicas.fire("startup", partition, replica)
        live = [one for one in seeded if self.replicas.state_of(*one) == ReplicaState.ONLINE]
        dead = [one for one in seeded if self.replicas.state_of(*one) != ReplicaState.ONLINE]
        tasks: list[Task] = [*_replicas("online_replica", live)]
        if self._k.dead_replicas == DeadReplicas.TAKEN_OFFLINE:
            tasks += _replicas("offline_replica", dead)
        return tasks

    def _start_partitions(self) -> list[Task]:
        """Seed the partition machine, and elect where there is no live leader (PartitionStateMachine.startup)."""
        for partition in self.context.assignments:
            self.partitions.fire("startup", partition)
        return [Do("elect_offline_partitions")]

    def _end_failover(self) -> None:
        """Be active, and look at what was asked for meanwhile."""
        self.lives.fire("failover", self.controller_id)
        self.events.append(Changed("preferred elections"))

    def _elect_offline_partitions(self) -> list[Task]:
        """Try to bring every new and every offline partition online (triggerOnlinePartitionStateChange)."""
        waiting = (PartitionState.NEW, PartitionState.OFFLINE)
        return _partitions("online_partition", [p for p in self.context.assignments if self.partitions.state_of(p) in waiting])

    def _elect_again(self) -> list[Task]:
        """Elect where the partition is offline and its ISR has a live member: one that joined between election and removal."""
        return _partitions(
            "online_partition",
            [
                p
                for p, held in self.context.leadership.items()
                if self.partitions.state_of(p) == PartitionState.OFFLINE and mask(held.isr) & self.context.online(p) != 0
            ],
        )

    # Brokers

    def _brokers_changed(self) -> list[Task]:
        """Compare the registered brokers with those known: new, gone, and bounced ones (processBrokerChange)."""
        brokers, context = self._read_brokers(), self.context
        new = {n: b for n, b in brokers.items() if n not in context.live}
        bounced = {n: b for n, b in brokers.items() if n in context.live and b[1] > context.broker_epochs[n]}
        if self._k.bounces_noticed == Checked.NO:
            bounced = {}
        dead = sorted(set(context.live) - set(brokers))
        for number in (*new, *bounced):
            self.channels.open(number)
        for number in dead:
            self.channels.close(number)
        tasks: list[Task] = []
        if new:
            tasks.append(Do("start_brokers", new))
        if bounced:
            tasks += [Do("fail_brokers", tuple(bounced)), Do("start_brokers", bounced)]
        if dead:
            tasks.append(Do("fail_brokers", tuple(dead)))
        return tasks

    def _start_brokers(self, brokers: Mapping[int, tuple[znodes.Broker, int]]) -> list[Task]:
        """Take brokers for live: tell everybody, put their replicas online, then try to elect (onBrokerStartup)."""
        context, before = self.context, list(self.context.live)
        for number, (broker, epoch) in brokers.items():
            context.live[number], context.broker_epochs[number] = broker, epoch
            context.offline_dirs.pop(number, None)
        self._send_metadata(before, [])
        self._send_metadata(brokers, context.leadership)
        return [*_replicas("online_replica", context.replicas_on(brokers)), Do("elect_offline_partitions")]

    def _fail_brokers(self, brokers: tuple[int, ...]) -> list[Task]:
        """Take brokers for dead (onBrokerFailure)."""
        for number in brokers:
            self.context.live.pop(number, None)
            self.context.broker_epochs.pop(number, None)
            self.context.offline_dirs.pop(number, None)
            self.context.stopping.discard(number)
        return self._replicas_gone(self.context.replicas_on(brokers))

    def _replicas_gone(self, replicas: Sequence[tuple[TopicPartition, int]]) -> list[Task]:
        """Partitions that lost their leader go offline, an election is tried, then the replicas leave (onReplicasBecomeOffline).

        Everybody is told first who is live, as in the model. Kafka tells it with the LeaderAndIsr requests that follow, and by a
        request of its own only at the end, where there was no partition to elect for.
        """
        unled = [p for p in self.context.led_by_none() if self.partitions.state_of(p) != PartitionState.NON_EXISTENT]
        self._send_metadata(self.context.live, [])
        tasks = [
            *_partitions("offline_partition", unled),
            Do("elect_offline_partitions"),
            *_replicas("offline_replica", replicas),
        ]
        return [*tasks, Do("elect_again")] if self._k.election_after_removal == Checked.YES else tasks

    def _leader_and_isr_answered(self, event: LeaderAndIsrAnswer) -> list[Task]:
        """Take replicas whose log directory is lost for gone, and those that answer for there."""
        if event.error != Code.NONE:
            self._note(Level.ERROR, f"Received error {event.error.name} in LeaderAndIsr response from broker {event.broker}")
            return []
        known = self.context.offline_dirs.setdefault(event.broker, set())
        lost = [p for p, code in event.partitions.items() if code == Code.KAFKA_STORAGE_ERROR and p not in known]
        known.difference_update(p for p, code in event.partitions.items() if code == Code.NONE)
        known.update(lost)
        if not lost:
            return []
        self._note(Level.INFO, f"Mark replicas {','.join(map(str, lost))} on broker {event.broker} as offline")
        return self._replicas_gone([(p, event.broker) for p in lost])

    # Topics

    def _topics_changed(self) -> list[Task]:
        """Compare the topics with those known; the partitions of new ones are created (processTopicChange)."""
        topics = set(self._session.children(znodes.TOPICS, watch=True))
        new = sorted(topics - self.context.topics)
        assignments = {p: replicas for topic in new for p, replicas in self._read_topic(topic).items()}
        for topic in self.context.topics - topics:
            for partition in [p for p in self.context.assignments if p.topic == topic]:
                del self.context.assignments[partition]
                self.context.leadership.pop(partition, None)
        self.context.topics = topics
        return self._create_partitions(assignments)

    def _topic_changed(self, topic: str) -> list[Task]:
        """Create the partitions that were added to a topic; changes to the others are ignored (processPartitionModifications)."""
        if topic not in self.context.topics:
            return []
        assignments = self._read_topic(topic)
        return self._create_partitions({p: replicas for p, replicas in assignments.items() if p not in self.context.assignments})

    def _create_partitions(self, assignments: Mapping[TopicPartition, tuple[int, ...]]) -> list[Task]:
        """Take partitions and replicas for new, and bring both online (onNewPartitionCreation)."""
        self.context.assignments.update(assignments)
        replicas = [(p, broker) for p, assigned in assignments.items() for broker in assigned]
        return [
            *_partitions("new_partition", list(assignments)),
            *_replicas("new_replica", replicas),
            *_partitions("online_partition", list(assignments)),
            *_replicas("online_replica", replicas),
        ]

    def _isrs_changed(self) -> None:
        """Read the states that leaders tell to have changed, tell all brokers, and delete the notifications."""
        told: dict[TopicPartition, None] = {}
        notifications = self._notifications(znodes.ISR_CHANGE_NOTIFICATION, znodes.decode_partitions)
        for partitions in notifications.values():
            told.update(dict.fromkeys(partitions or ()))
        states = {p: state for p in told if p in self.context.assignments and (state := self._read_state(p)) is not None}
        if states:
            self.context.leadership.update(states)
            self._send_metadata(self.context.live, states)
        self._delete_all(notifications)

    def _notifications(self, folder: str, decode: Callable[[str, bytes], Told]) -> dict[str, Told | None]:
        """Return the paths of notifications with what they tell, None where that cannot be read; and watch for more."""
        told: dict[str, Told | None] = {}
        for name in self._session.children(folder, watch=True):
            path = f"{folder}/{name}"
            try:
                told[path] = decode(path, self._session.get(path)[0])
            except (NoNode, znodes.Undecodable):
                told[path] = None
        return told

    def _log_directories_failed(self) -> list[Task]:
        """Ask brokers that have lost log directories for all their replicas: the answer tells which are gone.

        Replicas that are known to be gone are left alone, where Kafka would take them for online until they are asked for again
        (processLogDirEventNotification).
        """
        notifications = self._notifications(znodes.LOG_DIR_EVENT_NOTIFICATION, znodes.decode_log_dir_event)
        brokers = dict.fromkeys(broker for broker in notifications.values() if broker in self.context.live)
        replicas = [(p, b) for b in brokers for p, assigned in self.context.assignments.items() if b in assigned]
        self._delete_all(notifications)
        return _replicas("online_replica", [(p, b) for p, b in replicas if p not in self.context.offline_dirs.get(b, ())])

    # Elections and shutdowns that were asked for

    def _preferred_election(self, event: ElectPreferred) -> list[Task]:
        """Elect preferred leaders where they do not lead; answer for the others at once (processReplicaLeaderElection)."""
        asked = list(self.context.assignments) if event.partitions is None else list(dict.fromkeys(event.partitions))
        answers = {p: Code.UNKNOWN_TOPIC_OR_PARTITION for p in asked if p not in self.context.assignments}
        needed = []
        for partition in [p for p in asked if p not in answers]:
            held = self.context.leadership.get(partition)
            if held is not None and held.leader == self.context.assignments[partition][0]:
                answers[partition] = Code.ELECTION_NOT_NEEDED
            else:
                needed.append(partition)
        change = ChangePartitions("online_partition", deque(needed), Strategy.PREFERRED)
        told = ElectPreferred(tuple(asked), event.reply)
        return (
            [change, Do("tell_elected", _Elected(told, answers, change))]
            if needed
            else [Do("tell_elected", _Elected(told, answers))]
        )

    def _tell_elected(self, elected: _Elected) -> None:
        """Answer what came of each partition."""
        answers = dict(elected.answers)
        for partition in elected.event.partitions or ():
            failed = elected.change is not None and partition in elected.change.failed
            answers.setdefault(partition, Code.PREFERRED_LEADER_NOT_AVAILABLE if failed else Code.NONE)
        elected.event.reply(answers)

    def _preferred_election_asked(self) -> list[Task]:
        """Elect what /admin/preferred_replica_election names, and delete it."""
        self._session.exists(znodes.PREFERRED_REPLICA_ELECTION, watch=True)
        try:
            data, _ = self._session.get(znodes.PREFERRED_REPLICA_ELECTION)
        except NoNode:
            return []
        named = znodes.decode_partitions(znodes.PREFERRED_REPLICA_ELECTION, data)
        return [*self._preferred_election(ElectPreferred(named, lambda _: None)), Do("end_preferred_election")]

    def _end_preferred_election(self) -> None:
        """Delete the znode, and look whether another wish has slipped in."""
        with suppress(NoNode):
            self._fenced(Delete(znodes.PREFERRED_REPLICA_ELECTION))
        self.events.append(Changed("preferred elections"))

    def _shut_down(self, event: ShutDown) -> list[Task]:
        """Move the leadership of a broker that wants to stop, and take its other replicas offline (doControlledShutdown)."""
        context, broker = self.context, event.broker
        if event.broker_epoch < context.broker_epochs.get(broker, event.broker_epoch):
            event.reply(Code.STALE_BROKER_EPOCH, ())
            return []
        if broker not in context.live:
            event.reply(Code.BROKER_NOT_AVAILABLE, ())
            return []
        context.stopping.add(broker)
        held = [
            p for p, replicas in context.assignments.items() if broker in replicas and len(replicas) > 1 and p in context.leadership
        ]
        led = [p for p in held if context.leadership[p].leader == broker]
        followed = [(p, broker) for p in held if p not in led]
        tasks: list[Task] = [*_partitions("online_partition", led, Strategy.CONTROLLED_SHUTDOWN)]
        if followed:
            tasks += [Do("stop_followers", tuple(followed)), *_replicas("offline_replica", followed)]
        return [*tasks, Do("tell_remaining", event)]

    def _stop_followers(self, replicas: Sequence[tuple[TopicPartition, int]]) -> None:
        """Ask a broker that shuts down to stop what it follows, before the ISRs shrink."""
        self.batch.begin()
        for partition, replica in replicas:
            self.batch.add_stop_replica(replica, partition)
        self.batch.send()

    def _tell_remaining(self, event: ShutDown) -> None:
        """Answer what the broker still leads, of partitions that have other replicas."""
        context = self.context
        event.reply(
            Code.NONE,
            tuple(p for p, held in context.leadership.items() if held.leader == event.broker and len(context.assignments[p]) > 1),
        )


@dataclass(frozen=True)
class _Elected:
    """What is left to tell of a preferred election."""

    event: ElectPreferred
    answers: Mapping[TopicPartition, Code]
    change: ChangePartitions | None = None


def _partitions(trigger: str, todo: Sequence[TopicPartition], strategy: Strategy = Strategy.OFFLINE) -> list[Task]:
    """Return the change as a task, none if there is nothing to change: Kafka then sends nothing."""
    return [ChangePartitions(trigger, deque(todo), strategy)] if todo else []


def _replicas(trigger: str, todo: Sequence[tuple[TopicPartition, int]]) -> list[Task]:
    """Return the change as a task, none if there is nothing to change: Kafka then sends nothing."""
    return [ChangeReplicas(trigger, deque(todo))] if todo else []
