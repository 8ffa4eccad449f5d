"""The eras of the control plane: releases of Kafka, each a list of bugs of bugs.py and of other differences from `fixed`."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from kafka_spec.spec.control.bugs import BUG, ON_FIXED
from kafka_spec.spec.control.claims import CLAIMS, LOGS_REACHED, REACHED
from kafka_spec.spec.control.fixed import FIXED, unreachable
from kafka_spec.spec.control.rows import bound_to
from kafka_spec.spec.decisions import DeletionThread, OfflineLeaders, Reassignment
from kafka_spec.spec.replica import REPLICA_0_10
from kafka_spec.spec.table import Machine, Spec

IN_2_8 = (
    "KAFKA-13972",
    "KAFKA-14617",
    "isr-candidate-not-alive",
    "stopping-leader-not-told",
    "no-election-after-removal",
    "re-elected-leader-remembers",
    "last-copy-deleted",
    "cancelled-replica-rejoins",
    "stray-replica",
    "leaving-replica-not-counted",
    "stop-replica-of-former-topic",
    "created-during-deletion",
    "late-deletion-answer",
    "failed-deletion-waits",
    "ineligible-name-kept",
    "deleted-while-reassigned",
)
"""The switches of 2.8.2 at inter.broker.protocol 2.6."""

IN_0_10 = (
    "KAFKA-6082-unfenced-writes",
    "KAFKA-6082-two-step-election",
    "KAFKA-6082-unconditional-delete",
    "KAFKA-7235-unseen-bounce",
    "KAFKA-7235-former-incarnation",
    "KAFKA-9539",
    "KAFKA-5083",
    "KIP-101",
    "KAFKA-7164",
    "KAFKA-7128",
    "KAFKA-7395",
    "KAFKA-14617",
    "KAFKA-3143",
    "isr-candidate-not-alive",
    "no-election-after-removal",
    "re-elected-leader-remembers",
    "unanswered-expansion-forgotten",
    "late-answer-taken",
    "expired-session-reads",
    "KAFKA-9212",
    "last-copy-deleted",
    "stray-replica",
    "leaving-replica-not-counted",
    "KAFKA-6650",
    "KAFKA-6612",
    "stop-replica-of-former-topic",
    "created-during-deletion",
    "late-deletion-answer",
    "failed-deletion-waits",
    "ineligible-name-kept",
    "deleted-while-reassigned",
)
"""The switches of 0.10.2. KIP-279 is a flaw of a later truncation; 0.10.2 drops everything above the high watermark."""


DIFFERENCES_OF_0_10: Mapping[str, enum.IntEnum] = {
    "offline_leaders": OfflineLeaders.DEAD,
    "reassignment": Reassignment.ENLARGED_ASSIGNMENT,
    "deletion_thread": DeletionThread.RUNS,
}
"""What 0.10.2 decides otherwise, and is no bug. Its elections for dead leaders never replace one that shuts down."""


def era(
    name: str,
    says: str,
    bugs: tuple[str, ...],
    differences: Mapping[str, enum.IntEnum] | None = None,
    machines: tuple[Machine, ...] = (),
) -> Spec:
    """Return `fixed` with the switches of an era, and what it decides otherwise besides."""
    switched = {name: value for bug in bugs for name, value in BUG[bug].decisions.items()}
    decisions = {**switched, **(differences or {})}
    return FIXED.replacing(name, says, decisions=decisions, machines=machines, unreachable_rules=unreachable(decisions))


ERA_2_8 = era("control/era_2_8", "Kafka 2.8.2 at inter.broker.protocol 2.6", IN_2_8)
ERA_0_10 = era("control/era_0_10", "Kafka 0.10.2", IN_0_10, DIFFERENCES_OF_0_10, (bound_to(REPLICA_0_10),))

SPECS: tuple[Spec, ...] = (FIXED, REACHED, LOGS_REACHED, ERA_2_8, ERA_0_10, *ON_FIXED, *CLAIMS)
"""All versions of the control plane."""
