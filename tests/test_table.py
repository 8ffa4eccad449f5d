"""The vocabulary: machines, rules, properties and specs are validated when they are declared, and `fire` obeys the table."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.plain import model_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.brokers import Assignment, Broker
from kafka_spec.spec.catalogue.machines import MACHINES
from kafka_spec.spec.language.domain import ArrayOf, BadAccess, Bound, Flag, Queue, Range, SequenceOf, Space, StateOf, field
from kafka_spec.spec.vocabulary import table
from kafka_spec.spec.vocabulary.table import (
    Attempt,
    BoundSet,
    Constants,
    Decision,
    ItemOf,
    Machine,
    Overlap,
    Property,
    Row,
    Rule,
    Spec,
    SpecError,
    fire,
    invariant,
    reachable,
    recoverable,
    step_invariant,
)
from tests import sample_specs
from tests.sample_specs import Door, House


class Light(enum.IntEnum):
    """States of another machine."""

    OFF = 0
    ON = 1


def yes(s: Any) -> bool:
    """Say yes."""
    return s.key == s.key


def wants_window(s: Any, window: int) -> bool:
    """Take what no door has."""
    return s.key == window


def knows_the_first_door(s: Any, k: Any, door: int) -> bool:
    """Read only what a guard may read."""
    return s.doors[door] == k.none_of_these


def writes(s: Any) -> bool:
    """Write and say yes."""
    s.key = 1
    return True


def nothing(s: Any) -> None:
    """Do nothing."""


OPEN = Row("open", (Door.SHUT,), Door.OPEN)
SHUT = Row("shut", (Door.OPEN,), Door.SHUT)
LOCK = Row("lock", (Door.SHUT,), Door.LOCKED)


def door(*rows: Row, **other: Any) -> Machine:
    """Return a machine of doors with these rows."""
    return Machine("Door", Door, Door.SHUT, rows, **{"entity": ("door",), **other})


# ---------------------------------------------------------------------------------------------------------------------
# Machines


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((OPEN,), "machine Door: no rows lead from SHUT to LOCKED; add or drop a row"),
        ((SHUT, LOCK), "machine Door: no rows lead from SHUT to OPEN"),
        ((Row("lock", (Door.OPEN,), Door.LOCKED),), "no rows lead from SHUT to OPEN, LOCKED"),
        ((OPEN, LOCK, Row("burn", (), Door.SHUT)), "row 'burn' has no source; name the states it starts from"),
        ((OPEN, LOCK, Row("burn", (9,), Door.SHUT)), "row 'burn' names 9, which is not a Door"),
        ((OPEN, LOCK, Row("burn", (Door.SHUT,), 7)), "row 'burn' names 7, which is not a Door"),
        (
            (OPEN, LOCK, Row("open", (Door.LOCKED, Door.SHUT), Door.LOCKED)),
            "rows 'open' and 'open' both leave SHUT on open, and wherever one fits the other does; name a guard in one of them",
        ),
        ((LOCK, OPEN, Row("open", (Door.SHUT,), Door.LOCKED, guards=(yes,))), r"rows 'open' and 'open \[yes\]' both leave SHUT"),
        (
            (LOCK, Row("open", (Door.SHUT,), Door.OPEN, guards=(yes,)), Row("open", (Door.SHUT,), Door.LOCKED, guards=(yes,))),
            r"rows 'open \[yes\]' and 'open \[yes\]' both leave SHUT",
        ),
        (
            (
                LOCK,
                Row("open", (Door.SHUT,), Door.OPEN, guards=(yes, sample_specs.there_is_a_key)),
                dataclasses.replace(OPEN, guards=(yes,)),
            ),
            r"rows 'open \[yes and there_is_a_key\]' and 'open \[yes\]' both leave SHUT",
        ),
        (
            (LOCK, dataclasses.replace(OPEN, unless=(yes,)), dataclasses.replace(OPEN, target=Door.LOCKED, unless=(yes,))),
            r"rows 'open \[not yes\]' and 'open \[not yes\]' both leave SHUT",
        ),
        (
            (LOCK, dataclasses.replace(OPEN, guards=(yes,), unless=(yes,))),
            r"row 'open \[yes and not yes\]' requires yes and forbids it, so it never fits",
        ),
        (
            (OPEN, dataclasses.replace(LOCK, unless=(wants_window,))),
            "wants_window takes window, which machine Door, row .* does not have",
        ),
        ((OPEN, dataclasses.replace(LOCK, unless=(writes,))), "guard writes writes; guards look, effects write"),
        (
            (OPEN, dataclasses.replace(LOCK, guards=(wants_window,))),
            "wants_window takes window, which machine Door, row .* does not have; it may take door, k, s",
        ),
        ((OPEN, dataclasses.replace(LOCK, guards=(writes,))), "guard writes writes; guards look, effects write"),
        ((OPEN, dataclasses.replace(LOCK, guards=(nothing,))), "guard nothing must return one value"),
        ((OPEN, dataclasses.replace(LOCK, effects=(wants_window,))), "takes window"),
    ],
)
def test_wrong_machines_are_refused(rows: tuple[Row, ...], message: str) -> None:
    """A machine is refused if its rows overlap, have no target or source, or use an unknown name."""
    with pytest.raises(SpecError, match=message):
        door(*rows)


def test_rows_with_different_guards_may_share_a_source() -> None:
    """Rows may leave a state on one trigger if their guards differ, and on different triggers freely.

    A guard of one that is under `unless` of the other shows that they exclude each other; other pairs are listed.
    """
    assert [row.target for row in sample_specs.CLASHING.rows_of("open")] == [Door.OPEN, Door.LOCKED]
    assert sample_specs.CLASHING.unproved_pairs == (sample_specs.CLASHING.rows,)
    one, other = dataclasses.replace(OPEN, guards=(yes,)), dataclasses.replace(OPEN, target=Door.LOCKED, unless=(yes,))
    assert door(one, other).unproved_pairs == () and one.excludes(other) and other.excludes(one)
    assert door(OPEN, LOCK, SHUT).triggers == ("open", "lock", "shut")
    assert door(OPEN, LOCK, SHUT).unproved_pairs == sample_specs.DOOR.unproved_pairs == ()


def test_kafkas_rows_exclude_each_other() -> None:
    """Of no machine of Kafka does it rest on exploration that at most one row fits."""
    assert [machine.unproved_pairs for machine in MACHINES.values()] == [()] * len(MACHINES)


# two rows with different guards that overlap deep in the exploration, after both doors were tried


def was_never_tried(s: House) -> bool:
    """No door was tried yet."""
    return s.tries == 0


def was_tried_once(s: House) -> bool:
    """Some door was tried, and no more than twice."""
    return 0 < s.tries < 3


def was_tried_often(s: House) -> bool:
    """Doors were tried more than once."""
    return s.tries > 1


DEEP = door(
    dataclasses.replace(OPEN, guards=(was_never_tried,), effects=(sample_specs.note_try,)),
    dataclasses.replace(OPEN, guards=(was_tried_once,), effects=(sample_specs.note_try,)),
    dataclasses.replace(OPEN, target=Door.LOCKED, guards=(was_tried_often,), unless=(sample_specs.there_is_a_key,)),
    SHUT,
)
DEEP_SPEC = dataclasses.replace(
    sample_specs.DOORS,
    name="deep",
    rules=(sample_specs.DOORS.rule("Open"), sample_specs.DOORS.rule("Shut"), sample_specs.DOORS.rule("FindKey")),
    machines=(DEEP,),
)


@pytest.mark.parametrize("explore", [oracle.explore, embedded.explore], ids=["oracle", "embedded"])
def test_an_overlap_deep_in_the_exploration_is_found(explore: Any) -> None:
    """Rows whose guards are not evidently exclusive are compared at each firing, also in states that are reached late."""
    assert [(one.label, other.label) for one, other in DEEP.unproved_pairs] == [
        ("open [was_never_tried] / note_try", "open [was_tried_once] / note_try"),
        ("open [was_never_tried] / note_try", "open [was_tried_often and not there_is_a_key]"),
        ("open [was_tried_once] / note_try", "open [was_tried_often and not there_is_a_key]"),
    ]
    with pytest.raises(SpecError, match=r"open in SHUT fits|open fits two rows"):
        explore(DEEP_SPEC, {})
    rows = tuple(dataclasses.replace(row, unless=(was_tried_often,)) if was_tried_once in row.guards else row for row in DEEP.rows)
    mended = dataclasses.replace(DEEP_SPEC, machines=(dataclasses.replace(DEEP, rows=rows),))
    assert explore(mended, {}, everything=True).complete


def test_models_tell_what_rests_on_exploration() -> None:
    """`models` and results name the pairs of rows that only exploration shows to be exclusive, and no others."""
    pair = "open [is_first_door] | open [is_any_door]"
    assert f"that at most one fits is not shown by their guards: {pair}" in model_text(sample_specs.OVERLAPPING)
    assert model_plain(sample_specs.OVERLAPPING)["machines"][0]["unproved_pairs"] == [pair.split(" | ")]
    text = result_text(oracle.explore(DEEP_SPEC, {}, budget=Budget(max_states=1)), {})
    assert "exclusive   at every firing in these states, which their guards do not show: open [was_never_tried]" in text
    assert "not shown" not in model_text(sample_specs.DOORS) and "exclusive" not in result_text(
        oracle.explore(sample_specs.DOORS, {}), {}
    )


def test_legal_pairs_are_those_of_transitions() -> None:
    """The legal pairs are the distinct sources and targets of transitions; an initialisation makes none."""
    seeds = Row("seed", (Door.SHUT,), Door.LOCKED, kind="initialisation")
    machine = door(Row("open", (Door.SHUT, Door.LOCKED), Door.OPEN), SHUT, Row("push", (Door.SHUT,), Door.OPEN), seeds)
    assert machine.legal_pairs == ((Door.SHUT, Door.OPEN), (Door.LOCKED, Door.OPEN), (Door.OPEN, Door.SHUT))
    assert machine.rows_of("seed") == (seeds,) and machine.rows_of("paint") == ()


def test_label_shows_trigger_guards_and_effects() -> None:
    """A row's label is its trigger, its guards in brackets and its effects after a stroke."""
    assert OPEN.label == "open"
    assert Row("open", (Door.SHUT,), Door.OPEN, guards=(yes, "key_fits")).label == "open [yes and key_fits]"
    assert (
        Row("open", (Door.SHUT,), Door.OPEN, (yes,), unless=("stuck", nothing)).label == "open [yes and not stuck and not nothing]"
    )
    assert Row("open", (Door.SHUT,), Door.OPEN, effects=(nothing, "ring")).label == "open / nothing, ring"
    assert sample_specs.DOOR.rows[1].label == "open [there_is_a_key] / note_try"


