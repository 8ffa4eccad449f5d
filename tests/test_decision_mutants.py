"""Mutants of the decisions: each is other code of the same function, and what Kafka's classes answered notices it, without Java."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_spec.spec.decisions import alter_partition, election, partition_change
from tests.mutants.decisions import DecisionMutant, callers, changes, decisions, of_function, other_arguments, page, place_of
from tests.recorded_answers import FILE, our_answers

ACT = [
    *of_function(alter_partition.answer_to_epochs, changes),
    *of_function(alter_partition.answer_to_isr, changes),
    *of_function(partition_change.valid_leaders, changes),
]
SAMPLE = [mutant for mutant in ACT if "Checked" not in mutant.change][::9]
"""Some of the mutants, but for those that only a decision of another version can show."""


@contextmanager
def exchanged(mutant: DecisionMutant) -> Iterator[None]:
    """Let a function have the code of a mutant."""
    healthy = mutant.function.__code__
    mutant.function.__code__ = mutant.code
    try:
        yield
    finally:
        mutant.function.__code__ = healthy


def test_every_decision_has_mutants_with_names_of_their_own() -> None:
    """All functions of spec/decisions that can be broken are, each in another way, and under another name."""
    found = [mutant for function in decisions() for mutant in of_function(function, changes)]

    assert len({mutant.name for mutant in found}) == len(found) > 1000
    assert all(mutant.code != mutant.function.__code__ for mutant in found)


def test_callers_are_those_that_pass_arguments() -> None:
    """Both the implementation and the model of KRaft call decisions; a mutant of a caller has another argument."""
    called = decisions()
    found = {place_of(function): function for function in callers(called)}

    assert {"impl/kraft/proposals.py answer_to_proposal", "spec/kraft/proposals.py answer_at_image"} <= set(found)
    function = found["impl/kraft/proposals.py answer_to_request"]
    (zero, *_others) = of_function(function, lambda node: other_arguments(node, {"answer_to_sender"}))
    assert "with `0` for `request.broker_epoch`" in zero.change


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Return what Kafka's classes answered, which is what healthy code answers; what it reads of functions is read by now."""
    its: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["4.4.0"]
    assert our_answers("4.4.0") == its
    return its


@pytest.mark.share(20)
@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_recorded_answers_notice(mutant: DecisionMutant, recorded: dict[str, Any]) -> None:
    """What Kafka's classes answered, as recorded, differs from what a broken decision answers."""
    with exchanged(mutant):
        assert our_answers("4.4.0") != recorded


def test_the_healthy_code_is_back() -> None:
    """A mutant leaves nothing behind."""
    first = next(of_function(election.first_of, changes))
    healthy = election.first_of.__code__
    with exchanged(first):
        assert election.first_of.__code__ is first.code
    assert election.first_of.__code__ is healthy


def test_the_page_counts_each_mutant_once() -> None:
    """A mutant is noticed if one version notices it; it lives if one executes it and none notices it."""
    text = page(
        {
            "a.py f: one": {"3.9.1": "", "4.4.0": "elections: differs"},
            "a.py f: two": {"3.9.1": "", "4.4.0": "-"},
            "b.py g: three": {"3.9.1": "-", "4.4.0": "-"},
        }
    )
    assert "| a.py | 2 | 1 | 1 | 0 |" in text
    assert "| all | 3 | 1 | 1 | 1 |" in text
    assert "- a.py f: two" in text and "- b.py g\n" in text
