"""What two engines must agree on: all that a search finds, and all that follows from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from kafka_spec.model_check.exploration import Exploration

OF_THE_REQUEST = ("spec", "bounds", "properties", "deadlock")
"""The fields of a result that say what was asked."""
OF_THE_RUN = frozenset(
    {
        "engine", "threads", "stopped", "unreduced", "compared", "tallies", "compile_seconds", "search_seconds", "record_bytes",
        "peak", "exchanged_bytes", "induction",
    }
)  # fmt: skip
"""The fields that say how one engine found it: time, memory, who else found it, why it stopped; and what was proved afterwards.

No verdict of a search depends on them."""
FOUND = tuple(one.name for one in fields(Exploration) if one.name not in OF_THE_RUN and one.name not in OF_THE_REQUEST)
"""All other fields: what a search finds. Verdicts and reports depend on them; engines are compared, and checkpoints keep them."""
DERIVED = tuple(
    name for name, value in vars(Exploration).items() if isinstance(value, property) and name != "collision_probability"
)
"""What follows from these; the probability of a collision follows from the engine, too."""


def agreed(result: Exploration, but: Collection[str] = ()) -> dict[str, Any]:
    """Return all in which the results of two engines must be equal, by name; `but` are the names of exceptions."""
    return {name: getattr(result, name) for name in (*FOUND, *DERIVED) if name not in but}
