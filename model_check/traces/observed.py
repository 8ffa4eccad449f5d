"""Reads a log of an implementation as observations of a spec: which rule fired, with which parameters, and what was seen.

Each line is a JSON object. `event` names a rule; keys that are parameters of the rule say what they were. `state` has values after
the event, by path as traces print it: `{"holder": 1, "tokens[0]": 2}`. Without `event`, a line only says what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.spec.language.domain import SpecError, path_of, plain_value, show_value, type_at, value_at
from kafka_spec.spec.language.domain.types import Scalar, Type
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
        assert self.rule is not None
        return all(
            self.admits_value(world, state, binding[:place], name, value)
            for place, (name, value) in enumerate(zip(self.rule.params, binding, strict=True))
        )

    def admits_value(self, world: Interpreter, state: Any, before: Binding, name: str, value: int) -> bool:
        """Whether a parameter may have a value, after those of `before`."""
        if name not in self.params:
            return True
        assert self.rule is not None
        wanted, parameter = self.params[name], self.rule.params[name]
        if not isinstance(parameter, ElementOf | ItemOf):
            type_: Any = parameter.at(world.bounds, self.rule.name)
            return agrees(type_, value, wanted)
        path = (
            (parameter.field,) if isinstance(parameter, ItemOf) else parameter.at(dict(zip(self.rule.params, before, strict=False)))
        )
        type_ = type_at(world.space.root, path)
        return wanted == value or agrees(type_.item, list(value_at(state, path))[value], wanted)

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
    return _within(wanted, plain_value(type_, value))


def _within(wanted: Any, plain: Any) -> bool:
    """Whether a value of JSON is another one, objects with some of its fields only."""
    if isinstance(wanted, Mapping) and isinstance(plain, Mapping):
        return all(name in plain and _within(one, plain[name]) for name, one in wanted.items())
    if isinstance(wanted, list) and isinstance(plain, list):
        return len(wanted) == len(plain) and all(_within(one, other) for one, other in zip(wanted, plain, strict=True))
    return bool(wanted == plain)


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


def observations_of_itf(text: str, name: str, world: Interpreter) -> list[LoggedEvent]:
    """Return the states of a trace in Apalache's Informal Trace Format as observations; variables are fields of the state.

    Raises:
        SpecError: the text is not such a trace, or has a variable that the state does not have.
    """
    try:
        states = json.loads(text)["states"]
        found = [{key: _of_itf(value) for key, value in state.items() if key != "#meta"} for state in states]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SpecError(f"{name}: this is not a trace in ITF: {type(error).__name__}: {error}") from None
    if not found:
        raise SpecError(f"{name}: the trace has no state")
    for number, state in enumerate(found, 1):
        for path in state:
            _check_path(path, f"{name}, state {number}", world)
    return [LoggedEvent(number, f"state {number}", None, {}, state) for number, state in enumerate(found, 1)]


def _of_itf(value: Any) -> Any:
    """Return a value of ITF as traces have it: a set of numbers is a bit mask, an option is its value or None."""
    if isinstance(value, list):
        return [_of_itf(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "#bigint" in value:
        return int(value["#bigint"])
    if "#set" in value:
        items = [_of_itf(one) for one in value["#set"]]
        return sum(1 << one for one in items) if all(isinstance(one, int) for one in items) else items
    if "#map" in value:
        return {str(_of_itf(key)): _of_itf(one) for key, one in value["#map"]}
    if value.keys() == {"tag", "value"}:
        return None if value["tag"] == "None" else _of_itf(value["value"])
    return {name: _of_itf(one) for name, one in value.items()}


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
