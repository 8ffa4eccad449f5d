"""Kafka's own clients as the controllers of a cluster: how they take a step of spec/quorum, wait, and deliver messages.

A step delivers what its rule says. What the clients decide is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.raft_classes import RETRY_BACKOFF, RaftClasses
from kafka_spec.conformance.kafka_classes.raft_kafkas import RaftNode, SentRequest
from kafka_spec.conformance.kafka_classes.raft_views import NodeView
from kafka_spec.conformance.replay.core import NotEnabled, expect
from kafka_spec.spec.language.domain import NONE

TICK = 50
"""Milliseconds that pass at a time while a timer is waited for."""
LONGEST_TIMER = 400
"""Ticks in which every timer of a node ends."""


class RaftStage:
    """The controllers of a cluster."""

    def __init__(self, classes: RaftClasses, folder: Path, nodes: int, voters: Sequence[int], kraft_version: int) -> None:
        """Format all nodes with the same voters, or configure them so, and start them."""
        self.classes = classes
        self.nodes = [RaftNode(classes, node, folder / str(node)) for node in range(nodes)]
        self.delayed: tuple[int, Any] | None = None
        for node in self.nodes:
            if kraft_version:
                node.format(tuple(voters))
            else:
                node.configured = tuple(voters)
            node.start()

    def do(self, step: Callable[..., object], binding: Mapping[str, int]) -> None:
        """Let the clients do a step.

        Raises:
            NotEnabled: they do not, or one of them fails, which ends its process.
        """
        before = [node.standing() for node in self.nodes]
        try:
            step(self, **binding)
        except self.classes.kafka.failure as error:
            raise NotEnabled(f"Kafka fails: {error}") from error
        for node, stood in zip(self.nodes, before, strict=True):
            if node.standing() != stood:
                node.answers.clear()

    def distinguishes(self, mine: NodeView, kafkas: NodeView) -> bool:
        """Whether two views of a node differ. Up to 3.9 a node that knows its leader has forgotten its vote, which is moot."""
        if not self.classes.pre_votes and mine.leader != NONE:
            mine = replace(mine, voted=kafkas.voted)
        return mine != kafkas

    def close(self) -> None:
        """Close the logs."""
        for node in self.nodes:
            node.close()

    def wait(self, node: RaftNode, what: str, done: Callable[[], bool]) -> None:
        """Let the time of a node pass until a condition holds."""
        for _ in range(LONGEST_TIMER):
            if done():
                return
            node.now += TICK
            node.client.poll()
        raise NotEnabled(f"node {node.node} does not {what}")

    def again(self, node: RaftNode, sent: SentRequest) -> None:
        """Let a node notice that a fetch is lost, and send the next one."""
        standing, leader = node.standing(), int(sent.request.destination().id())
        self.lose(node, leader, "Fetch")
        self.wait(node, "fetch again", lambda: (leader, "Fetch") in node.sent)
        expect(node.standing() == standing, f"node {node.node} waits for its leader too long")

    def lose(self, node: RaftNode, other: int, kind: str) -> None:
        """Let a node notice that a request, if it has sent one, is lost, as by a connection that breaks."""
        if (sent := node.sent.pop((other, kind), None)) is not None:
            classes = self.classes
            api = classes.kafka.named("org.apache.kafka.common.protocol.ApiKeys").forId(sent.request.data().apiKey())
            node.receive(sent, classes.util.errorResponse(api, classes.errors.BROKER_NOT_AVAILABLE))
            node.now += RETRY_BACKOFF + 1

    def fetch_of(self, node: RaftNode) -> SentRequest:
        """Return the fetch that a node sends to its leader at the end of its log, in its epoch."""
        leader, end, epoch = int(node.quorum.leaderIdOrSentinel()), int(node.log.endOffset().offset()), int(node.quorum.epoch())
        for _ in range(2):
            node.poll()
            sent = node.sent.get((leader, "Fetch"))
            expect(sent is not None, f"node {node.node} sends no fetch to {leader}")
            assert sent is not None
            data = sent.request.data()
            asked = data.topics().get(0).partitions().get(0)
            if (int(asked.fetchOffset()), int(asked.currentLeaderEpoch())) == (end, epoch):
                data.setMaxWaitMs(0)
                return sent
            self.again(node, sent)
        raise NotEnabled(f"node {node.node} does not fetch at the end of its log")

    def ask_for_vote(self, candidate: RaftNode, node: RaftNode, pre_vote: bool) -> bool:
        """Deliver a request for a vote; keep a grant until it is counted. Return whether the vote is granted."""
        candidate.poll()
        sent = candidate.sent.get((node.node, "Vote"))
        expect(sent is not None, f"node {candidate.node} does not ask {node.node} for its vote")
        assert sent is not None
        asked = sent.request.data().topics().get(0).partitions().get(0)
        epoch = int(asked.candidateEpoch() if self.classes.is_3 else asked.replicaEpoch())
        expect(epoch == int(candidate.quorum.epoch()), f"node {candidate.node} asks in epoch {epoch}")
        expect(not self.classes.pre_votes or bool(asked.preVote()) == pre_vote, "it asks for the other kind of vote")
        answer = node.handle(sent.request.data())
        granted = bool(answer.topics().get(0).partitions().get(0).voteGranted())
        if granted:
            candidate.answers.append((sent, answer))
        return granted

    def count_grants(self, candidate: RaftNode) -> None:
        """Let a node count the votes that it was granted."""
        standing = candidate.standing()
        for sent, answer in candidate.answers:
            if candidate.standing() == standing:
                candidate.receive(sent, answer)
        candidate.answers.clear()
