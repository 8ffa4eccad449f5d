"""Chameneos meet in pairs and change their colours (Chameneos/Chameneos.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import (
    NONE,
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Member,
    MemberOrNone,
    OneOf,
    Range,
    Rule,
    Spec,
    anywhere,
    field,
    invariant,
)

CHAMENEOS = Bound("chameneos", 2, 5, "chameneos")
MEETINGS = Bound("meetings", 1, 6, "meetings in all")


class Colour(enum.IntEnum):
    """The colour of a chameneos, which fades in the end."""

    BLUE = 0
    RED = 1
    YELLOW = 2
    FADED = 3


@dataclass
class Chameneos:
    """Its colour, and how often it met another."""

    colour: int = field(OneOf(Colour))
    met: int = field(Range(0, 12))


@dataclass
class Forest:
    """The chameneos, who waits at the meeting place, and how many meetings there were."""

    all: list[Chameneos] = field(ArrayOf(Chameneos, CHAMENEOS, "chameneos"))
    waits: int = field(MemberOrNone(CHAMENEOS, "chameneos"))
    meetings: int = field(Range(0, MEETINGS))


def begin(s: Forest, colours: list[int], k: Constants) -> None:
    """They have any colours."""
    for one in range(k.chameneos):
        s.all[one].colour = colours[one]


def goes(s: Forest, one: int) -> bool:
    """It has not faded, and does not wait."""
    return s.all[one].colour != Colour.FADED and s.waits != one


def complement(one: int, other: int) -> int:
    """Return the colour that two become: their own, or else the third."""
    return one if one == other else 3 - one - other


def go(s: Forest, one: int, k: Constants) -> None:
    """Wait where nobody waits, meet who waits, or fade after the last meeting."""
    if s.waits != NONE:
        colour = complement(s.all[one].colour, s.all[s.waits].colour)
        for each in range(k.chameneos):
            if each in (one, s.waits):
                s.all[each].colour = colour
                s.all[each].met += 1
        s.waits = NONE
        s.meetings += 1
    elif s.meetings < k.meetings:
        s.waits = one
    else:
        s.all[one].colour = Colour.FADED


def meetings_add_up(s: Forest, k: Constants) -> bool:
    """After the last meeting, all have met twice as often as there were meetings."""
    return s.meetings < k.meetings or sum(one.met for one in s.all) == 2 * k.meetings


CHAMENEOS_MEET = Spec(
    "chameneos",
    "chameneos meet in pairs",
    Forest,
    (Rule("Go", "{one}", "{one} goes to the meeting place", "", (go,), {"one": Member(CHAMENEOS, "chameneos")}, (goes,)),),
    (invariant("MeetingsAddUp", meetings_add_up, "meetings are counted right"),),
    start=Rule("Begin", "forest", "they are {colours}", "", (begin,), {"colours": ArrayOf(Range(0, 2), CHAMENEOS, "chameneos")}),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"chameneos": 4, "meetings": 4}, "the bounds of the original"),),
)
