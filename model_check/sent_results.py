"""Results that one process sends to another, which has the same specs: functions are not sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.spec.vocabulary.table import Spec


@dataclass(frozen=True)
class SentResult:
    """A result without its spec and its properties, but with their names."""

    fields: dict[str, Any]
    reduced: bool
    properties: tuple[str, ...]


def sent(result: Exploration) -> SentResult:
    """Return what is sent of a result, with the peak memory of this process."""
    fields = {**vars(result), "spec": None, "properties": None, "peak": peak_bytes()}
    return SentResult(fields, result.spec.reduced, tuple(claim.name for claim in result.properties))


def received(result: SentResult, spec: Spec) -> Exploration:
    """Return the result of a search of a spec that another process has sent."""
    searched = spec.in_normal_form() if result.reduced else spec
    properties = searched.claims_at(result.fields["bounds"], [searched.property(name) for name in result.properties])
    return Exploration(**{**result.fields, "spec": searched, "properties": properties})
