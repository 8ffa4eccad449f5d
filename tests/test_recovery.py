"""Recoverable properties (AG EF): in both engines, on toys, on random graphs, and in reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command, Explore
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.model_check.budget import Budget, resident_bytes
from kafka_spec.model_check.check import Expectation, check, compare
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.plain import model_plain, result_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.report.traces import story_text, trace_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.edge_log import RecordedSteps
from kafka_spec.model_check.search.recovery import PIECE, spread
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import Bound, Range, field
from kafka_spec.spec.vocabulary.table import Rule, Spec, recoverable
from tests import sample_specs

Golden = Callable[[str, str], None]


def run(explore: Explore, spec: Spec, **other: Any) -> Exploration:
    """Explore a toy at its first bounds."""
    return explore(spec, sample_specs.bounds_of(spec), **other)


def end_of(result: Exploration, claim: str) -> Any:
    """Return the last state of a finding."""
    world, finding = Interpreter(result.spec, result.bounds), result.findings[claim]
    state = world.initial()[finding.start]
    for number in finding.actions:
        rule, binding = world.actions.decode(number)
        state = world.apply(rule, state, binding)
    return state


# ---------------------------------------------------------------------------------------------------------------------
# Toys


@pytest.mark.parametrize(
    "spec", [sample_specs.TRAP, sample_specs.FETCHED, sample_specs.LOST, sample_specs.CUT_OPERATOR], ids=lambda spec: spec.name
)
def test_a_trap_is_found_at_its_first_state(explore: Explore, spec: Spec) -> None:
    """The first state without a way back is reported, even if an operator or a fault leads out, or would without a bound."""
    result = run(explore, spec)

    assert result.complete
    assert (result.verdict_of("Home"), result.verdict_of("AtThree")) == ("violated", "holds")
    assert (end_of(result, "Home").at, len(result.findings["Home"].actions)) == (2, 2)
    assert result.undecided_by == []


def test_a_way_by_the_protocol_is_enough(explore: Explore) -> None:
    """If a protocol rule leads out of the trap, the claim holds."""
    result = run(explore, sample_specs.RETURNS)

    assert (result.verdict, result.complete, result.findings) == ("holds", True, {})


@pytest.mark.parametrize(("spec", "rule"), [(sample_specs.UNDECIDED, "IsFetched"), (sample_specs.COUNTS_AWAY, "CountUp")])
def test_a_bounded_step_leaves_it_undecided(explore: Explore, spec: Spec, rule: str) -> None:
    """If only a bound forbids a protocol step, by `within` or by a store, a way is assumed to exist, and the rule is named."""
    result = run(explore, spec)

    assert (result.verdict, result.complete) == ("holds", True)
    assert (dict(result.bounded), result.undecided_by) == ({rule: 1}, [rule])


def test_the_first_of_several_in_a_level_is_told(explore: Explore) -> None:
    """Of four lost states in one level the one that was found first is told."""
    result = run(explore, sample_specs.FALLS)

    assert end_of(result, "Home").at == 2
    assert len(result.findings["Home"].actions) == 1


def test_a_step_out_of_a_domain_is_no_way(explore: Explore) -> None:
    """A step that leaves its domain violates the type invariant, and leads nowhere, nor does it leave anything undecided."""
    result = run(explore, sample_specs.WALKS_AWAY, everything=True)

    assert result.violated == ["AtThree", "TypeInvariant"]
    assert (end_of(result, "AtThree").at, result.undecided_by) == (4, [])


def test_a_search_that_stops_is_inconclusive(explore: Explore) -> None:
    """A search that ends by another violation or a budget has no verdict on ways back; one that continues has."""
    violated = run(explore, sample_specs.BREAKS_AND_TRAPS)
    whole = run(explore, sample_specs.BREAKS_AND_TRAPS, everything=True)
    spent = run(explore, sample_specs.TRAP, budget=Budget(max_states=3))

    assert (violated.violated, violated.verdict_of("StartsOver")) == (["BelowThree"], "inconclusive")
    assert whole.violated == ["BelowThree", "StartsOver"]
    assert (len(whole.findings["StartsOver"].actions), end_of(whole, "StartsOver").value) == (1, 1)
    assert (spent.verdict, spent.verdict_of("Home"), spent.findings) == ("inconclusive", "inconclusive", {})


def test_only_what_is_asked_for_is_judged(explore: Explore) -> None:
    """One of two claims can be checked alone, and its finding is the same."""
    both, one = run(explore, sample_specs.TRAP), run(explore, sample_specs.TRAP, properties=[sample_specs.HOME])

    assert [name for name, _ in one.claims] == ["Home", "TypeInvariant"]
    assert one.findings == {"Home": both.findings["Home"]}


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_way(threads: int) -> None:
    """With levels wide enough to share, threads find what one thread finds: the first state with a full cell."""
    bounds = {"limit": 12}
    one, more = (embedded.explore(sample_specs.GRID_TRAP, bounds, threads=n) for n in (1, threads))

    assert max(one.levels) >= embedded.SMALL_LEVEL
    assert (one.violated, one.findings) == (["Empties"], more.findings)
    assert sorted(end_of(one, "Empties").cells) == [0, 0, 0, 12]


def start_anywhere(s: sample_specs.Grid, a: int, b: int, c: int, d: int) -> None:
    """Begin with any four numbers."""
    s.cells[0] = a
    s.cells[1] = b
    s.cells[2] = c
    s.cells[3] = d


def is_not_seven(s: sample_specs.Grid) -> bool:
    """Not every cell is 7."""
    for cell in range(len(s.cells)):
        if s.cells[cell] != 7:
            return True
    return False


def never(s: sample_specs.Grid) -> bool:
    """Never hold."""
    return False


def stay(s: sample_specs.Grid) -> None:
    """Change nothing."""


ANYWHERE = Rule("Start", "world", "", "", (start_anywhere,), {name: Range(0, sample_specs.LIMIT) for name in "abcd"})
STAY = Rule("Stay", "world", "", "", (stay,), guards=(is_not_seven,))
CUT = Rule("Cut", "world", "", "", (stay,), guards=(is_not_seven,), bound_guards=(never,))
NOT_SEVEN = recoverable("Back", is_not_seven, "", "")
NEVER = recoverable("Back", never, "", "")


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("rule", "claim"), [(STAY, NOT_SEVEN), (CUT, NEVER)], ids=["met", "undecided"])
def test_the_only_lost_state_of_many(rule: Rule, claim: Any, threads: int) -> None:
    """Of 28,561 states of one level all but one meet the claim, or are undecided; that one is found, in any slice."""
    spec = Spec("many", "", sample_specs.Grid, (rule,), (claim,), start=ANYWHERE)
    result = embedded.explore(spec, {"limit": 12}, threads=threads)

    assert (result.levels, result.violated) == ([13**4], ["Back"])
    assert list(end_of(result, "Back").cells) == [7, 7, 7, 7]


def test_verify_and_both() -> None:
    """A search with another seed and the other engine come to the same verdicts and are named."""
    result = check(sample_specs.GRID_TRAP, {"limit": 4}, engine="both", verify=True, deadlock=False)

    assert result.compared == ["another seed", "the oracle"]
    assert (result.violated, len(result.findings["Empties"].actions)) == (["Empties"], 4)


def test_a_comparison_looks_at_every_verdict() -> None:
    """Two results that are violated, but not by the same property, do not agree."""
    one, other = (run(embedded.explore, sample_specs.BREAKS_AND_TRAPS, properties=[claim], everything=True) for claim in _claims())

    with pytest.raises(EngineError, match="tested not the same"):
        compare(one, other, "another", exact=False)
    other.tested = one.tested
    with pytest.raises(EngineError, match="findings not the same"):
        compare(one, other, "another", exact=False)


def _claims() -> tuple[Any, ...]:
    return sample_specs.BREAKS_AND_TRAPS.properties


# ---------------------------------------------------------------------------------------------------------------------
# Budgets


def _at_the_end(states: int, act: Callable[[], None]) -> Callable[[Exploration, float], None]:
    """Return a progress that acts when the last level has been expanded: it found no more than the levels before."""
    seen: list[int] = []

    def progress(result: Exploration, _seconds: float) -> None:
        seen.append(result.distinct)
        if seen[-2:] == [states, states]:
            act()

    return progress


def test_an_interrupt_while_ways_are_looked_for(explore: Explore) -> None:
    """An interrupt after the last level leaves the verdict inconclusive, and says why."""
    budget = Budget()
    progress = _at_the_end(5, lambda: setattr(budget, "interrupted", True))
    result = run(explore, sample_specs.TRAP, budget=budget, progress=progress)

    assert (result.verdict, result.complete, result.stopped) == ("inconclusive", False, "interrupted")
    assert (result.distinct, result.findings) == (5, {})


def test_a_violation_beside_unjudged_ways(explore: Explore) -> None:
    """A violated invariant stays violated if ways back could not be checked, and the report says that they were not."""
    budget = Budget()
    progress = _at_the_end(6, lambda: setattr(budget, "interrupted", True))
    result = run(explore, sample_specs.BREAKS_AND_TRAPS, everything=True, budget=budget, progress=progress)

    assert (result.violated, result.verdict_of("StartsOver")) == (["BelowThree"], "inconclusive")
    assert "VIOLATED: BelowThree; not complete: interrupted" in result_text(result, {})


def test_memory_for_ways_is_asked_for() -> None:
    """If the memory budget is too small for the graph, the verdict is inconclusive, and the report says so."""
    budget = Budget()

    def spend() -> None:
        budget.memory_bytes = resident_bytes()

    result = run(embedded.explore, sample_specs.GRID_TRAP, budget=budget, progress=_at_the_end(10_000, spend))

    assert (result.distinct, result.verdict) == (10_000, "inconclusive")
    assert "memory budget" in result.stopped


def test_only_steps_that_matter_are_recorded() -> None:
    """Steps of states that lack nothing or are undecided, by actions that do not count, and to the same state are not recorded."""
    steps = RecordedSteps(np.array([True, False]))
    nobody, lacking = np.zeros(4, np.bool_), np.array([False, True, True, True])
    steps.add_level(np.arange(1, 5, dtype=np.uint64), nobody, lacking)
    cuts = np.array([False, True, False, False])
    parents, actions = np.array([0, 1, 2, 2, 2, 3], np.uint32), np.array([0, 0, 0, 1, 0, 0], np.uint32)
    steps.add_steps(0, cuts, parents, np.array([2, 3, 1, 2, 3, 2], np.uint64), actions)

    assert steps.finish(lambda _: "") == ""
    assert [steps.of(state) for state in range(4)] == [[], [], [(0, 0)], [(0, 1)]]


def test_a_recording_is_used_up() -> None:
    """What is recorded is there while a search goes on, and gone when it has been judged; without such a claim there is none."""
    seen: list[RecordedSteps | None] = []
    searches: list[embedded.Search] = []

    def look(search: embedded.Search) -> None:
        searches.append(search)
        seen.append(search.paths.steps)

    result = run(embedded.explore, sample_specs.GRID_TRAP, on_level=look)
    assert result.complete and all(steps is not None for steps in seen) and searches[0].paths.steps is None
    run(embedded.explore, sample_specs.GRID_TRAP, properties=[], on_level=look)
    assert seen[-1] is None


def test_steps_must_be_in_order() -> None:
    """Steps that are not in the order of their sources, or of a state that is not meant, are refused."""
    steps = RecordedSteps(np.ones(1, np.bool_))
    steps.add_level(np.arange(1, 4, dtype=np.uint64), np.ones(3, np.bool_), np.zeros(3, np.bool_))
    for parents in ([1, 0], [2], [0, 5]):
        some = np.array(parents, np.uint32)
        with pytest.raises(EngineError, match="not in the order of their sources"):
            steps.add_steps(0, np.zeros(2, np.bool_), some, np.ones(len(some), np.uint64), np.zeros(len(some), np.uint32))


def test_a_step_to_nowhere_is_refused() -> None:
    """A step to a state that the search has not found is an error of the engine, which a verdict must not survive."""
    steps = RecordedSteps(np.ones(1, np.bool_))
    steps.add_level(np.array([5, 7], np.uint64), np.ones(2, np.bool_), np.zeros(2, np.bool_))
    steps.add_steps(0, np.zeros(2, np.bool_), np.zeros(1, np.uint32), np.array([6], np.uint64), np.zeros(1, np.uint32))
    with pytest.raises(EngineError, match="a step leads to the state 0000000000000006, which the search has not found"):
        steps.finish(lambda _: "")


# ---------------------------------------------------------------------------------------------------------------------
# Random graphs

NODES = 6
EDGES = 2 ** (NODES * NODES) - 1


@dataclass
class Node:
    """Where in a graph somebody is; the graph is in the constants, a bit for each edge."""

    at: int = field(Range(0, NODES - 1))


def starts_here(k: Any, at: int) -> bool:
    """The node is one to start from."""
    return k.starts >> at & 1 == 1


def start_here(s: Node, at: int) -> None:
    """Start at the node."""
    s.at = at


def protocol_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the protocol."""
    return k.protocol >> (6 * s.at + to) & 1 == 1


