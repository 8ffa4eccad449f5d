"""The broker's side of the controller's requests: gates, partitions with their logs, who leads, and whom to follow.

A request is taken or refused by the gates of spec/control/network.py, partition by partition, with Kafka's error codes. A partition
that leads or follows has a log; its high watermark comes from replication-offset-checkpoint and never leaves the log. Fetching is
another's work: `fetchers` says from whom, under which epoch, and from where.

Source: Kafka 2.8 ReplicaManager.scala:350-492, 1298-1726, Partition.scala:545-674, KafkaApis.scala:241-365.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from impl.log import checkpoint
from impl.log.log import LogConfig, PartitionLog
from impl.machine import Attempt, build
from impl.partitions import TopicPartition
from impl.requests import (
    NO_EPOCH,
    NO_LEADER,
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from impl.state_change_log import Level, StateChangeLog
from spec.control.decisions import FollowerSkip, Truncation
from spec.control.network import ErrorCode, answer_to_leader_and_isr, answer_to_request, answer_to_stop_replica
from spec.control.state import Role
from spec.log import high_watermark_may_pass
from spec.table import Spec, SpecError

UNKNOWN_END = -1
"""The end offset of a follower that has not fetched from this leader yet."""


@dataclass(frozen=True)
class Answer:
    """What a broker answers: an error for the whole request, or a code for each partition."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)


@dataclass(frozen=True)
class Fetcher:
    """Whom a follower fetches from: the leader, the follower's leader epoch, and the offset to begin at."""

    leader: int
    leader_epoch: int
    offset: int


@dataclass
class Partition:
    """A partition that the broker hosts.

    `isr` is a leader's; `ends` are the end offsets of its followers, as far as their fetches have told; `epoch_start` is where its
    log ended when it became the leader. `version` is that of the state znode, `controller_epoch` that of who wrote it.
    """

    leader_epoch: int = NO_EPOCH
    leader: int = NO_LEADER
    controller_epoch: int = 0
    version: int = 0
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    log: PartitionLog | None = None
    high_watermark: int = 0
    epoch_start: int = 0
    ends: dict[int, int] = field(default_factory=dict)


