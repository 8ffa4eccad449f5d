"""KAFKA-7164: a replica whose leader is the same as before does not truncate, even if it missed epochs in between.

kip_320 without the fix of commit 69283b4038a (Kafka 2.0.1, 2.1): becoming a follower is skipped if the leader's id has not
changed. If another replica led meanwhile, the old leader has truncated, and its follower keeps records that the leader dropped.
"""

import dataclasses

from kafka_spec.spec.replication.rules import (
    replica_is_not_the_leader,
    request_is_new_to_replica,
    request_names_a_leader,
    take_request,
)
from kafka_spec.spec.replication.state import Partition
from kafka_spec.spec.replication.versions.kip_320 import (
    BECOME_FENCED_FOLLOWER,
    leader_leads_at_request_epoch,
)
from kafka_spec.spec.replication.versions.kip_320 import (
    SPEC as KIP_320,
)


def replica_follows_another(s: Partition, request: int, replica: int) -> bool:
    """The replica follows another leader than that of the request, or none."""
    return s.replicas[replica].leader != s.requests[request].leader


def replica_follows_the_same(s: Partition, request: int, replica: int) -> bool:
    """The replica already follows the leader of the request, at an older epoch."""
    return s.replicas[replica].leader == s.requests[request].leader


BECOME_FOLLOWER_OF_ANOTHER = dataclasses.replace(
    BECOME_FENCED_FOLLOWER, guards=(*BECOME_FENCED_FOLLOWER.guards, replica_follows_another)
)
KEEP_FOLLOWING = dataclasses.replace(
    BECOME_FENCED_FOLLOWER,
    name="KeepFollowing",
    guards=(
        request_names_a_leader,
        leader_leads_at_request_epoch,
        replica_is_not_the_leader,
        request_is_new_to_replica,
        replica_follows_the_same,
    ),
    effects=(take_request,),
    summary="{replica} finds its leader unchanged in LeaderAndIsr request {request}: it takes the epoch and truncates nothing",
    reference="KAFKA-7164; Kafka 2.0.0 Partition.makeFollower",
)

SPEC = KIP_320.replacing(
    "replication/kafka_7164",
    "kip_320 with KAFKA-7164: no truncation if the leader's id has not changed",
    rules=(BECOME_FOLLOWER_OF_ANOTHER, KEEP_FOLLOWING),
    reference="KAFKA-7164",
)
