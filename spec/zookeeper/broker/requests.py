"""A request of a controller arrives: the part that all kinds have in common, UpdateMetadata and StopReplica.

Source: Kafka 2.8 KafkaApis.scala, ReplicaManager.scala, MetadataCache.scala.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.deletion import answer_is_counted
from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, answer_to_request, answer_to_stop_replica
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, contains, excluding, first_brokers, pop_first, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import BROKERS, METADATA_REPEATS, NO_EPOCH
from kafka_spec.spec.zookeeper.machines import ACTIVE, ROLE, Role
from kafka_spec.spec.zookeeper.messages import Answer, Kind
from kafka_spec.spec.zookeeper.network import a_request_is_sent, connected
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, Stale, World

KAFKA = "Kafka 2.8"


A_CHANNEL = {"controller": Broker(BROKERS), "broker": Broker(BROKERS)}


THE_REQUEST = "controllers[{controller}].channels[{broker}].requests"


def a_request_arrives(s: World, controller: int, broker: int) -> bool:
    """A request that was sent waits in the channel, and the broker's process runs."""
    return a_request_is_sent(s, controller, broker) and s.brokers[broker].life != Life.DOWN


def partition_of_request(s: World, controller: int, broker: int) -> int:
    """Return the partition that the first request of a channel is about."""
    return s.controllers[controller].channels[broker].requests[0].partition


def request_is_refused(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker refuses the request as a whole: STALE_BROKER_EPOCH or STALE_CONTROLLER_EPOCH."""
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    answer = answer_to_request(
        request.controller_epoch,
        node.controller_epoch,
        k.controller_epoch_checked,
        request.broker_epoch,
        node.broker_epoch,
        k.broker_epoch_checked,
    )
    return answer != ErrorCode.NONE


def request_is_taken(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker accepts the request: its controller epoch and its broker epoch are current."""
    return not request_is_refused(s, k, controller, broker)


def answer_request(s: World, controller: int, broker: int) -> None:
    """Remove the request from the channel; it stays if the answer is lost, since it is then sent again."""
    if s.controllers[controller].channels[broker].repeats == 1:
        s.controllers[controller].channels[broker].repeats = 0
    else:
        pop_first(s.controllers[controller].channels[broker].requests)


def note_answer(s: World, controller: int, broker: int, answer: int) -> None:
    """Answer a StopReplica for a topic that is being deleted, unless the connection is lost before the answer.

    Nobody waits for other answers (KAFKA-9946).
    """
    channel = s.controllers[controller].channels[broker]
    request = channel.requests[0]
    if request.kind == Kind.STOP_REPLICA_AND_DELETE and request.leader_epoch == EPOCH_DURING_DELETE and channel.repeats == 0:
        channel.answers[request.partition] = answer


def note_answer_without_delete(s: World, k: Constants, controller: int, broker: int) -> None:
    """Answer a StopReplica without delete, which a controller counts in the version that has KAFKA-9946."""
    channel = s.controllers[controller].channels[broker]
    request = channel.requests[0]
    deletes = request.kind == Kind.STOP_REPLICA_AND_DELETE
    if answer_is_counted(deletes, k.answers_counted) and request.leader_epoch == EPOCH_DURING_DELETE and channel.repeats == 0:
        channel.answers[request.partition] = Answer.DELETED


REFUSE_REQUEST = Rule(
    "RefuseRequest",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_refused),
    effects=(answer_request,),
    summary="{broker} refuses a request of the controller on {controller}: its controller epoch or its broker epoch is stale",
    reference=f"{KAFKA} KafkaApis.isBrokerEpochStale, ReplicaManager: stale controller epoch",
)


def see_controller_epoch(s: World, controller: int, broker: int) -> None:
    """Remember the newest controller epoch of all accepted requests."""
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    node.controller_epoch = max(node.controller_epoch, request.controller_epoch)


