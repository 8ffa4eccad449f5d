"""What followers fetch, truncate and lose, and what the leader counts of it."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.variants import Checked, FetchAnswers, FollowerEnds, FollowerSkip, SuffixLoss, Truncation
from kafka_spec.spec.untested import ISR_COMPLETE
from kafka_spec.spec.vocabulary.table import Decision, Untestable
from kafka_spec.spec.zookeeper.cases.releases import LAST
from kafka_spec.spec.zookeeper.families import NOTHING_OUTDATED
from kafka_spec.spec.zookeeper.properties.durability import ISR_HOLDS_COMMITTED

NOBODY_REMOVED = Untestable("nobody is removed from the ISR as dead", ("DeadStayOutOfIsr",))
ONE_HIGH_WATERMARK = Untestable("no two replicas have a high watermark above 0", ("LogMatch",))
SUFFIX_LOSS = Decision("suffix_loss", SuffixLoss.OUTSIDE_ISR, "when a crash may lose the end of a log")

TRUNCATION = Decision("truncation", Truncation.DIVERGENCE, "where a new follower truncates")
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-14617",
        "a leader counts a fetch that a process sent before it crashed and lost the end of its log",
        releases=("0.8.0", LAST),  # fixed in KRaft only (3.5)
        decides={
            Decision(
                "fetch_generation_checked",
                Checked.YES,
                "a leader compares the fetcher's broker epoch (KIP-903: 3.5, only in KRaft)",
            ): Checked.NO
        },
        shows=(Shown("late_fetch", {"Committed": 18, "AcknowledgedKept": 18, "ReadsNeverGoBack": 18}),),
    ),
    Case(
        "last-replica-standing",
        "the last member of the ISR crashes, loses unflushed records, and leads again",
        releases=("0.8.0", LAST),
        decides={SUFFIX_LOSS: SuffixLoss.ANY},
        shows=(
            Shown(
                "lone_lossy",
                {"Committed": 9, "AcknowledgedKept": 9, "ReadsNeverGoBack": 9},
                cannot_test=(NOTHING_OUTDATED, NOBODY_REMOVED, ONE_HIGH_WATERMARK, ISR_COMPLETE),
            ),
            Shown("lossy_min_isr", {"AcknowledgedKept": 10}, alone=True),
        ),
        from_outside=True,
    ),
    Case(
        "tail-lost-in-isr",
        "a leader crashes, loses a record that the other ISR member holds, and restarts before this is noticed: it still leads",
        releases=("0.8.0", LAST),
        decides={SUFFIX_LOSS: SuffixLoss.OTHERS_HOLD},
        shows=(Shown("lossy", {"Committed": 10, "AcknowledgedKept": 10, "ReadsNeverGoBack": 10}),),
        from_outside=True,
        seen="conformance/reproductions/tail_lost_in_isr.py",
    ),
    Case(
        "re-elected-leader-remembers",
        "a leader that missed another's leader epoch is elected again, and still counts what a follower has truncated since",
        releases=("0.9.0", LAST),
        decides={
            Decision(
                "follower_ends", FollowerEnds.FORGOTTEN, "what a leader that is elected again knows of its followers' logs"
            ): FollowerEnds.KEPT_IF_LEADER
        },
        claims=(ISR_HOLDS_COMMITTED,),
        shows=(Shown("re_elected_leader", {"IsrHoldsCommitted": 18}),),
        seen="conformance/reproductions/re_elected_leader_remembers.py",
    ),
    Case(
        "KIP-101",
        "a new follower truncates to its high watermark",
        releases=("0.8.0", "0.10.2"),
        decides={TRUNCATION: Truncation.HIGH_WATERMARK},
        shows=(Shown("old_epochs", {"Committed": 14, "AcknowledgedKept": 14, "ReadsNeverGoBack": 14}),),
    ),
    Case(
        "KAFKA-7164",
        "a follower that should truncate to its high watermark does not, if the leader's id is the same as before",
        releases=("0.8.2", "2.0.0"),
        decides={
            TRUNCATION: Truncation.HIGH_WATERMARK,
            Decision(
                "follower_skip", FollowerSkip.SAME_EPOCH, "when a follower keeps its log and its fetcher unchanged"
            ): FollowerSkip.SAME_LEADER,
        },
        shows=(Shown("old_epochs", {"Committed": 14, "AcknowledgedKept": 14, "ReadsNeverGoBack": 14}),),
    ),
    Case(
        "late-answer-taken",
        "a follower takes an answer to a fetch of an earlier leader epoch, if its offset fits",
        releases=("0.8.0", "0.10.2"),
        decides={
            TRUNCATION: Truncation.HIGH_WATERMARK,
            Decision(
                "fetch_answers_taken", FetchAnswers.OF_EPOCH, "which delayed answers to its fetches a follower takes"
            ): FetchAnswers.OF_OFFSET,
        },
        shows=(Shown("late_answer", {"LogMatch": 24}),),
    ),
    Case(
        "KAFKA-7128",
        "a follower joins the ISR below the start of the leader's epoch",
        releases=("0.8.0", "2.0.0"),
        decides={
            Decision(
                "join_needs_epoch_start", Checked.YES, "joining the ISR needs the start of the epoch (2.0.1, KAFKA-7128)"
            ): Checked.NO
        },
        shows=(Shown("old_epochs", {"Committed": 17, "AcknowledgedKept": 17, "ReadsNeverGoBack": 17}),),
    ),
    Case(
        "KAFKA-7395",
        "a leader does not compare the follower's leader epoch",
        releases=("0.8.0", "2.0"),
        decides={
            Decision("fetches_fenced", Checked.YES, "a leader compares the follower's leader epoch (2.1, KIP-320)"): Checked.NO
        },
        shows=(Shown("expired_leader"),),
        breaks_nothing="at these bounds: it needs a third replica and more leader epochs (spec/replication has it)",
    ),
    Case(
        "KAFKA-6361",
        "logs diverge after two fast fail-overs: the leader's answer names the end of an epoch that the follower does not have",
        releases=("0.8.0", "1.1"),
        not_expressed="fetch details: its truncation is that of 0.11; this model truncates at the divergence, "
        "or at the high watermark",
    ),
    Case(
        "KAFKA-7786",
        "an answer that fences an earlier leader epoch ends the fetches of the next one",
        releases=("2.1.0", "2.1.0"),
        not_expressed="fetch details: an answer that comes late",
    ),
    Case(
        "KAFKA-8400",
        "a fetch that fails moves what the leader knows of the follower",
        releases=("2.1", "2.3"),
        not_expressed="fetch details: a read that fails",
    ),
    Case(
        "KAFKA-10301",
        "the high watermark is computed while the followers of a new leader are not listed yet",
        releases=("0.11.0", "2.5"),  # not 0.10; the first release was not looked up
        not_expressed="fetch details: the single steps of becoming leader",
    ),
    Case(
        "KAFKA-15021",
        "the high watermark waits for a follower that may not join the ISR",
        releases=("3.3", "3.5"),
        not_expressed="fetch details: which followers hold back the high watermark",
    ),
    Case(
        "KAFKA-9769",
        "a replica takes the leader epoch of a request although its log could not be created",
        releases=("0.11.0", "2.6"),  # not 0.10; the first release was not looked up
        not_expressed="log directories: a log that cannot be created",
    ),
)
