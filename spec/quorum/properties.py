"""The properties of the quorum: one history of batches, held by every leader, under voters that the log itself says."""

from __future__ import annotations

from typing import Protocol

from kafka_spec.spec.language.domain import NONE, including
from kafka_spec.spec.quorum import snapshot_properties
from kafka_spec.spec.quorum.logs import NO_NODES, has_majority_of, knows_high_watermark, last_epoch, voters_in_log, voters_of
from kafka_spec.spec.quorum.machines import LEADER, RESIGNED
from kafka_spec.spec.quorum.replication import end_of_truncated, end_where_logs_part, follows_leader_of_epoch
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, reachable, recoverable, step_invariant

RAFT = "Ongaro and Ousterhout 2014: "


class BatchFields(Protocol):
    """What batches are compared by, in the log of a node or in the history."""

    epoch: int
    voters: int
    losses: int


class Batches(Protocol):
    """A sequence of batches, indexed by offset."""

    def __len__(self) -> int: ...
    def __getitem__(self, offset: int, /) -> BatchFields: ...


def same_batch(log: Batches, other: Batches, offset: int) -> bool:
    """Two sequences have the same batch at an offset that both have."""
    one, two = log[offset], other[offset]
    return one.epoch == two.epoch and one.voters == two.voters and one.losses == two.losses


def holds_committed(s: MetadataQuorum, node: int, end: int) -> bool:
    """A node holds what was committed, up to an offset."""
    if len(s.nodes[node].log) < end:
        return False
    return all(same_batch(s.nodes[node].log, s.history.committed, offset) for offset in range(end))


def majority_holds(s: MetadataQuorum, k: Constants, leader: int, flushed: int) -> bool:
    """Of the voters in force at a leader, a majority holds what is below its high watermark; if `flushed` is 1, on disk."""
    end = s.nodes[leader].high_watermark
    holders = NO_NODES
    for node in range(k.nodes):
        if holds_committed(s, node, end) and (flushed == 0 or s.nodes[node].flushed >= end):
            holders = including(holders, node)
    return has_majority_of(s, leader, holders)


def a_node_leads(s: MetadataQuorum, k: Constants) -> bool:
    """A node leads."""
    return any(s.nodes[node].role == LEADER for node in range(k.nodes))


def each_epoch_has_one_leader(s: MetadataQuorum, k: Constants) -> bool:
    """A node that leads an epoch was the first to lead it."""
    for node in range(k.nodes):
        if s.nodes[node].role == LEADER and s.history.leaders[s.nodes[node].epoch] != node:
            return False
    return True


def a_node_knows_its_leader(s: MetadataQuorum, k: Constants) -> bool:
    """A node knows another as its leader."""
    return any(s.nodes[node].leader not in (NONE, node) for node in range(k.nodes))


def leaders_know_their_epochs(s: MetadataQuorum, k: Constants) -> bool:
    """No node knows a leader that is in an earlier epoch, or in this one without leading it or having resigned."""
    for node in range(k.nodes):
        leader, epoch = s.nodes[node].leader, s.nodes[node].epoch
        if leader != NONE:
            named = s.nodes[leader]
            if named.epoch < epoch or (named.epoch == epoch and named.role not in (LEADER, RESIGNED)):
                return False
    return True


def two_logs_have_batches(s: MetadataQuorum, k: Constants) -> bool:
    """Two logs have batches."""
    return sum(len(s.nodes[node].log) > 0 for node in range(k.nodes)) > 1


def logs_match(s: MetadataQuorum, k: Constants) -> bool:
    """Where two logs have a batch of the same epoch at an offset, they are equal up to it."""
    for one in range(k.nodes):
        for other in range(one):
            equal = 1
            for offset in range(min(len(s.nodes[one].log), len(s.nodes[other].log))):
                if not same_batch(s.nodes[one].log, s.nodes[other].log, offset):
                    equal = 0
                if equal == 0 and s.nodes[one].log[offset].epoch == s.nodes[other].log[offset].epoch:
                    return False
    return True


def something_is_committed(s: MetadataQuorum) -> bool:
    """A batch is committed."""
    return len(s.history.committed) > 0


