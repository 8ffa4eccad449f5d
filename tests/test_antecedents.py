"""Antecedents: a claim is made of the states and steps that meet one, and every engine counts the same of them."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, ROOT, Command, Explore, named_checks
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec import MODELS, check
from kafka_spec.model_check.check import Expectation, Outcome
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.ci import github_text, markdown_text
from kafka_spec.model_check.report.plain import model_plain, result_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import Bound, Range, field
from kafka_spec.spec.vocabulary.table import Property, Rule, Spec, SpecError, invariant, reachable, recoverable, step_invariant
from tests import sample_specs

PAGE = ROOT / "docs" / "kafka" / "tested.md"


def counts(result: Exploration) -> dict[str, int | None]:
    """Return on how many states or steps each claim was tested."""
    return {name: result.tested_of(name) for name, _ in result.claims}


def test_a_claim_is_made_of_what_meets_its_antecedent(explore: Explore) -> None:
    """Claims are violated, and tested, only in states that meet their antecedents; counting continues after a violation."""
    result = explore(sample_specs.TESTED, {"limit": 5}, everything=True)

    assert result.violated == ["OddIsLow", "OverIsUp", "OddIsStuck"]
    assert {name: len(result.findings[name].actions) for name in result.violated} == {"OddIsLow": 3, "OverIsUp": 6, "OddIsStuck": 1}
    assert counts(result) == {
        "HighIsWithin": 3, "PastIsLow": 0, "OddIsLow": 3, "Within": 6, "CountsUp": 5, "OverIsUp": 1,
        "OddArrives": 2, "OddIsStuck": 3, "TypeInvariant": 6,
    }  # fmt: skip
    assert result.untested == ["PastIsLow"]


def test_a_search_that_stops_counts_what_it_judged(explore: Explore) -> None:
    """A search that ends with a violation has counted the levels up to that one."""
    result = explore(sample_specs.TESTED, {"limit": 5})

    assert (result.distinct, result.violated) == (4, ["OddIsLow"])
    assert (counts(result)["OddIsLow"], counts(result)["CountsUp"], result.untested) == (2, 3, ["PastIsLow", "OverIsUp"])


def test_goals_are_not_tested(explore: Explore) -> None:
    """A goal is reached or not, and claims nothing of each state: it has no number of tests, and may have no antecedent."""
    assert counts(explore(sample_specs.COUNTER, {"limit": 5}))["Arrives"] is None
    with pytest.raises(SpecError, match="a goal has no antecedent; make is_odd a part of its predicate"):
        Property("Goal", "reachable", sample_specs.is_high, "", "", sample_specs.is_odd)


def writes(s: sample_specs.Count) -> bool:
    """Write, where it may only look."""
    s.value = 1
    return True


def test_an_antecedent_is_checked_like_a_predicate() -> None:
    """An antecedent takes the predicate's parameters, and may not write."""
    with pytest.raises(SpecError, match="takes before, which property P does not have"):
        invariant("P", sample_specs.is_high, "", "", when=sample_specs.starts_over)
    with pytest.raises(SpecError, match="guards look, effects write"):
        invariant("P", sample_specs.is_high, "", "", when=writes)


def divides(s: sample_specs.Count) -> bool:
    """Cannot be evaluated at 3."""
    return 12 // (s.value - 3) > 100


def test_an_antecedent_that_cannot_be_evaluated_is_told(explore: Explore) -> None:
    """A fault of an antecedent is a fault of its property; if the antecedent is not met, the predicate is not evaluated."""
    faulty = invariant("Faulty", sample_specs.is_high, "", "", when=divides)
    spared = invariant("Spared", divides, "", "", when=sample_specs.is_past_limit)
    rules = (sample_specs.COUNT_UP,)

    with pytest.raises(SpecError, match="Faulty: divides cannot be executed"):
        explore(Spec("faulty", "", sample_specs.Count, rules, (faulty,)), {"limit": 5})
    assert explore(Spec("spared", "", sample_specs.Count, rules, (spared,)), {"limit": 5}).verdict == "holds"


# ---------------------------------------------------------------------------------------------------------------------
# Random claims

NODES = 6


