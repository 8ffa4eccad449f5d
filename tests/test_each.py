"""Properties with `each`: stated for one thing, they say of all what functions with loops say, in every engine and in TLA+."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.model_check import embedded, oracle
from kafka_spec.model_check.check import check
from kafka_spec.model_check.counterexample import trace_of
from kafka_spec.model_check.coverage import statements
from kafka_spec.model_check.explain import reasons
from kafka_spec.spec.domain import Bound, Each, Member, Range, SpecError, holds
from kafka_spec.spec.lint import source_of
from kafka_spec.spec.table import (
    BoundSet,
    Constants,
    Property,
    Rule,
    Spec,
    anywhere,
    invariant,
    leads_to,
    reachable,
    recoverable,
    step_invariant,
)

TOY = "a toy"
LAMPS = Bound("lamps", 1, 3, "lamps in the house")
LEVELS = Bound("levels", 1, 3, "how bright a lamp can be")
LAMP = {"lamp": LAMPS}


@dataclass
class House:
    """Lamps, each with its brightness; whether there is current."""

    lamps: list[int] = holds(Each(Range(0, 3), LAMPS))
    current: int = holds(Range(0, 1))


def current_can_return(s: House) -> bool:
    """There is no current."""
    return s.current == 0


def turn_current_on(s: House) -> None:
    """Current returns."""
    s.current = 1


def is_lit(s: House, lamp: int) -> bool:
    """The lamp shines."""
    return s.lamps[lamp] > 0


def there_is_current(s: House) -> bool:
    """There is current."""
    return s.current == 1


def can_be_brighter(s: House, k: Constants, lamp: int) -> bool:
    """Brighter is possible."""
    return s.current == 1 and s.lamps[lamp] < k.levels


def shine(s: House, lamp: int) -> None:
    """Shine brighter."""
    s.lamps[lamp] += 1


def is_dim(s: House, lamp: int) -> bool:
    """LEDs of this lamp shine at most at level 1."""
    return s.lamps[lamp] <= 1


def goes_on(before: House, after: House, lamp: int) -> bool:
    """The lamp was lit, or is now."""
    return before.lamps[lamp] + after.lamps[lamp] > 0


def stays(before: House, after: House, lamp: int) -> bool:
    """The lamp does not get darker."""
    return after.lamps[lamp] >= before.lamps[lamp]


def is_dark(s: House, lamp: int) -> bool:
    """The lamp does not shine."""
    return s.lamps[lamp] == 0


def is_bright(s: House, k: Constants, lamp: int) -> bool:
    """The lamp is as bright as it can be."""
    return s.lamps[lamp] == k.levels


def some_is_lit(s: House, k: Constants) -> bool:
    """By hand: some lamp is lit."""
    return any(s.lamps[lamp] > 0 for lamp in range(k.lamps))


def lit_ones_are_dim(s: House, k: Constants) -> bool:
    """By hand: each lamp that is lit is dim."""
    return all(s.lamps[lamp] <= 1 for lamp in range(k.lamps))


def some_goes_on(before: House, after: House, k: Constants) -> bool:
    """By hand: some lamp was lit, or is now."""
    return any(before.lamps[lamp] + after.lamps[lamp] > 0 for lamp in range(k.lamps))


def none_gets_darker(before: House, after: House, k: Constants) -> bool:
    """By hand: no lamp gets darker."""
    return all(after.lamps[lamp] >= before.lamps[lamp] for lamp in range(k.lamps))


def all_are_bright(s: House, k: Constants) -> bool:
    """By hand: each lamp is as bright as it can be."""
    return all(s.lamps[lamp] == k.levels for lamp in range(k.lamps))


def some_is_bright(s: House, k: Constants) -> bool:
    """By hand: some lamp is as bright as it can be."""
    return any(s.lamps[lamp] == k.levels for lamp in range(k.lamps))


def some_is_dark(s: House, k: Constants) -> bool:
    """By hand: some lamp does not shine."""
    return any(s.lamps[lamp] == 0 for lamp in range(k.lamps))


def lit_ones_are_bright(s: House, k: Constants) -> bool:
    """By hand: each lamp that is lit is as bright as it can be."""
    return all(s.lamps[lamp] in (0, k.levels) for lamp in range(k.lamps))


def none_is_dark_alone(s: House, k: Constants) -> bool:
    """By hand: each lamp is lit."""
    return not some_is_dark(s, k)


RULES = (
    Rule("Connect", "a house", "current returns", TOY, (turn_current_on,), guards=(current_can_return,)),
    Rule("Shine", "a lamp", "{lamp} shines brighter", TOY, (shine,), {"lamp": Member(LAMPS)}, (can_be_brighter,)),
)
SIZES = (BoundSet("two", {"lamps": 2, "levels": 2}, "two lamps"),)


def claims(each: bool) -> tuple[Property, ...]:
    """Return a property of each kind, stated for a lamp or by hand for the house."""
    if not each:
        return (
            invariant("Dim", lit_ones_are_dim, "lit lamps are dim", TOY, when=some_is_lit),
            invariant("Powered", there_is_current, "no lamp is lit without current", TOY, when=some_is_lit),
            step_invariant("Stays", none_gets_darker, "no lamp gets darker", TOY, when=some_goes_on),
            reachable("Bright", some_is_bright, "a lamp is bright", TOY),
            recoverable("Recovers", lit_ones_are_bright, "lit lamps can be bright", TOY, when=some_is_lit),
            leads_to("Lights", some_is_dark, all_are_bright, "all lamps are bright at last", TOY),
        )
    return (
        invariant("Dim", is_dim, "lit lamps are dim", TOY, when=is_lit, each=LAMP),
        invariant("Powered", there_is_current, "no lamp is lit without current", TOY, when=is_lit, each=LAMP),
        step_invariant("Stays", stays, "no lamp gets darker", TOY, when=goes_on, each=LAMP),
        reachable("Bright", is_bright, "a lamp is bright", TOY, each=LAMP),
        recoverable("Recovers", is_bright, "lit lamps can be bright", TOY, when=is_lit, each=LAMP),
        leads_to("Lights", is_dark, is_bright, "all lamps are bright at last", TOY, each=LAMP),
    )


BY_HAND = Spec(
    "by hand", "properties with loops", House, RULES, claims(each=False), more_bounds=(LEVELS,), bound_sets=SIZES, final=anywhere
)
EACH = replace(BY_HAND, name="each", properties=claims(each=True))


@pytest.mark.parametrize("engine", [oracle, embedded])
def test_each_says_what_loops_say(engine: Any) -> None:
    """Verdicts, traces and how often each property was tested are those of properties that loop themselves; Dim is violated."""
    one, other = (engine.explore(spec, dict(SIZES[0].values), everything=True) for spec in (EACH, BY_HAND))

    assert set(one.findings) == {"Dim", "Bright"} and one.findings == other.findings
    assert one.tested == other.tested and all(one.tested[name] for name in ("Dim", "Powered", "Stays", "Recovers", "Lights"))


def test_the_reason_names_the_thing() -> None:
    """A violation tells for which lamp the predicate is false."""
    trace = trace_of(check(EACH), "Dim")
    assert trace is not None
    (first, second) = reasons(trace, EACH)

    assert first.function == "is_dim_everywhere" and first.says == "In each lamp: LEDs of this lamp shine at most at level 1."
    assert first.values == (("lamp", "0"),) and second.function == "is_dim"


@pytest.mark.slow
def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds the same of the exported module."""
    agree(EACH, dict(SIZES[0].values), tmp_path)


