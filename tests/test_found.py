"""What a search finds: every field that a verdict depends on is compared between engines, kept in checkpoints, and summed up."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any

import pytest

from kafka_spec.model_check.agreement import DERIVED, FOUND, OF_THE_REQUEST, OF_THE_RUN, agreed
from kafka_spec.model_check.check import check
from kafka_spec.model_check.exploration import EngineError, Exploration, check_sums
from kafka_spec.model_check.store.found import recall, remembered
from tests import sample_specs


def test_a_new_field_is_compared_unless_it_is_listed() -> None:
    """Each field is of the request, of one run, or else compared; nothing that is listed does not exist."""
    names = {one.name for one in dataclasses.fields(Exploration)}
    assert names == {*OF_THE_REQUEST, *OF_THE_RUN, *FOUND}
    assert {"levels", "fired", "new", "cut_by", "tested", "findings", "digest", "complete"} == set(FOUND)
    assert {"verdict", "violated", "bounded", "left_constraint", "undecided_by", "untested", "dead_rules"} <= set(DERIVED)


@pytest.mark.parametrize("spec", [sample_specs.CUT_OFF, sample_specs.TESTED, sample_specs.GOES_BACK])
def test_what_is_found_is_kept(spec: Any) -> None:
    """A result restored from its plain values, by way of JSON, is equal in all in which engines are compared."""
    result = check(spec, everything=True)
    again = Exploration(spec, result.bounds, "spark", 1, result.properties, result.deadlock)
    recall(again, json.loads(json.dumps(remembered(result))))
    assert agreed(again) == agreed(result)


def test_a_kind_that_cannot_be_kept_is_an_error() -> None:
    """A field of a kind that a checkpoint does not know is refused when it is written, not forgotten."""
    result = check(sample_specs.COUNTER)
    result.levels = {1, 2}  # type: ignore[assignment]
    with pytest.raises(TypeError, match="cannot be kept in a checkpoint"):
        remembered(result)


def test_cuts_are_counted_by_bound() -> None:
    """The bounded steps of a rule are the sum over bounds; a cut of an unknown rule is an inconsistent result."""
    result = check(sample_specs.CUT_OFF, everything=True)
    assert result.bounded == Counter({rule: count for (rule, _), count in result.cut_by.items()}) != {}
    result.cut_by["Nobody", "limit"] += 1
    with pytest.raises(EngineError, match="Nobody was cut 1 times by limit"):
        check_sums(result)
