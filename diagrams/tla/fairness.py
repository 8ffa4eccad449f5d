"""What is assumed of rules, as TLA+'s WF and SF, and what has to happen eventually.

A rule that is fair as a whole is fair as an action under an existential quantifier; where each binding is, there is a formula for
each, over all values that a parameter may ever have. Operators and faults act finitely often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_spec.diagrams.tla.shortened import both, either
from kafka_spec.diagrams.tla.terms import COMPARE, IMPLIES, OPEN, Apply, Atom, Bind, Infix, Term
from kafka_spec.spec.vocabulary.table import PropertyKind

FAIRNESS, FAIR_SPEC = "Fairness", "FairSpec"
"""The names of the assumptions, and of the behaviours that meet them."""
OPERATORS: Mapping[str, str] = {"weak": "WF_state", "strong": "SF_state"}


def of_whole_rule(kind: str, action: Term) -> Term:
    """Return the fairness of a rule, whose action is quantified over its parameters."""
    return Apply(OPERATORS[kind], (action,))


def of_each_binding(kind: str, action: Term, every: Sequence[tuple[str, Term]], now: Sequence[tuple[str, Term]]) -> Term:
    """Return the fairness of each binding of a rule.

    `every` has for each parameter all values that it may ever have, `now` those of the parameters whose values depend on the state.
    """
    among = (Infix("\\in", Atom(name), domain, COMPARE) for name, domain in now)
    formula: Term = Apply(OPERATORS[kind], (both(*among, action),))
    for name, domain in reversed(every):
        formula = Bind(f"\\A {name} \\in {domain.flat()} :", formula)
    return formula


def finitely_often(protocol: Sequence[Term]) -> Term:
    """Return that from some point on all steps are those of the protocol."""
    return Bind("<>[][", either(*protocol), "]_state")


def formula(kind: PropertyKind, when: Term, predicate: Term) -> Term:
    """Return what has to happen eventually."""
    if kind == "leads-to":
        return Infix("~>", when, predicate, IMPLIES)
    return Bind("<>(" if kind == "eventually" else "<>[](", predicate, ")")


def conjunction(parts: Sequence[Term]) -> list[str]:
    """Return formulas as a bulleted list; each is in parentheses, since a quantifier reaches as far as it can."""
    lines: list[str] = []
    for part in parts:
        first, *rest = part.lines(105)
        opening, closing = ("(", ")") if part.strength == OPEN else ("", "")
        lines += [f"  /\\ {opening}{first}", *(f"     {line}" for line in rest)]
        lines[-1] += closing
    return lines
