"""The public TLA+ models of KRaft and of its quorum, restated: exactly the states, levels and shortest traces that TLC found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.public.versions import KIP_966, V3_5
from kafka_spec.spec.quorum.public.versions import PULL_RAFT

ORACLES = Path(__file__).parent / "oracles"
MEASURED = [json.loads((ORACLES / name).read_text(encoding="utf-8")) for name in ("kraft-counts.json", "quorum-counts.json")]
RUNS = [run for measured in MEASURED for run in measured["runs"]]
VIOLATIONS = [found for measured in MEASURED for found in measured["violations"]]
QUICK = 1_000
"""The oracle explores up to this number of states too."""


def bounds_of(model: str, name: str) -> dict[str, int]:
    """Return a bound set of a public model."""
    return dict(next(bounds.values for bounds in MODELS[model].bound_sets if bounds.name == name))


@pytest.mark.parametrize("run", RUNS, ids=[f"{run['model']}-{run['bounds']}" for run in RUNS])
def test_as_many_states_as_another_checker_found(run: dict[str, Any]) -> None:
    """The search is complete and violates nothing; it finds as many states in as many levels as TLC, and nothing is cut off.

    So does the search of normal forms, where TLC was run with symmetry.
    """
    spec, bounds = MODELS[run["model"]], bounds_of(run["model"], run["bounds"])
    expected = [(spec, run["distinct"])] if "distinct" in run else []
    if "up_to_names" in run:
        expected.append((spec.in_normal_form(), run["up_to_names"]))
    assert expected
    for searched, distinct in expected:
        for engine in (embedded, oracle) if distinct <= QUICK else (embedded,):
            result = engine.explore(searched, bounds, everything=True)
            assert (result.verdict, result.distinct, result.depth) == ("holds", distinct, run["depth"])
            limited = {rule.name for rule in searched.rules if rule.limits}
            assert {name for name, count in result.bounded.items() if count} <= limited  # no message or record was too many


@pytest.mark.parametrize("violation", VIOLATIONS, ids=[found["version"] for found in VIOLATIONS])
def test_shortest_traces_are_as_long(violation: dict[str, Any]) -> None:
    """The same invariant is violated after as many states as with TLC, which ran the public module, or it without a conjunct."""
    model = violation["version"]
    result = embedded.explore(MODELS[model], bounds_of(model, violation["bounds"]))

    assert len(result.findings[violation["property"]].actions) + 1 == violation["trace"]


def test_every_invariant_is_tested() -> None:
    """Every antecedent is met: in 3.5 where one broker loses its log, with KIP-966 where both do and ISR and ELR become empty."""
    assert not embedded.explore(V3_5, bounds_of("kraft/public_v3_5", "c4b"), everything=True).untested
    lost = embedded.explore(KIP_966, {**bounds_of("kraft/public_kip_966", "f1"), "losses": 2}, budget=Budget(max_states=100_000))
    assert lost.tested_of("MinIsrRecoveryQuorum") and not lost.findings


def test_pull_raft_commits_nothing_with_one_value() -> None:
    """The published invariants of PullRaft say nothing with one value: an entry is committed when the one behind it is sent."""
    one, two = (bounds_of("quorum/public_pull_raft", name) for name in ("2s1v3e", "2s2v2e"))

    assert set(embedded.explore(PULL_RAFT, one, everything=True).untested) == {stated.name for stated in PULL_RAFT.properties}
    assert not embedded.explore(PULL_RAFT, two, everything=True).untested


def test_a_message_that_is_remembered_is_sent_once() -> None:
    """A trace shows a message once that is put in flight and among all that were ever sent; what is received is not sent again."""
    result = embedded.explore(MODELS["quorum/public_kraft"], bounds_of("quorum/public_kraft", "2s1v1e1r"))
    trace = trace_of(result, "NoIllegalState")
    assert trace is not None

    assert [[one.channel for one in step.sent] for step in trace.steps] == [*[["in_flight"]] * 2, [], [], *[["in_flight"]] * 2]
    assert all(change.path != "sent" for step in trace.steps for change in step.changed)
