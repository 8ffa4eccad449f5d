"""Parameters that are records or containers: numbered values, the same in plain Python, compiled code, SMT terms and TLA+."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
from test_tla import agree

from kafka_spec.model_check.check import check
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import (
    ArrayOf,
    Domain,
    Flag,
    MapOf,
    MemberOrNone,
    Option,
    Range,
    SequenceOf,
    SetOf,
    SpecError,
    assign,
    count_of,
    domain_of,
    field,
    nth,
)
from kafka_spec.spec.language.domain.types import order
from kafka_spec.spec.vocabulary.table import Among, Rule, Spec, Symmetric, anywhere
from tests.ring import NODES, RING, VALUES, Job, Ring, goes_on
from tests.translated import compared

RING_AT = {of.name: RING.bound_values(of.values) for of in RING.bound_sets}


@pytest.mark.parametrize("bounds", RING_AT)
def test_engines_agree(bounds: str) -> None:
    """Plain Python and compiled code find the same states and the same violations."""
    ours, theirs = (engine.explore(RING, RING_AT[bounds], everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.generated, ours.depth, ours.digest) == (
        theirs.distinct,
        theirs.generated,
        theirs.depth,
        theirs.digest,
    )
    assert ours.distinct > 100 and list(ours.findings) == list(theirs.findings) == ["Reversed", "JobsAreOfNodes"]


def test_the_start_is_counted_by_hand() -> None:
    """As many initial states as counters of which the first is not 0, times the permutations of the nodes."""
    found = check(replace(RING, rules=RING.rules[:1]), RING_AT["three"], engine="both", everything=True)

    assert found.levels[0] == 1 * 2 * 2 * 6


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, and the same violations."""
    agree(RING, RING_AT["two"], tmp_path)


def test_the_translation_of_proofs_is_the_interpreter() -> None:
    """The formulas of `kafka-spec prove` admit the steps of the interpreter, and no others."""
    assert compared(RING, RING_AT["two"], most=200, states=6) > 5


def test_a_trace_shows_the_value() -> None:
    """A trace names the value that was chosen, not its number alone."""
    trace = trace_of(check(RING, RING_AT["two"], everything=True), "JobsAreOfNodes")

    assert trace is not None
    assert "the jobs are [(node node 1, urgent no), " in trace.steps[-1].summary


DOMAINS = {
    "an array": ArrayOf(Range(-1, 1), 3),
    "a record": domain_of(Job),
    "a sequence": SequenceOf(Range(0, 2), 2),
    "an option": Option(Job),
    "a map": MapOf(2, Range(0, 1)),
    "sets in an array": ArrayOf(SetOf(NODES), 2),
    "sequences in a sequence": SequenceOf(SequenceOf(Flag(), 1), 2),
    "a member or none": ArrayOf(MemberOrNone(NODES), 2),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_values_are_numbered_in_order(domain: Domain) -> None:
    """Each number below the count is another value, and the values are in the order of elements of a set."""
    type_ = domain.at({"nodes": 2}, "it")
    values = [nth(type_, number) for number in range(count_of(type_, "it"))]
    keys = [order(type_, value) for value in values]

    assert keys == sorted(keys) and len(set(map(type_.freeze, values))) == len(values)


def test_all_values_are_there() -> None:
    """Sequences of up to two of three numbers, and arrays of three of two."""
    sequences, arrays = SequenceOf(Range(0, 2), 2).at({}, "it"), ArrayOf(Range(0, 1), 3).at({}, "it")

    assert {tuple(nth(sequences, n)) for n in range(13)} == {(), *product(range(3)), *product(range(3), repeat=2)}
    assert [tuple(nth(arrays, n)) for n in range(8)] == list(product(range(2), repeat=3))


REFUSED = {
    "a set of records": (SetOf(Job, 2), "the sets and bags of records are not numbered"),
}


@pytest.mark.parametrize(("domain", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_numbered_is_refused(domain: Domain, message: str) -> None:
    """Values that are not numbered are refused when the spec is declared, with the cure."""
    rule = Rule("Choose", "it", "it chooses", "", (forget,), {"it": domain})
    with pytest.raises(SpecError, match=message):
        replace(RING, rules=(rule,))


def test_too_many_values_are_refused() -> None:
    """A parameter with more values than are numbered is refused before the search."""
    rule = Rule("Choose", "it", "it chooses", "", (forget,), {"it": ArrayOf(Range(0, 99), 6)})
    with pytest.raises(SpecError, match=r"Choose, parameter it: it has 1,000,000,000,000 values, of which there may be"):
        embedded.explore(replace(RING, rules=(rule,)), RING_AT["two"])


def forget(s: Ring) -> None:
    """Forget the jobs."""
    s.steps = 2


def write_it(s: Ring, job: Job) -> None:
    """Write the parameter."""
    job.urgent = 1
    s.steps = 2


def test_a_parameter_is_not_written() -> None:
    """A parameter that is a record does not change."""
    rule = Rule("Write", "{job}", "it writes", "", (write_it,), {"job": Job}, (goes_on,))
    with pytest.raises(SpecError, match=r"in write_it: this is part of an element of a set or bag, or of a parameter"):
        embedded.explore(replace(RING, rules=(rule,)), RING_AT["two"])


def only_count(s: Ring, counters: list[int]) -> None:
    """Begin with any counters."""
    assign(s.counters, counters)


def test_symmetric_nodes_are_one_orbit() -> None:
    """Renaming nodes renames them inside of parameters: fewer states, the same digest in both engines."""
    start = Rule("Begin", "ring", "it begins", "", (only_count,), {"counters": ArrayOf(Range(0, VALUES), NODES, "node")})
    symmetric = replace(RING, start=start, rules=RING.rules[1:], properties=(), normal_form=(Symmetric(NODES),), reduced=True)
    ours, theirs = (engine.explore(symmetric, RING_AT["three"], everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest) == (theirs.distinct, theirs.digest)
    assert ours.distinct < embedded.explore(replace(symmetric, reduced=False), RING_AT["three"], everything=True).distinct


@dataclass
class Lists:
    """Sequences of sequences."""

    lists: list[list[int]] = field(SequenceOf(SequenceOf(Flag(), 1), 2))
    steps: int = field(Range(0, 2))


def is_unfinished(s: Lists, n: int) -> bool:
    """There are so many steps left."""
    return s.steps + n < 3


def have_lists(s: Lists, n: int, lists: list[list[int]]) -> None:
    """Have these lists."""
    assign(s.lists, lists)
    s.steps += n


def test_names_of_tla_do_not_clash(tmp_path: Path) -> None:
    """A parameter may be named as what the export of sequences names, also where they hold sequences."""
    params = {"n": Range(1, 2), "lists": SequenceOf(SequenceOf(Flag(), 1), 2)}
    rule = Rule("Have", "it", "it has {lists}", "", (have_lists,), params, (is_unfinished,))

    agree(Spec("lists", "lists of lists", Lists, (rule,), (), final=anywhere), {}, tmp_path)


def is_urgent(job: Job) -> bool:
    """The job is urgent."""
    return job.urgent == 1


def test_records_are_chosen_by_a_predicate() -> None:
    """A dataclass is what `Among` chooses from, too."""
    rule = replace(RING.rules[0], params={"job": Among(Job, is_urgent)})  # type: ignore[arg-type]
    ours, theirs = (engine.explore(replace(RING, rules=(rule,)), RING_AT["two"], everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest) == (theirs.distinct, theirs.digest)
    assert ours.distinct < embedded.explore(replace(RING, rules=RING.rules[:1]), RING_AT["two"], everything=True).distinct
