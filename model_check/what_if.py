"""Compares a spec with a changed version of it: what the change violates, what it fixes, and where it makes any difference.

Both are searched at the same bounds, each to its end. A property that the change violates counts as harm only where the search
without the change has ended and satisfied it. The verdict stays open if the change hides something: a property that is tested only
without it, or protocol steps that a bound prevents only with it. A change that no search notices was not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.grow import Growth
from kafka_spec.spec.vocabulary.table import Spec

ROUNDS = (20_000, 400_000, 4_000_000, None)
"""The states to which the searches are limited, round after round: so those of few states come first, wherever they stand."""

MOST = 1 << 62
"""Longer than any trace: what has none comes last."""

ChangeVerdict: TypeAlias = Literal["harm", "no harm", "no difference", "inconclusive"]


@dataclass(frozen=True)
class Compared:
    """The searches at some bounds, without the change and with it; `name` is that of the bound set, or says what differs."""

    name: str
    bounds: Mapping[str, int]
    before: Exploration
    after: Exploration

    @property
    def complete(self) -> bool:
        """Whether both searches have ended."""
        return self.before.complete and self.after.complete

    @property
    def differs(self) -> bool:
        """Whether the change makes a difference to states or steps, as far as both were searched."""
        if self.complete:
            return self.before.digest != self.after.digest
        common = min(self.before.depth, self.after.depth) - 1
        return self.before.levels[:common] != self.after.levels[:common]

    @property
    def harmed(self) -> tuple[str, ...]:
        """The properties that are violated with the change, and satisfied without it."""
        return tuple(name for name in self.after.violated if name not in self.before.violated and self.before.complete)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The properties that are violated with the change, while the search without it did not end."""
        return tuple(name for name in self.after.violated if name not in self.before.violated and not self.before.complete)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The properties that are violated without the change, and satisfied with it."""
        return tuple(name for name in self.before.violated if name not in self.after.violated and self.after.complete)

    @property
    def cut(self) -> tuple[str, ...]:
        """The protocol rules of which a bound prevents steps with the change, and none without it."""
        protocol = [rule.name for rule in self.after.spec.rules if rule.kind == "protocol"]
        return tuple(name for name in protocol if self.after.bounded[name] and not self.before.bounded[name])

    def length(self, name: str) -> int | None:
        """Return the states of the shortest trace that violates a property with the change; None for a goal, which has none."""
        claim = self.after.shown_by(name)
        return None if claim is None else self.after.findings[claim].states


@dataclass
class ChangeComparison:
    """The comparisons so far. `unfinished` are the bounds that were to be compared and are not, by name."""

    spec: Spec
    changed: Spec
    done: list[Compared] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    @property
    def harm(self) -> Mapping[str, Compared]:
        """The harmed properties, each with the comparison that has its shortest trace; the shortest first."""
        return self._shortest(lambda one: one.harmed)

    @property
    def undecided(self) -> Mapping[str, Compared]:
        """The properties of which it is open whether the change violates them, each with the shortest trace."""
        harm = self.harm
        return {name: one for name, one in self._shortest(lambda one: one.undecided).items() if name not in harm}

    @property
    def fixed(self) -> Mapping[str, Sequence[Compared]]:
        """The properties that the change fixes, with the comparisons that show it."""
        names = dict.fromkeys(name for one in self.done for name in one.fixed)
        return {name: [one for one in self.done if name in one.fixed] for name in names}

    @property
    def acts(self) -> Sequence[Compared]:
        """The comparisons in which the change makes a difference."""
        return [one for one in self.done if one.differs]

    @property
    def hidden(self) -> Sequence[str]:
        """The properties that are tested without the change, and at none of these bounds with it."""
        before, after = Counter[str](), Counter[str]()
        for one in self.done:
            for tested, result in ((before, one.before), (after, one.after)):
                tested.update({name: result.tested_of(name) or 0 for name, _ in result.claims})
        return [name for name, count in before.items() if count and not after[name]]

    @property
    def idle(self) -> Sequence[str]:
        """The rules that fire without the change, and at none of these bounds with it."""
        fired = [sum((getattr(one, which).fired for one in self.done), Counter[str]()) for which in ("before", "after")]
        return [name for name in fired[0] if not fired[1][name]]

    @property
    def verdict(self) -> ChangeVerdict:
        """Whether the change does harm; if not, whether every search ended, hid nothing, and one of them noticed the change."""
        if self.harm:
            return "harm"
        if self.unfinished or self.undecided or self.hidden or not all(one.complete and not one.cut for one in self.done):
            return "inconclusive"
        return "no harm" if self.acts else "no difference"

    def _shortest(self, names: Callable[[Compared], Iterable[str]]) -> Mapping[str, Compared]:
        found: dict[str, Compared] = {}
        for one in self.done:
            for name in names(one):
                if name not in found or (one.length(name) or 0) < (found[name].length(name) or 0):
                    found[name] = one
        return dict(sorted(found.items(), key=lambda pair: (pair[1].length(pair[0]) or MOST, pair[0])))


@dataclass
class WhatIf:
    """Compares within one budget of time, and of memory for each search; its limit of states is set by round."""

    spec: Spec
    changed: Spec
    budget: Budget
    threads: int = 1
    properties: Sequence[str] | None = None
    everything: bool = False
    """Continue after harm with bounds of more states; without, the round in which harm was found is the last."""

    def __post_init__(self) -> None:
        self.comparison = ChangeComparison(self.spec, self.changed)

    def at_sets(self, sets: Mapping[str, Mapping[str, int]]) -> Iterator[Compared]:
        """Compare at bound sets, those of few states first; yield each comparison that has ended, or found harm."""
        waiting = list(sets)
        for most in ROUNDS:
            if self.comparison.harm and not self.everything:
                break
            later = []
            for name in waiting:
                compared = self._compare(name, sets[name], most) if not self.spent else None
                if compared is not None and (compared.complete or compared.harmed or most is None):
                    self.comparison.done.append(compared)
                    yield compared
                else:
                    later.append(name)
            waiting = later
        self.comparison.unfinished += waiting

    def cover(self, base: Mapping[str, int], raises: int) -> Iterator[Compared]:
        """Compare at all bounds that exceed the base by `raises` at most in sum, but for those above a violation."""
        growth = Growth(self.changed, base, raises)
        found: list[Compared] = []

        def search(bounds: Mapping[str, int]) -> Exploration:
            raised = ", ".join(f"{name} {value}" for name, value in bounds.items() if value != base[name]) or "the base"
            compared = self._compare(raised, bounds, None)
            found.append(compared)
            return compared.after

        for _ in growth.run(search):
            if found:
                compared = found.pop()
                self.comparison.done.append(compared)
                yield compared
            if self.spent:
                break
        if growth.untried:
            self.comparison.unfinished.append(f"{growth.untried:,} of {growth.untried + growth.done:,} bounds")

    def _compare(self, name: str, bounds: Mapping[str, int], most: int | None) -> Compared:
        after = self._search(self.changed, bounds, most)
        return Compared(name, bounds, self._search(self.spec, bounds, most), after)

    def _search(self, spec: Spec, bounds: Mapping[str, int], most: int | None) -> Exploration:
        self.budget.max_states = most
        threads = 1 if most == ROUNDS[0] else self.threads
        return check(spec, bounds, properties=self.properties, threads=threads, everything=True, budget=self.budget)

    @property
    def spent(self) -> str:
        """Why no further search can begin, or ""."""
        self.budget.max_states = None
        return self.budget.exhausted()
