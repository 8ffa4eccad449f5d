"""An answer to a fetch that is delayed on the network, while controllers make the follower lead, or follow another broker.

A fetcher has one request in flight to each leader. It takes a late answer if the offset is the one it waits for. Since 0.11 it has
to truncate first when it learns a new leader epoch. The same thread does both, so it drops an answer of an earlier leader epoch.

Source: Kafka 2.8 AbstractFetcherThread.processFetchRequest, partitionFetchState; Kafka 0.10 AbstractFetcherThread.addPartitions.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, PartitionIndex
from kafka_spec.spec.decisions.fencing import late_answer_is_taken
from kafka_spec.spec.decisions.log import follower_high_watermark
from kafka_spec.spec.language.domain import append, pop_first
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import BROKERS, LATE_FETCH_ANSWERS, PARTITIONS
from kafka_spec.spec.zookeeper.broker.fetching import (
    LEADER_AND_FOLLOWER,
    fetch_is_in_range,
    follower_follows,
    leader_leads,
    log_matches,
)
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Life, World


def leader_has_more(s: World, leader: int, follower: int, partition: int) -> bool:
    """The leader has a record that the follower lacks."""
    return len(s.brokers[follower].replicas[partition].log) < len(s.brokers[leader].replicas[partition].log)


def send_late_answer(s: World, leader: int, follower: int, partition: int) -> None:
    """Answer a fetch with the next record; note the fetch offset. The answer will arrive later."""
    leading, following = s.brokers[leader].replicas[partition], s.brokers[follower].replicas[partition]
    end = len(following.log)
    leading.ends[follower] = end
    append(
        s.answers,
        partition=partition,
        leader=leader,
        follower=follower,
        offset=end,
        leader_epoch=following.leader_epoch,
        record=leading.log[end].record,
        epoch=leading.log[end].epoch,
        high_watermark=leading.high_watermark,
    )


SEND_LATE_ANSWER = Rule(
    "SendLateAnswer",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_matches, fetch_is_in_range, leader_has_more),
    at_most=LATE_FETCH_ANSWERS,
    effects=(send_late_answer,),
    summary="{leader} answers a fetch of {follower}; the answer is delayed on the network",
    reference="environment",
)


def an_answer_waits(s: World) -> bool:
    """A delayed answer is on the network."""
    return len(s.answers) > 0


def answer_is_of_partition(s: World, partition: int) -> bool:
    """The delayed answer has a record of this partition."""
    return s.answers[0].partition == partition


def follower_waits_for_it(s: World, k: Constants, follower: int, partition: int) -> bool:
    """The broker runs and follows the leader that answered; its log ends at the fetch offset, and the era takes the answer."""
    answer, replica = s.answers[0], s.brokers[follower].replicas[partition]
    if answer.follower != follower or s.brokers[follower].life == Life.DOWN or replica.role != Role.FOLLOWER:
        return False
    if replica.fetching == 0 or replica.leader != answer.leader or len(replica.log) != answer.offset:
        return False
    return late_answer_is_taken(answer.leader_epoch, replica.leader_epoch, k.fetch_answers_taken)


def append_late_record(s: World, follower: int, partition: int) -> None:
    """Append the record of the answer, and adopt its high watermark, at most up to the end of the log."""
    replica = s.brokers[follower].replicas[partition]
    append(replica.log, record=s.answers[0].record, epoch=s.answers[0].epoch)
    reached = follower_high_watermark(s.answers[0].high_watermark, len(replica.log))
    replica.high_watermark = max(replica.high_watermark, reached)


def drop_answer(s: World) -> None:
    """Remove the answer from the network."""
    pop_first(s.answers)


LATE_ANSWER_ARRIVES = Rule(
    "LateAnswerArrives",
    actor="{follower}",
    params={"partition": PartitionIndex(PARTITIONS), "follower": Broker(BROKERS)},
    guards=(an_answer_waits, answer_is_of_partition, follower_waits_for_it),
    receives="answers",
    effects=(append_late_record, drop_answer),
    summary="{follower} processes the delayed answer, and appends its record",
    reference="Kafka 2.8 AbstractFetcherThread.processFetchRequest",
)


LOSE_LATE_ANSWER = Rule(
    "LoseLateAnswer",
    actor="network",
    guards=(an_answer_waits,),
    receives="answers",
    effects=(drop_answer,),
    summary="the delayed answer is of no use any more, or is lost",
    reference="environment",
)
