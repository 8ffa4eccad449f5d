"""The controller's election, and which requests and registrations are outdated: epochs of controllers, brokers and replicas."""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.case import Case, Shown, stops
from kafka_spec.spec.decisions.variants import Checked, ControllerElection, DeadReplicas, EpochWatch, GivingUp, StopReplicaEpoch
from kafka_spec.spec.language.domain import pop_first
from kafka_spec.spec.untested import ISR_COMPLETE, NO_LEADER_MISSING, search_ends
from kafka_spec.spec.vocabulary.table import Decision, Rule, Untestable
from kafka_spec.spec.zookeeper.bounds import BROKERS, REPEATS
from kafka_spec.spec.zookeeper.environment import something_is_in_flight
from kafka_spec.spec.zookeeper.families import LEADER_STAYS, NO_CONTROLLER_WRITES, NOTHING_OUTDATED
from kafka_spec.spec.zookeeper.messages import Kind
from kafka_spec.spec.zookeeper.state import World

NO_TWO_LEADERS = Untestable("no two replicas lead at once", ("OneLeaderInEachEpoch",))
NOBODY_REMOVED = Untestable("nobody is removed from the ISR as dead", ("DeadStayOutOfIsr",))
ENDS_BEFORE_QUIET = search_ends(
    "QuietLeaderIsRegistered",
    "QuietReplicasKnowTheEpoch",
    "QuietLeadersAreOfNewestEpoch",
    "NoStrayReplica",
    "AssignmentsAgree",
    "LeaderAssigned",
    "LeaderCountsIsr",
)


def request_is_of_replicas(s: World, controller: int, broker: int) -> bool:
    """The request is not an UpdateMetadata: a list of live brokers that is lost comes again with the next change of a leader."""
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
    summary="the connection of the controller on {controller} to {broker} is lost, and with it the request in flight",
    reference="Kafka 0.8 RequestSendThread.doWork (KAFKA-1738)",
)

