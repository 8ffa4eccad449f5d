"""PARTITION: Kafka's partition state machine, one table.

Guards and effects are names, which a model binds to functions and an implementation to methods. Each controller has one machine
for each partition. A trigger is the state that the controller requests, in snake case; Kafka logs an attempt that no row allows as
an error and keeps the state (PartitionStateMachine.logInvalidTransition).

Source: Kafka 2.8 PartitionStateMachine.scala; legal pairs and order are the same in 0.10, 2.8 and 3.9.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.vocabulary.table import Machine, Row

SOURCE = "Kafka 2.8 PartitionStateMachine"


class PartitionState(enum.IntEnum):
    """The state of a partition in a controller."""

    NON_EXISTENT = 0
    """It was never created, or was created and deleted again."""
    NEW = 1
    """It has replicas assigned, and no leader and ISR yet."""
    ONLINE = 2
    """It has a leader."""
    OFFLINE = 3
    """Its leader is dead, and no other could be elected yet."""


NON_EXISTENT, NEW, ONLINE, OFFLINE = PartitionState

PARTITION = Machine(
    "Partition",
    PartitionState,
    NON_EXISTENT,
    (
        Row("new_partition", (NON_EXISTENT,), NEW, reference=f"{SOURCE}.doHandleStateChanges: case NewPartition"),
        Row(
            "online_partition",
            (NEW,),
            ONLINE,
            guards=("an_assigned_replica_is_live", "state_znode_is_absent"),
            effects=("create_state_znode", "send_leader_and_isr_to_first_isr"),
            reference=f"{SOURCE}.initializeLeaderAndIsrForPartitions",
        ),
        Row(
            "online_partition",
            (ONLINE, OFFLINE),
            ONLINE,
            guards=("no_newer_controller_wrote", "a_leader_can_be_elected"),
            effects=("write_elected_leader_and_isr", "send_leader_and_isr_to_recipients"),
            reference=f"{SOURCE}.electLeaderForPartitions",
        ),
        Row(
            "offline_partition",
            (NEW,),
            OFFLINE,
            reference=f"{SOURCE}.doHandleStateChanges: case OfflinePartition",
        ),
        Row("offline_partition", (ONLINE, OFFLINE), OFFLINE, reference=f"{SOURCE}.doHandleStateChanges: case OfflinePartition"),
        Row(
            "non_existent_partition",
            (OFFLINE,),
            NON_EXISTENT,
            reference=f"{SOURCE}.doHandleStateChanges: case NonExistentPartition",
        ),
        Row(
            "startup",
            (NON_EXISTENT,),
            NEW,
            unless=("leadership_is_known",),
            reference=f"{SOURCE}.initializePartitionState",
            kind="initialisation",
        ),
        Row(
            "startup",
            (NON_EXISTENT,),
            ONLINE,
            guards=("leadership_is_known", "cached_leader_is_live"),
            reference=f"{SOURCE}.initializePartitionState",
            kind="initialisation",
        ),
        Row(
            "startup",
            (NON_EXISTENT,),
            OFFLINE,
            guards=("leadership_is_known",),
            unless=("cached_leader_is_live",),
            reference=f"{SOURCE}.initializePartitionState",
            kind="initialisation",
        ),
        Row("shutdown", tuple(PartitionState), NON_EXISTENT, reference=f"{SOURCE}.shutdown", kind="initialisation"),
    ),
    entity=("controller", "partition"),
    reference="Kafka 2.8 PartitionStateMachine.scala:38-578, PartitionState.validPreviousStates",
    era="2.8",
)
"""The table of all eras."""
