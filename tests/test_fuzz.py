"""Random specs: the engines and an independent search agree on them; `make fuzz SECONDS=N` runs for longer."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language import source_of
from kafka_spec.spec.vocabulary.table import Spec
from tests import sample_specs
from tests.fuzz.__main__ import fuzz
from tests.fuzz.agree import Tally, compared, disagreement, load
from tests.fuzz.search import Independent
from tests.fuzz.shrink import shrunk
from tests.fuzz.specs import text_of

CI_SECONDS = 20
ROOT = Path(__file__).parent.parent

WRITTEN = (
    "Assignment(", "SequenceOf(", "Queue(", "ArrayOf(ArrayOf(", "PerBroker(", "SetOf(NODES)", "OneOf(", "BrokerOrNone(",
    "StateOf(", "@tagged", "Range(0, LIMIT + 1)", "Range(0, NODES + 1)", "Range(-1, LIMIT - 1)",
    "NODES - 1)", "Range(65533, 65537", "ItemOf(", "'p2': ", "append(", "pop_first(", "truncate(",
    "reset(", "assign(", "        for i1 in range(", "break", "continue", "fire(s, k, ",
    "if not fire(", "MACHINE1", "initialisation", "unless=", "when=", "invariant(", "step_invariant(", "reachable(", "recoverable(",
    '"protocol"', '"operator"', '"fault"', "start=", "limit_", "x, y = pair_", "judge_", "change_",
    "at_most=", "at_most=(LIMIT, EXTRA", "field(Counters())", "s.spent.", "after.spent.",
    "SetOf(Plain, ", "BagOf(", "ElementOf(", "add(", "remove(", "has(", "count(", "for q", "Among(", "or_none=True", "Member(",
    "any(", "all(", "sum(", "set_of(", "members_of(", " in (", " not in ", "size(",
    "final=", "constraint=", "view=",
    "leads_to(", 'fairness="strong"', 'fairness="none"', 'fairness="weak each"', 'fairness="strong each"', 'each={"one": NODES}',
    "eventually(", "eventually_always(",
    "class Deep", "SequenceOf(Option(", "ArrayOf(MapOf(", "SequenceOf(BagOf(", "SetOf(Deep", "append(s.f0)",
    "k.mode", "Mode.FAST", "contains(", " if ", "and", "<<",
)  # fmt: skip
"""Constructs that random specs must contain."""


def test_everything_is_written() -> None:
    """Each construct of the language occurs in at least 3 of 200 random specs."""
    texts = [text_of(seed) for seed in range(200)]

    assert [word for word in WRITTEN if sum(word in text for text in texts) < 3] == []


def test_a_seed_is_a_text() -> None:
    """The same seed gives the same spec, and another seed another one."""
    assert text_of(5) == text_of(5) != text_of(6)


def test_no_index_of_a_constant_is_a_written_number_that_may_be_outside() -> None:
    """A careless spec reads outside a constant at a computed index alone: a written one would be refused, not judged."""
    written = re.compile(r"\b(ROW|NEAR)\[\(*-?\d+\)*\]")

    assert [seed for seed in (10_002_109, 10_002_417, *range(200)) if written.search(text_of(seed))] == []


def test_a_parameter_is_not_the_whole_state() -> None:
    """No rule has the whole state as a parameter, whose counters the language refuses there."""
    assert [seed for seed in (30_000_923, *range(200)) if "'w': State" in text_of(seed)] == []


def test_the_search_is_independent() -> None:
    """No line of the checker runs in the independent search."""
    code = "import sys, tests.fuzz.search; sys.exit(any(name.startswith('kafka_spec.model_check') for name in sys.modules))"

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)


@pytest.mark.parametrize("everything", [False, True], ids=["to the first", "everything"])
@pytest.mark.parametrize("spec", sample_specs.EXPLORABLE, ids=lambda spec: spec.name)
def test_independent_search(spec: Spec, everything: bool) -> None:
    """The independent search agrees with the oracle on every toy: counts, verdicts and the steps of findings."""
    world = Interpreter(
        spec, {**sample_specs.bounds_of(spec), **({"limit": 3} if spec in (sample_specs.GRID, sample_specs.GRID_TRAP) else {})}
    )
    plain = Independent(spec, world.bounds, everything, 10**6, deadlock=False)
    result = oracle.explore(spec, world.bounds, everything=everything)

    assert [(what, one) for what, one, _ in compared(world, result, plain)] == [
        (what, other) for what, _, other in compared(world, result, plain)
    ]
    assert not plain.faults


@pytest.mark.parametrize("claim", sorted(sample_specs.BROKEN))
def test_independent_search_notes_what_cannot_be_executed(claim: str) -> None:
    """Rules and properties that cannot be executed in some state are recorded by name."""
    spec = sample_specs.BROKEN[claim]

    assert [*Independent(spec, sample_specs.bounds_of(spec), True, 10**6).faults] == [claim]


@pytest.mark.parametrize("seed", SEEDS := (1, 11, 21, 29, 34, 36, 50, 52))
def test_random_specs(seed: int, tmp_path: Path) -> None:
    """On these random specs all readings agree."""
    assert disagreement(text_of(seed), tmp_path, f"seed_{seed}") == ""


def test_new_random_specs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On random specs of new seeds all engines agree, for 20 seconds."""
    seed, tally = random.SystemRandom().randrange(10**9), Tally()
    found = fuzz(seed, CI_SECONDS, tmp_path, tally)
    with capsys.disabled():
        print(f"\nfuzz: seeds from {seed} on: {tally.reported()}")

    assert found == ""


def test_a_disagreement_is_told(tmp_path: Path) -> None:
    """A disagreement on a spec is reported with its seed, a command that repeats it, and a smaller spec that shows it."""
    counted = embedded.add_up

    def miscounts(search: embedded.Search) -> None:
        """Add up another digest."""
        counted(search)
        search.result.digest ^= 1

    with mock.patch.object(embedded, "add_up", miscounts):
        reported = fuzz(4, 0, tmp_path, Tally(), shrink_seconds=4)

    assert reported.startswith("seed 4: random at ")
    assert "digest of the oracle: " in reported and "make fuzz SEED=4 SECONDS=0" in reported
    small = reported.partition("shows it:\n\n")[2]
    assert 0 < len(small) < len(text_of(4)) and "SPEC = Spec(" in small


def test_texts_are_shrunk() -> None:
    """Shrinking removes every part of a text that the failure does not need."""
    text = "def f(a):\n    if a > 1:\n        c = a + min(b, 2)\n        for i in range(3):\n            d = g(b, i) + 1\n"

    assert shrunk(text, lambda smaller: "= g(" in smaller, 20) == "def f():\n    for i in range():\n        d = g()"


def test_sources_are_read_anew(tmp_path: Path) -> None:
    """A module that is loaded twice gives two specs with separate functions."""
    one, other = (load(text_of(3), tmp_path, f"one_{number}").SPEC for number in range(2))

    assert one.rules[0].effects[0] is not other.rules[0].effects[0]
    assert source_of(one.rules[0].effects[0]).text == source_of(other.rules[0].effects[0]).text
