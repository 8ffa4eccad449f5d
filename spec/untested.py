"""Why a property is never tested in a check: what follows from bounds that are 0, and reasons that both worlds share.

A check that tests such a property after all fails, so none of these can be wrong for long.
"""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Untestable

WHILE_ZERO: tuple[Untestable, ...] = (
    Untestable(
        "no record is written",
        (
            "Committed", "LogMatch", "HighWatermarkGrows", "AcknowledgedKept", "ReadsNeverGoBack", "CandidatesHoldCommitted",
            "RecordsAreCommitted",
        ),
        ("records",),
    ),
    Untestable(
        "no topic is deleted",
        (
            "OneDeleter", "OnlyMarkedTopicsAreDeleted", "DeletedIsGone", "OldRecordsStayGone", "QuietNothingIsLeft",
            "QuietCachesAgree", "DeletionEnds",
        ),
        ("deletions",),
    ),
    Untestable(
        "nothing is reassigned",
        ("ReassignmentEnds", "PlansAreCarriedOut", "ReassignmentEndsAtTarget", "ReassignmentKeepsCandidates"),
        ("reassignments",),
    ),
    Untestable("min.insync.replicas does not change", ("SettingsKeepCandidates",), ("min_isr_changes",)),
    Untestable("no replica moves to another directory", ("MovesKeepCandidates", "MovesEnd"), ("moves",)),
    Untestable("no log directory fails", ("LeaderHasItsDirectory",), ("failed_directories",)),
    Untestable("no topic is created after a deletion", ("DeletedRecordsStayGone",), ("recreations",)),
    Untestable("nothing is reassigned or deleted", ("StrayReplicasGo",), ("reassignments", "deletions")),
    Untestable("no two brokers act as controllers", ("OneControllerInEachEpoch",), ("expiries",)),
    Untestable(
        "nobody is removed from the ISR as dead",
        ("DeadStayOutOfIsr",),
        ("crashes", "lossy_crashes", "expiries", "controlled_shutdowns"),
    ),
    Untestable(
        "no two replicas lead at once",
        ("OneLeaderInEachEpoch",),
        ("expiries", "controlled_shutdowns", "preferred_elections", "rebalances", "reassignments"),
    ),
    Untestable(
        "no process restarts",
        ("OneEpochForEachProcess",),
        ("crashes", "lossy_crashes", "controlled_shutdowns", "re_registrations"),
    ),
    Untestable(
        "no two replicas lead at once",
        ("OneLeaderInEachEpoch",),
        ("fences", "controlled_shutdowns", "reassignments", "deletions", "unregistrations"),
    ),
)  # fmt: skip
"""What no check tests while these bounds are 0."""

NO_LEADER_MISSING = Untestable("no leader is missing while a replica could lead", ("LeaderIsElected",))
ISR_COMPLETE = Untestable("nobody is up and outside the ISR of a leader that is up", ("IsrGrowsBack",))


def search_ends(*properties: str) -> Untestable:
    """Return properties that a search does not come to, since it ends at a violation."""
    return Untestable("the search ends at the violation", properties)
