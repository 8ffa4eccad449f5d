"""Coverage: the lines and guards that compiled code counts are those that plain Python runs, and pages show them."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import element_toys
import pytest
import sample_specs
from conftest import ROOT

from examples.raft_election import RAFT
from examples.tlaplus.alternating_bit import ALTERNATING_BIT
from examples.two_phase_commit import TWO_PHASE_COMMIT
from kafka_spec import MODELS, Spec
from kafka_spec.command import run as kafka_spec
from kafka_spec.diagrams.coverage import coverage_html
from kafka_spec.model_check.coverage import Coverage, coverage_of
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.coverage import coverage_plain, coverage_text
from kafka_spec.model_check.search import covering, embedded
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.spec.language.domain import Record, Scalar, SpecError, Type, items_of

SPECS: Mapping[str, tuple[Spec, Mapping[str, int]]] = {
    "two_phase_commit": (TWO_PHASE_COMMIT, {}),
    "raft": (RAFT, {"terms": 1}),
    "house": (sample_specs.DOORS, {}),
    "dead rule": (sample_specs.DEAD_RULE, {"limit": 5}),
    "counter": (sample_specs.COUNTER, {"limit": 5}),
    "kafka": (MODELS["zookeeper/fixed"], {"crashes": 0, "bounces": 0}),
}


SMALLEST: Mapping[str, Mapping[str, int]] = {"quorum/fixed": MODELS["quorum/fixed"].bound_sets[1].values}


@functools.cache
def covered(name: str) -> Coverage:
    """Return the coverage of a whole search."""
    spec, bounds = SPECS[name]
    return coverage_of(covering.covered(spec, spec.bound_values(bounds)))


@contextmanager
def traced(files: Collection[str]) -> Iterator[tuple[set[tuple[str, int]], Counter[str]]]:
    """Note each line and count each call of plain Python in some files."""
    lines: set[tuple[str, int]] = set()
    calls: Counter[str] = Counter()

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "call":
            calls[frame.f_code.co_name] += 1
        elif event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield lines, calls
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name == "kafka" else ()) for name in SPECS])
def test_the_lines_that_run_are_those_that_python_runs(name: str) -> None:
    """A statement counts as run exactly if the oracle, which runs the same functions in plain Python, runs its line."""
    spec, bounds = SPECS[name]
    found = covered(name)

    with traced(found.lines) as (lines, _):
        oracle.explore(spec, spec.bound_values(bounds), everything=True)

    with traced(found.lines) as (at_start, _):
        oracle.Interpreter(spec, spec.bound_values(bounds)).initial()
    for file, counts in found.lines.items():
        ran = {line for line, count in counts.items() if count}
        # the start rule is plain Python; it may share functions with the others
        assert ran <= {line for line in counts if (file, line) in lines}, file
        assert ran >= {line for line in counts if (file, line) in lines - at_start}, file
    assert any(count for counts in found.lines.values() for count in counts.values())


def test_guards_are_counted_as_often_as_python_asks_them() -> None:
    """What the rules together ask a guard is what plain Python calls it; and it refuses as often as no rule goes on."""
    found = covered("two_phase_commit")
    asked = Counter[str]()
    for rule in found.rules:
        for guard in rule.conditions:
            asked[guard.name] += guard.asked
    with traced(found.lines) as (_, calls):
        result = oracle.explore(TWO_PHASE_COMMIT, TWO_PHASE_COMMIT.bound_values({}), everything=True)

    assert asked == {name: calls[name] for name in asked}
    for rule in found.rules:
        assert rule.fired == result.fired[rule.name]
        assert rule.fired % (rule.conditions[-1].asked - rule.conditions[-1].refused) == 0
        for one, other in zip(rule.conditions, rule.conditions[1:], strict=False):
            assert other.asked % (one.asked - one.refused) == 0  # once for each value of the parameters between them


def test_rows_and_their_conditions() -> None:
    """The rows that a trigger chooses add up; a condition of `unless` refuses where its guard holds."""
    found = covered("house")
    rows = {row.change: row for row in found.rows}

    assert rows
    for row in rows.values():
        for condition in row.conditions:
            assert 0 <= condition.refused <= condition.asked
        if row.conditions:
            assert row.fired == row.conditions[-1].asked - row.conditions[-1].refused, row
    denied = [condition for row in rows.values() for condition in row.conditions if condition.name.startswith("not ")]
    for condition in denied:
        stated = [c for row in rows.values() for c in row.conditions if c.name == condition.name.removeprefix("not ")]
        assert all(c.asked - c.refused == condition.refused for c in stated if c.asked == condition.asked)


def test_a_guard_that_never_refuses_is_said() -> None:
    """The summary names rules that never fire, and guards of others that could be dropped within these bounds."""
    dead = coverage_text(covered("dead rule"))
    assert re.search(r"rules +\d of \d fired; not:\n +\w+", dead)

    text = coverage_text(covered("kafka"))
    assert "ElectController: election_is_one_multi never refuses" in text
    assert "LateStopReplica:" not in text  # it never fires, so its guards are not listed above the counts


@pytest.mark.parametrize("spec", [RAFT, element_toys.TALK, ALTERNATING_BIT, MODELS["quorum/fixed"]], ids=lambda spec: spec.name)
def test_how_full_containers_become(spec: Spec) -> None:
    """Of each sequence, set, bag and queue, also inside others, the most items are those of the states that plain Python finds."""
    most = Counter[str]()

    def measure(type_: Type, value: Any, path: str) -> None:
        if isinstance(type_, Record):
            for field, inner in type_.fields.items():
                measure(inner, getattr(value, field), f"{path}.{field}".removeprefix("."))
        elif not isinstance(type_, Scalar):
            items = list(items_of(value))
            most[path] = max(most[path], len(items))
            for item in items:
                measure(type_.item, item, f"{path}[]")

    bounds = spec.bound_values(SMALLEST.get(spec.name, {}))
    world = Interpreter(spec, bounds)
    graph = graph_of(world, 10_000)
    assert graph.complete
    for state in graph.states:
        measure(world.space.root, state, "")
    containers = coverage_of(covering.covered(spec, bounds)).containers
    found = {one.path: one.fullest for one in containers}
    assert found and found == {path: most[path] for path in found}
    assert all(one.fullest <= one.capacity for one in containers)


def test_coverage_changes_no_result() -> None:
    """The search that counts finds the same states, steps and digest as one that does not; and it leaves nothing behind."""

    def searched(covering: bool) -> Exploration:
        return embedded.explore(TWO_PHASE_COMMIT, TWO_PHASE_COMMIT.bound_values({}), everything=True, covering=covering)

    plain, counting, again = searched(False), searched(True), searched(True)

    assert (counting.levels, counting.digest, counting.fired) == (plain.levels, plain.digest, plain.fired)
    assert plain.tallies == {}
    assert again.tallies == counting.tallies != {}
    with pytest.raises(SpecError, match="one thread"):
        embedded.explore(TWO_PHASE_COMMIT, {}, threads=2, covering=True)


def test_the_page_colours_the_sources() -> None:
    """Each statement, rule and row has its colour and its count on the page; the page loads nothing and escapes the source."""
    found = covered("kafka")
    page = coverage_html(found)
    file = next(file for file in found.lines if file.endswith("broker/isr.py"))
    text = Path(file).read_text(encoding="utf-8").splitlines()

    for line, count in list(found.lines[file].items())[:20]:
        shown = re.search(rf'id="[^"]*broker/isr.py:{line}" class="(\w+)"><i>([\d,]+)</i>', page)
        assert shown is not None, text[line - 1]
        assert (shown[1], shown[2]) == ("ran" if count else "never", f"{count:,}")
    for part in found.parts:
        assert part.lines != (0, 0) or getattr(part, "machine", "") in ("Reassignment", "TopicDeletion"), part
    assert re.search(r'class="partly"><i>0 of [\d,]+</i><b>\d+</b> +leader_knows_follower', page)
    assert "<script" not in page
    assert not re.search(r"https?:|src=|<link", re.sub(r"<section id=.*", "", page, flags=re.DOTALL))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`coverage` writes text, JSON and a page; a search that a budget stops ends inconclusive, with what it covered."""
    monkeypatch.chdir(ROOT)
    page, data = tmp_path / "c.html", tmp_path / "c.json"
    model = "examples.two_phase_commit:TWO_PHASE_COMMIT"

    assert kafka_spec(["coverage", model, "-q", "--output", f"html:{page}", "--output", f"json:{data}"]) == 0
    plain = json.loads(data.read_text(encoding="utf-8"))
    assert plain == json.loads(json.dumps(coverage_plain(covered("two_phase_commit"))))
    assert "examples/two_phase_commit.py" in plain["lines"]
    assert {c["judged"] for rule in plain["rules"] for c in rule["conditions"]} == {"both"}
    assert "examples/two_phase_commit.py" in page.read_text(encoding="utf-8")

    assert kafka_spec(["coverage", "replication/high_watermark-small", "-q", "--max-states", "50"]) == 3
    assert "not complete: the budget of 50 states is spent" in capsys.readouterr().out
    assert kafka_spec(["coverage", "zookeeper/fixd", "-q"]) == 2
    assert "perhaps zookeeper/fixed" in capsys.readouterr().err
