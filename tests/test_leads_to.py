"""Leads-to properties under fairness: in both engines, on toys, on random graphs by the definition, and in reports."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import networkx
import numpy as np
import pytest
from conftest import Command, Explore
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tla import tlc

from kafka_spec.diagrams.chart import chart_of, claim_of
from kafka_spec.diagrams.mermaid import chart_mermaid
from kafka_spec.diagrams.sequence import chart_svg
from kafka_spec.diagrams.tla.fairness import FAIR_SPEC
from kafka_spec.diagrams.tla.files import spec_files
from kafka_spec.model_check.budget import Budget, resident_bytes
from kafka_spec.model_check.check import Expectation, check
from kafka_spec.model_check.code.graph_code import Components, Numbering
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.plain import model_plain, result_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.report.traces import story_text, trace_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.kraft.fixed import FIXED as KRAFT
from kafka_spec.spec.language.domain import Bound, Range, field
from kafka_spec.spec.vocabulary import trace as traces
from kafka_spec.spec.vocabulary.table import (
    Fairness,
    Property,
    Rule,
    Spec,
    SpecError,
    anywhere,
    eventually,
    eventually_always,
    leads_to,
)
from kafka_spec.spec.zookeeper.fixed import FIXED
from tests import sample_specs

Golden = Callable[[str, str], None]


# ---------------------------------------------------------------------------------------------------------------------
# Toys


def verdicts(result: Exploration) -> dict[str, str]:
    """Return the verdicts on both claims."""
    return {name: result.verdict_of(name) for name in ("Granted", "Freed")}


@pytest.mark.parametrize(
    ("spec", "granted", "freed"),
    [
        (sample_specs.WEAK_LOCK, "violated", "holds"),
        (sample_specs.STRONG_LOCK, "holds", "holds"),
        (sample_specs.UNFAIR_LOCK, "violated", "violated"),
        (sample_specs.OPERATED_LOCK, "holds", "holds"),
    ],
    ids=lambda value: value.name if isinstance(value, Spec) else None,
)
def test_a_lock(explore: Explore, spec: Spec, granted: str, freed: str) -> None:
    """Weak fairness does not grant the lock to a waiting client, strong fairness does; an unfair client need not release it."""
    result = explore(spec, {}, everything=True)

    assert result.complete and verdicts(result) == {"Granted": granted, "Freed": freed}
    for name in result.violated:
        trace = trace_of(result, name)
        assert trace is not None and traces.from_json(trace.to_json()) == trace


# ---------------------------------------------------------------------------------------------------------------------
# Fair as a whole, or to each binding


@dataclass
class Coin:
    """A thick coin that is tossed again and again, on whose rim it may land, too; and whether somebody was paid."""

    side: int = field(Range(0, 2))
    paid: int = field(Range(0, 1))


def toss(s: Coin, side: int) -> None:
    """It falls on a side."""
    s.side = side


def nobody_was_paid(s: Coin) -> bool:
    """Nobody was paid."""
    return s.paid == 0


def is_its_side(s: Coin, side: int) -> bool:
    """The coin shows this side, and nobody was paid."""
    return s.side == side and s.paid == 0


def pay(s: Coin, side: int) -> None:
    """Who bet on this side is paid."""
    s.paid = 1


def it_shows_one(s: Coin) -> bool:
    """The coin shows 1."""
    return s.side == 1


def it_shows_zero(s: Coin) -> bool:
    """The coin shows 0."""
    return s.side == 0


def somebody_was_paid(s: Coin) -> bool:
    """Somebody was paid."""
    return s.paid == 1


SIDE = {"side": Range(0, 2)}
TOSS = Rule("Toss", "player", "the coin shows {side}", "", (toss,), SIDE, (nobody_was_paid,), fairness="none")
PAY = Rule("Pay", "bank", "who bet on {side} is paid", "", (pay,), SIDE, (is_its_side,))
COIN = Spec(
    "coin",
    "a coin, and who bet on a side",
    Coin,
    (TOSS, PAY),
    (leads_to("Paid", nobody_was_paid, somebody_was_paid, "somebody is paid"),),
    final=anywhere,
)


@pytest.mark.parametrize(
    ("fairness", "paid"),
    [("none", "violated"), ("weak", "holds"), ("weak each", "violated"), ("strong", "holds"), ("strong each", "holds")],
)
def test_a_rule_is_fair_as_a_whole_or_to_each_binding(explore: Explore, fairness: Fairness, paid: str) -> None:
    """Pay can always be done for some side, and for no side it stays so: as in TLA+, WF of the rule pays."""
    spec = dataclasses.replace(COIN, rules=(TOSS, dataclasses.replace(PAY, fairness=fairness)))
    result = explore(spec, {}, everything=True)

    assert result.verdict_of("Paid") == paid
    assert (trace_of(result, "Paid") is None) == (paid == "holds")


@pytest.mark.parametrize(("fairness", "shown"), [("weak", "violated"), ("weak each", "holds"), (None, "violated")])
def test_a_choice_of_a_parameter_is_promised_by_fairness_to_each(explore: Explore, fairness: Fairness | None, shown: str) -> None:
    """A coin that is tossed forever need not show 1 if tossing is fair as a whole, the default; it does if each outcome is."""
    claim = leads_to("Shown", it_shows_zero, it_shows_one, "1 is shown")
    spec = dataclasses.replace(COIN, rules=(dataclasses.replace(TOSS, fairness=fairness, guards=()),), properties=(claim,))

    assert explore(spec, {}).verdict_of("Shown") == shown


def test_a_spec_says_what_its_rules_assume() -> None:
    """`Spec.fairness` is what rules of the protocol assume that do not say it themselves."""
    each = dataclasses.replace(COIN, fairness="weak each")

    assert [COIN.fairness_of(rule) for rule in COIN.rules] == ["none", "weak"]
    assert [each.fairness_of(rule) for rule in each.rules] == ["none", "weak each"]
    assert FIXED.fairness == KRAFT.fairness == "weak each"


def the_side_is_not_one(s: Coin) -> bool:
    """The coin does not show 1."""
    return s.side != 1


@pytest.mark.parametrize(
    ("made", "predicate", "fairness", "verdict"),
    [
        (eventually, somebody_was_paid, "weak", "holds"),
        (eventually, somebody_was_paid, "none", "violated"),
        (eventually, it_shows_one, "weak", "violated"),
        (eventually_always, somebody_was_paid, "weak", "holds"),
        (eventually_always, the_side_is_not_one, "weak", "violated"),
    ],
)
def test_what_happens_eventually(
    explore: Explore, made: Callable[..., Property], predicate: Any, fairness: Fairness, verdict: str
) -> None:
    """`<>P` and `<>[]P`: somebody is paid, and stays so; the coin may show 1 in the end, and need never show it."""
    spec = dataclasses.replace(
        COIN, rules=(TOSS, dataclasses.replace(PAY, fairness=fairness)), properties=(made("Claim", predicate, "it is so"),)
    )
    result = explore(spec, {}, everything=True)

    assert result.verdict_of("Claim") == verdict
    trace = trace_of(result, "Claim")
    assert (trace is None) == (verdict == "holds")
    assert trace is None or "here the antecedent is met" not in trace_text(trace, spec)


def versions() -> Iterator[Spec]:
    """Yield specs with each fairness, and with each kind of property that has to happen eventually."""
    both = (eventually("OneAtLast", it_shows_one, "1 is shown"), eventually_always("NotOne", the_side_is_not_one, "1 goes away"))
    for fairness in get_args(Fairness):
        name, pay = f"coin {fairness}", dataclasses.replace(PAY, fairness=fairness)
        yield dataclasses.replace(COIN, name=name, rules=(TOSS, pay), properties=(*COIN.properties, *both))
    always = dataclasses.replace(TOSS, fairness="weak", guards=())
    yield dataclasses.replace(COIN, name="tossed", rules=(always,), properties=both)
    yield dataclasses.replace(COIN, name="tossed each", rules=(dataclasses.replace(always, fairness="weak each"),), properties=both)
    yield from sample_specs.FAIR


@pytest.mark.parametrize("spec", list(versions()), ids=lambda spec: spec.name)
def test_tlc_says_the_same(spec: Spec, tmp_path: Path) -> None:
    """TLC, which reads the exported WF and SF, gives each property that has to happen eventually our verdict."""
    result = check(spec, everything=True)
    for name, text in spec_files(spec, "Exported", {}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for claim in spec.properties:
        (tmp_path / "Exported.cfg").write_text(f"SPECIFICATION {FAIR_SPEC}\nPROPERTIES\n  {claim.name}\n", encoding="utf-8")
        reported = tlc(tmp_path, "Exported")
        violated = "Temporal properties were violated" in reported
        assert violated or "No error has been found" in reported, reported[-2000:]
        assert violated == (result.verdict_of(claim.name) == "violated"), claim.name


def test_what_happens_eventually_has_no_antecedent() -> None:
    """An antecedent belongs to leads_to."""
    with pytest.raises(SpecError, match="it has no antecedent, since it begins in the initial states; write leads_to"):
        Property("P", "eventually", it_shows_zero, "", "", it_shows_one)


def test_the_circle_is_the_one_that_is_meant(explore: Explore) -> None:
    """The first client waits while the other acquires and releases the lock; the light need not change."""
    trace = trace_of(explore(sample_specs.WEAK_LOCK, {}, everything=True), "Granted")

    assert trace is not None and trace.lasso is not None
    names = [str(action) for action in trace.actions]
    assert names[: trace.lasso.met] == ["Ask(client=0)"]
    assert sorted(names[trace.lasso.back :]) == ["Ask(client=1)", "Get(client=1)", "GiveBack(client=1)"]
    assert (trace.cycle, trace.states) == (3, len(trace.steps))


def test_who_may_rest_breaks_a_promise(explore: Explore) -> None:
    """If no fair rule is enabled the behaviour may end: this is a violation, reported without a cycle."""
    result = explore(sample_specs.UNFAIR_LOCK, {}, everything=True)
    finding = result.findings["Freed"]
    trace = trace_of(result, "Freed")

    assert (finding.back, finding.states) == (len(finding.actions), len(finding.actions) + 1)
    assert trace is not None and trace.cycle == 0 and trace.states == len(trace.steps) + 1


def test_a_state_without_any_step_is_a_violation(explore: Explore) -> None:
    """A counter that has arrived at its limit rests there, and never passes it."""
    passes = leads_to("Passes", sample_specs.is_odd, sample_specs.is_past_limit, "", "")
    arrives = leads_to("Arrives", sample_specs.is_odd, sample_specs.is_at_limit, "", "")
    result = explore(sample_specs.COUNTER.replacing("passes", "", properties=(passes, arrives)), {"limit": 5})

    assert (result.violated, result.findings["Passes"]) == (["Passes"], Finding(0, (0,) * 5, 1, 5))
    assert (result.tested_of("Passes"), result.tested_of("Arrives")) == (3, 2), "where the predicate is met nothing is owed"


def stay(s: sample_specs.Count) -> None:
    """Change nothing."""


def test_a_firing_that_changes_nothing_is_no_step(explore: Explore) -> None:
    """A stuttering step neither takes an action nor keeps it enabled, and hides neither a state that may stutter nor a path."""
    idle = Rule("Idle", "world", "", "", (stay,))
    passes = leads_to("Passes", sample_specs.is_odd, sample_specs.is_past_limit, "", "")
    arrives = leads_to("Arrives", sample_specs.is_odd, sample_specs.is_at_limit, "", "")
    result = explore(Spec("idle", "", sample_specs.Count, (sample_specs.COUNT_UP, idle), (passes, arrives)), {"limit": 5})

    assert (result.violated, result.findings["Passes"].actions) == (["Passes"], (0,) * 5)


@pytest.mark.parametrize("spec", [sample_specs.COUNTS_AWAY, sample_specs.UNDECIDED], ids=lambda spec: spec.name)
def test_a_bounded_step_leaves_it_undecided(explore: Explore, spec: Spec) -> None:
    """A state in which a bound forbids a protocol step is assumed to have a way out, and the rule is named."""
    never = leads_to("Never", anything, nothing, "", "")
    result = explore(dataclasses.replace(spec, properties=(never,)), sample_specs.bounds_of(spec))

    assert (result.verdict, result.complete) == ("holds" if spec is sample_specs.COUNTS_AWAY else "violated", True)
    assert result.undecided_by and "undecided" in result_text(result, {})


def anything(s: Any) -> bool:
    """Always hold."""
    return True


def nothing(s: Any) -> bool:
    """Never hold."""
    return False


def test_claims_are_checked() -> None:
    """A claim needs an antecedent, and only rules of the protocol have a fairness."""
    with pytest.raises(SpecError, match="it must say what leads to first_has"):
        Property("P", "leads-to", sample_specs.first_has, "", "")
    with pytest.raises(SpecError, match="a rule of kind fault happens finitely often and has no fairness"):
        dataclasses.replace(sample_specs.GET, kind="fault", fairness="weak")
    lock = sample_specs.OPERATED_LOCK
    assert [lock.fairness_of(rule) for rule in lock.rules] == ["none", "weak each", "weak each", "none"]
    with pytest.raises(SpecError, match="fairness must be 'none' or 'weak' or 'strong' or 'weak each' or 'strong each'"):
        dataclasses.replace(lock, fairness="just")  # type: ignore[arg-type]


def test_budgets(explore: Explore) -> None:
    """An interrupt after the last level, and memory that is not there, leave the verdict inconclusive."""
    budget = Budget()

    def interrupt(result: Exploration, _seconds: float) -> None:
        budget.interrupted = result.distinct == 16 and budget.seconds is None

    seen = explore(sample_specs.WEAK_LOCK, {}).distinct
    assert seen == 16
    result = explore(sample_specs.WEAK_LOCK, {}, budget=budget, progress=interrupt)
    assert (result.verdict, result.stopped) == ("inconclusive", "interrupted")


def test_memory_for_the_graph_is_asked_for() -> None:
    """If the memory budget is too small for the graph, the verdict is inconclusive, and the report says so."""
    budget = Budget()

    def spend(result: Exploration, _seconds: float) -> None:
        if result.distinct == 16:
            budget.memory_bytes = resident_bytes() - (1 << 20)

    result = embedded.explore(sample_specs.WEAK_LOCK, {}, budget=budget, progress=spend)
    assert result.verdict == "inconclusive" and "memory budget" in result.stopped


# ---------------------------------------------------------------------------------------------------------------------
# Random graphs, by the definition

NODES = 5
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


def weak_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the weakly fair rule."""
    return k.weak >> (5 * s.at + to) & 1 == 1


