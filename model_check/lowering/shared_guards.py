"""Compiles guards that several rules begin with: they are evaluated once, and the rules run only through where they hold.

A rule's *opening* is the longest row of guards with which another rule begins, too. The first rule that comes to an opening lists
the values of its parameters for which all its guards hold. A longer opening begins with the list of a shorter one: in most states
few requests have arrived, few of them are of one kind, and three rules wait for those that are news.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from kafka_spec.model_check.lowering.values import I8, I64, ONE, POINTER, ZERO, K, Ref
from kafka_spec.model_check.lowering.wholes import Wholes
from kafka_spec.model_check.record.counted import Plan
from kafka_spec.model_check.record.layout import RecordLayout
from kafka_spec.spec.language import Function, parameters_of
from kafka_spec.spec.vocabulary.table import Among, ElementOf, ItemOf, Rule

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The lowest and the highest value of each parameter."""

MOST = 254
"""The most values of all parameters of an opening together: their numbers, and how many there are, take a byte."""


@dataclass(frozen=True)
class AskedGuards:
    """A guard, and for each of its parameters which one of the rule it is."""

    guard: Function
    places: tuple[int, ...]


@dataclass(frozen=True)
class Opening:
    """The guards that a rule asks first, in their order, and the ranges of the rule's first parameters, which they are about."""

    asked: tuple[AskedGuards, ...]
    ranges: Ranges

    @property
    def guards(self) -> list[Function]:
        """The guards."""
        return [asked.guard for asked in self.asked]


