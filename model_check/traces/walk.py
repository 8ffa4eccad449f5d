"""A walk through the states of a spec, one step at a time, in plain Python: what can happen here, and what cannot and why.

The explorer, and tests made from a trace, are built on it. It explores nothing by itself; `nearest` searches a few thousand states.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.interpreter.expression import Expression
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.room import with_room
from kafka_spec.model_check.traces.counterexample import Teller
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Property, Rule, Spec, SpecError, first_line
from kafka_spec.spec.vocabulary.trace import Action, Step, Trace

Binding = tuple[int, ...]
REACH = 20_000
"""The most states that `nearest` looks at."""


@dataclass(frozen=True)
class Choice:
    """A step that can be taken: the number of its action, its rule with the binding, and the step in words."""

    number: int
    action: Action
    kind: str
    summary: str


@dataclass(frozen=True)
class RefusedStep:
    """Steps that cannot be taken: a rule with the parameters chosen so far, and the guard that refuses every step that has them.

    `guard` is "" where a bound of the exploration forbids the step.
    """

    action: Action
    kind: str
    guard: str
    because: str


@dataclass(frozen=True)
class Judgement:
    """What a property says of a state: `verdict` is a word for people, `wrong` whether an invariant is violated."""

    name: str
    kind: str
    summary: str
    verdict: str
    wrong: bool


class Walk:
    """A behaviour from an initial state, and a place in it. Steps are added at the place; what came after it is dropped."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int], start: int = 0, shows: Iterable[str] = ()) -> None:
        self.world = Interpreter(spec, with_room(spec, spec.bound_values(bounds)))
        self.teller = Teller(self.world, shows)
        self.beginnings = self.world.beginnings()
        self.restart(start)

    def restart(self, start: int = 0) -> None:
        """Begin again, in this initial state."""
        if not 0 <= start < len(self.beginnings):
            raise SpecError(f"{self.world.spec.name} has {len(self.beginnings)} initial states; there is no number {start}")
        self.start = start
        chosen, state = self.beginnings[start]
        self.states = [state]
        self.numbers: list[int] = []
        self.steps = [self.teller.step(None, chosen, None, state)]
        self.place = 0

    @classmethod
    def along(cls, trace: Trace, spec: Spec) -> Walk:
        """Return the walk along a trace, with its place at the end.

        Raises:
            SpecError: the trace is not one of this spec.
        """
        if trace.spec != spec.name:
            raise SpecError(f"the trace is one of {trace.spec}; name that model, and not {spec.name}")
        walk = cls(spec, dict(trace.bounds))
        marks = [walk.teller.step(None, chosen, None, state).fingerprint for chosen, state in walk.beginnings]
        if trace.start.fingerprint not in marks:
            raise SpecError(f"the trace does not start in an initial state of {spec.name}; the model has changed since")
        walk.restart(marks.index(trace.start.fingerprint))
        for action in trace.actions:
            walk.act(action.rule, *(value for _, value in action.binding))
        return walk

    @classmethod
    def by(cls, spec: Spec, bounds: Mapping[str, int], start: int, numbers: Iterable[int]) -> Walk:
        """Return the walk from an initial state that takes the steps with these numbers, with its place at the end."""
        walk = cls(spec, bounds, start)
        for number in numbers:
            walk.take(number)
        return walk

    # moving

    @property
    def state(self) -> Any:
        """The state at the place."""
        return self.states[self.place]

    def go(self, place: int) -> None:
        """Go to a state of the behaviour by its position; positions beyond its ends are its ends."""
        self.place = min(max(place, 0), len(self.states) - 1)

    def act(self, rule: str, *binding: int) -> None:
        """Take the step of a rule with these values of its parameters.

        Raises:
            SpecError: there is no such step here; the message says which guard refuses it.
        """
        stated = self.world.spec.rule(rule)
        if len(binding) != len(stated.params):
            names = ", ".join(stated.params)
            raise SpecError(f"{rule} has {len(stated.params)} parameters ({names}), and {len(binding)} are given")
        if binding not in self.world.enabled(stated, self.state):
            raise SpecError(f"{_action(stated, binding)} cannot happen here: {self._refused(stated, binding)}")
        if not self.world.within(stated, self.state, binding):
            raise SpecError(f"{_action(stated, binding)} cannot happen here: a bound of the exploration forbids it")
        try:
            after = self.world.apply(stated, self.state, binding, beyond=True)
        except OutOfBound as error:
            raise SpecError(f"{_action(stated, binding)} cannot happen here: {error}") from None
        except OutOfDomain as error:
            raise SpecError(f"{_action(stated, binding)} violates the type invariant: {error}") from None
        step = self.teller.step(stated, binding, self.state, after)
        del self.states[self.place + 1 :], self.numbers[self.place :], self.steps[self.place + 1 :]
        self.states.append(after)
        self.numbers.append(self.world.actions.number(self.world.spec.rules.index(stated), binding))
        self.steps.append(step)
        self.place += 1

    def take(self, number: int) -> None:
        """Take the step with this number, as `choices` and `numbers` have it."""
        if not 0 <= number < self.world.actions.count:
            raise SpecError(f"there are {self.world.actions.count} actions; there is no number {number}")
        rule, binding = self.world.actions.decode(number)
        self.act(rule.name, *binding)

    def wander(self, steps: int, seed: int, stops: Sequence[str] = ()) -> str:
        """Take random steps until a stop; return why it stopped.

        It stops at a violated invariant, where a property of `stops` changes its verdict, and where nothing can happen.
        """
        chance = random.Random(seed)
        asked = [self.world.spec.property(name) for name in stops]
        watched = {claim.name for stated in asked for claim in stated.at(self.world.bounds)}
        for taken in range(steps):
            before = {j.name: j.verdict for j in self.judgements()}
            choices = self.choices()
            if not choices:
                return f"nothing can happen after {taken} steps"
            self.take(chance.choice(choices).number)
            for judgement in self.judgements():
                if judgement.wrong or (judgement.name in watched and judgement.verdict != before[judgement.name]):
                    return f"{judgement.name}: {judgement.verdict}, after {taken + 1} steps"
        return f"{steps} steps were taken"

    def nearest(self, asked: Expression, most: int = REACH) -> bool:
        """Go to a nearest state in which an expression is true, by a shortest path from here; return whether it was found.

        At most `most` states are looked at.
        """
        actions = self.world.actions
        found = {self.world.key(self.state)}
        level: list[tuple[Any, Binding]] = [(self.state, ())]
        while level:
            following: list[tuple[Any, Binding]] = []
            for state, way in level:
                if way and asked.of(self.world, state):
                    for number in way:
                        self.take(number)
                    return True
                for index, rule in enumerate(self.world.spec.rules):
                    for binding, after in self._successors(rule, state):
                        key = self.world.key(after)
                        if key not in found:
                            if len(found) >= most:
                                return False
                            found.add(key)
                            following.append((after, (*way, actions.number(index, binding))))
            level = following
        return False

    def _successors(self, rule: Rule, state: Any) -> Iterator[tuple[Binding, Any]]:
        for binding in self.world.enabled(rule, state):
            if self.world.within(rule, state, binding):
                try:
                    yield binding, self.world.apply(rule, state, binding)
                except (OutOfBound, OutOfDomain):
                    continue

    # looking

    def choices(self) -> list[Choice]:
        """Return the steps that can be taken here, in the order of the rules."""
        found = []
        for index, rule in enumerate(self.world.spec.rules):
            for binding, _ in self._successors(rule, self.state):
                summary = rule.summary.format_map(self.teller.shown(rule, binding, self.state))
                found.append(Choice(self.world.actions.number(index, binding), _action(rule, binding), rule.kind, summary))
        return found

    def refusals(self) -> list[RefusedStep]:
        """Return what cannot happen here, each with the first guard that refuses it, as early as it does."""
        return [refusal for rule in self.world.spec.rules for refusal in self._refusals(rule)]

    def _refusals(self, rule: Rule) -> Iterator[RefusedStep]:
        for binding, guard in self.world.refusing(rule, self.state):
            if guard is not None:
                yield RefusedStep(_action(rule, binding), rule.kind, guard.__name__, first_line(guard))
            elif len(binding) == len(rule.params) and (reason := self._forbidden(rule, binding)):
                yield RefusedStep(_action(rule, binding), rule.kind, "", reason)

    def _forbidden(self, rule: Rule, binding: Binding) -> str:
        """Return which bound prevents a step whose guards hold, or ""."""
        for limit in rule.limits:
            if getattr(self.state.spent, limit.name) >= self.world.bounds[limit.name]:
                return f"{limit.name} is {self.world.bounds[limit.name]}, and that many are spent"
        for predicate in rule.bound_guards:
            if not self.world.holds([predicate], rule, self.state, binding):
                return first_line(predicate)
        try:
            self.world.apply(rule, self.state, binding)
        except (OutOfBound, OutOfDomain) as error:
            return str(error)
        return ""

    def _refused(self, rule: Rule, binding: Binding) -> str:
        for guard in rule.guards:
            if not self.world.holds([guard], rule, self.state, binding):
                return f"{guard.__name__} is false: {first_line(guard)}"
        return "a parameter is outside its domain"

    def judgements(self) -> list[Judgement]:
        """Return what each property says of this state, or of the step that led to it."""
        return [self._judgement(claim) for claim in self.world.claims]

    def _judgement(self, claim: Property) -> Judgement:
        verdict, wrong = "", False
        if claim.kind == "step invariant":
            before = self.states[self.place - 1] if self.place else None
            wrong = before is not None and not self.world.judge_step(claim, before, self.state)
            verdict = "violated by the last step" if wrong else "holds"
        elif claim.kind == "invariant":
            wrong = not self.world.judge(claim, self.state)
            verdict = "violated" if wrong else "holds" if self.world.tests(claim, s=self.state) else "says nothing here"
        elif claim.kind == "reachable":
            verdict = "reached" if self.world.meets(claim, self.state) else "not reached"
        else:
            owed = self.world.tests(claim, s=self.state) and not self.world.meets(claim, self.state)
            verdict = "still to come" if owed else "met"
        return Judgement(claim.name, claim.kind, claim.summary, verdict, wrong)

    @property
    def violated(self) -> list[str]:
        """The invariants that this state, or the step that led to it, violates."""
        return [judgement.name for judgement in self.judgements() if judgement.wrong]

    @property
    def reached(self) -> list[str]:
        """The goals that this state meets."""
        return [judgement.name for judgement in self.judgements() if judgement.verdict == "reached"]

    @property
    def owed(self) -> list[str]:
        """The properties about paths that this state does not meet yet."""
        return [judgement.name for judgement in self.judgements() if judgement.verdict == "still to come"]

    def recovers(self, claim: str, most: int = REACH) -> bool:
        """Whether protocol steps alone can lead from here to a state that meets a property, or that a bound cuts off.

        Only the nearest `most` states are searched.
        """
        return self.world.recovers(self.world.claim(claim), self.state, most)

    @property
    def step(self) -> Step:
        """The step that led here; the initial state is one too."""
        return self.steps[self.place]

    def trace(self) -> Trace:
        """Return the behaviour up to the place as a trace; it shows the first property violated or reached at its end, if any."""
        shows = next(iter([*self.violated, *self.reached]), "")
        bounds = tuple(self.world.bounds.items())
        return Trace(self.world.spec.name, bounds, shows, self.steps[0], tuple(self.steps[1 : self.place + 1]))

    def fingerprint(self) -> str:
        """Return the fingerprint of this state, as every trace prints it."""
        layout: Layout = self.teller.layout
        return f"{layout.fingerprint(layout.pack(self.state)):016x}"


def _action(rule: Rule, binding: Binding) -> Action:
    return Action(rule.name, tuple(zip(rule.params, binding, strict=False)))
