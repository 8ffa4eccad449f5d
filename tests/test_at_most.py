"""`at_most`: a bound on how often a rule fires is said once; counter, limit and counting follow, in both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.plain import model_plain
from kafka_spec.model_check.report.text import model_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BadAccess,
    Bound,
    Counters,
    Flag,
    OutOfBound,
    Range,
    Spent,
    assign,
    count_firing,
    field,
    reset,
)
from kafka_spec.spec.vocabulary.table import DEADLOCK, BoundSet, Rule, Spec, SpecError, invariant
from kafka_spec.spec.zookeeper.families import HAPPENINGS, SETTINGS, SIZES
from kafka_spec.spec.zookeeper.fixed import FIXED

Explore = Callable[..., Exploration]
ENGINES = pytest.mark.parametrize("explore", [oracle.explore, embedded.explore], ids=["oracle", "embedded"])

PUSHES = Bound("pushes", 0, 9, "times that somebody pushes")
KICKS = Bound("kicks", 0, 9, "times that somebody kicks")


@dataclass
class Swing:
    """Where two swings are."""

    place: list[int] = field(ArrayOf(Range(0, 2), 2, "swing"))


@dataclass
class Tally:
    """Counters written by hand, as `at_most` derives them."""

    pushes: int = field(Range(0, PUSHES))
    kicks: int = field(Range(0, KICKS))


@dataclass
class CountedSwing:
    """Where two swings are, and how often they were pushed and kicked."""

    place: list[int] = field(ArrayOf(Range(0, 2), 2, "swing"))
    spent: Tally = field(Tally)


@dataclass
class PlacedSwing:
    """The same with the counters in front."""

    spent: Spent = field(Counters())
    place: list[int] = field(ArrayOf(Range(0, 2), 2, "swing"))


@dataclass
class OtherSpent:
    """A state that has a field of the counters' name."""

    spent: int = field(Flag())
    place: list[int] = field(ArrayOf(Range(0, 2), 2, "swing"))


@dataclass
class MisplacedSwing:
    """A state with counters under another name."""

    place: list[int] = field(ArrayOf(Range(0, 2), 2, "swing"))
    counts: Spent = field(Counters())


def push(s: Swing, swing: int) -> None:
    """Push a swing."""
    s.place[swing] = (s.place[swing] + 1) % 3


def kick(s: Swing) -> None:
    """Kick both swings back."""
    for swing in range(2):
        s.place[swing] = 0


def swing_is_away(s: Swing, swing: int) -> bool:
    """The swing is not at rest."""
    return s.place[swing] > 0


def settle(s: Swing, swing: int) -> None:
    """Let a swing come to rest."""
    s.place[swing] = 0


def a_push_is_left(s: CountedSwing, k: Any) -> bool:
    """The bound on pushes allows one more."""
    return s.spent.pushes < k.pushes


def a_kick_is_left(s: CountedSwing, k: Any) -> bool:
    """The bound on kicks allows one more."""
    return s.spent.kicks < k.kicks


def count_push(s: CountedSwing) -> None:
    """Count a push."""
    s.spent.pushes += 1


def count_kick(s: CountedSwing) -> None:
    """Count a kick."""
    s.spent.kicks += 1


ANY_SWING = {"swing": Range(0, 1)}
PUSH = Rule("Push", "child", "a child pushes swing {swing}", "", (push,), ANY_SWING, at_most=PUSHES, kind="fault")
KICK = Rule("Kick", "child", "a child kicks the swings", "", (kick,), at_most=(KICKS, PUSHES), kind="fault")
SETTLE = Rule("Settle", "world", "swing {swing} comes to rest", "", (settle,), ANY_SWING, (swing_is_away,))


def not_both_are_high(s: Swing) -> bool:
    """One of the swings is low."""
    return s.place[0] + s.place[1] < 4


ONE_LOW = invariant("OneLow", not_both_are_high, "one of the swings is low", "a test")
SETS = (BoundSet("few", {"pushes": 3, "kicks": 2}, "a few"),)
SWINGS = Spec("swings", "two swings", Swing, (PUSH, KICK, SETTLE), (ONE_LOW,), bound_sets=SETS)
BY_HAND = replace(
    SWINGS,
    state=CountedSwing,
    rules=(
        replace(PUSH, at_most=(), bound_guards=(a_push_is_left,), effects=(push, count_push)),
        replace(KICK, at_most=(), bound_guards=(a_kick_is_left, a_push_is_left), effects=(count_kick, count_push, kick)),
        SETTLE,
    ),
)


