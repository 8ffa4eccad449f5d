"""Every guard of the two tables and of a broker's gates: its removal is detected, or this file states why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.vocabulary.table import Machine, Row, Spec, SpecError, name_of
from kafka_spec.spec.zookeeper.fixed import FIXED

Guard = tuple[str, str]
"""A rule's name, or a row as `row_name` has it; and the guard, or `not` and the guard that must not hold."""

GATES = (
    "RefuseRequest", "IgnoreLeaderAndIsr", "BecomeLeader", "BecomeFollower", "LeaderIsUnavailable", "UpdateMetadata", "StopReplica",
    "IgnoreStopReplica",
)  # fmt: skip
"""The rules by which a broker accepts or refuses requests."""

INITIAL = "online_partition from NEW [state_znode_is_absent]"
ELECTION = "online_partition from ONLINE [a_leader_can_be_elected]"
SEED_NEW = "startup from NON_EXISTENT [not leadership_is_known]"
SEED_ONLINE = "startup from NON_EXISTENT [cached_leader_is_live]"
SEED_OFFLINE = "startup from NON_EXISTENT [not cached_leader_is_live]"
FROM_ISR = "offline_replica from NEW [isr_contains_replica]"
OUTSIDE_ISR = "offline_replica from NEW [not isr_contains_replica]"
NEW_REPLICA = "new_replica from NON_EXISTENT [not replica_is_cached_leader]"
LEADERLESS = "offline_replica from ONLINE [not leadership_is_known]"
LEADERLESS_NEW = "offline_replica from NEW [not leadership_is_known]"

