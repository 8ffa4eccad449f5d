"""The switches: each bug as a difference from `fixed`, another value of a decision of `k`, or one more rule.

So what a check of a bug shows is caused by that bug alone. Which bugs an era has stands in eras.py, which releases have each in
versions.py, and which of Kafka's bugs no switch expresses in known_bugs.py.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.control.assignments import PLAN_NAMES_TARGET
from kafka_spec.spec.control.bounds import BROKERS, REPEATS
from kafka_spec.spec.control.deletion_properties import DELETED_TOPICS_GO
from kafka_spec.spec.control.durability import ISR_HOLDS_COMMITTED
from kafka_spec.spec.control.environment import something_is_in_flight
from kafka_spec.spec.control.fixed import FIXED, unreachable
from kafka_spec.spec.control.messages import Kind
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
    OfflineRecipients,
    OlderPlans,
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
from kafka_spec.spec.domain import pop_first
from kafka_spec.spec.table import Property, Rule, Spec, beginning_with


def request_is_of_replicas(s: World, controller: int, broker: int) -> bool:
    """The request is no UpdateMetadata: a list of live brokers that is lost comes again with the next change of a leader."""
    return s.controllers[controller].channels[broker].requests[0].kind != Kind.UPDATE_METADATA


def lose_request(s: World, controller: int, broker: int) -> None:
    """Lose the connection and, with it, the request in flight."""
    pop_first(s.controllers[controller].channels[broker].requests)


LOSE_REQUEST = Rule(
    "LoseRequest",
    actor="network",
    kind="fault",
    params={"controller": Broker(BROKERS), "broker": Broker(BROKERS)},
    guards=(something_is_in_flight, request_is_of_replicas),
    at_most=REPEATS,
    effects=(lose_request,),
    says="the connection of the controller on {controller} to {broker} is lost, and with it the request in flight",
    cites="Kafka 0.8 RequestSendThread.doWork (KAFKA-1738)",
)


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
        "KAFKA-9089",
        "a request through the API leaves an older one in /admin/reassign_partitions until it ends, and the next controller goes "
        "back to the older one: in no release",
        38,
        "reassigned_twice",
        {"older_plans": OlderPlans.REMOVED_AT_END},
        claims=(PLAN_NAMES_TARGET,),
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
        "an error that a broker's earlier process answered counts after its restart was handled, and halts the deletion that was "
        "resumed: 0.8.2 to 3.9",
        None,
        "deletion_fails_and_bounce",
        {"late_answers": LateAnswers.COUNTED, "failed_deletions": FailedDeletions.HALTED},
        claims=(DELETED_TOPICS_GO,),
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
        rules=(LOSE_REQUEST,),
    ),
)
"""The bugs that a check of `fixed` with one switch must show."""

BUG = {bug.name: bug for bug in BUGS}

BREAKS_NOTHING = ("KAFKA-7395", "isr-candidate-not-alive")
"""Switches that alone violate no property at the bounds tried: the first needs a third replica and more leader epochs
(spec/replication has it), the second only shortens a state that the controller repairs."""

ON_FIXED: tuple[Spec, ...] = tuple(bug.on(FIXED) for bug in BUGS)
"""`fixed` with each of the bugs."""