def essence(result: Exploration) -> tuple[Any, ...]:
    """Return the parts of a result that must be equal; steps of rules that a bound of 0 switches off are not counted."""
    bounded = Counter({name: cut for name, cut in result.bounded.items() if name not in SWINGS.switched_off(result.bounds)})
    return result.levels, result.fired, result.new, bounded, result.findings, result.digest, result.complete


@pytest.mark.parametrize("bounds", [{}, {"pushes": 0}, {"kicks": 0}, {"pushes": 4, "kicks": 1}, {"pushes": 9, "kicks": 9}], ids=str)
def test_it_is_what_one_would_write_by_hand(bounds: dict[str, int]) -> None:
    """A state without counters and rules with at_most explore to the same graph, bounded steps included, as counting by hand."""
    values = SWINGS.bound_values(bounds)
    found = [essence(e.explore(spec, values, everything=True)) for spec in (SWINGS, BY_HAND) for e in (oracle, embedded)]

    assert found.count(found[0]) == len(found)
    assert sum(found[0][3].values()) > 0 or bounds.get("pushes") == 0


@ENGINES
@pytest.mark.parametrize("kind", ["operator", "fault", "protocol"])
def test_a_bound_of_0_switches_a_rule_off(explore: Explore, kind: Any) -> None:
    """What an operator or a fault may do 0 times is not counted as forbidden; a protocol step is."""
    rules = (replace(PUSH, kind=kind), SETTLE)
    spec = Spec("swing", "", Swing, rules, (ONE_LOW,))
    found = explore(spec, {"pushes": 0}, everything=True, deadlock=True)

    assert spec.switched_off({"pushes": 0}) == ({} if kind == "protocol" else {"Push": "pushes"})
    assert spec.switched_off({"pushes": 1}) == {}
    assert (found.levels, found.verdict, dict(+found.bounded)) == ([1], "holds", {"Push": 2} if kind == "protocol" else {})


def swing_is_high(s: Swing, swing: int) -> bool:
    """The swing is at the top."""
    return s.place[swing] > 1


@ENGINES
def test_a_rule_that_is_off_tells_a_rest_from_a_deadlock(explore: Explore) -> None:
    """A state is no deadlock where a rule could fire that a bound of 0 switches off; it is one where that could not fire either."""
    for guards, stuck in (((), False), ((swing_is_high,), True)):
        spec = Spec("swing", "", Swing, (replace(PUSH, guards=guards), SETTLE), (ONE_LOW,))
        found = explore(spec, {"pushes": 0}, everything=True, deadlock=True)
        assert (DEADLOCK in found.findings) == stuck


def test_a_step_is_counted_after_its_effects() -> None:
    """The counters begin at 0, each firing counts once for each of its bounds, and rules may share one; others do not count."""
    world = oracle.Interpreter(SWINGS, SWINGS.bound_values({}))
    (state,) = world.initial()
    pushed = world.apply(PUSH, state, (1,))
    kicked = world.apply(KICK, pushed, ())
    settled = world.apply(SETTLE, pushed, (1,))

    assert [vars(s.spent) for s in (state, pushed, kicked, settled)] == [
        {"pushes": 0, "kicks": 0},
        {"pushes": 1, "kicks": 0},
        {"pushes": 2, "kicks": 1},
        {"pushes": 1, "kicks": 0},
    ]
    twice = world.apply(PUSH, kicked, (0,))
    assert world.within(KICK, kicked, ()) and not world.within(KICK, twice, ()) and not world.within(PUSH, twice, (0,))
    with pytest.raises(OutOfBound, match="pushes"):
        count_firing(twice, PUSHES)


def push_further(s: Swing) -> None:
    """Push the first swing, as far as it goes and further."""
    s.place[0] += 1


@ENGINES
def test_a_limit_is_looked_at_before_the_step(explore: Explore) -> None:
    """A step beyond its limit is dropped by its bound, even if its effects would leave a domain."""
    rule = Rule("Push", "child", "", "", (push_further,), at_most=PUSHES)
    found = explore(Spec("swing", "", Swing, (rule,), (ONE_LOW,)), {"pushes": 2}, everything=True)

    assert (found.levels, found.verdict, found.bounded["Push"]) == ([1, 1, 1], "holds", 1)


def test_a_state_may_say_where_the_counters_stand() -> None:
    """The counters are in the state's own field for them, or else at the end, in the order of the bounds; the graph is the same."""
    placed = replace(SWINGS, state=PlacedSwing)
    values = SWINGS.bound_values({})
    fields = [list(spec.space(values).root.fields) for spec in (SWINGS, placed)]
    found = [embedded.explore(spec, values, everything=True) for spec in (SWINGS, placed)]

    assert fields == [["place", "spent"], ["spent", "place"]]
    assert [bound.name for bound in SWINGS.counted] == ["pushes", "kicks"] == list(SWINGS.bounds)
    assert found[0].levels == found[1].levels and found[0].fired == found[1].fired and found[0].bounded == found[1].bounded


