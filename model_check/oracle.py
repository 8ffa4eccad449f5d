"""The reference engine: breadth-first search in plain Python over the dataclasses of the spec.

It is short and simple, and not optimised. It compares whole states, and packs them only to print fingerprints. It defines the
meaning of a step for all engines; counterexamples are replayed with it too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.cuts import cut_name
from kafka_spec.model_check.entrance import read_anew
from kafka_spec.model_check.exploration import Budget, Exploration, Finding, Progress, Stopped, check_sums, quiet
from kafka_spec.model_check.fingerprint import MASK, edge_hash
from kafka_spec.model_check.layout import Actions, Layout
from kafka_spec.model_check.oracle_graph import Graph
from kafka_spec.model_check.within import limited, look
from kafka_spec.spec import table
from kafka_spec.spec.domain import NONE, OutOfBound, OutOfDomain, count_firing
from kafka_spec.spec.lint import parameters_of
from kafka_spec.spec.table import (
    Among,
    Attempt,
    ElementOf,
    ItemOf,
    Property,
    Question,
    Rule,
    Spec,
    SpecError,
    arguments,
    elements_of,
    first_line,
    numbers_of,
)

Binding = tuple[int, ...]
Key = tuple[Any, ...]
"""All fields of a state."""


class ExecutableSpec:
    """A spec at given bounds, executed in plain Python: its initial states and the steps out of a state."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int]) -> None:
        read_anew(spec)
        self.spec = spec
        self.bounds = bounds
        self.off = spec.switched_off(bounds)
        self.attempts: list[Attempt] = []
        """The attempts of `fire` in the last applied step."""
        self.k = spec.constants(bounds, self.attempts)
        self.space = spec.space(bounds)
        self.actions = Actions(spec, self.space, bounds)
        self.claims = spec.claims_at(bounds)
        """What is judged of the spec's properties at these bounds."""

    def claim(self, name: str) -> Property:
        """Return an instance by its name; a property whose bindings are several instances here, as one about all of them."""
        found = next((claim for claim in self.claims if claim.name == name), None)
        stated = self.spec.property(name) if found is None else found
        return stated.at(self.bounds, tuple(stated.named_things.values()))[0]

    def key(self, state: Any) -> Key:
        """Return the values by which states are compared: all fields."""
        return self.space.root.freeze(state)

    def formed(self, s: Any) -> Any:
        """Return what a search keeps of a state: its normal form if the spec is reduced, else the state itself.

        Raises:
            SpecError: the normal form cannot be applied to this state.
        """
        return self._changed_by(self.spec.normal_form, s, "normal form") if self.spec.reduced else s

    def viewed(self, s: Any) -> Any:
        """Return what identifies a state in a search: its view if the spec has one, else the state itself.

        Raises:
            SpecError: the view cannot be applied to this state.
        """
        return self._changed_by(self.spec.view, s, "view") if self.spec.view else s

    def _changed_by(self, parts: tuple[Any, ...], s: Any, what: str) -> Any:
        """Return a copy of a state, changed by the parts of a normal form or a view."""
        form = self.space.root.copy(s)
        table.bring_into_form(parts, self.space.root, form, self.k, what)
        return form

    def beyond(self, s: Any) -> str:
        """Return the name of the constraint that a state does not meet, or ""."""
        constraint = self.spec.constraint
        if constraint is None or self.call(constraint, {"s": s, "k": self.k}, "constraint"):
            return ""
        return constraint.__name__

    def values(self, rule: Rule, name: str, s: Any, binding: Binding) -> Iterable[int]:
        """Return the values that a parameter of a rule can take in this state, after those of `binding`."""
        parameter = rule.params[name]
        if isinstance(parameter, ElementOf):
            return numbers_of(elements_of(parameter, s, dict(zip(rule.params, binding, strict=False))))
        if isinstance(parameter, ItemOf):
            return range(len(getattr(s, parameter.field)))
        type_: Any = parameter.at(self.bounds, rule.name)
        if isinstance(parameter, Among):
            that = (parameter.that,)
            numbers = range(max(0, type_.low) if parameter.or_none else type_.low, type_.high + 1)
            found = [value for value in numbers if self.holds(that, rule, s, (*binding, value))]
            return found or ([NONE] if parameter.or_none else [])
        return range(type_.low, type_.high + 1)

    def enabled(self, rule: Rule, s: Any) -> Iterator[Binding]:
        """Yield the bindings for which all guards hold, in order; each guard is evaluated as soon as its parameters are bound."""
        names = list(rule.params)

        def bind(binding: Binding, left: tuple[Any, ...]) -> Iterator[Binding]:
            bound = {"s", "k", *names[: len(binding)]}
            ready = [guard for guard in left if set(parameters_of(guard)) <= bound]
            if not self.holds(ready, rule, s, binding):
                return
            if len(binding) == len(names):
                yield binding
                return
            for value in self.values(rule, names[len(binding)], s, binding):
                yield from bind((*binding, value), left[len(ready) :])

        return bind((), rule.guards)

    def holds(self, predicates: Sequence[Any], rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether all of the rule's predicates hold for the binding."""
        scope = {"s": s, "k": self.k, **arguments(rule.params, binding, s)}
        return all(self.call(predicate, scope, rule.name, binding) for predicate in predicates)

    def could_without_bounds(self, s: Any) -> bool:
        """Whether a rule that is switched off could fire."""
        return any(True for rule in self.spec.rules if rule.name in self.off for _ in self.enabled(rule, s))

    def within(self, rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether no bound of the exploration forbids the step."""
        return not self.forbidden_by(rule, s, binding)

    def forbidden_by(self, rule: Rule, s: Any, binding: Binding) -> str:
        """Return the name of the bound that forbids the step before its effects, or ""."""
        for limit in rule.limits:
            if getattr(s.spent, limit.name) >= self.bounds[limit.name]:
                return limit.name
        for predicate in rule.within:
            if not self.holds((predicate,), rule, s, binding):
                return cut_name(predicate, self.spec)
        return ""

    def allows(self, rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether the rule can fire with this binding, and no bound forbids it."""
        return self.holds(rule.guards, rule, s, binding) and self.within(rule, s, binding)

    def apply(self, rule: Rule, s: Any, binding: Binding, beyond: bool = False) -> Any:
        """Return the state after the rule's effects, with the counters of its bounds increased.

        With `beyond` the state need not meet the constraint.

        Raises:
            OutOfBound: a bound of the exploration forbids the step, or the constraint does.
            OutOfDomain: the type invariant is violated.
            SpecError: an effect cannot be executed.
        """
        after = self.space.root.copy(s)
        scope = {"s": after, "k": self.k, **arguments(rule.params, binding, s)}
        self.attempts.clear()
        for effect in rule.effects:
            self.call(effect, scope, rule.name, binding)
        for limit in rule.limits:
            count_firing(after, limit)
        if not beyond and (constraint := self.beyond(after)):
            raise OutOfBound(constraint)
        return after

    def call(self, function: Any, scope: Mapping[str, Any], what: str, binding: Binding = ()) -> Any:
        """Call a function of the spec; its errors are reported with the rule or property that called it."""
        try:
            return table.call(function, scope)
        except OutOfDomain:
            raise
        except (SpecError, ArithmeticError, ValueError) as error:
            where = f"{what}({', '.join(map(str, binding))})" if binding else what
            raise SpecError(f"{where}: {function.__name__} cannot be executed: {error}") from error

    def initial(self) -> list[Any]:
        """Return the distinct initial states, in the order of the start rule's bindings."""
        return [state for _, state in self.beginnings()]

    def beginnings(self) -> list[tuple[Binding, Any]]:
        """Return the distinct initial states, each with the first binding of the start rule that makes it."""
        fresh, start = self.space.fresh(), self.spec.start
        found: dict[Key, tuple[Binding, Any]] = {}
        for binding in self.enabled(start, fresh):
            look()
            if self.within(start, fresh, binding):
                try:
                    state = self.apply(start, fresh, binding, beyond=True)
                except (OutOfBound, OutOfDomain) as error:
                    why = f"it is beyond the bound {error}" if isinstance(error, OutOfBound) else str(error)
                    raise SpecError(f"{self.spec.name}: {start.name}{binding} is not an initial state: {why}") from None
                if constraint := self.beyond(state):
                    raise SpecError(
                        f"{self.spec.name}: the initial state {start.name}{binding} does not meet the constraint {constraint}; "
                        "correct the constraint, or leave the state out with within= of the rule that starts"
                    )
                found.setdefault(self.key(state), (binding, state))
        if not found:
            needs = "; ".join(first_line(guard) for guard in start.guards)
            raise SpecError(
                f"{self.spec.name}: there is no initial state: {start.name} needs that {needs}; correct the bounds, or the spec"
            )
        return list(found.values())

    def tests(self, claim: Property, **of: Any) -> bool:
        """Whether a state `s`, or the step from `before` to `after`, meets the antecedent of a claim."""
        return claim.when is None or any(self.answer(claim, when, of) for when in claim.antecedents)

    def answer(self, claim: Property, question: Question, of: Mapping[str, Any]) -> bool:
        """Whether a predicate or an antecedent of an instance is true of a state `s`, or of the step from `before` to `after`."""
        return bool(self.call(question.function, {**of, "k": self.k, **dict(question.given)}, claim.name))

    def meets(self, claim: Property, s: Any) -> bool:
        """Whether the predicate of an instance is true of a state; of a goal one of its bindings is enough."""
        each = any if claim.kind == "reachable" else all
        return each(self.answer(claim, predicate, {"s": s}) for predicate in claim.predicates)

    def is_final(self, s: Any) -> bool:
        """Whether a state without a step is one in which the protocol may rest."""
        final = self.spec.final_states
        return final is not None and bool(self.call(final, {"s": s, "k": self.k}, "final"))

    def is_stuck(self, s: Any) -> bool:
        """Whether no rule can fire in a state, and the protocol may not rest there."""
        return not any(True for rule in self.spec.rules for _ in self.enabled(rule, s)) and not self.is_final(s)

    def judge(self, claim: Property, s: Any) -> bool:
        """Whether a claim is true in a state: its antecedent implies its predicate."""
        return self.meets(claim, s) if claim.kind == "reachable" else self._implied(claim, {"s": s})

    def judge_step(self, claim: Property, before: Any, after: Any) -> bool:
        """Whether a step invariant is true of a step: its antecedent implies its predicate."""
        return self._implied(claim, {"before": before, "after": after})

    def _implied(self, claim: Property, of: Mapping[str, Any]) -> bool:
        """Whether for each binding of an instance its antecedent implies its predicate."""
        return all(
            (when is not None and not self.answer(claim, when, of)) or self.answer(claim, predicate, of)
            for when, predicate in claim.parts
        )

    def moves(self, s: Any) -> tuple[set[int], bool]:
        """Return the numbers of the protocol actions that change a state of a search, and whether a bound forbids one."""
        changing, cut = set(), False
        for number, rule in enumerate(self.spec.rules):
            for binding in self.enabled(rule, s) if rule.kind == "protocol" else ():
                try:
                    if not self.within(rule, s, binding):
                        raise OutOfBound
                    if self.key(self.formed(self.apply(rule, s, binding))) != self.key(s):
                        changing.add(self.actions.number(number, binding))
                except OutOfBound:
                    cut = True
                except OutOfDomain:
                    continue
        return changing, cut

    def recovers(self, claim: Property, s: Any, most: int) -> bool:
        """Whether protocol steps can reach a state that meets the claim or is undecided; search at most `most` states."""
        known, left = {self.key(self.formed(s))}, [self.formed(s)]
        for state in left:
            if self.meets(claim, state):
                return True
            for rule in self.spec.rules:
                for binding in self.enabled(rule, state) if rule.kind == "protocol" else ():
                    try:
                        if not self.within(rule, state, binding):
                            return True
                        after = self.formed(self.apply(rule, state, binding))
                    except OutOfBound:
                        return True
                    except OutOfDomain:
                        continue
                    if len(known) < most and self.key(after) not in known:
                        known.add(self.key(after))
                        left.append(after)
        return False


def explore(
    spec: Spec,
    bounds: Mapping[str, int],
    *,
    properties: Sequence[Property] | None = None,
    everything: bool = False,
    deadlock: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
    seed: int | None = None,
) -> Exploration:
    """Explore the spec breadth first; `model_check.embedded.explore` documents the arguments."""
    from kafka_spec.model_check.symmetry import compare_level, refuse_claims  # which asks the oracle

    claims = spec.claims_at(bounds, properties)
    refuse_claims(spec, claims)
    result = Exploration(spec, dict(bounds), "oracle", 1, claims, deadlock)
    search = _Search(ExecutableSpec(spec, bounds), result, seed)
    budget = budget or Budget()
    began = time.perf_counter()
    try:
        with limited(budget):
            search.begin()
    except Stopped as stop:
        result.stopped = str(stop)
        return result
    while search.frontier and (everything or not result.violated) and not result.stopped:
        compare_level(search.world, claims, result.depth, [state for _, state in search.frontier])
        if not (reason := budget.exhausted(result.distinct)):
            reason = search.next_level(budget)
        result.stopped = reason
        result.search_seconds = time.perf_counter() - began
        progress(result, result.search_seconds)
    if not search.frontier:
        result.stopped = search.judge_graph(budget)
    result.complete = not search.frontier and not result.stopped
    check_sums(result, None if result.stopped else len(search.seen))
    return result


def orders_by_mark(spec: Spec, seed: int | None) -> bool:
    """Whether a search orders each level by fingerprints: with a view, so that another seed explores other states of one view."""
    return bool(spec.view) and seed is not None


class _Search:
    """The frontier, the seen states, and how each state was first reached."""

    def __init__(self, world: ExecutableSpec, result: Exploration, seed: int | None) -> None:
        self.world, self.result = world, result
        self.layout = Layout(world.space, seed)
        self.by_mark = orders_by_mark(world.spec, seed)
        self.frontier: list[tuple[int, Any]] = []
        self.history: list[list[tuple[int, int]]] = []
        """For each level and state, the index of its parent in the level before (or of the initial state), and the action."""
        self.seen: set[Key] = set()
        self.graph = Graph(result.properties, world.actions)

    def mark(self, state: Any) -> int:
        return self.layout.fingerprint(self.layout.pack(self.world.viewed(state)))

    def rank(self, state: Any) -> int:
        """Return by what the states of a level are ordered before the order in which they are found."""
        return self.mark(state) if self.by_mark else 0

    def known_by(self, state: Any) -> Key:
        """Return the values by which the search knows a state."""
        return self.world.key(self.world.viewed(state))

    def begin(self) -> None:
        states = [self.world.formed(state) for state in self.world.initial()]
        first = {self.known_by(state): index for index, state in reversed(list(enumerate(states)))}
        order = sorted(first.values(), key=lambda index: (self.rank(states[index]), index))
        self.frontier = [(self.mark(states[index]), states[index]) for index in order]
        self.history.append([(index, -1) for index in order])
        self.seen.update(self.known_by(state) for state in states)
        self.result.levels.append(len(order))
        self.judge_level()

    def found(self, claim: str, level: int, index: int, *last: int) -> None:
        """Record the shortest path to a state as a finding; `last` are further actions at its end."""
        if claim in self.result.findings:
            return
        actions = list(last)
        for parents in reversed(self.history[1 : level + 1]):
            index, action = parents[index]
            actions.insert(0, action)
        self.result.findings[claim] = Finding(self.history[0][index][0], tuple(actions))

    def judge_level(self) -> None:
        spec, start = self.world.spec, len(self.history) == 1
        claims = [claim for claim in self.result.properties if claim.kind in ("invariant", "reachable")]
        for claim in claims if start or spec.judges_kept else ():
            for index, (_, state) in enumerate(self.frontier):
                if claim.when is not None and (start or not spec.judges_steps):
                    self.result.tested[claim.name] += self.world.tests(claim, s=state)
                if claim.name not in self.result.findings and self.world.judge(claim, state) == (claim.kind == "reachable"):
                    self.found(claim.name, len(self.history) - 1, index)
        if self.graph.claims:
            self.graph.add_level([self.world.key(state) for _, state in self.frontier])
        for claim in self.graph.claims:
            for _, state in self.frontier:
                meets, owes = self.world.meets(claim, state), self.world.tests(claim, s=state)
                self.result.tested[claim.name] += self.graph.judged(claim, self.world.key(state), meets, owes)

    def judge_graph(self, budget: Budget) -> str:
        """Check the claims that need the graph; return "", or why the budget does not allow it."""
        for claim in self.graph.claims:
            reason, first, lead, circle = self.graph.judge(claim, budget)
            if reason:
                return reason
            if first >= 0:
                self.found(claim.name, *self.graph.places[first])
                if claim.kind == "leads-to":
                    self.result.findings[claim.name] = self.result.findings[claim.name].going_on(lead, circle)
        return ""

    def judge_successor(self, claim: Property, before: Any, after: Any, place: tuple[int, int, int]) -> None:
        """Judge a claim on a step, or if not every state is kept on the state to which it leads."""
        if claim.kind == "step invariant":
            tested, hit = self.world.tests(claim, before=before, after=after), not self.world.judge_step(claim, before, after)
        elif self.world.spec.judges_steps and claim.kind in ("invariant", "reachable"):
            tested, hit = self.world.tests(claim, s=after), self.world.judge(claim, after) == (claim.kind == "reachable")
        else:
            return
        if claim.when is not None:
            self.result.tested[claim.name] += tested
        if hit:
            self.found(claim.name, *place)

    def next_level(self, budget: Budget) -> str:
        fresh: list[tuple[int, Any, tuple[int, int]]] = []
        for index, (_, state) in enumerate(self.frontier):
            if reason := budget.exhausted():
                return reason
            for action, mark, after in self.successors(index, state):
                key = self.known_by(after)
                if key not in self.seen:
                    self.seen.add(key)
                    fresh.append((mark, after, (index, action)))
        fresh.sort(key=lambda entry: self.rank(entry[1]))
        self.frontier = [(mark, state) for mark, state, _ in fresh]
        for _, _, (_, action) in fresh:
            self.result.new[self.world.actions.decode(action)[0].name] += 1
        if fresh:
            self.history.append([parent for _, _, parent in fresh])
            self.result.levels.append(len(fresh))
            self.judge_level()
        return ""

    def successors(self, index: int, state: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield action, fingerprint and state of each step out of a state, and check the step."""
        world, result, level = self.world, self.result, len(self.history) - 1
        stuck = True

        def cut(rule: Rule, action: int, name: str) -> None:
            result.bounded[rule.name] += 1
            result.cut_by[rule.name, name] += 1
            if self.graph.claims:
                self.graph.forbid(world.key(state), action)

        for number, rule in enumerate(world.spec.rules):
            if rule.name in world.off:
                continue
            for binding in world.enabled(rule, state):
                stuck = False
                action = world.actions.number(number, binding)
                try:
                    if reason := world.forbidden_by(rule, state, binding):
                        raise OutOfBound(reason)
                    after = world.apply(rule, state, binding, beyond=True)
                except OutOfBound as bound:
                    cut(rule, action, bound.args[0])
                    continue
                except OutOfDomain:
                    self.found(table.TYPE_INVARIANT, level, index, action)
                    continue
                for claim in result.properties:
                    self.judge_successor(claim, state, after, (level, index, action))
                if constraint := world.beyond(after):
                    cut(rule, action, constraint)
                    continue
                after = world.formed(after)
                if self.graph.claims:
                    self.graph.add_step(world.key(state), action, world.key(after))
                mark = self.mark(after)
                result.fired[rule.name] += 1
                result.digest = (result.digest + edge_hash(self.frontier[index][0], action, mark)) & MASK
                yield action, mark, after
        if stuck and not world.could_without_bounds(state) and not world.is_final(state) and result.deadlock:
            self.found(table.DEADLOCK, level, index)
