"""`kafka-spec check --inductive`: every state is tried, each step is judged, and the verdict is as defined in plain Python."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from examples.bounded_queue import QUEUE, QUEUE_PROVED
from examples.tlaplus.ewd840 import EWD840
from kafka_spec.__main__ import main
from kafka_spec.model_check import inductive
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.inductive import check_inductive
from kafka_spec.model_check.record import layout
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.report.inductive import inductive_text
from kafka_spec.model_check.search import every_state, induction
from kafka_spec.model_check.search.every_state import EveryState, values_in
from kafka_spec.model_check.search.induction import NO_STEP
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BagOf,
    Bound,
    Distinct,
    Flag,
    MapOf,
    Member,
    MemberOrNone,
    OneOf,
    Option,
    Range,
    SequenceOf,
    SetOf,
    Space,
    append,
    field,
    message,
    tagged,
)
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError, anywhere, invariant, lemma, step_invariant
from tests import sample_specs
from tests.fuzz.agree import load
from tests.fuzz.inductive import by_definition, differs, known_once, values
from tests.fuzz.specs import text_of

# ---------------------------------------------------------------------------------------------------------------------
# every state


class Kind(IntEnum):
    """Of a message."""

    ASK = 0
    TELL = 1


@message
@dataclass
class Vote:
    """A vote for somebody, or for nobody."""

    term: int = field(Range(1, 2))
    whom: int = field(MemberOrNone(2, "node"))


@tagged("kind", {Kind.ASK: ("whom",), Kind.TELL: ("term",)})
@dataclass
class Tagged:
    """A message with a tag; a question names a node, an answer has a term. Its fields are not in the order of its tags."""

    whom: int = field(MemberOrNone(2, "node"))
    kind: int = field(OneOf(Kind))
    term: int = field(Range(1, 3))


@dataclass
class Everything:
    """A state with a field of every kind."""

    number: int = field(Range(-1, 1))
    votes: list[Vote] = field(SetOf(Vote, 2))
    bag: list[Vote] = field(BagOf(Vote, 2))
    tagged: list[Tagged] = field(SetOf(Tagged, 2))
    last: Tagged = field(Tagged)
    log: list[int] = field(SequenceOf(Flag(), 2))
    ranks: list[int] = field(Distinct(Range(0, 2), 2))
    option: Any = field(Option(Range(0, 1)))
    map: Any = field(MapOf(Member(2, "node"), Range(0, 1)))
    members: int = field(SetOf(2))
    array: list[Vote] = field(ArrayOf(Vote, 1))


@pytest.mark.parametrize("name", Everything.__dataclass_fields__)
def test_every_value_once(name: str) -> None:
    """Of each kind of field all values are tried, each once: those that plain Python makes one by one."""

    @dataclass
    class One:
        one: Any = field(Everything.__dataclass_fields__[name].metadata["domain"])

    form = Layout(Space(One, {}))
    every = EveryState(form)
    records = [row.tobytes() for row in every.block(0, every.count)]
    expected = [form.pack(state) for state in values(form.space.root)]
    assert every.count == len(records) == values_in(form.space.root)
    assert sorted(records) == sorted(expected) and len(set(records)) == len(records)


def test_every_combination() -> None:
    """Blocks of states together are every combination of the values of the fields."""
    form = Layout(Space(Everything, {}))
    every = EveryState(form)
    assert every.count == values_in(form.space.root) == 3 * 22 * 28 * 22 * 6 * 7 * 10 * 3 * 9 * 4 * 6
    begin, end = every.count // 3, every.count // 3 + 5000
    rows = [row.tobytes() for cut in range(begin, end, 999) for row in every.block(cut, min(end, cut + 999))]
    assert len(set(rows)) == 5000 == len(rows)
    assert all(form.pack(form.unpack(row)) == row for row in rows)


def test_many_parts_with_one_value() -> None:
    """Parts that have only one value are no combinations; there may be any number of them."""

    @dataclass
    class Still:
        fixed: list[int] = field(ArrayOf(Range(3, 3), 100))
        moves: list[int] = field(ArrayOf(Flag(), 3))

    form = Layout(Space(Still, {}))
    every = EveryState(form)
    assert [row.tobytes() for row in every.block(0, every.count)] == [form.pack(state) for state in values(form.space.root)]
    assert every.count == 8


def test_a_part_with_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the field and how many values it has."""
    monkeypatch.setattr(every_state, "MOST", 27)
    with pytest.raises(SpecError, match=r"bag has 28 values, of which there may be 27; take smaller bounds"):
        EveryState(Layout(Space(Everything, {})))