def strong_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the strongly fair rule."""
    return k.strong >> (5 * s.at + to) & 1 == 1


def free_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the rule that need not be taken."""
    return k.free >> (5 * s.at + to) & 1 == 1


def fault_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the fault."""
    return k.fault >> (5 * s.at + to) & 1 == 1


def is_not_cut(s: Node, k: Any, to: int) -> bool:
    """No bound forbids the edge."""
    return k.cut >> (5 * s.at + to) & 1 == 0


def go(s: Node, k: Any, to: int) -> None:
    """Go where the way to a node leads: several ways, which are several actions, may lead to one node."""
    s.at = to % k.nodes


def is_owed(s: Node, k: Any) -> bool:
    """The node meets the antecedent."""
    return k.owed >> s.at & 1 == 1


def is_paid(s: Node, k: Any) -> bool:
    """The node meets the predicate."""
    return k.paid >> s.at & 1 == 1


ANY_NODE = Range(0, NODES - 1)


def weak_each_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the rule of which each binding is weakly fair."""
    return k.weak_each >> (5 * s.at + to) & 1 == 1


def strong_each_leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the rule of which each binding is strongly fair."""
    return k.strong_each >> (5 * s.at + to) & 1 == 1


WAYS = {
    "weak": weak_leads,
    "weak_each": weak_each_leads,
    "strong_each": strong_each_leads,
    "strong": strong_leads,
    "free": free_leads,
    "fault": fault_leads,
}
TO = {"to": ANY_NODE}
GRAPH = Spec(
    "graph",
    "a graph of five nodes",
    Node,
    (
        Rule("Weak", "world", "", "", (go,), TO, (weak_leads,), (is_not_cut,)),
        Rule("Strong", "world", "", "", (go,), TO, (strong_leads,), (is_not_cut,), fairness="strong"),
        Rule("WeakEach", "world", "", "", (go,), TO, (weak_each_leads,), (is_not_cut,), fairness="weak each"),
        Rule("StrongEach", "world", "", "", (go,), TO, (strong_each_leads,), (is_not_cut,), fairness="strong each"),
        Rule("Free", "world", "", "", (go,), TO, (free_leads,), (is_not_cut,), fairness="none"),
        Rule("Fault", "world", "", "", (go,), TO, (fault_leads,), (is_not_cut,), kind="fault"),
    ),
    (
        leads_to("Paid", is_owed, is_paid, "", ""),
        leads_to("Never", is_owed, nothing, "", ""),
        eventually("AtLast", is_paid, ""),
        eventually_always("Stays", is_paid, ""),
    ),
    start=Rule("Start", "world", "", "", (start_here,), {"at": ANY_NODE}, (starts_here,)),
    more_bounds=(
        Bound("starts", 1, 2**NODES - 1, "where to start"),
        Bound("nodes", 1, NODES, "how many nodes the ways lead to"),
        *(Bound(name, 0, EDGES, "edges") for name in (*WAYS, "cut")),
        *(Bound(name, 0, 2**NODES - 1, "states") for name in ("owed", "paid")),
    ),
)
Edge = tuple[int, tuple[str, int], int]
"""Source, action, target."""


def edges_of(bounds: dict[str, int], cut: bool) -> set[Edge]:
    """Return the edges of a graph that change the node, those that a bound forbids or the others."""
    pairs = [(node, to) for node in range(NODES) for to in range(NODES)]
    return {
        (node, (rule, to), to % bounds["nodes"])
        for rule in WAYS
        for node, to in pairs
        if bounds[rule] >> (NODES * node + to) & 1 and bool(bounds["cut"] >> (NODES * node + to) & 1) == cut
        if cut or node != to % bounds["nodes"]
    }


def closure(edges: set[Edge], nodes: set[int]) -> set[int]:
    """Return the nodes that can be reached from some nodes."""
    reached = set(nodes)
    for _ in range(NODES):
        reached |= {to for node, _, to in edges if node in reached}
    return reached


def stays(some: tuple[int, ...], edges: set[Edge]) -> bool:
    """Whether a fair behaviour can visit exactly these nodes infinitely often: by the definition.

    They are strongly connected, and it takes all steps among them infinitely often. Of a rule that is fair as a whole the nodes
    are enabled where one of its actions is, of one that is fair to each binding where that action is.
    """
    inside = {(node, action, to) for node, action, to in edges if node in some and to in some}
    graph = networkx.DiGraph([(node, to) for node, _, to in inside])
    graph.add_nodes_from(some)
    if not networkx.is_strongly_connected(graph):
        return False

    def owed_to(action: tuple[str, int]) -> tuple[str, int]:
        return action if action[0].endswith("each") else (action[0], -1)

    enabled = {node: {owed_to(action) for source, action, _ in edges if source == node} for node in some}
    taken = {owed_to(action) for _, action, _ in inside}
    weak = {one for one in enabled[some[0]] if one[0].startswith("weak") and all(one in enabled[node] for node in some)}
    strong = {one for node in some for one in enabled[node] if one[0].startswith("strong")}
    return weak | strong <= taken


def resting_places(bounds: dict[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of reached nodes that a fair path may visit infinitely often, and no others: by the definition."""
    edges = edges_of(bounds, cut=False)
    reached = closure(edges, {node for node in range(NODES) if bounds["starts"] >> node & 1})
    undecided = {node for node, (rule, _), _ in edges_of(bounds, cut=True) if rule != "fault"}
    lasting = {edge for edge in edges if edge[1][0] != "fault"}
    calm = sorted(reached - undecided)
    yield from (some for size in range(1, NODES + 1) for some in combinations(calm, size) if stays(some, lasting))