def operator_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the operator."""
    return k.operator >> (6 * s.at + to) & 1 == 1


def is_not_cut(s: Node, k: Any, to: int) -> bool:
    """No bound forbids the edge."""
    return k.cut >> (6 * s.at + to) & 1 == 0


def go(s: Node, to: int) -> None:
    """Go to the other end of the edge."""
    s.at = to


def meets_one(s: Node, k: Any) -> bool:
    """The node is one of the first set."""
    return k.one >> s.at & 1 == 1


def meets_other(s: Node, k: Any) -> bool:
    """The node is one of the second set."""
    return k.other >> s.at & 1 == 1


ANY_NODE = Range(0, NODES - 1)
GRAPH = Spec(
    "graph",
    "a graph of six nodes",
    Node,
    (
        Rule("Go", "world", "", "", (go,), {"to": ANY_NODE}, (protocol_leads,), (is_not_cut,)),
        Rule("Lead", "operator", "", "", (go,), {"to": ANY_NODE}, (operator_leads,), (is_not_cut,), kind="operator"),
    ),
    (recoverable("One", meets_one, "", ""), recoverable("Other", meets_other, "", "")),
    start=Rule("Start", "world", "", "", (start_here,), {"at": ANY_NODE}, (starts_here,)),
    more_bounds=(
        Bound("starts", 1, 2**NODES - 1, "where to start"),
        *(Bound(name, 0, EDGES, "edges") for name in ("protocol", "operator", "cut")),
        *(Bound(name, 0, 2**NODES - 1, "goals") for name in ("one", "other")),
    ),
)


def edges_of(mask: int) -> set[tuple[int, int]]:
    """Return the edges of a mask."""
    return {(node, to) for node in range(NODES) for to in range(NODES) if mask >> (NODES * node + to) & 1}


def first_lost(bounds: dict[str, int], goal: str) -> tuple[int, int] | None:
    """Return level and node of the first state without a way to the goal, by the definition."""
    protocol, cut = edges_of(bounds["protocol"]), edges_of(bounds["cut"])
    safe = {node for node in range(NODES) if bounds[goal] >> node & 1} | {node for node, _ in protocol & cut}
    for _ in range(NODES):
        safe |= {node for node, to in protocol - cut if to in safe}
    operator = edges_of(bounds["operator"])
    level = [node for node in range(NODES) if bounds["starts"] >> node & 1]
    seen, depth = set(level), 0
    while level:
        if lost := [node for node in level if node not in safe]:
            return depth, lost[0]
        found = [to for node in level for rule in (protocol, operator) for one, to in sorted(rule - cut) if one == node]
        level = [to for to in dict.fromkeys(found) if to not in seen]
        seen, depth = seen | set(level), depth + 1
    return None


FEW_EDGES = st.lists(st.integers(0, NODES * NODES - 1), max_size=9).map(lambda bits: sum(1 << bit for bit in set(bits)))
SOME_NODES = st.integers(0, 2**NODES - 1)
GRAPHS = st.fixed_dictionaries(
    {
        "starts": st.integers(1, 2**NODES - 1),
        "protocol": FEW_EDGES,
        "operator": FEW_EDGES,
        "cut": st.just(0) | FEW_EDGES,
        "one": SOME_NODES,
        "other": st.sampled_from([1 << node for node in range(NODES)]),
    }
)


@given(GRAPHS)
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_random_graphs(bounds: dict[str, int]) -> None:
    """On any small graph both engines find the first state without a way back, for two claims at once, or that none exists."""
    one, other = oracle.explore(GRAPH, bounds), embedded.explore(GRAPH, bounds)

    assert one.complete and other.complete
    assert (one.findings, one.bounded) == (other.findings, other.bounded)
    for claim in ("One", "Other"):
        expected = first_lost(bounds, claim.lower())
        found = (len(one.findings[claim].actions), end_of(one, claim).at) if claim in one.findings else None
        assert found == expected
        trace = trace_of(other, claim)
        assert (trace is None) == (expected is None), "the replay agrees"


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]], list[bool], list[bool]]:
    """Return widths of levels, steps between states, and which states meet a claim or are undecided."""
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    states = sum(widths)
    number = st.integers(0, states - 1)
    steps = draw(st.lists(st.tuples(number, number), max_size=3 * states))
    flags = st.lists(st.booleans(), min_size=states, max_size=states)
    return widths, steps, draw(flags), [flag and draw(st.booleans()) for flag in draw(flags)]


@given(recordings(), st.integers(0, 2**32), st.booleans())
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_backward_reachability(
    recorded: tuple[list[int], list[tuple[int, int]], list[bool], list[bool]], seed: int, last_first: bool
) -> None:
    """For any recorded steps in any slices, those states are marked from which steps lead to a goal, also after a restart."""
    widths, edges, meets, undecided = recorded
    random = np.random.default_rng(seed)
    marks = random.integers(1, 2**64, sum(widths), np.uint64)
    steps, again = RecordedSteps(np.ones(1, np.bool_)), RecordedSteps(np.ones(1, np.bool_))
    first = 0
    for width in widths:
        states = slice(first, first + width)
        level = marks[states], np.zeros(width, np.bool_), ~np.array(meets[states])
        steps.add_level(*level)
        again.restore(plain(steps.newest(ended=False)))
        again.add_level(*level)
        slices = [(0, width // 2), (width // 2, width)]
        for begin, end in slices[::-1] if last_first else slices:
            some = sorted((a - first, b) for a, b in edges if begin <= a - first < end)
            parents = np.array([a for a, _ in some], np.uint32)
            targets = marks[np.array([b for _, b in some], np.intp)]
            cuts = np.array(undecided[first + begin : first + end], np.bool_)
            steps.add_steps(begin, cuts, parents, targets, np.zeros(len(some), np.uint32))
        first += width
    again.restore(plain(steps.newest(ended=True)))

    goals = {state for state, flags in enumerate(zip(meets, undecided, strict=True)) if any(flags)}
    safe = set(goals)
    for _ in meets:
        safe |= {a for a, b in edges if b in safe}
    for one in (steps, again):
        marked = np.array([state in goals for state in range(len(meets))])
        assert one.finish(lambda _: "") == ""
        assert [sorted(to for _, to in one.of(state)) for state in range(first)] == [
            [] if state in goals else sorted(b for a, b in edges if a == state != b) for state in range(first)
        ]
        assert spread(marked, ~marked, one.graph, one.matter, lambda _: "") == ""
        assert set(np.flatnonzero(marked).tolist()) == safe


def plain(reported: dict[str, Any]) -> dict[str, Any]:
    """Return arrays as they are read from a file."""
    return {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in reported.items()}


def test_more_states_than_a_piece() -> None:
    """A level of many pieces, each state with steps to two of the level before, is followed to the end."""
    width = 2 * PIECE + 3
    marks = np.arange(1, 3 * width + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    steps = RecordedSteps(np.array([True, False]))
    everywhere, nobody = np.repeat(np.arange(width, dtype=np.uint32), 2), np.zeros(width, np.bool_)
    for level in range(3):
        steps.add_level(marks[level * width : (level + 1) * width], nobody, np.full(width, level > 0))
        if level:
            before = marks[(level - 1) * width : level * width]
            targets = np.stack([before, np.roll(before, 1)], axis=1).reshape(-1)
            actions = np.where(everywhere == 7, np.uint32(level - 1), np.uint32(0))
            steps.add_steps(0, nobody, everywhere, targets, actions)
    assert steps.finish(lambda _: "") == ""
    safe = np.arange(3 * width) < width

    assert spread(safe, ~safe, steps.graph, steps.matter, lambda _: "") == ""
    assert np.flatnonzero(~safe).tolist() == [2 * width + 7]


# ---------------------------------------------------------------------------------------------------------------------
# Traces and reports


def test_counterexample(golden: Golden) -> None:
    """The text of a recoverable property's counterexample equals the golden one, in full and as a story, and explains its end."""
    result = run(embedded.explore, sample_specs.FETCHED)
    trace = trace_of(result, "Home")

    assert trace is not None
    golden("recoverable.txt", trace_text(trace, sample_specs.FETCHED) + "\n\n" + story_text(trace, sample_specs.FETCHED) + "\n")


