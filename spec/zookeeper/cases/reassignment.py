"""Reassignments, and what is left of them."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.variants import (
    BumpedEpoch,
    CountedMembers,
    EndOfReassignment,
    LostTarget,
    OlderPlans,
    Reassignment,
    RemovedFromZnode,
    ReplacedReassignment,
    StopReplicaEpoch,
    UnassignedBrokers,
)
from kafka_spec.spec.vocabulary.table import Decision
from kafka_spec.spec.zookeeper.cases.releases import LAST
from kafka_spec.spec.zookeeper.properties.assignment import PLAN_NAMES_TARGET

STOP_REPLICA_EPOCH = Decision("stop_replica_epoch", StopReplicaEpoch.AT_LEAST, "which leader epochs of a StopReplica are accepted")

REPLACED_REASSIGNMENT = Decision(
    "replaced_reassignment", ReplacedReassignment.KEPT_TO_THE_END, "what happens to replicas that a replaced reassignment had added"
)
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-13972",
        "a StopReplica with the replica's own leader epoch is refused: the new replica of a cancelled reassignment stays",
        releases=("2.6", "3.4"),
        decides={STOP_REPLICA_EPOCH: StopReplicaEpoch.LARGER, REPLACED_REASSIGNMENT: ReplacedReassignment.DROPPED_AT_ONCE},
        shows=(
            Shown("reassigned_twice", {"IsrAssigned": 12, "NoStrayReplica": 16, "Recovers": 7}, everything=True),
            Shown("leader_shuts_down"),
        ),
    ),
    Case(
        "KAFKA-1097",
        "a reassignment ends, and the leader that stays is not informed: it adds a replica that has left to the ISR again",
        releases=("0.8.0", "0.8.0"),
        decides={
            Decision(
                "end_of_reassignment", EndOfReassignment.ANNOUNCED, "when the target becomes all replicas (0.8.1, KAFKA-1097)"
            ): EndOfReassignment.AFTERWARDS
        },
        shows=(Shown("reassigned_with_shrink", {"IsrAssigned": 9, "Recovers": 10}, everything=True),),
        also_known_as=("KAFKA-1170",),
    ),
    Case(
        "KAFKA-6193",
        "a reassignment ends, and with it all that the controller has read in /admin/reassign_partitions and not begun is"
        " dropped: in no release",
        releases=None,  # came with the new ZooKeeper client and went before 1.1.0; up to 1.0 the znode is read again
        decides={
            Decision(
                "removed_from_znode",
                RemovedFromZnode.PARTITION,
                "what leaves /admin/reassign_partitions with a partition (KAFKA-6193)",
            ): RemovedFromZnode.ALL_NOT_BEGUN
        },
        shows=(Shown("partitions_planned", {"PlansAreCarriedOut": 6}, everything=True),),
    ),
    Case(
        "KAFKA-9089",
        "a request through the API leaves an older one in /admin/reassign_partitions until it ends, and the next "
        "controller goes back to the older one: in no release",
        releases=None,  # the API and the fix came with 2.4.0
        decides={
            Decision(
                "older_plans", OlderPlans.REMOVED_FIRST, "when a plan that the API overrides is taken back (KAFKA-9089)"
            ): OlderPlans.REMOVED_AT_END
        },
        claims=(PLAN_NAMES_TARGET,),
        shows=(Shown("reassigned_twice", {"PlanNamesTarget": 6}, alone=True),),
    ),
    Case(
        "KAFKA-9212",
        "a controller forgets the leader epoch that it has written for a reassignment: a broker that starts is sent the one before",
        releases=("0.8.1", "2.3"),  # 0.8.1 has the first leader epoch that is only incremented
        decides={
            Decision(
                "bumped_epoch", BumpedEpoch.CACHED, "whether a controller remembers a leader epoch that it only incremented"
            ): BumpedEpoch.FORGOTTEN
        },
        shows=(Shown("reassigned_bounce", {"WriterKnowsWhatItWrote": 3}, everything=True),),
    ),
    Case(
        "last-copy-deleted",
        "a reassignment ends although its target has left the ISR again: the only replica in sync is deleted",
        releases=("0.8.1", LAST),  # 0.8.0 was not read as far as the deletion
        decides={
            Decision(
                "lost_target", LostTarget.AWAITED, "what a controller does if the target has left the ISR again"
            ): LostTarget.IGNORED
        },
        shows=(Shown("reassigned_crash", {"IsrAssigned": 13}, everything=True),),
    ),
    Case(
        "cancelled-replica-rejoins",
        "a cancelled reassignment drops its new replica before the leader knows: it joins the ISR once more",
        releases=("2.4", LAST),
        decides={REPLACED_REASSIGNMENT: ReplacedReassignment.DROPPED_AT_ONCE},
        shows=(Shown("reassigned_twice", {"IsrAssigned": 12, "Recovers": 13}, everything=True),),
    ),
    Case(
        "stray-replica",
        "a controller ends after a reassignment, and with it its StopReplica: a replica stays that nobody owns",
        releases=("0.8.1", LAST),
        decides={
            Decision(
                "unassigned_brokers", UnassignedBrokers.TOLD, "whether brokers are informed which replica is not theirs"
            ): UnassignedBrokers.NOT_TOLD
        },
        shows=(
            Shown(
                "reassigned_bounce",
                {"QuietLeadersAreOfNewestEpoch": 17, "NoStrayReplica": 17, "LeaderAssigned": 17, "Recovers": 12},
                everything=True,
            ),
        ),
    ),
    Case(
        "leaving-replica-not-counted",
        "a leader commits without a replica that is being removed and still in the ISR, which may be elected",
        releases=("0.10.2", LAST),  # up to 0.10.1.1 the high watermark is the least log end in the ISR
        decides={
            Decision(
                "counted_members", CountedMembers.ISR, "which members of its ISR a leader counts for its high watermark"
            ): CountedMembers.ASSIGNED
        },
        shows=(Shown("reassigned_records", {"Committed": 22, "ReadsNeverGoBack": 22, "AcknowledgedKept": 22}),),
    ),
    Case(
        "reassignment-in-admin-znode",
        "an earlier design: /admin/reassign_partitions holds a reassignment that runs, and the topic znode all replicas, "
        "old and new",
        releases=("0.8.0", "2.3"),  # KIP-455 came with 2.4
        decides={
            Decision(
                "reassignment", Reassignment.KIP_455, "where ZooKeeper holds a reassignment that runs"
            ): Reassignment.ENLARGED_ASSIGNMENT
        },
    ),
    # The other half of KAFKA-9089, in 0.10 to 2.3: an error within a reassignment drops the request and leaves the enlarged
    # assignment. Not a case: 2.4 and later keep the request but wait for a fail-over or a start too, so that `fixed` would need a
    # retry of its own.
)