def test_bind_gives_names_their_functions() -> None:
    """Binding replaces the given names and does not change the original machine."""
    named = door(
        dataclasses.replace(OPEN, guards=("yes",), effects=("ring", "nothing")), dataclasses.replace(LOCK, unless=("yes",))
    )
    bound = named.bind({"yes": yes, "nothing": nothing})
    assert bound.rows[0].guards == (yes,) and bound.rows[0].effects == ("ring", nothing)
    assert named.rows[0].guards == ("yes",) and bound.rows[1].unless == (yes,)
    assert bound.rows[0].label == named.rows[0].label
    with pytest.raises(SpecError, match="guard writes writes"):
        named.bind({"yes": writes})


# ---------------------------------------------------------------------------------------------------------------------
# fire in Python


@pytest.fixture
def s() -> Any:
    """A fresh house."""
    return Space(House, {}).fresh()


K = sample_specs.DOORS.constants({})


def test_fire_enters_the_target_of_the_row(s: Any) -> None:
    """`fire` runs the row's effects, enters its target for that entity alone, and says that it did."""
    attempts: list[Attempt] = []
    assert fire(s, sample_specs.DOORS.constants({}, attempts), sample_specs.DOOR, (1,), "open") is True
    assert (list(s.doors), s.tries) == ([Door.SHUT, Door.OPEN], 1)
    (attempt,) = attempts
    assert (attempt.machine, attempt.entity, attempt.trigger) == ("Door", (1,), "open")
    assert (attempt.source, attempt.target) == (Door.SHUT, Door.OPEN)


