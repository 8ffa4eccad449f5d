"""Walking by hand: it agrees with the oracle's graph, says why a step is refused, and what it finds becomes columns and tests."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sample_specs
from hypothesis import given, settings
from hypothesis import strategies as st
from test_charts import doors, kip_279

from kafka_spec import MODELS, Walk, check, trace_of
from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.interpreter.expression import FUNCTIONS, expression
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain, SpecError
from kafka_spec.spec.vocabulary.table import BoundSet

RECORDS = {"records": 1, "crashes": 1, "bounces": 1}


def control(**faults: int) -> Walk:
    """Return a walk through zookeeper/fixed with these faults."""
    spec = MODELS["zookeeper/fixed"]
    first: BoundSet = spec.bound_sets[0]
    return Walk(spec, {**first.values, **faults})


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 30), steps=st.integers(0, 25))
def test_choices_and_refusals_cover_every_binding(seed: int, steps: int) -> None:
    """At every place each binding of each rule is either a choice, and can be taken, or is covered by exactly one refusal."""
    walk = control(**RECORDS)
    walk.wander(steps, seed)
    chosen = {(c.action.rule, c.action.binding) for c in walk.choices()}
    refused = [(r.action.rule, r.action.binding) for r in walk.refusals()]
    assert len(refused) == len(set(refused))

    for rule in walk.world.spec.rules:
        for number in range(walk.world.actions.count):
            stated, binding = walk.world.actions.decode(number)
            if stated is not rule:
                continue
            named = tuple(zip(rule.params, binding, strict=True))
            covering = [way for way in refused if way[0] == rule.name and named[: len(way[1])] == way[1]]
            assert len(covering) + ((rule.name, named) in chosen) == 1


def test_a_walk_takes_the_steps_of_the_oracle() -> None:
    """Each choice leads where the oracle's step leads, and the walk keeps what came before."""
    walk = control(**RECORDS)
    for _ in range(12):
        before, choices = walk.state, walk.choices()
        expected = []
        for rule in walk.world.spec.rules:
            for binding in walk.world.enabled(rule, before):
                if walk.world.within(rule, before, binding):
                    try:
                        expected.append(walk.world.key(walk.world.apply(rule, before, binding)))
                    except (OutOfBound, OutOfDomain):
                        continue
        reached = []
        for choice in choices:
            walk.take(choice.number)
            reached.append(walk.world.key(walk.state))
            walk.go(walk.place - 1)
        assert reached == expected
        walk.take(choices[len(choices) // 2].number)
    assert len(walk.states) == 13


def test_refused_steps_name_the_guard() -> None:
    """A step that cannot be taken is refused with the guard, the bound or the arity that is in its way, and changes nothing."""
    walk = control()
    for act, why in (
        (("Fetch", 0, 1, 1), "cannot happen here"),
        (("Write", 0, 0), "records is 0|bound of the exploration"),
        (("Crash",), "1 parameters"),
        (("NoSuchRule",), "NoSuchRule"),
    ):
        with pytest.raises(SpecError, match=why):
            walk.act(*act)
    with pytest.raises(SpecError, match="actions"):
        walk.take(10**9)
    assert walk.place == 0 and len(walk.states) == 1


def test_wandering_is_the_same_for_a_seed_and_stops_where_it_should() -> None:
    """Random steps repeat for a seed; they stop at a violated invariant, and where a named property changes."""
    one, other = control(**RECORDS), control(**RECORDS)
    assert one.wander(40, 3) == other.wander(40, 3)
    assert one.numbers == other.numbers

    spec, bounds = sample_specs.BREAKS_AT_THREE, sample_specs.bounds_of(sample_specs.BREAKS_AT_THREE)
    walk = Walk(spec, bounds)
    assert walk.wander(100, 0) == "BelowThree: violated, after 3 steps"
    assert walk.violated == ["BelowThree"]
    walk = Walk(sample_specs.COUNTER, sample_specs.bounds_of(sample_specs.COUNTER))
    assert walk.wander(100, 0, ["Arrives"]) == "Arrives: reached, after 5 steps"
    assert walk.wander(100, 0) == "nothing can happen after 0 steps"


def test_the_nearest_state_is_at_the_distance_that_a_search_finds() -> None:
    """`nearest` goes by a shortest way: as long as the trace of the goal with the same predicate."""
    spec, bounds = sample_specs.COUNTER, sample_specs.bounds_of(sample_specs.COUNTER)
    trace = trace_of(check(spec, bounds), "Arrives")
    walk = Walk(spec, bounds)
    assert walk.nearest(expression("s.value == 5")) and trace is not None
    assert walk.trace().steps == trace.steps
    walk.go(0)
    assert not walk.nearest(expression("s.value > 5"))
    assert not walk.nearest(expression("s.value == 4"), most=3)
    assert walk.place == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("__import__('os')", "__import__"),
        ("s.__class__", "__class__"),
        ("(lambda: 1)()", "lambda"),
        ("open('x')", "open"),
        ("s.copy()", "a call of s.copy"),
        ("9 ** 9", "Pow"),
        ("1 << 99", "LShift"),
        ("f'{s}'", "JoinedStr"),
        ("[x := 1]", "NamedExpr"),
        ("1 +", "is not an expression"),
        ("", "is not an expression"),
        ("1.5", "1.5"),
        ("sorted(s, key=len)", "a call of sorted"),
        ("x" * 501, "at most 500"),
        ("(" * 400, "is not an expression"),
    ],
)
def test_an_expression_can_only_read(text: str, why: str) -> None:
    """Whatever is more than reading and counting is refused before it is evaluated."""
    with pytest.raises(SpecError) as refused:
        expression(text)
    assert why in str(refused.value)


