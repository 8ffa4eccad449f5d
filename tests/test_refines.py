"""`kafka-spec refines`: a step of a spec is one of another under a mapping, or changes nothing there; nothing else is accepted."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.two_phase_commit import HASTY, TRANSACTION_COMMIT, TWO_PHASE_COMMIT, Outcome, Transaction, Vote
from kafka_spec.__main__ import main
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Verdict
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.refinement import RefinementResult, abstract_bounds, judge_refinement
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import Bound, Range, field
from kafka_spec.spec.vocabulary.table import BoundSet, Refinement, Rule, Spec, SpecError, anywhere
from tests.fuzz.agree import load


def judged(spec: Spec, bounds: str | None = None, **given_bounds: int) -> RefinementResult:
    """Judge the first refinement of a spec."""
    chosen = next((one.values for one in spec.bound_sets if one.name == bounds), {})
    return judge_refinement(spec, spec.refines[0], spec.bound_values({**chosen, **given_bounds}))


def by_definition(spec: Spec, refinement: Refinement[Spec]) -> Verdict:
    """Judge a refinement whose steps are single ones by what it says, with the second engine alone."""
    world = Interpreter(spec, spec.bound_values({}))
    abstract = Interpreter(refinement.of, abstract_bounds(refinement, world.bounds))
    graph, goal = graph_of(world, 10_000), graph_of(abstract, 10_000)

    def key(state: Any) -> Any:
        mapped = abstract.space.fresh()
        abstract.call(refinement.mapping, {"s": state, "a": mapped, "k": world.k}, "")
        return abstract.key(mapped)

    keys = [abstract.key(state) for state in goal.states]
    known = {(keys[step.source], keys[step.target]) for steps in goal.steps for step in steps}
    steps = {(key(graph.states[step.source]), key(graph.states[step.target])) for out in graph.steps for step in out}
    moves = {(before, after) for before, after in steps if before != after}
    begins = {keys[state] for state in goal.starts}
    if not all(key(graph.states[start]) in begins for start in graph.starts) or not moves <= known:
        return "violated"
    return "holds" if moves else "inconclusive"


def test_two_phase_commit_implements_transaction_commit() -> None:
    """TwoPhase implements TCommit, and takes each of its 93 steps; the counts of states are those of TLC."""
    result = judged(TWO_PHASE_COMMIT)
    assert result.verdict == "holds"
    assert (result.searched.distinct, result.states, result.changes) == (288, 34, 93)
    assert result.taken == {"Prepare": 27, "Abort": 54, "Commit": 12} and result.never_taken == []


def test_a_manager_that_does_not_wait_does_not(inside: Callable[..., Any], golden: Callable[[str, str], None]) -> None:
    """The first step that is none of the abstract spec's is shown, with what that could do instead."""
    found = inside("refines", "examples.two_phase_commit:HASTY")
    assert found.returncode == 1
    golden("refines_hasty.txt", found.stdout)


@pytest.mark.parametrize("broken", [None, *range(len(TRANSACTION_COMMIT.rules))])
def test_a_step_that_the_abstract_spec_lacks_is_found(broken: int | None) -> None:
    """Without any one of its rules the abstract spec is not implemented; both readings agree."""
    rules = tuple(rule for number, rule in enumerate(TRANSACTION_COMMIT.rules) if number != broken)
    refinement = dataclasses.replace(TWO_PHASE_COMMIT.refines[0], of=dataclasses.replace(TRANSACTION_COMMIT, rules=rules))
    verdict = judge_refinement(TWO_PHASE_COMMIT, refinement, TWO_PHASE_COMMIT.bound_values({})).verdict
    assert verdict == by_definition(TWO_PHASE_COMMIT, refinement) == ("holds" if broken is None else "violated")


GRAPHS = '''
from dataclasses import dataclass
from kafka_spec import Constants, Range, Refinement, Rule, Spec, anywhere, field

STEPS = {steps}
OF_ABSTRACT = {abstract}
MAP = {mapping}
BEGIN = {begin}


@dataclass
class Place:
    """A place."""

    x: int = field(Range(0, 5))


@dataclass
class Where:
    """A place of the abstract graph."""

    y: int = field(Range(0, 3))


def leads(s: Place, to: int) -> bool:
    """A step leads there."""
    return (s.x, to) in STEPS


def go(s: Place, to: int) -> None:
    """Go there."""
    s.x = to


def leads_abstractly(s: Where, to: int) -> bool:
    """A step leads there."""
    return (s.y, to) in OF_ABSTRACT


def go_abstractly(s: Where, to: int) -> None:
    """Go there."""
    s.y = to


def begin(s: Where) -> None:
    """Begin somewhere."""
    s.y = BEGIN


def mapped(s: Place, a: Where) -> None:
    """Say where it is."""
    a.y = MAP[s.x]


START = Rule("Start", "walker", "the beginning", "", (begin,))
ABSTRACT = Spec(
    "abstract",
    "a graph",
    Where,
    (Rule("Go", "walker", "it goes to {{to}}", "", (go_abstractly,), {{"to": Range(0, 3)}}, (leads_abstractly,)),),
    start=START,
    final=anywhere,
)
SPEC = Spec(
    "concrete", "a graph", Place, (Rule("Go", "walker", "it goes to {{to}}", "", (go,), {{"to": Range(0, 5)}}, (leads,)),),
    refines=(Refinement(ABSTRACT, mapped),), final=anywhere,
)
'''
EDGES = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)
ABSTRACT_EDGES = st.sets(st.sampled_from(list(itertools.product(range(4), repeat=2))), min_size=4, max_size=16)


