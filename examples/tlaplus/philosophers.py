"""Dining philosophers who pass forks on and clean them, after Chandy and Misra (DiningPhilosophers/DiningPhilosophers.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Constants, Flag, Member, OneOf, Rule, Spec, assign, field, invariant, leads_to

SEATS = Bound("seats", 2, 8, "philosophers at the table")
PHILOSOPHER = {"philosopher": Member(SEATS, "philosopher")}


class Place(enum.IntEnum):
    """What a philosopher does."""

    LOOKS = 0
    EATS = 1
    THINKS = 2


@dataclass
class Fork:
    """A fork: who holds it, and whether it is clean."""

    holder: int = field(Member(SEATS, "philosopher"))
    clean: int = field(Flag())


@dataclass
class Table:
    """The forks, each to the left of its philosopher, and the philosophers."""

    forks: list[Fork] = field(ArrayOf(Fork, SEATS, "fork"))
    does: list[int] = field(ArrayOf(OneOf(Place), SEATS, "philosopher"))
    hungry: list[int] = field(ArrayOf(Flag(), SEATS, "philosopher"))


def sit_down(s: Table, k: Constants) -> None:
    """All are hungry; each has the fork to the left, but the first has two."""
    for philosopher in range(k.seats):
        s.hungry[philosopher] = 1
        s.forks[philosopher].holder = 0 if philosopher == 1 else philosopher


def looks(s: Table, philosopher: int) -> bool:
    """It looks at its forks."""
    return s.does[philosopher] == Place.LOOKS


def can_eat(s: Table, philosopher: int, k: Constants) -> bool:
    """It holds both forks, and both are clean."""
    right = (philosopher + 1) % k.seats
    return (
        s.forks[philosopher].holder == philosopher
        and s.forks[right].holder == philosopher
        and s.forks[philosopher].clean == 1
        and s.forks[right].clean == 1
    )


def look(s: Table, philosopher: int, k: Constants) -> None:
    """Clean a dirty fork and pass it on; then eat if that is possible, and think if it is not hungry."""
    right = (philosopher + 1) % k.seats
    eats = can_eat(s, philosopher, k)
    if s.forks[philosopher].holder == philosopher and s.forks[philosopher].clean == 0:
        assign(s.forks[philosopher], Fork((philosopher + k.seats - 1) % k.seats, 1))
    elif s.forks[right].holder == philosopher and s.forks[right].clean == 0:
        assign(s.forks[right], Fork(right, 1))
    if s.hungry[philosopher] == 0:
        s.does[philosopher] = Place.THINKS
    elif eats:
        s.does[philosopher] = Place.EATS


def thinks(s: Table, philosopher: int) -> bool:
    """It thinks."""
    return s.does[philosopher] == Place.THINKS


def get_hungry(s: Table, philosopher: int) -> None:
    """Get hungry."""
    s.hungry[philosopher] = 1
    s.does[philosopher] = Place.LOOKS


def eats(s: Table, philosopher: int) -> bool:
    """It eats."""
    return s.does[philosopher] == Place.EATS


def finish(s: Table, philosopher: int, k: Constants) -> None:
    """Stop eating; the forks are dirty."""
    s.hungry[philosopher] = 0
    s.forks[philosopher].clean = 0
    s.forks[(philosopher + 1) % k.seats].clean = 0
    s.does[philosopher] = Place.LOOKS


def neighbours_take_turns(s: Table, k: Constants) -> bool:
    """No two neighbours eat."""
    return all(not (eats(s, one) and eats(s, (one + 1) % k.seats)) for one in range(k.seats))


def is_hungry(s: Table, philosopher: int) -> bool:
    """It is hungry."""
    return s.hungry[philosopher] == 1


def is_fed(s: Table, philosopher: int) -> bool:
    """It is not hungry."""
    return s.hungry[philosopher] == 0


PHILOSOPHERS = Spec(
    "philosophers",
    "philosophers pass forks on",
    Table,
    (
        Rule("Look", "{philosopher}", "{philosopher} looks", "", (look,), PHILOSOPHER, (looks,), fairness="weak each"),
        Rule("Think", "{philosopher}", "{philosopher} thinks", "", (get_hungry,), PHILOSOPHER, (thinks,), fairness="weak each"),
        Rule("Eat", "{philosopher}", "{philosopher} eats", "", (finish,), PHILOSOPHER, (eats,), fairness="weak each"),
    ),
    (
        invariant("NeighboursTakeTurns", neighbours_take_turns, "no two neighbours eat"),
        leads_to("NobodyStarves", is_hungry, is_fed, "who is hungry eats in the end", each={"philosopher": SEATS}),
    ),
    start=Rule("SitDown", "table", "all sit down", "", (sit_down,)),
    bound_sets=(BoundSet("tlc", {"seats": 5}, "the bounds of the original"),),
)
