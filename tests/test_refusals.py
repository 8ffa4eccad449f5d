"""What stands in the wrong place of a specification is refused at its declaration, by a sentence that names place and cure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_spec import BoundSet, Range, Rule, SetOf, Spec, SpecError, check, field, invariant
from kafka_spec.spec.language.domain import SequenceOf


@dataclass
class Number:
    """A number."""

    x: int = field(Range(0, 3))


def one(s: Number) -> None:
    """Make it 1."""
    s.x = 1


def is_one(s: Number) -> bool:
    """It is 1."""
    return s.x == 1


def word(s: Number) -> None:
    """Store a word."""
    s.x = "yes"  # type: ignore[assignment]


RULE = Rule("Rule", "world", "it is 1", effects=(one,))
CLAIM = invariant("Claim", is_one, "it is 1")
ANY: Any = None
"""What a type checker would refuse too."""


def holding(domain: Any) -> Spec:
    """Return a spec whose state holds a domain."""
    state = dataclass(type("State", (), {"__annotations__": {"x": int}, "x": field(domain)}))
    return Spec("spec", "it", state, (RULE,))


def spec(*parts: Any, **other: Any) -> Any:
    """Return a spec of these parts, which a type checker need not like."""
    make: Any = Spec
    return make("spec", *parts, **other)


def rule(*parts: Any, **other: Any) -> Any:
    """Return a rule of these parts, which a type checker need not like."""
    make: Any = Rule
    return make("Rule", *parts, **other)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a property alone": (
        lambda: spec("it", Number, (RULE,), CLAIM),
        r"spec spec: properties must be a tuple; write \(Property Claim,\)",
    ),
    "a rule alone": (lambda: spec("it", Number, RULE), r"rules must be a tuple; write \(Rule Rule,\)"),
    "arguments swapped": (lambda: spec(Number, "it", (RULE,)), "summary must be a text, and is the class Number"),
    "rules for the state": (lambda: spec("it", (RULE,), Number), "state must be a class, and is tuple"),
    "a state, not its class": (lambda: spec("it", Number(), (RULE,)), "state must be a class, and is Number"),
    "claims for rules": (lambda: spec("it", Number, (CLAIM,)), "rules holds Property Claim, which is not a Rule"),
    "a number for machines": (lambda: spec("it", Number, (RULE,), machines=5), "machines must be a tuple of Machine, and is 5"),
    "a function that starts": (lambda: spec("it", Number, (RULE,), start=one), "start must be Rule, and is function one"),
    "a bound set alone": (
        lambda: spec("it", Number, (RULE,), bound_sets=BoundSet("small", {}, "")),
        r"bound_sets must be a tuple; write \(BoundSet small,\)",
    ),
    "a number that says": (lambda: rule("world", 5), "rule Rule: summary must be a text, and is 5"),
    "a number that acts": (lambda: rule(5, "it"), "rule Rule: actor must be a text, and is 5"),
    "a list of parameters": (
        lambda: rule("world", "it", params=["x"]),
        "rule Rule: params is list; params is a dict of name to domain",
    ),
    "an effect's name": (
        lambda: rule("world", "it", effects=("one",)),
        "rule Rule: effects holds 'one', which is not a plain function",
    ),
    "a guard's name": (
        lambda: rule("world", "it", guards=("one",)),
        "rule Rule: guards holds 'one', which is not a plain function",
    ),
    "another kind": (lambda: rule("world", "it", kind="foo"), "kind must be 'protocol' or 'operator' or 'fault', and is 'foo'"),
    "another fairness": (lambda: rule("world", "it", fairness="just"), "fairness must be None or 'none' or 'weak' or 'strong'"),
    "a claim's number": (lambda: invariant("Claim", is_one, ANY), "property Claim: summary must be a text, and is None"),
    "a word in the state": (
        lambda: rule("world", "it", effects=(word,)),
        "'yes' is not a number, and the state holds numbers: use 0 and 1",
    ),
    "bool": (lambda: field(bool), r"bool is not a domain; write Flag\(\)"),
    "set": (lambda: field(set), "set is not a domain; write SetOf"),
    "int": (lambda: field(int), r"int is not a domain; write Range\(low, high\)"),
    "a number for a domain": (lambda: field(ANY or 5), "5 is not a domain; write a domain or a dataclass"),
    "nothing in a sequence": (lambda: holding(SequenceOf(ANY, 3)), "None is not a domain"),
    "a word for a limit": (lambda: holding(Range(0, ANY or "3")), "State.x: a limit is a number or a Bound, and not '3'"),
    "a set too wide to be one": (lambda: holding(SetOf(70)), "State.x: a set of 70 members; there may be 0 to 62"),
    "a set too wide to be stored": (lambda: check(holding(SetOf(40))), "State.x: a set of 40 members is wider than 32 bits"),
    "a number too wide": (lambda: check(holding(Range(0, 1 << 40))), r"State.x: a number in 0\.\.\d+ is wider than 32 bits"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_by_name(what: str) -> None:
    """The message names the part, the field and what belongs there; nothing leaks as a TypeError of Python."""
    make, message = REFUSED[what]
    with pytest.raises(SpecError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
