"""What holds of committed records beyond the newest leader: the ISR holds them, its leader counts it, and readers never go back."""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix, records_in, same_entry
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, reachable, step_invariant
from kafka_spec.spec.zookeeper.bounds import PARTITION
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Life, World


def a_record_is_committed(s: World, partition: int) -> bool:
    """A record is committed."""
    return len(s.history.partitions[partition].committed) > 0


def isr_holds_what_is_committed(s: World, k: Constants, partition: int) -> bool:
    """Every member of ZooKeeper's ISR holds all committed records, whether its broker runs or not."""
    history = s.history.partitions[partition]
    for broker in range(k.brokers):
        if contains(s.zookeeper.partitions[partition].state.isr, broker) == 1:
            if not holds_same_prefix(s.brokers[broker].replicas[partition].log, history.committed, len(history.committed)):
                return False
    return True


def leads_newest(s: World, broker: int, partition: int) -> bool:
    """The broker's replica leads under the newest leader epoch."""
    replica = s.brokers[broker].replicas[partition]
    return replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partitions[partition].state.leader_epoch


def a_replica_leads_newest(s: World, k: Constants, partition: int) -> bool:
    """A replica leads under the newest leader epoch."""
    for broker in range(k.brokers):
        if leads_newest(s, broker, partition):
            return True
    return False


def leader_counts_the_isr(s: World, k: Constants, partition: int) -> bool:
    """The replica that leads under the newest leader epoch counts every member of ZooKeeper's ISR, or waits for an answer."""
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if (
            leads_newest(s, broker, partition)
            and s.zookeeper.partitions[partition].state.isr & ~(replica.isr | replica.written) != 0
        ):
            return False
    return True


def leader_tells_its_high_watermark(s: World, broker: int, partition: int) -> bool:
    """The replica leads under the newest leader epoch, and its high watermark has reached the start of that epoch."""
    return (
        leads_newest(s, broker, partition)
        and s.brokers[broker].replicas[partition].high_watermark >= s.brokers[broker].replicas[partition].epoch_start
    )


def readers_are_told_an_offset(s: World, k: Constants, partition: int) -> bool:
    """A record is committed, and the newest leader reports its high watermark to readers."""
    for broker in range(k.brokers):
        if leader_tells_its_high_watermark(s, broker, partition):
            return a_record_is_committed(s, partition)
    return False


def told_offsets_do_not_go_back(s: World, k: Constants, partition: int) -> bool:
    """The high watermark that the newest leader reports is not below any committed record."""
    for broker in range(k.brokers):
        if leader_tells_its_high_watermark(s, broker, partition) and s.brokers[broker].replicas[partition].high_watermark < len(
            s.history.partitions[partition].committed
        ):
            return False
    return True


def newest_high_watermark_does_not_go_back(s: World, k: Constants, partition: int) -> bool:
    """The high watermark of the newest leader is not below any committed record."""
    for broker in range(k.brokers):
        if leads_newest(s, broker, partition) and s.brokers[broker].replicas[partition].high_watermark < len(
            s.history.partitions[partition].committed
        ):
            return False
    return True


def a_leader_adds_to_the_isr(before: World, after: World, partition: int) -> bool:
    """The ISR grows within a leader epoch, which only its leader does."""
    old, new = before.zookeeper.partitions[partition].state, after.zookeeper.partitions[partition].state
    return old.leader_epoch == new.leader_epoch and new.isr & ~old.isr != 0


def who_is_added_is_up(before: World, after: World, k: Constants, partition: int) -> bool:
    """Each broker that is added to the ISR is registered, and not shutting down."""
    added = after.zookeeper.partitions[partition].state.isr & ~before.zookeeper.partitions[partition].state.isr
    for broker in range(k.brokers):
        if contains(added, broker) == 1:
            if contains(after.zookeeper.registered, broker) == 0 or after.brokers[broker].life != Life.UP:
                return False
    return True


def a_leader_has_to_hold_an_acknowledged_record(s: World, k: Constants, partition: int) -> bool:
    """A client saw a record acknowledged, and a replica leads under the newest leader epoch."""
    return s.history.partitions[partition].acknowledged != 0 and a_replica_leads_newest(s, k, partition)


def leaders_hold_what_is_acknowledged(s: World, k: Constants, partition: int) -> bool:
    """A replica that leads under the newest leader epoch holds every record that a client saw acknowledged."""
    for broker in range(k.brokers):
        if (
            leads_newest(s, broker, partition)
            and s.history.partitions[partition].acknowledged & ~records_in(s.brokers[broker].replicas[partition].log) != 0
        ):
            return False
    return True


