"""Topics that are deleted, created again, and get more partitions meanwhile."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.variants import (
    AddedDuringDeletion,
    AnswersCounted,
    Checked,
    CreationDuringDeletion,
    DeletionOfReassigned,
    DeletionThread,
    FailedDeletions,
    IneligibleNames,
    LateAnswers,
    LeaderlessReplicas,
)
from kafka_spec.spec.machines.replica import REPLICA_0_10
from kafka_spec.spec.untested import ISR_COMPLETE, NO_LEADER_MISSING, search_ends
from kafka_spec.spec.vocabulary.table import Decision
from kafka_spec.spec.zookeeper.cases.releases import LAST
from kafka_spec.spec.zookeeper.families import (
    CONTROLLER_STAYS,
    EPOCH_IS_KNOWN,
    LAST_MEMBER_STAYS,
    NOT_CREATED_AGAIN,
    NOTHING_OUTDATED,
)
from kafka_spec.spec.zookeeper.properties.deletion import DELETED_TOPICS_GO
from kafka_spec.spec.zookeeper.rows import bound_to

FAILED_DELETIONS = Decision("failed_deletions", FailedDeletions.RETRIED, "what follows when a broker cannot delete a replica")
CASES: tuple[Case, ...] = (
    Case(
        "stop-replica-of-former-topic",
        "a StopReplica for a topic that was deleted since deletes the replica of a new topic of the same name",
        releases=("0.8.2", LAST),  # topics can be deleted since 0.8.2
        decides={
            Decision(
                "stop_replica_topic_checked", Checked.YES, "whether a StopReplica stops a later topic of the same name"
            ): Checked.NO
        },
        shows=(Shown("late_stop_of_deletion", {"NoStaleRequest": 23}),),
        seen="conformance/reproductions/stop_replica_of_former_topic.py",
    ),
    Case(
        "KAFKA-6650",
        "replicas of a partition whose leader is unknown never go offline, so the deletion of their topic never ends",
        releases=("0.8.2", "1.1"),
        decides={
            Decision(
                "leaderless_replicas", LeaderlessReplicas.TAKEN_OFFLINE, "replicas that go offline while nobody knows a leader"
            ): LeaderlessReplicas.STUCK
        },
        shows=(Shown("deletion_and_crash", {"Recovers": 16, "DeletionEnds": 24}),),
    ),
    Case(
        "KAFKA-9946",
        "the answer to a StopReplica without delete counts as that of a deletion",
        releases=None,  # came and went between 2.5 and 2.6.0
        decides={
            Decision(
                "answers_counted", AnswersCounted.DELETIONS, "which answers count for a deletion (2.6, KAFKA-9946)"
            ): AnswersCounted.ALL
        },
        shows=(
            Shown(
                "deletion",
                {"DeletedIsGone": 8},
                cannot_test=(
                    search_ends(
                        "OneDeleter", "OnlyMarkedTopicsAreDeleted", "OldRecordsStayGone", "QuietNothingIsLeft", "QuietCachesAgree"
                    ),
                    NO_LEADER_MISSING,
                    EPOCH_IS_KNOWN,
                ),
            ),
        ),
    ),
    Case(
        "created-during-deletion",
        "a topic can be created before the deletion of its predecessor ends, which takes its configuration away",
        releases=("0.8.2", "3.0"),
        decides={
            Decision(
                "creation_during_deletion",
                CreationDuringDeletion.REFUSED,
                "whether a topic can be created while its deletion is not complete",
            ): CreationDuringDeletion.ALLOWED
        },
        shows=(Shown("deletion", {"QuietCachesAgree": 22}),),
    ),
    Case(
        "late-deletion-answer",
        "an error that a broker's earlier process answered counts after its restart was handled, and halts the deletion "
        "that was resumed",
        releases=("0.8.2", LAST),
        decides={
            Decision(
                "late_answers", LateAnswers.DROPPED, "an answer that was not handled before its broker was removed"
            ): LateAnswers.COUNTED,
            FAILED_DELETIONS: FailedDeletions.HALTED,
        },
        claims=(DELETED_TOPICS_GO,),
        shows=(Shown("deletion_fails_and_bounce", {"DeletedTopicsGo": 21}, alone=True),),
        seen="conformance/reproductions/late_deletion_answer.py",
    ),
    Case(
        "failed-deletion-waits",
        "a deletion that failed on a broker that lives is not tried again",
        releases=("0.8.2", LAST),
        decides={FAILED_DELETIONS: FailedDeletions.HALTED},
        shows=(Shown("deletion_fails", {"Recovers": 8, "DeletionEnds": 15}, cannot_test=(search_ends("QuietCachesAgree"),)),),
    ),
    Case(
        "ineligible-name-kept",
        "a topic that was ineligible when its deletion ended leaves its name ineligible for the next topic",
        releases=("0.8.2", LAST),
        decides={
            Decision(
                "ineligible_names", IneligibleNames.FORGOTTEN, "whether a deleted topic leaves its name ineligible for deletion"
            ): IneligibleNames.KEPT
        },
        shows=(Shown("deleted_twice", {"Recovers": 23, "DeletionEnds": 31}),),
    ),
    Case(
        "KAFKA-6612",
        "partitions that are added to a topic in deletion stay in its znode, unknown to the controller that deletes it",
        releases=("0.8.2", "1.1"),
        decides={
            Decision(
                "added_during_deletion",
                AddedDuringDeletion.REFUSED,
                "partitions that are added to a topic in deletion (2.0, KAFKA-6612)",
            ): AddedDuringDeletion.SKIPPED
        },
        shows=(Shown("added_in_deletion", {"PartitionsAgree": 9}, tests=(LAST_MEMBER_STAYS, NOT_CREATED_AGAIN, ISR_COMPLETE)),),
    ),
    Case(
        "deleted-while-reassigned",
        "a topic is deleted in the middle of a reassignment, which is never forgotten: leaders are not rebalanced any more",
        releases=("0.8.2", LAST),
        decides={
            Decision(
                "deletion_of_reassigned", DeletionOfReassigned.AFTERWARDS, "when a topic that is being reassigned is deleted"
            ): DeletionOfReassigned.AT_ONCE
        },
        shows=(Shown("deletion_and_reassignment", {"ReassignmentsAgree": 23}, tests=(NOTHING_OUTDATED, CONTROLLER_STAYS)),),
    ),
    Case(
        "deletion-thread",
        "an earlier design: a thread considers the deletion of topics, when the controller handles no event",
        releases=("0.8.1", "0.10.2"),  # DeleteTopicsThread
        decides={Decision("deletion_thread", DeletionThread.NONE, "who considers the deletion of a topic"): DeletionThread.RUNS},
    ),
    Case(
        "deletion-ineligible-after-start",
        "an earlier design: the deletion of a replica becomes ineligible only after it has started",
        releases=("0.8.1", "0.10.2"),  # compared at 0.10.2 and at 2.8
        machines=(bound_to(REPLICA_0_10),),
    ),
)