# ---------------------------------------------------------------------------------------------------------------------
# the verdict


LIMIT = Bound("limit", 1, 4, "the largest number")
RESETS = Bound("resets", 0, 3, "resets")


@dataclass
class Pair:
    """Two numbers and a log."""

    x: int = field(Range(0, LIMIT))
    y: int = field(Range(0, 3))
    log: list[int] = field(SequenceOf(Range(0, 1), 2))


def x_is_small(s: Pair) -> bool:
    """It can grow."""
    return s.x <= s.y


def grow(s: Pair) -> None:
    """Grow both; the second may leave its domain."""
    s.x += 1
    s.y += 1


def note(s: Pair, bit: int) -> None:
    """Add to the log, which has room for two."""
    append(s.log, bit)


def has_room(s: Pair) -> bool:
    """There is room."""
    return len(s.log) < 2


def reset(s: Pair) -> None:
    """Begin again."""
    s.x = 0


def ordered(s: Pair) -> bool:
    """The first is not larger."""
    return s.x <= s.y


def below_three(s: Pair) -> bool:
    """The second is below 3."""
    return s.y < 3


def first_bit_is_set(s: Pair) -> bool:
    """The first bit of the log is 1."""
    return s.log[0] == 1


def log_is_filled(s: Pair) -> bool:
    """The log has an item."""
    return len(s.log) > 0


def not_down(before: Pair, after: Pair) -> bool:
    """The first number does not fall."""
    return after.x >= before.x


def start(s: Pair, y: int) -> None:
    """Begin with a bit in the log."""
    s.y = y
    append(s.log, 1)


PAIR = Spec(
    "pair",
    "two numbers that grow, and a log",
    Pair,
    (
        Rule("Grow", "world", "grow", effects=(grow,), guards=(x_is_small,)),
        Rule("Note", "world", "note {bit}", effects=(note,), params={"bit": Range(0, 1)}, guards=(has_room,)),
        Rule("Reset", "world", "reset", effects=(reset,), kind="fault", at_most=RESETS),
    ),
    (
        invariant("Ordered", ordered, "the first is not larger"),
        invariant("BelowThree", below_three, "the second is below 3"),
        invariant("FirstBit", first_bit_is_set, "the first bit is 1"),
        step_invariant("NotDown", not_down, "the first number does not fall"),
    ),
    lemmas=(lemma("Filled", log_is_filled),),
    start=Rule("Start", "world", "begin with {y}", effects=(start,), params={"y": Range(0, 3)}),
    final=anywhere,
)

CASES: list[tuple[Spec, list[str], list[str], dict[str, int]]] = [
    (PAIR, ["Ordered"], [], {"limit": 3, "resets": 1}),
    (PAIR, ["Ordered"], ["BelowThree", "NotDown"], {"limit": 2, "resets": 1}),
    (PAIR, ["Ordered", "BelowThree"], ["NotDown"], {"limit": 2, "resets": 0}),
    (PAIR, ["Filled", "FirstBit"], ["Ordered"], {"limit": 1, "resets": 0}),
    (QUEUE_PROVED, ["SomebodyRuns", "NeverTooFull"], [], {}),
    (QUEUE_PROVED, ["NeverTooFull", "ConsumersRun", "ProducersRun"], ["SomebodyRuns"], {"threads": 4, "producers": 2}),
    (EWD840, ["TokenTells"], ["DetectionIsRight"], {}),
    (EWD840, ["DetectionIsRight"], [], {}),
]


@pytest.mark.parametrize(("spec", "names", "implied", "bounds"), CASES)
def test_an_inductive_check_is_what_it_says(spec: Spec, names: list[str], implied: list[str], bounds: dict[str, int]) -> None:
    """The admitted states, the steps of each rule, and which rule breaks what are as defined; also on three threads."""
    admitted, fired, broken = by_definition(spec, names, implied, bounds)
    for threads in (1, 3):
        result = check_inductive(spec, names, bounds, implied=implied, threads=threads)
        found = result.admitted, +result.fired, set(result.broken)
        assert known_once(spec, found) == known_once(spec, (admitted, +fired, broken))
        assert result.tried == result.every and result.traces.keys() == result.broken.keys()


