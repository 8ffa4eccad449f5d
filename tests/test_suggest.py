"""`kafka-spec prove --suggest`: the lemmas that are suggested prove what was asked, and none of them could be left out."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from test_constant_data import WALKS
from test_record_values import NOTES

from examples.bounded_queue import QUEUE_PROVED, QUEUE_THAT_WAKES_ALL
from examples.tlaplus.chang_roberts import CHANG_ROBERTS
from examples.tlaplus.peterson import PETERSON
from examples.two_phase_commit import TWO_PHASE_COMMIT
from kafka_spec.__main__ import main
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.proof.solving import prove
from kafka_spec.model_check.proof.statements import induction_about
from kafka_spec.model_check.proof.suggestions import suggest as suggest_module
from kafka_spec.model_check.proof.suggestions.clauses import clauses_of, mined
from kafka_spec.model_check.proof.suggestions.conditions import Grammar
from kafka_spec.model_check.proof.suggestions.formulas import Stated, readable
from kafka_spec.model_check.proof.suggestions.keeping import ClauseSearch
from kafka_spec.model_check.proof.suggestions.suggest import Suggestions, suggest
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Property, Spec
from tests import sample_specs
from tests.fuzz.agree import load
from tests.fuzz.specs import text_of
from tests.translated import At, induction_of

QUEUE = "examples.bounded_queue:QUEUE_THAT_WAKES_ALL"


def _suggested(spec: Spec, **bounds: int) -> Suggestions:
    return suggest(induction_of(spec, spec.bound_values(bounds)), Budget(300))


def _proved(spec: Spec, lemmas: tuple[Property, ...]) -> bool:
    return prove(induction_of(dataclasses.replace(spec, lemmas=lemmas), spec.bound_values({}))).is_complete


@pytest.mark.parametrize(("spec", "count"), [(QUEUE_THAT_WAKES_ALL, 2), (PETERSON, 6)], ids=lambda one: getattr(one, "name", ""))
def test_the_lemmas_prove_it_and_none_can_be_left_out(spec: Spec, count: int) -> None:
    """With the lemmas everything is proved; without one of them it is not."""
    lemmas = tuple(one.lemma for one in _suggested(spec).lemmas)
    assert len(lemmas) == count and _proved(spec, lemmas)
    for left_out in lemmas:
        assert not _proved(spec, tuple(one for one in lemmas if one is not left_out)), left_out.name


@pytest.mark.slow
def test_two_phase_commit_is_proved_with_suggested_lemmas() -> None:
    """The lemmas of two-phase commit, of which nobody has written one, prove that it is consistent."""
    found = _suggested(TWO_PHASE_COMMIT)
    assert found.lemmas and _proved(TWO_PHASE_COMMIT, tuple(one.lemma for one in found.lemmas))


def test_lemmas_are_found_from_some_of_the_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds in the first states alone is left out where a rule does not keep it: the lemmas prove it nevertheless."""
    monkeypatch.setattr(suggest_module, "MOST_STATES", 30)
    found = _suggested(PETERSON)
    assert not found.complete and found.clauses > found.kept + 1 and found.lemmas
    assert _proved(PETERSON, tuple(one.lemma for one in found.lemmas))


def test_no_lemma_is_suggested_where_none_is_needed() -> None:
    """A spec with its lemmas gets no others."""
    found = _suggested(QUEUE_PROVED)
    assert found.suffice and found.lemmas == ()


def test_suggested_lemmas_lift_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    """Lemmas that were found at one capacity prove the queue for all; the command prints them as functions of the language."""
    assert main(["prove", QUEUE, "--suggest", "--unbounded", "capacity"]) == 0
    written = capsys.readouterr().out
    assert "def suggested1(s: Buffer, k: Constants) -> bool:" in written and "for every capacity" in written
    assert written.rstrip().endswith("proved: SomebodyRuns, NeverTooFull")


def _pasted(printed: str, stated: dict[str, str]) -> str:
    """Return a module with the functions that the command has printed, some of them stated as lemmas: names and functions."""
    functions = "\n\n".join(part for part in printed.split("\n\n") if part.startswith("def "))
    lemmas = "".join(f"lemma({name!r}, {function}), " for name, function in stated.items())
    spec = f"QUEUE_THAT_WAKES_ALL.replacing('pasted', 'with lemmas', lemmas=({lemmas}))"
    return f"from kafka_spec import *\nfrom examples.bounded_queue import *\n\n{functions}\n\nSPEC = {spec}\n"


