"""Small specs made by hand, whose state spaces are known: what the tests of tables and engines run on.

Each is a dataclass state with a rule or two, and shows one thing: an invariant that breaks at a known step, a step that leaves
a domain or a bound, an effect that cannot be executed, a queue, a machine.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

from kafka_spec.spec.brokers import Assignment, Broker, PerBroker
from kafka_spec.spec.language.domain import (
    ArrayOf,
    Bound,
    Flag,
    OneOf,
    Queue,
    Range,
    SequenceOf,
    StateOf,
    append,
    field,
    pop_first,
    tagged,
    truncate,
)
from kafka_spec.spec.vocabulary.table import (
    BoundSet,
    Decision,
    ItemOf,
    Machine,
    Row,
    Rule,
    Spec,
    fire,
    invariant,
    leads_to,
    reachable,
    recoverable,
    step_invariant,
)
from tests.ring import RING

TOY = "a toy"


def rule(name: str, *effects: Any, guards: tuple[Any, ...] = (), **other: Any) -> Rule:
    """Return a rule of the world with these effects."""
    return Rule(name, "world", f"the world does {name}", TOY, effects, guards=guards, **other)


# ---------------------------------------------------------------------------------------------------------------------
# Counters

LIMIT = Bound("limit", 1, 300, "how far the counter counts")


@dataclass
class Count:
    """A number from 0 to the limit."""

    value: int = field(Range(0, LIMIT))


def is_below_limit(s: Count, k: Any) -> bool:
    """The counter can go on."""
    return s.value < k.limit


def count_up(s: Count) -> None:
    """Count one more."""
    s.value += 1


def is_within_limit(s: Count, k: Any) -> bool:
    """The value is between 0 and the limit."""
    return 0 <= s.value <= k.limit


def is_below_three(s: Count) -> bool:
    """The value is less than 3."""
    return s.value < 3


def is_at_limit(s: Count, k: Any) -> bool:
    """The counter has arrived."""
    return s.value == k.limit


def is_past_limit(s: Count, k: Any) -> bool:
    """The counter is beyond its limit, where it never is."""
    return s.value > k.limit


def start_over(s: Count) -> None:
    """Count from 0 again."""
    s.value = 0


def never_goes_down(before: Count, after: Count) -> bool:
    """The value after a step is not less than before."""
    return before.value <= after.value


FIVE = (BoundSet("five", {"limit": 5}, "enough to see it"),)
WITHIN = invariant("Within", is_within_limit, "the value is within the limit", TOY)
BELOW_THREE = invariant("BelowThree", is_below_three, "the value is below 3", TOY)
NEVER_DOWN = step_invariant("NeverDown", never_goes_down, "the value never goes down", TOY)
ARRIVES = reachable("Arrives", is_at_limit, "the counter arrives", TOY)
PASSES = reachable("Passes", is_past_limit, "the counter passes its limit", TOY)
COUNT_UP = rule("CountUp", count_up, guards=(is_below_limit,))

COUNTER = Spec("counter", "counts to the limit", Count, (COUNT_UP,), (WITHIN, ARRIVES), bound_sets=FIVE)
"""0 to the limit, one state in each level; stuck at the end."""

BREAKS_AT_THREE = Spec("breaks at three", "an invariant breaks", Count, (COUNT_UP,), (WITHIN, BELOW_THREE), bound_sets=FIVE)
"""The invariant breaks after three steps."""

GOES_BACK = Spec(
    "goes back",
    "a step invariant breaks on an edge to a known state",
    Count,
    (COUNT_UP, rule("StartOver", start_over, guards=(is_at_limit,))),
    (NEVER_DOWN,),
    bound_sets=FIVE,
)
"""The edge from the limit back to 0 leads to a state that is long known, and breaks the step invariant."""

COMMANDED = GOES_BACK.replacing(
    "commanded",
    "an operator breaks a step invariant",
    rules=(rule("StartOver", start_over, guards=(is_at_limit,), kind="operator"),),
)
"""The step that breaks the step invariant is an operator's."""

FAULTY = GOES_BACK.replacing(
    "faulty", "a fault breaks a step invariant", rules=(rule("StartOver", start_over, guards=(is_at_limit,), kind="fault"),)
)
"""The step that breaks the step invariant is a fault."""

