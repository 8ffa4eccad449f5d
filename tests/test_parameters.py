"""Parameters of rules that depend on earlier ones and on the state, and "any of them, if there is one"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from examples import bounded_queue, raft_election
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.model_check.traces.explain import refusals
from kafka_spec.spec.language.domain import NONE, Member, MemberOrNone, Range, SetOf, SpecError, contains, excluding, field
from kafka_spec.spec.vocabulary.table import Among, BoundSet, Rule, Spec, reachable

TOY = "a toy"
THREE = Member(3, "guest")


@dataclass
class Party:
    """Guests who are still there, who danced with whom last, and who was asked to leave last."""

    there: int = field(SetOf(THREE, full=True))
    first: int = field(MemberOrNone(3, "guest"))
    second: int = field(MemberOrNone(3, "guest"))
    left: int = field(Range(-1, 2, -1))
    asked: int = field(Range(0, 1))


def is_there(s: Party, guest: int) -> bool:
    """The guest is there."""
    return contains(s.there, guest)


def first_is_there(s: Party, one: int) -> bool:
    """The first is there."""
    return contains(s.there, one)


def can_dance(s: Party, one: int, other: int) -> bool:
    """The second is there, and another."""
    return one < other and contains(s.there, other)


def dance(s: Party, one: int, other: int) -> None:
    """They dance."""
    s.first = one
    s.second = other


def leave(s: Party, guest: int) -> None:
    """The guest leaves, or nobody is there to leave."""
    s.left = guest
    if guest != NONE:
        s.there = excluding(s.there, guest)
    else:
        s.asked = 1


def nobody_was_there(s: Party) -> bool:
    """Nobody was there any more."""
    return s.asked == 1


LEAVE = Rule("Leave", "host", "{guest} leaves", effects=(leave,), params={"guest": Among(THREE, is_there, or_none=True)})
DANCE = Rule(
    "Dance",
    "guests",
    "{one} dances with {other}",
    effects=(dance,),
    params={"one": Among(THREE, first_is_there), "other": Among(THREE, can_dance)},
)
EMPTY = reachable("Empty", nobody_was_there, "the host asks where nobody is left")
HAND = (BoundSet("hand", {}, "it has none"),)
LEAVING = Spec("leaving", "one leaves at a time", Party, (LEAVE,), (EMPTY,), bound_sets=HAND)
DANCING = Spec("dancing", "two dance", Party, (DANCE,), bound_sets=HAND)
PARTY = Spec("party", "both", Party, (LEAVE, DANCE), (EMPTY,), bound_sets=HAND)


def found(spec: Spec) -> tuple[int, dict[str, int]]:
    """Return the states and firings of a spec, on which both engines agree."""
    plain, fast = (engine.explore(spec, spec.bound_values({}), everything=True) for engine in (oracle, embedded))
    assert (plain.distinct, plain.fired, plain.digest) == (fast.distinct, fast.fired, fast.digest)
    return fast.distinct, dict(fast.fired)


def test_any_of_them_if_there_is_one() -> None:
    """Of 3 guests any leaves, then any other, then the last; then the rule fires once more, for nobody, and again and again."""
    states = 1 + 3 + 3 * 2 + 3 + 1  # who left last, and who is there; at the end that nobody was there
    firings = 3 + 3 * 2 + 6 * 1 + 3 + 1

    assert found(LEAVING) == (states, {"Leave": firings})


def test_a_parameter_depends_on_another() -> None:
    """Pairs are ordered by a predicate of both parameters: of 3 guests 3 pairs, in each of 1 + 3 states."""
    assert found(DANCING) == (1 + 3, {"Dance": 4 * 3})


@pytest.mark.parametrize("spec", [LEAVING, DANCING, PARTY], ids=lambda spec: spec.name)
def test_tlc_agrees(spec: Spec, tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, where the parameter ranges over a set comprehension."""
    agree(spec, {}, tmp_path)


@pytest.mark.parametrize("spec", [bounded_queue.QUEUE, raft_election.RAFT], ids=lambda spec: spec.name)
def test_tlc_agrees_on_examples(spec: Spec, tmp_path: Path) -> None:
    """TLC finds as many states of the bounded queue and of Raft's election, and the same violations."""
    agree(spec, spec.bound_values({}), tmp_path)


def test_nobody_is_shown_as_none() -> None:
    """The binding of a parameter that is nobody reads "none"."""
    trace = trace_of(embedded.explore(LEAVING, {}), "Empty")

    assert trace is not None
    assert [step.summary[:5] for step in trace.steps] == ["guest", "guest", "guest", "none "]


def writes(s: Party, guest: int) -> bool:
    """Write."""
    s.left = guest
    return True


def knows_too_much(s: Party, guest: int, other: int) -> bool:
    """Know a parameter that there is not."""
    return guest == other


def refused(parameter: Any) -> Spec:
    """Return a spec with a rule of this parameter."""
    return Spec("refused", "", Party, (Rule("Bad", "w", "", effects=(leave,), params={"guest": parameter}),))


def test_wrong_parameters_are_refused() -> None:
    """A predicate that writes or takes a later parameter, and a domain that holds NONE itself, are refused at declaration."""
    for make, message in (
        (lambda: Among(THREE, writes), "guard writes writes; guards look"),
        (lambda: Among(THREE, knows_too_much), "takes other, which rule Bad, parameter guest, does not have"),
        (lambda: Among(MemberOrNone(3), is_there, or_none=True), "NONE must not be a value of the domain, which begins at -1"),
        (lambda: Among(3, is_there), "Among chooses values of a domain"),  # type: ignore[arg-type]
    ):
        with pytest.raises(SpecError, match=message):
            refused(make())


def test_a_deadlock_says_why_no_rule_can_fire() -> None:
    """Its trace names for each rule the guards that refuse it in the last state, or the parameter that has no value."""
    stuck = Spec("stuck", "nobody is left to dance", Party, (DANCE, replace(LEAVE, params={"guest": Among(THREE, is_there)})))
    trace = trace_of(embedded.explore(stuck, {}, deadlock=True), "Deadlock")

    assert trace is not None
    assert dict(refusals(trace, stuck)) == {
        "Dance": "there is nothing that one could be",
        "Leave": "there is nothing that guest could be",
    }
    assert "no rule can fire:\n       Dance: there is nothing that one could be" in trace_text(trace, stuck)
    queue = bounded_queue.QUEUE
    trace = trace_of(embedded.explore(queue, queue.bound_values({}), deadlock=True, properties=()), "Deadlock")
    assert trace is not None
    assert (
        dict(refusals(trace, queue))["TakeWaits"] == "not takes (the thread is a consumer) or not runs (the thread does not sleep)"
    )
