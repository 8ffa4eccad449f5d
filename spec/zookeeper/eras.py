"""The eras of Kafka with ZooKeeper, each `fixed` with the cases of its release, and the models and checks of this world."""

from __future__ import annotations

from kafka_spec.spec.case import Era, Shown, Suite
from kafka_spec.spec.untested import ISR_COMPLETE, NO_LEADER_MISSING, WHILE_ZERO
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.cases import CASES
from kafka_spec.spec.zookeeper.families import CONTROL
from kafka_spec.spec.zookeeper.fixed import FIXED, NEEDS
from kafka_spec.spec.zookeeper.goal_models import CLAIMS, LOGS_REACHED, REACHED

ERAS: tuple[Era, ...] = (
    Era(
        "era_2_8",
        "Kafka 2.8.2 at inter.broker.protocol 2.6",
        "2.8.2",
        (
            Shown("reassigned_twice", {"IsrAssigned": 12, "NoStrayReplica": 16, "Recovers": 7}),
            Shown("everyday"),
            Shown("expired_leader", {"QuietLeaderIsRegistered": 11, "Recovers": 9, "LeaderIsElected": 11}),
            Shown("leader_shuts_down", {"QuietLeadersAreOfNewestEpoch": 17}),
            Shown("late_fetch", {"Committed": 15, "AcknowledgedKept": 15, "ReadsNeverGoBack": 15}),
            Shown("unanswered_expansion"),
        ),
    ),
    Era(
        "era_0_10",
        "Kafka 0.10.2",
        "0.10.2",
        (
            Shown(
                "reassigned_bounce",
                {
                    "NoStrayReplica": 20,
                    "ReassignmentEnds": 10,
                    "NoStaleRequest": 7,
                    "WriterKnowsWhatItWrote": 5,
                    "QuietReplicasKnowTheEpoch": 2,
                    "QuietLeadersAreOfNewestEpoch": 20,
                    "AssignmentsAgree": 2,
                    "LeaderAssigned": 20,
                    "Recovers": 2,
                    "ReplicasLearn": 2,
                    "IsrGrowsBack": 10,
                },
                cannot_test=(NO_LEADER_MISSING,),
            ),
            Shown("unanswered_expansion", {"Committed": 9, "LogMatch": 13, "ReadsNeverGoBack": 9, "AcknowledgedKept": 9}),
            Shown(
                "restart_unseen",
                {
                    "NoStaleRequest": 3,
                    "Committed": 13,
                    "QuietReplicasKnowTheEpoch": 2,
                    "AssignmentsAgree": 2,
                    "AcknowledgedKept": 13,
                    "ReadsNeverGoBack": 13,
                    "Recovers": 2,
                    "ReplicasLearn": 2,
                },
                cannot_test=(ISR_COMPLETE,),
            ),
            Shown(
                "everyday",
                {
                    "NoStaleRequest": 5,
                    "OneWriter": 6,
                    "HolderHasNewestEpoch": 7,
                    "DeadStayOutOfIsr": 7,
                    "QuietLeaderIsRegistered": 12,
                    "QuietReplicasKnowTheEpoch": 2,
                    "QuietLeadersAreOfNewestEpoch": 11,
                    "AssignmentsAgree": 2,
                    "LeaderCountsIsr": 13,
                    "Recovers": 2,
                    "LeaderIsElected": 12,
                    "ReplicasLearn": 11,
                    "IsrGrowsBack": 5,
                },
            ),
            Shown(
                "leader_shuts_down",
                {
                    "NoStaleRequest": 6,
                    "QuietLeaderIsRegistered": 11,
                    "QuietReplicasKnowTheEpoch": 2,
                    "QuietLeadersAreOfNewestEpoch": 11,
                    "Recovers": 2,
                    "AssignmentsAgree": 2,
                    "LeaderCountsIsr": 13,
                    "LeaderIsElected": 12,
                    "ReplicasLearn": 11,
                    "IsrGrowsBack": 5,
                },
            ),
            Shown(
                "late_fetch",
                {
                    "NoStaleRequest": 11,
                    "DeadStayOutOfIsr": 8,
                    "Committed": 17,
                    "QuietLeaderIsRegistered": 10,
                    "QuietReplicasKnowTheEpoch": 3,
                    "Recovers": 3,
                    "AssignmentsAgree": 3,
                    "AcknowledgedKept": 17,
                    "LeaderCountsIsr": 15,
                    "ReadsNeverGoBack": 17,
                    "LeaderIsElected": 10,
                    "ReplicasLearn": 3,
                    "IsrGrowsBack": 5,
                },
            ),
            Shown(
                "failed_failover",
                {
                    "NoStaleRequest": 7,
                    "OneWriter": 9,
                    "HolderHasNewestEpoch": 6,
                    "ControllerKeepsItsZnode": 6,
                    "DeadStayOutOfIsr": 16,
                    "QuietLeaderIsRegistered": 13,
                    "QuietReplicasKnowTheEpoch": 12,
                    "QuietLeadersAreOfNewestEpoch": 16,
                    "Recovers": 8,
                    "AssignmentsAgree": 12,
                    "LeaderCountsIsr": 20,
                    "LeaderIsElected": 13,
                    "ReplicasLearn": 12,
                    "IsrGrowsBack": 17,
                },
            ),
            Shown(
                "lone_replica",
                {
                    "IsrNeverEmpty": 5,
                    "QuietLeaderIsRegistered": 7,
                    "QuietReplicasKnowTheEpoch": 3,
                    "AssignmentsAgree": 3,
                    "Recovers": 2,
                    "ReplicasLearn": 3,
                },
            ),
        ),
    ),
)
"""2.8.2 has the cases that ZooKeeper's Kafka still has, and what came after 2.0; 0.10.2 those of the first controllers. KAFKA-6361
is a flaw of a later truncation: 0.10.2 drops everything above the high watermark. Its elections for dead leaders never replace one
that shuts down."""

SUITE = Suite(FIXED, CASES, ERAS, CONTROL, WHILE_ZERO, needs=NEEDS)

ERA_2_8, ERA_0_10 = map(SUITE.spec_of, ERAS)

SPECS: tuple[Spec, ...] = (FIXED, REACHED, LOGS_REACHED, ERA_2_8, ERA_0_10, *map(SUITE.spec_with, SUITE.expressed), *CLAIMS)
"""All versions of the control plane."""
