"""Pictures of machines: every row is drawn, once, in a stable order, in every format; eras are compared row by row."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pytest
import sample_specs
from conftest import Command
from hypothesis import given, settings
from lxml import etree
from machines import machines

from examples.tutorial import LOCK
from kafka_spec import MODELS
from kafka_spec.diagrams import explored
from kafka_spec.diagrams.arrows import arrows, boxes, changes, choice_of, compared
from kafka_spec.diagrams.dot import machine_dot, render
from kafka_spec.diagrams.explored import (
    NODES,
    STATES,
    explored_dot,
    explored_graph,
    explored_graphml,
    explored_json,
    explored_mermaid,
)
from kafka_spec.diagrams.markdown import changes_markdown, machine_markdown
from kafka_spec.diagrams.mermaid import escaped, machine_mermaid
from kafka_spec.diagrams.positions import PLACES
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.spec.catalogue.machines import MACHINES
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT_0_10, REASSIGNMENT_2_8
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.vocabulary.table import Machine, SpecError

Golden = Callable[[str, str], None]
TINY = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
RANDOM = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def drawn_rows(machine: Machine) -> Counter[object]:
    """Return the content of a machine's arrows, one entry for each row and source."""
    return Counter(
        (arrow.trigger, source, arrow.target, arrow.kind, choice)
        for arrow in arrows(machine)
        for choice in arrow.choices
        for source in arrow.sources
    )


def stated_rows(machine: Machine) -> Counter[object]:
    """Return the content of the table, one entry for each row and source."""
    return Counter((row.trigger, source, row.target, row.kind, choice_of(row)) for row in machine.rows for source in row.sources)


@given(machines())
@RANDOM
def test_every_row_is_drawn_once(machine: Machine) -> None:
    """The arrows of any machine show each row from each of its sources exactly once, and nothing else."""
    assert drawn_rows(machine) == stated_rows(machine)


@pytest.mark.parametrize("name", MACHINES)
def test_a_catalogue_machine_is_drawn_whole(name: str) -> None:
    """The same holds for the machines of the catalogue."""
    assert drawn_rows(MACHINES[name]) == stated_rows(MACHINES[name])


def test_rows_that_belong_together_are_one_arrow() -> None:
    """The replica machine's 26 rows are eleven arrows: four sources of offline_replica are one, with three choices."""
    offline = next(arrow for arrow in arrows(REPLICA) if arrow.trigger == "offline_replica")

    assert len(arrows(REPLICA)) == 11
    assert [source.name for source in offline.sources] == ["NEW", "ONLINE", "OFFLINE", "DELETION_INELIGIBLE"]
    assert len(offline.choices) == 3
    assert [arrow.trigger for arrow in arrows(REPLICA) if arrow.from_anywhere] == ["shutdown"]


@pytest.mark.parametrize("name", MACHINES)
def test_a_placed_machine_is_placed_whole(name: str) -> None:
    """If a machine has a layout, every state and box has a position in it, and no two share one; no lane names an unknown state."""
    machine = MACHINES[name]
    if machine.name not in PLACES:
        return
    places = PLACES[machine.name]
    points = [places.of_box(box) for box in boxes(arrows(machine))]
    states = [places.points[state.name] for state in machine.states]
    known = {state.name for era in MACHINES.values() if era.name == machine.name for state in era.states}

    assert None not in points
    assert len({*points, *states}) == len(points) + len(states)
    assert {state for lane in places.lanes.values() for state in lane} == known


def test_every_machine_of_the_controller_is_placed() -> None:
    """The machines of Kafka's controller and of its brokers' replicas have layouts."""
    assert set(PLACES) == {"Partition", "Replica", "Controller", "Role", "Reassignment", "TopicDeletion"}


def test_a_trigger_with_several_targets_is_one_box() -> None:
    """The partition machine's startup is one box with three numbered cases; each line from it carries its number."""
    dot = machine_dot(PARTITION)
    (startup,) = [box for box in boxes(arrows(PARTITION)) if box.first.trigger == "startup"]
    number = boxes(arrows(PARTITION)).index(startup)
    lines = re.findall(rf"arrow{number} -> (\w+) .*?<td>(.*?)</td>", dot)

    assert dot.count("<b>startup</b>") == 1
    assert re.findall(r"(\d)\. \[([^<\]]*)", next(line for line in dot.splitlines() if "<b>startup</b>" in line)) == [
        ("1", "not\xa0leadership_is_known"), ("2", "leadership_is_known and"), ("3", "leadership_is_known and"),
    ]  # fmt: skip
    assert lines == [("NEW", "1."), ("ONLINE", "2."), ("OFFLINE", "3.")]