@dataclass
class Node:
    """Where in a graph somebody is; edges and claims are in the constants, a bit for each."""

    at: int = field(Range(0, NODES - 1))


def start_anywhere(s: Node, at: int) -> None:
    """Start at the node."""
    s.at = at


def starts_here(k: Any, at: int) -> bool:
    """The node is one to start from."""
    return k.starts >> at & 1 == 1


def leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge."""
    return k.edges >> (6 * s.at + to) & 1 == 1


def go(s: Node, to: int) -> None:
    """Go to the other end of the edge."""
    s.at = to


def state_meets(s: Node, k: Any) -> bool:
    """The state meets the antecedent."""
    return k.when >> s.at & 1 == 1


def state_keeps(s: Node, k: Any) -> bool:
    """The state keeps the claim."""
    return k.then >> s.at & 1 == 1


def step_meets(before: Node, after: Node, k: Any) -> bool:
    """The step meets the antecedent."""
    return k.step_when >> (6 * before.at + after.at) & 1 == 1


def step_keeps(before: Node, after: Node, k: Any) -> bool:
    """The step keeps the claim."""
    return k.step_then >> (6 * before.at + after.at) & 1 == 1


ANY_NODE = Range(0, NODES - 1)
GRAPH = Spec(
    "graph",
    "a graph of six nodes",
    Node,
    (Rule("Go", "world", "", "", (go,), {"to": ANY_NODE}, (leads,)),),
    (
        invariant("State", state_keeps, "", "", when=state_meets),
        invariant("SameAntecedent", state_meets, "", "", when=state_meets),
        step_invariant("Step", step_keeps, "", "", when=step_meets),
        recoverable("Way", state_keeps, "", "", when=state_meets),
    ),
    start=Rule("Start", "world", "", "", (start_anywhere,), {"at": ANY_NODE}, (starts_here,)),
    more_bounds=(
        Bound("starts", 1, 2**NODES - 1, "where to start"),
        *(Bound(name, 0, 2**NODES - 1, "states") for name in ("when", "then")),
        *(Bound(name, 0, 2 ** (NODES * NODES) - 1, "steps") for name in ("edges", "step_when", "step_then")),
    ),
)
NODE_SETS = st.integers(0, 2**NODES - 1)
EDGE_SETS = st.lists(st.integers(0, NODES * NODES - 1), max_size=12).map(lambda bits: sum(1 << bit for bit in set(bits)))
MANY_EDGES = st.integers(0, 2 ** (NODES * NODES) - 1)
GRAPHS = st.fixed_dictionaries(
    {
        "starts": st.integers(1, 2**NODES - 1),
        "when": NODE_SETS,
        "then": NODE_SETS,
        "edges": EDGE_SETS,
        "step_when": MANY_EDGES,
        "step_then": MANY_EDGES,
    }
)


@given(GRAPHS)
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_random_graphs(bounds: dict[str, int]) -> None:
    """On any small graph each engine counts the states and steps that meet an antecedent, as the definition has it."""
    reached = {node for node in range(NODES) if bounds["starts"] >> node & 1}
    edges = {(a, b) for a in range(NODES) for b in range(NODES) if bounds["edges"] >> (NODES * a + b) & 1}
    for _ in range(NODES):
        reached |= {b for a, b in edges if a in reached}
    steps = [(a, b) for a, b in edges if a in reached and bounds["step_when"] >> (NODES * a + b) & 1]
    states = [node for node in reached if bounds["when"] >> node & 1]
    broken = [node for node in states if not bounds["then"] >> node & 1]
    safe = {node for node in range(NODES) if bounds["then"] >> node & 1}
    for _ in range(NODES):
        safe |= {a for a, b in edges if b in safe}
    expected = {"State": len(states), "SameAntecedent": len(states), "Step": len(steps), "Way": len(broken)}
    for engine in ENGINES.values():
        result = engine(GRAPH, bounds, everything=True)
        assert {name: result.tested_of(name) for name in expected} == expected
        assert ("State" in result.findings) == bool(broken)
        assert ("Way" in result.findings) == any(node not in safe for node in states)
        assert ("Step" in result.findings) == any(not bounds["step_then"] >> (NODES * a + b) & 1 for a, b in steps)


# ---------------------------------------------------------------------------------------------------------------------
# Kafka's properties

WHOLE = {
    "zookeeper": (
        "OneLeaderInEachEpoch", "EpochsNeverGoBack", "NoStaleRequest", "OneControllerInEachEpoch", "IsrAssigned",
        "DeadStayOutOfIsr", "Committed", "HighWatermarkGrows",
    ),
    "replication": ("WeakIsr", "StrongIsr"),
}  # fmt: skip
"""Properties whose predicate is true whenever their antecedent is not met: the antecedent only serves to count."""


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        ("zookeeper/fixed", "crash_and_expiry"),
        ("zookeeper/era_0_10", "old_epochs"),
        ("replication/high_watermark", "small"),
        ("replication/kip_279", "three_replicas"),
    ],
)
def test_antecedents_weaken_nothing(model: str, bounds: str) -> None:
    """Without their antecedents those properties are violated at the same bounds, in the same states and steps."""
    spec = MODELS[model]
    values = next(chosen.values for chosen in spec.bound_sets if chosen.name == bounds)
    claims = [spec.property(name) for name in WHOLE[model.split("/")[0]]]
    bare = [dataclasses.replace(claim, when=None) for claim in claims]
    mine, theirs = (embedded.explore(spec, values, properties=some, everything=True) for some in (claims, bare))

    assert mine.complete and mine.findings == theirs.findings


def test_every_promise_of_the_models_has_an_antecedent() -> None:
    """Every invariant of replication and of the control plane says when it is tested."""
    claims = {claim for spec in MODELS.values() for claim in spec.properties if claim.kind in ("invariant", "step invariant")}

    assert len(claims) > 20 and [claim.name for claim in claims if claim.when is None] == []


def test_engines_count_the_same_of_a_model() -> None:
    """Oracle and compiled code count the same states and steps of every property of the control plane."""
    spec = MODELS["zookeeper/fixed"]
    values = next(chosen.values for chosen in spec.bound_sets if chosen.name == "lossy")
    one, other = (explore(spec, values) for explore in (oracle.explore, embedded.explore))

    assert one.complete and counts(one) == counts(other)
    assert min(value or 0 for value in counts(one).values()) == 0 < (counts(one)["Committed"] or 0)


# ---------------------------------------------------------------------------------------------------------------------
# Reports


def test_reports() -> None:
    """Text and JSON give the number of tests and the antecedent of each property, Markdown those of all checks."""
    result = embedded.explore(sample_specs.TESTED, {"limit": 5}, everything=True)
    reported = {claim["name"]: (claim["antecedent"], claim["tested"]) for claim in result_plain(result, {})["properties"]}
    text = result_text(result, {}, timing=False)
    outcome = Outcome("tested", result, Expectation("violated"))

    assert (
        reported["OddIsLow"] == ("is_odd", 3) and reported["Within"] == (None, 6) and reported["PastIsLow"] == ("is_past_limit", 0)
    )
    assert result_plain(result, {})["never_tested"] == ["PastIsLow"]
    assert "  HighIsWithin         invariant       holds             -             3  what is high" in text
    assert "  PastIsLow            invariant       holds             -         never  what is past" in text
    assert "| tested | PastIsLow | OverIsUp 1, OddArrives 2," in markdown_text([outcome])
    assert model_plain(sample_specs.TESTED)["properties"][0]["antecedent"] == "is_high"
    assert "      tested where the value is 3 or more (is_high)" in model_text(sample_specs.TESTED)


def test_github_is_warned(tmp_path: Path) -> None:
    """A check that passes while a property was never tested is a warning at its place in the manifest."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text('x = 1\nname = "tested"\n')
    result = check(sample_specs.TESTED, properties=["PastIsLow", "Within"])

    text = github_text([Outcome("tested", result, Expectation())], manifest)
    assert text.startswith(
        f"::warning file={manifest},line=2,title=kafka-spec%3A tested::properties that were never tested: PastIsLow"
    )


