"""Topics that are deleted and created again, and the replicas that are left of them."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.kraft_variants import StrayReplicas
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.vocabulary.table import Decision

STRAY_REPLICAS = Decision("stray_replicas", StrayReplicas.DELETED_FIRST, "which logs a broker deletes when it starts")
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-13127",
        "a broker that starts deletes the replicas that it is assigned, and keeps the stray ones",
        releases=("2.8", "2.8"),
        decides={STRAY_REPLICAS: StrayReplicas.OTHERS_DELETED},
        shows=(Shown("shutdown", {"CandidatesHoldCommitted": 10, "Committed": 12}),),
    ),
    Case(
        "KAFKA-14616",
        "the log of a deleted topic is in the way of the replica of another topic of the same name",
        releases=("3.0", "3.6"),
        decides={STRAY_REPLICAS: StrayReplicas.DELETED_LAST},
        shows=(Shown("delete_and_crash", {"Recovers": 5, "ReplicasLearn": 8, "IsrGrowsBack": 8}),),
    ),
    Case(
        "KAFKA-13083",
        "a new topic has brokers in its ISR that are fenced",
        releases=("2.8", "2.8"),
        decides={
            Decision("new_isr_active", Checked.YES, "a new topic's ISR has active brokers only (3.0, KAFKA-13083)"): Checked.NO
        },
        shows=(Shown("delete_and_fence", {"LeaderIsActive": 4, "IsrIsActive": 4}),),
    ),
    Case(
        "fetch-without-topic-id",
        "a fetch names its topic without an id: a follower of a deleted topic counts for the next one (KIP-516)",
        releases=("2.8", "3.0"),
        decides={Decision("fetch_topic_ids", Checked.YES, "a fetch names its topic by id (3.1, KIP-516)"): Checked.NO},
        shows=(Shown("delete_and_crash", {"DeletedRecordsStayGone": 6, "CandidatesHoldCommitted": 7, "Committed": 10}),),
    ),
    Case(
        "alter-partition-without-topic-id",
        "a proposal names its topic without an id: a late one changes the ISR of another topic of the same name",
        releases=("2.8", "3.2"),
        decides={Decision("alter_topic_ids", Checked.YES, "a proposal names its topic by id (3.3, KAFKA-13923)"): Checked.NO},
        shows=(Shown("delete_and_fence", {"ProposalsAreValid": 6, "LeaderCountsCandidates": 8, "CandidatesHoldCommitted": 9}),),
    ),
)
