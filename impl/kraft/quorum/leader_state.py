"""What a leader of the quorum knows while it leads: how far the others are, and the fetches that wait.

Source: Kafka 4.3 LeaderState.java; KafkaRaftClient.fetchPurgatory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kafka_spec.impl.protocol.quorum_requests import FetchLogRequest, FetchLogResponse
from kafka_spec.spec.decisions.quorum import is_majority
from kafka_spec.spec.quorum.state import UNKNOWN

Reply = Callable[[FetchLogResponse], object]


@dataclass(frozen=True)
class FetchAtLeader:
    """A fetch, and who receives its answer."""

    request: FetchLogRequest
    reply: Reply


@dataclass
class LeaderState:
    """The memory of one leadership."""

    epoch_start: int
    """The end of the leader's log when it was elected."""
    ends: dict[int, int] = field(default_factory=dict)
    """The fetch offset of each other node that has fetched."""
    waiting: list[FetchAtLeader] = field(default_factory=list)
    """The fetches for which there was nothing yet."""
    arrived: list[FetchAtLeader] = field(default_factory=list)
    """The fetches that arrived while the leader's log was not flushed."""

    def end_of(self, node: int) -> int:
        """Return the fetch offset of another node, UNKNOWN before its first fetch."""
        return self.ends.get(node, UNKNOWN)

    def end_of_majority(self, node: int, own_end: int, voters: Collection[int]) -> int:
        """Return the largest offset that a majority of the voters has; the leader is `node`, and counts with `own_end`."""
        ends = sorted((own_end if voter == node else self.end_of(voter) for voter in voters), reverse=True)
        return next((end for place, end in enumerate(ends, 1) if is_majority(place, len(ends))), UNKNOWN)
