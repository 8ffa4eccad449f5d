"""Interchangeable members: a search finds one state of each orbit, and members that something tells apart are refused."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from conftest import Explore
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.code.arrays import address
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter import symmetry_check
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.interpreter.symmetry_check import renamings
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.normal_form import compared
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import (
    NONE,
    ArrayOf,
    Bound,
    Flag,
    MapOf,
    Member,
    MemberOrNone,
    MemberSet,
    Option,
    Queue,
    Range,
    Scalar,
    SequenceOf,
    SetOf,
    append,
    contains,
    excluding,
    field,
    including,
    pop_first,
    size,
)
from kafka_spec.spec.language.domain.types import Array, Collection, Record, Type, order
from kafka_spec.spec.vocabulary.table import (
    Constants,
    Rule,
    Spec,
    SpecError,
    Symmetric,
    anywhere,
    invariant,
    leads_to,
    recoverable,
    step_invariant,
)
from kafka_spec.spec.vocabulary.table.symmetry import renamed

# ---------------------------------------------------------------------------------------------------------------------
# A small world: guards who hand a key to each other

GUARDS = Bound("guards", 2, 9, "guards of the house")
A_GUARD = Member(GUARDS, "guard")


@dataclass
class Letter:
    """Who wrote to whom, and who is said to have had the key."""

    writer: int = field(A_GUARD)
    reader: int = field(MemberOrNone(GUARDS, "guard"))
    named: int = field(SetOf(GUARDS))


@dataclass
class House:
    """Who has the key, what each guard knows, and letters."""

    holder: int = field(MemberOrNone(GUARDS, "guard"))
    seen: list[int] = field(ArrayOf(SetOf(GUARDS), GUARDS, "guard"))
    trust: list[list[int]] = field(ArrayOf(ArrayOf(Flag(), GUARDS), GUARDS, "guard"))
    turns: list[int] = field(ArrayOf(Range(0, 2), GUARDS, "guard"))
    letters: list[Letter] = field(Queue(Letter, 2))
    archive: list[Letter] = field(SetOf(Letter, 3))
    line: list[int] = field(SequenceOf(A_GUARD, 10))
    """More places than are summed without a loop."""
    keys: dict[int, Letter] = field(MapOf(A_GUARD, Letter))
    spare: int | None = field(Option(A_GUARD))


def nobody_has_it(s: House) -> bool:
    """Nobody has the key."""
    return s.holder == NONE


def has_it(s: House, guard: int) -> bool:
    """The guard has the key."""
    return s.holder == guard


def has_a_turn(s: House, guard: int) -> bool:
    """The guard has taken fewer than two turns."""
    return s.turns[guard] < 2


def take(s: House, guard: int) -> None:
    """Take the key."""
    s.holder = guard
    s.turns[guard] += 1


def letter_fits(s: House) -> bool:
    """Another letter fits."""
    return len(s.letters) < 1


def hand_over(s: House, guard: int, next_: int) -> None:
    """Hand the key over by a letter."""
    s.holder = NONE
    append(s.letters, writer=guard, reader=next_, named=including(s.seen[guard], guard))


def a_letter_waits(s: House) -> bool:
    """A letter is on its way."""
    return len(s.letters) > 0


def receive(s: House) -> None:
    """The reader takes the key, and knows who has had it."""
    s.holder = s.letters[0].reader
    s.seen[s.letters[0].reader] = s.letters[0].named
    s.trust[s.letters[0].reader][s.letters[0].writer] = 1
    pop_first(s.letters)


TAKE = Rule("Take", "{guard}", "{guard} takes the key", "", (take,), {"guard": A_GUARD}, (nobody_has_it, has_a_turn))
HAND = Rule(
    "HandOver",
    "{guard}",
    "{guard} writes to {next_}",
    "",
    (hand_over,),
    {"guard": A_GUARD, "next_": A_GUARD},
    (letter_fits, has_it),
)
RECEIVE = Rule("Receive", "post", "a letter arrives", "", (receive,), guards=(nobody_has_it, a_letter_waits))


def nobody_writes_to_himself(s: House) -> bool:
    """No letter is to its writer."""
    return len(s.letters) == 0 or s.letters[0].writer != s.letters[0].reader


def somebody_can_take_it(s: House, k: Constants) -> bool:
    """Somebody has taken fewer than two turns."""
    return any(s.turns[guard] < 2 for guard in range(k.guards))


def turns_grow(before: House, after: House, k: Constants) -> bool:
    """Nobody gives a turn back."""
    return all(before.turns[guard] <= after.turns[guard] for guard in range(k.guards))


HOUSE = Spec(
    "house",
    "guards hand a key to each other",
    House,
    (TAKE, HAND, RECEIVE),
    (
        invariant("ToAnother", nobody_writes_to_himself, "no letter is to its writer", ""),
        step_invariant("TurnsGrow", turns_grow, "nobody gives a turn back", ""),
    ),
    normal_form=(Symmetric(GUARDS),),
    final=anywhere,
)


def searched(spec: Spec, engine: Explore, guards: int = 2, **more: Any) -> Any:
    """Return the search of a spec that takes guards as interchangeable."""
    return engine(spec.in_normal_form(), {"guards": guards}, everything=True, **more)


# ---------------------------------------------------------------------------------------------------------------------
# Renamings and forms


def any_value(type_: Type, chance: random.Random) -> Any:
    """Return some value of a type."""
    if isinstance(type_, Scalar):
        return chance.randint(type_.low, type_.high)
    if isinstance(type_, Record):
        value = type_.fresh()
        value.__dict__.update({name: any_value(field, chance) for name, field in type_.fields.items()})
        return value
    length = type_.length if isinstance(type_, Array) else chance.randint(0, type_.capacity)
    items = [any_value(type_.item, chance) for _ in range(length)]
    if isinstance(type_, Collection):
        items = [item for _, item in sorted({order(type_.item, item): item for item in items}.items(), key=lambda pair: pair[0])]
    return type_.holding(items)


def program_of(world: Interpreter, layout: Layout) -> Program:
    """Return the code of a spec."""
    return Program(world.spec, layout, world.actions, world.spec.properties, world.k)


@pytest.mark.parametrize("guards", [2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)])
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_one_form_for_all_names(guards: int, seed: int) -> None:
    """A form is a renaming of the state, it is the same for all renamings, and compiled code has the same forms and renamings."""
    world = Interpreter(HOUSE.in_normal_form(), {"guards": guards})
    layout, root = Layout(world.space), world.space.root
    program = program_of(world, layout)
    chance = random.Random(seed)
    state = any_value(root, chance)
    if chance.random() < 0.5:  # states in which members look alike
        state.__dict__.update({name: root.fields[name].fresh() for name in ("seen", "trust", "turns")})
    others = [renamed(root, state, "guards", to) for to in itertools.permutations(range(guards))]
    forms = [world.formed(other) for other in others]
    key = world.key(forms[0])
    assert all(world.key(form) == key for form in forms)
    assert key in [world.key(other) for other in others]
    records = np.array([list(layout.pack(other)) for other in others], np.uint8)
    marks, fault = np.empty(len(records), np.uint64), np.zeros(1, np.int64)
    for number, to in enumerate(itertools.permutations(range(guards))):
        copy, names = records[:1].copy(), np.array(to, np.int64)
        program.renames["guards"](address(copy), 1, layout.size, address(names))
        assert copy[0].tobytes() == records[number].tobytes()
    assert program.form(address(records), len(records), program.seed, address(marks), address(fault)) < 0
    assert {record.tobytes() for record in records} == {layout.pack(forms[0])}


@pytest.mark.parametrize("guards", [5, pytest.param(6, marks=pytest.mark.long)])
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32))
def test_forms_of_many_members(guards: int, seed: int) -> None:
    """Compiled code has the oracle's form of a state in which sets have more members than one row of a table is for."""
    world = Interpreter(HOUSE.in_normal_form(), {"guards": guards})
    layout, chance = Layout(world.space), random.Random(seed)
    program = program_of(world, layout)
    states = [any_value(world.space.root, chance) for _ in range(4)]
    records = np.array([list(layout.pack(state)) for state in states], np.uint8)
    marks, fault = np.empty(len(records), np.uint64), np.zeros(1, np.int64)
    assert program.form(address(records), len(records), program.seed, address(marks), address(fault)) < 0
    assert [record.tobytes() for record in records] == [layout.pack(world.formed(state)) for state in states]