def what_is_over(s: World, controller: int, broker: int) -> int:
    """Return which epoch of the first request in a channel is outdated at its receiver (the first such kind), or that none is."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    if request.controller_epoch < node.controller_epoch:
        return Stale.CONTROLLER_EPOCH
    if request.broker_epoch < node.broker_epoch:
        return Stale.BROKER_EPOCH
    if request.kind != Kind.UPDATE_METADATA and NO_EPOCH < request.leader_epoch < node.replicas[partition].leader_epoch:
        return Stale.LEADER_EPOCH
    return Stale.NOTHING


def note_if_stale(s: World, controller: int, broker: int) -> None:
    """Record for the properties that a request takes effect although one of its epochs is outdated."""
    if s.brokers[broker].stale == Stale.NOTHING:
        s.brokers[broker].stale = what_is_over(s, controller, broker)


def forget_log_ends(s: World, k: Constants, broker: int, followers: BrokerSet, partition: int) -> None:
    """Forget where the logs of these followers end."""
    for follower in range(k.brokers):
        if contains(followers, follower) == 1:
            s.brokers[broker].replicas[partition].ends[follower] = 0


def forget_replica(s: World, k: Constants, broker: int, partition: int) -> None:
    """Forget all that a broker has in memory about its replica: the replica is deleted, or the process ends."""
    replica = s.brokers[broker].replicas[partition]
    replica.leader_epoch = NO_EPOCH
    replica.leader = NONE
    replica.isr = NO_BROKERS
    replica.replicas = NO_BROKERS
    replica.version = 0
    replica.state_epoch = 0
    replica.epoch_start = 0
    forget_log_ends(s, k, broker, first_brokers(k.brokers), partition)
    replica.written = NO_BROKERS
    replica.fetching = 0


def request_is_update_metadata(s: World, controller: int, broker: int) -> bool:
    """The request is an UpdateMetadata."""
    return s.controllers[controller].channels[broker].requests[0].kind == Kind.UPDATE_METADATA


def replace_alive_brokers(s: World, controller: int, broker: int) -> None:
    """Store the request's live brokers in the metadata cache; a topic that is marked as being deleted leaves it."""
    request = s.controllers[controller].channels[broker].requests[0]
    s.brokers[broker].alive = request.live
    if request.leader == LEADER_DURING_DELETE:
        s.brokers[broker].lists_topic = 0


UPDATE_METADATA = Rule(
    "UpdateMetadata",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_update_metadata, request_is_taken),
    effects=(note_if_stale, see_controller_epoch, replace_alive_brokers, answer_request),
    summary="{broker} learns from the controller on {controller} which brokers are alive",
    reference=f"{KAFKA} MetadataCache.updateMetadata",
)


def no_request_is_in_the_way(s: World, controller: int, broker: int) -> bool:
    """The controller is between two events, has a channel to the broker, which runs, and no request waits in it."""
    own = s.controllers[controller]
    if own.life != ACTIVE or own.step != ControllerStep.IDLE or contains(connected(s, controller), broker) == 0:
        return False
    return len(own.channels[broker].requests) == 0 and s.brokers[broker].life != Life.DOWN


def receiver_has_restarted_unseen(s: World, controller: int, broker: int) -> bool:
    """The broker has registered again behind the open channel; its metadata cache differs from the controller's live brokers."""
    node, context = s.brokers[broker], s.controllers[controller].context
    return node.broker_epoch != context.broker_epochs[broker] and excluding(node.alive, broker) != excluding(context.live, broker)


