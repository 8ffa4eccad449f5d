"""A result as text for people. Does no output: the functions return strings.

Golden tests compare these texts. Values that differ between runs (seconds, memory) are on a separate line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.check import Expectation
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.report.files import of_user
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.vocabulary.table import (
    DEADLOCK,
    EVENTUAL,
    TYPE_INVARIANT,
    Machine,
    Ranks,
    Spec,
    Symmetric,
    first_line,
)
from kafka_spec.spec.vocabulary.trace import Trace


def result_text(result: Exploration, traces: Mapping[str, Trace], full: bool = False, timing: bool = True) -> str:
    """Return a result with its counterexamples; `full` shows whole states, `timing` the values that differ between runs."""
    of_all = ""
    if result.spec.reduced:
        of_all = " normal forms" + (f" of {result.unreduced:,} states" if result.unreduced is not None else "")
    lines = [
        f"{result.spec.name}: {result.spec.summary}",
        *(f"  file        {name}, SHA-256 {digest[:16]}" for name, digest in of_user(result.spec).items()),
        f"  bounds      {', '.join(f'{name} {value}' for name, value in result.bounds.items()) or 'none'}",
        f"  verdict     {verdict_text(result)}",
        f"  states      {result.distinct:,} distinct{of_all}, {result.generated:,} generated, {result.depth} levels deep",
    ]
    if result.bounded:
        cut = ", ".join(f"{rule} {count:,}{_by(result, rule)}" for rule, count in sorted(result.bounded.items()))
        lines.append(f"  bounded     steps that only a bound prevented: {cut}")
    if result.left_constraint and result.spec.constraint is not None:
        summary = first_line(result.spec.constraint)
        lines.append(
            f"  constraint  {summary}: where a step leads elsewhere, that state was judged, and what follows it not explored"
        )
    if result.spec.view:
        view = _named(result.spec.view)
        lines.append(f"  view        of states that are the same to {view} one was explored; what only another can do was not")
    if (form := _believed(result)) and result.unreduced is None:
        lines.append(
            f"  form        by {form}; that nothing is lost by it is taken as given: --verify normal_form compares all states"
        )
    if result.undecided_by:
        lines.append(
            f"  undecided   where a bound prevented {' or '.join(result.undecided_by)}, a way {_ways(result)} is taken to exist"
        )
    if result.complete:
        lines.append(f"  digest      {result.digest:016x}")
    lines.append(f"  odds        that two states were taken for one: {result.collision_probability:.1e}")
    for one, other in (pair for machine in result.spec.machines for pair in machine.unproved_pairs):
        lines.append(f"  exclusive   at every firing in these states, which their guards do not show: {one.label} | {other.label}")
    if result.compared:
        lines.append(f"  compared    with {' and '.join(result.compared)}: equal")
    if timing:
        rate = result.distinct / result.search_seconds if result.search_seconds else 0
        lines.append(
            f"  run         {result.engine}, {result.threads} thread{'s' * (result.threads != 1)}, "
            f"{result.search_seconds:.2f} s search ({rate:,.0f} states/s), {result.compile_seconds:.2f} s compile, "
            f"{(result.peak or peak_bytes()) / 2**20:,.0f} MiB peak, {result.record_bytes} bytes a state"
        )
    lines += ["", *properties_lines(result), "", *rules_lines(result)]
    if result.spec.abstractions:
        lines += ["", "  What this verdict does not cover:"]
        lines += [f"    {a.what}: {a.why}" for a in result.spec.abstractions]
    for name in result.violated:
        if name in traces:
            lines += ["", trace_text(traces[name], result.spec, full)]
    return "\n".join(lines)


def _by(result: Exploration, rule: str) -> str:
    """Return which bounds prevented steps of a rule, with counts if there are several."""
    names = {name: count for (of, name), count in result.cut_by.items() if of == rule}
    if len(names) < 2:
        return f" ({next(iter(names))})" if names else ""
    return f" ({', '.join(f'{name} {count:,}' for name, count in sorted(names.items()))})"


def _ways(result: Exploration) -> str:
    """Return which paths are assumed to exist from undecided states."""
    kinds = {claim.kind for claim in result.properties}
    ways = (("back", {"recoverable"}), ("out of a cycle", set(EVENTUAL)))
    return " or ".join(way for way, those in ways if those & kinds)


def verdict_text(result: Exploration) -> str:
    """Return the verdict in one line."""
    if result.verdict == "violated":
        rest = "" if result.complete else "; the search stopped at the end of that level; --all continues"
        if result.stopped:
            rest = f"; not complete: {result.stopped}"
        return f"VIOLATED: {', '.join(result.violated)}{rest}"
    if result.verdict == "holds":
        so_far = "; ".join(reservations(result))
        return f"holds {so_far}; complete within these bounds" if so_far else "holds, complete within these bounds"
    return f"INCONCLUSIVE: {result.stopped}"


def reservations(result: Exploration) -> list[str]:
    """Return what a *holds* does not cover for a reason that the search found or the spec states, each as part of a sentence."""
    left = []
    if result.undecided_by:
        left.append(f"up to the steps of {', '.join(result.undecided_by)} that a bound prevented")
    if result.spec.constraint is not None and result.left_constraint:
        left.append(f"up to the constraint {result.spec.constraint.__name__}")
    if result.spec.view:
        left.append(f"up to the view {_named(result.spec.view)}, which identifies states")
    return left


def _believed(result: Exploration) -> str:
    """Return the parts of a normal form that only a comparison with all states judges, or "".

    Who is interchangeable a search judges by itself.
    """
    parts = result.spec.normal_form if result.spec.reduced else ()
    return _named(tuple(part for part in parts if not isinstance(part, Symmetric)))


def _named(parts: tuple[Any, ...]) -> str:
    """Return the names of the parts of a view or a normal form."""
    named = (
        f"ranks of {part.of}" if isinstance(part, Ranks)
        else f"interchangeable {' and '.join(part.names)}" if isinstance(part, Symmetric)
        else part.__name__
        for part in parts
    )  # fmt: skip
    return ", ".join(named)


def properties_lines(result: Exploration) -> list[str]:
    """Return a line for each property: its verdict, and on how many states or steps it was tested.

    Of the instances of one property those are in one line whose verdicts and traces are alike; the least tested of them counts.
    """
    summary = {claim.name: claim.summary for claim in result.properties}
    summary[TYPE_INVARIANT] = "every field stays in its domain"
    summary[DEADLOCK] = "in every state some rule can fire, or only a bound prevents it"
    if result.spec.final_states is not None:
        summary[DEADLOCK] += f", or it is final: {first_line(result.spec.final_states)}"
    alike = alike_claims(result)
    width = max(20, *map(len, alike))
    lines = [f"  {'property':<{width}} kind            verdict       trace        tested  meaning"]
    kinds = dict(result.claims)
    for shown, names in alike.items():
        name, counts = names[0], [count for one in names if (count := result.tested_of(one)) is not None]
        finding, tested = result.findings.get(name), min(counts, default=None)
        length = str(finding.states) if finding else "-"
        often = "-" if tested is None else f"{tested:,}" if tested else "never"
        which = f"; each of {len(names)}: {', '.join(map(_binding, names))}" if len(names) > 1 else ""
        line = f"  {shown:<{width}} {kinds[name]:<15} {result.verdict_of(name):<13} {length:>5} {often:>13}  {summary[name]}{which}"
        lines.append(line)
    return lines


def alike_claims(result: Exploration) -> dict[str, list[str]]:
    """Return the instances of each line of a report: all of a property if they are alike, else each under its own name."""
    found: dict[str, list[str]] = {}
    stated = {claim.name: claim.stated for claim in result.properties}
    for name, _ in result.claims:
        found.setdefault(stated.get(name, name), []).append(name)
    lines: dict[str, list[str]] = {}
    for shown, names in found.items():
        seen = {(result.verdict_of(one), _length(result, one), result.tested_of(one) == 0) for one in names}
        lines |= {shown: names} if len(seen) == 1 else {one: [one] for one in names}
    return lines


def _length(result: Exploration, name: str) -> int | None:
    return result.findings[name].states if name in result.findings else None


def _binding(name: str) -> str:
    """Return the binding in the name of an instance, or the name."""
    return name.partition("[")[2].rstrip("]") or name


def rules_lines(result: Exploration) -> list[str]:
    """Return a line for each rule: how often it fired, and how many states it reached first."""
    lines, off = ["  rule                          fired             new"], result.spec.switched_off(result.bounds)
    for rule in result.spec.rules:
        note = "  never fired" if rule.name in result.dead_rules else ""
        if rule.name in off:
            note = f"  off: {off[rule.name]} is 0"
        if rule.name in result.spec.unreachable_rules:
            note = "  FIRED, though the model lists it as unreachable" if result.fired[rule.name] else "  listed as unreachable"
        lines.append(f"  {rule.name:<24} {result.fired[rule.name]:>10,}      {result.new[rule.name]:>10,}{note}")
    return lines


def states_text(total: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of found states, and some of them with all columns that have a value."""
    lines = [f"{total:,} states" + (f", the first {len(rows)}:" if 0 < len(rows) < total else "")]
    for row in rows:
        how = f", first reached by {row['rule']} from {row['parent']}" if row["rule"] else ", initial"
        lines += ["", f"{row['fingerprint']}  level {row['level']}{how}"]
        rest = {name: value for name, value in row.items() if name not in ("level", "fingerprint", "parent", "rule")}
        lines += [f"  {name} = {value}" for name, value in rest.items() if value is not None]
    return "\n".join(lines)


