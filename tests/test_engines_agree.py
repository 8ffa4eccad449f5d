"""Cases in which the two engines could silently disagree, and once did: each is refused, or they agree."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import Bound, Flag, Queue, Range, SequenceOf, StateOf, append, field, pop_first, reset
from kafka_spec.spec.vocabulary.table import ItemOf, Machine, Row, Rule, Spec, SpecError, fire, invariant, step_invariant

Explore = Callable[..., Exploration]
ENGINES = [oracle.explore, embedded.explore]


@dataclass
class Item:
    """One number in a queue."""

    number: int = field(Range(0, 9))


@dataclass
class Line:
    """A queue of items, and what was read."""

    queue: list[Item] = field(Queue(Item, 3))
    read: int = field(Range(0, 9))


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


def takes_number_again(number: int) -> bool:
    """Take any number, too."""
    return number >= 0


def takes_other(other: int) -> bool:
    """Take any other number."""
    return other >= 0


def test_guards_are_in_the_order_they_are_evaluated_in() -> None:
    """Guards may be stated in any order; those that need fewer parameters come first, others stay in their order."""
    guards = (takes_number, there_are_items, takes_other, takes_number_again)
    params = {"number": Range(0, 1), "other": Range(0, 1)}
    rule = Rule("Read", "w", "", "", (read_before_the_item_goes,), params, guards)

    assert rule.guards == (there_are_items, takes_number, takes_number_again, takes_other)
    start = Rule("Start", "world", "two items wait", "test", (fill,))
    spec = Spec("ordered", "a queue", Line, (rule,), start=start)
    one, other = (explore(spec, {}) for explore in ENGINES)
    assert (one.levels, one.fired, one.digest) == (other.levels, other.fired, other.digest) and one.generated


SIZE = Bound("size", 0, 9, "items")


@dataclass
class Bag:
    """A sequence that a bound limits, and one that is empty."""

    some: list[int] = field(SequenceOf(Range(0, 9), SIZE))
    none: list[int] = field(SequenceOf(Range(0, 9), 3))


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
    """A rule that cannot be executed is named, even if an earlier rule of the same state ends at a bound."""
    rules = (Rule("Over", "w", "", "", (overflow,)), Rule("Bad", "w", "", "", (read_nothing,)))

    with pytest.raises(SpecError, match="Bad: read_nothing cannot be executed"):
        explore(Spec("faulty", "", Bag, rules), {"size": 0})


def leave_domain(s: Bag) -> None:
    """Append what no item may be."""
    append(s.none, 10)


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize(
    ("effects", "bounded", "verdict"),
    [
        ((overflow, leave_domain), 1, "holds"),
        ((leave_domain, overflow), 0, "violated"),
        ((overflow, read_nothing), 1, "holds"),
        ((leave_domain, read_nothing), 0, "violated"),
    ],
)
def test_of_two_faults_in_a_step_the_first_counts(
    effects: tuple[Callable[[Bag], None], ...], bounded: int, verdict: str, explore: Explore
) -> None:
    """A step ends at the first fault: what its later effects would do makes no difference."""
    result = explore(Spec("faulty", "", Bag, (Rule("Twice", "w", "", "", effects),)), {"size": 0}, everything=True)

    assert (result.bounded["Twice"], result.verdict) == (bounded, verdict)


@pytest.mark.parametrize("explore", ENGINES)
def test_a_step_invariant_that_faults_is_told(explore: Explore) -> None:
    """A step invariant that cannot be evaluated is named."""
    claim = step_invariant("Grows", grows, "", "")

    with pytest.raises(SpecError, match="Grows: grows cannot be executed"):
        explore(Spec("faulty", "", Bag, (Rule("Over", "w", "", "", (overflow,)),), (claim,)), {"size": 1})


@dataclass
class Many:
    """One number."""

    number: int = field(Range(0, 20_000))


def begin_anywhere(s: Many, number: int) -> None:
    """Begin with any number."""
    s.number = number


def stay(s: Many) -> None:
    """Do nothing."""


@pytest.mark.parametrize("threads", [1, 2])
def test_many_initial_states(threads: int) -> None:
    """Twenty thousand initial states fit, for any size of a slice."""
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

    door: int = field(StateOf(Door, "door"))
    dark: int = field(Flag())


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


@pytest.mark.parametrize("explore", ENGINES)
def test_a_row_does_not_fire_unless(explore: Explore) -> None:
    """A row that forbids a guard does not fire if the guard holds."""
    wary = Machine("door", Door, Door.SHUT, (Row("open", (Door.SHUT,), Door.OPEN, unless=(is_light,)), BACK))

    assert explore(HOUSE.replacing("wary", "opens in the dark only", machines=(wary,)), {}).levels == [1]


def look(s: House) -> None:
    """See whether the door is open, as the row is taken."""
    s.dark = s.door


@pytest.mark.parametrize("explore", ENGINES)
def test_effects_of_a_row_see_its_source(explore: Explore) -> None:
    """The effects of a row run before the machine enters its target: they read the source."""
    seen = Machine("door", Door, Door.SHUT, (Row("open", (Door.SHUT,), Door.OPEN, effects=(look,)), BACK))
    version = HOUSE.replacing("seen", "sees the door", machines=(seen,))
    result = explore(version, {}, properties=[invariant("Dark", is_light, "", "")])

    assert (result.levels, result.violated) == ([1, 1], [])


def is_light(s: House) -> bool:
    """It is not dark."""
    return s.dark == 0


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
    """A record that contains a machine's state is not reset: only fire changes the state."""
    with pytest.raises(SpecError, match="holds the state of a machine"):
        explore(HOUSE.replacing("forgetful", "", rules=(Rule("Forget", "w", "", "", (forget,)),)), {})