def test_refused_fire_changes_nothing(s: Any) -> None:
    """If no row is enabled, by its source or by its guards, `fire` says so, changes nothing, and records the attempt."""
    attempts: list[Attempt] = []
    k = sample_specs.DOORS.constants({}, attempts)
    before = Space(House, {}).root.freeze(s)
    assert fire(s, k, sample_specs.DOOR, (0,), "shut") is False
    assert fire(s, k, sample_specs.DOOR, (0,), "lock") is False
    assert Space(House, {}).root.freeze(s) == before
    assert [(attempt.trigger, attempt.target) for attempt in attempts] == [("shut", None), ("lock", None)]


def test_attempts_stay_with_whoever_made_k(s: Any) -> None:
    """Two contexts fire independently: each records its own attempts, by its own table, and none remain for the next."""
    locks = dataclasses.replace(
        sample_specs.DOOR, rows=(dataclasses.replace(sample_specs.DOOR.rows[0], target=Door.LOCKED), *sample_specs.DOOR.rows[1:])
    )
    first, second = (
        oracle.Interpreter(sample_specs.DOORS, {}),
        oracle.Interpreter(dataclasses.replace(sample_specs.DOORS, machines=(locks,)), {}),
    )
    opens = sample_specs.DOORS.rule("Open")
    (state,) = first.initial()
    assert first.apply(opens, state, (0,)).doors[0] == Door.OPEN
    (state,) = second.initial()
    assert second.apply(opens, state, (0,)).doors[0] == Door.LOCKED
    assert [[attempt.target for attempt in world.attempts] for world in (first, second)] == [[Door.OPEN], [Door.LOCKED]]
    assert fire(s, K, sample_specs.DOOR, (0,), "open") and len(first.attempts) == len(second.attempts) == 1


