"""`check --grow`: smaller searches first, estimates from what was seen, and an honest end."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import pytest
import sample_specs

from kafka_spec import MODELS, check
from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.grow import Growth, least_bounds
from kafka_spec.spec.language.domain import Bound
from kafka_spec.spec.vocabulary.table import Rule, Spec, anywhere


def test_bounds_are_raised_one_by_one_and_each_is_a_search_of_its_own() -> None:
    """Every line is the count of that search alone; its growth is that over the bounds it was raised from; none comes twice."""
    spec = MODELS["replication/kip_320"]
    growth = Growth(spec, least_bounds(spec))
    seen = []
    for grown in growth.run(lambda bounds: check(spec, bounds)):
        assert grown.result is not None
        seen.append(tuple(grown.bounds.values()))
        assert grown.result.distinct == check(spec, grown.bounds).distinct
        if len(seen) == 25:
            break
    assert len(set(seen)) == 25
    assert seen[0] == tuple(least_bounds(spec).values())
    for bounds in seen[1:]:
        assert any(sum(bounds) - sum(other) == 1 and all(o <= b for o, b in zip(other, bounds, strict=True)) for other in seen)


def test_the_estimate_is_the_last_growth_of_that_bound() -> None:
    """After a bound has doubled the states, the next raise of it is expected to double them again."""
    spec = sample_specs.COUNTER
    growth = Growth(spec, {"limit": 4})
    runs = growth.run(lambda bounds: check(spec, bounds, properties=()))
    assert [next(runs).bounds["limit"] for _ in range(3)] == [4, 5, 6]
    following = growth.next
    assert following is not None
    bounds, raised, expected = following
    assert (bounds["limit"], raised) == (7, "limit")
    assert expected == pytest.approx(7 * 7 / 6)


def test_a_violation_ends_it_with_the_line_that_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest bounds at which a property breaks are found, and the printed command shows the trace."""
    assert kafka_spec(["check", "replication/kip_279", "--grow", "--seconds", "60"]) == 1
    out = capsys.readouterr().out
    reported = re.search(r"^violated: kafka-spec (trace .*)$", out, re.MULTILINE)
    assert reported and "VIOLATED: StrongIsr" in out
    assert kafka_spec([*reported[1].split(), "-q"]) == 0
    assert "StrongIsr is violated" in capsys.readouterr().out


def test_it_stops_before_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """A spent budget is inconclusive and names the next bounds with their cost; all bounds done is a pass."""
    assert kafka_spec(["check", "replication/kip_320", "--grow", "--seconds", "4"]) == 3
    assert re.search(
        r"^(next: .* that does not fit into the budget|stopped: the budget of 4 s is spent)$", capsys.readouterr().out, re.M
    )
    assert kafka_spec(["check", "sample_specs:PAIRS", "--grow"]) == 0
    assert re.search(r"^all [0-9,]+ bounds are done$", capsys.readouterr().out, re.M)


X, Y, Z = (Bound(name, 0, 1, "faults of a kind") for name in ("x", "y", "z"))


def all_three(k: Any) -> bool:
    """All three kinds of faults are possible."""
    every: bool = k.x + k.y + k.z == 3
    return every


LOSE = Rule("Lose", "world", "it is lost", "", (sample_specs.COUNT_UP.effects[0],), guards=(all_three,))


def test_equal_counts_prove_nothing() -> None:
    """A bug that needs three bounds at once is found, though no two of them change the number of states."""
    spec = Spec("three", "it is lost", sample_specs.Count, (LOSE,), (sample_specs.WITHIN,), more_bounds=(X, Y, Z), final=anywhere)
    growth = Growth(spec, {"limit": 300, "x": 0, "y": 0, "z": 0})
    runs = list(growth.run(lambda bounds: check(spec, bounds)))
    assert sorted(tuple(grown.bounds.values())[1:] for grown in runs) == sorted(itertools.product((0, 1), repeat=3))
    assert [grown.result.distinct for grown in runs if grown.result is not None] == [1] * 7 + [301]


