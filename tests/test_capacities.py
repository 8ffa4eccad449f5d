"""Capacities that a spec leaves out: a search finds them, and nothing is limited by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.diagrams.tla.module import spec_tla
from kafka_spec.model_check.check import check, simulate
from kafka_spec.model_check.coverage import coverage_of
from kafka_spec.model_check.exploration import Distribution
from kafka_spec.model_check.random_walks.batches import Walks
from kafka_spec.model_check.search.covering import covered
from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BagOf,
    Bound,
    Capacity,
    Member,
    Queue,
    Range,
    SequenceOf,
    SetOf,
    SpecError,
    add,
    append,
    field,
    has,
    pop_first,
    sequences,
)
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, ElementOf, Rule, Spec, anywhere, invariant

TERMS = Bound("terms", 1, 30, "terms")
NODES = 2


def world(room: int | None) -> Spec:
    """Return a spec of two nodes that write, send their logs and take them; its containers have so much room, or none is said."""

    @dataclasses.dataclass
    class Letter:
        """What a node sent: its log as it was then."""

        to: int = field(Member(NODES, "node"))
        log: list[int] = field(SequenceOf(Range(0, 1), room))

    @dataclasses.dataclass
    class World:
        """The whole state."""

        term: int = field(Range(0, TERMS))
        logs: list[list[int]] = field(ArrayOf(SequenceOf(Range(0, 1), room), NODES))
        letters: list[Letter] = field(SetOf(Letter, room))
        taken: list[Letter] = field(BagOf(Letter, room))
        queue: list[int] = field(Queue(Member(NODES, "node"), room))

    node = {"node": Member(NODES, "node")}
    return Spec(
        "letters",
        "two nodes",
        World,
        (
            Rule("Write", "a node", "{node} writes", "", (write,), node, (goes_on,)),
            Rule("Take", "a node", "a letter is taken", "", (take,), {"m": ElementOf("letters")}, (is_first,)),
        ),
        (invariant("Short", is_short, "no log has seven items"),),
        bound_sets=(BoundSet("some", {"terms": 4}, "four terms"),),
        final=anywhere,
    )


def goes_on(s: Any, k: Constants) -> bool:
    """There is another term."""
    return s.term < k.terms


def write(s: Any, node: int) -> None:
    """Write, and send the log to the other node."""
    append(s.logs[node], s.term % 2)
    append(s.queue, 1 - node)
    add(s.letters, to=1 - node, log=s.logs[node])
    s.term += 1


def is_first(s: Any, m: Any) -> bool:
    """Its receiver is the first in the queue, and the letter is not taken twice."""
    return len(s.queue) > 0 and s.queue[0] == m.to and not has(s.taken, m)


def take(s: Any, m: Any) -> None:
    """Take a letter; it stays in the set."""
    add(s.taken, m)
    pop_first(s.queue)


def is_short(s: Any) -> bool:
    """No log has seven items."""
    return all(len(log) < 7 for log in s.logs)


OPEN, ROOMY = world(None), world(12)
NAMES = ("capacity_of_numbers", "capacity_of_Letter")


@pytest.mark.parametrize("engine", ["embedded", "oracle", "both"])
@pytest.mark.parametrize("terms", [1, 3, 5])
def test_a_search_finds_what_ample_capacities_give(terms: int, engine: Any) -> None:
    """Counts and verdicts are those of containers with ample room, whatever became full on the way; the result has the room."""
    found, ample = (check(spec, {"terms": terms}, engine=engine) for spec in (OPEN, ROOMY))

    assert (found.levels, found.fired, found.verdict) == (ample.levels, ample.fired, "holds")
    assert not found.full and not found.cut_by
    assert {found.bounds[name] for name in NAMES} == ({4} if terms < 5 else {8})


def test_a_violation_is_the_shortest_without_limits() -> None:
    """A counterexample beyond the first capacities has the length that ample ones give."""
    found, ample = (check(spec, {"terms": 7}) for spec in (OPEN, ROOMY))

    assert found.violated == ample.violated == ["Short"]
    assert found.findings["Short"].states == ample.findings["Short"].states == 8


def test_tlc_has_no_capacities(tmp_path: Path) -> None:
    """An export leaves them out, and TLC finds as many states."""
    assert "Capacity" not in spec_tla(OPEN, "Letters")
    agree(OPEN, dict(check(OPEN, {"terms": 4}).bounds), tmp_path)


def test_too_small_a_capacity_is_no_result(tmp_path: Path) -> None:
    """A search that keeps its levels does not begin again: it is inconclusive, and says what to give."""
    result = check(OPEN, {"terms": 5}, distribution=Distribution(str(tmp_path)))

    assert (result.verdict, result.complete) == ("inconclusive", False)
    assert result.stopped == "capacity_of_numbers=4 is too small; give more, --bound capacity_of_numbers=8"


def test_there_is_an_end_to_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol that puts more and more into a container ends without a verdict."""
    monkeypatch.setattr(sequences, "capacity_of", lambda name: Capacity(f"capacity_of_{name}", 1, 8, "items"))
    result = check(world(None), {"terms": 10}, properties=[])

    assert (result.verdict, result.complete, result.bounds["capacity_of_numbers"]) == ("inconclusive", False, 8)
    assert result.stopped.endswith("=8 is too small; let a bound limit what is put there")


