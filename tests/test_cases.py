"""Cases, and what follows from them in all worlds: models, eras, decisions, named checks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_spec import MODELS
from kafka_spec.spec.case import Case, Suite, has, in_words
from kafka_spec.spec.kraft import eras as kraft
from kafka_spec.spec.quorum import eras as quorum
from kafka_spec.spec.zookeeper import eras as zookeeper

SUITES = {"zookeeper": zookeeper.SUITE, "kraft": kraft.SUITE, "quorum": quorum.SUITE}
WORLDS = pytest.mark.parametrize("world", SUITES)


def test_releases_enclose() -> None:
    """A release stands for its patch releases; the first and the last belong to it; None is in no release."""
    assert has(("0.8.2", "2.0.0"), "0.8.2.2") and has(("0.8.2", "2.0.0"), "2.0.0") and not has(("0.8.2", "2.0.0"), "2.0.1")
    assert has(("1.0", "2.7"), "2.7.2") and not has(("1.0", "2.7"), "2.8.0") and not has(("1.0", "2.7"), "0.11.0.2")
    assert not has(None, "0.8.0") and has(("0.8.0", "0.10.2"), "0.10.2.2") and not has(("0.11.0", "3.9"), "0.10.2.2")


def test_releases_in_words() -> None:
    """Releases are named by the first and the last."""
    assert (in_words(None), in_words(("1.1", "2.0")), in_words(("4.0", "4.0"))) == ("in no release", "in 1.1 to 2.0", "in 4.0")


@WORLDS
def test_a_case_says_what_it_shows_or_why_not(world: str) -> None:
    """A case violates something, or says why it breaks nothing; or eras have it; or it says what the models lack. One of them."""
    cases = SUITES[world].cases
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        violates = any(shown.violates for shown in case.shows)
        only_in_eras = bool(case.decides or case.machines) and not case.shows
        assert [violates, bool(case.breaks_nothing), only_in_eras, bool(case.not_expressed)].count(True) == 1, case.name
        assert bool(case.shows) <= bool(case.decides or case.rules or case.claims), case.name


@WORLDS
def test_a_case_is_a_difference(world: str) -> None:
    """The model of a case has its decisions, rules and claims, and nothing else that `fixed` has not; its bound set comes first."""
    suite = SUITES[world]
    fixed = suite.fixed
    for case in suite.expressed:
        spec = MODELS[f"{world}/{case.name}"]
        assert (spec.decisions, spec.rules, spec.properties) != (fixed.decisions, fixed.rules, fixed.properties)
        assert (spec.state, spec.start, spec.machines, spec.properties) == (
            fixed.state,
            fixed.start,
            fixed.machines,
            (*fixed.properties, *case.claims),
        )
        assert spec.rules == (*fixed.rules, *case.rules)
        assert spec.bound_sets[0].name == case.bounds


def decided(suite: Suite, cases: tuple[Case, ...]) -> dict[str, set[int]]:
    """Return the values that cases give to decisions, in place of those of `fixed`."""
    values: dict[str, set[int]] = {}
    for case in cases:
        for name, value in case.decisions.items():
            values.setdefault(name, set()).add(int(value))
    return {decision.name: {int(decision.value)} for decision in suite.fixed.decisions} | values


@WORLDS
def test_eras_do_what_their_cases_do(world: str) -> None:
    """An era's decisions are those of `fixed`, but for those of the cases of its release, which do not disagree."""
    suite = SUITES[world]
    for era in suite.eras:
        wanted = decided(suite, suite.of(era))
        assert all(len(values) == 1 for values in wanted.values()), era.name
        assert {d.name: {int(d.value)} for d in MODELS[f"{world}/{era.name}"].decisions} == wanted


@WORLDS
def test_eras_read_as_they_did(world: str, golden: Callable[[str, str], None]) -> None:
    """Which cases each era has, by the releases of the cases, equals the golden text."""
    suite = SUITES[world]
    lines = [f"{era.name} {case.name}" for era in suite.eras for case in suite.of(era)]
    golden(f"{world}-eras.txt", "\n".join(lines) + "\n")


def test_faults_from_outside_are_in_no_era() -> None:
    """A lost end of a log is the machine's fault: the releases have it, and no era has it by itself."""
    faults = {case.name for case in zookeeper.SUITE.cases if case.from_outside}
    assert faults == {"last-replica-standing", "tail-lost-in-isr"}
    for era in zookeeper.SUITE.eras:
        enclosing = {case.name for case in zookeeper.SUITE.cases if has(case.releases, era.release)}
        assert faults <= enclosing and not faults & set(zookeeper.SUITE.names(era.name))
