"""`check --grow`: smaller searches first, estimates from what was seen, and an honest end."""

from __future__ import annotations

import re

import pytest
import toys

from kafka_spec import MODELS, check
from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.grow import Growth, least_bounds


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
    spec = toys.COUNTER
    growth = Growth(spec, {"limit": 4})
    runs = growth.run(lambda bounds: check(spec, bounds))
    assert [next(runs).bounds["limit"] for _ in range(3)] == [4, 5, 6]
    following = growth.next
    assert following is not None
    bounds, raised, expected = following
    assert (bounds["limit"], raised) == (7, "limit")
    assert expected == pytest.approx(7 * 7 / 6)


@pytest.mark.slow
def test_a_violation_ends_it_with_the_line_that_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest bounds at which a property breaks are found, and the printed command shows the trace."""
    assert kafka_spec(["check", "replication/kip_279", "--grow", "--seconds", "60"]) == 1
    out = capsys.readouterr().out
    told = re.search(r"^violated: kafka-spec (trace .*)$", out, re.MULTILINE)
    assert told and "VIOLATED: StrongIsr" in out
    assert kafka_spec([*told[1].split(), "-q"]) == 0
    assert "StrongIsr is violated" in capsys.readouterr().out


def test_it_stops_before_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """A spent budget is inconclusive and names the next bounds with their cost; all bounds done is a pass."""
    assert kafka_spec(["check", "replication/kip_320", "--grow", "--seconds", "4"]) == 3
    assert re.search(
        r"^(next: .* that does not fit into the budget|stopped: the budget of 4 s is spent)$", capsys.readouterr().out, re.M
    )
    assert kafka_spec(["check", "toys:PAIRS", "--grow"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("all bounds are done")


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
