"""Constants that are data: the same in plain Python, compiled code, TLA+ and proofs; and what is refused says what to write."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from test_lint import body, module_of
from test_tla import agree

from kafka_spec.diagrams.tla.files import spec_files
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import ArrayOf, Bound, Range, SetOf, SpecError, field, including
from kafka_spec.spec.language.text import line_of
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, Rule, Spec, anywhere, invariant

WALKERS = Bound("walkers", 1, 2, "walkers")
MAP = Bound("map", 0, 1, "which map of the stations")
STATION = Range(0, 3)


class Line(enum.IntEnum):
    """Lines of trains."""

    RED = 0
    BLUE = 1


class Track(NamedTuple):
    """A track between two stations."""

    source: int
    target: int
    line: Line


TRACKS = (Track(0, 1, Line.RED), Track(1, 2, Line.RED), Track(2, 0, Line.BLUE), Track(2, 3, Line.BLUE))
FARES = {Line.RED: 2, Line.BLUE: 1}
CLOSED = {(2, 0), (3, 3)}
NEXT: list[dict[int, tuple[int, ...]]] = [{0: (1,), 1: (2,), 2: (0, 3), 3: ()}, {0: (3,), 1: (0, 2), 2: (), 3: (1, 3)}]
DISTANCES = [[0, 1, 2, 3], [2, 0, 1, 2], [1, 2, 0, 1], [9, 9, 9, 0]]
FINE = {(0, 1): 2, (1, 2): 0}
HOMES = frozenset({0, 3})


@dataclass
class Walk:
    """Where the walkers are, and what they have seen and spent."""

    at: list[int] = field(ArrayOf(STATION, WALKERS, "walker"))
    spent: int = field(Range(0, 7))
    seen: int = field(SetOf(4))
    last: int = field(Range(0, 12))


def leads(s: Walk, k: Constants, walker: int, to: int) -> bool:
    """The map leads there."""
    return to in NEXT[k.map][s.at[walker]]


def is_open(s: Walk, walker: int, to: int) -> bool:
    """The track is open."""
    return (s.at[walker], to) not in CLOSED


def walk(s: Walk, k: Constants, walker: int, to: int) -> None:
    """Walk to a station, pay for each track that is used, and look around; the last track that is left from is noted."""
    for track in TRACKS:
        if track.source == s.at[walker] and track.target == to:
            s.spent = min(7, s.spent + FARES[track.line])
    s.last = DISTANCES[s.at[walker]][to]
    s.at[walker] = to
    for station in NEXT[k.map][s.at[walker]]:
        if station == 3:
            continue
        s.at[walker] = to
        s.seen = including(s.seen, station)


def is_stuck(s: Walk, k: Constants, walker: int) -> bool:
    """No track leads on."""
    return len(NEXT[k.map][s.at[walker]]) == 0


def fly_home(s: Walk, walker: int) -> None:
    """Fly to the first station from which a red track leads; the fine depends on where it began."""
    home = 0
    for a, b, line in TRACKS:
        if line == Line.RED and b != s.at[walker]:
            home = a
            break
    fine = 0
    for (a, b), amount in FINE.items():
        fine += amount if a == home or b == home else 0
    s.last = min(12, fine + DISTANCES[-1][home])
    s.at[walker] = home


def pays_all(s: Walk, walker: int) -> None:
    """Pay for every line; a fine for the pair of stations is looked up by both."""
    s.last = sum(fare for fare in FARES.values()) + max(line for _, _, line in TRACKS)
    if (s.at[walker], s.at[walker] + 1) in FINE:
        s.last += FINE[s.at[walker], s.at[walker] + 1]


def somebody_is_home_or_has_money(s: Walk, k: Constants) -> bool:
    """A walker is at home, or may pay."""
    return s.spent < 7 or any(s.at[walker] in HOMES for walker in range(k.walkers))


def sees_what_is_next(s: Walk, k: Constants) -> bool:
    """Nobody is two tracks from 3, by any track, once money is spent."""
    return s.spent == 0 or not any(
        two.target == 3 for walker in range(k.walkers) for one in TRACKS if one.source == s.at[walker]
        for two in TRACKS if two.source == one.target
    )  # fmt: skip


def two_are_apart(s: Walk, k: Constants) -> bool:
    """Walkers are at most two stations apart."""
    return all(DISTANCES[s.at[one]][s.at[other]] <= 2 for one in range(k.walkers) for other in range(k.walkers))


WHO = {"walker": Range(0, WALKERS - 1)}
WALKS = Spec(
    "walks",
    "walkers on a map",
    Walk,
    rules=(
        Rule("Walk", "{walker}", "{walker} walks to {to}", "", (walk,), {**WHO, "to": STATION}, (leads, is_open)),
        Rule("FlyHome", "{walker}", "{walker} flies", "", (fly_home,), WHO, (is_stuck,)),
        Rule("PayAll", "{walker}", "{walker} pays", "", (pays_all,), WHO),
    ),
    properties=(
        invariant("HomeOrMoney", somebody_is_home_or_has_money, "a walker is at home, or may pay"),
        invariant("NotTwoTracks", sees_what_is_next, "nobody who has paid is two tracks from 3"),
        invariant("Near", two_are_apart, "walkers are near each other"),
    ),
    bound_sets=(
        BoundSet("first", {"walkers": 2, "map": 0}, "the first map"),
        BoundSet("second", {"walkers": 2, "map": 1}, "the second map"),
    ),
    more_bounds=(MAP,),
    final=anywhere,
)
MAPS = [{"walkers": 2, "map": 0}, {"walkers": 2, "map": 1}]


@pytest.mark.parametrize("bounds", MAPS, ids=["first", "second"])
def test_engines_agree(bounds: dict[str, int]) -> None:
    """Plain Python and compiled code find the same states and the same violations."""
    ours, theirs = (engine.explore(WALKS, bounds, everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest, set(ours.findings)) == (theirs.distinct, theirs.digest, set(theirs.findings))
    assert ours.distinct > 50
    assert ours.findings


@pytest.mark.parametrize("bounds", MAPS, ids=["first", "second"])
def test_tlc_agrees(bounds: dict[str, int], tmp_path: Path) -> None:
    """TLC finds as many states of the exported module."""
    agree(WALKS, bounds, tmp_path)


def test_a_trace_shows_the_lookups_as_written() -> None:
    """The text of a statement names the constant and its places."""
    lines = [line_of(statement) for statement in source_of(walk).body]

    assert "s.last = DISTANCES[s.at[walker]][to]" in lines
    assert [line_of(statement) for statement in source_of(leads).body] == ["return to in NEXT[k.map][s.at[walker]]"]


def counts_on(s: Walk) -> None:
    """Note the next distance, of which there are four."""
    s.last = DISTANCES[0][s.last + 1]


def counts_back(s: Walk) -> None:
    """Note what is before the first one: the last one, as Python has it."""
    s.last = DISTANCES[0][s.last - 1]


def finds_no_fare(s: Walk) -> None:
    """Ask for the fare of a line that there is not."""
    s.last = FARES[s.last + 1]  # type: ignore[index]


def finds_no_map(s: Walk) -> None:
    """Ask what is next on a map that is not there."""
    s.last = s.last + 1 + sum(station for station in NEXT[s.last][2])


@pytest.mark.parametrize("effect", [counts_on, finds_no_fare, finds_no_map])
def test_a_place_that_is_not_there_ends_the_search(effect: Any) -> None:
    """Both engines say which function reads what a constant does not have, and on which line."""
    spec = Spec("beyond", "a place too far", Walk, (Rule("Act", "world", "it counts", "", (effect,)),), final=anywhere)
    messages = []
    for engine in (embedded, oracle):
        with pytest.raises(SpecError, match=f"{effect.__name__} cannot be executed: a constant has nothing at") as raised:
            engine.explore(spec, {"walkers": 1})
        messages.append(str(raised.value))

    assert messages[0].startswith(messages[1])
    assert "test_constant_data.py:" in messages[0]


def test_a_place_below_0_counts_from_the_end() -> None:
    """As in Python, in both engines."""
    spec = Spec("back", "what comes before", Walk, (Rule("Act", "world", "it counts", "", (counts_back,)),), final=anywhere)
    ours, theirs = (engine.explore(spec, {"walkers": 1}, everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest) == (theirs.distinct, theirs.digest)
    assert ours.distinct == 4


def test_a_constant_that_changes_is_read_anew() -> None:
    """A table that is changed in place between two checks counts as it is now; so does compiled code that is kept."""
    before = embedded.explore(WALKS, MAPS[0], everything=True)
    FARES[Line.RED] = 0
    try:
        ours, theirs = (engine.explore(WALKS, MAPS[0], everything=True) for engine in (embedded, oracle))
    finally:
        FARES[Line.RED] = 2
    after = embedded.explore(WALKS, MAPS[0], everything=True)

    assert ours.digest == theirs.digest != before.digest
    assert after.digest == before.digest


class Pair(NamedTuple):
    """A pair that prints without its second number."""

    first: int
    second: int

    def __repr__(self) -> str:
        return f"Pair({self.first})"


PAIRS = [Pair(1, 2)]


def takes_the_second(s: Walk) -> None:
    """Note the second number of the first pair."""
    s.last = PAIRS[0].second


def test_constants_are_told_apart_by_what_they_hold() -> None:
    """A constant that changes counts as it is now, even if it prints as before."""
    spec = Spec("pairs", "a pair", Walk, (Rule("Act", "world", "it counts", "", (takes_the_second,)),), final=anywhere)
    before = embedded.explore(spec, {"walkers": 1}, everything=True)
    PAIRS[0] = Pair(1, 3)
    try:
        ours, theirs = (engine.explore(spec, {"walkers": 1}, everything=True) for engine in (embedded, oracle))
    finally:
        PAIRS[0] = Pair(1, 2)

    assert ours.digest == theirs.digest != before.digest


def has_room(s: Walk, walker: int) -> bool:
    """Another station is next on the first map."""
    return len(NEXT[0][s.at[walker]])  # type: ignore[return-value]


def has_none(s: Walk, walker: int) -> bool:
    """No other station is."""
    return not len(NEXT[0][s.at[walker]])


def test_a_length_may_stand_alone(tmp_path: Path) -> None:
    """`return len(...)` and `not len(...)` of a constant mean the same in plain Python, compiled code and TLA+."""
    rules = (
        Rule("Walk", "{walker}", "{walker} walks to {to}", "", (walk,), {**WHO, "to": STATION}, (has_room,)),
        Rule("FlyHome", "{walker}", "{walker} flies", "", (fly_home,), WHO, (has_none,)),
    )
    spec = Spec("lengths", "how many are next", Walk, rules, more_bounds=(MAP,), final=anywhere)
    ours, theirs = (engine.explore(spec, MAPS[0], everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest) == (theirs.distinct, theirs.digest)
    agree(spec, MAPS[0], tmp_path)


def test_a_table_of_numbers_is_a_tuple_in_tla() -> None:
    """The exported module says the numbers where they are looked up."""
    text = spec_files(WALKS, "Exported")["Exported.tla"]

    assert "<<0, 1, 2, 3>>[to + 1]" in text
    assert "\\in {0, 3}" in text


PRELUDE = """
from collections import defaultdict, namedtuple

