"""What a controller knows about brokers and the partition. Everything here reads the controller's own memory, never ZooKeeper.

Source: Kafka 2.8 ControllerContext.scala.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, PartitionIndex
from kafka_spec.spec.decisions.election import leader_is_lost, members
from kafka_spec.spec.language.domain import NONE, BrokerSet, contains
from kafka_spec.spec.machines.topic_deletion import DeletionState
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.bounds import BROKERS, NO_EPOCH, PARTITIONS
from kafka_spec.spec.zookeeper.machines import ACTIVE
from kafka_spec.spec.zookeeper.state import ControllerStep, World

KAFKA = "Kafka 2.8 KafkaController"


ANY_CONTROLLER = {"controller": Broker(BROKERS)}
ANY_CONTROLLED_PARTITION = {"partition": PartitionIndex(PARTITIONS), "controller": Broker(BROKERS)}


def live_brokers(s: World, controller: int) -> BrokerSet:
    """Return the brokers that the controller may elect: registered, and not shutting down."""
    return s.controllers[controller].context.live & ~s.controllers[controller].context.stopping


def assigned_replicas(s: World, controller: int, partition: int) -> BrokerSet:
    """Return the replicas of the partition; none before the controller knows the topic."""
    return members(s.controllers[controller].context.partitions[partition].assignment.replicas)


def topic_is_queued_for_deletion(s: World, controller: int) -> bool:
    """The controller deletes the topic, or waits until it can."""
    deletion = s.controllers[controller].deletion
    return deletion != DeletionState.NOT_QUEUED and deletion != DeletionState.NAME_KEPT


def leadership_is_known(s: World, controller: int, partition: int) -> bool:
    """The controller has leader and ISR of the partition in its cache."""
    return s.controllers[controller].context.partitions[partition].leadership.leader_epoch != NO_EPOCH


def cached_leader_is_live(s: World, controller: int, partition: int) -> bool:
    """The cached leader is a live broker."""
    leader = s.controllers[controller].context.partitions[partition].leadership.leader
    return leader != NONE and contains(live_brokers(s, controller), leader) == 1


def cached_leader_is_lost(s: World, k: Constants, controller: int, partition: int) -> bool:
    """There is no cached leader, or it is dead or (since 1.0) shutting down."""
    context = s.controllers[controller].context
    return leader_is_lost(
        context.partitions[partition].leadership.leader, live_brokers(s, controller), context.stopping, k.offline_leaders
    )


def is_handling_no_event(s: World, controller: int) -> bool:
    """The controller is active, and between two events."""
    return s.controllers[controller].life == ACTIVE and s.controllers[controller].step == ControllerStep.IDLE