def test_traces_show_the_counters() -> None:
    """A counterexample shows each counter's change next to the other changes."""
    result = embedded.explore(SWINGS, SWINGS.bound_values({"pushes": 4}))
    trace = trace_of(result, "OneLow")

    assert trace is not None
    assert [(change.path, change.shown) for change in trace.steps[0].changed][-1] == ("spent.pushes", ("0", "1"))


def test_models_tell_how_often() -> None:
    """`models` shows, as text and as JSON, which bounds limit a rule."""
    assert "    Kick(), fault, at most kicks and pushes times\n" in model_text(SWINGS)
    assert [rule["at_most"] for rule in model_plain(SWINGS)["rules"]] == [["pushes"], ["kicks", "pushes"], []]


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


def count_by_hand(s: PlacedSwing) -> None:
    """Count, which the rule does by itself."""
    s.spent.pushes += 1


def reset_counters(s: PlacedSwing) -> None:
    """Begin anew."""
    reset(s.spent)


def copy_counters(s: PlacedSwing) -> None:
    """Write the counters."""
    assign(s.spent, s.spent)


@ENGINES
@pytest.mark.parametrize("effect", [count_by_hand, reset_counters, copy_counters])
def test_only_firings_count(effect: Any, explore: Explore) -> None:
    """An effect that writes a counter ends the exploration in both engines, with the cure."""
    spec = replace(SWINGS, state=PlacedSwing, rules=(replace(PUSH, effects=(push, effect)), KICK))
    with pytest.raises(SpecError, match=r"counts firings; only the rules that say at_most change it|holds counters of firings"):
        explore(spec, SWINGS.bound_values({}))


def test_wrong_limits_are_refused() -> None:
    """A limit that is not a bound, a limited start, and a misplaced or misnamed field of counters are refused, with the cure."""
    with pytest.raises(SpecError, match="rule Push: at_most is 3; name a Bound"):
        replace(PUSH, at_most=3)
    with pytest.raises(SpecError, match="rule Push: at_most names a bound twice"):
        replace(PUSH, at_most=(PUSHES, PUSHES))
    with pytest.raises(SpecError, match="Start says at_most, and it makes the initial states"):
        replace(SWINGS, start=Rule("Start", "", "", "", (kick,), at_most=KICKS))
    with pytest.raises(SpecError, match=r"OtherSpent\.spent: rules use at_most, and their counters are in a field of that name"):
        replace(SWINGS, state=OtherSpent)
    with pytest.raises(SpecError, match=r"MisplacedSwing\.counts: counters must be in a field spent of the whole state"):
        replace(SWINGS, state=MisplacedSwing)
    with pytest.raises(BadAccess, match=r"Spent\.pushes counts firings"):
        oracle.Interpreter(SWINGS, SWINGS.bound_values({})).space.fresh().spent.pushes = 1


def test_a_version_without_the_rule_keeps_the_bound() -> None:
    """Taking away the last rule that a bound limits drops the counter and keeps the bound, so that bound sets stay valid."""
    still = SWINGS.replacing("still", "nobody kicks", without=("Kick",))

    assert list(still.bounds) == ["pushes", "kicks"] and [bound.name for bound in still.counted] == ["pushes"]
    assert embedded.explore(still, still.bound_values({}), everything=True).complete
    again = still.replacing("again", "somebody kicks again", rules=(KICK,))
    levels = [oracle.explore(spec, spec.bound_values({}), everything=True).levels for spec in (again, SWINGS)]
    assert levels[0] == levels[1]


# ---------------------------------------------------------------------------------------------------------------------
# The control plane


def test_the_control_plane_counts_nothing_by_hand() -> None:
    """Each bound on what happens is said at its rules, and counted in that order; no rule of any version has a limit besides."""
    counted = {limit.name for rule in FIXED.rules for limit in rule.limits}

    assert counted == set(FIXED.bounds) - SIZES.keys() - SETTINGS.keys()
    assert [bound.name for bound in FIXED.counted] == [name for name in FIXED.bounds if name in counted] == list(HAPPENINGS)
    for spec in (spec for spec in MODELS.values() if spec.name.startswith("zookeeper/")):
        assert not any(rule.bound_guards for rule in spec.rules) and spec.counted == FIXED.counted
