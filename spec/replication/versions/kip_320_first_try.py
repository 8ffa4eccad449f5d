"""The rejected first design for KIP-320: no truncation on becoming follower; every fetch carries the last fetched epoch.

The follower truncates when the leader notices from its fetch that the logs have diverged. The flaw: the last epoch does not show
which leader epoch the follower is in, so an old leader and a new one may both count it. The flaw needs three replicas and epochs
up to 2.
"""

import dataclasses

from kafka_spec.spec.decisions.log import both_reach_in_same_epoch, divergence_offset, high_watermark_is_of_epoch, needs_truncation
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.replication.rules import (
    BECOME_FOLLOWER,
    FOLLOWER_REPLICATE,
    LEADER_EXPAND_ISR,
    LEADER_INC_HIGH_WATERMARK,
    LEADER_SHRINK_ISR,
    fetch_next_entry,
    follower_follows,
    follower_is_another,
    leader_counts_follower,
    leader_does_not_count_follower,
    leader_has_more,
    leader_is_true_leader,
    leader_presumes_leadership,
    replica_is_not_the_leader,
    request_is_new_to_replica,
    request_names_a_leader,
    take_request,
    truncate_log,
)
from kafka_spec.spec.replication.state import ANY_REPLICA, Partition
from kafka_spec.spec.replication.versions.high_watermark import SPEC as HIGH_WATERMARK
from kafka_spec.spec.vocabulary.table import Constants, Rule

MODEL = "Kip320FirstTry.tla (hachikuji/kafka-specification)"


def is_caught_up_in_epoch(s: Partition, leader: int, follower: int, end: int) -> bool:
    """The leader leads, the follower follows it, and the entries just below the offset have the same epoch."""
    if s.replicas[leader].leader != leader or s.replicas[follower].leader != leader:
        return False
    return both_reach_in_same_epoch(s.replicas[leader].log, s.replicas[follower].log, end)


def last_fetched_epoch_matches(s: Partition, leader: int, follower: int) -> bool:
    """The epoch of the follower's last entry is the leader's at that offset."""
    return is_caught_up_in_epoch(s, leader, follower, len(s.replicas[follower].log))


def last_fetched_epoch_differs(s: Partition, leader: int, follower: int) -> bool:
    """The follower's log is longer than the leader's, or its last entry has another epoch."""
    return needs_truncation(s.replicas[leader].log, s.replicas[follower].log)


def truncate_follower(s: Partition, leader: int, follower: int) -> None:
    """Drop the entries that the leader does not have."""
    truncate_log(s, follower, divergence_offset(s.replicas[leader].log, s.replicas[follower].log))


def leader_has_entry_at_high_watermark(s: Partition, leader: int) -> bool:
    """The leader's log reaches beyond its high watermark."""
    return s.replicas[leader].high_watermark < len(s.replicas[leader].log)


def isr_has_next_entry_in_epoch(s: Partition, k: Constants, leader: int) -> bool:
    """Every member of the leader's ISR holds the next entry, of the same epoch."""
    for member in range(k.replicas):
        if contains(s.replicas[leader].isr, member):
            if not is_caught_up_in_epoch(s, leader, member, s.replicas[leader].high_watermark + 1):
                return False
    return True


def follower_lags_in_epoch(s: Partition, leader: int, follower: int) -> bool:
    """The follower does not have all of the leader's log, or its last entry has another epoch."""
    return not is_caught_up_in_epoch(s, leader, follower, len(s.replicas[leader].log))


def follower_reaches_high_watermark_in_epoch(s: Partition, leader: int, follower: int) -> bool:
    """The follower has reached the leader's high watermark, with an entry of the same epoch."""
    return is_caught_up_in_epoch(s, leader, follower, s.replicas[leader].high_watermark)


def high_watermark_is_of_leader_epoch(s: Partition, leader: int) -> bool:
    """The leader's high watermark has reached the start of its epoch: all older entries are committed."""
    replica = s.replicas[leader]
    return high_watermark_is_of_epoch(replica.log, replica.high_watermark, replica.leader_epoch)


SPEC = HIGH_WATERMARK.replacing(
    "replication/kip_320_first_try",
    "a design for KIP-320 that was rejected: truncation on fetching, by the last fetched epoch",
    without=("FollowerReplicate",),
    rules=(
        dataclasses.replace(
            BECOME_FOLLOWER,
            guards=(request_names_a_leader, replica_is_not_the_leader, request_is_new_to_replica),
            effects=(take_request,),
            summary="{replica} applies LeaderAndIsr request {request} and follows, without truncation",
            reference=f"{MODEL}: BecomeFollower",
        ),
        dataclasses.replace(
            LEADER_INC_HIGH_WATERMARK,
            guards=(leader_presumes_leadership, leader_has_entry_at_high_watermark, isr_has_next_entry_in_epoch),
            bound_guards=(),
            reference=f"{MODEL}: LeaderIncHighWatermark",
        ),
        dataclasses.replace(
            LEADER_SHRINK_ISR,
            guards=(leader_is_true_leader, follower_is_another, leader_counts_follower, follower_lags_in_epoch),
            reference=f"{MODEL}: LeaderShrinkIsr",
        ),
        dataclasses.replace(
            LEADER_EXPAND_ISR,
            guards=(
                leader_is_true_leader,
                high_watermark_is_of_leader_epoch,
                leader_does_not_count_follower,
                follower_reaches_high_watermark_in_epoch,
            ),
            reference=f"{MODEL}: LeaderExpandIsr",
        ),
        dataclasses.replace(
            FOLLOWER_REPLICATE,
            name="FollowerFetch",
            guards=(last_fetched_epoch_matches, leader_has_more),
            effects=(fetch_next_entry,),
            reference=f"{MODEL}: FollowerFetch",
        ),
        Rule(
            "FollowerTruncate",
            actor="{follower}",
            asks="{leader}",
            params={"leader": ANY_REPLICA, "follower": ANY_REPLICA},
            guards=(leader_presumes_leadership, follower_follows, last_fetched_epoch_differs),
            effects=(truncate_follower,),
            summary="{follower}, whose fetch shows that its log has diverged from that of {leader}, truncates to that point",
            reference=f"{MODEL}: FollowerTruncate",
        ),
    ),
    reference=MODEL,
)
