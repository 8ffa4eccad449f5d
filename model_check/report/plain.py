"""A result as plain objects for JSON, schema_version 1. Does no output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.check import Expectation
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.report.files import of_user
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace

SCHEMA_VERSION = 1


def result_plain(result: Exploration, traces: Mapping[str, Trace]) -> dict[str, Any]:
    """Return a result as plain objects; `traces` are the traces to include, by property."""
    rules = [rule.name for rule in result.spec.rules]
    with_digest = result.complete
    stated = {claim.name: claim.stated for claim in result.properties}
    antecedents = {claim.name: claim.when.__name__ for claim in result.properties if claim.when is not None}
    return {
        "schema_version": SCHEMA_VERSION,
        "model": result.spec.name,
        "files": of_user(result.spec),
        "bounds": result.bounds,
        "engine": result.engine,
        "threads": result.threads,
        "verdict": result.verdict,
        "complete": result.complete,
        "stopped": result.stopped or None,
        "compared_with": result.compared,
        "bounded": {rule: result.bounded[rule] for rule in rules if result.bounded[rule]},
        "off": dict(result.spec.switched_off(result.bounds)),
        "bounded_by": {
            rule: {name: count for (of, name), count in sorted(result.cut_by.items()) if of == rule}
            for rule in rules
            if any(of == rule for of, _ in result.cut_by)
        },
        "undecided_by": result.undecided_by,
        "distinct": result.distinct,
        "normal_form": result.spec.reduced,
        "unreduced": result.unreduced,
        "constraint": result.spec.constraint.__name__ if result.spec.constraint is not None and result.left_constraint else None,
        "view": bool(result.spec.view),
        "generated": result.generated,
        "depth": result.depth,
        "levels": result.levels,
        "rules": {rule: {"fired": result.fired[rule], "new": result.new[rule]} for rule in rules},
        "never_fired": result.dead_rules,
        "never_tested": result.untested,
        "properties": [
            {
                "name": name,
                "property": stated.get(name, name),
                "kind": kind,
                "verdict": result.verdict_of(name),
                "antecedent": antecedents.get(name),
                "tested": result.tested_of(name),
                "trace": traces[name].to_plain() if name in traces else None,
            }
            for name, kind in result.claims
        ],
        "seconds": {"compile": round(result.compile_seconds, 3), "search": round(result.search_seconds, 3)},
        "peak_rss_bytes": result.peak or peak_bytes(),
        "record_bytes": result.record_bytes,
        "graph_digest": f"{result.digest:016x}" if with_digest else None,
        "fingerprint_collision_probability": result.collision_probability,
        "not_covered": [{"what": a.what, "why": a.why} for a in result.spec.abstractions],
    }


def check_plain(name: str, result: Exploration, traces: Mapping[str, Trace], expected: Expectation) -> dict[str, Any]:
    """Return a named check of a manifest as plain objects."""
    unmet = expected.unmet(result)
    return {
        "name": name,
        "as_expected": not unmet,
        "unmet": unmet,
        "induction": result.induction or None,
        **result_plain(result, traces),
    }


def model_plain(spec: Spec) -> dict[str, Any]:
    """Return the description of a model as plain objects."""
    return {
        "name": spec.name,
        "summary": spec.summary,
        "reference": spec.reference,
        "bounds": {b.name: {"low": b.low, "high": b.high, "meaning": b.meaning} for b in spec.bounds.values()},
        "bound_sets": {s.name: {"values": dict(s.values), "why": s.why} for s in spec.bound_sets},
        "decisions": {d.name: {"value": d.value.name, "meaning": d.meaning} for d in spec.decisions},
        "rules": [
            {
                "name": rule.name,
                "kind": rule.kind,
                "fairness": spec.fairness_of(rule),
                "actor": rule.actor,
                "summary": rule.summary,
                "parameters": list(rule.params),
                "guards": [guard.__name__ for guard in rule.guards],
                "bound_guards": [limit.__name__ for limit in rule.bound_guards],
                "at_most": [limit.name for limit in rule.limits],
                "effects": [effect.__name__ for effect in rule.effects],
                "reference": rule.reference,
            }
            for rule in spec.rules
        ],
        "unreachable_rules": list(spec.unreachable_rules),
        "machines": [
            {
                "name": machine.name,
                "states": len(machine.states),
                "rows": len(machine.rows),
                "unproved_pairs": [[one.label, other.label] for one, other in machine.unproved_pairs],
            }
            for machine in spec.machines
        ],
        "properties": [
            {
                "name": p.name,
                "kind": p.kind,
                "summary": p.summary,
                "antecedent": p.when.__name__ if p.when is not None else None,
                "each": {name: getattr(count, "name", count) for name, count in p.named_things.items()},
                "reference": p.reference,
            }
            for p in spec.properties
        ],
        "abstractions": [{"what": a.what, "why": a.why} for a in spec.abstractions],
    }
