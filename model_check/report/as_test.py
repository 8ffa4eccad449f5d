"""A trace as a test in Python: the same steps, each of which must be possible, and the same verdict at the end. Does no output."""

from __future__ import annotations

import re
import textwrap

from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Spec
from kafka_spec.spec.vocabulary.trace import Action, Trace

WIDTH = 100
"""The width of the comments."""


def test_text(trace: Trace, spec: Spec, model: str, start: int) -> str:
    """Return the source of a test that takes the steps of a trace from initial state `start`; `model` is the name of the spec."""
    module, _, name = model.partition(":")
    raises = trace.shows == TYPE_INVARIANT
    names = [*(["MODELS"] if not name else []), *(["SpecError"] if raises else []), "Walk"]
    own = [f"from {module} import {name}"] if name else []
    imports = [*(["import pytest"] if raises else []), *sorted([*own, f"from kafka_spec import {', '.join(names)}"])]
    bounds = textwrap.wrap(", ".join(f'"{bound}":\0{value}' for bound, value in trace.bounds), WIDTH, break_long_words=False)
    found = name or f'MODELS["{model}"]'
    steps = [line for number, step in enumerate(trace.steps, 2) for line in _step(step.action, f"{number}. {step.summary}")]
    if raises:
        steps[-1:] = ['with pytest.raises(SpecError, match="violates the type invariant"):', f"    {steps[-1]}"]
    stated = ["bounds = {", *(f"    {line}" for line in "\n".join(bounds).replace("\0", " ").splitlines()), "}"]
    if not bounds:
        stated = ["bounds: dict[str, int] = {}"]
    body = [*stated, f"walk = Walk({found}, bounds, start={start})", "", *steps, "", *_ending(trace, spec)]
    title = _sentence(trace, spec)
    lines = [
        f'"""{title}, step by step."""',
        "",
        *imports,
        "",
        "",
        f"def test_{_snake(trace.shows or trace.spec)}() -> None:",
        f'    """{title}."""',
        *(f"    {line}" if line else "" for line in body),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(trace: Trace, spec: Spec) -> str:
    claim = spec.property_named(trace.shows)
    if not trace.shows:
        return f"A behaviour of {trace.spec}"
    reached = claim is not None and claim.kind == "reachable"
    return f"{trace.spec} {'reaches' if reached else 'violates'} {trace.shows}"


def _step(action: Action, summary: str) -> list[str]:
    arguments = ", ".join([f'"{action.rule}"', *(str(value) for _, value in action.binding)])
    return [*textwrap.wrap(summary, WIDTH, initial_indent="# ", subsequent_indent="# "), f"walk.act({arguments})"]


def _ending(trace: Trace, spec: Spec) -> list[str]:
    """Return the lines that assert what the end of the trace shows."""
    claim = spec.property_named(trace.shows)
    kind = claim.kind if claim is not None else ""
    if trace.lasso is not None:
        same = [f"assert walk.world.key(walk.states[{trace.lasso.back}]) == walk.world.key(walk.state)"] if trace.cycle else []
        return [f'assert "{trace.shows}" in walk.owed', *same]
    if kind == "reachable":
        return [f'assert "{trace.shows}" in walk.reached']
    if kind == "recoverable":
        return [f'assert "{trace.shows}" in walk.owed', f'assert not walk.recovers("{trace.shows}")']
    if kind:
        return [f'assert "{trace.shows}" in walk.violated']
    if trace.shows == DEADLOCK:
        return ["assert walk.choices() == []"]
    return [] if trace.shows == TYPE_INVARIANT else ["assert walk.violated == []"]


def _snake(name: str) -> str:
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).lower().strip("_")
