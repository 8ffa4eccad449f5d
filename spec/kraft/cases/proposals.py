"""What leaders propose, what the controller answers, and what the metadata log brings meanwhile."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.cases.releases import LAST
from kafka_spec.spec.vocabulary.table import Decision

EQUAL_PARTITION_EPOCH_APPLIED = Decision(
    "equal_partition_epoch_applied", Checked.YES, "an image with a known partition epoch is applied (3.3, KAFKA-13790)"
)
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-14154",
        "a controller that has been replaced refuses a proposal ahead of it; the leader waits for metadata that never comes",
        releases=("3.0", "3.2"),
        decides={
            Decision(
                "ahead_is_not_controller", Checked.YES, "what is ahead of the controller gets NOT_CONTROLLER (3.3, KAFKA-14154)"
            ): Checked.NO
        },
        shows=(Shown("stale_answer", {"Recovers": 6, "IsrGrowsBack": 8, "ProposalsSettle": 8}),),
    ),
    Case(
        "KAFKA-14010",
        "a proposal that should be retried is refused by the leader's own queue: nothing is on the way, and it stays pending",
        releases=("3.0", "3.2.0"),
        decides={
            Decision(
                "cleared_before_retry", Checked.YES, "a proposal that is retried replaces the former request (3.2.1, KAFKA-14010)"
            ): Checked.NO
        },
        shows=(Shown("stale_answer", {"Recovers": 6, "IsrGrowsBack": 8, "ProposalsSettle": 8}),),
    ),
    Case(
        "KAFKA-13790",
        "an image is ignored if its partition epoch came with the answer to a proposal",
        releases=("3.0", "3.2"),
        decides={EQUAL_PARTITION_EPOCH_APPLIED: Checked.NO},
        shows=(Shown("shrink"),),
        breaks_nothing="a record whose partition epoch an answer reported changes replicas only with the leader epoch, and "
        "then it counts",
    ),
    Case(
        "KAFKA-13091",
        "the high watermark is not tried after an accepted proposal, and the image that follows is ignored",
        releases=("3.0", "3.0"),
        decides={
            Decision(
                "high_watermark_after_alter", Checked.YES, "the high watermark is tried after an answer (3.1, KAFKA-13091)"
            ): Checked.NO,
            EQUAL_PARTITION_EPOCH_APPLIED: Checked.NO,
        },
        shows=(Shown("shrink", {"Recovers": 6, "RecordsAreCommitted": 8}),),
    ),
    Case(
        "proposal-dropped-at-known-epoch",
        "a leader applies an image whose partition epoch an answer reported before, and drops the proposal that it made "
        "since; the controller has accepted that, and the leader commits without the new ISR member",
        releases=("3.3", LAST),
        decides={
            Decision(
                "proposal_survives_known_epoch",
                Checked.YES,
                "an image with a known partition epoch keeps the pending proposal (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("proposal_dropped", {"LeaderCountsCandidates": 9, "CandidatesHoldCommitted": 10, "Committed": 12}),),
        seen="conformance/reproductions/proposal_dropped_at_known_epoch.py",
    ),
    Case(
        "high-watermark-waits-after-rollback",
        "the high watermark is not tried after a proposal is rolled back: it waits for who may not join",
        releases=("3.3", LAST),
        decides={
            Decision(
                "high_watermark_after_rollback", Checked.YES, "and after a proposal is rolled back (no version up to 4.4)"
            ): Checked.NO
        },
        shows=(Shown("fence_and_crash", {"Recovers": 8, "RecordsAreCommitted": 11}),),
        seen="conformance/reproductions/high_watermark_waits_after_rollback.py",
    ),
    Case(
        "epoch-bump-on-shrink",
        "the leader epoch grows with each shrink of the ISR: before metadata version 3.6-IV0",
        releases=("3.0", "3.5"),  # by metadata version: before 3.6-IV0
        decides={
            Decision(
                "bump_on_shrink", BumpOnShrink.NONE, "the leader epoch grows when a member leaves the ISR (up to 3.6-IV0)"
            ): BumpOnShrink.WANTED
        },
        shows=(Shown("shrink"),),
        breaks_nothing="an earlier design, and no bug",
    ),
)
