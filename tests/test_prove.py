"""`kafka-spec prove`: the translation to formulas means what the interpreter does, and a proof fails where it has to."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cvc5
import pytest
import z3
from test_constant_data import WALKS
from test_record_values import NOTES

from examples.bounded_queue import (
    OVERFULL,
    QUEUE,
    QUEUE_PROVED,
    QUEUE_THAT_WAKES_ALL,
    QUEUE_WITH_TWO_CONDITIONS,
    Buffer,
    wake_all,
)
from examples.philosophers import CARELESS, TABLE
from examples.two_phase_commit import HASTY, TWO_PHASE_COMMIT
from kafka_spec.__main__ import main
from kafka_spec.model_check import named_check
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation, check
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.proof.cells import Limits, SequenceCell
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.lifting import says_more_than_ends
from kafka_spec.model_check.proof.obligations import Induction
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.solving import decide, induced_by, prove
from kafka_spec.model_check.proof.states import constant_cell, fill
from kafka_spec.model_check.proof.terms import TRUE, Value, Whole
from kafka_spec.model_check.proof.translation import SymbolicCall
from kafka_spec.model_check.proof.values import as_number, as_truth
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.decisions.log import divergence_offset, end_of_epoch, end_offset_for_epoch, holds_same_prefix, records_in
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import ArrayOf, Bound, Range, append, field
from kafka_spec.spec.vocabulary.table import Among, BoundSet, Property, Rule, Spec, SpecError, invariant
from tests.fuzz.agree import load
from tests.fuzz.specs import text_of
from tests.translated import At, compared, induction_of

REPLICATION = [name for name in MODELS if name.startswith("replication/")]
SAMPLE = ("replication/high_watermark", "replication/kip_320")
"""The versions of which `make test` compares the translation; `make long` compares that of the others."""
EXAMPLES = (QUEUE, QUEUE_THAT_WAKES_ALL, QUEUE_WITH_TWO_CONDITIONS, OVERFULL, TWO_PHASE_COMMIT, HASTY, TABLE, CARELESS)
LIFTED = "log_size,max_records,max_leader_epoch"


LIMIT = Bound("limit", 1, 8, "a level")
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def _induction(spec: Spec, lifted: Sequence[str] = (), **bounds: int) -> Induction:
    return induction_of(spec, spec.bound_values(bounds), lifted)


@pytest.mark.parametrize("spec", [*EXAMPLES, NOTES, WALKS], ids=lambda spec: spec.name)
def test_the_translation_is_the_interpreter(spec: Spec) -> None:
    """In reachable states each rule can fire, and leads to a state, where the interpreter says so; so do statements."""
    assert compared(spec, spec.bound_values({}), most=400, states=25) > 5


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.long) for name in REPLICATION])
def test_the_translation_of_replication_is_the_interpreter(name: str) -> None:
    """The same of the versions of replication."""
    assert compared(MODELS[name], MODELS[name].bound_values(SMALL), most=400, states=6) > 5


@pytest.mark.long
@pytest.mark.parametrize(("name", "smaller"), [("kraft/fixed", {"lag": 3}), ("quorum/fixed", {})])
def test_the_translation_of_large_models_is_the_interpreter(name: str, smaller: dict[str, int]) -> None:
    """The same of the models of Kafka's controllers: with machines, sequences inside sequences, and requests that hold arrays."""
    assert compared(MODELS[name], MODELS[name].bound_values(smaller), most=300, states=4) > 10


@pytest.mark.parametrize("seed", range(12))
def test_the_translation_of_random_specs_is_the_interpreter(seed: int, tmp_path: Path) -> None:
    """The same of random specs, in which every construct of the language occurs; none is refused."""
    spec: Spec = load(text_of(seed), tmp_path, f"translated_{seed}").SPEC
    try:
        compared(spec, spec.bound_values(dict(spec.bound_sets[0].values)), most=40, states=5)
    except SpecError as error:
        assert "is not an initial state" in str(error) or "does not meet the constraint" in str(error)


def test_a_start_is_the_interpreters() -> None:
    """The initial states of the translation are those of the interpreter."""
    induction = _induction(TABLE)
    found = []
    for step in induction.beginnings():
        state = induction.space.fresh()
        fill(step.after, state, lambda term: At(induction, induction.space.fresh()).value(term))
        found.append(induction.space.root.freeze(state))
    world = Interpreter(TABLE, induction.bounds)
    assert {*found} == {world.key(state) for state in world.initial()}


