"""What append(), put() and add() are given: copies of records, numbers for fields, in Python's order; the same in every reading."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.model_check.check import check
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BadAccess,
    Bound,
    MapOf,
    OneOf,
    Option,
    Range,
    SequenceOf,
    SetOf,
    Space,
    SpecError,
    StateOf,
    add,
    append,
    field,
    pop_first,
    put,
    tagged,
)
from kafka_spec.spec.vocabulary.table import TYPE_INVARIANT, Rule, Spec, invariant

TOY = "a toy"


class Kind(enum.IntEnum):
    """What a parcel is."""

    EMPTY = 0
    FULL = 1


@dataclass
class Item:
    """Two numbers."""

    a: int = field(Range(0, 2))
    b: int = field(Range(0, 2))


@tagged("kind", {Kind.EMPTY: (), Kind.FULL: ("goods",)})
@dataclass
class Parcel:
    """A message of which only one kind has a list."""

    kind: int = field(OneOf(Kind))
    goods: list[int] = field(SequenceOf(Range(0, 2), 2))


@dataclass
class Store:
    """What can be given to what."""

    turn: int = field(Range(0, 2))
    steps: int = field(Range(0, 3))
    shelf: list[Item] = field(ArrayOf(Item, 3, "place"))
    line: list[Item] = field(SequenceOf(Item, 3))
    set: set[Item] = field(SetOf(Item, 3))
    last: Item | None = field(Option(Item))
    lists: list[list[int]] = field(SequenceOf(SequenceOf(Range(0, 2), 2), 2))
    sent: list[Parcel] = field(SequenceOf(Parcel, 1))
    kept: dict[int, Parcel] = field(MapOf(2, Parcel))


def goes_on(s: Store) -> bool:
    """There is a step left."""
    return s.steps < 3


def is_over(s: Store) -> bool:
    """No step is left."""
    return s.steps == 3


def mark(s: Store) -> None:
    """Make the places of the shelf different."""
    s.shelf[s.turn].b = 1 + s.steps % 2
    s.turn = (s.turn + 1) % 3
    s.steps += 1


def copy(s: Store) -> None:
    """Append a copy of a place of the shelf, then a changed copy of the line's own first item."""
    if len(s.line) < 3:
        append(s.line, s.shelf[s.turn])
    if len(s.line) < 3:
        append(s.line, s.line[0], a=s.line[0].b)
    s.steps += 1


def take(s: Store) -> None:
    """Change what was copied; the copy is another record."""
    if len(s.line) > 0:
        s.line[0].b = 0
        pop_first(s.line)
    s.steps += 1


def nest(s: Store) -> None:
    """Append an empty list to a list of lists, and a number to the first."""
    if len(s.lists) < 2:
        append(s.lists)
        append(s.lists[0], len(s.lists))
    s.steps += 1


def shelf_is_tidy(s: Store) -> bool:
    """No copy has a marked b and a raised a."""
    return not any(item.a == 2 and item.b == 2 for item in s.line)


def rule(effect: Any, *more: Any) -> Rule:
    """Return a rule with this effect."""
    return Rule(effect.__name__.title(), "store", "", TOY, (effect, *more), {}, (goes_on,))


COPIES = Spec(
    "copies", TOY, Store, tuple(map(rule, (mark, copy, take, nest))), (invariant("Tidy", shelf_is_tidy, "", TOY),), final=is_over
)


def turn(s: Store) -> int:
    """Go on to the next place, and return it."""
    s.turn = (s.turn + 1) % 3
    return s.turn


def append_in_order(s: Store) -> None:
    """Append with a place and a number that depend on who is evaluated first."""
    append(s.line, s.shelf[turn(s)], a=turn(s))
    s.steps += 1


def add_in_order(s: Store) -> None:
    """The same with an element of a set."""
    add(s.set, s.shelf[turn(s)], a=turn(s))
    s.steps += 1


def put_in_order(s: Store) -> None:
    """The same with an option."""
    put(s.last, s.shelf[turn(s)], a=turn(s))
    s.steps += 1


ORDERS = Spec("orders", TOY, Store, tuple(map(rule, (mark, append_in_order, add_in_order, put_in_order))), (), final=is_over)


def send(s: Store) -> None:
    """Send a parcel with goods."""
    append(s.sent, kind=Kind.FULL)
    append(s.sent[0].goods, 1)
    s.steps += 1


