"""Changes of the ISR, which the leader writes to ZooKeeper.

Source: Kafka 2.8 Partition.scala and ReplicationUtils.scala at inter.broker.protocol 2.6.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import is_isr_candidate, isr_after_failed_write
from kafka_spec.spec.decisions.fencing import isr_write_took_effect
from kafka_spec.spec.decisions.log import may_join_isr
from kafka_spec.spec.language.domain import NO_BROKERS, contains, excluding, including
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import ISR_SHRINKS, LOST_REPLIES
from kafka_spec.spec.zookeeper.broker.fetching import (
    A_LEADER,
    LEADER_AND_FOLLOWER,
    fetch_is_in_range,
    follower_follows,
    leader_knows_follower,
    leader_leads,
    log_matches,
)
from kafka_spec.spec.zookeeper.broker.requests import KAFKA
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Life, World
from kafka_spec.spec.zookeeper.znodes import isr_write_succeeds, write_isr, zookeeper_can_be_reached


def leader_reaches_zookeeper(s: World, k: Constants, leader: int) -> bool:
    """ZooKeeper takes the leader's write: without a session it refuses it."""
    return zookeeper_can_be_reached(s, k, leader)


def follower_is_in_isr(s: World, leader: int, follower: int, partition: int) -> bool:
    """The leader's ISR holds the follower, which is another broker."""
    return leader != follower and contains(s.brokers[leader].replicas[partition].isr, follower) == 1


def follower_is_not_in_isr(s: World, leader: int, follower: int, partition: int) -> bool:
    """The leader's ISR does not hold the follower."""
    return contains(s.brokers[leader].replicas[partition].isr, follower) == 0


def follower_lags(s: World, k: Constants, leader: int, follower: int, partition: int) -> bool:
    """The follower does not fetch from this leader, or does not have all of its log."""
    if not (follower_follows(s, k, leader, follower, partition) and log_matches(s, k, leader, follower, partition)):
        return True
    return len(s.brokers[follower].replicas[partition].log) < len(s.brokers[leader].replicas[partition].log)


def adopt_isr(s: World, leader: int, partition: int) -> None:
    """Adopt the ISR and the version that were written."""
    state = s.zookeeper.partitions[partition].state
    s.brokers[leader].replicas[partition].isr = state.isr
    s.brokers[leader].replicas[partition].version = state.version


def follower_has_stopped(s: World, leader: int, follower: int, partition: int) -> bool:
    """The follower's process or its fetcher does not run."""
    node = s.brokers[follower]
    return node.life == Life.DOWN or (node.replicas[partition].role == Role.FOLLOWER and node.replicas[partition].fetching == 0)


def drop_from_isr(s: World, leader: int, follower: int, partition: int) -> None:
    """Write the ISR without the follower; the leader knows the new version."""
    write_isr(s, leader, excluding(s.brokers[leader].replicas[partition].isr, follower), partition)
    adopt_isr(s, leader, partition)


DROP_FROM_ISR = Rule(
    "DropFromIsr",
    actor="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, leader_reaches_zookeeper, isr_write_succeeds, follower_is_in_isr, follower_has_stopped),
    effects=(drop_from_isr,),
    summary="{leader} receives no more fetches from {follower}, and removes it from the ISR by a conditional write",
    reference=f"{KAFKA} Partition.maybeShrinkIsr, shrinkIsrWithZk",
)


SHRINK_ISR = Rule(
    "ShrinkIsr",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, leader_reaches_zookeeper, isr_write_succeeds, follower_is_in_isr, follower_lags),
    at_most=ISR_SHRINKS,
    effects=(drop_from_isr,),
    summary="{leader} finds {follower} slow, and removes it from the ISR by a conditional write",
    reference=f"{KAFKA} Partition.maybeShrinkIsr, shrinkIsrWithZk",
)


def follower_has_caught_up(s: World, k: Constants, leader: int, follower: int, partition: int) -> bool:
    """The follower has reached the high watermark and, since 2.0.1, the start of the leader epoch."""
    return end_is_far_enough(s, k, leader, len(s.brokers[follower].replicas[partition].log), partition)


def end_is_far_enough(s: World, k: Constants, leader: int, end: int, partition: int) -> bool:
    """A follower whose log ends here may join the leader's ISR."""
    leading = s.brokers[leader].replicas[partition]
    return may_join_isr(end, leading.high_watermark, leading.epoch_start, k.join_needs_epoch_start)


