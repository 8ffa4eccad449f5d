"""The eras of the quorum: releases of Kafka, each `fixed` with the cases of its release; the models and checks.

Voters change from 3.9 on (KIP-853), and pre-votes came with 4.0 (KIP-996): the bounds of the families say whether there are any.
"""

from __future__ import annotations

from kafka_spec.spec.case import Era, Shown, Suite
from kafka_spec.spec.quorum.cases import BEFORE_FLUSH, CASES, VOTERS_SKIPPED
from kafka_spec.spec.quorum.families import CANNOT_TEST, QUORUM_FAMILIES
from kafka_spec.spec.quorum.fixed import FIXED
from kafka_spec.spec.quorum.one_list import ONE_LIST
from kafka_spec.spec.quorum.public.versions import SPECS as PUBLIC
from kafka_spec.spec.vocabulary.table import Spec

ERAS: tuple[Era, ...] = (
    Era("era_3_3", "Kafka 3.3: the voters are configured", "3.3.0", (Shown("one", BEFORE_FLUSH), Shown("crashes"))),
    Era(
        "era_3_9",
        "Kafka 3.9: voters are added and removed",
        "3.9.0",
        (
            Shown("one", BEFORE_FLUSH),
            Shown("two_removals", VOTERS_SKIPPED),
            Shown("snapshots", {"SnapshotsAreLoaded": 18}),
            Shown("snapshot_and_remove", {"VotersFollowLog": 14, "SnapshotsHaveVoters": 16}),
        ),
    ),
    Era(
        "era_4_3",
        "Kafka 4.3: controllers ask for pre-votes",
        "4.3.0",  # and 4.4
        (
            Shown("one", BEFORE_FLUSH),
            Shown("pre_votes"),
            Shown("remove", {"VotersFollowLog": 18}),
            Shown("replace"),
            Shown("two_to_one", {"LeaderCanBeElected": 11}),
        ),
    ),
)

SUITE = Suite(FIXED, CASES, ERAS, QUORUM_FAMILIES, CANNOT_TEST, everything=True)

SPECS: tuple[Spec, ...] = (FIXED, *SUITE.specs(), ONE_LIST, *PUBLIC)
"""All versions of the quorum, what they implement, and the public models."""
