"""What a search has found, as plain values, for the summaries of checkpoints: every field that a verdict or its text depends on.

Which these are follows from the result itself (agreement.FOUND); a field of a kind that cannot be written is an error.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kafka_spec.model_check.agreement import FOUND
from kafka_spec.model_check.exploration import Exploration, Finding


def remembered(result: Exploration) -> dict[str, Any]:
    """Return what a search has found as plain values for JSON."""
    return {name: _plain(getattr(result, name)) for name in FOUND}


def recall(result: Exploration, plain: Mapping[str, Any]) -> None:
    """Restore in a result what was found."""
    for name in FOUND:
        setattr(result, name, _restored(plain[name]))


def _plain(value: Any) -> Any:
    match value:
        case Counter():
            return {"counts": [[list(key) if isinstance(key, tuple) else key, count] for key, count in value.items()]}
        case dict():
            return {"findings": {name: dataclasses.asdict(finding) for name, finding in value.items()}}
        case bool() | int() | list():
            return value
        case _:
            raise TypeError(f"{value!r} cannot be kept in a checkpoint")


def _restored(plain: Any) -> Any:
    match plain:
        case {"counts": counts}:
            return Counter({tuple(key) if isinstance(key, list) else key: count for key, count in counts})
        case {"findings": found}:
            return {name: Finding(**{**parts, "actions": tuple(parts["actions"])}) for name, parts in found.items()}
        case _:
            return plain