def is_newest_leader(s: MetadataQuorum, k: Constants, node: int) -> bool:
    """It leads, and nobody has led a later epoch."""
    if s.nodes[node].role != LEADER:
        return False
    for epoch in range(s.nodes[node].epoch + 1, k.epochs + 1):
        if s.history.leaders[epoch] != NONE:
            return False
    return True


def a_leader_has_to_hold_batches(s: MetadataQuorum, k: Constants) -> bool:
    """A batch is committed, and the leader of the newest epoch leads."""
    return something_is_committed(s) and any(is_newest_leader(s, k, node) for node in range(k.nodes))


def newest_leader_holds_committed(s: MetadataQuorum, k: Constants) -> bool:
    """The leader of the newest epoch holds every committed batch."""
    for node in range(k.nodes):
        if is_newest_leader(s, k, node) and not holds_committed(s, node, len(s.history.committed)):
            return False
    return True


def listeners_agree(s: MetadataQuorum, k: Constants) -> bool:
    """What is below a node's high watermark is what was committed there first."""
    return all(holds_committed(s, node, s.nodes[node].high_watermark) for node in range(k.nodes))


def voters_are_those_of_log(s: MetadataQuorum, k: Constants) -> bool:
    """The voters in force at a node are the last of its log, or those with which it was formatted."""
    return all(voters_of(s, node) == voters_in_log(s, node, len(s.nodes[node].log)) for node in range(k.nodes))


def voters_were_changed(s: MetadataQuorum, k: Constants) -> bool:
    """The voters were changed."""
    return s.spent.additions + s.spent.removals > 0


def changes_wait_for_each_other(s: MetadataQuorum, k: Constants) -> bool:
    """No leader has two changes of the voters above its high watermark that it appended itself."""
    for node in range(k.nodes):
        mine = s.nodes[node]
        if mine.role == LEADER:
            open_changes = sum(
                mine.log[offset].voters != 0 for offset in range(max(mine.high_watermark, mine.epoch_start), len(mine.log))
            )
            if open_changes > 1:
                return False
    return True


def a_follower_fetches(s: MetadataQuorum, k: Constants) -> bool:
    """A node follows a leader."""
    return any(follows_leader_of_epoch(s, node) for node in range(k.nodes))


def is_asked_to_truncate(s: MetadataQuorum, node: int, committed: int) -> bool:
    """A follower is asked to truncate below an end up to which it knows all as committed: its process would end."""
    if not follows_leader_of_epoch(s, node):
        return False
    epoch, end = end_where_logs_part(s, s.nodes[node].leader, len(s.nodes[node].log), last_epoch(s, node))
    return epoch >= 0 and end_of_truncated(s, node, epoch, end) < committed


def no_truncation_below_high_watermark(s: MetadataQuorum, k: Constants) -> bool:
    """No follower is asked to truncate below its high watermark."""
    return not any(is_asked_to_truncate(s, node, s.nodes[node].high_watermark) for node in range(k.nodes))


def leads_before_and_after(before: MetadataQuorum, after: MetadataQuorum, node: int) -> bool:
    """A node leads an epoch before the step and after it."""
    old, new = before.nodes[node], after.nodes[node]
    return old.role == LEADER and new.role == LEADER and old.epoch == new.epoch


def a_leader_stays(before: MetadataQuorum, after: MetadataQuorum, k: Constants) -> bool:
    """Some node leads an epoch before the step and after it."""
    return any(leads_before_and_after(before, after, node) for node in range(k.nodes))


def high_watermarks_grow(before: MetadataQuorum, after: MetadataQuorum, k: Constants) -> bool:
    """A leader's high watermark does not decrease in its epoch."""
    for node in range(k.nodes):
        if leads_before_and_after(before, after, node) and after.nodes[node].high_watermark < before.nodes[node].high_watermark:
            return False
    return True


def commits(before: MetadataQuorum, after: MetadataQuorum, node: int) -> bool:
    """A node leads, and its high watermark rises."""
    return after.nodes[node].role == LEADER and after.nodes[node].high_watermark > before.nodes[node].high_watermark


def a_leader_commits(before: MetadataQuorum, after: MetadataQuorum, k: Constants) -> bool:
    """A leader's high watermark rises."""
    return any(commits(before, after, node) for node in range(k.nodes))