def test_it_stands_where_the_function_stands() -> None:
    """Source and coverage find the made function on the line of the function that it asks; it is made once."""
    made = EACH.property("Dim").predicate
    line = is_dim.__code__.co_firstlineno

    assert source_of(made).place == source_of(is_dim).place and statements(source_of(made)) == [line]
    assert made is invariant("Other", is_dim, "the same", TOY, when=is_lit, each=LAMP).predicate
    assert source_of(made).calls == (is_lit, is_dim) and made.__module__ == __name__


def test_two_things() -> None:
    """A claim may be about pairs."""
    made = invariant("Equal", are_equal, "lamps are equal", TOY, each={"one": LAMPS, "other": LAMPS}).predicate

    assert "for one in range(k.lamps):\n        for other in range(k.lamps):" in source_of(made).text


def are_equal(s: House, one: int, other: int) -> bool:
    """Two lamps are equally bright."""
    return s.lamps[one] == s.lamps[other]


def test_mistakes_are_refused() -> None:
    """Refused: `each` without bounds, a name that no function takes, and functions that need another name."""
    mistaken: Any = {"lamp": 3}
    with pytest.raises(SpecError, match=r"property P: each is \{'lamp': 3\}; write each=\{\"partition\": PARTITIONS\}"):
        invariant("P", is_dim, "says", TOY, each=mistaken)
    for claim in (invariant, reachable, recoverable):
        with pytest.raises(SpecError, match="property P: no function takes lamp; let one take that parameter, or drop `each`"):
            claim("P", there_is_current, "says", TOY, each=LAMP)
    with pytest.raises(SpecError, match="property P: no function takes lamp"):
        leads_to("P", there_is_current, there_is_current, "says", TOY, each=LAMP)
    with pytest.raises(SpecError, match="are_equal_everywhere takes one, which property P does not have"):
        invariant("P", are_equal, "says", TOY, each={"other": LAMPS})


def test_a_function_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check reads the functions again that a made one asks: with another code the property has another verdict."""
    calm = replace(EACH, properties=(EACH.property("Stays"), EACH.property("Dim")))
    assert check(calm).verdict == "violated"

    monkeypatch.setattr(is_dim, "__code__", is_lit_or_dark.__code__)
    assert check(calm).verdict == "holds"


def is_lit_or_dark(s: House, lamp: int) -> bool:
    """Always."""
    return s.lamps[lamp] >= 0
