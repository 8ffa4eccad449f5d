"""The control plane: engines agree, machines change only through `fire`, eras match the known bugs, goals are reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import Path, SpecError, machine_paths
from kafka_spec.spec.vocabulary.table import Attempt, Rule
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.state import World as State

MACHINES = {machine.name for machine in FIXED.machines}


def bounds_of(name: str, **changes: int) -> dict[str, int]:
    """Return a bound set of the control plane, with changes."""
    return {**next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name), **changes}


# ---------------------------------------------------------------------------------------------------------------------
# Two engines

AGREED: list[tuple[str, str, dict[str, int]]] = [
    ("fixed", "shutdown", {}),
    ("fixed", "bounce_at_the_beginning", {}),
    ("fixed", "lost_reply", {}),
    ("fixed", "first_look", {"brokers": 3, "replicas": 3}),
    ("era_2_8", "expiry", {}),
    ("era_2_8", "lone_replica", {}),
    ("era_0_10", "expiry", {}),
    ("era_0_10", "bounce", {"records": 1}),
    ("KAFKA-7482", "shutdown", {}),
    ("KAFKA-1738", "lost_request", {}),
]
"""Model and bounds at which both engines explore everything: settled or not, two brokers and three, with and without a record."""


def essence(result: Exploration) -> dict[str, Any]:
    """Return the parts of a result that must be equal in both engines."""
    return {
        "levels": result.levels,
        "fired": +result.fired,
        "new": +result.new,
        "bounded": +result.bounded,
        "findings": result.findings,
        "digest": result.digest,
        "complete": result.complete,
    }


@pytest.mark.share(20)
@pytest.mark.parametrize(("model", "name", "changes"), AGREED, ids=[f"{model}-{name}" for model, name, _ in AGREED])
def test_engines_agree(model: str, name: str, changes: dict[str, int]) -> None:
    """Oracle and compiled engine find the same states, steps, violations and graph digest, and complete."""
    spec, bounds = MODELS[f"zookeeper/{model}"], bounds_of(name, **changes)
    judge, fast = (engine.explore(spec, bounds, everything=True) for engine in (oracle, embedded))

    assert judge.complete
    assert essence(judge) == essence(fast)


# ---------------------------------------------------------------------------------------------------------------------
# Machines change through `fire` alone


def steps(world: Interpreter) -> Iterator[tuple[Rule, Any, Any, list[Attempt]]]:
    """Yield every step of the explored graph: its rule, the states before and after, and what `fire` tried."""
    left = world.initial()
    known = {world.key(state) for state in left}
    for state in left:
        for rule in world.spec.rules:
            for binding in world.enabled(rule, state):
                if world.within(rule, state, binding):
                    after = world.apply(rule, state, binding)
                    yield rule, state, after, list(world.attempts)
                    if world.key(after) not in known:
                        known.add(world.key(after))
                        left.append(after)


def machine_of(world: Interpreter, path: Path) -> tuple[str, tuple[int, ...]] | None:
    """Return machine and entity of the field at a path, or None if the field is not a machine's state."""
    shape = tuple("[]" if isinstance(part, int) else part for part in path)
    for machine in MACHINES:
        if machine_paths(world.space.root, machine) == [shape]:
            return machine, tuple(part for part in path if isinstance(part, int))
    return None


@pytest.mark.parametrize(
    ("model", "name", "still"),
    [
        ("fixed", "lone_replica", {"TopicDeletion"}),
        ("fixed", "expiry", {"TopicDeletion"}),
        ("fixed", "first_look", {"TopicDeletion"}),
        ("fixed", "deletion_fails", {"Controller"}),
        pytest.param("fixed", "deletion_and_expiry", set(), marks=pytest.mark.long),
        ("era_2_8", "bounce", {"TopicDeletion"}),
        ("era_0_10", "lone_replica", {"TopicDeletion"}),
        ("era_0_10", "first_look", {"TopicDeletion"}),
    ],
)
def test_machines_change_through_their_tables_alone(model: str, name: str, still: set[str]) -> None:
    """In every step each change of a machine's state is a chain of recorded attempts, each by a row of the spec's table."""
    world = Interpreter(MODELS[f"zookeeper/{model}"], bounds_of(name))
    tables = {machine.name: machine for machine in world.spec.machines}
    changed: Counter[str] = Counter()
    for rule, before, after, attempts in steps(world):
        now: dict[tuple[str, tuple[int, ...]], int] = {}
        for attempt in attempts:
            entity = attempt.machine, attempt.entity
            assert now.get(entity, attempt.source) == attempt.source, rule.name
            rows = [row for row in tables[attempt.machine].rows_of(attempt.trigger) if attempt.source in row.sources]
            if attempt.target is not None:
                (picked,) = {(row.target, row.kind) for row in rows if row.target == attempt.target and not row.waits_for}
                assert picked[1] == "initialisation" or (attempt.source, attempt.target) in tables[attempt.machine].legal_pairs
                now[entity] = attempt.target
        for change in world.space.changes(before, after):
            if (machine_entity := machine_of(world, change.path)) is not None:
                changed[machine_entity[0]] += 1
                first = next(a for a in attempts if (a.machine, a.entity) == machine_entity)
                assert (int(first.source), int(now[machine_entity])) == (change.before, change.after), rule.name

    assert set(changed) == MACHINES - {"Reassignment"} - still


