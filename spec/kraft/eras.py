"""The versions of KRaft: `fixed`, the eras of Kafka by metadata version, and each bug as a switch on `fixed`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.spec.bounds.kraft import KRAFT
from kafka_spec.spec.decisions import (
    Checked,
    EmptiedIsr,
    FollowerEnds,
    LastKnownLeader,
    NewIncarnation,
    ReassignmentCompletion,
    ReassignmentLists,
    StrayReplicas,
)
from kafka_spec.spec.kraft import beginning, brokers, fetching, proposals, reassignment, replica, topics
from kafka_spec.spec.kraft.machines import MACHINES
from kafka_spec.spec.kraft.progress import PROGRESS, RECOVERS
from kafka_spec.spec.kraft.properties import SAFETY
from kafka_spec.spec.kraft.public.versions import SPECS as PUBLIC
from kafka_spec.spec.kraft.state import CACHE_AHEAD, ISR_SIZE, MIN_ISR, SPARES, UNCLEAN, KRaft
from kafka_spec.spec.table import Abstraction, Decision, Spec, anywhere, beginning_with

ABSTRACTIONS = (
    Abstraction(
        "at most one topic, with one partition; replicas are assigned in ascending order; brokers are not unregistered",
        "a batch changes partitions one by one from the same memory; elections of other replicas are other targets; a broker that "
        "is unregistered is as one that is fenced, until it registers anew",
    ),
    Abstraction(
        "the controller never fails, and a batch is committed at once",
        "nobody sees a success before its batch is committed, and a new controller continues where the log ends; the errors that a "
        "former one answers are a fault of their own",
    ),
    Abstraction(
        "a former controller's log ends with an image that some running broker has not gone beyond",
        "from earlier images it computes the same errors, and the broker that lags may be any",
    ),
    Abstraction(
        "the metadata log is held as images, and without those that all running brokers have gone beyond",
        "a broker folds any number of batches into one delta, and compares only epochs of two images",
    ),
    Abstraction(
        "a heartbeat and its answer are one step with the controller's event",
        "an answer tells a broker only that it may go; it may take its time over the next step",
    ),
    Abstraction(
        "a process starts, registers, and applies the log up to its registration in one step",
        "a starting broker does nothing before; the controller accepts a registration once the session before has ended, which "
        "may be before it fences that",
    ),
    Abstraction(
        "time is not modelled: the environment decides when a session ends and when a follower counts as slow",
        "fences of running brokers and removals of slow followers are bounded; one whose process has ended is fenced in the end",
    ),
    Abstraction(
        "the high watermark waits for the maximal ISR alone",
        "a leader also waits, for a time, for caught-up followers that could join; that only delays it (KAFKA-15021 is about this)",
    ),
    Abstraction(
        "fetch, answer and append are one step of follower and leader, except for fetches that are delayed on the network; a fetch "
        "brings one record",
        "several records are several fetches; the leader knows of an append with the next fetch",
    ),
    Abstraction(
        "a leader epoch without records is not in the epoch cache, and log start offsets are left out",
        "an entry without records ends where it starts: it costs one more round of truncation, which truncates nothing",
    ),
    Abstraction(
        "a client's write does not say acks",
        "a record below the high watermark is what acks=all acknowledges and what consumers read; a refused write is no step",
    ),
    Abstraction(
        "after a crash the high watermark is 0, after an orderly stop it is kept",
        "its checkpoint may be arbitrarily old; the oldest is the worst case",
    ),
    Abstraction(
        "a proposal whose sender's process has ended may still be answered, until that broker registers again",
        "then the broker epoch of the request is outdated, and it is refused as a whole",
    ),
)

DECISIONS: tuple[Decision, ...] = (
    Decision("elr", Checked.YES, "eligible leader replicas (KIP-966: 4.0 on request, 4.1 for new clusters)"),
    Decision("last_known_acceptable", Checked.YES, "the last known leader is elected only while it is active (4.1, KAFKA-19522)"),
    Decision("last_known_leader", LastKnownLeader.WHEN_NO_LEADER, "when the last leader is remembered"),
    Decision("new_incarnation", NewIncarnation.LEAVES_ISR, "what a registration of a restarted broker does to the ISR"),
    Decision("clean_shutdown_detected", Checked.YES, "a registration tells how the process before ended (4.0, KAFKA-18635)"),
    Decision("same_incarnation_keeps_epoch", Checked.YES, "a process that registers again keeps its epoch (3.9, KAFKA-16952)"),
    Decision("bump_on_shrink", Checked.NO, "the leader epoch grows when a member leaves the ISR (up to 3.6-IV0)"),
    Decision("ahead_is_not_controller", Checked.YES, "what is ahead of the controller gets NOT_CONTROLLER (3.3, KAFKA-14154)"),
    Decision("bar_ineligible", Checked.YES, "the controller bars fenced and stopping brokers from the ISR (3.3, KIP-841)"),
    Decision("alter_epochs_compared", Checked.YES, "the controller compares broker epochs of proposed members (3.5, KIP-903)"),
    Decision("leader_checks_eligibility", Checked.YES, "a leader proposes active brokers only (3.3, KIP-841)"),
    Decision("fetch_epochs_compared", Checked.YES, "a leader compares the broker epochs of fetches (3.5, KIP-903)"),
    Decision("high_watermark_needs_min_isr", Checked.YES, "the high watermark stops below min.insync.replicas (3.7, KAFKA-15583)"),
    Decision("high_watermark_after_alter", Checked.YES, "the high watermark is tried after an answer (3.1, KAFKA-13091)"),
    Decision("high_watermark_after_rollback", Checked.YES, "and after a proposal is rolled back (no version up to 4.4)"),
    Decision("cleared_before_retry", Checked.YES, "a proposal that is retried replaces the former request (3.2.1, KAFKA-14010)"),
    Decision("equal_partition_epoch_applied", Checked.YES, "an image with a known partition epoch is applied (3.3, KAFKA-13790)"),
    Decision(
        "proposal_survives_known_epoch",
        Checked.YES,
        "an image with a known partition epoch keeps the pending proposal (no version up to 4.4)",
    ),
    Decision("follower_ends", FollowerEnds.FORGOTTEN, "what a leader that is elected again knows of its followers' logs"),
    Decision("reassignment_completion", ReassignmentCompletion.ALL_IN_ISR, "when a reassignment completes (3.8, KAFKA-15665)"),
    Decision("reassignment_lists", ReassignmentLists.ACCUMULATED, "which replicas a second request adds and removes"),
    Decision("emptied_isr", EmptiedIsr.REFUSED, "a cancellation that would empty the ISR"),
    Decision("cancellation_keeps_min_isr", Checked.YES, "a cancellation leaves min.insync.replicas (no version up to 4.4)"),
    Decision("elr_within_replicas", Checked.YES, "who leaves the replicas leaves the ELR (no version up to 4.4)"),
    Decision("removed_replica_deleted", Checked.YES, "who leaves the replicas deletes its log (3.0, KAFKA-13198)"),
    Decision("stray_replicas", StrayReplicas.DELETED_FIRST, "which logs a broker deletes when it starts"),
    Decision("new_isr_active", Checked.YES, "a new topic's ISR has active brokers only (3.0, KAFKA-13083)"),
    Decision("fetch_topic_ids", Checked.YES, "a fetch names its topic by id (3.1, KIP-516)"),
    Decision("alter_topic_ids", Checked.YES, "a proposal names its topic by id (3.3, KAFKA-13923)"),
    Decision("join_needs_epoch_start", Checked.YES, "joining the ISR needs the start of the epoch (2.0.1, KAFKA-7128)"),
)

FIXED = Spec(
    "kraft/fixed",
    "KRaft of Kafka 4.1 with eligible leader replicas, and a fix for each bug that is a switch",
    KRaft,
    rules=(*replica.RULES, *fetching.RULES, *proposals.RULES, *brokers.RULES, *reassignment.RULES, *topics.RULES),
    properties=(*SAFETY, RECOVERS, *PROGRESS),
    start=beginning.START,
    more_bounds=(MIN_ISR, UNCLEAN, ISR_SIZE, SPARES, CACHE_AHEAD),
    decisions=DECISIONS,
    machines=MACHINES,
    abstractions=ABSTRACTIONS,
    bound_sets=KRAFT,
    final=anywhere,  # a quiet cluster waits for its environment; that the protocol gets there is what RECOVERS and PROGRESS claim
    cites="facts about Apache Kafka 3.9 to 4.2",
)

# ---------------------------------------------------------------------------------------------------------------------
# Bugs, each a switch on `fixed`


@dataclass(frozen=True)
class Switch:
    """A bug of Kafka, or an earlier design, as other values of decisions; `bounds` names the bound set that shows it."""

    name: str
    says: str
    bounds: str
    decisions: Mapping[str, enum.IntEnum]

    def on(self, spec: Spec) -> Spec:
        """Return the spec with only this switch."""
        return spec.replacing(
            f"kraft/{self.name}", self.says, decisions=self.decisions, bound_sets=beginning_with(self.bounds, spec.bound_sets)
        )


SWITCHES: tuple[Switch, ...] = (
    Switch(
        "KAFKA-14154",
        "a controller that has been replaced refuses a proposal ahead of it; the leader waits for metadata that never comes",
        "stale_answer",
        {"ahead_is_not_controller": Checked.NO},
    ),
    Switch(
        "KAFKA-14010",
        "a proposal that should be retried is refused by the leader's own queue: nothing is on the way, and it stays pending",
        "stale_answer",
        {"cleared_before_retry": Checked.NO},
    ),
    Switch(
        "KAFKA-13916",
        "a broker that is fenced or shuts down still fetches, and is taken back into the ISR (KIP-841): up to 3.2",
        "shutdown",
        {"bar_ineligible": Checked.NO, "leader_checks_eligibility": Checked.NO},
    ),
    Switch(
        "KAFKA-14617",
        "a proposal names brokers without their epochs: one that restarted without its records joins the ISR (KIP-903): up to 3.4",
        "rejoin_lossy",
        {"alter_epochs_compared": Checked.NO, "fetch_epochs_compared": Checked.NO},
    ),
    Switch(
        "last-replica-standing",
        "without eligible leader replicas the last ISR member crashes, loses records, and leads again (KIP-966)",
        "lossy_and_fence",
        {"elr": Checked.NO},
    ),
    Switch(
        "KAFKA-18106",
        "without eligible leader replicas a process that registers anew stays in the ISR, whatever it lost: up to 3.9",
        "lossy",
        {"elr": Checked.NO, "new_incarnation": NewIncarnation.STAYS},
    ),
    Switch(
        "KAFKA-15583",
        "the high watermark moves while the ISR is below min.insync.replicas: up to 3.6",
        "two_fences",
        {"high_watermark_needs_min_isr": Checked.NO},
    ),
    Switch(
        "KAFKA-19522",
        "the last known leader is elected although it is fenced: 4.0",
        "two_crashes",
        {"last_known_acceptable": Checked.NO},
    ),
    Switch(
        "KAFKA-18635",
        "every restart counts as unclean: orderly restarts of all members empty ISR and ELR",
        "two_shutdowns",
        {"clean_shutdown_detected": Checked.NO},
    ),
    Switch(
        "KAFKA-16952",
        "a process that registers again gets another broker epoch and is fenced: 3.7 and 3.8",
        "registers_again",
        {"same_incarnation_keeps_epoch": Checked.NO},
    ),
    Switch(
        "KAFKA-13790",
        "an image is ignored if its partition epoch was told by the answer to a proposal",
        "shrink",
        {"equal_partition_epoch_applied": Checked.NO},
    ),
    Switch(
        "KAFKA-13091",
        "the high watermark is not tried after an accepted proposal, and the image that follows is ignored: 3.0",
        "shrink",
        {"high_watermark_after_alter": Checked.NO, "equal_partition_epoch_applied": Checked.NO},
    ),
    Switch(
        "proposal-dropped-at-known-epoch",
        "a leader applies an image whose partition epoch an answer told before, and drops the proposal that it made since; the "
        "controller has accepted that, and the leader commits without the new ISR member (3.3 to 4.4)",
        "proposal_dropped",
        {"proposal_survives_known_epoch": Checked.NO},
    ),
    Switch(
        "high-watermark-waits-after-rollback",
        "the high watermark is not tried after a proposal is rolled back: it waits for who may not join (3.3 to 4.4)",
        "fence_and_crash",
        {"high_watermark_after_rollback": Checked.NO},
    ),
    Switch(
        "re-elected-leader-remembers",
        "a leader that missed another's leader epoch is elected again, and still counts what a follower has truncated since",
        "preferred",
        {"follower_ends": FollowerEnds.KEPT_IF_LEADER},
    ),
    Switch(
        "KAFKA-7128",
        "a follower joins the ISR below the start of the leader's epoch",
        "two_fences",
        {"join_needs_epoch_start": Checked.NO},
    ),
    Switch(
        "last-known-when-isr-empties",
        "the last leader is remembered when the ISR becomes empty, even if nobody led then: 4.0.0 to 4.1.0",
        "two_crashes",
        {"last_known_leader": LastKnownLeader.WHEN_ISR_EMPTIES},
    ),
    Switch(
        "elr-outside-replicas",
        "a broker that a reassignment removes stays in the ELR; it comes back without its log, and is elected cleanly (4.0 to 4.4)",
        "reassign_and_fence",
        {"elr_within_replicas": Checked.NO},
    ),
    Switch(
        "stale-reassignment-lists",
        "a second request leaves a list of added or removed replicas as it is where its own would be empty: a replica that it "
        "names is removed (up to 4.4)",
        "three_reassign",
        {"reassignment_lists": ReassignmentLists.KEPT_IF_EMPTY},
    ),
    Switch(
        "cancellation-elects-cleanly",
        "a cancellation that empties the ISR makes the first replica its member, as if it held all records, even if it is fenced; "
        "only where the topic allows unclean elections (up to 4.4)",
        "cancel",
        {"emptied_isr": EmptiedIsr.FIRST_REPLICA},
    ),
    Switch(
        "cancellation-below-min-isr",
        "a cancellation takes added replicas out of the ISR, however few are left: records that min.insync.replicas brokers hold "
        "are then held by fewer (up to 4.4)",
        "cancel_below_min_isr",
        {"cancellation_keeps_min_isr": Checked.NO},
    ),
    Switch(
        "KAFKA-15665",
        "a reassignment completes when the added replicas are in the ISR, whatever the others are: up to 3.7",
        "three_behind",
        {"reassignment_completion": ReassignmentCompletion.ADDED_IN_ISR},
    ),
    Switch(
        "KAFKA-19975",
        "a reassignment that adds as many replicas as it removes completes when these are in the ISR: 4.3 and 4.4",
        "three_reassign",
        {"reassignment_completion": ReassignmentCompletion.ADDED_IF_MANY},
    ),
    Switch(
        "KAFKA-13198",
        "a broker that is removed from the replicas keeps its replica running: before 3.0",
        "reassign_and_crash",
        {"removed_replica_deleted": Checked.NO},
    ),
    Switch(
        "KAFKA-13127",
        "a broker that starts deletes the replicas that it is assigned, and keeps the stray ones: before 3.0",
        "shutdown",
        {"stray_replicas": StrayReplicas.OTHERS_DELETED},
    ),
    Switch(
        "KAFKA-14616",
        "the log of a deleted topic is in the way of the replica of another topic of the same name: up to 3.6",
        "delete_and_crash",
        {"stray_replicas": StrayReplicas.DELETED_LAST},
    ),
    Switch(
        "KAFKA-13083",
        "a new topic has brokers in its ISR that are fenced: before 3.0",
        "delete_and_fence",
        {"new_isr_active": Checked.NO},
    ),
    Switch(
        "fetch-without-topic-id",
        "a fetch names its topic without an id: a follower of a deleted topic counts for the next one (KIP-516): up to 3.0",
        "delete_and_crash",
        {"fetch_topic_ids": Checked.NO},
    ),
    Switch(
        "alter-partition-without-topic-id",
        "a proposal names its topic without an id: a late one changes the ISR of another topic of the same name: up to 3.2",
        "delete_and_fence",
        {"alter_topic_ids": Checked.NO},
    ),
    Switch(
        "epoch-bump-on-shrink",
        "the leader epoch grows with each shrink of the ISR: before metadata version 3.6-IV0",
        "shrink",
        {"bump_on_shrink": Checked.YES},
    ),
)
"""The switches on `fixed`."""

BREAKS_NOTHING: Mapping[str, str] = {
    "KAFKA-13790": "a record whose partition epoch an answer told changes replicas only with the leader epoch, and then it counts",
    "KAFKA-19975": "at the bounds tried, with lists that are replaced; with stale ones ReassignmentEnds fails (era_4_3)",
    "re-elected-leader-remembers": "at the bounds tried; control/re-elected-leader-remembers shows it with another protocol",
    "KAFKA-7128": "at the bounds tried; it needs three replicas and two leader epochs (spec/replication has it)",
    "last-known-when-isr-empties": "it changes who is remembered, and only unclean elections ask for that",
    "epoch-bump-on-shrink": "an earlier design, and no bug",
}
"""Switches that alone violate no property at the bounds tried, and why."""

LEFT_OUT: Mapping[str, str] = {
    "KAFKA-15021": "the high watermark also waits, for a time, for caught-up followers outside the ISR: time is not modelled",
    "KAFKA-14292": "it needs metadata that grows forever: here the log ends, and every broker comes to its end",
    "KAFKA-15221": "the state of a follower is read in one step",
}
"""Known bugs that no switch expresses, and why."""

SWITCH = {switch.name: switch for switch in SWITCHES}

# ---------------------------------------------------------------------------------------------------------------------
# Eras

FOUND = (
    "proposal-dropped-at-known-epoch",
    "high-watermark-waits-after-rollback",
    "re-elected-leader-remembers",
    "stale-reassignment-lists",
    "cancellation-elects-cleanly",
    "cancellation-below-min-isr",
)
"""What the checker found. The first two: sources of 3.3.2, 3.5.2, 3.7.1 and 3.9.0-rc3, classes of 3.9.1, 4.1.2 and 4.4.0."""
IN_3_3 = (
    "KAFKA-14617",
    "last-replica-standing",
    "KAFKA-18106",
    "KAFKA-15583",
    "KAFKA-14616",
    "KAFKA-15665",
    "epoch-bump-on-shrink",
    *FOUND,
)
"""The switches of 3.3 at its own metadata version."""
IN_3_5 = tuple(name for name in IN_3_3 if name != "KAFKA-14617")
"""The switches of 3.5, which has KIP-903."""
IN_3_7 = (
    *(name for name in IN_3_5 if name not in ("KAFKA-15583", "KAFKA-14616", "epoch-bump-on-shrink")),
    "KAFKA-16952",
)
"""The switches of 3.7: the high watermark stops below min.insync.replicas, and a shrink needs no leader epoch."""
IN_3_9 = tuple(name for name in IN_3_7 if name not in ("KAFKA-16952", "KAFKA-15665"))
"""The switches of 3.9."""
IN_4_0 = ("KAFKA-19522", "last-known-when-isr-empties", "elr-outside-replicas", *FOUND)
"""The switches of 4.0 with eligible.leader.replicas.version=1."""
IN_4_1 = ("elr-outside-replicas", *FOUND)
"""The switches of 4.1.1, whose new clusters have eligible leader replicas."""
IN_4_3 = ("KAFKA-19975", *IN_4_1)
"""The switches of 4.3 and 4.4."""


def era(name: str, says: str, switches: tuple[str, ...]) -> Spec:
    """Return `fixed` with the switches of an era."""
    decided = {decision: value for switch in switches for decision, value in SWITCH[switch].decisions.items()}
    return FIXED.replacing(f"kraft/{name}", says, decisions=decided)


ERAS: Mapping[str, tuple[str, ...]] = {
    "era_3_3": IN_3_3,
    "era_3_5": IN_3_5,
    "era_3_7": IN_3_7,
    "era_3_9": IN_3_9,
    "era_4_0": IN_4_0,
    "era_4_1": IN_4_1,
    "era_4_3": IN_4_3,
}

SPECS: tuple[Spec, ...] = (
    FIXED,
    *(era(name, f"Kafka {name[4:].replace('_', '.')} at its own metadata version", switches) for name, switches in ERAS.items()),
    *(switch.on(FIXED) for switch in SWITCHES),
    *PUBLIC,
)
"""All versions of KRaft."""
