"""Executes a table: a machine of spec/vocabulary/table/ on the methods of an actor, through the library `transitions`.

The model binds the names of guards and effects to functions on its state; here each name is bound to the method of that name
on an actor (a controller, a broker), which does the real work; row_functions.py marks and checks these methods.

A row function receives its inputs as arguments: the parts of the entity that its parameters name and, in a parameter called
`inputs`, the object passed to `fire`, of the type that the machines are built for.

One `Running` holds the states of all entities of one kind that an actor knows: all partitions, all replicas. Only `fire` changes
a state, as in the model. Where `transitions` fails silently, `fire` reports it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, overload

import transitions

from kafka_spec.impl.fire_log import Entity, FireLog, FireResult
from kafka_spec.impl.row_functions import INPUTS, marked_methods, parameters_of
from kafka_spec.spec.vocabulary.table import Machine, Overlap, Row, SpecError, name_of

Inputs = TypeVar("Inputs")
Call: TypeAlias = Callable[[transitions.EventData], Any]


@dataclass
class _Model:
    """One entity, as `transitions` sees it: without methods, so that no name of a trigger or a state clashes with one."""

    entity: Entity
    state: enum.IntEnum
    methods: Mapping[str, Callable[..., Any]]
    inputs: object = None
    busy: bool = False
    false: list[str] = field(default_factory=list)


class Running(Generic[Inputs]):
    """A machine that runs, for all entities of one actor; `build` makes it."""

    def __init__(
        self, machine: Machine, actor: type, names: tuple[str, ...], methods: Mapping[str, Callable[..., Any]], log: FireLog
    ) -> None:
        self.machine = machine
        self.log = log
        self._names = names
        self._methods = methods
        self._models: dict[Entity, _Model] = {}
        self._by_first: dict[Hashable, list[Entity]] = {}
        self._engine = _engine(machine, actor, names)
        self._known = {(row.trigger, source) for row in machine.rows for source in row.sources}

    def state_of(self, *entity: Hashable) -> enum.IntEnum:
        """Return the state of an entity; an unknown entity is in the initial state."""
        model = self._models.get(entity)
        return self.machine.initial if model is None else model.state

    def entities(self) -> tuple[Entity, ...]:
        """Return the entities that are not in the initial state, in the order of their first use."""
        return tuple(e for e, model in self._models.items() if model.state != self.machine.initial)

    def allows(self, trigger: str, *entity: Hashable) -> bool:
        """Whether the table has a row of that trigger from the state of an entity, whatever its guards say."""
        return (trigger, self.state_of(*entity)) in self._known

    def entities_of(self, first: Hashable) -> list[Entity]:
        """Return the entities with this first part that are not in the initial state, in the order of their first use."""
        return [entity for entity in self._by_first.get(first, ()) if self._models[entity].state != self.machine.initial]

    def load(self, entity: Entity, state: enum.IntEnum) -> None:
        """Set the state of an entity without a row: for states read from elsewhere, never for a step of the protocol."""
        self._put(entity, self.machine.states(state))

    def _put(self, entity: Entity, state: enum.IntEnum) -> _Model:
        if entity not in self._models:
            self._by_first.setdefault(entity[0], []).append(entity)
        model = self._models[entity] = _Model(entity, state, self._methods)
        return model

    def fire(self, trigger: str, *entity: Hashable, inputs: Inputs | None = None) -> bool:
        """Let the table change the state of one entity; return whether a row fired. `inputs` is passed to row functions.

        Guards of the rows of that trigger and of the current state are evaluated; the row whose guards hold runs its effects, in
        order, and then its target is entered. An exception in an effect leaves the old state. If no row fits, the state stays and
        the log receives the refusal. (`transitions` returns False for a false guard, and raises for a wrong source.)

        Raises:
            Overlap: two rows could fire; `transitions` would take the first.
            SpecError: the trigger is unknown; the entity has another number of parts; the row waits for something not built;
                the entity is in the middle of another row; a row function takes `inputs`, and none are given; an initialisation
                was refused, for which Kafka logs nothing.
        """
        model = self._model_for(trigger, entity)
        source = model.state
        model.false.clear()
        model.busy, model.inputs = True, inputs
        try:
            found = (trigger, source) in self._known and self._engine.events[trigger].trigger(model)
        finally:
            model.busy, model.inputs = False, None
        wanted = self.machine.rows_of(trigger)[0].target
        if found:
            self.log.attempted(FireResult(self.machine, entity, trigger, source, model.state, wanted))
        else:
            self._refused(model, trigger, source, wanted)
        return found

    def _model_for(self, trigger: str, entity: Entity) -> _Model:
        """Return the model of an entity on which a trigger may be fired now."""
        machine = self.machine
        if trigger not in machine.triggers:
            raise SpecError(f"machine {machine.name} has no trigger {trigger}; it has {', '.join(machine.triggers)}")
        if len(entity) != len(self._names):
            raise SpecError(f"machine {machine.name}: {entity} is not an entity; name {', '.join(self._names)}")
        model = self._models.get(entity)
        if model is None:
            model = self._put(entity, machine.initial)
        if model.busy:
            raise SpecError(
                f"machine {machine.name}: {trigger} was fired on {entity} by an effect of a row on the same entity, which would "
                "then overwrite its state; fire it after the row, as the next step"
            )
        return model

    def _refused(self, model: _Model, trigger: str, source: enum.IntEnum, wanted: enum.IntEnum) -> None:
        """Log that no row has fired."""
        machine, entity = self.machine, model.entity
        if all(row.kind == "initialisation" for row in machine.rows_of(trigger)):
            raise SpecError(
                f"machine {machine.name}: {trigger} seeds a state at start-up, and was refused for {entity} in {source.name}"
                + (f" ({', '.join(model.false)} did not hold)" if model.false else "; shut the machine down first")
            )
        allowed = tuple(state for state in machine.states if (state, wanted) in machine.legal_pairs)
        self.log.attempted(FireResult(machine, entity, trigger, source, None, wanted, allowed, tuple(dict.fromkeys(model.false))))


@functools.lru_cache(maxsize=64)
def _engine(machine: Machine, actor: type, names: tuple[str, ...]) -> transitions.Machine:
    """Return a machine of `transitions` for all actors of a class."""
    rows = _Rows(machine, actor, names)
    return transitions.Machine(
        model=None,
        states=machine.states,
        transitions=[rows.transition(row, source) for row in machine.rows for source in row.sources],
        initial=machine.initial,
        send_event=True,
        auto_transitions=False,  # else `transitions` adds to_STATE methods that bypass the guards
        ignore_invalid_triggers=False,
    )


class _Rows:
    """The rows of a machine in the form of `transitions`."""

    def __init__(self, machine: Machine, actor: type, names: tuple[str, ...]) -> None:
        self._machine = machine
        self._actor = actor
        self._names = names

    def transition(self, row: Row, source: enum.IntEnum) -> Any:
        """Return one row and source in the form of `transitions`; effects run before the state changes."""
        conditions = [self._condition(call, wanted, words) for call, wanted, words in self._looks(row)]
        effects = [self._refusal(row)] if row.waits_for else [self._call(name_of(e)) for e in row.effects]
        return {
            "trigger": row.trigger,
            "source": source,
            "dest": row.target,
            "conditions": [*conditions, self._no_other_fits(row, source)],
            "before": effects,
        }

    def _call(self, name: str) -> Call:
        """Return a call of the actor's method with the inputs and the parts of the entity that its parameters name."""
        parameters = parameters_of(self._actor, name)
        places = [None if parameter == INPUTS else self._names.index(parameter) for parameter in parameters]

        def call(event: transitions.EventData) -> Any:
            model: Any = event.model
            if None in places and model.inputs is None:
                raise SpecError(
                    f"machine {self._machine.name}: {self._actor.__name__}.{name} takes inputs, and {event.event.name} was fired "
                    "without inputs; pass them to fire"
                )
            return model.methods[name](*[model.inputs if place is None else model.entity[place] for place in places])

        return call

    def _looks(self, row: Row) -> list[tuple[Call, bool, str]]:
        """Return for each guard of a row its call, the required answer, and the condition in words."""
        wanted = [True] * len(row.guards) + [False] * len(row.unless)
        calls = [self._call(name_of(guard)) for guard in row.looks]
        return list(zip(calls, wanted, row.conditions, strict=True))

    def _condition(self, call: Call, wanted: bool, words: str) -> Callable[[transitions.EventData], bool]:
        """Return a guard for `transitions`, which compares with True: a set of brokers that is not empty would count as false."""

        def holds(event: transitions.EventData) -> bool:
            held = bool(call(event)) == wanted
            if not held:
                event.model.false.append(words)  # type: ignore[attr-defined]
            return held

        return holds

    def _no_other_fits(self, row: Row, source: enum.IntEnum) -> Callable[[transitions.EventData], bool]:
        """Return a last condition, which holds, or raises `Overlap` if another row could fire too."""
        others = [r for r in self._machine.rows_of(row.trigger) if r is not row and source in r.sources]
        looks = [(other, self._looks(other)) for other in others if not row.excludes(other)]

        def alone(event: transitions.EventData) -> bool:
            for other, guards in looks:
                if all(bool(call(event)) == wanted for call, wanted, _ in guards):
                    raise Overlap(
                        f"machine {self._machine.name}: {row.trigger} in {source.name} fits {row.label!r} and {other.label!r}; "
                        "make their guards exclude each other"
                    )
            return True

        return alone

    def _refusal(self, row: Row) -> Callable[[transitions.EventData], None]:
        """Return what a row runs that waits for something not built."""

        def refuse(_: transitions.EventData) -> None:
            raise SpecError(f"machine {self._machine.name}: row {row.label!r} waits for {row.waits_for}")

        return refuse


