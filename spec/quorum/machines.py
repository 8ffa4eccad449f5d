"""The machine of the quorum: what a node is in its epoch. Whether it is a voter or an observer is another question."""

from __future__ import annotations

import enum

from kafka_spec.spec.vocabulary.table import Machine, Row


class QuorumRole(enum.IntEnum):
    """What a node is in its epoch."""

    UNATTACHED = 0
    """It has no leader to fetch from."""
    PROSPECTIVE = 1
    """It asks whether others would vote for it (KIP-996)."""
    CANDIDATE = 2
    """It has voted for itself, and asks for votes."""
    LEADER = 3
    FOLLOWER = 4
    RESIGNED = 5
    """It led this epoch, and neither writes nor votes in it any more."""


UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, FOLLOWER, RESIGNED = QuorumRole
EVERY = tuple(QuorumRole)
SOURCE = "Kafka 4.3 QuorumState."

QUORUM = Machine(
    "Quorum",
    QuorumRole,
    UNATTACHED,
    (
        Row(
            "ask_for_pre_votes",
            (UNATTACHED, CANDIDATE, FOLLOWER),
            PROSPECTIVE,
            reference=SOURCE + "transitionToProspective",
        ),
        Row(
            "stand",
            (UNATTACHED, PROSPECTIVE, CANDIDATE, FOLLOWER, RESIGNED),
            CANDIDATE,
            reference=SOURCE
            + "transitionToCandidate; of one that has resigned: initialize, if it is the only voter; Kafka 3.9 pollResigned",
        ),
        Row("win", (CANDIDATE,), LEADER, reference=SOURCE + "transitionToLeader"),
        Row("resign", (LEADER,), RESIGNED, reference=SOURCE + "transitionToResigned"),
        Row("follow", EVERY, FOLLOWER, reference=SOURCE + "transitionToFollower"),
        Row("detach", EVERY, UNATTACHED, reference=SOURCE + "transitionToUnattached"),
        Row("restart_as_resigned", EVERY, RESIGNED, reference=SOURCE + "initialize", kind="initialisation"),
        Row("restart_as_candidate", EVERY, CANDIDATE, reference=SOURCE + "initialize", kind="initialisation"),
        Row("restart_as_leader", EVERY, LEADER, reference="Kafka 2.6 QuorumState.initialize (KAFKA-10527)", kind="initialisation"),
    ),
    entity=("node",),
    reference="Kafka 4.3 QuorumState.java",
)
"""A node's role in its epoch. A leader never becomes a candidate, and nothing leads back to the leadership of an epoch."""