NEVER_PASSES = Spec("never passes", "a goal is not reached", Count, (COUNT_UP,), (PASSES,), bound_sets=FIVE)
DEAD_RULE = Spec(
    "dead rule", "a rule never fires", Count, (COUNT_UP, rule("Jump", start_over, guards=(is_past_limit,))), bound_sets=FIVE
)
LEAVES_BOUND = Spec("leaves bound", "counts on until the bound cuts it off", Count, (rule("CountUp", count_up),), bound_sets=FIVE)
CUT_OFF = Spec(
    "cut off", "a predicate of the exploration cuts it off", Count, (rule("CountUp", count_up, bound_guards=(is_below_three,)),),
    bound_sets=FIVE,
)  # fmt: skip
"""Three is the last state, though the domain goes to the limit."""


@dataclass
class Digit:
    """A number from 0 to 3, which is a fact and no bound."""

    value: int = field(Range(0, 3))
    items: list[int] = field(SequenceOf(Range(0, 3), 2))
    flags: list[int] = field(ArrayOf(Flag(), 2))


LEAVES_DOMAIN = Spec("leaves domain", "counts out of its domain", Digit, (rule("CountUp", count_up),))
"""3 + 1 leaves 0..3: the type invariant is violated after four steps."""


def read_behind(s: Digit) -> None:
    """Read the flag of the index that the value is, of which there are two."""
    s.flags[1] = s.flags[s.value]
    s.value += 1


def read_nothing(s: Digit) -> bool:
    """Read the first item where there is none."""
    return s.items[0] == 0


def is_two(s: Digit) -> bool:
    """The value is 2."""
    return s.value == 2


def reads_nothing_at_two(s: Digit) -> bool:
    """Read the first item, which is not there, at 2."""
    return s.value < 2 or s.items[0] == 0


def divide(s: Digit) -> None:
    """Divide by what is 0 at 2."""
    s.value = 1 + s.value + 0 // (2 - s.value)


def step_reads_nothing(before: Digit, after: Digit) -> bool:
    """Read the first item, which is not there, after 2."""
    return after.value < 2 or before.items[0] == 0


def shift_away(s: Digit) -> None:
    """Shift by what is negative at 2."""
    s.value = s.value + (1 << (1 - s.value))


def take_from_nothing(s: Digit) -> None:
    """Take the first item, which is not there."""
    pop_first(s.items)


def truncate_below_nothing(s: Digit) -> None:
    """Truncate to less than nothing."""
    truncate(s.items, s.value - 1)


EFFECT_RAISES = Spec("effect raises", "an index is outside", Digit, (rule("ReadBehind", read_behind),))
GUARD_RAISES = Spec(
    "guard raises", "a guard reads what is not there", Digit, (rule("ReadNothing", count_up, guards=(read_nothing,)),)
)
PROPERTY_RAISES = Spec(
    "property raises", "a property reads what is not there", Digit, (rule("CountUp", count_up),),
    (invariant("ReadsNothing", reads_nothing_at_two, "it reads", TOY),),
)  # fmt: skip
STEP_PROPERTY_RAISES = Spec(
    "step property raises", "a step invariant reads what is not there", Digit, (rule("CountUp", count_up),),
    (step_invariant("StepReadsNothing", step_reads_nothing, "it reads", TOY),),
)  # fmt: skip
DIVIDES = Spec("divides", "a division by zero", Digit, (rule("Divide", divide),))
SHIFTS = Spec("shifts", "a shift by less than 0", Digit, (rule("ShiftAway", shift_away),))
TAKES = Spec("takes", "takes from an empty sequence", Digit, (rule("Take", take_from_nothing),))
TRUNCATES = Spec("truncates", "truncates below 0", Digit, (rule("Truncate", truncate_below_nothing),))


@dataclass
class Edges:
    """Numbers that fill their bytes: nothing larger, or smaller, fits into them."""

    byte: int = field(Range(253, 255))
    signed: int = field(Range(126, 127))
    negative: int = field(Range(-128, -127, -127))
    word: int = field(Range(65_534, 65_535))
    least: int = field(Range(-32_768, -32_767, -32_767))