def test_other_readers_have_room() -> None:
    """Coverage begins again too; walks of a person have all the room there is, random walks 64 items."""
    at_five = OPEN.bound_values({"terms": 5})
    assert {one.path: one.fullest for one in coverage_of(covered(OPEN, at_five)).containers}["logs[]"] == 5
    assert Walk(OPEN, {"terms": 30}).world.bounds["capacity_of_numbers"] == 4096
    walked = simulate(OPEN, {"terms": 30}, Walks(most=20, length=60), properties=[])
    assert walked.found.bounds["capacity_of_Letter"] == 64 and not walked.found.cut_by


def test_a_parameter_says_its_capacity() -> None:
    """A parameter ranges over all sequences up to a length, which has to be said."""
    with pytest.raises(SpecError, match="parameter log: it ranges over all that its container may hold, so say its capacity"):
        rule = dataclasses.replace(OPEN.rule("Write"), params={"node": Member(2), "log": SequenceOf(Range(0, 1))})
        OPEN.replacing("p", "p", rules=(rule,))


def test_what_searches_no_states_needs_them_named(tmp_path: Path, kafka_spec: Callable[..., Any]) -> None:
    """A proof, and an inductive check, would hold within four items alone: they refuse what they cannot find, with the cure."""
    (tmp_path / "log.py").write_text(MODULE, encoding="utf-8")
    open_ = "log leaves capacity_of_numbers out, and only a search finds it; name it, --bound capacity_of_numbers=N"
    for command, cure in (
        (("prove", "log:SPEC"), ", or lift it, --unbounded capacity_of_numbers"),
        (("check", "log:SPEC", "--inductive", "Few"), ""),
    ):
        refused = kafka_spec(*command, cwd=tmp_path)
        assert (refused.returncode, refused.stderr.strip().splitlines()[-1]) == (2, f"kafka-spec: {open_}{cure}")

    lifted = kafka_spec("prove", "log:SPEC", "--unbounded", "capacity_of_numbers", cwd=tmp_path)
    assert lifted.returncode == 0 and "proved: Few" in lifted.stdout
    named = kafka_spec("check", "log:SPEC", "--inductive", "Few", "--bound", "capacity_of_numbers=2", "--quiet", cwd=tmp_path)
    assert named.returncode == 0 and "capacity_of_numbers 2" in named.stdout.replace("=", " ")


def test_grow_raises_no_capacities(tmp_path: Path, kafka_spec: Callable[..., Any]) -> None:
    """`--grow` raises what bounds a protocol; capacities are found in each of its searches."""
    (tmp_path / "log.py").write_text(MODULE, encoding="utf-8")
    grown = kafka_spec("check", "log:SPEC", "--grow", "--seconds", "20", "--quiet", cwd=tmp_path)

    assert grown.returncode == 0 and "10" in grown.stdout and "not tried" not in grown.stdout


MODULE = """
from dataclasses import dataclass
from kafka_spec import *

@dataclass
class Log:
    items: list[int] = field(SequenceOf(Range(0, 9)))

def is_short(s: Log) -> bool:
    return len(s.items) < 9

def write(s: Log) -> None:
    append(s.items, len(s.items))

def is_few(s: Log) -> bool:
    return len(s.items) < 10

FEW = (invariant("Few", is_few, "a log has fewer than ten items"),)
SPEC = Spec("log", "a log", Log, (Rule("Write", "it", "it writes", "", (write,), guards=(is_short,)),), FEW, final=anywhere)
"""
MANIFEST = """
[tool.kafka-spec]
counts = "counts.toml"

[[tool.kafka-spec.checks]]
name = "log"
model = "log:SPEC"
verdict = "holds"
"""


def test_accepted_capacities_are_kept(tmp_path: Path, kafka_spec: Callable[..., Any]) -> None:
    """`check --accept` writes the capacity that was found; the next run begins with it."""
    (tmp_path / "log.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(MANIFEST, encoding="utf-8")
    assert kafka_spec("check", "--accept", cwd=tmp_path).returncode == 0
    line = (tmp_path / "counts.toml").read_text(encoding="utf-8").splitlines()[1]
    assert line.startswith('"log" = { distinct = 10, depth = 10,') and line.endswith("capacity_of_numbers = 16 }")

    again = kafka_spec("check", "log", "--verbose", cwd=tmp_path)
    assert again.returncode == 0 and "capacity_of_numbers 16" in again.stdout


OWN = """
import log
from kafka_spec import Bound, BoundSet, invariant
from dataclasses import replace

MOST = Bound("capacity_of_files", 1, 9, "a bound of one's own")
SETS = (BoundSet("few", {"capacity_of_files": 2}, "few"),)
SPEC = replace(log.SPEC, name="own", more_bounds=(MOST,), bound_sets=SETS)
"""


def test_only_what_a_search_finds_is_kept(tmp_path: Path, kafka_spec: Callable[..., Any]) -> None:
    """A bound that is named like a capacity stays what the manifest says; an accepted capacity that cannot be is refused."""
    (tmp_path / "log.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(MANIFEST.replace("log:SPEC", "own:SPEC"), encoding="utf-8")
    assert kafka_spec("check", "--accept", cwd=tmp_path).returncode == 0
    counts = tmp_path / "counts.toml"
    assert "capacity_of_files" not in counts.read_text(encoding="utf-8")

    counts.write_text(counts.read_text(encoding="utf-8").replace("capacity_of_numbers = 16", "capacity_of_numbers = 99999"))
    refused = kafka_spec("check", cwd=tmp_path)
    assert refused.returncode == 2 and "capacity_of_numbers=99999 is outside 1..4096" in refused.stderr
