"""`fixed`, the model of the control plane that satisfies every property: its rules, its machines, its decisions.

It is Kafka 2.8 at inter.broker.protocol 2.6, which writes the ISR through ZooKeeper, with a fix for each bug that is a case in
cases/, including those that the checker found; of the fix of
KAFKA-14140 only the leader's half is here (see ADDED_WHILE_GONE in goal_models.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from kafka_spec.spec.case import decisions_of, unreachable
from kafka_spec.spec.decisions.variants import (
    AddedDuringDeletion,
    Checked,
    ControllerElection,
    DeletionThread,
    EpochWatch,
    Reassignment,
    Truncation,
)
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.vocabulary.table import Decision, Spec, anywhere
from kafka_spec.spec.zookeeper import additions, broker, controller, deletion, environment, initial_states
from kafka_spec.spec.zookeeper.abstractions import ABSTRACTIONS
from kafka_spec.spec.zookeeper.bounds import DELETIONS, IMBALANCE, LATE_STOPS, MIN_ISR, NO_DELETION, REPLICAS, SETTLED, UNCLEAN
from kafka_spec.spec.zookeeper.cases import CASES
from kafka_spec.spec.zookeeper.families import CONTROL
from kafka_spec.spec.zookeeper.machines import CONTROLLER, ROLE
from kafka_spec.spec.zookeeper.normal_form import NORMAL_FORM
from kafka_spec.spec.zookeeper.properties.assignment import ASSIGNMENTS, REASSIGNMENT_ENDS
from kafka_spec.spec.zookeeper.properties.deletion import DELETION, DELETION_ENDS
from kafka_spec.spec.zookeeper.properties.durability import DURABILITY
from kafka_spec.spec.zookeeper.properties.liveness import PROGRESS
from kafka_spec.spec.zookeeper.properties.safety import RECOVERS, SAFETY
from kafka_spec.spec.zookeeper.rows import bound_to
from kafka_spec.spec.zookeeper.state import World

DECISIONS: tuple[Decision, ...] = decisions_of(CASES)
"""The decisions of all cases, with their values in `fixed`."""

NEEDS: Mapping[str, tuple[str, enum.IntEnum]] = {
    "ElectController": ("controller_election", ControllerElection.ONE_MULTI),
    "CreateControllerZnode": ("controller_election", ControllerElection.TWO_STEPS),
    "IncrementControllerEpoch": ("controller_election", ControllerElection.TWO_STEPS),
    "ControllerMoved": ("controller_writes_fenced", Checked.YES),
    "TruncateToLeader": ("truncation", Truncation.DIVERGENCE),
    "AdoptEpoch": ("epoch_watch", EpochWatch.ADOPTED),
    "RunDeletionThread": ("deletion_thread", DeletionThread.RUNS),
    "UpdateMetadataAgain": ("broker_epoch_checked", Checked.NO),
    "Reassign": ("reassignment", Reassignment.KIP_455),
    "CancelReassignment": ("reassignment", Reassignment.KIP_455),
    "SupplantReassignment": ("reassignment", Reassignment.KIP_455),
    "UncleanElection": ("reassignment", Reassignment.KIP_455),
    "RefusePartition": ("added_during_deletion", AddedDuringDeletion.REFUSED),
    "RestoreAssignment": ("added_during_deletion", AddedDuringDeletion.REFUSED),
}
"""Rules that need one value of a decision: a version with another value cannot reach them."""


FIXED = Spec(
    "zookeeper/fixed",
    "Kafka 2.8 with the ISR in ZooKeeper, and a fix for each bug that is a switch",
    World,
    rules=(*controller.RULES, *broker.RULES, *environment.RULES, *deletion.RULES, *additions.RULES),
    properties=(*SAFETY, *ASSIGNMENTS, *DURABILITY, *DELETION, RECOVERS, *PROGRESS, REASSIGNMENT_ENDS, DELETION_ENDS),
    start=initial_states.START,
    more_bounds=(REPLICAS, UNCLEAN, MIN_ISR, SETTLED, NO_DELETION, IMBALANCE),
    decisions=DECISIONS,
    machines=(bound_to(PARTITION), bound_to(REPLICA), bound_to(REASSIGNMENT), CONTROLLER, ROLE, TOPIC_DELETION),
    abstractions=ABSTRACTIONS,
    bound_sets=CONTROL,
    unreachable_rules=unreachable(DECISIONS, NEEDS),
    normal_form=NORMAL_FORM,
    normal_form_without=(DELETIONS, LATE_STOPS),
    fairness="weak each",  # each broker, controller and channel gets its turn
    final=anywhere,  # a quiet cluster waits for its environment; that the protocol gets there is what RECOVERS and PROGRESS claim
    reference="facts about Apache Kafka 2.8.2 at inter.broker.protocol 2.6",
)