DOORS = Bound("doors", 1, 4, "doors of the house")
A_DOOR = Member(DOORS, "door")


@dataclass
class Watch:
    """Which guard saw which door, and where guards and doors stand in each other's terms."""

    guard: int = field(A_GUARD)
    door: int = field(MemberOrNone(DOORS, "door"))
    open: int = field(SetOf(DOORS))


@dataclass
class Castle:
    """Guards at doors: both are interchangeable."""

    at: list[int] = field(ArrayOf(MemberOrNone(DOORS, "door"), GUARDS, "guard"))
    by: list[int] = field(ArrayOf(SetOf(GUARDS), DOORS, "door"))
    worn: list[list[int]] = field(ArrayOf(ArrayOf(Range(0, 2), DOORS, "door"), GUARDS, "guard"))
    seen: list[Watch] = field(SetOf(Watch, 3))
    told: list[Watch] = field(Queue(Watch, 2))
    line: list[int] = field(SequenceOf(A_DOOR, 10))
    first: int = field(MemberOrNone(GUARDS, "guard"))


def nobody_is_there(s: Castle, guard: int, door: int) -> bool:
    """The guard is at no door, and nobody is at the door."""
    return s.at[guard] == NONE and s.by[door] == 0


def go(s: Castle, guard: int, door: int) -> None:
    """Go to the door."""
    s.at[guard] = door
    s.by[door] = including(s.by[door], guard)
    if s.first == NONE:
        s.first = guard


