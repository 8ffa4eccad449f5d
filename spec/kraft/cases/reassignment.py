"""Reassignments, cancelled and completed."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.kraft_variants import EmptiedIsr, ReassignmentCompletion, ReassignmentLists
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.cases.releases import LAST
from kafka_spec.spec.vocabulary.table import Decision

REASSIGNMENT_COMPLETION = Decision(
    "reassignment_completion", ReassignmentCompletion.ALL_IN_ISR, "when a reassignment completes (3.8, KAFKA-15665)"
)
CASES: tuple[Case, ...] = (
    Case(
        "elr-outside-replicas",
        "a broker that a reassignment removes stays in the ELR; it comes back without its log, and is elected cleanly",
        releases=("4.0", LAST),
        decides={
            Decision(
                "elr_within_replicas", Checked.YES, "who leaves the replicas leaves the ELR (no version up to 4.4)"
            ): Checked.NO
        },
        shows=(
            Shown(
                "reassign_and_fence",
                {"ElrBesideSmallIsr": 2, "ListsNameReplicas": 2, "LeaderCountsCandidates": 3, "CandidatesHoldCommitted": 4},
            ),
        ),
        seen="conformance/reproductions/elr_outside_replicas.py",
    ),
    Case(
        "stale-reassignment-lists",
        "a second request leaves a list of added or removed replicas as it is where its own would be empty: a replica "
        "that it names is removed",
        releases=("3.0", LAST),
        decides={
            Decision(
                "reassignment_lists", ReassignmentLists.ACCUMULATED, "which replicas a second request adds and removes"
            ): ReassignmentLists.KEPT_IF_EMPTY
        },
        shows=(Shown("three_reassign", {"ReassignmentEndsAtTarget": 7}),),
        seen="conformance/reproductions/reassignments_on_cluster.py",
    ),
    Case(
        "cancellation-elects-cleanly",
        "a cancellation that empties the ISR makes the first replica its member, as if it held all records, even if it is"
        " fenced; only where the topic allows unclean elections",
        releases=("3.9", LAST),  # before, no topic of KRaft allows unclean elections
        decides={Decision("emptied_isr", EmptiedIsr.REFUSED, "a cancellation that would empty the ISR"): EmptiedIsr.FIRST_REPLICA},
        shows=(
            Shown("cancel", {"IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 8}),
            Shown("three_cancel", {"Committed": 8}, alone=True, everything=False),
        ),
        seen="conformance/reproductions/reassignments_on_cluster.py",
    ),
    Case(
        "cancellation-below-min-isr",
        "a cancellation takes added replicas out of the ISR, however few are left: records that min.insync.replicas "
        "brokers hold are then held by fewer",
        releases=("3.0", LAST),
        decides={
            Decision(
                "cancellation_keeps_min_isr", Checked.YES, "a cancellation leaves min.insync.replicas (no version up to 4.4)"
            ): Checked.NO
        },
        shows=(Shown("cancel_below_min_isr", {"ReassignmentKeepsCandidates": 7}),),
        seen="conformance/reproductions/reassignments_on_cluster.py",
    ),
    Case(
        "reassignment-waits-after-election",
        "a reassignment is checked for completion before the election of the same change: one that the election completes "
        "stays listed",
        releases=("3.0", LAST),
        decides={
            Decision(
                "completes_after_election", Checked.YES, "an election that completes a reassignment ends it (no version up to 4.4)"
            ): Checked.NO
        },
        shows=(Shown("reassign_to_eligible", {"Recovers": 4, "ReassignmentEnds": 7}),),
        seen="conformance/reproductions/reassignments_on_cluster.py",
    ),
    Case(
        "KAFKA-15665",
        "a reassignment completes when the added replicas are in the ISR, whatever the others are",
        releases=("3.0", "3.7"),
        decides={REASSIGNMENT_COMPLETION: ReassignmentCompletion.ADDED_IN_ISR},
        shows=(Shown("three_behind", {"ReassignmentKeepsCandidates": 2}),),
    ),
    Case(
        "KAFKA-19975",
        "a reassignment that adds as many replicas as it removes completes when these are in the ISR",
        releases=("4.3", LAST),
        decides={REASSIGNMENT_COMPLETION: ReassignmentCompletion.ADDED_IF_MANY},
        shows=(Shown("four_reassign", {"ReassignmentKeepsCandidates": 7}, everything=False),),
        seen="conformance/reproductions/reassignments_on_cluster.py",
    ),
    Case(
        "KAFKA-13198",
        "a broker that is removed from the replicas keeps its replica running",
        releases=("2.8", "2.8"),
        decides={
            Decision(
                "removed_replica_deleted", Checked.YES, "who leaves the replicas deletes its log (3.0, KAFKA-13198)"
            ): Checked.NO
        },
        shows=(Shown("reassign_and_crash", {"Recovers": 2, "ProposalsSettle": 11, "StrayReplicasGo": 4}),),
    ),
)