def test_fire_needs_its_table(s: Any) -> None:
    """`fire` of a machine that `k` does not carry is refused, with the cure; `k` shows bounds and decisions alone."""
    with pytest.raises(SpecError, match=r"machine Door is fired and k does not carry it; make k with spec\.constants"):
        fire(s, Constants({"size": 1}), sample_specs.DOOR, (0,), "open")
    assert vars(Constants({"size": 1}, (sample_specs.DOOR,))) == {"size": 1}


def test_guards_pick_the_row(s: Any) -> None:
    """A guard decides whether a row fits: with the key a door is locked, and opened again."""
    s.key = 1
    assert fire(s, K, sample_specs.DOOR, (0,), "lock") and s.doors[0] == Door.LOCKED
    s.key = 0
    assert not fire(s, K, sample_specs.DOOR, (0,), "open")
    s.key = 1
    assert fire(s, K, sample_specs.DOOR, (0,), "open") and s.doors[0] == Door.OPEN


def test_overlapping_rows_are_an_error(s: Any) -> None:
    """If two rows are enabled, an error names both; if one is enabled, it is taken."""
    with pytest.raises(Overlap, match=r"open in SHUT fits 'open \[is_first_door\]' and 'open \[is_any_door\]'"):
        fire(s, Constants({}, (sample_specs.CLASHING,)), sample_specs.CLASHING, (0,), "open")
    assert s.doors[0] == Door.SHUT
    assert fire(s, Constants({}, (sample_specs.CLASHING,)), sample_specs.CLASHING, (1,), "open") and s.doors[1] == Door.LOCKED


