"""One partition on its broker: the log with its high watermark, a leader's knowledge of its followers, and the steps on them.

Requests, ZooKeeper and other partitions are handled elsewhere. Every attribute is plain and may be set, so a test can put a
partition into any state. Times are milliseconds of the caller's clock.

Source: Kafka 2.8 Partition.scala, Replica.scala.
"""

from __future__ import annotations

import enum
from collections.abc import Container
from dataclasses import dataclass, field

from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, NO_LEADER, LeaderAndIsrState
from kafka_spec.spec.decisions.log import follower_high_watermark, high_watermark_may_pass, members_that_count
from kafka_spec.spec.decisions.variants import CountedMembers
from kafka_spec.spec.language.domain import BrokerSet

UNKNOWN_END = -1
"""The end offset of a follower that has not fetched from this leader yet."""
NEVER = -(1 << 62)
"""A time before all others."""


@dataclass
class Follower:
    """A leader's knowledge of a follower, from its fetches.

    `end` is the end of its log at its last fetch. `caught_up_at` is the last time at which it had the leader's whole log
    (lastCaughtUpTimeMs). `leader_end`, `fetched_at` and `broker_epoch` are the end of the leader's log, the time, and the broker
    epoch at its last fetch.
    """

    end: int = UNKNOWN_END
    caught_up_at: int = NEVER
    leader_end: int = 0
    fetched_at: int = NEVER
    broker_epoch: int = NO_EPOCH


class Phase(enum.Enum):
    """The phase of a fetcher for one partition."""

    TRUNCATING = "asks the leader where their logs diverge, and truncates there"
    FETCHING = "fetches from the end of its log"
    SEEKING_END = "its offset is out of range: asks for the end of the leader's log"
    SEEKING_START = "asks for the start of the leader's log"


@dataclass
class FetchState:
    """A follower's fetch state (PartitionFetchState); `offset` is the next to fetch; `delayed_until` delays the request."""

    leader: int
    leader_epoch: int
    offset: int
    phase: Phase = Phase.FETCHING
    delayed_until: int = NEVER


