"""What is compared of a controller's Raft, on either side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafka_spec.spec.language.domain import NONE, BrokerSet
from kafka_spec.spec.quorum.logs import voters_of
from kafka_spec.spec.quorum.machines import QuorumRole


@dataclass(frozen=True)
class QuorumBatch:
    """A batch: its epoch, and the voters that it sets."""

    epoch: int
    voters: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.epoch}{list(self.voters) if self.voters else ''}"


@dataclass(frozen=True)
class NodeView:
    """What is seen of a node; the high watermark counts batches."""

    role: QuorumRole
    epoch: int
    leader: int
    voted: int
    log: tuple[QuorumBatch, ...]
    high_watermark: int
    voters: tuple[int, ...]
    sizes: tuple[int, ...] = field(default=(), compare=False)
    """The number of records of each batch of Kafka's log."""

    def __str__(self) -> str:
        voted = f" voted {self.voted}" if self.voted != NONE else ""
        log = " ".join(map(str, self.log))
        return (
            f"{self.role.name.lower()} epoch {self.epoch} leader {self.leader}{voted} log ({log}) "
            f"high watermark {self.high_watermark} voters {list(self.voters)}"
        )


def view_of(s: Any, node: int) -> NodeView:
    """Return what the model sees of a node."""
    mine = s.nodes[node]
    return NodeView(
        QuorumRole(mine.role),
        mine.epoch,
        mine.leader,
        mine.voted,
        tuple(QuorumBatch(batch.epoch, tuple(BrokerSet(batch.voters))) for batch in mine.log),
        mine.high_watermark,
        tuple(BrokerSet(voters_of(s, node))),
    )
