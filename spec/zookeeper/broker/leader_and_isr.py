"""A LeaderAndIsr arrives: the broker becomes leader or follower, or ignores it.

Source: Kafka 2.8 ReplicaManager.becomeLeaderOrFollower, Partition.makeLeader, makeFollower.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import answer_to_leader_and_isr, leader_is_available
from kafka_spec.spec.decisions.log import first_truncation, follower_goes_on, log_ends_are_forgotten
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, contains, first_brokers, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.broker.requests import (
    A_CHANNEL,
    KAFKA,
    THE_REQUEST,
    a_request_arrives,
    answer_request,
    forget_log_ends,
    note_if_stale,
    partition_of_request,
    request_is_taken,
    see_controller_epoch,
)
from kafka_spec.spec.zookeeper.machines import ROLE, Role
from kafka_spec.spec.zookeeper.messages import Kind
from kafka_spec.spec.zookeeper.state import World


def request_is_leader_and_isr(s: World, controller: int, broker: int) -> bool:
    """The request is a LeaderAndIsr, and no unanswered ISR write locks the partition."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    return request.kind == Kind.LEADER_AND_ISR and s.brokers[broker].replicas[partition].written == NO_BROKERS


def leader_and_isr_is_news(s: World, controller: int, broker: int) -> bool:
    """The request has a larger leader epoch than the replica, and the broker is assigned."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    is_assigned = contains(request.replicas, broker)
    return (
        answer_to_leader_and_isr(request.leader_epoch, s.brokers[broker].replicas[partition].leader_epoch, is_assigned)
        == ErrorCode.NONE
    )


def leader_and_isr_is_old(s: World, controller: int, broker: int) -> bool:
    """The replica has this leader epoch or a larger one: the answer for the partition is STALE_CONTROLLER_EPOCH."""
    return not leader_and_isr_is_news(s, controller, broker)


def broker_is_named_leader(s: World, controller: int, broker: int) -> bool:
    """The request names this broker as the leader."""
    return s.controllers[controller].channels[broker].requests[0].leader == broker


def another_is_named_leader(s: World, controller: int, broker: int) -> bool:
    """The request names another broker as the leader, or none."""
    return s.controllers[controller].channels[broker].requests[0].leader != broker


def named_leader_is_alive(s: World, controller: int, broker: int) -> bool:
    """The metadata cache lists the named leader as alive."""
    return leader_is_available(s.controllers[controller].channels[broker].requests[0].leader, s.brokers[broker].alive)


def named_leader_is_not_alive(s: World, controller: int, broker: int) -> bool:
    """The request names no leader, or the metadata cache does not list the named leader as alive."""
    return not named_leader_is_alive(s, controller, broker)


IGNORE_LEADER_AND_ISR = Rule(
    "IgnoreLeaderAndIsr",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_leader_and_isr, request_is_taken, leader_and_isr_is_old),
    effects=(see_controller_epoch, answer_request),
    summary="{broker} ignores a LeaderAndIsr of the controller on {controller}: its leader epoch is not larger than the replica's",
    reference=f"{KAFKA} ReplicaManager.becomeLeaderOrFollower",
)


def ends_that_are_forgotten(s: World, k: Constants, controller: int, broker: int) -> BrokerSet:
    """Return whose log ends a leader forgets when it leads again: those of brokers that are not replicas any longer, or all."""
    partition = partition_of_request(s, controller, broker)
    was_leader = 1 if s.brokers[broker].replicas[partition].role == Role.LEADER else 0
    if log_ends_are_forgotten(was_leader, k.follower_ends):
        return first_brokers(k.brokers)
    return first_brokers(k.brokers) & ~s.controllers[controller].channels[broker].requests[0].replicas


def make_leader(s: World, k: Constants, controller: int, broker: int) -> None:
    """Lead under the request's leader epoch, with its ISR and version (Partition.makeLeader)."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replicas[partition]
    replica.leader_epoch = request.leader_epoch
    replica.leader = broker
    replica.isr = request.isr
    replica.replicas = request.replicas
    replica.version = request.version
    replica.state_epoch = request.state_epoch
    replica.epoch_start = len(replica.log)
    forget_log_ends(s, k, broker, ends_that_are_forgotten(s, k, controller, broker), partition)
    replica.fetching = 0
    s.brokers[broker].lists_topic = 1
    fire(s, k, ROLE, (broker, partition), "become_leader")


BECOME_LEADER = Rule(
    "BecomeLeader",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_leader_and_isr, request_is_taken, leader_and_isr_is_news, broker_is_named_leader),
    effects=(note_if_stale, see_controller_epoch, make_leader, answer_request),
    summary="{broker} applies a LeaderAndIsr of the controller on {controller}, and leads",
    reference=f"{KAFKA} ReplicaManager.makeLeaders, Partition.makeLeader",
)


def make_follower(s: World, k: Constants, controller: int, broker: int) -> None:
    """Follow the named leader under the request's leader epoch (Partition.makeFollower)."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replicas[partition]
    follows = 1 if replica.role == Role.FOLLOWER else 0
    goes_on = follower_goes_on(follows, replica.leader, request.leader, k.follower_skip)
    replica.leader_epoch = request.leader_epoch
    replica.leader = request.leader
    replica.isr = NO_BROKERS
    replica.replicas = NO_BROKERS
    replica.version = 0
    replica.state_epoch = 0
    replica.epoch_start = 0
    forget_log_ends(s, k, broker, first_brokers(k.brokers), partition)
    s.brokers[broker].lists_topic = 1
    fire(s, k, ROLE, (broker, partition), "become_follower")
    if not goes_on:
        replica.fetching = 1
        offset, _ = first_truncation(len(replica.log), replica.high_watermark, k.truncation)
        truncate(s.brokers[broker].replicas[partition].log, offset)


BECOME_FOLLOWER = Rule(
    "BecomeFollower",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(
        a_request_arrives,
        request_is_leader_and_isr,
        request_is_taken,
        leader_and_isr_is_news,
        another_is_named_leader,
        named_leader_is_alive,
    ),
    effects=(note_if_stale, see_controller_epoch, make_follower, answer_request),
    summary="{broker} applies a LeaderAndIsr of the controller on {controller}, and follows",
    reference=f"{KAFKA} ReplicaManager.makeFollowers, Partition.makeFollower",
)


LEADER_IS_UNAVAILABLE = Rule(
    "LeaderIsUnavailable",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(
        a_request_arrives,
        request_is_leader_and_isr,
        request_is_taken,
        leader_and_isr_is_news,
        another_is_named_leader,
        named_leader_is_not_alive,
    ),
    effects=(see_controller_epoch, answer_request),
    summary="{broker} cannot follow: the leader that the controller on {controller} names is not alive in its metadata cache; "
    "it keeps its leader epoch and answers NONE",
    reference=f"{KAFKA} ReplicaManager.makeFollowers: the new leader is unavailable",
)