@given(machines())
@RANDOM
def test_boxes_hold_every_arrow_once(machine: Machine) -> None:
    """The boxes of any machine hold its arrows, each once, and number its choices without a gap."""
    drawn = boxes(arrows(machine))

    assert Counter(arrow for box in drawn for arrow in box.arrows) == Counter(arrows(machine))
    for box in drawn:
        assert [n for arrow in box.arrows for n in box.numbers(arrow)] == list(range(1, len(box.choices) + 1))
        assert [box.choices[n - 1] for arrow in box.arrows for n in box.numbers(arrow)] == list(box.choices)


def test_a_loop_is_one_line() -> None:
    """A source that is a target too has one line, which begins with a circle; the others have two, and the second has no circle."""
    dot = machine_dot(PARTITION)
    offline = next(n for n, box in enumerate(boxes(arrows(PARTITION))) if box.first.trigger == "offline_partition")

    assert re.findall(rf"(\w+) -> arrow{offline} ", dot) == ["NEW", "ONLINE"]
    assert re.findall(rf"arrow{offline} -> (\w+) .*arrowtail=odot", dot) == ["OFFLINE"]
    assert dot.count("arrowtail=odot") == 2


def test_boxes_of_two_eras_do_not_lie_on_each_other() -> None:
    """Where boxes of two eras would share a position, Graphviz computes the layout; where none would, positions stay."""
    apart = machine_dot(REASSIGNMENT_2_8, compared(REASSIGNMENT_0_10, REASSIGNMENT_2_8))

    assert "pos=" in machine_dot(REASSIGNMENT_2_8)
    assert "pos=" in machine_dot(REPLICA, compared(REPLICA_0_10, REPLICA))
    assert "pos=" not in apart


def test_the_usual_way_is_straight() -> None:
    """In each layout the usual path leads from left to right; failure and completion below it, deletion right of it or below."""
    for places in PLACES.values():
        path = [places.points[state] for state in places.lanes["path"]]
        assert len({y for _, y in path}) == 1
        assert [x for x, _ in path] == sorted(x for x, _ in path)
        for state in (*places.lanes.get("failure", ()), *places.lanes.get("completion", ())):
            assert places.points[state][1] > path[0][1]
        for state in places.lanes.get("deletion", ()):
            assert places.points[state][0] > path[-1][0]


@pytest.mark.parametrize("machine", [PARTITION, sample_specs.DOOR], ids=["partition", "door"])
def test_formats(machine: Machine, golden: Golden) -> None:
    """Mermaid, DOT and Markdown of a placed machine, and of one that Graphviz lays out, read as they did."""
    name = machine.name.lower()
    golden(f"{name}.mmd", machine_mermaid(machine))
    golden(f"{name}.dot", machine_dot(machine))
    golden(f"{name}.md", machine_markdown(machine))


def test_eras(golden: Golden) -> None:
    """0.10 and 2.8 differ in one pair, which 0.10 lacks, as Mermaid and Markdown."""
    golden("replica-eras.mmd", machine_mermaid(REPLICA, compared(REPLICA_0_10, REPLICA)))
    golden("replica-eras.md", changes_markdown(REPLICA_0_10, REPLICA))

    assert [c.status for c in changes(REPLICA_0_10, REPLICA) if c.status != "same"] == ["added"]
    assert [c.status for c in changes(REPLICA, REPLICA_0_10) if c.status != "same"] == ["removed"]


@given(machines())
@RANDOM
def test_a_machine_does_not_differ_from_itself(machine: Machine) -> None:
    """Compared with itself, any machine shows its own arrows, all the same."""
    assert {change.status for change in changes(machine, machine)} == {"same"}
    assert compared(machine, machine) == arrows(machine)
    assert "No row differs." in changes_markdown(machine, machine)


@given(machines())
@RANDOM
def test_a_row_taken_away_is_seen(machine: Machine) -> None:
    """A row with an added guard shows as changed, old and new; no other row does."""
    first = machine.rows[0]
    guarded = dataclasses.replace(first, guards=(*first.guards, "another_guard"))
    newer = dataclasses.replace(machine, rows=(guarded, *machine.rows[1:]))
    found = [change for change in changes(machine, newer) if change.status != "same"]

    assert [(change.status, change.trigger, change.source) for change in found] == [
        ("changed", first.trigger, source) for source in first.sources
    ]
    statuses = [arrow.status for arrow in compared(machine, newer) if arrow.trigger == first.trigger]
    assert sorted(statuses) == ["added", "removed"]