def test_every_state_of_a_machine_is_declared_as_one() -> None:
    """The states of partition, replica, controller, role and deletion are each in one field, once for each entity."""
    root = Interpreter(FIXED, bounds_of("first_look")).space.root

    assert {machine: machine_paths(root, machine) for machine in sorted(MACHINES)} == {
        "Controller": [("controllers", "[]", "life")],
        "Partition": [("controllers", "[]", "partitions", "[]", "state")],
        "Reassignment": [("controllers", "[]", "partitions", "[]", "reassignment")],
        "Replica": [("controllers", "[]", "partitions", "[]", "replicas", "[]")],
        "Role": [("brokers", "[]", "replicas", "[]", "role")],
        "TopicDeletion": [("controllers", "[]", "deletion")],
    }


def promote(s: State) -> None:
    """Make a controller active without asking its table."""
    s.controllers[0].life = 3


def put_online(s: State) -> None:
    """Put a partition online without asking its table."""
    s.controllers[0].partitions[0].state = 2


def put_replica_online(s: State) -> None:
    """Put a replica online without asking its table."""
    s.controllers[0].partitions[0].replicas[1] = 2


def usurp(s: State) -> None:
    """Lead without asking the table."""
    s.brokers[1].replicas[0].role = 2


@pytest.mark.parametrize("explore", [oracle.explore, embedded.explore], ids=["oracle", "embedded"])
@pytest.mark.parametrize("effect", [promote, put_online, put_replica_online, usurp])
def test_an_assignment_to_a_machine_is_refused(effect: Any, explore: Any) -> None:
    """An effect that assigns to a machine's state ends the exploration in both engines, with the cure."""
    spec = replace(
        FIXED, rules=(Rule("Cheat", "a test", "cheats", "a test", (effect,)),), properties=(), bound_sets=(), unreachable_rules=()
    )
    with pytest.raises(SpecError, match=r"state of a machine; change it with fire\(\)|only fire\(\) changes"):
        explore(spec, bounds_of("first_look"))


# ---------------------------------------------------------------------------------------------------------------------
# Goals and coverage


def test_goals_are_reached() -> None:
    """Every state of every machine without waiting rows, elections of each kind, zombies, bounces and quiet are reached."""
    result = embedded.explore(MODELS["zookeeper/goals"], bounds_of("goals"))

    assert len(result.findings) == len(result.properties)
    assert result.verdict == "holds"


def test_goals_about_logs_are_reached() -> None:
    """Logs that differ, a committed record of an earlier epoch, two leaders alone, a follower elected above 0: all are reached."""
    result = embedded.explore(MODELS["zookeeper/log-goals"], bounds_of("log_goals"))

    assert len(result.findings) == len(result.properties) == 4
    assert result.verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("NewestHighWatermarkNeverGoesBack", "reads-before-KIP-207"),
        ("AddedToIsrIsUp", "KAFKA-14140-in-zookeeper"),
    ],
)
def test_a_claim_that_kafka_does_not_keep(claim: str, name: str) -> None:
    """Both engines find the same shortest violation of a claim stricter than Kafka; `fixed` does not claim it."""
    spec = MODELS[f"zookeeper/{name}"]
    bounds = dict(spec.bound_sets[0].values)
    one, other = (engine.explore(spec, bounds) for engine in (oracle, embedded))

    assert one.violated == [claim] and one.findings == other.findings and one.tested == other.tested
    assert claim not in {promise.name for promise in FIXED.properties}


def test_a_committed_record_is_in_the_isr() -> None:
    """IsrHoldsCommitted holds in `fixed`, is tested, and is broken by a crash of an ISR member that loses records."""
    values = bounds_of("lossy")
    spec, lossy = MODELS["zookeeper/isr-holds-committed"], MODELS["zookeeper/tail-lost-in-isr"]
    holds = embedded.explore(spec, values)
    broken = embedded.explore(lossy, values, properties=spec.properties)

    assert holds.verdict == "holds" and (holds.tested_of("IsrHoldsCommitted") or 0) > 0
    assert broken.violated == ["IsrHoldsCommitted"]


