"""Topics: an operator creates and deletes the one topic. Topics of one name differ by their topic id.

A deletion is one record, which is final when it is committed: nobody waits for brokers, which delete their replicas when they
apply it, or when they start.

Source: Kafka 3.9 ReplicationControlManager.createTopic, deleteTopics.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import first_of, members
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import active_brokers, commit, move_replicas, registered_brokers, there_is_a_topic
from kafka_spec.spec.kraft.state import DELETIONS, RECREATIONS, UNKNOWN, KRaft
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, append, first_brokers, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


def forget_partition(s: KRaft, k: Constants) -> None:
    """Give the partition the values that it has while there is no topic; nothing of it counts as committed any more."""
    partition = s.controller.partition
    partition.topic_id = UNKNOWN
    truncate(s.controller.partition.replicas, 0)
    partition.adding = NO_BROKERS
    partition.removing = NO_BROKERS
    partition.leader = NONE
    partition.leader_epoch = UNKNOWN
    partition.partition_epoch = UNKNOWN
    partition.isr = NO_BROKERS
    partition.elr = NO_BROKERS
    partition.last_known_leader = NONE
    partition.recovery = RecoveryState.RECOVERED
    partition.min_isr_changed = 0
    s.controller.unclean_changed = 0
    move_replicas(s, k, NO_BROKERS, NO_BROKERS)
    truncate(s.history.committed, 0)
    s.history.unclean_epoch = UNKNOWN
    s.history.origin = NO_BROKERS
    s.history.target = NO_BROKERS


def create_partition(s: KRaft, k: Constants, topic_id: int, isr: BrokerSet) -> None:
    """Create the partition of a topic on the first brokers, without the spare ones; the first of the ISR leads."""
    for broker in range(k.brokers - k.spares):
        append(s.controller.partition.replicas, broker)
    partition = s.controller.partition
    partition.topic_id = topic_id
    partition.leader = first_of(partition.replicas, isr)
    partition.leader_epoch = 0
    partition.partition_epoch = 0
    partition.isr = isr
    move_replicas(s, k, isr, NO_BROKERS)
    s.history.target = members(s.controller.partition.replicas)


def delete_topic(s: KRaft, k: Constants) -> None:
    """Remove the topic from the metadata."""
    forget_partition(s, k)
    commit(s, k)


DELETE_TOPIC = Rule(
    "DeleteTopic",
    actor="operator",
    kind="operator",
    guards=(there_is_a_topic,),
    at_most=DELETIONS,
    effects=(delete_topic,),
    summary="an operator deletes the topic",
    reference="Kafka 3.9 ReplicationControlManager.deleteTopics",
)


def first_isr(s: KRaft, k: Constants) -> BrokerSet:
    """Return the ISR of a new topic: its replicas that are active (3.0, KAFKA-13083)."""
    replicas = first_brokers(k.brokers - k.spares)
    return replicas & active_brokers(s, k) if k.new_isr_active == Checked.YES else replicas


def a_topic_can_be_created(s: KRaft, k: Constants) -> bool:
    """There is no topic; all replicas of a new one are registered, and one could be in its ISR. Otherwise it is refused."""
    replicas = first_brokers(k.brokers - k.spares)
    return not there_is_a_topic(s) and replicas & ~registered_brokers(s, k) == 0 and first_isr(s, k) != 0


def directories_work(s: KRaft, k: Constants) -> bool:
    """No log directory has failed: the replica of a new topic would lie in another one."""
    return all(s.brokers[broker].directory_failed == 0 for broker in range(k.brokers))


def create_topic(s: KRaft, k: Constants) -> None:
    """Create a topic of the same name under another topic id."""
    create_partition(s, k, s.spent.recreations + 1, first_isr(s, k))
    commit(s, k)


CREATE_TOPIC = Rule(
    "CreateTopic",
    actor="operator",
    kind="operator",
    guards=(a_topic_can_be_created, directories_work),
    at_most=RECREATIONS,
    effects=(create_topic,),
    summary="an operator creates a topic of the same name",
    reference="Kafka 3.9 ReplicationControlManager.createTopic",
)

RULES = (DELETE_TOPIC, CREATE_TOPIC)
