"""What must happen after the last fault: a leader, replicas that know it, an ISR of all that are up, no proposal left pending.

Leads-to properties, under weak fairness of each protocol rule. Each antecedent is met in the states that must not
last, the predicate in all others.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.kraft.controller import registered_brokers
from kafka_spec.spec.kraft.machines import LEADER, SETTLED, BrokerState
from kafka_spec.spec.kraft.properties.records import leads_newest
from kafka_spec.spec.kraft.settings import allows_unclean, least_isr
from kafka_spec.spec.kraft.state import UNKNOWN, FutureLog, KRaft, ProcessLife
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, contains, including, singleton
from kafka_spec.spec.vocabulary.table import Constants, Property, leads_to, recoverable


def brokers_up(s: KRaft, k: Constants) -> BrokerSet:
    """Return the brokers that run registered, do not shut down, and have their log directory."""
    up = NO_BROKERS
    for broker in range(k.brokers):
        if s.brokers[broker].life == ProcessLife.UP and s.brokers[broker].directory_failed == 0:
            up = including(up, broker)
    return up & registered_brokers(s, k)


def possible_leaders(s: KRaft, k: Constants) -> BrokerSet:
    """Return who can be elected once it is active: cleanly, as the last known leader, or uncleanly, if the topic allows that."""
    partition = s.controller.partition
    if allows_unclean(s, k):
        return members(partition.replicas)
    if partition.isr | partition.elr == 0 and partition.last_known_leader != NONE:
        return singleton(partition.last_known_leader)
    return partition.isr | partition.elr


def leader_runs(s: KRaft) -> bool:
    """The partition has a leader, whose process runs and has its log directory."""
    leader = s.controller.partition.leader
    return leader != NONE and s.brokers[leader].life != ProcessLife.DOWN and s.brokers[leader].directory_failed == 0


def a_leader_is_missing(s: KRaft, k: Constants) -> bool:
    """No leader runs, and a broker that could be elected is up."""
    return not leader_runs(s) and possible_leaders(s, k) & brokers_up(s, k) != 0


def no_leader_is_missing(s: KRaft, k: Constants) -> bool:
    """The leader runs, or no broker that could be elected is up."""
    return not a_leader_is_missing(s, k)


def replica_is_current(s: KRaft, broker: int) -> bool:
    """The broker's replica is of the topic, has the newest epochs, and leads, or fetches if there is a leader."""
    partition = s.controller.partition
    mine = s.brokers[broker].replica
    if mine.topic_id != partition.topic_id:
        return False
    if mine.leader_epoch != partition.leader_epoch or mine.partition_epoch != partition.partition_epoch:
        return False
    if partition.leader == broker:
        return mine.role == LEADER
    return mine.leader == partition.leader and (mine.fetching == 1 or partition.leader == NONE)


def a_replica_is_behind(s: KRaft, k: Constants) -> bool:
    """A broker is up that is assigned a replica, which does not have the newest epochs, or does not fetch."""
    assigned = members(s.controller.partition.replicas)
    for broker in range(k.brokers):
        if contains(assigned & brokers_up(s, k), broker) == 1 and not replica_is_current(s, broker):
            return True
    return False


def no_replica_is_behind(s: KRaft, k: Constants) -> bool:
    """Every assigned broker that is up has a replica with the newest epochs, which leads or fetches."""
    return not a_replica_is_behind(s, k)


def a_replica_is_outside_the_isr(s: KRaft, k: Constants) -> bool:
    """The leader is up, and a replica that is up is not in the ISR."""
    partition = s.controller.partition
    outside = members(partition.replicas) & brokers_up(s, k) & ~partition.isr
    return partition.leader != NONE and contains(brokers_up(s, k), max(partition.leader, 0)) == 1 and outside != 0


def no_replica_is_outside_the_isr(s: KRaft, k: Constants) -> bool:
    """Every replica that is up is in the ISR; or the leader is not up."""
    return not a_replica_is_outside_the_isr(s, k)


def a_proposal_is_pending(s: KRaft, k: Constants) -> bool:
    """A running leader has a pending proposal."""
    for broker in range(k.brokers):
        if s.brokers[broker].life != ProcessLife.DOWN and s.brokers[broker].replica.proposal != SETTLED:
            return True
    return False


def no_proposal_is_pending(s: KRaft, k: Constants) -> bool:
    """No running leader has a pending proposal."""
    return not a_proposal_is_pending(s, k)


def a_record_is_not_committed(s: KRaft, k: Constants) -> bool:
    """The newest leader runs and has a record above its high watermark, although the ISR is large enough to commit."""
    partition = s.controller.partition
    least = least_isr(k, partition.min_isr_changed, len(partition.replicas))
    if count_of(partition.replicas, partition.isr) < least:
        return False
    for broker in range(k.brokers):
        if s.brokers[broker].life != ProcessLife.DOWN and leads_newest(s, broker):
            if s.brokers[broker].replica.high_watermark < len(s.brokers[broker].replica.log):
                return True
    return False


def every_record_is_committed(s: KRaft, k: Constants) -> bool:
    """The newest leader has no record above its high watermark; or it does not run, or the ISR is too small."""
    return not a_record_is_not_committed(s, k)