def test_row_that_waits_is_an_error(s: Any) -> None:
    """Firing a row that waits for a feature is an error that names the feature; the other rows of the table work."""
    with pytest.raises(SpecError, match="machine Door: row 'lock' waits for keys"):
        fire(s, Constants({}, (sample_specs.WAITING,)), sample_specs.WAITING, (0,), "lock")
    assert s.doors[0] == Door.SHUT
    assert fire(s, Constants({}, (sample_specs.WAITING,)), sample_specs.WAITING, (0,), "open")


@pytest.mark.parametrize("entity", [(2,), (-1,)])
def test_fire_of_nobody_is_refused(s: Any, entity: tuple[int, ...]) -> None:
    """Firing for an unknown entity is refused."""
    with pytest.raises(BadAccess, match=r"House\.doors: index"):
        fire(s, K, sample_specs.DOOR, entity, "open")


@dataclass
class Room:
    """A room with lights, inside of something."""

    lights: list[int] = field(ArrayOf(StateOf(Light, "Light"), 3))


@dataclass
class Hotel:
    """Rooms, and one light outside."""

    rooms: list[Room] = field(ArrayOf(Room, 2))
    outside: int = field(StateOf(Light, "Outside"))


LIGHT = Machine("Light", Light, Light.OFF, (Row("switch", (Light.OFF,), Light.ON),), entity=("room", "light"))
OUTSIDE = Machine("Outside", Light, Light.OFF, (Row("switch", (Light.OFF,), Light.ON),))


def switch_light(s: Hotel, k: Any, room: int, light: int) -> None:
    """Switch a light in a room, and with it the one outside."""
    fire(s, k, LIGHT, (room, light), "switch")
    fire(s, k, OUTSIDE, (), "switch")


def is_dark(s: Hotel) -> bool:
    """It is dark outside."""
    return s.outside == Light.OFF


HOTEL = Spec(
    "hotel",
    "machines deep in the state",
    Hotel,
    (Rule("Switch", "guest", "", "", (switch_light,), params={"room": Broker(2), "light": Range(0, 2)}),),
    (reachable("Dark", is_dark, "it is dark", ""),),
    machines=(LIGHT, OUTSIDE),
)


def test_machines_stand_anywhere_in_the_state() -> None:
    """A machine may have two indices or none, and both engines fire it: six lights have 2**6 states."""
    found = [explore(HOTEL, {}) for explore in (oracle.explore, embedded.explore)]
    assert [result.distinct for result in found] == [64, 64] and found[0].digest == found[1].digest
    assert found[0].levels == [1, 6, 15, 20, 15, 6, 1] and found[0].fired == found[1].fired == {"Switch": 64 * 6}


def set_door(s: House) -> None:
    """Set the state of a door."""
    s.doors[1] = Door.OPEN


def set_light(s: Hotel) -> None:
    """Set the state of the light outside."""
    s.outside = Light.ON


@pytest.mark.parametrize(
    ("state", "effect", "machines", "more"),
    [(House, set_door, (sample_specs.DOOR,), ()), (Hotel, set_light, (LIGHT, OUTSIDE), HOTEL.rules)],
    ids=["item", "field"],
)
@pytest.mark.parametrize("explore", [oracle.explore, embedded.explore], ids=["oracle", "embedded"])
def test_only_fire_changes_a_machine(explore: Any, state: type, effect: Any, machines: Any, more: Any) -> None:
    """An effect that sets the state of a machine is refused by both engines, with the cure."""
    spec = Spec("cheats", "sets a state", state, (sample_specs.rule("Cheat", effect), *more), machines=machines)
    with pytest.raises(SpecError, match=rf"in {effect.__name__}|{effect.__name__} cannot be executed") as raised:
        explore(spec, {})
    assert "is the state of a machine; change it with fire()" in str(raised.value)


