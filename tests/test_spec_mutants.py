"""The mutants of a model (tests/mutants/woven.py): one spec holds them all, each runs alone, and the table is that of the fates."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from examples.lease import FENCED
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.vocabulary.table import Rule, Spec
from tests.mutants import spec as mutants
from tests.mutants.woven import MUTANT, Reach, Woven


@pytest.fixture(scope="module")
def woven() -> Woven:
    """Return a lease with fencing tokens with its mutants."""
    return Woven(FENCED)


def test_no_mutant_is_the_spec_itself(woven: Woven) -> None:
    """With mutant 0 the graph is that of the spec, in both engines."""
    bounds = FENCED.bound_values({})
    plain = embedded.explore(FENCED, bounds, everything=True)
    for engine in (embedded, oracle):
        result = engine.explore(woven.spec, {**bounds, MUTANT: 0}, everything=True)
        assert (result.digest, result.levels, result.violated) == (plain.digest, plain.levels, plain.violated)


def test_a_left_out_guard_is_left_out(woven: Woven) -> None:
    """The mutant of a rule's guard has the graph of the spec whose rule is without that guard."""
    bounds = FENCED.bound_values({})
    tried = 0
    for number, mutant in enumerate(woven.mutants, 1):
        if mutant.kind == "guard of a rule":
            rule: Rule = FENCED.rule(str(mutant.inside)).without_guard(mutant.name.rpartition(" ")[2])
            weak: Spec = FENCED.replacing("weak", "without a guard", rules=[rule])
            one = embedded.explore(woven.spec, {**bounds, MUTANT: number}, everything=True)
            other = embedded.explore(weak, bounds, everything=True)
            assert (one.digest, one.violated) == (other.digest, other.violated), mutant.name
            tried += 1
    assert tried > 1


def test_mutants_that_share_code_are_searched_one_by_one(woven: Woven) -> None:
    """All mutants are searched with one program, in which only their number changes: each has the graph that it has alone."""
    bounds = FENCED.bound_values({})
    digests = set()
    for number in [*range(len(woven.mutants) + 1), 0]:
        together = mutants.search(woven.spec, "lease", {**bounds, MUTANT: number}, None)
        alone = embedded.explore(woven.spec, {**bounds, MUTANT: number})
        assert (together.digest, together.violated, together.tested) == (alone.digest, alone.violated, alone.tested)
        digests.add(together.digest)
    assert len(digests) > 3


def test_every_kind_of_mutant_is_made_and_some_are_noticed(woven: Woven) -> None:
    """A lease has mutants of guards, comparisons and writes, each under a name of its own; some break its promises."""
    bounds = FENCED.bound_values({})
    kinds = Counter(mutant.kind for mutant in woven.mutants)
    assert {"guard of a rule", "comparison", "write"} <= set(kinds)
    assert len({mutant.name for mutant in woven.mutants}) == len(woven.mutants)
    results = [embedded.explore(woven.spec, {**bounds, MUTANT: number}) for number in range(1, len(woven.mutants) + 1)]
    healthy = embedded.explore(woven.spec, {**bounds, MUTANT: 0})
    assert not healthy.violated and sum(bool(result.violated) for result in results) > 3
    reach = Reach(FENCED)
    for mutant, result in zip(woven.mutants, results, strict=True):
        assert reach.may_differ(mutant, healthy) or result.digest == healthy.digest, mutant.name


def test_the_committed_table_is_that_of_the_fates() -> None:
    """tests/mutants/SPEC.md is written from spec_mutants.json; a mutant that lives has a reason."""
    kept = json.loads(mutants.KEPT.read_text(encoding="utf-8"))
    assert mutants.PAGE.read_text(encoding="utf-8") == mutants.page(kept["fates"], kept["done"])
    assert [
        name for name, one in kept["fates"].items() if mutants.word_of(one) == "alive" and not mutants.reason_for(name, one)
    ] == []
