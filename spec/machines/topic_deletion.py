"""TOPIC_DELETION: the deletion of a topic as one controller sees it, as a table.

Source: Kafka 2.8 TopicDeletionManager.scala:95-357, ControllerContext.scala; the thread of 0.10 decides alike.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.vocabulary.table import Machine, Row

SOURCE = "Kafka 2.8 TopicDeletionManager"


class DeletionState(enum.IntEnum):
    """What a controller knows of a topic's deletion."""

    NOT_QUEUED = 0
    QUEUED = 1
    """Queued (topicsToBeDeleted); it starts as soon as it is considered."""
    INELIGIBLE = 2
    """Queued, not started, and ineligible (topicsIneligibleForDeletion): some replica cannot be deleted now."""
    STARTED = 3
    """Its partition is gone, and its brokers are asked to delete their replicas (topicsWithDeletionStarted)."""
    HALTED = 4
    """Started, and ineligible: some replica was not deleted."""
    NAME_KEPT = 5
    """Not queued: the topic was deleted while it was ineligible, and its name still is. Not in `fixed`."""


NOT_QUEUED, QUEUED, INELIGIBLE, STARTED, HALTED, NAME_KEPT = DeletionState


TOPIC_DELETION = Machine(
    "TopicDeletion",
    DeletionState,
    NOT_QUEUED,
    (
        Row("queue_topic_deletion", (NOT_QUEUED,), QUEUED, reference=f"{SOURCE}.enqueueTopicsForDeletion, init"),
        Row("queue_topic_deletion", (NAME_KEPT,), INELIGIBLE, reference=f"{SOURCE}.enqueueTopicsForDeletion"),
        Row("mark_topic_ineligible", (QUEUED, INELIGIBLE), INELIGIBLE, reference=f"{SOURCE}.markTopicIneligibleForDeletion"),
        Row("mark_topic_ineligible", (STARTED, HALTED), HALTED, reference=f"{SOURCE}.markTopicIneligibleForDeletion"),
        Row("resume_topic_deletion", (QUEUED, INELIGIBLE), QUEUED, reference=f"{SOURCE}.resumeDeletionForTopics"),
        Row("resume_topic_deletion", (STARTED, HALTED), STARTED, reference=f"{SOURCE}.resumeDeletionForTopics"),
        Row("begin_topic_deletion", (QUEUED, STARTED), STARTED, reference=f"{SOURCE}.onTopicDeletion"),
        Row("remove_topic", (QUEUED, INELIGIBLE, STARTED, HALTED), NOT_QUEUED, reference="Kafka 2.8 ControllerContext.removeTopic"),
        Row("keep_ineligible_name", (INELIGIBLE, HALTED), NAME_KEPT, reference="Kafka 2.8 ControllerContext.removeTopic"),
        Row(
            "shutdown",
            tuple(DeletionState),
            NOT_QUEUED,
            reference="Kafka 2.8 ControllerContext.resetContext",
            kind="initialisation",
        ),
    ),
    entity=("controller",),
    reference="Kafka 2.8 TopicDeletionManager.scala, ControllerContext.scala",
)
"""The deletion of a topic as one controller sees it."""
