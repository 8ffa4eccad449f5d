"""A StopReplica that a broker processes late: its sender lost the connection and sent it again, and its first copy still waits.

A broker handles the requests of one connection in order, and those of two connections in any order. The copy dies with the process.
It may outlive the topic that it is for, so that it meets a topic of the same name.

Source: Kafka 2.8 RequestSendThread.doWork, ReplicaManager.stopReplicas; KIP-570.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.fencing import answer_to_request, answer_to_stop_replica, stop_replica_is_of_topic
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import append, pop_first
from kafka_spec.spec.vocabulary.table import Constants, ItemOf, Rule
from kafka_spec.spec.zookeeper.bounds import BROKERS, LATE_STOPS
from kafka_spec.spec.zookeeper.broker.requests import KAFKA, delete_replica, stop_fetching
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.messages import Kind
from kafka_spec.spec.zookeeper.network import a_request_is_sent
from kafka_spec.spec.zookeeper.state import Life, Stale, World

A_LATE_STOP = {"late": ItemOf("late_stops")}


def a_stop_replica_is_in_flight(s: World, controller: int, broker: int) -> bool:
    """A StopReplica is in flight to a broker that runs, and its connection is intact."""
    channel = s.controllers[controller].channels[broker]
    if not a_request_is_sent(s, controller, broker) or channel.repeats == 1 or s.brokers[broker].life == Life.DOWN:
        return False
    return channel.requests[0].kind >= Kind.STOP_REPLICA


def delay_stop_replica(s: World, controller: int, broker: int) -> None:
    """Leave a copy of the request with the broker; the sender keeps the request, and sends it over another connection."""
    request = s.controllers[controller].channels[broker].requests[0]
    append(
        s.late_stops,
        partition=request.partition,
        follower=broker,
        kind=request.kind,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        leader_epoch=request.leader_epoch,
    )


DELAY_STOP_REPLICA = Rule(
    "DelayStopReplica",
    actor="network",
    kind="fault",
    params={"controller": Broker(BROKERS), "broker": Broker(BROKERS)},
    guards=(a_stop_replica_is_in_flight,),
    at_most=LATE_STOPS,
    effects=(delay_stop_replica,),
    summary="the controller on {controller} sends its StopReplica to {broker} again; the first copy will be processed late",
    reference=f"{KAFKA} RequestSendThread.doWork; KIP-570",
)


def late_stop_takes_effect(s: World, k: Constants, late: int) -> bool:
    """The broker accepts the request, and hosts a replica that it may stop, or has to delete what is left of one."""
    partition = s.late_stops[late].partition
    stop = s.late_stops[late]
    node = s.brokers[stop.follower]
    if not request_is_taken(s, k, late):
        return False
    if node.replicas[partition].role == Role.NONE:
        return stop.kind == Kind.STOP_REPLICA_AND_DELETE and len(node.replicas[partition].log) > 0
    return answer_to_stop_replica(stop.leader_epoch, node.replicas[partition].leader_epoch, k.stop_replica_epoch) == ErrorCode.NONE


def late_stop_has_no_effect(s: World, k: Constants, late: int) -> bool:
    """The broker refuses the request, does not host the replica, or has ended, and the request with it."""
    return not late_stop_takes_effect(s, k, late)


def request_is_taken(s: World, k: Constants, late: int) -> bool:
    """The broker runs, and accepts the epochs of the request and, in `fixed`, its topic."""
    stop = s.late_stops[late]
    node = s.brokers[stop.follower]
    if node.life == Life.DOWN or not stop_replica_is_of_topic(stop.is_of_former_topic, k.stop_replica_topic_checked):
        return False
    answer = answer_to_request(
        stop.controller_epoch,
        node.controller_epoch,
        k.controller_epoch_checked,
        stop.broker_epoch,
        node.broker_epoch,
        k.broker_epoch_checked,
    )
    return answer == ErrorCode.NONE


def see_controller_epoch(s: World, k: Constants, late: int) -> None:
    """Remember the newest controller epoch, if the broker accepts the request, whether it stops anything or not."""
    if request_is_taken(s, k, late):
        node = s.brokers[s.late_stops[late].follower]
        node.controller_epoch = max(node.controller_epoch, s.late_stops[late].controller_epoch)


def note_if_late_stop_is_stale(s: World, late: int) -> None:
    """Record for the properties that the request is of a former topic, or that one of its epochs is outdated."""
    partition = s.late_stops[late].partition
    stop = s.late_stops[late]
    node = s.brokers[stop.follower]
    if node.stale == Stale.NOTHING:
        if stop.is_of_former_topic == 1:
            node.stale = Stale.TOPIC
        elif stop.controller_epoch < node.controller_epoch:
            node.stale = Stale.CONTROLLER_EPOCH
        elif stop.broker_epoch < node.broker_epoch:
            node.stale = Stale.BROKER_EPOCH
        elif 0 <= stop.leader_epoch < node.replicas[partition].leader_epoch:
            node.stale = Stale.LEADER_EPOCH


def stop_late(s: World, k: Constants, late: int) -> None:
    """Stop the replica, or delete it."""
    partition = s.late_stops[late].partition
    if s.late_stops[late].kind == Kind.STOP_REPLICA_AND_DELETE:
        delete_replica(s, k, s.late_stops[late].follower, partition)
    else:
        stop_fetching(s, s.late_stops[late].follower, partition)


def drop_late_stop(s: World) -> None:
    """Take the request off."""
    pop_first(s.late_stops)


LATE_STOP_REPLICA = Rule(
    "LateStopReplica",
    actor="{late.follower}",
    params=A_LATE_STOP,
    guards=(late_stop_takes_effect,),
    effects=(note_if_late_stop_is_stale, see_controller_epoch, stop_late, drop_late_stop),
    summary="{late.follower} processes the first copy of a StopReplica, and stops its replica",
    reference=f"{KAFKA} ReplicaManager.stopReplicas",
)

LOSE_LATE_STOP = Rule(
    "LoseLateStop",
    actor="{late.follower}",
    params=A_LATE_STOP,
    guards=(late_stop_has_no_effect,),
    effects=(see_controller_epoch, drop_late_stop),
    summary="the first copy of a StopReplica has no effect on {late.follower}: refused, no replica, or another process",
    reference=f"{KAFKA} ReplicaManager.stopReplicas",
)

RULES = (DELAY_STOP_REPLICA, LATE_STOP_REPLICA, LOSE_LATE_STOP)
"""The rules of late StopReplicas."""