MANIFEST = """
[[tool.kafka-spec.checks]]
name = "one"
model = "tests.sample_specs:TESTED"
verdict = "holds"
properties = ["PastIsLow", "HighIsWithin"]
{more}
"""


@pytest.mark.parametrize(("more", "code"), [("", 0), ("all_properties_tested = false", 0), ("all_properties_tested = true", 1)])
def test_manifest(kafka_spec: Command, tmp_path: Path, more: str, code: int) -> None:
    """A property that was never tested gives a warning, and a failure if the manifest requires all to be tested."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(more=more))
    run = kafka_spec("check", cwd=tmp_path)
    message = "properties that were never tested: PastIsLow"

    assert run.returncode == code, run.stderr
    assert (message in run.stderr, message in run.stdout) == (code == 0, code == 1)


@pytest.mark.parametrize(
    ("of_all", "more", "code"), [("true", "", 1), ("true", "all_properties_tested = false", 0), ("false", "", 0)]
)
def test_whole_manifest(kafka_spec: Command, tmp_path: Path, of_all: str, more: str, code: int) -> None:
    """What [tool.kafka-spec] says of tested properties is of each check that is expected to hold and does not say otherwise."""
    violated = MANIFEST.format(more="").replace('"one"', '"two"').replace("TESTED", "TRAP").replace("holds", "violated")
    text = f"[tool.kafka-spec]\nall_properties_tested = {of_all}\n" + MANIFEST.format(more=more)
    (tmp_path / "pyproject.toml").write_text(text + violated.replace('"PastIsLow", "HighIsWithin"', '"Home"'))
    run = kafka_spec("check", cwd=tmp_path)

    assert run.returncode == code, run.stderr
    assert "ok    two" in run.stdout


LEFT_OUT = 'not_tested = { "PAST" = ["PastIsLow"] }'


@pytest.mark.parametrize(
    ("more", "code", "reported"),
    [
        (LEFT_OUT, 0, ""),
        (f"{LEFT_OUT}\nall_properties_tested = true", 0, ""),
        ('not_tested = { "early" = ["HighIsWithin", "PastIsLow"] }', 1, "HighIsWithin was tested, against expectation: early"),
        ('not_tested = { "why" = ["Nobody"] }', 2, "not_tested: property 'Nobody' is unknown, or not judged"),
        ('not_tested = { "why" = "PastIsLow" }', 2, "not_tested.'why' is not a list of names of properties"),
    ],
)
def test_what_is_left_out_is_named(kafka_spec: Command, tmp_path: Path, more: str, code: int, reported: str) -> None:
    """A property that the manifest names as not tested gives no warning, and is a failure once it is tested."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(more=more))
    run = kafka_spec("check", cwd=tmp_path)

    assert run.returncode == code, run.stderr
    assert reported in run.stdout + run.stderr and "never tested" not in run.stdout + run.stderr


