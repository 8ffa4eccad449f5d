"""A model as one HTML page to read: machines, rules, properties, decisions, bounds, sources, abstractions, all linked."""

from __future__ import annotations

import html
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from kafka_spec.diagrams.chart import bounds_told
from kafka_spec.diagrams.page import machine_figure
from kafka_spec.spec.language import source_of
from kafka_spec.spec.vocabulary.table import Property, Rule, Spec, first_line

Function = Any
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
TITLES = {
    "machines": "Machines",
    "rules": "Rules",
    "properties": "Properties",
    "functions": "Guards and effects",
    "decisions": "Decisions",
    "bounds": "Bounds",
    "abstractions": "What the model leaves out",
}
"""The sections of the page, in order; those without content are left out."""


def reference_html(specs: Iterable[Spec]) -> str:
    """Return a page about these models."""
    chosen = list(specs)
    css = "\n".join((files(package) / name).read_text(encoding="utf-8") for package, name in STYLES)
    title = ", ".join(spec.name for spec in chosen) if len(chosen) < 4 else f"{len(chosen)} models"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{_text(title)}</title>",
            f"<style>\n{css}</style></head><body>",
            *(part for spec in chosen for part in ReferencePage(spec).parts()),
            "</body></html>",
            "",
        ]
    )


STYLES = (("kafka_spec.diagrams.page", "page.css"), ("kafka_spec.diagrams.reference", "reference.css"))


class ReferencePage:
    """The page of one model; anchors begin with the model's name, so that several fit in one page."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.functions: dict[str, Function] = {}
        self.users: dict[str, dict[str, None]] = {}
        for rule in spec.rules:
            for function in (*rule.guards, *rule.bound_guards, *rule.effects):
                self._use(function, rule.name)
        for claim in spec.properties:
            for function in (claim.predicate, *([claim.when] if claim.when else [])):
                self._use(function, claim.name)

    def _use(self, function: Function, user: str) -> None:
        self.functions.setdefault(function.__name__, function)
        self.users.setdefault(function.__name__, {})[user] = None

    def parts(self) -> list[str]:
        """Return the page's parts."""
        spec = self.spec
        sections = {
            "machines": [machine_figure(machine) for machine in spec.machines],
            "rules": [self.rule(rule) for rule in spec.rules],
            "properties": [self.property(claim) for claim in spec.properties],
            "functions": [self.function(name) for name in sorted(self.functions)],
            "decisions": [
                self.entry(d.name, f"<code>{_text(d.value.name)}</code>", _sentence(d.meaning), "decision") for d in spec.decisions
            ],
            "bounds": [self.bounds()] if spec.bounds else [],
            "abstractions": [self.entry("", _text(a.what), _sentence(a.why)) for a in spec.abstractions],
        }
        links = " · ".join(f'<a href="#{self.anchor(name)}">{TITLES[name]}</a>' for name, content in sections.items() if content)
        head = f'<header id="{self.anchor("")}"><h1>{_text(spec.name)}</h1><p class="subtitle">{_sentence(spec.summary)}</p>'
        source = f'<p class="reference">{_text(spec.reference)}</p>' if spec.reference else ""
        body = [
            f'<section id="{self.anchor(name)}" class="{name}"><h2>{TITLES[name]}</h2>{"".join(content)}</section>'
            for name, content in sections.items()
            if content
        ]
        return [f"{head}{source}<nav>{links}</nav></header>", *body]

    def rule(self, rule: Rule) -> str:
        """Return a rule: its sentence, its parameters, links to its guards and effects, its source."""
        dead = " · unreachable in this version" if rule.name in self.spec.unreachable_rules else ""
        most = f" · at most {' and '.join(limit.name for limit in rule.limits)} times" if rule.limits else ""
        fairness = f" · {self.spec.fairness_of(rule)} fairness" if rule.kind == "protocol" else ""
        parts = [
            _row("needs", self.links(rule.guards)),
            _row("bound_guards", self.links(rule.bound_guards)),
            _row("does", self.links(rule.effects)),
            _row("source", _text(rule.reference)),
        ]
        title = f"{rule.name}({', '.join(rule.params)})"
        note = f'<p class="reference">{_text(rule.kind)}{_text(fairness)}{_text(most)}{_text(dead)}</p>'
        return self.entry(rule.name, _text(title), f"{_sentence(rule.summary)}{note}<dl>{''.join(parts)}</dl>")

    def property(self, claim: Property) -> str:
        """Return a property: its sentence, its predicate and antecedent, its source."""
        parts = [
            _row("claims", self.links((claim.predicate,))),
            _row("tested where", self.links((claim.when,) if claim.when else ())),
            _row("source", _text(claim.reference)),
        ]
        kind = f'<p class="reference">{_text(claim.kind)}</p>'
        return self.entry(claim.name, _text(claim.name), f"{_sentence(claim.summary)}{kind}<dl>{''.join(parts)}</dl>")

    def function(self, name: str) -> str:
        """Return a function: what it says, its text, and who uses it."""
        function = self.functions[name]
        users = ", ".join(f'<a href="#{self.anchor(user)}">{_text(user)}</a>' for user in self.users[name])
        code = f"<details><summary>text</summary><pre>{_text(source_of(function).text)}</pre></details>"
        return self.entry(f"f-{name}", _text(name), f"{_sentence(first_line(function))}{code}<dl>{_row('used by', users)}</dl>")

    def bounds(self) -> str:
        """Return the bounds, then the bound sets with their values."""
        bounds = [
            f"<tr><td><code>{_text(b.name)}</code></td><td>{_text(b.meaning)}</td><td>{b.low} to {b.high}</td></tr>"
            for b in self.spec.bounds.values()
        ]
        table = f'<div class="wide"><table><tr><th>bound</th><th></th><th>range</th></tr>{"".join(bounds)}</table></div>'
        return table + "".join(
            self.entry(
                f"bounds-{chosen.name}",
                f"<code>{_text(chosen.name)}</code>",
                f'{_sentence(chosen.why)}<p class="reference">{_text(bounds_told(self.spec.bound_values(chosen.values)))}</p>',
            )
            for chosen in self.spec.bound_sets
        )

    def links(self, functions: Iterable[Function]) -> str:
        """Return links to functions."""
        return ", ".join(
            f'<a href="#{self.anchor("f-" + f.__name__)}" title="{_text(first_line(f))}">{_text(f.__name__)}</a>' for f in functions
        )

    def anchor(self, name: str) -> str:
        """Return the anchor of a part of this model."""
        return _text(f"{self.spec.name}.{name}".rstrip(".").replace(" ", "-"))

    def entry(self, name: str, title: str, content: str, kind: str = "") -> str:
        """Return an entry with a title that can be linked to."""
        place = f' id="{self.anchor(name)}"' if name else ""
        label = f"<code>{_text(name)}</code> " if kind else ""
        return f"<article{place}><h3>{label}{title}</h3>{content}</article>"


def _row(name: str, content: str) -> str:
    return f"<dt>{name}</dt><dd>{content}</dd>" if content else ""


def _sentence(text: str) -> str:
    return f"<p>{_text(text[:1].upper() + text[1:])}.</p>" if text else ""


def _text(text: str) -> str:
    return html.escape(text)
