"""KIP-279 (Kafka 2.0): follower and leader compare epochs to find where their logs diverge; the follower truncates there.

Fixed: a new follower's log is a prefix of its leader's (KAFKA-6361). Remaining flaw: a leader serves a follower that is at another
epoch, and counts it for its high watermark. The flaw needs three replicas.
"""

import dataclasses

from kafka_spec.spec.replication.rules import (
    BECOME_FOLLOWER,
    replica_is_not_the_leader,
    request_is_new_to_replica,
    request_names_a_leader,
    take_request,
    truncate_to_divergence,
)
from kafka_spec.spec.replication.versions.high_watermark import SPEC as HIGH_WATERMARK

BECOME_FOLLOWER_AT_DIVERGENCE = dataclasses.replace(
    BECOME_FOLLOWER,
    guards=(request_names_a_leader, replica_is_not_the_leader, request_is_new_to_replica),
    effects=(truncate_to_divergence, take_request),
    summary="{replica} applies LeaderAndIsr request {request}, truncates to where its log diverges from the leader's, and follows",
    reference="Kip279.tla: BecomeFollowerTruncateKip279; KIP-279, Kafka 2.0 commit 9679c44d2b5",
)

SPEC = HIGH_WATERMARK.replacing(
    "replication/kip_279",
    "Kafka 2.0, KIP-279: truncation to where the logs diverge, found by comparing epochs",
    rules=(BECOME_FOLLOWER_AT_DIVERGENCE,),
    reference="Kip279.tla (hachikuji/kafka-specification); KIP-279",
)
