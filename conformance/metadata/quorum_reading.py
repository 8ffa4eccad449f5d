"""What the leader of a running quorum says of its voters (DescribeQuorum).

Source: KIP-595, KIP-836; Kafka 4.4 DescribeQuorumResponse.json, LeaderState.describeQuorum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

UNKNOWN = -1


@dataclass(frozen=True)
class VoterReading:
    """A voter, as its leader knows it."""

    directory: UUID | None
    """Its directory id; None where voters are configured (kraft.version 0)."""
    end: int
    """The end of its log, as of its last fetch; UNKNOWN before its first."""
    fetched: int
    """When it last fetched, in milliseconds of the leader's clock; UNKNOWN for the leader, and before its first fetch."""


@dataclass(frozen=True)
class QuorumReading:
    """The leader, its epoch, and the voters by node id."""

    leader: int
    epoch: int
    voters: Mapping[int, VoterReading]

    @property
    def end(self) -> int:
        """The end of the leader's log; 0 if the leader is not a voter, and does not say."""
        return self.voters[self.leader].end if self.leader in self.voters else 0

    def lag(self, node: int) -> int:
        """Return how many records a voter lacked at its last fetch."""
        return self.end - max(self.voters[node].end, 0)

    @staticmethod
    def of(partition: Any) -> QuorumReading:
        """Return what the partition of an answer says, in any version."""
        voters = {
            int(one.replica_id): VoterReading(
                getattr(one, "replica_directory_id", None),
                int(one.log_end_offset),
                int(getattr(one, "last_fetch_timestamp", UNKNOWN)),
            )
            for one in partition.current_voters
        }
        return QuorumReading(int(partition.leader_id), int(partition.leader_epoch), voters)
