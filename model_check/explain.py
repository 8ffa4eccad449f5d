"""Which part of a property fails at the end of a trace: the condition that decided, and the numbers it saw.

Theory of operation. The trace is replayed in plain Python, and the predicate is called once more under the interpreter's own
tracing: each function of the specification that it calls notes the line where it ended and its local names. From the outermost
inwards, the call that was made last and answered *no* is the reason of the one around it. Nothing is known of the property but
its source.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.oracle import World
from kafka_spec.spec import domain
from kafka_spec.spec.domain import OutOfDomain
from kafka_spec.spec.lint import Function, Source, source_of
from kafka_spec.spec.table import DEADLOCK, TYPE_INVARIANT, Spec, call
from kafka_spec.spec.trace import Trace


@dataclass(frozen=True)
class Reason:
    """A function that answered no: what it claims, the condition that decided, and the numbers it decided on."""

    function: str
    says: str
    place: str
    because: str
    values: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.values)
        return f"{self.function} is false{f' with {values}' if values else ''}: {self.because} ({self.place})"


def reasons(trace: Trace, spec: Spec) -> tuple[Reason, ...]:
    """Return why the last state (or step) of a trace breaks the property it shows, the outermost function first.

    Empty where the predicate holds there (a goal), and for the built-in properties, which have no parts.

    Raises:
        EngineError: the trace is not one of this spec.
    """
    if trace.shows in (TYPE_INVARIANT, DEADLOCK):
        return ()
    predicate = spec.property(trace.shows).predicate
    world = World(spec, dict(trace.bounds))
    before, after = last_states(trace, world)
    watch = _Watch(predicate)
    if watch.run({"s": after, "before": before, "after": after, "k": world.k}):
        return ()
    return tuple(watch.reasons())


def last_states(trace: Trace, world: World) -> tuple[Any, Any]:
    """Return the last two states of a trace; the first is None where it has one state only."""
    layout = Layout(world.space)
    found = [s for s in world.initial() if f"{layout.fingerprint(layout.pack(s)):016x}" == trace.start.fingerprint]
    if not found:
        raise EngineError(f"the trace does not start in an initial state of {world.spec.name}; it is a trace of something else")
    before, state = None, found[0]
    for action in trace.actions:
        try:
            after = world.apply(world.spec.rule(action.rule), state, tuple(value for _, value in action.binding))
        except OutOfDomain as error:
            raise EngineError(f"{action} does not replay: {error}") from error
        before, state = state, after
    return before, state


@dataclass
class _Call:
    """One call of a function: the line where it ended, its names and its answer then, and the calls it made."""

    frame: FrameType
    source: Source
    calls: list[_Call] = field(default_factory=list)
    line: int = 0
    names: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None


class _Watch:
    """Watches the calls that a predicate makes to functions of the specification."""

    def __init__(self, predicate: Function) -> None:
        self.predicate = predicate
        self.sources: dict[CodeType, Source] = {}
        self.learn(predicate)
        self.open: list[_Call] = []
        self.outermost: _Call | None = None

    def learn(self, function: Function) -> None:
        """Know a function and all it calls; the helpers of the vocabulary explain nothing."""
        if function.__module__ != domain.__name__ and function.__code__ not in self.sources:
            self.sources[function.__code__] = source_of(function)
            for callee in source_of(function).calls:
                self.learn(callee)

    def run(self, scope: Mapping[str, Any]) -> bool:
        """Call the predicate and return its answer."""
        before = sys.gettrace()
        sys.settrace(self.enter)
        try:
            return bool(call(self.predicate, scope))
        finally:
            sys.settrace(before)

    def enter(self, frame: FrameType, event: str, value: Any) -> Any:
        source = self.sources.get(frame.f_code)
        if source is None:
            return None
        made = _Call(frame, source)
        if self.open:
            self.open[-1].calls.append(made)
        self.outermost = self.outermost or made
        self.open.append(made)
        return self.inside

    def inside(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "return":
            done = self.open.pop()
            done.line, done.names, done.answer = frame.f_lineno, dict(frame.f_locals), value
        return self.inside

    def reasons(self) -> list[Reason]:
        """Return the chain of calls that answered no."""
        found: list[Reason] = []
        made = self.outermost
        while made is not None and not made.answer:
            found.append(_reason(made))
            made = made.calls[-1] if made.calls else None
        return found


def _reason(made: _Call) -> Reason:
    source = made.source
    line = made.line - source.function.__code__.co_firstlineno + 1
    names = {name: int(value) for name, value in made.names.items() if isinstance(value, int)}
    return Reason(
        function=source.function.__name__,
        says=(source.function.__doc__ or "").strip().partition("\n")[0],
        place=f"{source.function.__module__.replace('.', '/')}.py:{made.line}",
        because=_decided(source, line, {**source.function.__globals__, **made.names}),
        values=tuple(names.items()),
    )


def _decided(source: Source, line: int, names: dict[str, Any]) -> str:
    """Return the condition that made a function end on a line: of its return, or of the `if` around it."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Return) and node.lineno <= line <= (node.end_lineno or line):
            if node.value is not None and not isinstance(node.value, ast.Constant):
                return ast.unparse(ast.UnaryOp(ast.Not(), _deciding(node.value, False, names)))
    around = [node for node in ast.walk(source.tree) if isinstance(node, ast.If) and _stands_in(node.body, line)]
    return ast.unparse(_deciding(around[-1].test, True, names)) if around else "nothing in it made it true"


def _deciding(test: ast.expr, answer: bool, names: dict[str, Any]) -> ast.expr:
    """Return the part that made a test come out so: the first true one of `or`, the first false one of `and`, or all of it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if answer else ast.And):
        return next((_deciding(part, answer, names) for part in test.values if _value(part, names) == answer), test)
    return test


def _stands_in(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or line)


def _value(part: ast.expr, names: dict[str, Any]) -> bool:
    """Evaluate a conjunct of the specification's own source once more, on the names it saw."""
    return bool(eval(compile(ast.fix_missing_locations(ast.Expression(part)), "<property>", "eval"), names))
