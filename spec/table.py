"""The vocabulary in which a protocol is stated: machines with rows, rules, properties, and the spec that holds them.

Two laws of this file. Everything is validated here, when the module that states it is imported, and every message names
the place and the cure. Nothing here knows an engine, a storage or a picture: engines, implementation and drawings all
read the same objects.

Theory of operation. A *machine* is an immutable table of *rows*; it has no current state, the state of the world has
(a field with the domain `StateOf`). A *rule* is one atomic action of the world; it changes a machine only through
`fire`, which lets the table pick the row. A *spec* is a state, the rules that change it, the machines those fire, and the
properties that are claimed. A version is a spec with a few of these replaced.
"""

from __future__ import annotations

import dataclasses
import enum
import string
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType
from typing import Any, Literal, TypeAlias, TypeVar

from kafka_spec.spec.domain import (
    Bound,
    Bounded,
    Domain,
    Sequence,
    Space,
    SpecError,
    as_fired,
    domain_of,
    machine_paths,
    machine_range,
    path_of,
    type_at,
)
from kafka_spec.spec.integers import unusable
from kafka_spec.spec.lint import Function, parameters_of, source_of

__all__ = [
    "Abstraction", "Attempt", "BoundSet", "Constants", "Decision", "ItemOf", "Machine", "Overlap", "Property", "Row", "Rule",
    "Spec", "SpecError", "fire", "invariant", "leads_to", "reachable", "recoverable", "step_invariant",
]  # fmt: skip

Name: TypeAlias = str
RuleKind: TypeAlias = Literal["protocol", "operator", "fault"]
Part = TypeVar("Part", "Rule", "Property", "Machine")
PropertyKind: TypeAlias = Literal["invariant", "step invariant", "reachable", "recoverable", "leads-to"]
Fairness: TypeAlias = Literal["none", "weak", "strong"]


class Overlap(SpecError):  # noqa: N818 - says what happened
    """Two rows of a table could both fire; their guards must exclude each other."""


class Constants:
    """`k`: bounds and decisions, as attributes. Values at run time, never part of compiled code.

    It carries what `fire` needs beside the state: the spec's tables, and the list of attempts that `fire` adds to. Those are for
    `fire` alone; guards and effects see bounds and decisions only.
    """

    __slots__ = ("__dict__", "_attempts", "_tables")

    def __init__(self, values: Mapping[str, int], machines: Iterable[Machine] = (), attempts: list[Attempt] | None = None) -> None:
        for name, value in values.items():
            if reason := unusable(value):
                raise SpecError(f"k.{name}: {value!r} {reason}")
        self.__dict__.update({name: int(value) for name, value in values.items()})
        self._tables = {machine.name: machine for machine in machines}
        self._attempts = [] if attempts is None else attempts

    def __getattr__(self, name: str) -> int:
        raise SpecError(f"k.{name} is neither a bound nor a decision of this spec; it has {', '.join(vars(self))}")


@dataclass(frozen=True)
class Decision:
    """A named choice of a version or an era, read as `k.NAME`; `value` is one of the members of an IntEnum."""

    name: Name
    value: enum.IntEnum
    meaning: str

    def __post_init__(self) -> None:
        if reason := unusable(self.value):
            raise SpecError(f"decision {self.name}: {self.value!r} {reason}")


@dataclass(frozen=True)
class BoundSet:
    """Named values for all bounds of a spec, and why anybody wants just these."""

    name: Name
    values: Mapping[str, int]
    why: str


@dataclass(frozen=True)
class Abstraction:
    """Something the model leaves out, and why its verdict still counts, or what the verdict then does not cover."""

    what: str
    why: str


# ---------------------------------------------------------------------------------------------------------------------
# Machines


