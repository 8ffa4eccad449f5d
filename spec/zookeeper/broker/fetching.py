"""Fetching: a follower truncates its log to match its leader's and appends records, and the leader's high watermark advances.

A fetch is one step of leader and follower, which must be in the same leader epoch. A leader knows of a follower's log only the end
offset that its last fetch carried, and advances the high watermark by these offsets.

Source: Kafka 2.8 AbstractFetcherThread.scala, ReplicaFetcherThread.scala, Partition.scala.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, PartitionIndex
from kafka_spec.spec.decisions.fencing import answer_to_fetch_epoch
from kafka_spec.spec.decisions.log import (
    divergence_offset,
    enough_are_in_sync,
    follower_high_watermark,
    high_watermark_may_pass,
    members_that_count,
    nothing_is_left_to_truncate,
)
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, append, contains, including, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import BROKERS, PARTITIONS
from kafka_spec.spec.zookeeper.broker.requests import KAFKA
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Life, World

LEADER_AND_FOLLOWER = {"partition": PartitionIndex(PARTITIONS), "leader": Broker(BROKERS), "follower": Broker(BROKERS)}


A_LEADER = {"partition": PartitionIndex(PARTITIONS), "leader": Broker(BROKERS)}


def leader_leads(s: World, leader: int, partition: int) -> bool:
    """The broker runs, believes that it leads, and waits for no answer of ZooKeeper, which would lock the partition."""
    replica = s.brokers[leader].replicas[partition]
    return s.brokers[leader].life != Life.DOWN and replica.role == Role.LEADER and replica.written == NO_BROKERS


def waits_for_an_answer(s: World, leader: int, follower: int) -> bool:
    """A delayed answer of this leader is on its way: the follower's fetcher has no other request to the leader."""
    return len(s.answers) > 0 and s.answers[0].leader == leader and s.answers[0].follower == follower


def follower_follows(s: World, k: Constants, leader: int, follower: int, partition: int) -> bool:
    """The follower runs and fetches from this leader, and both have the same leader epoch, if the era compares epochs."""
    following = s.brokers[follower].replicas[partition]
    if s.brokers[follower].life == Life.DOWN or following.role != Role.FOLLOWER:
        return False
    if following.leader != leader or following.fetching == 0 or waits_for_an_answer(s, leader, follower):
        return False
    answer = answer_to_fetch_epoch(following.leader_epoch, s.brokers[leader].replicas[partition].leader_epoch, k.fetches_fenced)
    return answer == ErrorCode.NONE


def leader_knows_follower(s: World, leader: int, follower: int, partition: int) -> bool:
    """The leader's last LeaderAndIsr named the follower as a replica. A fetch of another broker gets no records."""
    return contains(s.brokers[leader].replicas[partition].replicas, follower)


def log_matches(s: World, k: Constants, leader: int, follower: int, partition: int) -> bool:
    """The follower's log is a prefix of the leader's: nothing is left to truncate. Some eras do not compare the logs."""
    return nothing_is_left_to_truncate(
        s.brokers[leader].replicas[partition].log, s.brokers[follower].replicas[partition].log, k.truncation
    )


def log_does_not_match(s: World, k: Constants, leader: int, follower: int, partition: int) -> bool:
    """The follower's log diverges from the leader's."""
    return not log_matches(s, k, leader, follower, partition)


def truncate_to_leader(s: World, leader: int, follower: int, partition: int) -> None:
    """Drop the entries that the leader does not have; lower the high watermark if it is above the new end of the log."""
    offset = divergence_offset(s.brokers[leader].replicas[partition].log, s.brokers[follower].replicas[partition].log)
    s.brokers[follower].replicas[partition].high_watermark = min(offset, s.brokers[follower].replicas[partition].high_watermark)
    truncate(s.brokers[follower].replicas[partition].log, offset)


TRUNCATE_TO_LEADER = Rule(
    "TruncateToLeader",
    actor="{follower}",
    asks="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_does_not_match),
    effects=(truncate_to_leader,),
    summary="{follower} asks {leader} where their logs diverge, and truncates there",
    reference=f"{KAFKA} AbstractFetcherThread.truncateToEpochEndOffsets (KIP-279)",
)


