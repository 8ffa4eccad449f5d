"""Properties of states, steps and paths.

A property may be stated for one of several things, such as a client: `each={"client": CLIENTS}`. It then has
one instance for each binding of these parameters, judged and counted by itself, with a name of its own: `Name[partition=1]`.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from kafka_spec.spec.language import Function, parameters_of, source_of
from kafka_spec.spec.language.domain import Bound, SpecError
from kafka_spec.spec.language.domain.limits import value_at_bounds
from kafka_spec.spec.vocabulary.table.former_names import accepts_former_names
from kafka_spec.spec.vocabulary.table.functions import Name, check_function, check_pure, first_line
from kafka_spec.spec.vocabulary.table.kinds import check_kinds

PropertyKind: TypeAlias = Literal[
    "invariant", "step invariant", "reachable", "recoverable", "leads-to", "eventually", "eventually always"
]
EVENTUAL: tuple[PropertyKind, ...] = ("leads-to", "eventually", "eventually always")
"""The kinds of what has to happen under fairness."""
ABOUT_PATHS: tuple[PropertyKind, ...] = ("recoverable", *EVENTUAL)
"""The kinds that need the graph of states and steps."""

Things: TypeAlias = Mapping[Name, Bound | int]
"""The parameters that name one of several things, and how many there are: a bound, or a number."""
Bindings: TypeAlias = tuple[tuple[tuple[Name, int], ...], ...]
"""Values of such parameters, by name."""


class Question(NamedTuple):
    """A predicate with the values of those of its parameters that name things; the engine gives it the state and `k`."""

    function: Function
    given: tuple[tuple[Name, int], ...] = ()


@accepts_former_names
@dataclass(frozen=True)
class Property:
    """A property of states or steps: a predicate, a sentence, a source.

    An *invariant* holds in every state; a *step invariant* takes `before` and `after` and holds on every edge, those to
    known states included; a *reachable* is a goal that some state must meet; a *recoverable* is a goal to which rules of kind
    protocol alone lead from every state; a *leads-to* requires that from where its antecedent is met its predicate is eventually
    satisfied, whatever fair protocol steps do. An *eventually* requires that from the initial states, and an *eventually always*
    that it stays so from some state on.

    With an antecedent `when`, a function of the same parameters, the property covers only the states or steps that meet it. Their
    number is reported: a property that was never tested has proved nothing.

    With `each`, parameters with the bounds or numbers that count their values, both functions take these, too, and a check judges
    one instance for each binding (`at`).
    """

    name: Name
    kind: PropertyKind
    predicate: Function
    summary: str
    reference: str = ""
    when: Function | None = None
    each: Things | tuple[tuple[Name, Bound | int], ...] = ()
    """Kept as pairs."""
    bindings: Bindings = ()
    """What a check judges at some bounds: one binding; of interchangeable members all, of which none may violate the instance."""
    of: Name = ""
    """For what a check judges, the name of the property of the spec."""

    def __post_init__(self) -> None:
        where = f"property {self.name}"
        check_kinds(self, where, dict.fromkeys(("name", "summary", "reference"), str))
        if self.when is not None and self.kind == "reachable":
            raise SpecError(f"{where}: a goal has no antecedent; make {self.when.__name__} a part of its predicate")
        if self.when is not None and self.kind in ("eventually", "eventually always"):
            raise SpecError(f"{where}: it has no antecedent, since it begins in the initial states; write leads_to")
        if self.when is None and self.kind == "leads-to":
            raise SpecError(f"{where}: it must say what leads to {self.predicate.__name__}; give it an antecedent")
        functions = (self.predicate, *((self.when,) if self.when is not None else ()))
        if self.each != ():
            _check_things(self.each, functions, where)
            object.__setattr__(self, "each", tuple(dict(self.each).items()))
        known = {"before", "after", "k"} if self.kind == "step invariant" else {"s", "k"}
        for function in functions:
            check_function(function, known | set(dict(self.each)), where)
            check_pure(function, where)

    @property
    def stated(self) -> Name:
        """The name under which the spec states this instance: that of the property, without a binding."""
        return self.of or self.name

    @property
    def named_things(self) -> Mapping[Name, Bound | int]:
        """The parameters of `each` with what counts their values."""
        return dict(self.each)

    @property
    def counting_bounds(self) -> tuple[Bound, ...]:
        """The bounds that count the things of `each`."""
        return tuple(count for count in self.named_things.values() if isinstance(count, Bound))

    def at(self, bounds: Mapping[Name, int], alike: Collection[Bound | int] = ()) -> tuple[Property, ...]:
        """Return the instances that a check at these bounds judges, one for each binding.

        Where there is only one binding, the instance keeps the name of the property. Things of `alike` are interchangeable in the
        search, which does not tell which is which: their bindings are judged together, as one instance. What it says of one of them
        it says of all: so none may violate it, and a goal is reached by all if by one.
        """
        if not self.each or self.of:
            return (self,)
        ranges = {name: range(value_at_bounds(count, bounds, self.name)) for name, count in self.named_things.items()}
        apart = [name for name, count in self.named_things.items() if count not in alike]
        found: dict[str, list[tuple[tuple[Name, int], ...]]] = {} if all(ranges.values()) else {self.name: []}
        for values in itertools.product(*ranges.values()):
            binding = tuple(zip(ranges, values, strict=True))
            shown = ",".join(f"{name}={value}" for name, value in binding if name in apart)
            found.setdefault(f"{self.name}[{shown}]" if shown else self.name, []).append(binding)
        return tuple(
            dataclasses.replace(self, name=name if len(found) > 1 else self.name, bindings=tuple(bindings), of=self.name)
            for name, bindings in found.items()
        )

    def bound_to(self, shown: str) -> Property | None:
        """Return the instance whose name has this between its brackets, as in `partition=1`, or None."""
        if not (pairs := re.findall(r"(?:^|,)(\w+)=(\d+)(?=,|$)", shown)) or [name for name, _ in pairs] != [*self.named_things]:
            return None
        binding = tuple((name, int(value)) for name, value in pairs)
        highest = {bound.name: bound.high for bound in self.counting_bounds}
        if any(value >= value_at_bounds(self.named_things[name], highest, self.name) for name, value in binding):
            return None
        return dataclasses.replace(self, name=f"{self.name}[{shown}]", bindings=(binding,), of=self.name)

    @cached_property
    def parts(self) -> tuple[tuple[Question | None, Question], ...]:
        """For each binding the antecedent, or None, and the predicate.

        Raises:
            SpecError: it is stated for each of some things, and a check judges what `at` returns.
        """
        if self.each and not self.of:
            raise SpecError(f"property {self.name} is stated for each {' and '.join(dict(self.each))}; judge what its `at` returns")
        return tuple(
            (None if self.when is None else _asked(self.when, dict(binding)), _asked(self.predicate, dict(binding)))
            for binding in (self.bindings if self.each else ((),))
        )

    @property
    def antecedents(self) -> tuple[Question, ...]:
        """The antecedents of its bindings, each once: it is tested where one of them is met. Empty if it has none."""
        return tuple(dict.fromkeys(when for when, _ in self.parts if when is not None))

    @property
    def predicates(self) -> tuple[Question, ...]:
        """The predicates of its bindings, each once."""
        return tuple(dict.fromkeys(predicate for _, predicate in self.parts))


def _asked(function: Function, binding: Mapping[Name, int]) -> Question:
    """Return a function with the values that it takes of a binding."""
    return Question(function, tuple((name, binding[name]) for name in parameters_of(function) if name in binding))


def _counts(thing: object) -> bool:
    """Whether a value says how many things there are."""
    return isinstance(thing, Bound) or (type(thing) is int and 0 < thing <= MOST_THINGS)


MOST_THINGS = 1_000
"""The largest number of things that a property may be about without a bound: each has an instance."""


def _check_things(each: object, functions: Iterable[Function], where: str) -> None:
    """Refuse what names no things, and things that none of the functions is about."""
    pairs = each.items() if isinstance(each, Mapping) else each
    if not isinstance(pairs, Iterable) or not all(isinstance(pair, tuple) and _counts(pair[-1]) for pair in pairs):
        raise SpecError(
            f'{where}: each is {each!r}; write each={{"client": CLIENTS}}, names of parameters, each with a bound, or with a '
            f"number from 1 to {MOST_THINGS:,}, that says how many there are"
        )
    names = [name for name, _ in (each.items() if isinstance(each, Mapping) else tuple(pairs))]
    if not names:
        raise SpecError(f"{where}: each is empty; name the parameters, or drop `each`")
    if wrong := [name for name in names if name in ("s", "k", "before", "after")]:
        raise SpecError(f"{where}: each names {wrong[0]}, which is the state or the constants; give the parameter another name")
    taken = {name for function in functions for name in source_of(function).parameters}
    if left := [name for name in names if name not in taken]:
        raise SpecError(f"{where}: no function takes {' or '.join(left)}; let one take that parameter, or drop `each`")


def invariant(
    name: Name, predicate: Function, summary: str, reference: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Claim that the predicate of (s, k) holds in every reachable state, or in those that meet the antecedent.

    With `each`, as in `each={"client": CLIENTS}`, predicate and antecedent take that parameter too, and this must hold
    of each partition by itself: `Name[partition=0]`, `Name[partition=1]`. So it is for the other kinds of properties.
    """
    return Property(name, "invariant", predicate, summary, reference, when, () if each is None else each)


