"""Normal forms: a search of normal forms finds what the search of all states finds, and a wrong normal form is noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from conftest import ENGINES, Command, Explore, named_checks
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.code.arrays import address
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.report.text import result_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.normal_form import compared
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.brokers import Broker, PerBroker
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import ArrayOf, BagOf, Queue, Range, append, field, pop_first, truncate
from kafka_spec.spec.vocabulary.table import Constants, Ranks, Rule, Spec, SpecError, invariant, recoverable, step_invariant
from kafka_spec.spec.zookeeper.families import HAPPENINGS, NOTHING_HAPPENS
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.normal_form import NORMAL_FORM, bring_channels_into_form
from kafka_spec.spec.zookeeper.state import World


def family(name: str) -> Mapping[str, int]:
    """Return a bound set of the control plane."""
    return next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name)


# ---------------------------------------------------------------------------------------------------------------------
# A small world: a clock, and readers that know older times

TIMES = Range(-1, 5, name="time")
READERS = 2


@dataclass
class Note:
    """A time that is on its way to a reader."""

    time: int = field(TIMES)
    reader: int = field(Broker(READERS))


@dataclass
class Clock:
    """What time it is, what readers know, and what is on its way."""

    now: int = field(TIMES)
    known: list[int] = field(ArrayOf(TIMES, READERS, "reader"))
    notes: list[Note] = field(Queue(Note, 2))


def there_is_room(s: Clock) -> bool:
    """Another note fits, and the clock may go on."""
    return len(s.notes) < 2


def it_may_go_on(s: Clock) -> bool:
    """The clock has not stopped."""
    return s.now < 4


def tick(s: Clock) -> None:
    """The clock goes on."""
    s.now = s.now + 1


def tell(s: Clock, reader: int) -> None:
    """Send the time to a reader."""
    append(s.notes, time=s.now, reader=reader)


def a_note_waits(s: Clock) -> bool:
    """A note waits."""
    return len(s.notes) > 0


def it_is_news(s: Clock) -> bool:
    """The first note is later than what its reader knows."""
    return s.notes[0].time > s.known[s.notes[0].reader]


def it_is_old(s: Clock) -> bool:
    """The first note is not later than what its reader knows."""
    return not it_is_news(s)


def learn(s: Clock) -> None:
    """The reader of the first note learns it."""
    s.known[s.notes[0].reader] = s.notes[0].time
    pop_first(s.notes)


def ignore(s: Clock) -> None:
    """The first note is ignored."""
    pop_first(s.notes)


def nobody_knows_the_future(s: Clock) -> bool:
    """No reader knows a later time than the clock's."""
    return s.known[0] <= s.now and s.known[1] <= s.now


def readers_differ(s: Clock) -> bool:
    """The two readers know different times."""
    return s.known[0] != s.known[1]


def readers_agree(s: Clock) -> bool:
    """The two readers know the same."""
    return not readers_differ(s)


def readers_never_go_back(before: Clock, after: Clock) -> bool:
    """A reader never knows an earlier time than before."""
    return before.known[0] <= after.known[0] and before.known[1] <= after.known[1]


def nothing_waits(s: Clock) -> bool:
    """No note waits."""
    return len(s.notes) == 0


def drop_old_notes(s: Clock) -> None:
    """Drop the notes that will be ignored: what a reader knows only grows."""
    kept = 0
    for index in range(len(s.notes)):
        if s.notes[index].time > s.known[s.notes[index].reader]:
            s.notes[kept].time = s.notes[index].time
            s.notes[kept].reader = s.notes[index].reader
            kept += 1
    truncate(s.notes, kept)


TICK = Rule("Tick", "clock", "the clock goes on", "", (tick,), guards=(it_may_go_on,), kind="operator")
TELL = Rule("Tell", "clock", "{reader} is told", "", (tell,), {"reader": Broker(READERS)}, (there_is_room,), kind="operator")
LEARN = Rule("Learn", "reader", "a reader learns the time", "", (learn,), guards=(a_note_waits, it_is_news), receives="notes")
IGNORE = Rule("Ignore", "reader", "a reader ignores a note", "", (ignore,), guards=(a_note_waits, it_is_old), receives="notes")
IN_ORDER = Ranks("time", newest="now", keep=-1)
READING = Spec(
    "toys/reading",
    "readers of a clock",
    Clock,
    rules=(TICK, TELL, LEARN, IGNORE),
    properties=(
        invariant("NoFuture", nobody_knows_the_future, "nobody knows the future", ""),
        step_invariant("NeverBack", readers_never_go_back, "readers never go back", ""),
        recoverable("Rests", nothing_waits, "at last nothing waits", ""),
    ),
    normal_form=(drop_old_notes, IN_ORDER),
)


