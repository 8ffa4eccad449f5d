"""Specs that use the constructs of the language, each in a step that changes the state, so that TLC's count tells a wrong one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_spec.spec.language.domain import (
    NO_BROKERS,
    ArrayOf,
    Bound,
    Flag,
    Queue,
    Range,
    SequenceOf,
    SetOf,
    append,
    assign,
    contains,
    excluding,
    field,
    first_brokers,
    including,
    pop_first,
    reset,
    singleton,
    truncate,
)
from kafka_spec.spec.vocabulary.table import BoundSet, Rule, Spec, invariant, step_invariant

TOY = "a toy"


def rule(name: str, *effects: Any, guards: tuple[Any, ...] = (), **other: Any) -> Rule:
    """Return a rule of the world with these effects."""
    return Rule(name, "world", f"the world does {name}", TOY, effects, guards=guards, **other)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers: every operator, locals, branches, loops


@dataclass
class Numbers:
    """Some numbers, and the result of a computation."""

    a: int = field(Range(0, 7))
    b: int = field(Range(0, 7))
    out: int = field(Range(-500, 500))


def choose(s: Numbers, a: int, b: int) -> None:
    """Take two numbers."""
    s.a = a
    s.b = b


def operators(s: Numbers) -> None:
    """Use the operators of integers."""
    result = (s.a - s.b) // 2 + (s.b - s.a) % 3 - s.a % (s.b + 1) + s.a // (s.b - 9)
    result += (s.a & s.b) * 3 - (s.a | s.b) + (s.a ^ s.b) + (~s.a & 5) + (-s.b | 4)
    s.out = result + (s.a << 2) - (s.b >> 1) - -s.a


def branches(s: Numbers) -> None:
    """Join local names after branches, and use conditions as values."""
    low, high = s.a, s.b
    if s.a > s.b:
        low, high = s.b, s.a
    elif s.a == s.b:
        high = high + 1
    else:
        low -= 1
    smaller = low < high <= 7
    first = s.a or s.b
    second = s.a and s.b
    s.out = 40 * smaller + 4 * (first if high != 3 else second) + min(low, high, 5) - max(low, 2)


def loops(s: Numbers) -> None:
    """Gather in loops, with break, continue and a loop within."""
    total = 0
    last = 0
    for i in range(s.a):
        if i == 4:
            continue
        for j in range(i, s.b):
            if j > 5:
                break
            total += i * j
        if total > 40:
            last = i
            break
    s.out = total * 2 + last


def first_divisor(number: int, most: int) -> int:
    """Return the first divisor of a number, or 0."""
    for candidate in range(2, most):
        if number % candidate == 0:
            return candidate
    return 0


def both_counts(a: int, b: int) -> tuple[int, int]:
    """Return how often a fits into b, and what is left, by counting; stops at ten."""
    times = 0
    for turn in range(10):
        if (times + 1) * a > b:
            return times, b - times * a
        times = turn + 1
    return times, -1


def searches(s: Numbers) -> None:
    """Use what searches return."""
    times, left = both_counts(s.a, s.b)
    s.out = first_divisor(s.a + 8, s.b) * 30 + times * 3 + left


def leaves_early(s: Numbers) -> None:
    """Return before the end, out of a loop and out of a branch."""
    if s.a == 3:
        return
    for i in range(s.b):
        s.out += i
        if s.out > 9:
            return
    s.out = 1 if s.a > 2 else -1


def out_is_known(s: Numbers) -> bool:
    """A search over all that can be."""
    for a in range(8):
        if s.a == a:
            for b in range(8):
                if s.b == b and s.out == 77:
                    return False
    return True


def out_is_used(before: Numbers, after: Numbers) -> bool:
    """The numbers stay, or the result is from before."""
    return (before.a == after.a and before.b == after.b) or before.out == after.out


CHOOSE = rule("Choose", choose, params={"a": Range(0, 7), "b": Range(0, 7)})
NUMBERS = tuple(
    Spec(
        f"numbers, {effect.__name__}",
        "computes with numbers",
        Numbers,
        (CHOOSE, rule("Compute", effect)),
        (invariant("Known", out_is_known, "not 77", TOY), step_invariant("Used", out_is_used, "one at a time", TOY)),
    )
    for effect in (operators, branches, loops, searches, leaves_early)
)

# ---------------------------------------------------------------------------------------------------------------------
# Records, sequences, arrays and sets, and what changes them

ROOM = Bound("room", 1, 3, "items that wait")


@dataclass
class Item:
    """A thing with a number and owners."""

    number: int = field(Range(0, 2))
    owners: int = field(SetOf(3))


@dataclass
class Shelf:
    """Items in order, and one that is set apart."""

    items: list[Item] = field(Queue(Item, ROOM))
    apart: Item = field(Item)
    open: int = field(Flag())


@dataclass
class Store:
    """Shelves, and marks."""

    shelves: list[Shelf] = field(ArrayOf(Shelf, 2, "shelf"))
    marks: list[int] = field(SequenceOf(Range(0, 2), 3))


def put(s: Store, shelf: int, number: int) -> None:
    """Put an item on a shelf, owned by what its number says."""
    append(s.shelves[shelf].items, number=number, owners=singleton(number) | (1 << 2))


def there_is_an_item(s: Store, shelf: int) -> bool:
    """The shelf is not empty."""
    return len(s.shelves[shelf].items) > 0


def set_apart(s: Store, shelf: int) -> None:
    """Set the first item apart, and change it there, through names for both."""
    here = s.shelves[shelf]
    assign(here.apart, here.items[0])
    pop_first(here.items)
    mark_item(here.apart, 1)
    here.open = 1 - here.open


def mark_item(item: Item, broker: int) -> None:
    """Change the owners of an item, whichever it is."""
    if contains(item.owners, broker):
        item.owners = excluding(item.owners, broker)
    else:
        item.owners = including(item.owners, broker) & ~singleton(0)


def owners_of(shelf: Shelf) -> int:
    """Return all owners of a shelf's items."""
    owners = NO_BROKERS
    for place in range(len(shelf.items)):
        owners = owners | shelf.items[place].owners
    return owners


