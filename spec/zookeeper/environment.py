"""The environment: operators, clients and faults; and the initial states.

Every rule here is limited by a bound (`at_most`), except the restart of a broker that is down.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, PartitionIndex
from kafka_spec.spec.decisions.log import enough_are_in_sync, holds_same_prefix, unflushed_may_be_lost
from kafka_spec.spec.language.domain import NO_BROKERS, Range, append, contains, pop_first, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import (
    BOUNCES,
    BROKERS,
    CONTROLLED_SHUTDOWNS,
    CRASHES,
    EXPIRIES,
    LOSSY_CRASHES,
    PARTITIONS,
    RECORDS,
    REPEATS,
)
from kafka_spec.spec.zookeeper.broker.fetching import size
from kafka_spec.spec.zookeeper.broker.requests import forget_replica
from kafka_spec.spec.zookeeper.controller.resignation import forget_controller
from kafka_spec.spec.zookeeper.machines import CONTROLLER, ROLE, STANDBY, Role
from kafka_spec.spec.zookeeper.network import a_request_is_sent
from kafka_spec.spec.zookeeper.state import Life, World
from kafka_spec.spec.zookeeper.znodes import end_session, register

ANY_BROKER = {"broker": Broker(BROKERS)}
ANY_REPLICA = {"partition": PartitionIndex(PARTITIONS), "broker": Broker(BROKERS)}

# ---------------------------------------------------------------------------------------------------------------------
# Operators and clients


def there_is_no_topic(s: World) -> bool:
    """The topic does not exist."""
    return len(s.zookeeper.partitions[0].assignment.replicas) == 0


def topic_was_never_deleted(s: World) -> bool:
    """No operator has requested to delete the topic."""
    return s.spent.deletions == 0


def partitions_at_first(k: Constants) -> int:
    """Return with how many partitions the topic is created; the others may be added to it."""
    return k.partitions - k.additions


def create_topic(s: World, k: Constants) -> None:
    """Write the configuration of the topic, and the topic with its assignment: the first brokers, in ascending order."""
    s.zookeeper.config = 1
    for partition in range(partitions_at_first(k)):
        for replica in range(k.replicas):
            append(s.zookeeper.partitions[partition].assignment.replicas, replica)


CREATE_TOPIC = Rule(
    "CreateTopic",
    actor="operator",
    kind="operator",
    guards=(there_is_no_topic, topic_was_never_deleted),
    effects=(create_topic,),
    summary="an operator creates the topic",
    reference="Kafka 2.8 AdminZkClient.createTopicWithAssignment",
)


def broker_leads(s: World, broker: int, partition: int) -> bool:
    """The broker runs, believes that it leads, and waits for no answer of ZooKeeper."""
    replica = s.brokers[broker].replicas[partition]
    return s.brokers[broker].life != Life.DOWN and replica.role == Role.LEADER and replica.written == NO_BROKERS


def enough_take_writes(s: World, k: Constants, broker: int, partition: int) -> bool:
    """The leader's ISR is large enough for acks=all."""
    return enough_are_in_sync(size(k, s.brokers[broker].replicas[partition].isr), k.min_isr)


def append_record(s: World, broker: int, partition: int) -> None:
    """Append the next record in the leader's epoch."""
    append(
        s.brokers[broker].replicas[partition].log, record=s.spent.records, epoch=s.brokers[broker].replicas[partition].leader_epoch
    )


WRITE = Rule(
    "Write",
    actor="client",
    kind="operator",
    params=ANY_REPLICA,
    guards=(broker_leads, enough_take_writes),
    at_most=RECORDS,
    effects=(append_record,),
    summary="a client writes a record to {broker}, with acks=all",
    reference="Kafka 2.8 Partition.appendRecordsToLeader",
)


def broker_is_up(s: World, broker: int) -> bool:
    """The broker runs, and is not shutting down."""
    return s.brokers[broker].life == Life.UP


def ask_to_shut_down(s: World, broker: int) -> None:
    """Begin a controlled shutdown: the broker sends its request to the current controller."""
    s.brokers[broker].life = Life.STOPPING


SHUT_DOWN = Rule(
    "ShutDown",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_up,),
    at_most=CONTROLLED_SHUTDOWNS,
    effects=(ask_to_shut_down,),
    summary="an operator shuts {broker} down; it asks the controller for a controlled shutdown",
    reference="Kafka 2.8 KafkaServer.controlledShutdown",
)


def broker_is_stopping(s: World, broker: int) -> bool:
    """The broker is in its controlled shutdown."""
    return s.brokers[broker].life == Life.STOPPING


def end_process(s: World, k: Constants, broker: int) -> None:
    """End the broker's process and its session; log and znodes stay, all other state is lost.

    The high watermark on disk may be arbitrarily old: the model assumes the oldest.
    """
    end_session(s, broker)
    node = s.brokers[broker]
    node.life = Life.DOWN
    node.broker_epoch = 0
    node.controller_epoch = 0
    node.alive = NO_BROKERS
    node.lists_topic = 0
    if len(s.answers) > 0 and (s.answers[0].leader == broker or s.answers[0].follower == broker):
        pop_first(s.answers)
    for partition in range(k.partitions):
        forget_replica(s, k, broker, partition)
        node.replicas[partition].high_watermark = 0
        fire(s, k, ROLE, (broker, partition), "die")
    if s.controllers[broker].life != STANDBY:
        fire(s, k, CONTROLLER, (broker,), "die")
        forget_controller(s, k, broker)


