"""Replication: a leader appends and flushes, followers fetch a batch at a time, truncate what the leader does not have, and commit.

A fetch, its answer and the append are one step, except for fetches that are delayed and answers that are lost.

Source: Kafka 4.3 KafkaRaftClient.java, KafkaRaftLog.validateOffsetAndEpoch, truncateToEndOffset.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import end_of_epoch, end_shows_divergence
from kafka_spec.spec.decisions.quorum import snapshot_is_sent
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import append, contains, pop_first
from kafka_spec.spec.quorum.epochs import NODE, leads
from kafka_spec.spec.quorum.logs import (
    append_batch,
    hand_over,
    knows_high_watermark,
    last_epoch,
    raise_high_watermark,
    truncate_log,
    voters_of,
)
from kafka_spec.spec.quorum.machines import FOLLOWER, LEADER
from kafka_spec.spec.quorum.state import DELAYED_FETCHES, LOST_ANSWERS, RECORDS, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule

SOURCE = "Kafka 4.3 KafkaRaftClient."

# ---------------------------------------------------------------------------------------------------------------------
# The leader


def append_record(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Append a batch; where own batches count before they are flushed, that may commit it."""
    append_batch(s, k, node, s.nodes[node].epoch, 0, s.spent.lossy_crashes)
    raise_high_watermark(s, k, node)


APPEND = Rule(
    "Append",
    actor="{node}",
    kind="operator",
    params=NODE,
    guards=(leads,),
    at_most=RECORDS,
    effects=(append_record,),
    summary="{node} appends a batch of the controller",
    reference=SOURCE + "prepareAppend, maybeAppendBatches",
)


def has_unflushed(s: MetadataQuorum, node: int) -> bool:
    """The end of its log is not flushed."""
    return s.nodes[node].flushed < len(s.nodes[node].log)