@overload
def build(
    actor: object,
    machines: Mapping[Machine, tuple[str, ...]],
    log: FireLog,
    every_era: Iterable[Machine] = (),
    ahead: Iterable[str] = (),
) -> dict[str, Running[None]]: ...


@overload
def build(
    actor: object,
    machines: Mapping[Machine, tuple[str, ...]],
    log: FireLog,
    every_era: Iterable[Machine] = (),
    ahead: Iterable[str] = (),
    *,
    inputs: type[Inputs],
) -> dict[str, Running[Inputs]]: ...


def build(
    actor: object,
    machines: Mapping[Machine, tuple[str, ...]],
    log: FireLog,
    every_era: Iterable[Machine] = (),
    ahead: Iterable[str] = (),
    inputs: Any = None,
) -> dict[str, Running[Any]]:
    """Build the machines that an actor runs, by their names.

    `machines` maps each machine to the parameter names of the parts of its entity, such as ("partition", "replica"). `every_era`
    are the machines of all eras that such an actor may run. `ahead` are the triggers of rows that wait for something in the
    model and that this actor runs already. `inputs` is the type of the `inputs` of `fire`.

    Raises:
        SpecError: a guard or an effect of a row has no method, or one with another mark; no row of any era uses a marked method;
            a method takes a parameter that is not a part of the entity, or inputs of another type. Effects of rows that wait for
            something need no method yet.
    """
    kind: Any = type(actor)
    running = {_running_ahead(machine, tuple(ahead)): names for machine, names in machines.items()}
    methods = {name: getattr(actor, name) for name in marked_methods(kind, tuple(running.items()), tuple(every_era), inputs)}
    return {machine.name: Running(machine, kind, names, methods, log) for machine, names in running.items()}


@functools.lru_cache(maxsize=64)
def _running_ahead(machine: Machine, ahead: tuple[str, ...]) -> Machine:
    """Return a machine in which the rows of these triggers do not wait."""
    if not any(row.waits_for and row.trigger in ahead for row in machine.rows):
        return machine
    return replace(machine, rows=tuple(replace(row, waits_for="") if row.trigger in ahead else row for row in machine.rows))
