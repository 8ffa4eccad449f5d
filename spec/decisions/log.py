"""Decisions about a replicated log: where to truncate, what is committed, who is caught up, who may join the ISR.

Pure functions of the language of spec/language, for every model and for the implementation; the decisions of an era are arguments.
A *log* is a sequence whose entries have `record` (which record) and `epoch` (the leader epoch it was written in); its end offset is
its length.
"""

from __future__ import annotations

from typing import Protocol

from kafka_spec.spec.decisions.variants import Checked, CountedMembers, FollowerEnds, FollowerSkip, SuffixLoss, Truncation
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, including


class EpochEntry(Protocol):
    """The entry of a log at an offset, of which only the epoch matters."""

    epoch: int


class Entry(EpochEntry, Protocol):
    """The entry of a log at an offset."""

    record: int


class Log(Protocol):
    """A sequence of entries, indexed by offset."""

    def __len__(self) -> int: ...
    def __getitem__(self, offset: int, /) -> Entry: ...


class EpochLog(Protocol):
    """A sequence of entries, of which only the epochs matter."""

    def __len__(self) -> int: ...
    def __getitem__(self, offset: int, /) -> EpochEntry: ...


def same_entry(log: Log, other: Log, offset: int) -> bool:
    """Whether both logs hold the same entry, record and epoch, at an offset that both have."""
    return log[offset].record == other[offset].record and log[offset].epoch == other[offset].epoch


def holds_same_prefix(log: Log, other: Log, end: int) -> bool:
    """Whether both logs reach `end` and hold the same entries below it."""
    if end > len(log) or end > len(other):
        return False
    for offset in range(end):
        if not same_entry(log, other, offset):
            return False
    return True


def records_in(log: Log) -> BrokerSet:
    """Return the records that a log holds, as a set of their numbers."""
    records = NO_BROKERS
    for offset in range(len(log)):
        records = including(records, log[offset].record)
    return records


# Truncation: how a new follower makes its log a prefix of its leader's


def follower_goes_on(follows: int, leader: int, named_leader: int, follower_skip: int) -> bool:
    """Whether a follower (`follows` is 1) that applies a LeaderAndIsr with a larger leader epoch keeps log and fetcher unchanged.

    Kafka 2.0: Partition.makeFollower returns false if the leader's id is unchanged (KAFKA-7164).
    """
    return follower_skip == FollowerSkip.SAME_LEADER and follows == 1 and leader == named_leader


def first_truncation(end: int, high_watermark: int, truncation: int) -> tuple[int, int]:
    """Where a new follower truncates at once, and whether it then asks its leader where their logs diverge (1), or fetches (0).

    Kafka 2.8: ReplicaManager.makeFollowers; 0.10 truncates to the high watermark there.
    """
    if truncation == Truncation.HIGH_WATERMARK:
        return min(high_watermark, end), 0
    return end, 1


def nothing_is_left_to_truncate(leader_log: Log, follower_log: Log, truncation: int) -> bool:
    """Whether a follower may fetch: its log is a prefix of its leader's; a follower that does not ask its leader assumes this."""
    if truncation == Truncation.HIGH_WATERMARK:
        return True
    return holds_same_prefix(leader_log, follower_log, len(follower_log))


def end_offset_for_epoch(leader_log: Log, follower_log: Log, high_watermark: int) -> int:
    """KIP-101: the end offset that the leader has for the epoch of the follower's last entry.

    That is where the leader's next larger epoch starts; the follower's high watermark if the leader has no such epoch.
    Kafka 0.11: ReplicaManager.lastOffsetForLeaderEpoch, LeaderEpochFileCache.endOffsetFor.
    """
    if len(follower_log) == 0:
        return 0
    if len(leader_log) == 0:
        return high_watermark
    epoch = follower_log[len(follower_log) - 1].epoch
    if leader_log[len(leader_log) - 1].epoch == epoch:
        return len(leader_log)
    for offset in range(len(leader_log)):
        if leader_log[offset].epoch > epoch:
            return offset
    return high_watermark


def divergence_offset(leader_log: Log, follower_log: Log) -> int:
    """KIP-279: one past the highest offset at which both logs hold the same entry; 0 if there is none.

    The exchange of (epoch, end offset) pairs converges to it. Kafka 2.0: AbstractFetcherThread.getOffsetTruncationState.
    """
    end = 0
    for offset in range(min(len(leader_log), len(follower_log))):
        if same_entry(leader_log, follower_log, offset):
            end = offset + 1
    return end


def truncation_after_answer(
    answered: int, answered_end: int, own: int, own_end: int, end: int, high_watermark: int
) -> tuple[int, int]:
    """KIP-279: where a follower truncates after one answer of its leader, and whether this is final (1) or it asks again (0).

    It has asked for the end of its latest epoch. `answered` is the largest epoch that the leader has up to it, and
    `answered_end` where that ends there; `own` and `own_end` are the same of the follower's log for the answered epoch; -1 is
    none. `end` is the follower's end offset. Kafka 2.0: AbstractFetcherThread.getOffsetTruncationState.
    """
    if answered_end < 0:
        return min(high_watermark, end), 1
    if answered < 0 or own_end < 0:
        return min(answered_end, end), 1
    if own != answered:
        return min(own_end, end), 0
    return min(own_end, answered_end, end), 1


def end_of_epoch(log: EpochLog, epoch: int) -> tuple[int, int]:
    """Return the largest epoch of a log up to this one, and where it ends there; the epoch itself and 0 if all are larger.

    A leader answers it to a fetch whose last fetched epoch ends elsewhere in its log. An epoch without records is
    left out: it starts where the next begins. Kafka 3.9: LeaderEpochFileCache.endOffsetFor.
    """
    largest = epoch
    end = 0
    for offset in range(len(log)):
        if log[offset].epoch <= epoch:
            largest = log[offset].epoch
            end = offset + 1
    return largest, end


