"""The machines of KRaft: a broker's registration, where a replica stands, its role on its broker, a leader's proposal of an ISR.

Kafka's source has the first as a table of conditions (BrokerHeartbeatManager.calculateNextBrokerState) and leaves the others
implicit.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.vocabulary.table import Machine, Row


class BrokerState(enum.IntEnum):
    """The registration of a broker at the controller."""

    UNREGISTERED = 0
    FENCED = 1
    """Registered; it neither leads nor joins an ISR."""
    UNFENCED = 2
    """Active: it may lead."""
    CONTROLLED_SHUTDOWN = 3
    """It asked to stop; its leaderships move first."""


class Membership(enum.IntEnum):
    """Where the metadata log has a replica."""

    OUTSIDE = 0
    IN_ISR = 1
    IN_ELR = 2
    """Outside the ISR, and eligible as leader once the ISR is empty (KIP-966)."""


class ReplicaRole(enum.IntEnum):
    """The role of a broker's replica of the partition."""

    NONE = 0
    """Not hosted: the broker has applied no image that assigns it the partition, or has deleted its replica since."""
    FOLLOWER = 1
    LEADER = 2


class ProposalState(enum.IntEnum):
    """A leader's proposal of another ISR."""

    SETTLED = 0
    """There is none: the ISR is the committed one."""
    SENT = 1
    """It waits for the controller's answer."""
    STRANDED = 2
    """It was answered, and only the metadata log can settle it."""


UNREGISTERED, FENCED, UNFENCED, CONTROLLED_SHUTDOWN = BrokerState
OUTSIDE, IN_ISR, IN_ELR = Membership
NO_ROLE, FOLLOWER, LEADER = ReplicaRole
SETTLED, SENT, STRANDED = ProposalState

REGISTRATION = Machine(
    "Registration",
    BrokerState,
    UNREGISTERED,
    (
        Row("register", tuple(BrokerState), FENCED, reference="Kafka 3.9 ClusterControlManager.registerBroker"),
        Row("unfence", (FENCED,), UNFENCED, reference="Kafka 3.9 ReplicationControlManager.handleBrokerUnfenced"),
        Row(
            "begin_controlled_shutdown",
            (UNFENCED,),
            CONTROLLED_SHUTDOWN,
            reference="Kafka 3.9 ReplicationControlManager.handleBrokerInControlledShutdown (3.3, KIP-841)",
        ),
        Row(
            "fence",
            (UNFENCED, CONTROLLED_SHUTDOWN),
            FENCED,
            reference="Kafka 3.9 ReplicationControlManager.handleBrokerFenced",
        ),
        Row(
            "unregister",
            (FENCED, UNFENCED, CONTROLLED_SHUTDOWN),
            UNREGISTERED,
            reference="Kafka 3.9 ReplicationControlManager.handleBrokerUnregistered",
        ),
    ),
    entity=("broker",),
    reference="Kafka 3.9 BrokerHeartbeatManager.java, ClusterControlManager.java",
)
"""The life of a broker, as the controller has it."""

MEMBERSHIP = Machine(
    "Membership",
    Membership,
    OUTSIDE,
    (
        Row(
            "join_isr",
            (OUTSIDE, IN_ELR),
            IN_ISR,
            reference="Kafka 3.9 PartitionChangeBuilder: the leader's proposal, or an election",
        ),
        Row("leave_isr", (IN_ISR,), OUTSIDE, reference="Kafka 3.9 PartitionChangeBuilder.build"),
        Row("keep_eligible", (IN_ISR,), IN_ELR, reference="Kafka 4.0 PartitionChangeBuilder.populateTargetElr (KIP-966)"),
        Row("leave_elr", (IN_ELR,), OUTSIDE, reference="Kafka 4.0 PartitionChangeBuilder.populateTargetElr (KIP-966)"),
    ),
    entity=("broker",),
    reference="Kafka 4.0 PartitionChangeBuilder.java",
)
"""The membership of a replica. No row leads from outside into the ELR: a replica that lacks committed records never gets in."""

REPLICA_ROLE = Machine(
    "ReplicaRole",
    ReplicaRole,
    NO_ROLE,
    (
        Row("become_leader", (NO_ROLE, FOLLOWER, LEADER), LEADER, reference="Kafka 3.9 Partition.makeLeader"),
        Row("become_follower", (NO_ROLE, FOLLOWER, LEADER), FOLLOWER, reference="Kafka 3.9 Partition.makeFollower"),
        Row("stop", tuple(ReplicaRole), NO_ROLE, reference="the process ends, or the replica is deleted", kind="initialisation"),
    ),
    entity=("broker",),
    reference="Kafka 3.9 Partition.scala",
)
"""The role of a replica on its broker."""

PROPOSAL = Machine(
    "Proposal",
    ProposalState,
    SETTLED,
    (
        Row("propose", (SETTLED,), SENT, reference="Kafka 3.9 Partition.prepareIsrExpand, prepareIsrShrink"),
        Row("adopt", (SENT,), SETTLED, reference="Kafka 3.9 Partition.handleAlterPartitionUpdate"),
        Row("roll_back", (SENT,), SETTLED, reference="Kafka 3.9 Partition.handleAlterPartitionError: INELIGIBLE_REPLICA"),
        Row("strand", (SENT,), STRANDED, reference="Kafka 3.9 Partition.handleAlterPartitionError: INVALID_UPDATE_VERSION, ..."),
        Row("supersede", (SENT, STRANDED), SETTLED, reference="Kafka 3.9 Partition.makeLeader, makeFollower"),
        Row("stop", tuple(ProposalState), SETTLED, reference="the process ends, or the replica is deleted", kind="initialisation"),
    ),
    entity=("broker",),
    reference="Kafka 3.9 Partition.scala: CommittedPartitionState, PendingExpandIsr, PendingShrinkIsr",
)
"""A leader's proposal of an ISR, from the test of a follower to the answer or the next image."""

MACHINES = (REGISTRATION, MEMBERSHIP, REPLICA_ROLE, PROPOSAL)