def lemma(name: Name, predicate: Function, reference: str = "") -> Property:
    """Claim an invariant that `kafka-spec prove` needs to prove others by induction; its sentence is that of the predicate."""
    return Property(name, "invariant", predicate, first_line(predicate), reference)


def step_invariant(
    name: Name, predicate: Function, summary: str, reference: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Claim that the predicate of (before, after, k) holds on every step, or on those that meet the antecedent."""
    return Property(name, "step invariant", predicate, summary, reference, when, () if each is None else each)


def reachable(name: Name, predicate: Function, summary: str, reference: str = "", *, each: Things | None = None) -> Property:
    """Claim that some reachable state meets the predicate of (s, k): a goal, and a guard against empty proofs.

    With `each` every binding has to be reached, each in a state of its own.
    """
    return Property(name, "reachable", predicate, summary, reference, None, () if each is None else each)


def recoverable(
    name: Name, predicate: Function, summary: str, reference: str = "", *, when: Function | None = None, each: Things | None = None
) -> Property:
    """Require that from every reachable state a path of protocol rules alone leads to one that satisfies the predicate of (s, k).

    Rules of kind operator or fault do not count. A state in which a bound prevents a protocol step is undecided and taken to
    have a path, so that a violation is certain. With an antecedent only the states that meet it need a path; the state to which
    the path leads need not meet it. It is tested in those that need one and do not satisfy the predicate themselves.
    """
    return Property(name, "recoverable", predicate, summary, reference, when, () if each is None else each)


def leads_to(
    name: Name, when: Function, predicate: Function, summary: str, reference: str = "", *, each: Things | None = None
) -> Property:
    """Require that each state that meets `when` is eventually followed by one that satisfies the predicate; both take (s, k).

    Rules of kind operator and fault happen finitely often; of protocol rules the fairness is assumed that they state. It is
    violated by a path to where the predicate is not satisfied and need never be: a cycle of protocol steps that is fair, or a
    state that may stay as it is. A firing that changes nothing is not a step. A state in which a bound prevents a protocol step is
    undecided, and taken to have a path out of each cycle, so that a violation is certain. It is tested in those
    states that meet the antecedent and not the predicate.
    """
    return Property(name, "leads-to", predicate, summary, reference, when, () if each is None else each)


def eventually(name: Name, predicate: Function, summary: str, reference: str = "", *, each: Things | None = None) -> Property:
    """Require that every fair path from an initial state reaches one that satisfies the predicate of (s, k): TLA+'s `<>P`.

    Fairness, faults and bounds count as in `leads_to`. It is tested in the initial states that do not satisfy the predicate.
    """
    return Property(name, "eventually", predicate, summary, reference, None, () if each is None else each)


def eventually_always(
    name: Name, predicate: Function, summary: str, reference: str = "", *, each: Things | None = None
) -> Property:
    """Require that every fair path satisfies the predicate of (s, k) in all states from some state on: TLA+'s `<>[]P`.

    Fairness, faults and bounds count as in `leads_to`. It is violated by a fair cycle, or a state that may stay as it is, with a
    state that does not satisfy the predicate. It is tested in such states.
    """
    return Property(name, "eventually always", predicate, summary, reference, None, () if each is None else each)


TYPE_INVARIANT = "TypeInvariant"
"""The built-in property of every spec: each field stays in its domain."""

DEADLOCK = "Deadlock"
"""The built-in property that in every state some rule can fire, or only a bound prevents it, or the state is final."""