def what_is_committed_is_on_disks(before: MetadataQuorum, after: MetadataQuorum, k: Constants) -> bool:
    """What a leader commits a majority of the voters in force there has, and has flushed."""
    for leader in range(k.nodes):
        if commits(before, after, leader) and not majority_holds(after, k, leader, 1):
            return False
    return True


def newest_voters_hold_committed(s: MetadataQuorum, k: Constants) -> bool:
    """A majority of the voters in force at a leader has what is below its high watermark."""
    for leader in range(k.nodes):
        if s.nodes[leader].role == LEADER and not majority_holds(s, k, leader, 0):
            return False
    return True


def somebody_commits_in_own_epoch(s: MetadataQuorum, k: Constants) -> bool:
    """A leader has committed a batch of its own epoch."""
    return any(s.nodes[node].role == LEADER and knows_high_watermark(s, node) == 1 for node in range(k.nodes))


def epochs_are_left(s: MetadataQuorum, k: Constants) -> bool:
    """The bound on epochs leaves one in which a node that has resigned leaves its own, and one for an election."""
    return all(s.nodes[node].epoch + 1 < k.epochs for node in range(k.nodes))


PROPERTIES: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        each_epoch_has_one_leader,
        "an epoch has at most one leader, ever",
        RAFT + "Election Safety",
        when=a_node_leads,
    ),
    invariant(
        "LeadersKnowTheirEpochs",
        leaders_know_their_epochs,
        "a leader that others know leads, has resigned or is in a later epoch; else its process ends once it hears of that",
        "Kafka 4.3 KafkaRaftClient.hasConsistentLeader",
        when=a_node_knows_its_leader,
    ),
    invariant(
        "LogsMatch",
        logs_match,
        "two logs that have a batch of the same epoch at an offset are equal up to it",
        RAFT + "Log Matching",
        when=two_logs_have_batches,
    ),
    invariant(
        "LeaderHoldsCommitted",
        newest_leader_holds_committed,
        "the leader of the newest epoch holds every batch that any node has committed",
        RAFT + "Leader Completeness",
        when=a_leader_has_to_hold_batches,
    ),
    invariant(
        "ListenersAgree",
        listeners_agree,
        "no two nodes ever hand different batches of one offset to their listeners",
        RAFT + "State Machine Safety",
        when=something_is_committed,
    ),
    invariant(
        "VotersFollowLog",
        voters_are_those_of_log,
        "the voters in force at a node are the last in its log, committed or not",
        "KIP-853",
        when=voters_were_changed,
    ),
    invariant(
        "OneChangeAtATime",
        changes_wait_for_each_other,
        "a leader appends no change of the voters before the one before it is committed",
        "KIP-853",
        when=voters_were_changed,
    ),
    invariant(
        "NoTruncationOfCommitted",
        no_truncation_below_high_watermark,
        "no follower is asked to truncate below its high watermark, which ends its process",
        "Kafka 4.3 KafkaRaftClient.handleFetchResponse; Kafka 4.3 KafkaRaftLog.truncateToEndOffset",
        when=a_follower_fetches,
    ),
    *snapshot_properties.PROPERTIES,
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_grow,
        "the high watermark of a leader does not decrease in its epoch",
        "Kafka 4.3 LeaderState.maybeUpdateHighWatermark",
        when=a_leader_stays,
    ),
    step_invariant(
        "CommittedIsFlushed",
        what_is_committed_is_on_disks,
        "when a leader commits a batch, a majority of the voters in force there has flushed it",
        "Kafka 4.3 LeaderState.maybeUpdateHighWatermark",
        when=a_leader_commits,
    ),
    recoverable(
        "LeaderCanBeElected",
        somebody_commits_in_own_epoch,
        "protocol steps alone can lead to a leader that commits in its epoch",
        "KIP-595",
        when=epochs_are_left,
    ),
    reachable("Commits", somebody_commits_in_own_epoch, "a leader commits a batch of its epoch", "goal"),
)

ON_NEWEST_VOTERS = invariant(
    "CommittedOnNewestVoters",
    newest_voters_hold_committed,
    "a majority of a leader's voters has what it has committed (not so: the voters before may have committed it)",
    "KAFKA-16580",
    when=a_node_leads,
)
"""What Kafka's simulation asserted, and its developers left open once voters change."""