def test_table_of_what_was_tested(kafka_spec: Command, tmp_path: Path) -> None:
    """`--format tested` has a row for each check, a count for each property, and the reasons for what is not tested."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(more=LEFT_OUT))
    lines = kafka_spec("check", "--format", "tested", cwd=tmp_path).stdout.splitlines()

    assert lines[0] == "| check | states | verdict | PastIsLow | HighIsWithin |"
    name, states, verdict, past, high = (cell.strip() for cell in lines[2].strip("|").split("|"))
    assert (name, verdict, past) == ("`one`", "holds", "0") and int(states) >= int(high) > 0
    assert lines[-1] == "* `one`: PAST: PastIsLow"


def test_command_line(kafka_spec: Command) -> None:
    """`check` warns of it, and with --all-properties-tested ends with 1."""
    claims = ("--property", "PastIsLow", "--property", "HighIsWithin")
    plain = kafka_spec("check", "tests.sample_specs:TESTED", *claims, "--engine", "both", "--format", "json")
    strict = kafka_spec("check", "tests.sample_specs:TESTED", *claims, "--all-properties-tested")

    assert (plain.returncode, strict.returncode) == (0, 1)
    assert json.loads(plain.stdout)["never_tested"] == ["PastIsLow"]
    assert all("warning: tested: properties that were never tested: PastIsLow" in run.stderr for run in (plain, strict))


def test_a_reachable_predicate_keeps_its_form() -> None:
    """An antecedent changes the claim's meaning, not its name or kind."""
    claim = recoverable("Back", sample_specs.is_at_limit, "summary", "reference", when=sample_specs.is_odd)

    assert (claim.name, claim.kind, claim.when) == ("Back", "recoverable", sample_specs.is_odd)
    assert reachable("Goal", sample_specs.is_high, "", "").when is None
    assert Interpreter(sample_specs.TESTED, {"limit": 5}).judge(sample_specs.TESTED.property("PastIsLow"), sample_specs.Count(5)), (
        "its antecedent is not met"
    )


