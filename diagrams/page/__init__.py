"""A trace as one HTML page that needs no network: step through it with keys and buttons; machines, chart and state go along.

Depends on traces, specs and pictures. This module joins page.html, page.css and page.js with the data. The page shows what the
trace says; it contains no logic of the protocol.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from importlib.resources import files
from typing import Any

from kafka_spec.diagrams.arrows import arrows, boxes, entity_paths
from kafka_spec.diagrams.chart import BEHAVIOUR, bounds_told, chart_of, claim_of
from kafka_spec.diagrams.dot import machine_dot, render
from kafka_spec.diagrams.sequence import chart_svg
from kafka_spec.model_check.report.traces import ending_note
from kafka_spec.spec.vocabulary.table import Machine, Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Firing, Step, Trace


def page_html(trace: Trace, spec: Spec) -> str:
    """Return a trace as a page; machines are listed, and drawn too if Graphviz is installed.

    Warns:
        UserWarning: Graphviz is not installed.
    """
    folder = files(__package__)
    parts = {
        "title": html.escape(f"{trace.shows or BEHAVIOUR}, {trace.spec}"),
        "css": (folder / "page.css").read_text(encoding="utf-8"),
        "js": (folder / "page.js").read_text(encoding="utf-8"),
        "data": harmless(json.dumps(page_plain(trace, spec), ensure_ascii=False)),
        "chart": chart_svg(chart_of(trace, claim_of(trace, spec), "the steps above show")),
        "machines": "\n".join(machine_figure(machine) for machine in spec.machines),
    }
    template = (folder / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def page_plain(trace: Trace, spec: Spec) -> dict[str, Any]:
    """Return the data of the page as plain dictionaries and lists."""
    claim = claim_of(trace, spec)
    entities = entity_paths(spec, dict(trace.bounds))
    from kafka_spec.model_check.traces.explain import (
        reasons,  # needs an engine, which may be missing where singleton machines are drawn
    )

    return {
        "model": trace.spec,
        "summary": spec.summary,
        "bounds": bounds_told(dict(trace.bounds)),
        "property": {
            "name": trace.shows or BEHAVIOUR,
            "ending": "" if not trace.shows else "is reached" if claim and claim.kind == "reachable" else "is violated",
            "kind": claim.kind if claim else "judged without being stated" if trace.shows else "",
            "summary": claim.summary if claim else "",
            "reference": claim.reference if claim else "",
            "note": ending_note(trace, claim),
        },
        "reasons": [
            {"function": r.function, "summary": r.summary, "because": r.because, "values": r.values, "place": r.place}
            for r in reasons(trace, spec)
        ],
        "steps": [step_plain(step, spec, entities) for step in (trace.start, *trace.steps)],
        "not_covered": [{"what": a.what, "why": a.why} for a in spec.abstractions],
    }


def step_plain(step: Step, spec: Spec, entities: dict[str, re.Pattern[str]]) -> dict[str, Any]:
    """Return a step as plain dictionaries and lists."""
    machines = {machine.name: machine for machine in spec.machines}
    return {
        "summary": step.summary,
        "action": str(step.action),
        "actor": step.actor,
        "kind": step.kind,
        "reference": step.reference,
        "sent": [message.shown for message in step.sent],
        "received": [message.shown for message in step.received],
        "fired": [_fired(firing, machines.get(firing.machine)) for firing in step.fired],
        "shows": [list(pair) for pair in step.shows],
        "changed": [[change.path, *change.shown, change.kept_by] for change in step.changed],
        "state": [list(pair) for pair in step.state],
        "machines": [
            {"machine": name, "entity": list(match.groups()), "names": list(machines[name].entity), "state": shown}
            for path, shown in step.state
            for name, pattern in entities.items()
            if (match := pattern.fullmatch(path))
        ],
    }


def _fired(firing: Firing, machine: Machine | None) -> dict[str, Any]:
    lit = [
        name
        for number, box in enumerate(boxes(arrows(machine)) if machine else ())
        for case, arrow in enumerate(box.arrows)
        if arrow.trigger == firing.trigger
        and arrow.target.name == firing.target
        and firing.source in [source.name for source in arrow.sources]
        for name in (
            f"arrow-{firing.machine}-{number}",
            *([f"way-{firing.machine}-{number}-{case}"] if len(box.arrows) > 1 else []),
        )
    ]
    return {
        "machine": firing.machine,
        "entity": list(firing.entity),
        "trigger": firing.trigger,
        "source": firing.source,
        "target": firing.target,
        "arrows": lit,
    }


def machine_figure(machine: Machine) -> str:
    """Return a machine as an HTML figure with states and arrows that a page can light up; without Graphviz, only its caption."""
    try:
        svg = render(machine_dot(machine, title=""), "svg").decode()
    except SpecError as error:
        warnings.warn(f"the page lists the states of machine {machine.name} and does not draw them: {error}", stacklevel=2)
        svg = ""
    svg = re.sub(r"^<\?xml.*?\?>\s*", "", svg)
    svg = re.sub(r' id="(?:graph|edge|node)\d+"', "", svg)
    return f'<figure class="machine" data-machine="{html.escape(machine.name)}"><figcaption></figcaption>{svg}</figure>'


def harmless(text: str) -> str:
    """Return JSON escaped, so that it cannot close the HTML element around it."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