def end_shows_divergence(epoch: int, end: int, last_epoch: int, fetch_offset: int) -> bool:
    """Whether a leader's log diverges from that of a follower whose last record has an epoch and lies below the fetch offset.

    `epoch` is the largest of the leader's log up to that of the record, `end` where it ends there.
    Kafka 2.7: Partition.readRecords (KIP-595).
    """
    return epoch < last_epoch or end < fetch_offset


def fetch_diverges(log: Log, last_epoch: int, fetch_offset: int) -> bool:
    """Whether a leader's log diverges from that of a follower whose last record has this epoch and lies below the fetch offset.

    Kafka 3.9: Partition.readRecords.
    """
    if fetch_offset == 0:
        return False
    epoch, end = end_of_epoch(log, last_epoch)
    return end_shows_divergence(epoch, end, last_epoch, fetch_offset)


def needs_truncation(leader_log: Log, follower_log: Log) -> bool:
    """Whether the follower's last entry alone shows that its log is not a prefix of the leader's."""
    end = len(follower_log)
    if end > len(leader_log):
        return True
    return end > 0 and follower_log[end - 1].epoch != leader_log[end - 1].epoch


# High watermark


def log_ends_are_forgotten(led_before: int, follower_ends: int) -> bool:
    """Whether a broker that becomes leader forgets its followers' log ends; `led_before` is 1 where it believed that it led.

    Kafka 2.8: Partition.makeLeader, isNewLeader; 3.9: Replica.resetReplicaState.
    """
    return led_before == 0 or follower_ends == FollowerEnds.FORGOTTEN


def members_that_count(isr: BrokerSet, assigned: BrokerSet, counted_members: int) -> BrokerSet:
    """Return the members of a leader's ISR whose logs must hold what is committed.

    While a replica is being removed, the leader knows that it is not assigned before it leaves the ISR.
    Kafka 2.8: Partition.maybeIncrementLeaderHW, over the remote replicas, which are those of the last LeaderAndIsr.
    """
    return isr & assigned if counted_members == CountedMembers.ASSIGNED else isr


def high_watermark_may_pass(high_watermark: int, end_offset: int) -> bool:
    """Whether a replica with this end offset lets the high watermark advance by one: it holds the entry there.

    The leader's candidate is the smallest end offset of the ISR (Kafka 2.8: Partition.maybeIncrementLeaderHW); one step at a
    time, it advances while this is true of every member.
    """
    return high_watermark < end_offset


def follower_high_watermark(leader_high_watermark: int, end_offset: int) -> int:
    """The high watermark that a follower adopts from a fetch response: the leader's, up to its own end offset."""
    return min(leader_high_watermark, end_offset)


def enough_are_in_sync(in_sync: int, min_isr: int) -> bool:
    """Whether this many members of an ISR suffice to take a write with acks=all, or to acknowledge it (min.insync.replicas).

    Kafka 2.8: Partition.appendRecordsToLeader, checkEnoughReplicasReachOffset.
    """
    return in_sync >= min_isr


# Caught up, and eligible for the ISR


def both_reach(leader_log: Log, follower_log: Log, end: int) -> bool:
    """Whether both logs reach `end`, whatever they hold: an offset alone shows no more."""
    return end == 0 or (end <= len(leader_log) and end <= len(follower_log))


def both_reach_in_same_epoch(leader_log: Log, follower_log: Log, end: int) -> bool:
    """Whether both logs reach `end` and the entries just below it have the same epoch: a fetch with its last epoch shows this."""
    if end == 0:
        return True
    if end > len(leader_log) or end > len(follower_log):
        return False
    return leader_log[end - 1].epoch == follower_log[end - 1].epoch


def high_watermark_is_of_epoch(log: Log, high_watermark: int, leader_epoch: int) -> bool:
    """Whether a leader's high watermark has reached the start of its own epoch: all older entries are committed.

    Before that its high watermark may be below committed records, and a follower that reaches it may lack committed
    records (KAFKA-7128). Kafka 2.1: Partition.isFollowerInSync compares with the epoch's start offset.
    """
    if high_watermark == len(log):
        return True
    return high_watermark < len(log) and log[high_watermark].epoch == leader_epoch


def reaches_high_watermark(end_offset: int, high_watermark: int) -> bool:
    """Whether a follower's end offset has reached the leader's high watermark: KIP-16's condition to join the ISR."""
    return end_offset >= high_watermark


def may_join_isr(end_offset: int, high_watermark: int, epoch_start: int, join_needs_epoch_start: int) -> bool:
    """Whether a follower with this end offset has caught up enough for the ISR.

    It has reached the leader's high watermark and, since 2.0.1, the start of the leader's epoch, which is where the leader's log
    ended when it became the leader: before that the high watermark may be below committed records (KAFKA-7128).
    Kafka 2.1: Partition.isFollowerInSync.
    """
    if join_needs_epoch_start == Checked.YES and end_offset < epoch_start:
        return False
    return end_offset >= high_watermark


# Loss of unflushed records


def unflushed_may_be_lost(in_isr: int, others_hold: int, suffix_loss: int) -> bool:
    """Whether a machine that crashes may lose the end of its log: outside the ISR always, inside by the assumption `suffix_loss`.

    `others_hold` is 1 if another live member of the ISR holds all of that log.
    """
    if in_isr == 0 or suffix_loss == SuffixLoss.ANY:
        return True
    return suffix_loss == SuffixLoss.OTHERS_HOLD and others_hold == 1
