"""The result of an exploration, the same for every engine: counts per level, verdicts, coverage, completeness.

Knows no engine. A verdict is *holds*, *violated* or *inconclusive*; *holds* needs a complete exploration. Whether a complete one
was cut by bounds is told apart, by the names of the steps that a bound forbade.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kafka_spec.model_check.fingerprint import collision_probability
from kafka_spec.spec.table import DEADLOCK, TYPE_INVARIANT, Property, Spec

Verdict: TypeAlias = Literal["holds", "violated", "inconclusive"]


class EngineError(Exception):
    """Two readings of one spec disagree, or the checker is at fault; never the spec's fault."""


@dataclass(frozen=True)
class Finding:
    """A shortest way to a violation or a goal: the number of the initial state, then the numbers of the actions.

    Of a leads-to property a way on to a circle, and once around it: after `met` actions the antecedent is met, after `back` actions
    the circle begins. There is no circle, but a state that may stay as it is, where those are all actions.
    """

    start: int
    actions: tuple[int, ...]
    met: int = -1
    back: int = -1

    def going_on(self, lead: tuple[int, ...], circle: tuple[int, ...]) -> Finding:
        """Return the finding of a leads-to property whose antecedent is met at the end of this way."""
        met = len(self.actions)
        return Finding(self.start, (*self.actions, *lead, *circle), met, met + len(lead))

    @property
    def states(self) -> int:
        """How many states there are on the way, that in which a circle closes counted once."""
        return len(self.actions) + (self.back < 0 or self.back == len(self.actions))

    @property
    def searched(self) -> int:
        """How many of the actions are a shortest way: all, or those to where the antecedent is met."""
        return self.met if self.met >= 0 else len(self.actions)


@dataclass
class Budget:
    """What a check may use. None: without limit. On reaching it the engine stops with the levels done."""

    seconds: float | None = None
    memory_bytes: int | None = None
    max_states: int | None = None
    interrupted: bool = False
    """Set (by a signal handler) to stop at the next occasion."""
    began: float = field(default_factory=time.perf_counter)

    def exhausted(self, distinct: int = 0, planned_bytes: int = 0) -> str:
        """Return why to stop, or "". `planned_bytes` is what the engine is about to allocate."""
        if self.interrupted:
            return "interrupted"
        if self.seconds is not None and time.perf_counter() - self.began > self.seconds:
            return f"the time budget of {self.seconds:g} s is spent"
        if self.max_states is not None and distinct >= self.max_states:
            return f"the budget of {self.max_states:,} states is spent"
        if self.memory_bytes is not None and resident_bytes() + planned_bytes > self.memory_bytes:
            return f"the memory budget of {self.memory_bytes / 2**20:,.0f} MiB is spent"
        return ""


@dataclass
class Distribution:
    """How a search is spread over machines: what the Spark engine is told."""

    state_dir: str
    """Where the levels are kept: a local or mounted folder, or a URI."""
    master: str = "local[*]"
    resume: bool = False
    handover: int = 300_000
    """The states of a level from which on Spark takes over as soon as it is up."""
    latest: int = 1_200_000
    """The states of a level at which the search waits for Spark to be up, so that it never holds more."""
    session: Any = None
    """A SparkSession to use as it is; None: make one, and stop it at the end."""


