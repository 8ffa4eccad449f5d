"""Wide or long searches lose no state: not at the end of a level, beyond 16 bits, or once in a million."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.edge_log import RecordedSteps
from kafka_spec.model_check.search.recovery import spread
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import ArrayOf, Bound, Flag, Range, field
from kafka_spec.spec.vocabulary.table import Rule, Spec, anywhere, invariant, recoverable, step_invariant
from tests import sample_specs

SIDE = 300
PLACES = Range(0, SIDE)


@dataclass
class Place:
    """A place on a square, and whether somebody has left it."""

    x: int = field(PLACES)
    y: int = field(PLACES)
    left: int = field(Flag())


def is_nowhere(s: Place) -> bool:
    """Nobody has gone anywhere yet."""
    return s.x == 0 and s.y == 0 and s.left == 0


def go(s: Place, x: int, y: int) -> None:
    """Go to any place."""
    s.x = x
    s.y = y


def is_chosen(s: Place, k: Any) -> bool:
    """It is the one place that is chosen."""
    return s.x == k.x and s.y == k.y


def is_another(s: Place, k: Any) -> bool:
    """It is not the one place that is chosen."""
    return s.x != k.x or s.y != k.y


def is_near(s: Place, k: Any) -> bool:
    """It is not beyond the chosen column."""
    return s.x <= k.x


def leave(s: Place) -> None:
    """Leave the place."""
    s.left = 1


def nobody_has_left(s: Place) -> bool:
    """Nobody has left the chosen place."""
    return s.left == 0


def nobody_leaves(before: Place, after: Place) -> bool:
    """A step is not one out of the chosen place."""
    return before.left == after.left


SQUARE = Spec(
    "square",
    "any of 90,601 places in one step",
    Place,
    (
        Rule("Go", "world", "", "", (go,), {"x": PLACES, "y": PLACES}, (is_nowhere,)),
        Rule("Leave", "world", "", "", (leave,), guards=(is_chosen,)),
    ),
    (
        invariant("Elsewhere", is_another, "", ""),
        invariant("NobodyHasLeft", nobody_has_left, "", ""),
        step_invariant("NobodyLeaves", nobody_leaves, "", ""),
        recoverable("Comes", is_another, "", ""),
    ),
    more_bounds=(Bound("x", 0, SIDE, "the chosen place"), Bound("y", 0, SIDE, "the chosen place")),
)


@pytest.fixture(scope="module")
def level() -> list[Place]:
    """The places of level 1, in the order of the search."""
    found: list[Place] = []

    def keep(search: embedded.Search) -> None:
        if search.width > 1:
            found.extend(search.layout.unpack(record.tobytes()) for record in search.frontier.read(0, search.width)[0])

    embedded.explore(SQUARE, {"x": 1, "y": 0}, properties=[], on_level=keep)
    assert len({(place.x, place.y) for place in found}) == len(found) == (SIDE + 1) ** 2 - 1
    return found


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("claim", ["Elsewhere", "NobodyHasLeft", "NobodyLeaves", "Comes"])
@pytest.mark.parametrize(
    "at", ["the first", "the last", "the last of 16 bits", "the first beyond", "a share's last", "a share's first"]
)
def test_the_one_state_of_a_wide_level(level: list[Place], at: str, claim: str, threads: int) -> None:
    """The only violating state is found anywhere in a wide level, and the path to it can be replayed."""
    share = -(-len(level) // threads)
    places = {
        "the first": 0,
        "the last": len(level) - 1,
        "the last of 16 bits": (1 << 16) - 1,
        "the first beyond": 1 << 16,
        "a share's last": share - 1,
        "a share's first": share % len(level),
    }
    place = level[places[at]]
    claims = [SQUARE.property(claim)]
    result = embedded.explore(SQUARE, {"x": place.x, "y": place.y}, properties=claims, threads=threads, everything=True)
    trace = trace_of(result, claim)

    assert (result.levels, result.violated) == ([1, len(level), 1], [claim])
    assert trace is not None and trace.steps[0].action.binding == (("x", place.x), ("y", place.y))
    assert [step.action.rule for step in trace.steps] == ["Go", "Leave"][: 2 if claim.startswith("Nobody") else 1]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_of_many_states_the_first_is_told(level: list[Place], threads: int) -> None:
    """Of many violating states in a wide level the first in the order is told, though they were found in another."""
    near = invariant("Near", is_near, "", "")
    result = embedded.explore(SQUARE, {"x": SIDE // 2, "y": 0}, properties=[near], threads=threads)
    trace = trace_of(result, "Near")

    first = next(place for place in level if place.x > SIDE // 2)
    assert trace is not None and [step.action.binding for step in trace.steps] == [(("x", first.x), ("y", first.y))]


def sums(cells: int, limit: int) -> list[int]:
    """Return the number of ways to fill cells with 0 to `limit` so that the sum is 0, 1, 2, ..."""
    ways = np.ones(1, np.int64)
    for _ in range(cells):
        ways = np.convolve(ways, np.ones(limit + 1, np.int64))
    return [int(count) for count in ways]


def test_none_of_five_million_states_is_lost() -> None:
    """The width of each level of four counters is the number of ways to reach its sum; each step to a known state is counted."""
    limit = 46
    result = embedded.explore(sample_specs.GRID, {"limit": limit}, properties=[])

    assert result.levels == sums(4, limit)
    assert result.generated == 4 * limit * (limit + 1) ** 3


@pytest.mark.parametrize(
    "numbered", [np.arange, lambda count: np.random.default_rng(1).permutation(count)], ids=["in order", "mixed"]
)
def test_none_of_four_million_steps_is_lost(numbered: Callable[[int], Any]) -> None:
    """If each of four million states has a single way back of one step, every one of these steps is recorded."""
    width, levels = 200_000, 20
    marks = np.random.default_rng(7).permutation(np.arange(1, 1 + width * levels, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    steps, everyone = RecordedSteps(np.ones(1, np.bool_)), np.arange(width, dtype=np.uint32)
    nobody, actions = np.zeros(width, np.bool_), np.zeros(width, np.uint32)
    for level in range(levels):
        steps.add_level(marks[level * width : (level + 1) * width], nobody, np.full(width, level > 0))
        if level:
            before = marks[(level - 1) * width : level * width]
            steps.add_steps(0, nobody, everyone, before[numbered(width)], actions)
    assert steps.finish(lambda _: "") == ""
    safe = np.arange(width * levels) < width

    assert spread(safe, ~safe, steps.graph, steps.matter, lambda _: "") == ""
    assert safe.all()


def last_are_little(s: sample_specs.Grid) -> bool:
    """The last two counters have not counted four; states where they have stand at the end of a level."""
    return s.cells[2] + s.cells[3] < 4


def outer_are_little(s: sample_specs.Grid) -> bool:
    """The outer two counters have not counted four; states where they have stand anywhere in a level."""
    return s.cells[0] + s.cells[3] < 4


def in_small_slices(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Let a search expand five states at a time, with little room for their successors: often for fewer than they have."""
    monkeypatch.setattr(embedded, "SLICE", 5)
    monkeypatch.setattr(embedded, "SLICE_BYTES", room)
    monkeypatch.setattr(embedded, "SMALL_LEVEL", 2)