# loops whose end is not known


def _logs() -> list[list[tuple[int, int]]]:
    return [list(log) for size in range(3) for log in itertools.product([(0, 0), (1, 1), (1, 2)], repeat=size)]


def _log_cell(log: Sequence[tuple[int, int]]) -> SequenceCell:
    induction = _induction(MODELS["replication/kip_320"], LIFTED.split(","))
    state = induction.space.fresh()
    for record, epoch in log:
        append(state.replicas[0].log, record=record, epoch=epoch)
    cell: Any = constant_cell(induction.space.root, state, induction.limits)
    log_cell: SequenceCell = cell.fields["replicas"].items[0].fields["log"]
    log_cell.length = Whole(z3.Int("n"), 0, None)
    return log_cell


def _results(function: Callable[..., Any], logs: Sequence[Sequence[tuple[int, int]]], *numbers: int) -> None:
    """Compare the results of a function whose loops have no known end with those that Python computes."""
    context = Collected(Limits(), SimpleNamespace())  # type: ignore[arg-type]
    cells = [_log_cell(log) for log in logs]
    lengths = []
    for number, (cell, log) in enumerate(zip(cells, logs, strict=True)):
        cell.length = Whole(z3.Int(f"n{number}"), 0, None)
        lengths.append(cell.length.term == len(log))
    arguments: list[Any] = [Reference(((TRUE, cell),)) for cell in cells]
    arguments += [Whole(z3.Int(f"a{index}"), None, None) for index in range(len(numbers))]
    lengths += [z3.Int(f"a{index}") == value for index, value in enumerate(numbers)]
    source = source_of(function)
    found: tuple[Value, ...] = SymbolicCall(context, source, dict(zip(source.parameters, arguments, strict=True)), TRUE).run()
    entries = [[SimpleNamespace(record=record, epoch=epoch) for record, epoch in log] for log in logs]
    expected = function(*entries, *numbers)
    defined = [formula for _, formula in context.definitions.values()]
    for value, right in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        wrong = as_truth(value) != z3.BoolVal(right) if isinstance(right, bool) else as_number(value).term != right
        solver = z3.Solver()
        solver.add(*lengths, *defined)
        assert solver.check() == z3.sat
        solver.add(wrong)
        assert solver.check() == z3.unsat, f"{function.__name__} of {logs} {numbers} is {expected}"


def test_loops_without_a_known_end_are_what_python_computes() -> None:
    """A search for the same, a search for the first match, and the last match have the results of the loops, on all small logs."""
    for one, other in itertools.product(_logs()[:8], _logs()[:8]):
        _results(holds_same_prefix, [one, other], min(len(one), 1))
        _results(divergence_offset, [one, other])
        _results(end_offset_for_epoch, [one, other], 1)
    for log in _logs():
        _results(end_of_epoch, [log], 1)


def test_definitions_of_two_translations_have_names_of_their_own() -> None:
    """The number that a loop defines has one name wherever its formula is the same, and another one where it is another."""

    def defined(key: Any) -> Any:
        context = Collected(Limits(), SimpleNamespace())  # type: ignore[arg-type]
        return context.defined("first", key, lambda number: number >= 0)

    one, other = z3.Bools("one other")
    assert defined(one).eq(defined(one)) and not defined(one).eq(defined(other))


def test_the_formulas_of_loops_follow_the_rounds() -> None:
    """By induction over the rounds: one more round makes of the formula for n rounds that for n + 1, whatever the test is."""
    passes, n, index = z3.Function("passes", z3.IntSort(), z3.BoolSort()), z3.Int("n"), z3.Int("index")
    first, last, next_first, next_last = z3.Ints("first last next_first next_last")

    def some(end: Any) -> Any:
        return z3.Exists([index], z3.And(index >= 0, index < end, passes(index)))

    def is_first(found: Any, end: Any) -> Any:
        earlier = z3.ForAll([index], z3.Implies(z3.And(index >= 0, index < found), z3.Not(passes(index))))
        return z3.Implies(some(end), z3.And(found >= 0, found < end, passes(found), earlier))

    def is_last(found: Any, end: Any) -> Any:
        later = z3.ForAll([index], z3.Implies(z3.And(index > found, index < end), z3.Not(passes(index))))
        return z3.Implies(some(end), z3.And(found >= 0, found < end, passes(found), later))

    rounds = z3.And(
        z3.Not(some(n + 1) == z3.Or(some(n), passes(n))),
        n >= 0,
    )
    a_first = z3.And(n >= 0, is_first(first, n), next_first == z3.If(some(n), first, n), z3.Not(is_first(next_first, n + 1)))
    a_last = z3.And(n >= 0, is_last(last, n), next_last == z3.If(passes(n), n, last), z3.Not(is_last(next_last, n + 1)))
    for wrong in (some(0), rounds, a_first, a_last):
        solver = z3.Solver()
        solver.add(wrong)
        assert solver.check() == z3.unsat