def numbers_as_bits(s: Store) -> int:
    """Return the numbers on the first shelf as bits."""
    bits = 0
    for place in range(len(s.shelves[0].items)):
        bits |= 1 << s.shelves[0].items[place].number
    return bits


def swap(s: Store) -> None:
    """Change both shelves, each by what is on the other."""
    for shelf in range(2):
        other = s.shelves[1 - shelf]
        s.shelves[shelf].apart.owners = owners_of(other) & first_brokers(2)
        if owners_of(other) == 0:
            reset(s.shelves[shelf].apart)
    if numbers_as_bits(s) & 2:
        truncate(s.shelves[0].items, 1)


def mark(s: Store) -> None:
    """Note a mark, and drop the marks where there are three."""
    if len(s.marks) == 3:
        truncate(s.marks, s.shelves[0].open)
    else:
        append(s.marks, s.shelves[1].open)


def shelves_differ(s: Store) -> bool:
    """Not both shelves hold the same item apart, or they hold the empty one."""
    for shelf in range(2):
        if s.shelves[shelf].apart.number == 2 and s.shelves[1 - shelf].apart.number == 2:
            return s.shelves[shelf].apart.owners != s.shelves[1 - shelf].apart.owners
    return True


ANY_SHELF = {"shelf": Range(0, 1)}
STORE = Spec(
    "store",
    "records, sequences and sets, changed through names",
    Store,
    (
        rule("Put", put, params={**ANY_SHELF, "number": Range(1, 2)}),
        rule("SetApart", set_apart, params=ANY_SHELF, guards=(there_is_an_item,)),
        rule("Swap", swap),
        rule("Mark", mark),
    ),
    (invariant("ShelvesDiffer", shelves_differ, "the shelves differ", TOY),),
    bound_sets=(BoundSet("one", {"room": 1}, "quick"),),
)

SPECS = (*NUMBERS, STORE)

# ---------------------------------------------------------------------------------------------------------------------
# What has no form in TLA+


def write_complement(s: Item) -> None:
    """Store the complement of a set, which no set of brokers is."""
    s.owners = ~singleton(1)


def mark_twice(s: Shelf) -> None:
    """Give two names of one record to a function that changes it."""
    mark_both(s.apart, s.apart)


def mark_both(one: Item, other: Item) -> None:
    """Change one record by the other."""
    one.number = 1
    other.number = one.number + 1


REFUSED = (
    (
        Spec("complement", "stores a complement", Item, (rule("Write", write_complement),)),
        "in write_complement: .*owners.*complement",
    ),
    (Spec("two names", "two names of a record", Shelf, (rule("Mark", mark_twice),)), "in mark_twice: .*two names of one record"),
)
