"""An independent search of a spec: whole states, nothing packed, no line of model_check, slow and plain.

It uses the objects of spec/ (rules, domains, states that check their stores) and judges properties by their definitions, all of
them. The states of a level are in the order in which they are found, so that first findings can be compared.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import Array, Collection, Items, OutOfBound, OutOfDomain, Record, Scalar, SpecError, items_of
from kafka_spec.spec.vocabulary import table

Way = tuple[tuple[str, tuple[int, ...]], ...]
"""The number of the initial state, then the steps: each a rule and its binding."""


@dataclass
class Node:
    """A state, a shortest way to it, where protocol steps lead, and whether a bound cuts one of those off."""

    state: Any
    way: Way
    protocol: list[Any] = field(default_factory=list)
    steps: list[tuple[Any, table.Rule, tuple[int, ...]]] = field(default_factory=list)
    """The steps that change the state: where each leads, its rule and binding."""
    cut: bool = False
    meets: set[str] = field(default_factory=set)
    """The claims about ways that it meets."""
    owes: set[str] = field(default_factory=set)
    """The claims about ways that it owes a way, or what follows."""


def twin(value: Any) -> Any:
    """Return a copy of a state or a part of one."""
    if isinstance(value, int):
        return value
    if isinstance(value, Items):
        return value.type.holding(map(twin, items_of(value)))
    other = object.__new__(type(value))
    vars(other).update({name: twin(part) for name, part in vars(value).items()})
    return other


def whole(value: Any) -> Any:
    """Return a state or a part of one as nested tuples: what states are compared by."""
    if isinstance(value, int):
        return int(value)
    parts = tuple(map(whole, items_of(value) if isinstance(value, Items) else vars(value).values()))
    return tuple(sorted(parts)) if isinstance(getattr(value, "type", None), Collection) else parts


def every(type_: Any) -> Iterator[Any]:
    """Yield all values of a type, in their order."""
    if isinstance(type_, Scalar):
        yield from range(type_.low, type_.high + 1)
    elif isinstance(type_, Record):
        for parts in itertools.product(*map(every, type_.fields.values())):
            value = type_.fresh()
            vars(value).update(zip(type_.fields, map(twin, parts), strict=True))
            yield value
    else:
        for length in [type_.length] if isinstance(type_, Array) else range(type_.capacity + 1):
            for items in itertools.product(every(type_.item), repeat=length):
                yield type_.holding(map(twin, items))


@dataclass(frozen=True)
class Reading:
    """A property, or one binding of a property that is stated for each of some things."""

    name: str
    kind: str
    when: Callable[..., Any] | None
    predicate: Callable[..., Any]
    given: Mapping[str, int]


def readings(claim: table.Property, bounds: Mapping[str, int]) -> Iterator[Reading]:
    """Yield what a property says at some bounds, written out."""
    names = list(claim.named_things)
    every = list(itertools.product(*(range(bounds[bound.name]) for bound in claim.named_things.values())))
    for values in every:
        shown = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        name = f"{claim.name}[{shown}]" if len(every) > 1 else claim.name
        yield Reading(name, claim.kind, claim.when, claim.predicate, dict(zip(names, values, strict=True)))


class Independent:
    """A search, and what it found out."""

    def __init__(
        self,
        spec: table.Spec,
        bounds: Mapping[str, int],
        everything: bool,
        most: int,
        deadlock: bool = True,
    ) -> None:
        self.deadlock = deadlock
        self.spec, self.bounds = spec, bounds
        self.space, self.k = spec.space(bounds), spec.constants(bounds)
        self.claims = [one for claim in spec.properties for one in readings(claim, bounds)]
        self.levels: list[int] = []
        self.fired, self.new, self.bounded = Counter[str](), Counter[str](), Counter[str]()
        self.tested = Counter[str]()
        """For each property with an antecedent how many states or steps met it; for a recoverable one those that need a way."""
        self.ways: dict[str, Way] = {}
        """For each property that is violated, and each goal that is reached, the first shortest way."""
        self.faults: dict[str, int] = {}
        """The rules and properties that cannot be executed somewhere, and in which level first."""
        self.nodes: dict[Any, Node] = {}
        for _, _, after in self.steps((spec.start,), self.space.fresh()):
            if isinstance(after, type):
                self.faults[spec.start.name] = 0
            else:
                self.nodes.setdefault(self.known_by(after), Node(after, (("Start", (len(self.nodes),)),)))
                if not self.inside(after):
                    self.faults["constraint"] = 0
        frontier = self.judged(list(self.nodes.values()))
        goals = {claim.name for claim in self.claims if claim.kind == "reachable"}
        while frontier and sum(self.levels) < most and (everything or self.ways.keys() <= goals):
            frontier = self.judged([node for one in frontier for node in self.expanded(one)])
        self.complete = not frontier
        if self.complete:
            self.judge_recovery()
            self.judge_progress()

    def call(self, name: str, function: Callable[..., Any], **scope: Any) -> Any:
        """Call a function of the spec; one that cannot be executed is noted, and says no."""
        try:
            return function(*[scope[parameter] for parameter in source_of(function).parameters])
        except OutOfDomain:
            raise
        except (SpecError, ArithmeticError, ValueError, LookupError):
            self.faults.setdefault(name, len(self.levels))
            return False

    def viewed(self, s: Any) -> Any:
        """Return what a state is known by: a copy as the view changes it."""
        s = twin(s) if self.spec.view else s
        for part in self.spec.view:
            assert not isinstance(part, table.Ranks)
            try:
                self.call("view", part, s=s, k=self.k)
            except (OutOfBound, OutOfDomain):
                self.faults.setdefault("view", len(self.levels))
        return s

    def known_by(self, s: Any) -> Any:
        """Return the values by which a state is known."""
        return whole(self.viewed(s))

    def inside(self, s: Any) -> bool:
        """Whether a state meets the constraint."""
        return self.spec.constraint is None or bool(self.call("constraint", self.spec.constraint, s=s, k=self.k))

    def rests(self, s: Any) -> bool:
        """Whether the protocol may rest in a state."""
        return self.spec.final is not None and bool(self.call("final", self.spec.final, s=s, k=self.k))

    @property
    def partial(self) -> bool:
        """Whether not every state that is met is kept, so that it is judged where it is met."""
        return self.spec.constraint is not None or bool(self.spec.view)

    def applies(self, claim: Reading, **scope: Any) -> bool:
        """Whether a claim is made of a state or step."""
        return claim.when is None or bool(self.call(claim.name, claim.when, **claim.given, **scope))

    def values(self, parameter: Any, s: Any) -> Iterable[int]:
        """Return what a parameter runs over."""
        if isinstance(parameter, table.ItemOf):
            return range(len(getattr(s, parameter.field)))
        if isinstance(parameter, table.ElementOf):
            elements = list(map(whole, getattr(s, parameter.path)))
            return [number for number, one in enumerate(elements) if one not in elements[:number]]
        values = list(every(parameter.at(self.bounds, "")))
        return range(len(values)) if self.is_whole(parameter) else values

    def is_whole(self, parameter: Any) -> bool:
        """Whether a parameter is a record or a container of its own."""
        items = isinstance(parameter, table.ItemOf | table.ElementOf)
        return not items and not isinstance(parameter.at(self.bounds, ""), Scalar)

    def bindings(self, rule: table.Rule, s: Any, before: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield what the parameters may be, after the first ones. A guard is evaluated as soon as its parameters are bound."""
        scope = {"s": s, "k": self.k, **self.given(rule, s, before)}
        ready = [guard for guard in rule.guards if set(source_of(guard).parameters) <= set(scope)]
        if not all(self.call(rule.name, guard, **scope) for guard in ready):
            return
        if len(before) == len(rule.params):
            yield before
            return
        parameter = list(rule.params.values())[len(before)]
        values = self.values(parameter, s)
        if isinstance(parameter, table.Among):
            values = [value for value in values if value >= 0 or not parameter.or_none]
            given = {value: {**scope, **self.given(rule, s, (*before, value))} for value in values}
            values = [value for value in values if self.call(rule.name, parameter.that, **given[value])]
            values = values or ([-1] if parameter.or_none else [])
        for value in values:
            yield from self.bindings(rule, s, (*before, value))

    def given(self, rule: table.Rule, s: Any, binding: tuple[int, ...]) -> dict[str, Any]:
        """Return what the functions of a rule get for its first parameters."""
        scope: dict[str, Any] = dict(zip(rule.params, binding, strict=False))
        for name in scope:
            parameter = rule.params[name]
            if isinstance(parameter, table.ElementOf):
                scope[name] = list(getattr(s, parameter.path))[scope[name]]
            elif self.is_whole(parameter):
                scope[name] = list(every(parameter.at(self.bounds, "")))[scope[name]]
        return scope

    def steps(self, rules: tuple[table.Rule, ...], s: Any) -> Iterator[tuple[table.Rule, tuple[int, ...], Any]]:
        """Yield rule, binding and outcome of all that is enabled: a state, OutOfBound or OutOfDomain."""
        for rule in rules:
            for binding in self.bindings(rule, s, ()):
                scope = {"k": self.k, **self.given(rule, s, binding)}
                if not all(self.call(rule.name, guard, s=s, **scope) for guard in rule.guards):
                    continue
                after = twin(s)
                try:
                    for bound in rule.limits:
                        if vars(s.spent)[bound.name] >= self.bounds[bound.name]:
                            raise OutOfBound
                    if not all(self.call(rule.name, limit, s=s, **scope) for limit in rule.bound_guards):
                        raise OutOfBound
                    for effect in rule.effects:
                        self.call(rule.name, effect, s=after, **scope)
                    for bound in rule.limits:
                        vars(after.spent)[bound.name] += 1
                except (OutOfBound, OutOfDomain) as error:
                    yield rule, binding, type(error)
                else:
                    yield rule, binding, after

    def expanded(self, node: Node) -> list[Node]:
        """Do all steps out of a state, and return the states that are new."""
        stuck, fresh = True, []
        off = [rule for rule in self.spec.rules if rule.kind != "protocol" and any(self.bounds[b.name] == 0 for b in rule.limits)]
        for rule, binding, after in self.steps([rule for rule in self.spec.rules if rule not in off], node.state):
            stuck, way = False, (*node.way, (rule.name, binding))
            if after is OutOfBound:
                self.bounded[rule.name] += 1
                node.cut = node.cut or rule.kind == "protocol"
            elif after is OutOfDomain:
                self.ways.setdefault(table.TYPE_INVARIANT, way)
            else:
                for claim in self.claims:
                    scope = {"before": node.state, "after": after, "k": self.k}
                    if claim.kind == "step invariant" and self.applies(claim, **scope):
                        self.tested[claim.name] += claim.when is not None
                        if not self.call(claim.name, claim.predicate, **claim.given, **scope):
                            self.ways.setdefault(claim.name, way)
                    if claim.kind in ("invariant", "reachable") and self.partial and self.applies(claim, s=after, k=self.k):
                        self.tested[claim.name] += claim.when is not None
                        if bool(self.call(claim.name, claim.predicate, **claim.given, s=after, k=self.k)) == (
                            claim.kind == "reachable"
                        ):
                            self.ways.setdefault(claim.name, way)
                if not self.inside(after):
                    self.bounded[rule.name] += 1
                    node.cut = node.cut or rule.kind == "protocol"
                    continue
                self.fired[rule.name] += 1
                if (key := self.known_by(after)) not in self.nodes:
                    self.new[rule.name] += 1
                    self.nodes[key] = Node(after, way)
                    fresh.append(self.nodes[key])
                if rule.kind == "protocol":
                    node.protocol.append(key)
                if self.nodes[key] is not node:
                    node.steps.append((key, rule, binding))
        stuck = stuck and not list(self.steps(off, node.state))
        if stuck and not self.rests(node.state) and self.deadlock:
            self.ways.setdefault(table.DEADLOCK, node.way)
        return fresh

    def judged(self, level: list[Node]) -> list[Node]:
        """Count and judge the states of a level, and return them."""
        self.levels += [len(level)] if level else []
        for claim in self.claims:
            for node in level if claim.kind != "step invariant" else ():
                applies = self.applies(claim, s=node.state, k=self.k)
                on_ways = claim.kind in ("recoverable", "leads-to", "eventually", "eventually always")
                if not applies and not on_ways:
                    continue
                true = bool(self.call(claim.name, claim.predicate, **claim.given, s=node.state, k=self.k))
                if on_ways:
                    node.meets |= {claim.name} if true else set()
                    applies = applies and (claim.kind != "eventually" or len(self.levels) == 1)
                    node.owes |= {claim.name} if applies else set()
                    self.tested[claim.name] += applies and not true
                else:
                    self.tested[claim.name] += claim.when is not None and not (self.partial and len(self.levels) > 1)
                    if true == (claim.kind == "reachable"):
                        self.ways.setdefault(claim.name, node.way)
        return level

    def judge_recovery(self) -> None:
        """Find for each recoverable claim the first state from which protocol steps lead nowhere that meets it."""
        for claim in self.claims:
            if claim.kind == "recoverable":
                safe = {key for key, node in self.nodes.items() if node.cut or claim.name in node.meets}
                while more := {key for key, node in self.nodes.items() if key not in safe and safe.intersection(node.protocol)}:
                    safe |= more
                lost = [node for key, node in self.nodes.items() if key not in safe and claim.name in node.owes]
                if lost:
                    self.ways.setdefault(claim.name, lost[0].way)

    def judge_progress(self) -> None:
        """Find for each leads-to claim the first state that owes and from which a fair behaviour never meets the claim."""
        for claim in self.claims:
            if claim.kind == "eventually always":
                again = self.fair({key for key, node in self.nodes.items() if not node.cut})
                lost = [node for key, node in self.nodes.items() if key in again and claim.name not in node.meets]
                if lost:
                    self.ways.setdefault(claim.name, lost[0].way)
            if claim.kind in ("leads-to", "eventually"):
                open_ = {key for key, node in self.nodes.items() if claim.name not in node.meets}
                never = self.fair({key for key in open_ if not self.nodes[key].cut})
                while more := {key for key in open_ - never if any(to in never for to, _, _ in self.nodes[key].steps)}:
                    never |= more
                lost = [node for key, node in self.nodes.items() if key in never and claim.name in node.owes]
                if lost:
                    self.ways.setdefault(claim.name, lost[0].way)

    def fair(self, left: set[Any]) -> set[Any]:
        """Return the states that a fair behaviour may visit for ever without another state than those that are left."""
        found: set[Any] = set()
        while left:
            part = self.around(next(iter(left)), left)
            left = left - part
            steps = [(key, *step) for key in part for step in self.nodes[key].steps if step[1].kind == "protocol"]
            taken = {self.fair_with(rule, binding) for _, to, rule, binding in steps if to in part}
            vain: dict[tuple[str, str, tuple[int, ...]], set[Any]] = {}
            for key, _, rule, binding in steps:
                if (whose := self.fair_with(rule, binding)) not in taken:
                    vain.setdefault(whose, set()).add(key)
            strong = set().union(*(keys for (kind, _, _), keys in vain.items() if kind.startswith("strong")))
            if any(kind.startswith("weak") and keys == part for (kind, _, _), keys in vain.items()):
                continue
            found |= self.fair(part - strong) if strong else part
        return found

    def fair_with(self, rule: table.Rule, binding: tuple[int, ...]) -> tuple[str, str, tuple[int, ...]]:
        """Return what is fair together: all bindings of a rule, or with `each` a binding by itself."""
        kind = rule.fairness or self.spec.fairness
        return kind, rule.name, binding if kind.endswith("each") else ()

    def around(self, start: Any, inside: set[Any]) -> set[Any]:
        """Return the states to which protocol steps lead, and from which they lead back, inside some states."""
        ways = [(key, to) for key in inside for to, rule, _ in self.nodes[key].steps if rule.kind == "protocol" and to in inside]
        both = []
        for forth in (True, False):
            met = {start}
            while more := {b if forth else a for a, b in ways if (a if forth else b) in met} - met:
                met |= more
            both.append(met)
        return both[0] & both[1]
