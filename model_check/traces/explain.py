"""Which part of a property fails at the end of a trace: the deciding condition and its values.

Theory of operation. The trace is replayed in plain Python. Then the predicate is evaluated again from its source (evaluate.py),
which records for each call the deciding return and the local names; the result must equal that of Python. Starting at the outermost
call, the last call inside it that returned false is the reason for its result. Only the source of the property is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.evaluate import Call, evaluate
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.spec.language import source_of, tree
from kafka_spec.spec.language.domain import OutOfDomain
from kafka_spec.spec.language.text import text_of
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Rule, Spec, call, first_line
from kafka_spec.spec.vocabulary.trace import Trace


@dataclass(frozen=True)
class Reason:
    """A function that returned false: its property, the deciding condition, and the printed values of the names in it."""

    function: str
    summary: str
    place: str
    because: str
    values: tuple[tuple[str, str], ...]

    @property
    def seen(self) -> str:
        """The values as the end of a sentence, or ""."""
        return f" with {', '.join(f'{name} = {value}' for name, value in self.values)}" if self.values else ""

    def __str__(self) -> str:
        return f"{self.function} is false{self.seen}: {self.because} ({self.place})"


def reasons(trace: Trace, spec: Spec) -> tuple[Reason, ...]:
    """Return why the last state (or step) of a trace violates its property, the outermost function first.

    Empty if the predicate holds there (a goal), for the built-in properties, and for a trace that is about no property.

    Raises:
        EngineError: the trace does not belong to this spec.
    """
    if trace.shows in ("", TYPE_INVARIANT, DEADLOCK):
        return ()
    world = Interpreter(spec, dict(trace.bounds))
    claim = world.claim(trace.shows)
    before, after = last_states(trace, world)
    state = {"s": after} if claim.kind != "step invariant" else {"before": before, "after": after}
    asked = [(when, predicate) for when, predicate in claim.parts if when is None or world.answer(claim, when, state)]
    wrong = [predicate for _, predicate in asked if not world.answer(claim, predicate, state)]
    predicate, given = (wrong or list(claim.predicates))[0]
    scope = {"s": after, "before": before, "after": after, "k": world.k, **dict(given)}
    made = evaluate(predicate, tuple(scope[name] for name in source_of(predicate).parameters))
    if bool(made.answer) != bool(call(predicate, scope)):
        raise EngineError(f"{trace.shows}: {predicate.__name__} answers {made.answer} here, and Python says otherwise")
    return tuple(_chain(made))


def refusals(trace: Trace, spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield for each rule why it cannot fire at the end of a trace: the guards that refuse, or what is missing."""
    world = Interpreter(spec, dict(trace.bounds))
    _, state = last_states(trace, world)
    for rule in spec.rules:
        found = dict.fromkeys(_refusing(world, rule, state))
        yield rule.name, " or ".join(found)


def _refusing(world: Interpreter, rule: Rule, state: Any) -> Iterator[str]:
    """Yield for each choice of parameters what refuses it first, in words."""
    for binding, guard in world.refusing(rule, state):
        if guard is not None:
            yield f"not {guard.__name__} ({first_line(guard)})"
        elif len(binding) < len(rule.params):
            yield f"there is nothing that {list(rule.params)[len(binding)]} could be"


def last_states(trace: Trace, world: Interpreter) -> tuple[Any, Any]:
    """Return the last two states of a trace; the first is None if the trace has a single state."""
    layout = Layout(world.space)
    found = [s for s in world.initial() if f"{layout.fingerprint(layout.pack(s)):016x}" == trace.start.fingerprint]
    if not found:
        raise EngineError(f"the trace does not start in an initial state of {world.spec.name}; it is a trace of something else")
    before, state = None, found[0]
    for action in trace.actions:
        try:
            after = world.apply(world.spec.rule(action.rule), state, tuple(value for _, value in action.binding), beyond=True)
        except OutOfDomain as error:
            raise EngineError(f"{action} does not replay: {error}") from error
        before, state = state, after
    return before, state


def _chain(made: Call | None) -> Iterator[Reason]:
    """Yield the reason of each call that returned false: the outermost call, then the last such call inside it, and so on."""
    while made is not None and not made.answer:
        yield _reason(made)
        made = made.calls[-1] if made.calls else None


def _reason(made: Call) -> Reason:
    function = made.source.function
    line = made.end.line if made.end is not None else function.__code__.co_firstlineno
    order = [name for name in function.__code__.co_varnames if name in made.names]
    return Reason(
        function=function.__name__,
        summary=(function.__doc__ or "").strip().partition("\n")[0],
        place=f"{function.__module__.replace('.', '/')}.py:{line}",
        because=_decided(made),
        values=tuple(
            (name, made.shows.get(name, _number)(made.names[name])) for name in order if isinstance(made.names[name], int)
        ),
    )


def _number(value: int) -> str:
    """Print a number of unknown type."""
    return str(int(value))


def _decided(made: Call) -> str:
    """Return the condition that made a call return false: that of its return, or of the `if` around it."""
    match made.end:
        case tree.Return((value,)) if not isinstance(value, tree.Number):
            return text_of(_negated(_deciding(made, value, False)))
    return text_of(_deciding(made, made.tests[-1], True)) if made.tests else "nothing in it made it true"


_OPPOSITES: Mapping[tree.OrderSign, tree.OrderSign] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _negated(test: tree.Expression) -> tree.Expression:
    """Return the negation of a test."""
    match test:
        case tree.Comparison(left, ((sign, right),)):
            return tree.Comparison(left, ((_OPPOSITES[sign], right),))
        case tree.Not(of):
            return of
    return tree.Not(test)


def _deciding(made: Call, test: tree.Expression, answer: bool) -> tree.Expression:
    """Return the deciding part of a test: the first true operand of `or`, the first false one of `and`, or the whole test."""
    match test:
        case tree.Junction(every, parts) if every is not answer:
            return next((_deciding(made, part, answer) for part in parts if bool(made.value(part)) == answer), test)
    return test
