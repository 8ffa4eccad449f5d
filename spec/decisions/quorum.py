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
