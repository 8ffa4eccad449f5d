"""The result of an exploration, the same for every engine: counts per level, verdicts, coverage, completeness.

Does not depend on any engine. A verdict is *holds*, *violated* or *inconclusive*; *holds* needs a complete exploration. The result
also counts, for each rule, the steps that a bound prevented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from kafka_spec.model_check.record.fingerprint import collision_probability
from kafka_spec.spec.language.domain import capacities_in
from kafka_spec.spec.vocabulary.table import ABOUT_PATHS, DEADLOCK, TYPE_INVARIANT, Property, Spec

Verdict: TypeAlias = Literal["holds", "violated", "inconclusive"]
SHOWN = 5
"""The names that a line of a summary lists."""
WORST_FIRST: tuple[Verdict, ...] = ("violated", "inconclusive", "holds")


class EngineError(Exception):
    """Two engines disagree about a spec, or the checker has an error; the spec is not the cause."""


@dataclass(frozen=True)
class Finding:
    """A shortest path to a violation or a goal: the number of the initial state, then the numbers of the actions.

    For a leads-to property the path continues to a cycle and once around it: after `met` actions the antecedent is met, after
    `back` actions the cycle begins. If `back` is the number of actions, the cycle is the last state, which may stay as it is.
    """

    start: int
    actions: tuple[int, ...]
    met: int = -1
    back: int = -1
    unreported: int = 0
    """The number of actions, where a search does not keep them; `start` is -1 then, and there is no trace."""
    shortest: bool = True
    """Whether there is no shorter one; the end of a random walk has shorter ways."""

    def going_on(self, lead: tuple[int, ...], cycle: tuple[int, ...]) -> Finding:
        """Return the finding of a leads-to property whose antecedent is met at the end of this path."""
        if self.start < 0:
            return self
        met = len(self.actions)
        return Finding(self.start, (*self.actions, *lead, *cycle), met, met + len(lead))

    @property
    def states(self) -> int:
        """The number of states on the path; the state in which a cycle closes counts once."""
        return self.unreported + len(self.actions) + (self.back < 0 or self.back == len(self.actions))

    @property
    def searched(self) -> int:
        """How many of the actions form a shortest path: all, or those up to the state that meets the antecedent."""
        return self.met if self.met >= 0 else self.unreported + len(self.actions)


@dataclass
class Distribution:
    """Where a search keeps its levels; and, for the Spark engine, how it distributes the search."""

    state_dir: str
    """The folder of the levels: a local or mounted one; for Spark also a URI."""
    master: str = "local[*]"
    resume: bool = False
    handover: int = 300_000
    """The width of a level, in states, from which Spark takes over as soon as it is up."""
    latest: int = 1_200_000
    """The width of a level, in states, at which the search waits for Spark, to limit the memory of the driver."""
    session: Any = None
    """An existing SparkSession to use; None: start one, and stop it at the end."""


@dataclass
class Exploration:
    """The result of exploring a spec at given bounds."""

    spec: Spec
    bounds: dict[str, int]
    engine: str
    threads: int
    properties: tuple[Property, ...]
    """What is judged: of a property that is stated for each of some things, an instance for each binding (`Spec.claims_at`)."""
    deadlock: bool = False
    levels: list[int] = field(default_factory=list)
    """The number of distinct states at each depth, the initial states first."""
    fired: Counter[str] = field(default_factory=Counter)
    """The number of firings of each rule, including those that lead to known states."""
    new: Counter[str] = field(default_factory=Counter)
    """The number of states that each rule reached first, by the smallest (parent, rule, binding)."""
    cut_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of steps of each rule that only a bound prevented, by rule and name of the bound or of the constraint."""
    tested: Counter[str] = field(default_factory=Counter)
    """For each property with an antecedent, the number of states or steps that met it. For recoverable and leads-to properties,
    only those that do not meet the predicate count."""
    tallies: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    """For coverage, how often each line, guard and row was run; see model_check/coverage.py. Empty unless it was measured."""
    findings: dict[str, Finding] = field(default_factory=dict)
    """For each violated property and each reached goal, a shortest path to it."""
    digest: int = 0
    complete: bool = False
    stopped: str = ""
    """The reason why the exploration is incomplete."""
    unreduced: int | None = None
    """For a search by normal forms that was compared with that of all states: their number."""
    compared: list[str] = field(default_factory=list)
    """The searches that gave an equal result."""
    induction: str = ""
    """Of a check that is to be proved by induction: "proved", or what is not; "" where that is not asked."""
    compile_seconds: float = 0.0
    search_seconds: float = 0.0
    record_bytes: int = 0
    peak: int = 0
    """The peak memory, in bytes, of the process that made the search, if that has ended."""
    exchanged_bytes: int = 0
    """The bytes that the tasks of a distributed search sent to each other."""

    def __str__(self) -> str:
        """Return a summary of some ten lines; `trace_of` returns the trace of what is violated."""
        bounds = ", ".join(f"{name}={value}" for name, value in self.bounds.items() if value) or "no bounds"
        zero = ", all others 0" if 0 in self.bounds.values() else ""
        lines = [f"{self.spec.name} at {bounds}{zero}: {self.verdict}" + (f", stopped: {self.stopped}" if self.stopped else "")]
        lines.append(f"  {self.distinct:,} states, {self.generated:,} steps, {self.depth} levels, {self.search_seconds:.2f} s")
        found = [name for name in self.violated if name in self.findings]
        lines += [f"  {name} is violated: the trace has {self.findings[name].states} states" for name in found[:SHOWN]]
        for what, names in (
            ("violated, too", found[SHOWN:]),
            ("goals that are never reached", [name for name in self.violated if name not in self.findings]),
            ("properties that were never tested", self.untested if self.complete else []),
            ("rules that never fire", self.dead_rules if self.complete else []),
            ("rules that a bound prevented", list(self.bounded)),
        ):
            if names:
                more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
                lines.append(f"  {what}: {', '.join(names[:SHOWN])}{more}")
        return "\n".join(lines)

    def ended(self, everywhere: bool) -> None:
        """Note that the search ended; it is complete if it went everywhere, and no capacity that it had to find was too small."""
        if everywhere and not self.stopped and self.full:
            name, more = next(iter(self.full.items()))
            cure = f"give more, --bound {name}={more}" if more > self.bounds[name] else "let a bound limit what is put there"
            self.stopped = f"{name}={self.bounds[name]} is too small; {cure}"
        self.complete = everywhere and not self.stopped

    @property
    def full(self) -> dict[str, int]:
        """The capacities left out in the spec that prevented a step, each with what to try next: twice as much."""
        cut = {name for (_, name), steps in self.cut_by.items() if steps}
        return {name: min(2 * self.bounds[name], one.high) for name, one in capacities_in(self.spec.bounds).items() if name in cut}

    @property
    def distinct(self) -> int:
        """The number of distinct states found."""
        return sum(self.levels)

    @property
    def bounded(self) -> Counter[str]:
        """The number of steps of each rule that only a bound prevented."""
        counts = Counter[str]()
        for (rule, _), count in self.cut_by.items():
            counts[rule] += count
        return +counts

    @property
    def generated(self) -> int:
        """The number of all firings."""
        return sum(self.fired.values())

    @property
    def depth(self) -> int:
        """The number of levels, the initial one included."""
        return len(self.levels)

    @property
    def claims(self) -> list[tuple[str, str]]:
        """Name and kind of each checked property, including the built-in ones."""
        built_in = [(TYPE_INVARIANT, "invariant")] + ([(DEADLOCK, "invariant")] if self.deadlock else [])
        return [(claim.name, claim.kind) for claim in self.properties] + built_in

    def claims_named(self, name: str) -> list[str]:
        """Return the instances that a name stands for: the instance of that name, or those of the property.

        Members that a search takes as interchangeable have one instance, which stands for that of each of them.
        """
        if name in (TYPE_INVARIANT, DEADLOCK):
            return [name]
        base = name.partition("[")[0]
        for found in (
            [claim.name for claim in self.properties if claim.name == name],
            [claim.name for claim in self.properties if claim.stated == name],
            [claim.name for claim in self.properties if claim.name == base],
        ):
            if found:
                return found
        return []

    def shown_by(self, name: str) -> str | None:
        """Return the instance whose finding shows a property, or an instance itself; None if there is none."""
        return next((one for one in self.claims_named(name) if one in self.findings), None)

    def verdict_of(self, name: str) -> Verdict:
        """Return the verdict on one instance, or on a property: the worst on one of its instances."""
        kinds = dict(self.claims)
        verdicts = {self._verdict(one, kinds[one]) for one in self.claims_named(name)}
        if not verdicts:
            raise KeyError(name)
        return next(one for one in WORST_FIRST if one in verdicts)

    def _verdict(self, name: str, kind: str) -> Verdict:
        if kind == "reachable":
            return "holds" if name in self.findings else "violated" if self.complete else "inconclusive"
        return "violated" if name in self.findings else "holds" if self.complete else "inconclusive"

    def tested_of(self, name: str) -> int | None:
        """Return how many states or steps an instance was tested on: all, or those that met its antecedent; None for a goal.

        For a property with several instances return how many the one was tested on that was tested least.
        """
        kinds = dict(self.claims)
        counts = [self._tested(one, kinds[one]) for one in self.claims_named(name)]
        return min((count for count in counts if count is not None), default=None)

    def _tested(self, name: str, kind: str) -> int | None:
        claim = next((claim for claim in self.properties if claim.name == name), None)
        if kind == "reachable":
            return None
        if claim is not None and (claim.when is not None or kind == "recoverable" or not claim.parts):
            return self.tested[name]
        return self.generated if kind == "step invariant" or name == TYPE_INVARIANT else self.distinct

    @property
    def untested(self) -> list[str]:
        """The instances of the spec's properties that were not tested on any state or step."""
        return [claim.name for claim in self.properties if self.tested_of(claim.name) == 0]

    @property
    def undecided_by(self) -> list[str]:
        """The protocol rules whose bounded steps leave states undecided for recoverable and leads-to properties."""
        if not any(claim.kind in ABOUT_PATHS for claim in self.properties):
            return []
        bounded = self.bounded
        return [rule.name for rule in self.spec.rules if rule.kind == "protocol" and bounded[rule.name]]

    @property
    def left_constraint(self) -> bool:
        """Whether a step led to a state that does not meet the constraint."""
        name = self.spec.constraint.__name__ if self.spec.constraint is not None else ""
        return bool(name) and any(cut == name for (_, cut), count in self.cut_by.items() if count)

    @property
    def violated(self) -> list[str]:
        """The names of the violated instances."""
        return [name for name, kind in self.claims if self._verdict(name, kind) == "violated"]

    @property
    def shown_verdict(self) -> str:
        """The verdict as reports show it: *proved* where an induction goes beyond the search."""
        return "proved" if self.induction == "proved" else self.verdict

    @property
    def verdict(self) -> Verdict:
        """The verdict on the conjunction of all properties."""
        if self.violated:
            return "violated"
        return "holds" if self.complete else "inconclusive"

    @property
    def dead_rules(self) -> list[str]:
        """The rules that never fired, except those that the spec lists as unreachable."""
        known = self.spec.unreachable_rules
        return [rule.name for rule in self.spec.rules if not self.fired[rule.name] and rule.name not in known]

    @property
    def reached_after_all(self) -> list[str]:
        """The rules that fired although the spec lists them as unreachable."""
        return [name for name in self.spec.unreachable_rules if self.fired[name]]

    @property
    def collision_probability(self) -> float:
        """The probability that two distinct states share a fingerprint."""
        return 0.0 if self.engine == "oracle" else collision_probability(self.distinct)


def check_sums(result: Exploration, held: int | None = None) -> None:
    """Raise unless the counts of an engine are consistent; a search with inconsistent counts has no verdict.

    Args:
        result: the result of a search that has ended or was stopped.
        held: the size of the engine's set of seen states, counted independently of the levels; None if not known.

    Raises:
        EngineError: the counts are inconsistent.
    """
    if not result.levels:
        return
    wrong = [f"{rule} reached {new:,} new states in {result.fired[rule]:,} firings" for rule, new in result.new.items()
             if not 0 <= new <= result.fired[rule]]  # fmt: skip
    names = {rule.name for rule in result.spec.rules}
    wrong += [f"{of} was cut {count:,} times by {by}" for (of, by), count in result.cut_by.items() if count < 0 or of not in names]
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