def test_what_was_not_tried_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A table that ends early is inconclusive, and says how many bounds it left out."""
    assert kafka_spec(["check", "replication/kip_320", "--grow", "--max-states", "50"]) == 3
    out = capsys.readouterr().out
    reported = re.search(r"^not tried: ([0-9,]+) of ([0-9,]+) bounds$", out, re.M)
    spec = MODELS["replication/kip_320"]
    of = math.prod(bound.high - bound.low + 1 for bound in spec.bounds.values())
    assert reported and reported[2] == f"{of:,}" and 0 < int(reported[1].replace(",", "")) < of


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (["--grow"], "name it"),
        (["replication/kip_320", "--grow", "--format", "json"], "leave out --format"),
        (["replication/kip_320", "--grow", "--engine", "spark"], "leave out --format"),
        (["nobody", "--grow"], "is unknown"),
    ],
)
def test_mistakes_are_told(arguments: list[str], cure: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not go together with --grow is refused with the cure."""
    assert kafka_spec(["check", *arguments]) == 2
    assert cure in capsys.readouterr().err


def test_a_line_says_up_to_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a bound forbade a protocol step, and a claim about ways depends on it, no line of the table says *holds* alone."""
    (tmp_path / "bounded.py").write_text(BOUNDED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    kafka_spec(["check", "bounded:SPEC", "--grow", "--seconds", "5"])
    lines = [line for line in capsys.readouterr().out.splitlines() if " holds " in line]
    assert lines and all("holds up to the steps of Count that a bound prevented" in line for line in lines)


BOUNDED = """
from dataclasses import dataclass
from kafka_spec import Bound, Range, Rule, Spec, field, recoverable

MOST = Bound("most", 1, 3, "how far")


@dataclass
class Counter:
    n: int = field(Range(0, MOST))


def count(s):
    s.n += 1


def is_nine(s):
    return s.n == 9


SPEC = Spec("bounded", "counts", Counter, (Rule("Count", "it", "it counts", "", (count,)),),
            (recoverable("Nine", is_nine, "it gets to nine", ""),))
"""


def test_a_cover_names_the_first_violation_of_each_property(capsys: pytest.CaptureFixture[str]) -> None:
    """A cover searches all bounds within a sum of the base, goes on after a violation, and prints the command that shows it."""
    assert kafka_spec(["check", "replication/kip_279", "--bounds", "tiny", "--cover", "2", "--seconds", "60"]) == 1
    out = capsys.readouterr().out
    (reported,) = re.findall(r"^violated StrongIsr: kafka-spec (trace .*)$", out, re.MULTILINE)
    assert kafka_spec([*reported.split(), "-q"]) == 0
    assert "StrongIsr is violated" in capsys.readouterr().out


def test_a_cover_of_all_bounds_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """A cover without a violation ends with 0 if it searched every combination that the sum allows, and counts them."""
    assert kafka_spec(["check", "sample_specs:PAIRS", "--cover", "2"]) == 0
    out = capsys.readouterr().out
    bounds = sample_specs.PAIRS.bounds.values()
    rooms = itertools.product(*(range(bound.high - bound.low + 1) for bound in bounds))
    assert f"all {sum(sum(raised) <= 2 for raised in rooms)} bounds are done" in out


def test_a_cover_that_is_cut_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    """A search that a budget stops is not counted as covered: the others go on, and the exit code is 3."""
    assert kafka_spec(["check", "replication/kip_320", "--cover", "2", "--max-states", "300"]) == 3
    out = capsys.readouterr().out
    assert re.search(r"inconclusive .*\n(.*\n)*.* holds ", out), "smaller ones are searched after one that was cut"
    assert re.search(r"^not tried: \d+ of \d+ bounds$", out, re.MULTILINE)
