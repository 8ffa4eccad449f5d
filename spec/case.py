"""A case, stated once: a bug of Kafka, an earlier design, or a fault from outside; and what follows from cases.

A case says which releases have it, what it decides otherwise than `fixed`, and what it violates. From the cases of a world follow
the decisions of `fixed`, a model for each case, the eras, and the named checks. Knows no world.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kafka_spec.spec.family import Family
from kafka_spec.spec.vocabulary.table import Check, Decision, Machine, Property, Rule, Spec, Untestable, beginning_with, check_name

Releases: TypeAlias = tuple[str, str] | None
"""The first and the last release of Kafka that have something; None: no release has it.

A release stands for all its patch releases, unless it names one. A bug whose fix came before its code was released is in none.
"""


def has(releases: Releases, release: str) -> bool:
    """Return whether a release is among those between the first and the last."""
    if releases is None:
        return False
    first, last = (release_numbers(named) for named in releases)
    asked = release_numbers(release)
    return first <= asked and asked[: len(last)] <= last


def in_words(releases: Releases) -> str:
    """Return releases in words."""
    if releases is None:
        return "in no release"
    first, last = releases
    return f"in {first}" if first == last else f"in {first} to {last}"


def release_numbers(release: str) -> tuple[int, ...]:
    """Return a release as numbers, which compare as releases do: 4.10.0 is after 4.9.0."""
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True)
class Shown:
    """What a model shows at a bound set: what it violates there, or that it violates nothing.

    `violates` has the states of the shortest trace of each property. `alone` judges these properties only; `everything` continues
    the search to its end (None: as the world does). `cannot_test` adds to what the family cannot test, `tests` takes from it.
    `name` follows the names of model and bound set where two checks have the same. `normal_form`: a search that ends at a violation
    searches normal forms too.
    """

    bounds: str
    violates: Mapping[str, int] = field(default_factory=dict)
    alone: bool = False
    everything: bool | None = None
    cannot_test: tuple[Untestable, ...] = ()
    tests: tuple[Untestable, ...] = ()
    name: str = ""
    why: str = ""
    all_properties_tested: bool | None = None
    normal_form: bool = False


def stops(bounds: str, violates: Mapping[str, int]) -> Shown:
    """Return what stops progress: the search to its end that judges only the properties of progress that are violated."""
    return Shown(
        bounds,
        violates,
        alone=True,
        everything=True,
        name="progress",
        why="it stops the progress that fixed makes",
        all_properties_tested=True,
    )


@dataclass(frozen=True)
class Case:
    """A bug of Kafka, an earlier design, or a fault of hardware or of an operator.

    `decides` has the values of decisions, each declared with its value in `fixed`; `rules` are added. `shows` begins with the
    bounds that show it. Without `shows` it has no model of its own: eras have it, or `not_expressed` says what models lack.
    """

    name: str
    summary: str
    releases: Releases = None
    decides: Mapping[Decision, enum.IntEnum] = field(default_factory=dict)
    shows: tuple[Shown, ...] = ()
    rules: tuple[Rule, ...] = ()
    claims: tuple[Property, ...] = ()
    """Properties that only this version is checked for."""
    machines: tuple[Machine, ...] = ()
    """Tables that replace those of `fixed`."""
    also_known_as: tuple[str, ...] = ()
    """Further issues of Kafka about the same."""
    from_outside: bool = False
    """A fault of hardware, or of an operator, which no era has by itself."""
    breaks_nothing: str = ""
    """Why it violates nothing alone, at the bounds that were tried."""
    not_expressed: str = ""
    """What the models lack to show it."""
    seen: str = ""
    """The script that shows it on real Kafka."""

    @property
    def decisions(self) -> Mapping[str, enum.IntEnum]:
        """The values of decisions by name."""
        return {decision.name: value for decision, value in self.decides.items()}

    @property
    def bounds(self) -> str:
        """The bound set that shows it."""
        return self.shows[0].bounds

    @property
    def when(self) -> str:
        """The releases that have it, in words."""
        return in_words(self.releases)

    @property
    def issues(self) -> tuple[str, ...]:
        """The issues or improvement proposals of Kafka that its name and `also_known_as` give; empty for what the checker found."""
        return (*re.findall(r"^(?:KAFKA|KIP)-\d+", self.name), *self.also_known_as)


def decisions_of(cases: Sequence[Case]) -> tuple[Decision, ...]:
    """Return the decisions of cases, each once, with their values in `fixed`."""
    return tuple(dict.fromkeys(decision for case in cases for decision in case.decides))


def unreachable(
    decisions: Sequence[Decision],
    needs: Mapping[str, tuple[str, enum.IntEnum]],
    changed: Mapping[str, enum.IntEnum] | None = None,
) -> tuple[str, ...]:
    """Return the rules that need another value of a decision than it has, with some changed."""
    decided = {decision.name: decision.value for decision in decisions} | dict(changed or {})
    return tuple(rule for rule, (decision, value) in needs.items() if decided[decision] != value)


@dataclass(frozen=True)
class Era:
    """A release of Kafka as a model: `fixed` with each case that the release has.

    `cannot_test` adds to what the families cannot test.
    """

    name: str
    summary: str
    release: str
    shows: tuple[Shown, ...]
    cannot_test: tuple[Untestable, ...] = ()


@dataclass(frozen=True)
class Suite:
    """`fixed` with the cases, eras and families of its world, and the models and checks that follow.

    `cannot_test`: what no check can test while some bounds are 0. `needs` maps rules to the value of a decision that they need.
    `everything`: a search that is to violate something continues to its end.
    """

    fixed: Spec
    cases: tuple[Case, ...]
    eras: tuple[Era, ...]
    families: tuple[Family, ...]
    cannot_test: tuple[Untestable, ...]
    needs: Mapping[str, tuple[str, enum.IntEnum]] = field(default_factory=dict)
    everything: bool = False

    @property
    def name(self) -> str:
        """The folder of the names of its models."""
        return self.fixed.name.partition("/")[0]

    @property
    def expressed(self) -> tuple[Case, ...]:
        """The cases that have a model of their own."""
        return tuple(case for case in self.cases if case.shows)

    def names(self, model: str) -> tuple[str, ...]:
        """Return the names of the cases that a model of this suite has: those of an era, or the one."""
        name = model.rpartition("/")[2]
        eras = [tuple(case.name for case in self.of(era)) for era in self.eras if era.name == name]
        return eras[0] if eras else tuple(case.name for case in self.expressed if case.name == name)

    def of(self, era: Era) -> tuple[Case, ...]:
        """Return the cases of an era: those of its release, but no faults from outside and nothing that is not expressed."""
        return tuple(
            case for case in self.cases if has(case.releases, era.release) and not case.from_outside and not case.not_expressed
        )

    def specs(self) -> tuple[Spec, ...]:
        """Return the models of the eras, and those of the cases."""
        return (*map(self.spec_of, self.eras), *map(self.spec_with, self.expressed))

    def spec_with(self, case: Case) -> Spec:
        """Return `fixed` with one case."""
        first = beginning_with(case.bounds, self.fixed.bound_sets)
        return self._with(case.name, case.summary, (case,), properties=case.claims, bound_sets=first)

    def spec_of(self, era: Era) -> Spec:
        """Return the model of an era."""
        return self._with(era.name, era.summary, self.of(era))

    def _with(self, name: str, summary: str, cases: tuple[Case, ...], **other: Any) -> Spec:
        decisions = {name: value for case in cases for name, value in case.decisions.items()}
        return self.fixed.replacing(
            f"{self.name}/{name}",
            summary,
            decisions=decisions,
            rules=tuple(rule for case in cases for rule in case.rules),
            machines=tuple(machine for case in cases for machine in case.machines),
            unreachable_rules=unreachable(self.fixed.decisions, self.needs, decisions),
            **other,
        )

    def checks(self) -> Iterator[Check]:
        """Yield the checks: `fixed` in each family, then each case, then each era."""
        yield from (self._of_fixed(family) for family in self.families if family.checked)
        for case in self.expressed:
            for shown in case.shows:
                yield self._of(f"{self.name}/{case.name}", shown, why=_why(case, shown))
        for era in self.eras:
            for shown in era.shows:
                everywhere = replace(shown, everything=True, cannot_test=(*era.cannot_test, *shown.cannot_test))
                yield self._of(f"{self.name}/{era.name}", everywhere, why=f"what {era.summary} violates, if anything")

    def _of_fixed(self, family: Family) -> Check:
        return Check(
            self.fixed.name,
            family.name,
            why=family.why,
            without=family.without,
            not_tested=(*self.cannot_test, *family.cannot_test),
            normal_form=family.normal_form,
        )

    def _of(self, model: str, shown: Shown, why: str) -> Check:
        family = next(family for family in self.families if family.name == shown.bounds)
        everything = bool(shown.violates) and (self.everything if shown.everything is None else shown.everything)
        cannot_test = (*self.cannot_test, *family.cannot_test, *shown.cannot_test)
        return Check(
            model,
            shown.bounds,
            "violated" if shown.violates else "holds",
            shown.violates,
            name=check_name(model, shown.bounds, shown.name),
            why=why,
            properties=tuple(shown.violates) if shown.alone else (),
            not_tested=tuple(one for one in cannot_test if one not in shown.tests),
            normal_form=family.normal_form and (shown.normal_form or everything or not shown.violates),
            everything=everything,
            all_properties_tested=shown.all_properties_tested,
        )


def _why(case: Case, shown: Shown) -> str:
    """Return why the check of a case is there."""
    note = shown.why or (f"breaks nothing {case.breaks_nothing}" if case.breaks_nothing else "")
    return f"{case.summary} ({case.when})" + (f"; {note}" if note else "")
