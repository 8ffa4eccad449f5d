"""Finds behaviours of a spec that a log allows: after each line, all states that the implementation can be in.

A rule that the log names anywhere is *seen*: it fires exactly where a line says so. The others are unseen, and may fire between two
lines, some steps at most. The states after a line are the candidates for the next. In plain Python, as the walk of the explorer is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.model_check.traces.observed import LoggedEvent
from kafka_spec.model_check.within import look
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Rule, first_line


@dataclass(frozen=True)
class Candidate:
    """A state that the implementation can be in, and how: from which candidate, by which step, at which line (0: unseen)."""

    state: Any
    start: Binding = ()
    """The binding of the rule that starts, for an initial state."""
    source: Candidate | None = None
    rule: Rule | None = None
    binding: Binding = ()
    line: int = 0

    @property
    def path(self) -> list[Candidate]:
        """The candidates from the initial state to this one."""
        found = [self]
        while found[-1].source is not None:
            found.append(found[-1].source)
        return found[::-1]


@dataclass
class ExplainedLog:
    """How far a log is explained. `candidates` are the states after the last explained line, or before the one that fails."""

    lines: Sequence[LoggedEvent]
    candidates: Sequence[Candidate] = ()
    explained: int = 0
    most: int = 0
    """The most candidates after a line."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Why the first line that is not explained cannot follow, each reason with the number of candidates."""
    cuts: dict[str, None] = field(default_factory=dict)
    """Why there may be more candidates than those that were kept, at any line: then a line that fails, or a violation, is open."""
    violated: tuple[str, ...] = ()
    """The invariants that every candidate violates after the last explained line."""

    @property
    def failed(self) -> LoggedEvent | None:
        """The first line that nothing explains."""
        return self.lines[self.explained] if self.explained < len(self.lines) else None


class LogSearch:
    """Explains a log; `unseen` is the most steps between two lines that the log does not show, `most` the most candidates."""

    def __init__(self, world: Interpreter, lines: Sequence[LoggedEvent], unseen: int, most: int) -> None:
        self.world, self.unseen, self.most = world, unseen, most
        seen = {line.rule.name for line in lines if line.rule is not None}
        self.hidden = [rule for rule in world.spec.rules if rule.name not in {*seen, *world.off}]
        self.result = ExplainedLog(lines)

    def run(self) -> ExplainedLog:
        """Explain line after line, up to the first that nothing explains, or after which an invariant is violated for certain."""
        result = self.result
        result.candidates = [Candidate(state, binding) for binding, state in self.world.beginnings()]
        for line in result.lines:
            between = self._between(result.candidates)
            after = self._distinct(self._after(line, between))
            if not after:
                result.candidates = between
                result.refusals = Counter(reason for one in between for reason in [*dict.fromkeys(self._why_not(line, one))][:1])
                return result
            result.candidates, result.explained, result.most = after, result.explained + 1, max(result.most, len(after))
            if violated := self._violated(after):
                result.violated = violated
                return result
        return result

    def _between(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates, and what unseen steps lead to."""
        found = {self.world.key(one.state): one for one in candidates}
        level = list(candidates)
        for steps in range(self.unseen + 1):
            following = []
            for one in level:
                look()
                for rule in self.hidden:
                    for binding, after in self._steps(rule, one.state):
                        if (key := self.world.key(after)) not in found:
                            if steps == self.unseen or len(found) >= self.most:
                                self._cut_at(steps)
                                return list(found.values())
                            found[key] = Candidate(after, source=one, rule=rule, binding=binding)
                            following.append(found[key])
            level = following
        return list(found.values())

    def _cut_at(self, steps: int) -> None:
        if steps == self.unseen:
            self.result.cuts[f"more than {self.unseen} unseen steps are possible; --unseen N takes more"] = None
        else:
            self.result.cuts[f"there are more than {self.most:,} candidates; --most-candidates N keeps more"] = None

    def _after(self, line: LoggedEvent, between: Iterable[Candidate]) -> Iterator[Candidate]:
        for one in between:
            look()
            if line.rule is None:
                if not any(line.differences(self.world, one.state)):
                    yield one
                continue
            for binding, after in self._steps(line.rule, one.state, line):
                if not any(line.differences(self.world, after)):
                    yield Candidate(after, source=one, rule=line.rule, binding=binding, line=line.line)

    def _steps(self, rule: Rule, state: Any, line: LoggedEvent | None = None) -> Iterator[tuple[Binding, Any]]:
        """Yield the steps of a rule out of a state, or those that a line admits; note each bound that forbids one."""
        for binding in self.world.enabled(rule, state):
            if line is not None and not line.admits(self.world, state, binding):
                continue
            try:
                if name := self.world.forbidden_by(rule, state, binding):
                    raise OutOfBound(name)
                yield binding, self.world.apply(rule, state, binding)
            except OutOfBound as error:
                self.result.cuts[f"the bound {error} forbids a step; --bound NAME=N raises one"] = None
            except OutOfDomain:
                continue

    def _distinct(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        found: dict[Any, Candidate] = {}
        for one in candidates:
            found.setdefault(self.world.key(one.state), one)
            if len(found) > self.most:
                self._cut_at(0)
                break
        return list(found.values())[: self.most]

    def _why_not(self, line: LoggedEvent, one: Candidate) -> Iterator[str]:
        """Yield why a line cannot follow a candidate."""
        if line.rule is None:
            yield from line.differences(self.world, one.state)
            return
        possible = [after for _, after in self._steps(line.rule, one.state, line)]
        for after in possible:
            yield from (f"after {line.rule.name}, {what}" for what in line.differences(self.world, after))
        if not possible:
            yield from self._refusing(line, line.rule, one.state)

    def _refusing(self, line: LoggedEvent, rule: Rule, state: Any) -> Iterator[str]:
        """Yield the guards that refuse the rule of a line with its parameters, or what keeps it from happening besides."""

        def admits(before: Binding, value: int) -> bool:
            return line.admits_value(self.world, state, before, value)

        for binding, guard in self.world.refusing(rule, state, admits):
            if guard is not None:
                yield f"{guard.__name__} is false: {first_line(guard)}"
            elif len(binding) == len(rule.params):
                yield "a bound of the exploration forbids the step"
            elif (name := list(rule.params)[len(binding)]) in line.params:
                yield f"{name} cannot be {line.params[name]!r}"
            else:
                yield f"there is no {name} to choose"

    def _violated(self, candidates: Sequence[Candidate]) -> tuple[str, ...]:
        """Return the invariants that are violated in every candidate, or by the step that led to it."""
        claims = [claim for claim in self.world.claims if claim.kind in ("invariant", "step invariant")]
        return tuple(claim.name for claim in claims if all(self._violates(claim, one) for one in candidates))

    def _violates(self, claim: Any, one: Candidate) -> bool:
        if claim.kind == "invariant":
            return not self.world.judge(claim, one.state)
        return one.source is not None and not self.world.judge_step(claim, one.source.state, one.state)
