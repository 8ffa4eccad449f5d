"""Peterson's algorithm: two processes, and never both in the critical section (locks_auxiliary_vars/Peterson.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Flag, Member, OneOf, Rule, Spec, field, invariant, leads_to

PROCESSES = Bound("processes", 2, 2, "processes")
PROCESS = {"process": Member(PROCESSES, "process")}


class Place(enum.IntEnum):
    """Where a process is."""

    OUTSIDE = 0
    WISHES = 1
    YIELDS = 2
    WAITS = 3
    INSIDE = 4
    LEAVES = 5


@dataclass
class Processes:
    """Where two processes are, who wishes to enter, and whose turn it is."""

    at: list[int] = field(ArrayOf(OneOf(Place), PROCESSES, "process"))
    wishes: list[int] = field(ArrayOf(Flag(), PROCESSES, "process"))
    turn: int = field(Member(PROCESSES, "process"))


def is_outside(s: Processes, process: int) -> bool:
    """It is outside."""
    return s.at[process] == Place.OUTSIDE


def begin(s: Processes, process: int) -> None:
    """Decide to enter."""
    s.at[process] = Place.WISHES


def wishes(s: Processes, process: int) -> bool:
    """It has decided to enter."""
    return s.at[process] == Place.WISHES


def say_so(s: Processes, process: int) -> None:
    """Say that it wishes to enter."""
    s.wishes[process] = 1
    s.at[process] = Place.YIELDS


def yields(s: Processes, process: int) -> bool:
    """It has said so."""
    return s.at[process] == Place.YIELDS


def give_way(s: Processes, process: int) -> None:
    """Give the turn to the other."""
    s.turn = 1 - process
    s.at[process] = Place.WAITS


def may_enter(s: Processes, process: int) -> bool:
    """It waits, and the other does not wish to enter, or it has the turn."""
    return s.at[process] == Place.WAITS and (s.wishes[1 - process] == 0 or s.turn == process)


def enter(s: Processes, process: int) -> None:
    """Enter."""
    s.at[process] = Place.INSIDE


def is_inside(s: Processes, process: int) -> bool:
    """It is inside."""
    return s.at[process] == Place.INSIDE


def leave(s: Processes, process: int) -> None:
    """Leave."""
    s.at[process] = Place.LEAVES


def leaves(s: Processes, process: int) -> bool:
    """It is leaving."""
    return s.at[process] == Place.LEAVES


def forget(s: Processes, process: int) -> None:
    """Take the wish back."""
    s.wishes[process] = 0
    s.at[process] = Place.OUTSIDE


def one_is_inside(s: Processes) -> bool:
    """Not both are inside."""
    return not all(place in (Place.INSIDE, Place.LEAVES) for place in s.at)


PETERSON = Spec(
    "peterson",
    "two processes exclude each other",
    Processes,
    (
        Rule("Begin", "{process}", "{process} decides to enter", "", (begin,), PROCESS, (is_outside,)),
        Rule("SaySo", "{process}", "{process} says so", "", (say_so,), PROCESS, (wishes,), fairness="weak each"),
        Rule("GiveWay", "{process}", "{process} gives way", "", (give_way,), PROCESS, (yields,), fairness="weak each"),
        Rule("Enter", "{process}", "{process} enters", "", (enter,), PROCESS, (may_enter,), fairness="weak each"),
        Rule("Leave", "{process}", "{process} leaves", "", (leave,), PROCESS, (is_inside,), fairness="weak each"),
        Rule("Forget", "{process}", "{process} takes its wish back", "", (forget,), PROCESS, (leaves,), fairness="weak each"),
    ),
    (
        invariant("OneIsInside", one_is_inside, "not both are inside"),
        leads_to("Enters", wishes, is_inside, "who decides to enter gets in", each={"process": PROCESSES}),
    ),
    bound_sets=(BoundSet("tlc", {"processes": 2}, "the bounds of the original"),),
)
