"""Every guard of kip_320 is needed: without it a property is violated, or this file states why not."""

from __future__ import annotations

import dataclasses

import pytest

from kafka_spec.model_check.search.embedded import explore
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec, SpecError

KIP_320 = MODELS["replication/kip_320"]

NOTICED = {
    ("ControllerElectLeader", "replica_is_in_quorum_isr"): ("tiny", "LeaderInIsr"),
    ("BecomeLeader", "request_is_new_to_its_leader"): ("tiny", "WeakIsr"),
    ("BecomeFollower", "leader_leads_at_request_epoch"): ("medium", "StrongIsr"),
    ("BecomeFollower", "request_is_new_to_replica"): ("three_replicas", "StrongIsr"),
    ("LeaderWrite", "leader_presumes_leadership"): ("tiny", "TypeInvariant"),
    ("LeaderIncHighWatermark", "leader_has_entry_at_high_watermark"): ("tiny", "StrongIsr"),
    ("LeaderIncHighWatermark", "isr_has_next_entry"): ("tiny", "StrongIsr"),
    ("LeaderShrinkIsr", "leader_is_true_leader"): ("tiny", "LeaderInIsr"),
    ("LeaderExpandIsr", "leader_is_true_leader"): ("small", "StrongIsr"),
    ("LeaderExpandIsr", "high_watermark_is_of_leader_epoch"): ("three_replicas", "StrongIsr"),
    ("LeaderExpandIsr", "follower_is_in_leaders_epoch"): ("small", "StrongIsr"),
    ("LeaderExpandIsr", "follower_has_reached_high_watermark"): ("tiny", "StrongIsr"),
    ("FollowerFetch", "follower_is_in_leaders_epoch"): ("three_replicas", "StrongIsr"),
}
"""Guard -> the bounds at which a property notices that it is missing, and which does."""

NOT_EXECUTABLE = {
    ("BecomeLeader", "request_names_a_leader"),
    ("BecomeFollower", "request_names_a_leader"),
    ("FollowerFetch", "leader_has_more"),
}
"""Without these guards the rule reads a missing item (broker -1, an entry beyond the log), which ends the search by itself."""

UNNOTICED = {
    ("ControllerElectLeader", "replica_is_not_quorum_leader"): "electing the present leader again only spends an epoch",
    ("ControllerShrinkIsr", "replica_matters_to_quorum"): "removing who is not there only spends an epoch",
    ("BecomeFollower", "replica_is_not_the_leader"): "implied: the leader is in the request's epoch, so it is not new to it",
    ("LeaderShrinkIsr", "follower_is_another"): "implied: a leader never lags behind itself",
    ("LeaderShrinkIsr", "leader_counts_follower"): "removing who is not in the ISR changes nothing",
    ("LeaderShrinkIsr", "follower_lags_or_is_fenced"): "a smaller ISR is always safe; what it costs is availability",
    ("LeaderExpandIsr", "leader_does_not_count_follower"): "adding who is in the ISR changes nothing",
    ("FollowerFetch", "leader_presumes_leadership"): "implied: only the replica that a request names gets its epoch's followers",
}
"""Guards that no property needs, and why."""


def weakened(rule: str, guard: str) -> Spec:
    """Return kip_320 with a rule that lacks one guard."""
    mutant = KIP_320.rule(rule).without_guard(guard)
    return KIP_320.replacing(f"without/{guard}", "kip_320 weakened by one guard", rules=(mutant,))


def _bounds(name: str) -> dict[str, int]:
    return dict(next(bounds.values for bounds in KIP_320.bound_sets if bounds.name == name))


def test_every_guard_is_judged() -> None:
    """The three tables together name every guard of every rule once."""
    named = [*NOTICED, *NOT_EXECUTABLE, *UNNOTICED]
    stated = [(rule.name, guard.__name__) for rule in KIP_320.rules for guard in rule.guards]

    assert sorted(named) == sorted(stated)


@pytest.mark.parametrize(("mutant", "notice"), NOTICED.items(), ids=lambda value: "-".join(value))
def test_a_property_notices(mutant: tuple[str, str], notice: tuple[str, str]) -> None:
    """Without the guard the named property is violated at the named bounds; with it all hold there."""
    bounds, claim = notice

    assert claim in explore(weakened(*mutant), _bounds(bounds), everything=claim != "TypeInvariant").violated
    assert explore(KIP_320, _bounds(bounds)).verdict == "holds"


@pytest.mark.parametrize("mutant", sorted(NOT_EXECUTABLE), ids="-".join)
def test_the_rule_cannot_be_executed(mutant: tuple[str, str]) -> None:
    """Without the guard the search ends with an error that names the rule."""
    with pytest.raises(SpecError, match=mutant[0]):
        explore(weakened(*mutant), _bounds("tiny"))


@pytest.mark.parametrize("mutant", sorted(UNNOTICED), ids="-".join)
def test_nothing_notices(mutant: tuple[str, str]) -> None:
    """Without the guard all properties still hold at medium bounds: the reason in the table is not contradicted."""
    assert explore(weakened(*mutant), _bounds("medium"), threads=2).verdict == "holds"


def test_implied_guards_change_no_count() -> None:
    """Guards called implied are: without them the very same states are reached by the very same steps."""
    for mutant, reason in UNNOTICED.items():
        if reason.startswith("implied"):
            whole, weak = (explore(spec, _bounds("three_replicas")) for spec in (KIP_320, weakened(*mutant)))
            assert (whole.levels, whole.digest) == (weak.levels, weak.digest)


def test_weakening_an_unknown_guard_is_refused() -> None:
    """The error for a misspelt guard lists the rule's guards."""
    with pytest.raises(SpecError, match="has no guard nonsense; it has"):
        KIP_320.rule("LeaderWrite").without_guard("nonsense")


def test_a_guard_is_left_out_once() -> None:
    """without_guard removes one guard and nothing else."""
    rule = KIP_320.rule("BecomeFollower")
    weak = rule.without_guard("replica_is_not_the_leader")

    assert dataclasses.replace(weak, guards=rule.guards) == rule
    assert len(weak.guards) == len(rule.guards) - 1
