"""Shorthand of Python, sets over an enum, and loops that change other items: the same in plain Python, compiled code and TLA+."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_tla import agree

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import (
    OneOf,
    Range,
    SequenceOf,
    SetOf,
    Space,
    SpecError,
    append,
    field,
    including,
    show_value,
    truncate,
)
from kafka_spec.spec.vocabulary.table import Rule, Spec, anywhere, invariant


class Colour(enum.IntEnum):
    """Colours."""

    RED = 0
    BLUE = 1
    GREEN = 2


@dataclass
class Marks:
    """The whole state."""

    log: list[int] = field(SequenceOf(Range(0, 3), 3))
    colour: int = field(OneOf(Colour))
    even: list[int] = field(SequenceOf(Range(0, 3), 3))
    seen: int = field(SetOf(OneOf(Colour)))
    x: int = field(Range(0, 4))
    y: int = field(Range(0, 4))


def has_room(s: Marks) -> bool:
    """The log is not full."""
    return len(s.log) < 3


def mark(s: Marks, a: int) -> None:
    """Append, swap, count, and change the colour."""
    append(s.log, a)
    s.x, s.y = s.y, max((number for number in s.log if number < 3), default=2**2)
    for place, number in enumerate(s.log):
        if number == 2:
            s.x = place
            continue
        s.y = abs(place - number)
    s.seen = including(s.seen, s.colour)
    truncate(s.even, 0)
    for number in s.log:
        if number % 2 == 0:
            append(s.even, number)
    match s.colour:
        case Colour.RED if a > 1:
            s.colour = Colour.BLUE
        case Colour.RED | Colour.BLUE:
            s.colour = Colour.GREEN
        case _:
            s.colour = Colour.RED


def is_no_sum(s: Marks) -> bool:
    """The log is not full while x is 2 and the colour is green."""
    match len(s.log) + s.x:
        case 5:
            return s.colour != Colour.GREEN
        case _:
            return True


MARKS = Spec(
    "marks",
    "shorthand",
    Marks,
    rules=(Rule("Mark", "world", "{a} is appended", "", (mark,), {"a": Range(0, 3)}, (has_room,)),),
    properties=(invariant("NoSum", is_no_sum, "no sum of 5 in green"),),
    final=anywhere,
)


def test_engines_agree() -> None:
    """Plain Python and compiled code find the same states and the same violation."""
    ours, theirs = (engine.explore(MARKS, {}, everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.depth, ours.digest) == (theirs.distinct, theirs.depth, theirs.digest)
    assert ours.distinct > 50 and list(ours.findings) == list(theirs.findings) == ["NoSum"]


def turned(s: Marks) -> int:
    """Make the colour green, and return the number that it was."""
    former = s.colour
    s.colour = Colour.GREEN
    return former


def turn(s: Marks, a: int) -> None:
    """Append, and change the colour while cases are tried."""
    append(s.log, a)
    match s.colour:
        case Colour.RED if turned(s) == a:
            s.x = 1
        case Colour.GREEN:
            s.x = 2
        case _:
            s.colour = Colour.RED


def test_a_case_may_change_the_subject() -> None:
    """What is matched is read once, although a guard of a case changes it; TLA+ has no such function."""
    spec = replace(MARKS, rules=(Rule("Turn", "world", "{a}", "", (turn,), {"a": Range(0, 3)}, (has_room,)),), properties=())
    ours, theirs = (engine.explore(spec, {}, everything=True) for engine in (embedded, oracle))

    assert ours.distinct > 5 and ours.digest == theirs.digest


class Odd(enum.IntEnum):
    """Members that do not begin with 0."""

    ONE = 1


def test_a_set_over_an_enum_shows_names() -> None:
    """A set of members of an IntEnum is printed with their names; they are numbered from 0."""
    type_ = Space(Marks, {}).root.fields["seen"]

    assert show_value(type_, 0b101) == "{RED, GREEN}"
    with pytest.raises(SpecError, match=r"SetOf\(Odd\): the members of a set are numbered from 0"):
        SetOf(OneOf(Odd))


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, and the same violation."""
    agree(MARKS, {}, tmp_path)
