"""The subjects, in the order in which they are compared: pure ones first."""

from __future__ import annotations

from kafka_spec.conformance.kafka_classes import (
    assignments,
    checkpoints,
    control_events,
    elections,
    epochs,
    gates,
    kraft_changes,
    kraft_partition,
    kraft_proposals,
    kraft_reassignments,
    kraft_records,
    kraft_requests,
    kraft_states,
    logs,
    predecessors,
    raft_walks,
    state_machines,
    znodes,
)
from kafka_spec.conformance.kafka_classes.comparison import Subject

SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        predecessors.SUBJECT,
        elections.SUBJECT,
        assignments.SUBJECT,
        znodes.SUBJECT,
        epochs.SUBJECT,
        checkpoints.SUBJECT,
        logs.SUBJECT,
        state_machines.SUBJECT,
        gates.SUBJECT,
        control_events.DELETION,
        control_events.REASSIGNMENT,
        kraft_changes.SUBJECT,
        kraft_proposals.SUBJECT,
        kraft_reassignments.SUBJECT,
        kraft_requests.SUBJECT,
        kraft_states.SUBJECT,
        kraft_partition.SUBJECT,
        raft_walks.SUBJECT,
        kraft_records.SUBJECT,
    )
}
