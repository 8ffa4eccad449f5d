"""Constraints and views: what a search does not follow, what it takes for one, and that every verdict says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.diagrams.tla.files import spec_files
from kafka_spec.model_check.check import Expectation, check
from kafka_spec.model_check.exploration import Distribution, EngineError
from kafka_spec.model_check.report.as_test import test_text as as_test
from kafka_spec.model_check.report.plain import result_plain
from kafka_spec.model_check.report.text import check_line, result_text
from kafka_spec.model_check.search import embedded, frontier
from kafka_spec.model_check.spark.engine import explore as on_spark
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import Flag, Range, SequenceOf, append, field
from kafka_spec.spec.vocabulary.table import (
    Ranks,
    Rule,
    Spec,
    SpecError,
    invariant,
    leads_to,
    reachable,
    recoverable,
    step_invariant,
)


@dataclass
class Pair:
    """Two counters, and who counted last."""

    a: int = field(Range(0, 9))
    b: int = field(Range(0, 9))
    last: int = field(Flag())
    seen: list[int] = field(SequenceOf(Range(0, 9), 2))


def is_below_nine(s: Pair, which: int) -> bool:
    """The counter has a next number."""
    return s.a + which * (s.b - s.a) < 9


def count_up(s: Pair, which: int) -> None:
    """Count."""
    if which == 0:
        s.a += 1
    else:
        s.b += 1
    s.last = which


def sum_is_small(s: Pair) -> bool:
    """The sum is at most four."""
    return s.a + s.b <= 4


def sum_is_not_five(s: Pair) -> bool:
    """The sum is not five."""
    return s.a + s.b != 5


def sum_is_not_six(s: Pair) -> bool:
    """The sum is not six."""
    return s.a + s.b != 6


def sum_is_five(s: Pair) -> bool:
    """The sum is five."""
    return s.a + s.b == 5


def starts(s: Pair) -> bool:
    """Nobody has counted."""
    return s.a + s.b == 0


def is_never(s: Pair) -> bool:
    """What no state is."""
    return s.a > 9


def sum_grows(before: Pair, after: Pair) -> bool:
    """The sum grows, but not to five."""
    return after.a + after.b > before.a + before.b and after.a + after.b != 5


def slips(s: Pair) -> bool:
    """A predicate that cannot be evaluated once somebody counted."""
    return s.a + s.b == 0 or s.seen[0] == 0


def forget_last(s: Pair) -> None:
    """Forget who counted last."""
    s.last = 0


def forget_b(s: Pair) -> None:
    """Forget the second counter, on which what follows depends."""
    s.b = 0


def leave(s: Pair) -> None:
    """Leave a domain."""
    s.b = s.a + 9


def last_is_first(s: Pair) -> bool:
    """The first counted last, or the sum is below two."""
    return s.last == 0 or s.a + s.b < 2


def is_full(s: Pair) -> bool:
    """Both counters are at their end."""
    return s.a == 9 and s.b == 9


def is_a_pair(s: Pair) -> bool:
    """Any pair is one."""
    return s.a <= 9


def choose(s: Pair, number: int) -> None:
    """Choose a number."""
    s.a = number


def carry(s: Pair) -> None:
    """Carry the number over to the second counter."""
    s.b = s.a
    s.a = 0
    s.last = 1
    append(s.seen, 0)


def count_down(s: Pair) -> None:
    """Count down."""
    s.b -= 1
    s.seen[0] = s.seen[0] + 1


def has_first(s: Pair) -> bool:
    """A number is chosen."""
    return s.a > 0 and s.last == 0


def has_second(s: Pair) -> bool:
    """There is something to count down."""
    return s.b > 0 and s.a == 0


def has_neither(s: Pair) -> bool:
    """Nothing is chosen yet."""
    return s.a + s.b + s.last == 0


@dataclass
class Times:
    """A clock."""

    now: int = field(Range(0, 3, name="time"))


def tick(s: Times) -> None:
    """Tick."""
    s.now = 1


TICK = Rule("Tick", "clock", "the clock ticks", "", (tick,))
COUNT = Rule("Count", "world", "counter {which} counts", "", (count_up,), {"which": Range(0, 1)}, (is_below_nine,))
PAIR = Spec("pair", "two counters", Pair, (COUNT,), (reachable("Five", sum_is_five, "the sum can be five"),), final=is_full)
SMALL = PAIR.replacing("pair/small", "two counters, up to a sum", constraint=sum_is_small)
VIEWED = PAIR.replacing("pair/viewed", "two counters, whoever counted last", view=(forget_last,))


CARRIED = Spec(
    "carried",
    "a number is chosen, carried over and counted down",
    Pair,
    (
        Rule("Choose", "world", "it chooses {number}", "", (choose,), {"number": Range(1, 9)}, (has_neither,)),
        Rule("Carry", "world", "it carries", "", (carry,), {}, (has_first,)),
        Rule("Down", "world", "it counts down", "", (count_down,), {}, (has_second,)),
    ),
)
RANKED = Spec("ranked", "a view with ranks", Times, (TICK,), view=(Ranks("time", newest="now"),))


def claiming(spec: Spec, *claims: Any, **other: Any) -> Spec:
    """Return a spec with these claims alone."""
    return replace(spec, properties=claims, **other)


def test_a_constraint_ends_the_exploration_where_it_does_not_hold() -> None:
    """The states of the constraint are found, no others; the steps that leave it are counted under its name."""
    result = check(SMALL, engine="both", verify=True)

    assert (result.distinct, result.levels) == (1 + 2 + 4 + 6 + 8, [1, 2, 4, 6, 8])
    assert dict(result.cut_by) == {("Count", "sum_is_small"): 16}
    assert result.verdict == "holds"


def test_what_a_constraint_leaves_out_is_judged_one_step_far() -> None:
    """A state to which a step leaves the constraint is judged, as TLC judges it, goals too; what follows is not explored."""
    assert "Five" in check(SMALL).findings
    five = claiming(SMALL, invariant("NotFive", sum_is_not_five, "the sum is not five"))
    six = claiming(SMALL, invariant("NotSix", sum_is_not_six, "the sum is not six"))
    grows = claiming(SMALL, step_invariant("Grows", sum_grows, "the sum grows"))
    for spec, name in ((five, "NotFive"), (grows, "Grows")):
        result = check(spec, engine="both", threads=2)
        trace = trace_of(result, name)
        assert result.violated == [name]
        assert trace is not None
        assert trace.states == 6
        assert sum(int(dict(trace.steps[-1].state)[name]) for name in "ab") == 5
    assert check(six, engine="both").verdict == "holds"
    assert check(claiming(PAIR, *six.properties), engine="both").violated == ["NotSix"]


def test_a_trace_beyond_a_constraint_becomes_a_test() -> None:
    """The test written for a violation beyond the constraint takes its last step too."""
    spec = claiming(SMALL, invariant("NotFive", sum_is_not_five, "the sum is not five"))
    trace = trace_of(check(spec), "NotFive")
    assert trace is not None
    text = as_test(trace, PAIR, "tests.test_constraint_and_view:SMALL", 0)
    assert text.count("act(") == 5


def test_claims_about_ways_are_undecided_where_a_constraint_cuts() -> None:
    """Beyond a constraint a way is taken to exist, and the verdict says up to what it holds; without it the claims are violated."""
    for claim in (
        recoverable("Returns", starts, "the start is reached again"),
        leads_to("Goes", sum_is_five, is_never, "after five comes what never is"),
    ):
        result = check(claiming(SMALL, claim), engine="both")
        assert (result.verdict, result.undecided_by) == ("holds", ["Count"])
        assert check(claiming(PAIR, claim), engine="both").verdict == "violated"


def test_a_view_says_what_identifies_a_state() -> None:
    """States with one view are explored once; the trace still shows what the view hides."""
    assert check(PAIR, engine="both").distinct == 1 + 2 * 99 - 18
    result = check(VIEWED, engine="both", verify=True)
    assert (result.distinct, result.verdict) == (100, "holds")
    trace = trace_of(result, "Five")
    assert trace is not None
    assert all("last" in dict(step.state) for step in trace.steps)


def test_a_view_does_not_hide_what_is_claimed() -> None:
    """A claim about what the view hides is judged on every step, also on one to a state with a known view."""
    hidden = invariant("FirstLast", last_is_first, "the first counts last")
    result = check(claiming(VIEWED, hidden), engine="both", everything=True)
    whole = check(claiming(PAIR, hidden), engine="both", everything=True)

    assert result.violated == whole.violated == ["FirstLast"]
    assert result.findings["FirstLast"].states == whole.findings["FirstLast"].states


def test_what_a_view_hides_stays_in_the_state() -> None:
    """The state that is explored is the real one: what its view hides still decides what follows, in both engines."""
    assert check(replace(CARRIED, view=(forget_b,)), deadlock=False, engine="both").depth > 3


def test_a_view_that_hides_too_much_is_seen_by_another_seed() -> None:
    """Which of several states is explored depends on the seed: a view that hides what can follow makes --verify disagree."""
    assert check(CARRIED, deadlock=False, engine="both", verify=True).verdict == "holds"
    with pytest.raises(EngineError, match="its view takes states for one that differ in what can follow"):
        check(replace(CARRIED, view=(forget_b,)), deadlock=False, verify=True)


def test_a_verdict_says_up_to_what_it_holds() -> None:
    """The verdict's line, the report, the line of a named check and JSON name the constraint that cut, and the view."""
    small, viewed = check(SMALL), check(VIEWED)
    text = result_text(small, {})
    assert "verdict     holds up to the constraint sum_is_small; complete within these bounds" in text
    assert "constraint  the sum is at most four: where a step leads elsewhere, that state was judged" in text
    assert "holds up to the constraint sum_is_small" in check_line("one", small, Expectation()).replace("; up", " up")
    text = result_text(viewed, {})
    assert "verdict     holds up to the view forget_last, which identifies states; complete within these bounds" in text
    assert "view        of states that are the same to forget_last one was explored" in text
    assert (result_plain(small, {})["constraint"], result_plain(small, {})["view"]) == ("sum_is_small", False)
    assert (result_plain(viewed, {})["constraint"], result_plain(viewed, {})["view"]) == (None, True)
    wide = check(PAIR.replacing("pair/wide", "a constraint that cuts nothing", constraint=is_a_pair))
    assert "verdict     holds, complete within these bounds" in result_text(wide, {})


