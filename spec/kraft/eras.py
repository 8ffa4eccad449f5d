"""The eras of KRaft, releases of Kafka by metadata version, each `fixed` with the cases of its release; the models and checks."""

from __future__ import annotations

from kafka_spec.spec.case import Era, Shown, Suite
from kafka_spec.spec.kraft.cases import CASES
from kafka_spec.spec.kraft.families import KRAFT
from kafka_spec.spec.kraft.family_base import ELR_EMPTY, NO_UNCLEAN_ELECTION
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.kraft.public.versions import SPECS as PUBLIC
from kafka_spec.spec.untested import WHILE_ZERO
from kafka_spec.spec.vocabulary.table import Spec

WITHOUT_ELR = (ELR_EMPTY, NO_UNCLEAN_ELECTION)
"""What no era without eligible leader replicas can test."""

ERAS: tuple[Era, ...] = (
    Era(
        "era_3_3",
        "Kafka 3.3 at its own metadata version",
        "3.3.0",
        (
            Shown("two_fences"),
            Shown(
                "fence_and_crash",
                {"LeaderIsActive": 3, "IsrIsActive": 3, "JoinsInItsProcess": 10, "Recovers": 9, "RecordsAreCommitted": 12},
            ),
            Shown(
                "rejoin_lossy",
                {
                    "LeaderIsActive": 4,
                    "CandidatesHoldCommitted": 4,
                    "Committed": 4,
                    "IsrIsActive": 6,
                    "JoinsInItsProcess": 8,
                    "Recovers": 6,
                    "RecordsAreCommitted": 9,
                },
            ),
            Shown(
                "lossy_and_fence",
                {"LeaderIsActive": 4, "IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 6, "JoinsInItsProcess": 12},
            ),
        ),
        cannot_test=WITHOUT_ELR,
    ),
    Era(
        "era_3_5",
        "Kafka 3.5 at its own metadata version",
        "3.5.0",
        (
            Shown(
                "rejoin_lossy",
                {
                    "LeaderIsActive": 4,
                    "CandidatesHoldCommitted": 4,
                    "Committed": 4,
                    "IsrIsActive": 6,
                    "Recovers": 6,
                    "RecordsAreCommitted": 9,
                },
            ),
            Shown("two_fences"),
            Shown("lossy_and_fence", {"LeaderIsActive": 4, "IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 6}),
            Shown(
                "delete_and_crash",
                {
                    "LeaderIsActive": 3,
                    "IsrIsActive": 3,
                    "Recovers": 5,
                    "ReplicasLearn": 8,
                    "IsrGrowsBack": 9,
                    "RecordsAreCommitted": 10,
                },
            ),
        ),
        cannot_test=WITHOUT_ELR,
    ),
    Era(
        "era_3_7",
        "Kafka 3.7 at its own metadata version",
        "3.7.0",
        (
            Shown("two_fences"),
            Shown("fence_and_crash", {"LeaderIsActive": 3, "IsrIsActive": 3, "Recovers": 8, "RecordsAreCommitted": 11}),
            Shown("lossy_and_fence", {"LeaderIsActive": 4, "IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 6}),
            Shown("three_behind", {"ReassignmentKeepsCandidates": 2}),
        ),
        cannot_test=WITHOUT_ELR,
    ),
    Era(
        "era_3_9",
        "Kafka 3.9 at its own metadata version",
        "3.9.0",
        (
            Shown("fence_and_crash", {"LeaderIsActive": 3, "IsrIsActive": 3, "Recovers": 8, "RecordsAreCommitted": 11}),
            Shown("two_shutdowns"),
            Shown("lossy_and_fence", {"LeaderIsActive": 4, "IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 6}),
        ),
        cannot_test=WITHOUT_ELR,
    ),
    Era(
        "era_4_0",
        "Kafka 4.0 at its own metadata version",
        "4.0.0",  # eligible.leader.replicas.version=1
        (
            Shown("two_crashes", {"LeaderIsActive": 6, "IsrIsActive": 6}),
            Shown("two_shutdowns"),
            Shown("lossy_and_fence"),
        ),
    ),
    Era(
        "era_4_1",
        "Kafka 4.1 at its own metadata version",
        "4.1.1",  # new clusters have eligible leader replicas
        (
            Shown("two_crashes"),
            Shown("two_shutdowns"),
            Shown("lossy_and_fence"),
            Shown("proposal_dropped", {"LeaderCountsCandidates": 9, "CandidatesHoldCommitted": 10, "Committed": 12}),
            Shown(
                "reassign_and_fence",
                {
                    "ElrBesideSmallIsr": 2,
                    "ListsNameReplicas": 2,
                    "LeaderCountsCandidates": 3,
                    "CandidatesHoldCommitted": 4,
                    "ReassignmentEndsAtTarget": 8,
                },
            ),
        ),
    ),
    Era(
        "era_4_3",
        "Kafka 4.3 at its own metadata version",
        "4.3.0",  # and 4.4
        (
            Shown(
                "three_reassign",
                {
                    "ElrBesideSmallIsr": 2,
                    "ListsNameReplicas": 2,
                    "LeaderCountsCandidates": 3,
                    "CandidatesHoldCommitted": 4,
                    "ReassignmentEndsAtTarget": 7,
                    "Committed": 16,
                    "Recovers": 3,
                    "ReassignmentEnds": 12,
                },
                tests=(ELR_EMPTY,),
            ),
            Shown(
                "raise_min_isr",
                {"SettingsKeepCandidates": 7, "LeaderCountsCandidates": 5, "CandidatesHoldCommitted": 6, "Committed": 9},
            ),
            Shown("lower_while_offline", {"SettingsKeepCandidates": 6, "Recovers": 6, "RecordsAreCommitted": 8}),
        ),
    ),
)

SUITE = Suite(FIXED, CASES, ERAS, KRAFT, WHILE_ZERO, everything=True)

SPECS: tuple[Spec, ...] = (FIXED, *SUITE.specs(), *PUBLIC)
"""All versions of KRaft."""
