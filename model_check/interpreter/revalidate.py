"""The first step of every engine: read and check the spec again, since the globals of its functions may have changed.

A process may check a spec, then set a global or replace a helper that the spec's functions use, and check the spec again. A guard
that was pure may then write.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.spec import language
from kafka_spec.spec.vocabulary.table import Spec


def revalidate(spec: Spec) -> None:
    """Repeat all checks of a spec's declaration, with its functions as they are now.

    Raises:
        SpecError: the spec is no longer valid; the message names the place and the fix.
    """
    language.forget_what_changed()
    parts: tuple[Any, ...] = (*spec.rules, spec.start, *spec.machines, *spec.properties, *spec.decisions, spec)
    for part in parts:
        part.__post_init__()