DURABILITY: tuple[Property, ...] = (
    invariant(
        "AcknowledgedKept",
        leaders_hold_what_is_acknowledged,
        "the replica that leads under the newest leader epoch holds every record that was acknowledged with acks=all",
        "Kafka 2.8 Partition.checkEnoughReplicasReachOffset",
        when=a_leader_has_to_hold_an_acknowledged_record,
        each=PARTITION,
    ),
    invariant(
        "LeaderCountsIsr",
        leader_counts_the_isr,
        "the ISR in ZooKeeper is a part of what the leader of the newest epoch waits for before it commits",
        "Kafka 2.8 Partition.expandIsr, shrinkIsr",
        when=a_replica_leads_newest,
        each=PARTITION,
    ),
    invariant(
        "ReadsNeverGoBack",
        told_offsets_do_not_go_back,
        "once the newest leader's high watermark has reached the start of its epoch, it is at least what any leader had before",
        "KIP-207; Kafka 2.8 Partition.fetchOffsetForTimestamp",
        when=readers_are_told_an_offset,
        each=PARTITION,
    ),
)
"""Invariants about committed records."""

ISR_HOLDS_COMMITTED = invariant(
    "IsrHoldsCommitted",
    isr_holds_what_is_committed,
    "every member of the ISR in ZooKeeper holds all committed records: each of them could lead",
    "Vanlightly/kafka-tlaplus kraft/kip-966: LeaderCandidateCompleteness",
    when=a_record_is_committed,
    each=PARTITION,
)
"""Judged in a model of its own: a bug that loses a record breaks this before anybody leads without it, and would hide that."""

READS_BEFORE_KIP_207 = invariant(
    "NewestHighWatermarkNeverGoesBack",
    newest_high_watermark_does_not_go_back,
    "the high watermark of the newest leader is at least what any leader had before, from its first moment on",
    "KIP-207",
    when=a_record_is_committed,
    each=PARTITION,
)
"""Stricter than Kafka up to 3.9, and what a reader before 2.2 relies on; not a property of `fixed`."""

ADDED_ARE_UP = step_invariant(
    "AddedToIsrIsUp",
    who_is_added_is_up,
    "a leader adds a broker to the ISR only while that broker is registered and not shutting down",
    "KAFKA-14140",
    when=a_leader_adds_to_the_isr,
    each=PARTITION,
)
"""Stricter than Kafka up to 3.9 while leaders write the ISR to ZooKeeper; not a property of `fixed`."""


def two_logs_differ(s: World, k: Constants, partition: int) -> bool:
    """Two logs hold different entries at an offset."""
    for one in range(k.brokers):
        for other in range(one):
            mine, theirs = s.brokers[one].replicas[partition], s.brokers[other].replicas[partition]
            for offset in range(min(len(mine.log), len(theirs.log))):
                if not same_entry(mine.log, theirs.log, offset):
                    return True
    return False


def an_earlier_epoch_is_committed(s: World, k: Constants, partition: int) -> bool:
    """A replica leads under the newest leader epoch, and a committed record is of an earlier epoch."""
    for broker in range(k.brokers):
        if leads_newest(s, broker, partition) and a_record_is_committed(s, partition):
            if s.history.partitions[partition].committed[0].epoch < s.brokers[broker].replicas[partition].leader_epoch:
                return True
    return False


def two_leaders_are_alone(s: World, k: Constants, partition: int) -> bool:
    """Two replicas lead, each alone in its ISR."""
    alone = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role == Role.LEADER and s.brokers[broker].replicas[partition].isr == 1 << broker:
            alone += 1
    return alone > 1


def a_follower_with_high_watermark_is_elected(s: World, k: Constants, partition: int) -> bool:
    """A follower with a high watermark above 0 is elected, and does not know it yet."""
    state = s.zookeeper.partitions[partition].state
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if state.leader == broker and replica.role == Role.FOLLOWER and replica.leader_epoch < state.leader_epoch:
            if replica.high_watermark > 0:
                return True
    return False


LOG_GOALS: tuple[Property, ...] = (
    reachable("LogsDiffer", two_logs_differ, "two logs hold different entries at an offset", "goal", each=PARTITION),
    reachable(
        "EarlierEpochCommitted",
        an_earlier_epoch_is_committed,
        "a leader holds a committed record of an earlier epoch",
        "goal",
        each=PARTITION,
    ),
    reachable("TwoLeadersAlone", two_leaders_are_alone, "two replicas lead, each alone in its ISR", "goal", each=PARTITION),
    reachable(
        "HighWatermarkElected",
        a_follower_with_high_watermark_is_elected,
        "a follower whose high watermark is above 0 is elected",
        "goal",
        each=PARTITION,
    ),
)
"""Goals about logs; properties of records say little where they are not reached."""
