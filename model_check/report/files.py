"""The files that a spec was read from, with digests: what a result is a result about."""

from __future__ import annotations

import hashlib
import inspect
import os
from pathlib import Path

from kafka_spec.spec.vocabulary.table import Spec

PACKAGE = Path(__file__).resolve().parents[2]
PARTS = ("spec", "model_check")
"""Where the models of this package are, and its specs for tests and measurements."""


def files_of(spec: Spec) -> dict[str, str]:
    """Return the digest (SHA-256) of each file that states a rule or a property of a spec, by its path.

    A path below the current folder is relative to it, one in this package begins with `kafka_spec/`.
    """
    functions = [function for rule in (*spec.rules, spec.start) for function in (*rule.guards, *rule.bound_guards, *rule.effects)]
    functions += [function for claim in spec.properties for function in (claim.predicate, claim.when) if function is not None]
    places = sorted({Path(function.__code__.co_filename) for function in functions} - {Path(inspect.getfile(Spec))})
    return {_shown(place): hashlib.sha256(place.read_bytes()).hexdigest() for place in places if place.is_file()}


def of_user(spec: Spec) -> dict[str, str]:
    """Return those that are not of this package."""
    return {name: digest for name, digest in files_of(spec).items() if not name.startswith("kafka_spec/")}


def checked(*specs: Spec) -> list[str]:
    """Return the files of a user that specs were read from, each with the beginning of its digest, as sentences."""
    files = {name: digest for spec in specs for name, digest in of_user(spec).items()}
    return [f"checked {name}, SHA-256 {digest[:16]}" for name, digest in sorted(files.items())]


def _shown(place: Path) -> str:
    full = place.resolve()
    if any(full.is_relative_to(PACKAGE / part) for part in PARTS):
        return f"kafka_spec/{full.relative_to(PACKAGE).as_posix()}"
    return os.path.relpath(full) if full.is_relative_to(Path.cwd()) else str(full)
