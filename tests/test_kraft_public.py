"""The public TLA+ models of KRaft (Kafka 3.5, KIP-966), restated: exactly the states, levels and shortest traces that TLC found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.model_check.exploration import Budget
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.public.versions import KIP_966, V3_5

MEASURED = json.loads((Path(__file__).parent / "oracles" / "kraft-counts.json").read_text(encoding="utf-8"))
QUICK = 1_000
"""The oracle explores up to this number of states too."""


def bounds_of(name: str) -> dict[str, int]:
    """Return a bound set of the public model."""
    return dict(next(bounds.values for bounds in V3_5.bound_sets if bounds.name == name))


@pytest.mark.parametrize("run", MEASURED["runs"], ids=[f"{run['model']}-{run['bounds']}" for run in MEASURED["runs"]])
def test_as_many_states_as_another_checker_found(run: dict[str, Any]) -> None:
    """The search is complete and violates nothing; it finds as many states in as many levels as TLC, and nothing is cut off."""
    spec, bounds = MODELS[run["model"]], bounds_of(run["bounds"])
    engines = (embedded, oracle) if run["distinct"] <= QUICK else (embedded,)
    for engine in engines:
        result = engine.explore(spec, bounds, everything=True)
        assert (result.verdict, result.distinct, result.depth) == ("holds", run["distinct"], run["depth"])
        limited = {rule.name for rule in spec.rules if rule.limits}
        assert {name for name, count in result.bounded.items() if count} <= limited  # no message or record was too many


@pytest.mark.parametrize("violation", MEASURED["violations"], ids=[found["version"] for found in MEASURED["violations"]])
def test_shortest_traces_are_as_long(violation: dict[str, Any]) -> None:
    """With the conjunct left out that TLC was run without, the same invariant is violated after as many states."""
    result = embedded.explore(MODELS[violation["version"]], bounds_of(violation["bounds"]))

    assert len(result.findings[violation["property"]].actions) + 1 == violation["trace"]


def test_every_invariant_is_tested() -> None:
    """Every antecedent is met: in 3.5 where one broker loses its log, with KIP-966 where both do and ISR and ELR become empty."""
    assert not embedded.explore(V3_5, bounds_of("c4b"), everything=True).untested
    lost = embedded.explore(KIP_966, {**bounds_of("f1"), "losses": 2}, budget=Budget(max_states=100_000))
    assert lost.tested_of("MinIsrRecoveryQuorum") and not lost.findings
