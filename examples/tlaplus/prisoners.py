"""The prisoners and two switches: one counts, and says when all have been there (Prisoners/Prisoners.tla)."""

from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Flag, Member, Range, Rule, Spec, eventually, field, invariant

OTHERS = Bound("others", 1, 8, "prisoners who do not count")
PRISONER = {"prisoner": Member(OTHERS, "prisoner")}


@dataclass
class Prison:
    """Two switches, how often each prisoner turned the first one on, and the count."""

    first: int = field(Flag())
    second: int = field(Flag())
    turned: list[int] = field(ArrayOf(Range(0, 2), OTHERS, "prisoner"))
    count: int = field(Range(0, 17))


def begin(s: Prison, first: int, second: int) -> None:
    """The switches are in any position."""
    s.first = first
    s.second = second


def visit(s: Prison, prisoner: int) -> None:
    """Turn the first switch on, twice in all; else turn the second one."""
    if s.first == 0 and s.turned[prisoner] < 2:
        s.first = 1
        s.turned[prisoner] += 1
    else:
        s.second = 1 - s.second


def count(s: Prison) -> None:
    """Turn the first switch off, and count that; else turn the second one."""
    if s.first == 1:
        s.first = 0
        s.count += 1
    else:
        s.second = 1 - s.second


def is_done(s: Prison) -> bool:
    """All have been counted twice."""
    return s.count == 2 * len(s.turned)


def all_were_there(s: Prison) -> bool:
    """When the counter says so, all have been there."""
    return not is_done(s) or all(times > 0 for times in s.turned)


def count_is_right(s: Prison) -> bool:
    """The count is that of turns, but for one that the switch may have had at first or has not been counted yet."""
    turns = sum(times for times in s.turned) - s.first
    return s.count in (turns, turns + 1)


PRISONERS = Spec(
    "prisoners",
    "prisoners tell each other by switches that all have been there",
    Prison,
    (
        Rule("Visit", "{prisoner}", "{prisoner} is there", "", (visit,), PRISONER, fairness="weak each"),
        Rule("Count", "counter", "the counter is there", "", (count,)),
    ),
    (
        invariant("AllWereThere", all_were_there, "the counter is right"),
        invariant("CountIsRight", count_is_right, "the count is that of turns"),
        eventually("Done", is_done, "in the end the counter knows"),
    ),
    start=Rule("Begin", "warden", "the switches are {first} and {second}", "", (begin,), {"first": Flag(), "second": Flag()}),
    bound_sets=(BoundSet("tlc", {"others": 3}, "the bounds of the original"),),
)
