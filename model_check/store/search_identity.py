"""What a search is, in the folder that keeps its levels: a search continues another only where both are described alike.

Depends on the search, not on its folder or its engine.
"""

from __future__ import annotations

import hashlib
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.fingerprint import DEFAULT_SEED
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.spec.vocabulary.table import SpecError

DIGESTS = ("code", "code of records", "initial states", "columns", "first_actions")
"""Opaque parts (digests), not shown in messages."""
MADE = ("code", "code of records")
"""Parts that can change with the version of kafka-spec for an unchanged model."""


def described(world: Interpreter, result: Exploration, layout: Layout, code: bytes, code_of_records: bytes) -> dict[str, Any]:
    """Return the description of a search; two searches with equal descriptions are the same.

    The code is that of guards, effects and predicates. What no code contains is listed apart: the initial states, which plain
    Python makes, and the kinds of rules and properties, by which the driver of a search judges recorded steps.
    """
    return {
        "model": result.spec.name,
        "bounds": result.bounds,
        "initial states": hashlib.sha256(b"".join(map(layout.pack, world.initial()))).hexdigest(),
        "properties": [f"{claim.name} ({claim.kind})" for claim in result.properties],
        "deadlock": result.deadlock,
        "seed": DEFAULT_SEED if layout.seed is None else layout.seed,
        "decisions": vars(world.k),
        "rules": [rule.name for rule in result.spec.rules],
        "kinds of rules": [rule.kind for rule in result.spec.rules],
        "first_actions": world.actions.first,
        "code": code.hex(),
        "code of records": code_of_records.hex(),
    }


def refuse_another(place: str, here: dict[str, Any], there: dict[str, Any]) -> None:
    """Raise SpecError unless the run in a folder is described as this one is."""
    if other := [name for name in here if here[name] != there.get(name)]:
        first = other[0]
        shown = "" if first in DIGESTS else f": {there.get(first)!r}, now {here[first]!r}"
        if first in MADE:
            shown = ": the model has changed since, or kafka-spec makes other code of it than the version that began the run"
        raise SpecError(f"--state-dir {place} belongs to a run that differs in its {first}{shown}; name another folder")
