"""KIP-320 (Kafka 2.1): fetches and epoch queries carry the follower's leader epoch, which must equal the leader's.

Fixed: a leader neither serves nor counts a replica that is in another epoch, and a new follower truncates only against a leader
that is in the epoch of its request. This version keeps StrongIsr at every bound tried.
"""

import dataclasses

from kafka_spec.spec.decisions.log import high_watermark_may_pass, reaches_high_watermark
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.replication.rules import (
    FOLLOWER_REPLICATE,
    LEADER_EXPAND_ISR,
    LEADER_INC_HIGH_WATERMARK,
    LEADER_SHRINK_ISR,
    follower_is_another,
    is_in_same_epoch,
    leader_counts_follower,
    leader_does_not_count_follower,
    leader_has_more,
    leader_is_true_leader,
    leader_presumes_leadership,
    replica_is_not_the_leader,
    request_is_new_to_replica,
    request_names_a_leader,
)
from kafka_spec.spec.replication.state import Partition
from kafka_spec.spec.replication.versions.high_watermark import SPEC as HIGH_WATERMARK
from kafka_spec.spec.replication.versions.kip_279 import BECOME_FOLLOWER_AT_DIVERGENCE
from kafka_spec.spec.replication.versions.kip_320_first_try import (
    high_watermark_is_of_leader_epoch,
    leader_has_entry_at_high_watermark,
)
from kafka_spec.spec.vocabulary.table import Constants

MODEL = "Kip320.tla (hachikuji/kafka-specification)"


def leader_leads_at_request_epoch(s: Partition, request: int) -> bool:
    """The leader of the request has applied it and is still in its epoch; otherwise it answers FENCED or UNKNOWN_LEADER_EPOCH."""
    leader = s.replicas[s.requests[request].leader]
    return leader.leader == s.requests[request].leader and leader.leader_epoch == s.requests[request].leader_epoch


def isr_has_next_entry(s: Partition, k: Constants, leader: int) -> bool:
    """Every member of the leader's ISR is in its epoch and holds the entry at its high watermark."""
    for member in range(k.replicas):
        if contains(s.replicas[leader].isr, member):
            if not is_in_same_epoch(s, leader, member):
                return False
            if not high_watermark_may_pass(s.replicas[leader].high_watermark, len(s.replicas[member].log)):
                return False
    return True


def follower_lags_or_is_fenced(s: Partition, leader: int, follower: int) -> bool:
    """The follower is in another epoch, or does not have all of the leader's log."""
    return not is_in_same_epoch(s, leader, follower) or leader_has_more(s, leader, follower)


def follower_has_reached_high_watermark(s: Partition, leader: int, follower: int) -> bool:
    """The follower's log reaches the leader's high watermark."""
    return reaches_high_watermark(len(s.replicas[follower].log), s.replicas[leader].high_watermark)


def follower_is_in_leaders_epoch(s: Partition, leader: int, follower: int) -> bool:
    """The follower follows this replica at the leader epoch that the replica is in."""
    following = s.replicas[follower]
    return following.leader == leader and following.leader_epoch == s.replicas[leader].leader_epoch


FOLLOWER_FETCH = dataclasses.replace(
    FOLLOWER_REPLICATE,
    name="FollowerFetch",
    guards=(leader_presumes_leadership, follower_is_in_leaders_epoch, leader_has_more),
    reference=f"{MODEL}: FollowerFetch; KIP-320, Kafka 2.1 commit bcef30d614b",
)
BECOME_FENCED_FOLLOWER = dataclasses.replace(
    BECOME_FOLLOWER_AT_DIVERGENCE,
    guards=(request_names_a_leader, leader_leads_at_request_epoch, replica_is_not_the_leader, request_is_new_to_replica),
    reference=f"{MODEL}: FencedBecomeFollowerAndTruncate; Kafka 2.1 OffsetsForLeaderEpoch v2",
)
EXPAND_ISR = dataclasses.replace(
    LEADER_EXPAND_ISR,
    guards=(
        leader_is_true_leader,
        high_watermark_is_of_leader_epoch,
        leader_does_not_count_follower,
        follower_is_in_leaders_epoch,
        follower_has_reached_high_watermark,
    ),
    reference=f"{MODEL}: FencedLeaderExpandIsr; Kafka 2.1 Partition.isFollowerInSync",
)

SPEC = HIGH_WATERMARK.replacing(
    "replication/kip_320",
    "Kafka 2.1 and later, KIP-320: truncation, fetching and counting only within one leader epoch",
    without=("FollowerReplicate",),
    rules=(
        BECOME_FENCED_FOLLOWER,
        dataclasses.replace(
            LEADER_INC_HIGH_WATERMARK,
            guards=(leader_has_entry_at_high_watermark, isr_has_next_entry),
            bound_guards=(),
            reference=f"{MODEL}: FencedLeaderIncHighWatermark",
        ),
        dataclasses.replace(
            LEADER_SHRINK_ISR,
            guards=(leader_is_true_leader, follower_is_another, leader_counts_follower, follower_lags_or_is_fenced),
            reference=f"{MODEL}: FencedLeaderShrinkIsr",
        ),
        EXPAND_ISR,
        FOLLOWER_FETCH,
    ),
    reference=f"{MODEL}; KIP-320",
)
