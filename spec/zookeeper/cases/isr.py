"""Which replica leads, which brokers are informed, and which are in the ISR."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown, stops
from kafka_spec.spec.decisions.variants import (
    BadVersionHandling,
    Checked,
    LastIsrMember,
    OfflineLeaders,
    OfflineRecipients,
    RefusedIsrWrite,
    ShrinkRecipients,
    ShutdownRecipients,
)
from kafka_spec.spec.vocabulary.table import Decision
from kafka_spec.spec.zookeeper.cases.releases import LAST
from kafka_spec.spec.zookeeper.families import LEADER_STAYS

LAST_ISR_MEMBER = Decision("last_isr_member", LastIsrMember.KEPT, "what happens to the last member of an ISR")

REFUSED_ISR_WRITE = Decision(
    "refused_isr_write", RefusedIsrWrite.KEPT_PENDING, "what a leader does after an ISR write that was refused"
)
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-1188",
        "only the leader is sent the smaller ISR and the larger leader epoch: the other followers stay one epoch behind",
        releases=("0.8.0", "0.8.1"),
        decides={
            Decision(
                "shrink_recipients", ShrinkRecipients.ALL_REPLICAS, "the recipients when a dead replica has left the ISR"
            ): ShrinkRecipients.LEADER_ONLY
        },
        shows=(
            Shown("three_crash", {"QuietReplicasKnowTheEpoch": 7}),
            stops("three_crash", {"ReplicasLearn": 14}),
        ),
    ),
    Case(
        "KAFKA-708",
        "the last member of an ISR is removed from it when its broker dies, and stays the leader",
        releases=None,  # fixed in 0.8.0
        decides={LAST_ISR_MEMBER: LastIsrMember.DROPPED},
        shows=(Shown("lone_replica", {"LeaderInIsr": 5, "IsrNeverEmpty": 5}, cannot_test=(LEADER_STAYS,)),),
    ),
    Case(
        "KAFKA-5083",
        "the last member of an ISR is removed from it when its broker dies, if unclean election is enabled",
        releases=("0.8.2", "1.0"),  # before 0.8.2 the last member left even if unclean election could not be enabled
        decides={LAST_ISR_MEMBER: LastIsrMember.DROPPED_IF_UNCLEAN},
        shows=(Shown("lone_replica", {"IsrNeverEmpty": 5}),),
    ),
    Case(
        "KAFKA-1382",
        "a leader whose ISR write succeeded without an answer keeps the old version, and all its later writes fail",
        releases=("0.8.0", "0.8.1"),
        decides={
            Decision(
                "bad_version", BadVersionHandling.READ_BACK, "what a leader does when its ISR write finds another version"
            ): BadVersionHandling.SKIPPED,
            REFUSED_ISR_WRITE: RefusedIsrWrite.DROPPED,
        },
        shows=(
            Shown("lost_reply", {"LeaderCountsIsr": 5, "Recovers": 3}, alone=True, everything=True),
            Shown("lost_answers", {"Committed": 11}, alone=True),
            stops("lost_reply", {"IsrGrowsBack": 8}),
        ),
    ),
    Case(
        "unanswered-expansion-forgotten",
        "a leader adds a follower to the ISR without an answer; the controller writes before the leader tries again, and "
        "the leader continues without that follower, which may lead by now",
        releases=("0.8.0", "2.7"),
        decides={REFUSED_ISR_WRITE: RefusedIsrWrite.DROPPED},
        shows=(Shown("unanswered_expansion", {"Committed": 9, "ReadsNeverGoBack": 9, "AcknowledgedKept": 9}),),
        seen="conformance/reproductions/unanswered_expansion_forgotten.py",
    ),
    Case(
        "KAFKA-7482",
        "a leader that shuts down is not informed that it no longer leads",
        releases=("1.1", "2.0"),  # 1.0.0 and 0.8.0 to 0.11.0.2 tell brokers that shut down too
        decides={
            Decision(
                "shutdown_recipients", ShutdownRecipients.LIVE_OR_STOPPING, "the recipients of an election in a shutdown"
            ): ShutdownRecipients.LIVE
        },
        shows=(Shown("shutdown", {"QuietLeadersAreOfNewestEpoch": 5}),),
    ),
    Case(
        "stopping-leader-not-told",
        "a leader that shuts down is replaced when another broker fails or starts, and is not informed",
        releases=("1.0", LAST),
        decides={
            Decision(
                "offline_recipients", OfflineRecipients.LIVE_OR_STOPPING, "the recipients of an election for a dead leader"
            ): OfflineRecipients.LIVE
        },
        shows=(Shown("leader_shuts_down", {"QuietLeadersAreOfNewestEpoch": 18}),),
        seen="conformance/reproductions/stopping_leader_not_told.py",
    ),
    Case(
        "no-election-after-removal",
        "a leader that is considered dead adds a live replica to the ISR after the election and before its own removal: "
        "that replica is not elected",
        releases=("0.8.2", LAST),
        decides={
            Decision(
                "election_after_removal", Checked.YES, "an election is tried again after removals (no version up to 3.9)"
            ): Checked.NO
        },
        shows=(
            Shown("expired_leader", {"QuietLeaderIsRegistered": 12}),
            stops("expired_leader", {"LeaderIsElected": 11}),
        ),
        seen="conformance/reproductions/no_election_after_removal.py",
    ),
    Case(
        "isr-candidate-not-alive",
        "a leader adds a broker to the ISR that its metadata cache does not list as alive",
        releases=("0.8.0", "3.2"),
        decides={Decision("isr_candidates_alive", Checked.YES, "a leader adds only live brokers to the ISR (3.3)"): Checked.NO},
        shows=(Shown("expired_leader"),),
        breaks_nothing="at these bounds: it only shortens a state that the controller repairs",
    ),
    Case(
        "KAFKA-13091",
        "the high watermark is not tried after an ISR that was shrunk through the controller",
        releases=("2.7", "3.0"),
        not_expressed="AlterIsr: the ISR changes after the shrink was sent",
    ),
    Case(
        "KAFKA-12751",
        "an ISR that the controller answers with the same version stays pending; a change that is queued meanwhile is never sent",
        releases=("2.7", "2.8"),  # 2.8.1 has the fix of the first half, 3.0 of the second
        also_known_as=("KAFKA-12686",),
        not_expressed="AlterIsr: changes in flight",
    ),
    Case(
        "leaders-that-shut-down-are-not-lost",
        "an earlier design: a leader that shuts down is not replaced when another broker fails",
        releases=("0.8.0", "0.11.0"),  # onBrokerFailure; from 1.0 on onReplicasBecomeOffline
        decides={
            Decision(
                "offline_leaders", OfflineLeaders.NOT_ONLINE, "which leaders are lost when a broker fails"
            ): OfflineLeaders.DEAD
        },
    ),
)
