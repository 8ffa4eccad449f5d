"""Compiled functions against the same functions as plain Python: equal results and equal bytes, or both at fault."""

from __future__ import annotations

import ctypes
import enum
import importlib.util
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llvmlite import ir

from kafka_spec.model_check.check import check
from kafka_spec.model_check.interpreter.evaluate import evaluate
from kafka_spec.model_check.llvm.machine_code import load, text_known
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I64, POINTER, ZERO, Fault, K, Ref
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.spec.brokers import Assignment
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import (
    ArrayOf,
    Bound,
    OneOf,
    OutOfBound,
    OutOfDomain,
    Queue,
    Range,
    SequenceOf,
    SetOf,
    Space,
    SpecError,
    append,
    assign,
    contains,
    excluding,
    field,
    including,
    members_of,
    pop_first,
    reset,
    tagged,
    truncate,
)
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, anywhere
from tests import sample_specs

WORD = I64.as_pointer()
Function = Callable[..., Any]
K_VALUES = {"five": 5, "minus": -2}


class Native:
    """Functions compiled into one module, to be called on a record and integers."""

    def __init__(self, functions: Sequence[Function], layout: Layout) -> None:
        self.layout = layout
        self.compiler = Compiler(layout.root, K_VALUES)
        self.results = {function: _Export(self.compiler, function, f"export{n}").results for n, function in enumerate(functions)}
        self.library = load(text_known(str(self.compiler.module)), tuple(K_VALUES.values())).engine
        signature = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)
        self.entries = {f: signature(self.library.get_function_address(f"export{n}")) for n, f in enumerate(functions)}

    def __call__(self, function: Function, arguments: Sequence[int], record: bytes = b"") -> tuple[Any, bytes, Fault | None]:
        """Return what the function returns, the bytes of the record afterwards, and the fault if there was one."""
        state = ctypes.create_string_buffer(record or bytes(self.layout.size), self.layout.size)
        results = (ctypes.c_int64 * 4)()
        code = self.entries[function](state, (ctypes.c_int64 * 8)(*arguments), results)
        values = tuple(results[: self.results[function]])
        fault = self.compiler.fault_of(code) if code else None
        return values[0] if len(values) == 1 else values, state.raw, fault


class _Export(Emitter):
    """Gives a function a name outside of its module: export(state, arguments, results) returns the code of a fault."""

    def __init__(self, compiler: Compiler, function: Function, name: str) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, WORD, WORD]), name)
        super().__init__(compiler, code, ZERO)
        self.fault = self.slot(I64, ZERO)
        state, arguments, results = code.args
        scope: dict[str, Any] = {"s": Ref(compiler.root, state), "k": K()}
        numbers = [name for name in source_of(function).parameters if name not in scope]
        for index, parameter in enumerate(numbers):
            scope[parameter] = self.b.load(self.b.gep(arguments, [I64(index)]))
        values = [scope[name] for name in source_of(function).parameters]
        shapes = tuple(v.packed if isinstance(v, Ref) else "k" if isinstance(v, K) else "int" for v in values)
        compiled = compiler.function(function, shapes)
        self.results = compiled.results
        for index, value in enumerate(self.invoke(compiled, values)):
            self.b.store(value, self.b.gep(results, [I64(index)]))
        self.b.ret(self.b.load(self.fault))


def in_python(function: Function, arguments: Sequence[int], state: Any = None) -> tuple[Any, str]:
    """Return what the function returns in Python, and the kind of the fault or ""."""
    numbers = iter(arguments)
    scope = {"s": state, "k": Constants(K_VALUES)}
    try:
        result = function(*[scope[n] if n in scope else next(numbers) for n in source_of(function).parameters])
    except OutOfBound:
        return None, "bound"
    except OutOfDomain:
        return None, "domain"
    except (SpecError, ArithmeticError, ValueError):
        return None, "error"
    if isinstance(result, tuple):
        return tuple(int(value) for value in result), ""
    return () if result is None else int(result), ""


# ---------------------------------------------------------------------------------------------------------------------
# The language, function by function


class Colour(enum.IntEnum):
    """Members that are no count from 0."""

    RED = 3
    GREEN = -4
    BLUE = 1 << 40


SEVEN = 7
LARGE = 1 << 62


@dataclass
class Entry:
    """An entry of a log; its epoch may be none."""

    record: int = field(Range(0, 5))
    epoch: int = field(Range(-1, 3, -1))


CAPACITY = Bound("capacity", 1, 9, "entries")


@dataclass
class Box:
    """A record with one of everything in it."""

    entry: Entry = field(Entry)
    log: list[Entry] = field(SequenceOf(Entry, CAPACITY))
    numbers: list[int] = field(SequenceOf(Range(0, 300), 3))
    order: list[int] = field(Assignment(3))
    grid: list[int] = field(ArrayOf(Range(-2, 2, 0), 3))
    brokers: int = field(SetOf(3, full=True))


