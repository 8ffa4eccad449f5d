"""`fixed`, the model of KRaft that keeps every promise: its rules, its machines, its decisions.

It is Kafka 4.1 with eligible leader replicas, and a fix for each bug that is a switch in switches.py.
"""

from __future__ import annotations

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
from kafka_spec.spec.kraft.abstractions import ABSTRACTIONS
from kafka_spec.spec.kraft.machines import MACHINES
from kafka_spec.spec.kraft.progress import PROGRESS, RECOVERS
from kafka_spec.spec.kraft.properties import SAFETY
from kafka_spec.spec.kraft.state import CACHE_AHEAD, ISR_SIZE, MIN_ISR, SPARES, UNCLEAN, KRaft
from kafka_spec.spec.table import Decision, Spec, anywhere

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
