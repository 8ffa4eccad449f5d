"""When a reassignment completes in KRaft: our function beside PartitionReassignmentReplicas.

Every ISR, and every role of four brokers: no replica, one that stays, is added, or is removed, and one that is listed as added and
is not a replica, as an earlier target leaves it when another replaces it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS
from kafka_spec.spec.decisions.kraft_variants import ReassignmentCompletion
from kafka_spec.spec.decisions.partition_change import reassignment_completes
from kafka_spec.spec.language.domain import BrokerSet

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

RULE = dict.fromkeys(("3.9.1", "4.1.2"), ReassignmentCompletion.ALL_IN_ISR)
"""When a version completes a reassignment; others do as 4.3."""
ROLES = ("outside", "stays", "added", "removed", "left over")
Members = tuple[int, ...]


def reassignments() -> Iterator[tuple[Members, Members, Members, Members]]:
    """Yield replicas, added, removed and ISR of every reassignment."""
    for roles in itertools.product(ROLES, repeat=4):
        replicas = tuple(broker for broker, role in enumerate(roles) if role in ("stays", "added", "removed"))
        adding = tuple(broker for broker, role in enumerate(roles) if role in ("added", "left over"))
        removing = tuple(broker for broker, role in enumerate(roles) if role == "removed")
        for count in range(len(replicas) + 1):
            for isr in itertools.combinations(replicas, count):
                yield replicas, adding, removing, isr


def decided_by_us(version: str) -> list[bool]:
    """Return which of all reassignments complete by our function, as a version of Kafka has it."""
    rule = RULE.get(version, ReassignmentCompletion.ADDED_IF_MANY)
    return [
        reassignment_completes(rule, replicas, BrokerSet.of(adding), BrokerSet.of(removing), BrokerSet.of(isr))
        for replicas, adding, removing, isr in reassignments()
    ]


def decided_by_kafka(kafka: Kafka) -> list[bool]:
    """Return which of all reassignments complete by Kafka's class."""
    kind = kafka.named("org.apache.kafka.controller.PartitionReassignmentReplicas")
    found = []
    for replicas, adding, removing, isr in reassignments():
        held = kind(*(kafka.java_list(members) for members in (removing, adding, replicas)))
        found.append(bool(kafka.call(held, "maybeCompleteReassignment", kafka.java_list(isr)).isPresent()))
    return found


def compare(kafka: Kafka, comparison: Comparison, _: Random, __: int) -> None:
    """Compare all of them."""
    all_of_them = zip(reassignments(), decided_by_us(kafka.version), decided_by_kafka(kafka), strict=True)
    for (replicas, adding, removing, isr), ours, theirs in all_of_them:
        comparison.seen["completes" if theirs else "continues"] += 1
        comparison.compare(f"replicas {replicas}, adding {adding}, removing {removing}, ISR {isr}", ours, theirs)


SUBJECT = Subject("kraft-reassignments", "when a reassignment completes in KRaft", compare, (), VERSIONS)