def follower_is_alive_in_cache(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The leader's metadata cache lists the follower as alive, if the era checks this."""
    return is_isr_candidate(follower, s.brokers[leader].alive, k.isr_candidates_alive)


def expand_isr(s: World, leader: int, follower: int, partition: int) -> None:
    """Write the ISR with the follower; the leader knows the new version."""
    s.brokers[leader].replicas[partition].ends[follower] = len(s.brokers[follower].replicas[partition].log)
    write_isr(s, leader, including(s.brokers[leader].replicas[partition].isr, follower), partition)
    adopt_isr(s, leader, partition)


EXPAND_ISR = Rule(
    "ExpandIsr",
    actor="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(
        leader_leads,
        leader_reaches_zookeeper,
        isr_write_succeeds,
        follower_is_not_in_isr,
        leader_knows_follower,
        follower_follows,
        log_matches,
        fetch_is_in_range,
        follower_has_caught_up,
        follower_is_alive_in_cache,
    ),
    effects=(expand_isr,),
    summary="{leader} finds {follower} caught up, and adds it to the ISR by a conditional write",
    reference=f"{KAFKA} Partition.maybeExpandIsr, expandIsrWithZk",
)


def shrink_isr_unanswered(s: World, leader: int, follower: int, partition: int) -> None:
    """Write the ISR without the follower; the answer is lost."""
    s.brokers[leader].replicas[partition].written = excluding(s.brokers[leader].replicas[partition].isr, follower)
    write_isr(s, leader, s.brokers[leader].replicas[partition].written, partition)


SHRINK_ISR_UNANSWERED = Rule(
    "ShrinkIsrUnanswered",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, leader_reaches_zookeeper, isr_write_succeeds, follower_is_in_isr, follower_lags),
    at_most=(ISR_SHRINKS, LOST_REPLIES),
    effects=(shrink_isr_unanswered,),
    summary="{leader} removes the slow {follower} from the ISR; ZooKeeper's answer is lost",
    reference=f"{KAFKA} Partition.maybeShrinkIsr, ReplicationUtils.updateLeaderAndIsr",
)


def expand_isr_unanswered(s: World, leader: int, follower: int, partition: int) -> None:
    """Write the ISR with the follower; the answer is lost."""
    s.brokers[leader].replicas[partition].ends[follower] = len(s.brokers[follower].replicas[partition].log)
    s.brokers[leader].replicas[partition].written = including(s.brokers[leader].replicas[partition].isr, follower)
    write_isr(s, leader, s.brokers[leader].replicas[partition].written, partition)


EXPAND_ISR_UNANSWERED = Rule(
    "ExpandIsrUnanswered",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=EXPAND_ISR.guards,
    at_most=LOST_REPLIES,
    effects=(expand_isr_unanswered,),
    summary="{leader} finds {follower} caught up, and adds it to the ISR; ZooKeeper's answer is lost",
    reference=f"{KAFKA} Partition.maybeExpandIsr, ReplicationUtils.updateLeaderAndIsr",
)


def isr_write_is_unanswered(s: World, leader: int, partition: int) -> bool:
    """The broker has written an ISR, and has no answer; it runs, since its end forgets this."""
    return s.brokers[leader].replicas[partition].written != NO_BROKERS


def state_is_what_was_written(s: World, leader: int, partition: int) -> bool:
    """The state znode holds what this leader wrote in this leader epoch."""
    state, replica = s.zookeeper.partitions[partition].state, s.brokers[leader].replicas[partition]
    return state.isr == replica.written and state.leader_epoch == replica.leader_epoch


def retry_isr_write(s: World, k: Constants, leader: int, partition: int) -> None:
    """Repeat the write, which finds another version; then read whether the first attempt took effect, in eras that do."""
    replica = s.brokers[leader].replicas[partition]
    if isr_write_took_effect(1 if state_is_what_was_written(s, leader, partition) else 0, k.bad_version):
        adopt_isr(s, leader, partition)
    else:
        replica.isr = isr_after_failed_write(replica.isr, replica.written, k.refused_isr_write)
    replica.written = NO_BROKERS


RETRY_ISR_WRITE = Rule(
    "RetryIsrWrite",
    actor="{leader}",
    params=A_LEADER,
    guards=(isr_write_is_unanswered, leader_reaches_zookeeper),
    effects=(retry_isr_write,),
    summary="the client library of {leader} repeats the ISR write that was not answered, and finds another version",
    reference=f"{KAFKA} KafkaZkClient.conditionalUpdatePath, ReplicationUtils.checkLeaderAndIsrZkData (KAFKA-1382)",
)
