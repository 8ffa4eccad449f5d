"""The cases of the quorum: bugs of Kafka's Raft, earlier designs, and conditions that Raft needs, each on one card.

To add a case, add its card: `fixed` takes the decision from it, and eras, models and checks follow.
"""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.quorum import (
    ControlReader,
    FormatAwaits,
    FullTruncation,
    HistoryCut,
    OwnFlush,
    RestartedLeader,
    SnapshotReader,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.quorum.configuration import CONFIGURE
from kafka_spec.spec.quorum.formatting import FORMAT_ALONE
from kafka_spec.spec.quorum.properties import ON_NEWEST_VOTERS
from kafka_spec.spec.quorum.unexpressed import LAST, UNEXPRESSED
from kafka_spec.spec.vocabulary.table import Decision

FORMAT_AWAITS = Decision(
    "format_awaits", FormatAwaits.FOLLOWERS_AT_END, "what an operator waits for before a controller is formatted again"
)
VOTERS_SKIPPED = {
    "VotersFollowLog": 14,
    "LeaderHoldsCommitted": 19,
    "NoTruncationOfCommitted": 20,
    "ListenersAgree": 24,
    "CommittedIsFlushed": 24,
}
BEFORE_FLUSH = {"CommittedIsFlushed": 3, "LeaderHoldsCommitted": 6, "ListenersAgree": 6}

CASES: tuple[Case, ...] = (
    Case(
        "voters-skipped-after-truncation",
        "a controller that truncates its log skips the voters that it fetches below the old end",
        releases=("3.9", LAST),
        decides={
            Decision(
                "control_reader", ControlReader.MOVES_BACK, "where the reader of control records continues after a truncation"
            ): ControlReader.STAYS
        },
        shows=(Shown("two_removals", VOTERS_SKIPPED),),
        seen="conformance/reproductions/voters_skipped_after_truncation.py",
    ),
    Case(
        "only-voter-commits-before-flush",
        "the only voter commits a batch, and hands it over, before it is flushed",
        releases=("3.0", LAST),
        decides={Decision("own_flush", OwnFlush.BEFORE_COMMIT, "when a leader counts its own batches"): OwnFlush.AFTER_COMMIT},
        shows=(Shown("one", BEFORE_FLUSH),),
    ),
    Case(
        "voters-dropped-by-snapshot",
        "a snapshot makes a controller forget its voters if the next batch has others; once that is truncated, it has none",
        releases=("3.9", LAST),
        decides={
            Decision(
                "history_cut", HistoryCut.BELOW_END, "which voters a node forgets when it has written a snapshot"
            ): HistoryCut.UP_TO_END
        },
        shows=(Shown("snapshot_and_remove", {"VotersFollowLog": 14}),),
        seen="conformance/reproductions/voters_dropped_by_snapshot.py",
    ),
    Case(
        "voters-of-lost-log-stay",
        "a controller whose log a shorter snapshot replaces keeps the voters of its lost log in force",
        releases=("3.9", LAST),
        decides={
            Decision(
                "snapshot_reader",
                SnapshotReader.ALWAYS,
                "when the reader of control records reads a snapshot that replaces the log",
            ): SnapshotReader.IF_BEHIND
        },
        shows=(Shown("snapshot_and_remove", {"VotersFollowLog": 17}),),
        seen="conformance/reproductions/voters_of_lost_log_stay.py",
    ),
    Case(
        "snapshot-does-not-replace-log",
        "a controller ends, at each start, when its leader's snapshot is of an earlier epoch than its own log, which is behind it",
        releases=("3.0", LAST),
        decides={
            Decision(
                "full_truncation", FullTruncation.UNLESS_HELD, "when a snapshot that a follower has fetched replaces its log"
            ): FullTruncation.IF_NEWER
        },
        shows=(Shown("snapshots", {"SnapshotsAreLoaded": 18}),),
    ),
    Case(
        "removed-voter-ends-leader",
        "the process of a leader ends when a voter that it has removed answers a BeginQuorumEpoch request of before",
        releases=("3.9", LAST),
        not_expressed="answers to BeginQuorumEpoch requests",
        seen="conformance/reproductions/removed_voter_ends_leader.py",
    ),
    Case(
        "removed-voter-does-not-campaign",
        "a leader that has removed itself from the voters, which nobody else has fetched, never campaigns: nobody can be elected",
        releases=("3.9", LAST),
        decides={
            Decision(
                "removed_voter_campaigns", Checked.YES, "a voter that its log removes campaigns until it knows that as committed"
            ): Checked.NO
        },
        shows=(Shown("two_to_one", {"LeaderCanBeElected": 11}),),
        seen="conformance/reproductions/removed_voter_does_not_campaign.py",
    ),
    Case(
        "KAFKA-10527",
        "a leader that has started again leads the same epoch, in which it lost batches",
        releases=None,  # fixed in 2.7, before KRaft
        decides={
            Decision(
                "restarted_leader", RestartedLeader.RESIGNED, "what a leader is after a restart (2.7, KAFKA-10527)"
            ): RestartedLeader.LEADER
        },
        shows=(Shown("lossy", {"HighWatermarkGrows": 10, "LogsMatch": 12, "ListenersAgree": 14, "CommittedIsFlushed": 14}),),
    ),
    Case(
        "KAFKA-17332",
        "a controller that is an observer does not flush, and counts as a voter for what it has not flushed",
        releases=None,  # the rule came with 3.5, voters that change with 3.9, which has the fix
        decides={
            Decision(
                "observers_flush", Checked.YES, "a controller that is an observer flushes what it fetches (3.9, KAFKA-17332)"
            ): Checked.NO
        },
        shows=(Shown("add", {"CommittedIsFlushed": 15}),),
    ),
    Case(
        "KAFKA-18379",
        "a controller that has resigned leaves its role in its own epoch, in which others follow it",
        releases=None,  # feared in 3.9 to 4.0; each enters the next epoch
        decides={
            Decision("resigned_enters_next", Checked.YES, "a controller that has resigned enters the next epoch (4.0)"): Checked.NO
        },
        shows=(Shown("pre_votes", {"LeadersKnowTheirEpochs": 9}),),
    ),
    Case(
        "KAFKA-16580",
        "Kafka's simulation asserted that the newest voters hold what is committed; those before may have committed it",
        claims=(ON_NEWEST_VOTERS,),
        shows=(Shown("one_to_three", {"CommittedOnNewestVoters": 7}, why="the property is wrong, not Kafka"),),
    ),
    Case(
        "voters-configured-from-one-to-three",
        "an operator configures two empty controllers as voters beside the only one: they elect each other, and its log is lost",
        releases=("3.0", LAST),
        rules=(CONFIGURE,),
        from_outside=True,
        shows=(
            Shown(
                "configured",
                {
                    "OneLeaderInEachEpoch": 7,
                    "LeaderHoldsCommitted": 8,
                    "NoTruncationOfCommitted": 9,
                    "ListenersAgree": 10,
                    "CommittedIsFlushed": 10,
                    "LogsMatch": 14,
                },
            ),
        ),
        seen="conformance/reproductions/voters_configured_from_one_to_three.py",
    ),
    Case(
        "formatted-with-other-voters",
        "a controller is formatted with itself as the only voter, the others with all: two leaders in one epoch",
        releases=("3.9", LAST),
        rules=(FORMAT_ALONE,),
        from_outside=True,
        shows=(
            Shown(
                "three",
                {
                    "OneLeaderInEachEpoch": 7,
                    "LeaderHoldsCommitted": 7,
                    "ListenersAgree": 7,
                    "LogsMatch": 7,
                    "CommittedIsFlushed": 7,
                    "NoTruncationOfCommitted": 9,
                },
            ),
        ),
    ),
    Case(
        "voter-formatted-again",
        "a controller is formatted again, as the voter that it was, before all others have what is committed",
        releases=("3.0", LAST),
        decides={FORMAT_AWAITS: FormatAwaits.NOTHING},
        from_outside=True,
        shows=(
            Shown(
                "formatted",
                {
                    "LeadersKnowTheirEpochs": 6,
                    "OneLeaderInEachEpoch": 8,
                    "LeaderHoldsCommitted": 11,
                    "NoTruncationOfCommitted": 12,
                    "ListenersAgree": 14,
                    "CommittedIsFlushed": 14,
                    "LogsMatch": 14,
                },
            ),
        ),
        seen="conformance/reproductions/voter_formatted_again.py",
    ),
    Case(
        "voter-formatted-at-no-lag",
        "a controller is formatted again once a leader reports no lag of the others: that was so at their last fetches",
        releases=("3.0", LAST),
        decides={FORMAT_AWAITS: FormatAwaits.NO_LAG},
        from_outside=True,
        shows=(
            Shown(
                "formatted",
                {
                    "LeadersKnowTheirEpochs": 14,
                    "OneLeaderInEachEpoch": 15,
                    "LeaderHoldsCommitted": 16,
                    "NoTruncationOfCommitted": 17,
                    "ListenersAgree": 19,
                    "CommittedIsFlushed": 19,
                    "LogsMatch": 21,
                },
            ),
        ),
    ),
    Case(
        "commits-of-earlier-epochs",
        "a leader commits batches of an earlier epoch before one of its own (figure 8 of the Raft paper)",
        decides={
            Decision("commits_own_epoch", Checked.YES, "a leader commits nothing before a batch of its own epoch"): Checked.NO
        },
        shows=(
            Shown(
                "four_epochs",
                {"LeaderHoldsCommitted": 19, "NoTruncationOfCommitted": 21, "ListenersAgree": 23, "CommittedIsFlushed": 23},
            ),
        ),
    ),
    Case(
        "change-before-own-epoch",
        "a leader changes the voters before it has committed in its own epoch (the bug of Raft's single-server changes, 2015)",
        decides={
            Decision(
                "change_awaits_own_epoch", Checked.YES, "voters change only after a leader has committed in its own epoch"
            ): Checked.NO
        },
        shows=(Shown("four_voters", {"LeaderHoldsCommitted": 24}, alone=True, everything=False, normal_form=True),),
    ),
    Case(
        "change-before-change",
        "a leader changes the voters while another change is not committed",
        decides={
            Decision("change_awaits_change", Checked.YES, "voters change only after the change before is committed"): Checked.NO
        },
        shows=(
            Shown(
                "two_removals",
                {
                    "OneChangeAtATime": 9,
                    "LeaderHoldsCommitted": 12,
                    "NoTruncationOfCommitted": 13,
                    "ListenersAgree": 16,
                    "CommittedIsFlushed": 16,
                    "OneLeaderInEachEpoch": 16,
                    "LogsMatch": 22,
                },
            ),
        ),
    ),
    *UNEXPRESSED,
)