@pytest.mark.parametrize("room", [0, 200, embedded.SLICE_BYTES])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_of_states_from_many_slices_the_first_is_told(monkeypatch: pytest.MonkeyPatch, threads: int, room: int) -> None:
    """Of violating states that steps out of different slices lead to, the first in the order is told, as the oracle tells it."""
    in_small_slices(monkeypatch, room)
    claims = [invariant("LastAreLittle", last_are_little, "", ""), invariant("OuterAreLittle", outer_are_little, "", "")]
    mine = embedded.explore(sample_specs.GRID, {"limit": 5}, properties=claims, threads=threads)

    assert mine.findings == oracle.explore(sample_specs.GRID, {"limit": 5}, properties=claims).findings
    assert [finding.states for finding in mine.findings.values()] == [5, 5]


def outer_stay_little(before: sample_specs.Grid, after: sample_specs.Grid) -> bool:
    """No step takes the outer two counters to four; such steps stand anywhere in a level."""
    return outer_are_little(before) == outer_are_little(after)


@pytest.mark.parametrize("room", [0, 200, embedded.SLICE_BYTES])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_of_steps_from_many_slices_the_first_is_told(monkeypatch: pytest.MonkeyPatch, threads: int, room: int) -> None:
    """Of violating steps out of different slices the first in the order is told, as the oracle tells it."""
    in_small_slices(monkeypatch, room)
    claims = [step_invariant("OuterStayLittle", outer_stay_little, "", "")]
    mine = embedded.explore(sample_specs.GRID, {"limit": 5}, properties=claims, threads=threads)

    assert mine.findings == oracle.explore(sample_specs.GRID, {"limit": 5}, properties=claims).findings
    assert [len(finding.actions) for finding in mine.findings.values()] == [4]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_slices_without_room_lose_nothing(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """A search whose slices run out of room, at any state and in any thread, finds what the oracle finds: counts, order, digest."""
    in_small_slices(monkeypatch, 0)
    short: list[int] = []
    whole = embedded.Search.deduplicate_in_order

    def counting(search: Any, slices: Any, ends: Any, together: Any) -> Any:
        short.extend(number for number, (part, end) in enumerate(zip(slices, ends, strict=True)) if part.reached < end)
        return whole(search, slices, ends, together)

    monkeypatch.setattr(embedded.Search, "deduplicate_in_order", counting)
    spec = sample_specs.GRID_TRAP
    mine = embedded.explore(spec, spec.bound_values({}), threads=threads, everything=True)
    assert agreed(mine) == agreed(oracle.explore(spec, spec.bound_values({}), everything=True))
    assert set(short) == set(range(threads)), "each thread ran out of room"


@dataclass
class Counters:
    """Two counters; the second is never moved."""

    x: list[int] = field(ArrayOf(Range(0, 2), 6, "i"))
    never: int = field(Flag())


def can_grow(s: Counters, i: int) -> bool:
    """The counter is not at its end."""
    return s.x[i] < 2


def grow(s: Counters, i: int) -> None:
    """Count."""
    s.x[i] += 1


def is_allowed(s: Counters) -> bool:
    """Somebody has allowed it, which nobody does."""
    return s.never == 1


def overwrite(s: Counters, a: int, b: int, c: int, d: int, e: int) -> None:
    """Overwrite the first counter."""
    s.x[0] = (a + b + c + d + e) % 3


def test_a_rule_that_never_fires_costs_no_room() -> None:
    """A rule with a million bindings whose first guard refuses leaves slices as large as they are without it."""
    grows = Rule("Grow", "w", "grow", effects=(grow,), params={"i": Range(0, 5)}, guards=(can_grow,))
    letters = {name: Range(0, 15) for name in "abcde"}
    wide = Rule("Overwrite", "w", "overwrite", effects=(overwrite,), params=letters, guards=(is_allowed,))
    narrow_spec = Spec("narrow", "", Counters, (grows,), final=anywhere)
    wide_spec = Spec("wide", "", Counters, (grows, wide), final=anywhere, unreachable_rules=("Overwrite",))
    rounds: dict[str, int] = {}
    for spec in (narrow_spec, wide_spec):

        def count(search: embedded.Search, name: str = spec.name) -> None:
            expand = search.slices[0].expand_rows

            def counted(*given: Any, **named: Any) -> None:
                rounds[name] = rounds.get(name, 0) + 1
                expand(*given, **named)

            if "expand_rows" not in vars(search.slices[0]):
                search.slices[0].expand_rows = counted  # type: ignore[method-assign]

        assert embedded.explore(spec, {}, on_level=count).distinct == 3**6
    assert rounds["narrow"] == rounds["wide"]