class Kind(enum.IntEnum):
    """The kinds of messages."""

    PUT = 0
    ACK = 1


@tagged("kind", {Kind.PUT: ("value",), Kind.ACK: ()})
@dataclass
class Letter:
    """A put with a value, or an acknowledgement."""

    kind: int = field(OneOf(Kind))
    value: int = field(Range(-1, 2, -1))


@dataclass
class Rich:
    """Boxes, a channel, and numbers of many widths."""

    boxes: list[Box] = field(ArrayOf(Box, 2))
    channel: list[Letter] = field(Queue(Letter, 3))
    one: Entry = field(Entry)
    total: int = field(Range(0, CAPACITY))
    wide: int = field(Range(-70000, 70000, 0))
    index: int = field(Range(0, 2))


LAYOUT = Layout(Space(Rich, {"capacity": 3}))


def floor_divides(a: int, b: int) -> int:
    """Divide."""
    return a // b


def takes_remainder(a: int, b: int) -> int:
    """Take the remainder."""
    return a % b


def shifts_left(a: int, b: int) -> int:
    """Shift to the left."""
    return a << b


def shifts_right(a: int, b: int) -> int:
    """Shift to the right."""
    return a >> b


def does_arithmetic(a: int, b: int) -> int:
    """Add, subtract and multiply, in the order of the operators."""
    return a + b * 3 - (a - b) * -a


def does_bits(a: int, b: int) -> int:
    """Combine bits, of negative numbers too."""
    return (a & b) ^ (a | ~b)


def negates(a: int, b: int) -> int:
    """Negate numbers and truth."""
    return -a + (not b) * 10 + (not (a or b)) * +100


def compares(a: int, b: int) -> int:
    """Compare in all six ways."""
    return (a < b) + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 + (a == b) * 16 + (a != b) * 32


def chains(a: int, b: int) -> bool:
    """Compare in a chain."""
    return -3 <= a < b <= 5 != a


def chain_stops(a: int, b: int) -> bool:
    """Stop in a chain before the division."""
    return 0 < b < 10 // b < a


def count_call(s: Rich) -> int:
    """Count the call."""
    s.wide += 1
    return s.wide


def chain_evaluates_once(s: Rich, a: int) -> int:
    """Evaluate the middle of a chain once."""
    if 0 < count_call(s) < a:
        return s.wide
    return -s.wide


def and_protects(s: Rich, a: int) -> bool:
    """Read an item only if it is there."""
    return 0 <= a < len(s.boxes) and s.boxes[a].entry.record == 0


def or_protects(s: Rich, a: int) -> bool:
    """Read an item only if it is there."""
    return a < 0 or a >= len(s.boxes) or s.boxes[a].entry.epoch < 0


def not_protects(s: Rich, a: int) -> bool:
    """Read an item only if it is there."""
    return not (a < 0 or a > 1) and not s.boxes[a].entry.record


def if_protects(s: Rich, a: int) -> int:
    """Read an item only if it is there."""
    return s.boxes[a].entry.epoch if 0 <= a <= 1 else 17


def and_gives_value(a: int, b: int) -> int:
    """Give the operand that decides."""
    return (a and b) + 100 * (b and a and 5)


def or_gives_value(a: int, b: int) -> int:
    """Give the operand that decides."""
    return (a or b) + 100 * (0 or b or a or 5)


def mixes_and_or(a: int, b: int) -> int:
    """Mix both."""
    return ((a and b) or 7) + (a or (b and 9))


def chooses(a: int, b: int) -> int:
    """Choose in one expression, twice."""
    return (a if a > b else b) * 10 + (1 if a and b else 2 if a or b else 3)


def takes_min_and_max(a: int, b: int) -> int:
    """Take the smallest and the largest."""
    return min(a, b, 3) * 1000 + max(-2, a, b) * 10 + min(a, b) + max(a, b)


def nests_loops(a: int, b: int) -> int:
    """Loop in a loop, leave early, go on early, return from within."""
    total = 0
    for i in range(a):
        for j in range(i, b):
            if j == 3:
                continue
            if i * j > 8:
                break
            total += i * 10 + j
            if total > 60:
                return -total
        if i == 4:
            break
    return total


def changes_loop_variable(a: int, b: int) -> int:
    """Change the variable of a loop: it has no effect on the next turn."""
    total = 0
    for i in range(b, a):
        total = total * 3 + i
        i = 100
        total += i
    return total


def keeps_loop_variable(a: int, b: int) -> int:
    """Keep what the variable was last, or before."""
    i = b
    for i in range(a):
        if i == 4:
            break
    return i


