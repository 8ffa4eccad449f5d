"""Processes that end and start again, in one step: a node that is down is one that nobody hears from.

Source: Kafka 4.3 QuorumState.initialize.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import RestartedLeader
from kafka_spec.spec.language.domain import NONE, contains, singleton, truncate
from kafka_spec.spec.quorum.epochs import NODE, forget_role
from kafka_spec.spec.quorum.logs import begin_at_snapshot, read_whole_log, voters_of
from kafka_spec.spec.quorum.machines import QUORUM
from kafka_spec.spec.quorum.replication import has_unflushed
from kafka_spec.spec.quorum.state import CRASHES, LOSSY_CRASHES, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire


def start_again(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Begin in the epoch on disk: resigned if it led it, a follower of a voter that leads it, a candidate if it voted for itself.

    Of a leader that is not among its voters it knows no address.
    """
    mine = s.nodes[node]
    forget_role(s, k, node)
    mine.high_watermark = 0
    mine.log_start = mine.segment_start
    read_whole_log(s, node)
    if mine.leader == node and k.restarted_leader == RestartedLeader.LEADER:
        mine.epoch_start = len(mine.log)
        fire(s, k, QUORUM, (node,), "restart_as_leader")
    elif mine.leader == node:
        fire(s, k, QUORUM, (node,), "restart_as_resigned")
    elif mine.leader != NONE and contains(voters_of(s, node), mine.leader) == 1:
        fire(s, k, QUORUM, (node,), "follow")
    elif mine.voted == node:
        mine.granted = singleton(node)
        fire(s, k, QUORUM, (node,), "restart_as_candidate")
    else:
        fire(s, k, QUORUM, (node,), "detach")


def lose_unflushed(s: MetadataQuorum, node: int) -> None:
    """Lose the end of the log that is not flushed; a snapshot beyond it, which is, replaces the log."""
    mine = s.nodes[node]
    truncate(mine.log, max(mine.flushed, mine.snapshot))
    if mine.flushed < mine.snapshot:
        begin_at_snapshot(s, node)


CRASH = Rule(
    "Crash",
    actor="{node}",
    kind="fault",
    params=NODE,
    at_most=CRASHES,
    effects=(start_again,),
    summary="the process of {node} ends, and starts again",
    reference="Kafka 4.3 QuorumState.initialize",
)

LOSSY_CRASH = Rule(
    "LossyCrash",
    actor="{node}",
    kind="fault",
    params=NODE,
    guards=(has_unflushed,),
    at_most=LOSSY_CRASHES,
    effects=(lose_unflushed, start_again),
    summary="the machine of {node} loses power: what was not flushed is gone; it starts again",
    reference="Kafka 4.3 QuorumState.initialize",
)

RULES = (CRASH, LOSSY_CRASH)
