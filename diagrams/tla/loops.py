"""Loops as terms: a search becomes a quantifier or a lowest index, any other loop a Fold over the range.

Loops run over ranges. A loop carries from one iteration to the next the local names that it assigns and that have a value before
it, and the parameters that it changes.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass

from kafka_spec.diagrams.tla.expressions import Function
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.iteration import members, range_of, turn
from kafka_spec.diagrams.tla.shortened import both, choice, either, let, negated
from kafka_spec.diagrams.tla.sorts import BOOL, SET, Sort
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    EMPTY,
    FALSE,
    IMPLIES,
    RANGE,
    TRUE,
    Access,
    Atom,
    Bind,
    If,
    Infix,
    Junction,
    Let,
    Term,
    Tuple,
    number,
)
from kafka_spec.diagrams.tla.values import Value
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.walking import walk

GOES_ON, LEFT, RETURNED = number(0), number(1), number(2)

NOWHERE = Atom("nowhere")
"""The end of a path that is never taken."""


@dataclass(frozen=True)
class Ends:
    """The terms for the ends of a path: control falls off the last statement, returns, breaks the loop, or continues it."""

    fall: Callable[[Frame], Term]
    back: Callable[[Frame, list[Value]], Term]
    leave: Callable[[Frame], Term] | None = None
    again: Callable[[Frame], Term] | None = None
    truth: bool = False
    """Whether the terms are truth values."""


class Runs(Function, abc.ABC):
    """A function whose statements can be followed."""

    @abc.abstractmethod
    def run(self, frame: Frame, statements: tree.Block, ends: Ends) -> Term:
        """Return the term of all paths from here on."""

    @abc.abstractmethod
    def result_sorts(self) -> list[Sort]:
        """Return the sorts of the function's results, as far as they are known."""


def _assigned(node: tree.For) -> set[str]:
    """Return the names to which a loop gives values."""
    names: set[str] = set()
    for part in walk(node):
        match part:
            case tree.For(name) | tree.Loop(name) | tree.Assign(tree.Local(name)) | tree.Change(tree.Local(name)):
                names.add(name)
            case tree.Unpack(unpacked):
                names |= {local.name for local in unpacked}
    return names


def _carried(f: Runs, frame: Frame, node: tree.For) -> tuple[list[str], list[str]]:
    """Return the local names and the parameters that a loop carries."""
    assigned = _assigned(node)
    names = [name for name in frame.locals if name in assigned]
    if aliases := [name for name in names if frame.locals[name].place is not None]:
        f.refuse(node, f"{aliases[0]} is given to another record in a loop; use two names")
    before, used = set(f.written), set(f.used)
    f.written = set()
    inside = (members(f, frame, node) or turn(f, frame, node))[0]
    ends = Ends(lambda _: TRUE, lambda *_: TRUE, lambda _: TRUE, lambda _: TRUE)
    f.run(inside, node.body, ends)
    roots = [name for name in frame.roots if name in f.written]
    f.written, f.used = before | f.written, used
    return names, roots


def loop(f: Runs, frame: Frame, node: tree.For) -> None:
    """Translate a loop that does not return."""
    _fold(f, frame, node, [])


def loop_out(f: Runs, frame: Frame, node: tree.For, rest: tree.Block, ends: Ends) -> Term:
    """Return the term of a loop that may return and of the statements after it."""
    names, roots = _carried(f, frame, node)
    leaves = any(isinstance(part, tree.Break) for part in walk(node))
    if not names and not roots and not leaves:
        return _search(f, frame, node, rest, ends)
    outcome = _fold(f, frame, node, f.result_sorts())
    assert outcome is not None
    status, values = outcome
    after = f.run(frame.fork(), rest, ends)
    if not any(isinstance(part, tree.Return) for part in walk(node)):
        return after
    there = frame.fork()
    back = f.closed(there, ends.back(there, values))
    return choice(Infix("=", status, RETURNED, COMPARE), back, after, ends.truth)


def _search(f: Runs, frame: Frame, node: tree.For, rest: tree.Block, ends: Ends) -> Term:
    """Return the term of a loop that changes nothing and may return, and of the statements after it."""
    outcomes: list[Term] = []
    in_any_order = members(f, frame, node)
    if in_any_order is not None:
        inside, index, of = in_any_order
        among = f"{index} \\in {of.flat()}"
    else:
        low, high = range_of(f, frame, node.over)
        inside, index = turn(f, frame, node)
        among = f"{index} \\in {Infix('..', low, high, RANGE).flat()}"

    def found(way: Frame, result: list[Value]) -> Term:
        outcomes.append(ends.back(way, result))
        return TRUE

    test = f.run(inside, node.body, Ends(lambda _: FALSE, found, None, lambda _: FALSE, truth=True))
    after = f.run(frame.fork(), rest, ends)
    if ends.truth and all(outcome == TRUE for outcome in outcomes):
        return either(Bind(f"\\E {among} :", test), after)
    if ends.truth and all(outcome == FALSE for outcome in outcomes):
        return both(Bind(f"\\A {among} :", never(test)), after)
    if in_any_order is not None:
        low, high = range_of(f, frame, node.over)
        inside, index = turn(f, frame, node)
        test = f.run(inside, node.body, Ends(lambda _: FALSE, found, None, lambda _: FALSE, truth=True))
        among = f"{index} \\in {Infix('..', low, high, RANGE).flat()}"
    there = f.fresh("found")
    inside, at = turn(f, frame, node, f.fresh(index))
    back = f.run(inside, node.body, Ends(lambda _: NOWHERE, ends.back, None, lambda _: NOWHERE, truth=ends.truth))
    lowest = let([(at, f.values.apply("Lowest", Atom(there)))], back)
    some = Infix("#", Atom(there), EMPTY, COMPARE)
    return Let(((there, Bind(f"{{{among} :", test, "}")),), If(some, lowest, after))