def raise_byte(s: Edges) -> None:
    """Count to 255, and on."""
    s.byte += 1


def raise_signed(s: Edges) -> None:
    """Count to 127, and on."""
    s.signed += 1


def lower_negative(s: Edges) -> None:
    """Count down to -128, and on."""
    s.negative -= 1


def raise_word(s: Edges) -> None:
    """Count to 65,535, and on."""
    s.word += 1


def lower_least(s: Edges) -> None:
    """Count down to -32,768, and on."""
    s.least -= 1


FULL_BYTES: tuple[Spec, ...] = tuple(
    Spec(f"full bytes, {effect.__name__}", "counts until nothing more fits", Edges, (rule("Count", effect),))
    for effect in (raise_byte, raise_signed, lower_negative, raise_word, lower_least)
)
"""Each counts to the edge of its field's bytes and one further."""


@dataclass
class Pair:
    """Two numbers."""

    first: int = field(Range(0, 2))
    second: int = field(Range(0, 5))


def choose(s: Pair, first: int, second: int) -> None:
    """Take both numbers."""
    s.first = first
    s.second = second


def is_last_pair(s: Pair) -> bool:
    """Both numbers are the largest."""
    return s.first == 2 and s.second == 5


PAIRS = Spec(
    "pairs",
    "two numbers are chosen at once",
    Pair,
    (rule("Choose", choose, params={"first": Range(0, 2), "second": Range(0, 5)}),),
    (reachable("LastPair", is_last_pair, "the last value of each parameter is taken", TOY),),
)
"""Eighteen states; the second parameter has six values."""

# ---------------------------------------------------------------------------------------------------------------------
# Machines


class Door(enum.IntEnum):
    """The states of a door."""

    SHUT = 0
    OPEN = 1
    LOCKED = 2


@dataclass
class House:
    """Two doors, how often they were tried, and whether there is a key."""

    doors: list[int] = field(PerBroker(StateOf(Door, "Door"), 2))
    tries: int = field(Range(0, 3))
    refused: int = field(Range(0, 3))
    key: int = field(Flag())


def there_is_a_key(s: House) -> bool:
    """The key was found."""
    return s.key == 1


def there_is_no_key(s: House) -> bool:
    """The key was not found."""
    return s.key == 0


def note_try(s: House) -> None:
    """Count the try."""
    s.tries = min(3, s.tries + 1)


def is_first_door(door: int) -> bool:
    """The door is the first."""
    return door == 0


def is_any_door(door: int) -> bool:
    """The door is one of the two."""
    return door >= 0


DOOR = Machine(
    "Door",
    Door,
    Door.SHUT,
    (
        Row("open", (Door.SHUT,), Door.OPEN, effects=(note_try,)),
        Row("open", (Door.LOCKED,), Door.OPEN, guards=(there_is_a_key,), effects=(note_try,)),
        Row("shut", (Door.OPEN,), Door.SHUT),
        Row("lock", (Door.SHUT,), Door.LOCKED, guards=(there_is_a_key,)),
    ),
    entity=("door",),
)

CLASHING = Machine(
    "Door",
    Door,
    Door.SHUT,
    (
        Row("open", (Door.SHUT,), Door.OPEN, guards=(is_first_door,)),
        Row("open", (Door.SHUT,), Door.LOCKED, guards=(is_any_door,)),
    ),
    entity=("door",),
)
"""Both rows fit the first door: the guards differ, so only running the table tells that they overlap."""

WAITING = Machine(
    "Door",
    Door,
    Door.SHUT,
    (
        Row("open", (Door.SHUT,), Door.OPEN),
        Row("lock", (Door.SHUT, Door.OPEN), Door.LOCKED, waits_for="keys"),
    ),
    entity=("door",),
)

ANY_DOOR = {"door": Broker(2)}


def try_to_open(s: House, k: Any, door: int) -> None:
    """Open the door; where the table refuses, that is counted."""
    if not fire(s, k, DOOR, (door,), "open"):
        s.refused = min(3, s.refused + 1)


def shut_door(s: House, k: Any, door: int) -> None:
    """Shut the door."""
    fire(s, k, DOOR, (door,), "shut")


def lock_door(s: House, k: Any, door: int) -> None:
    """Lock the door."""
    fire(s, k, DOOR, (door,), "lock")