def loops_to_what_was(a: int, b: int) -> int:
    """Evaluate the end of a loop once."""
    count = 0
    for _ in range(max(0, a)):
        a -= 1
        count += 1
    return count * 10 + b


def loops_over_members(a: int, b: int) -> int:
    """Loop over the members of a set in such a loop, leave early, go on early; the set is the one at the beginning."""
    total = 0
    for i in members_of(a + (1 << 61)):
        a = 0
        if i == b % 5:
            continue
        for j in members_of(b):
            if j > i:
                break
            total = (total * 7 + i * 100 + j) % 1000003
        total = (total * 3 + i) % 1000003
        if total % 11 == 0:
            break
    return total


def splits(a: int, b: int) -> tuple[int, int]:
    """Give quotient and remainder by 3, changed places where b is the larger."""
    if a < b:
        return b // 3, a % 3
    return a // 3, b % 3


def unpacks(a: int, b: int) -> int:
    """Take results apart and swap them."""
    x, y = splits(a, b)
    x, y = y, x + y
    z, (_) = splits(y, x)
    return x * 100 + y * 10 + z


def gives_three(a: int, b: int) -> tuple[int, int, bool]:
    """Give three values."""
    return b, a, a == b


def reads_members(a: int) -> int:
    """Read members of an enum and constants of the module."""
    return Colour.BLUE + Colour.RED * a + Colour.GREEN - SEVEN + (a == Colour.RED)


def reads_constants(k: Any, a: int) -> int:
    """Read the constants of the exploration."""
    return k.five * a + k.minus


def augments(a: int, b: int) -> int:
    """Use all augmented assignments."""
    x = a
    x += b
    x *= 3
    x -= a
    x |= 1
    x ^= b
    x &= 1023
    x <<= 2
    x >>= 1
    x %= 77
    x //= 2
    return x


def branches(a: int, b: int) -> int:
    """Take one of many ways."""
    if a < 0:
        if b < 0:
            kind = 1
        else:
            kind = 2
            b = 7
    elif a == 0:
        kind = 3
    else:
        kind = 4
        if b == a:
            return 40
    return kind * 10 + b


def annotates(a: int, b: int) -> int:
    """Declare the type of a local name."""
    c: int = a - b
    a = c * 2
    return a + c


def overflows_by_adding(a: int, b: int) -> int:
    """Add beyond 64 bits."""
    return LARGE + LARGE - 1 + a


def overflows_by_product(a: int, b: int) -> int:
    """Multiply beyond 64 bits."""
    return a * LARGE * b


def overflows_by_negating(a: int) -> int:
    """Negate the smallest number."""
    return -(-LARGE - LARGE + a)


def overflows_by_dividing(a: int, b: int) -> int:
    """Divide the smallest number."""
    return (-LARGE - LARGE + a) // b


def overflows_by_remainder(a: int, b: int) -> int:
    """Take the remainder of the smallest number."""
    return (-LARGE - LARGE + a) % b


def uses_sets(a: int, b: int) -> int:
    """Use the helpers of sets."""
    return including(excluding(5, a), b) * 2 + contains(6, b)


def augments_items(s: Rich, a: int) -> int:
    """Change items in place, at an index that the other operand changes."""
    s.boxes[s.index].grid[a] += move_index(s)
    return s.boxes[0].grid[a] * 10 + s.boxes[1].grid[a]


def move_index(s: Rich) -> int:
    """Move the index on."""
    s.index = 1 - s.index
    return 2


def names_records(s: Rich, a: int) -> int:
    """Read and write through names of records."""
    box = s.boxes[a]
    entry = box.entry
    entry.record += 2
    box.grid[1] = entry.record - 1
    return s.boxes[a].entry.record * 10 + s.boxes[a].grid[1] + len(box.grid) + len(box.log)


def takes_records(s: Rich, a: int) -> int:
    """Give records and sequences to other functions."""
    return sum_of(s.boxes[a].grid) + write_entry(s.boxes[a].entry, a + 1) + write_entry(s.one, 4)


def sum_of(grid: list[int]) -> int:
    """Add up the items."""
    total = 0
    for index in range(len(grid)):
        total += grid[index]
    return total


def write_entry(entry: Entry, record: int) -> int:
    """Write the record."""
    entry.record = record
    return entry.record + entry.epoch


def says_nothing(s: Rich, a: int) -> None:
    """Return early, and nothing."""
    if a == 1:
        s.total = 2
        return
    s.total = 1


