"""Topic deletion in the model: decisions, engines, and what each part of it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_zookeeper import bounds_of, essence

from kafka_spec import MODELS
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.decisions.deletion import Resumption, resumed, started_by_deletion
from kafka_spec.spec.decisions.variants import FailedDeletions, LateAnswers
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.zookeeper.broker.requests import delete_named_replica
from kafka_spec.spec.zookeeper.cases import CASE
from kafka_spec.spec.zookeeper.controller.deletion_events import RULES
from kafka_spec.spec.zookeeper.eras import ERA_0_10
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.properties.deletion import DELETION, DELETION_ENDS
from kafka_spec.spec.zookeeper.state import World

BROKERS = st.sets(st.integers(0, 4)).map(BrokerSet.of)


@given(BROKERS, BROKERS, BROKERS, BROKERS, st.integers(0, 1))
def test_what_a_queued_topic_waits_for(
    replicas: BrokerSet, started: BrokerSet, successful: BrokerSet, ineligible: BrokerSet, is_halted: int
) -> None:
    """A deletion is complete once all replicas are deleted; it starts only if no answer is awaited and the topic is eligible."""
    step, retried = resumed(replicas, started, successful, ineligible, is_halted)

    assert (step == Resumption.COMPLETE) == (set(replicas) <= set(successful))
    assert step != Resumption.START or (not started and not is_halted)
    assert retried in (ineligible, 0) and not (started and retried)


@given(BROKERS, BROKERS, BROKERS)
def test_who_is_asked_to_delete(replicas: BrokerSet, live: BrokerSet, successful: BrokerSet) -> None:
    """Each replica is asked, hinders the deletion since its broker is dead, or is deleted already; none is asked and hinders."""
    stopped, hindered = started_by_deletion(replicas, live, successful)

    assert set(stopped) | set(hindered) | set(successful & replicas) == set(replicas)
    assert not set(stopped) & set(hindered) and set(stopped) <= set(live) - set(successful)


@pytest.mark.parametrize(("spec", "name"), [(FIXED, "deletion_fails"), (ERA_0_10, "deletion")])
def test_engines_agree_on_deletions(spec: Any, name: str) -> None:
    """Oracle and compiled engine find the same states, steps and violations where a topic is deleted."""
    judge, fast = (engine.explore(spec, bounds_of(name, repeats=0), everything=True) for engine in (oracle, embedded))

    assert judge.complete and essence(judge) == essence(fast)


@pytest.mark.parametrize("alone", [{"failed_deletions": FailedDeletions.HALTED}, {"late_answers": LateAnswers.COUNTED}], ids=str)
def test_a_late_error_needs_both(alone: dict[str, IntEnum]) -> None:
    """A deletion of which nothing is left ends if errors halt deletions, and if late answers count; not if both do."""
    both = CASE["late-deletion-answer"]
    spec = FIXED.replacing("zookeeper/alone", "", decisions=alone, properties=both.claims)
    values = bounds_of("deletion_fails_and_bounce")

    assert "DeletedTopicsGo" not in embedded.explore(spec, values).violated
    assert "DeletedTopicsGo" in embedded.explore(MODELS["zookeeper/late-deletion-answer"], values).violated


def test_a_deletion_that_fails_without_a_reason_breaks_no_promise() -> None:
    """Where nothing is left to delete, and the answer is an error all the same, `fixed` keeps all promises and deletions end."""
    rule = FIXED.rule("FailToDelete").without_guard("there_is_something_to_delete")
    spec = FIXED.replacing("zookeeper/fails", "", rules=(rule,))

    for name in ("deletion_fails", "deletion_fails_and_bounce"):
        with_reason, without = (embedded.explore(one, bounds_of(name)) for one in (FIXED, spec))
        assert (with_reason.verdict, without.verdict) == ("holds", "holds")
        assert without.tested_of("DeletionEnds") and without.fired["FailToDelete"] > with_reason.fired["FailToDelete"]


def forget_config(s: World, controller: int) -> None:
    """Go on to the request for deletion without deleting the configuration."""
    s.controllers[controller].step = 8


def delete_request_first(s: World, controller: int) -> None:
    """Delete the request for deletion before the znode of the topic."""
    s.zookeeper.delete_topic = 0
    s.controllers[controller].step = 6


BROKEN: list[tuple[str, Callable[..., None], str]] = [
    ("DeleteConfig", forget_config, "QuietNothingIsLeft"),
    ("DeleteState", delete_request_first, "OnlyMarkedTopicsAreDeleted"),
]
"""A rule, what it does in place of its effects, and the property that notices it."""


@pytest.mark.parametrize(("name", "effect", "noticed"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_a_broken_deletion_is_noticed(name: str, effect: Callable[..., None], noticed: str) -> None:
    """A deletion that leaves a znode, or deletes the request before the topic, violates the property that is about it."""
    broken = FIXED.replacing("broken", "", rules=(replace(FIXED.rule(name), effects=(effect,)),))

    assert noticed in oracle.explore(broken, bounds_of("deletion")).violated


def test_a_replica_that_keeps_its_log_is_noticed() -> None:
    """A broker that answers and keeps its log violates DeletedIsGone and, under a topic created again, OldRecordsStayGone."""
    rule = FIXED.rule("DeleteReplica")
    effects = tuple(effect for effect in rule.effects if effect is not delete_named_replica)
    broken = FIXED.replacing("broken", "", rules=(replace(rule, effects=effects),))
    values = bounds_of("deletion", records=1)
    found = embedded.explore(broken, values, properties=DELETION, everything=True).violated

    assert {"DeletedIsGone", "OldRecordsStayGone", "QuietNothingIsLeft"} <= set(found)


def test_every_rule_and_property_of_deletion_is_used() -> None:
    """Around a crash of a broker with a record, every rule of deletion fires but two, and each property is tested."""
    result = embedded.explore(FIXED, bounds_of("deletion_and_crash"), properties=[*DELETION, DELETION_ENDS])

    assert result.verdict == "holds" and all(result.tested_of(claim.name) for claim in (*DELETION, DELETION_ENDS))
    assert {rule.name for rule in RULES} - set(+result.fired) == {"RefuseDeletion", "RunDeletionThread"}