def is_at_a_door(s: Castle, guard: int) -> bool:
    """The guard is at a door, whose handle is not worn."""
    return s.at[guard] != NONE and s.worn[guard][s.at[guard]] < 1


def leave(s: Castle, guard: int) -> None:
    """Leave the door."""
    s.worn[guard][s.at[guard]] += 1
    s.by[s.at[guard]] = excluding(s.by[s.at[guard]], guard)
    s.at[guard] = NONE


def one_at_each_door(s: Castle, k: Constants) -> bool:
    """At most one guard is at a door."""
    return all(size(s.by[door]) <= 1 for door in range(k.doors))


CASTLE = Spec(
    "castle",
    "guards go to doors",
    Castle,
    (
        Rule("Go", "{guard}", "{guard} goes to {door}", "", (go,), {"guard": A_GUARD, "door": A_DOOR}, (nobody_is_there,)),
        Rule("Leave", "{guard}", "{guard} leaves", "", (leave,), {"guard": A_GUARD}, (is_at_a_door,)),
    ),
    (invariant("OneAtEach", one_at_each_door, "at most one guard is at a door", ""),),
    normal_form=(Symmetric(GUARDS, DOORS),),
    final=anywhere,
)


@pytest.mark.parametrize(
    ("guards", "doors"), [(2, 2), pytest.param(3, 2, marks=pytest.mark.long), pytest.param(2, 4, marks=pytest.mark.long)]
)
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_one_form_for_all_names_of_two_sets(guards: int, doors: int, seed: int) -> None:
    """A form is one for all renamings of both sets, and a renaming; compiled code has the same."""
    world = Interpreter(CASTLE.in_normal_form(), {"guards": guards, "doors": doors})
    layout, root = Layout(world.space), world.space.root
    program, chance = program_of(world, layout), random.Random(seed)
    state = any_value(root, chance)
    for name in root.fields:
        if chance.random() < 0.5:  # states in which members look alike
            state.__dict__[name] = root.fields[name].fresh()
    numberings = itertools.product(itertools.permutations(range(guards)), itertools.permutations(range(doors)))
    others = [renamed(root, renamed(root, state, "guards", to), "doors", too) for to, too in numberings]
    forms = {world.key(world.formed(other)) for other in others}
    assert len(forms) == 1 and forms <= {world.key(other) for other in others}
    records = np.array([list(layout.pack(other)) for other in others], np.uint8)
    marks, fault = np.empty(len(records), np.uint64), np.zeros(1, np.int64)
    assert program.form(address(records), len(records), program.seed, address(marks), address(fault)) < 0
    assert {record.tobytes() for record in records} == {layout.pack(world.formed(state))}


@pytest.mark.parametrize(("guards", "doors"), [(2, 2), (3, 2), (2, 3)])
def test_a_search_keeps_one_state_of_each_orbit(guards: int, doors: int) -> None:
    """With two sets a search finds as many states as there are orbits, in both engines; all states are found without."""
    bounds = {"guards": guards, "doors": doors}
    result = compared(CASTLE, bounds)
    world = Interpreter(CASTLE, bounds)
    root, orbits = world.space.root, set[Any]()
    states = graph_of(world, 10_000).states
    for state in states:
        numberings = itertools.product(itertools.permutations(range(guards)), itertools.permutations(range(doors)))
        orbits.add(min(world.key(renamed(root, renamed(root, state, "guards", to), "doors", too)) for to, too in numberings))
    assert (result.distinct, result.unreduced) == (len(orbits), len(states))
    plain = oracle.explore(CASTLE.in_normal_form(), bounds, everything=True)
    assert (plain.levels, plain.digest) == (result.levels, result.digest)