def test_a_lemma_as_printed_can_be_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions that are printed, pasted into a module, prove the property there; one alone leaves the other to be found."""
    main(["prove", QUEUE, "--suggest"])
    printed = capsys.readouterr().out
    both = {"Suggested1": "suggested1", "Suggested2": "suggested2"}
    (tmp_path / "pasted_lemmas.py").write_text(_pasted(printed, both), encoding="utf-8")
    (tmp_path / "pasted_lemma.py").write_text(_pasted(printed, {"Suggested1": "suggested1"}), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["prove", "pasted_lemmas:SPEC"]) == 0
    assert main(["prove", "pasted_lemmas:SPEC", "--suggest"]) == 0
    assert "none is needed" in capsys.readouterr().out
    assert main(["prove", "pasted_lemma:SPEC", "--suggest"]) == 0
    again = capsys.readouterr().out
    assert "def suggested2" in again and "def suggested1" not in again


def test_a_spec_without_clauses_needs_no_lemma() -> None:
    """Where nothing can be stated about a state, nothing is suggested."""
    found = _suggested(sample_specs.COUNTER)
    assert found.lemmas == () and not found.stopped


def test_what_no_clause_helps_with_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the clauses do not suffice, a step is shown that they allow, and clauses that would exclude it."""
    assert main(["prove", "examples.tlaplus.chang_roberts:CHANG_ROBERTS", "--suggest", "--format", "json"]) == 3
    found = json.loads(capsys.readouterr().out)
    (obstacle,) = found["suggested"]["obstacles"]
    assert not found["proved"] and "table" not in found and found["suggested"]["lemmas"] == []
    assert obstacle["statement"] == "WinnerIsFirst" and len(obstacle["nearest"]) == 5
    assert {one["not_kept_by"] for one in obstacle["nearest"]} <= {rule.name for rule in CHANG_ROBERTS.rules}
    assert main(["prove", "examples.tlaplus.chang_roberts:CHANG_ROBERTS", "--suggest"]) == 3
    written = capsys.readouterr().out
    assert "These would exclude it, and are not kept themselves:" in written and written.rstrip().endswith("not proved")