ROW = (1, 2)
DEEP = ((1, 2), (3,))
MIXED = ((1, 2), 3)
NAMES = {"a": 1}
HALF = (1, 0.5)
LAZY = defaultdict(int)
OPEN = {1, 2}
FINES = {(0, 1): 2}
BOTH = {(0, 1): 2, 3: 1}
HUGE = (1 << 70,)
MANY = tuple(range(5000))
POINT = namedtuple("POINT", "x y")(1, 2)
OWN = [1]
OWN.append(OWN)
"""
REFUSED = {
    "a constant as a number": (("s.x = ROW",), "ROW is a tuple, and a number is needed here; read one, ROW[...], or loop over it"),
    "an argument": (("s.x = looks(ROW)",), "ROW is a tuple, and a number is needed here"),
    "a part as a number": (
        ("s.x = DEEP[a]",),
        "DEEP[a] is part of a constant, and no number; read its items where they are needed",
    ),
    "a part with a name": (("x = DEEP[a]", "s.x = x[0]"), "DEEP[a] is part of a constant, and no number"),
    "now a number, now not": (("s.x = MIXED[a]",), "MIXED[a] is part of a constant, and no number"),
    "text": (("s.x = NAMES[a]",), "NAMES holds 'a'; a constant holds integers, and tuples, lists, sets and dictionaries"),
    "a fraction": (("s.x = HALF[a]",), "HALF holds 0.5; a constant holds integers"),
    "a default": (("s.x = LAZY[a]",), "LAZY holds a defaultdict; write a tuple, a list, a set or a dictionary"),
    "an item of a set": (("s.x = OPEN[a]",), "OPEN[a] has no value, for this part of the constant is a set; write `in`"),
    "an item of a number": (("s.x = ROW[a][0]",), "ROW[a][0] has no value, for this part of the constant is a number"),
    "one of two": (("s.x = FINES[a]",), "the keys of this dictionary are not of 1 number"),
    "two of one": (("s.x = ROW[a, a]",), "only a dictionary has keys of 2 numbers; write an index at a time"),
    "three of two": (("s.x = FINES[a, a, a]",), "the keys of this dictionary are not of 3 numbers"),
    "keys that differ": (("s.x = BOTH[a, a]",), "the keys of this dictionary are not of 2 numbers"),
    "in a number": (("s.x = a in ROW[a]",), "ROW[a] is a number; nothing is in it"),
    "a number among pairs": (("s.x = a in FINES",), "the elements of FINES are not of 1 number"),
    "a pair among numbers": (("s.x = (a, a) in OPEN",), "the elements of OPEN are not of 2 numbers"),
    "too large": (("s.x = HUGE[a]",), "is too large; numbers have 64 bits"),
    "itself": (("s.x = OWN[a]",), "OWN holds too many containers, or itself; a constant holds at most 4096 numbers"),
    "too many": (("s.x = MANY[a]",), "MANY holds more than 4096 numbers"),
    "nothing there": (("s.x = ROW[2]",), "ROW[2] has no value; the constant has nothing at 2"),
    "no such field": (("s.x = POINT.z",), "POINT has no field z"),
    "a method": (("s.x = ROW.count(a)",), "ROW.count(a) cannot be called here; a constant has items, len() and `in`"),
    "a default of a dictionary": (("s.x = FINES.get(a, 0)",), "FINES.get(a, 0) cannot be called here; a constant has items"),
    "a method of a dictionary": (("for x in FINES.pop():", "    s.x = x"), "FINES.pop() cannot be called here; items(), keys()"),
    "pairs of one": (("for x, y in ROW:", "    s.x = x"), "2 names for 1"),
    "a part that is given a value": (("for x in DEEP:", "    x = 1"), "x stands for a part of a constant in this loop"),
    "a constant that is changed": (("ROW[0] = 1",), "assign to a name, a field or an item"),
    "a part after its loop": (("for x in DEEP:", "    s.x = x[0]", "s.x = x[1]"), "x is not defined"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    """What no reader of a function can do with a constant is refused, with what to write."""
    lines, message = REFUSED[name]
    module = module_of(tmp_path, PRELUDE + body(*lines))

    with pytest.raises(SpecError) as raised:
        source_of(module.f)
    assert message in str(raised.value)
