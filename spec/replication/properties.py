"""The properties of replication, as predicates over the state. They are the same for every version.

Source: KafkaReplication.tla (hachikuji/kafka-specification).
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix
from kafka_spec.spec.language.domain import NONE, contains
from kafka_spec.spec.replication.state import NO_EPOCH, Partition
from kafka_spec.spec.vocabulary.table import Constants, invariant, reachable

MODEL = "KafkaReplication.tla (hachikuji/kafka-specification)"


def members_hold_committed(s: Partition, k: Constants, leader: int, isr: int) -> bool:
    """Every member of the set holds the leader's entries below the leader's high watermark."""
    end = s.replicas[leader].high_watermark
    for member in range(k.replicas):
        if contains(isr, member) and not holds_same_prefix(s.replicas[leader].log, s.replicas[member].log, end):
            return False
    return True


def a_leader_exposes(s: Partition, k: Constants) -> bool:
    """Some replica believes that it leads, and exposes a record."""
    for leader in range(k.replicas):
        if s.replicas[leader].leader == leader and s.replicas[leader].high_watermark > 0:
            return True
    return False


def weak_isr(s: Partition, k: Constants) -> bool:
    """The members of each leader's own ISR hold all entries that the leader exposes."""
    for leader in range(k.replicas):
        if s.replicas[leader].leader == leader and not members_hold_committed(s, k, leader, s.replicas[leader].isr):
            return False
    return True


def strong_isr(s: Partition, k: Constants) -> bool:
    """The members of ZooKeeper's ISR hold all entries that any leader exposes."""
    for leader in range(k.replicas):
        if s.replicas[leader].leader == leader and not members_hold_committed(s, k, leader, s.quorum.isr):
            return False
    return True


def there_is_a_leader(s: Partition) -> bool:
    """There is a leader in ZooKeeper."""
    return s.quorum.leader != NONE


def leader_in_isr(s: Partition) -> bool:
    """ZooKeeper's leader is in ZooKeeper's ISR."""
    return contains(s.quorum.isr, s.quorum.leader)


def a_record_is_committed(s: Partition, k: Constants) -> bool:
    """Some leader of an ISR of at least two exposes a record."""
    for leader in range(k.replicas):
        replica = s.replicas[leader]
        if replica.leader == leader and replica.high_watermark > 0 and replica.isr & ~(1 << leader) != 0:
            return True
    return False


def a_leader_was_elected(s: Partition) -> bool:
    """The controller has elected a leader."""
    return s.quorum.leader_epoch != NO_EPOCH


WEAK_ISR = invariant(
    "WeakIsr",
    weak_isr,
    "the members of the ISR that a leader believes in hold its log up to its high watermark",
    f"{MODEL}: WeakIsr",
    when=a_leader_exposes,
)
STRONG_ISR = invariant(
    "StrongIsr",
    strong_isr,
    "the members of ZooKeeper's ISR hold every leader's log up to its high watermark: "
    "records that a consumer may have read survive on every replica that may be elected",
    f"{MODEL}: StrongIsr",
    when=a_leader_exposes,
)
LEADER_IN_ISR = invariant(
    "LeaderInIsr",
    leader_in_isr,
    "ZooKeeper's leader is a member of its ISR, or there is none (the original omits this case; its initial state violates it)",
    f"{MODEL}: LeaderInIsr",
    when=there_is_a_leader,
)

ELECTED = reachable("Elected", a_leader_was_elected, "a leader gets elected", "goal")
COMMITTED = reachable("Committed", a_record_is_committed, "a record gets committed on two replicas", "goal")

PROPERTIES = (WEAK_ISR, STRONG_ISR, LEADER_IN_ISR, ELECTED, COMMITTED)
