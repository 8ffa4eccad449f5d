"""KAFKA-7395: fetches carry no leader epoch, so a leader serves and counts a follower that is in another epoch.

kip_320 without the epoch check for fetches, the high watermark and the ISR; truncation still asks the leader of the right epoch.
The model shows a follower whose position is counted at another epoch than its own. A fetch is one step here, so the model does
not show a zombie fetch that arrives after its sender has truncated.
"""

import dataclasses

from kafka_spec.spec.replication.rules import (
    FOLLOWER_REPLICATE,
    LEADER_INC_HIGH_WATERMARK,
    LEADER_SHRINK_ISR,
    follower_follows,
    follower_is_another,
    follower_lags,
    isr_follows_and_has_next_entry,
    leader_counts_follower,
    leader_does_not_count_follower,
    leader_has_more,
    leader_is_true_leader,
    leader_presumes_leadership,
)
from kafka_spec.spec.replication.versions.kip_320 import (
    EXPAND_ISR,
    follower_has_reached_high_watermark,
)
from kafka_spec.spec.replication.versions.kip_320 import (
    SPEC as KIP_320,
)
from kafka_spec.spec.replication.versions.kip_320_first_try import (
    high_watermark_is_of_leader_epoch,
    leader_has_entry_at_high_watermark,
)

SPEC = KIP_320.replacing(
    "replication/kafka_7395",
    "kip_320 with KAFKA-7395: fetching and counting without the follower's leader epoch",
    rules=(
        dataclasses.replace(
            FOLLOWER_REPLICATE,
            name="FollowerFetch",
            guards=(leader_presumes_leadership, follower_follows, leader_has_more),
            reference="KAFKA-7395; Kafka 2.0 Fetch v9 and before",
        ),
        dataclasses.replace(
            LEADER_INC_HIGH_WATERMARK,
            guards=(leader_presumes_leadership, leader_has_entry_at_high_watermark, isr_follows_and_has_next_entry),
            bound_guards=(),
            reference="KAFKA-7395; Kafka 2.0 Partition.maybeIncrementLeaderHW",
        ),
        dataclasses.replace(
            LEADER_SHRINK_ISR,
            guards=(leader_is_true_leader, follower_is_another, leader_counts_follower, follower_lags),
            reference="KAFKA-7395; Kafka 2.0 Partition.maybeShrinkIsr",
        ),
        dataclasses.replace(
            EXPAND_ISR,
            guards=(
                leader_is_true_leader,
                high_watermark_is_of_leader_epoch,
                leader_does_not_count_follower,
                follower_follows,
                follower_has_reached_high_watermark,
            ),
            reference="KAFKA-7395; Kafka 2.0 Partition.maybeExpandIsr",
        ),
    ),
    reference="KAFKA-7395",
)