def test_the_last_state_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one state try the last state too."""
    monkeypatch.setattr(inductive, "BLOCK", 1)
    result = check_inductive(QUEUE_PROVED, ["NeverTooFull"])
    assert (result.tried, result.admitted) == (24, 16)


@pytest.mark.parametrize(("block", "piece"), [(1, 1), (5, 2), (64, 3)])
def test_blocks_and_pieces_of_any_size(block: int, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many states are tried at a time, the result is the same."""
    expected = check_inductive(EWD840, ["DetectionIsRight"])
    monkeypatch.setattr(inductive, "BLOCK", block)
    monkeypatch.setattr(induction, "PIECE", piece)
    found = check_inductive(EWD840, ["DetectionIsRight"], threads=2)
    assert (found.fired, found.broken, found.traces) == (expected.fired, expected.broken, expected.traces)


def test_rules_fire_any_number_of_times() -> None:
    """The number of firings is not a part of the state; a rule with a bound of 0 never fires."""
    assert check_inductive(PAIR, ["Ordered"], {"limit": 2, "resets": 3}).every == 3 * 4 * 7
    assert check_inductive(PAIR, ["Ordered"], {"limit": 2, "resets": 1}).fired["Reset"] == 63
    assert check_inductive(PAIR, ["Ordered"], {"limit": 2, "resets": 0}).fired["Reset"] == 0


def x_is_log(s: Pair, place: int) -> bool:
    """The item at this place is set."""
    return s.log[place] == 1


def is_filled_to(s: Pair, place: int) -> bool:
    """The log has an item at this place."""
    return len(s.log) > place


def test_antecedents_and_bindings() -> None:
    """An invariant is asked only where its antecedent is met, and for each binding by itself."""
    places = Bound("places", 1, 2, "places of the log")
    stated = invariant("Set", x_is_log, "what is in the log is set", when=is_filled_to, each={"place": places})
    spec = PAIR.replacing("places", "judged for each place", properties=(stated,), more_bounds=(places, RESETS))
    bounds = {"limit": 1, "resets": 0, "places": 2}
    result = check_inductive(spec, ["Set"], bounds)
    assert result.admitted == 2 * 4 * 3
    assert {claim for _, claim in result.broken} == {"TypeInvariant", "Set[place=0]", "Set[place=1]"}
    assert differs(spec, bounds) == (True, "")


def test_counts_of_broken_steps() -> None:
    """Each step that breaks an invariant counts, and each state that an implied invariant does not hold in."""
    result = check_inductive(QUEUE_PROVED, ["SomebodyRuns", "NeverTooFull"])
    assert result.broken == {("PutWaits", "SomebodyRuns"): 1, ("TakeWaits", "SomebodyRuns"): 2}
    result = check_inductive(QUEUE_PROVED, ["NeverTooFull"], implied=["SomebodyRuns"])
    assert result.broken == {(NO_STEP, "SomebodyRuns"): 2} and result.is_inductive