PURE: tuple[Function, ...] = (
    floor_divides, takes_remainder, shifts_left, shifts_right, does_arithmetic, does_bits, negates, compares, chains, chain_stops,
    and_gives_value, or_gives_value, mixes_and_or, chooses, takes_min_and_max, nests_loops, changes_loop_variable,
    keeps_loop_variable, loops_to_what_was, loops_over_members,
    splits, unpacks, gives_three, reads_members, reads_constants, augments, branches,
    annotates, uses_sets,
)  # fmt: skip
LOOPING: tuple[Function, ...] = (nests_loops, changes_loop_variable, keeps_loop_variable, loops_to_what_was, uses_sets)
OVERFLOWING: tuple[Function, ...] = (
    overflows_by_adding, overflows_by_product, overflows_by_negating, overflows_by_dividing, overflows_by_remainder,
)  # fmt: skip
STATEFUL: tuple[Function, ...] = (
    chain_evaluates_once, and_protects, or_protects, not_protects, if_protects, augments_items, names_records, takes_records,
    says_nothing,
)  # fmt: skip
VALUES = (*range(-9, 10), 31, 62, 1000, -1000, 123456789, -987654321)


def evaluated(function: Function, arguments: Sequence[int]) -> Any:
    """Return the result of evaluating the function's source."""
    numbers = iter(arguments)
    scope = {"s": None, "k": Constants(K_VALUES)}
    made = evaluate(function, tuple(scope[n] if n in scope else next(numbers) for n in source_of(function).parameters))
    answer = made.answer
    return tuple(int(value) for value in answer) if isinstance(answer, tuple) else int(answer)


@pytest.fixture(scope="module")
def native() -> Native:
    """All functions of this file, compiled once."""
    return Native((*PURE, *OVERFLOWING, *STATEFUL, *EFFECTS), LAYOUT)


def fits(result: Any) -> bool:
    """Whether all numbers have 64 bits."""
    return all(-(1 << 63) <= value < 1 << 63 for value in (result if isinstance(result, tuple) else (result,)))


@pytest.mark.parametrize("function", PURE, ids=lambda function: function.__name__)
def test_numbers(native: Native, function: Function) -> None:
    """For every pair of many values, the compiled function returns Python's result, or both fail."""
    sound = 0
    for arguments in itertools.product(VALUES[:19] if function in LOOPING else VALUES, repeat=2):
        expected, kind = in_python(function, arguments)
        result, _, fault = native(function, arguments)
        if fault is not None and not kind:
            # compiled numbers have 64 bits, and overflow must be reported
            assert arguments[1] > 62 if fault.message.startswith("a shift") else not fits(expected), arguments
        elif fault is None and not kind:
            assert result == expected, arguments
            sound += 1
        else:
            assert fault is not None and fault.kind == kind == "error", arguments
    assert sound > 50


@pytest.mark.parametrize("function", PURE, ids=lambda function: function.__name__)
def test_numbers_evaluated_from_the_source(function: Function) -> None:
    """A function that is evaluated from its source, as in explanations, returns Python's result."""
    for arguments in itertools.product((-9, -1, 0, 1, 2, 5), repeat=2):
        expected, kind = in_python(function, arguments)
        if not kind:
            assert evaluated(function, arguments) == expected, arguments


@pytest.mark.parametrize("function", OVERFLOWING, ids=lambda function: function.__name__)
def test_numbers_beyond_64_bits_are_faults(native: Native, function: Function) -> None:
    """If a number exceeds 64 bits, compiled code records a fault; otherwise it returns Python's result."""
    faults = 0
    for arguments in itertools.product((-4, -2, -1, 0, 1, 2, 3), repeat=2):
        expected, kind = in_python(function, arguments)
        result, _, fault = native(function, arguments)
        if fault is None:
            assert not kind and result == expected, arguments
        elif not kind:
            assert fault.message == "a number leaves 64 bits"
            faults += 1
    assert faults


@pytest.mark.parametrize("function", STATEFUL, ids=lambda function: function.__name__)
@pytest.mark.parametrize("argument", [-1, 0, 1, 2, 3])
def test_functions_of_the_state(native: Native, function: Function, argument: int) -> None:
    """A function that reads and writes the state leaves compiled the bytes that it leaves in Python, or both are at fault."""
    state = LAYOUT.space.fresh()
    record = LAYOUT.pack(state)
    expected, kind = in_python(function, (argument,), state)
    result, after, fault = native(function, (argument,), record)
    assert (fault.kind if fault else "") == kind
    if not kind:
        assert result == expected and after == LAYOUT.pack(state)


def test_the_first_fault_is_told(native: Native) -> None:
    """A fault names the file and the line of the operation that failed."""
    _, _, fault = native(floor_divides, (1, 0))
    assert fault == Fault("error", f"{__file__}:{floor_divides.__code__.co_firstlineno + 2}", "a division by zero")