def test_report_of_what_is_undecided(golden: Golden) -> None:
    """The report says which protocol rules leave states undecided; without a recoverable property it does not."""
    result = run(embedded.explore, sample_specs.UNDECIDED)
    text = re.sub(r"  file .*\n", "", result_text(result, {}, timing=False))

    golden("recoverable-undecided.txt", text + "\n")
    plain = sample_specs.LEAVES_BOUND
    assert "undecided" not in result_text(run(embedded.explore, plain), {})


def test_json() -> None:
    """The JSON form names the kind, the verdict and the trace, and the rules that leave states undecided."""
    result = run(embedded.explore, sample_specs.TRAP)
    trace = trace_of(result, "Home")
    assert trace is not None
    home, three, _ = result_plain(result, {"Home": trace})["properties"]

    assert (home["kind"], home["verdict"], len(home["trace"]["steps"])) == ("recoverable", "violated", 2)
    assert (three["kind"], three["verdict"], three["trace"]) == ("recoverable", "holds", None)
    assert result_plain(run(embedded.explore, sample_specs.UNDECIDED), {})["undecided_by"] == ["IsFetched"]
    assert model_plain(sample_specs.TRAP)["properties"][0]["kind"] == "recoverable"
    assert "Home (recoverable): wherever somebody is, a way leads home" in model_text(sample_specs.TRAP)