def find_key(s: House) -> None:
    """Find the key."""
    s.key = 1


def open_clashing(s: House, k: Any, door: int) -> None:
    """Open a door by the table whose rows overlap."""
    fire(s, k, CLASHING, (door,), "open")


def lock_waiting(s: House, k: Any, door: int) -> None:
    """Lock a door by a row that waits."""
    fire(s, k, WAITING, (door,), "lock")


def shut_beyond(s: House, k: Any) -> None:
    """Shut a door that is not there."""
    fire(s, k, DOOR, (2,), "shut")


def both_doors_are_locked(s: House) -> bool:
    """Both doors are locked."""
    return s.doors[0] == Door.LOCKED and s.doors[1] == Door.LOCKED


def locked_doors_have_a_key(s: House) -> bool:
    """Where a door is locked there is a key."""
    for door in range(len(s.doors)):
        if s.doors[door] == Door.LOCKED and s.key == 0:
            return False
    return True


DOORS = Spec(
    "doors",
    "two doors and a key",
    House,
    (
        rule("Open", try_to_open, params=ANY_DOOR),
        rule("Shut", shut_door, params=ANY_DOOR),
        rule("Lock", lock_door, params=ANY_DOOR),
        rule("FindKey", find_key, guards=(there_is_no_key,)),
    ),
    (
        invariant("LockedWithKey", locked_doors_have_a_key, "a locked door has a key", TOY),
        reachable("BothLocked", both_doors_are_locked, "both doors are locked", TOY),
    ),
    machines=(DOOR,),
)

OVERLAPPING = Spec(
    "overlapping", "rows overlap", House, (rule("OpenClashing", open_clashing, params=ANY_DOOR),), machines=(CLASHING,)
)
WAITS = Spec("waits", "a row waits", House, (rule("LockWaiting", lock_waiting, params=ANY_DOOR),), machines=(WAITING,))
NO_SUCH_DOOR = Spec("no such door", "an entity is not there", House, (rule("ShutBeyond", shut_beyond),), machines=(DOOR,))


# ---------------------------------------------------------------------------------------------------------------------
# Messages and assignments


class Kind(enum.IntEnum):
    """What a message is."""

    PING = 0
    PONG = 1
    STOP = 2


@tagged("kind", {Kind.PING: ("number",), Kind.PONG: ("number", "sender"), Kind.STOP: ()})
@dataclass
class Message:
    """A ping, a pong with its sender, or the end."""

    kind: int = field(OneOf(Kind))
    number: int = field(Range(-1, 2, -1))
    sender: int = field(Broker(2))


@dataclass
class Network:
    """A channel, and how many pings and pongs went through it."""

    channel: list[Message] = field(Queue(Message, 2))
    sent: int = field(Range(0, 3))
    answered: int = field(Range(0, 3))


def a_ping_is_left(s: Network) -> bool:
    """Fewer than three pings were sent, and the channel has room."""
    return s.sent < 3 and len(s.channel) < 2


def send_ping(s: Network) -> None:
    """Send a ping."""
    append(s.channel, kind=Kind.PING, number=min(2, s.sent))
    s.sent += 1


def first_is_ping(s: Network, message: int) -> bool:
    """The message is the first, and a ping."""
    return message == 0 and s.channel[message].kind == Kind.PING


def first_is_pong(s: Network, message: int) -> bool:
    """The message is the first, and a pong."""
    return message == 0 and s.channel[message].kind == Kind.PONG


def answer_ping(s: Network, sender: int) -> None:
    """Take the ping and send a pong of its number."""
    number = s.channel[0].number
    pop_first(s.channel)
    append(s.channel, kind=Kind.PONG, number=number, sender=sender)


def take_pong(s: Network) -> None:
    """Take the pong."""
    pop_first(s.channel)
    s.answered += 1


def answers_follow_pings(s: Network) -> bool:
    """No more pongs were taken than pings sent."""
    return s.answered <= s.sent


def stop_has_number(s: Network) -> None:
    """Send a stop with a number, which means nothing there."""
    append(s.channel, kind=Kind.STOP, number=1)


