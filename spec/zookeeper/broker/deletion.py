"""A broker that cannot delete its replica.

Source: Kafka 2.8 ReplicaManager.stopReplicas.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE
from kafka_spec.spec.vocabulary.table import Rule
from kafka_spec.spec.zookeeper.bounds import DELETION_ERRORS
from kafka_spec.spec.zookeeper.broker.requests import (
    A_CHANNEL,
    KAFKA,
    THE_REQUEST,
    a_request_arrives,
    answer_request,
    note_answer,
    request_is_stop_replica_with_delete,
    request_is_taken,
    see_controller_epoch,
)
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.messages import Answer
from kafka_spec.spec.zookeeper.state import World


def topic_is_being_deleted(s: World, controller: int, broker: int) -> bool:
    """The request is for a topic that is being deleted, so that its sender waits for the answer."""
    return s.controllers[controller].channels[broker].requests[0].leader_epoch == EPOCH_DURING_DELETE


def there_is_something_to_delete(s: World, controller: int, broker: int) -> bool:
    """The broker hosts the replica, or holds records of it; a process that has deleted its replica answers no error."""
    replica = s.brokers[broker].replicas[s.controllers[controller].channels[broker].requests[0].partition]
    return replica.role != Role.NONE or len(replica.log) > 0


def note_failure(s: World, controller: int, broker: int) -> None:
    """Answer that the replica was not deleted."""
    note_answer(s, controller, broker, Answer.FAILED)


FAIL_TO_DELETE = Rule(
    "FailToDelete",
    actor="{broker}",
    kind="fault",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(
        a_request_arrives,
        request_is_stop_replica_with_delete,
        request_is_taken,
        topic_is_being_deleted,
        there_is_something_to_delete,
    ),
    at_most=DELETION_ERRORS,
    effects=(see_controller_epoch, note_failure, answer_request),
    summary="{broker} fails to delete its replica for the controller on {controller}, and answers an error",
    reference=f"{KAFKA} ReplicaManager.stopReplicas: KAFKA_STORAGE_ERROR",
)