def take_first(s: Line) -> int:
    """Drop the first item."""
    pop_first(s.queue)
    return 0


def number_of(item: Item, _turn: int) -> int:
    """Return the number of an item."""
    return item.number


def read_across_a_move(s: Line) -> None:
    """Hand an item to a function while another call of the expression drops it."""
    s.read = number_of(s.queue[0], take_first(s))


def add_across_a_move(s: Line) -> None:
    """Add to an item what a call returns that drops it."""
    s.queue[0].number += take_first(s) + 1


@pytest.mark.parametrize("effect", [read_across_a_move, add_across_a_move])
def test_a_call_that_moves_items_stands_alone(effect: Callable[..., None]) -> None:
    """Inside an expression Python and machine code would read different items, so the language refuses such a call."""
    with pytest.raises(SpecError, match="give it a line of its own"):
        Rule("Read", "w", "", "", (effect,))


def read_part_after(s: Line, item: Item) -> None:
    """Read a parameter after items moved."""
    pop_first(s.queue)
    s.read = item.number


def hand_item_over(s: Line) -> None:
    """Hand an item to a function that drops it."""
    read_part_after(s, s.queue[0])


def test_a_parameter_that_may_have_moved_is_refused() -> None:
    """A function that moves items cannot read its parameters afterwards: a parameter may be a moved item."""
    with pytest.raises(SpecError, match="items may have moved since item was named"):
        embedded.explore(_line("handed", hand_item_over), {})


def first_is_one(s: Line) -> bool:
    """The first item is 1."""
    return s.queue[0].number == 1


@pytest.mark.parametrize("explore", ENGINES)
def test_guards_run_before_parameters_they_do_not_need(explore: Explore) -> None:
    """A guard that needs no parameter is evaluated even if a parameter has no value: both engines report its fault."""
    rule = Rule("Read", "w", "", "", (read_before_the_item_goes,), {"item": ItemOf("queue")}, (first_is_one,))

    with pytest.raises(SpecError, match="first_is_one cannot be executed"):
        explore(Spec("early", "", Line, (rule,)), {})


def never(s: Line) -> bool:
    """Never hold."""
    return False


@pytest.mark.parametrize("explore", ENGINES)
def test_no_initial_state_is_refused(explore: Explore) -> None:
    """A spec without an initial state is an error, not a proof."""
    start = Rule("Start", "world", "", "", (fill,), guards=(never,))

    with pytest.raises(SpecError, match="there is no initial state: Start needs that never hold; correct the bounds"):
        explore(Spec("empty", "", Line, HOUSE_LINE, start=start), {})


HOUSE_LINE = (Rule("Read", "world", "reads", "test", (read_before_the_item_goes,), guards=(there_are_items,)),)


def test_a_row_that_fires_itself_is_refused() -> None:
    """A row whose effect fires its own trigger again would never end."""
    cycle = Machine("door", Door, Door.SHUT, (Row("open", (Door.SHUT,), Door.OPEN, effects=(push,)), BACK))

    with pytest.raises(SpecError, match="fires itself again"):
        HOUSE.replacing("circle", "", machines=(cycle,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"summary": "sets {nobody}"}, "names 'nobody'; it may name no parameter"),
        ({"summary": "sets {x"}, "expected '}'"),
        ({"params": {"s": Range(0, 1)}}, "a parameter cannot be named s"),
    ],
)
def test_sentences_and_names_of_rules_are_checked(change: dict[str, object], message: str) -> None:
    """A sentence with an unknown name, and a parameter that hides the state, are refused at import."""
    with pytest.raises(SpecError, match=message):
        Rule(**{"name": "R", "actor": "w", "summary": "", "reference": "", "effects": (fill,), **change})  # type: ignore[arg-type]


def test_built_in_properties_keep_their_names() -> None:
    """A user's property cannot have the name of a built-in one."""
    with pytest.raises(SpecError, match="TypeInvariant is a built-in property"):
        Spec("clash", "", Line, HOUSE_LINE, (invariant("TypeInvariant", never, "", ""),))


def unlike_ten(s: Many) -> bool:
    """Break at 2; cannot be evaluated at 3000."""
    return s.number != 2 and (s.number != 3000 or 1 // (s.number - 3000) == 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_what_faults(threads: int) -> None:
    """The evaluated predicates, and so the faults, are the same for any number of threads, and equal the oracle's."""
    start = Rule("Start", "world", "", "", (begin_anywhere,), {"number": Range(0, 20_000)})
    spec = Spec("many", "", Many, (Rule("Stay", "w", "", "", (stay,)),), (invariant("Unlike", unlike_ten, "", ""),), start=start)

    def outcome(explore: Explore, **options: int) -> object:
        try:
            result = explore(spec, {}, **options)
        except SpecError as error:
            return type(error)
        return result.findings

    assert outcome(embedded.explore, threads=threads) == outcome(oracle.explore)