def violating(bounds: dict[str, int], paid: int) -> Iterator[int]:
    """Yield the reached nodes that owe, and from which a behaviour leads past no paid node to where it stays: by the definition."""
    edges = edges_of(bounds, cut=False)
    reached = closure(edges, {node for node in range(NODES) if bounds["starts"] >> node & 1})
    open_ = {node for node in reached if not paid >> node & 1}
    undecided = {node for node, (rule, _), _ in edges_of(bounds, cut=True) if rule != "fault"}
    lasting = {edge for edge in edges if edge[1][0] != "fault"}
    calm = sorted(open_ - undecided)
    ends = {node for size in range(1, NODES + 1) for some in combinations(calm, size) if stays(some, lasting) for node in some}
    among = {(node, action, to) for node, action, to in edges if node in open_ and to in open_}
    for node in open_:
        if bounds["owed"] >> node & 1 and closure(among, {node}) & ends:
            yield node


EDGE_SETS = st.lists(st.integers(0, NODES * NODES - 1), max_size=7).map(lambda bits: sum(1 << bit for bit in set(bits)))
NODE_SETS = st.integers(0, 2**NODES - 1)
GRAPHS = st.fixed_dictionaries(
    {
        "starts": st.integers(1, 2**NODES - 1),
        "nodes": st.sampled_from([3, 4, NODES, NODES, NODES]),
        "weak": EDGE_SETS,
        "strong": st.just(0) | EDGE_SETS,
        "weak_each": st.just(0) | EDGE_SETS,
        "strong_each": st.just(0) | EDGE_SETS,
        "free": EDGE_SETS,
        "fault": st.just(0) | EDGE_SETS,
        "cut": st.just(0) | st.just(0) | EDGE_SETS,
        "owed": NODE_SETS,
        "paid": st.sampled_from([0, *(1 << node for node in range(NODES))]) | NODE_SETS,
    }
)


