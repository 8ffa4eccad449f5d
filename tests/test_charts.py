"""Charts of traces: for any trace the chart shows what each step says; explanations name the part of a property that fails."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import sample_specs
from conftest import ROOT, Command, named_checks
from hypothesis import given, settings
from lxml import etree
from slow import TODAY, TURNS, has_turn
from test_trace import TRACES

from kafka_spec import MODELS, check, trace_of
from kafka_spec.diagrams.chart import LONG, UNFOLDED, chart_of, claim_of, ordered
from kafka_spec.diagrams.gallery_files import FOLDER, Drawn, gallery, stale, write_gallery
from kafka_spec.diagrams.house import house_dot
from kafka_spec.diagrams.mermaid import chart_mermaid
from kafka_spec.diagrams.page import page_html, page_plain
from kafka_spec.diagrams.sequence import chart_svg, width_of, wrapped
from kafka_spec.model_check.command.options import cores
from kafka_spec.model_check.command.side_by_side import outcomes
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.traces.explain import reasons
from kafka_spec.spec.catalogue.machines import CHOICES, MACHINES
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Action, FieldChange, MessageItem, Step, Trace

Golden = Callable[[str, str], None]


def kip_279() -> tuple[Trace, Spec]:
    """Return the counterexample of kip_279."""
    spec = MODELS["replication/kip_279"]
    bounds = next(bounds.values for bounds in spec.bound_sets if bounds.name == "three_replicas")
    trace = trace_of(check(spec, bounds), "StrongIsr")
    assert trace is not None
    return trace, spec


def doors(claim: str = "BothLocked") -> tuple[Trace, Spec]:
    """Return a trace of the toy with machines."""
    trace = trace_of(check(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS)), claim)
    assert trace is not None
    return trace, sample_specs.DOORS


def test_counterexample(golden: Golden) -> None:
    """The chart of kip_279's counterexample, as Mermaid and as SVG, reads as it did."""
    trace, spec = kip_279()
    chart = chart_of(trace, claim_of(trace, spec))

    golden("kip_279.mmd", chart_mermaid(chart))
    golden("kip_279.svg", chart_svg(chart))
    assert chart.participants == ("controller", "ZooKeeper", "broker 0", "broker 1", "broker 2")


def test_a_chart_has_colours_without_css_variables() -> None:
    """Programs without CSS variables (librsvg) skip a value that uses one; the same plain value precedes each."""
    svg = chart_svg(chart_of(kip_279()[0]))
    declarations = [text.strip() for rule in re.findall(r"{(.*?)}", svg) for text in rule.split(";")]
    variables = [(before, text) for before, text in pairwise(declarations) if "var(" in text]

    assert len(variables) > 10
    assert all(text == re.sub(r": (.*)", r": var(--NAME, \1)", before).replace("NAME", text.split("--")[1].split(",")[0])
               for before, text in variables)  # fmt: skip


def test_whom_a_step_asks_is_an_arrow() -> None:
    """A fetch, whose request and answer are one step, is an arrow there and back, between the two that take part."""
    trace, _ = kip_279()
    (fetch, *_) = [step for step in trace.steps if step.asks]
    chart = chart_of(trace)
    event = next(event for event in chart.events if event.asks)
    svg, mermaid = chart_svg(chart), chart_mermaid(chart)
    asking = [e for e in chart.events if e.asks]

    assert (fetch.actor, fetch.asks) == (event.actor, event.asks) and fetch.actor != fetch.asks
    assert all(name.startswith("broker ") for name in (event.actor, event.asks))
    assert svg.count("asks, and is answered") == len(asking)
    heads = svg.count('class="messagehead"') - 2 * len(asking)
    assert heads == sum(len([m for m in e.received if m.sender]) for e in chart.events)
    assert mermaid.count(": asks") == mermaid.count(": is answered") == len(asking)


def long_trace() -> Trace:
    """Return a behaviour of the counter that is longer than what a chart shows in full."""
    trace = trace_of(check(sample_specs.COUNTER, {"limit": LONG + 5}), "Arrives")
    assert trace is not None and len(trace.steps) == LONG + 5
    return trace