class ReplicaManager:
    """All partitions of one broker, in one data folder. What is not on disk is gone with the process."""

    def __init__(self, number: int, era: Spec, folder: Path, log: StateChangeLog, config: LogConfig | None = None) -> None:
        """`number` is the broker's; `era` one of spec/control/eras.py; `config` that of its logs.

        Raises:
            CheckpointError: a checkpoint of the folder cannot be read.
        """
        self.number = number
        self.broker_epoch = -1
        """The creation id of the registration, -1 until it is known."""
        self.controller_epoch = 0
        """The largest that a request has had: a broker that starts believes the first it meets."""
        self.alive: frozenset[int] = frozenset()
        self.metadata: dict[TopicPartition, UpdateMetadataState] = {}
        self.partitions: dict[TopicPartition, Partition] = {}
        self.fetchers: dict[TopicPartition, Fetcher] = {}
        self._k = era.constants({})
        self._log = log
        self._folder = folder
        self._config = config
        (role,) = (machine for machine in era.machines if machine.name == "Role")
        self._roles = build(self, {role: ("partition",)}, self)["Role"]
        folder.mkdir(parents=True, exist_ok=True)
        self._high_watermarks = checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS)
        points = folder / checkpoint.RECOVERY_POINTS
        self._recovery_points = checkpoint.read_offsets(points)
        points.unlink(missing_ok=True)  # true as long as nothing is written
        checkpoint.sync_folder(folder)

    def attempted(self, attempt: Attempt) -> None:
        """See `machine.Log`: a change of role that the table does not know is a mistake of this module.

        Raises:
            SpecError: so it was.
        """
        if attempt.target is None:
            raise SpecError(f"a replica in {attempt.source.name} cannot {attempt.trigger}")

    def role_of(self, partition: TopicPartition) -> Role:
        """Return what the broker's replica is."""
        return Role(self._roles.state_of(partition))

    # Requests

    def handle(self, request: Request, correlation: int = 0) -> Answer:
        """Take a request of a controller, or refuse it."""
        refusal = ErrorCode(
            answer_to_request(
                request.controller_epoch,
                self.controller_epoch,
                int(self._k.controller_epoch_checked),
                request.broker_epoch,
                self.broker_epoch,
                int(self._k.broker_epoch_checked),
            )
        )
        if refusal == ErrorCode.STALE_CONTROLLER_EPOCH:
            self._note_old_controller(request, correlation)
        if refusal != ErrorCode.NONE:
            return Answer(refusal)
        self.controller_epoch = request.controller_epoch
        about = f"from controller {request.controller} with correlation id {correlation} epoch {self.controller_epoch}"
        if isinstance(request, LeaderAndIsrRequest):
            whence = f"with correlation id {correlation} from controller {request.controller} epoch {self.controller_epoch}"
            return Answer(ErrorCode.NONE, self._lead_or_follow(request.partitions, about, whence))
        if isinstance(request, StopReplicaRequest):
            return Answer(ErrorCode.NONE, {p: self._stop(p, state, about) for p, state in request.partitions.items()})
        self.alive = frozenset(broker.number for broker in request.live_brokers)
        self.metadata.update(request.partitions)
        return Answer(ErrorCode.NONE)

    def _note_old_controller(self, request: Request, correlation: int) -> None:
        number, epoch, latest = request.controller, request.controller_epoch, self.controller_epoch
        about = f"with correlation id {correlation}"
        if isinstance(request, UpdateMetadataRequest):
            text = f"Received update metadata request {about} from an old controller {number} with epoch {epoch}"
        else:
            name = "LeaderAndIsr" if isinstance(request, LeaderAndIsrRequest) else "StopReplica"
            text = f"Ignoring {name} request from controller {number} {about} since its controller epoch {epoch} is old"
        self._note(Level.WARN, f"{text}. Latest known controller epoch is {latest}")

    def _lead_or_follow(
        self, states: Mapping[TopicPartition, LeaderAndIsrState], about: str, whence: str
    ) -> dict[TopicPartition, ErrorCode]:
        """Take each partition that is news; leaders first (becomeLeaderOrFollower)."""
        codes = {p: self._answer(p, state, about) for p, state in states.items()}
        taken = {p: state for p, state in states.items() if codes[p] == ErrorCode.NONE}
        for partition, state in taken.items():
            if state.leadership.leader == self.number:
                self._make_leader(partition, state)
        for partition, state in taken.items():
            if state.leadership.leader != self.number:
                self._make_follower(partition, state, whence)
        return codes

    def _answer(self, partition: TopicPartition, state: LeaderAndIsrState, about: str) -> ErrorCode:
        """Return whether one partition of a LeaderAndIsr is news; it is hosted from now on, whatever the answer."""
        hosted = self.partitions.setdefault(partition, Partition())
        epoch, current = state.leadership.leader_epoch, hosted.leader_epoch
        code = ErrorCode(answer_to_leader_and_isr(epoch, current, int(self.number in state.replicas)))
        ignoring = f"Ignoring LeaderAndIsr request {about} for partition {partition}"
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            listed = ",".join(map(str, state.replicas))
            self._note(Level.WARN, f"{ignoring} as itself is not in assigned replica list {listed}")
        elif code != ErrorCode.NONE and epoch < current:
            self._note(
                Level.WARN,
                f"{ignoring} since its associated leader epoch {epoch} is smaller than the current leader epoch {current}",
            )
        elif code != ErrorCode.NONE:
            self._note(Level.INFO, f"{ignoring} since its associated leader epoch {epoch} matches the current leader epoch")
        return code

    def _make_leader(self, partition: TopicPartition, state: LeaderAndIsrState) -> None:
        """Lead: the epoch begins at the end of the log; what followers hold is unknown, unless this led before (makeLeader)."""
        self.fetchers.pop(partition, None)
        hosted, previous = self.partitions[partition], self.partitions[partition].leader_epoch
        log = self._open(partition, hosted)
        self._adopt(hosted, state)
        hosted.isr = state.leadership.isr
        hosted.epoch_start = log.end_offset
        log.assign_epoch(hosted.leader_epoch)
        known = hosted.ends if self.role_of(partition) == Role.LEADER else {}
        hosted.ends = {broker: known.get(broker, UNKNOWN_END) for broker in state.replicas if broker != self.number}
        self._roles.fire("become_leader", partition)
        self._note(
            Level.INFO,
            f"Leader {partition} starts at leader epoch {hosted.leader_epoch} from offset {hosted.epoch_start} with high watermark "
            f"{hosted.high_watermark} ISR {_listed(hosted.isr)} addingReplicas [] removingReplicas []. "
            f"Previous leader epoch was {previous}.",
        )
        self._advance_high_watermark(hosted, log)

    def _advance_high_watermark(self, hosted: Partition, log: PartitionLog) -> None:
        """Raise a leader's high watermark to what all of the ISR hold; one that has not fetched yet blocks it."""
        held = min([log.end_offset, *(hosted.ends.get(broker, UNKNOWN_END) for broker in hosted.isr if broker != self.number)])
        if high_watermark_may_pass(hosted.high_watermark, held):
            hosted.high_watermark = held

    def _make_follower(self, partition: TopicPartition, state: LeaderAndIsrState, whence: str) -> None:
        """Follow a leader that is alive; where it is not, only the log is opened, and the leader epoch stays (makeFollower)."""
        hosted, leader = self.partitions[partition], state.leadership.leader
        log = self._open(partition, hosted)
        if leader not in self.alive:
            self._note(
                Level.ERROR,
                f"Received LeaderAndIsrRequest {whence} for partition {partition} (last update controller epoch "
                f"{state.leadership.controller_epoch}) but cannot become follower since the new leader {leader} is unavailable.",
            )
            return
        previous, same_leader = hosted.leader_epoch, hosted.leader == leader and self.role_of(partition) == Role.FOLLOWER
        self._adopt(hosted, state)
        hosted.isr, hosted.ends = (), {}
        self._roles.fire("become_follower", partition)
        if same_leader and self._k.follower_skip == FollowerSkip.SAME_LEADER:
            return
        if self._k.truncation == Truncation.HIGH_WATERMARK:
            log.truncate_to(hosted.high_watermark)
        hosted.high_watermark = min(hosted.high_watermark, log.end_offset)
        self.fetchers[partition] = Fetcher(leader, hosted.leader_epoch, hosted.high_watermark)
        self._note(
            Level.INFO,
            f"Follower {partition} starts at leader epoch {hosted.leader_epoch} from offset {log.end_offset} with high watermark "
            f"{hosted.high_watermark}. Previous leader epoch was {previous}.",
        )

    def _adopt(self, hosted: Partition, state: LeaderAndIsrState) -> None:
        told = state.leadership
        hosted.leader, hosted.leader_epoch = told.leader, told.leader_epoch
        hosted.version, hosted.controller_epoch, hosted.replicas = told.version, told.controller_epoch, state.replicas

    def _stop(self, partition: TopicPartition, state: StopReplicaState, about: str) -> ErrorCode:
        """Stop fetching, if the leader epoch is not too old as the era reckons (stopReplicas).

        Raises:
            SpecError: the replica should be deleted, which the table has not got yet.
        """
        hosted = self.partitions.get(partition)
        if hosted is None:
            return ErrorCode.NONE
        code = ErrorCode(answer_to_stop_replica(state.leader_epoch, hosted.leader_epoch, int(self._k.stop_replica_epoch)))
        if code != ErrorCode.NONE:
            older = state.leader_epoch < hosted.leader_epoch
            than = (
                f"is smaller than the current leader epoch {hosted.leader_epoch}" if older else "matches the current leader epoch"
            )
            self._note(
                Level.WARN if older else Level.INFO,
                f"Ignoring StopReplica request (delete={str(state.delete).lower()}) {about} for partition {partition} "
                f"since its associated leader epoch {state.leader_epoch} {than}",
            )
            return code
        self.fetchers.pop(partition, None)
        if state.delete:
            self._roles.fire("delete_replica", partition)
        return code

    # Logs

    def _open(self, partition: TopicPartition, hosted: Partition) -> PartitionLog:
        """Return the partition's log; opened for the first time, its high watermark is the checkpoint's, or 0, within the log."""
        if hosted.log is None:
            point = self._recovery_points.pop(partition, 0)
            hosted.log = PartitionLog(self._folder / str(partition), self._config, point)
            known = self._high_watermarks.get(partition, 0)
            hosted.high_watermark = max(hosted.log.start_offset, min(known, hosted.log.end_offset))
        return hosted.log

    def checkpoint_high_watermarks(self) -> None:
        """Write replication-offset-checkpoint; partitions that were not opened since the start keep what it said."""
        opened = {p: hosted.high_watermark for p, hosted in self.partitions.items() if hosted.log is not None}
        self._high_watermarks.update(opened)
        checkpoint.write_offsets(self._folder / checkpoint.REPLICATION_OFFSETS, self._high_watermarks)

    def close(self) -> None:
        """Close as a broker that shuts down: the next start trusts the logs up to here."""
        self.checkpoint_high_watermarks()
        points = dict(self._recovery_points)
        for partition, log in self._logs():
            log.close()
            points[partition] = log.recovery_point
        checkpoint.write_offsets(self._folder / checkpoint.RECOVERY_POINTS, points)

    def crash(self) -> None:
        """Close the files as the end of the process does."""
        for _, log in self._logs():
            log.crash()

    def _logs(self) -> Iterable[tuple[TopicPartition, PartitionLog]]:
        return [(p, hosted.log) for p, hosted in self.partitions.items() if hosted.log is not None]

    def _note(self, level: Level, message: str) -> None:
        self._log.line(level, f"[Broker id={self.number}] {message}")


def _listed(brokers: Iterable[int]) -> str:
    return f"[{','.join(map(str, brokers))}]"
