"""A small spec whose parameters are records and containers: nodes in any order take jobs."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    ArrayOf,
    Bound,
    Flag,
    Member,
    Option,
    Range,
    SequenceOf,
    SetOf,
    append,
    assign,
    field,
    present,
    put,
    value_of,
)
from kafka_spec.spec.vocabulary.table import Among, BoundSet, Constants, Rule, Spec, anywhere, invariant, reachable

NODES = Bound("nodes", 1, 3, "nodes")
VALUES = Bound("values", 1, 3, "values of a counter")


@dataclass
class Job:
    """A job for a node."""

    node: int = field(Member(NODES, "node"))
    urgent: int = field(Flag())


@dataclass
class Ring:
    """Counters in a ring, an order of the nodes, and jobs."""

    counters: list[int] = field(ArrayOf(Range(0, VALUES), NODES, "node"))
    order: list[int] = field(ArrayOf(Member(NODES, "node"), NODES, "place"))
    jobs: list[Job] = field(SequenceOf(Job, 2))
    last: Job | None = field(Option(Job))
    voters: int = field(SetOf(NODES))
    steps: int = field(Range(0, 2))


def differ(order: list[int], k: Constants) -> bool:
    """No node is in the order twice."""
    return all(order[a] != order[b] for a in range(k.nodes) for b in range(a))


def begin(s: Ring, counters: list[int], order: list[int]) -> None:
    """Begin with any counters, and the nodes in any order."""
    assign(s.counters, counters)
    assign(s.order, order)


def first_counts(counters: list[int]) -> bool:
    """The first counter is not 0."""
    return counters[0] > 0


def goes_on(s: Ring) -> bool:
    """There is a step left."""
    return s.steps < 2


def is_first(s: Ring, job: Job) -> bool:
    """The job is for the node that is first in the order, and there is room for it."""
    return s.order[0] == job.node and len(s.jobs) < 2


def take(s: Ring, job: Job) -> None:
    """Take any job of the first node."""
    append(s.jobs, job)
    put(s.last, job, urgent=0)
    s.counters[job.node] = 0
    s.steps += 1


def replace_jobs(s: Ring, jobs: list[Job], last: Job | None) -> None:
    """Have any jobs in place of those."""
    assign(s.jobs, jobs)
    assign(s.last, last)
    s.steps += 1


def begins_with(jobs: list[Job], last: Job | None) -> bool:
    """The last job is the first of them."""
    return len(jobs) > 0 and present(last) and value_of(last) == jobs[0]


def jobs_are_of_nodes(s: Ring, k: Constants) -> bool:
    """No two jobs are for the last node."""
    return not (len(s.jobs) > 1 and s.jobs[0].node == k.nodes - 1 and s.jobs[1] == s.jobs[0])


def is_reversed(s: Ring, k: Constants) -> bool:
    """The nodes are in reverse order."""
    return all(s.order[place] == k.nodes - 1 - place for place in range(k.nodes))


JOBS = {"jobs": SequenceOf(Job, 2), "last": Option(Job)}
RING = Spec(
    "ring",
    "nodes in some order",
    Ring,
    (
        Rule("Take", "{job}", "a node takes {job}", "", (take,), {"job": Job}, (goes_on, is_first)),
        Rule("Replace", "operator", "the jobs are {jobs}", "", (replace_jobs,), JOBS, (goes_on, begins_with)),
    ),
    (
        invariant("JobsAreOfNodes", jobs_are_of_nodes, "no two jobs of the last node", ""),
        reachable("Reversed", is_reversed, "the nodes are in reverse order", ""),
    ),
    bound_sets=(
        BoundSet("two", {"nodes": 2, "values": 2}, "two nodes"),
        BoundSet("three", {"nodes": 3, "values": 1}, "three nodes"),
    ),
    start=Rule(
        "Begin",
        "ring",
        "the ring begins",
        "",
        (begin,),
        {
            "counters": ArrayOf(Range(0, VALUES), NODES, "node"),
            "order": Among(ArrayOf(Member(NODES, "node"), NODES, "place"), differ),
        },
        (first_counts,),
    ),
    final=anywhere,
)
