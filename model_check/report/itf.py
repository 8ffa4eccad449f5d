"""Traces in Apalache's Informal Trace Format, which Quint and other tools read.

Source: Apalache ADR 015 (ITF). Sets are `#set`, maps are `#map`, large numbers are `#bigint`; an option is a variant of Quint, with
`tag` and `value`; an array is a list.
"""

from __future__ import annotations

import json
from typing import Any

from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.language.domain import members_of
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
