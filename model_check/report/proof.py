"""A proof as text and JSON: a line for each statement, and for each statement that a rule may break the two states that show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.proof.obligations import EXECUTED, STATES
from kafka_spec.model_check.proof.solving import Induced, Proof, Standing
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.vocabulary.trace import Trace


def proof_text(searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace]) -> str:
    """Return the whole result as text."""
    return "\n".join(_lines(searched, proof, traces))


def _lines(searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace]) -> Iterator[str]:
    spec = searched.spec
    bounds = ", ".join(f"{name}={value}" for name, value in searched.bounds.items())
    extent = "all" if searched.complete else f"not all ({searched.stopped})"
    yield f"{spec.name}: searched {searched.distinct:,} states at {bounds}, {extent} of them"
    for trace in traces.values():
        yield ""
        yield trace_text(trace, spec)
    if proof is None:
        yield ""
        yield "not proved: a statement is violated"
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
        yield from _induced_lines(found, searched.complete)
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


def _induced_lines(found: Induced, complete: bool) -> Iterator[str]:
    """Print a counterexample to induction."""
    given = ", ".join(map(str, found.binding))
    yield f"{found.rule}({given}) does not keep {found.statement}" if found.rule != STATES else "a statement cannot be executed"
    yield "  in this state, which the statements do not exclude:"
    yield from (f"    {path} = {value}" for path, value in found.before if path not in found.initial)
    yield from ("    all other fields have their initial value" for _ in found.initial[:1])
    yield f"  {found.why}" if found.why else "  after the step:"
    yield from (f"    {path}: {before} -> {after}" for path, before, after in found.changed)
    if complete:
        yield "  No such state is reachable at these bounds, since the search is complete: a lemma that excludes it is missing."
    else:
        yield "  Whether it is reachable is open, since the search is not complete."


def json_text(searched: Exploration, proof: Proof | None, traces: Mapping[str, Trace]) -> str:
    """Return the result as JSON: the table of rules and statements, and every counterexample to induction as two states."""
    found: dict[str, Any] = {
        "model": searched.spec.name,
        "bounds": dict(searched.bounds),
        "searched": {"states": searched.distinct, "complete": searched.complete, "violated": list(traces)},
        "proved": proof is not None and proof.is_complete,
    }
    if proof is not None:
        found["unbounded"] = sorted(proof.lifted)
        found["table"] = [
            {"rule": rule, "statement": statement, "proved": cell.proved, "open": cell.open, "undecided": cell.undecided}
            | ({"counterexample": _two_states(cell.induced)} if cell.induced is not None else {})
            for (rule, statement), cell in proof.cells.items()
        ]
    return json.dumps(found, indent=2) + "\n"


def _two_states(found: Induced) -> dict[str, Any]:
    changed = {path: [before, after] for path, before, after in found.changed}
    return {"binding": list(found.binding), "before": dict(found.before), "changed": changed, "why": found.why}
