"""Kafka's whole controller, event by event: TopicDeletionManager, and the reassignment of KafkaController.

Each course is a cluster and a sequence of events. After each step are compared: the states of both machines, znodes, what the
controller remembers, its requests, the sets of topics to be deleted, the running reassignments, and the answers of the API. A
course ends at its first difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.controller_scenarios import Observation
from kafka_spec.conformance.kafka_classes.event_scenarios import (
    BrokerFails,
    BrokerStarts,
    ControllerStep,
    EventCourse,
    Seen,
    odd_deletions,
    odd_reassignments,
    random_course,
    small_deletions,
    small_reassignments,
)
from kafka_spec.conformance.kafka_classes.events_kafkas import KafkasWholeController
from kafka_spec.conformance.kafka_classes.events_ours import OurCourse
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.zookeeper import KafkasZooKeeper
from kafka_spec.spec.decisions.fencing import LEADER_DURING_DELETE

PARTS = tuple(one.name for one in fields(Seen) if one.name not in ("rows", "raised"))
FEW, SHARE = 500, 10
"""Below so many random courses, only a few of the small ones are compared: a sample must be quick."""

ANNOUNCED = Chosen(
    "live brokers are announced first",
    "when brokers fail, ours says first who lives; Kafka does it last, and only if no partition had to elect",
)
MARKED = Chosen(
    "a started broker learns what is deleted",
    "ours, and the model, send it the partitions of queued topics as deleted; Kafka leaves them out: it has none of them cached",
)


def _courses(small: Iterable[EventCourse], random: Random, cases: int, reassigns: bool) -> Iterator[EventCourse]:
    """Yield one course for each chosen difference, the small courses, and random ones; in a sample few of both."""
    every = list(small)
    yield from odd_reassignments() if reassigns else odd_deletions()
    yield from random.sample(every, cases // SHARE) if cases < FEW else every
    for _ in range(cases // (SHARE if cases < FEW else 4)):
        yield random_course(random, reassigns)


def _compare_all(kafka: Kafka, comparison: Comparison, courses: Iterable[EventCourse]) -> None:
    """Compare courses, each with a topic of its own."""
    with KafkasZooKeeper(kafka) as zookeeper:
        controller = KafkasWholeController(kafka, zookeeper)
        for number, course in enumerate(courses):
            controller.begin(course, f"t{number}")
            ours = OurCourse(course, f"t{number}")
            for done, step in enumerate(course.steps, 1):
                comparison.seen[type(step).__name__] += 1
                if not _agree(comparison, course, done, step, ours.step(step), controller.step(step)):
                    break


def _agree(comparison: Comparison, course: EventCourse, done: int, step: ControllerStep, ours: Seen, theirs: Seen) -> bool:
    """Compare what is seen after a step; return whether both sides are where they can continue together."""
    chosen = None
    if isinstance(step, BrokerFails) and ours.requests != theirs.requests:
        ours.requests, theirs.requests = _without_announcements(ours), _without_announcements(theirs)
        chosen = ANNOUNCED.name if ours.requests == theirs.requests else None
        comparison.compare(f"announced after {step}", True, chosen is None, chosen)
    elif isinstance(step, BrokerStarts) and _marked(ours, step.broker):
        chosen = MARKED.name
        comparison.compare(f"marked after {step}", True, bool(_marked(theirs, step.broker)), chosen)
        ours.requests = _without_marks(ours, step.broker)
    if isinstance(step, BrokerStarts) and len(theirs.moving) > 1:  # Kafka resumes them in the order of a hash set
        ours.requests, theirs.requests = _in_any_order(ours), _in_any_order(theirs)
    differing = [part for part in PARTS if getattr(ours, part) != getattr(theirs, part)]
    for part in differing or PARTS:
        case = f"{part} after {course.steps[:done]} on {course.cluster}"
        comparison.compare(case, getattr(ours, part), getattr(theirs, part))
    return not differing


def _without_announcements(seen: Observation) -> dict[int, list[Any]]:
    """Return the requests without those that tell live brokers only."""
    rest = {broker: [one for one in sent if one[0] != "UpdateMetadata" or one[2]] for broker, sent in seen.requests.items()}
    return {broker: sent for broker, sent in rest.items() if sent}


def _marked(seen: Observation, started: int) -> list[int]:
    """Return the partitions that the first request to a started broker lists as deleted."""
    parts: dict[int, Any] = seen.requests[started][0][2]
    return [number for number, part in parts.items() if part[0][1] == LEADER_DURING_DELETE]


def _without_marks(seen: Observation, started: int) -> dict[int, Any]:
    """Return the requests without these partitions in that request."""
    (kind, head, parts, brokers), *rest = seen.requests[started]
    marked = _marked(seen, started)
    kept = {number: part for number, part in parts.items() if number not in marked}
    return {**seen.requests, started: [(kind, head, kept, brokers), *rest]}


def _in_any_order(seen: Observation) -> dict[int, list[Any]]:
    """Return the requests to each broker in an order of their content."""
    return {broker: sorted(sent, key=lambda one: (one[0], sorted(one[2].items()))) for broker, sent in seen.requests.items()}


def compare_deletions(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare deletions."""
    _compare_all(kafka, comparison, _courses(small_deletions(), random, cases, reassigns=False))


def compare_reassignments(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare reassignments."""
    _compare_all(kafka, comparison, _courses(small_reassignments(), random, cases, reassigns=True))


DELETION = Subject(
    "deletion", "TopicDeletionManager in Kafka's whole controller, event by event", compare_deletions, (ANNOUNCED, MARKED)
)
REASSIGNMENT = Subject("reassignment", "the reassignments of KafkaController, event by event", compare_reassignments, (ANNOUNCED,))
