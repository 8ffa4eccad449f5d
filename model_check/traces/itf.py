"""Traces in Apalache's Informal Trace Format, which Quint and other tools read and write.

Source: Apalache ADR 015 (ITF). Sets are `#set`, maps are `#map`, large numbers are `#bigint`; an option is a variant of Quint, with
`tag` and `value`; an array is a list.
"""

from __future__ import annotations

import json
from typing import Any

from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.language.domain import SpecError, members_of
from kafka_spec.spec.language.domain.types import Collection, Map, Maybe, Record, Scalar, Type, item_at
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace

SAFE = 1 << 53
"""The least whole number that a reader of JSON may round."""


def itf_text(trace: Trace, spec: Spec) -> str:
    """Return a trace in the Informal Trace Format; one that continues forever has `loop`, the state in which its cycle begins."""
    walk = Walk.along(trace, spec)
    root = walk.world.space.root
    labels = [str(step.action) for step in (trace.start, *trace.steps)]
    found: dict[str, Any] = {
        "#meta": {"format": "ITF", "source": spec.name, "description": trace.shows, "bounds": dict(trace.bounds)},
        "vars": list(root.fields),
        "states": [
            {"#meta": {"index": index, "action": label}, **itf_value(root, state)}
            for index, (label, state) in enumerate(zip(labels, walk.states, strict=True))
        ],
    }
    if trace.lasso is not None:
        found["loop"] = trace.lasso.back
    return json.dumps(found, indent=1)


def itf_value(type_: Type, value: Any) -> Any:
    """Return a value of a state as ITF has it."""
    if isinstance(type_, Scalar):
        if type_.many:
            return {"#set": list(members_of(value))}
        return int(value) if abs(value) < SAFE else {"#bigint": str(int(value))}
    if isinstance(type_, Record):
        return {name: itf_value(field, getattr(value, name)) for name, field in type_.fields.items()}
    if isinstance(type_, Maybe):
        return {"tag": "Some", "value": itf_value(type_.item, item_at(value, 0))} if len(value) else {"tag": "None", "value": {}}
    if isinstance(type_, Map):
        return {"#map": [[key, itf_value(type_.item.item, item_at(value.option(key), 0))] for key in value]}
    items = [itf_value(type_.item, item) for item in value]
    return {"#set": items} if isinstance(type_, Collection) and not type_.repeats else items


def states_of_itf(text: str, name: str, root: Record) -> list[dict[str, Any]]:
    """Return the states of a trace in the Informal Trace Format, with values as traces have them; `root` is the type of states.

    Raises:
        SpecError: the text is not such a trace, or a value is not one of its variable.
    """
    try:
        states = [{key: value for key, value in state.items() if key != "#meta"} for state in json.loads(text)["states"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SpecError(f"{name}: this is not a trace in ITF: {type(error).__name__}: {error}") from None
    if not states:
        raise SpecError(f"{name}: the trace has no state")
    found = []
    for number, state in enumerate(states, 1):
        if strange := [key for key in state if key not in root.fields]:
            raise SpecError(
                f"{name}, state {number}: {strange[0]!r} is not a field of the state; its fields are {', '.join(root.fields)}"
            )
        try:
            found.append({key: plain_of_itf(root.fields[key], value) for key, value in state.items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SpecError(
                f"{name}, state {number}: a value is not one of its variable: {type(error).__name__}: {error}"
            ) from None
    return found


def plain_of_itf(type_: Type, value: Any) -> Any:
    """Return a value of ITF as traces have it (`plain_value`): the inverse of `itf_value`."""
    if isinstance(type_, Scalar):
        if type_.many:
            return sum(1 << plain_of_number(one) for one in value["#set"])
        return plain_of_number(value)
    if isinstance(type_, Record):
        return {name: plain_of_itf(type_.fields[name], one) for name, one in value.items()}
    if isinstance(type_, Maybe):
        return None if value["tag"] == "None" else plain_of_itf(type_.item, value["value"])
    if isinstance(type_, Map):
        return {str(plain_of_number(key)): plain_of_itf(type_.item.item, one) for key, one in value["#map"]}
    items = value["#set"] if isinstance(value, dict) else value
    return [plain_of_itf(type_.item, one) for one in items]


def plain_of_number(value: Any) -> int:
    """Return a number of ITF, which may be a large one, or a truth value."""
    return int(value["#bigint"] if isinstance(value, dict) else value)
