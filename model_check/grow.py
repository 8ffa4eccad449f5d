"""Checks a model at ever larger bounds, those expected to be small first: which are worth a run, and what the next would cost.

The size at new bounds is estimated from smaller ones that differ in a single bound: their states, times the growth that this bound
had when it was raised last, at these or at other bounds. Nothing is assumed about the model.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.spec.language.domain import capacities_in
from kafka_spec.spec.vocabulary.table import Spec, SpecError

UNKNOWN_GROWTH = 4.0
"""The growth that is assumed of a bound that was never raised."""
TOO_LARGE = 1 << 62

Bounds = tuple[int, ...]
"""The values of all bounds of a spec, in its order."""
Search = Callable[[Mapping[str, int]], Exploration]


@dataclass(frozen=True)
class Grown:
    """A search at some bounds: what raised it, what was expected, and what came of it (None: there is no initial state there)."""

    bounds: Mapping[str, int]
    raised: str
    expected: float
    result: Exploration | None
    growth: float | None = None
    """Its states in relation to those of the bounds that it was raised from."""


@dataclass
class Growth:
    """The searches so far, and the bounds that can be searched next."""

    spec: Spec
    base: Mapping[str, int]
    raises: int | None = None
    """By how much the bounds together may exceed the base; None: each goes up to its highest value."""
    states: dict[Bounds, int] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    """The growth of each bound when it was raised last."""
    waiting: list[tuple[int, float, Bounds, str, Bounds | None]] = field(default_factory=list)
    idle: dict[Bounds, int] = field(default_factory=dict)
    """The bounds at which the last raises changed nothing, and how many raises that were: what follows them comes later, for most
    such bounds matter together with one other, if at all. Equal counts prove nothing, so it comes."""
    met: set[Bounds] = field(default_factory=set)
    done: int = 0
    """How many bounds were searched to the end, or to a violation."""
    violated: list[Grown] = field(default_factory=list)
    """The searches that found a violation; what is reached from these bounds alone is not searched."""

    def __post_init__(self) -> None:
        self.names = [name for name in self.spec.bounds if name not in capacities_in(self.spec.bounds)]
        start = tuple(self.base[name] for name in self.names)
        self.met.add(start)
        self.waiting = [(0, 1.0, start, "", None)]

    @property
    def untried(self) -> int:
        """How many bounds from the base on were not searched."""
        rooms = [self.spec.bounds[name].high - self.base[name] for name in self.names]
        if self.raises is None:
            return math.prod(room + 1 for room in rooms) - self.done
        ways = [1] + [0] * self.raises
        """In how many ways the first bounds exceed the base by each sum."""
        for room in rooms:
            ways = [sum(ways[rest] for rest in range(max(0, total - room), total + 1)) for total in range(self.raises + 1)]
        return sum(ways) - self.done

    @property
    def next(self) -> tuple[Mapping[str, int], str, float] | None:
        """The bounds that come next, the bound that is raised for them, and the states that are expected."""
        self._renew()
        if not self.waiting:
            return None
        _, expected, bounds, raised, _ = self.waiting[0]
        return {**self.base, **dict(zip(self.names, bounds, strict=True))}, raised, expected

    def run(self, search: Search) -> Iterator[Grown]:
        """Search bound after bound, until there are none; whoever asks decides when to stop.

        What is reached from a violation alone is not searched: it most often has that violation too.
        """
        while (following := self.next) is not None:
            _, _, bounds, raised, source = heapq.heappop(self.waiting)
            try:
                result = search(following[0])
            except SpecError as error:
                if "there is no initial state" not in str(error):
                    raise
                result = None
            growth = None
            if result is not None and result.complete:
                self.states[bounds] = result.distinct
                if source is not None and source in self.states:
                    growth = result.distinct / max(1, self.states[source])
                    self.factors[raised] = growth
            if growth == 1.0 and source is not None:
                self.idle[bounds] = 1 + self.idle.get(source, 0)
            grown = Grown(following[0], raised, following[2], result, growth)
            if result is None or result.complete or result.violated:
                self.done += 1
            if result is not None and result.violated:
                self.violated.append(grown)
            elif result is None or result.complete:
                self._raise(bounds)
            yield grown

    def leave_out(self) -> None:
        """Do not search the bounds that come next, nor any that are reached through them alone."""
        heapq.heappop(self.waiting)

    def _raise(self, bounds: Bounds) -> None:
        """Add the bounds in which one bound is larger by one."""
        if self.raises is not None and sum(bounds) - sum(self.base.values()) >= self.raises:
            return
        for at, name in enumerate(self.names):
            larger = (*bounds[:at], bounds[at] + 1, *bounds[at + 1 :])
            if bounds[at] < self.spec.bounds[name].high and larger not in self.met:
                self.met.add(larger)
                heapq.heappush(self.waiting, (self._late(bounds), self._expected(larger), larger, name, bounds))

    def _late(self, source: Bounds | None) -> int:
        """Return how late the bounds come that are raised from these: by how many raises that changed nothing, beyond the first."""
        return max(0, self.idle.get(source, 0) - 1) if source is not None else 0

    def _expected(self, bounds: Bounds) -> float:
        """Return how many states are expected: the most that any smaller bounds lead to expect."""
        found = [1.0]
        for at, name in enumerate(self.names):
            smaller = (*bounds[:at], bounds[at] - 1, *bounds[at + 1 :])
            if smaller in self.states:
                found.append(self.states[smaller] * max(1.0, self.factors.get(name, UNKNOWN_GROWTH)))
        return min(max(found), float(TOO_LARGE))

    def _renew(self) -> None:
        """Estimate again what waits: growths may be known by now."""
        self.waiting = [
            (self._late(source), self._expected(bounds), bounds, raised, source) for _, _, bounds, raised, source in self.waiting
        ]
        heapq.heapify(self.waiting)


def least_bounds(spec: Spec) -> dict[str, int]:
    """Return the least value of each bound; a search finds the capacities that are left out."""
    first = {name: one.first for name, one in capacities_in(spec.bounds).items()}
    return {name: bound.low for name, bound in spec.bounds.items()} | first
