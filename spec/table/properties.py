"""Properties: claims about states, steps and paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_spec.spec.domain import SpecError
from kafka_spec.spec.lint import Function
from kafka_spec.spec.table.each import Things, check_things, in_each, in_some
from kafka_spec.spec.table.functions import Name, check_function, check_pure
from kafka_spec.spec.table.kinds import check_kinds

PropertyKind: TypeAlias = Literal["invariant", "step invariant", "reachable", "recoverable", "leads-to"]


@dataclass(frozen=True)
class Property:
    """A claim about states or steps: a predicate, a sentence, a source.

    An *invariant* holds in every state; a *step invariant* takes `before` and `after` and holds on every edge, those to
    known states included; a *reachable* is a goal that some state must meet; a *recoverable* is a goal to which rules of kind
    protocol alone lead from every state; a *leads-to* claims that from where its antecedent is met its predicate is met at last,
    whatever fair protocol steps do.

    With an antecedent `when`, a function of the same parameters, the claim covers only the states or steps that meet it. Their
    number is reported: a property that was never tested has proved nothing.
    """

    name: Name
    kind: PropertyKind
    predicate: Function
    says: str
    cites: str = ""
    when: Function | None = None

    def __post_init__(self) -> None:
        check_kinds(self, f"property {self.name}", dict.fromkeys(("name", "says", "cites"), str))
        if self.when is not None and self.kind == "reachable":
            raise SpecError(f"property {self.name}: a goal has no antecedent; make {self.when.__name__} a part of its predicate")
        if self.when is None and self.kind == "leads-to":
            raise SpecError(f"property {self.name}: it must say what leads to {self.predicate.__name__}; give it an antecedent")
        known = {"before", "after", "k"} if self.kind == "step invariant" else {"s", "k"}
        for function in (self.predicate, *((self.when,) if self.when is not None else ())):
            check_function(function, known, f"property {self.name}")
            check_pure(function, f"property {self.name}")


def invariant(
    name: Name, predicate: Function, says: str, cites: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Claim that the predicate of (s, k) holds in every reachable state, or in those that meet the antecedent.

    With `each`, as in `each={"partition": PARTITIONS}`, the claim is about one partition after the other: predicate and antecedent
    take that parameter too. This holds of the other kinds of properties as well; a goal is then one that some partition meets.
    """
    return _claim(name, "invariant", predicate, says, cites, when, each)


def step_invariant(
    name: Name, predicate: Function, says: str, cites: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Claim that the predicate of (before, after, k) holds on every step, or on those that meet the antecedent."""
    return _claim(name, "step invariant", predicate, says, cites, when, each)


def reachable(name: Name, predicate: Function, says: str, cites: str = "", *, each: Things | None = None) -> Property:
    """Claim that some reachable state meets the predicate of (s, k): a goal, and a guard against empty proofs."""
    if each is not None:
        check_things(each, (predicate,), f"property {name}")
        predicate = in_some(predicate, each)
    return Property(name, "reachable", predicate, says, cites)


def recoverable(
    name: Name, predicate: Function, says: str, cites: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Claim that from every reachable state a way leads to one that meets the predicate of (s, k), by protocol rules alone.

    Rules of kind operator or fault do not count. A state in which a bound forbids a protocol step is undecided and taken to
    have a way, so that a violation is certain. With an antecedent only the states that meet it need a way. It is tested in
    those that need one and do not meet the predicate themselves.
    """
    return _claim(name, "recoverable", predicate, says, cites, when, each)


def leads_to(
    name: Name, when: Function, predicate: Function, says: str, cites: str = "", *, each: Things | None = None
) -> Property:
    """Claim that after each state that meets `when` one is met at last that meets the predicate; both take (s, k).

    Rules of kind operator and fault happen finitely often; of protocol rules the fairness is assumed that they state. It is
    violated by a way to where the predicate is not met and need never be: a circle of protocol steps that is fair, or a state
    that may stay as it is. A firing that changes nothing is no step. A state in which a bound forbids a protocol step is
    undecided, and taken to have a way out of each circle, so that a violation is certain. It is tested in those
    states that meet the antecedent and not the predicate.

    With `each` the claim is that after a state that some partition makes meet `when`, one is met where each meets the predicate.
    """
    if each is not None:
        check_things(each, (predicate, when), f"property {name}")
        predicate, when = in_each(predicate, None, each), in_some(when, each)
    return Property(name, "leads-to", predicate, says, cites, when)


def _claim(
    name: Name, kind: PropertyKind, predicate: Function, says: str, cites: str, when: Function | None, each: Things | None
) -> Property:
    """Return a claim about the state, or about each of some things: each that meets the antecedent meets the predicate."""
    if each is not None:
        check_things(each, (predicate, when) if when is not None else (predicate,), f"property {name}")
        predicate, when = in_each(predicate, when, each), in_some(when, each) if when is not None else None
    return Property(name, kind, predicate, says, cites, when)


TYPE_INVARIANT = "TypeInvariant"
"""The built-in property of every spec: each field stays in its domain."""

DEADLOCK = "Deadlock"
"""The built-in property that in every state some rule can fire, or only a bound forbids it, or the state is final."""