SHARED = """
[[tool.kafka-spec.checks]]
name = "one"
model = "zookeeper/fixed"
verdict = "holds"
bounds = "reassigned"
properties = ["Committed", "OneWriter"]
not_tested = { "of its own" = ["OneWriter"] }

[[tool.kafka-spec.not_tested]]
reason = "nobody writes"
while_zero = ["records", "crashes"]
properties = ["Committed", "LogMatch"]
"""


@pytest.mark.parametrize(
    ("change", "becomes", "expected"),
    [
        ("", "", {"Committed": "nobody writes", "OneWriter": "of its own"}),
        ('"crashes"', '"reassignments"', {"OneWriter": "of its own"}),
        ('"crashes"', '"no_bound_of_this_model"', {"OneWriter": "of its own"}),
    ],
)
def test_what_no_check_tests_is_named_once(tmp_path: Path, change: str, becomes: str, expected: dict[str, str]) -> None:
    """An entry for all checks names what they do not test while all its bounds are 0, as far as they judge it."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(SHARED.replace(change, becomes) if change else SHARED)
    (one,) = read_manifest(manifest, MODELS.__getitem__)
    assert one.expected.not_tested == expected


@pytest.mark.parametrize(
    ("change", "becomes", "message"),
    [
        ("reason", "why", "an entry has the keys reason, while_zero, properties, and no other"),
        ('["records", "crashes"]', '"records"', "while_zero a list of bounds"),
        ('["records", "crashes"]', "[]", "while_zero a list of bounds"),
        ('["Committed", "LogMatch"]', "[1]", "properties a list of names"),
    ],
)
def test_an_entry_for_all_checks_is_checked(tmp_path: Path, change: str, becomes: str, message: str) -> None:
    """An entry with other keys, or with values of another kind, is refused with what it should be."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(SHARED.replace(change, becomes))
    with pytest.raises(SpecError, match=message):
        read_manifest(manifest, MODELS.__getitem__)


def cells_of(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def test_the_page_of_what_is_tested_is_that_of_the_manifest() -> None:
    """docs/kafka/tested.md has every family of `fixed` with its counts, and a 0 exactly where the manifest has a reason."""
    checks = {one.name: one for one in named_checks()}
    families = {name: one for name, one in checks.items() if one.spec.name in ("zookeeper/fixed", "kraft/fixed", "quorum/fixed")}
    families = {name: one for name, one in families.items() if one.expected.verdict == "holds"}
    tables = [[cells_of(line) for line in table.splitlines()] for table in PAGE.read_text(encoding="utf-8").split("\n\n")]
    reported: dict[str, dict[str, str]] = {}
    for head, _, *rows in (table for table in tables if table[0][0] == "check"):
        for name, *values in rows:
            reported.setdefault(name, {}).update(zip(head[1:], values, strict=True))

    assert list(reported) == list(families), "write the page again: make tested"
    for name, row in reported.items():
        expected = families[name].expected
        counts = {key: int(row.pop(key).replace(",", "")) for key in ("states searched", "all states", "levels")}
        assert counts["states searched"] == expected.distinct, f"{name}: write the page again: make tested"
        assert counts["levels"] == (expected.depth or counts["levels"])
        assert counts["all states"] == (expected.unreduced or expected.distinct)
        assert row.pop("verdict") == expected.verdict
        assert {claim for claim, count in row.items() if count == "0"} == {one.partition("[")[0] for one in expected.not_tested}, (
            name
        )
        judged = families[name].properties
        assert judged is None or {claim for claim, count in row.items() if count == "-"} == set(row) - set(judged), name
