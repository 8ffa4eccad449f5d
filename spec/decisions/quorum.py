"""Decisions of the quorum: who gets a vote, what is a majority, when voters may change.

Pure functions; what differs between releases is an argument.

Source: Kafka 4.3 raft/src/main/java/org/apache/kafka/raft/KafkaRaftClient.java, LeaderState.java, QuorumState.java.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE


class ControlReader(enum.IntEnum):
    """Where the reader of control records continues after a truncation."""

    MOVES_BACK = 0
    """At the new end of the log."""
    STAYS = 1
    """At the old end: control records that arrive below it are never read (3.9 to 4.4)."""


class RestartedLeader(enum.IntEnum):
    """What a leader is when its process has started again."""

    RESIGNED = 0
    """It has resigned from its epoch (2.7, KAFKA-10527)."""
    LEADER = 1
    """It leads its epoch again."""


class OwnFlush(enum.IntEnum):
    """When a leader counts its own batches."""

    BEFORE_COMMIT = 0
    """Once they are flushed."""
    AFTER_COMMIT = 1
    """Once they are appended (3.0 to 4.4)."""


class HistoryCut(enum.IntEnum):
    """Which voters a node forgets when it has written a snapshot."""

    BELOW_END = 0
    """Those before the last below the snapshot's end: the voters in the snapshot stay."""
    UP_TO_END = 1
    """Those before the last at the snapshot's end, too, which is not in the snapshot (3.9 to 4.4)."""


class SnapshotReader(enum.IntEnum):
    """When the reader of control records reads a snapshot that has replaced the log."""

    ALWAYS = 0
    IF_BEHIND = 1
    """If it was before the snapshot's end: the voters of a longer log, which is lost, stay in force (3.9 to 4.4)."""


class FullTruncation(enum.IntEnum):
    """When a snapshot that a follower has fetched replaces its log."""

    UNLESS_HELD = 0
    """If the log does not have the last batch of the snapshot."""
    IF_NEWER = 1
    """If the snapshot's epoch, and then its end, is beyond the log's; else the process ends (2.8 to 4.4)."""


class FormatAwaits(enum.IntEnum):
    """What an operator waits for before a voter is formatted again, as the voter that it was. Kafka checks nothing."""

    FOLLOWERS_AT_END = 0
    """All other voters follow one leader in its epoch, and fetch at the end of its log."""
    NO_LAG = 1
    """A leader reports no lag of the others, as of their last fetches; they may be in a later epoch by now, or formatted."""
    NOTHING = 2


def is_majority(count: int, voters: int) -> bool:
    """Whether some of so many voters are a majority."""
    return count > voters // 2


def is_up_to_date(last_epoch: int, end: int, own_last_epoch: int, own_end: int) -> bool:
    """Whether the log of a candidate is at least as new as that of the voter (OffsetAndEpoch.compareTo)."""
    return last_epoch > own_last_epoch or (last_epoch == own_last_epoch and end >= own_end)


def vote_is_granted(candidate: int, voted: int, leader: int, up_to_date: bool) -> bool:
    """Whether a node without a leader grants a vote: again to whom it voted for, else if its vote is free (canGrantVote)."""
    if voted != NONE:
        return voted == candidate
    return leader == NONE and up_to_date


def snapshot_is_sent(end: int, last_epoch: int, log_start: int, earliest_epoch: int, snapshot: int) -> bool:
    """Whether a leader answers a fetch with its newest snapshot, which ends at `snapshot`; 0 if it has none.

    The fetch is at an end of a log whose last batch has an epoch; the leader's earliest snapshot has one, too.
    Kafka 4.3: KafkaRaftClient.tryCompleteFetchRequest, RaftLog.validateOffsetAndEpoch.
    """
    if snapshot == 0:
        return False
    at_start_of_other_log = end == log_start and last_epoch != earliest_epoch
    return end == 0 or end < log_start or at_start_of_other_log or last_epoch < earliest_epoch


def snapshot_replaces(snapshot: int, epoch: int, end: int, last_epoch: int, is_held: bool, full_truncation: int) -> bool:
    """Whether a snapshot, by its end and epoch, replaces a log with another end and last epoch.

    `is_held` says that the log has the last batch of the snapshot. Kafka 4.3: KafkaRaftLog.truncateToLatestSnapshot.
    """
    if full_truncation == FullTruncation.UNLESS_HELD:
        return not is_held
    return epoch > last_epoch or (epoch == last_epoch and snapshot > end)


def change_is_allowed(last_change: int, high_watermark: int, epoch_start: int, awaits_own_epoch: int, awaits_change: int) -> bool:
    """Whether a leader may change the voters: a batch of its own epoch is committed, and so is the last change, at an offset.

    A leader that does not wait for its own epoch takes all batches of earlier ones as committed.
    Kafka 4.3: AddVoterHandler.handleAddVoterRequest, RemoveVoterHandler.handleRemoveVoterRequest.
    """
    committed = high_watermark
    if awaits_own_epoch == Checked.NO:
        committed = max(high_watermark, epoch_start)
    elif high_watermark <= epoch_start:
        return False
    return awaits_change == Checked.NO or last_change < committed
