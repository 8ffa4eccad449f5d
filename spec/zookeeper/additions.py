"""Partitions that an operator adds to a topic.

Source: Kafka 2.8 AdminZkClient.addPartitions, ZkAdminManager.createPartitions.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.language.domain import append, contains
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import ADDITIONS, BROKERS
from kafka_spec.spec.zookeeper.environment import there_is_no_topic
from kafka_spec.spec.zookeeper.state import World


def topic_can_get_a_partition(s: World, k: Constants) -> bool:
    """The topic exists with fewer partitions than it may have, and the topic znode records no reassignment of it."""
    if there_is_no_topic(s) or missing_partition(s, k) == k.partitions:
        return False
    for partition in range(k.partitions):
        if s.zookeeper.partitions[partition].assignment.adding | s.zookeeper.partitions[partition].assignment.removing != 0:
            return False
    return True


def missing_partition(s: World, k: Constants) -> int:
    """Return the first partition that the topic znode does not name; the number of partitions if it names all."""
    for partition in range(k.partitions):
        if len(s.zookeeper.partitions[partition].assignment.replicas) == 0:
            return partition
    return k.partitions


def replica_at(k: Constants, first: int, place: int) -> int:
    """Return the broker at a place of the new assignment: the brokers follow each other from the first on."""
    return (first + place) % k.brokers


def brokers_are_registered(s: World, k: Constants, first: int) -> bool:
    """The brokers of the new assignment are registered: otherwise the request is refused."""
    for place in range(k.replicas):
        if contains(s.zookeeper.registered, replica_at(k, first, place)) == 0:
            return False
    return True


def add_partition(s: World, k: Constants, first: int) -> None:
    """Write the topic znode with one partition more."""
    partition = missing_partition(s, k)
    for place in range(k.replicas):
        append(s.zookeeper.partitions[partition].assignment.replicas, replica_at(k, first, place))


ADD_PARTITION = Rule(
    "AddPartition",
    actor="operator",
    kind="operator",
    params={"first": Broker(BROKERS)},
    guards=(topic_can_get_a_partition, brokers_are_registered),
    at_most=ADDITIONS,
    effects=(add_partition,),
    summary="an operator adds a partition, which prefers {first}, to the topic",
    reference="Kafka 2.8 AdminZkClient.addPartitions, ZkAdminManager.createPartitions",
)

RULES = (ADD_PARTITION,)
"""The rules of operators for added partitions."""