# ---------------------------------------------------------------------------------------------------------------------
# Effects, one after the other


def append_entry(s: Rich, box: int, record: int, epoch: int) -> None:
    """Append an entry, by all of its fields."""
    append(s.boxes[box].log, record=record, epoch=epoch)


def append_default(s: Rich, box: int, epoch: int) -> None:
    """Append an entry whose record is initial."""
    append(s.boxes[box].log, epoch=epoch)


def append_number(s: Rich, box: int, number: int) -> None:
    """Append a number."""
    append(s.boxes[box].numbers, number * 100)


def append_broker(s: Rich, box: int, broker: int) -> None:
    """Append a broker that may stand there."""
    append(s.boxes[box].order, broker)


def truncate_entries(s: Rich, box: int, length: int) -> None:
    """Truncate the log."""
    truncate(s.boxes[box].log, length)


def truncate_all(s: Rich, length: int) -> None:
    """Truncate everything."""
    for box in range(len(s.boxes)):
        truncate(s.boxes[box].numbers, length)
        truncate(s.boxes[box].order, length + 1)
    truncate(s.channel, length)


def pop_entry(s: Rich, box: int) -> None:
    """Take the first entry."""
    pop_first(s.boxes[box].log)


def pop_broker(s: Rich, box: int) -> None:
    """Take the first broker."""
    pop_first(s.boxes[box].order)


def assign_entry(s: Rich, box: int, offset: int) -> None:
    """Copy an entry within its log, and a box's entry from another box's log."""
    assign(s.boxes[box].log[0], s.boxes[box].log[offset])
    s.boxes[1 - box].grid[0] = 1


def assign_box(s: Rich, box: int, other: int) -> None:
    """Copy all of a box."""
    assign(s.boxes[box], s.boxes[other])


def assign_between_fields(s: Rich, box: int, offset: int) -> None:
    """Copy entries between places that are declared apart."""
    assign(s.one, s.boxes[box].log[offset])
    assign(s.boxes[box].entry, s.one)


def reset_box(s: Rich, box: int) -> None:
    """Give a box its initial value."""
    reset(s.boxes[box])


def reset_entry(s: Rich, box: int, offset: int) -> None:
    """Give an entry its initial value."""
    reset(s.boxes[box].log[offset])


def reset_all(s: Rich) -> None:
    """Give everything its initial value."""
    reset(s)


def set_entry(s: Rich, box: int, offset: int, record: int) -> None:
    """Change an entry, and one elsewhere."""
    s.boxes[box].log[offset].record = record
    s.one.epoch = record


def set_grid(s: Rich, box: int, index: int, value: int) -> None:
    """Change an item of an array."""
    s.boxes[box].grid[index] -= value


def set_brokers(s: Rich, box: int, broker: int) -> None:
    """Take a broker out of the set."""
    s.boxes[box].brokers = excluding(s.boxes[box].brokers, broker)


def add_to_total(s: Rich, plus: int) -> None:
    """Count up to the bound, or down below the domain."""
    s.total += plus
    s.wide = s.wide * -3 + plus


def send_put(s: Rich, value: int) -> None:
    """Send a value."""
    append(s.channel, kind=Kind.PUT, value=value)


def send_kind(s: Rich, kind: int, value: int) -> None:
    """Send any kind with any value."""
    append(s.channel, kind=kind, value=value)


def receive(s: Rich) -> None:
    """Take a letter; a value is added."""
    kind = s.channel[0].kind
    value = s.channel[0].value
    pop_first(s.channel)
    if kind == Kind.PUT:
        s.total += value
        append(s.channel, kind=Kind.ACK)


EFFECTS: tuple[Function, ...] = (
    append_entry, append_default, append_number, append_broker, truncate_entries, truncate_all, pop_entry, pop_broker, assign_entry,
    assign_box, assign_between_fields, reset_box, reset_entry, reset_all, set_entry, set_grid, set_brokers, add_to_total, send_put,
    send_kind, receive,
)  # fmt: skip


@settings(max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(EFFECTS), *[st.integers(-1, most) for most in (2, 4, 4)]), min_size=10, max_size=80))
def test_effects_in_a_row(native: Native, steps: list[tuple[Function, int, int, int]]) -> None:
    """Any sequence of compiled effects writes the bytes of Python's result, or fails in the same way."""
    root = LAYOUT.space.root
    state = LAYOUT.space.fresh()
    record = LAYOUT.pack(state)
    for function, *arguments in steps:
        after = root.copy(state)
        _, kind = in_python(function, arguments, after)
        _, written, fault = native(function, arguments, record)
        assert (fault.kind if fault else "") == kind, (function.__name__, arguments)
        if not kind:
            assert written == LAYOUT.pack(after), (function.__name__, arguments)
            state, record = after, written
            assert root.freeze(LAYOUT.unpack(record)) == root.freeze(state)