class SharedGuards(Wholes):
    """Emits the asking of guards."""

    program: Plan
    layout: RecordLayout
    source: Ref
    """The state before the step."""
    answers: ir.Value
    """The lists of values for which openings hold, behind what is known of their lengths."""
    openings: list[Opening | None]
    """The opening of each rule; None where no other rule begins so."""
    lists: dict[Opening, tuple[int, int, ir.Function]]
    """For each opening the place of the length of its list plus 1, or 0; the place of the list; and what fills it."""

    def share_guards(self) -> None:
        """Make room for the lists; `forget` is needed before the first state and each next."""
        rules = [] if self.unit.covering else list(enumerate(self.program.rules))  # coverage counts what each rule asks
        rows = [list(self.rows_of(index, rule)) for index, rule in rules]
        shared = Counter(opening for row in rows for opening in row)
        longest = [next((opening for opening in reversed(row) if shared[opening] > 1), None) for row in rows]
        self.openings = longest or [None] * len(self.program.rules)
        # shorter ones first, with which others begin
        used = sorted(dict.fromkeys(opening for opening in longest if opening is not None), key=lambda o: len(o.asked))
        self.lists, at = {}, len(used)
        self.answers = self.b.bitcast(self.slot(ir.ArrayType(I8, max(1, at + sum(count_of(o.ranges) for o in used)))), POINTER)
        for length, opening in enumerate(used):
            self.lists[opening] = length, at, self.where(opening, length, at)
            at += count_of(opening.ranges)

    def forget(self) -> None:
        """Emit that the lists of the state before are forgotten."""
        self.clear(self.answers, I64(len(self.lists)))

    def rows_of(self, index: int, rule: Rule) -> Iterator[Opening]:
        """Yield the openings that a rule could have: the rows of guards that it asks first and that are of its first parameters."""
        names, ranges, asked = list(rule.params), self.actions.ranges[index], list[AskedGuards]()
        for depth in range(1, len(names) + 1):
            name = names[depth - 1]
            is_number = not isinstance(rule.params[name], Among | ItemOf | ElementOf) and name not in self.actions.wholes[index]
            if not is_number or count_of(tuple(ranges[:depth])) > MOST:
                return
            for guard in rule.guards:
                places = tuple(names.index(name) for name in asked_of(guard))
                if places and max(places) == depth - 1:
                    asked.append(AskedGuards(guard, places))
                    yield Opening(tuple(asked), tuple(ranges[:depth]))

    @contextlib.contextmanager
    def within_function(self, code: ir.Function) -> Iterator[None]:
        """Emit into a function; its first arguments are the state and the cell for faults."""
        outside = dict(vars(self))
        self.source, self.fault = Ref(self.layout.root, code.args[0]), code.args[1]
        self.code, self.entry = code, code.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry)
        yield
        vars(self).update(outside)

    def where(self, opening: Opening, length: int, at: int) -> ir.Function:
        """Return a function that lists the values for which an opening holds, by their numbers in order."""
        types = [POINTER, self.fault.type, POINTER]
        name = f"{self.code.name}.where.{opening.guards[-1].__name__}.{at}"
        code = ir.Function(self.unit.module, ir.FunctionType(ir.VoidType(), types), name)
        code.linkage = "internal"
        code.attributes.add("nounwind")
        begin = max((o for o in self.lists if begins(o, opening)), key=lambda o: len(o.asked), default=None)
        with self.within_function(code):
            self.answers = code.args[2]
            count = self.slot(I64, ZERO)

            def bind(values: list[ir.Value], number: ir.Value, left: tuple[AskedGuards, ...]) -> None:
                out = self.code.append_basic_block("next")
                while left and max(left[0].places) < len(values):
                    asked, *others = left
                    on = self.code.append_basic_block("on")
                    self.b.cbranch(self.holds(asked, values), on, out)
                    self.b.position_at_end(on)
                    left = tuple(others)
                if len(values) < len(opening.ranges):
                    low, high = opening.ranges[len(values)]

                    def inside(now: ir.Value) -> None:
                        place = self.b.mul(number, I64(high - low + 1))
                        bind([*values, now], self.b.add(place, self.b.sub(now, I64(low))), left)

                    self.loop(I64(low), I64(high + 1), inside)
                else:
                    found = self.b.load(count)
                    self.b.store(self.b.trunc(number, I8), self.at(self.answers, self.b.add(I64(at), found)))
                    self.b.store(self.b.add(found, ONE), count)
                self.b.branch(out)
                self.b.position_at_end(out)

            if begin is None:
                bind([], ZERO, opening.asked)
            else:
                more = opening.asked[len(begin.asked) :]
                self.where_it_holds(begin, lambda number, values: bind(values, number, more))
            self.b.store(self.b.trunc(self.b.add(self.b.load(count), ONE), I8), self.at(self.answers, length))
            self.b.ret_void()
        return code

    def holds(self, asked: AskedGuards, values: list[ir.Value]) -> ir.Value:
        """Return whether a guard holds for some values of a rule's first parameters."""
        given = {name: values[place] for name, place in zip(asked_of(asked.guard), asked.places, strict=True)}
        return self.predicate(asked.guard, {"s": self.source, "k": K(), **given})

    def where_it_holds(self, opening: Opening, body: Callable[[ir.Value, list[ir.Value]], None]) -> None:
        """Run the body for the values for which an opening holds, with their number among all values, in order."""
        length, at, fill = self.lists[opening]
        cell = self.at(self.answers, length)
        with self.b.if_then(self.b.icmp_unsigned("==", self.b.load(cell), I8(0))):
            self.b.call(fill, [self.source.pointer, self.fault, self.answers])

        def inside(now: ir.Value) -> None:
            number = self.b.zext(self.b.load(self.at(self.answers, self.b.add(I64(at), now))), I64)
            values: list[ir.Value] = []
            left = number
            for low, high in reversed(opening.ranges):
                values.insert(0, self.b.add(self.b.urem(left, I64(high - low + 1)), I64(low)))
                left = self.b.udiv(left, I64(high - low + 1))
            body(number, values)

        self.loop(ZERO, self.b.sub(self.b.zext(self.b.load(cell), I64), ONE), inside)


def begins(one: Opening, other: Opening) -> bool:
    """Return whether an opening is the beginning of another."""
    return one.asked == other.asked[: len(one.asked)] and one.ranges == other.ranges[: len(one.ranges)]


def asked_of(guard: Function) -> list[str]:
    """Return the names of a guard's parameters, without the state and the constants."""
    return [name for name in parameters_of(guard) if name not in ("s", "k")]


def count_of(ranges: Ranges) -> int:
    """Return how many values parameters have together."""
    return math.prod(high - low + 1 for low, high in ranges)
