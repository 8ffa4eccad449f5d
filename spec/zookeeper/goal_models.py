"""`fixed` with other properties: the goals that an exploration must reach, and properties stricter than those of Kafka.

These are apart from the properties of `fixed`, so that `fixed` satisfies its own, and a bug shows the one that it violates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kafka_spec.spec.untested import WHILE_ZERO
from kafka_spec.spec.vocabulary.table import Check, Property, Spec, beginning_with
from kafka_spec.spec.zookeeper.families import CONTROL
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.properties.deletion import NOTHING_IS_LEFT_OF_REASSIGNED, OLD_RECORDS_ARE_NOT_SERVED
from kafka_spec.spec.zookeeper.properties.durability import ADDED_ARE_UP, ISR_HOLDS_COMMITTED, LOG_GOALS, READS_BEFORE_KIP_207
from kafka_spec.spec.zookeeper.properties.reachability import GOALS
from kafka_spec.spec.zookeeper.properties.safety import OLD_LEADERS_STOP

REACHED = dataclasses.replace(
    FIXED,
    name="zookeeper/goals",
    summary="what an exploration of fixed must reach: every state of every machine, elections of each kind, zombies, bounces, "
    "quiet",
    properties=GOALS,
    bound_sets=beginning_with("goals", FIXED.bound_sets),
    normal_form=(),
)
"""`fixed` with its goals in place of its properties. No normal form: that would forget how many controllers there were."""

LOGS_REACHED = dataclasses.replace(
    REACHED,
    name="zookeeper/log-goals",
    summary="what an exploration of fixed with records must reach: logs that differ, records of earlier epochs, two leaders alone",
    properties=LOG_GOALS,
    bound_sets=beginning_with("log_goals", FIXED.bound_sets),
)
"""`fixed` with goals about logs in place of its properties."""


def claiming(name: str, summary: str, claim: Property, bounds: str) -> Spec:
    """Return `fixed` with one other property in place of its own."""
    return dataclasses.replace(
        FIXED, name=name, summary=summary, properties=(claim,), bound_sets=beginning_with(bounds, FIXED.bound_sets)
    )


ISR_COMMITTED = claiming(
    "zookeeper/isr-holds-committed",
    "a stronger property than Committed, which fixed satisfies: whoever is in the ISR holds what is committed",
    ISR_HOLDS_COMMITTED,
    "two_records",
)
"""Apart from `fixed`, so that its bugs show the loss of a record, not only the danger of it."""

READERS_GO_BACK = claiming(
    "zookeeper/reads-before-KIP-207",
    "a property that no Kafka up to 3.9 satisfies: a new leader's high watermark is at once at least that of the leader before",
    READS_BEFORE_KIP_207,
    "two_records",
)
"""Up to 2.1 a new leader may tell a reader an older latest offset. With KIP-207 `fixed` keeps ReadsNeverGoBack."""

ADDED_WHILE_GONE = claiming(
    "zookeeper/KAFKA-14140-in-zookeeper",
    "a property that no Kafka up to 3.9 satisfies while leaders write the ISR: brokers added to it are registered and not stopping",
    ADDED_ARE_UP,
    "expired_leader",
)
"""`fixed` has the leader's half of the fix (3.3): the leader asks its metadata cache, which may be old. The other half is in the
controller, which refuses such an ISR; it does not take part where the leader writes to ZooKeeper."""

OLD_LEADER_WITHOUT_SUCCESSOR = FIXED.replacing(
    "zookeeper/old-leader-without-successor",
    "a property that no Kafka up to 3.9 satisfies: a former leader stops leading although the partition has no leader",
    properties=(OLD_LEADERS_STOP,),
    bound_sets=beginning_with("crash_and_expiry", FIXED.bound_sets),
)
"""Found by the checker in `fixed`: a LeaderAndIsr that names no leader changes nothing on a broker."""

STRAY_OF_DELETED_TOPIC = claiming(
    "zookeeper/stray-of-deleted-topic",
    "a property that no Kafka up to 3.9 satisfies: nothing is left of a topic that was reassigned and then deleted",
    NOTHING_IS_LEFT_OF_REASSIGNED,
    "deletion_and_reassignment_bounce",
)
"""Found by the checker in `fixed`: what waits for a broker that was removed is lost with the controller, and the topic is gone."""

OLD_RECORDS_SERVED = claiming(
    "zookeeper/old-records-served",
    "a property that no Kafka up to 2.7 satisfies: a new topic has no records of one of its name that was reassigned and deleted",
    OLD_RECORDS_ARE_NOT_SERVED,
    "recreation_of_reassigned",
)
"""Found by a soak of the implementation, then by the checker in `fixed`: a stray replica is taken for one of the new topic. Topic
ids (2.8, KIP-516) refuse it."""

CLAIMS = (
    OLD_LEADER_WITHOUT_SUCCESSOR,
    ISR_COMMITTED,
    READERS_GO_BACK,
    ADDED_WHILE_GONE,
    STRAY_OF_DELETED_TOPIC,
    OLD_RECORDS_SERVED,
)

_NF = {family.name: family.normal_form for family in CONTROL}


def _reaches(spec: Spec) -> Check:
    bounds = spec.bound_sets[0].name
    return Check(spec.name, bounds, why=f"{spec.summary}, or the other checks prove little", everything=True)


def _holds(spec: Spec, bounds: str) -> Check:
    return Check(spec.name, bounds, why=spec.summary, normal_form=_NF[bounds])


def _broken(spec: Spec, bounds: str, traces: Mapping[str, int]) -> Check:
    return Check(spec.name, bounds, "violated", traces, why=spec.summary, not_tested=WHILE_ZERO)


CHECKS: tuple[Check, ...] = (
    _reaches(REACHED),
    _reaches(LOGS_REACHED),
    _holds(ISR_COMMITTED, "two_records"),
    _holds(ISR_COMMITTED, "expired_leader"),
    _holds(ISR_COMMITTED, "unclean_zombie"),
    _broken(OLD_LEADER_WITHOUT_SUCCESSOR, "crash_and_expiry", {"OldLeadersStop": 13}),
    _broken(READERS_GO_BACK, "two_records", {"NewestHighWatermarkNeverGoesBack": 9}),
    _broken(ADDED_WHILE_GONE, "expired_leader", {"AddedToIsrIsUp": 5}),
    _broken(ADDED_WHILE_GONE, "leader_shuts_down", {"AddedToIsrIsUp": 7}),
    _broken(STRAY_OF_DELETED_TOPIC, "deletion_and_reassignment_bounce", {"NothingIsLeftOfReassigned": 30}),
    _broken(OLD_RECORDS_SERVED, "recreation_of_reassigned", {"OldRecordsAreNotServed": 33}),
)
"""The goals that must be reached, a further property of `fixed`, and properties that no Kafka satisfies, with their traces."""
