"""The functions of the guard and effect names of the three tables in the control plane's model: one function for each name.

The implementation binds the same names to methods (impl/machine.py). A name of a row without a function here is an error when a
spec is declared; a test finds functions here that no row names.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.spec.language import Function
from kafka_spec.spec.vocabulary.table import Machine
from kafka_spec.spec.zookeeper.controller import knowledge, partition_rows, reassignment_rows, replica_rows

GUARDS = (
    knowledge.leadership_is_known,
    knowledge.cached_leader_is_live,
    partition_rows.an_assigned_replica_is_live,
    partition_rows.state_znode_is_absent,
    partition_rows.no_newer_controller_wrote,
    partition_rows.a_leader_can_be_elected,
    replica_rows.replica_is_live,
    replica_rows.replica_is_cached_leader,
    replica_rows.replica_is_assigned,
    replica_rows.isr_contains_replica,
    replica_rows.leaderless_replicas_go_offline,
    reassignment_rows.topic_znode_records_reassignments,
    reassignment_rows.plan_gives_way,
    reassignment_rows.plan_ends_with_reassignment,
    reassignment_rows.assignment_is_target,
    reassignment_rows.assignment_is_under_way,
    reassignment_rows.target_is_reached,
    reassignment_rows.completion_may_go_on,
    reassignment_rows.end_is_announced,
    reassignment_rows.leader_has_to_move_to_target,
)
EFFECTS = (
    partition_rows.create_state_znode,
    partition_rows.send_leader_and_isr_to_first_isr,
    partition_rows.write_elected_leader_and_isr,
    partition_rows.send_leader_and_isr_to_recipients,
    replica_rows.send_leader_and_isr_to_replica,
    replica_rows.send_stop_replica,
    replica_rows.send_stop_replica_with_delete,
    replica_rows.remove_replica_from_assignment,
    replica_rows.send_update_metadata,
    replica_rows.write_isr_without_replica,
    replica_rows.send_leader_and_isr_to_other_replicas,
    replica_rows.refresh_leadership,
    replica_rows.send_stop_replica_with_delete,
    replica_rows.remove_replica_from_assignment,
    replica_rows.append_replica_to_assignment,
    replica_rows.send_leader_and_isr_to_new_replica,
    reassignment_rows.write_assignment_under_way,
    reassignment_rows.write_enlarged_assignment,
    reassignment_rows.write_next_leader_epoch,
    reassignment_rows.send_leader_and_isr_to_assigned_replicas,
    reassignment_rows.create_new_replicas,
    reassignment_rows.put_new_replicas_online,
    reassignment_rows.adopt_target,
    reassignment_rows.announce_target,
    reassignment_rows.elect_leader_of_target,
    reassignment_rows.send_leader_and_isr_of_completion,
    reassignment_rows.delete_replicas_outside_assignment,
    reassignment_rows.write_target_assignment,
    reassignment_rows.delete_admin_reassignment,
    reassignment_rows.forget_target,
)

FUNCTIONS: Mapping[str, Function] = {function.__name__: function for function in (*GUARDS, *EFFECTS)}
"""Guards and effects by their names in the rows."""


def bound_to(machine: Machine) -> Machine:
    """Return a table with its guards and effects bound to the functions of those names."""
    return machine.bind(FUNCTIONS)