def flush(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Flush the log; what the leader has counts now."""
    s.nodes[node].flushed = len(s.nodes[node].log)
    raise_high_watermark(s, k, node)


FLUSH = Rule(
    "Flush",
    actor="{node}",
    params=NODE,
    guards=(leads, has_unflushed),
    effects=(flush,),
    summary="{node} flushes what it has appended",
    reference=SOURCE + "flushLeaderLog",
)

# ---------------------------------------------------------------------------------------------------------------------
# Fetching


def follows_leader_of_epoch(s: MetadataQuorum, node: int) -> bool:
    """It follows a node that leads the same epoch."""
    mine = s.nodes[node]
    if mine.role != FOLLOWER:
        return False
    leading = s.nodes[max(mine.leader, 0)]
    return leading.role == LEADER and leading.epoch == mine.epoch


def is_sent_snapshot(s: MetadataQuorum, leader: int, end: int, epoch: int) -> bool:
    """A leader answers a fetch, at an end of a log whose last batch has an epoch, with its snapshot."""
    leading = s.nodes[leader]
    earliest_epoch = leading.log[max(leading.earliest - 1, 0)].epoch if leading.earliest > 0 else 0
    return snapshot_is_sent(end, epoch, leading.log_start, earliest_epoch, leading.snapshot)


def end_where_logs_part(s: MetadataQuorum, leader: int, end: int, epoch: int) -> tuple[int, int]:
    """Return where a leader has a follower truncate, whose log has an end and a last epoch: its own end of that epoch.

    The first is -1 if the leader answers with batches, or with a snapshot.
    """
    if end == 0 or is_sent_snapshot(s, leader, end, epoch):
        return -1, 0
    found, found_end = end_of_epoch(s.nodes[leader].log, epoch)
    if not end_shows_divergence(found, found_end, epoch, end):
        return -1, 0
    return found, found_end


def is_valid_fetch(s: MetadataQuorum, leader: int, end: int, epoch: int) -> bool:
    """A leader answers a fetch, at an end of a log whose last batch has an epoch, with what comes next."""
    diverging, _ = end_where_logs_part(s, leader, end, epoch)
    return diverging < 0 and not is_sent_snapshot(s, leader, end, epoch)


def note_fetch(s: MetadataQuorum, k: Constants, leader: int, node: int, end: int) -> None:
    """Note the end of a follower's log, which may commit batches."""
    s.nodes[leader].ends[node] = end
    raise_high_watermark(s, k, leader)


def end_of_truncated(s: MetadataQuorum, node: int, epoch: int, end: int) -> int:
    """Return where a follower truncates its log: at the end of the epoch that was answered, or of the largest own one below it."""
    own, own_end = end_of_epoch(s.nodes[node].log, epoch)
    return min(own_end, end) if own == epoch else own_end


def truncate_to(s: MetadataQuorum, k: Constants, node: int, epoch: int, end: int) -> None:
    """Truncate a log as its leader has answered."""
    truncate_log(s, k, node, end_of_truncated(s, node, epoch, end))


def take_batch(s: MetadataQuorum, k: Constants, node: int, leader: int) -> None:
    """Append the next batch of the leader's log, flush it, and take over the leader's high watermark, once it is known."""
    mine, leading = s.nodes[node], s.nodes[leader]
    end = len(mine.log)
    if end < len(leading.log):
        append_batch(s, k, node, leading.log[end].epoch, leading.log[end].voters, leading.log[end].losses)
        if k.observers_flush == Checked.YES or contains(voters_of(s, node), node) == 1:
            mine.flushed = len(mine.log)
    if k.pre_votes == 1:
        mine.has_fetched = 1
    if knows_high_watermark(s, leader) == 1 and min(leading.high_watermark, len(mine.log)) > mine.high_watermark:
        hand_over(s, node, min(leading.high_watermark, len(mine.log)))


def fetch_brings_something(s: MetadataQuorum, node: int) -> bool:
    """The leader lacks the end of its log, or has a batch or a high watermark for it, and no snapshot.

    What a leader has not flushed goes only to fetches that wait.
    """
    mine = s.nodes[node]
    leader = max(mine.leader, 0)
    leading = s.nodes[leader]
    if is_sent_snapshot(s, leader, len(mine.log), last_epoch(s, node)):
        return False
    waits = leading.ends[node] == len(mine.log)
    if leading.flushed < len(leading.log):
        return waits and len(mine.log) < len(leading.log)
    if not waits or len(mine.log) < len(leading.log):
        return True
    return knows_high_watermark(s, leader) == 1 and leading.high_watermark > mine.high_watermark


def keeps_committed(s: MetadataQuorum, node: int) -> bool:
    """It is not asked to truncate below its high watermark, which would end its process."""
    epoch, end = end_where_logs_part(s, max(s.nodes[node].leader, 0), len(s.nodes[node].log), last_epoch(s, node))
    return epoch < 0 or end >= s.nodes[node].high_watermark


def fetch(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Fetch once: truncate where the logs part, or append the next batch."""
    leader = s.nodes[node].leader
    epoch, end = end_where_logs_part(s, leader, len(s.nodes[node].log), last_epoch(s, node))
    if epoch >= 0:
        truncate_to(s, k, node, epoch, end)
        if k.pre_votes == 1:
            s.nodes[node].has_fetched = 1
    else:
        if s.nodes[leader].ends[node] != len(s.nodes[node].log):
            note_fetch(s, k, leader, node, len(s.nodes[node].log))
        take_batch(s, k, node, leader)


FETCH = Rule(
    "Fetch",
    actor="{node}",
    params=NODE,
    guards=(follows_leader_of_epoch, fetch_brings_something, keeps_committed),
    effects=(fetch,),
    summary="{node} fetches from its leader",
    reference=SOURCE + "handleFetchRequest, handleFetchResponse",
)


def fetch_says_something(s: MetadataQuorum, node: int) -> bool:
    """The fetch is valid, and the leader lacks the end of its log."""
    leader = max(s.nodes[node].leader, 0)
    leading = s.nodes[leader]
    if leading.flushed < len(leading.log) or leading.ends[node] == len(s.nodes[node].log):
        return False
    return is_valid_fetch(s, leader, len(s.nodes[node].log), last_epoch(s, node))


def fetch_unanswered(s: MetadataQuorum, k: Constants, node: int) -> None:
    """The leader notes the fetch, and the answer is lost."""
    note_fetch(s, k, s.nodes[node].leader, node, len(s.nodes[node].log))


LOSE_ANSWER = Rule(
    "LoseAnswer",
    actor="{node}",
    kind="fault",
    params=NODE,
    guards=(follows_leader_of_epoch, fetch_says_something),
    at_most=LOST_ANSWERS,
    effects=(fetch_unanswered,),
    summary="{node} fetches from its leader; the answer is lost",
    reference=SOURCE + "handleFetchRequest",
)

# ---------------------------------------------------------------------------------------------------------------------
# A fetch that is delayed


def delay_fetch(s: MetadataQuorum, node: int) -> None:
    """Send a fetch that does not arrive yet."""
    mine = s.nodes[node]
    append(s.fetches, sender=node, leader=mine.leader, epoch=mine.epoch, end=len(mine.log), last_epoch=last_epoch(s, node))


DELAY_FETCH = Rule(
    "DelayFetch",
    actor="{node}",
    kind="fault",
    params=NODE,
    guards=(follows_leader_of_epoch, fetch_says_something),
    at_most=DELAYED_FETCHES,
    effects=(delay_fetch,),
    summary="a fetch of {node} is delayed on the network",
    reference="",
)


def a_fetch_is_delayed(s: MetadataQuorum) -> bool:
    """A fetch is delayed on the network."""
    return len(s.fetches) > 0


def receive_fetch(s: MetadataQuorum, k: Constants) -> None:
    """The leader of its epoch notes the fetch, if it leads still and the fetch is valid; its sender does not wait for an answer."""
    request = s.fetches[0]
    leading = s.nodes[request.leader]
    if leading.role == LEADER and leading.epoch == request.epoch and leading.flushed == len(leading.log):
        if is_valid_fetch(s, request.leader, request.end, request.last_epoch):
            note_fetch(s, k, request.leader, request.sender, request.end)
    pop_first(s.fetches)


RECEIVE_FETCH = Rule(
    "ReceiveDelayedFetch",
    actor="network",
    guards=(a_fetch_is_delayed,),
    effects=(receive_fetch,),
    summary="the delayed fetch arrives, and nobody waits for its answer",
    reference=SOURCE + "handleFetchRequest",
)

RULES = (APPEND, FLUSH, FETCH, LOSE_ANSWER, DELAY_FETCH, RECEIVE_FETCH)