@dataclass
class Exploration:
    """What an engine found out about a spec at bounds."""

    spec: Spec
    bounds: dict[str, int]
    engine: str
    threads: int
    properties: tuple[Property, ...]
    deadlock: bool = False
    levels: list[int] = field(default_factory=list)
    """Distinct states found at each depth, the initial states first."""
    fired: Counter[str] = field(default_factory=Counter)
    """Firings of each rule, those that lead to known states included."""
    new: Counter[str] = field(default_factory=Counter)
    """States first reached by each rule, by the smallest of (parent, rule, binding)."""
    bounded: Counter[str] = field(default_factory=Counter)
    """Steps of each rule that nothing but a bound forbade."""
    tested: Counter[str] = field(default_factory=Counter)
    """For each property with an antecedent the states or steps that met it; of a recoverable or a leads-to one those of them that
    do not meet the predicate."""
    findings: dict[str, Finding] = field(default_factory=dict)
    """For each violated property, and each goal that was reached, a shortest way there."""
    digest: int = 0
    complete: bool = False
    stopped: str = ""
    """Why the exploration is not complete."""
    compared: list[str] = field(default_factory=list)
    """What the result was compared with, and equal to."""
    compile_seconds: float = 0.0
    search_seconds: float = 0.0
    record_bytes: int = 0
    shuffled_bytes: int = 0
    """What a distributed search sent between its tasks."""

    @property
    def distinct(self) -> int:
        """The number of distinct states found."""
        return sum(self.levels)

    @property
    def generated(self) -> int:
        """The number of firings."""
        return sum(self.fired.values())

    @property
    def depth(self) -> int:
        """The number of levels, the initial one included."""
        return len(self.levels)

    @property
    def claims(self) -> list[tuple[str, str]]:
        """Name and kind of everything that is judged, the built-in properties included."""
        built_in = [(TYPE_INVARIANT, "invariant")] + ([(DEADLOCK, "invariant")] if self.deadlock else [])
        return [(claim.name, claim.kind) for claim in self.properties] + built_in

    def verdict_of(self, name: str) -> Verdict:
        """Return the verdict on one property."""
        kind = dict(self.claims)[name]
        if kind == "reachable":
            return "holds" if name in self.findings else "violated" if self.complete else "inconclusive"
        return "violated" if name in self.findings else "holds" if self.complete else "inconclusive"

    def tested_of(self, name: str) -> int | None:
        """Return on how many states or steps a property was tested: those that met its antecedent, or all; None for a goal."""
        kind = dict(self.claims)[name]
        claim = next((claim for claim in self.properties if claim.name == name), None)
        if kind == "reachable":
            return None
        if claim is not None and (claim.when is not None or kind == "recoverable"):
            return self.tested[name]
        return self.generated if kind == "step invariant" or name == TYPE_INVARIANT else self.distinct

    @property
    def untested(self) -> list[str]:
        """The stated properties that were tested on no state and no step."""
        return [claim.name for claim in self.properties if self.tested_of(claim.name) == 0]

    @property
    def undecided_by(self) -> list[str]:
        """The protocol rules whose bounded steps leave states undecided for the recoverable and the leads-to properties."""
        if not any(claim.kind in ("recoverable", "leads-to") for claim in self.properties):
            return []
        return [rule.name for rule in self.spec.rules if rule.kind == "protocol" and self.bounded[rule.name]]

    @property
    def violated(self) -> list[str]:
        """The properties that are violated."""
        return [name for name, _ in self.claims if self.verdict_of(name) == "violated"]

    @property
    def verdict(self) -> Verdict:
        """The verdict on all properties together."""
        if self.violated:
            return "violated"
        return "holds" if self.complete else "inconclusive"

    @property
    def dead_rules(self) -> list[str]:
        """Rules that never fired, those left out that the spec lists as unreachable."""
        known = self.spec.unreachable_rules
        return [rule.name for rule in self.spec.rules if not self.fired[rule.name] and rule.name not in known]

    @property
    def reached_after_all(self) -> list[str]:
        """Rules that fired though the spec lists them as unreachable."""
        return [name for name in self.spec.unreachable_rules if self.fired[name]]

    @property
    def collision_probability(self) -> float:
        """The odds that two states were taken for one."""
        return 0.0 if self.engine == "oracle" else collision_probability(self.distinct)


def check_sums(result: Exploration, held: int | None = None) -> None:
    """Raise unless what an engine counted adds up; a search whose counts do not has no verdict.

    Args:
        result: what was found, of a search that is at its end or was stopped.
        held: how many states the engine holds as seen, counted apart from the levels; None where that is not known.

    Raises:
        EngineError: the sums do not add up.
    """
    if not result.levels:
        return
    wrong = [f"{rule} reached {new:,} new states in {result.fired[rule]:,} firings" for rule, new in result.new.items()
             if not 0 <= new <= result.fired[rule]]  # fmt: skip
    if result.levels[0] + sum(result.new.values()) != result.distinct:
        wrong.append(f"{result.levels[0]:,} initial and {sum(result.new.values()):,} new states are not {result.distinct:,}")
    if min(result.levels) <= 0:
        wrong.append(f"the levels hold {result.levels} states")
    if held is not None and held != result.distinct:
        wrong.append(f"the levels add up to {result.distinct:,} states, and {held:,} are held as seen")
    if long := [name for name, finding in result.findings.items() if finding.searched > result.depth]:
        wrong.append(f"the way to {long[0]} is longer than the search is deep")
    if wrong:
        raise EngineError(f"{result.spec.name}: the {result.engine} engine's sums do not add up: {'; '.join(wrong)}")


Progress: TypeAlias = Callable[[Exploration, float], None]
"""Called after each level with the result so far and the seconds since the start."""


def quiet(result: Exploration, seconds: float) -> None:
    """Show no progress."""


def resident_bytes() -> int:
    """Return the memory that this process holds now (where the system does not tell, the most it ever held)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """Return the most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
