"""The first step of every engine: read and check the spec again, since the globals of its functions may have changed.

A process may check a spec, set a global or replace a helper that its functions use, and check it again; a guard that was pure may
then write.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.spec import lint
from kafka_spec.spec.table import Spec


def read_anew(spec: Spec) -> None:
    """Check all of a spec as when it was stated, with the functions as they are now.

    Raises:
        SpecError: it is no specification any more; the message names the place and the cure.
    """
    lint.forget_what_changed()
    parts: tuple[Any, ...] = (*spec.rules, spec.start, *spec.machines, *spec.properties, *spec.decisions, spec)
    for part in parts:
        part.__post_init__()