def test_a_violated_property_gets_no_lemmas(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the search finds a violation, that is the answer."""
    assert main(["prove", "examples.bounded_queue:OVERFULL", "--suggest"]) == 1
    assert "lemmas:" not in capsys.readouterr().out


def test_suggesting_ends_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not finished in time is not proved, and suggests nothing."""
    assert main(["prove", QUEUE, "--suggest", "--seconds", "0.01"]) == 3
    written = capsys.readouterr().out
    assert (
        "lemmas: ended early, the time budget of 0.01 s is spent; give it more with --seconds" in written
        and "def suggested" not in written
    )


# the parts


@settings(max_examples=60)
@given(
    st.integers(1, 4).flatmap(
        lambda count: st.lists(st.lists(st.booleans(), min_size=count, max_size=count), min_size=1, max_size=6)
    )
)
def test_clauses_are_all_the_shortest(rows: list[list[bool]]) -> None:
    """The clauses are those of at most three literals that hold in all rows, without those that have another one in them."""
    table = np.array(rows, dtype=bool)
    literals = np.concatenate([table, ~table], axis=1)
    count = table.shape[1]
    expected: list[set[int]] = []
    for size in (1, 2, 3):
        for clause in map(set, itertools.combinations(range(2 * count), size)):
            contrary = any(number + count in clause for number in clause)
            if not contrary and not any(one <= clause for one in expected) and literals[:, sorted(clause)].any(axis=1).all():
                expected.append(clause)
    assert {frozenset(one) for one in clauses_of(literals)} == {frozenset(one) for one in expected}


def _candidates(spec: Spec, most: int = 400) -> ClauseSearch:
    induction = induction_of(spec, spec.bound_values({}))
    world, grammar = Interpreter(spec, induction.bounds), Grammar(spec, induction.bounds, induction.statements)
    tables = [(table, readable(induction, table, grammar.conditions(table), grammar.names)) for table in grammar.tables()]
    return ClauseSearch(induction, mined(grammar, tables, graph_of(world, most).states, world.k))


def test_what_is_kept_is_the_most_that_can_be() -> None:
    """What every rule keeps is found by trying all states, reachable or not: those, and no more clauses, are left."""
    candidates = _candidates(QUEUE_THAT_WAKES_ALL, most=3)
    kept = set(candidates.kept(range(len(candidates.before))))
    world, states = candidates.world, []
    for size, waiting in itertools.product(range(3), range(8)):
        state: Any = world.space.fresh()
        state.size, state.waiting = size, waiting
        states.append((candidates.violated(state), [candidates.violated(after) for _, after in candidates.out_of(state)]))
    alive = np.ones(len(candidates.before), dtype=bool)
    for _ in range(len(alive)):
        for violated, after in states:
            if not (violated & alive).any():
                for one in after:
                    alive &= ~one
    assert kept == set(map(int, np.flatnonzero(alive))) and len(kept) < len(alive)


@pytest.mark.parametrize(
    "spec",
    [QUEUE_THAT_WAKES_ALL, PETERSON, CHANG_ROBERTS, WALKS, pytest.param(NOTES, marks=pytest.mark.slow)],
    ids=lambda spec: spec.name,
)
def test_a_clause_is_the_same_as_a_formula_and_in_python(spec: Spec) -> None:
    """In reachable states, and in those behind the solver's, each clause as a formula says what its Python says."""
    induction = induction_of(spec, spec.bound_values({}))
    world, grammar = Interpreter(spec, induction.bounds), Grammar(spec, induction.bounds, induction.statements)
    tables = [(table, readable(induction, table, grammar.conditions(table), grammar.names)) for table in grammar.tables()]
    states = graph_of(world, 300).states
    few = mined(grammar, tables, states[:2], world.k)  # clauses that the other states violate, some of them
    for one in few:
        one.clauses = one.clauses[:: max(1, len(one.clauses) // 12)]
    stated = Stated(induction, few, induction.state, "s")
    assert stated.clauses
    for state in states[:: max(1, len(states) // 5)]:
        at = At(induction, state)
        named = [(definition.arg(0), at.value(definition.arg(1))) for definition in stated.definitions]
        pairs = [(name, z3.BoolVal(value)) for name, value in named]
        found = [not at.value(clause, *pairs) for clause in stated.clauses]
        assert found == [bool(one) for table in few for one in table.violated(state, world.k)]


def test_a_wrong_formula_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clause whose formula is not what Python computes ends in an internal error, and not in a lemma."""
    candidates = _candidates(QUEUE_THAT_WAKES_ALL, most=3)
    candidates.before[:] = [candidates.before[-1]] * len(candidates.before)
    with pytest.raises(EngineError, match="the solver's state violates"):
        candidates.kept(range(len(candidates.before)))


@pytest.mark.long
def test_an_invariant_of_kip_320_is_proved_without_lemmas_by_hand() -> None:
    """Lemmas that are found with two replicas and one record prove LeaderInIsr for logs of any length."""
    kip_320 = dataclasses.replace(MODELS["replication/kip_320"], lemmas=())
    bounds = kip_320.bound_values({"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    asked = (kip_320.property("LeaderInIsr"),)
    found = suggest(induction_about(kip_320, asked, bounds), Budget(600))
    with_lemmas = dataclasses.replace(kip_320, lemmas=tuple(one.lemma for one in found.lemmas))
    lifted = frozenset({"log_size", "max_records", "max_leader_epoch"})
    assert prove(induction_about(with_lemmas, asked, bounds, lifted)).is_complete


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5, 7, 10, 16])
def test_random_specs_get_lemmas_or_obstacles(seed: int, tmp_path: Path) -> None:
    """For random specs, in which every construct occurs, what is suggested proves what was asked."""
    spec: Spec = load(text_of(seed), tmp_path, f"suggested_{seed}").SPEC
    bounds = spec.bound_values(dict(spec.bound_sets[0].values))
    found = suggest(induction_of(spec, bounds), Budget(15))
    if found.lemmas:
        more = dataclasses.replace(spec, lemmas=(*spec.lemmas, *(one.lemma for one in found.lemmas)))
        assert prove(induction_of(more, bounds)).is_complete