def reading(*parts: object, **changes: object) -> Spec:
    """Return the toy with another normal form."""
    return replace(READING, normal_form=parts, **changes)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# Right ones


def test_engines_find_the_same_normal_forms() -> None:
    """Both engines, any number of threads and another seed agree on the search of normal forms, edge by edge."""
    for spec, bounds in ((READING, {}), (FIXED, family("expiry")), (FIXED, family("lost_request"))):
        small = spec is READING
        result = check(spec, bounds, engine="both", normal_form=True, verify=small, threads=2, everything=True)
        assert result.verdict == "holds"
        assert result.compared == ["another seed", "the oracle"] if small else ["the oracle"]


def test_the_toy_is_reduced_and_equal() -> None:
    """The normal form of the toy passes the comparison, which states both counts."""
    result = compared(READING, {})
    assert (result.distinct, result.unreduced) == (164, 1995)
    assert result.compared == ["the search of all states"]
    assert "taken as given" not in result_text(result, {})


def test_what_is_not_compared_is_told() -> None:
    """A report of normal forms that were not compared with all states names what is believed, and the option that compares."""
    reported = result_text(check(READING, {}, normal_form=True), {})

    assert "  form        by drop_old_notes, ranks of " in reported
    assert "is taken as given: --verify normal_form compares all states" in reported


SMALL = (
    "first_look",
    "expiry",
    "bounce",
    "lossy",
    "lone_replica",
    "lone_lossy",
    "shutdown",
    "lost_request",
    "lost_reply",
    "old_epochs",
)


def test_small_families_are_equal() -> None:
    """In the small families of the control plane the search of normal forms misses nothing and adds nothing."""
    for name in SMALL:
        result = compared(FIXED, family(name))
        assert result.complete and result.unreduced is not None and result.distinct <= result.unreduced


def checks(below: int) -> list[NamedCheck]:
    """Return the checks of the manifest that a normal form can reduce, by their number of states without it.

    Those at whose bounds the spec has none are left out.
    """
    named = [
        one
        for one in named_checks()
        if one.spec.normal_form and not any(one.bounds.get(bound.name) for bound in one.spec.normal_form_without)
    ]
    return [one for one in named if (one.expected.unreduced or one.expected.distinct or 0) < below]


@pytest.mark.parametrize(
    "named",
    checks(3_000_000),
    ids=lambda one: one.name,
)
def test_checks_of_the_manifest_are_equal(named: NamedCheck) -> None:
    """Where the search of all states fits, it and the search of normal forms agree, for `fixed` and for every bug."""
    claims = [named.spec.property(name) for name in named.properties] if named.properties else None
    result = compared(named.spec, named.bounds, properties=claims, threads=2)
    assert result.unreduced == (named.expected.unreduced or result.unreduced)


OFTEN = ("crashes", "expiries", "bounces", "controlled_shutdowns", "isr_shrinks", "preferred_elections", "reassignments")
"""What of happenings a random family has for the most part."""