# ---------------------------------------------------------------------------------------------------------------------
# Rules and properties


def test_wrong_rules_are_refused() -> None:
    """A rule is refused if its parts are not tuples or take an unknown parameter."""
    with pytest.raises(SpecError, match=r"rule Bad: effects is not a tuple; write effects=\(nothing,\)"):
        Rule("Bad", "world", "", "", nothing)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="rule Bad: guards is not a tuple"):
        Rule("Bad", "world", "", "", (nothing,), guards=[yes])  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="rule Bad: bound_guards is not a tuple"):
        Rule("Bad", "world", "", "", (nothing,), bound_guards=yes)  # type: ignore[arg-type]
    message = r"test_table.py:\d+: wants_window takes window, which rule Bad does not have; it may take door, k, s"
    with pytest.raises(SpecError, match=message):
        Rule("Bad", "world", "", "", (nothing,), params={"door": Broker(2)}, guards=(wants_window,))
    with pytest.raises(SpecError, match="rule Bad: guard writes writes"):
        Rule("Bad", "world", "", "", (nothing,), guards=(writes,))


def test_rule_without_a_guard_is_weaker() -> None:
    """A rule can be weakened by one guard, by its name; an unknown guard is refused with the list of its guards."""
    rule = sample_specs.rule("Two", nothing, guards=(yes, sample_specs.there_is_a_key))
    assert rule.without_guard("yes").guards == (sample_specs.there_is_a_key,)
    assert rule.without_guard("yes").effects == rule.effects and len(rule.guards) == 2
    with pytest.raises(SpecError, match="rule Two has no guard no; it has yes, there_is_a_key"):
        rule.without_guard("no")


def test_properties_take_what_their_kind_has() -> None:
    """Invariants and goals take s and k, step invariants take before, after and k, and none of them may write."""
    makers = (invariant, reachable, recoverable)
    assert [make("P", yes, "", "").kind for make in makers] == ["invariant", "reachable", "recoverable"]
    assert step_invariant("P", sample_specs.never_goes_down, "", "").kind == "step invariant"
    with pytest.raises(SpecError, match="yes takes s, which property P does not have; it may take after, before, k"):
        step_invariant("P", yes, "", "")
    with pytest.raises(SpecError, match="never_goes_down takes before, which property P does not have; it may take k, s"):
        invariant("P", sample_specs.never_goes_down, "", "")
    with pytest.raises(SpecError, match="guard writes writes"):
        Property("P", "reachable", writes, "", "")


# ---------------------------------------------------------------------------------------------------------------------
# Specs


SIZE = Bound("size", 1, 4, "how much")
MORE = Bound("more", 0, 2, "how much more")
SIZE_RANGE = Range(0, SIZE)


class Era(enum.IntEnum):
    """Two eras."""

    OLD = 0
    NEW = 1


@dataclass
class Shelf:
    """Things on a shelf."""

    things: list[int] = field(SequenceOf(Flag(), SIZE))
    queue: list[int] = field(Queue(Flag(), 2))
    count: int = field(Range(0, 3))


def put(s: Shelf) -> None:
    """Count."""
    s.count += 1


def is_new(k: Any) -> bool:
    """The era is new."""
    return k.era == Era.NEW


def is_small(s: Shelf) -> bool:
    """The count is small."""
    return s.count < 9


PUT = sample_specs.rule("Put", put)
TAKE = sample_specs.rule("Take", put)
SMALL = invariant("Small", is_small, "small", "")


