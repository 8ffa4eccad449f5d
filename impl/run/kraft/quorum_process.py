"""The process of a controller that is a node of a quorum: its timers and its requests; and, while it leads, the active controller.

What the active controller answers is sent once the quorum has committed what it appended before; if it resigns first, brokers are
referred to another.

Source: Kafka 4.3 KafkaRaftClient.poll, QuorumController.java (ControllerPurgatory, handleLeaderChange).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataRequest
from kafka_spec.impl.kraft.quorum.metadata import QuorumMetadata
from kafka_spec.impl.kraft.quorum.node import CommittedLogTruncated, QuorumNode, SnapshotNotLoaded
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchLogRequest,
    FetchLogResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumAnswer,
    VoteRequest,
    VoteResponse,
)
from kafka_spec.impl.run.kraft.controllers import Done, answer_of
from kafka_spec.impl.run.kraft.surroundings import Surroundings
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.spec.decisions.quorum import is_majority
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE

ELECTION_TIMEOUT = 0.2
"""The shortest time, in seconds, after which a node campaigns again; the longest is twice as long (shorter than Kafka's 1 s)."""
FETCH_TIMEOUT = 0.6
"""The seconds after which a follower that hears nothing from its leader campaigns (shorter than Kafka's 2 s)."""
CHECK_QUORUM = 1.5 * FETCH_TIMEOUT
"""The seconds after which a leader resigns that no majority fetches from (LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR)."""
MAX_WAIT_MS = 200
"""How long a fetch of a follower waits at the leader (shorter than Kafka's 500 ms)."""
ANSWER = 0.5
"""The longest wait for an answer, in seconds."""
SNAPSHOT_EVERY = 50
"""Records after which a controller writes a snapshot, and cuts its log (metadata.log.max.record.bytes.between.snapshots)."""
TICK = 0.02
FLUSH = (0.0, 0.01)
"""The shortest and the longest time that a flush of a leader takes, in seconds."""


@dataclass(frozen=True)
class DeferredAnswer:
    """An answer of the active controller, and the offset up to which the log must be committed before it is sent."""

    end: int
    reply: Callable[[Any], object]
    answer: Any


class RunningController:
    """A process. Once it has ended, nothing of it must be called."""

    def __init__(self, node: QuorumNode, peers: tuple[int, ...], around: Surroundings) -> None:
        """`peers` are the other nodes, voters or not."""
        self.node = node
        self.metadata = QuorumMetadata(node)
        self.active: KRaftController | None = None
        """The controller, while this process is the active one."""
        self._peers = peers
        self._around = around
        self._answers: list[DeferredAnswer] = []
        self._heard: dict[int, float] = {}
        """When each node has fetched from this leader."""
        self._seen: tuple[int, int, int] | None = None
        self._deadline = 0.0
        self._flushes = False
        node.committed = self._committed

    def begin(self) -> None:
        """Begin the tasks of the process."""
        self._proceed()
        self._around.spawn(self.node.node, self._keep_time())
        self._around.spawn(self.node.node, self._follow())

    # Timers

    def _keep_time(self) -> Task:
        while True:
            if self._around.now() >= self._deadline:
                self._time_is_up()
            yield Sleep(TICK)

    def _time_is_up(self) -> None:
        if self.node.role == LEADER:
            if not self._hears_majority():
                self.resign()
        else:
            self.node.time_out()
        self._set_deadline()
        self._proceed()

    def _set_deadline(self) -> None:
        now, role = self._around.now(), self.node.role
        if role == LEADER:
            self._deadline = now + TICK
        elif role == FOLLOWER:
            self._deadline = now + FETCH_TIMEOUT
        else:
            self._deadline = now + self._around.uniform(ELECTION_TIMEOUT, 2 * ELECTION_TIMEOUT)

    def _hears_majority(self) -> bool:
        """Whether a majority has fetched lately; with one voter nobody asks (LeaderState.timeUntilCheckQuorumExpires)."""
        voters, since = self.node.log.voters, self._around.now() - CHECK_QUORUM
        heard = sum(voter == self.node.node or self._heard.get(voter, since) > since for voter in voters)
        return len(voters) == 1 or is_majority(heard, len(voters))

    def resign(self) -> None:
        """Resign, and inform the voters."""
        epoch = self.node.epoch
        if self.node.resign():
            for voter in self._others():
                self._around.spawn(self.node.node, self._end_epoch(voter, epoch))
            self._proceed()

    def _end_epoch(self, voter: int, epoch: int) -> Task:
        yield RemoteCall(voter, EndQuorumEpochRequest(self.node.node, epoch), ANSWER)

    def _others(self) -> list[int]:
        return sorted(self.node.log.voters - {self.node.node})

    # What follows from an event

    def _proceed(self) -> None:
        """Do what has become possible after an event."""
        node = self.node
        node.advance()
        seen = int(node.role), node.epoch, node.leader
        if seen != self._seen:
            self._seen = seen
            self._enter()
        if self.active is not None and node.role != LEADER:
            self._become_inactive()
        if self.active is None and node.known_high_watermark >= 0:
            self._claim()
        if node.role == LEADER and node.log.flushed < node.log.end and not self._flushes:
            self._flushes = True
            self._around.after(node.node, self._around.uniform(*FLUSH), self._flush)

    def _flush(self) -> None:
        self._flushes = False
        if self.node.role == LEADER:
            self.node.flush()
            self._proceed()

    def _enter(self) -> None:
        """Begin a role, or another epoch."""
        node = self.node
        self._set_deadline()
        if node.role in (PROSPECTIVE, CANDIDATE):
            request = node.vote_request()
            assert request is not None, "such a node asks for votes"
            for voter in self._others():
                self._around.spawn(node.node, self._ask(voter, request))
        if node.role == LEADER:
            now = self._around.now()
            self._heard = dict.fromkeys(node.log.voters, now)
            self._around.leads(node.node, node.epoch)
            for voter in self._others():
                self._around.spawn(node.node, self._begin_epoch(voter, node.epoch))

    def _ask(self, voter: int, request: VoteRequest) -> Task:
        while self.node.vote_request() == request:
            answer = yield RemoteCall(voter, request, ANSWER)
            if isinstance(answer, VoteResponse):
                self.node.take_vote(voter, request, answer)
                self._proceed()
                return
            yield Sleep(TICK)

    def _begin_epoch(self, voter: int, epoch: int) -> Task:
        while self.node.role == LEADER and self.node.epoch == epoch:
            answer = yield RemoteCall(voter, BeginQuorumEpochRequest(self.node.node, epoch), ANSWER)
            if isinstance(answer, QuorumAnswer):
                self.node.learn(answer.leader)
                self._proceed()
                return
            yield Sleep(TICK)

    # Following

    def _follow(self) -> Task:
        node = self.node
        while True:
            request, answer = node.next_fetch(max_wait_ms=MAX_WAIT_MS), None
            if request is not None:
                answer = yield RemoteCall(node.leader, request, ANSWER)
                self._take(request, answer)
            while (wanted := node.next_snapshot_fetch()) is not None:
                part = yield RemoteCall(node.leader, wanted, ANSWER)
                if not self._take_part(wanted, part):
                    node.fetching = None
            if answer is None and node.role != LEADER and node.node not in node.log.voters:
                yield from self._look_for_leader()
            if answer is None or answer.error != ErrorCode.NONE:
                yield Sleep(TICK)

    def _look_for_leader(self) -> Task:
        """As an observer, ask any node: it has no timer that ends."""
        peer = self._peers[int(self._around.uniform(0, len(self._peers)))]
        answer = yield RemoteCall(peer, self.node.any_fetch(), ANSWER)
        if isinstance(answer, FetchLogResponse):
            self.node.learn(answer.leader)
            self._proceed()

    def _take(self, request: FetchLogRequest, answer: FetchLogResponse | None) -> None:
        if answer is None:
            return
        try:
            counts = self.node.take_fetch(request, answer)
        except CommittedLogTruncated as error:
            self._around.failed(self.node.node, "NoTruncationOfCommitted", error)
            return
        if counts:
            self._set_deadline()
        self._proceed()

    def _take_part(self, request: FetchSnapshotRequest, answer: FetchSnapshotResponse | None) -> bool:
        """Take a part of a snapshot; return whether the next may be fetched."""
        if answer is None:
            return False
        try:
            counts = self.node.take_snapshot(request, answer)
        except SnapshotNotLoaded as error:
            self._around.failed(self.node.node, "SnapshotsAreLoaded", error)
            return False
        if counts:
            self._set_deadline()
            if self.node.fetching is None:
                self._around.snapshot("loaded")
        self._proceed()
        return counts

    # The active controller

    def _claim(self) -> None:
        """Become the active controller: a batch of the own epoch is committed, and so is everything before it."""
        self.metadata.read_appended()
        self.active = self._around.new_controller(self.metadata)
        self._proceed()

    def _become_inactive(self) -> None:
        """Be active no longer: forget what is not committed, and refer those who wait for it to another."""
        self.active = None
        self.metadata.forget_uncommitted()
        waiting, self._answers = self._answers, []
        for one in waiting:
            one.reply(QuorumAnswer(ErrorCode.NOT_CONTROLLER, self.node.standing))

    def _committed(self) -> None:
        self.metadata.read_committed()
        self._around.committed(self.node.node)
        if self.metadata.write_snapshot(SNAPSHOT_EVERY):
            self._around.snapshot("written")
        due = [one for one in self._answers if one.end <= self.node.high_watermark]
        self._answers = [one for one in self._answers if one.end > self.node.high_watermark]
        for one in due:
            one.reply(one.answer)

    def act(self, do: Callable[[KRaftController], Done], then: Callable[[], object]) -> Done:
        """Let the active controller do something; call `then` once what it appended is committed."""
        assert self.active is not None, "the process is active"
        self.metadata.read_appended()
        controller, end = self.active, self.metadata.end
        done = do(controller)
        unclean, controller.unclean_elections = controller.unclean_elections, []
        if self.metadata.end > end:
            self._around.appended(self.node.epoch, self.metadata.end, lambda: self._around.elected_uncleanly(unclean))
            self._around.appended(self.node.epoch, self.metadata.end, then)
        self._proceed()
        return done

    def change_voters(self, number: int) -> bool:
        """Remove a voter, or add an observer; return whether the leader takes the request."""
        node = self.node
        done = node.remove_voter(number) if number in node.log.voters else node.add_voter(number)
        self._proceed()
        return done

    def serve(self, message: Any, reply: Callable[[Any], object]) -> None:
        """Handle a message of another node, or of a broker."""
        node = self.node
        match message:
            case VoteRequest():
                reply(node.vote(message))
            case BeginQuorumEpochRequest():
                reply(node.begin_epoch(message))
                self._heard_leader(message.leader)
            case EndQuorumEpochRequest():
                reply(node.end_epoch(message))
            case FetchLogRequest():
                self._heard[message.replica] = self._around.now()
                node.fetch(message, reply)
                self._around.after(node.node, message.max_wait_ms / 1000, lambda: node.expire(message))
            case FetchSnapshotRequest():
                reply(node.fetch_snapshot(message))
            case _ if self.active is None:
                reply(QuorumAnswer(ErrorCode.NOT_CONTROLLER, node.standing))
            case FetchMetadataRequest():
                reply(self.metadata.after(message.end, committed=node.high_watermark))
            case _:
                self._answer(message, reply)
        self._proceed()

    def _heard_leader(self, leader: int) -> None:
        if self.node.role == FOLLOWER and self.node.leader == leader:
            self._set_deadline()

    def _answer(self, message: Any, reply: Callable[[Any], object]) -> None:
        now = int(self._around.clock() * 1000)
        answer = self.act(lambda controller: answer_of(controller, message, now), lambda: None)
        if self.active is None:
            reply(QuorumAnswer(ErrorCode.NOT_CONTROLLER, self.node.standing))
        elif self.metadata.end <= self.node.high_watermark:
            reply(answer)
        else:
            self._answers.append(DeferredAnswer(self.metadata.end, reply, answer))