NOTICED: dict[Guard, tuple[str, str]] = {
    (INITIAL, "an_assigned_replica_is_live"): ("failed_failover", "IsrNeverEmpty"),
    (ELECTION, "no_newer_controller_wrote"): ("crash_and_expiry", "OneWriter"),
    (FROM_ISR, "no_newer_controller_wrote"): ("crash_and_expiry", "OneWriter"),
    ("RefuseRequest", "request_is_refused"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("IgnoreLeaderAndIsr", "request_is_leader_and_isr"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("IgnoreLeaderAndIsr", "leader_and_isr_is_old"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("BecomeLeader", "request_is_taken"): ("bounce_at_the_beginning", "NoStaleRequest"),
    ("BecomeLeader", "leader_and_isr_is_news"): ("shutdown", "Recovers"),
    ("BecomeLeader", "broker_is_named_leader"): ("first_look", "OneLeaderInEachEpoch"),
    ("BecomeFollower", "request_is_taken"): ("crash_and_expiry", "NoStaleRequest"),
    ("BecomeFollower", "another_is_named_leader"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("LeaderIsUnavailable", "named_leader_is_not_alive"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("UpdateMetadata", "request_is_update_metadata"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("UpdateMetadata", "request_is_taken"): ("bounce_at_the_beginning", "NoStaleRequest"),
    ("StopReplica", "request_is_stop_replica"): ("bounce", "QuietReplicasKnowTheEpoch"),
    ("StopReplica", "request_is_taken"): ("preferred", "NoStaleRequest"),
    ("IgnoreStopReplica", "request_stops_replica"): ("first_look", "QuietReplicasKnowTheEpoch"),
    ("IgnoreStopReplica", "replica_may_not_be_stopped_or_deleted"): ("reassigned", "NoStrayReplica"),
}
"""Guard -> small bounds at which a property notices that it is missing, and which does."""

NOT_EXECUTABLE: dict[Guard, tuple[str, str]] = {
    (ELECTION, "a_leader_can_be_elected"): ("lone_replica", "negative shift count"),
    (SEED_OFFLINE, "leadership_is_known"): ("first_look", "startup in NON_EXISTENT fits"),
    (NEW_REPLICA, "leadership_is_known"): ("first_look", "new_replica"),
    (LEADERLESS, "not leadership_is_known"): ("bounce", "offline_replica"),
    **{(gate, "a_request_arrives"): ("first_look", "index 0 of 0 items") for gate in GATES},
}
"""Without these guards a rule reads a missing item, or two rows can fire: bounds at which the search ends, and the error."""

REFUSED: tuple[Guard, ...] = (
    (SEED_ONLINE, "cached_leader_is_live"),
    (SEED_OFFLINE, "not cached_leader_is_live"),
    (FROM_ISR, "isr_contains_replica"),
    (OUTSIDE_ISR, "not isr_contains_replica"),
    (SEED_NEW, "not leadership_is_known"),
    ("new_replica from NON_EXISTENT [not leadership_is_known]", "not leadership_is_known"),
    ("online_replica from NEW [replica_is_assigned]", "replica_is_assigned"),
    ("online_replica from ONLINE [leadership_is_known]", "leadership_is_known"),
    ("online_replica from ONLINE [not leadership_is_known]", "not leadership_is_known"),
    ("online_replica from NEW [not replica_is_assigned]", "not replica_is_assigned"),
    ("startup from NON_EXISTENT [replica_is_live]", "replica_is_live"),
    ("startup from NON_EXISTENT [not replica_is_live]", "not replica_is_live"),
)
"""Without it the row fits wherever another one of its trigger and source does: the table itself is refused."""

UNNOTICED: dict[Guard, str] = {
    (INITIAL, "state_znode_is_absent"): "the fence keeps all but the newest controller from creating it, and that one reads first",
    (SEED_ONLINE, "leadership_is_known"): "implied: who knows no leadership has no cached leader, so none that is live",
    (
        FROM_ISR,
        "leadership_is_known",
    ): "where the znode exists a controller that knows the topic has read it, while writes are fenced",
    (OUTSIDE_ISR, "leadership_is_known"): "where the znode exists a controller that knows the topic has read it",
    (OUTSIDE_ISR, "no_newer_controller_wrote"): "nothing is written: the cache and what is sent from it are only fresher",
    ("IgnoreLeaderAndIsr", "request_is_taken"): "ignoring what is to be refused is refusing it: only the answer differs",
    ("BecomeLeader", "request_is_leader_and_isr"): "implied: no other request names a leader",
    ("BecomeFollower", "request_is_leader_and_isr"): "implied by named_leader_is_alive: no other request names a leader",
    (
        "BecomeFollower",
        "leader_and_isr_is_news",
    ): "one controller's requests come in order and older ones' are refused: at worst it follows the same leader again",
    ("BecomeFollower", "named_leader_is_alive"): "following a dead leader, or none, breaks no promise; that Kafka does not is seen "
    "in zookeeper/old-leader-without-successor",
    ("LeaderIsUnavailable", "request_is_leader_and_isr"): "an UpdateMetadata has no leader epoch that is news; a StopReplica under "
    "a new one comes after its LeaderAndIsr",
    ("LeaderIsUnavailable", "request_is_taken"): "the request changes nothing but the controller epoch seen, which only grows",
    ("LeaderIsUnavailable", "leader_and_isr_is_news"): "what is no news changes nothing either way",
    ("LeaderIsUnavailable", "another_is_named_leader"): "implied: UpdateMetadata came first, so a broker is alive in its own cache",
    (
        "StopReplica",
        "replica_may_be_stopped",
    ): "requests of one controller come in order, older ones' are refused; zookeeper/KAFKA-9539 holds for the same reason",
    ("IgnoreStopReplica", "request_is_taken"): "ignoring what is to be refused is refusing it: only the answer differs",
    (NEW_REPLICA, "not replica_is_cached_leader"): "a replica becomes new with its topic, or as added: it leads nothing yet",
    (LEADERLESS, "leaderless_replicas_go_offline"): "a decision of the era: `zookeeper/KAFKA-6650` is its other value",
    (LEADERLESS_NEW, "leaderless_replicas_go_offline"): "the same decision",
    (LEADERLESS_NEW, "not leadership_is_known"): "a new replica of a known leader is taken offline by the rows above",
}
"""Guards that no property was seen to need, and why: sought from first_look to everyday, preferred and old_epochs."""


def row_name(row: Row) -> str:
    """Return trigger, first source and last condition of a row: enough to tell it from the others."""
    return f"{row.trigger} from {row.sources[0].name} [{row.conditions[-1]}]"


def rows_in_use() -> list[tuple[Machine, Row]]:
    """Return the guarded rows of both tables that are in use."""
    return [(machine, row) for machine in FIXED.machines[:2] for row in machine.rows if row.looks and not row.waits_for]


def weakened(mutant: Guard) -> Spec:
    """Return fixed with a row or a rule that lacks one guard.

    Raises:
        SpecError: the table without the guard is none.
    """
    name, guard = mutant
    name_, summary = "zookeeper/weakened", f"fixed without {guard}"
    if name in GATES:
        return FIXED.replacing(name_, summary, rules=(FIXED.rule(name).without_guard(guard),))
    ((machine, row),) = [(machine, row) for machine, row in rows_in_use() if row_name(row) == name]
    guards = tuple(g for g in row.guards if name_of(g) != guard)
    weak = replace(row, guards=guards, unless=tuple(g for g in row.unless if f"not {name_of(g)}" != guard))
    rows = tuple(weak if other is row else other for other in machine.rows)
    return FIXED.replacing(name_, summary, machines=(replace(machine, rows=rows),))


ORACLE_BOUNDS = ("first_look", "bounce", "lone_replica")
"""Bounds that plain Python explores sooner than machine code is made."""


def explored(spec: Spec, name: str, claims: tuple[str, ...]) -> Exploration:
    """Explore the spec at a bound set, to the first violation of the named properties."""
    bounds = dict(next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name))
    engine = oracle if name in ORACLE_BOUNDS else embedded
    return engine.explore(spec, bounds, properties=[spec.property(claim) for claim in claims])


def test_every_guard_is_judged() -> None:
    """The four tables together name every guard of the rows in use, and of the gates, once."""
    rows = [(row_name(row), condition) for _, row in rows_in_use() for condition in row.conditions]
    rules = [(gate, name_of(guard)) for gate in GATES for guard in FIXED.rule(gate).guards]

    assert sorted([*NOTICED, *NOT_EXECUTABLE, *REFUSED, *UNNOTICED]) == sorted([*rows, *rules])


@pytest.mark.parametrize("mutant", NOTICED, ids="-".join)
def test_a_property_notices(mutant: Guard) -> None:
    """Without the guard the named property is violated at the named bounds; with it it holds there."""
    bounds, claim = NOTICED[mutant]

    assert explored(weakened(mutant), bounds, (claim,)).violated == [claim]
    assert explored(FIXED, bounds, (claim,)).verdict == "holds"


@pytest.mark.parametrize(("mutant", "error"), NOT_EXECUTABLE.items(), ids=["-".join(mutant) for mutant in NOT_EXECUTABLE])
def test_the_search_ends(mutant: Guard, error: tuple[str, str]) -> None:
    """Without the guard the search ends with an error: something is read that is not there, or two rows fit."""
    bounds, message = error

    with pytest.raises(SpecError, match=message):
        explored(weakened(mutant), bounds, ())


@pytest.mark.parametrize("mutant", REFUSED, ids="-".join)
def test_the_table_is_refused(mutant: Guard) -> None:
    """Without the guard two rows leave one state on one trigger and overlap: the table is refused."""
    with pytest.raises(SpecError, match="wherever one fits the other does"):
        weakened(mutant)


@pytest.mark.parametrize("mutant", sorted(UNNOTICED), ids="-".join)
def test_nothing_notices(mutant: Guard) -> None:
    """Without the guard all properties still hold with a crash and an expired session: the reason is not contradicted."""
    assert explored(weakened(mutant), "crash_and_expiry", tuple(claim.name for claim in FIXED.properties)).verdict == "holds"