STOP_REPLICA_EPOCH = Decision("stop_replica_epoch", StopReplicaEpoch.AT_LEAST, "which leader epochs of a StopReplica are accepted")
CASES: tuple[Case, ...] = (
    Case(
        "KAFKA-532",
        "brokers do not compare controller epochs: requests of a deposed controller take effect",
        releases=None,  # fixed in 0.8.0, the first release with a controller
        decides={
            Decision(
                "controller_epoch_checked", Checked.YES, "brokers refuse requests of older controllers (0.8, KAFKA-532)"
            ): Checked.NO
        },
        shows=(Shown("crash_and_expiry", {"NoStaleRequest": 10}),),
    ),
    Case(
        "KAFKA-1096",
        "an old controller that sees /controller_epoch change continues under the new epoch",
        releases=("0.8.0", "0.8.1"),
        decides={
            Decision(
                "epoch_watch", EpochWatch.IGNORED, "what an old controller does when /controller_epoch changes"
            ): EpochWatch.ADOPTED
        },
        shows=(Shown("expiry", {"OneControllerInEachEpoch": 4}, cannot_test=(NO_TWO_LEADERS, NOTHING_OUTDATED, ISR_COMPLETE)),),
    ),
    Case(
        "KAFKA-6082-unfenced-writes",
        "a controller's writes do not check /controller_epoch: a deposed one still writes",
        releases=("0.8.0", "2.0"),
        decides={
            Decision(
                "controller_writes_fenced", Checked.YES, "a controller's writes check /controller_epoch (2.1, KAFKA-6082)"
            ): Checked.NO
        },
        shows=(Shown("crash_and_expiry", {"OneWriter": 7}),),
    ),
    Case(
        "KAFKA-6082-two-step-election",
        "/controller is created first and the epoch is incremented later: a deposed one gets the larger epoch",
        releases=("0.8.0", "2.0"),
        decides={
            Decision(
                "controller_election", ControllerElection.ONE_MULTI, "how a broker becomes the controller"
            ): ControllerElection.TWO_STEPS
        },
        shows=(
            Shown(
                "expiry_at_the_beginning",
                {"HolderHasNewestEpoch": 6},
                cannot_test=(NO_TWO_LEADERS, NOBODY_REMOVED, ENDS_BEFORE_QUIET, ISR_COMPLETE),
            ),
            stops("expiry_at_the_beginning", {"LeaderIsElected": 11, "ReplicasLearn": 20, "IsrGrowsBack": 14}),
        ),
    ),
    Case(
        "KAFKA-6082-unconditional-delete",
        "a controller that gives up deletes /controller, even if another controller owns it by then",
        releases=("0.8.0", "2.0"),
        decides={
            Decision("giving_up", GivingUp.FENCED, "how a controller that gives up deletes /controller"): GivingUp.UNCONDITIONAL
        },
        shows=(
            Shown(
                "failed_failover",
                {"ControllerKeepsItsZnode": 5},
                cannot_test=(NO_TWO_LEADERS, NOBODY_REMOVED, ENDS_BEFORE_QUIET, ISR_COMPLETE),
            ),
        ),
    ),
    Case(
        "KAFKA-7235-unseen-bounce",
        "controllers compare broker ids only: a broker that restarts fast enough never receives its partitions",
        releases=("0.8.0", "2.1"),
        decides={
            Decision(
                "bounces_noticed", Checked.YES, "controllers compare broker epochs, not only ids (2.2, KAFKA-7235)"
            ): Checked.NO
        },
        shows=(
            Shown(
                "bounce",
                {"QuietReplicasKnowTheEpoch": 2, "AssignmentsAgree": 2},
                cannot_test=(LEADER_STAYS, NOTHING_OUTDATED, NO_CONTROLLER_WRITES, NO_LEADER_MISSING, ISR_COMPLETE),
            ),
            stops("bounce", {"ReplicasLearn": 2}),
        ),
    ),
    Case(
        "KAFKA-7235-former-incarnation",
        "brokers do not compare broker epochs: a request for the previous process takes effect on the current one",
        releases=("0.8.0", "2.1"),
        decides={
            Decision(
                "broker_epoch_checked", Checked.YES, "brokers refuse requests for earlier registrations (2.2, KIP-380)"
            ): Checked.NO
        },
        shows=(Shown("bounce_at_the_beginning", {"NoStaleRequest": 5}, cannot_test=(ENDS_BEFORE_QUIET, ISR_COMPLETE)),),
    ),
    Case(
        "KAFKA-9539",
        "a StopReplica has no leader epoch: an old one stops a replica that was started again since",
        releases=("0.8.0", "2.5"),
        decides={STOP_REPLICA_EPOCH: StopReplicaEpoch.NONE},
        shows=(Shown("late_stop", {"NoStaleRequest": 18}),),
    ),
    Case(
        "KAFKA-1738",
        "a request is lost with its connection and not sent again",
        releases=("0.8.0", "0.8.2"),
        rules=(LOSE_REQUEST,),
        shows=(
            Shown("lost_request", {"QuietReplicasKnowTheEpoch": 8, "AssignmentsAgree": 8}),
            stops("lost_request", {"ReplicasLearn": 8, "IsrGrowsBack": 9}),
        ),
    ),
    Case(
        "KAFKA-3143",
        "a new controller does nothing with replicas whose brokers are dead",
        releases=("0.8.0", "2.2"),
        decides={
            Decision(
                "dead_replicas", DeadReplicas.TAKEN_OFFLINE, "what a new controller does with dead replicas"
            ): DeadReplicas.IGNORED
        },
        shows=(Shown("lone_replica", {"QuietLeaderIsRegistered": 7}, cannot_test=(NOBODY_REMOVED,), tests=(NO_LEADER_MISSING,)),),
    ),
    Case(
        "expired-session-reads",
        "an old controller without a session reads that a broker has just started, and that broker accepts its requests: "
        "the client library opened a new session for the read",
        releases=("0.8.0", "1.0"),  # 1.1 has a ZooKeeper client of its own
        decides={
            Decision(
                "expired_sessions_read", Checked.NO, "an expired session is replaced by another to repeat a request (up to 1.0)"
            ): Checked.YES
        },
        shows=(Shown("expired_leader", {"Committed": 23, "AcknowledgedKept": 23, "ReadsNeverGoBack": 23}),),
    ),
    Case(
        "KAFKA-1387",
        "a broker takes the ephemeral node of its own former session for that of its present one",
        releases=("0.8.0", "2.1"),  # 2.8 has it in part
        also_known_as=("KAFKA-7165",),
        not_expressed="an ephemeral node of the broker's own old session: in the model, a session's nodes are deleted before "
        "the next one opens",
    ),
)