@dataclass(frozen=True)
class Row:
    """One legal change of one machine.

    `trigger` is Kafka's request in snake case; `guards` are predicates that must all hold, `unless` are guards of which none may
    hold; `effects` run in order, then the machine enters `target`. Guards and effects are functions, or names that `Machine.bind`
    resolves. `cites` is the source. An *initialisation* row seeds a state at start-up and makes no pair legal. A row that
    `waits_for` something the model has not got yet stands in the table, and firing it is an error.
    """

    trigger: str
    sources: tuple[enum.IntEnum, ...]
    target: enum.IntEnum
    guards: tuple[Function | Name, ...] = ()
    effects: tuple[Function | Name, ...] = ()
    cites: str = ""
    kind: Literal["transition", "initialisation"] = "transition"
    waits_for: str = ""
    unless: tuple[Function | Name, ...] = ()

    @property
    def looks(self) -> tuple[Function | Name, ...]:
        """All guards that the row evaluates: those that must hold, then those that must not."""
        return (*self.guards, *self.unless)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must be true for the row to fit, in words: the names of `guards`, and `not NAME` for those of `unless`."""
        return (*map(name_of, self.guards), *(f"not {name_of(guard)}" for guard in self.unless))

    @property
    def label(self) -> str:
        """`trigger [guards and not other] / effects`, as pictures show it."""
        guards = f" [{' and '.join(self.conditions)}]" if self.conditions else ""
        effects = f" / {', '.join(map(name_of, self.effects))}" if self.effects else ""
        return self.trigger + guards + effects

    def excludes(self, other: Row) -> bool:
        """Whether the guards alone show that both rows never fit at once: one needs what the other forbids."""
        return bool(set(self.guards) & set(other.unless) or set(self.unless) & set(other.guards))

    def implies(self, other: Row) -> bool:
        """Whether the guards alone show that the other row fits wherever this one does."""
        return set(other.guards) <= set(self.guards) and set(other.unless) <= set(self.unless)


def name_of(function: Function | Name) -> Name:
    """Return the name of a guard or an effect, bound or not."""
    return function if isinstance(function, str) else function.__name__


def first_line(function: Function) -> str:
    """Return what a guard says, as part of a sentence."""
    says = function.__doc__ or ""
    return says[:1].lower() + says.partition("\n")[0][1:].rstrip(".")


@dataclass(frozen=True)
class Machine:
    """A state machine as one table. `entity` names what there is one machine for, such as ("controller", "partition").

    `era` is the version of Kafka whose table it is. Guards and effects take some of `s`, `k` and the names of the entity, by name.
    """

    name: Name
    states: type[enum.IntEnum]
    initial: enum.IntEnum
    rows: tuple[Row, ...]
    entity: tuple[Name, ...] = ()
    cites: str = ""
    era: str = ""

    def __post_init__(self) -> None:
        _check_machine(self)

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The triggers in the order of the rows."""
        return tuple(dict.fromkeys(row.trigger for row in self.rows))

    @cached_property
    def legal_pairs(self) -> tuple[tuple[enum.IntEnum, enum.IntEnum], ...]:
        """The distinct (source, target) of transition rows."""
        pairs = [(s, row.target) for row in self.rows if row.kind == "transition" for s in row.sources]
        return tuple(dict.fromkeys(pairs))

    def rows_of(self, trigger: str) -> tuple[Row, ...]:
        """The rows that a trigger may pick."""
        return tuple(row for row in self.rows if row.trigger == trigger)

    @cached_property
    def unproved_pairs(self) -> tuple[tuple[Row, Row], ...]:
        """The pairs of rows on one trigger and source whose guards do not show that they exclude each other.

        That they do is what a check finds out: whenever the trigger fires, in every state that is explored and for every entity,
        the guards of all its rows are evaluated, and two rows that fit are an error.
        """
        return tuple((other, row) for other, row, _ in _rivals(self.rows) if not row.excludes(other))

    def bind(self, functions: Mapping[Name, Function]) -> Machine:
        """Return the machine with names of guards and effects replaced by the functions of those names."""

        def bound(names: tuple[Function | Name, ...]) -> tuple[Function | Name, ...]:
            return tuple(functions.get(n, n) if isinstance(n, str) else n for n in names)

        rows = tuple(
            dataclasses.replace(r, guards=bound(r.guards), effects=bound(r.effects), unless=bound(r.unless)) for r in self.rows
        )
        return dataclasses.replace(self, rows=rows)


