"""What the translation of a step or a predicate collects: what it assumes, and what has to hold for it to be executed at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from kafka_spec.model_check.proof.cells import Limits
from kafka_spec.model_check.proof.terms import Formula, Untranslatable, Whole, all_of, implied, is_false, is_true, number
from kafka_spec.spec.vocabulary.table import Constants

MOST_UNROLLED = 64
"""The most rounds of a loop that are written out."""


@dataclass(frozen=True)
class Needed:
    """Something without which a step or a predicate cannot be executed, such as an index in range, and what is known by then."""

    what: str
    formula: Formula
    known: tuple[Formula, ...]


@dataclass
class Collected:
    """Collects; `k` are bounds and decisions, and `least` the least values of bounds."""

    limits: Limits
    k: Constants
    least: Mapping[str, int] = field(default_factory=dict)
    needed: list[Needed] = field(default_factory=list)
    assumed: list[Formula] = field(default_factory=list)
    """What a bound of the exploration demands: where it does not hold there is no step."""
    definitions: dict[str, tuple[Any, Formula]] = field(default_factory=dict)
    """Numbers that loops define, by what defines them: the term, and the formula that fixes it."""
    quiet: bool = False
    """Whether it is known that all can be executed, so that what that needs is not noted."""
    bound: list[z3.ArithRef] = field(default_factory=list)
    """The variables of the quantifiers around what is being translated."""

    def need(self, what: str, formula: Formula, path: Formula) -> None:
        """Note what has to hold on a path."""
        if not self.quiet and not is_true(found := self.closed(implied(path, formula))):
            self.needed.append(Needed(what, found, tuple(self.assumed)))

    def assume(self, formula: Formula, path: Formula) -> None:
        """Note what a bound demands on a path."""
        if self.bound:
            raise Untranslatable("a bound is met inside a loop whose end is not known")
        if not is_true(found := implied(path, formula)):
            self.assumed.append(found)

    def closed(self, formula: Formula) -> Formula:
        """Return the formula for all values of the variables around it."""
        return z3.ForAll(list(self.bound), formula) if self.bound and not is_true(formula) else formula

    def constant(self, name: str) -> Whole:
        """Return a bound or a decision; a bound that is lifted is any number from its least value on."""
        if name in self.limits.lifted:
            return Whole(z3.Int(f"k.{name}"), self.least[name], None)
        return number(getattr(self.k, name))

    def variable(self) -> z3.ArithRef:
        """Return a variable for one more quantifier; equal formulas get equal names."""
        return z3.Int(f"index{len(self.bound)}")

    def quantified(self, low: z3.ArithRef, high: z3.ArithRef, every: bool, inner: Callable[[Whole, Formula], Formula]) -> Formula:
        """Return that a formula holds for `every` number from `low` to below `high`, or for some.

        `inner` gives the formula of a number, and gets what is known of it.
        """
        variable = self.variable()
        known = all_of(variable >= low, variable < high)
        self.bound.append(variable)
        try:
            formula = inner(Whole(variable, None, None), known)
        finally:
            self.bound.pop()
        if every:
            return formula if is_true(formula) else z3.ForAll([variable], implied(known, formula))
        return formula if is_false(formula) else z3.Exists([variable], all_of(known, formula))

    def defined(self, what: str, key: Formula, fixing: Callable[[z3.ArithRef], Formula]) -> z3.ArithRef:
        """Return the number that a formula fixes, whatever the variables around it are; equal keys get the same number."""
        name = f"{what} {z3.ForAll(list(self.bound), key).sexpr() if self.bound else key.sexpr()}"
        if name not in self.definitions:
            sorts = [z3.IntSort() for _ in self.bound]
            digest = hashlib.sha256(name.encode()).hexdigest()[:16]  # other definitions are never of the same name
            function = z3.Function(f"{what} {digest}", *sorts, z3.IntSort())
            term = function(*self.bound)
            before = len(self.needed)
            self.definitions[name] = function, self.closed(fixing(term))
            del self.needed[before:]  # it asks again for what the loop itself needs
        return self.definitions[name][0](*self.bound)
