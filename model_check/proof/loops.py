"""Loops of functions: written out where their end is known, else by a quantifier.

A loop without a known end is translated only where a formula says what it does: it searches, and returns the same for every item
that it finds (`Exists`), or it keeps what it computed of the last item that passes a test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import z3

from kafka_spec.model_check.proof import places
from kafka_spec.model_check.proof.cells import ArrayCell
from kafka_spec.model_check.proof.context import MOST_UNROLLED, Collected
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    MemberTruths,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    folded,
    implied,
    is_false,
    is_true,
    negation,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_set, extreme, merged
from kafka_spec.spec.language import Source, tree
from kafka_spec.spec.language.domain import Map
from kafka_spec.spec.language.walking import walk


@dataclass
class Ending:
    """The paths on which a round of a loop has ended early."""

    broken: list[Formula] = field(default_factory=list)
    continued: list[Formula] = field(default_factory=list)


class Loops(ABC):
    """Loops and generators of one call (`translation.SymbolicCall`)."""

    context: Collected
    outer: Formula
    source: Source
    names: dict[str, Any]
    endings: list[Ending]
    returned: list[tuple[Formula, tuple[Value, ...]]]

    @abstractmethod
    def block(self, statements: tree.Block, path: Formula) -> Formula:
        """Run statements; return the path on which control continues behind them."""

    @abstractmethod
    def simple(self, node: tree.Expression, path: Formula) -> Value:
        """Return the number, truth or set that an expression is."""

    @abstractmethod
    def truth(self, node: tree.Expression, path: Formula) -> Formula:
        """Return whether an expression is true."""

    @abstractmethod
    def reference(self, node: tree.Expression, path: Formula) -> Reference:
        """Return the places that an expression may mean."""

    @abstractmethod
    def refuse(self, node: tree.Node, what: str) -> NoReturn:
        """Raise the error of what has no translation, with its place."""

    def loop(self, node: tree.For, path: Formula) -> Formula:
        """Run a loop; return the path on which control continues behind it."""
        rounds = self.rounds(node.over, path)
        if rounds is None:
            return self.searching(node, path)
        broken: list[Formula] = []
        for takes, item in rounds:
            self.endings.append(Ending())
            self.names[node.name] = item
            inside = all_of(path, takes)
            after = self.block(node.body, inside)
            ending = self.endings.pop()
            broken += ending.broken
            done = any_of(after, *ending.continued)
            path = path if done is inside else any_of(all_of(path, negation(takes)), done)
        return any_of(path, *broken)

    def rounds(self, over: tree.Over, path: Formula) -> Iterator[tuple[Formula, Any]] | None:
        """Yield the rounds of a loop, each with the condition that it takes place; None where their end is not known."""
        if isinstance(over, tree.Members):
            members = as_set(self.simple(over.of, path))
            self.context.need("a set that ends", negation(members.others), all_of(self.outer, path))
            return ((bit, number(member)) for member, bit in enumerate(members.bits))
        if isinstance(over, tree.Items):
            return self.items(self.reference(over.of, path), over)
        start, stop = self.ends(over, path)
        if start.low is None or stop.high is None:
            return None
        if stop.high - start.low > MOST_UNROLLED:
            self.refuse(over, f"a loop of more than {MOST_UNROLLED} rounds")
        return (
            (all_of(compared("<=", start, number(at)), compared("<", number(at), stop)), number(at))
            for at in range(start.low, stop.high)
        )

    def ends(self, over: tree.Range, path: Formula) -> tuple[Whole, Whole]:
        """Return the two ends of a range."""
        return as_number(self.simple(over.start, path)), as_number(self.simple(over.stop, path))

    def items(self, of: Reference, node: tree.Node) -> Iterator[tuple[Formula, Any]] | None:
        """Yield the items of an array or a sequence, each with the condition that it is there; None without a limit."""
        maps = [place for _, place in of.places if isinstance(place, ArrayCell) and isinstance(place.type, Map)]
        if maps and len(of.places) > 1:
            self.refuse(node, "a loop over the keys of one of several maps")
        if maps:
            return ((places.is_present(option), number(key)) for key, option in enumerate(maps[0].items))
        length = of.length
        if length.high is None:
            return None
        return ((compared("<", number(at), length), of.at(number(at)).each(places.content)) for at in range(length.high))

    # loops whose end is not known

    def searching(self, node: tree.For, path: Formula) -> Formula:
        """Translate a loop that returns the same wherever it finds something."""
        if not isinstance(node.over, tree.Range):
            self.refuse(node, "a loop over items without a limit; loop over their places, `range(len(...))`")
        assert isinstance(node.over, tree.Range)
        start, stop = self.ends(node.over, path)
        if any(isinstance(part, tree.Assign | tree.Unpack | tree.Change) for part in walk(*node.body)):
            return self.keeping(node, path, start, stop)
        found: list[tuple[Value, ...]] = []

        def inner(item: Whole, known: Formula) -> Formula:
            self.names[node.name] = item
            before, self.returned = self.returned, []
            self.endings.append(Ending())
            self.block(node.body, all_of(path, known))
            if self.endings.pop().broken:
                self.refuse(node, "a loop without a limit that breaks")
            returned, self.returned = self.returned, before
            found.extend(values for _, values in returned)
            return any_of(*(where for where, _ in returned))

        exists = self.context.quantified(start.term, stop.term, False, inner)
        if is_false(exists):
            return path
        if _alike(found):
            self.returned.append((all_of(path, exists), found[0]))
            return all_of(path, negation(exists))

        def fixing(first: z3.ArithRef) -> Formula:
            inside = all_of(first >= start.term, first < stop.term)
            others = self.context.quantified(start.term, first, True, lambda item, known: negation(inner(item, known)))
            return implied(exists, all_of(inside, inner(Whole(first, None, None), inside), others))

        self.names[node.name] = Whole(self.context.defined("first", z3.And(exists, start.term <= stop.term), fixing), None, None)
        self.block(node.body, all_of(path, exists))
        return all_of(path, negation(exists))

    def keeping(self, node: tree.For, path: Formula, start: Whole, stop: Whole) -> Formula:
        """Translate a loop that keeps what it computes of the last item that passes a test."""
        match node.body:
            case (tree.If(test, body, ()),) if all(isinstance(part, tree.Assign) for part in body):
                pass
            case _:
                self.refuse(node, "a loop without a limit that is neither a search nor the last match")
        assigned = {part.target.name for part in body if isinstance(part, tree.Assign) and isinstance(part.target, tree.Local)}
        read = {part.name for part in walk(test, *body) if isinstance(part, tree.Local) and part.name not in assigned}
        values = [part.value for part in body if isinstance(part, tree.Assign)]
        if len(assigned) < len(body) or any(isinstance(part, tree.Local) and part.name in assigned for part in walk(test, *values)):
            self.refuse(node, f"a loop without a limit whose rounds depend on each other; it reads {', '.join(sorted(read))}")

        def passes(item: Whole, known: Formula) -> Formula:
            self.names[node.name] = item
            return self.truth(test, all_of(path, known))

        some = self.context.quantified(start.term, stop.term, False, passes)

        def fixing(last: z3.ArithRef) -> Formula:
            inside = all_of(last >= start.term, last < stop.term)
            others = self.context.quantified(last + 1, stop.term, True, lambda item, known: negation(passes(item, known)))
            return implied(some, all_of(inside, passes(Whole(last, None, None), inside), others))

        self.names[node.name] = Whole(self.context.defined("last", z3.And(some, start.term <= stop.term), fixing), None, None)
        for part in body:
            assert isinstance(part, tree.Assign) and isinstance(part.target, tree.Local)
            kept = merged(some, self.simple(part.value, all_of(path, some)), self.names[part.target.name])
            self.names[part.target.name] = merged(path, kept, self.names[part.target.name])
        return path

    # generators

    def gathered(self, node: tree.Gathered, path: Formula) -> Value:
        """Return what a function makes of a generator."""
        if node.how in ("any", "all"):
            return Truth(self.quantified(node.how == "all", node.item, node.loops, path))
        found = list(self.generated(node.item, node.loops, path))
        if node.how == "sum":
            parts = [as_number(value) for _, value in found]
            terms = [z3.If(takes, part.term, 0) for (takes, _), part in zip(found, parts, strict=True)]
            lows = [min(0, part.low) for part in parts if part.low is not None]
            highs = [max(0, part.high) for part in parts if part.high is not None]
            low, high = (sum(ends) if len(ends) == len(parts) else None for ends in (lows, highs))
            return Whole(folded(z3.Sum([z3.IntVal(0), *terms])), low, high)
        if node.how == "set_of":
            width = max((as_number(value).high or 0 for _, value in found), default=0) + 1
            bits = [any_of(*(all_of(t, compared("==", as_number(v), number(bit))) for t, v in found)) for bit in range(width)]
            return MemberTruths(tuple(bits))
        self.context.need(f"an item for {node.how}()", any_of(*(takes for takes, _ in found)), all_of(self.outer, path))
        return extreme(node.how == "max", [(takes, as_number(value)) for takes, value in found])

    def quantified(self, every: bool, item: tree.Expression, loops: tuple[tree.Loop, ...], path: Formula) -> Formula:
        """Return whether all items of a generator are true, or one is."""
        if not loops:
            return self.truth(item, path)
        first, *others = loops

        def of_round(value: Any, takes: Formula) -> Formula:
            self.names[first.name] = value
            for test in first.tests:
                takes = all_of(takes, self.truth(test, all_of(path, takes)))
            inner = self.quantified(every, item, tuple(others), all_of(path, takes))
            return implied(takes, inner) if every else all_of(takes, inner)

        rounds = self.rounds(first.over, path)
        if rounds is not None:
            return (all_of if every else any_of)(*(of_round(value, takes) for takes, value in rounds))
        if not isinstance(first.over, tree.Range):
            self.refuse(first, "a generator over items without a limit; take their places, `range(len(...))`")
        assert isinstance(first.over, tree.Range)
        start, stop = self.ends(first.over, path)
        return self.context.quantified(start.term, stop.term, every, of_round)

    def generated(
        self, item: tree.Expression, loops: tuple[tree.Loop, ...], path: Formula, takes: Formula = TRUE
    ) -> Iterator[tuple[Formula, Value]]:
        """Yield the items of a generator, each with the condition that it is there."""
        if not loops:
            yield takes, self.simple(item, all_of(path, takes))
            return
        first, *others = loops
        rounds = self.rounds(first.over, all_of(path, takes))
        if rounds is None:
            raise Untranslatable("a sum, a minimum or a set over a range without a limit")
        for where, value in rounds:
            self.names[first.name] = value
            taken = all_of(takes, where)
            for test in first.tests:
                taken = all_of(taken, self.truth(test, all_of(path, taken)))
            yield from self.generated(item, tuple(others), path, taken)

    def some_item(self, of: Reference, inner: Callable[[Any], Formula]) -> Formula:
        """Return whether a formula holds for an item of a sequence."""
        rounds = self.items(of, self.source.body[0])
        if rounds is None:
            raise Untranslatable("`in` of a sequence without a limit")
        return any_of(*(all_of(takes, inner(item)) for takes, item in rounds))


def _alike(found: list[tuple[Value, ...]]) -> bool:
    """Whether all results are the same constants."""
    plain = {tuple((as_number(one).known, repr(one)) for one in values) for values in found}
    constant = all(is_true(one.term) or is_false(one.term) for values in found for one in values if isinstance(one, Truth))
    return len(plain) == 1 and constant and all(isinstance(one, Truth) or as_number(one).known is not None for one in found[0])


__all__ = ["FALSE", "Ending", "Loops"]