@given(EDGES, ABSTRACT_EDGES, st.lists(st.integers(0, 3), min_size=6, max_size=6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_random_graphs_agree_with_the_definition(
    steps: set[tuple[int, int]], abstract: set[tuple[int, int]], mapping: list[int], begins: bool
) -> None:
    """The compiled search and the second engine give the same verdict on random graphs under random mappings."""
    begin = mapping[0] if begins else 0
    text = GRAPHS.format(steps=tuple(sorted(steps)), abstract=tuple(sorted(abstract)), mapping=tuple(mapping), begin=begin)
    with TemporaryDirectory() as folder:
        spec = load(text, Path(folder), "graphs").SPEC
        agrees_with_the_definition(spec, abstract, mapping)


def agrees_with_the_definition(spec: Spec, abstract: set[tuple[int, int]], mapping: list[int]) -> None:
    """Compare the verdict with the definition, and the last step of a trace with the graphs."""
    result = judged(spec)
    assert result.verdict == by_definition(spec, spec.refines[0])
    if result.mismatch is not None and result.mismatch.trace.steps:
        path = [0, *(dict(step.action.binding)["to"] for step in result.mismatch.trace.steps)]
        moved = [(mapping[one], mapping[other]) for one, other in itertools.pairwise(path) if mapping[one] != mapping[other]]
        assert moved[-1] not in abstract and set(moved[:-1]) <= abstract, "the last step is the first that it does not take"


LIMIT = Bound("limit", 1, 9, "a number")


@dataclasses.dataclass
class Number:
    """A number."""

    value: int = field(Range(0, LIMIT))


def add_one(s: Number) -> None:
    """Add one."""
    s.value += 1


def add_two(s: Number) -> None:
    """Add two."""
    s.value += 2


def same(s: Number, a: Number) -> None:
    """The same number."""
    a.value = s.value


def nothing(s: Number, a: Number) -> None:
    """Always the number at first."""
    a.value = 0


def one_more(s: Number, a: Number) -> None:
    """The next number."""
    a.value = s.value + 1


def misspelt(s: Number, a: Number) -> None:
    """It stores what is not there."""
    a.worth = s.value  # type: ignore[attr-defined]


ONES = Spec("ones", "it adds one", Number, (Rule("One", "it", "it adds one", "", (add_one,)),), final=anywhere)
TWOS = Spec(
    "twos", "it adds two", Number, (Rule("Two", "it", "it adds two", "", (add_two,)),), final=anywhere,
    bound_sets=(BoundSet("six", {"limit": 6}, "up to six"),),
)  # fmt: skip


def twos(**how: Any) -> RefinementResult:
    """Judge whether TWOS implements ONES."""
    return judged(dataclasses.replace(TWOS, refines=(Refinement(**{"of": ONES, "mapping": same, **how}),)))


def test_a_step_may_be_several_of_the_abstract_spec() -> None:
    """A step that is two of the abstract spec is accepted only where the refinement says that there may be two."""
    assert twos().verdict == "violated"
    result = twos(steps=2)
    assert result.verdict == "holds" and result.changes == 3 and result.taken == {"One": 3}


def test_a_bound_of_the_abstract_spec_decides_nothing() -> None:
    """Where a bound of the abstract spec prevents a step, there is no verdict, and the bound is named."""
    jump = Spec("jump", "it adds two at most", Number, (Rule("Two", "it", "it adds two", "", (add_two,)),), final=anywhere)

    def half(s: Number, a: Number) -> None:
        """Half the number; the last is lost."""
        a.value = min(s.value // 2, 2)

    spec = dataclasses.replace(TWOS, refines=(Refinement(jump, half, bounds={"limit": 1}),))
    with pytest.raises(SpecError, match="the bound limit of jump ends it; raise it"):
        judged(spec)
    spec = dataclasses.replace(TWOS, refines=(Refinement(jump, half, bounds={"limit": 2}),))
    result = judged(spec)
    assert result.verdict == "violated", "from 0 it leads to 2 alone"
    spec = dataclasses.replace(TWOS, refines=(Refinement(jump, half, bounds={"limit": 3}, steps=2),))
    assert judged(spec).verdict == "inconclusive" and "bounds of jump prevent steps (limit); raise them" in judged(spec).undecided


def test_what_changes_nothing_tests_nothing() -> None:
    """A mapping under which no step changes anything has no verdict."""
    assert (twos(mapping=nothing).verdict, twos(mapping=nothing).undecided) == (
        "inconclusive",
        "no step changes the abstract state, so nothing was tested",
    )


def test_a_beginning_that_is_none_is_a_violation() -> None:
    """An initial state has to become an initial state of the abstract spec."""
    result = twos(mapping=one_more, steps=2, bounds={"limit": 9})
    assert result.mismatch is not None and result.mismatch.trace.steps == () and result.mismatch.changed == (("value", "0", "1"),)


def test_a_search_that_is_not_complete_has_no_verdict() -> None:
    """A search that ends early finds no refinement."""
    values = TWO_PHASE_COMMIT.bound_values({})
    result = judge_refinement(TWO_PHASE_COMMIT, TWO_PHASE_COMMIT.refines[0], values, budget=Budget(max_states=50))
    assert result.verdict == "inconclusive" and "the budget of 50 states is spent" in result.undecided


def counting(s: Number, a: Number, n: int) -> None:
    """It takes what there is not."""
    a.value = n


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"mapping": counting}, "counting takes n, which refinement of ones does not have; it may take a, k, s"),
        ({"of": Number}, "of must be Spec, and is the class Number"),
        ({"steps": 0}, "steps is 0; a step of the implementing spec is 1 or more"),
        ({"bounds": {"size": 3}}, "bound 'size' is unknown; there is limit"),
        ({"mapping": one_more}, "one_more after Two(), Two(), Two(): the bound limit of ones ends it; raise it"),
        ({"of": dataclasses.replace(ONES, rules=(dataclasses.replace(ONES.rules[0], at_most=LIMIT),))}, "which no mapping can say"),
    ],
)
def test_refused(how: dict[str, Any], said: str) -> None:
    """What cannot be judged is refused by name, with the cure."""
    with pytest.raises(SpecError) as refused:
        twos(**how)
    assert said in str(refused.value)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit codes and JSON: 0 where it implements all, 2 where it declares nothing or no such spec."""
    assert main(["refines", "examples.two_phase_commit:TWO_PHASE_COMMIT", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["refinements"][0]
    assert (found["verdict"], found["of"], found["abstract_states"]) == ("holds", "transaction_commit", 34)
    assert main(["refines", "examples.two_phase_commit:TWO_PHASE_COMMIT", "--max-states", "20"]) == 3
    assert main(["refines", "examples.two_phase_commit:TRANSACTION_COMMIT"]) == 2
    assert main(["refines", "examples.two_phase_commit:HASTY", "--of", "consensus"]) == 2
    assert "hasty_two_phase_commit refines transaction_commit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "bounds", "length"),
    [
        ("quorum/fixed", "one", None),
        ("quorum/fixed", "three", None),
        ("quorum/fixed", "lossy", None),
        ("quorum/fixed", "one_to_three", None),
        ("quorum/fixed", "two", None),
        ("quorum/only-voter-commits-before-flush", "one", 6),
        ("quorum/KAFKA-10527", "lossy", 14),
    ],
)
def test_the_quorum_is_one_list(model: str, bounds: str, length: int | None) -> None:
    """The quorum implements the one list that spec/kraft takes the metadata log for; with these bugs it does not."""
    result = judged(MODELS[model], bounds)
    assert result.verdict == ("holds" if length is None else "violated")
    if result.mismatch is not None:
        assert result.mismatch.trace.states == length
    else:
        assert result.never_taken == []


def outcome_forgets(s: Transaction, a: Outcome) -> None:
    """Show a committed manager as one that works: a mapping that hides what matters."""
    for rm, vote in enumerate(s.votes):
        a.votes[rm] = Vote.WORKING if vote == Vote.COMMITTED else vote


def test_a_mapping_that_hides_a_commit_is_found_out() -> None:
    """A mapping that hides states leads to steps that the abstract spec does not have."""
    hiding = dataclasses.replace(HASTY, refines=(Refinement(TRANSACTION_COMMIT, outcome_forgets),))
    assert judged(hiding).verdict == by_definition(hiding, hiding.refines[0]) == "violated"
