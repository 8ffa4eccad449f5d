"""The named checks of a manifest as pytest items: `pytest pyproject.toml` runs them; a failure shows the counterexample.

Depends on pytest and the manifest, not on any model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.model_check.check import Outcome
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import cores
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.optional_dependencies import MissingExtra, needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError


class Unexpected(Exception):  # noqa: N818 - says what happened
    """The result of a check is not the expected one."""


class ManifestFile(pytest.File):
    """The checks of one pyproject.toml."""

    def __init__(self, *, catalogue: Mapping[str, Spec], **other: Any) -> None:
        super().__init__(**other)
        self.catalogue = catalogue

    def collect(self) -> Iterable[pytest.Item]:
        """Return an item for each named check."""
        try:
            with needing("check"):
                from kafka_spec.model_check.search import embedded  # noqa: F401
        except MissingExtra as error:
            # one failing item: an error at collection would prevent the project's own tests from running
            yield Missing.from_parent(self, name="checks", why=str(error))
            return
        try:
            checks = read_manifest(self.path, Models(self.catalogue).find)
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        for check in checks:
            yield CheckItem.from_parent(self, name=check.name, check=check)


class CheckItem(pytest.Item):
    """One named check."""

    def __init__(self, *, check: NamedCheck, **other: Any) -> None:
        super().__init__(**other)
        self.check = check

    def runtest(self) -> None:
        """Run the check; raise Unexpected if an expectation is not met."""
        outcome = Outcome(self.name, self.check.run(threads=cores()), self.check.expected)
        if outcome.unmet:
            raise Unexpected(unexpected_text(outcome))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the expectations that are not met, without a traceback of this file."""
        if isinstance(excinfo.value, Unexpected):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return what pytest calls the item."""
        return self.path, None, f"check {self.name}"


class Missing(pytest.Item):
    """Stands for all checks of a manifest if the checker is not installed."""

    def __init__(self, *, why: str, **other: Any) -> None:
        super().__init__(**other)
        self.why = why

    def runtest(self) -> None:
        """Fail, since checks that cannot run must not pass."""
        pytest.fail(self.why, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return what pytest calls the item."""
        return self.path, None, self.name


def unexpected_text(outcome: Outcome) -> str:
    """Return the expectations that are not met, and the unexpected counterexamples."""
    lines = [f"{outcome.name}: {problem}" for problem in outcome.unmet]
    if outcome.expected.verdict != "violated":
        for trace in outcome.violations.values():
            lines += ["", trace_text(trace, outcome.result.spec)]
    return "\n".join(lines)
