"""The TLA+ examples, written again: as many states as the manifest of tlaplus/Examples records for TLC, and the same verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_tla import agree

from examples.tlaplus import MODELS, Model
from kafka_spec.model_check.check import check

SMALL = [model for model in MODELS if model.states < 1000]


def name_of(model: Model) -> str:
    """Return the name of a model."""
    return model.spec.name


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_as_many_states_as_tlc_finds(model: Model) -> None:
    """The search is complete, finds as many states as TLC does in the original, and every property holds."""
    found = check(model.spec, model.spec.bound_values({}), engine="both" if model in SMALL else "embedded")

    assert (found.verdict, found.distinct) == ("holds", model.states)


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_tlc_agrees_on_the_export(model: Model, tmp_path: Path) -> None:
    """TLC finds as many states in what is exported."""
    agree(model.spec, model.spec.bound_values({}), tmp_path)


def test_each_guard_matters() -> None:
    """Without its guard that the other does not wish to enter, Peterson's algorithm lets both in."""
    peterson = next(model.spec for model in MODELS if model.spec.name == "peterson")
    weaker = tuple(rule.without_guard("may_enter") if rule.name == "Enter" else rule for rule in peterson.rules)
    broken = peterson.replacing("broken", "", rules=weaker)

    assert "OneIsInside" in check(broken, broken.bound_values({})).findings
