"""Sets and bags of records: canonical, the same in every engine and in TLA+, and refused where the language cannot hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb
from pathlib import Path
from typing import Any

import element_toys as toys
import pytest
from test_tla import agree

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import (
    BadAccess,
    BagOf,
    OutOfBound,
    OutOfDomain,
    Range,
    SetOf,
    Space,
    SpecError,
    add,
    append,
    count,
    field,
    has,
    pop_first,
    remove,
)
from kafka_spec.spec.vocabulary.table import ElementOf, ItemOf, Rule, Spec, leads_to

BOUNDS = {"letters": 3, "room": 3}


def post() -> Any:
    """Return a state without letters."""
    return Space(toys.Post, BOUNDS).fresh()


# ---------------------------------------------------------------------------------------------------------------------
# Values


def test_equal_sets_are_equal_states() -> None:
    """Whatever the order in which elements come and go, equal sets have equal keys and equal bytes."""
    space = Space(toys.Post, BOUNDS)
    layout = Layout(space)
    one, other = space.fresh(), space.fresh()
    for name in (2, 0, 1):
        add(one.once, name=name)
        add(one.often, name=name)
    for name in (1, 5, 2, 0, 2):
        if len(other.once) < 3:
            add(other.once, name=name)
    remove(other.once, name=5)
    add(other.once, name=0)
    for name in (0, 1, 2):
        add(other.often, name=name)

    assert space.root.freeze(one) == space.root.freeze(other)
    assert layout.pack(one) == layout.pack(other)
    assert layout.pack(layout.unpack(layout.pack(one))) == layout.pack(one)
    assert [letter.name for letter in one.once] == [0, 1, 2]


def test_a_bag_counts() -> None:
    """An element is in a bag as often as it was added and not removed; in a set it is once."""
    s = post()
    for _ in range(2):
        add(s.often, name=1)
        add(s.once, name=1)

    assert (count(s.often, name=1), count(s.once, name=1), len(s.often), len(s.once)) == (2, 1, 2, 1)
    remove(s.often, name=1)
    assert (count(s.often, name=1), has(s.often, name=1), has(s.often, name=2)) == (1, True, False)


def test_capacity() -> None:
    """Beyond a capacity from a bound the step is left out, beyond a number it violates the type; what is there already fits."""
    s, talk = post(), Space(toys.Inboxes, {}).fresh()
    for name in range(3):
        add(s.once, name=name)
    add(s.once, name=2)
    with pytest.raises(OutOfBound):
        add(s.once, name=3)
    add(talk.inboxes[0], kind=toys.Kind.ASK)
    add(talk.inboxes[0], kind=toys.Kind.TELL, what=1)
    with pytest.raises(OutOfDomain, match="full set"):
        add(talk.inboxes[0], kind=toys.Kind.TELL, what=2)


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "not there": (lambda s: remove(s.once, name=4), BadAccess, "is not in the set"),
    "outside": (lambda s: add(s.once, name=9), OutOfDomain, "9 is outside"),
    "unknown field": (lambda s: has(s.once, colour=1), BadAccess, "Letter has no field colour"),
    "append": (lambda s: append(s.once, name=1), BadAccess, "add.. puts an element into a set"),
    "pop_first": (lambda s: pop_first(s.often), BadAccess, "a bag has no first item"),
    "index": (lambda s: s.often[0], BadAccess, "have no index"),
    "another record": (lambda s: add(s.once, s), BadAccess, "Post and Letter are different"),
    "a number": (lambda s: has(s.order), BadAccess, "is for a set or bag"),
}


@pytest.mark.parametrize("what", WRONG)
def test_misuse_is_refused(what: str) -> None:
    """What a set or bag cannot do is an error that names the cure, and changes nothing."""
    call, error, message = WRONG[what]
    s = post()
    with pytest.raises(error, match=message):
        call(s)
    assert len(s.once) == len(s.often) == 0


def test_an_element_cannot_be_changed() -> None:
    """An element has no identity but its content, so nothing may be stored in it."""
    s = post()
    add(s.once, name=1)
    for letter in s.once:
        with pytest.raises(BadAccess, match="part of an element of a set or bag"):
            letter.name = 2
    assert has(s.once, name=1)


# ---------------------------------------------------------------------------------------------------------------------
# Searches


def states_in_order(letters: int, room: int) -> int:
    """Count the states of `ordered` without any of its code: what is there, and what was last written down."""
    sets = [frozenset(c) for n in range(room + 1) for c in combinations(range(letters), n)]
    bags = [c for n in range(room + 1) for c in combinations_with_replacement(range(letters), n)]

    def digits(names: tuple[int, ...]) -> int:
        return sum(name * 3**place for place, name in enumerate(reversed(names)))

    found = set()
    for once in sets:
        for often in bags:
            found.add((once, often, 0))
            for earlier in sets:
                for less in bags:
                    if earlier <= once and all(less.count(x) <= often.count(x) for x in less):
                        found.add((once, often, digits((*sorted(earlier), *sorted(less)))))
    return len(found)


COUNTS = {
    "sets": 2**4,
    "full_sets": 1 + 4 + comb(4, 2),
    "bags": comb(3 + 3, 3),
    "answers": 4,
    "ordered": states_in_order(3, 2),
    "talk": 64,
}


@pytest.mark.parametrize("spec", toys.SPECS, ids=lambda spec: spec.name)
def test_engines_find_what_is_counted_by_hand(spec: Spec) -> None:
    """Both engines find the counted states, and agree on firings and the digest of the graph."""
    bounds = spec.bound_values({})
    plain, fast = (engine.explore(spec, bounds, everything=True) for engine in (oracle, embedded))

    assert (plain.distinct, fast.distinct) == (COUNTS[spec.name], COUNTS[spec.name])
    assert (plain.fired, plain.bounded, plain.digest, plain.verdict) == (fast.fired, fast.bounded, fast.digest, "holds")


def test_equal_elements_of_a_bag_are_one_choice() -> None:
    """A rule over a bag fires once for each distinct element: for each of 3 letters in the bags of 2 others and itself."""
    found = embedded.explore(toys.BAGS, toys.BAGS.bound_values({}), everything=True)

    assert found.fired["Receive"] == 3 * comb(3 + 2, 2)


@pytest.mark.parametrize("spec", toys.SPECS, ids=lambda spec: spec.name)
def test_tlc_agrees(spec: Spec, tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, in which sets of records are sets."""
    agree(spec, spec.bound_values({}), tmp_path)


