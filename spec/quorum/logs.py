"""What the steps of the quorum share about logs: the voters in force, what is appended, truncated and committed.

Source: Kafka 4.3 KafkaRaftClient.java, LeaderState.java, internals/KRaftControlRecordStateMachine.java.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import ControlReader, OwnFlush, is_majority, is_up_to_date
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import append, contains, size, truncate
from kafka_spec.spec.quorum.state import FORMATTED_AT, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants

NO_NODES = 0
"""No voters."""


def last_epoch(s: MetadataQuorum, node: int) -> int:
    """Return the epoch of a node's last batch, 0 if it has none."""
    mine = s.nodes[node]
    return mine.log[len(mine.log) - 1].epoch if len(mine.log) > 0 else 0


def is_newer_or_equal(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The candidate's log is at least as new as the node's."""
    return is_up_to_date(last_epoch(s, candidate), len(s.nodes[candidate].log), last_epoch(s, node), len(s.nodes[node].log))


def last_change(s: MetadataQuorum, node: int) -> int:
    """Return the offset of the last voters that a node has read in its log, -1 if it has read none there."""
    changes = s.nodes[node].changes
    return changes[len(changes) - 1].offset if len(changes) > 0 else FORMATTED_AT


def voters_of(s: MetadataQuorum, node: int) -> int:
    """Return the voters in force at a node: those that it has read last. Kafka 4.3: VoterSetHistory.lastValue."""
    changes = s.nodes[node].changes
    return changes[len(changes) - 1].voters if len(changes) > 0 else NO_NODES


def voters_in_log(s: MetadataQuorum, node: int, end: int) -> int:
    """Return the last voters in a node's batches before an end, else those with which it was formatted."""
    mine = s.nodes[node]
    found = mine.formatted
    for offset in range(end):
        if mine.log[offset].voters != NO_NODES:
            found = mine.log[offset].voters
    return found


def may_be_voter_still(s: MetadataQuorum, node: int) -> bool:
    """The newest voters do not have the node, those before have, and it does not know that the change is committed.

    Only its log may have the change; then nobody else can be elected (Ongaro 2014, section 4.2.2).
    """
    mine, change = s.nodes[node], last_change(s, node)
    if change < mine.high_watermark or contains(voters_of(s, node), node) == 1:
        return False
    return len(mine.changes) > 1 and contains(mine.changes[len(mine.changes) - 2].voters, node) == 1


def has_majority_of(s: MetadataQuorum, node: int, granted: int) -> bool:
    """Of the voters in force at a node, a majority is among these nodes."""
    voters = voters_of(s, node)
    return is_majority(size(granted & voters), size(voters))


def append_batch(s: MetadataQuorum, k: Constants, node: int, epoch: int, voters: int, losses: int) -> None:
    """Append a batch, and read its voters if the reader has not passed its offset."""
    mine = s.nodes[node]
    end = len(mine.log)
    append(mine.log, epoch=epoch, voters=voters, losses=losses)
    if voters != NO_NODES and end >= mine.read_up_to:
        append(mine.changes, offset=end, voters=voters)
    mine.read_up_to = max(mine.read_up_to, end + 1)
    if k.lossy_crashes == 0:
        mine.flushed = end + 1


def entries_below(s: MetadataQuorum, node: int, end: int) -> int:
    """Return how many entries of the history of voters are below an offset."""
    return sum(change.offset < end for change in s.nodes[node].changes)


def truncate_log(s: MetadataQuorum, k: Constants, node: int, end: int) -> None:
    """Truncate a log; voters at or above its new end are not in force any more.

    Kafka 4.3: KafkaRaftLog.truncateToEndOffset, KRaftControlRecordStateMachine.truncateNewEntries, which leaves its position.
    """
    mine = s.nodes[node]
    truncate(mine.log, end)
    truncate(mine.changes, entries_below(s, node, end))
    mine.flushed = min(mine.flushed, end)
    if k.control_reader == ControlReader.MOVES_BACK:
        mine.read_up_to = min(mine.read_up_to, end)


def read_snapshot(s: MetadataQuorum, node: int) -> None:
    """Begin the history with the voters of the newest snapshot, that of the formatting if there is no other."""
    mine = s.nodes[node]
    truncate(mine.changes, 0)
    if mine.snapshot == 0:
        append(mine.changes, offset=FORMATTED_AT, voters=mine.formatted)
    elif mine.snapshot_voters != NO_NODES:
        append(mine.changes, offset=mine.snapshot - 1, voters=mine.snapshot_voters)
    mine.read_up_to = mine.snapshot


def begin_at_snapshot(s: MetadataQuorum, node: int) -> None:
    """Let the log begin, in a new segment, at the newest snapshot, which has replaced it."""
    mine = s.nodes[node]
    mine.segment_start = mine.snapshot
    mine.log_start = mine.snapshot
    mine.earliest = mine.snapshot
    mine.flushed = mine.snapshot


def read_whole_log(s: MetadataQuorum, node: int) -> None:
    """Read all control records, as a process does that starts.

    Kafka 4.3: KRaftControlRecordStateMachine.maybeLoadSnapshot, maybeLoadLog.
    """
    mine = s.nodes[node]
    read_snapshot(s, node)
    for offset in range(mine.snapshot, len(mine.log)):
        if mine.log[offset].voters != NO_NODES:
            append(mine.changes, offset=offset, voters=mine.log[offset].voters)
    mine.read_up_to = len(mine.log)


# ---------------------------------------------------------------------------------------------------------------------
# The high watermark


def hand_over(s: MetadataQuorum, node: int, end: int) -> None:
    """Raise a node's high watermark; what it passes is handed over to the node's listener."""
    mine = s.nodes[node]
    mine.high_watermark = end
    for offset in range(len(s.history.committed), end):
        stored = mine.log[offset]
        append(s.history.committed, epoch=stored.epoch, voters=stored.voters, losses=stored.losses)


def reached(s: MetadataQuorum, k: Constants, leader: int, voter: int) -> int:
    """Return the end of a voter's log, as its leader knows it; of the leader itself as far as it counts."""
    mine = s.nodes[leader]
    if voter != leader:
        return mine.ends[voter]
    return mine.flushed if k.own_flush == OwnFlush.BEFORE_COMMIT else len(mine.log)


def raise_high_watermark(s: MetadataQuorum, k: Constants, leader: int) -> None:
    """Raise a leader's high watermark to what a majority of the voters in force has, if that is in its own epoch.

    Kafka 4.3: LeaderState.maybeUpdateHighWatermark.
    """
    voters = voters_of(s, leader)
    start = s.nodes[leader].epoch_start if k.commits_own_epoch == Checked.YES else 0
    highest = s.nodes[leader].high_watermark
    for end in range(max(start, highest) + 1, len(s.nodes[leader].log) + 1):
        holders = sum(contains(voters, node) == 1 and reached(s, k, leader, node) >= end for node in range(k.nodes))
        if is_majority(holders, size(voters)):
            highest = end
    if highest > s.nodes[leader].high_watermark:
        hand_over(s, leader, highest)


def knows_high_watermark(s: MetadataQuorum, node: int) -> int:
    """Return 1 if a leader's high watermark is in its own epoch."""
    return 1 if s.nodes[node].high_watermark > s.nodes[node].epoch_start else 0
