"""What is given to a partition on a broker of KRaft and what is seen of it, on either side. No Java is needed."""

from __future__ import annotations

from dataclasses import dataclass

LAG = 10_000
"""replica.lag.time.max.ms."""
START = 1_000_000
"""The time at which a sequence begins, in milliseconds."""


@dataclass(frozen=True)
class Cached:
    """What the metadata cache has of a broker."""

    is_unfenced: bool = True
    is_stopping: bool = False
    epoch: int = 0


@dataclass(frozen=True)
class Registered:
    """A registration of the partition, as an image has it."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True)
class SentProposal:
    """A proposal of an ISR: each member with its broker epoch, in ascending order."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LeaderView:
    """What is seen of the partition; of a follower only epochs and log."""

    leads: bool
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    maximal_isr: tuple[int, ...]
    is_pending: bool
    log_end: int
    high_watermark: int
    ends: tuple[tuple[int, int], ...]
    """The log end of each follower, as the leader knows it."""
    sent: tuple[SentProposal, ...]
    """The proposals without an answer."""