def shelf(**other: Any) -> Spec:
    """Return a valid spec, except for the given parts."""
    parts: dict[str, Any] = {
        "name": "shelf", "summary": "a shelf", "state": Shelf, "rules": (PUT, TAKE), "properties": (SMALL,), "more_bounds": (MORE,),
        "decisions": (Decision("era", Era.OLD, "which era"),),
        "bound_sets": (BoundSet("one", {"size": 1, "more": 0}, "small"), BoundSet("two", {"size": 2, "more": 1}, "large")),
    }  # fmt: skip
    return Spec(**{**parts, **other})


def bad(sequence: str, parameter: Any = SIZE_RANGE) -> dict[str, Any]:
    """Return a rule whose parameters are an item of what should be a sequence, and another."""
    return {"rules": (Rule("Bad", "", "", "", (put,), params={"x": ItemOf(sequence), "y": parameter}),)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": ()}, "spec shelf: it has no rules"),
        ({"rules": (PUT, TAKE, PUT)}, r"spec shelf: rule Put is declared twice; a version changes a part with replacing\(\)"),
        ({"properties": (SMALL, SMALL)}, "spec shelf: property Small is declared twice"),
        ({"machines": (OUTSIDE,)}, "the state of machine Outside must be in one field, declared StateOf"),
        ({"unreachable_rules": ("Burn",)}, "shelf: rule 'Burn' is unknown; there is Put, Take"),
        ({"bound_sets": (BoundSet("one", {"size": 1}, ""),)}, "bound set one has no value of more"),
        ({"bound_sets": (BoundSet("one", {"size": 1, "more": 1, "x": 2}, ""),)}, "no bound is named x; known: size, more"),
        ({"bound_sets": (BoundSet("one", {"size": 5, "more": 0}, ""),)}, r"bound set one: size=5 is outside 1\.\.4"),
        (bad("count"), "rule Bad, parameter x: count is not a sequence of the state"),
        (bad("none"), "rule Bad, parameter x: none is not a sequence of the state"),
        (bad("queue", Assignment(2)), "rule Bad, parameter y: distinct items are not numbered"),
        ({"state": int}, "int is not a domain; write Range"),
    ],
)
def test_wrong_specs_are_refused(change: dict[str, Any], message: str) -> None:
    """A spec with anything stated twice, unknown, or out of range is refused at its declaration."""
    with pytest.raises(SpecError, match=message):
        shelf(**change)


def test_specs_list_the_machines_they_fire() -> None:
    """A spec is refused if its rules or its start fire a machine that it does not list, or whose field it lacks."""
    with pytest.raises(SpecError, match="spec doors: its rules fire machine Door; list it under machines"):
        dataclasses.replace(sample_specs.DOORS, machines=())
    opens = Rule("Start", "world", "", "", (sample_specs.open_clashing,), params=sample_specs.ANY_DOOR)
    with pytest.raises(SpecError, match="its rules fire machine Door"):
        Spec("start", "", House, (sample_specs.rule("FindKey", sample_specs.find_key),), start=opens)
    with pytest.raises(SpecError, match="machine Door must be in one field"):
        shelf(machines=(sample_specs.DOOR,))
    flat = Machine("Door", Door, Door.SHUT, (OPEN, LOCK))
    with pytest.raises(SpecError, match=r"under one index for each of \(\)"):
        Spec("flat", "", House, (sample_specs.rule("FindKey", sample_specs.find_key),), machines=(flat,))


def test_specs_have_no_unbound_names() -> None:
    """A spec whose machine names a guard that has no function is refused."""
    named = door(dataclasses.replace(OPEN, guards=("key_fits",)), LOCK)
    with pytest.raises(SpecError, match="machine Door: key_fits has no function; use Machine"):
        Spec("named", "", House, (sample_specs.rule("FindKey", sample_specs.find_key),), machines=(named,))
    with pytest.raises(SpecError, match="key_fits is a name without a function"):
        table.call("key_fits", {})