def test_two_machines_are_not_two_eras(inside: Command) -> None:
    """Machines with different states are not compared."""
    with pytest.raises(SpecError, match="machines Partition and Replica have different states"):
        changes(PARTITION, REPLICA)
    run = inside("draw", "partition", "--against", "replica")

    assert (run.returncode, run.stdout) == (2, "")


@given(machines())
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
def test_graphviz_takes_any_machine(machine: Machine) -> None:
    """Graphviz draws any machine; the SVG is well-formed and contains each state by its id."""
    root = etree.fromstring(render(machine_dot(machine), "svg"))
    ids = set(root.xpath("//@id"))

    assert {f"state-Random-{state.name}" for state in machine.states} <= ids
    assert {f"arrow-Random-{number}" for number in range(len(boxes(arrows(machine))))} <= ids


def test_png(inside: Command, tmp_path: Path) -> None:
    """PNG goes to a file; several formats in one run go to several."""
    picture, text = tmp_path / "replica.png", tmp_path / "replica.dot"
    run = inside("draw", "replica", "--output", f"png:{picture}", "--output", f"dot:{text}", "--format", "markdown")

    assert run.returncode == 0, run.stderr
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    assert text.read_text() == machine_dot(REPLICA)
    assert run.stdout == machine_markdown(REPLICA)


def test_without_graphviz(kafka_spec: Command, tmp_path: Path) -> None:
    """Without the program dot, Mermaid, DOT and Markdown work, and the message of SVG says how to get it."""
    nowhere = {"PATH": str(tmp_path)}
    for form in ("mermaid", "dot", "markdown"):
        assert kafka_spec("draw", "replica", "--format", form, env=nowhere).returncode == 0
    run = kafka_spec("draw", "replica", "--format", "svg", env=nowhere)

    assert (run.returncode, run.stdout) == (2, "")
    assert "apt-get install graphviz" in run.stderr
    assert "--format mermaid" in run.stderr


def test_wrong_requests(inside: Command) -> None:
    """An error about what cannot be drawn lists what can be drawn."""
    cases = {
        (): "name what to draw: partition, replica",
        ("nobody",): "'nobody' is neither a machine nor a model; there is partition",
        ("replica", "--by", "x"): "--by, --bound and --bounds apply to models",
        ("replica", "--check"): "leave out the name",
        ("sample_specs:DOORS", "--format", "markdown"): "a model is not drawn as markdown; take mermaid",
        ("sample_specs:DOORS", "--against", "replica"): "--against compares machines",
        ("sample_specs:Door",): "a Machine is needed",
        ("replica", "--output", "svg:"): "it names no file; write svg:FILE",
    }
    for arguments, message in cases.items():
        run = inside("draw", *arguments)
        assert run.returncode == 2, arguments
        assert message in run.stderr


def test_mermaid_escapes() -> None:
    """Characters with a meaning in Mermaid are escaped, so they are shown literally."""
    assert escaped('a "b" <i>; #1\n%') == "a #quot;b#quot; #lt;i#gt;#59; #35;1 %"


# ---------------------------------------------------------------------------------------------------------------------
# Explored graphs


def test_a_model_of_many_states_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has too many states to be drawn is counted by compiled code: plain Python explores no more than the first of them."""
    applied = 0
    apply = Interpreter.apply

    def counted(world: Interpreter, *arguments: Any, **more: Any) -> Any:
        nonlocal applied
        applied += 1
        return apply(world, *arguments, **more)

    monkeypatch.setattr(Interpreter, "apply", counted)
    monkeypatch.setattr(explored, "SLOW", 20)
    spec = MODELS["replication/kip_320"]

    with pytest.raises(SpecError, match="kip_320 has more than 20,000 states within these bounds"):
        explored_graph(spec, {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2})
    assert 0 < applied < 100
    assert explored_graph(spec, TINY, most=STATES).number_of_nodes() == 277


def test_a_small_model_is_drawn_whole() -> None:
    """The graph of a small model has a node for each state and an edge for each step that the oracle counts."""
    result = oracle.explore(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS), everything=True)
    graph = explored_graph(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS))

    assert graph.number_of_nodes() == result.distinct
    assert sum(edge["count"] for _, _, edge in graph.edges(data=True)) == result.generated
    assert [number for number, node in graph.nodes(data=True) if node["initial"]] == [0]


def test_a_quotient_joins_what_agrees() -> None:
    """By a field, states that agree in it are one node; the nodes' states add up to all."""
    spec = MODELS["replication/high_watermark"]
    bounds = spec.bound_values(dict(next(b.values for b in spec.bound_sets if b.name == "tiny")))
    graph = explored_graph(spec, bounds, ["quorum.leader"])

    assert {node["fields"][0][1] for _, node in graph.nodes(data=True)} == {"none", "broker 0", "broker 1"}
    assert sum(node["states"] for _, node in graph.nodes(data=True)) == 353
    assert not any(source == target for source, target in graph.edges())


