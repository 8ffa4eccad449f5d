"""The members of the ISR, the replicas eligible as leader, and which process a broker is."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.kraft_variants import LastKnownLeader, NewIncarnation
from kafka_spec.spec.decisions.variants import Checked, FollowerEnds
from kafka_spec.spec.kraft.cases.releases import LAST
from kafka_spec.spec.kraft.family_base import ELR_EMPTY, NO_RESTART, NO_UNCLEAN_ELECTION, NOTHING_REFUSED
from kafka_spec.spec.untested import NO_LEADER_MISSING
from kafka_spec.spec.vocabulary.table import Decision

ELR = Decision("elr", Checked.YES, "eligible leader replicas (KIP-966: 4.0 on request, 4.1 for new clusters)")
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-13916",
        "a broker that is fenced or shuts down still fetches, and is taken back into the ISR (KIP-841)",
        releases=("3.0", "3.2"),
        decides={
            Decision(
                "bar_ineligible", Checked.YES, "the controller bars fenced and stopping brokers from the ISR (3.3, KIP-841)"
            ): Checked.NO,
            Decision("leader_checks_eligibility", Checked.YES, "a leader proposes active brokers only (3.3, KIP-841)"): Checked.NO,
        },
        shows=(Shown("shutdown", {"IsrIsActive": 6, "Recovers": 7, "RecordsAreCommitted": 10}),),
    ),
    Case(
        "KAFKA-14617",
        "a proposal names brokers without their epochs: one that restarted without its records joins the ISR (KIP-903)",
        releases=("3.0", "3.4"),
        decides={
            Decision(
                "alter_epochs_compared", Checked.YES, "the controller compares broker epochs of proposed members (3.5, KIP-903)"
            ): Checked.NO,
            Decision(
                "fetch_epochs_compared", Checked.YES, "a leader compares the broker epochs of fetches (3.5, KIP-903)"
            ): Checked.NO,
        },
        shows=(Shown("rejoin_lossy", {"JoinsInItsProcess": 8, "CandidatesHoldCommitted": 8}),),
    ),
    Case(
        "last-replica-standing",
        "without eligible leader replicas the last ISR member crashes, loses records, and leads again (KIP-966)",
        releases=("3.0", "3.9"),  # 4.0 has it too, unless eligible leader replicas are asked for
        decides={ELR: Checked.NO},
        shows=(Shown("lossy_and_fence", {"CandidatesHoldCommitted": 7, "Committed": 9}, cannot_test=(ELR_EMPTY,)),),
    ),
    Case(
        "KAFKA-18106",
        "without eligible leader replicas a process that registers again stays in the ISR, whatever it lost",
        releases=("3.0", "3.9"),
        decides={
            ELR: Checked.NO,
            Decision(
                "new_incarnation", NewIncarnation.LEAVES_ISR, "what a registration of a restarted broker does to the ISR"
            ): NewIncarnation.STAYS,
        },
        shows=(
            Shown(
                "lossy",
                {"LeaderIsActive": 4, "IsrIsActive": 4, "CandidatesHoldCommitted": 6, "Committed": 6},
                cannot_test=(ELR_EMPTY,),
            ),
        ),
    ),
    Case(
        "KAFKA-15583",
        "the high watermark moves while the ISR is below min.insync.replicas",
        releases=("3.0", "3.6"),
        decides={
            Decision(
                "high_watermark_needs_min_isr", Checked.YES, "the high watermark stops below min.insync.replicas (3.7, KAFKA-15583)"
            ): Checked.NO
        },
        shows=(Shown("two_fences", {"CandidatesHoldCommitted": 4, "Committed": 7, "LogMatch": 8}),),
    ),
    Case(
        "KAFKA-19522",
        "the last known leader is elected although it is fenced",
        releases=("4.0", "4.0"),
        decides={
            Decision(
                "last_known_acceptable", Checked.YES, "the last known leader is elected only while it is active (4.1, KAFKA-19522)"
            ): Checked.NO
        },
        shows=(Shown("two_crashes", {"LeaderIsActive": 6, "IsrIsActive": 6}),),
    ),
    Case(
        "KAFKA-18635",
        "every restart counts as unclean: orderly restarts of all members empty ISR and ELR",
        releases=None,  # eligible leader replicas and the fix came with 4.0.0
        decides={
            Decision(
                "clean_shutdown_detected", Checked.YES, "a registration reports how the process before ended (4.0, KAFKA-18635)"
            ): Checked.NO
        },
        shows=(Shown("two_shutdowns", {"UncleanElectionHasCause": 11}, tests=(NO_UNCLEAN_ELECTION,)),),
    ),
    Case(
        "removed-directory-counts-as-clean",
        "a broker that was shut down in order and starts without a log directory stays eligible for what it has lost with it",
        releases=("4.3", LAST),  # before, the assignment to another directory empties the ELR
        decides={
            Decision(
                "removed_directory_leaves_elr",
                Checked.YES,
                "a replica whose directory is gone leaves ISR and ELR (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("removed_directory", {"CandidatesHoldCommitted": 8, "Committed": 12}),),
        seen="conformance/reproductions/removed_directory_counts_as_clean.py",
    ),
    Case(
        "offline-directory-joins-isr",
        "a broker joins the ISR by a proposal after the controller knows that its directory is offline, and nobody else may lead",
        releases=("3.7", LAST),
        decides={
            Decision(
                "offline_directory_ineligible",
                Checked.YES,
                "a proposal of a broker whose directory is offline is refused as INELIGIBLE_REPLICA (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("failed_directory", {"Recovers": 12, "LeaderIsElected": 16}),),
        seen="conformance/reproductions/offline_directory_joins_isr.py",
    ),
    Case(
        "elected-on-failed-directory",
        "a broker whose heartbeat ends its fence and reports a failed directory is elected for the replica in that directory",
        releases=("3.7", LAST),
        decides={
            Decision(
                "unfencing_reads_directories",
                Checked.YES,
                "a heartbeat that unfences a broker also says which of its directories cannot lead (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("failed_directory", {"LeaderHasItsDirectory": 6, "Recovers": 8, "LeaderIsElected": 12}),),
        seen="conformance/reproductions/elected_on_failed_directory.py",
    ),
    Case(
        "lagging-future-log-promoted",
        "a broker that starts replaces a log by its copy in another directory, which had all records when the metadata named it",
        releases=("3.7.1", LAST),  # since KAFKA-16082
        decides={
            Decision(
                "future_log_recovered_if_whole",
                Checked.YES,
                "a broker that starts promotes a future log only if it has the whole log (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("moved_replica", {"CandidatesHoldCommitted": 10, "Committed": 14}),),
        seen="conformance/reproductions/lagging_future_log_promoted.py",
    ),
    Case(
        "assignment-empties-elr",
        "an assignment of a replica to a directory empties the ELR",
        releases=("4.0", "4.2"),
        decides={
            Decision("assignment_keeps_elr", Checked.YES, "an assignment to a directory keeps the ELR (4.3, PR 20716)"): Checked.NO
        },
        shows=(Shown("moved_replica", {"MovesKeepCandidates": 7, "UncleanElectionHasCause": 11}, tests=(NO_UNCLEAN_ELECTION,)),),
    ),
    Case(
        "KAFKA-16952",
        "a process that registers again gets another broker epoch and is fenced",
        releases=("3.7", "3.8"),
        decides={
            Decision(
                "same_incarnation_keeps_epoch", Checked.YES, "a process that registers again keeps its epoch (3.9, KAFKA-16952)"
            ): Checked.NO
        },
        shows=(
            Shown(
                "registers_again",
                {"OneEpochForEachProcess": 2, "LeaderIsActive": 2, "IsrIsActive": 2},
                tests=(NO_RESTART, NO_LEADER_MISSING, NOTHING_REFUSED),
            ),
        ),
    ),
    Case(
        "last-known-when-isr-empties",
        "the last leader is remembered when the ISR becomes empty, even if nobody led then",
        releases=("4.0.0", "4.1.0"),  # 4.1.1 remembers otherwise
        decides={
            Decision(
                "last_known_leader", LastKnownLeader.WHEN_NO_LEADER, "when the last leader is remembered"
            ): LastKnownLeader.WHEN_ISR_EMPTIES
        },
        shows=(Shown("two_crashes"),),
        breaks_nothing="it changes who is remembered, and only unclean elections ask for that",
    ),
    Case(
        "re-elected-leader-remembers",
        "a leader that missed another's leader epoch is elected again, and still counts what a follower has truncated since",
        releases=("3.0", LAST),
        decides={
            Decision(
                "follower_ends", FollowerEnds.FORGOTTEN, "what a leader that is elected again knows of its followers' logs"
            ): FollowerEnds.KEPT_IF_LEADER
        },
        shows=(Shown("three_preferred", {"CandidatesHoldCommitted": 17}),),
        seen="conformance/reproductions/re_elected_leader_in_kraft.py",
    ),
    Case(
        "KAFKA-7128",
        "a follower joins the ISR below the start of the leader's epoch",
        releases=None,  # fixed in 2.0.1, before KRaft
        decides={
            Decision(
                "join_needs_epoch_start", Checked.YES, "joining the ISR needs the start of the epoch (2.0.1, KAFKA-7128)"
            ): Checked.NO
        },
        shows=(Shown("three_join_late", {"CandidatesHoldCommitted": 10}),),
    ),
    Case(
        "KAFKA-15021",
        "the high watermark waits for a follower that may not join the ISR",
        releases=("3.3", "3.5"),
        not_expressed="the high watermark also waits, for a time, for caught-up followers outside the ISR: time is not modelled",
    ),
    Case(
        "KAFKA-14292",
        "a broker that shuts down waits for metadata that is longer at each of its heartbeats",
        releases=("3.0", "3.3.1"),
        not_expressed="it needs metadata that grows forever: here the log ends, and every broker comes to its end",
    ),
    Case(
        "KAFKA-15221",
        "the leader joins what it knew of a follower's former process with the epoch of the next one",
        releases=("3.5", "3.6"),
        not_expressed="the state of a follower is read in one step",
    ),
)
