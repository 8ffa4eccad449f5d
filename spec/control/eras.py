"""The versions of the control plane: `fixed`, the eras of Kafka, and each bug as a switch on `fixed`.

`fixed` is Kafka 2.8 at inter.broker.protocol 2.6, which writes the ISR through ZooKeeper, with a fix for each bug that is a switch
here, including those that the checker found. Known bugs that no switch expresses stand in known_bugs.py; of the fix of KAFKA-14140
only the leader's half is here (see ADDED_WHILE_GONE). A bug is a different value of one decision of `k` (or one more rule); an era
is a list of such switches. versions.py says which releases of Kafka have each.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_spec.spec.bounds import CONTROL
from kafka_spec.spec.control import additions, beginning, broker, controller, deletion, environment
from kafka_spec.spec.control.assignments import ASSIGNMENTS, REASSIGNMENT_ENDS
from kafka_spec.spec.control.bounds import DELETIONS, IMBALANCE, LATE_STOPS, MIN_ISR, NO_DELETION, REPLICAS, SETTLED, UNCLEAN
from kafka_spec.spec.control.deletion_properties import (
    DELETION,
    DELETION_ENDS,
    NOTHING_IS_LEFT_OF_REASSIGNED,
    OLD_RECORDS_ARE_NOT_SERVED,
)
from kafka_spec.spec.control.durability import ADDED_ARE_UP, DURABILITY, ISR_HOLDS_COMMITTED, LOG_GOALS, READS_BEFORE_KIP_207
from kafka_spec.spec.control.goals import GOALS
from kafka_spec.spec.control.machines import CONTROLLER, ROLE
from kafka_spec.spec.control.normal_form import NORMAL_FORM
from kafka_spec.spec.control.progress import PROGRESS
from kafka_spec.spec.control.properties import OLD_LEADERS_STOP, RECOVERS, SAFETY
from kafka_spec.spec.control.rows import bound_to
from kafka_spec.spec.control.state import World
from kafka_spec.spec.decisions import (
    AddedDuringDeletion,
    AnswersCounted,
    BadVersionHandling,
    BumpedEpoch,
    Checked,
    ControllerElection,
    CountedMembers,
    CreationDuringDeletion,
    DeadReplicas,
    DeletionOfReassigned,
    DeletionThread,
    EndOfReassignment,
    EpochWatch,
    FailedDeletions,
    FetchAnswers,
    FollowerEnds,
    FollowerSkip,
    GivingUp,
    IneligibleNames,
    LastIsrMember,
    LateAnswers,
    LeaderlessReplicas,
    LostTarget,
    OfflineLeaders,
    OfflineRecipients,
    Reassignment,
    RefusedIsrWrite,
    RemovedFromZnode,
    ReplacedReassignment,
    ShrinkRecipients,
    ShutdownRecipients,
    StopReplicaEpoch,
    SuffixLoss,
    Truncation,
    UnassignedBrokers,
)
from kafka_spec.spec.deletion import TOPIC_DELETION
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.reassignment_steps import REASSIGNMENT
from kafka_spec.spec.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.table import Abstraction, BoundSet, Decision, Machine, Property, Rule, Spec, anywhere

ABSTRACTIONS = (
    Abstraction(
        "one topic with one or two partitions, created on the first brokers in ascending order, and each reassigned to one or two",
        "a controller handles partitions one by one; they share the channels, the topic's deletion and what hinders a rebalance",
    ),
    Abstraction(
        "a request that is about two partitions is two requests, one after the other in the channel, sent with their writes",
        "Kafka sends one batch at the end of a change of states. Of each request a broker takes or refuses each partition by "
        "itself, but for the epochs of controller and broker, which are equal in both requests. What Kafka sends later could also "
        "be delivered later. A run of Kafka is a run here in which nothing comes between the two requests; only the model can "
        "deliver the first before the second partition is written, or lose the second alone, as with a broken connection. One "
        "request would have to wait in the controller's memory until its event ends, and two removals of one partition be one, too",
    ),
    Abstraction(
        "the leader writes the ISR to ZooKeeper, as at inter.broker.protocol 2.6; AlterPartition (2.7 and later) is not modelled",
        "what the controller refuses there is missing: from 3.3 on an ISR with a broker that is gone or shuts down (KAFKA-14140)",
    ),
    Abstraction(
        "a crash ends the session at once",
        "a dead broker that is still registered is modelled as a live one that takes no steps before its crash",
    ),
    Abstraction(
        "UpdateMetadata is sent when the live brokers change, before the LeaderAndIsr of that event, and carries nothing else",
        "brokers use only its live brokers, and a repeated list changes nothing; an election names a leader of both lists",
    ),
    Abstraction(
        "a request that is in flight when its sender's process ends is lost",
        "a request that is processed later could have been processed before the crash; a sender without a session keeps sending",
    ),
    Abstraction(
        "a controller performs all reads at the beginning of an event in one step",
        "a change between two of its reads is found by the next event",
    ),
    Abstraction(
        "a controller without a session can still write to ZooKeeper until the end of its event",
        "2.8's client does not allow this; so the checks of /controller_epoch alone must stop such writes",
    ),
    Abstraction(
        "a read and a conditional write that is repeated until it succeeds are one step",
        "the successful write replaced the content that was read; an ISR write uses a version read earlier, which is compared",
    ),
    Abstraction(
        "fetch, answer and append are one step of follower and leader, except for fetches that are delayed on the network",
        "a leader records a follower's log end with its next fetch; here the step that advances the high watermark may be as late",
    ),
    Abstraction(
        "answers to fetches of more than one record, and more than one late answer",
        "the fetcher of a follower has one request in flight to its leader, and appends what one answer brings at once",
    ),
    Abstraction(
        "a new session and the registration under it are one step",
        "between the two a broker may write an ISR; the registration then makes the controller elect once more",
    ),
    Abstraction("after a restart the high watermark is 0", "its checkpoint may be arbitrarily old; the oldest is the worst case"),
    Abstraction(
        "removals of slow followers from the ISR are bounded; removals of followers whose process or fetcher stopped are not",
        "time is not modelled: the environment decides when a follower counts as slow",
    ),
    Abstraction(
        "answers to requests but for deletions of a topic, isNew, log directories and the contents of metadata are left out",
        "the controller acts on other answers only for failed log directories, which are not modelled",
    ),
    Abstraction(
        "a broker's cache lists the topic with its LeaderAndIsr, and drops it with the deletion mark of an UpdateMetadata",
        "the UpdateMetadata that comes with each LeaderAndIsr changes nothing else that is modelled",
    ),
    Abstraction(
        "an operator adds one partition, on the brokers from a first one on; the tool's read and its write are one step",
        "the assignment does not matter to what is promised; a write that overwrites a new reassignment is not modelled",
    ),
    Abstraction(
        "the controller's timer for automatic rebalance is an event of the environment",
        "time is not modelled; what it elects is decided by the controller's memory at that moment",
    ),
    Abstraction(
        "the znodes under that of a topic are deleted in one step for each partition, before it",
        "the state znode is the only one of them with content",
    ),
    Abstraction(
        "a controller holds one answer of each broker to a StopReplica with delete, the last",
        "a replica is asked again only after its answer was handled or dropped with its connection",
    ),
)


DECISIONS: tuple[Decision, ...] = (
    Decision("controller_writes_fenced", Checked.YES, "a controller's writes check /controller_epoch (2.1, KAFKA-6082)"),
    Decision("controller_election", ControllerElection.ONE_MULTI, "how a broker becomes the controller"),
    Decision("giving_up", GivingUp.FENCED, "how a controller that gives up deletes /controller"),
    Decision("epoch_watch", EpochWatch.IGNORED, "what an old controller does when /controller_epoch changes"),
    Decision("controller_epoch_checked", Checked.YES, "brokers refuse requests of older controllers (0.8, KAFKA-532)"),
    Decision("broker_epoch_checked", Checked.YES, "brokers refuse requests for earlier registrations (2.2, KIP-380)"),
    Decision("bounces_noticed", Checked.YES, "controllers compare broker epochs, not only ids (2.2, KAFKA-7235)"),
    Decision("dead_replicas", DeadReplicas.TAKEN_OFFLINE, "what a new controller does with dead replicas"),
    Decision("last_isr_member", LastIsrMember.KEPT, "what happens to the last member of an ISR"),
    Decision("shrink_recipients", ShrinkRecipients.ALL_REPLICAS, "the recipients when a dead replica has left the ISR"),
    Decision("shutdown_recipients", ShutdownRecipients.LIVE_OR_STOPPING, "the recipients of an election in a shutdown"),
    Decision("offline_leaders", OfflineLeaders.NOT_ONLINE, "which leaders are lost when a broker fails"),
    Decision("offline_recipients", OfflineRecipients.LIVE_OR_STOPPING, "the recipients of an election for a dead leader"),
    Decision("stop_replica_epoch", StopReplicaEpoch.AT_LEAST, "which leader epochs of a StopReplica are accepted"),
    Decision("bad_version", BadVersionHandling.READ_BACK, "what a leader does when its ISR write finds another version"),
    Decision("refused_isr_write", RefusedIsrWrite.KEPT_PENDING, "what a leader does after an ISR write that was refused"),
    Decision("isr_candidates_alive", Checked.YES, "a leader adds only live brokers to the ISR (3.3)"),
    Decision(
        "election_after_removal",
        Checked.YES,
        "an election is tried again after removals (no version up to 3.9)",
    ),
    Decision(
        "expired_sessions_read",
        Checked.NO,
        "an expired session is replaced by another to repeat a request (up to 1.0)",
    ),
    Decision("join_needs_epoch_start", Checked.YES, "joining the ISR needs the start of the epoch (2.0.1, KAFKA-7128)"),
    Decision("fetches_fenced", Checked.YES, "a leader compares the follower's leader epoch (2.1, KIP-320)"),
    Decision("fetch_generation_checked", Checked.YES, "a leader compares the fetcher's broker epoch (KIP-903: 3.5, only in KRaft)"),
    Decision("fetch_answers_taken", FetchAnswers.OF_EPOCH, "which delayed answers to its fetches a follower takes"),
    Decision("follower_ends", FollowerEnds.FORGOTTEN, "what a leader that is elected again knows of its followers' logs"),
    Decision("truncation", Truncation.DIVERGENCE, "where a new follower truncates"),
    Decision("follower_skip", FollowerSkip.SAME_EPOCH, "when a follower keeps its log and its fetcher unchanged"),
    Decision("reassignment", Reassignment.KIP_455, "where ZooKeeper holds a reassignment that runs"),
    Decision("end_of_reassignment", EndOfReassignment.ANNOUNCED, "when the target becomes all replicas (0.8.1, KAFKA-1097)"),
    Decision("bumped_epoch", BumpedEpoch.CACHED, "whether a controller remembers a leader epoch that it only incremented"),
    Decision(
        "replaced_reassignment",
        ReplacedReassignment.KEPT_TO_THE_END,
        "what happens to replicas that a replaced reassignment had added",
    ),
    Decision("lost_target", LostTarget.AWAITED, "what a controller does if the target has left the ISR again"),
    Decision(
        "removed_from_znode",
        RemovedFromZnode.PARTITION,
        "what leaves /admin/reassign_partitions with a partition (KAFKA-6193)",
    ),
    Decision("unassigned_brokers", UnassignedBrokers.TOLD, "whether brokers are told which replica is not theirs"),
    Decision("counted_members", CountedMembers.ISR, "which members of its ISR a leader counts for its high watermark"),
    Decision(
        "creation_during_deletion",
        CreationDuringDeletion.REFUSED,
        "whether a topic can be created while its deletion is not complete",
    ),
    Decision(
        "added_during_deletion",
        AddedDuringDeletion.REFUSED,
        "partitions that are added to a topic in deletion (2.0, KAFKA-6612)",
    ),
    Decision("deletion_of_reassigned", DeletionOfReassigned.AFTERWARDS, "when a topic that is being reassigned is deleted"),
    Decision("stop_replica_topic_checked", Checked.YES, "whether a StopReplica stops a later topic of the same name"),
    Decision("leaderless_replicas", LeaderlessReplicas.TAKEN_OFFLINE, "replicas that go offline while nobody knows a leader"),
    Decision("answers_counted", AnswersCounted.DELETIONS, "which answers count for a deletion (2.6, KAFKA-9946)"),
    Decision("late_answers", LateAnswers.DROPPED, "an answer that was not handled before its broker was removed"),
    Decision("failed_deletions", FailedDeletions.RETRIED, "what follows when a broker cannot delete a replica"),
    Decision("ineligible_names", IneligibleNames.FORGOTTEN, "whether a deleted topic leaves its name ineligible for deletion"),
    Decision("deletion_thread", DeletionThread.NONE, "who considers the deletion of a topic"),
    Decision("suffix_loss", SuffixLoss.OUTSIDE_ISR, "when a crash may lose the end of a log"),
)
"""The decisions with their values in `fixed`."""

NEEDS: Mapping[str, tuple[str, enum.IntEnum]] = {
    "ElectController": ("controller_election", ControllerElection.ONE_MULTI),
    "CreateControllerZnode": ("controller_election", ControllerElection.TWO_STEPS),
    "IncrementControllerEpoch": ("controller_election", ControllerElection.TWO_STEPS),
    "ControllerMoved": ("controller_writes_fenced", Checked.YES),
    "TruncateToLeader": ("truncation", Truncation.DIVERGENCE),
    "AdoptEpoch": ("epoch_watch", EpochWatch.ADOPTED),
    "RunDeletionThread": ("deletion_thread", DeletionThread.RUNS),
    "UpdateMetadataAgain": ("broker_epoch_checked", Checked.NO),
    "Reassign": ("reassignment", Reassignment.KIP_455),
    "CancelReassignment": ("reassignment", Reassignment.KIP_455),
    "SupplantReassignment": ("reassignment", Reassignment.KIP_455),
    "UncleanElection": ("reassignment", Reassignment.KIP_455),
    "RefusePartition": ("added_during_deletion", AddedDuringDeletion.REFUSED),
    "RestoreAssignment": ("added_during_deletion", AddedDuringDeletion.REFUSED),
}
"""Rules that need one value of a decision: a version with another value cannot reach them."""


def unreachable(changed: Mapping[str, enum.IntEnum]) -> tuple[str, ...]:
    """Return the rules that `fixed` with these changed decisions cannot reach."""
    decided = {decision.name: decision.value for decision in DECISIONS} | dict(changed)
    return tuple(rule for rule, (decision, value) in NEEDS.items() if decided[decision] != value)


FIXED = Spec(
    "control/fixed",
    "Kafka 2.8 with the ISR in ZooKeeper, and a fix for each bug that is a switch",
    World,
    rules=(*controller.RULES, *broker.RULES, *environment.RULES, *deletion.RULES, *additions.RULES),
    properties=(*SAFETY, *ASSIGNMENTS, *DURABILITY, *DELETION, RECOVERS, *PROGRESS, REASSIGNMENT_ENDS, DELETION_ENDS),
    start=beginning.START,
    more_bounds=(REPLICAS, UNCLEAN, MIN_ISR, SETTLED, NO_DELETION, IMBALANCE),
    decisions=DECISIONS,
    machines=(bound_to(PARTITION), bound_to(REPLICA), bound_to(REASSIGNMENT), CONTROLLER, ROLE, TOPIC_DELETION),
    abstractions=ABSTRACTIONS,
    bound_sets=CONTROL,
    unreachable_rules=unreachable({}),
    normal_form=NORMAL_FORM,
    normal_form_without=(DELETIONS, LATE_STOPS),
    final=anywhere,  # a quiet cluster waits for its environment; that the protocol gets there is what RECOVERS and PROGRESS claim
    cites="facts about Apache Kafka 2.8.2 at inter.broker.protocol 2.6",
)


# ---------------------------------------------------------------------------------------------------------------------
# Bugs, each a switch on `fixed`


def beginning_with(name: str, bound_sets: tuple[BoundSet, ...]) -> tuple[BoundSet, ...]:
    """Return the bound sets with the named one first, which is the default of a check."""
    (first,) = [bounds for bounds in bound_sets if bounds.name == name]
    return (first, *(bounds for bounds in bound_sets if bounds is not first))


@dataclass(frozen=True)
class Bug:
    """A bug of Kafka as a switch: other values of decisions, or additional rules.

    `known_as` is its number in spec/control/known_bugs.py, or None if the checker found it or a fault of hardware causes it;
    `bounds` names the bound set that shows it.
    """

    name: str
    says: str
    known_as: int | None
    bounds: str
    decisions: Mapping[str, enum.IntEnum] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    claims: tuple[Property, ...] = ()
    """Properties that only this version is checked for."""

    def on(self, spec: Spec) -> Spec:
        """Return the spec with only this bug."""
        decided = {decision.name: decision.value for decision in spec.decisions} | dict(self.decisions)
        return spec.replacing(
            f"control/{self.name}",
            self.says,
            decisions=self.decisions,
            rules=self.rules,
            properties=self.claims,
            unreachable_rules=unreachable(decided),
            bound_sets=beginning_with(self.bounds, spec.bound_sets),
        )


BUGS: tuple[Bug, ...] = (
    Bug(
        "KAFKA-532",
        "brokers do not compare controller epochs: requests of a deposed controller take effect",
        1,
        "crash_and_expiry",
        {"controller_epoch_checked": Checked.NO},
    ),
    Bug(
        "KAFKA-1096",
        "an old controller that sees /controller_epoch change continues under the new epoch",
        2,
        "expiry",
        {"epoch_watch": EpochWatch.ADOPTED},
    ),
    Bug(
        "KAFKA-6082-unfenced-writes",
        "a controller's writes do not check /controller_epoch: a deposed one still writes",
        3,
        "crash_and_expiry",
        {"controller_writes_fenced": Checked.NO},
    ),
    Bug(
        "KAFKA-6082-two-step-election",
        "/controller is created first and the epoch is incremented later: a deposed one gets the larger epoch",
        3,
        "expiry_at_the_beginning",
        {"controller_election": ControllerElection.TWO_STEPS},
    ),
    Bug(
        "KAFKA-6082-unconditional-delete",
        "a controller that gives up deletes /controller, even if another controller owns it by then",
        3,
        "failed_failover",
        {"giving_up": GivingUp.UNCONDITIONAL},
    ),
    Bug(
        "KAFKA-1188",
        "only the leader is sent the smaller ISR and the larger leader epoch: the other followers stay one epoch behind",
        4,
        "three_crash",
        {"shrink_recipients": ShrinkRecipients.LEADER_ONLY},
    ),
    Bug(
        "KAFKA-7235-unseen-bounce",
        "controllers compare broker ids only: a broker that restarts fast enough never receives its partitions",
        5,
        "bounce",
        {"bounces_noticed": Checked.NO},
    ),
    Bug(
        "KAFKA-7235-former-incarnation",
        "brokers do not compare broker epochs: a request for the previous process takes effect on the current one",
        5,
        "bounce_at_the_beginning",
        {"broker_epoch_checked": Checked.NO},
    ),
    Bug(
        "KAFKA-708",
        "the last member of an ISR is removed from it when its broker dies, and stays the leader",
        8,
        "lone_replica",
        {"last_isr_member": LastIsrMember.DROPPED},
    ),
    Bug(
        "KAFKA-5083",
        "the last member of an ISR is removed from it when its broker dies, if unclean election is enabled",
        9,
        "lone_replica",
        {"last_isr_member": LastIsrMember.DROPPED_IF_UNCLEAN},
    ),
    Bug(
        "KAFKA-1382",
        "a leader whose ISR write succeeded without an answer keeps the old version, and all its later writes fail",
        12,
        "lost_reply",
        {"bad_version": BadVersionHandling.SKIPPED, "refused_isr_write": RefusedIsrWrite.DROPPED},
    ),
    Bug(
        "unanswered-expansion-forgotten",
        "a leader adds a follower to the ISR without an answer; the controller writes before the leader tries again, and the "
        "leader goes on without that follower, which may lead by now: 0.8 to 2.7",
        None,
        "unanswered_expansion",
        {"refused_isr_write": RefusedIsrWrite.DROPPED},
    ),
    Bug(
        "KAFKA-3143",
        "a new controller does nothing with replicas whose brokers are dead",
        31,
        "lone_replica",
        {"dead_replicas": DeadReplicas.IGNORED},
    ),
    Bug(
        "KAFKA-7482",
        "a leader that shuts down is not informed that it no longer leads",
        39,
        "shutdown",
        {"shutdown_recipients": ShutdownRecipients.LIVE},
    ),
    Bug(
        "KAFKA-14617",
        "a leader counts a fetch that a process sent before it crashed and lost the end of its log",
        28,
        "late_fetch",
        {"fetch_generation_checked": Checked.NO},
    ),
    Bug(
        "last-replica-standing",
        "the last member of the ISR crashes, loses unflushed records, and leads again: up to 3.9",
        None,
        "lone_lossy",
        {"suffix_loss": SuffixLoss.ANY},
    ),
    Bug(
        "tail-lost-in-isr",
        "a leader crashes, loses a record that the other ISR member holds, and restarts before this is noticed: it still leads",
        None,
        "lossy",
        {"suffix_loss": SuffixLoss.OTHERS_HOLD},
    ),
    Bug(
        "stopping-leader-not-told",
        "a leader that shuts down is replaced when another broker fails or starts, and is not informed: 1.0 to 3.9",
        None,
        "leader_shuts_down",
        {"offline_recipients": OfflineRecipients.LIVE},
    ),
    Bug(
        "no-election-after-removal",
        "a leader that is considered dead adds a live replica to the ISR after the election and before its own removal: "
        "that replica is not elected; 0.8.2 to 3.9",
        None,
        "expired_leader",
        {"election_after_removal": Checked.NO},
    ),
    Bug(
        "re-elected-leader-remembers",
        "a leader that missed another's leader epoch is elected again, and still counts what a follower has truncated since: "
        "0.9 to 3.9",
        None,
        "re_elected_leader",
        {"follower_ends": FollowerEnds.KEPT_IF_LEADER},
        claims=(ISR_HOLDS_COMMITTED,),
    ),
    Bug(
        "expired-session-reads",
        "an old controller without a session reads that a broker has just started, and that broker accepts its requests: "
        "the client library opened a new session for the read",
        None,
        "expired_leader",
        {"expired_sessions_read": Checked.YES},
    ),
    Bug(
        "KAFKA-9539",
        "a StopReplica has no leader epoch: an old one stops a replica that was started again since",
        6,
        "late_stop",
        {"stop_replica_epoch": StopReplicaEpoch.NONE},
    ),
    Bug(
        "KAFKA-13972",
        "a StopReplica with the replica's own leader epoch is refused: the new replica of a cancelled reassignment stays",
        7,
        "reassigned_twice",
        {"stop_replica_epoch": StopReplicaEpoch.LARGER, "replaced_reassignment": ReplacedReassignment.DROPPED_AT_ONCE},
    ),
    Bug(
        "KAFKA-1097",
        "a reassignment ends, and the leader that stays is not told: it adds a replica that has left to the ISR again",
        10,
        "reassigned_with_shrink",
        {"end_of_reassignment": EndOfReassignment.AFTERWARDS},
    ),
    Bug(
        "KAFKA-6193",
        "a reassignment ends, and with it all that the controller has read in /admin/reassign_partitions and not begun is dropped: "
        "in no release",
        37,
        "partitions_planned",
        {"removed_from_znode": RemovedFromZnode.ALL_NOT_BEGUN},
    ),
    Bug(
        "KAFKA-9212",
        "a controller forgets the leader epoch that it has written for a reassignment: a broker that starts is sent the one before",
        None,
        "reassigned_bounce",
        {"bumped_epoch": BumpedEpoch.FORGOTTEN},
    ),
    Bug(
        "last-copy-deleted",
        "a reassignment ends although its target has left the ISR again: the only replica in sync is deleted; up to 3.9",
        None,
        "reassigned_crash",
        {"lost_target": LostTarget.IGNORED},
    ),
    Bug(
        "cancelled-replica-rejoins",
        "a cancelled reassignment drops its new replica before the leader knows: it joins the ISR once more; 2.4 to 3.9",
        None,
        "reassigned_twice",
        {"replaced_reassignment": ReplacedReassignment.DROPPED_AT_ONCE},
    ),
    Bug(
        "stray-replica",
        "a controller ends after a reassignment, and with it its StopReplica: a replica stays that nobody owns; up to 3.9",
        None,
        "reassigned_bounce",
        {"unassigned_brokers": UnassignedBrokers.NOT_TOLD},
    ),
    Bug(
        "leaving-replica-not-counted",
        "a leader commits without a replica that is being removed and still in the ISR, which may be elected; 0.10.2 to 3.9",
        None,
        "reassigned_records",
        {"counted_members": CountedMembers.ASSIGNED},
    ),
    Bug(
        "KIP-101",
        "a new follower truncates to its high watermark",
        13,
        "old_epochs",
        {"truncation": Truncation.HIGH_WATERMARK},
    ),
    Bug(
        "KAFKA-7164",
        "a follower that should truncate to its high watermark does not, if the leader's id is the same as before",
        15,
        "old_epochs",
        {"truncation": Truncation.HIGH_WATERMARK, "follower_skip": FollowerSkip.SAME_LEADER},
    ),
    Bug(
        "late-answer-taken",
        "a follower takes an answer to a fetch of an earlier leader epoch, if its offset fits: up to 0.10",
        None,
        "late_answer",
        {"truncation": Truncation.HIGH_WATERMARK, "fetch_answers_taken": FetchAnswers.OF_OFFSET},
    ),
    Bug(
        "KAFKA-7128",
        "a follower joins the ISR below the start of the leader's epoch",
        17,
        "old_epochs",
        {"join_needs_epoch_start": Checked.NO},
    ),
    Bug(
        "KAFKA-7395",
        "a leader does not compare the follower's leader epoch",
        18,
        "expired_leader",
        {"fetches_fenced": Checked.NO},
    ),
    Bug(
        "isr-candidate-not-alive",
        "a leader adds a broker to the ISR that its metadata cache does not list as alive: up to 3.2",
        None,
        "expired_leader",
        {"isr_candidates_alive": Checked.NO},
    ),
    Bug(
        "stop-replica-of-former-topic",
        "a StopReplica for a topic that was deleted since deletes the replica of a new topic of the same name: 0.8.2 to 3.9",
        None,
        "late_stop_of_deletion",
        {"stop_replica_topic_checked": Checked.NO},
    ),
    Bug(
        "KAFKA-6650",
        "replicas of a partition whose leader is unknown never go offline, so the deletion of their topic never ends",
        32,
        "deletion_and_crash",
        {"leaderless_replicas": LeaderlessReplicas.STUCK},
    ),
    Bug(
        "KAFKA-9946",
        "the answer to a StopReplica without delete counts as that of a deletion",
        35,
        "deletion",
        {"answers_counted": AnswersCounted.ALL},
    ),
    Bug(
        "created-during-deletion",
        "a topic can be created before the deletion of its predecessor ends, which takes its configuration away: 0.8.2 to 3.0",
        None,
        "deletion",
        {"creation_during_deletion": CreationDuringDeletion.ALLOWED},
    ),
    Bug(
        "late-deletion-answer",
        "the answer of a broker's earlier process counts after its restart was handled, and halts the deletion: 0.8.2 to 3.9",
        None,
        "deletion_and_bounce",
        {"late_answers": LateAnswers.COUNTED},
    ),
    Bug(
        "failed-deletion-waits",
        "a deletion that failed on a broker that lives is not tried again: 0.8.2 to 3.9",
        None,
        "deletion_fails",
        {"failed_deletions": FailedDeletions.HALTED},
    ),
    Bug(
        "ineligible-name-kept",
        "a topic that was ineligible when its deletion ended leaves its name ineligible for the next topic: 0.8.2 to 3.9",
        None,
        "deleted_twice",
        {"ineligible_names": IneligibleNames.KEPT},
    ),
    Bug(
        "KAFKA-6612",
        "partitions that are added to a topic in deletion stay in its znode, unknown to the controller that deletes it",
        33,
        "added_in_deletion",
        {"added_during_deletion": AddedDuringDeletion.SKIPPED},
    ),
    Bug(
        "deleted-while-reassigned",
        "a topic is deleted in the middle of a reassignment, which is never forgotten: leaders are not rebalanced any more: "
        "0.8.2 to 3.9",
        None,
        "deletion_and_reassignment",
        {"deletion_of_reassigned": DeletionOfReassigned.AT_ONCE},
    ),
    Bug(
        "KAFKA-1738",
        "a request is lost with its connection and not sent again",
        42,
        "lost_request",
        rules=(environment.LOSE_REQUEST,),
    ),
)
"""The bugs that a check of `fixed` with one switch must show."""

BUG = {bug.name: bug for bug in BUGS}

BREAKS_NOTHING = ("KAFKA-7395", "isr-candidate-not-alive")
"""Switches that alone violate no property at the bounds tried: the first needs a third replica and more leader epochs
(spec/replication has it), the second only shortens a state that the controller repairs."""

# ---------------------------------------------------------------------------------------------------------------------
# Eras

REACHED = dataclasses.replace(
    FIXED,
    name="control/goals",
    says="what an exploration of fixed must reach: every state of every machine, elections of each kind, zombies, bounces, quiet",
    properties=GOALS,
    bound_sets=beginning_with("goals", FIXED.bound_sets),
)
"""`fixed` with its goals in place of its promises."""

LOGS_REACHED = dataclasses.replace(
    REACHED,
    name="control/log-goals",
    says="what an exploration of fixed with records must reach: logs that differ, records of earlier epochs, two leaders alone",
    properties=LOG_GOALS,
    bound_sets=beginning_with("log_goals", FIXED.bound_sets),
)
"""`fixed` with goals about logs in place of its promises."""


def claiming(name: str, says: str, claim: Property, bounds: str) -> Spec:
    """Return `fixed` with one claim in place of its promises."""
    return dataclasses.replace(
        FIXED, name=name, says=says, properties=(claim,), bound_sets=beginning_with(bounds, FIXED.bound_sets)
    )


ISR_COMMITTED = claiming(
    "control/isr-holds-committed",
    "a stronger promise than Committed, which fixed keeps: whoever is in the ISR holds what is committed",
    ISR_HOLDS_COMMITTED,
    "two_records",
)
"""Apart from `fixed`, so that its bugs show the loss of a record, not only the danger of it."""

READERS_GO_BACK = claiming(
    "control/reads-before-KIP-207",
    "a claim that no Kafka up to 3.9 keeps: the high watermark of a new leader is at once at least that of the leader before",
    READS_BEFORE_KIP_207,
    "two_records",
)
"""Up to 2.1 a new leader may tell a reader an older latest offset. With KIP-207 `fixed` keeps ReadsNeverGoBack."""

ADDED_WHILE_GONE = claiming(
    "control/KAFKA-14140-in-zookeeper",
    "a claim that no Kafka up to 3.9 keeps while leaders write the ISR: who is added to it is registered and not shutting down",
    ADDED_ARE_UP,
    "expired_leader",
)
"""`fixed` has the leader's half of the fix (3.3): the leader asks its metadata cache, which may be old. The other half is in the
controller, which refuses such an ISR; it is not asked where the leader writes to ZooKeeper."""

OLD_LEADER_WITHOUT_SUCCESSOR = FIXED.replacing(
    "control/old-leader-without-successor",
    "a claim that no Kafka up to 3.9 keeps: a former leader stops leading although the partition has no leader",
    properties=(OLD_LEADERS_STOP,),
    bound_sets=beginning_with("crash_and_expiry", FIXED.bound_sets),
)
"""Found by the checker in `fixed`: a LeaderAndIsr that names no leader changes nothing on a broker."""

STRAY_OF_DELETED_TOPIC = claiming(
    "control/stray-of-deleted-topic",
    "a claim that no Kafka up to 3.9 keeps: nothing is left of a topic that was reassigned and then deleted",
    NOTHING_IS_LEFT_OF_REASSIGNED,
    "deletion_and_reassignment_bounce",
)
"""Found by the checker in `fixed`: what waits for a broker that was removed is lost with the controller, and the topic is gone."""

OLD_RECORDS_SERVED = claiming(
    "control/old-records-served",
    "a claim that no Kafka up to 2.7 keeps: a new topic has no records of one of its name that was reassigned and deleted",
    OLD_RECORDS_ARE_NOT_SERVED,
    "recreation_of_reassigned",
)
"""Found by a soak of the implementation, then by the checker in `fixed`: a stray replica is taken for one of the new topic. Topic
ids (2.8, KIP-516) refuse it."""

IN_2_8 = (
    "KAFKA-13972",
    "KAFKA-14617",
    "isr-candidate-not-alive",
    "stopping-leader-not-told",
    "no-election-after-removal",
    "re-elected-leader-remembers",
    "last-copy-deleted",
    "cancelled-replica-rejoins",
    "stray-replica",
    "leaving-replica-not-counted",
    "stop-replica-of-former-topic",
    "created-during-deletion",
    "late-deletion-answer",
    "failed-deletion-waits",
    "ineligible-name-kept",
    "deleted-while-reassigned",
)
"""The switches of 2.8.2 at inter.broker.protocol 2.6."""

IN_0_10 = (
    "KAFKA-6082-unfenced-writes",
    "KAFKA-6082-two-step-election",
    "KAFKA-6082-unconditional-delete",
    "KAFKA-7235-unseen-bounce",
    "KAFKA-7235-former-incarnation",
    "KAFKA-9539",
    "KAFKA-5083",
    "KIP-101",
    "KAFKA-7164",
    "KAFKA-7128",
    "KAFKA-7395",
    "KAFKA-14617",
    "KAFKA-3143",
    "isr-candidate-not-alive",
    "no-election-after-removal",
    "re-elected-leader-remembers",
    "unanswered-expansion-forgotten",
    "late-answer-taken",
    "expired-session-reads",
    "KAFKA-9212",
    "last-copy-deleted",
    "stray-replica",
    "leaving-replica-not-counted",
    "KAFKA-6650",
    "KAFKA-6612",
    "stop-replica-of-former-topic",
    "created-during-deletion",
    "late-deletion-answer",
    "failed-deletion-waits",
    "ineligible-name-kept",
    "deleted-while-reassigned",
)
"""The switches of 0.10.2. KIP-279 is a flaw of a later truncation; 0.10.2 drops everything above the high watermark."""


DIFFERENCES_OF_0_10: Mapping[str, enum.IntEnum] = {
    "offline_leaders": OfflineLeaders.DEAD,
    "reassignment": Reassignment.ENLARGED_ASSIGNMENT,
    "deletion_thread": DeletionThread.RUNS,
}
"""What 0.10.2 decides otherwise, and is no bug. Its elections for dead leaders never replace one that shuts down."""


def era(
    name: str,
    says: str,
    bugs: tuple[str, ...],
    differences: Mapping[str, enum.IntEnum] | None = None,
    machines: tuple[Machine, ...] = (),
) -> Spec:
    """Return `fixed` with the switches of an era, and what it decides otherwise besides."""
    switched = {name: value for bug in bugs for name, value in BUG[bug].decisions.items()}
    decisions = {**switched, **(differences or {})}
    return FIXED.replacing(name, says, decisions=decisions, machines=machines, unreachable_rules=unreachable(decisions))


ERA_2_8 = era("control/era_2_8", "Kafka 2.8.2 at inter.broker.protocol 2.6", IN_2_8)
ERA_0_10 = era("control/era_0_10", "Kafka 0.10.2", IN_0_10, DIFFERENCES_OF_0_10, (bound_to(REPLICA_0_10),))

CLAIMS = (
    OLD_LEADER_WITHOUT_SUCCESSOR,
    ISR_COMMITTED,
    READERS_GO_BACK,
    ADDED_WHILE_GONE,
    STRAY_OF_DELETED_TOPIC,
    OLD_RECORDS_SERVED,
)
SPECS: tuple[Spec, ...] = (FIXED, REACHED, LOGS_REACHED, ERA_2_8, ERA_0_10, *(bug.on(FIXED) for bug in BUGS), *CLAIMS)
"""All versions of the control plane."""