def test_a_trace_shows_elements() -> None:
    """A step shows the element that it received with its fields, and those that it added as sent."""
    sent = toys.post("sent", "a bag", toys.SEND, letters=1, room=2).replacing("goal", "a goal", properties=(toys.TWICE,))
    trace = trace_of(embedded.explore(sent, sent.bound_values({})), "Twice")
    assert trace is not None
    assert [message.shown for step in trace.steps for message in step.sent] == ["Letter(name 0, answers no)"] * 2

    trace = trace_of(embedded.explore(toys.TALK.replacing("goal", "a goal", properties=(toys.HEARD,)), {}), "Heard")
    assert trace is not None
    assert (trace.steps[-1].summary, [message.shown for message in trace.steps[-1].received]) == ("0 hears 1", ["Tell(what 1)"])
    assert ("inboxes[0]", "{(kind TELL, what 1)}") in trace.steps[-1].state


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


def adds_in_a_loop(s: toys.Post) -> None:
    """Add while a loop goes over the set."""
    for letter in s.once:
        add(s.once, letter)


def send_again(s: toys.Post, letter: toys.Letter) -> None:
    """Add one more."""
    add(s.often, letter)


def adds_through_a_helper(s: toys.Post) -> None:
    """Add through another function."""
    for letter in s.once:
        send_again(s, letter)