@pytest.mark.parametrize("actions", [(), (0,)])
def test_a_wrong_finding_is_refused(actions: tuple[int, ...]) -> None:
    """A finding from whose end a way leads back, as the oracle sees it, is an error of an engine."""
    result = run(embedded.explore, sample_specs.TRAP)
    result.findings["Home"] = Finding(0, actions)

    with pytest.raises(EngineError, match="Home: the trace replays, but the oracle judges its end otherwise"):
        trace_of(result, "Home")


def test_expectations() -> None:
    """An expectation names the states of the shortest counterexample."""
    result = check(sample_specs.TRAP)

    assert Expectation("violated", traces={"Home": 3}).unmet(result) == []
    assert Expectation("violated", traces={"Home": 4}).unmet(result) == ["Home: the counterexample has 3 states, expected 4"]


MANIFEST = """
[[tool.kafka-spec.checks]]
name = "trap"
model = "tests.sample_specs:FETCHED"
verdict = "violated"
properties = ["Home"]
traces = {{ Home = {states} }}
"""


@pytest.mark.parametrize(("states", "code"), [(3, 0), (2, 1)])
def test_manifest(kafka_spec: Command, tmp_path: Path, states: int, code: int) -> None:
    """A check of the manifest expects the length of the counterexample; --traces prints it in full."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(states=states))
    ran = kafka_spec("check", "--traces", cwd=tmp_path)

    assert ran.returncode == code, ran.stderr
    assert "From here no steps of the protocol alone lead to what is required." in ran.stdout


def test_command_line(kafka_spec: Command) -> None:
    """`check` exits with 1 and prints the counterexample, and `trace` shows it by its name; both engines agree."""
    checked = kafka_spec("check", "tests.sample_specs:TRAP", "--engine", "both", "--verify")
    traced = kafka_spec("trace", "tests.sample_specs:TRAP", "--property", "Home", "--format", "json")

    assert checked.returncode == 1, checked.stderr
    assert "VIOLATED: Home" in checked.stdout and "compared    with another seed and the oracle: equal" in checked.stdout
    assert "Home is violated: a shortest trace has 3 states" in checked.stdout
    assert traced.returncode == 0 and [trace["shows"] for trace in json.loads(traced.stdout)] == ["Home"]