def test_a_long_chart_is_folded() -> None:
    """The first steps of a long chart lose their fields and machines, not their sentences; the last show everything."""
    trace = long_trace()
    chart = chart_of(trace)
    early, late = chart.events[:-UNFOLDED], chart.events[-UNFOLDED:]

    assert [event.summary for event in chart.events] == [step.summary for step in trace.steps]
    assert not any(event.changed or event.fired for event in early)
    assert all(event.changed for event in late)
    assert early[0].marks == (f"states 2 to {early[-1].number} are folded: without fields and machines, which `--html` shows",)
    assert "are folded: without fields and machines, which the steps above show" in page_html(trace, sample_specs.COUNTER)
    short = chart_of(dataclasses.replace(trace, steps=trace.steps[:LONG]))
    assert all(event.changed for event in short.events) and not short.events[0].marks
    shown = dataclasses.replace(trace, steps=tuple(dataclasses.replace(step, shows=(("a", "1"),)) for step in trace.steps))
    assert chart_of(shown).events[0].changed == ("a is 1",)


def test_the_messages_of_folded_steps_are_told_where_they_arrive() -> None:
    """In a folded step a message has its name and its number; its fields stand at the step that receives it."""
    trace, _ = kip_279()
    padded = dataclasses.replace(trace, steps=(*trace.steps, *long_trace().steps))
    sent = [message for event in chart_of(padded).events[:-UNFOLDED] for message in event.sent]
    received = {m.number: m for event in chart_of(padded).events for m in event.received}

    assert sent and all("(" not in message.shown for message in sent)
    assert all(received[m.number].shown.startswith(f"{m.shown}(") for m in sent if m.number in received)


@given(TRACES)
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
def test_any_trace_is_drawn(trace: Trace) -> None:
    """Any trace has a chart with all its steps, a well-formed SVG, and one line of Mermaid for each note."""
    chart = chart_of(trace)
    root = etree.fromstring(chart_svg(chart).encode())

    assert len(chart.events) == len(trace.steps)
    assert len(root.xpath("//*[starts-with(@id, 'step-')]")) == len(trace.steps)
    assert chart_mermaid(chart).count("Note over") == len(trace.steps) + 1


def step(actor: str, sent: tuple[MessageItem, ...] = (), received: tuple[MessageItem, ...] = (), kind: str = "protocol") -> Step:
    """Return a step that only sends and receives."""
    wrote = FieldChange("znode", 0, 1, ("0", "1"), "ZooKeeper")
    return Step(Action("Do"), actor, kind, "does", "", sent, received, (wrote,), (), (wrote,), (), "")


def test_a_received_message_is_traced_back() -> None:
    """A message comes from the latest step that sent it over the same channel, or else over another; otherwise it has no sender."""
    one, two, other = MessageItem("a", 1, "x"), MessageItem("b", 1, "x"), MessageItem("a", 2, "y")
    steps = (step("c 1", (one,)), step("c 2", (one, two)), step("b 1", received=(one, other)), step("b 2", received=(two,)))
    events = chart_of(Trace("spec", (), "P", step("w"), steps)).events

    assert [(message.number, message.sender) for message in events[2].received] == [(2, "c 2"), (0, "")]
    assert [(message.number, message.sender) for message in events[3].received] == [(3, "c 2")]
    assert events[0].written == (("ZooKeeper", "znode := 1"),)
    assert events[0].changed == ()


def test_participants_stand_in_order() -> None:
    """Clients and operators, controllers, keepers, brokers by number."""
    actors = ["broker 10", "broker 9", "controller 1", "operator", "controller 0"]
    assert ordered(["x ²", "x 10", "x 9"], []) == ("x 9", "x 10", "x ²")

    assert ordered(actors, ["ZooKeeper"]) == ("operator", "controller 0", "controller 1", "ZooKeeper", "broker 9", "broker 10")


def test_a_fault_stands_out() -> None:
    """A fault is marked in both forms."""
    chart = chart_of(Trace("spec", (), "P", step("w"), (step("broker 0", kind="fault"),)))

    assert "✗ does" in chart_mermaid(chart)
    assert "rect rgb(252, 235, 230)" in chart_mermaid(chart)
    assert 'class="box fault"' in chart_svg(chart)


