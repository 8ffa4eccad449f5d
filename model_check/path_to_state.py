"""A shortest path to one state: found by a search, or in the store of a Spark search that has ended.

A state is named by its fingerprint, as traces, stores and the explorer print it; a property names the state that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.engines import need
from kafka_spec.model_check.exploration import Finding, Progress, quiet
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.frontier import path_to
from kafka_spec.spec.vocabulary.table import Spec, SpecError


def fingerprint_of(text: str, option: str) -> int:
    """Read a fingerprint as it is shown.

    Raises:
        SpecError: it is not a fingerprint.
    """
    try:
        if len(text) <= 16 and text.isalnum():
            return int(text, 16)
    except ValueError:
        pass
    raise SpecError(f"{option} {text}: write a fingerprint as it is shown, 16 hexadecimal digits")


class _Met(Exception):  # noqa: N818 - ends a search that has found its state
    def __init__(self, finding: Finding) -> None:
        self.finding = finding


def path_to_state(
    spec: Spec, bounds: Mapping[str, int], mark: int, budget: Budget, threads: int = 1, progress: Progress = quiet
) -> Finding:
    """Search for the state with a fingerprint, and return a shortest path to it.

    Raises:
        SpecError: no state within the bounds has it, or the budget ended the search before.
    """

    def look(search: embedded.Search) -> None:
        (found,) = np.nonzero(search.frontier.marks(search.width) == np.uint64(mark))
        if len(found):
            start, actions = path_to(search.history, int(found[0]))
            raise _Met(Finding(start, tuple(actions)))

    try:
        result = embedded.explore(
            spec, bounds, properties=(), threads=threads, everything=True, budget=budget, progress=progress, on_level=look
        )
    except _Met as met:
        return met.finding
    if result.complete:
        raise SpecError(
            f"no state of {spec.name} within these bounds has the fingerprint {mark:016x}; give the bounds it was found at"
        )
    raise SpecError(f"the fingerprint {mark:016x} was not met among {result.distinct:,} states: {result.stopped}")


def path_to_property(
    spec: Spec, bounds: Mapping[str, int], name: str, budget: Budget, threads: int = 1, progress: Progress = quiet
) -> Finding:
    """Search for what violates or reaches a property, and return a shortest path to it.

    Raises:
        SpecError: there is no such property, or nothing shows it within the bounds.
    """
    claim = spec.property(name)
    result = embedded.explore(spec, bounds, properties=(claim,), threads=threads, budget=budget, progress=progress)
    shown = result.shown_by(name)
    if shown is None:
        raise SpecError(f"{name}: no state within these bounds shows it ({result.verdict_of(name)}); so there is none to begin at")
    return result.findings[shown]


def stored_path(state_dir: str, text: str, option: str) -> tuple[Mapping[str, Any], Finding]:
    """Return what a stored search was of, and a shortest path to one of its states.

    Raises:
        SpecError: there is no store, it is damaged, or no finished level has the state.
    """
    mark, store = fingerprint_of(text, option), need("state_dir")
    storage = store.Storage(state_dir)
    try:
        about = store.run_of(storage)
        level = store.locate(storage, mark)
        if level < 0:
            raise SpecError(f"{option} {text}: no finished level in {state_dir} has this state")
        start, actions = store.path_to(storage, level, mark)
    except store.Damaged as error:
        raise SpecError(str(error)) from None
    return about, Finding(start, tuple(actions))