def _fold(f: Runs, frame: Frame, node: tree.For, results: list[Sort]) -> tuple[Term, list[Value]] | None:
    """Translate a loop to a Fold; if it may leave early, return the term that says how it ended and what it returned."""
    names, roots = _carried(f, frame, node)
    early = any(isinstance(part, tree.Return | tree.Break) for part in walk(node))
    low, high = range_of(f, frame, node.over)
    sorts = [SET if _gathers(frame, node, name) else frame.locals[name].sort for name in names]
    while True:  # until an iteration leaves values of the sorts that it found
        used = set(f.used)
        once, ended = _one_turn(f, frame, node, names, roots, sorts, results if early else None)
        f.used = used
        if ended == sorts:
            break
        sorts = ended
    first = [*[f.values.as_sort(frame.locals[name], sort).term for name, sort in zip(names, sorts, strict=True)]]
    first += [frame.roots[root].now() for root in roots]
    if early:
        first = [GOES_ON, *map(default, results), *first]
    start = first[0] if len(first) == 1 else Tuple(tuple(first))
    term = f.values.apply("Fold", once, start, low, high)
    parts = f.unpack(frame, "after", term, len(first)) if len(first) > 1 else [term]
    offset = 1 + len(results) if early else 0
    for name, part, sort in zip(names, parts[offset:], sorts, strict=False):
        frame.locals[name] = f.bound(frame, name, Value(part, sort))
    for root, part in zip(roots, parts[offset + len(names) :], strict=True):
        frame.put(root, part)
        f.name_root(frame, root)
    if not early:
        return None
    return parts[0], [Value(part, sort) for part, sort in zip(parts[1:], results, strict=False)]


def _gathers(frame: Frame, node: tree.For, name: str) -> bool:
    """Whether a loop collects a set in a name, starting from the empty set, by bitwise operators."""
    of_bits: list[bool] = []
    for part in walk(node):
        match part:
            case tree.Assign(tree.Local(assigned), value) if assigned == name:
                of_bits.append(isinstance(value, tree.Arithmetic) and value.sign == "|")
            case tree.Change(tree.Local(assigned), sign) if assigned == name:
                of_bits.append(sign == "|")
    return frame.locals[name].known == 0 and bool(of_bits) and all(of_bits)


def _one_turn(
    f: Runs, frame: Frame, node: tree.For, names: list[str], roots: list[str], sorts: list[Sort], results: list[Sort] | None
) -> tuple[Term, list[Sort]]:
    """Return the LAMBDA of one iteration, and the sorts that it leaves."""
    count = len(names) + len(roots) + (0 if results is None else 1 + len(results))
    single = f.fresh(names[0] if names else f.parameters[roots[0]]) if count == 1 else f.fresh("now")
    inside, index = turn(f, frame, node)
    parts: list[Term] = [Atom(single)] if count == 1 else [Access(Atom(single), number(i + 1)) for i in range(count)]
    offset = count - len(names) - len(roots)
    for name, part, sort in zip(names, parts[offset:], sorts, strict=False):
        inside.locals[name] = Value(part, sort) if count == 1 else f.bound(inside, name, Value(part, sort))
    for root, part in zip(roots, parts[offset + len(names) :], strict=True):
        inside.put(root, part)
        if count > 1:
            f.name_root(inside, root)
    left: list[Sort] = list(sorts)

    def end(status: Term, values: list[Value] | None = None) -> object:
        def make(way: Frame, returned: list[Value] | None = None) -> Term:
            terms: list[Term] = []
            if results is not None:
                given = [f.values.as_sort(v, sort).term for v, sort in zip(returned or [], results, strict=False)]
                terms = [status, *(given or map(default, results))]
            for i, name in enumerate(names):
                left[i] = f.values.joined(left[i], way.locals[name].sort)
                terms.append(f.values.as_sort(way.locals[name], left[i]).term)
            terms += [way.roots[root].now() for root in roots]
            return terms[0] if len(terms) == 1 else Tuple(tuple(terms))

        return make

    goes_on, leaves, returns = end(GOES_ON), end(LEFT), end(RETURNED)
    body = f.run(inside, node.body, Ends(goes_on, returns, leaves, goes_on))  # type: ignore[arg-type]
    if results is not None:
        body = choice(Infix("#", parts[0], GOES_ON, COMPARE), Atom(single), body)
    return Bind(f"LAMBDA {single}, {index} :", body), left


def default(sort: Sort) -> Term:
    """Return a placeholder for a result that is not known yet."""
    return FALSE if sort == BOOL else EMPTY if sort == SET else number(0)


def never(test: Term) -> Term:
    """Return the negation of a test; of a conjunction, as an implication."""
    if isinstance(test, Junction) and test.symbol == "/\\":
        return Infix("=>", both(*test.parts[:-1]), negated(test.parts[-1]), IMPLIES)
    return negated(test)
