"""Formulas and definitions of TLA+ without what says nothing: parts that are certain, definitions that are not used.

Depends on terms.py alone.
"""

from __future__ import annotations

import re

from kafka_spec.diagrams.tla.terms import FALSE, IMPLIES, TRUE, Atom, Except, If, Infix, Junction, Let, Not, Term


def mentions(text: str, name: str) -> bool:
    """Whether a name occurs in a text."""
    return re.search(rf"(?<!\w)(?<!(?<!\.)\.){re.escape(name)}(?!\w)", text) is not None


def let(names: list[tuple[str, Term]], body: Term) -> Term:
    """Return a body under definitions, without unused ones."""
    kept: list[tuple[str, Term]] = []
    text = body.flat()
    for name, term in reversed(names):
        if mentions(text, name):
            kept.insert(0, (name, term))
            text = f"{term.flat()} {text}"
    if not kept:
        return body
    if isinstance(body, Atom) and body.text == kept[-1][0]:
        return let(kept[:-1], kept[-1][1])
    if isinstance(body, Let):
        return Let((*kept, *body.names), body.body)
    return Let(tuple(kept), body)


def with_changes(term: Term, changes: tuple[tuple[str, Term], ...]) -> Term:
    """Return a value with parts replaced."""
    if isinstance(term, Let):
        return Let(term.names, with_changes(term.body, changes))
    return Except(term, changes)


def both(*parts: Term) -> Term:
    """Return the conjunction."""
    return _joined("/\\", parts, TRUE, FALSE)


def either(*parts: Term) -> Term:
    """Return the disjunction."""
    return _joined("\\/", parts, FALSE, TRUE)


def _joined(symbol: str, parts: tuple[Term, ...], nothing: Term, decides: Term) -> Term:
    flat: list[Term] = []
    for part in parts:
        if part == decides:
            flat.append(part)
            break
        flat += part.parts if isinstance(part, Junction) and part.symbol == symbol else [] if part == nothing else [part]
    if not flat:
        return nothing
    return flat[0] if len(flat) == 1 else Junction(symbol, tuple(flat))


OPPOSITE = {"=": "#", "#": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "\\in": "\\notin", "\\notin": "\\in"}


def negated(term: Term) -> Term:
    """Return the negation."""
    if term in (TRUE, FALSE):
        return FALSE if term == TRUE else TRUE
    if isinstance(term, Not):
        return term.of
    if isinstance(term, Junction):
        return (either if term.symbol == "/\\" else both)(*map(negated, term.parts))
    if isinstance(term, Infix) and term.symbol in OPPOSITE:
        return Infix(OPPOSITE[term.symbol], term.left, term.right, term.at)
    return Not(term)


def choice(test: Term, yes: Term, no: Term, boolean: bool = False) -> Term:
    """Return a choice; of formulas, as a formula where that is shorter."""
    if test == TRUE or yes == no:
        return yes
    if test == FALSE:
        return no
    if boolean:
        if yes == TRUE:
            return either(test, no)
        if yes == FALSE:
            return both(negated(test), no)
        if no == FALSE:
            return both(test, yes)
        if no == TRUE:
            return Infix("=>", test, yes, IMPLIES)
    return If(test, yes, no)
