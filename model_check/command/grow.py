"""`check MODEL --grow` and `--cover N`: a table of bounds in the order of their expected size, within a budget."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping

from kafka_spec.model_check.budget import Budget, resident_bytes
from kafka_spec.model_check.check import check
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import AS_EXPECTED, INCONCLUSIVE, VIOLATED, asked_bounds, positive
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.grow import Grown, Growth, Search, least_bounds
from kafka_spec.model_check.manifest import judged_without
from kafka_spec.model_check.report.text import reservations
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError

SECONDS = 60.0
"""The budget, unless --seconds names another."""
TELLING, USUAL_RATE = 2_000, 200_000.0
"""A search of fewer states does not tell how fast larger ones are; until then this rate is assumed, in states a second."""
SHARE = 0.25
"""The part of the time that is left which a search may take where others are to follow it."""
OVERHEAD = 40
"""Bytes of a state beside its record: fingerprint, parent, action."""


def add_growth_options(add: Callable[..., object]) -> None:
    """Add the options that ask for the table."""
    add("--grow", action="store_true", help="a table of ever larger bounds, from the least or those given, for --seconds (60)")
    add("--cover", type=positive, metavar="N", help="the same for all bounds that exceed those by N in sum, beyond violations")


def run_grow(options: argparse.Namespace, models: Models) -> int:
    """Print the table line by line, as far as the budget allows.

    With --grow stop at the first violation. With --cover N search all bounds that exceed the first by N at most, but for those
    above a violation, and say where each property is violated first; of one that only fails above a violation nothing is said.
    """
    if len(options.models) != 1:
        raise SpecError(f"{_asked(options)} takes one model; name it")
    with reading(options.seconds):
        spec = models.find(options.models[0])
    if options.output or options.format != "text" or options.engine == "spark":
        raise SpecError(f"{_asked(options)} prints a table; leave out --format, --output and --engine spark")
    with needing("check"):
        from kafka_spec.model_check.search import embedded  # noqa: F401
    base = asked_bounds(options, spec) if options.bound or options.bounds else least_bounds(spec)
    judged = judged_without(spec, options.without) if options.without else options.properties
    limit = options.seconds if options.seconds is not None else SECONDS
    table = GrowthTable(spec, Growth(spec, base, options.cover), limit, options.memory << 20 if options.memory else None)

    def search(bounds: Mapping[str, int]) -> Exploration:
        seconds = table.left if options.cover is None else table.left * SHARE
        budget = Budget(seconds, table.memory, options.max_states)
        return check(spec, bounds, properties=judged, threads=options.threads, deadlock=options.deadlock, budget=budget)

    stopped = table.run(search, to_the_end=options.cover is not None)
    for line in table.conclusions(options.models[0], stopped):
        print(line)
    if table.growth.violated:
        return VIOLATED
    return INCONCLUSIVE if stopped or table.growth.untried else AS_EXPECTED


def _asked(options: argparse.Namespace) -> str:
    return "--grow" if options.grow else "--cover"


class GrowthTable:
    """The table that is printed, a line for each search, and the budget: seconds for all, bytes of memory for each."""

    def __init__(self, spec: Spec, growth: Growth, limit: float, memory: int | None) -> None:
        self.spec, self.growth, self.limit, self.memory = spec, growth, limit, memory
        self.began = time.perf_counter()
        self.compiled = 0.0
        self.largest: Exploration | None = None

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.limit - (time.perf_counter() - self.began)

    def run(self, search: Search, to_the_end: bool) -> str:
        """Print the searches; return why they stopped before the end, or "". Without `to_the_end` they end with a violation."""
        growth = self.growth
        print(f"{self.spec.name}: from {_told(growth.base, {})}, for {self.limit:g} s")
        print(f"{'states':>14} {'growth':>8} {'expected':>14} {'seconds':>8}  verdict       raised")
        for grown in growth.run(search):
            if grown.result is None:
                continue
            print(_line(grown, growth.base), flush=True)
            self.compiled = max(self.compiled, grown.result.compile_seconds)
            if self.largest is None or grown.result.distinct > self.largest.distinct:
                self.largest = grown.result
            if grown.result.violated and not to_the_end:
                return ""
            cut = grown.result.stopped if not grown.result.violated else ""
            late = self.left <= 0 and growth.next is not None
            if late or (cut and not to_the_end):
                return f"stopped: the budget of {self.limit:g} s is spent" if late or "time" in cut else f"stopped: {cut}"
            while reason := self.too_large(self.largest):
                if not to_the_end:
                    return reason
                growth.leave_out()
        return ""

    def too_large(self, largest: Exploration) -> str:
        """Return why the next search would not fit into the budget, or ""."""
        following = self.growth.next
        if following is None:
            return ""
        states = following[2]
        seconds, memory = self.compiled + states / _rate(largest), states * (largest.record_bytes + OVERHEAD)
        if seconds <= self.left and (not self.memory or memory + resident_bytes() <= self.memory):
            return ""
        cost = f"some {_round(states)} states, {seconds:.0f} s and {memory / 2**20:,.0f} MiB"
        return f"next: {_told(following[0], self.growth.base)}: {cost}; that does not fit into the budget"

    def conclusions(self, model: str, stopped: str) -> Iterator[str]:
        """Yield what follows from the table: the first violations, why it stopped, and how much was not tried."""
        growth, known = self.growth, set[str]()
        for grown in growth.violated:
            assert grown.result is not None
            if fresh := [name for name in grown.result.violated if name not in known]:
                known.update(fresh)
                where = " ".join(f"--bound {name}={value}" for name, value in grown.bounds.items())
                names = f" {', '.join(fresh)}" if growth.raises is not None else ""
                yield f"violated{names}: kafka-spec trace {model} {where}"
        if stopped:
            yield stopped
        if growth.untried:
            above = ", those above a violation among them" if growth.violated else ""
            yield f"not tried: {growth.untried:,} of {growth.untried + growth.done:,} bounds{above}"
        else:
            yield f"all {growth.done:,} bounds are done"


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