def check_line(name: str, result: Exploration, expected: Expectation) -> str:
    """Return one line for a named check of a manifest, and a further line for each expectation that is not met."""
    unmet = expected.unmet(result)
    traces = ", ".join(f"{n} in {result.findings[n].states}" for n in result.violated if n in result.findings)
    found = f"{result.shown_verdict}{f' ({traces})' if traces else ''}"
    counts = f"{result.distinct:>10,} states {result.depth:>3} levels {result.search_seconds:>7.2f} s"
    if result.spec.reduced and expected.unreduced is not None:
        found = f"{found} (normal forms of {expected.unreduced:,} states)"
    if result.verdict == "holds" and (result.spec.constraint is not None or result.spec.view):
        found = "; ".join([found, *reservations(result)])
    line = f"{'FAIL' if unmet else 'ok':<5} {name:<34} {counts}  {found}"
    return "\n".join([line, *(f"      {problem}" for problem in unmet)])


def _machine_lines(machine: Machine) -> list[str]:
    """Return the size of a machine, and which of its rows exclude each other only in the states that checks explored."""
    lines = [f"    {machine.name}: {len(machine.states)} states, {len(machine.rows)} rows"]
    for one, other in machine.unproved_pairs:
        lines.append(f"      that at most one fits is not shown by their guards: {one.label} | {other.label}")
    if machine.unproved_pairs:
        lines.append("      a check evaluates both whenever their trigger fires, and ends with an error where both fit")
    return lines


