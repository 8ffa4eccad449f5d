"""Dining philosophers: each takes the left fork, then the right one; all may wait with one fork in hand, for ever.

    kafka-spec check examples.philosophers:TABLE            violated: SomebodyEats, six states with five philosophers
    kafka-spec check examples.philosophers:ORDERED          holds
    kafka-spec check examples.philosophers:CARELESS         violated: SomebodyEats

The problem and the cure, an order on the forks, are E. W. Dijkstra's (EWD310, 1971).
"""

from dataclasses import dataclass

from kafka_spec import NONE, ArrayOf, Bound, BoundSet, Constants, Member, MemberOrNone, Rule, Spec, field, invariant, recoverable

REFERENCE = "Dijkstra, EWD310"
SEATS = Bound("philosophers", 2, 12, "philosophers around the table, and forks between them")


@dataclass
class Table:
    """Fork i is on the left of philosopher i, and on the right of philosopher i - 1."""

    forks: list[int] = field(ArrayOf(MemberOrNone(SEATS, "philosopher"), SEATS, "fork"))


def right_of(philosopher: int, k: Constants) -> int:
    """Return the fork on a philosopher's right."""
    return (philosopher + 1) % k.philosophers


def left_is_free(s: Table, philosopher: int) -> bool:
    """The left fork is free."""
    return s.forks[philosopher] == NONE


def right_is_free(s: Table, philosopher: int, k: Constants) -> bool:
    """The right fork is free."""
    return s.forks[right_of(philosopher, k)] == NONE


def holds_left(s: Table, philosopher: int) -> bool:
    """The philosopher holds the left fork."""
    return s.forks[philosopher] == philosopher


def holds_right(s: Table, philosopher: int, k: Constants) -> bool:
    """The philosopher holds the right fork."""
    return s.forks[right_of(philosopher, k)] == philosopher


def holds_lower(s: Table, philosopher: int, k: Constants) -> bool:
    """The philosopher holds the fork of the lower number, if the fork on the left is the higher one."""
    return philosopher < right_of(philosopher, k) or holds_right(s, philosopher, k)


def holds_left_first(s: Table, philosopher: int, k: Constants) -> bool:
    """The philosopher holds the left fork, or the fork on the right is the lower one."""
    return holds_left(s, philosopher) or right_of(philosopher, k) < philosopher


def take_left(s: Table, philosopher: int) -> None:
    """Take the left fork."""
    s.forks[philosopher] = philosopher


def take_right(s: Table, philosopher: int, k: Constants) -> None:
    """Take the right fork."""
    s.forks[right_of(philosopher, k)] = philosopher


def put_down(s: Table, philosopher: int, k: Constants) -> None:
    """Put both forks down."""
    s.forks[philosopher] = NONE
    s.forks[right_of(philosopher, k)] = NONE


def eats(s: Table, philosopher: int, k: Constants) -> bool:
    """The philosopher holds both forks."""
    return holds_left(s, philosopher) and holds_right(s, philosopher, k)


def somebody_eats(s: Table, k: Constants) -> bool:
    """A philosopher holds both forks."""
    for philosopher in range(k.philosophers):
        if eats(s, philosopher, k):
            return True
    return False


def neighbours_do_not_eat(s: Table, k: Constants) -> bool:
    """No two neighbours eat at once."""
    for philosopher in range(k.philosophers):
        if eats(s, philosopher, k) and eats(s, right_of(philosopher, k), k):
            return False
    return True


WHO = {"philosopher": Member(SEATS, "philosopher")}
ACTOR = "{philosopher}"
TAKE_LEFT = Rule("TakeLeft", ACTOR, f"{ACTOR} takes the left fork", REFERENCE, (take_left,), WHO, (left_is_free,))
TAKE_RIGHT = Rule("TakeRight", ACTOR, f"{ACTOR} takes the right fork", REFERENCE, (take_right,), WHO, (right_is_free, holds_left))
PUT_DOWN = Rule("PutDown", ACTOR, f"{ACTOR} thinks", REFERENCE, (put_down,), WHO, (eats,))

TABLE = Spec(
    "philosophers",
    "philosophers who all begin at the left",
    Table,
    (TAKE_LEFT, TAKE_RIGHT, PUT_DOWN),
    (
        invariant("NeighboursDoNotEat", neighbours_do_not_eat, "no two neighbours eat at once", REFERENCE),
        recoverable("SomebodyEats", somebody_eats, "it is always possible that somebody eats again", REFERENCE),
    ),
    bound_sets=(BoundSet("five", {"philosophers": 5}, "Dijkstra's number"),),
)

LOWER_FIRST = Rule("TakeLeft", ACTOR, f"{ACTOR} takes the left fork", REFERENCE, (take_left,), WHO, (left_is_free, holds_lower))
ORDERED = TABLE.replacing(
    "ordered_philosophers",
    "each takes the fork of the lower number first, so the last one begins at the right",
    rules=(
        LOWER_FIRST,
        Rule("TakeRight", ACTOR, f"{ACTOR} takes the right fork", REFERENCE, (take_right,), WHO, (right_is_free, holds_left_first)),
    ),
)
CARELESS = ORDERED.replacing(
    "careless_philosophers",
    "whoever finds the left fork free takes it, in order or not",
    rules=(LOWER_FIRST.without_guard("holds_lower"),),
)
