"""The file of golden counts: how many states and levels each named check of a project has, a line for each check.

`kafka-spec check --accept` writes it, and every other run compares with it. The seconds are those of the search that was
accepted: they say how long a check takes, and are compared with nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.model_check.check import Outcome
from kafka_spec.spec.language.domain.limits import CAPACITY, capacities_in
from kafka_spec.spec.vocabulary.table import Spec, SpecError

HEAD = "# Written by `kafka-spec check --accept`. Other counts are another model: say why in the commit.\n"
COUNTS = ("distinct", "depth", "unreduced")
"""What is compared: the states, the levels, and the states without the normal form."""
KINDS: Mapping[str, tuple[type, ...]] = {**dict.fromkeys(COUNTS, (int,)), "seconds": (int, float)}
"""What a line has, besides the capacities that a spec leaves out and a search has found: the next one begins with them."""


@dataclass(frozen=True)
class GoldenCounts:
    """The accepted counts of the checks of a manifest, by the name of the check."""

    path: Path
    lines: Mapping[str, Mapping[str, Any]]

    def refuse_others(self, names: Sequence[str]) -> None:
        """Refuse a line of a check that does not exist."""
        if strange := [name for name in self.lines if name not in names]:
            raise SpecError(f"{self.path}: no check is named {strange[0]!r}; `kafka-spec check --accept` writes the file again")

    def expected(self, name: str, spec: Spec) -> tuple[dict[str, Any], dict[str, int], str]:
        """Return the counts of a check, the capacities that a search of the spec found, and what is wrong if it has no line."""
        if (line := self.lines.get(name)) is None:
            return {}, {}, f"{self.path} has no counts of it; `kafka-spec check {name} --accept` writes those of a run"
        capacities = {bound: line[bound] for bound in capacities_in(spec.bounds) if bound in line}
        return {count: line[count] for count in COUNTS if count in line}, capacities, ""

    def accept(self, outcomes: Iterable[Outcome], names: Sequence[str], own: Sequence[str]) -> list[str]:
        """Write the counts of what came out as expected; return which checks are new or have other counts than before.

        `names` are those of all checks, in order; those that do not exist any more go. Checks that have counts of their own in the
        manifest are not written.
        """
        lines = {name: dict(self.lines[name]) for name in names if name in self.lines}
        changed = []
        for outcome in outcomes:
            if outcome.unmet or outcome.name in own:
                continue
            before = lines.get(outcome.name, {})
            found = {name: value for name in COUNTS if (value := getattr(outcome.result, name)) is not None}
            found |= {name: outcome.result.bounds[name] for name in capacities_in(outcome.result.spec.bounds)}
            if "unreduced" in before and "unreduced" not in found and found.items() <= before.items():
                found["unreduced"] = before["unreduced"]
            if {name: value for name, value in before.items() if name != "seconds"} != found:
                changed.append(outcome.name)
            elif "seconds" in before:
                continue
            lines[outcome.name] = {**found, "seconds": _rounded(outcome.result.search_seconds)}
        text = "".join(f"{json.dumps(name)} = {_line(lines[name])}\n" for name in names if name in lines)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(HEAD + text, encoding="utf-8")
        except OSError as error:
            raise SpecError(
                f"{self.path}: {error.strerror}; name a file that can be written as counts of [tool.kafka-spec]"
            ) from None
        return changed


def read_counts(path: Path) -> GoldenCounts:
    """Return the counts in a file; none if it does not exist yet.

    Raises:
        SpecError: the file cannot be read, or is not what `--accept` writes.
    """
    try:
        lines = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: {error}; `kafka-spec check --accept` writes it again if it is deleted") from None
    for name, line in lines.items():
        if not isinstance(line, dict) or any(type(value) not in _kinds(key) for key, value in line.items()):
            raise SpecError(f"{path}: the line of {name} is not {{ {' = N, '.join(COUNTS)} = N }}; delete it, and accept it again")
    return GoldenCounts(path, lines)


def _kinds(key: str) -> tuple[type, ...]:
    return (int,) if key.startswith(CAPACITY) else KINDS.get(key, ())


def _line(counts: Mapping[str, Any]) -> str:
    names = [*(name for name in KINDS if name in counts), *(name for name in counts if name not in KINDS)]
    return f"{{ {', '.join(f'{name} = {counts[name]}' for name in names)} }}"


def _rounded(seconds: float) -> float | int:
    """Return seconds with one digit that counts."""
    return float(f"{seconds:.1g}") if seconds < 1 else int(float(f"{seconds:.1g}"))