@pytest.mark.parametrize("function", [adds_in_a_loop, adds_through_a_helper])
def test_a_loop_over_items_may_not_change_them(function: Callable[..., Any]) -> None:
    """Python would go over the changed set, and compiled code over moved bytes; so it is refused at import, with the cure."""
    with pytest.raises(SpecError, match=r"while a loop goes over s\.once; note what is to be done"):
        source_of(function)


def renames(s: toys.Post, letter: toys.Letter) -> None:
    """Change an element."""
    letter.name = 1


def takes_the_first(s: toys.Post) -> None:
    """Read an element by an index."""
    s.order = s.once[0].name


def appends(s: toys.Post) -> None:
    """Append to a set."""
    append(s.once, name=1)


def says_nothing_known(s: toys.Post) -> None:
    """Add what has no such field."""
    add(s.once, colour=1)


REFUSED = {
    renames: "part of an element of a set or bag, or of a parameter",
    takes_the_first: "elements of a set have no index",
    appends: "s.once is a set; use add",
    says_nothing_known: "Letter has no field colour; it has name, answers",
}


@pytest.mark.parametrize("effect", REFUSED, ids=lambda effect: effect.__name__)
def test_the_compiler_refuses_misuse(effect: Callable[..., Any]) -> None:
    """What Python refuses when it runs, the compiler refuses before, with the same cure."""
    params = {"letter": ElementOf("once")} if "letter" in source_of(effect).parameters else {}
    spec = toys.post("wrong", "", Rule("Wrong", "w", "", "", (effect,), params), letters=1, room=2)
    with pytest.raises(SpecError, match=REFUSED[effect]):
        embedded.explore(spec, spec.bound_values({}))


def declared(domain: Any) -> Spec:
    """Return a spec whose state has a field of this domain."""
    state = dataclass(type("State", (), {"__annotations__": {"x": int}, "x": field(domain)}))
    return Spec("declared", "", state, (Rule("None", "w", "", "", ()),))


def test_wrong_declarations_are_refused() -> None:
    """A set of what is no record, or with what only sets of members have, is refused with the cure."""
    for make, message in (
        (lambda: SetOf(toys.Letter, 2, full=True), "empty at first"),
        (lambda: SetOf(3, 2), "has no capacity"),
        (lambda: declared(SetOf(toys.Letter, -1)), "at most -1"),
        (lambda: declared(BagOf(Range(0, 1), 2)), "name their dataclass"),  # type: ignore[arg-type]
    ):
        with pytest.raises(SpecError, match=message):
            make()


def test_fairness_to_elements_is_refused() -> None:
    """A leads-to claim is refused where each element is to be treated fairly: their numbers change with the set."""
    claim = leads_to("Heard", toys.has_heard, toys.has_heard, "what is heard stays heard", "a toy")
    with pytest.raises(SpecError, match="what is fair to rule Tell, and its parameter said is an element of a set"):
        toys.TALK.replacing("fair", "a claim", properties=(claim,), fairness="weak each")
    spec = toys.TALK.replacing("fair as a whole", "a claim", properties=(claim,))

    assert embedded.explore(spec, {}).verdict == oracle.explore(spec, {}).verdict == "holds"


def test_wrong_parameters_are_refused() -> None:
    """A parameter over a set must lead to one; a sequence has items, and a set has none."""
    lone = toys.SEND_ONCE
    for params, message in (
        ({"letter": ElementOf("order")}, "order is not a set or bag"),
        ({"letter": ItemOf("once")}, r"once is a set; range over ElementOf\('once'\)"),
        ({"letter": ElementOf("once[{other}]")}, "names other; it may name parameters before it"),
    ):
        with pytest.raises(SpecError, match=message):
            toys.post("wrong", "", lone, Rule("Wrong", "w", "", "", (), params), letters=1, room=1)
    with pytest.raises(SpecError, match="receives from once, which is not a sequence"):
        toys.post("wrong", "", lone, Rule("Wrong", "w", "", "", (), receives="once"), letters=1, room=1)
