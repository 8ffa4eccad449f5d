"""The checks that one run was asked for, each with its outcome as soon as it has one.

Whatever a run reports, and its exit code, is computed from this object, so that a check that did not run is never left out. Until
it has an outcome, its verdict is inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_spec.model_check.check import Outcome, checks_deadlock, judged_by_spec
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.named_check import NamedCheck

WITHOUT = "interrupted without a result"
"""The reason of a check that Ctrl-C kept from running, or ended."""


class Asked:
    """All checks of a run, in order."""

    def __init__(self, checks: Sequence[NamedCheck]) -> None:
        self.checks = checks
        self.outcomes = [Outcome(check.name, not_run(check), check.expected) for check in checks]
        """The outcome of each check, by its place."""
        self.added = 0

    def add(self, outcome: Outcome) -> None:
        """Take the outcome of the next check."""
        assert outcome.name == self.checks[self.added].name
        self.outcomes[self.added] = outcome
        self.added += 1


def not_run(check: NamedCheck) -> Exploration:
    """Return the result of a check that has none: nothing is known of it."""
    names = check.properties
    claims = check.spec.properties if names is None else tuple(check.spec.property(name) for name in judged_by_spec(names))
    deadlock = checks_deadlock(check.spec, names, check.deadlock)
    return Exploration(check.spec, dict(check.bounds), check.engine, 1, claims, deadlock, stopped=WITHOUT)
