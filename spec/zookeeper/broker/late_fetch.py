"""A fetch that is delayed on the network and may outlive the process that sent it.

Source: Kafka 2.8 Partition.updateFollowerFetchState; KIP-903.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import answer_to_fetch_epoch, fetch_is_of_registration
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import append, contains, including, pop_first
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import LATE_FETCHES
from kafka_spec.spec.zookeeper.broker.fetching import (
    A_LEADER,
    LEADER_AND_FOLLOWER,
    follower_follows,
    leader_knows_follower,
    leader_leads,
    log_matches,
)
from kafka_spec.spec.zookeeper.broker.isr import (
    adopt_isr,
    end_is_far_enough,
    follower_is_alive_in_cache,
    follower_is_not_in_isr,
    leader_reaches_zookeeper,
)
from kafka_spec.spec.zookeeper.broker.requests import KAFKA
from kafka_spec.spec.zookeeper.state import World
from kafka_spec.spec.zookeeper.znodes import isr_write_succeeds, write_isr


def send_late_fetch(s: World, leader: int, follower: int, partition: int) -> None:
    """Send a fetch that will be processed later, perhaps after its sender's process has ended."""
    append(
        s.fetches,
        partition=partition,
        follower=follower,
        end=len(s.brokers[follower].replicas[partition].log),
        leader_epoch=s.brokers[leader].replicas[partition].leader_epoch,
        broker_epoch=s.brokers[follower].broker_epoch,
    )


SEND_LATE_FETCH = Rule(
    "SendLateFetch",
    actor="{follower}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_matches),
    at_most=LATE_FETCHES,
    effects=(send_late_fetch,),
    summary="{follower} sends {leader} a fetch that is delayed on the network",
    reference="KIP-903",
)


def a_fetch_waits(s: World) -> bool:
    """A delayed fetch is on the network."""
    return len(s.fetches) > 0


def fetch_is_of_partition(s: World, partition: int) -> bool:
    """The delayed fetch is for this partition."""
    return s.fetches[0].partition == partition


def fetch_is_of_leaders_epoch(s: World, k: Constants, leader: int, partition: int) -> bool:
    """The fetch carries the leader's current leader epoch, if the era compares epochs."""
    answer = answer_to_fetch_epoch(s.fetches[0].leader_epoch, s.brokers[leader].replicas[partition].leader_epoch, k.fetches_fenced)
    return answer == ErrorCode.NONE


def fetch_is_of_this_generation(s: World, k: Constants) -> bool:
    """The fetch carries the broker epoch of its sender's current registration, if the era compares broker epochs."""
    sender = s.fetches[0].follower
    registered = s.zookeeper.broker_epochs[sender] if contains(s.zookeeper.registered, sender) == 1 else -1
    return fetch_is_of_registration(s.fetches[0].broker_epoch, registered, k.fetch_generation_checked)


def sender_is_alive_in_cache(s: World, k: Constants, leader: int) -> bool:
    """The leader's metadata cache lists the sender as alive, if the era checks this."""
    return follower_is_alive_in_cache(s, k, leader, s.fetches[0].follower)


def sender_could_join(s: World, k: Constants, leader: int, partition: int) -> bool:
    """The sender is a replica outside the leader's ISR, and the fetch offset is high enough to join it."""
    sender = s.fetches[0].follower
    if (
        sender == leader
        or not leader_knows_follower(s, leader, sender, partition)
        or not follower_is_not_in_isr(s, leader, sender, partition)
    ):
        return False
    if s.fetches[0].end > len(s.brokers[leader].replicas[partition].log):
        return False
    return end_is_far_enough(s, k, leader, s.fetches[0].end, partition)


def late_end_is_news(s: World, leader: int, partition: int) -> bool:
    """The sender is another replica, its log was not longer than the leader's, and the leader believes that it ends elsewhere."""
    fetch = s.fetches[0]
    if fetch.follower == leader or fetch.end > len(s.brokers[leader].replicas[partition].log):
        return False
    if not leader_knows_follower(s, leader, fetch.follower, partition):
        return False
    return s.brokers[leader].replicas[partition].ends[fetch.follower] != fetch.end


def note_late_end(s: World, leader: int, partition: int) -> None:
    """Note where the sender's log ended when it sent the fetch."""
    s.brokers[leader].replicas[partition].ends[s.fetches[0].follower] = s.fetches[0].end


def expand_isr_by_late_fetch(s: World, leader: int, partition: int) -> None:
    """Write the ISR with the sender of the fetch, and note where its log ended."""
    note_late_end(s, leader, partition)
    write_isr(s, leader, including(s.brokers[leader].replicas[partition].isr, s.fetches[0].follower), partition)
    adopt_isr(s, leader, partition)


def drop_fetch(s: World) -> None:
    """Remove the fetch from the network."""
    pop_first(s.fetches)


LATE_FETCH_EXPANDS_ISR = Rule(
    "LateFetchExpandsIsr",
    actor="{leader}",
    params=A_LEADER,
    guards=(
        a_fetch_waits,
        fetch_is_of_this_generation,
        fetch_is_of_partition,
        leader_leads,
        leader_reaches_zookeeper,
        isr_write_succeeds,
        fetch_is_of_leaders_epoch,
        sender_could_join,
        sender_is_alive_in_cache,
    ),
    receives="fetches",
    effects=(expand_isr_by_late_fetch, drop_fetch),
    summary="{leader} processes the delayed fetch, finds its sender caught up, and adds it to the ISR",
    reference=f"{KAFKA} Partition.updateFollowerFetchState, maybeExpandIsr (KAFKA-14617)",
)


LATE_FETCH_TELLS_END = Rule(
    "LateFetchTellsEnd",
    actor="{leader}",
    params=A_LEADER,
    guards=(
        a_fetch_waits,
        fetch_is_of_this_generation,
        fetch_is_of_partition,
        leader_leads,
        fetch_is_of_leaders_epoch,
        late_end_is_news,
    ),
    receives="fetches",
    effects=(note_late_end, drop_fetch),
    summary="{leader} processes the delayed fetch, and notes where its sender's log ended",
    reference=f"{KAFKA} Partition.updateFollowerFetchState",
)


LOSE_LATE_FETCH = Rule(
    "LoseLateFetch",
    actor="network",
    guards=(a_fetch_waits,),
    receives="fetches",
    effects=(drop_fetch,),
    summary="the delayed fetch is refused, changes nothing, or is lost",
    reference="KIP-903",
)