def _rivals(rows: tuple[Row, ...]) -> Iterator[tuple[Row, Row, enum.IntEnum]]:
    """Yield each pair of rows that share a trigger and a source, with the first such source."""
    for index, row in enumerate(rows):
        for other in rows[:index]:
            common = [state for state in row.sources if state in other.sources]
            if row.trigger == other.trigger and common:
                yield other, row, common[0]


def _check_machine(machine: Machine) -> None:
    where = f"machine {machine.name}"
    for state in machine.states:
        if reason := unusable(state):
            raise SpecError(f"{where}: state {state.name} {reason}")
    reached = {machine.initial}
    for row in machine.rows:
        for state in (*row.sources, row.target):
            if not isinstance(state, machine.states):
                raise SpecError(f"{where}: row {row.label!r} names {state!r}, which is no {machine.states.__name__}")
        if not row.sources:
            raise SpecError(f"{where}: row {row.label!r} has no source; name the states it starts from")
    for _ in machine.rows:
        reached |= {row.target for row in machine.rows if reached & set(row.sources)}
    if unreached := [state.name for state in machine.states if state not in reached]:
        raise SpecError(f"{where}: no rows lead from {machine.initial.name} to {', '.join(unreached)}; add or drop a row")
    for row in machine.rows:
        if both := [name_of(guard) for guard in row.guards if guard in row.unless]:
            raise SpecError(f"{where}: row {row.label!r} asks for {both[0]} and forbids it, so it never fits; drop one of both")
        for function in (*row.looks, *row.effects):
            if not isinstance(function, str):
                _check_function(function, {"s", "k", *machine.entity}, f"{where}, row {row.label!r}")
        for guard in row.looks:
            _check_pure(guard, f"{where}, row {row.label!r}")
    for other, row, source in _rivals(machine.rows):
        if not row.excludes(other) and (row.implies(other) or other.implies(row)):
            raise SpecError(
                f"{where}: rows {other.label!r} and {row.label!r} both leave {source.name} on {row.trigger}, and wherever one fits "
                "the other does; name a guard in one of them, and the same under `unless` in the other"
            )


@dataclass(frozen=True)
class Attempt:
    """What came of one `fire`: the row's target, or None where the table refused."""

    machine: Name
    entity: tuple[int, ...]
    trigger: str
    source: enum.IntEnum
    target: enum.IntEnum | None


def fire(s: Any, k: Constants, machine: Machine, entity: tuple[int, ...], trigger: str) -> bool:
    """Let the machine's table change the state of one entity; the only way it changes.

    The table is the one that `k` carries under that name, so that a version that replaces a machine replaces it everywhere.
    Picks the row of that trigger whose sources hold the current state, whose guards all hold and of whose `unless` none does,
    runs its effects, and enters its target. Returns whether a row was found; a refused attempt changes nothing. Each attempt is
    recorded in `k`.

    Raises:
        Overlap: two rows could fire.
        SpecError: `k` carries no such table; the row waits for something that is not modelled yet.
    """
    root = type(s).__type__
    if machine.name not in k._tables:
        raise SpecError(f"machine {machine.name} is fired and k does not carry it; make k with spec.constants, or name it there")
    machine = k._tables[machine.name]
    holder, place = _machine_place(root, s, machine, entity)
    source = machine.states(holder[place] if isinstance(place, int) else getattr(holder, place))
    scope = {"s": s, "k": k, **dict(zip(machine.entity, entity, strict=True))}
    rows = [row for row in machine.rows_of(trigger) if source in row.sources]
    picked = [
        row
        for row in rows
        if all(call(guard, scope) for guard in row.guards) and not any(call(guard, scope) for guard in row.unless)
    ]
    if len(picked) > 1:
        raise Overlap(
            f"machine {machine.name}: {trigger} in {source.name} fits {picked[0].label!r} and {picked[1].label!r}; "
            "make their guards exclude each other"
        )
    target = picked[0].target if picked else None
    k._attempts.append(Attempt(machine.name, entity, trigger, source, target))
    if target is None:
        return False
    if picked[0].waits_for:
        raise SpecError(f"machine {machine.name}: row {picked[0].label!r} waits for {picked[0].waits_for}")
    for effect in picked[0].effects:
        call(effect, scope)
    if isinstance(place, int):
        list.__setitem__(holder, place, int(target))
    else:
        as_fired(holder, place, int(target))
    return True