def test_what_cannot_be_evaluated_is_an_error_in_both_engines() -> None:
    """A constraint that faults, or a view that leaves a domain, ends the search with an error."""
    for spec, message in (
        (PAIR.replacing("pair/slips", "a fault", constraint=slips), "constraint: slips cannot be executed"),
        (PAIR.replacing("pair/leaves", "a fault", view=(leave,)), "view: leave leaves a domain"),
    ):
        for engine in ("oracle", "embedded"):
            with pytest.raises(SpecError, match=message):
                check(spec, engine=engine)  # type: ignore[arg-type]


def test_wrong_constraints_and_views_are_refused() -> None:
    """What is no predicate, no change of a state, or beside a claim that a view cannot carry is refused with its cure."""
    for changes, message in (
        ({"constraint": "small"}, "constraint is 'small'; name a predicate of s and k that holds in the states to be explored"),
        ({"constraint": forget_last}, "constraint: guard forget_last must return one value"),
        ({"view": forget_last}, r"view: it is not a tuple of parts; write \(one,\)"),
        ({"view": ("last",)}, "view: 'last' is neither a function of s and k that changes a state, nor Ranks"),
        ({"view": (count_up,)}, "count_up takes which, which spec bad, view does not have"),
        (
            {"view": (forget_last,), "properties": (recoverable("Returns", starts, "the start is reached again"),)},
            "Returns is about paths, and the view identifies states that may continue differently",
        ),
    ):
        with pytest.raises(SpecError, match=message):
            replace(PAIR, name="bad", **changes)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"the initial state .* does not meet the constraint sum_is_five"):
        check(PAIR.replacing("pair/five", "it starts beyond", constraint=sum_is_five))
    with pytest.raises(SpecError, match="its view says what identifies a state"):
        replace(VIEWED, normal_form=(forget_last,)).in_normal_form()