@given(TRACES)
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
def test_lines_fit(trace: Trace) -> None:
    """A wrapped text keeps its letters, and no line exceeds the given width."""
    for text in (trace.spec * 7, "a" * 200, "word " * 30 + trace.shows):
        lines = wrapped(text, 120)
        assert "".join("".join(lines).split()) == "".join(text.split())
        assert all(width_of(line) <= 120 for line in lines)


# ---------------------------------------------------------------------------------------------------------------------
# Which part fails


def test_reasons_lead_from_the_property_to_the_logs() -> None:
    """StrongIsr fails for leader 0 and member 2, since their logs do not agree: three functions, each with what decided."""
    trace, spec = kip_279()
    found = reasons(trace, spec)

    assert [reason.function for reason in found] == ["strong_isr", "members_hold_committed", "holds_same_prefix"]
    assert dict(found[0].values) == {"leader": "0"}
    assert dict(found[1].values) == {"leader": "0", "isr": "{0, 1, 2}", "end": "1", "member": "2"}
    assert found[2].because == "end > len(other)"
    assert found[0].place.startswith("kafka_spec/spec/replication/properties.py:")


def test_a_conjunct_is_named() -> None:
    """If a predicate returns a conjunction, the reason is its false part; if no loop found anything, the reason says so."""
    for spec in (sample_specs.BREAKS_AT_THREE, sample_specs.GOES_BACK, sample_specs.GRID):
        result = check(spec, sample_specs.bounds_of(spec), everything=True)
        for claim in result.violated:
            trace = trace_of(result, claim)
            assert trace is not None
            if claim not in ("TypeInvariant", "Deadlock"):
                assert reasons(trace, spec)[0].because


def test_a_goal_has_no_reason() -> None:
    """A goal that is reached fails in no part."""
    assert reasons(*doors()) == ()


def test_the_page_lists_machines() -> None:
    """The page's data names the state of each machine in each step, and the arrow that was taken."""
    trace, spec = doors()
    plain = page_plain(trace, spec)
    last = plain["steps"][-1]

    assert last["machines"] == [
        {"machine": "Door", "entity": ["0"], "names": ["door"], "state": "LOCKED"},
        {"machine": "Door", "entity": ["1"], "names": ["door"], "state": "LOCKED"},
    ]
    assert [fired["arrows"] for fired in last["fired"]] == [["arrow-Door-3"]]
    assert json.loads(json.dumps(plain)) == json.loads(json.dumps(page_plain(trace, spec)))


# ---------------------------------------------------------------------------------------------------------------------
# The command and the gallery


def test_trace_as_charts(kafka_spec: Command, tmp_path: Path) -> None:
    """`trace` writes Mermaid, SVG and HTML; --html FILE alone leaves stdout empty."""
    page = tmp_path / "page.html"
    html = kafka_spec("trace", "replication/kip_279-three-replicas", "--html", str(page))
    both = kafka_spec("trace", "replication/kip_279-three-replicas", "--format", "mermaid", "--output", f"svg:{tmp_path / 'x.svg'}")
    several = kafka_spec("trace", "replication/kip_101-small", "--format", "svg")

    assert (html.returncode, html.stdout) == (0, "")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert both.stdout.startswith("sequenceDiagram")
    assert (tmp_path / "x.svg").exists()
    assert several.returncode == 0
    assert "svg shows WeakIsr; --property shows another: StrongIsr" in several.stderr


def test_a_page_without_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Graphviz the page is still written, and a warning says what it lacks."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(UserWarning, match="does not draw them: svg needs Graphviz"):
        page = page_html(*doors())
    assert 'data-machine="Door"' in page


def test_a_stale_gallery_is_noticed(tmp_path: Path) -> None:
    """A file that is missing, left over, edited by hand, or of an older table is reported; after a rewrite none is."""
    files = gallery(MACHINES, [])
    write_gallery(tmp_path, files)
    assert stale(tmp_path, files) == []
    assert write_gallery(tmp_path, files) == []

    (tmp_path / "replica.md").write_text("by hand")
    svg = tmp_path / "replica.svg"
    svg.write_bytes(svg.read_bytes().replace(b"ONLINE", b"ON-LINE"))
    (tmp_path / "partition.md").unlink()
    (tmp_path / "extra.svg").touch()
    older = {**files, "partition.svg": Drawn("digraph { a }")}
    assert stale(tmp_path, older) == [
        f"{tmp_path}/partition.md is missing",
        f"{tmp_path}/extra.svg does not belong to the gallery",
        f"{tmp_path}/partition.svg does not match the tables",
        f"{tmp_path}/replica.svg does not match the tables",
        f"{tmp_path}/replica.md does not match the tables",
    ]
    assert set(write_gallery(tmp_path, files)) == {"replica.md", "replica.svg", "partition.md", "extra.svg"}
    assert stale(tmp_path, files) == []


