"""KIP-101 (Kafka 0.11): a new follower asks the leader where the epoch of its last entry ends, and truncates there.

Fixed: records above a stale high watermark are kept. Remaining flaw: if the leader never had the follower's last epoch, its
answer is the end of another epoch, and the follower may keep records that the leader does not have (KAFKA-6361).
"""

import dataclasses

from kafka_spec.spec.decisions.log import end_offset_for_epoch
from kafka_spec.spec.replication.rules import (
    BECOME_FOLLOWER,
    replica_is_not_the_leader,
    request_is_new_to_replica,
    request_names_a_leader,
    take_request,
    truncate_log,
)
from kafka_spec.spec.replication.state import Partition
from kafka_spec.spec.replication.versions.high_watermark import SPEC as HIGH_WATERMARK


def end_offset_at_leader(s: Partition, request: int, replica: int) -> int:
    """The leader's answer: the end offset of the epoch of the replica's last entry."""
    leader = s.requests[request].leader
    return end_offset_for_epoch(s.replicas[leader].log, s.replicas[replica].log, s.replicas[replica].high_watermark)


def replica_reaches_end_offset(s: Partition, request: int, replica: int) -> bool:
    """The replica's log reaches the end offset of the answer, so it can be truncated there."""
    return end_offset_at_leader(s, request, replica) <= len(s.replicas[replica].log)


def truncate_to_end_offset(s: Partition, request: int, replica: int) -> None:
    """Drop the entries above the leader's end offset for the epoch of the replica's last entry."""
    truncate_log(s, replica, end_offset_at_leader(s, request, replica))


BECOME_FOLLOWER_BY_EPOCH = dataclasses.replace(
    BECOME_FOLLOWER,
    guards=(request_names_a_leader, replica_is_not_the_leader, request_is_new_to_replica, replica_reaches_end_offset),
    effects=(truncate_to_end_offset, take_request),
    summary="{replica} applies LeaderAndIsr request {request}, truncates to where its last epoch ends at the leader, and follows",
    reference="Kip101.tla: BecomeFollowerTruncateKip101; KIP-101, Kafka 0.11 commit 0baea2ac135",
)

SPEC = HIGH_WATERMARK.replacing(
    "replication/kip_101",
    "Kafka 0.11, KIP-101: truncation to the leader's end offset of the follower's last epoch",
    rules=(BECOME_FOLLOWER_BY_EPOCH,),
    reference="Kip101.tla (hachikuji/kafka-specification); KIP-101",
)
