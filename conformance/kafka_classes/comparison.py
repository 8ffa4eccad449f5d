"""A comparison of one subject: cases, differences, and the differences that were chosen.

It knows neither Kafka nor Java. A difference is *chosen* if the subject lists it with its reason; any other one is a failure. So is
a subject without a case, and a chosen difference that no case shows: the list would be out of date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

Step = TypeVar("Step")
SHOWN = 5
"""The number of differences of a subject that a report shows."""


@dataclass(frozen=True)
class Chosen:
    """A difference that this project wants: its name, its reason, and the versions of Kafka that differ."""

    name: str
    reason: str
    versions: tuple[str, ...] = ("2.8.2", "3.9.1")


@dataclass(frozen=True)
class Difference:
    """One case in which both sides differ, as texts."""

    case: str
    ours: str
    kafkas: str


@dataclass
class Comparison:
    """What was compared of one subject; `cases` counts."""

    cases: int = 0
    differences: list[Difference] = field(default_factory=list)
    different: int = 0
    """The number of differences that were not chosen; `differences` has the first few."""
    chosen: Counter[str] = field(default_factory=Counter)
    """How often each chosen difference was met, by name."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each row, or other part of the subject that is worth counting, was met."""

    @property
    def is_full(self) -> bool:
        """Whether a further difference is counted, and not shown."""
        return len(self.differences) >= SHOWN

    def compare(self, case: object, ours: Any, kafkas: Any, chosen: str | None = None) -> None:
        """Compare two results of one case. `chosen` names the chosen difference that explains one here, if they differ."""
        self.cases += 1
        if ours == kafkas:
            return
        if chosen is not None:
            self.chosen[chosen] += 1
            return
        self.different += 1
        if not self.is_full:
            self.differences.append(Difference(str(case), str(ours), str(kafkas)))


@dataclass(frozen=True)
class Subject:
    """What is compared: name, sentence, comparison, chosen differences, and the versions of Kafka that have the classes.

    `compare` gets the classes of Kafka, the comparison to fill, a source of random inputs, and their number.
    """

    name: str
    summary: str
    compare: Callable[[Any, Comparison, Random, int], None]
    chosen: tuple[Chosen, ...] = ()
    versions: tuple[str, ...] = ("2.8.2", "3.9.1")


@dataclass(frozen=True)
class SubjectResult:
    """The result of one subject with one version of Kafka; `seconds` it took."""

    subject: Subject
    version: str
    comparison: Comparison
    seconds: float

    @property
    def stale(self) -> list[str]:
        """The chosen differences that no case showed, and those that are not listed."""
        listed = {one.name for one in self.subject.chosen if self.version in one.versions}
        return sorted(listed ^ set(self.comparison.chosen))

    @property
    def failures(self) -> list[str]:
        """Why the subject fails, one sentence each; none if it agrees."""
        found = []
        if self.comparison.cases == 0:
            found.append("no case was compared")
        if self.comparison.different:
            found.append(f"{self.comparison.different:,} differences")
        found += [f"the chosen difference {name!r} was not met, or is not listed" for name in self.stale]
        return found


@dataclass(frozen=True)
class SequenceOutcome:
    """How a sequence went: the number of its steps up to the first difference, and both sides there, as texts."""

    steps: int
    ours: str = ""
    kafkas: str = ""
    chosen: str | None = None
    """The name of the chosen difference that explains it; its step is not among `steps`."""

    @property
    def differs(self) -> bool:
        """Whether there is a difference that was not chosen."""
        return bool(self.ours) and self.chosen is None


def compare_sequence(
    comparison: Comparison,
    steps: Sequence[Step],
    run: Callable[[Sequence[Step], Counter[str]], SequenceOutcome],
    setting: object,
    kept: int = 0,
) -> None:
    """Compare a sequence, of which each step is a case; a difference is shown in a shorter one, and the first `kept` steps stay.

    `run` takes the steps on both sides up to the first difference, and counts what happens.
    """

    def shows(steps: Sequence[Step]) -> int:
        outcome = run(steps, Counter())
        return outcome.steps if outcome.differs else 0

    outcome = run(steps, comparison.seen)
    for _ in range(outcome.steps - outcome.differs):
        comparison.compare("", 0, 0)
    if outcome.chosen is not None:
        comparison.compare(setting, outcome.ours, outcome.kafkas, outcome.chosen)
    if outcome.differs:
        fewer = steps if comparison.is_full else shortened(steps, shows, kept)
        last = run(fewer, Counter())
        comparison.compare(f"{setting}: {'; '.join(map(str, fewer))}", last.ours, last.kafkas)


def shortened(steps: Sequence[Step], shows: Callable[[Sequence[Step]], int], kept: int = 0) -> list[Step]:
    """Return a sequence that still shows a difference, of which no step can be left out; the first `kept` ones stay.

    `shows` returns after how many steps a sequence shows a difference, 0 if it shows none.
    """
    left = list(steps[: shows(steps)])
    for place in reversed(range(kept, len(left) - 1)):
        fewer = [*left[:place], *left[place + 1 :]]
        if length := shows(fewer):
            left = fewer[:length]
    return left


def run_subject(subject: Subject, kafka: Any, seed: int, cases: int, clock: Callable[[], float]) -> SubjectResult:
    """Compare one subject; equal seeds give equal inputs, whatever other subjects run."""
    comparison, started = Comparison(), clock()
    subject.compare(kafka, comparison, Random(f"{seed} {subject.name}"), cases)
    return SubjectResult(subject, kafka.version, comparison, clock() - started)
