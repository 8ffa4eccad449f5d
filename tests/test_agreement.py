"""Where the two engines could part in silence, and once did: what is refused, or agrees."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from model_check import embedded, oracle
from model_check.exploration import Exploration
from spec.domain import Bound, Bounded, Flag, Queue, Range, StateOf, append, holds, pop_first, reset
from spec.table import Machine, Row, Rule, Spec, SpecError, fire, step_invariant

Explore = Callable[..., Exploration]
ENGINES = [oracle.explore, embedded.explore]


@dataclass
class Item:
    """One number in a queue."""

    number: int = holds(Range(0, 9))


@dataclass
class Line:
    """A queue of items, and what was read."""

    queue: list[Item] = holds(Queue(Item, 3))
    read: int = holds(Range(0, 9))


def fill(s: Line) -> None:
    """Put two items into the queue."""
    append(s.queue, number=1)
    append(s.queue, number=2)


def read_after_the_item_has_gone(s: Line) -> None:
    """Name the first item, drop it, read the name."""
    item = s.queue[0]
    pop_first(s.queue)
    s.read = item.number


def read_in_a_loop(s: Line) -> None:
    """Name the first item before a loop that drops items."""
    item = s.queue[0]
    for _turn in range(2):
        s.read = item.number
        pop_first(s.queue)


def read_before_the_item_goes(s: Line) -> None:
    """Read the first item, then drop it."""
    item = s.queue[0]
    s.read = item.number
    pop_first(s.queue)


def there_are_items(s: Line) -> bool:
    """The queue is not empty."""
    return len(s.queue) > 0


def _line(name: str, effect: Callable[..., None]) -> Spec:
    start = Rule("Start", "world", "two items wait", "test", (fill,))
    return Spec(name, "a queue", Line, (Rule("Read", "world", "reads", "test", (effect,), guards=(there_are_items,)),), start=start)


@pytest.mark.parametrize("effect", [read_after_the_item_has_gone, read_in_a_loop])
def test_a_name_for_an_item_that_may_have_moved_is_refused(effect: Callable[..., None]) -> None:
    """Python would read the old item and machine code its old place, so the compiler refuses the name."""
    with pytest.raises(SpecError, match="items may have moved since item was named"):
        embedded.explore(_line("stale", effect), {})


def test_reading_first_is_fine() -> None:
    """A name that is read before items move means the same in both engines."""
    one, other = (explore(_line("fresh", read_before_the_item_goes), {}) for explore in ENGINES)

    assert (one.levels, one.digest) == (other.levels, other.digest)


def takes_number(s: Line, number: int) -> bool:
    """Take any number."""
    return number >= 0


def test_guards_stand_in_the_order_they_are_evaluated_in() -> None:
    """A guard that needs fewer parameters than one before it is refused: it would be evaluated first."""
    with pytest.raises(SpecError, match="guard there_are_items needs fewer parameters than the one before it"):
        Rule("Read", "w", "", "", (read_before_the_item_goes,), {"number": Range(0, 1)}, (takes_number, there_are_items))


SIZE = Bound("size", 0, 9, "items")


@dataclass
class Bag:
    """A sequence that a bound limits, and one that is empty."""

    some: list[int] = holds(Bounded(Range(0, 9), SIZE))
    none: list[int] = holds(Bounded(Range(0, 9), 3))


def overflow(s: Bag) -> None:
    """Append beyond the bound."""
    append(s.some, 1)


def read_nothing(s: Bag) -> None:
    """Read what is not there."""
    append(s.none, s.none[0])


def grows(before: Bag, after: Bag) -> bool:
    """Claim something that cannot be evaluated."""
    return before.none[0] <= after.none[0]


@pytest.mark.parametrize("explore", ENGINES)
def test_a_fault_is_told_beside_a_bound(explore: Explore) -> None:
    """A rule that cannot be executed is named, though an earlier rule of the same state ends at a bound."""
    rules = (Rule("Over", "w", "", "", (overflow,)), Rule("Bad", "w", "", "", (read_nothing,)))

    with pytest.raises(SpecError, match="Bad: read_nothing cannot be executed"):
        explore(Spec("faulty", "", Bag, rules), {"size": 0})


@pytest.mark.parametrize("explore", ENGINES)
def test_a_step_invariant_that_faults_is_told(explore: Explore) -> None:
    """A step invariant that cannot be evaluated is named."""
    claim = step_invariant("Grows", grows, "", "")

    with pytest.raises(SpecError, match="Grows: grows cannot be executed"):
        explore(Spec("faulty", "", Bag, (Rule("Over", "w", "", "", (overflow,)),), (claim,)), {"size": 1})


@dataclass
class Many:
    """One number."""

    number: int = holds(Range(0, 20_000))


def begin_anywhere(s: Many, number: int) -> None:
    """Begin with any number."""
    s.number = number


def stay(s: Many) -> None:
    """Do nothing."""


@pytest.mark.parametrize("threads", [1, 2])
def test_many_initial_states(threads: int) -> None:
    """Twenty thousand initial states fit, whatever the size of a slice."""
    start = Rule("Start", "world", "", "", (begin_anywhere,), {"number": Range(0, 20_000)})
    result = embedded.explore(Spec("many", "", Many, (Rule("Stay", "w", "", "", (stay,)),), start=start), {}, threads=threads)

    assert (result.levels, result.fired["Stay"], result.complete) == ([20_001], 20_001, True)


class Door(enum.IntEnum):
    """The states of a door."""

    SHUT = 0
    OPEN = 1


def is_dark(s: House) -> bool:
    """It is dark."""
    return s.dark == 1


BACK = Row("shut", (Door.OPEN,), Door.SHUT)
DOOR = Machine("door", Door, Door.SHUT, (Row("open", (Door.SHUT,), Door.OPEN), BACK))


@dataclass
class House:
    """A house with a door."""

    door: int = holds(StateOf(Door, "door"))
    dark: int = holds(Flag())


def push(s: House, k: object) -> None:
    """Push the door open."""
    fire(s, k, DOOR, (), "open")


def pull(s: House, k: object) -> None:
    """Pull the door shut."""
    fire(s, k, DOOR, (), "shut")


HOUSE = Spec("house", "", House, (Rule("Push", "w", "", "", (push,)), Rule("Pull", "w", "", "", (pull,))), machines=(DOOR,))


@pytest.mark.parametrize("explore", ENGINES)
def test_a_version_may_replace_a_machine(explore: Explore) -> None:
    """`replacing(machines=...)` changes what fire does, though the rules name the machine of the base."""
    locked = Machine("door", Door, Door.SHUT, (Row("open", (Door.SHUT,), Door.OPEN, guards=(is_dark,)), BACK))
    version = HOUSE.replacing("locked", "opens in the dark only", machines=(locked,))

    assert explore(HOUSE, {}).levels == [1, 1]
    assert explore(version, {}).levels == [1]


def test_a_machine_and_its_field_start_alike() -> None:
    """A machine that starts in another state than its field is refused."""
    other = Machine("door", Door, Door.OPEN, DOOR.rows)

    with pytest.raises(SpecError, match="must hold the states of machine door and start in OPEN"):
        Spec("wrong", "", House, HOUSE.rules, machines=(other,))


def forget(s: House) -> None:
    """Reset everything, the door too."""
    reset(s)


@pytest.mark.parametrize("explore", ENGINES)
def test_reset_cannot_change_a_machine(explore: Explore) -> None:
    """A record that holds a machine's state is not reset: only fire changes that."""
    with pytest.raises(SpecError, match="holds the state of a machine"):
        explore(HOUSE.replacing("forgetful", "", rules=(Rule("Forget", "w", "", "", (forget,)),)), {})