# what a proof says


def test_a_wrong_translation_is_reported() -> None:
    """A counterexample to induction that the interpreter does not confirm is an error of the checker, never a result."""
    induction = _induction(QUEUE_THAT_WAKES_ALL)
    assert len(induction.tasks) > 3
    wakes = dataclasses.replace(QUEUE_THAT_WAKES_ALL.rule("PutWaits"), effects=(wake_all,))
    induction.spec = QUEUE_THAT_WAKES_ALL.replacing("other", "not what was translated", rules=(wakes,))
    with pytest.raises(EngineError, match="the interpreter disagrees: PutWaits"):
        prove(induction)


def test_what_the_claims_do_not_exclude_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that does not keep a statement is named, with a state and what the step changes in it; the exit code is 3."""
    assert main(["prove", "examples.bounded_queue:QUEUE_THAT_WAKES_ALL", "--threads", "1"]) == 3
    text = capsys.readouterr().out
    assert "SomebodyRuns          4  PutWaits (not kept), TakeWaits (not kept)" in text
    assert "PutWaits(0) does not keep SomebodyRuns\n  in this state, which the statements do not exclude:\n" in text
    assert "    waiting: {1, 2} -> {0, 1, 2}\n  No such state is reachable at these bounds" in text
    assert text.endswith("\nnot proved\n")


def holds_something(s: Buffer) -> bool:
    """The queue holds something."""
    return s.size > 0


def never_holds(s: Buffer) -> bool:
    """Whatever the state, this is false."""
    return False


def test_an_initial_state_that_violates_a_statement_is_not_proved() -> None:
    """What is false in an initial state is not proved there, also if it is false whatever the state."""
    for predicate in (holds_something, never_holds):
        never = invariant("Never", predicate, "it is false at first")
        proof = prove(_induction(QUEUE.replacing("false", "false at first", properties=(never,))))
        assert not proof.is_complete and proof.cells["Start", "Never"].open == 1


def test_a_proof_without_lemmas(capsys: pytest.CaptureFixture[str]) -> None:
    """A property that its rules keep by themselves is proved at once, as text and as JSON."""
    assert main(["prove", "examples.bounded_queue:QUEUE_THAT_WAKES_ALL", "--property", "NeverTooFull", "--threads", "2"]) == 0
    assert "proved: NeverTooFull\n" in capsys.readouterr().out
    assert main(["prove", "examples.philosophers:TABLE", "--format", "json", "--threads", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proved"] and found["searched"]["complete"] and not any(cell["open"] for cell in found["table"])


@pytest.mark.parametrize("name", [name for name in REPLICATION if name.rpartition("/")[2] in ("high_watermark", "kip_101")])
def test_a_false_lemma_is_refuted_by_a_reachable_state(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The search comes first: the designs before KIP-320 violate lemmas, each with a trace from an initial state; exit code 1."""
    assert main(["prove", name, "--bounds", "small"]) == 1
    text = capsys.readouterr().out
    assert "not proved: a statement is violated" in text and "IsrHoldsExposed is violated: a shortest trace" in text


