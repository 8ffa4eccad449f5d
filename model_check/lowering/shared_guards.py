"""Compiles guards that several rules ask: each is asked once in a state, and its answer is kept for the other rules.

A guard that several rules ask before any other is asked for all values of its parameters by the first of them. All of them then
run only through the values for which it holds: in most states few requests have arrived, and ten rules wait for one.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from kafka_spec.model_check.counted import Plan
from kafka_spec.model_check.layout import Actions, Layout
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I8, I64, ONE, POINTER, ZERO, Buffer, K, Ref, Value
from kafka_spec.spec.lint import Function, parameters_of
from kafka_spec.spec.table import Among, ElementOf, ItemOf

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The lowest and the highest value of each parameter."""

MOST = 254
"""The most values of all parameters of an opening together: their numbers, and how many there are, take a byte."""


@dataclass(frozen=True)
class Opening:
    """The guard that a rule asks first, of the rule's first parameters; and their ranges."""

    guard: Function
    ranges: Ranges


class SharedGuards(Emitter):
    """Emits the asking of guards."""

    program: Plan
    layout: Layout
    actions: Actions
    source: Ref
    """The state before the step."""
    answers: ir.Value
    """The answers of shared guards in this state, then the lists of values for which openings hold."""
    shared: dict[tuple[Function, Ranges], int]
    """The place of the answers of each shared guard."""
    openings: list[Opening | None]
    """What each rule asks first, where another asks the same first."""
    lists: dict[Opening, tuple[int, int, ir.Function]]
    """For each opening the place of the length of its list plus 1, or 0; the place of the list; and what fills it."""
    forgotten: int
    """The bytes of what is forgotten after a state."""

    def share_guards(self) -> None:
        """Make room for the answers; `forget` is needed before the first state and each next.

        A guard is asked once in a state for each value of its parameters, when the first rule comes to it.
        """
        rules = [] if self.unit.covering else list(enumerate(self.program.rules))  # coverage counts what each rule asks
        asked = Counter((guard, self.ranges_of(guard, index)) for index, rule in rules for guard in rule.guards)
        room, self.shared, self.lists = 0, {}, {}
        for (guard, ranges), times in asked.items():
            if times > 1 and ranges is not None:
                self.shared[guard, ranges] = room
                room += count_of(ranges)
        first = [self.opening(index) for index, _ in rules]
        self.openings = [opening if first.count(opening) > 1 else None for opening in first] or [None] * len(self.program.rules)
        openings = list(dict.fromkeys(opening for opening in self.openings if opening is not None))
        self.forgotten = at = room + len(openings)
        for length, opening in enumerate(openings, room):
            self.lists[opening] = length, at, self.where(opening, length, at)
            at += count_of(opening.ranges)
        self.answers = self.b.bitcast(self.slot(ir.ArrayType(I8, max(1, at))), POINTER)

    def forget(self) -> None:
        """Emit that the answers of the state before are forgotten."""
        self.clear(self.answers, I64(self.forgotten))

    def ranges_of(self, guard: Function, index: int) -> Ranges | None:
        """Return the ranges of a guard's parameters in a rule, in the guard's order; None if one of them is no number."""
        rule = self.program.rules[index]
        ranges = dict(zip(rule.params, self.actions.ranges[index], strict=True))
        names = asked_of(guard)
        numbers = not any(isinstance(rule.params[name], ItemOf | ElementOf) for name in names)
        return tuple(ranges[name] for name in names) if numbers else None

    def opening(self, index: int) -> Opening | None:
        """Return what a rule asks first, if that is of the rule's first parameters, and they run through all numbers of ranges."""
        rule = self.program.rules[index]
        names = list(rule.params)
        bound = {guard: 1 + max(map(names.index, asked_of(guard))) for guard in rule.guards if asked_of(guard)}
        guard = min(bound, key=lambda guard: bound[guard], default=None)
        if guard is None or asked_of(guard) != names[: bound[guard]]:
            return None
        if any(isinstance(rule.params[name], Among | ItemOf | ElementOf) for name in asked_of(guard)):
            return None
        ranges = tuple(self.actions.ranges[index][: bound[guard]])
        return Opening(guard, ranges) if count_of(ranges) <= MOST else None

    def guard(self, guard: Function, scope: dict[str, Value], ranges: Ranges | None) -> ir.Value:
        """Return whether a guard of a rule holds; ask it unless another rule has asked it in this state."""
        if ranges is None or (guard, ranges) not in self.shared:
            return self.predicate(guard, scope)
        place: ir.Value = ZERO
        for name, (low, high) in zip(asked_of(guard), ranges, strict=True):
            value = scope[name]
            assert not isinstance(value, Ref | Buffer | K)
            place = self.b.add(self.b.mul(place, I64(high - low + 1)), self.b.sub(value, I64(low)))
        cell = self.at(self.answers, self.b.add(place, I64(self.shared[guard, ranges])))
        with self.b.if_then(self.b.icmp_unsigned("==", self.b.load(cell), I8(0))):
            self.b.store(self.b.select(self.predicate(guard, scope), I8(2), I8(1)), cell)
        return self.b.icmp_unsigned("==", self.b.load(cell), I8(2))

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
        name = f"{self.code.name}.where.{opening.guard.__name__}.{at}"
        code = ir.Function(self.unit.module, ir.FunctionType(ir.VoidType(), types), name)
        code.linkage = "internal"
        code.attributes.add("nounwind")
        with self.within_function(code):
            self.answers = code.args[2]
            count = self.slot(I64, ZERO)
            scope: dict[str, Value] = {"s": self.source, "k": K()}

            def bind(names: list[str], ranges: Ranges, number: ir.Value) -> None:
                if names:
                    (low, high), *others = ranges

                    def inside(now: ir.Value) -> None:
                        scope[names[0]] = now
                        place = self.b.mul(number, I64(high - low + 1))
                        bind(names[1:], tuple(others), self.b.add(place, self.b.sub(now, I64(low))))

                    self.loop(I64(low), I64(high + 1), inside)
                    return
                with self.b.if_then(self.guard(opening.guard, scope, opening.ranges)):
                    found = self.b.load(count)
                    self.b.store(self.b.trunc(number, I8), self.at(self.answers, self.b.add(I64(at), found)))
                    self.b.store(self.b.add(found, ONE), count)

            bind(asked_of(opening.guard), opening.ranges, ZERO)
            self.b.store(self.b.trunc(self.b.add(self.b.load(count), ONE), I8), self.at(self.answers, length))
            self.b.ret_void()
        return code

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


def asked_of(guard: Function) -> list[str]:
    """Return the names of a guard's parameters, without the state and the constants."""
    return [name for name in parameters_of(guard) if name not in ("s", "k")]


def count_of(ranges: Ranges) -> int:
    """Return how many values parameters have together."""
    return math.prod(high - low + 1 for low, high in ranges)
