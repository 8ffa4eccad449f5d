"""Snapshots: a node writes one of what is committed, and cuts its log there; a follower loads it if its log does not reach that.

A snapshot is the batches that it stands for, and the voters that its writer knew at its end. It is fetched and loaded in one step:
what a follower has fetched of it is dropped as soon as it leaves its leader.

Source: Kafka 4.3 KafkaRaftClient.java (createSnapshot, handleFetchSnapshotResponse), internals/KafkaRaftLog.java; KIP-630.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import HistoryCut, SnapshotReader, snapshot_replaces
from kafka_spec.spec.language.domain import append, pop_first, truncate
from kafka_spec.spec.quorum.epochs import NODE
from kafka_spec.spec.quorum.logs import NO_NODES, begin_at_snapshot, entries_below, hand_over, last_epoch, read_snapshot
from kafka_spec.spec.quorum.replication import follows_leader_of_epoch, is_sent_snapshot
from kafka_spec.spec.quorum.state import A_NODE, OFFSET, SNAPSHOTS, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# Writing, and cutting the log


def is_new_and_committed(s: MetadataQuorum, node: int, end: int) -> bool:
    """The end is beyond its newest snapshot, and below its high watermark."""
    return s.nodes[node].snapshot < end <= s.nodes[node].high_watermark


def write_snapshot(s: MetadataQuorum, k: Constants, node: int, end: int) -> None:
    """Write a snapshot with the voters at its end, and forget the voters before them."""
    mine = s.nodes[node]
    mine.snapshot = end
    known = entries_below(s, node, end)
    mine.snapshot_voters = mine.changes[known - 1].voters if known > 0 else NO_NODES
    if k.history_cut == HistoryCut.UP_TO_END:
        known = entries_below(s, node, end + 1)
    for _ in range(1, known):
        pop_first(mine.changes)


WRITE_SNAPSHOT = Rule(
    "WriteSnapshot",
    actor="{node}",
    kind="operator",
    params={"node": A_NODE, "end": OFFSET},
    guards=(is_new_and_committed,),
    at_most=SNAPSHOTS,
    effects=(write_snapshot,),
    summary="{node} writes a snapshot of what is before offset {end}",
    reference="Kafka 4.3 KafkaRaftClient.createSnapshot, KRaftControlRecordStateMachine.truncateOldEntries",
)


def has_older_snapshot(s: MetadataQuorum, node: int) -> bool:
    """Its newest snapshot is committed, as far as it knows, and not its earliest."""
    mine = s.nodes[node]
    return mine.earliest < mine.snapshot <= mine.high_watermark


def cut_log(s: MetadataQuorum, node: int) -> None:
    """Let the log begin at the newest snapshot, and delete the others; a segment with batches after it stays."""
    mine = s.nodes[node]
    mine.log_start = mine.snapshot
    mine.earliest = mine.snapshot


CUT_LOG = Rule(
    "CutLog",
    actor="{node}",
    params=NODE,
    guards=(has_older_snapshot,),
    effects=(cut_log,),
    summary="{node} lets its log begin at its newest snapshot",
    reference="Kafka 4.3 KafkaRaftLog.maybeClean, deleteBeforeSnapshot",
)

# ---------------------------------------------------------------------------------------------------------------------
# Loading


def its_leader_sends_snapshot(s: MetadataQuorum, node: int) -> bool:
    """Its leader, which handles no fetch before it has flushed its log, answers with a snapshot."""
    leader = max(s.nodes[node].leader, 0)
    if s.nodes[leader].flushed < len(s.nodes[leader].log):
        return False
    return is_sent_snapshot(s, leader, len(s.nodes[node].log), last_epoch(s, node))


def loads_snapshot(s: MetadataQuorum, k: Constants, node: int) -> bool:
    """The leader's snapshot replaces its log, and is not behind its high watermark; else its process ends."""
    mine, leading = s.nodes[node], s.nodes[max(s.nodes[node].leader, 0)]
    end = leading.snapshot
    epoch = leading.log[max(end - 1, 0)].epoch
    holds = len(mine.log) >= end and mine.log[max(end - 1, 0)].epoch == epoch
    replaces = snapshot_replaces(end, epoch, len(mine.log), last_epoch(s, node), holds, k.full_truncation)
    return replaces and end >= mine.high_watermark


def load_snapshot(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Replace the log by the leader's snapshot, and read its voters; what it stands for is committed."""
    mine, leading = s.nodes[node], s.nodes[s.nodes[node].leader]
    truncate(mine.log, 0)
    for offset in range(leading.snapshot):
        append(mine.log, leading.log[offset])
    mine.snapshot = leading.snapshot
    mine.snapshot_voters = leading.snapshot_voters
    begin_at_snapshot(s, node)
    if k.snapshot_reader == SnapshotReader.ALWAYS or mine.read_up_to < mine.log_start:
        read_snapshot(s, node)
    if k.pre_votes == 1:
        mine.has_fetched = 1
    if leading.snapshot > mine.high_watermark:
        hand_over(s, node, leading.snapshot)


LOAD_SNAPSHOT = Rule(
    "LoadSnapshot",
    actor="{node}",
    params=NODE,
    guards=(follows_leader_of_epoch, its_leader_sends_snapshot, loads_snapshot),
    effects=(load_snapshot,),
    summary="{node} fetches the snapshot of its leader, which replaces its log",
    reference="Kafka 4.3 KafkaRaftClient.handleFetchSnapshotResponse, KafkaRaftLog.truncateToLatestSnapshot",
)

RULES = (WRITE_SNAPSHOT, CUT_LOG, LOAD_SNAPSHOT)
