"""`fixed`, the model of the control plane that keeps every promise: its rules, its machines, its decisions.

It is Kafka 2.8 at inter.broker.protocol 2.6, which writes the ISR through ZooKeeper, with a fix for each bug that is a switch in
bugs.py, including those that the checker found. Known bugs that no switch expresses stand in known_bugs.py; of the fix of
KAFKA-14140 only the leader's half is here (see ADDED_WHILE_GONE in claims.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from kafka_spec.spec.bounds.control import CONTROL
from kafka_spec.spec.control import additions, beginning, broker, controller, deletion, environment
from kafka_spec.spec.control.abstractions import ABSTRACTIONS
from kafka_spec.spec.control.assignments import ASSIGNMENTS, REASSIGNMENT_ENDS
from kafka_spec.spec.control.bounds import DELETIONS, IMBALANCE, LATE_STOPS, MIN_ISR, NO_DELETION, REPLICAS, SETTLED, UNCLEAN
from kafka_spec.spec.control.deletion_properties import DELETION, DELETION_ENDS
from kafka_spec.spec.control.durability import DURABILITY
from kafka_spec.spec.control.machines import CONTROLLER, ROLE
from kafka_spec.spec.control.normal_form import NORMAL_FORM
from kafka_spec.spec.control.progress import PROGRESS
from kafka_spec.spec.control.properties import RECOVERS, SAFETY
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
    OlderPlans,
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
from kafka_spec.spec.replica import REPLICA
from kafka_spec.spec.table import Decision, Spec, anywhere

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
    Decision("older_plans", OlderPlans.REMOVED_FIRST, "when a plan that the API overrides is taken back (KAFKA-9089)"),
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