@pytest.mark.parametrize("function", EFFECTS, ids=lambda function: function.__name__)
def test_each_effect_can_succeed(native: Native, function: Function) -> None:
    """On a state with many items each effect succeeds, with the same result as in Python."""
    state = LAYOUT.space.fresh()
    for fill, *arguments in (
        (append_entry, 0, 4, 2), (append_entry, 0, 5, 1), (append_entry, 1, 1, 1), (append_number, 0, 3), (append_broker, 0, 2),
        (append_broker, 1, 1), (send_put, 1), (add_to_total, 2), (set_grid, 0, 2, 1), (set_entry, 1, 0, 2),
    ):  # fmt: skip
        assert in_python(fill, arguments, state)[1] == ""
    record, changed = LAYOUT.pack(state), 0
    for arguments in itertools.product((0, 1, 2), repeat=3):
        after = LAYOUT.space.root.copy(state)
        kind = in_python(function, arguments, after)[1]
        _, written, fault = native(function, arguments, record)
        assert (fault.kind if fault else "") == kind, arguments
        assert kind or written == LAYOUT.pack(after), arguments
        changed += fault is None and written != record
    assert changed


# ---------------------------------------------------------------------------------------------------------------------
# Random functions


class Writer:
    """Writes random functions of the language; a bound on each number keeps all of them within 64 bits."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.callees: list[tuple[str, int]] = []

    def pick(self, *choices: Any) -> Any:
        """Return one of the choices."""
        return self.draw(st.sampled_from(choices))

    def number(self, names: list[str], depth: int) -> tuple[str, int]:
        """Return an expression and how large its value may be."""
        kind = self.pick("leaf", "sum", "product", "divide", "shift", "bits", "unary", "compare", "logic", "if", "least", "call")
        if depth == 0 or kind == "leaf" or (kind == "call" and not self.callees):
            if self.pick(True, True, False):
                return self.pick(*names), 1000
            value = self.draw(st.integers(-9, 9))
            return f"({value})" if value < 0 else str(value), 9
        (a, most), (b, other) = self.number(names, depth - 1), self.number(names, depth - 1)
        if kind == "call":
            name = self.pick(*[name for name, _ in self.callees])
            return f"{name}({self.small(a, most)}, {self.small(b, other)})", 1000
        if kind == "sum":
            return f"({a} {self.pick('+', '-')} {b})", most + other
        if kind == "product" and most * other < 1 << 50:
            return f"({a} * {b})", most * other
        if kind == "divide":
            return f"({a} {self.pick('//', '%')} {b})", max(most, other)
        if kind == "shift" and most < 1 << 40:
            return f"({a} {self.pick('<<', '>>')} ({b} % 7 - 1))", most << 6
        if kind == "bits":
            return f"({a} {self.pick('&', '|', '^')} {b})", 2 * max(most, other) + 1
        if kind == "unary":
            return self.pick((f"(-{a})", most), (f"(~+{a})", most + 1), (f"(not {a})", 1))
        if kind == "if":
            test, _ = self.number(names, depth - 1)
            return f"({a} if {test} else {b})", max(most, other)
        if kind == "logic":
            test, third = self.number(names, depth - 1)
            return f"({a} {self.pick('and', 'or')} {b} {self.pick('and', 'or')} {test})", max(most, other, third)
        if kind == "least":
            return f"{self.pick('min', 'max')}({a}, {b})", max(most, other)
        orders = [self.pick("<", "<=", "==", "!=", ">", ">=") for _ in range(2)]
        if self.pick(True, False):
            return f"({a} {orders[0]} {b})", 1
        return f"({a} {orders[0]} {b} {orders[1]} {self.pick(*names)})", 1

    def small(self, text: str, most: int) -> str:
        """Return the expression, made small if it may be large."""
        return text if most <= 1000 else f"({text} % 97 - 40)"

    def block(self, names: list[str], depth: int, loops: int, results: int) -> list[str]:
        """Return some statements."""
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 3))):
            kind = self.pick("assign", "augment", "if", "for", "unpack") if depth else "assign"
            text = self.small(*self.number(names, 2))
            if kind == "assign":
                lines.append(f"{self.pick('x', 'y', 'z')} = {text}")
            elif kind == "augment":
                name = self.pick("x", "y", "z")
                lines += [f"{name} {self.pick('+', '-', '*', '//', '%', '&', '|', '^')}= {text}", f"{name} = {name} % 97 - 40"]
            elif kind == "unpack":
                first, second = self.pick(("x", "y"), ("z", "x"), ("y", "z"))
                pairs = [name for name, count in self.callees if count == 2]
                lines.append(f"{first}, {second} = {second}, {text}" if not pairs else f"{first}, {second} = {pairs[0]}(x, {text})")
            elif kind == "if":
                body = self.block(names, depth - 1, loops, results)
                body += {"jump": [self.pick("break", "continue")] if loops else [], "return": [self.returned(names, results)]}.get(
                    self.pick("jump", "return", "", ""), []
                )
                lines += [f"if {text}:", *indented(body)]
                if self.pick(True, False):
                    lines += ["else:", *indented(self.block(names, depth - 1, loops, results))]
            elif loops < 2:
                index = f"i{loops}"
                limits = self.pick(f"{text} % 6", f"{self.draw(st.integers(-2, 2))}, {text} % 5")
                lines += [f"for {index} in range({limits}):", *indented(self.block([*names, index], depth - 1, loops + 1, results))]
        return lines or ["pass"]

    def returned(self, names: list[str], results: int) -> str:
        """Return a return statement of this number of values."""
        return "return " + ", ".join(self.small(*self.number(names, 2)) for _ in range(results))

    def function(self, name: str, results: int) -> str:
        """Return a function of two numbers."""
        names = ["a", "b", "x", "y", "z"]
        body = ['"""Do something."""', "x = a", "y = b", "z = 3", *self.block(names, 2, 0, results), self.returned(names, results)]
        return "\n".join([f"def {name}(a, b):", *indented(body)])


def indented(lines: list[str]) -> list[str]:
    """Return the lines one level further in."""
    return ["    " + line for line in lines]


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Return the text of a module: functions of two numbers, of which the later ones call the earlier."""
    writer, texts = Writer(draw), []
    for number in range(4):
        texts.append(writer.function(f"leaf_{number}", 1))
    texts.append(writer.function("pair", 2))
    writer.callees = [("leaf_0", 1), ("leaf_1", 1)]
    for number in range(2):
        texts.append(writer.function(f"caller_{number}", 1))
    writer.callees = [("pair", 2)]
    # `pair` is only unpacked: expressions need a number
    writer.number = lambda names, depth, write=writer.number: plain(writer, write, names, depth)  # type: ignore[method-assign]
    texts.append(writer.function("unpacker", 1))
    return "\n\n\n".join(texts) + "\n"


