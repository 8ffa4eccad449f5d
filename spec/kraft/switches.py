"""The switches: each bug of KRaft, or earlier design, as other values of decisions of `fixed`.

So what a check of a switch shows is caused by it alone. Which switches an era has stands in eras.py.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

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
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.table import Spec, beginning_with


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

ON_FIXED: tuple[Spec, ...] = tuple(switch.on(FIXED) for switch in SWITCHES)
"""`fixed` with each of the switches."""