def fetch_is_in_range(s: World, leader: int, follower: int, partition: int) -> bool:
    """The follower's log is not longer than the leader's: otherwise the leader answers OFFSET_OUT_OF_RANGE, and notes nothing."""
    return len(s.brokers[follower].replicas[partition].log) <= len(s.brokers[leader].replicas[partition].log)


def there_is_something_to_fetch(s: World, leader: int, follower: int, partition: int) -> bool:
    """The leader has more records, or a larger high watermark that the follower can take, or another end recorded for it."""
    leading = s.brokers[leader].replicas[partition]
    following = s.brokers[follower].replicas[partition]
    if leading.ends[follower] != len(following.log):
        return True
    return len(following.log) < len(leading.log) or following.high_watermark < min(leading.high_watermark, len(following.log))


def fetch(s: World, leader: int, follower: int, partition: int) -> None:
    """Append the next record, if there is one, and adopt the leader's high watermark, at most up to the end of the log.

    The next fetch reports to the leader where the log ends then.
    """
    leading = s.brokers[leader].replicas[partition]
    following = s.brokers[follower].replicas[partition]
    end = len(following.log)
    if end < len(leading.log):
        append(s.brokers[follower].replicas[partition].log, record=leading.log[end].record, epoch=leading.log[end].epoch)
    reached = follower_high_watermark(leading.high_watermark, len(following.log))
    following.high_watermark = max(following.high_watermark, reached)
    leading.ends[follower] = len(following.log)


FETCH = Rule(
    "Fetch",
    actor="{follower}",
    asks="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, leader_knows_follower, follower_follows, log_matches, fetch_is_in_range, there_is_something_to_fetch),
    effects=(fetch,),
    summary="{follower} fetches from {leader}",
    reference=f"{KAFKA} ReplicaFetcherThread.processPartitionData, Partition.updateFollowerFetchState",
)


def isr_holds_next_record(s: World, k: Constants, leader: int, partition: int) -> bool:
    """Every member of the leader's ISR holds the record at the high watermark, as its last fetch said: an offset, and no more."""
    leading = s.brokers[leader].replicas[partition]
    if not high_watermark_may_pass(leading.high_watermark, len(leading.log)):
        return False
    counted = members_that_count(leading.isr, leading.replicas, k.counted_members)
    for member in range(k.brokers):
        if contains(counted, member) == 1 and member != leader:
            if not high_watermark_may_pass(leading.high_watermark, leading.ends[member]):
                return False
    return True


def size(k: Constants, brokers: BrokerSet) -> int:
    """Return how many members a set of brokers has."""
    members = 0
    for broker in range(k.brokers):
        members += contains(brokers, broker)
    return members


def advance_high_watermark(s: World, k: Constants, leader: int, partition: int) -> None:
    """Advance the high watermark by one; entries below it are committed, and recorded for the properties.

    A client that waits for the record gets its answer, if enough replicas are in sync.
    """
    history = s.history.partitions[partition]
    leading = s.brokers[leader].replicas[partition]
    record = leading.log[leading.high_watermark].record
    leading.high_watermark += 1
    if leading.leader_epoch >= history.unclean_epoch:
        if enough_are_in_sync(size(k, leading.isr), k.min_isr) and record >= s.history.first_record:
            history.acknowledged = including(history.acknowledged, record)
        for offset in range(len(history.committed), leading.high_watermark):
            append(history.committed, record=leading.log[offset].record, epoch=leading.log[offset].epoch)


ADVANCE_HIGH_WATERMARK = Rule(
    "AdvanceHighWatermark",
    actor="{leader}",
    params=A_LEADER,
    guards=(leader_leads, isr_holds_next_record),
    effects=(advance_high_watermark,),
    summary="{leader} advances its high watermark: all its ISR holds the next record, which is now committed",
    reference=f"{KAFKA} Partition.maybeIncrementLeaderHW",
)