def plain(writer: Writer, write: Callable[[list[str], int], tuple[str, int]], names: list[str], depth: int) -> tuple[str, int]:
    """Return an expression without calls."""
    callees, writer.callees = writer.callees, []
    result = write(names, depth)
    writer.callees = callees
    return result


SMALL = (-40, -7, -3, -2, -1, 0, 1, 2, 3, 5, 56)
COUNTER = itertools.count()


@settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_random_functions(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Random functions, compiled and evaluated from their source, return Python's result, or all fail."""
    name = f"written_{next(COUNTER)}"
    path: Path = tmp_path_factory.mktemp("written") / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [value for value in vars(module).values() if callable(value) and hasattr(value, "__code__")]
    native = Native(functions, LAYOUT)
    for function in functions:
        for arguments in itertools.product(SMALL, repeat=2):
            expected, kind = in_python(function, arguments)
            result, _, fault = native(function, arguments)
            assert (fault is not None) == bool(kind), (function.__name__, arguments, fault)
            assert kind or result == expected, (function.__name__, arguments)
            assert kind or evaluated(function, arguments) == expected, (function.__name__, arguments)


# ---------------------------------------------------------------------------------------------------------------------
# Refusals of the compiler


def assign_machine(s: sample_specs.House) -> None:
    """Change a machine's state past its table."""
    s.doors[0] = 1


def share_record(s: Rich) -> None:
    """Assign a record."""
    s.one = s.boxes[0].entry


def compare_two_classes(s: Rich) -> int:
    """Compare records of two classes."""
    return s.one == s.boxes[0]


def return_record(s: Rich) -> Entry:
    """Return a record."""
    return s.one


def read_missing_field(s: Rich) -> int:
    """Read a field that is not there."""
    return s.boxes[0].grids


def write_constant(k: Any) -> None:
    """Change a bound."""
    k.limit += 1


def read_missing_constant(k: Any) -> int:
    """Read a constant that is not there."""
    return k.six


def index_record(s: Rich) -> int:
    """Index a record."""
    return s.one[0]


def measure_record(s: Rich) -> int:
    """Measure a record."""
    return len(s.one)


def truncate_array(s: Rich) -> None:
    """Truncate an array."""
    truncate(s.boxes[0].grid, 1)


def reset_number(s: Rich) -> None:
    """Reset a number."""
    reset(s.one.epoch)


def assign_other_record(s: Rich) -> None:
    """Assign a record of another type."""
    assign(s.boxes[0], s.one)


def append_two_ways(s: Rich) -> None:
    """Append a field to a sequence of numbers."""
    append(s.boxes[0].numbers, record=1)


def append_unknown_field(s: Rich) -> None:
    """Append a record with a field that is not there."""
    append(s.channel, kind=Kind.ACK, colour=1)


def read_field_of_number(s: Rich) -> int:
    """Read a field of a number."""
    total = s.total
    return total.real


def rename_record(s: Rich, a: int) -> int:
    """Give a name to one record or another."""
    box = s.boxes[0]
    if a:
        box = s.boxes[1]
    return box.entry.record


REFUSED: dict[Function, str] = {
    share_record: "copy it, assign(",
    compare_two_classes: "s.boxes[0] is compared with s.one: Box and Entry are different records",
    return_record: "by its annotation it returns Entry",
    read_missing_field: "has no field grids; it has entry, log",
    write_constant: "k.limit is a bound or a decision, which no step changes",
    read_missing_constant: "k.six is neither a bound nor a decision",
    index_record: "has no items",
    measure_record: "of a sequence, an array, a map or a set of records",
    truncate_array: "is not a sequence",
    reset_number: "is not a record, an array, a sequence, a set of records, an option or a map",
    assign_other_record: "different records",
    append_two_ways: "append one number here",
    append_unknown_field: "Letter has no field colour",
    read_field_of_number: "has no field real",
    rename_record: "use two names",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_by_the_compiler(function: Function) -> None:
    """Errors that only the types of the state reveal are refused with file, line, function and cure."""
    with pytest.raises(SpecError) as raised:
        Native([function], LAYOUT)
    message = str(raised.value)
    assert REFUSED[function] in message and f"in {function.__name__}: " in message
    file, line, _ = message.split(":", 2)
    assert file == __file__ and function.__code__.co_firstlineno < int(line) <= function.__code__.co_firstlineno + 5


@dataclass
class Hollow:
    """An array and a sequence without room, and what stands behind them."""

    rows: list[list[int]] = field(ArrayOf(ArrayOf(Range(0, 5), 4), 0))
    log: list[Entry] = field(SequenceOf(Entry, 0))
    behind: int = field(Range(0, 1 << 30))


def write_rows(s: Hollow) -> None:
    """Write where no row is."""
    s.rows[0][3] = 5


def write_log(s: Hollow) -> None:
    """Write where no record is."""
    s.log[0].record = 1


@pytest.mark.parametrize("function", [write_rows, write_log], ids=lambda function: function.__name__)
def test_nothing_is_written_where_nothing_has_room(function: Function) -> None:
    """A wrong index is a fault; where there is not even a first item, the bytes behind stay as they are."""
    layout = Layout(Space(Hollow, {}))
    _, after, fault = Native([function], layout)(function, ())

    assert fault is not None and fault.kind == "error"
    assert after == bytes(layout.size)


def test_state_of_a_machine_is_not_assigned() -> None:
    """The compiler refuses to change the state of a machine other than by `fire`."""
    with pytest.raises(SpecError, match=r"change it with fire\(\)"):
        Native([assign_machine], Layout(Space(sample_specs.House, {})))


# ---------------------------------------------------------------------------------------------------------------------
# What only the types show to be wrong


@dataclass
class Holder:
    members: int = field(SetOf(3))
    numbers: list[int] = field(ArrayOf(Range(0, 3), 2, "i"))
    others: list[int] = field(ArrayOf(Range(0, 3), 2, "i"))


def look_into_a_set(s: Holder) -> None:
    """Ask for a member with `in`."""
    s.members = 1 if 2 in s.members else 0


def look_into_a_number(s: Holder) -> None:
    """Look for a number in itself."""
    for v in range(3):
        s.members = 1 if v in v else 0  # type: ignore[operator]


def share_an_array(s: Holder) -> None:
    """Assign an array whole."""
    s.numbers = s.others


@pytest.mark.parametrize(
    ("function", "cure"),
    [
        (look_into_a_set, r"s.members is none; write contains\(s.members, 2\)"),
        (look_into_a_number, r"v is none; write any\(...\)"),
        (share_an_array, r"copy it, assign\(s.numbers, ...\)"),
    ],
)
def test_what_the_types_refuse_names_the_cure(function: Function, cure: str) -> None:
    """A construct that only the types show to be wrong is refused with the line and with what to write."""
    rule = Rule("Change", "somebody", "it changes", "", (function,))
    spec = Spec("holder", "holds", Holder, (rule,), final=anywhere)

    with pytest.raises(SpecError, match=rf"test_lowering.py:\d+: in {function.__name__}: .*{cure}"):
        check(spec)