def random_family(seed: int) -> tuple[Spec, dict[str, int]]:
    """Return a model of the control plane, `fixed` as often as all others together, and up to five happenings at random."""
    random = Random(seed)
    reduced = [spec for spec in MODELS.values() if spec.name.startswith("zookeeper/") and spec.normal_form]
    spec = random.choice([FIXED, random.choice(reduced)])
    bounds = NOTHING_HAPPENS | random.choice(
        ({}, {"brokers": 3}, {"brokers": 3, "replicas": 3}, {"replicas": 1}, {"partitions": 2, "channel_depth": 16})
    )
    without = {bound.name for bound in spec.normal_form_without} | {"recreations", "deletion_errors", "additions", "repeats"}
    happenings = random.sample(OFTEN, random.randint(1, 2)) + random.sample(HAPPENINGS, random.randint(0, 3))
    bounds |= {name: 1 for name in happenings if name not in without}
    return spec, bounds | {"settled": random.randint(0, 3) and 1, "unclean": random.randint(0, 4) // 4}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_random_families_are_equal(seed: int) -> None:
    """In families that nobody chose, too, the search of normal forms misses nothing and adds nothing.

    Not with repeats: a connection that breaks at a request that the form drops leaves only its count (zookeeper/normal_form.py).
    """
    spec, bounds = random_family(seed)
    if not embedded.explore(spec, bounds, everything=True, budget=Budget(max_states=100_000)).stopped:
        assert compared(spec, bounds).unreduced


BUGS = [one for one in checks(40_000) if one.expected.verdict == "violated" and one.expected.traces]


@pytest.mark.parametrize("named", BUGS, ids=lambda one: one.name)
def test_bugs_are_told_in_real_states(named: NamedCheck) -> None:
    """A violation among normal forms is told as a behaviour of real states, which the oracle replays; it is no shorter."""
    result = named.run(normal_form=True, everything=True)
    for claim, states in named.expected.traces.items():
        trace = trace_of(result, claim)
        assert trace is not None
        assert trace.states >= states or trace.lasso is not None
        assert trace.shortest == (trace.states == result.findings[claim].states)


def test_refusals_that_the_form_dropped_are_told() -> None:
    """A step that needs an old note out of the way is told after the step that takes the note."""
    spec = reading(drop_old_notes, IN_ORDER, properties=(recoverable("Agree", readers_agree, "readers agree", ""),))
    result = embedded.explore(spec.in_normal_form(), {}, everything=True)
    trace = trace_of(result, "Agree")
    assert trace is not None
    whole = embedded.explore(spec, {}, everything=True)
    assert whole.findings["Agree"].states == trace.states == 4


def tell_twice(s: Clock, reader: int) -> None:
    """Send the time to a reader, and once more."""
    tell(s, reader)
    tell(s, reader)


def somebody_does_not_know(s: Clock) -> bool:
    """A note waits, or no reader knows anything."""
    return len(s.notes) > 0 or s.known[0] == s.known[1] == -1


def test_what_is_met_after_the_last_step_is_told() -> None:
    """A violation that a real state meets only after a step that the form took at once is told with this step."""
    told_twice = replace(TELL, effects=(tell_twice,), guards=(nothing_waits,))
    claim = invariant("SomebodyWaits", somebody_does_not_know, "a note waits, or nobody knows anything", "")
    spec = reading(drop_old_notes, IN_ORDER, rules=(TICK, told_twice, LEARN, IGNORE), properties=(claim,))
    result = embedded.explore(spec.in_normal_form(), {})
    trace = trace_of(result, "SomebodyWaits")
    assert trace is not None
    assert (result.findings["SomebodyWaits"].states, trace.states) == (4, 5)
    assert embedded.explore(spec, {}).findings["SomebodyWaits"].states == 5


# ---------------------------------------------------------------------------------------------------------------------
# Wrong ones


def drop_a_note(s: Clock) -> None:
    """Drop the last of two notes, which is wrong."""
    truncate(s.notes, 1)


def forget_a_reader(s: Clock) -> None:
    """Forget what the second reader knows, which is wrong."""
    s.known[1] = -1


def add_nothing(s: Clock) -> None:
    """Make the readers know what they cannot, which is wrong."""
    if s.now == 2 and s.known[0] == 0:
        s.known[0] = 1


WRONG = {
    "steps that are possible are lost": (drop_a_note,),
    "steps become possible": (forget_a_reader,),
    "a state becomes one that it is not": (add_nothing,),
}


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_form_is_noticed(parts: tuple[Callable[[Clock], None], ...]) -> None:
    """The comparison notices a form that drops what matters, even if all verdicts are equal."""
    with pytest.raises(EngineError, match=r"is not right at these bounds: .*(protocol steps|states cannot do)"):
        compared(reading(*parts, properties=()), {})


def test_a_form_that_hides_a_goal_is_noticed() -> None:
    """The comparison notices that the goal of a claim about paths is met in the form and not in the state."""
    agree = replace(READING, properties=(recoverable("Agree", readers_agree, "readers agree", ""),))
    with pytest.raises(EngineError, match="readers_agree is not the same in a state and in its normal form"):
        compared(replace(agree, normal_form=(forget_a_reader,)), {})


def drop_all_requests(s: World, k: Constants) -> None:
    """Drop every second request, which is wrong."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            truncate(s.controllers[controller].channels[broker].requests, 1)


def raise_all_seen_epochs(s: World, k: Constants) -> None:
    """Let brokers refuse the requests of all controllers but the newest, which is wrong."""
    for broker in range(k.brokers):
        s.brokers[broker].controller_epoch = s.zookeeper.controller_epoch


@pytest.mark.parametrize("wrong", [drop_all_requests, raise_all_seen_epochs])
def test_a_wrong_form_of_the_control_plane_is_noticed(wrong: Callable[[World, Constants], None]) -> None:
    """A mistake in the normal form of the control plane is noticed in a small family."""
    with pytest.raises(EngineError, match="the normal form is not right at these bounds"):
        compared(replace(FIXED, normal_form=(*NORMAL_FORM[:2], wrong, *NORMAL_FORM[2:])), family("crash_and_expiry"), properties=())


def begin_again(s: Clock) -> None:
    """The clock begins again."""
    s.now = 0


def it_is_late(s: Clock) -> bool:
    """It is late."""
    return s.now == 4


@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_numbers_that_begin_again_end_the_search(explore: Explore) -> None:
    """Numbers that begin again while older ones are in use must not be replaced by ranks: the search ends with an error."""
    again = Rule("Again", "clock", "the clock begins again", "", (begin_again,), guards=(it_is_late,))
    spec = reading(IN_ORDER, rules=(*READING.rules, again)).in_normal_form()
    with pytest.raises(SpecError, match=r"normal form: time \d is larger than \d, the newest one in now"):
        explore(spec, {}, properties=(), everything=True)


@pytest.mark.parametrize("name", ["deletion", "late_stop"])
@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_families_without_a_normal_form_are_refused(explore: Explore, name: str) -> None:
    """Where epochs begin again, or a StopReplica comes late, both engines refuse a search of normal forms, and so does check."""
    with pytest.raises(SpecError, match="its normal form does not cover"):
        explore(FIXED.in_normal_form(), family(name), properties=())
    with pytest.raises(SpecError, match="search all its states"):
        check(FIXED, family(name), normal_form=True)


def leave(s: Clock) -> None:
    """Leave the domain, which is wrong."""
    s.now = s.now + 5


@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_a_form_that_leaves_a_domain_ends_the_search(explore: Explore) -> None:
    """A function of a normal form that leaves a domain is an error, and drops no step silently."""
    with pytest.raises(SpecError, match="normal form: leave leaves a domain"):
        explore(reading(leave).in_normal_form(), {}, everything=True)


# ---------------------------------------------------------------------------------------------------------------------
# Steps and states are judged before the form is taken


def learn_from_the_future(s: Clock) -> None:
    """The reader learns a time too late by one."""
    s.known[s.notes[0].reader] = s.now + 1
    pop_first(s.notes)


def know_the_clock(s: Clock) -> None:
    """Make every reader know at most the time, so that the form hides the mistake."""
    for reader in range(READERS):
        s.known[reader] = min(s.known[reader], s.now)


@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_what_happens_is_judged_before_the_form(explore: Explore) -> None:
    """An invariant that only the form repairs is found violated, and the trace shows the real state."""
    rules = (TICK, TELL, replace(LEARN, effects=(learn_from_the_future,)))
    spec = reading(know_the_clock, rules=rules).in_normal_form()
    result = explore(spec, {})
    assert result.violated == ["NoFuture"]
    trace = trace_of(result, "NoFuture")
    assert trace is not None
    assert dict(trace.steps[-1].state)["known[0]"] > dict(trace.steps[-1].state)["now"]


@dataclass
class Lamp:
    """Something that moves, and a lamp that is off whenever it has moved."""

    moves: int = field(Range(0, 3))
    lamp: int = field(Range(0, 1))


def moves_left(s: Lamp) -> bool:
    """It can move."""
    return s.moves < 3


def move(s: Lamp) -> None:
    """It moves, and the lamp goes off."""
    s.moves += 1
    s.lamp = 0


def switch_on(s: Lamp) -> None:
    """After the last move somebody switches the lamp on at once."""
    if s.moves == 3:
        s.lamp = 1


def is_off(s: Lamp) -> bool:
    """The lamp is off."""
    return s.lamp == 0


def has_moved(s: Lamp) -> bool:
    """It has moved."""
    return s.moves > 0


def has_not_moved(s: Lamp) -> bool:
    """It has not moved."""
    return s.moves == 0


LAMP = Spec(
    "toys/lamp",
    "a form that no rule's step leads to",
    Lamp,
    (Rule("Move", "lamp", "it moves", "", (move,), guards=(moves_left,)),),
    (invariant("Off", is_off, "the lamp is off", when=has_moved),),
    normal_form=(switch_on,),
    reduced=True,
)


@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_what_a_form_makes_is_judged(explore: Explore) -> None:
    """A form may be another state than the step led to, and nothing may follow: it is judged, but antecedents count steps."""
    result = explore(LAMP, {}, everything=True)
    assert result.violated == ["Off"]
    assert result.findings["Off"].states == 4
    assert result.tested["Off"] == 3


@pytest.mark.parametrize("explore", ENGINES.values(), ids=ENGINES.keys())
def test_initial_states_are_judged(explore: Explore) -> None:
    """What no step leads to is judged, too: a claim that only the initial state violates is violated, by a trace without steps."""
    result = explore(replace(LAMP, properties=(invariant("Moved", has_moved, "it has moved"),)), {}, everything=True)
    trace = trace_of(result, "Moved")
    assert trace is not None
    assert len(trace.steps) == 0
    counted = replace(LAMP, properties=(invariant("Off", is_off, "the lamp is off", when=has_not_moved),))
    assert explore(counted, {}, everything=True).tested["Off"] == 1


# ---------------------------------------------------------------------------------------------------------------------
# Ranks


@dataclass
class Claim:
    """A number of an owner."""

    owner: int = field(Broker(READERS))
    number: int = field(Range(0, 9, name="number"))


@dataclass
class Numbered:
    """Numbers of one domain in many places, each in the order of an owner."""

    newest: list[int] = field(PerBroker(Range(0, 9, name="number"), READERS))
    copies: list[int] = field(PerBroker(Range(0, 9, name="number"), READERS))
    limits: list[int] = field(PerBroker(Range(0, 9, name="number"), READERS))
    queue: list[Claim] = field(Queue(Claim, 3))
    other: int = field(Range(0, 9))


def wait(s: Numbered) -> None:
    """Do nothing."""


def ranked(equality: bool) -> Spec:
    """Return a spec whose normal form ranks the numbers of each owner."""
    ranks = Ranks("number", "newest[{broker}]", keep=1, each="broker", told_by="owner", equality=equality, limits=("limits[]",))
    return Spec("toys/ranked", "", Numbered, (Rule("Wait", "w", "", "", (wait,)),), normal_form=(ranks,)).in_normal_form()


WORLDS = {equality: Interpreter(ranked(equality), {}) for equality in (False, True)}
PROGRAMS = {equality: Program(world.spec, Layout(world.space), world.actions, (), world.k) for equality, world in WORLDS.items()}


@given(
    st.booleans(),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), max_size=3),
    st.integers(0, 9),
)
def test_ranks(
    equality: bool,
    newest: tuple[int, int],
    copies: tuple[int, int],
    limits: tuple[int, int],
    queue: list[tuple[int, int]],
    other: int,
) -> None:
    """Ranks keep order (or equality with the newest) and other fields, and leave no gaps; compiled code gives the same.

    Of a limit they keep which numbers are smaller.
    """
    world, program = WORLDS[equality], PROGRAMS[equality]
    state = world.space.fresh()
    for owner in range(READERS):
        mine = [copies[owner], *(number for whose, number in queue if whose == owner)]
        state.newest[owner] = max(newest[owner], limits[owner], *mine)
        state.copies[owner], state.limits[owner] = copies[owner], limits[owner]
    for whose, number in queue:
        append(state.queue, owner=whose, number=number)
    state.other = other
    form = world.formed(state)

    def numbers(s: Numbered, owner: int) -> list[int]:
        return [s.newest[owner], s.copies[owner], *(claim.number for claim in s.queue if claim.owner == owner)]

    assert form.other == other and len(form.queue) == len(queue)
    for owner in range(READERS):
        old, new = numbers(state, owner), numbers(form, owner)
        assert all(after == before for before, after in zip(old, new, strict=True) if before <= 1)
        limit = form.limits[owner]
        if equality:
            assert limits[owner] <= 1 or (limits[owner] == old[0]) == (limit == new[0] > 1)
            assert all(before <= 1 or (before == old[0]) == (after == new[0] > 1) for before, after in zip(old, new, strict=True))
            assert {number for number in new if number > 1} <= {2}
        else:
            pairs = [(one, other) for one in range(len(old)) for other in range(len(old))]
            assert all((old[one] < old[other]) == (new[one] < new[other]) for one, other in pairs)
            assert {0, 1} | set(new) == set(range(max(1, *new) + 1))
            assert all((b < limits[owner]) == (a < limit) for b, a in zip(old, new, strict=True) if b > 1 or limits[owner] <= 1)
            assert limit in {0, 1, *new}
    layout = Layout(world.space)
    record = np.frombuffer(layout.pack(state), np.uint8).copy()
    marks, fault = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    assert program.form(address(record), 1, program.seed, address(marks), address(fault)) == -1
    assert record.tobytes() == layout.pack(form)
    assert int(marks[0]) == layout.fingerprint(layout.pack(form))
    assert world.key(world.formed(form)) == world.key(form)


REFUSED = {
    "no field's domain has this name": Ranks("age", newest="now"),
    "notes is not a field of this domain": Ranks("time", newest="notes"),
    "its initial number is not kept": Ranks("time", newest="now", keep=-2),
    "the limit clock is not the end of the path": Ranks("time", newest="now", keep=-1, limits=("clock",)),
    "the newest number is not a limit": Ranks("time", newest="now", keep=-1, limits=("now",)),
    "is under no index of a broker": Ranks("time", newest="known[{broker}]", keep=-1, each="broker"),
}


@pytest.mark.parametrize(("summary", "part"), REFUSED.items())
def test_ranks_without_meaning_are_refused(summary: str, part: Ranks) -> None:
    """Ranks of numbers that the state does not have, or that nobody can attribute, are refused when the spec is declared."""
    with pytest.raises(SpecError, match=summary):
        reading(part)


@dataclass
class Bagged:
    """Times in a bag."""

    now: int = field(TIMES)
    notes: list[Note] = field(BagOf(Note, 2))


def test_ranks_in_bags_are_refused() -> None:
    """The elements of a set or a bag stand in the order of their contents, which ranks might change."""
    with pytest.raises(SpecError, match="notes is a bag"):
        Spec("toys/bagged", "", Bagged, (Rule("Wait", "w", "", "", (wait,)),), normal_form=(IN_ORDER,))


def test_a_new_field_of_a_domain_is_covered() -> None:
    """Each field of the control plane that holds an epoch or a version is ranked: the domain decides, no list of fields."""
    named = {part.of for part in NORMAL_FORM if isinstance(part, Ranks)}
    assert named == {"version", "controller epoch", "leader epoch", "broker epoch"}
    assert bring_channels_into_form in NORMAL_FORM


# ---------------------------------------------------------------------------------------------------------------------
# The command line and the manifest

PROJECT = """
[[tool.kafka-spec.checks]]
name = "reading"
model = "zookeeper/fixed"
bounds = "expiry"
verdict = "holds"
normal_form = true
distinct = 109
unreduced = {unreduced}
"""


def test_a_named_check_says_that_it_is_reduced(inside: Command, tmp_path: Path) -> None:
    """A check with normal_form = true searches normal forms; its line has both counts, and --verify normal_form confirms them."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(PROJECT.format(unreduced=216), encoding="utf-8")
    ran = inside("check", "-q", "--manifest", str(manifest))
    assert (ran.returncode, "109 states" in ran.stdout, "normal forms of 216 states" in ran.stdout) == (0, True, True)
    assert inside("check", "-q", "--manifest", str(manifest), "--verify", "normal_form").returncode == 0
    manifest.write_text(PROJECT.format(unreduced=217), encoding="utf-8")
    ran = inside("check", "-q", "--manifest", str(manifest), "--verify", "normal_form")
    assert (ran.returncode, "216 states without the normal form, expected 217" in ran.stdout) == (1, True)


def test_verify_takes_no_model_for_a_word(inside: Command) -> None:
    """What follows --verify is a model unless it says what to verify."""
    ran = inside("check", "-q", "--verify", "replication/high_watermark", "--bounds", "tiny")
    assert "compared    with another seed" in ran.stdout
    ran = inside("check", "-q", "zookeeper/fixed", "--bounds", "expiry", "--verify", "normal_form")
    assert "109 distinct normal forms of 216 states" in ran.stdout and "compared    with the search of all states" in ran.stdout


def test_a_model_without_a_form_says_so(inside: Command) -> None:
    """--normal-form of a model that has none is a usage error."""
    ran = inside("check", "-q", "kraft/fixed", "--normal-form")
    assert (ran.returncode, "has no normal form" in ran.stderr) == (2, True)