EXIT = Rule(
    "Exit",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_is_stopping,),
    effects=(end_process,),
    summary="{broker} completes its controlled shutdown, or stops retrying, and its process ends",
    reference="Kafka 2.8 KafkaServer.shutdown",
)


def broker_is_down(s: World, broker: int) -> bool:
    """The broker's process does not run."""
    return s.brokers[broker].life == Life.DOWN


def start_process(s: World, k: Constants, broker: int) -> None:
    """Start the broker's process, which registers."""
    s.brokers[broker].life = Life.UP
    register(s, k, broker)


RESTART = Rule(
    "Restart",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_down,),
    effects=(start_process,),
    summary="an operator starts {broker}, which registers",
    reference="Kafka 2.8 KafkaServer.startup",
)

# ---------------------------------------------------------------------------------------------------------------------
# Faults


def broker_runs(s: World, broker: int) -> bool:
    """The broker's process runs."""
    return s.brokers[broker].life != Life.DOWN


CRASH = Rule(
    "Crash",
    actor="{broker}",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_runs,),
    at_most=CRASHES,
    effects=(end_process,),
    summary="{broker} crashes; its session ends",
    reference="environment",
)


def log_reaches_beyond(s: World, broker: int, end: int, partition: int) -> bool:
    """The broker's log has an entry at this offset."""
    return end < len(s.brokers[broker].replicas[partition].log)


def suffix_may_be_lost(s: World, k: Constants, broker: int, partition: int) -> bool:
    """The era lets a crash lose entries: outside the ISR, if another live ISR member holds all of the log, or always."""
    state = s.zookeeper.partitions[partition].state
    others_hold = 0
    for other in range(k.brokers):
        if other != broker and contains(state.isr, other) == 1 and s.brokers[other].life != Life.DOWN:
            end = len(s.brokers[broker].replicas[partition].log)
            if holds_same_prefix(s.brokers[other].replicas[partition].log, s.brokers[broker].replicas[partition].log, end):
                others_hold = 1
    return unflushed_may_be_lost(contains(state.isr, broker), others_hold, k.suffix_loss)


def crash_and_lose(s: World, k: Constants, broker: int, end: int, partition: int) -> None:
    """End the process, and lose the entries that were not flushed."""
    end_process(s, k, broker)
    truncate(s.brokers[broker].replicas[partition].log, end)


LOSSY_CRASH = Rule(
    "LossyCrash",
    actor="{broker}",
    kind="fault",
    params={**ANY_REPLICA, "end": Range(0, RECORDS)},
    guards=(broker_runs, suffix_may_be_lost, log_reaches_beyond),
    at_most=LOSSY_CRASHES,
    effects=(crash_and_lose,),
    summary="the machine of {broker} crashes, and loses its log from offset {end} on",
    reference="environment; KIP-903, KIP-966",
)


def bounce(s: World, k: Constants, broker: int) -> None:
    """End the process and start it again before anybody reads ZooKeeper."""
    end_process(s, k, broker)
    start_process(s, k, broker)


BOUNCE = Rule(
    "Bounce",
    actor="{broker}",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_runs,),
    at_most=BOUNCES,
    effects=(bounce,),
    summary="{broker} ends and is back before anybody reads ZooKeeper",
    reference="environment; KIP-380",
)


def broker_has_session(s: World, broker: int) -> bool:
    """The broker's session lives."""
    return s.brokers[broker].has_session == 1


EXPIRE_SESSION = Rule(
    "ExpireSession",
    actor="ZooKeeper",
    kind="fault",
    params=ANY_BROKER,
    guards=(broker_has_session,),
    at_most=EXPIRIES,
    effects=(end_session,),
    summary="the session of {broker} expires, which it does not notice yet",
    reference="environment",
)


def something_is_in_flight(s: World, controller: int, broker: int) -> bool:
    """A request is in flight, and its connection is intact."""
    return a_request_is_sent(s, controller, broker) and s.controllers[controller].channels[broker].repeats == 0


def lose_connection(s: World, controller: int, broker: int) -> None:
    """Lose the connection after the request was written and before its answer: the request will be sent again."""
    s.controllers[controller].channels[broker].repeats = 1


LOSE_CONNECTION = Rule(
    "LoseConnection",
    actor="network",
    kind="fault",
    params={"controller": Broker(BROKERS), "broker": Broker(BROKERS)},
    guards=(something_is_in_flight,),
    at_most=REPEATS,
    effects=(lose_connection,),
    summary="the controller on {controller} will not get the answer of {broker} to the request in flight, and will send it again",
    reference="Kafka 2.8 RequestSendThread.doWork",
)


RULES = (
    EXIT,
    CREATE_TOPIC,
    WRITE,
    SHUT_DOWN,
    RESTART,
    CRASH,
    LOSSY_CRASH,
    BOUNCE,
    EXPIRE_SESSION,
    LOSE_CONNECTION,
)
"""The rules of the environment. A fault that only one bug makes one stands with it, in cases/."""
