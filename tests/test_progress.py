"""Progress of the control plane after faults have stopped: on `fixed`, and with the bugs that prevent it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import named_checks

from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.traces import story_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.properties.liveness import PROGRESS

ROOT = Path(__file__).resolve().parent.parent
CHECKS = [check for check in named_checks() if check.name.endswith("-progress")]
QUICK = [check for check in CHECKS if (check.expected.distinct or 0) < 1_000]
Golden = Callable[[str, str], None]


def id_of(check: NamedCheck) -> str:
    """Return a check's name."""
    return check.name


def test_each_promise_is_broken_by_a_bug() -> None:
    """Every promise of progress has a bug in the manifest that breaks it."""
    assert {claim for check in CHECKS for claim in check.expected.traces} == {claim.name for claim in PROGRESS}


@pytest.mark.parametrize("check", QUICK, ids=id_of)
def test_both_engines_find_the_same_lasso(check: NamedCheck) -> None:
    """Oracle and compiled code find the same lassos of a bug, and test the promises in as many states."""
    one, other = (
        explore(check.spec, check.bounds, properties=list(PROGRESS), everything=True)
        for explore in (oracle.explore, embedded.explore)
    )

    assert one.complete and one.findings == other.findings and one.tested == other.tested
    assert {name: one.findings[name].states for name in check.expected.traces} == dict(check.expected.traces)


@pytest.mark.parametrize("check", [check for check in CHECKS if (check.expected.distinct or 0) < 10_000], ids=id_of)
def test_fixed_makes_progress_where_a_bug_does_not(check: NamedCheck) -> None:
    """At the same bounds every property of `fixed` holds, and no bound forbids a protocol step: none is undecided."""
    result = embedded.explore(FIXED, check.bounds, properties=list(PROGRESS))

    assert (result.verdict, result.complete, result.undecided_by) == ("holds", True, [])


def test_without_its_expansion_no_isr_grows() -> None:
    """Without the rule by which a leader adds a follower to the ISR, the promise about the ISR alone is broken."""
    without = dataclasses.replace(FIXED, rules=tuple(rule for rule in FIXED.rules if rule.name != "ExpandIsr"))
    values = next(bounds.values for bounds in FIXED.bound_sets if bounds.name == "bounce")

    assert embedded.explore(without, values, properties=list(PROGRESS), everything=True).violated == ["IsrGrowsBack"]


def test_an_unfair_fetcher_hinders_progress() -> None:
    """Weak fairness is needed: if a broker need not act on requests, a replica may stay behind forever."""
    unfair = [dataclasses.replace(rule, fairness="none") for rule in FIXED.rules if rule.name == "BecomeFollower"]
    values = next(bounds.values for bounds in FIXED.bound_sets if bounds.name == "bounce")
    result = embedded.explore(
        FIXED.replacing("unfair", "", rules=tuple(unfair)), values, properties=list(PROGRESS), everything=True
    )

    assert "ReplicasLearn" in result.violated


def test_a_check_may_leave_out_a_kind(tmp_path: Path) -> None:
    """`without` in a manifest names properties or kinds that are not checked; a name that is neither is an error."""
    text = '[[tool.kafka-spec.checks]]\nname = "n"\nmodel = "zookeeper/fixed"\nbounds = "bounce"\nverdict = "holds"\nwithout = {}\n'
    path = tmp_path / "pyproject.toml"
    path.write_text(text.format('["leads-to", "Recovers"]'), encoding="utf-8")
    (check,) = read_manifest(path, MODELS.__getitem__)
    path.write_text(text.format('["leadsto"]'), encoding="utf-8")

    kept = {claim.name for claim in FIXED.properties if claim.kind != "leads-to"} - {"Recovers"}
    assert set(check.properties or ()) == kept
    with pytest.raises(SpecError, match="leadsto"):
        read_manifest(path, MODELS.__getitem__)


def test_lassos(golden: Golden) -> None:
    """The stories of the short lassos read as they did."""
    reported = []
    for check in QUICK:
        result = check.run()
        for name in check.expected.traces:
            trace = trace_of(result, name)
            assert trace is not None
            reported.append(f"{check.name}\n{story_text(trace, check.spec)}")
    golden("progress.txt", "\n\n".join(reported) + "\n")