def test_a_leader_that_counts_too_few() -> None:
    """LeaderCountsIsr is tested in `fixed`, and broken in 0.10 by a leader that counts less than ZooKeeper's ISR."""
    values = bounds_of("late_fetch")
    claims = [claim for claim in FIXED.properties if claim.name == "LeaderCountsIsr"]
    fixed, old = (embedded.explore(MODELS[name], values, properties=claims) for name in ("zookeeper/fixed", "zookeeper/era_0_10"))

    assert fixed.verdict == "holds" and (fixed.tested_of("LeaderCountsIsr") or 0) > 0
    assert old.violated == ["LeaderCountsIsr"]


COVERING: list[tuple[str, dict[str, int]]] = [
    ("bounce", {"preferred_elections": 1, "repeats": 1}),
    ("lost_reply", {"lossy_crashes": 1}),
    ("lost_reply", {"late_fetches": 1, "late_fetch_answers": 1}),
    ("shutdown", {"shutdown_retries": 1}),
    ("unclean", {"records": 1, "crashes": 0}),
    ("expiry_at_the_beginning", {"failed_failovers": 1}),
    ("leader_shuts_down", {}),
    ("deletion_and_expiry", {"deletion_errors": 1}),
    ("deletion", {"no_deletion": 1}),
    ("late_stop_of_deletion", {}),
    ("reassigned", {}),
    ("reassigned_twice", {}),
    ("added_in_deletion", {"crashes": 0}),
    ("rebalanced", {}),
    ("unclean_on_request", {}),
    ("deletion_and_reassignment", {}),
    ("added_from_the_beginning", {}),
    ("partitions_planned", {}),
]
"""Small bounds that together enable every rule."""


def test_every_rule_fires() -> None:
    """Every rule of fixed that is not listed as unreachable fires at one of a few small bounds; a listed one never does."""
    fired: Counter[str] = Counter()
    for name, changes in COVERING:
        result = embedded.explore(FIXED, bounds_of(name, **changes), properties=())
        assert result.complete
        fired += result.fired

    assert {rule.name for rule in FIXED.rules} - set(fired) == set(FIXED.unreachable_rules)


# ---------------------------------------------------------------------------------------------------------------------
# The beginning


JOINED = (
    "Crash 0", "ElectController 1", "TakeOver 1", "UpdateMetadata 1 1", "CreateTopic", "NoticeTopic 1", "ElectLeader 1",
    "BecomeLeader 1 1", "Restart 0", "NoticeBrokerChange 1", "UpdateMetadata 1 0", "UpdateMetadata 1 1", "BecomeFollower 1 0",
    "ExpandIsr 0 1 0",
    "NoticeIsrChange 0 1",
)  # fmt: skip
"""How broker 0 comes to follow broker 1, which is the controller."""
JOINED_ANEW = (
    "UpdateMetadata 0 0", "UpdateMetadata 0 1", "IgnoreLeaderAndIsr 0 0", "IgnoreLeaderAndIsr 0 1"
)  # fmt: skip
"""What another controller sends first."""


def follow(world: Interpreter, state: Any, way: Iterable[str]) -> Any:
    """Return the state to which rules lead, each given by its name and parameters."""
    rules = {rule.name: rule for rule in world.spec.rules}
    for step in way:
        name, *numbers = step.split()
        binding = tuple(map(int, numbers))
        assert world.allows(rules[name], state, binding), step
        state = world.apply(rules[name], state, binding)
    return state


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 1), (2, 2)])
def test_a_settled_start_is_where_the_rules_lead(brokers: int, replicas: int) -> None:
    """The rules lead from the initial state to each settled start, without faults."""
    sizes = {"brokers": brokers, "replicas": replicas}
    beginning, settled = (Interpreter(FIXED, bounds_of("first_look", settled=value, **sizes)) for value in (0, 1))
    (nothing,) = beginning.initial()
    reached = {beginning.key(nothing)} | {beginning.key(after) for _, _, after, _ in steps(beginning)}
    starts = settled.initial()

    assert len(starts) == brokers
    assert {start.zookeeper.controller for start in starts} == set(range(brokers))
    assert all(settled.key(start) in reached for start in starts)


def test_a_settled_start_with_another_leader_is_where_the_rules_lead() -> None:
    """Broker 0 crashes before the topic is created, starts again, and joins; then the session of the controller may expire."""
    bounds = bounds_of("first_look", crashes=1, expiries=1)
    world = Interpreter(FIXED, bounds)
    (nothing,) = world.initial()
    ways = {
        0: ("ExpireSession 1", "NoticeExpiry 1", "ElectController 0", "TakeOver 0", *JOINED_ANEW),
        1: (),
    }
    starts = Interpreter(FIXED, {**bounds, "settled": 2}).initial()

    assert [start.zookeeper.controller for start in starts] == [0, 1]
    for start in starts:
        reached = follow(world, nothing, (*JOINED, *ways[start.zookeeper.controller]))
        for part in ("zookeeper", "controllers", "brokers", "fetches", "history"):
            assert repr(getattr(reached, part)) == repr(getattr(start, part))
