"""The order of the states of a level, which all engines share."""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import (
    Spec,
)


def orders_by_fingerprint(spec: Spec, seed: int | None) -> bool:
    """Whether a search orders each level by fingerprints: with a view, so that another seed explores other states of one view."""
    return bool(spec.view) and seed is not None
