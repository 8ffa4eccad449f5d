"""The verdict on the quorum of a run: the properties of spec/quorum on the projected state of all controllers.

A batch is compared by the checksum of its content. A look takes whole logs, of processes that have ended too; what a leader commits
is judged when it commits it, since the voters that held it may change before the next look.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kafka_spec.impl.kraft.control_records import voters_in
from kafka_spec.impl.kraft.quorum.leader_state import LeaderState
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.quorum.node import QuorumNode
from kafka_spec.impl.log import batches
from kafka_spec.impl.run.kraft.verdict import claims, holds_in
from kafka_spec.impl.run.suspects import suspects
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.spec.decisions.quorum import is_majority
from kafka_spec.spec.language.domain import NONE, BrokerSet, Spent
from kafka_spec.spec.quorum.eras import SUITE
from kafka_spec.spec.quorum.machines import RESIGNED, UNATTACHED, QuorumRole
from kafka_spec.spec.quorum.properties import PROPERTIES
from kafka_spec.spec.quorum.state import UNKNOWN, MetadataBatch, MetadataQuorum, PastCommits, VotersAt
from kafka_spec.spec.quorum.state import QuorumNode as ModelNode
from kafka_spec.spec.vocabulary.table import Constants

Summary = tuple[int, int, int, int]
"""A batch: the offset behind it, its epoch, the voters that it sets, and the checksum of its content."""
BETWEEN_LOOKS = ("HighWatermarkGrows",)
"""The step invariants that hold of any two states in their order."""
IN_RUNS: Mapping[str, tuple[str, ...]] = {"LeaderCanBeElected": ("KAFKA-10527",)}
"""The cases that violate a property in a run, while no check of the manifest shows it."""


class QuorumProjection:
    """Reads controllers as a state of spec/quorum; `first` is the node id of the first, which is node 0 there."""

    def __init__(self, first: int, count: int) -> None:
        self._first = first
        self._count = count

    def set_of(self, numbers: Iterable[int]) -> int:
        """Return node ids as a set of the model."""
        return int(BrokerSet.of(number - self._first for number in numbers))

    def place_of(self, number: int) -> int:
        """Return a node id, or NONE, as the model has it."""
        return NONE if number == NONE else number - self._first

    def batches_in(self, data: bytes) -> list[Summary]:
        """Return of each batch its end, epoch, voters, and the checksum of its content."""
        found, place = [], 0
        while (batch := batches.look(data[place : place + batches.HEADER.size])) is not None:
            one = data[place : place + batch.size]
            (checksum,) = batches.CHECKSUM.unpack_from(one, batches.CHECKSUM_AT)
            found.append((batch.last + 1, batch.epoch, self.set_of(voters_in(one)), checksum))
            place += batch.size
        return found

    def node(self, node: QuorumNode, history: Sequence[Summary]) -> ModelNode:
        """Return a node; what its log has no more is what was committed there."""
        log, leading, start = node.log, node.leading or LeaderState(0), node.log.store.start_offset
        held = [one for one in history if one[0] <= start]
        held += self.batches_in(log.store.read(start, 1 << 30)) if log.end > start else []
        ends = [0, *(end for end, *_ in held)]

        def count(offset: int) -> int:
            return ends.index(offset) if offset in ends else len(held)

        return ModelNode(
            role=int(node.role),
            epoch=node.epoch,
            leader=self.place_of(node.leader),
            voted=self.place_of(node.voted),
            formatted=self.set_of(log.formatted),
            log=[MetadataBatch(epoch, voters, checksum) for _, epoch, voters, checksum in held],
            flushed=count(log.flushed),
            segment_start=count(start),
            log_start=count(log.log_start),
            earliest=count(log.snapshots.earliest.end),
            snapshot=count(log.snapshots.end),
            snapshot_voters=self.set_of(log.snapshots.voters),
            changes=[VotersAt(place_in(ends, offset), self.set_of(voters)) for offset, voters in log.changes],
            read_up_to=count(log.read_up_to),
            high_watermark=count(node.high_watermark),
            granted=self.set_of(node.granted),
            has_fetched=int(node.has_fetched),
            epoch_start=count(leading.epoch_start),
            ends=[
                count(leading.ends[number]) if number in leading.ends else UNKNOWN
                for number in range(self._first, self._first + self._count)
            ],
        )


class QuorumJudge:
    """Judges the controllers; `findings` has the first violation of each property."""

    def __init__(self, name: str, k: Constants, first: int, count: int) -> None:
        """`name` is the version of spec/quorum that runs; it says which known bugs may explain a violation."""
        self.findings: dict[str, Broken] = {}
        self.leaders: dict[int, int] = {}
        """The first leader of each epoch."""
        self._name = name
        self._k = k
        self._count = count
        self._projection = QuorumProjection(first, count)
        self._before: MetadataQuorum | None = None

    def led(self, number: int, epoch: int) -> None:
        """Note who leads an epoch."""
        if self.leaders.setdefault(epoch, number) != number:
            self.broken("OneLeaderInEachEpoch", f"controllers {self.leaders[epoch]} and {number} lead epoch {epoch}")

    def batches_in(self, data: bytes) -> list[Summary]:
        """Return of each batch what is compared."""
        return self._projection.batches_in(data)

    def project(self, node: QuorumNode, history: Sequence[Summary]) -> ModelNode:
        """Return a process as the model has it; `history` is every committed batch in its order."""
        return self._projection.node(node, history)

    def ended(self, node: QuorumNode, history: Sequence[Summary]) -> ModelNode:
        """Return what a process that ends leaves: what it has on disk, on which one that led has resigned once it starts."""
        role = RESIGNED if node.leader == node.node else UNATTACHED
        return replace(self.project(node, history), role=int(role), high_watermark=0)

    def look(self, nodes: Mapping[int, ModelNode], history: Sequence[Summary]) -> None:
        """Judge the controllers as they are now."""
        committed = [MetadataBatch(*rest) for _, *rest in history]
        epochs = max(self.leaders, default=0)
        leaders = [NONE, *(self._projection.place_of(self.leaders.get(epoch, NONE)) for epoch in range(1, epochs + 1))]
        spent = Spent(additions=1, removals=1)
        k = Constants({**vars(self._k), "nodes": self._count, "epochs": epochs})
        after, before = (
            MetadataQuorum([nodes[number] for number in sorted(nodes)], [], spent, PastCommits(committed, leaders)),
            self._before,
        )
        for claim in PROPERTIES:
            if claim.kind == "invariant":
                holds = not claims(claim, s=after, k=k) or holds_in(claim, s=after, k=k)
            elif claim.name in BETWEEN_LOOKS and before is not None:
                holds = holds_in(claim, before=before, after=after, k=k)
            else:
                continue
            if not holds:
                self.broken(claim.name, "; ".join(in_words(number, node) for number, node in sorted(nodes.items())))
        self._before = after

    def commits(self, leader: QuorumNode, nodes: Mapping[int, QuorumNode], flushed: Mapping[int, int]) -> None:
        """Judge a commit: a majority of the leader's voters has flushed what is below its high watermark.

        `nodes` are the running ones; of the others `flushed` says how far their logs are on disk, as they were when they ended.
        """
        end, voters = leader.high_watermark, leader.log.voters
        holders = [
            voter
            for voter in voters
            if (holds_up_to(nodes[voter].log, leader.log, end) if voter in nodes else flushed.get(voter, 0) >= end)
        ]
        if not is_majority(len(holders), len(voters)):
            found = (
                f"controller {leader.node} commits up to {end}, which of its voters {sorted(voters)} only {holders} have on disk"
            )
            self.broken("CommittedIsFlushed", found)

    def broken(self, name: str, found: str) -> None:
        """Note a violation."""
        if name not in self.findings:
            may_be = suspects(SUITE, SUITE.names(self._name), name, IN_RUNS)
            self.findings[name] = Broken(f"quorum/{name}", found, tuple(may_be))


def place_in(ends: Sequence[int], offset: int) -> int:
    """Return the number of the batch that an offset is in; FORMATTED_AT if it is before the first."""
    return bisect_right(ends, offset) - 1


def holds_up_to(log: QuorumLog, other: QuorumLog, end: int) -> bool:
    """Whether a log has on disk what another has up to an offset: equal epochs at an offset mean equal logs up to it."""
    return log.flushed >= end and (end == 0 or log.store.epoch_of(end - 1) == other.store.epoch_of(end - 1))


def in_words(number: int, node: ModelNode) -> str:
    """Return a node in words."""
    role = QuorumRole(node.role).name.lower()
    return f"controller {number} {role} in epoch {node.epoch}, {node.high_watermark} of {len(node.log)} batches committed"