A_MESSAGE = {"message": ItemOf("channel")}
CHANNEL = Spec(
    "channel",
    "a FIFO channel with pings and pongs",
    Network,
    (
        rule("SendPing", send_ping, guards=(a_ping_is_left,)),
        rule("AnswerPing", answer_ping, guards=(first_is_ping,), params={**A_MESSAGE, "sender": Broker(2)}),
        rule("TakePong", take_pong, guards=(first_is_pong,), params=A_MESSAGE),
    ),
    (invariant("AnswersFollow", answers_follow_pings, "no pong without ping", TOY),),
)
MEANINGLESS = Spec("meaningless", "a field of another kind of message is set", Network, (rule("StopHasNumber", stop_has_number),))


@dataclass
class Numbers:
    """Numbers in a row, and the one that was picked."""

    numbers: list[int] = field(SequenceOf(Range(0, 9), 3))
    picked: int = field(Range(0, 9))


def line_up(s: Numbers) -> None:
    """Put two numbers into the row, which has room for three."""
    append(s.numbers, 7)
    append(s.numbers, 8)


def pick(s: Numbers, place: int) -> None:
    """Pick a number."""
    s.picked = s.numbers[place]


PICKS = Spec(
    "picks", "any of two numbers is picked", Numbers, (rule("Pick", pick, params={"place": ItemOf("numbers")}),),
    start=Rule("Start", "world", "two numbers stand in a row", TOY, (line_up,)),
)  # fmt: skip
"""Three states: none was picked, the first, the second."""


@dataclass
class Assigned:
    """The assigned replicas of a partition, in order."""

    replicas: list[int] = field(Assignment(3))


def assign_first(s: Assigned, broker: int) -> None:
    """Add the broker at the end."""
    append(s.replicas, broker)


def is_not_assigned(s: Assigned, broker: int) -> bool:
    """The broker stands nowhere."""
    for place in range(len(s.replicas)):
        if s.replicas[place] == broker:
            return False
    return True


ANY_BROKER = {"broker": Broker(3)}
ASSIGNS = Spec(
    "assigns", "orders of three brokers", Assigned, (rule("Assign", assign_first, guards=(is_not_assigned,), params=ANY_BROKER),)
)
ASSIGNS_TWICE = Spec("assigns twice", "a broker is assigned twice", Assigned, (rule("Assign", assign_first, params=ANY_BROKER),))


# ---------------------------------------------------------------------------------------------------------------------
# Starts, ends, decisions


class Pace(enum.IntEnum):
    """How fast to count."""

    SLOW = 1
    FAST = 2


def start_at(s: Count, at: int) -> None:
    """Begin with this value."""
    s.value = at


def is_even(at: int) -> bool:
    """The value is even."""
    return at % 2 == 0


def pace_is_left(s: Count, k: Any) -> bool:
    """The limit lets the pace go on."""
    return s.value + k.pace <= k.limit


def count_at_pace(s: Count, k: Any) -> None:
    """Count by the pace."""
    s.value += k.pace


STARTS = Rule("Start", "world", "starts at {at}", TOY, (start_at,), params={"at": Range(0, 4)}, guards=(is_even,))
SEVERAL_STARTS = Spec("several starts", "begins at 0, 2 or 4", Count, (COUNT_UP,), (BELOW_THREE,), start=STARTS, bound_sets=FIVE)
PACED = Spec(
    "paced",
    "counts by a decided pace",
    Count,
    (rule("CountAtPace", count_at_pace, guards=(pace_is_left,)),),
    (ARRIVES,),
    decisions=(Decision("pace", Pace.SLOW, "how fast"),),
    bound_sets=FIVE,
)
FAST_PACED = PACED.replacing("fast paced", "counts by two", decisions={"pace": Pace.FAST})


@dataclass
class Grid:
    """Four numbers: enough states for threads to share."""

    cells: list[int] = field(ArrayOf(Range(0, LIMIT), 4))


def cell_has_room(s: Grid, k: Any, cell: int) -> bool:
    """The cell is below the limit."""
    return s.cells[cell] < k.limit


def raise_cell(s: Grid, cell: int) -> None:
    """Count the cell up."""
    s.cells[cell] += 1


def cells_are_not_all_equal_to_six(s: Grid) -> bool:
    """Not every cell is 6."""
    for cell in range(len(s.cells)):
        if s.cells[cell] != 6:
            return True
    return False