def test_no_hairball(inside: Command) -> None:
    """A model of more than 200 states without machines is not drawn; the message names the fields it can be grouped by."""
    run = inside("draw", "replication/high_watermark", "--bounds", "tiny")
    wrong = inside("draw", "replication/high_watermark", "--bounds", "tiny", "--by", "leader")
    fields = re.findall(r"replicas\[\d\]\.\w+|quorum\.\w+", run.stderr)
    many = inside("draw", "replication/high_watermark", "--bounds", "tiny", *(f"--by={field}" for field in fields))

    assert {run.returncode, wrong.returncode, many.returncode} == {2}
    assert f"353 states and no machine to group them by; at most {NODES} are drawn" in run.stderr
    assert "there is no field 'leader'; there is replicas[0].log" in wrong.stderr
    assert "name fewer fields with --by" in many.stderr


def test_graphs_for_other_tools(tmp_path: Path, inside: Command) -> None:
    """GraphML, read back by networkx, and JSON have every state and step of a model that is too large to be drawn."""
    spec = MODELS["replication/high_watermark"]
    made = explored_graph(spec, TINY, most=STATES)
    file = tmp_path / "graph.graphml"
    file.write_text(explored_graphml(made), encoding="utf-8")
    read = networkx.read_graphml(file, force_multigraph=True)
    plain = json.loads(explored_json(made))

    assert read.number_of_nodes() == len(plain["nodes"]) == 353
    assert read.number_of_edges() == len(plain["edges"]) == made.number_of_edges()
    assert read.nodes["0"]["quorum.leader"] == plain["nodes"][0]["fields"]["quorum.leader"] == "none"
    assert sum(edge["count"] for edge in plain["edges"]) == oracle.explore(spec, TINY, everything=True).generated
    assert any("StrongIsr" in node["wrong"] for node in plain["nodes"])
    assert inside("draw", "replica", "--format", "json").returncode == 2
    assert inside("draw", "examples.tutorial:LOCK", "--format", "json").stdout == explored_json(explored_graph(LOCK, {}))


def test_what_is_wrong_with_a_state_is_marked() -> None:
    """A state that violates an invariant, or has no step, is marked in both formats of text, and no other."""
    graph = explored_graph(LOCK, {})
    marked = {number: node["wrong"] for number, node in graph.nodes(data=True) if node["wrong"]}
    both = next(
        number for number, node in graph.nodes(data=True) if dict(node["fields"])["place[0]"] == "2" == node["fields"][1][1]
    )

    assert "OneHolder" in marked[both] and sum("OneHolder" in names for names in marked.values()) == 1
    assert all(graph.out_degree(number) == 0 for number, names in marked.items() if "Deadlock" in names)
    for text in (explored_dot(graph), explored_mermaid(graph)):
        assert text.count("\N{BALLOT X} OneHolder") == 1
        assert text.count("\N{BALLOT X}") == sum(map(len, marked.values()))


def test_machines_are_what_a_large_model_is_grouped_by(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Above the limit a model with machines becomes its quotient by their states."""
    monkeypatch.setattr("kafka_spec.diagrams.explored.NODES", 10)
    graph = explored_graph(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS))

    assert {path for _, node in graph.nodes(data=True) for path, _ in node["fields"]} == {"doors[0]", "doors[1]"}
    golden("doors-explored.dot", explored_dot(graph))
    golden("doors-explored.mmd", explored_mermaid(graph))
    assert len(re.findall(rb'class="node"', render(explored_dot(graph), "svg"))) == graph.number_of_nodes()


def test_cases_are_numbered_and_pictures_have_titles() -> None:
    """The rows that share an arrow have numbers, in their order; a picture names its machine and its era, unless told not to."""
    numbered = [arrow for arrow in arrows(REPLICA) if len(arrow.choices) > 1]
    dot = machine_dot(REPLICA)

    assert numbered
    for arrow in numbered:
        label = next(line for line in dot.splitlines() if f"<b>{arrow.trigger}</b>" in line and ">2. " in line)
        assert [int(number) for number in re.findall(r'10.5">(\d)\. ', label)] == list(range(1, len(arrow.choices) + 1))
    single = next(line for line in dot.splitlines() if "<b>replica_deletion_started</b>" in line)
    assert ">1. " not in single
    assert 'label="Replica, Kafka 2.8"' in dot
    assert "Replica, Kafka" not in machine_dot(REPLICA, title="")