def model_text(spec: Spec) -> str:
    """Return the description of a model."""
    lines = [f"{spec.name}: {spec.summary}", f"  source: {spec.reference}", "", "  bounds"]
    lines += [f"    {b.name} ({b.low}..{b.high}): {b.meaning}" for b in spec.bounds.values()]
    if spec.bound_sets:
        lines += ["", "  bound sets (the first is the default)"]
        lines += [f"    {s.name}: {', '.join(f'{n} {v}' for n, v in s.values.items())}; {s.why}" for s in spec.bound_sets]
    if spec.decisions:
        lines += ["", "  decisions"]
        lines += [f"    {d.name} = {d.value.name}: {d.meaning}" for d in spec.decisions]
    lines += ["", "  rules"]
    for rule in spec.rules:
        most = f", at most {' and '.join(limit.name for limit in rule.limits)} times" if rule.limits else ""
        reach = "; unreachable in this version" if rule.name in spec.unreachable_rules else ""
        fairness = f", {spec.fairness_of(rule)} fairness" if rule.fairness else ""
        lines.append(f"    {rule.name}({', '.join(rule.params)}), {rule.kind}{fairness}{most}{reach}")
        lines += [f"      {rule.summary}", f"      source: {rule.reference}"]
    if spec.machines:
        lines += ["", "  machines", *(line for machine in spec.machines for line in _machine_lines(machine))]
    lines += ["", "  properties"]
    for p in spec.properties:
        lines.append(f"    {p.name} ({p.kind}): {p.summary}")
        lines += [f"      tested where {first_line(p.when)} ({p.when.__name__})"] if p.when is not None else []
    if spec.abstractions:
        lines += ["", "  abstractions"]
        lines += [f"    {a.what}: {a.why}" for a in spec.abstractions]
    return "\n".join(lines)