def prefer_the_first_door(s: Castle, door: int) -> bool:
    """The first door is taken first."""
    return door == 0 or s.by[0] != 0


@pytest.mark.parametrize("explore", [oracle.explore, embedded.explore])
def test_each_of_two_sets_is_judged(explore: Explore) -> None:
    """Where one of the sets is not interchangeable, the search is refused, and says which."""
    go_first = replace(CASTLE.rules[0], guards=(nobody_is_there, prefer_the_first_door))
    spec = replace(CASTLE, name="preferring", rules=(go_first, CASTLE.rules[1]))
    with pytest.raises(SpecError, match="preferring: the doors are not interchangeable: rule Go"):
        explore(spec.in_normal_form(), {"guards": 2, "doors": 2}, everything=True)


def test_too_many_orders_are_refused() -> None:
    """Sets that have more orders together than are tried are refused."""
    with pytest.raises(SpecError, match="the guards and doors have 120,960 orders together"):
        embedded.explore(CASTLE.in_normal_form(), {"guards": 7, "doors": 4}, budget=Budget(max_states=10))


def test_renaming() -> None:
    """A renaming changes members, sets of members, the order of what stands for each, and the order of elements of a set."""
    world = Interpreter(HOUSE, {"guards": 3})
    state = world.space.fresh()
    state.holder = 0
    state.seen[0] = 0b011
    state.turns[0] = 2
    append(state.letters, writer=2, reader=NONE, named=0b100)
    other = renamed(world.space.root, state, "guards", (1, 2, 0))
    assert (other.holder, list(other.seen), list(other.turns)) == (1, [0, 0b110, 0], [0, 2, 0])
    assert (other.letters[0].writer, other.letters[0].reader, other.letters[0].named) == (0, NONE, 0b001)
    assert state.holder == 0


# ---------------------------------------------------------------------------------------------------------------------
# Searches


@pytest.mark.parametrize("guards", [2, pytest.param(3, marks=pytest.mark.long)])
def test_orbits(guards: int) -> None:
    """Both engines find as many states as there are orbits of all states, with the same graph."""
    world = Interpreter(HOUSE, {"guards": guards})
    names = list(itertools.permutations(range(guards)))
    orbits: set[Any] = set()

    def add(search: embedded.Search) -> None:
        for record in search.frontier.read(0, search.width)[0]:
            state = search.layout.unpack(record.tobytes())
            orbits.add(min(world.key(renamed(world.space.root, state, "guards", to)) for to in names))

    embedded.explore(HOUSE, {"guards": guards}, everything=True, on_level=add)
    found = searched(HOUSE, embedded.explore, guards)
    assert found.distinct == len(orbits)
    if guards == 2:
        plain = searched(HOUSE, oracle.explore, guards)
        assert (plain.levels, plain.digest, plain.fired) == (found.levels, found.digest, found.fired)


def test_faster_code_is_used_for_all() -> None:
    """A search that loads faster code calls nothing of the code before, which is gone; it finds the same."""
    used = []
    result = searched(
        HOUSE, embedded.explore, fast_from=20, fresh=True, on_level=lambda search: used.append(search.program.renames["guards"])
    )
    assert used[0] is not used[-1]
    assert result.digest == searched(HOUSE, embedded.explore).digest


@pytest.mark.parametrize("model", ["kip_279", "kip_320"])
def test_replicas_are_interchangeable(model: str) -> None:
    """The orbits of all states are the states of the reduced search; verdicts and lengths of traces are equal."""
    spec = MODELS[f"replication/{model}"]
    (bounds,) = [one.values for one in spec.bound_sets if one.name == "three_replicas"]
    reduced = check(spec, bounds, verify_normal_form=True)
    whole = check(spec, bounds, everything=True)
    assert reduced.unreduced == whole.distinct
    assert whole.distinct / 6 <= reduced.distinct < whole.distinct / 5
    for name, finding in whole.findings.items():
        assert len(reduced.findings[name].actions) == len(finding.actions)
        assert trace_of(reduced, name) is not None


def test_traces_name_members_as_they_were(explore: Explore) -> None:
    """A violation is told from the real initial state, by the actions of the members that took them."""

    def guard_1_has_it(s: House) -> None:
        s.holder = 1

    begun = replace(HOUSE, start=Rule("Start", "house", "guard 1 has the key", "", (guard_1_has_it,)))
    result = searched(begun, explore)
    trace = trace_of(result, "ToAnother")
    assert trace is not None
    assert [(step.action.rule, dict(step.action.binding)) for step in trace.steps] == [("HandOver", {"guard": 1, "next_": 1})]