def test_bounds_are_those_of_the_state_and_more() -> None:
    """A spec has the bounds its state mentions and those it states besides, in this order."""
    assert list(shelf().bounds) == ["size", "more"]


def test_bound_values_come_from_the_first_set() -> None:
    """Bounds that are not given come from the first bound set; the others are as given."""
    assert shelf().bound_values({}) == {"size": 1, "more": 0}
    assert shelf().bound_values({"more": 2}) == {"size": 1, "more": 2}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"size": 0}, r"shelf: bound size=0 is outside 1\.\.4"),
        ({"size": 5}, r"shelf: bound size=5 is outside 1\.\.4"),
        ({"depth": 1}, "shelf: bound 'depth' is unknown; there is size, more"),
    ],
)
def test_wrong_bounds_are_refused(asked: dict[str, int], message: str) -> None:
    """A bound that is unknown or out of its range is refused."""
    with pytest.raises(SpecError, match=message):
        shelf().bound_values(asked)


def test_open_bounds_are_refused() -> None:
    """A bound without a value is refused; the message says how to give one."""
    with pytest.raises(SpecError, match="bound more has no value; give it with --bound more=N"):
        shelf(bound_sets=()).bound_values({"size": 1})


def test_constants_are_bounds_and_decisions() -> None:
    """`k` has the bounds and the decisions as integers, and lists them if asked for another name."""
    k = shelf().constants({"size": 3, "more": 1})
    assert (k.size, k.more, k.era) == (3, 1, 0) and type(k.era) is int
    with pytest.raises(SpecError, match=r"k\.depth is neither a bound nor a decision of this spec; it has size, more, era"):
        _ = k.depth


def test_replacing_is_a_small_diff() -> None:
    """A version replaces rules and properties in place, appends others, and does not change the old spec."""
    weaker = dataclasses.replace(TAKE, guards=(is_new,))
    give = sample_specs.rule("Give", put)
    small = dataclasses.replace(SMALL, summary="smaller")
    old = shelf()
    new = old.replacing(
        "new",
        "a version",
        rules=(weaker, give),
        without=("Put",),
        properties=(small,),
        decisions={"era": Era.NEW},
        reference="here",
    )
    assert (new.name, new.summary, new.reference) == ("new", "a version", "here")
    assert new.rules == (weaker, give) and new.properties == (small,)
    assert new.constants({"size": 1, "more": 0}).era == Era.NEW
    assert old.rules == (PUT, TAKE) and old.properties == (SMALL,) and old.constants({"size": 1, "more": 0}).era == Era.OLD
    assert old.replacing("same", "the same", rules=(weaker,)).rules == (PUT, weaker)


def test_replacing_knows_what_there_is() -> None:
    """Removing an unknown rule, or setting an unknown decision, is refused with a list of the known ones."""
    with pytest.raises(SpecError, match="shelf: rule 'Burn' is unknown; there is Put, Take"):
        shelf().replacing("new", "", without=("Burn",))
    with pytest.raises(SpecError, match="shelf: decision 'pace' is unknown; there is era"):
        shelf().replacing("new", "", decisions={"pace": Era.NEW})
    with pytest.raises(SpecError, match="it has no rules"):
        shelf().replacing("new", "", without=("Put", "Take"))


def test_parts_are_found_by_name() -> None:
    """Rules and properties are found by name, and an unknown name is refused with a list of the known ones."""
    assert shelf().rule("Take") is TAKE and shelf().property("Small") is SMALL
    with pytest.raises(SpecError, match="shelf: rule 'take' is unknown; there is Put, Take"):
        shelf().rule("take")
    with pytest.raises(SpecError, match="shelf: property 'Large' is unknown; there is Small"):
        shelf().property("Large")
    with pytest.raises(SpecError, match="property 'Large' is unknown; there is none"):
        shelf(properties=()).property("Large")
