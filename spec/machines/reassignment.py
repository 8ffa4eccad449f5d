"""REASSIGNMENT: how a controller moves a partition to other brokers, as a table of steps; and how it did so up to 2.3.

Kafka has these steps as the body of one function, onPartitionReassignment. Here each state is the next step that uses ZooKeeper, so
a controller can die between any two of them, and the next one resumes. Guards and effects are names, as in the other two tables.

The *origin* of an assignment is what it was before the reassignment, the *target* what it will be. While it runs, both
are replicas. Since 2.4 (KIP-455) the topic znode says which replicas are being added and removed, so the reassignment can be
cancelled, or replaced by another. Before, /admin/reassign_partitions holds the target, and the topic znode only all replicas.

Source: Kafka 2.8 and 0.10 KafkaController.scala, onPartitionReassignment.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from kafka_spec.spec.vocabulary.table import Machine, Row

SOURCE = "Kafka 2.8 KafkaController"
OLD_SOURCE = "Kafka 0.10 KafkaController"


class ReassignmentState(enum.IntEnum):
    """The step of a controller in the reassignment of a partition: the next one, or what it waits for."""

    NONE = 0
    """No reassignment of the partition runs."""
    SUPPLANTING = 1
    """Next: the partition leaves /admin/reassign_partitions, since a request through the API takes its place."""
    RECORDING = 2
    """Next: the topic znode names the replicas of origin and target."""
    DROPPING = 3
    """Next: replicas that a former reassignment had added, and this one does not need, are taken offline and deleted."""
    EXTENDING = 4
    """Next: a new leader epoch, under which the leader and the new replicas learn all replicas."""
    WAITING = 5
    """It waits until the target is in the ISR."""
    MOVING_LEADER = 6
    """Next: a new leader epoch, under which a replica of the target leads, and the target learns that it is all replicas."""
    SHRINKING = 7
    """Next: replicas outside the target are taken offline, out of the ISR, and deleted."""
    FINISHING = 8
    """Next: the topic znode names the target only."""
    CLEARING = 9
    """Next: the partition leaves /admin/reassign_partitions."""


NONE, SUPPLANTING, RECORDING, DROPPING, EXTENDING, WAITING, MOVING_LEADER, SHRINKING, FINISHING, CLEARING = ReassignmentState

KIP_455 = ("topic_znode_records_reassignments",)
"""The guard of the rows of 2.4 and later; those up to 2.3 forbid it."""

DELETE = ("delete_replicas_outside_assignment",)

COMMON = (
    Row(
        "extend",
        (EXTENDING,),
        WAITING,
        guards=("no_newer_controller_wrote",),
        effects=("write_next_leader_epoch", "send_leader_and_isr_to_assigned_replicas", "create_new_replicas"),
        reference=f"{SOURCE}.updateLeaderEpochAndSendRequest, startNewReplicasForReassignedPartition: steps A1 and A2",
    ),
    Row(
        "extend",
        (EXTENDING,),
        WAITING,
        unless=("no_newer_controller_wrote",),
        reference=f"{SOURCE}.updateLeaderEpoch: StateChangeFailedException",
    ),
    Row(
        "complete",
        (WAITING,),
        MOVING_LEADER,
        guards=("target_is_reached",),
        reference=f"{SOURCE}.processPartitionReassignmentIsrChange",
    ),
    Row(
        "move_leader",
        (MOVING_LEADER,),
        SHRINKING,
        guards=("completion_may_go_on", "leader_has_to_move_to_target"),
        effects=("put_new_replicas_online", "announce_target", "elect_leader_of_target"),
        reference=f"{SOURCE}.moveReassignedPartitionLeaderIfRequired: steps B1 to B3; a failed election is logged",
    ),
    Row(
        "move_leader",
        (MOVING_LEADER,),
        SHRINKING,
        guards=("completion_may_go_on", "end_is_announced", "no_newer_controller_wrote"),
        unless=("leader_has_to_move_to_target",),
        effects=("put_new_replicas_online", "announce_target", "write_next_leader_epoch", "send_leader_and_isr_of_completion"),
        reference=f"{SOURCE}.moveReassignedPartitionLeaderIfRequired: the leader stays, and learns the target (KAFKA-1097)",
    ),
    Row(
        "move_leader",
        (MOVING_LEADER,),
        WAITING,
        guards=("completion_may_go_on", "end_is_announced"),
        unless=("leader_has_to_move_to_target", "no_newer_controller_wrote"),
        reference=f"{SOURCE}.updateLeaderEpoch: StateChangeFailedException",
    ),
    Row(
        "move_leader",
        (MOVING_LEADER,),
        SHRINKING,
        guards=("completion_may_go_on",),
        unless=("leader_has_to_move_to_target", "end_is_announced"),
        effects=("put_new_replicas_online",),
        reference="Kafka 0.8.0 KafkaController.moveReassignedPartitionLeaderIfRequired (KAFKA-1097)",
    ),
    Row(
        "move_leader",
        (MOVING_LEADER,),
        WAITING,
        unless=("completion_may_go_on",),
        reference="the target has left the ISR again; no version up to 3.9 looks",
    ),
    Row(
        "shrink",
        (SHRINKING,),
        FINISHING,
        effects=("adopt_target", *DELETE),
        reference=f"{SOURCE}.stopRemovedReplicasOfReassignedPartition: steps B4 and B5, without waiting for an answer",
    ),
    Row(
        "finish",
        (FINISHING,),
        NONE,
        unless=("plan_ends_with_reassignment",),
        effects=("write_target_assignment", "forget_target"),
        reference=f"{SOURCE}.onPartitionReassignment: step B6",
    ),
    Row(
        "finish",
        (FINISHING,),
        CLEARING,
        guards=("plan_ends_with_reassignment",),
        effects=("write_target_assignment",),
        reference=f"{SOURCE}.onPartitionReassignment: step B6",
    ),
    Row(
        "clear",
        (CLEARING,),
        NONE,
        effects=("delete_admin_reassignment", "forget_target"),
        reference=f"{SOURCE}.removePartitionFromReassigningPartitions, maybeRemoveFromZkReassignment: step B7",
    ),
    Row("resign", tuple(ReassignmentState), NONE, reference=f"{SOURCE}.onControllerResignation", kind="initialisation"),
)
"""The rows of both histories."""

BEGUN = (NONE, WAITING)
"""A request, a fail-over, or a broker that starts begins or resumes a reassignment; since 2.4 it may replace one that runs."""


def checks(trigger: str, sources: tuple[ReassignmentState, ...], effects: tuple[str, ...], reference: str) -> tuple[Row, ...]:
    """Return the rows to the next step after the assignment is as wanted: complete if the target is in the ISR, else extend."""
    named = KIP_455 if trigger == "drop" else (*KIP_455, "assignment_is_under_way")
    return (
        Row(trigger, sources, MOVING_LEADER, guards=(*named, "target_is_reached"), effects=effects, reference=reference),
        Row(trigger, sources, EXTENDING, guards=named, unless=("target_is_reached",), effects=effects, reference=reference),
    )


def old_checks(sources: tuple[ReassignmentState, ...], unless: tuple[str, ...], reference: str) -> tuple[Row, ...]:
    """Return the rows of 0.10 to the next step: complete if the target is in the ISR, else all from the beginning."""
    no = (*KIP_455, *unless)
    return (
        Row("reassign", sources, MOVING_LEADER, guards=("target_is_reached",), unless=no, reference=reference),
        Row("reassign", sources, RECORDING, unless=(*no, "target_is_reached"), reference=reference),
    )


REASSIGNMENT = Machine(
    "Reassignment",
    ReassignmentState,
    NONE,
    (
        Row(
            "reassign_by_api",
            BEGUN,
            SUPPLANTING,
            guards=(*KIP_455, "plan_gives_way"),
            reference=f"{SOURCE}.processAlterPartitionReassignments: maybeRemoveFromZkReassignment",
        ),
        Row(
            "reassign_by_api",
            BEGUN,
            RECORDING,
            guards=KIP_455,
            unless=("plan_gives_way", "assignment_is_under_way"),
            reference=f"{SOURCE}.processAlterPartitionReassignments",
        ),
        *(
            dataclasses.replace(row, unless=(*row.unless, "plan_gives_way"))
            for row in checks("reassign_by_api", BEGUN, (), f"{SOURCE}.processAlterPartitionReassignments: target as it is")
        ),
        Row(
            "supplant",
            (SUPPLANTING,),
            RECORDING,
            guards=KIP_455,
            unless=("assignment_is_under_way",),
            effects=("delete_admin_reassignment",),
            reference=f"{SOURCE}.maybeRemoveFromZkReassignment",
        ),
        *checks("supplant", (SUPPLANTING,), ("delete_admin_reassignment",), f"{SOURCE}.maybeRemoveFromZkReassignment"),
        Row(
            "reassign",
            BEGUN,
            RECORDING,
            guards=KIP_455,
            unless=("assignment_is_under_way",),
            reference=f"{SOURCE}.processZkPartitionReassignment, onPartitionReassignment",
        ),
        *checks("reassign", BEGUN, (), f"{SOURCE}.onPartitionReassignment: after a fail-over, or at a start"),
        Row(
            "record",
            (RECORDING,),
            DROPPING,
            guards=KIP_455,
            effects=("write_assignment_under_way",),
            reference=f"{SOURCE}.updateCurrentReassignment: steps U1 and U2",
        ),
        *checks("drop", (DROPPING,), DELETE, f"{SOURCE}.updateCurrentReassignment: step U3"),
        Row(
            "reassign",
            (NONE,),
            CLEARING,
            guards=("assignment_is_target",),
            unless=KIP_455,
            reference=f"{OLD_SOURCE}.initiateReassignReplicasForTopicPartition: already assigned",
        ),
        *old_checks((NONE,), ("assignment_is_target",), f"{OLD_SOURCE}.onPartitionReassignment"),
        *old_checks((WAITING,), (), f"{OLD_SOURCE}.onBrokerStartup: a broker of the target"),
        Row(
            "record",
            (RECORDING,),
            EXTENDING,
            unless=KIP_455,
            effects=("write_enlarged_assignment",),
            reference=f"{OLD_SOURCE}.updateAssignedReplicasForPartition: step 1",
        ),
        *COMMON,
    ),
    entity=("controller", "partition"),
    reference="Kafka 2.8 KafkaController.scala:651-800, 958-1086, 1834-2000 (KIP-455); Kafka 0.10: 531-654, 880-975",
)
"""Both histories; a guard says which rows are of which."""


def history(era: str, of_era: Callable[[Row], bool]) -> Machine:
    """Return the table of one history: its rows, and the states that they reach, without the guard that distinguishes the two."""
    rows = [row for row in REASSIGNMENT.rows if of_era(row)]
    reached = {NONE} | {row.target for row in rows}
    states = enum.IntEnum("ReassignmentState", {state.name: int(state) for state in ReassignmentState if state in reached})  # type: ignore[misc]

    def translated(row: Row) -> Row:
        return dataclasses.replace(
            row,
            sources=tuple(states(source) for source in row.sources if source in reached),
            target=states(row.target),
            guards=tuple(guard for guard in row.guards if guard not in KIP_455),
            unless=tuple(guard for guard in row.unless if guard not in KIP_455),
        )

    return dataclasses.replace(REASSIGNMENT, states=states, initial=states(NONE), rows=tuple(map(translated, rows)), era=era)


REASSIGNMENT_2_8 = history("2.8", lambda row: KIP_455[0] not in row.unless)
"""The reassignment of 2.4 and later alone, for pictures and for programs that need no other."""

REASSIGNMENT_0_10 = history("0.10", lambda row: KIP_455[0] not in row.guards)
"""The twelve steps of 0.10 alone: nothing can be cancelled, and no step drops replicas."""