def keep(s: Store) -> None:
    """Keep it under a kind that has no goods."""
    if len(s.sent) > 0:
        put(s.kept, 0, s.sent[0], kind=Kind.EMPTY)
    s.steps += 1


def keep_empty(s: Store) -> None:
    """The same with a parcel whose list is empty."""
    append(s.sent, kind=Kind.FULL)
    put(s.kept, 0, s.sent[0], kind=Kind.EMPTY)
    pop_first(s.sent)
    s.steps += 1


@pytest.mark.parametrize("spec", [COPIES, ORDERS], ids=lambda spec: spec.name)
def test_both_engines_agree(spec: Spec) -> None:
    """Records and fields are evaluated from left to right and copied: both engines find the same states, edge by edge."""
    result = check(spec, {}, engine="both", everything=True)

    assert result.complete
    assert result.distinct > 40


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds as many states where records, changed copies and empty lists are appended."""
    agree(COPIES, {}, tmp_path)


def test_a_copy_is_another_record() -> None:
    """append() of a record copies it with its contents; what changes later changes one of them."""
    s = Space(Store, {}).fresh()
    s.shelf[1].a = 2

    append(s.line, s.shelf[1], b=1)
    s.shelf[1].a = 0

    assert (s.line[0].a, s.line[0].b) == (2, 1)


def test_a_list_belongs_to_its_kind() -> None:
    """A message that keeps a list its kind does not have violates the type invariant in both engines; an empty one does not."""
    wrong = Spec("wrong", TOY, Store, (rule(send), rule(keep)), (), final=is_over)
    right = Spec("right", TOY, Store, (rule(keep_empty),), (), final=is_over)

    assert check(wrong, {}, engine="both").violated == [TYPE_INVARIANT]
    assert check(right, {}, engine="both").violated == []


ROOM = Bound("room", 1, 3, "how far")


@dataclass
class Near:
    """A number up to a bound."""

    far: int = field(Range(0, ROOM))


def begin(s: Near, at: int) -> None:
    """Begin there."""
    s.far = at


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_an_initial_state_beyond_a_bound_is_refused(engine: str) -> None:
    """A start that leaves a bound is an error that names the bound as one, in both engines."""
    start = Rule("Start", "store", "", TOY, (begin,), {"at": Range(1, 2)})
    spec = Spec("far", TOY, Near, (Rule("Go", "store", "", TOY, (begin,), {"at": Range(0, 1)}),), (), start=start)

    with pytest.raises(SpecError, match=r"far: Start\(2,\) is not an initial state: it is beyond the bound room"):
        check(spec, {"room": 1}, engine=engine)
    assert check(spec, {"room": 2}, engine=engine).distinct == 3


def test_the_keys_of_a_map_are_a_domain() -> None:
    """A map whose keys are an enum instead of its domain is refused with the cure."""
    keyed = dataclass(type("Keyed", (), {"__annotations__": {"of": int}, "of": field(MapOf(Kind, Range(0, 1)))}))  # type: ignore[arg-type]

    with pytest.raises(SpecError, match=r"Keyed.of: Kind is not a domain; keys are Member\(...\), OneOf\(...\), or how many"):
        Space(keyed, {})


class Life(enum.IntEnum):
    """A machine's states."""

    OFF = 0
    ON = 1


@dataclass
class Being:
    """A record with a machine."""

    life: int = field(StateOf(Life, "Life"))


@dataclass
class Beings:
    """Beings in a line."""

    line: list[Being] = field(SequenceOf(Being, 2))
    numbers: list[int] = field(SequenceOf(Range(0, 2), 2))
    lists: list[list[int]] = field(SequenceOf(SequenceOf(Range(0, 2), 2), 2))


def test_what_cannot_be_appended_is_refused() -> None:
    """A record of another class, one with a machine, two numbers and a value for a list are refused by name."""
    s, other = Space(Beings, {}).fresh(), Space(Store, {}).fresh()
    append(s.line)

    for call, message in (
        (lambda: append(s.line, s.line[0]), "append.*holds the state of a machine"),
        (lambda: append(other.line, s.line[0]), "append.. takes one Item here"),
        (lambda: append(s.numbers, 1, 2), "append.. takes one number here"),
        (lambda: append(s.numbers), "append.. takes one number here"),
        (lambda: append(s.lists, 1), "1 is not a record or a container of the state"),
    ):
        with pytest.raises(BadAccess, match=message):
            call()
