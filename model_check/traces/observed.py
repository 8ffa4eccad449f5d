"""Reads a log of an implementation as observations of a spec: which rule fired, with which parameters, and what was seen.

Each line is a JSON object. `event` names a rule; keys that are parameters of the rule say what they were. `state` has values after
the event, by path as traces print it: `{"holder": 1, "tokens[0]": 2}`. Without `event`, a line only says what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.spec.language.domain import SpecError, nth, path_of, show_value, type_at, value_at
from kafka_spec.spec.language.domain.types import Collection, Map, Maybe, Record, Scalar, Type, item_at
from kafka_spec.spec.vocabulary.table import ElementOf, ItemOf, Rule

EVENT, STATE = "event", "state"
IGNORED = ("time", "ts", "timestamp")
"""Keys of a line that say nothing about the protocol."""


@dataclass(frozen=True)
class LoggedEvent:
    """A line of a log: its number, its text, the rule that fired (None: unknown), its parameters, and what was seen after it."""

    line: int
    text: str
    rule: Rule | None
    params: Mapping[str, Any]
    state: Mapping[str, Any]

    def admits(self, world: Interpreter, state: Any, binding: Binding) -> bool:
        """Whether the parameters of a step out of a state are those of the line."""
        return all(self.admits_value(world, state, binding[:place], value) for place, value in enumerate(binding))

    def admits_value(self, world: Interpreter, state: Any, before: Binding, value: int) -> bool:
        """Whether the parameter that follows those of `before` may have a value."""
        assert self.rule is not None
        name, parameter = list(self.rule.params.items())[len(before)]
        if name not in self.params:
            return True
        wanted = self.params[name]
        if not isinstance(parameter, ElementOf | ItemOf):
            whole = world.wholes[self.rule.name].get(name)
            if whole is not None:
                return bool(wanted == value) or agrees(whole, nth(whole, value), wanted)
            return agrees(parameter.at(world.bounds, self.rule.name), value, wanted)
        path = (
            (parameter.field,) if isinstance(parameter, ItemOf) else parameter.at(dict(zip(self.rule.params, before, strict=False)))
        )
        type_: Any = type_at(world.space.root, path)
        return bool(wanted == value) or agrees(type_.item, list(value_at(state, path))[value], wanted)

    def differences(self, world: Interpreter, state: Any) -> Iterator[str]:
        """Yield what a state has otherwise than the line says."""
        for path, wanted in self.state.items():
            place = path_of(path, {})
            type_ = type_at(world.space.root, place)
            assert type_ is not None
            try:
                value = value_at(state, place)
            except SpecError as error:
                yield f"{path} does not exist ({error}), and the log says {json.dumps(wanted)}"
                continue
            if not agrees(type_, value, wanted):
                yield f"{path} is {show_value(type_, value)}, and the log says {json.dumps(wanted)}"


def agrees(type_: Type, value: Any, wanted: Any) -> bool:
    """Whether a value is what a log says: the same as JSON, or as traces print it; of a record the log may have some fields."""
    if isinstance(wanted, str):
        shown = show_value(type_, value)
        return wanted.casefold() in (shown.casefold(), shown.rpartition(" ")[2].casefold())
    if isinstance(type_, Scalar):
        return isinstance(wanted, int) and int(wanted) == int(value)
    if isinstance(type_, Maybe):
        present = len(value) > 0
        return present == (wanted is not None) and (not present or agrees(type_.item, item_at(value, 0), wanted))
    if isinstance(type_, Record):
        return isinstance(wanted, Mapping) and all(
            name in type_.fields and agrees(type_.fields[name], getattr(value, name), one) for name, one in wanted.items()
        )
    if isinstance(type_, Map):
        return (
            isinstance(wanted, Mapping)
            and wanted.keys() == {str(key) for key in value}
            and all(agrees(type_.item, value.option(int(key)), one) for key, one in wanted.items())
        )
    items = list(value)
    if not isinstance(wanted, list) or len(wanted) != len(items):
        return False
    if isinstance(type_, Collection):
        return _in_some_order(type_.item, items, wanted)
    return all(agrees(type_.item, item, one) for item, one in zip(items, wanted, strict=True))


def _in_some_order(type_: Type, items: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether the elements of a set or bag are, in some order, what a log says."""
    if not wanted:
        return True
    return any(
        agrees(type_, item, wanted[0]) and _in_some_order(type_, [*items[:place], *items[place + 1 :]], wanted[1:])
        for place, item in enumerate(items)
    )


def observations(lines: Iterable[str], name: str, world: Interpreter, ignored: Iterable[str] = ()) -> list[LoggedEvent]:
    """Return the observations of a log; `ignored` are further keys that say nothing.

    Raises:
        SpecError: a line is not a JSON object, or names something that the spec does not have.
    """
    left_out = {*IGNORED, *ignored}
    found = []
    for number, text in enumerate(lines, 1):
        if text.strip():
            found.append(_observation(number, text.strip(), f"{name}:{number}", world, left_out))
    if not found:
        raise SpecError(f"{name}: the log is empty")
    return found


def observed_states(states: Iterable[Mapping[str, Any]]) -> list[LoggedEvent]:
    """Return observations of states, each given by fields and their values; nothing is known of the steps."""
    return [LoggedEvent(number, f"state {number}", None, {}, state) for number, state in enumerate(states, 1)]


def _observation(number: int, text: str, where: str, world: Interpreter, ignored: set[str]) -> LoggedEvent:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f'{where}: this is not JSON ({error}); write lines such as {{"event": "Grant", "client": 1}}') from None
    if not isinstance(read, dict):
        raise SpecError(f"{where}: this is not a JSON object; write {{...}}")
    told = {key: value for key, value in read.items() if key not in ignored}
    event, state = told.pop(EVENT, None), told.pop(STATE, {})
    if event is None and not state:
        raise SpecError(f"{where}: the line has neither {EVENT} nor {STATE}; it has {', '.join(read) or 'nothing'}")
    if event is not None and not isinstance(event, str):
        raise SpecError(f"{where}: {EVENT} is {event!r}; it is the name of a rule")
    rule = None
    if event is not None:
        try:
            rule = world.spec.rule(event)
        except SpecError as error:
            raise SpecError(f"{where}: {error}") from None
    if strange := [key for key in told if rule is None or key not in rule.params]:
        has = ", ".join(rule.params) or "no parameter" if rule is not None else f"{EVENT} and {STATE}"
        of = f"{rule.name} has {has}" if rule is not None else f"a line without {EVENT} has only {STATE}"
        raise SpecError(f"{where}: {strange[0]!r} means nothing: {of}; --ignore {strange[0]} leaves it out")
    if not isinstance(state, dict):
        raise SpecError(f'{where}: {STATE} is {state!r}; write {{"path": value}}')
    for path in state:
        _check_path(path, where, world)
    return LoggedEvent(number, text, rule, told, state)


def _check_path(path: str, where: str, world: Interpreter) -> None:
    try:
        known = type_at(world.space.root, path_of(path, {}))
    except (KeyError, IndexError, ValueError):
        known = None
    if known is None:
        fields = ", ".join(world.space.root.fields)
        raise SpecError(
            f"{where}: {path!r} is not a field of the state; its fields are {fields}, and items are written as tokens[0]"
        )