GRID = Spec(
    "grid",
    "four counters",
    Grid,
    (rule("RaiseCell", raise_cell, guards=(cell_has_room,), params={"cell": Range(0, 3)}),),
    (invariant("NotAllSix", cells_are_not_all_equal_to_six, "not every cell is 6", TOY),),
    bound_sets=(BoundSet("nine", {"limit": 9}, "ten thousand states"),),
)

# ---------------------------------------------------------------------------------------------------------------------
# Ways back


@dataclass
class Walker:
    """Where somebody is; home is 0."""

    at: int = field(Range(0, 5))


def is_home(s: Walker) -> bool:
    """The walker is at 0."""
    return s.at == 0


def is_at_three(s: Walker) -> bool:
    """The walker is at 3."""
    return s.at == 3


def is_before_four(s: Walker) -> bool:
    """The walker is at less than 4."""
    return s.at < 4


def is_at_one(s: Walker) -> bool:
    """The walker is at 1."""
    return s.at == 1


def is_at_four(s: Walker) -> bool:
    """The walker is at 4."""
    return s.at == 4


def nobody_goes(s: Walker) -> bool:
    """Nobody goes within the exploration."""
    return s.at > 5


def walk_on(s: Walker) -> None:
    """Go one further."""
    s.at += 1


def turn_back(s: Walker) -> None:
    """Go one back."""
    s.at -= 1


def go_home(s: Walker) -> None:
    """Go home."""
    s.at = 0


def fall(s: Walker, where: int) -> None:
    """Fall somewhere."""
    s.at = where


HOME = recoverable("Home", is_home, "wherever somebody is, a way leads home", TOY)
AT_THREE = recoverable("AtThree", is_at_three, "wherever somebody is, a way leads to 3", TOY)
GOES_HOME = rule("GoHome", go_home, guards=(is_at_one,))
WALKS = (rule("WalkOn", walk_on, guards=(is_before_four,)), GOES_HOME, rule("TurnBack", turn_back, guards=(is_at_four,)))
IS_FETCHED = rule("IsFetched", go_home, guards=(is_at_three,), kind="operator")

TRAP = Spec("trap", "a way leads home from 1, and none from 2, 3 and 4", Walker, WALKS, (HOME, AT_THREE))
"""2 is the first state without a way home; 3 can be reached from everywhere."""

FETCHED = TRAP.replacing("fetched", "an operator leads out of the trap", rules=(IS_FETCHED,))
LOST = TRAP.replacing("lost", "a fault leads out of the trap", rules=(rule("Slip", go_home, guards=(is_at_three,), kind="fault"),))
RETURNS = TRAP.replacing("returns", "the protocol leads home from 3", rules=(rule("IsFetched", go_home, guards=(is_at_three,)),))
UNDECIDED = TRAP.replacing(
    "undecided", "only a bound keeps the protocol from going home",
    rules=(rule("IsFetched", go_home, guards=(is_at_four,), bound_guards=(nobody_goes,)),),
)  # fmt: skip
CUT_OPERATOR = TRAP.replacing(
    "cut operator", "only a bound keeps an operator from going home",
    rules=(rule("IsFetched", go_home, guards=(is_at_four,), bound_guards=(nobody_goes,), kind="operator"),),
)  # fmt: skip
FALLS = Spec(
    "falls", "many states of one level have no way home", Walker,
    (rule("Fall", fall, guards=(is_home,), params={"where": Range(1, 5)}), GOES_HOME), (HOME,),
)  # fmt: skip
"""Level 1 holds 1, from where a way leads home, and four states from which none does."""

WALKS_AWAY = Spec("walks away", "walks out of its domain", Walker, (rule("WalkOn", walk_on),), (AT_THREE,))
"""4 and 5 have no way to 3; the step out of 5 leaves the domain."""


def is_fresh(s: Count) -> bool:
    """The counter is at 0."""
    return s.value == 0


STARTS_OVER = recoverable("StartsOver", is_fresh, "a way leads back to 0", TOY)
COUNTS_AWAY = Spec(
    "counts away", "counts on until the bound cuts it off", Count, (rule("CountUp", count_up),), (STARTS_OVER,), bound_sets=FIVE
)
"""What is beyond the bound nobody knows, so that no state is certain to have no way back."""