def test_expressions_are_evaluated() -> None:
    """An expression sees state, constants, machines' states and a few functions; a mistake in it is told."""
    walk = control(**RECORDS)
    values: dict[str, Any] = {
        "up = sum(1 for b in s.brokers if b.life == 0)": 2,
        "k.brokers": 2,
        "s.controllers[0].partitions[0].state == PartitionState.ONLINE": True,
        "[b.life for b in s.brokers] == [0, 0] and not any(b.life > 0 for b in s.brokers)": True,
    }
    assert {text: expression(text).of(walk.world, walk.state) for text in values} == values
    assert expression("up = 1 == 1").name == "up" and expression("1 == 1").name == "1 == 1"
    for wrong in ("s.nothing", "s.brokers[9]", "unknown", "1 // 0"):
        with pytest.raises(SpecError, match="cannot be evaluated"):
            expression(wrong).of(walk.world, walk.state)
    assert "eval" not in FUNCTIONS and "getattr" not in FUNCTIONS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sum(range(10**9))", "Pow"),
        ("len(range(1000000000))", "a range has 1,000,000,000 items"),
        ("'x' * 10000000000", "only numbers are multiplied"),
        ("[1, 2] * 1000000000", "only numbers are multiplied"),
        ("*".join(["99999999"] * 9), "larger than 2^62"),
        ("[0 for a in range(9999) for b in range(9999) for c in range(9999)]", "takes longer than 1 s"),
        ("sum(1 for a in range(9999) for b in range(9999))", "takes longer than 1 s"),
    ],
)
def test_an_expression_ends_soon(text: str, why: str) -> None:
    """An expression that would take long, or much memory, is an error after a second at most, and the walk goes on."""
    walk, began, traced = control(**RECORDS), time.perf_counter(), sys.gettrace()
    with pytest.raises(SpecError, match=re.escape(why)):
        expression(text).of(walk.world, walk.state)
    assert time.perf_counter() - began < 10 and sys.gettrace() is traced
    assert expression("2 * 3 * k.brokers").of(walk.world, walk.state) == 12


def test_columns_are_shown_in_every_form_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`trace --show` adds the values to text, JSON, charts and page; a field is shown as traces show it."""
    forms = ("text", "json", "mermaid", "svg", "html")
    files = {form: tmp_path / f"trace.{form}" for form in forms}
    asked = [f"--output={form}:{file}" for form, file in files.items()]
    show = ["--show", "who = s.quorum.isr", "--show", "len(s.requests)"]
    code = kafka_spec(["trace", "replication/kip_279", "--bounds", "three_replicas", "-q", *show, *asked])
    capsys.readouterr()
    assert code == 0
    for form, file in files.items():
        text = file.read_text(encoding="utf-8")
        assert "who" in text and "{0, 1, 2}" in text and "len(s.requests)" in text, form
    assert kafka_spec(["trace", "replication/kip_279", "--show", "open(1)"]) == 2


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("examples.tutorial:LOCK", []),
        ("zookeeper/KAFKA-1382", []),
        ("sample_specs:LEAVES_DOMAIN", []),
        ("sample_specs:COUNTER", ["--property", "Arrives"]),
        ("zookeeper/KAFKA-1738", []),
    ],
)
def test_a_trace_becomes_a_test_that_passes(
    model: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test that `trace --as-test` writes passes, and fails when one of its steps is left out."""
    file = tmp_path / "test_trace.py"
    assert kafka_spec(["trace", model, "-q", "--as-test", str(file), *options]) == 0
    capsys.readouterr()
    source = file.read_text(encoding="utf-8")
    run_tests(source)
    steps = [number for number, line in enumerate(source.splitlines()) if line.strip().startswith("walk.act(")]
    lines = source.splitlines()
    if len(steps) > 1:
        lines[steps[0]] = "    pass"
        with pytest.raises((AssertionError, SpecError, pytest.fail.Exception)):
            run_tests("\n".join(lines))


def run_tests(source: str) -> None:
    """Run the tests of a module's text."""
    scope: dict[str, Any] = {}
    exec(compile(source, "test_trace.py", "exec"), scope)
    tests = [value for name, value in scope.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_a_walk_follows_a_trace() -> None:
    """A walk along a trace ends in the trace's last state; one of another model is refused."""
    trace, spec = kip_279()
    walk = Walk.along(trace, spec)
    assert walk.trace().steps == trace.steps and walk.violated == ["StrongIsr"] and walk.trace().shows == "StrongIsr"
    other, house = doors()
    with pytest.raises(SpecError, match="the trace is one of replication/kip_279"):
        Walk.along(trace, house)
    assert Walk.along(other, house).step.summary == other.steps[-1].summary