def test_kip_320_is_proved_for_logs_of_any_length(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its invariants hold with two replicas for any number of entries, records and epochs; cvc5 finds the same of a sample."""
    asked = ["prove", "replication/kip_320", "--bound", "replicas=2", "--unbounded", LIFTED, "--threads", "2"]
    assert main([*asked, "--smtlib", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "for every log_size, max_leader_epoch, max_records" in text
    assert text.endswith("\nproved: WeakIsr, StrongIsr, LeaderInIsr\n")
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) > 700 and {_answer_of_cvc5(file) for file in files[::20]} == {"unsat"}


@pytest.mark.long
def test_kip_320_is_proved_for_three_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    """The same with three replicas, after a search at tiny bounds."""
    asked = ["prove", "replication/kip_320", "--bounds", "tiny", "--bound", "replicas=3", "--unbounded", LIFTED, "--each", "60"]
    assert main(asked) == 0
    assert capsys.readouterr().out.endswith("\nproved: WeakIsr, StrongIsr, LeaderInIsr\n")


@pytest.mark.long
def test_single_invariants_of_kraft_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Every step of KRaft that can be executed keeps these, from any state that meets them; whether all can is open."""
    names = ("LeaderInIsr", "IsrNeverEmpty", "MembershipsFollowTheirTable")
    asked = [argument for name in names for argument in ("--property", name)]
    assert main(["prove", "kraft/fixed", "--bound", "lag=3", *asked]) == 3
    assert f"kept by every step that can be executed: {', '.join(names)}; not proved" in capsys.readouterr().out


def _answer_of_cvc5(file: Path) -> str:
    terms = cvc5.TermManager()
    solver, symbols = cvc5.Solver(terms), cvc5.SymbolManager(terms)
    solver.setOption("tlimit-per", "60000")
    solver.setOption("enum-inst", "true")  # it instantiates quantifiers for which it has no pattern
    solver.setOption("fresh-binders", "true")
    parser = cvc5.InputParser(solver, symbols)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(str(command.invoke(solver, symbols)).strip())
    return next(answer for answer in reversed(answers) if answer)


def test_another_solver_agrees(tmp_path: Path) -> None:
    """Every obligation of a small proof is a file of SMT-LIB, of which cvc5 says that it cannot be satisfied."""
    assert main(["prove", "examples.philosophers:TABLE", "--threads", "1", "--smtlib", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) == 15 and {_answer_of_cvc5(file) for file in files} == {"unsat"}


def test_a_bound_that_rules_read_is_lifted(capsys: pytest.CaptureFixture[str]) -> None:
    """With its lemmas the queue that wakes all threads never lets all sleep, whatever its capacity."""
    assert main(["prove", "examples.bounded_queue:QUEUE_PROVED", "--unbounded", "capacity", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    assert "induction at threads=3, producers=1, for every capacity: " in text
    assert text.endswith("\nproved: SomebodyRuns, NeverTooFull\n")


@pytest.mark.parametrize(
    ("version", "rule", "lemma"),
    [
        ("high_watermark", "FollowerReplicate", "LogsMatch"),
        ("kip_101", "BecomeFollower", "FollowersHaveAPrefix"),
        ("kip_279", "FollowerReplicate", "LeadersHoldWhatOlderExpose"),
        ("kip_320_first_try", "BecomeFollower", "FollowersHaveAPrefix"),
        ("kafka_7128", "LeaderExpandIsr", "IsrHoldsExposed"),
        ("kafka_7164", "KeepFollowing", "FollowersHaveAPrefix"),
        ("kafka_7395", "LeaderIncHighWatermark", "IsrHoldsExposed"),
    ],
)
def test_each_earlier_design_has_a_rule_that_does_not_keep_a_lemma(version: str, rule: str, lemma: str) -> None:
    """In each design the rule that loses records is found by induction, with a state that the interpreter confirms."""
    spec = MODELS[f"replication/{version}"]
    induction = _induction(spec, replicas=3, log_size=2, max_records=2, max_leader_epoch=2)
    steps = [step for step in induction.steps() if step.rule.name == rule]
    open_ = [one for step in steps for one in induction.of_step(step) if one.statement == lemma]
    answers = [(one, *decide(one, 20_000)) for one in open_]
    found = [induced_by(induction, one, model) for one, answer, model in answers if answer == "not proved"]
    assert found and all(one is not None and one.rule == rule and one.changed for one in found)


@pytest.mark.long
@pytest.mark.parametrize(
    "left_out",
    [
        "FollowersHaveAPrefix",
        pytest.param("NewestLeaderHasQuorumIsr", marks=pytest.mark.long),
        pytest.param("LogsReachHighWatermark", marks=pytest.mark.long),
        pytest.param("OldLeadersCannotCommitWithoutIsr", marks=pytest.mark.long),
    ],
)
def test_no_proof_of_kip_320_without_its_lemmas(left_out: str) -> None:
    """Without one of these lemmas some rule does not keep a statement, at bounds where a state shows it."""
    spec = MODELS["replication/kip_320"]
    lemmas = tuple(lemma for lemma in spec.lemmas if lemma.name != left_out)
    asked: tuple[Property, ...] = (spec.property("StrongIsr"), *lemmas)
    bounds = spec.bound_values({"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2})
    proof = prove(Induction(spec, bounds, spec.claims_at(bounds, asked)), threads=2)
    assert not proof.is_complete and any(cell.induced is not None for cell in proof.cells.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["kraft/fixed", "--unbounded", "lag"],
            "arrays in the items of a sequence whose bound is lifted: proofs do not know this yet",
        ),
        (["replication/kip_320", "--unbounded", "replicas"], "--unbounded replicas: it says how many there are"),
        (["quorum/fixed", "--unbounded", "epochs"], "--unbounded epochs: it says how many there are"),
        (["zookeeper/fixed", "--unbounded", "partitions"], "--unbounded partitions: it says how many there are"),
        (
            ["replication/kip_320", "--unbounded", "logs"],
            "--unbounded logs: replication/kip_320 has no such bound; it has replicas",
        ),
        (["replication/kip_320", "--property", "Elected"], "Elected is of kind reachable; only an invariant is proved"),
        (["examples.lease:FENCED"], "lease states no invariant to prove"),
    ],
)
def test_what_cannot_be_proved_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What has no translation, or is no question for a proof, is refused before anything is searched, with exit code 2."""
    assert main(["prove", *arguments]) == 2
    assert message in capsys.readouterr().err


@dataclass
class Level:
    """One number, which begins where a bound says."""

    now: int = field(Range(0, LIMIT, initial=LIMIT))


def is_left(s: Level, taken: int) -> bool:
    """So many are left."""
    return taken <= s.now


def take(s: Level, taken: int) -> None:
    """Take so many, if there are any."""
    s.now -= max(0, taken)


TAKE = Rule("Take", "somebody", "{taken} are taken", "none", (take,), {"taken": Among(Range(0, LIMIT), is_left, or_none=True)})
LEVELS = Spec("levels", "a level", Level, (TAKE,), (), bound_sets=(BoundSet("small", {"limit": 2}, "small"),))


@dataclass
class Scores:
    """Some numbers."""

    scores: list[int] = field(ArrayOf(Range(-1, 2), 3))


def score(s: Scores, place: int) -> None:
    """Raise a number, as long as there is room."""
    s.scores[place] = min(2, s.scores[place] + 1)


def sum_has_few_bits(s: Scores) -> bool:
    """The bits of a sum, which has limits since its parts have."""
    return (sum(one for one in s.scores) ^ 1) <= 7


SCORES = Spec(
    "scores",
    "numbers that grow",
    Scores,
    (Rule("Score", "{place}", "{place} scores", "", (score,), {"place": Range(0, 2)}),),
    (invariant("FewBits", sum_has_few_bits, "the sum has few bits", ""),),
)


def test_a_sum_of_limited_numbers_is_limited() -> None:
    """What is asked of the bits of a sum is translated, and is what the interpreter finds."""
    assert compared(SCORES, {}, most=64, states=10) > 5


def test_a_bound_that_says_where_a_field_begins_is_not_lifted() -> None:
    """Raising it changes the initial state, so a proof at one value is not one for all; the same of arrays and of `each`."""
    assert says_more_than_ends(LEVELS, LEVELS.bound_values({}), "limit")
    kip_320 = MODELS["replication/kip_320"]
    values = kip_320.bound_values({})
    assert [name for name in values if says_more_than_ends(kip_320, values, name)] == ["replicas"]


def test_one_of_many_numbers_or_none_is_refused() -> None:
    """Where the numbers have no limit, "none of them is admitted" has no translation yet; to leave the case out would be wrong."""
    with pytest.raises(SpecError, match="Take: taken: one of more than 64 numbers, or none"):
        _ = _induction(LEVELS, ["limit"]).tasks


def test_what_is_not_translated_is_named() -> None:
    """A loop of more rounds than are written out, and a set without a limit, are refused with their place."""
    with pytest.raises(SpecError, match=r"decisions/log.py:.* in records_in: .*without a limit"):
        _results(records_in, [[(0, 0)]])


# proofs in a manifest


def _manifest(folder: Path, **keys: str) -> Path:
    """Write a manifest with one check, of the queue with its lemmas unless another model is given."""
    values = {"name": '"queue"', "model": '"examples.bounded_queue:QUEUE_PROVED"', "verdict": '"proved"', **keys}
    lines = [f"{key} = {value}" for key, value in values.items()]
    file = folder / "pyproject.toml"
    file.write_text("\n".join(["[[tool.kafka-spec.checks]]", *lines]), encoding="utf-8")
    return file


def test_a_check_expects_a_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check that expects "proved" searches, and then proves its invariants; the line and the JSON say so."""
    file = _manifest(tmp_path, unbounded='["capacity"]')
    assert main(["check", "--manifest", str(file)]) == 0
    assert "  proved\n" in capsys.readouterr().out
    assert main(["check", "--manifest", str(file), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["checks"]
    assert (found["verdict"], found["induction"]) == ("holds", "proved")
    assert main(["check", "--manifest", str(file), "--format", "markdown"]) == 0
    assert "| proved | proved |" in capsys.readouterr().out


def test_a_check_without_its_proof_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check whose invariants hold and are not inductive is not as expected, and names the rule; nor is a violated one."""
    assert main(["check", "--manifest", str(_manifest(tmp_path, model='"examples.bounded_queue:QUEUE_THAT_WAKES_ALL"'))]) == 1
    assert "not proved by induction: PutWaits does not keep SomebodyRuns; TakeWaits does not keep" in capsys.readouterr().out
    assert main(["check", "--manifest", str(_manifest(tmp_path, model='"examples.bounded_queue:OVERFULL"'))]) == 1
    assert "the verdict is violated (NeverTooFull), expected proved" in capsys.readouterr().out


@pytest.mark.parametrize("threads", [1, 2])
def test_a_proof_that_its_budget_ends_is_inconclusive(threads: int) -> None:
    """A check whose time is over while it proves is neither proved nor refuted, and says why."""
    induction = _induction(QUEUE_PROVED)
    cells = prove(induction, threads=threads, budget=Budget(0.0)).cells.values()
    assert sum(cell.undecided for cell in cells) and not any(cell.open for cell in cells)


def test_a_budget_is_that_of_search_and_proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The budget of a check is also that of its proof: a search that ends in time and a proof that does not are inconclusive."""
    budget = Budget()

    def interrupted(*_: Any) -> str:
        budget.interrupted = True
        return "whether Put keeps SomebodyRuns was not decided in time"

    monkeypatch.setattr(named_check, "outcome_of_induction", interrupted)
    (queue,) = read_manifest(_manifest(tmp_path), lambda name: QUEUE_PROVED)
    result = queue.run(budget=budget)
    assert (result.verdict, result.stopped) == ("inconclusive", "interrupted")
    assert queue.expected.unmet(result) == ["the verdict is inconclusive: interrupted"]


def test_a_proof_that_was_not_tried_is_not_as_expected() -> None:
    """A result that holds is not *proved* unless an induction says so."""
    result = check(QUEUE_PROVED, QUEUE_PROVED.bound_values({}))
    (problem,) = Expectation(verdict="proved").unmet(result)
    assert problem == "not proved by induction: it was not tried; kafka-spec prove shows more"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"verdict": '"sure"'}, "verdict 'sure' cannot be expected; expect holds, violated or proved"),
        ({"verdict": '"holds"', "unbounded": '["capacity"]'}, "unbounded is for a proof"),
        ({"unbounded": '["colour"]'}, "unbounded: colour: bounded_queue_proved has no such bound"),
        ({"unbounded": '["threads"]'}, "unbounded: threads: it says how many there are"),
        ({"unbounded": "[3]"}, "3 is not a name"),
        ({"model": '"examples.lease:FENCED"'}, "states no invariant to prove"),
        ({"model": '"examples.two_phase_commit:TWO_PHASE_COMMIT"', "properties": '["AllCommit"]'}, "none of its properties is an"),
    ],
)
def test_a_proof_that_cannot_be_expected_is_refused(
    keys: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a manifest says of a proof is checked before anything is searched."""
    assert main(["check", "--manifest", str(_manifest(tmp_path, **keys))]) == 2
    assert message in capsys.readouterr().err
