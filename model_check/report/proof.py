"""A proof as text and JSON: a line for each statement, and for each statement that a rule may break the two states that show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.proof.obligations import EXECUTED, STATES
from kafka_spec.model_check.proof.solving import Induced, Proof, Standing
from kafka_spec.model_check.proof.suggestions.suggest import Suggested, Suggestions
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace


def proof_text(
    searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace], suggestions: Suggestions | None = None
) -> str:
    """Return the whole result as text."""
    return "\n".join(_lines(searched, proof, traces, suggestions))


def _lines(
    searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace], suggestions: Suggestions | None
) -> Iterator[str]:
    spec = searched.spec
    bounds = ", ".join(f"{name}={value}" for name, value in searched.bounds.items())
    extent = "all" if searched.complete else f"not all ({searched.stopped})"
    yield f"{spec.name}: searched {searched.distinct:,} states at {bounds}, {extent} of them"
    for trace in traces.values():
        yield ""
        yield trace_text(trace, spec)
    if suggestions is not None:
        yield from suggestion_lines(suggestions, spec)
    if proof is None:
        yield ""
        yield "not proved: a statement is violated" if traces else "not proved"
        return
    fixed = ", ".join(f"{name}={value}" for name, value in proof.bounds.items() if name not in proof.lifted)
    every = f", for every {', '.join(sorted(proof.lifted))}" if proof.lifted else ""
    yield f"induction at {fixed or 'no bounds'}{every}: {proof.obligations:,} obligations, {proof.seconds:.1f} s"
    width = max(len(name) for name in (EXECUTED, *(statement.name for statement in proof.statements)))
    yield f"  {'statement':<{width}}  proved  open"
    for name in (*(statement.name for statement in proof.statements), EXECUTED):
        of_claim = {rule: cell for (rule, statement), cell in proof.cells.items() if statement == name}
        opened = ", ".join(f"{rule} ({_why(cell)})" for rule, cell in of_claim.items() if cell.open or cell.undecided)
        yield f"  {name:<{width}}  {sum(cell.proved for cell in of_claim.values()):>6}  {opened or '-'}"
    shown = {cell.induced.statement: cell.induced for cell in reversed(proof.cells.values()) if cell.induced is not None}
    for found in reversed(shown.values()):  # of each statement the first
        yield ""
        yield from induced_lines(found, searched.complete)
    yield ""
    yield "not proved: a statement is violated" if traces else _verdict(proof)


def _why(cell: Standing) -> str:
    return "not kept" if cell.open else "not decided in time"


def _verdict(proof: Proof) -> str:
    stated = [statement.name for statement in proof.statements if statement not in proof.spec.lemmas]
    if proof.is_complete:
        return f"proved: {', '.join(stated)}"
    if not any(cell.open or cell.undecided for (_, statement), cell in proof.cells.items() if statement != EXECUTED):
        return f"kept by every step that can be executed: {', '.join(stated)}; not proved, since that is open"
    shown = any(cell.induced is not None for cell in proof.cells.values())
    hint = "; no state is shown where a bound is lifted: leave --unbounded out to see one" if proof.lifted and not shown else ""
    return f"not proved{hint}"


def induced_lines(found: Induced, complete: bool, excluded: str = "the statements do not exclude") -> Iterator[str]:
    """Print a counterexample to induction."""
    given = ", ".join(map(str, found.binding))
    yield f"{found.rule}({given}) does not keep {found.statement}" if found.rule != STATES else "a statement cannot be executed"
    yield f"  in this state, which {excluded}:"
    yield from (f"    {path} = {value}" for path, value in found.before if path not in found.initial)
    yield from ("    all other fields have their initial value" for _ in found.initial[:1])
    yield f"  {found.why}" if found.why else "  after the step:"
    yield from (f"    {path}: {before} -> {after}" for path, before, after in found.changed)
    if complete:
        yield "  No such state is reachable at these bounds, since the search is complete: a lemma that excludes it is missing."
    else:
        yield "  Whether it is reachable is open, since the search is not complete."


def json_text(
    searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace], suggestions: Suggestions | None = None
) -> str:
    """Return the result as JSON: the table of rules and statements, and every counterexample to induction as two states."""
    found: dict[str, Any] = {
        "model": searched.spec.name,
        "bounds": dict(searched.bounds),
        "searched": {"states": searched.distinct, "complete": searched.complete, "violated": list(traces)},
        "proved": proof is not None and proof.is_complete,
    }
    if suggestions is not None:
        found["suggested"] = suggestions_json(suggestions)
    if proof is not None:
        found["unbounded"] = sorted(proof.lifted)
        found["table"] = [
            {"rule": rule, "statement": statement, "proved": cell.proved, "open": cell.open, "undecided": cell.undecided}
            | ({"counterexample": _two_states(cell.induced)} if cell.induced is not None else {})
            for (rule, statement), cell in proof.cells.items()
        ]
    return json.dumps(found, indent=2) + "\n"


def suggestion_lines(suggestions: Suggestions, spec: Spec) -> Iterator[str]:
    """Print how lemmas were looked for, and those that were found as functions that a spec can state."""
    if suggestions.stopped:
        yield f"lemmas: ended early, {suggestions.stopped}; give it more with --seconds"
        return
    extent = "all" if suggestions.complete else "the first"
    yield (
        f"lemmas: of {suggestions.conditions} conditions, {suggestions.clauses:,} clauses hold in {extent} {suggestions.states:,} "
        f"states; every rule keeps {suggestions.kept:,} of them ({suggestions.seconds:.1f} s)"
    )
    for one in suggestions.lemmas:
        yield ""
        yield f"def {one.lemma.predicate.__name__}(s: {spec.state.__name__}, k: Constants) -> bool:"
        yield f'    """So that {_used(one)}."""'
        yield f"    return {one.text}"
    yield from ("" for _ in suggestions.lemmas[:1])
    if not suggestions.lemmas and suggestions.suffice:
        yield "  none is needed"
    for obstacle in suggestions.obstacles:
        yield ""
        yield from induced_lines(
            obstacle.step, suggestions.complete, "neither the statements nor the clauses that are kept exclude"
        )
        yield "  These would exclude it, and are not kept themselves:" if obstacle.nearest else "  No clause excludes it."
        yield from (f"    {text}    ({rule} does not keep it)" for text, rule in obstacle.nearest)


def _used(one: Suggested) -> str:
    """Return what a lemma is used for, at most three things."""
    told = [
        f"{rule} keeps {what}" if what != EXECUTED else f"{rule or 'a statement'} can be executed" for rule, what in one.uses[:3]
    ]
    more = len(one.uses) - len(told)
    return ", ".join(told) + (f", and {more} more" if more else "")


def suggestions_json(suggestions: Suggestions) -> dict[str, Any]:
    """Return as JSON how lemmas were looked for, those that were found, and what none helps with."""
    return {
        "states": suggestions.states,
        "complete": suggestions.complete,
        "conditions": suggestions.conditions,
        "clauses": suggestions.clauses,
        "kept": suggestions.kept,
        "stopped": suggestions.stopped,
        "lemmas": [
            {"name": one.lemma.name, "predicate": one.text, "uses": [{"rule": rule, "statement": what} for rule, what in one.uses]}
            for one in suggestions.lemmas
        ],
        "obstacles": [
            {
                "statement": one.step.statement,
                "rule": one.step.rule,
                "counterexample": _two_states(one.step),
                "nearest": [{"predicate": text, "not_kept_by": rule} for text, rule in one.nearest],
            }
            for one in suggestions.obstacles
        ],
    }


def _two_states(found: Induced) -> dict[str, Any]:
    changed = {path: [before, after] for path, before, after in found.changed}
    return {"binding": list(found.binding), "before": dict(found.before), "changed": changed, "why": found.why}
