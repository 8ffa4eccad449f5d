"""Initial states by compiled code are those of plain Python: the same, in the same order, and refused with the same words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pytest
import sample_specs

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded, initial_states
from kafka_spec.spec.language.domain import ArrayOf, Bound, Range, SequenceOf, assign, field
from kafka_spec.spec.vocabulary.table import Constants, ItemOf, Rule, Spec, SpecError, anywhere, invariant

VALUES = Bound("values", 1, 9, "values")


@dataclass
class Pair:
    """Two numbers."""

    a: int = field(Range(0, 4))
    b: int = field(Range(0, VALUES))


def begin(s: Pair, a: int, b: int) -> None:
    """Begin with two numbers, of which the first is halved."""
    s.a = a // 2
    s.b = b


def differ(a: int, b: int) -> bool:
    """The numbers differ."""
    return a != b


def fits(b: int, k: Constants) -> bool:
    """The second number fits."""
    return b <= k.values


def is_small(s: Pair) -> bool:
    """The second number is small."""
    return s.b < 3


def move(s: Pair) -> None:
    """Do nothing."""
    s.a = 0


PAIRS = Spec(
    "pairs",
    "pairs of numbers",
    Pair,
    (Rule("Move", "w", "a move", "", (move,)),),
    (invariant("IsSmall", is_small, "it is small", ""),),
    start=Rule("Begin", "w", "it begins", "", (begin,), {"a": Range(0, 7), "b": Range(0, VALUES)}, (differ,)),
    final=anywhere,
)


def compiled(spec: Spec, **bounds: int) -> bool:
    """Whether compiled code makes the initial states of a spec, which are those of plain Python then."""
    world = Interpreter(spec, spec.bound_values(bounds))
    layout = Layout(world.space)
    states = world.initial()
    with mock.patch.object(initial_states, "MANY", 1):
        found = initial_states._compiled(world, layout)
        records, marks = initial_states.initial_states(world, layout)
    assert found is None or (found[0].tobytes(), found[1].tobytes()) == (records.tobytes(), marks.tobytes())
    assert records.tobytes() == b"".join(map(layout.pack, states))
    assert marks.tolist() == [layout.fingerprint(layout.pack(world.viewed(state))) for state in states]
    return found is not None


def test_the_order_is_that_of_bindings() -> None:
    """Of equal states the first binding counts; guards leave some out."""
    assert compiled(PAIRS, values=4)


@pytest.mark.parametrize("spec", [sample_specs.SEVERAL_STARTS, sample_specs.RING], ids=lambda spec: spec.name)
def test_toys(spec: Spec) -> None:
    """Compiled code makes the initial states of toys, also those with parameters that are containers."""
    assert compiled(spec)


def test_what_plain_python_decides() -> None:
    """A constraint, a view, a normal form, and bindings that only a bound leaves out are left to plain Python."""
    start = replace(PAIRS.start, params={"a": Range(0, 7), "b": Range(0, 9)}, bound_guards=(fits,))
    assert not compiled(replace(PAIRS, start=start), values=4)
    assert not compiled(replace(PAIRS, constraint=lies_within, start=replace(PAIRS.start)), values=4)
    assert not compiled(replace(PAIRS, properties=(), view=(move,)), values=4)


def lies_within(s: Pair) -> bool:
    """Every state."""
    return s.a >= 0


@pytest.mark.parametrize("params", [{"a": Range(0, 10), "b": Range(0, 2)}, {"a": Range(0, 1), "b": Range(0, 9)}])
def test_what_is_no_initial_state_is_refused(params: dict[str, Range]) -> None:
    """A binding that leaves a domain, or a bound, is refused with the words of plain Python."""
    spec, said = replace(PAIRS, start=replace(PAIRS.start, params=params)), []
    for engine in (embedded, oracle):
        with mock.patch.object(initial_states, "MANY", 1), pytest.raises(SpecError, match="is not an initial state") as raised:
            engine.explore(spec, {"values": 4})
        said.append(str(raised.value))

    assert said[0] == said[1]


def test_no_initial_state_is_refused() -> None:
    """Guards that no binding meets are refused."""
    spec = replace(PAIRS, start=replace(PAIRS.start, params={"a": Range(1, 1), "b": Range(1, 1)}))
    with (
        mock.patch.object(initial_states, "MANY", 1),
        pytest.raises(SpecError, match="there is no initial state: Begin needs that"),
    ):
        embedded.explore(spec, {"values": 4})


@dataclass
class Queue:
    """A queue without room, and many numbers."""

    queue: list[int] = field(SequenceOf(Range(0, 1), 0))
    numbers: list[int] = field(ArrayOf(Range(0, 5), 5))


def fill(s: Queue, numbers: list[int]) -> None:
    """Any numbers."""
    assign(s.numbers, numbers)


def take(s: Queue, item: int) -> None:
    """Take an item."""
    s.numbers[0] = s.queue[item]


def test_many_initial_states_and_no_action() -> None:
    """All of 6 to the power of 5 states are initial, more than a slice holds; a rule of items that cannot be has no binding."""
    start = Rule("Fill", "w", "it begins", "", (fill,), {"numbers": ArrayOf(Range(0, 5), 5)})
    take_one = Rule("Take", "w", "an item goes", "", (take,), {"item": ItemOf("queue")})
    spec = Spec("queue", "", Queue, (take_one,), (), start=start, final=anywhere)
    found = embedded.explore(spec, {}, everything=True)

    assert found.distinct == 6**5 and found.levels == [6**5]
    assert found.digest == oracle.explore(spec, {}, everything=True).digest
    assert len(np.unique(initial_states.initial_states(Interpreter(spec, {}), Layout(spec.space({})))[1])) == 6**5