def repeated_list_is_taken(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker accepts the request: its controller epoch and its broker epoch are current."""
    node, own = s.brokers[broker], s.controllers[controller]
    answer = answer_to_request(
        own.epoch,
        node.controller_epoch,
        k.controller_epoch_checked,
        own.context.broker_epochs[broker],
        node.broker_epoch,
        k.broker_epoch_checked,
    )
    return answer == ErrorCode.NONE


def take_repeated_list(s: World, controller: int, broker: int) -> None:
    """Store the controller's live brokers, and its epoch; record for the properties if the request is for a former process."""
    node, own = s.brokers[broker], s.controllers[controller]
    if node.stale == Stale.NOTHING and own.epoch < node.controller_epoch:
        node.stale = Stale.CONTROLLER_EPOCH
    elif node.stale == Stale.NOTHING and own.context.broker_epochs[broker] < node.broker_epoch:
        node.stale = Stale.BROKER_EPOCH
    node.controller_epoch = max(node.controller_epoch, own.epoch)
    node.alive = own.context.live


UPDATE_METADATA_AGAIN = Rule(
    "UpdateMetadataAgain",
    actor="{broker}",
    kind="operator",
    params=A_CHANNEL,
    guards=(no_request_is_in_the_way, receiver_has_restarted_unseen, repeated_list_is_taken),
    at_most=METADATA_REPEATS,
    effects=(take_repeated_list,),
    summary="another partition gets a leader; {broker} learns again from the controller on {controller} which brokers are alive",
    reference="Kafka 0.10 ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers",
)


def request_is_stop_replica(s: World, controller: int, broker: int) -> bool:
    """The request is a StopReplica."""
    return s.controllers[controller].channels[broker].requests[0].kind == Kind.STOP_REPLICA


def request_is_stop_replica_with_delete(s: World, controller: int, broker: int) -> bool:
    """The request is a StopReplica that deletes. It waits while the broker has no answer to an ISR write: both hold the lock."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    return request.kind == Kind.STOP_REPLICA_AND_DELETE and s.brokers[broker].replicas[partition].written == NO_BROKERS


def request_stops_replica(s: World, controller: int, broker: int) -> bool:
    """The request is a StopReplica, with or without delete."""
    return request_is_stop_replica(s, controller, broker) or request_is_stop_replica_with_delete(s, controller, broker)


def replica_may_be_deleted(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker does not host the replica, or the request's leader epoch is current by the era's comparison."""
    partition = partition_of_request(s, controller, broker)
    return s.brokers[broker].replicas[partition].role == Role.NONE or replica_may_be_stopped(s, k, controller, broker)


def replica_may_not_be_stopped_or_deleted(s: World, k: Constants, controller: int, broker: int) -> bool:
    """Neither may be done: the leader epoch is older (FENCED_LEADER_EPOCH), or there is no replica and nothing to delete."""
    if request_is_stop_replica_with_delete(s, controller, broker):
        return not replica_may_be_deleted(s, k, controller, broker)
    return not replica_may_be_stopped(s, k, controller, broker)


def replica_may_be_stopped(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker hosts the replica, and the request's leader epoch is current by the era's comparison."""
    partition = partition_of_request(s, controller, broker)
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replicas[partition]
    if replica.role == Role.NONE:
        return False
    return answer_to_stop_replica(request.leader_epoch, replica.leader_epoch, k.stop_replica_epoch) == ErrorCode.NONE


def stop_fetching(s: World, broker: int, partition: int) -> None:
    """Stop the replica's fetcher; leadership and leader epoch stay as they were."""
    s.brokers[broker].replicas[partition].fetching = 0


def stop_named_replica(s: World, controller: int, broker: int) -> None:
    """Stop the fetcher of the replica that the request names."""
    partition = partition_of_request(s, controller, broker)
    stop_fetching(s, broker, partition)


STOP_REPLICA = Rule(
    "StopReplica",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_stop_replica, request_is_taken, replica_may_be_stopped),
    effects=(note_if_stale, see_controller_epoch, stop_named_replica, note_answer_without_delete, answer_request),
    summary="{broker} stops its replica at the request of the controller on {controller}",
    reference=f"{KAFKA} ReplicaManager.stopReplicas",
)


def delete_replica(s: World, k: Constants, broker: int, partition: int) -> None:
    """Forget the replica with its leader epoch, and delete its log and high watermark.

    A broker that does not host the replica deletes the log that an earlier process left. Kafka renames the folder, which is
    one step, and deletes it later.
    """
    forget_replica(s, k, broker, partition)
    s.brokers[broker].replicas[partition].high_watermark = 0
    truncate(s.brokers[broker].replicas[partition].log, 0)
    fire(s, k, ROLE, (broker, partition), "delete_replica")


def delete_named_replica(s: World, k: Constants, controller: int, broker: int) -> None:
    """Delete the replica that the request names."""
    partition = partition_of_request(s, controller, broker)
    delete_replica(s, k, broker, partition)


def note_deletion(s: World, controller: int, broker: int) -> None:
    """Answer that the replica is deleted."""
    note_answer(s, controller, broker, Answer.DELETED)


DELETE_REPLICA = Rule(
    "DeleteReplica",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_stop_replica_with_delete, request_is_taken, replica_may_be_deleted),
    effects=(note_if_stale, see_controller_epoch, delete_named_replica, note_deletion, answer_request),
    summary="{broker} stops and deletes its replica at the request of the controller on {controller}",
    reference=f"{KAFKA} ReplicaManager.stopReplicas, LogManager.asyncDelete",
)


IGNORE_STOP_REPLICA = Rule(
    "IgnoreStopReplica",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_stops_replica, request_is_taken, replica_may_not_be_stopped_or_deleted),
    effects=(see_controller_epoch, answer_request),
    summary="{broker} keeps its replica, which the controller on {controller} stops: its leader epoch is older, or there is none",
    reference=f"{KAFKA} ReplicaManager.stopReplicas: FENCED_LEADER_EPOCH",
)