def test_type_invariant_of_another_member(explore: Explore) -> None:
    """A step that leaves a domain is told of the member that takes it."""

    def take_again(s: House, guard: int) -> None:
        s.turns[guard] = s.turns[guard] + 2

    def guard_1_had_a_turn(s: House) -> None:
        s.turns[1] = 1

    begun = Rule("Start", "house", "guard 1 has had a turn", "", (guard_1_had_a_turn,))
    greedy = replace(HOUSE, rules=(replace(TAKE, effects=(take_again,)),), start=begun)
    trace = trace_of(searched(greedy, explore, 3), "TypeInvariant")
    assert trace is not None
    (step,) = trace.steps
    assert dict(step.action.binding) == {"guard": 1} and "outside" in step.summary


# ---------------------------------------------------------------------------------------------------------------------
# What tells members apart is refused


def is_guard_0(s: House, guard: int) -> bool:
    """It is guard 0."""
    return guard == 0


def take_by_lowest(s: House, k: Constants, guard: int) -> None:
    """The first guard with a turn left takes the key."""
    for lowest in range(k.guards):
        if s.turns[lowest] < 2 and s.holder == NONE:
            s.holder = lowest
            s.turns[lowest] += 1


def writes_upwards(s: House) -> bool:
    """Guards write to later guards."""
    return len(s.letters) == 0 or s.letters[0].writer <= s.letters[0].reader


def letters_arrive_upwards(before: House, after: House) -> bool:
    """Who receives a letter is not before its writer."""
    return len(before.letters) == 0 or len(after.letters) > 0 or before.letters[0].writer <= before.letters[0].reader


def guard_0_took_none(s: House) -> bool:
    """Guard 0 has not taken a turn."""
    return s.turns[0] == 0


