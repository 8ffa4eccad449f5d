"""What others read: state charts of other tools, and the schema of results."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from machines import machines

from kafka_spec.command import run as kafka_spec
from kafka_spec.diagrams.statecharts import SCXML, plantuml_text, scxml_text
from kafka_spec.spec.catalogue.machines import MACHINES
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Machine, name_of

SCHEMA = Draft202012Validator(json.loads((ROOT / "model_check" / "report" / "result.schema.json").read_text(encoding="utf-8")))
Step = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]


def steps_of(machine: Machine) -> list[Step]:
    """Return (trigger, source, target, conditions, effects) of each row and source."""
    return sorted(
        (row.trigger, source.name, row.target.name, row.conditions, tuple(map(name_of, row.effects)))
        for row in machine.rows
        for source in row.sources
    )


def read_scxml(text: str) -> list[Step]:
    """Read the steps back from SCXML."""
    space = {"x": SCXML}
    root = ElementTree.fromstring(text)
    known = {data.get("id") for data in root.iterfind("x:datamodel/x:data", space)}
    found = []
    for state in root.iterfind("x:state", space):
        for step in state.iterfind("x:transition", space):
            conditions = tuple(part for part in (step.get("cond") or "").split(" && ") if part)
            assert {part.split(" == ")[0] for part in conditions} <= known
            halves = [part.removeprefix("guard_").split(" == ") for part in conditions]
            said = tuple(name if value == "1" else f"not {name}" for name, value in halves)
            effects = tuple(str(effect.get("event")).removeprefix("effect-") for effect in step.iterfind("x:raise", space))
            found.append((str(step.get("event")), str(state.get("id")), str(step.get("target")), said, effects))
    return sorted(found)


def read_plantuml(text: str) -> list[Step]:
    """Read the steps back from PlantUML."""
    found = []
    for source, target, label in re.findall(r"^(\w+) -(?:\[dashed\])?-> (\w+) : (.*)$", text, re.MULTILINE):
        trigger, *parts = label.split("\\n")
        guards = [part[1:-1].split(" and ") for part in parts if part.startswith("[")]
        effects = [part[2:].split(", ") for part in parts if part.startswith("/ ")]
        found.append((trigger, source, target, tuple(guards[0] if guards else ()), tuple(effects[0] if effects else ())))
    return sorted(found)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_state_charts_have_every_row(name: str) -> None:
    """PlantUML and SCXML, read back, have the rows of the table: no more, no fewer, with guards and effects in order."""
    machine = MACHINES[name]
    assert read_scxml(scxml_text(machine)) == steps_of(machine)
    assert read_plantuml(plantuml_text(machine)) == steps_of(machine)


@settings(max_examples=40, deadline=None)
@given(machine=machines())
def test_state_charts_of_any_machine(machine: Machine) -> None:
    """The same for machines of any shape."""
    assert read_scxml(scxml_text(machine)) == steps_of(machine)
    assert read_plantuml(plantuml_text(machine)) == steps_of(machine)


def test_export_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export` has both formats, in a folder and on stdout, and the schema of results."""
    assert kafka_spec(["export", "--format", "scxml", "--folder", str(tmp_path)]) == 0
    assert kafka_spec(["export", "partition", "--format", "plantuml"]) == 0
    assert capsys.readouterr().out == plantuml_text(MACHINES["partition"])
    assert (tmp_path / "partition.scxml").read_text(encoding="utf-8") == scxml_text(MACHINES["partition"])
    assert kafka_spec(["export", "--format", "result-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA.schema
    assert kafka_spec(["export", "partition", "--format", "result-schema"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["replication/kip_279", "--bounds", "three_replicas"],
        ["replication/kip_101"],
        ["zookeeper/KAFKA-1738"],
        ["examples.tutorial:LOCK", "--engine", "both"],
        ["replication/kip_320", "--max-states", "100"],
        ["replication/kip_279-three-replicas", "zookeeper/KAFKA-1382-lost-reply"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_results_fit_the_schema(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Results that hold, break, go round and stop, alone and by name, fit the published schema."""
    kafka_spec(["check", "-q", "--format", "json", *arguments])
    plain = json.loads(capsys.readouterr().out)
    SCHEMA.validate(plain)


@pytest.mark.parametrize("name", ["zookeeper/fixed", "replication/kip_320"])
def test_the_page_of_a_model_is_complete_and_its_links_lead_somewhere(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule, property, function, decision, bound and abstraction has its entry, every link an anchor, and nothing is loaded."""
    assert kafka_spec(["models", name, "--format", "html"]) == 0
    page = capsys.readouterr().out
    spec = MODELS[name]
    anchors = re.findall(r' id="([^"]+)"', page)
    linked = set(re.findall(r'href="#([^"]+)"', page))

    assert linked <= set(anchors), linked - set(anchors)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    for rule in spec.rules:
        assert f"{name}.{rule.name}" in anchors
        for function in (*rule.guards, *rule.effects):
            assert f"{name}.f-{function.__name__}" in linked
    for claim in spec.properties:
        assert f"{name}.{claim.name}" in anchors and html.escape(claim.summary[1:]) in page
    for decision in spec.decisions:
        assert f"{name}.{decision.name}" in anchors
    assert all(html.escape(a.what) in page for a in spec.abstractions)
    assert all(f"{name}.bounds-{chosen.name}" in anchors for chosen in spec.bound_sets)
    assert all(f"<td>{html.escape(bound.meaning)}</td>" in page for bound in spec.bounds.values())


def test_the_schema_refuses_what_is_no_result() -> None:
    """The schema is one, and a result with a wrong verdict, a missing count or a damaged trace does not fit it."""
    Draft202012Validator.check_schema(SCHEMA.schema)
    result: dict[str, Any] = {
        "schema_version": 1, "model": "m", "files": {},
        "bounds": {}, "engine": "oracle", "threads": 1, "verdict": "holds", "complete": True,
        "stopped": None, "compared_with": [], "bounded": {}, "off": {}, "bounded_by": {}, "undecided_by": [], "distinct": 1,
        "normal_form": False, "unreduced": None, "constraint": None, "view": False, "generated": 0, "depth": 1,
        "levels": [1], "rules": {}, "never_fired": [], "never_tested": [], "properties": [],
        "seconds": {"compile": 0.0, "search": 0.0}, "peak_rss_bytes": 1, "record_bytes": 1, "graph_digest": "0" * 16,
        "fingerprint_collision_probability": 0.0, "not_covered": [],
    }  # fmt: skip
    SCHEMA.validate(result)
    broken = {
        "trace": {"format": "kafka-spec-trace"},
        "name": "P",
        "kind": "invariant",
        "verdict": "x",
        "antecedent": None,
        "tested": 0,
    }
    for change in ({"verdict": "good"}, {"distinct": -1}, {"graph_digest": "xyz"}, {"properties": [broken]}, {"schema_version": 2}):
        assert not SCHEMA.is_valid({**result, **change})
    for key in result:
        assert not SCHEMA.is_valid({name: value for name, value in result.items() if name != key})
