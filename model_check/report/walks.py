"""The result of random walks as text, and as plain objects for JSON. Does no output.

It never says that a property holds: walks that find nothing do not show that there is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.random_walks.simulation import Walked
from kafka_spec.model_check.report.plain import SCHEMA_VERSION
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.vocabulary.trace import Trace

ENTRIES = 8
"""The most entries of the curve of new states that are printed: the last ones."""


def walks_text(walked: Walked, traces: Mapping[str, Trace], full: bool = False, timing: bool = True) -> str:
    """Return the result with its counterexamples; `full` shows whole states, `timing` the values that differ between runs."""
    found, walks = walked.found, walked.walks
    lines = [
        f"{found.spec.name}: {found.spec.summary}",
        f"  bounds      {', '.join(f'{name} {value}' for name, value in found.bounds.items()) or 'none'}",
        f"  verdict     {verdict_text(walked)}",
        f"  walks       {walked.count:,} of at most {walks.length:,} steps, policy {walks.policy}, seed {walks.seed}; "
        f"{walked.steps:,} steps to {'' if walked.exact else 'about '}{walked.different:,} different states",
    ]
    if found.bounded:
        lines.append(f"  bounded     steps that only a bound prevented: {', '.join(sorted(found.bounded))}")
    if timing:
        rate = walked.steps / walked.seconds if walked.seconds else 0
        lines.append(
            f"  run         {found.threads} thread{'s' * (found.threads != 1)}, {walked.seconds:.2f} s ({rate:,.0f} steps/s), "
            f"{found.compile_seconds:.2f} s compile, {peak_bytes() / 2**20:,.0f} MiB peak, {found.record_bytes} bytes a state"
        )
    lines += ["", *property_lines(walked), "", *coverage_lines(walked), "", *curve_lines(walked)]
    if found.spec.abstractions:
        lines += ["", "  What this verdict does not cover:"]
        lines += [f"    {a.what}: {a.why}" for a in found.spec.abstractions]
    for name in walked.violated:
        lines += ["", _how(walked, name)]
        if name in traces:
            lines += ["", trace_text(traces[name], found.spec, full)]
    return "\n".join(lines)


def verdict_text(walked: Walked) -> str:
    """Return the verdict in one line."""
    if walked.violated:
        return f"VIOLATED: {', '.join(walked.violated)}"
    stopped = f" ({walked.stopped})" if walked.stopped else ""
    return f"no violation found in {walked.count:,} walks{stopped}; there may be one on ways that no walk took"


def _how(walked: Walked, name: str) -> str:
    """Return which walk met a violation, and what shortening made of it."""
    met, states = walked.met[name], walked.found.findings[name].states
    return (
        f"  Walk {met.walk:,} met a violation of {name} after {len(met.actions):,} steps; shortened, its way has {states} states."
    )


def _verdict_of(walked: Walked, name: str, kind: str) -> str:
    if name in walked.found.findings:
        return "reached" if kind == "reachable" else "violated"
    if name in [claim.name for claim in walked.not_judged]:
        return "not judged"
    return "not reached" if kind == "reachable" else "none found"


def _tested(walked: Walked, name: str, kind: str) -> int | None:
    """Return on how many states or steps a property was tested; None for a goal, and for what is not judged."""
    claim = next((claim for claim in walked.found.properties if claim.name == name), None)
    if kind == "reachable" or claim in walked.not_judged:
        return None
    if claim is not None and claim.when is not None:
        return walked.found.tested[name]
    return walked.judged if kind == "invariant" and claim is not None else walked.steps


def property_lines(walked: Walked) -> list[str]:
    """Return a line for each property: whether a violation was found, and on how many states or steps it was tested."""
    claims = walked.found.claims
    width = max(20, *(len(name) for name, _ in claims))
    lines = [f"  {'property':<{width}} kind            violation           tested"]
    for name, kind in claims:
        tested = _tested(walked, name, kind)
        often = "-" if tested is None else f"{tested:,}" if tested else "never"
        lines.append(f"  {name:<{width}} {kind:<15} {_verdict_of(walked, name, kind):<12} {often:>13}")
    if walked.not_judged:
        lines.append("  not judged: properties of all paths from a state, of which a walk takes one")
    return lines


def coverage_lines(walked: Walked) -> list[str]:
    """Return how often each rule fired, and which rows of the machines no walk took."""
    found = walked.found
    lines, off = ["  rule                            fired"], found.spec.switched_off(found.bounds)
    for rule in found.spec.rules:
        note = "  never fired" if rule.name in found.dead_rules else ""
        if rule.name in off:
            note = f"  off: {off[rule.name]} is 0"
        lines.append(f"  {rule.name:<24} {found.fired[rule.name]:>12,}{note}")
    for machine, rows in walked.rows.items():
        missing = "; ".join(label for label, taken in rows if not taken)
        lines.append(
            f"  rows of {machine}: {sum(taken for _, taken in rows)} of {len(rows)} taken{missing and f', without {missing}'}"
        )
    return lines


def curve_lines(walked: Walked) -> list[str]:
    """Return how many of the steps led to states that no walk had been in, as the walks continued."""
    lines = ["         walks           steps  different states   new of 1,000 steps"]
    before = (0, 0)
    for count, steps, different in walked.curve:
        new = 1000 * (different - before[1]) / max(1, steps - before[0])
        lines.append(f"  {count:>12,} {steps:>15,} {different:>17,} {max(0.0, new):>20.0f}")
        before = steps, different
    return [lines[0], *lines[1:][-ENTRIES:]]


def walks_plain(walked: Walked, traces: Mapping[str, Trace]) -> dict[str, Any]:
    """Return the result as plain objects."""
    found, walks = walked.found, walked.walks
    return {
        "schema_version": SCHEMA_VERSION,
        "model": found.spec.name,
        "bounds": found.bounds,
        "engine": found.engine,
        "threads": found.threads,
        "policy": walks.policy,
        "seed": walks.seed,
        "length": walks.length,
        "verdict": "violated" if walked.violated else "none found",
        "complete": False,
        "stopped": walked.stopped or None,
        "walks": walked.count,
        "steps": walked.steps,
        "different_states": walked.different,
        "exact": walked.exact,
        "curve": [{"walks": count, "steps": steps, "different_states": different} for count, steps, different in walked.curve],
        "rules": {rule.name: found.fired[rule.name] for rule in found.spec.rules},
        "never_fired": found.dead_rules,
        "bounded": sorted(found.bounded),
        "rows": {machine: dict(rows) for machine, rows in walked.rows.items()},
        "properties": [
            {
                "name": name,
                "kind": kind,
                "violation": _verdict_of(walked, name, kind),
                "tested": _tested(walked, name, kind),
                "walk": walked.met[name].walk if name in walked.met else None,
                "walked": len(walked.met[name].actions) if name in walked.met else None,
                "trace": traces[name].to_plain() if name in traces else None,
            }
            for name, kind in found.claims
        ],
        "seconds": {"compile": round(found.compile_seconds, 3), "walks": round(walked.seconds, 3)},
        "peak_rss_bytes": peak_bytes(),
        "record_bytes": found.record_bytes,
        "not_covered": [{"what": a.what, "why": a.why} for a in found.spec.abstractions],
    }