def states_of(result: Exploration, finding: Finding) -> list[int]:
    """Return the nodes of a finding."""
    world = Interpreter(result.spec, result.bounds)
    states = [world.initial()[finding.start]]
    for number in finding.actions:
        rule, binding = world.actions.decode(number)
        states.append(world.apply(rule, states[-1], binding))
    return [state.at for state in states]


@given(GRAPHS)
@settings(max_examples=75, deadline=None, derandomize=True, database=None)
def test_random_graphs(bounds: dict[str, int]) -> None:
    """On any small graph both engines agree with the definition and find the same lasso, and its replay agrees."""
    one, other = oracle.explore(GRAPH, bounds), embedded.explore(GRAPH, bounds)

    assert one.complete and other.complete
    assert (one.findings, one.tested, one.undecided_by) == (other.findings, other.tested, other.undecided_by)
    starts = bounds["starts"]
    cases = (("Paid", bounds["paid"], bounds["owed"]), ("Never", 0, bounds["owed"]), ("AtLast", bounds["paid"], starts))
    for claim, paid, owed in cases:
        initial = {node for node in range(NODES) if starts >> node & 1} if claim == "AtLast" else set(range(NODES))
        wrong = set(violating({**bounds, "owed": owed}, paid)) & initial
        assert (claim in one.findings) == bool(wrong)
        if wrong:
            found = one.findings[claim]
            nodes = states_of(one, found)
            assert nodes[found.met] in wrong and nodes[-1] == nodes[found.back]
            assert trace_of(other, claim) is not None, "the replay agrees"
    restless = {node for some in resting_places(bounds) for node in some if not bounds["paid"] >> node & 1}
    assert ("Stays" in one.findings) == bool(restless)
    if restless:
        found = one.findings["Stays"]
        assert states_of(one, found)[found.back] in restless and trace_of(other, "Stays") is not None


