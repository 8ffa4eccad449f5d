"""`check MODEL --grow`: a table of bounds in the order of their expected size, within a budget, with an estimate for the next."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

from kafka_spec.model_check.check import check
from kafka_spec.model_check.command.options import AS_EXPECTED, INCONCLUSIVE, VIOLATED, asked_bounds
from kafka_spec.model_check.exploration import Budget, Exploration, resident_bytes
from kafka_spec.model_check.grow import Grown, Growth, least_bounds
from kafka_spec.model_check.manifest import judged_without
from kafka_spec.model_check.report.text import reservations
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError

SECONDS = 60.0
"""The budget, unless --seconds names another."""
TELLING, USUAL_RATE = 2_000, 200_000.0
"""A search of fewer states does not tell how fast larger ones are; until then this rate is assumed, in states a second."""
OVERHEAD = 40
"""Bytes of a state beside its record: fingerprint, parent, action."""


def run_grow(options: argparse.Namespace, spec: Spec) -> int:
    """Print the table line by line; stop at a violation, before a search that would not fit, or when all bounds are done."""
    if options.output or options.format != "text" or options.engine == "spark":
        raise SpecError("--grow prints a table; leave out --format, --output and --engine spark")
    with needing("check"):
        from kafka_spec.model_check.search import embedded  # noqa: F401
    base = asked_bounds(options, spec) if options.bound or options.bounds else least_bounds(spec)
    judged = judged_without(spec, options.without) if options.without else options.properties
    began, limit = time.perf_counter(), options.seconds if options.seconds is not None else SECONDS
    compiled, largest = 0.0, None

    def search(bounds: Mapping[str, int]) -> Exploration:
        budget = Budget(limit - (time.perf_counter() - began), options.memory << 20 if options.memory else None, options.max_states)
        return check(spec, bounds, properties=judged, threads=options.threads, deadlock=options.deadlock, budget=budget)

    growth = Growth(spec, base)
    print(f"{spec.name}: from {_told(base, {})}, for {limit:g} s")
    print(f"{'states':>14} {'growth':>8} {'expected':>14} {'seconds':>8}  verdict       raised")
    for grown in growth.run(search):
        if grown.result is None:
            continue
        print(_line(grown, base), flush=True)
        compiled = max(compiled, grown.result.compile_seconds)
        largest = grown.result if largest is None or grown.result.distinct > largest.distinct else largest
        if grown.result.verdict == "violated":
            where = " ".join(f"--bound {name}={value}" for name, value in grown.bounds.items())
            print(f"violated: kafka-spec trace {options.models[0]} {where}")
            _tell_untried(growth)
            return VIOLATED
        if not grown.result.complete:
            print(
                f"stopped: the budget of {limit:g} s is spent"
                if "time" in grown.result.stopped
                else f"stopped: {grown.result.stopped}"
            )
            _tell_untried(growth)
            return INCONCLUSIVE
        following = growth.next
        if following is None:
            break
        seconds, memory = compiled + following[2] / _rate(largest), following[2] * (largest.record_bytes + OVERHEAD)
        if seconds > limit - (time.perf_counter() - began) or (options.memory and memory + resident_bytes() > options.memory << 20):
            cost = f"some {_round(following[2])} states, {seconds:.0f} s and {memory / 2**20:,.0f} MiB"
            print(f"next: {_told(following[0], base)}: {cost}; that does not fit into the budget")
            _tell_untried(growth)
            return INCONCLUSIVE
    if growth.untried:
        _tell_untried(growth)
        return INCONCLUSIVE
    print(f"all {growth.done:,} bounds are done")
    return AS_EXPECTED


def _tell_untried(growth: Growth) -> None:
    print(f"not tried: {growth.untried:,} of {growth.untried + growth.done:,} bounds")


def _rate(result: Exploration) -> float:
    """Return the states a second of a search; a search of few states says nothing about it."""
    return result.distinct / max(result.search_seconds, 1e-3) if result.distinct >= TELLING else USUAL_RATE


def _line(grown: Grown, base: Mapping[str, int]) -> str:
    result = grown.result
    assert result is not None
    factor = f"{grown.growth:.2f}x" if grown.growth is not None else "-"
    left = [*reservations(result)] if result.verdict == "holds" else []
    verdict = (
        f"VIOLATED: {', '.join(result.violated)}" if result.violated else "; ".join([result.verdict, *left]).replace("; ", " ", 1)
    )
    where = _told(grown.bounds, base) or "nothing"
    return f"{result.distinct:>14,} {factor:>8} {_round(grown.expected):>14} {result.search_seconds:>8.2f}  {verdict:<12}  {where}"


def _told(bounds: Mapping[str, int], base: Mapping[str, int]) -> str:
    """Return the bounds that differ from those at the beginning."""
    return ", ".join(f"{name} {value}" for name, value in bounds.items() if base.get(name) != value)


def _round(states: float) -> str:
    """Return an estimate with two digits."""
    digits = max(0, len(str(int(states))) - 2)
    return f"{round(int(states), -digits):,}"
