"""Comparisons of a check: two seeds, two engines, and every part of their findings."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation, check, compare
from kafka_spec.model_check.code import compiled
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.llvm.machine_code import CodeText, Tier
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.fingerprint import DEFAULT_SEED
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.vocabulary.table import SpecError
from tests import sample_specs
from tests.test_constraint_and_view import VIEWED

Change = Callable[[Exploration], None]


def explored() -> Exploration:
    """Return the expected findings in a toy."""
    return embedded.explore(sample_specs.GRID_TRAP, {"limit": 3}, everything=True)


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_verify_takes_another_seed(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search of --verify is done with other fingerprints than the first."""
    module, digests, seeds = {"embedded": embedded, "oracle": oracle}[engine], [], []
    explore = module.explore

    def watched(*arguments: Any, **options: Any) -> Exploration:
        result: Exploration = explore(*arguments, **options)
        digests.append(result.digest)
        seeds.append(options["seed"] or DEFAULT_SEED)
        return result

    monkeypatch.setattr(module, "explore", watched)
    result = check(sample_specs.GRID_TRAP, {"limit": 3}, engine=engine, verify=True)

    assert result.compared == ["another seed"]
    assert len(seeds) == len(set(seeds)) == len(set(digests)) == 2


def test_verify_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search of --verify executes neither code that this process has compiled before nor code from the cache."""
    loaded: list[tuple[CodeText, bool]] = []
    load = compiled.load

    def watched(text: CodeText, k: tuple[int, ...], tier: Tier, fresh: bool) -> Any:
        loaded.append((text, fresh))
        return load(text, k, tier, fresh)

    monkeypatch.setattr(compiled, "load", watched)
    check(sample_specs.GRID_TRAP, {"limit": 3}, verify=True)

    assert [fresh for _, fresh in loaded] == [False, True]
    assert loaded[0][0].text == loaded[1][0].text and loaded[0][0].text is not loaded[1][0].text


def more_states(result: Exploration) -> None:
    """Add a level."""
    result.levels.append(1)


def more_firings(result: Exploration) -> None:
    """Add a firing."""
    result.fired["RaiseCell"] += 1


def more_bounded(result: Exploration) -> None:
    """Add a step that a bound forbade."""
    result.cut_by["RaiseCell", "limit"] += 1


def more_tests(result: Exploration) -> None:
    """Meet an antecedent once more."""
    result.tested["Empties"] += 1


def no_violation(result: Exploration) -> None:
    """Forget what was found."""
    result.findings.clear()


def other_way(result: Exploration) -> None:
    """Find the same by another way."""
    result.findings["Empties"] = Finding(0, (1, 2, 3))


def other_edge(result: Exploration) -> None:
    """Change one edge."""
    result.digest ^= 1


def first_by_another(result: Exploration) -> None:
    """Reach one state by another rule first."""
    result.new["RaiseCell"] -= 1
    result.new["LowerCell"] += 1


ALWAYS = {
    "levels": more_states,
    "fired": more_firings,
    "cut_by": more_bounded,
    "tested": more_tests,
    "find[a-z]*": no_violation,
    "findings": other_way,
    "new": first_by_another,
}


@pytest.mark.parametrize(("kind", "change"), [*ALWAYS.items(), ("digest", other_edge)])
def test_the_other_engine_finds_the_same(kind: str, change: Change) -> None:
    """Engines that differ in any one part of their findings disagree, and the report names the part."""
    result = explored()
    other = copy.deepcopy(result)
    change(other)

    with pytest.raises(EngineError, match=f"{kind} not the same"):
        compare(result, other, "the oracle", exact=True)
    assert result.compared == []


@pytest.mark.parametrize(("kind", "change"), ALWAYS.items())
def test_another_seed_counts_the_same(kind: str, change: Change) -> None:
    """Two seeds that differ in a count, the verdict or a way disagree: no order depends on fingerprints."""
    result = explored()
    other = copy.deepcopy(result)
    change(other)

    with pytest.raises(EngineError, match=f"{kind} not the same"):
        compare(result, other, "another seed", exact=False)


def test_another_seed_finds_the_same_verdicts() -> None:
    """With a view, too, what is violated is the same by another seed, whichever state of a view was explored."""
    result = check(VIEWED)
    other = copy.deepcopy(result)
    other.findings.clear()
    with pytest.raises(EngineError, match=r"(violated|verdict) not the same"):
        compare(result, other, "another seed", exact=False)


@pytest.mark.parametrize("change", [other_way, first_by_another])
def test_another_seed_may_explore_other_states_of_one_view(change: Change) -> None:
    """With a view the way that is told may differ between two seeds, since they explore different states of one view."""
    result = check(VIEWED)
    other = copy.deepcopy(result)
    change(other)
    other.digest ^= 2
    compare(result, other, "another seed", exact=False)

    assert result.compared == ["another seed"]


def test_a_property_that_is_named_twice_is_judged_once() -> None:
    """Each engine counts a tested property once, so the engines agree."""
    results = [
        check(sample_specs.TESTED, properties=names, engine="both", everything=True) for names in (["OverIsUp"], ["OverIsUp"] * 2)
    ]

    assert results[0].tested == results[1].tested != {}


@pytest.mark.parametrize("value", ["3", None, 3.0, 3.5])
def test_a_bound_that_is_no_integer_is_refused(value: Any) -> None:
    """A value of another type is refused by name, before anything is searched."""
    with pytest.raises(SpecError, match=r"bound limit=.* is not an integer"):
        check(sample_specs.GRID, {"limit": value})


def test_a_comparison_that_is_cut_short() -> None:
    """If the second search was stopped, nothing was compared: the result is inconclusive and says why."""
    result, other = explored(), explored()
    result.findings.clear()
    other.stopped = "the time budget of 1 s is spent"
    compare(result, other, "the oracle", exact=True)

    assert (result.verdict, result.complete, result.compared) == ("inconclusive", False, [])
    assert result.stopped == "the comparison with the oracle was not finished: the time budget of 1 s is spent"


@pytest.mark.parametrize("explore", [oracle.explore, embedded.explore], ids=["oracle", "embedded"])
def test_a_budget_of_states(explore: Callable[..., Exploration]) -> None:
    """A search that reaches its maximum number of states stops at the end of the level and says so."""
    result = explore(sample_specs.GRID, {"limit": 9}, budget=Budget(max_states=15))

    assert (result.levels, result.verdict) == ([1, 4, 10], "inconclusive")
    assert result.stopped == "the budget of 15 states is spent"


def test_a_way_must_be_legal() -> None:
    """A finding with a step that a guard forbids is not a counterexample, even if its last state is the expected one."""
    result = embedded.explore(sample_specs.GOES_BACK, {"limit": 5})
    assert result.findings["NeverDown"].actions == (0,) * 5 + (1,)
    result.findings["NeverDown"] = Finding(0, (0, 1))

    with pytest.raises(EngineError, match=r"NeverDown: StartOver\(\) does not replay: the oracle says that its guards do not hold"):
        trace_of(result, "NeverDown")


def test_a_rule_that_never_fires_fails_a_check() -> None:
    """If a check says that all rules fire, one that does not is named; otherwise none is expected to fire."""
    result = embedded.explore(sample_specs.DEAD_RULE, {"limit": 5})

    assert Expectation(all_rules_fire=True).unmet(result) == ["rules that never fire: Jump"]
    assert Expectation().unmet(result) == []


def test_every_violation_is_expected_by_name() -> None:
    """An expected violation that names its traces fails if another is violated; without traces those asked for may be."""
    result = check(sample_specs.UNFAIR_LOCK, everything=True)
    lengths = {name: result.findings[name].states for name in result.violated}
    assert set(lengths) == {"Granted", "Freed"}
    granted = {"Granted": lengths["Granted"]}

    assert Expectation("violated", traces=lengths).unmet(result) == []
    assert Expectation("violated", traces=granted).unmet(result) == [
        f"Freed is violated, too, in {lengths['Freed']} states; say so in traces"
    ]
    assert Expectation("violated", asked=["Granted", "Freed"]).unmet(result) == []
    assert Expectation("violated", asked=["Granted"]).unmet(result) == [
        "Freed is violated, which nobody asked for; fix the model, or say so in traces"
    ]


def test_a_mistake_in_a_model_is_no_expected_violation() -> None:
    """Where any violation is expected, TypeInvariant is a failure: a typo in a rule is not the bug that is looked for."""
    result = check(sample_specs.WALKS_AWAY, properties=())
    assert result.violated == ["TypeInvariant"]

    assert Expectation("violated", asked=["StaysNear"]).unmet(result) == [
        "TypeInvariant is violated, which nobody asked for: a field leaves its domain; fix the model, or say so in traces"
    ]
    assert Expectation("violated", traces={"TypeInvariant": result.findings["TypeInvariant"].states}).unmet(result) == []


@pytest.mark.parametrize(("more", "code"), [("", 2), ("traces = { Deadlock = 6 }", 0), ('properties = ["Deadlock"]', 0)])
def test_a_deadlock_is_expected_by_its_name(more: str, code: int, inside: Command, tmp_path: Path) -> None:
    """A check that expects a violation names it: one that names nothing is refused, and one that names a deadlock accepts it."""
    manifest = tmp_path / "pyproject.toml"
    entry = '[[tool.kafka-spec.checks]]\nname = "stuck"\nmodel = "tests.sample_specs:COUNTER"\n'
    entry += f'verdict = "violated"\ndeadlock = true\n{more}\n'
    manifest.write_text(entry, encoding="utf-8")
    run = inside("check", "-q", "--manifest", str(manifest))
    assert run.returncode == code, run.stdout
    assert ("which property is to be violated? Add traces" in run.stderr) == (code == 2)