def test_a_trace_has_two_states() -> None:
    """The first state meets the invariants, and the step out of it is a step of the rule that does not keep one."""
    trace = check_inductive(EWD840, ["DetectionIsRight"]).traces["BecomePassive", "DetectionIsRight"]
    assert [action.rule for action in trace.actions] == ["BecomePassive"] and trace.states == 2
    assert dict(trace.start.state)["active"] == "{0, 1}"


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_random_specs(seed: int, wide: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a random spec, with machines and fields of all kinds, the check is as defined, or both say that it cannot be executed.

    So it is also where states are kept without the room for items that are not there.
    """
    if wide:
        monkeypatch.setattr(layout, "WIDE", 1)
        monkeypatch.setattr(layout, "ROOM", 1)
    spec: Spec = load(text_of(seed), tmp_path, f"inductive_{seed}").SPEC
    assert differs(spec, spec.bound_values(spec.bound_sets[0].values))[1] == ""


def test_whether_states_are_reachable_is_searched() -> None:
    """A search says that no state is reachable, or shows a trace; where it covers less, it is open."""
    text = inductive_text(check_inductive(EWD840, ["DetectionIsRight"]))
    assert text.endswith(
        "not inductive\n"
        "A search of all 302 reachable states finds no violation: the states above are unreachable at these bounds.\n"
        "An invariant that excludes them is missing."
    )
    text = inductive_text(check_inductive(QUEUE, ["SomebodyRuns"]))
    assert "A search from the initial states finds a violation, too:\n\nSomebodyRuns in bounded_queue: 8 states" in text
    text = inductive_text(check_inductive(QUEUE, ["NeverTooFull"], implied=["SomebodyRuns"]))
    assert "inductive, but too weak" in text and "SomebodyRuns in bounded_queue: 8 states" in text


def nothing_yet(s: Pair) -> bool:
    """The second is 0; the counters of what was spent are not read."""
    return s.y == 0


@dataclass
class Down:
    """How many are down."""

    count: int = field(Range(0, 3))


CRASHES = Bound("crashes", 0, 3, "crashes")


def is_any_up(s: Down) -> bool:
    """One is up."""
    return s.count < 3


def crash(s: Down) -> None:
    """Another is down."""
    s.count += 1


def at_most_one_is_down(s: Down) -> bool:
    """At most one is down."""
    return s.count <= 1


def test_a_search_with_limits_leaves_it_open() -> None:
    """A state from which a second crash does harm is reachable though a search with one crash violates nothing."""
    fall = Rule("Crash", "world", "crash", effects=(crash,), guards=(is_any_up,), kind="fault", at_most=CRASHES)
    spec = Spec("down", "nodes that crash", Down, (fall,), (invariant("One", at_most_one_is_down, "at most one"),), final=anywhere)
    result = check_inductive(spec, ["One"], {"crashes": 1})
    assert result.broken == {("Crash", "One"): 1} and result.searched is not None and result.searched.verdict == "holds"
    text = inductive_text(result)
    assert "  unlimited  crashes: how often these rules fire is not bounded\n" in text
    assert text.endswith("Whether the states above are reachable is open: the search limits how often rules fire (crashes=1).")


def test_an_initial_state_that_violates_it() -> None:
    """An initial state is called one; nothing is said of the invariants that it meets."""
    spec = PAIR.replacing("late", "an invariant begins late", properties=(invariant("Down", nothing_yet, "the second is 0"),))
    text = inductive_text(check_inductive(spec, ["Down"], {"limit": 1, "resets": 0}))
    assert "an initial state violates Down\n  1. an initial state\n       y = 1\n" in text


def test_the_states_of_machines_are_tried() -> None:
    """A state of a machine is a field like any other: each combination of two doors is tried."""
    result = check_inductive(sample_specs.DOORS, ["LockedWithKey"])
    assert result.every == 3 * 3 * 4 * 4 * 2 and result.verdict == "holds"
    assert differs(sample_specs.DOORS, {}) == (True, "")


# ---------------------------------------------------------------------------------------------------------------------
# refusals and the command


def test_an_invariant_that_relies_on_none_before_it_is_refused() -> None:
    """What cannot be executed in a state is said with the state; an invariant that comes first excludes it."""
    with pytest.raises(SpecError, match=r"first_bit_is_set cannot be executed.*the state: every field.*name an invariant"):
        check_inductive(PAIR, ["FirstBit"], {"limit": 1, "resets": 0})
    assert check_inductive(PAIR, ["Filled", "FirstBit"], {"limit": 1, "resets": 0}).is_inductive is False


@pytest.mark.parametrize(
    ("names", "implied", "message"),
    [
        (["Nothing"], [], r"invariant 'Nothing' is unknown; there is Ordered, BelowThree"),
        (["Ordered"], ["Nothing"], r"invariant 'Nothing' is unknown; there is .*NotDown"),
        (["NotDown"], [], r"NotDown is of kind step invariant; an inductive check is of an invariant"),
    ],
)
def test_properties_that_are_not_inductive_statements(names: list[str], implied: list[str], message: str) -> None:
    """Only invariants can be inductive, and only invariants and step invariants can follow from them."""
    with pytest.raises(SpecError, match=message):
        check_inductive(PAIR, names, {"limit": 1, "resets": 0}, implied=implied)


def test_all_lemmas_by_one_word() -> None:
    """`lemmas` and `invariants` stand for all of them."""
    named = check_inductive(QUEUE_PROVED, ["NeverTooFull", "ConsumersRun", "ProducersRun"])
    assert [claim.name for claim in check_inductive(QUEUE_PROVED, ["NeverTooFull", "lemmas"]).invariants] == [
        claim.name for claim in named.invariants
    ]
    found = check_inductive(QUEUE_PROVED, ["lemmas"], implied=["invariants"])
    assert [claim.name for claim in found.implied] == ["SomebodyRuns", "NeverTooFull"]


def test_a_spec_without_invariants() -> None:
    """Where there is nothing that could be inductive, the message says how to declare it."""
    bare = dataclasses.replace(PAIR, properties=PAIR.properties[-1:], lemmas=())
    for word, cure in (("invariants", r"invariant\(...\)"), ("lemmas", r"lemma\(...\)")):
        with pytest.raises(SpecError, match=f"pair: it states no {word}; declare one with {cure}"):
            check_inductive(bare, [word], {"limit": 1, "resets": 0})


def test_a_budget_ends_it() -> None:
    """A check that does not end in its time is inconclusive, and says how many states were tried."""
    result = check_inductive(EWD840, ["TokenTells"], {"nodes": 8}, budget=Budget(0.0))
    assert result.verdict == "inconclusive" and result.tried < result.every and "time budget" in result.stopped


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--inductive", "TokenTells", "--property", "DetectionIsRight"], 0, "inductive: TokenTells; DetectionIsRight follows"),
        (["--inductive", "DetectionIsRight"], 1, "BecomePassive(node=0) does not keep DetectionIsRight"),
        (["--inductive", "TokenTells", "--engine", "spark"], 2, "--engine is of a search, and --inductive makes none"),
        (["--inductive", "TokenTells", "--seed", "3"], 2, "--seed is for --simulate"),
        (["--inductive", "TokenTells", "--jobs", "3"], 2, "--jobs is of a search, and --inductive makes none"),
        (["--inductive", "Nothing"], 2, "invariant 'Nothing' is unknown"),
        (["--inductive", "TokenTells", "--format", "junit"], 2, "--inductive prints text or json, not junit"),
    ],
)
def test_the_command(arguments: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is that of the verdict; options of a search are refused by name."""
    assert main(["check", "examples.tlaplus.ewd840:EWD840", *arguments]) == code
    out, err = capsys.readouterr()
    assert expected in out + err


def test_a_result_prints_as_a_summary() -> None:
    """The verdict, the counts, and what breaks what."""
    assert str(check_inductive(QUEUE_PROVED, ["SomebodyRuns", "NeverTooFull"])) == (
        "bounded_queue_proved at threads=3, producers=1, capacity=1: violated\n"
        "  14 of 24 states meet SomebodyRuns and NeverTooFull\n"
        "  PutWaits does not keep SomebodyRuns: 1 step\n"
        "  TakeWaits does not keep SomebodyRuns: 2 steps"
    )
    weak = check_inductive(QUEUE_PROVED, ["NeverTooFull"], implied=["SomebodyRuns"])
    assert str(weak).endswith("  SomebodyRuns is violated in 2 states")


def test_a_named_check_has_its_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check of the manifest is checked at its bounds; what is not known is refused with what there is."""
    manifest = tmp_path / "pyproject.toml"
    named = 'name = "ring"\nmodel = "examples.tlaplus.ewd840:EWD840"\nverdict = "holds"\nbounds = { nodes = 4 }\n'
    manifest.write_text(f"[[tool.kafka-spec.checks]]\n{named}", encoding="utf-8")
    asked = ["check", "ring", "--manifest", str(manifest), "--inductive", "TokenTells"]
    assert main(asked) == 0
    assert "ewd840 at nodes=4\n" in capsys.readouterr().out
    assert main([*asked, "--bound", "nodes=3"]) == 2
    assert "has its own bounds" in capsys.readouterr().err
    assert main(["check", "rng", *asked[2:]]) == 2
    assert "ring" in capsys.readouterr().err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds the counts, and each broken property with a trace of two states."""
    assert main(["check", "examples.tlaplus.ewd840:EWD840", "--inductive", "DetectionIsRight", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["states"], found["admitted"], found["verdict"]) == (384, 372, "violated")
    broken = {(one["rule"], one["property"]): one["count"] for one in found["broken"]}
    assert broken == {("PassToken", "DetectionIsRight"): 2, ("BecomePassive", "DetectionIsRight"): 12}
    assert all(len(one["trace"]["steps"]) == 1 for one in found["broken"])