fire.__fires__ = True  # type: ignore[attr-defined]


def _machine_place(root: Any, s: Any, machine: Machine, entity: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the holder of the machine's state and the field name or index in it."""
    (path,) = machine_paths(root, machine.name)
    indices = iter(entity)
    holder = s
    parts: list[str | int] = [next(indices) if part == "[]" else part for part in path]
    for part in parts[:-1]:
        holder = holder[part] if isinstance(part, int) else getattr(holder, part)
    return holder, parts[-1]


def call(function: Function | Name, scope: Mapping[str, Any]) -> Any:
    """Call a guard, an effect or a predicate with those values of the scope that its parameters name."""
    if isinstance(function, str):
        raise SpecError(f"{function} is a name without a function; bind it with Machine.bind({{name: function}})")
    return function(*[scope[name] for name in parameters_of(function)])


# ---------------------------------------------------------------------------------------------------------------------
# Rules


@dataclass(frozen=True)
class ItemOf:
    """A parameter that runs over the items now in a sequence of the state, as their index; `field` is its name.

    A rule with such a parameter reads that item: with `receives`, traces show it as received.
    """

    field: Name
    receives: bool = True


@dataclass(frozen=True)
class Rule:
    """One atomic action of the world.

    `actor` acts ("controller", "broker {follower}", a template over the parameters), `params` are what an instance
    (*binding*) is chosen by, in order. It can fire if all `guards` hold; if then a predicate of `within` does not, it is only a
    bound of the exploration that forbids the step, which is counted and named. `at_most` is a bound on how often the rule fires
    (or several; rules may share one): counter, limit and counting follow from it. `effects` run in order on the new state.
    All take some of `s`, `k` and the parameters, by name; the engine evaluates a guard as soon as its parameters have
    values, so a guard that needs few of them is cheap. `says` is the step in Kafka's words, a template, in which
    `{request.leader}` is a field of the item that an `ItemOf` names; `cites` the source. `receives` names the sequence whose first
    message the rule reads, a path with parameters in braces: `channels[{broker}].requests`; traces show it as received.

    `fairness` is what `leads_to` assumes of each instance of a protocol rule. Weak, the default: an instance that stays enabled
    is taken at last. Strong: so is one that is enabled again and again. None: it may be left out forever. Rules of other kinds
    have none; what they do, they do finitely often.
    """

    name: Name
    actor: str
    says: str
    cites: str
    effects: tuple[Function, ...]
    params: Mapping[Name, Domain | ItemOf] = field(default_factory=dict)
    guards: tuple[Function, ...] = ()
    within: tuple[Function, ...] = ()
    kind: RuleKind = "protocol"
    fairness: Fairness | None = None
    receives: str = ""
    at_most: Bound | tuple[Bound, ...] = ()
    declared_in: Name = field(init=False, compare=False, repr=False)
    """The module that states it."""

    @property
    def limits(self) -> tuple[Bound, ...]:
        """The bounds on how often the rule fires, each of which counts its firings."""
        return self.at_most if isinstance(self.at_most, tuple) else (self.at_most,)

    def __post_init__(self) -> None:
        if not hasattr(self, "declared_in"):  # a check validates again what was declared long ago
            object.__setattr__(self, "declared_in", _module_of_caller())
        where = f"rule {self.name}"
        if wrong := [limit for limit in self.limits if not isinstance(limit, Bound)]:
            raise SpecError(f"{where}: at_most is {wrong[0]!r}; name a Bound, whose value says how often the rule may fire")
        if self.fairness is not None and self.kind != "protocol":
            raise SpecError(f"{where}: a rule of kind {self.kind} happens finitely often and has no fairness; leave it out")
        for part in ("effects", "guards", "within"):
            if not isinstance(getattr(self, part), tuple):
                raise SpecError(f"{where}: {part} is no tuple; write ({part}=(one,))")
        if reserved := [name for name in self.params if name in ("s", "k")]:
            raise SpecError(f"{where}: a parameter cannot be named {reserved[0]}: that is the state, or the constants")
        for template in (self.actor, self.says, self.receives):
            _check_template(template, self.params, where)
        for function in (*self.guards, *self.within, *self.effects):
            _check_function(function, {"s", "k", *self.params}, where)
        for guard in (*self.guards, *self.within):
            _check_pure(guard, where)
        depth = 0
        for guard in self.guards:
            needs = max((list(self.params).index(n) + 1 for n in source_of(guard).parameters if n in self.params), default=0)
            if needs < depth:
                raise SpecError(
                    f"{where}: guard {guard.__name__} needs fewer parameters than the one before it; put it further ahead, "
                    "where it is evaluated: guards run in their order, each as soon as its parameters have values"
                )
            depth = needs

    @property
    def assumed(self) -> Fairness:
        """The fairness that is assumed of each instance of this rule."""
        return self.fairness or ("weak" if self.kind == "protocol" else "none")

    def without_guard(self, guard: Name) -> Rule:
        """Return the rule weakened by one guard, to see which property notices."""
        left = tuple(g for g in self.guards if name_of(g) != guard)
        if len(left) == len(self.guards):
            raise SpecError(f"rule {self.name} has no guard {guard}; it has {', '.join(map(name_of, self.guards))}")
        return dataclasses.replace(self, guards=left)


def _module_of_caller() -> Name:
    """Return the name of the module that states what is being made, as namedtuple and enum find it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in (__name__, "dataclasses"):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def _check_template(template: str, params: Mapping[Name, Any], where: str) -> None:
    """Refuse a sentence that names what the rule has not."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise SpecError(f"{where}: {template!r}: {error}") from None
    if unknown := [name for name in names if name.split(".")[0] not in params]:
        raise SpecError(f"{where}: {template!r} names {unknown[0]!r}; it may name {', '.join(params) or 'no parameter'}")


def _check_function(function: Function, known: set[str], where: str) -> None:
    source = source_of(function)
    if unknown := [name for name in source.parameters if name not in known]:
        raise SpecError(
            f"{source.place}: {function.__name__} takes {unknown[0]}, which {where} has not; it may take {', '.join(sorted(known))}"
        )


def _check_pure(guard: Function | Name, where: str) -> None:
    if isinstance(guard, str):
        return
    if source_of(guard).results != 1:
        raise SpecError(f"{source_of(guard).place}: {where}: guard {guard.__name__} must return one value, true or false")
    if source_of(guard).writes:
        raise SpecError(f"{source_of(guard).place}: {where}: guard {guard.__name__} writes; guards look, effects write")


# ---------------------------------------------------------------------------------------------------------------------
# Properties


@dataclass(frozen=True)
class Property:
    """A claim about states or steps: a predicate, a sentence, a source.

    An *invariant* holds in every state; a *step invariant* takes `before` and `after` and holds on every edge, those to
    known states included; a *reachable* is a goal that some state must meet; a *recoverable* is a goal to which rules of kind
    protocol alone lead from every state; a *leads-to* claims that from where its antecedent is met its predicate is met at last,
    whatever fair protocol steps do.

    With an antecedent `when`, a function of the same parameters, the claim is made of those states or steps alone that meet
    it. How many met it is reported: a property that was never tested has proved nothing.
    """

    name: Name
    kind: PropertyKind
    predicate: Function
    says: str
    cites: str
    when: Function | None = None

    def __post_init__(self) -> None:
        if self.when is not None and self.kind == "reachable":
            raise SpecError(f"property {self.name}: a goal has no antecedent; make {self.when.__name__} a part of its predicate")
        if self.when is None and self.kind == "leads-to":
            raise SpecError(f"property {self.name}: it must say what leads to {self.predicate.__name__}; give it an antecedent")
        known = {"before", "after", "k"} if self.kind == "step invariant" else {"s", "k"}
        for function in (self.predicate, *((self.when,) if self.when is not None else ())):
            _check_function(function, known, f"property {self.name}")
            _check_pure(function, f"property {self.name}")


def invariant(name: Name, predicate: Function, says: str, cites: str, *, when: Function | None = None) -> Property:
    """Claim that the predicate of (s, k) holds in every reachable state, or in those that meet the antecedent."""
    return Property(name, "invariant", predicate, says, cites, when)


def step_invariant(name: Name, predicate: Function, says: str, cites: str, *, when: Function | None = None) -> Property:
    """Claim that the predicate of (before, after, k) holds on every step, or on those that meet the antecedent."""
    return Property(name, "step invariant", predicate, says, cites, when)


def reachable(name: Name, predicate: Function, says: str, cites: str) -> Property:
    """Claim that some reachable state meets the predicate of (s, k): a goal, and a guard against empty proofs."""
    return Property(name, "reachable", predicate, says, cites)


def recoverable(name: Name, predicate: Function, says: str, cites: str, *, when: Function | None = None) -> Property:
    """Claim that from every reachable state a way leads to one that meets the predicate of (s, k), by protocol rules alone.

    Rules of kind operator or fault do not count. A state in which a bound forbids a protocol step is undecided and taken to
    have a way, so that a violation is certain. With an antecedent only the states that meet it need a way. It is tested in
    those that need one and do not meet the predicate themselves.
    """
    return Property(name, "recoverable", predicate, says, cites, when)


def leads_to(name: Name, when: Function, predicate: Function, says: str, cites: str) -> Property:
    """Claim that after each state that meets `when` one is met at last that meets the predicate; both take (s, k).

    Rules of kind operator and fault happen finitely often; of protocol rules the fairness is assumed that they state. It is
    violated by a way to where the predicate is not met and need never be: a circle of protocol steps that is fair, or a state
    that may stay as it is. A firing that changes nothing is no step. A state in which a bound forbids a protocol step is
    undecided, and taken to have a way out of each circle, so that a violation is certain. It is tested in those
    states that meet the antecedent and not the predicate.
    """
    return Property(name, "leads-to", predicate, says, cites, when)


TYPE_INVARIANT = "TypeInvariant"
"""The property every spec has without stating it: each field stays in its domain."""

DEADLOCK = "Deadlock"
"""The property of the optional deadlock check: in every state some rule can fire, or only a bound forbids it."""


# ---------------------------------------------------------------------------------------------------------------------
# Specs


def _do_nothing(s: Any) -> None:
    """Leave the state as its domains have it initially."""


@dataclass(frozen=True)
class Spec:
    """A protocol version: its state, rules, machines and properties, and what is left out.

    `start` is a rule whose instances, applied to the fresh state, are the initial states. Bounds are collected from the
    domains; `more_bounds` are those that only guards read. `unreachable_rules` are rules this version never fires.
    """

    name: Name
    says: str
    state: type
    rules: tuple[Rule, ...]
    properties: tuple[Property, ...] = ()
    start: Rule = field(default_factory=lambda: Rule("Start", "world", "the initial state", "", (_do_nothing,)))
    more_bounds: tuple[Bound, ...] = ()
    decisions: tuple[Decision, ...] = ()
    machines: tuple[Machine, ...] = ()
    abstractions: tuple[Abstraction, ...] = ()
    bound_sets: tuple[BoundSet, ...] = ()
    unreachable_rules: tuple[Name, ...] = ()
    cites: str = ""
    base: Spec | None = field(default=None, compare=False, repr=False)
    """What it is a version of."""
    declared_in: Name = field(init=False, compare=False, repr=False)
    """The module that states it."""

    def __post_init__(self) -> None:
        if not hasattr(self, "declared_in"):  # a check validates again what was declared long ago
            object.__setattr__(self, "declared_in", _module_of_caller())
        _check_spec(self)

    @cached_property
    def bounds(self) -> Mapping[Name, Bound]:
        """The bounds by name, in the order of the first bound set, or else as the state mentions them."""
        return self._in_order((*domain_of(self.state).bounds(), *self.more_bounds, *self.counted))

    @cached_property
    def counted(self) -> tuple[Bound, ...]:
        """The bounds on how often rules fire; the state has a counter for each, in this order."""
        return tuple(self._in_order(limit for rule in self.rules for limit in rule.limits).values())

    def _in_order(self, bounds: Iterable[Bound]) -> Mapping[Name, Bound]:
        """Return bounds by name, in the order of the first bound set, or else as they come."""
        found = {bound.name: bound for bound in bounds}
        first = self.bound_sets[0].values if self.bound_sets else {}
        return {**{name: found[name] for name in first if name in found}, **found}

    def space(self, bounds: Mapping[str, int]) -> Space:
        """Return all states at these bounds."""
        return Space(self.state, bounds, self.counted)

    def rule(self, name: Name) -> Rule:
        """Return a rule by its name."""
        found: Rule = _by_name(self.rules, name, f"{self.name}: rule")
        return found

    def property(self, name: Name) -> Property:
        """Return a property by its name."""
        found: Property = _by_name(self.properties, name, f"{self.name}: property")
        return found

    def bound_values(self, asked: Mapping[str, int]) -> dict[str, int]:
        """Return values for all bounds: those asked for, the others from the first bound set.

        Raises:
            SpecError: an unknown bound, a value out of its range, or one left open.
        """
        values = dict(self.bound_sets[0].values) if self.bound_sets else {}
        for name, value in asked.items():
            bound = _by_name(self.bounds.values(), name, f"{self.name}: bound")
            if not bound.low <= value <= bound.high:
                raise SpecError(f"{self.name}: bound {name}={value} is outside {bound.low}..{bound.high}")
            values[name] = value
        if missing := [name for name in self.bounds if name not in values]:
            raise SpecError(f"{self.name}: bound {missing[0]} has no value; give it with --bound {missing[0]}=N")
        return {name: values[name] for name in self.bounds}

    def constants(self, bounds: Mapping[str, int], attempts: list[Attempt] | None = None) -> Constants:
        """Return `k` at these bounds, with this spec's tables; what `fire` tries is added to `attempts`."""
        decided = {decision.name: decision.value for decision in self.decisions}
        return Constants({**bounds, **decided}, self.machines, attempts)

    def replacing(
        self,
        name: Name,
        says: str,
        *,
        rules: Iterable[Rule] = (),
        without: Iterable[Name] = (),
        properties: Iterable[Property] = (),
        machines: Iterable[Machine] = (),
        decisions: Mapping[Name, enum.IntEnum] | None = None,
        **other: Any,
    ) -> Spec:
        """Return a version of this spec: a small diff.

        Rules, properties and machines replace those of the same name in their place, or are added at the end; `without` takes
        rules away; `decisions` sets named decisions. Further keywords replace fields of the spec.
        """
        for gone in without:
            self.rule(gone)
        for decision in decisions or {}:
            _by_name(self.decisions, decision, f"{self.name}: decision")
        decided = tuple(dataclasses.replace(d, value=(decisions or {}).get(d.name, d.value)) for d in self.decisions)
        left = tuple(rule for rule in _merged(self.rules, rules) if rule.name not in set(without))
        counted = {limit for rule in left for limit in rule.limits}
        idle = tuple(limit for limit in self.counted if limit not in counted and limit not in self.more_bounds)
        return dataclasses.replace(
            self,
            name=name,
            says=says,
            rules=left,
            properties=_merged(self.properties, properties),
            machines=_merged(self.machines, machines),
            decisions=decided,
            **{"more_bounds": (*self.more_bounds, *idle), "base": self, **other},
        )


def _merged(old: Iterable[Part], new: Iterable[Part]) -> tuple[Part, ...]:
    return tuple({**{part.name: part for part in old}, **{part.name: part for part in new}}.values())


def _by_name(parts: Iterable[Any], name: Name, what: str) -> Any:
    known = {part.name: part for part in parts}
    if name not in known:
        raise SpecError(f"{what} {name!r} is unknown; there is {', '.join(known) or 'none'}")
    return known[name]


def _check_spec(spec: Spec) -> None:
    where = f"spec {spec.name}"
    for what, parts in (("rule", spec.rules), ("property", spec.properties), ("machine", spec.machines)):
        names = [part.name for part in parts]
        if twice := [name for name in names if names.count(name) > 1]:
            raise SpecError(f"{where}: {what} {twice[0]} is stated twice; replacing() is how a version changes one")
    if reserved := [claim.name for claim in spec.properties if claim.name in (TYPE_INVARIANT, DEADLOCK)]:
        raise SpecError(f"{where}: {reserved[0]} is judged without being stated; give the property another name")
    if not spec.rules:
        raise SpecError(f"{where}: it has no rules; state at least one")
    lowest = {bound.name: bound.low for bound in spec.bounds.values()}
    if spec.start.limits:
        raise SpecError(f"{where}: {spec.start.name} says at_most, and it makes the initial states; use within")
    space = spec.space(lowest)
    for rule in (*spec.rules, spec.start):
        for name, parameter in rule.params.items():
            _check_parameter(space, parameter, f"{where}, rule {rule.name}, parameter {name}")
        if rule.receives and not isinstance(type_at(space.root, path_of(rule.receives, dict.fromkeys(rule.params, 0))), Sequence):
            raise SpecError(f"{where}, rule {rule.name}: it receives from {rule.receives}, which is no sequence of the state")
    effects = [effect for rule in (*spec.rules, spec.start) for effect in rule.effects]
    fired = dict.fromkeys(pair for effect in effects for pair in source_of(effect).fires)
    tables = {machine.name: machine for machine in spec.machines}
    for machine, trigger in fired:
        if machine.name not in tables:
            raise SpecError(f"{where}: its rules fire machine {machine.name}; list it under machines")
        if trigger not in tables[machine.name].triggers or tables[machine.name].entity != machine.entity:
            raise SpecError(f"{where}: its rules fire {trigger} of machine {machine.name}, which has no such row here")
    _check_fires(tables, where)
    for machine in spec.machines:
        paths = machine_paths(space.root, machine.name)
        if len(paths) != 1 or paths[0].count("[]") != len(machine.entity):
            raise SpecError(
                f"{where}: the state of machine {machine.name} must stand in one field, declared StateOf(...), "
                f"under one index for each of ({', '.join(machine.entity)})"
            )
        states = sorted(int(state) for state in machine.states)
        if machine_range(space.root, paths[0]) != (states[0], states[-1], int(machine.initial)):
            raise SpecError(
                f"{where}: the field {'.'.join(paths[0])} must hold the states of machine {machine.name} and start in "
                f"{machine.initial.name}, the first of its members; declare it StateOf({machine.states.__name__}, {machine.name!r})"
            )
        for row in machine.rows:
            needed = row.looks if row.waits_for else (*row.looks, *row.effects)
            if unbound := [name for name in needed if isinstance(name, str)]:
                raise SpecError(f"{where}: machine {machine.name}: {unbound[0]} has no function; use Machine.bind")
    for bounds in spec.bound_sets:
        if set(bounds.values) != set(spec.bounds):
            raise SpecError(f"{where}: bound set {bounds.name} must name exactly {', '.join(spec.bounds)}")
        for name, bound in spec.bounds.items():
            if not bound.low <= bounds.values[name] <= bound.high:
                raise SpecError(
                    f"{where}: bound set {bounds.name}: {name}={bounds.values[name]} is outside {bound.low}..{bound.high}"
                )
    for name in spec.unreachable_rules:
        spec.rule(name)


def _check_fires(tables: Mapping[Name, Machine], where: str) -> None:
    """Refuse rows whose effects fire machines that are not listed, or that come back to themselves."""

    def visit(machine: Name, trigger: str, above: tuple[tuple[Name, str], ...]) -> None:
        if (machine, trigger) in above:
            raise SpecError(f"{where}: firing {trigger} of machine {machine} fires itself again; break the circle with a rule")
        for row in tables[machine].rows_of(trigger):
            for effect in row.effects:
                for other, further in source_of(effect).fires if not isinstance(effect, str) else ():
                    if other.name not in tables:
                        raise SpecError(f"{where}: row {row.label!r} fires machine {other.name}; list it under machines")
                    visit(other.name, further, (*above, (machine, trigger)))

    for machine in tables.values():
        for trigger in machine.triggers:
            visit(machine.name, trigger, ())


def _check_parameter(space: Space, parameter: Domain | ItemOf, where: str) -> None:
    if isinstance(parameter, ItemOf):
        if not isinstance(space.root.fields.get(parameter.field), Sequence):
            raise SpecError(f"{where}: {parameter.field} is no sequence of the state")
    elif isinstance(parameter, Bounded) or not isinstance(parameter, Domain):
        raise SpecError(f"{where}: a parameter is a number; give a Range, a Broker, ... or ItemOf(a sequence)")
