"""Topic deletion in ZooKeeper, and what operators ask of it.

Source: Kafka 2.8 AdminZkClient.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.deletion import topic_may_be_created
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import DELETIONS, RECREATIONS
from kafka_spec.spec.zookeeper.environment import create_topic, there_is_no_topic
from kafka_spec.spec.zookeeper.state import World


def topic_may_be_deleted(s: World) -> bool:
    """The topic exists, and nobody has asked for its deletion yet."""
    return not there_is_no_topic(s) and s.zookeeper.delete_topic == 0


def ask_for_deletion(s: World) -> None:
    """Create /admin/delete_topics/T."""
    s.zookeeper.delete_topic = 1


DELETE_TOPIC = Rule(
    "DeleteTopic",
    actor="operator",
    kind="operator",
    guards=(topic_may_be_deleted,),
    at_most=DELETIONS,
    effects=(ask_for_deletion,),
    summary="an operator asks for the deletion of the topic",
    reference="Kafka 2.8 AdminZkClient.deleteTopic",
)


def topic_was_deleted(s: World) -> bool:
    """The topic existed once."""
    return s.spent.deletions != 0


def topic_may_be_created_again(s: World, k: Constants) -> bool:
    """The topic does not exist, and the era permits its creation now."""
    return topic_may_be_created(1 if there_is_no_topic(s) else 0, s.zookeeper.delete_topic, k.creation_during_deletion)


RECREATE_TOPIC = Rule(
    "RecreateTopic",
    actor="operator",
    kind="operator",
    guards=(topic_was_deleted, topic_may_be_created_again),
    at_most=RECREATIONS,
    effects=(create_topic,),
    summary="an operator creates the topic again",
    reference="Kafka 2.8 AdminZkClient.createTopicWithAssignment, validateTopicCreate",
)

RULES = (DELETE_TOPIC, RECREATE_TOPIC)
"""The rules of operators for topic deletion."""
