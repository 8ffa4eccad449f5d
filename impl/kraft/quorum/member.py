"""A node of the quorum in its epoch: how it enters one, hears of its leader and leaves its role, by the rows of the table.

Source: Kafka 4.3 KafkaRaftClient.java, QuorumState.java.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafka_spec.impl.fire_log import OnlyTheTable
from kafka_spec.impl.kraft.quorum.election_state import QUORUM_STATE, ElectionState, read_election_state, write_election_state
from kafka_spec.impl.kraft.quorum.leader_state import LeaderState
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.quorum.snapshots import SnapshotDownload
from kafka_spec.impl.machine import build
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import BeginQuorumEpochRequest, FetchLogResponse, QuorumAnswer, QuorumLeader
from kafka_spec.spec.decisions.quorum import RestartedLeader
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import LEADER, QUORUM, RESIGNED, UNATTACHED, QuorumRole
from kafka_spec.spec.vocabulary.table import Constants


class QuorumMember:
    """What every role has. `committed` is called whenever the high watermark of the node has risen."""

    def __init__(
        self,
        node: int,
        k: Constants,
        folder: Path,
        log: QuorumLog,
        committed: Callable[[], object] = lambda: None,
    ) -> None:
        """Start in the epoch on disk; `k` has the decisions of an era of spec/quorum, `kraft_version` and `pre_votes`.

        It has resigned if it led that epoch, follows a voter that leads it, or is a candidate if it voted for itself; of a leader
        that is not among its voters it knows no address (QuorumState.initialize).

        Raises:
            ElectionStateError: the file quorum-state in the folder says something else.
        """
        self.node = node
        self.k = k
        self.log = log
        self.committed = committed
        self.high_watermark = 0
        """What is below is committed; 0 while it is not known."""
        self.granted: set[int] = set()
        """The nodes that vote for it, or would, while it is prospective or a candidate."""
        self.has_fetched = False
        """Whether a follower has fetched from this leader; kept only where there are pre-votes."""
        self.leading: LeaderState | None = None
        """What it knows while it leads."""
        self.fetching: SnapshotDownload | None = None
        """The snapshot that a follower fetches, None if it fetches none."""
        self._path = folder / QUORUM_STATE
        self._election = read_election_state(self._path)
        self._machine = build(self, {QUORUM: ("node",)}, OnlyTheTable())[QUORUM.name]
        self._start()

    def _start(self) -> None:
        if self.leader == self.node and self.k.restarted_leader == RestartedLeader.LEADER:
            self.leading = LeaderState(self.log.end)
            self._fire("restart_as_leader")
        elif self.leader == self.node:
            self._fire("restart_as_resigned")
        elif self.leader in self.log.voters:
            self._fire("follow")
        elif self.voted == self.node:
            self.granted = {self.node}
            self._fire("restart_as_candidate")
        else:
            self._fire("detach")

    # What it is

    @property
    def role(self) -> QuorumRole:
        """What it is in its epoch."""
        return QuorumRole(self._machine.state_of(self.node))

    @property
    def epoch(self) -> int:
        """Its epoch; 0 before the first."""
        return self._election.epoch

    @property
    def leader(self) -> int:
        """The leader of its epoch, NONE if it does not know one."""
        return self._election.leader

    @property
    def voted(self) -> int:
        """For whom it voted in its epoch, NONE if for nobody."""
        return self._election.voted

    @property
    def standing(self) -> QuorumLeader:
        """Its epoch and leader, as each of its answers says."""
        return QuorumLeader(self.leader, self.epoch)

    @property
    def known_high_watermark(self) -> int:
        """The high watermark that a leader reports: -1 until it is in its own epoch."""
        known = self.leading is not None and self.high_watermark > self.leading.epoch_start
        return self.high_watermark if known else -1

    def load(self, election: ElectionState, role: QuorumRole) -> None:
        """Take epoch, vote and role without a row: for states read from elsewhere, never for a step of the protocol."""
        self._save(election)
        self._machine.load((self.node,), role)

    # Epochs

    def _fire(self, trigger: str) -> None:
        self._machine.fire(trigger, self.node)

    def _save(self, election: ElectionState) -> None:
        if election != self._election:
            write_election_state(self._path, election, None if self.k.kraft_version else self.log.formatted)
            self._election = election

    def _forget_role(self) -> None:
        """Forget what belongs to a role; a leader's fetches that wait are answered."""
        self.granted, self.has_fetched, self.fetching = set(), False, None
        left, self.leading = self.leading, None
        for fetch in [] if left is None else [*left.waiting, *left.arrived]:
            fetch.reply(FetchLogResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, self.standing))

    def _enter_epoch(self, epoch: int, leader: int) -> None:
        """Enter an epoch, on disk; the vote of an epoch before is forgotten."""
        self._save(ElectionState(epoch, leader, NONE if epoch > self.epoch else self.voted))

    def _follow_or_detach(self) -> None:
        """Follow the leader of the epoch, if another is known."""
        self._forget_role()
        self._fire("follow" if self.leader not in (NONE, self.node) else "detach")

    def learn(self, heard: QuorumLeader) -> bool:
        """Hear from another node of its epoch, and of the leader if it knows one (maybeTransition)."""
        if heard.epoch == self.epoch:
            is_news = heard.node != NONE and (self.leader == NONE or self.role == UNATTACHED)
        else:
            is_news = heard.epoch > self.epoch
        if not is_news or heard.node == self.node:
            return False
        self._enter_epoch(heard.epoch, heard.node)
        self._follow_or_detach()
        return True

    def _catch_up(self, epoch: int) -> None:
        """Enter the epoch of a candidate, if it is a later one."""
        if self.epoch < epoch:
            self._forget_role()
            self._enter_epoch(epoch, NONE)
            self._fire("detach")

    def resign(self) -> bool:
        """Resign from its epoch: it shuts down, or no majority fetches from it (pollLeader)."""
        if self.role != LEADER:
            return False
        self._forget_role()
        self.high_watermark = 0
        self._fire("resign")
        return True

    def leave_epoch(self) -> bool:
        """Enter the next epoch without a leader, if it has resigned; without pre-votes a voter stands instead (pollResigned)."""
        if self.role != RESIGNED or (self.k.pre_votes == 0 and self.node in self.log.voters):
            return False
        self._enter_epoch(self.epoch + self.k.resigned_enters_next, NONE)
        self._fire("detach")
        return True

    def begin_epoch(self, request: BeginQuorumEpochRequest) -> QuorumAnswer:
        """Hear from a leader that it leads (handleBeginQuorumEpochRequest)."""
        if request.epoch < self.epoch:
            return QuorumAnswer(ErrorCode.FENCED_LEADER_EPOCH, self.standing)
        self.learn(QuorumLeader(request.leader, request.epoch))
        return QuorumAnswer(ErrorCode.NONE, self.standing)