BREAKS_AND_TRAPS = Spec(
    "breaks and traps", "an invariant breaks, and there is no way back", Count, (COUNT_UP,), (BELOW_THREE, STARTS_OVER),
    bound_sets=FIVE,
)  # fmt: skip


def cell_can_fall(s: Grid, k: Any, cell: int) -> bool:
    """The cell is neither empty nor full."""
    return s.cells[cell] > 0 and s.cells[cell] < k.limit


def lower_cell(s: Grid, cell: int) -> None:
    """Count the cell down."""
    s.cells[cell] -= 1


def cells_are_empty(s: Grid) -> bool:
    """Every cell is 0."""
    for cell in range(len(s.cells)):
        if s.cells[cell] != 0:
            return False
    return True


GRID_TRAP = Spec(
    "grid trap",
    "four counters that go up and down, until they are full",
    Grid,
    (GRID.rules[0], rule("LowerCell", lower_cell, guards=(cell_can_fall,), params={"cell": Range(0, 3)})),
    (recoverable("Empties", cells_are_empty, "every cell can become empty", TOY),),
    bound_sets=GRID.bound_sets,
)
"""Every state with a full cell is lost: four are in the level of the limit."""

RECOVERABLE: tuple[Spec, ...] = (
    TRAP, FETCHED, LOST, RETURNS, UNDECIDED, CUT_OPERATOR, FALLS, WALKS_AWAY, COUNTS_AWAY, BREAKS_AND_TRAPS, GRID_TRAP,
)  # fmt: skip