def test_spark_refuses_a_view_by_name(tmp_path: Path) -> None:
    """The Spark engine, which keeps any record of equal fingerprints, does not search by a view."""
    with pytest.raises(SpecError, match="pair/viewed: the Spark engine keeps no particular state of those with one view"):
        on_spark(VIEWED, {}, Distribution(str(tmp_path)))


def test_levels_of_a_view_are_not_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Packed states are checked by their own fingerprints, so a search by a view keeps them as they are, and none on disk."""
    monkeypatch.setattr(frontier, "PACK_FROM", 0)
    assert check(SMALL, engine="both").distinct == 21
    assert check(VIEWED, engine="both").distinct == 100
    with pytest.raises(SpecError, match="pair/viewed: a search by a view is not kept on disk; leave --state-dir out"):
        embedded.explore(VIEWED, {}, state_dir=str(tmp_path / "levels"))


def test_tla_writes_both() -> None:
    """The exported configuration has CONSTRAINT and VIEW, the module their definitions; a view with ranks is refused by name."""
    both = SMALL.replacing("pair/both", "both", view=(forget_last,))
    texts = spec_files(both, "Pair", {})
    assert "CONSTRAINT\n  StateConstraint\n" in texts["Pair.cfg"]
    assert "VIEW\n  StateView\n" in texts["Pair.cfg"]
    assert "StateConstraint ==" in texts["Pair.tla"]
    with pytest.raises(SpecError, match=r"ranked: a view with ranks has no form in TLA\+"):
        spec_files(RANKED, "Ranked", {})


@pytest.mark.parametrize("claim", [sum_is_not_five, sum_is_not_six])
def test_tlc_finds_the_same(claim: Any, tmp_path: Path) -> None:
    """TLC counts as many states under the constraint and the view, and judges the same states beyond the constraint."""
    said = invariant("Said", claim, "what is said")
    for number, spec in enumerate((SMALL, VIEWED, replace(VIEWED, constraint=sum_is_small))):
        (tmp_path / str(number)).mkdir()
        agree(claiming(spec, said), {}, tmp_path / str(number))