WRONG: dict[str, tuple[Callable[[Spec], Spec], str]] = {
    "a guard": (
        lambda spec: spec.replacing("a", "", rules=(replace(TAKE, guards=(*TAKE.guards, is_guard_0)),)),
        "rule Take leads to",
    ),
    "an effect": (lambda spec: spec.replacing("b", "", rules=(replace(TAKE, effects=(take_by_lowest,)),)), "rule Take leads to"),
    "an invariant": (
        lambda spec: replace(spec, properties=(invariant("Upwards", writes_upwards, "", ""),)),
        "property Upwards says",
    ),
    "a step invariant": (
        lambda spec: replace(spec, properties=(step_invariant("Upwards", letters_arrive_upwards, "", ""),)),
        "property Upwards says something else of a step of rule Receive",
    ),
    "a way": (lambda spec: replace(spec, properties=(recoverable("Back", guard_0_took_none, "", ""),)), "property Back says"),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_tells_members_apart_is_refused(which: str, explore: Explore) -> None:
    """A rule, an ordering comparison or a property that tells members apart ends the search with its name."""
    change, summary = WRONG[which]
    with pytest.raises(SpecError, match=summary):
        searched(change(HOUSE), explore)
    assert embedded.explore(change(HOUSE), {"guards": 2}).distinct > 1


NAMING = Bound("naming", 0, 26, "the ranks that no guard may have: three digits to the base three, one of each guard")


@dataclass
class Ranked:
    """Three guards of different ranks."""

    ranks: list[int] = field(ArrayOf(Range(0, 2), GUARDS, "guard"))


def rank_them(s: Ranked) -> None:
    """Each guard has a rank of its own."""
    s.ranks[1] = 1
    s.ranks[2] = 2


def two_are_equal(s: Ranked) -> bool:
    """Two guards have one rank, which never happens."""
    return s.ranks[0] == s.ranks[1]


def demote(s: Ranked) -> None:
    """The first guard loses its rank."""
    s.ranks[0] = 0


def ranks_are_others(s: Ranked, k: Constants) -> bool:
    """The guards do not have the ranks that they may not have."""
    return s.ranks[0] * 9 + s.ranks[1] * 3 + s.ranks[2] != k.naming


RANKED = Spec(
    "ranked",
    "three guards of different ranks",
    Ranked,
    (Rule("Demote", "house", "a rank goes", "", (demote,), guards=(two_are_equal,)),),
    (invariant("OtherRanks", ranks_are_others, "the ranks are others", ""),),
    start=Rule("Start", "house", "each guard has a rank", "", (rank_them,)),
    more_bounds=(NAMING,),
    normal_form=(Symmetric(GUARDS),),
    final=anywhere,
)


@pytest.mark.parametrize(("first", "second", "third"), list(itertools.permutations(range(3))))
def test_a_claim_about_one_renaming_is_refused(first: int, second: int, third: int, explore: Explore) -> None:
    """A claim that is false under only one of the six namings of a state never holds, whichever that is: all are compared."""
    with pytest.raises(SpecError, match="property OtherRanks says something else"):
        explore(RANKED.in_normal_form(), {"guards": 3, "naming": first * 9 + second * 3 + third}, everything=True)


CROWD = Bound("crowd", 1, 9, "who can sit")


@dataclass
class Bench:
    """Who sits."""

    sits: list[int] = field(ArrayOf(Flag(), CROWD, "one"))


def change_places(s: Bench, one: int) -> None:
    """Sit down, or stand up."""
    s.sits[one] = 1 - s.sits[one]


MOVES = (Rule("Move", "{one}", "{one} sits down or stands up", "", (change_places,), {"one": Member(CROWD, "one")}),)
BENCH = Spec("bench", "a crowd and a bench", Bench, MOVES, normal_form=(Symmetric(CROWD),), final=anywhere)


@pytest.mark.parametrize("narrow", [0, 64])
@pytest.mark.parametrize("crowd", [1, 2, 5])
def test_levels_of_any_width_are_compared(crowd: int, narrow: int, explore: Explore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow and wide levels are compared, also where a single member has no other name; there is one orbit of each number."""
    monkeypatch.setattr(symmetry_check, "NARROW", narrow)

    assert explore(BENCH.in_normal_form(), {"crowd": crowd}, everything=True).levels == [1] * (crowd + 1)


@pytest.mark.parametrize("count", range(2, 9))
def test_renamings_to_compare_with(count: int) -> None:
    """Up to four members are compared under all other names; more under exchanges of two and some at random on each level."""
    several = [renamings(count, level) for level in range(60)]
    names = set(itertools.permutations(range(count)))
    exchanges = {to for to in names if sum(old != new for old, new in enumerate(to)) == 2}

    assert all(set(some) <= names and exchanges <= set(some) for some in several)
    if count <= 4:
        assert all(set(some) == names - {tuple(range(count))} for some in several)
    else:
        assert len(set().union(*several)) >= 120
    assert several == [renamings(count, level) for level in range(60)]


def test_leads_to_is_refused_by_name() -> None:
    """A leads-to property is refused in a search that takes members as interchangeable, and allowed in one of all states."""
    claim = leads_to("Taken", nobody_has_it, has_it_somebody, "the key is taken", "")
    spec = replace(HOUSE, properties=(claim,))
    for explore in (embedded.explore, oracle.explore):
        with pytest.raises(SpecError, match="Taken asks what is fair to each of the guards"):
            explore(spec.in_normal_form(), {"guards": 2})
    assert embedded.explore(spec, {"guards": 2}).distinct > 1


def has_it_somebody(s: House) -> bool:
    """Somebody has the key."""
    return s.holder != NONE


def test_wrong_symmetry_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no sampled state shows that members differ, the comparison with all states does."""
    monkeypatch.setattr("kafka_spec.model_check.search.renamings.Renamings.judge", lambda *_: None)
    change, _ = WRONG["a guard"]
    with pytest.raises(EngineError, match="not right"):
        check(change(HOUSE), {"guards": 2}, verify_normal_form=True)


def test_declarations() -> None:
    """Symmetric names one bound that counts members of the state; too many are refused."""
    with pytest.raises(SpecError, match="no field names one of the others"):
        replace(HOUSE, normal_form=(Symmetric(Bound("others", 1, 2, "others")),))
    with pytest.raises(SpecError, match="name the bound that counts"):
        replace(HOUSE, normal_form=(Symmetric(3),))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"name them in one, Symmetric\(CLIENTS, SERVERS\)"):
        replace(HOUSE, normal_form=(Symmetric(GUARDS), Symmetric(GUARDS)))
    with pytest.raises(SpecError, match="9 guards are interchangeable"):
        embedded.explore(HOUSE.in_normal_form(), {"guards": 9})


def test_sets_are_masks() -> None:
    """The test's world packs sets of members as numbers."""
    world = Interpreter(HOUSE, {"guards": 3})
    assert contains(int(MemberSet.of([0, 2])), 2) and world.space.fresh().seen[0] == 0