@pytest.mark.parametrize("change", ["met", "back", "circle", "start"])
def test_a_wrong_lasso_is_refused(change: str) -> None:
    """A lasso without a met antecedent, without a closed cycle, or without fairness is an error of an engine."""
    result = embedded.explore(sample_specs.WEAK_LOCK, {}, everything=True)
    found = result.findings["Granted"]
    result.findings["Granted"] = {
        "met": dataclasses.replace(found, met=0),
        "back": dataclasses.replace(found, back=found.back + 1),
        "circle": dataclasses.replace(found, actions=found.actions[: found.back]),
        "start": dataclasses.replace(found, actions=(), met=0, back=0),
    }[change]

    with pytest.raises(EngineError, match="Granted: the trace replays, but the oracle"):
        trace_of(result, "Granted")


@given(st.integers(1, 60), st.integers(0, 200), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_components(nodes: int, edges: int, seed: int) -> None:
    """The compiled parts of a random graph are those of which each state reaches each other; fairness demands what it says."""
    random = np.random.default_rng(seed)
    sources, targets, actions = (random.integers(0, most, edges).astype(np.uint32) for most in (nodes, nodes, 4))
    _, first = np.unique(4 * sources + actions, return_index=True)
    random.shuffle(first)
    sources, targets, actions = sources[first], targets[first], actions[first]
    lasting, left = np.array([True, True, True, False]), random.random(nodes) < 0.8
    order, starts = np.argsort(sources, kind="stable"), np.cumsum([0, *np.bincount(sources, minlength=nodes)])
    parts = Components((starts, targets[order], actions[order]), lasting, left)
    labels, weak, strong = parts.parts, np.array([True, False, False, False]), np.array([False, True, False, False])
    groups = np.array([[0, 1, 2, 3], [0, 1, 1, 3], [0, 0, 2, 3]][seed % 3], np.uint32)
    unfair, avoided = parts.demands(groups, weak, strong)

    counts = lasting[actions] & left[sources] & left[targets]
    reach = np.eye(nodes, dtype=bool)
    reach[sources[counts], targets[counts]] = True
    for middle in range(nodes):
        reach |= np.outer(reach[:, middle], reach[middle])
    assert (np.equal.outer(labels, labels) == (reach & reach.T))[np.ix_(left, left)].all() and not labels[~left].any()
    assert sorted(set(labels[left].tolist())) == list(range(1, parts.found + 1))
    steps = list(zip(sources.tolist(), targets.tolist(), groups[actions].tolist(), strict=True))
    for part in range(1, parts.found + 1):
        inside = set(np.flatnonzero(labels == part).tolist())
        taken = {action for a, b, action in steps if a in inside and b in inside}
        enabling = {action: {a for a, _, other in steps if other == action and a in inside} for action in range(4)}
        vain = [action for action in range(4) if enabling[action] and action not in taken]
        assert unfair[part] == any(weak[action] and enabling[action] == inside for action in vain)
        avoids = set().union(*(enabling[action] for action in vain if strong[action]))
        assert {node for node in inside if avoided[node]} == avoids


@given(st.lists(st.integers(0, 2**64 - 2), max_size=160), st.integers(0, 60), st.integers(0, 2**16))
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_numbers_of_fingerprints(some: list[int], shift: int, first: int) -> None:
    """Each fingerprint has the number of its state, also where they crowd; those that no state has are told with their places."""
    marks = np.array(list(dict.fromkeys((mark >> shift) + 1 for mark in some)), np.uint64)
    foreign = np.array([n for n in range(1, 200) if n not in marks.tolist()][:3], np.uint64)
    asked = np.concatenate([marks, foreign[:2], marks, foreign[2:]])
    places, numbers = np.arange(len(asked), dtype=np.uint32), np.zeros(len(asked), np.uint32)

    assert Numbering(marks, first).find(asked, places, numbers) == 3
    count = len(marks)
    assert (asked[:3].tolist(), places[:3].tolist()) == (foreign.tolist(), [count, count + 1, 2 * count + 2])
    own = np.arange(first, first + count)
    assert (numbers[:count] == own).all() and (numbers[count + 2 : 2 * count + 2] == own).all()


# ---------------------------------------------------------------------------------------------------------------------
# As people and programs read it


def test_texts(golden: Golden) -> None:
    """The text of a lasso equals the golden one, in full and as a story: where the antecedent is met, the cycle, and the end."""
    cycle, rest = (
        trace_of(check(sample_specs.WEAK_LOCK), "Granted"),
        trace_of(check(sample_specs.UNFAIR_LOCK, everything=True), "Freed"),
    )

    assert cycle is not None and rest is not None
    reported = [
        text
        for trace, spec in ((cycle, sample_specs.WEAK_LOCK), (rest, sample_specs.UNFAIR_LOCK))
        for text in (trace_text(trace, spec), story_text(trace, spec))
    ]
    golden("leads-to.txt", "\n\n".join(reported) + "\n")


def test_charts(golden: Golden) -> None:
    """Charts mark where the antecedent is met, and the cycle, in Mermaid as a loop."""
    trace = trace_of(check(sample_specs.WEAK_LOCK), "Granted")
    assert trace is not None
    chart = chart_of(trace, claim_of(trace, sample_specs.WEAK_LOCK))

    golden("leads-to.mmd", chart_mermaid(chart))
    assert "the cycle starts here" in chart_svg(chart) and "loop" in chart_mermaid(chart)


def test_json() -> None:
    """The JSON form names the kind, the antecedent, the fairness of rules, and the start of the cycle."""
    result = check(sample_specs.WEAK_LOCK)
    trace = trace_of(result, "Granted")
    assert trace is not None
    plain = result_plain(result, {"Granted": trace})["properties"][0]

    assert (plain["kind"], plain["antecedent"], plain["verdict"]) == ("leads-to", "first_waits", "violated")
    assert trace.lasso is not None and plain["trace"]["lasso"] == {"met": 1, "back": trace.lasso.back}
    assert [rule["fairness"] for rule in model_plain(sample_specs.STRONG_LOCK)["rules"]] == [
        "none", "strong each", "weak each", "none",
    ]  # fmt: skip
    assert "Get(client), protocol, strong each fairness" in model_text(sample_specs.STRONG_LOCK)
    assert Expectation("violated", traces={"Granted": trace.states}).unmet(result) == []


def test_command_line(kafka_spec: Command, tmp_path: Path) -> None:
    """`check` compares both engines, `trace` shows the lasso, and Spark judges the claim as they do."""
    checked = kafka_spec("check", "tests.sample_specs:WEAK_LOCK", "--engine", "both", "--verify", "--all")
    traced = kafka_spec("trace", "tests.sample_specs:WEAK_LOCK", "--property", "Granted", "--format", "json")
    spark = kafka_spec("check", "tests.sample_specs:WEAK_LOCK", "--engine", "spark", "--state-dir", str(tmp_path / "states"))

    without = kafka_spec("check", "tests.sample_specs:WEAK_LOCK", "--without", "leads-to")

    assert (without.returncode, "16 distinct" in without.stdout) == (0, True), "a kind is left out as a whole"
    assert checked.returncode == 1, checked.stderr
    assert "VIOLATED: Granted" in checked.stdout and "compared    with another seed and the oracle: equal" in checked.stdout
    assert traced.returncode == 0 and json.loads(traced.stdout)[0]["lasso"]["met"] == 1
    assert spark.returncode == 1 and "VIOLATED: Granted" in spark.stdout, spark.stderr
