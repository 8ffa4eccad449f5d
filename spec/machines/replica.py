"""REPLICA: Kafka's replica state machine, one table, and what it was in 0.10.

Guards and effects are names, which a model binds to functions and an implementation to methods. Each controller has one machine
for each replica of a partition. A trigger is the state that the controller requests, in snake case; Kafka logs an attempt that no
row allows as an error and keeps the state (ReplicaStateMachine.logInvalidTransition).

Source: Kafka 2.8 and 0.10 ReplicaStateMachine.scala. Kafka's comments there are stale in two places; the rows follow the code.
"""

from __future__ import annotations

import dataclasses
import enum

from kafka_spec.spec.vocabulary.table import Machine, Row

SOURCE = "Kafka 2.8 ReplicaStateMachine.doHandleStateChanges"


class ReplicaState(enum.IntEnum):
    """The state of a replica in a controller."""

    NON_EXISTENT = 0
    """It was deleted, or never created."""
    NEW = 1
    """Created by topic creation or reassignment; it may only become a follower."""
    ONLINE = 2
    """Started and part of the assignment; it may lead or follow."""
    OFFLINE = 3
    """Its broker, or its log directory, is down."""
    DELETION_STARTED = 4
    """Its broker was asked to delete it."""
    DELETION_SUCCESSFUL = 5
    """Its broker answered that it is deleted."""
    DELETION_INELIGIBLE = 6
    """Its deletion failed, or cannot be tried; also the seed of a dead replica at start-up."""


NON_EXISTENT, NEW, ONLINE, OFFLINE, DELETION_STARTED, DELETION_SUCCESSFUL, DELETION_INELIGIBLE = ReplicaState

LED = ("leadership_is_known", "no_newer_controller_wrote")
IN_ISR = ("isr_contains_replica",)
REMOVAL = ("send_stop_replica", "write_isr_without_replica", "send_leader_and_isr_to_other_replicas")
NO_REMOVAL = ("send_stop_replica", "refresh_leadership", "send_leader_and_isr_to_other_replicas")

INELIGIBLE_WITHOUT_START = Row(
    "replica_deletion_ineligible",
    (OFFLINE,),
    DELETION_INELIGIBLE,
    reference=f"{SOURCE}: case ReplicaDeletionIneligible; 1.x and older have not got it",
)
"""The pair that 0.10 has not: a deletion that cannot start, since the broker is dead."""

REPLICA = Machine(
    "Replica",
    ReplicaState,
    NON_EXISTENT,
    (
        Row(
            "new_replica",
            (NON_EXISTENT,),
            NEW,
            guards=("leadership_is_known",),
            unless=("replica_is_cached_leader",),
            effects=("send_leader_and_isr_to_new_replica",),
            reference=f"{SOURCE}: case NewReplica",
        ),
        Row("new_replica", (NON_EXISTENT,), NEW, unless=("leadership_is_known",), reference=f"{SOURCE}: case NewReplica"),
        Row("online_replica", (NEW,), ONLINE, guards=("replica_is_assigned",), reference=f"{SOURCE}: case OnlineReplica"),
        Row(
            "online_replica",
            (NEW,),
            ONLINE,
            unless=("replica_is_assigned",),
            effects=("append_replica_to_assignment",),
            reference=f"{SOURCE}: case OnlineReplica, an error line in 2.8, the normal way in 0.10",
        ),
        Row(
            "online_replica",
            (ONLINE, OFFLINE, DELETION_INELIGIBLE),
            ONLINE,
            guards=("leadership_is_known",),
            effects=("send_leader_and_isr_to_replica",),
            reference=f"{SOURCE}: case OnlineReplica",
        ),
        Row(
            "online_replica",
            (ONLINE, OFFLINE, DELETION_INELIGIBLE),
            ONLINE,
            unless=("leadership_is_known",),
            reference=f"{SOURCE}: case OnlineReplica",
        ),
        Row(
            "offline_replica",
            (NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE),
            OFFLINE,
            guards=(*LED, *IN_ISR),
            effects=REMOVAL,
            reference=f"{SOURCE}: case OfflineReplica, removeReplicasFromIsr",
        ),
        Row(
            "offline_replica",
            (NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE),
            OFFLINE,
            guards=LED,
            unless=IN_ISR,
            effects=NO_REMOVAL,
            reference=f"{SOURCE}: case OfflineReplica, doRemoveReplicasFromIsr: partitionsWithoutReplicaInIsr",
        ),
        Row(
            "offline_replica",
            (ONLINE, OFFLINE, DELETION_INELIGIBLE),
            OFFLINE,
            guards=("leaderless_replicas_go_offline",),
            unless=("leadership_is_known",),
            effects=("send_stop_replica", "send_update_metadata"),
            reference=f"{SOURCE}: case OfflineReplica, partitionsWithoutLeadership (KAFKA-6650)",
        ),
        Row(
            "offline_replica",
            (NEW,),
            OFFLINE,
            guards=("leaderless_replicas_go_offline",),
            unless=("leadership_is_known",),
            effects=("send_stop_replica", "send_update_metadata"),
            reference=f"{SOURCE}: case OfflineReplica",
        ),
        Row(
            "replica_deletion_started",
            (OFFLINE,),
            DELETION_STARTED,
            effects=("send_stop_replica_with_delete",),
            reference=f"{SOURCE}: case ReplicaDeletionStarted",
        ),
        INELIGIBLE_WITHOUT_START,
        Row(
            "replica_deletion_ineligible",
            (DELETION_STARTED,),
            DELETION_INELIGIBLE,
            reference=f"{SOURCE}: case ReplicaDeletionIneligible",
        ),
        Row(
            "replica_deletion_successful",
            (DELETION_STARTED,),
            DELETION_SUCCESSFUL,
            reference=f"{SOURCE}: case ReplicaDeletionSuccessful",
        ),
        Row(
            "non_existent_replica",
            (DELETION_SUCCESSFUL,),
            NON_EXISTENT,
            effects=("remove_replica_from_assignment",),
            reference=f"{SOURCE}: case NonExistentReplica",
        ),
        Row(
            "startup",
            (NON_EXISTENT,),
            ONLINE,
            guards=("replica_is_live",),
            reference="Kafka 2.8 ReplicaStateMachine.initializeReplicaState",
            kind="initialisation",
        ),
        Row(
            "startup",
            (NON_EXISTENT,),
            DELETION_INELIGIBLE,
            unless=("replica_is_live",),
            reference="Kafka 2.8 ReplicaStateMachine.initializeReplicaState: so that a deletion it hinders is known as hindered",
            kind="initialisation",
        ),
        Row(
            "shutdown",
            tuple(ReplicaState),
            NON_EXISTENT,
            reference="Kafka 2.8 ReplicaStateMachine.shutdown",
            kind="initialisation",
        ),
    ),
    entity=("controller", "partition", "replica"),
    reference="Kafka 2.8 ReplicaStateMachine.scala:36-491, ReplicaState.validPreviousStates",
    era="2.8",
)
"""The table of 2.8: fourteen legal pairs."""

REPLICA_0_10 = dataclasses.replace(
    REPLICA,
    rows=tuple(row for row in REPLICA.rows if row is not INELIGIBLE_WITHOUT_START),
    reference="Kafka 0.10.2 ReplicaStateMachine.scala:60-400",
    era="0.10",
)
"""The table of 0.10: thirteen legal pairs; a deletion becomes ineligible only after it has started."""