LONG_CHECK = 1.0
"""Seconds of a search; of the checks that hold and take longer, `make test` runs some, others each day."""


def checks_of(day: int) -> list[NamedCheck]:
    """Return the checks of the project's manifest that `make test` runs on a day."""
    return [
        check
        for check in named_checks()
        if check.expected.verdict != "holds" or (check.took or 0) < LONG_CHECK or has_turn(check.name, day)
    ]


def test_every_check_has_its_day() -> None:
    """Each day leaves out some checks that hold and take long, and none that is violated; all days together run all."""
    days = [{check.name for check in checks_of(day)} for day in range(TURNS)]
    checks = {check.name: check for check in named_checks()}

    assert set.union(*days) == set(checks)
    assert {checks[name].expected.verdict for day in days for name in set(checks) - day} == {"holds"}


@pytest.mark.share(256)
def test_the_projects_own_manifest_and_gallery() -> None:
    """The checks of the project's manifest come out as expected, and the gallery is the tables and what the manifest rejects."""
    checks = checks_of(TODAY)
    judged = list(outcomes(checks, NamedCheck.run, cores()))

    assert [one.name for one in judged] == [check.name for check in checks]
    assert {one.name: one.unmet for one in judged if one.unmet} == {}
    assert stale(ROOT / FOLDER, gallery(MACHINES, judged, CHOICES)) == []


def test_the_picture_of_the_folders_is_current() -> None:
    """The picture of what the folders import is drawn from the imports that there are; `make gallery` draws it anew."""
    assert Drawn(house_dot(ROOT)).is_in((ROOT / FOLDER / "house.svg").read_bytes())


@pytest.mark.long
def test_the_gallery_shows_what_the_manifest_rejects(kafka_spec: Command, tmp_path: Path) -> None:
    """A check that expects a violation has a chart, one that holds has none; --check fails on a stale folder, with the cure."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(
        '[[tool.kafka-spec.checks]]\nname = "bad/one"\nmodel = "replication/kip_279"\nverdict = "violated"\n'
        'bounds = "three_replicas"\ntraces = { StrongIsr = 12 }\n'
        '[[tool.kafka-spec.checks]]\nname = "good"\nmodel = "replication/kip_320"\nbounds = "tiny"\nverdict = "holds"\n'
    )
    where = ("--manifest", str(manifest), "--folder", str(tmp_path / "pictures"))
    missing = kafka_spec("draw", "--check", *where)
    written = kafka_spec("draw", "--gallery", *where)
    current = kafka_spec("draw", "--check", *where)

    assert missing.returncode == 1
    assert "README.md is missing; write it again: kafka-spec draw --gallery" in missing.stderr
    assert (written.returncode, current.returncode) == (0, 0), current.stderr
    names = {file.name for file in (tmp_path / "pictures").iterdir()}
    assert "bad-one.svg" in names
    assert not any("good" in name for name in names)


def test_a_bug_that_is_not_found_is_told(inside: Command, tmp_path: Path) -> None:
    """If a check expects a violation and shows none, the gallery reports it, and nothing is written."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(
        '[[tool.kafka-spec.checks]]\nname = "gone"\nmodel = "replication/kip_320"\nbounds = "tiny"\nverdict = "violated"\n'
        "traces = { StrongIsr = 12 }\n"
    )
    run = inside("draw", "--gallery", "--manifest", str(manifest), "--folder", str(tmp_path / "pictures"))

    assert run.returncode == 2
    assert "cannot show gone: the manifest expects a violation, and the check comes to holds" in run.stderr
    assert not (tmp_path / "pictures").exists()