RECOVERY_RAISES = Spec(
    "recovery raises", "a predicate reads what is not there", Digit, (rule("CountUp", count_up),),
    (recoverable("ReadsBack", reads_nothing_at_two, "it reads", TOY),),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Antecedents


def is_odd(s: Count) -> bool:
    """The value is odd."""
    return s.value & 1 == 1


def is_high(s: Count) -> bool:
    """The value is 3 or more."""
    return s.value >= 3


def starts_over(before: Count, after: Count) -> bool:
    """The step leads to 0."""
    return after.value == 0


def counts_on(before: Count, after: Count) -> bool:
    """The step leads to another value than 0."""
    return after.value != 0


TESTED = Spec(
    "tested",
    "claims that are made of some states and steps only",
    Count,
    (COUNT_UP, rule("StartOver", start_over, guards=(is_at_limit,))),
    (
        invariant("HighIsWithin", is_within_limit, "what is high is within the limit", TOY, when=is_high),
        invariant("PastIsLow", is_below_three, "what is past the limit is below 3", TOY, when=is_past_limit),
        invariant("OddIsLow", is_below_three, "what is odd is below 3", TOY, when=is_odd),
        invariant("Within", is_within_limit, "the value is within the limit", TOY),
        step_invariant("CountsUp", never_goes_down, "who counts on counts up", TOY, when=counts_on),
        step_invariant("OverIsUp", never_goes_down, "who starts over counts up", TOY, when=starts_over),
        recoverable("OddArrives", is_at_limit, "what is odd may arrive", TOY, when=is_odd),
        recoverable("OddIsStuck", is_past_limit, "what is odd may pass the limit", TOY, when=is_odd),
    ),
    bound_sets=FIVE,
)
"""0 to 5 and back to 0: 1, 3 and 5 are odd, 3, 4 and 5 are high, of six steps one leads to 0."""

# ---------------------------------------------------------------------------------------------------------------------
# Fairness: a lock that two ask for


@dataclass
class Lock:
    """Who holds a lock, who waits for it, and whether its light is on."""

    holder: int = field(Range(0, 2))
    """0: nobody; else one more than the client."""
    waits: list[int] = field(ArrayOf(Flag(), 2))
    light: int = field(Flag())


def asks_not(s: Lock, client: int) -> bool:
    """The client neither waits nor holds the lock."""
    return s.waits[client] == 0 and s.holder != client + 1


def ask(s: Lock, client: int) -> None:
    """Wait for the lock."""
    s.waits[client] = 1


def can_get(s: Lock, client: int) -> bool:
    """The lock is free, and the client waits."""
    return s.holder == 0 and s.waits[client] == 1


def get(s: Lock, client: int) -> None:
    """Take the lock."""
    s.holder = client + 1
    s.waits[client] = 0


def has(s: Lock, client: int) -> bool:
    """The client holds the lock."""
    return s.holder == client + 1


def give_back(s: Lock, client: int) -> None:
    """Give the lock back."""
    s.holder = 0


def switch(s: Lock) -> None:
    """Turn the light on or off."""
    s.light = 1 - s.light


def first_waits(s: Lock) -> bool:
    """The first client waits."""
    return s.waits[0] == 1


def first_has(s: Lock) -> bool:
    """The first client holds the lock."""
    return s.holder == 1


def is_free(s: Lock) -> bool:
    """Nobody holds the lock."""
    return s.holder == 0


A_CLIENT = {"client": Range(0, 1)}
ASKS = Rule("Ask", "client {client}", "{client} asks", "", (ask,), A_CLIENT, (asks_not,), fairness="none")
GET = Rule("Get", "client {client}", "{client} gets the lock", "", (get,), A_CLIENT, (can_get,))
GIVE_BACK = Rule("GiveBack", "client {client}", "{client} gives the lock back", "", (give_back,), A_CLIENT, (has,))
SWITCH = Rule("Switch", "nobody", "the light changes", "", (switch,), fairness="none")
GRANTED = leads_to("Granted", first_waits, first_has, "who waits is granted the lock", "a toy")
FREED = leads_to("Freed", first_has, is_free, "the lock is given back", "a toy")

WEAK_LOCK = Spec(
    "weak lock",
    "a lock that is given to anybody who waits",
    Lock,
    (ASKS, GET, GIVE_BACK, SWITCH),
    (GRANTED, FREED),
    fairness="weak each",
)
"""The other client may take the lock each time: Get(0) is enabled again and again, but does not stay so."""

STRONG_LOCK = WEAK_LOCK.replacing("strong lock", "", rules=(dataclasses.replace(GET, fairness="strong each"),))
"""Get(0) is enabled again and again, and so taken."""

UNFAIR_LOCK = WEAK_LOCK.replacing("unfair lock", "", rules=(dataclasses.replace(GIVE_BACK, fairness="none"),))
"""Who holds the lock may keep it."""

OPERATED_LOCK = WEAK_LOCK.replacing(
    "operated lock",
    "",
    rules=(dataclasses.replace(ASKS, kind="operator", fairness=None), dataclasses.replace(SWITCH, kind="fault", fairness=None)),
)
"""Clients ask finitely often, so that the other cannot keep the first waiting."""


FAIR = (WEAK_LOCK, STRONG_LOCK, UNFAIR_LOCK, OPERATED_LOCK)

EXPLORABLE: tuple[Spec, ...] = (
    COUNTER, BREAKS_AT_THREE, GOES_BACK, COMMANDED, FAULTY, NEVER_PASSES, DEAD_RULE,
    LEAVES_BOUND, CUT_OFF, LEAVES_DOMAIN, DOORS, CHANNEL, MEANINGLESS,
    ASSIGNS, ASSIGNS_TWICE, SEVERAL_STARTS, PACED, FAST_PACED, GRID, PAIRS, PICKS, TESTED, RING, *FAIR, *FULL_BYTES, *RECOVERABLE,
)  # fmt: skip
"""The toys that can be explored."""

BROKEN: dict[str, Spec] = {
    "ReadBehind": EFFECT_RAISES,
    "ReadNothing": GUARD_RAISES,
    "ReadsNothing": PROPERTY_RAISES,
    "ReadsBack": RECOVERY_RAISES,
    "Divide": DIVIDES,
    "ShiftAway": SHIFTS,
    "Take": TAKES,
    "Truncate": TRUNCATES,
    "OpenClashing": OVERLAPPING,
    "LockWaiting": WAITS,
    "ShutBeyond": NO_SUCH_DOOR,
}
"""The toys that cannot be executed somewhere, by the rule or the property that is at fault."""


def bounds_of(spec: Spec) -> dict[str, int]:
    """Return the values of the spec's first bound set."""
    return spec.bound_values({})
