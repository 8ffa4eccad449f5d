"""The result of an inductive check as text and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from kafka_spec.model_check.inductive import InductiveResult
from kafka_spec.model_check.report.traces import step_lines
from kafka_spec.model_check.search.induction import NO_STEP
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.vocabulary.trace import Trace

FORMAT, VERSION = "kafka-spec-inductive", 1
FEW = 5
"""The invariants that are named in a sentence."""


def inductive_text(result: InductiveResult) -> str:
    """Return the result as text."""
    return "\n".join(_lines(result))


def _lines(result: InductiveResult) -> Iterator[str]:
    bounds = ", ".join(f"{name}={value}" for name, value in result.bounds.items()) or "no bounds"
    tried = f"{result.tried:,} of {result.every:,}" if result.tried < result.every else f"{result.every:,}"
    yield f"{result.spec.name} at {bounds}"
    yield f"  tried      {tried} states, reachable or not"
    yield f"  admitted   {result.admitted:,} states, which meet {_named(result)}"
    if result.free:
        yield f"  unlimited  {', '.join(result.free)}: how often these rules fire is not bounded"
    width = max(len(rule) for rule in (NO_STEP, result.spec.start.name, *result.fired))
    yield f"  {'rule':<{width}} {'steps':>12}  does not keep"
    for rule in (result.spec.start.name, *result.fired, NO_STEP):
        broken = {claim: count for (of, claim), count in result.broken.items() if of == rule}
        if rule in result.fired or broken:
            steps = f"{result.fired[rule]:,}" if rule in result.fired else "-"
            yield f"  {rule:<{width}} {steps:>12}  {', '.join(f'{claim} ({count:,})' for claim, count in broken.items()) or '-'}"
    if result.cut_by:
        names = ", ".join(sorted({name for _, name in result.cut_by}))
        yield f"  cut        {sum(result.cut_by.values()):,} steps by bounds: {names}; where they lead is not checked"
    if result.stopped:
        yield f"  stopped    {result.stopped}"
    for (rule, claim), trace in result.traces.items():
        yield ""
        yield from _counterexample(result, rule, claim, trace)
    yield ""
    yield _verdict(result)


def _named(result: InductiveResult) -> str:
    names = [claim.name for claim in result.invariants]
    return " and ".join(names) if len(names) <= FEW else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _counterexample(result: InductiveResult, rule: str, claim: str, trace: Trace) -> Iterator[str]:
    """Print the first state or step that violates a property."""
    if rule == NO_STEP:
        yield f"{claim} does not follow: this state meets the invariants, and violates it"
    elif not trace.steps:
        yield f"an initial state violates {claim}"
    else:
        yield f"{trace.steps[0].action} does not keep {claim}"
    begin, *rest = step_lines(dataclasses.replace(trace, start=dataclasses.replace(trace.start, written=())))
    yield begin
    initial = dict(result.initial)
    shown = [(path, value) for path, value in trace.start.state if value != initial[path]]
    yield from (f"       {path} = {value}" for path, value in shown)
    if len(shown) < len(initial):
        yield f"       {'all other fields have' if shown else 'every field has'} the initial value"
    yield from rest


def _verdict(result: InductiveResult) -> str:
    if result.verdict == "inconclusive":
        return f"not decided: {result.stopped}"
    if result.verdict == "violated":
        weak = f"{_named(result)}: inductive, but too weak: not all that should follow does"
        return "\n".join([weak if result.is_inductive else "not inductive", *_reachable_lines(result)])
    follow = f"; {', '.join(claim.name for claim in result.implied)} follow" + ("s" * (len(result.implied) == 1))
    within = " within these bounds" if result.cut_by else ""
    return f"inductive{within}: {_named(result)}{follow if result.implied else ''}"


def _reachable_lines(result: InductiveResult) -> Iterator[str]:
    """Say whether the states are reachable in which counterexamples begin."""
    searched = result.searched
    if searched is not None and (violated := searched.violated):
        yield "A search from the initial states finds a violation, too:"
        yield ""
        yield str(trace_of(searched, violated[0]))
    elif searched is not None and searched.complete and not result.searched_less:
        found = f"A search of all {searched.distinct:,} reachable states finds no violation"
        yield f"{found}: the states above are unreachable at these bounds."
        yield "An invariant that excludes them is missing."
    else:
        why = "" if searched is None else f": {searched.stopped or result.searched_less}"
        yield f"Whether the states above are reachable is open{why}."


def json_text(result: InductiveResult) -> str:
    """Return the result as JSON."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": result.spec.name,
        "bounds": dict(result.bounds),
        "verdict": result.verdict,
        "invariants": [claim.name for claim in result.invariants],
        "implied": [claim.name for claim in result.implied],
        "unlimited": list(result.free),
        "states": result.every,
        "tried": result.tried,
        "admitted": result.admitted,
        "steps": dict(result.fired),
        "cut": [{"rule": rule, "bound": bound, "steps": count} for (rule, bound), count in sorted(result.cut_by.items())],
        "broken": [
            {"rule": None if rule == NO_STEP else rule, "property": claim, "count": count}
            | {"trace": result.traces[rule, claim].to_plain()}
            for (rule, claim), count in result.broken.items()
        ],
    }
    if result.searched is not None:
        searched = result.searched
        found["search"] = {"states": searched.distinct, "complete": searched.complete, "violated": searched.violated}
    if result.stopped:
        found["stopped"] = result.stopped
    return json.dumps(found, indent=2) + "\n"
