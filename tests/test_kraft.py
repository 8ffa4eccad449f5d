"""KRaft: engines agree, machines refuse nothing, switches are differences, eras are lists of them, families say something."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.eras import SUITE
from kafka_spec.spec.kraft.fixed import FIXED


def bounds_of(name: str, **changes: int) -> dict[str, int]:
    """Return a bound set of KRaft, with changes."""
    return {**next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name), **changes}


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


AGREED: list[tuple[str, str, dict[str, int]]] = [
    ("fixed", "first_look", {"delayed_fetches": 1}),
    ("fixed", "fence", {"cache_ahead": 1}),
    ("fixed", "stale_answer", {}),
    ("fixed", "registers_again", {"fences": 0, "unclean": 1, "crashes": 1}),
    ("fixed", "first_look", {"brokers": 3, "isr_size": 2}),
    ("KAFKA-14154", "stale_answer", {}),
    ("KAFKA-14617", "rejoin_lossy", {}),
    ("KAFKA-18106", "lossy", {}),
    ("KAFKA-16952", "registers_again", {"fences": 0}),
    ("era_3_3", "rejoin_lossy", {}),
    ("fixed", "reassign_and_fence", {"fences": 0}),
    ("fixed", "delete_and_reassign", {}),
    ("fixed", "unregistered_lossy", {}),
    ("fixed", "three_reassign", {"reassignments": 1, "records": 0}),
    ("elr-outside-replicas", "reassign_and_fence", {"reassignments": 1, "records": 0}),
]
"""Model and bounds at which both engines explore everything."""


@pytest.mark.share(20)
@pytest.mark.parametrize(("model", "name", "changes"), AGREED, ids=[f"{model}-{name}" for model, name, _ in AGREED])
def test_engines_agree(model: str, name: str, changes: dict[str, int]) -> None:
    """Oracle and compiled engine find the same states level by level, steps, violations and graph digest, and complete."""
    spec, bounds = MODELS[f"kraft/{model}"], bounds_of(name, **changes)
    judge, fast = (engine.explore(spec, bounds, everything=True) for engine in (oracle, embedded))

    assert judge.complete
    assert essence(judge) == essence(fast)


def test_the_tables_refuse_nothing() -> None:
    """In every step of small families each trigger finds its row: rules ask a machine only for what its table allows."""
    fired: Counter[tuple[str, str]] = Counter()
    families: tuple[tuple[str, dict[str, int]], ...] = (
        ("rejoin_lossy", {}),
        ("first_look", {"fences": 1}),
        ("two_shutdowns", {"controlled_shutdowns": 1, "unregistrations": 1, "records": 0}),
    )
    for name, changes in families:
        world = Interpreter(FIXED, bounds_of(name, **changes))
        left = world.initial()
        known = {world.key(state) for state in left}
        for state in left:
            for rule in FIXED.rules:
                for binding in world.enabled(rule, state):
                    if world.within(rule, state, binding):
                        after = world.apply(rule, state, binding)
                        for attempt in world.attempts:
                            assert attempt.target is not None, (rule.name, attempt)
                            fired[attempt.machine, attempt.trigger] += 1
                        if world.key(after) not in known:
                            known.add(world.key(after))
                            left.append(after)

    assert set(fired) >= {(machine.name, row.trigger) for machine in FIXED.machines for row in machine.rows}


@pytest.mark.parametrize("name", [case.name for case in SUITE.expressed if not case.breaks_nothing])
def test_the_switch_alone_breaks_it(name: str) -> None:
    """At the bounds that show a bug, `fixed` holds and the switch is violated."""
    bounds = dict(MODELS[f"kraft/{name}"].bound_sets[0].values)
    fixed, broken = (embedded.explore(spec, bounds) for spec in (FIXED, MODELS[f"kraft/{name}"]))

    assert (fixed.verdict, broken.verdict) == ("holds", "violated")


def test_a_topic_that_comes_to_allow_unclean_elections_needs_the_periodic_one() -> None:
    """Without the controller's periodic election nobody is elected where an operator allows it too late."""
    without = replace(FIXED, rules=tuple(rule for rule in FIXED.rules if rule.name != "ElectWhereAllowed"))
    assert set(embedded.explore(without, bounds_of("allow_unclean"), everything=True).violated) == {"Recovers", "LeaderIsElected"}


@pytest.mark.share(10)  # every day: it names what new rules need
def test_every_rule_fires_and_every_property_is_tested() -> None:
    """A few small families together fire every rule of `fixed` and meet the antecedent of every property."""
    fired: Counter[str] = Counter()
    tested: set[str] = set()
    families: list[tuple[str, dict[str, int]]] = [
        ("rejoin_lossy", {"delayed_fetches": 1, "fences": 1}),
        ("stale_answer", {"lost_answers": 1, "isr_shrinks": 1, "cache_ahead": 1}),
        ("shutdown", {}),
        ("two_crashes", {"unclean_elections": 1, "preferred_elections": 1}),
        ("registers_again", {}),
        ("unclean", {}),
        ("reassign_and_fence", {}),
        ("delete_and_fence", {}),
        ("lower_while_offline", {}),
        ("allow_unclean", {}),
        ("removed_directory", {}),
        ("failed_directory", {}),
        ("moved_replica", {}),
        ("unregistered", {}),
        ("shutdown_times_out", {}),
    ]
    for name, changes in families:
        result = embedded.explore(FIXED, bounds_of(name, **changes))
        assert result.verdict == "holds"
        fired += result.fired
        tested |= {claim.name for claim in FIXED.properties if result.tested_of(claim.name)}

    assert {rule.name for rule in FIXED.rules} - set(fired) == set(FIXED.unreachable_rules)
    assert {claim.name for claim in FIXED.properties} == tested