@dataclass
class HostedPartition:
    """A partition that the broker hosts; `log` is None until it leads or follows, and after its log directory has failed.

    `isr` and `followers` are for a leader; `pending_isr` is an ISR whose write has not been answered, or was refused
    (`isr_write_refused`) and still counts; `epoch_start` is the end of its log when it became the leader
    (leaderEpochStartOffset). `partition_epoch` is the version of the state znode, and in KRaft
    that of the registration; `controller_epoch` is the znode's writer's. `topic_id` is that of the
    topic that the log belongs to, None if it is not known. A reassignment is `adding` and `removing` some of the replicas.
    """

    leader_epoch: int = NO_EPOCH
    leader: int = NO_LEADER
    controller_epoch: int = 0
    partition_epoch: int = 0
    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    pending_isr: tuple[int, ...] | None = None
    isr_write_refused: bool = False
    log: PartitionLog | None = None
    high_watermark: int = 0
    epoch_start: int = 0
    topic_id: str | None = None
    followers: dict[int, Follower] = field(default_factory=dict)

    @property
    def opened(self) -> PartitionLog:
        """The log, of a partition that leads or follows.

        Raises:
            ValueError: it does neither.
        """
        if self.log is None:
            raise ValueError("a partition without a log can neither lead nor follow")
        return self.log

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """The ISR together with the pending one, since the pending change may have taken effect (maximalIsr)."""
        return (*self.isr, *(broker for broker in self.pending_isr or () if broker not in self.isr))

    # Becoming leader or follower

    def adopt(self, state: LeaderAndIsrState) -> None:
        """Adopt leader, leader epoch, version and replicas from a controller; a pending ISR change is dropped."""
        reported = state.leadership
        self.leader, self.leader_epoch = reported.leader, reported.leader_epoch
        self.partition_epoch, self.controller_epoch = reported.version, reported.controller_epoch
        self.replicas, self.adding, self.removing = state.replicas, state.adding, state.removing
        self.isr, self.pending_isr, self.isr_write_refused = reported.isr, None, False

    def start_to_lead(self, state: LeaderAndIsrState, forgets: bool, now: int) -> None:
        """Lead: the epoch begins at the end of the log; followers' ends are reset if it `forgets` them (makeLeader).

        Raises:
            OSError: the leader epoch cannot be written; the partition is unchanged.
        """
        self.begin_epoch(state.leadership.leader_epoch)
        self.adopt(state)
        self.know_followers(self.leader, forgets)
        self.measure_lag_from(now)

    def begin_epoch(self, leader_epoch: int) -> None:
        """Begin a leader epoch at the end of the log.

        Raises:
            OSError: it cannot be written; the partition is unchanged.
        """
        end = self.opened.end_offset
        self.opened.assign_epoch(leader_epoch)
        self.epoch_start = end

    def know_followers(self, number: int, forgets: bool) -> None:
        """Have the other replicas as the followers of broker `number`; what is known of them is kept, unless it `forgets`."""
        known = {} if forgets else self.followers
        self.followers = {broker: known.get(broker, Follower()) for broker in self.replicas if broker != number}

    def measure_lag_from(self, now: int) -> None:
        """Take the members of the ISR as caught up with the beginning of the leader epoch, and nobody else."""
        for broker, follower in self.followers.items():
            follower.caught_up_at = now if broker in self.isr else NEVER
            follower.leader_end, follower.fetched_at = self.epoch_start, now

    def start_to_follow(self, state: LeaderAndIsrState) -> None:
        """Follow: clear the ISR and the followers, which only a leader has (makeFollower)."""
        self.adopt(state)
        self.isr, self.followers = (), {}

    # Leading: followers and the high watermark

    def note_fetch(self, broker: int, offset: int, broker_epoch: int, now: int) -> bool:
        """Record that a follower has all records before an offset; return whether its end changed (updateFetchState)."""
        follower, end = self.followers[broker], self.opened.end_offset
        if offset >= end:
            follower.caught_up_at = max(follower.caught_up_at, now)
        elif offset >= follower.leader_end:
            follower.caught_up_at = max(follower.caught_up_at, follower.fetched_at)
        moved = follower.end != offset
        follower.end, follower.leader_end, follower.fetched_at, follower.broker_epoch = offset, end, now, broker_epoch
        return moved

    def out_of_sync(self, now: int, lag_max_ms: int) -> tuple[int, ...]:
        """Return the members of the ISR that have lagged behind the log's end for too long (getOutOfSyncReplicas)."""
        end = self.opened.end_offset
        return tuple(
            broker
            for broker in self.isr
            if (follower := self.followers.get(broker)) is not None
            and follower.end != end
            and now - follower.caught_up_at > lag_max_ms
        )

    def high_watermark_candidate(
        self, now: int, lag_max_ms: int, eligible: Container[int], counted_members: int = CountedMembers.ISR
    ) -> int:
        """Return the smallest log end in the ISR, UNKNOWN_END if a member has not fetched yet (maybeIncrementLeaderHW).

        Followers outside the ISR that are `eligible` and were caught up within `lag_max_ms` count too: they are about to join.
        """
        held = self.opened.end_offset
        isr = members_that_count(BrokerSet.of(self.maximal_isr), BrokerSet.of(self.replicas), counted_members)
        for broker in isr:
            if broker != self.leader and broker not in self.followers:
                return UNKNOWN_END
        for broker, follower in self.followers.items():
            recent = broker in eligible and now - follower.caught_up_at <= lag_max_ms
            if follower.end < held and (recent or broker in isr):
                held = follower.end
        return held

    def raise_high_watermark(self, held: int) -> bool:
        """Raise a leader's high watermark to `held`; return whether it rose."""
        if not high_watermark_may_pass(self.high_watermark, held):
            return False
        self.high_watermark = held
        return True

    # Following

    def truncate_to(self, offset: int) -> None:
        """Truncate the log; the high watermark does not stay above its end."""
        self.opened.truncate_to(offset)
        self.high_watermark = min(self.high_watermark, self.opened.end_offset)

    def truncate_fully(self, start: int) -> None:
        """Delete the log's content, and continue at an offset that the leader still has."""
        self.opened.truncate_fully(start)
        self.high_watermark = start

    def append_fetched(self, records: bytes, leader_high_watermark: int) -> None:
        """Append fetched records, and adopt the leader's high watermark up to the log's end.

        Raises:
            Corrupt: the data is not a sequence of complete, valid batches; nothing is appended.
            ValueError: the data does not continue the log.
        """
        if records:
            self.opened.append_as_follower(records)
        reached = follower_high_watermark(leader_high_watermark, self.opened.end_offset)
        self.high_watermark = max(self.high_watermark, reached)
