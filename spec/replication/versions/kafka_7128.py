"""KAFKA-7128: a follower may join the ISR as soon as it reaches the leader's high watermark, however old that is.

kip_320 without the fix of commit 70c51633f2f (Kafka 2.0.1, 2.1): until its ISR fetches, a new leader's high watermark may be
below committed records, so a follower that lacks them joins, and may lead next.
"""

import dataclasses

from kafka_spec.spec.replication.rules import leader_does_not_count_follower, leader_is_true_leader
from kafka_spec.spec.replication.versions.kip_320 import (
    EXPAND_ISR,
    follower_has_reached_high_watermark,
    follower_is_in_leaders_epoch,
)
from kafka_spec.spec.replication.versions.kip_320 import (
    SPEC as KIP_320,
)

SPEC = KIP_320.replacing(
    "replication/kafka_7128",
    "kip_320 with KAFKA-7128: joining the ISR below the start of the leader's epoch",
    rules=(
        dataclasses.replace(
            EXPAND_ISR,
            guards=(
                leader_is_true_leader,
                leader_does_not_count_follower,
                follower_is_in_leaders_epoch,
                follower_has_reached_high_watermark,
            ),
            reference="KAFKA-7128; Kafka 2.0.0 Partition.maybeExpandIsr",
        ),
    ),
    reference="KAFKA-7128",
)
