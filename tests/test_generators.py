"""Functions of generators and `in`: the same in Python, in compiled code and in TLA+, and refused where they cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.model_check.check import check
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.model_check.traces.explain import reasons
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BagOf,
    Member,
    Range,
    SequenceOf,
    SetOf,
    SpecError,
    add,
    append,
    field,
    members_of,
    set_of,
    size,
)
from kafka_spec.spec.vocabulary.table import BoundSet, Rule, Spec, invariant

TOY = "a toy"


@dataclass
class Note:
    """A note."""

    n: int = field(Range(0, 3))


@dataclass
class Desk:
    """Numbers in every kind of place, and the result of a computation."""

    a: int = field(Range(0, 3))
    members: int = field(SetOf(Member(4)))
    row: list[int] = field(ArrayOf(Range(0, 3), 3))
    log: list[int] = field(SequenceOf(Range(0, 3), 2))
    notes: list[Note] = field(SetOf(Note, 4))
    bag: list[Note] = field(BagOf(Note, 4))
    out: int = field(Range(-999, 999))
    some: int = field(SetOf(4))


def choose(s: Desk, a: int, b: int) -> None:
    """Fill the desk."""
    s.a = a
    s.members = set_of(i for i in range(4) if i != a and i != b)
    for i in range(3):
        s.row[i] = (a + i * b) % 4
    append(s.log, a)
    if b > 1:
        append(s.log, b)
    for i in members_of(s.members):
        add(s.notes, n=i)
    add(s.bag, n=a)
    add(s.bag, n=b)


def compute(s: Desk) -> None:
    """Use every function over every kind of place."""
    s.out = (
        sum(x for x in s.row)
        + 5 * sum(1 for x in s.log if x != s.a)
        + 7 * max(note.n for note in s.notes)
        - 3 * min(note.n for note in s.bag)
        + 11 * sum(note.n for note in s.bag if note.n != 3)
        + 13 * any(x == y for x in s.row for y in s.log)
        + 17 * all(note.n in members_of(s.members) for note in s.notes)
        + 19 * (s.a in s.log and s.a not in (1, 2))
        + 23 * (3 in s.row)
        + 29 * sum(i for i in members_of(s.members) if i > 0)
        + 31 * size(set_of(note.n for note in s.notes if note.n < 2))
    )
    s.some = set_of((x + i) % 4 for x in s.log for i in range(s.a))
    for note in s.notes:
        if note in s.bag:
            s.out = s.out - 100
    for i in members_of(s.some):
        s.out = s.out % 500 + i


def small(s: Desk) -> bool:
    """The result is not the largest of all."""
    return all(s.out != 400 + x for x in s.log)


CHOICE = {"a": Range(0, 3), "b": Range(0, 3)}
DESK = Spec(
    "desk",
    "every function of generators",
    Desk,
    (Rule("Compute", "w", "", TOY, (compute,)),),
    (invariant("Small", small, "", TOY),),
    start=Rule("Start", "w", "", TOY, (choose,), CHOICE),
    bound_sets=(BoundSet("hand", {}, "it has none"),),
)


def expected(a: int, b: int) -> int:
    """Return the result of one computation, by Python's own lists and sets."""
    members = {i for i in range(4) if i not in (a, b)}
    row, log, bag = [(a + i * b) % 4 for i in range(3)], [a, *([b] if b > 1 else [])], [a, b]
    out = (
        sum(row)
        + 5 * len([x for x in log if x != a])
        + 7 * max(members)
        - 3 * min(bag)
        + 11 * sum(n for n in bag if n != 3)
        + 13 * bool(set(row) & set(log))
        + 17
        + 19 * (a in (0, 3))
        + 23 * (3 in row)
        + 29 * sum(members)
        + 31 * len({n for n in members if n < 2})
    )
    out -= 100 * len(members & set(bag))
    for i in sorted({(x + i) % 4 for x in log for i in range(a)}):
        out = out % 500 + i
    return out


def test_engines_compute_what_python_does() -> None:
    """After one step both engines hold the numbers that plain lists and sets give."""
    world = oracle.Interpreter(DESK, {})
    computed = {}
    for a in range(4):
        for b in range(4):
            start = world.apply(DESK.start, world.space.fresh(), (a, b))
            computed[a, b] = world.apply(DESK.rules[0], start, ()).out
    plain, fast = (engine.explore(DESK, {}, everything=True) for engine in (oracle, embedded))

    assert computed == {(a, b): expected(a, b) for a in range(4) for b in range(4)}
    assert (plain.levels, plain.digest) == (fast.levels, fast.digest)


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, with quantifiers, sums and comprehensions."""
    agree(DESK, {}, tmp_path)


def desk(*effects: Any, claim: Any = small) -> Spec:
    """Return a spec with these effects."""
    rules = (Rule("Do", "w", "", TOY, effects),)
    return Spec("desk", "", Desk, rules, (invariant("Claim", claim, "", TOY),), start=DESK.start)


def least_of_nothing(s: Desk) -> None:
    """Take the least of nothing."""
    s.out = min(x for x in s.row if x > 9)


def no_member(s: Desk) -> None:
    """Make a set of what is no member."""
    s.some = set_of(x - 9 for x in s.row)


def no_set(s: Desk) -> None:
    """Go over what is no set."""
    for i in members_of(s.out - 1):
        s.out = i


@pytest.mark.parametrize("effect", [least_of_nothing, no_member, no_set], ids=lambda effect: effect.__name__)
def test_what_cannot_be_computed_ends_both_engines(effect: Any) -> None:
    """The least of nothing, a member -9 and a set -1 are errors of the spec in both engines, never a number."""
    for engine in (oracle, embedded):
        with pytest.raises(SpecError):
            engine.explore(desk(effect), {})


def stops_early(s: Desk) -> None:
    """Ask no further once the answer is known: the division by 0 is never reached."""
    s.out = any(1 // (2 - i) > 0 for i in range(3)) + all(1 // i > 1 for i in range(1, 0)) + (not all(0 for i in range(2)))


def test_any_and_all_stop_early() -> None:
    """As in Python, what stands behind the deciding item is not evaluated."""
    plain, fast = (engine.explore(desk(stops_early), {}, everything=True) for engine in (oracle, embedded))

    assert (plain.distinct, plain.digest) == (fast.distinct, fast.digest)


def no_three(s: Desk) -> bool:
    """No number of the row is 3."""
    return 3 not in s.row


def test_a_reason_is_given() -> None:
    """The explanation of a violation evaluates generators and `in`, and negates them."""
    for claim, because in ((no_three, "3 in s.row"), (small_rows, "not all(x < 2 for x in s.row)")):
        spec = desk(compute, claim=claim)
        trace = trace_of(check(spec, {}), "Claim")
        assert trace is not None
        assert reasons(trace, spec)[0].because == because


def small_rows(s: Desk) -> bool:
    """All numbers of the row are small."""
    return all(x < 2 for x in s.row)


def not_a_number(s: Desk) -> None:
    """Ask for a record among numbers."""
    for note in s.notes:
        s.out = note in s.row


def among_records(s: Desk) -> None:
    """Ask for a number among records."""
    s.out = 1 in s.notes


@pytest.mark.parametrize("effect", [not_a_number, among_records], ids=lambda effect: effect.__name__)
def test_the_compiler_refuses_what_never_is_in(effect: Any) -> None:
    """A number is in no set of records, and a record is no number: the compiler refuses before anything runs."""
    with pytest.raises(SpecError, match=effect.__name__):
        embedded.explore(desk(effect), {})