def a_stray_replica_is_left(s: KRaft, k: Constants) -> bool:
    """A broker is up that has a replica of a topic that is gone, or that it is not assigned."""
    partition = s.controller.partition
    for broker in range(k.brokers):
        topic_id = s.brokers[broker].replica.topic_id
        if contains(brokers_up(s, k), broker) == 1 and topic_id != UNKNOWN:
            if topic_id != partition.topic_id or contains(members(partition.replicas), broker) == 0:
                return True
    return False


def no_stray_replica_is_left(s: KRaft, k: Constants) -> bool:
    """No broker that is up has a replica that it is not assigned."""
    return not a_stray_replica_is_left(s, k)


def a_reassignment_could_end(s: KRaft, k: Constants) -> bool:
    """A reassignment runs, and the leader and all brokers of the target are up."""
    partition = s.controller.partition
    if partition.adding | partition.removing == 0 or partition.leader == NONE:
        return False
    return (s.history.target | singleton(max(partition.leader, 0))) & ~brokers_up(s, k) == 0


def no_reassignment_could_end(s: KRaft, k: Constants) -> bool:
    """No reassignment runs; or the leader or a broker of the target is not up."""
    return not a_reassignment_could_end(s, k)


def a_move_could_end(s: KRaft, k: Constants) -> bool:
    """A broker is up, and moves its replica to another log directory."""
    assigned = members(s.controller.partition.replicas)
    for broker in range(k.brokers):
        if contains(assigned & brokers_up(s, k), broker) == 1 and s.brokers[broker].copy != FutureLog.NONE:
            return True
    return False


def no_move_could_end(s: KRaft, k: Constants) -> bool:
    """No replica of a broker that is up is being moved."""
    return not a_move_could_end(s, k)


def is_recovered(s: KRaft, k: Constants) -> bool:
    """Every broker that is up is active, follows the newest epochs, and is in the ISR; nothing is pending, all is committed."""
    for broker in range(k.brokers):
        state = s.controller.registrations[broker].state
        if s.brokers[broker].life == ProcessLife.UP and state != BrokerState.UNFENCED and state != BrokerState.UNREGISTERED:
            return False
    if a_leader_is_missing(s, k) or a_replica_is_behind(s, k) or a_replica_is_outside_the_isr(s, k):
        return False
    if a_stray_replica_is_left(s, k) or a_reassignment_could_end(s, k):
        return False
    return not a_proposal_is_pending(s, k) and not a_record_is_not_committed(s, k)


PROGRESS: tuple[Property, ...] = (
    leads_to(
        "LeaderIsElected",
        a_leader_is_missing,
        no_leader_is_missing,
        "when no leader runs and a broker that could be elected is up, a leader is elected, unless that broker fails too",
        "Kafka 3.9 ReplicationControlManager.handleBrokerUnfenced",
    ),
    leads_to(
        "ReplicasLearn",
        a_replica_is_behind,
        no_replica_is_behind,
        "every replica that is up comes to have the newest epochs, and leads or fetches",
        "KAFKA-13790",
    ),
    leads_to(
        "IsrGrowsBack",
        a_replica_is_outside_the_isr,
        no_replica_is_outside_the_isr,
        "when the leader is up, every replica that is up comes back into the ISR",
        "KAFKA-14154",
    ),
    leads_to(
        "ProposalsSettle",
        a_proposal_is_pending,
        no_proposal_is_pending,
        "a pending proposal is settled by an answer or by the metadata log",
        "KAFKA-14154; KAFKA-14010",
    ),
    leads_to(
        "RecordsAreCommitted",
        a_record_is_not_committed,
        every_record_is_committed,
        "while the ISR has min.insync.replicas, the high watermark comes to the end of the leader's log",
        "KAFKA-13091; KAFKA-15021",
    ),
    leads_to(
        "StrayReplicasGo",
        a_stray_replica_is_left,
        no_stray_replica_is_left,
        "a broker that is up does not keep a replica of a topic that is gone, or that it is not assigned",
        "KAFKA-13198; KAFKA-13127",
    ),
    leads_to(
        "ReassignmentEnds",
        a_reassignment_could_end,
        no_reassignment_could_end,
        "a reassignment whose leader and target are up ends",
        "KAFKA-19975",
    ),
    leads_to(
        "MovesEnd",
        a_move_could_end,
        no_move_could_end,
        "a replica of a broker that is up comes to lie in the log directory that it is moved to",
        "KIP-113; Kafka 4.3 ReplicaAlterLogDirsThread",
    ),
)
"""What fair protocol steps lead to once operators and faults have stopped."""

RECOVERS = recoverable(
    "Recovers",
    is_recovered,
    "protocol steps alone can reach recovery: every broker that is up, and registered, is active, in the ISR, and at the newest "
    "epochs; nothing is pending, and all records are committed, if the ISR is large enough",
    "KAFKA-13790; KAFKA-13916; KAFKA-14154; KAFKA-14616",
)
"""A goal that protocol steps must be able to reach from every state."""
