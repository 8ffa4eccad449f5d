"""What a check compares: two seeds, two engines, and every part of what they found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kafka_spec.model_check import embedded, oracle
from kafka_spec.model_check.check import check, compare
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.fingerprint import DEFAULT_SEED
from tests import toys

Change = Callable[[Exploration], None]


def explored() -> Exploration:
    """Return what there is to find in a toy."""
    return embedded.explore(toys.GRID_TRAP, {"limit": 3}, everything=True)


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_verify_takes_another_seed(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search of --verify is done with other fingerprints than the first."""
    module, digests, seeds = {"embedded": embedded, "oracle": oracle}[engine], [], []
    explore = module.explore

    def watched(*arguments: Any, **options: Any) -> Exploration:
        result: Exploration = explore(*arguments, **options)
        digests.append(result.digest)
        seeds.append(options["seed"] or DEFAULT_SEED)
        return result

    monkeypatch.setattr(module, "explore", watched)
    result = check(toys.GRID_TRAP, {"limit": 3}, engine=engine, verify=True)

    assert result.compared == ["another seed"]
    assert len(seeds) == len(set(seeds)) == len(set(digests)) == 2


def more_states(result: Exploration) -> None:
    """Add a level."""
    result.levels.append(1)


def more_firings(result: Exploration) -> None:
    """Add a firing."""
    result.fired["RaiseCell"] += 1


def more_bounded(result: Exploration) -> None:
    """Add a step that a bound forbade."""
    result.bounded["RaiseCell"] += 1


def no_violation(result: Exploration) -> None:
    """Forget what was found."""
    result.findings.clear()


def other_way(result: Exploration) -> None:
    """Find the same by another way."""
    result.findings["Empties"] = Finding(0, (1, 2, 3))


def other_edge(result: Exploration) -> None:
    """Change one edge."""
    result.digest ^= 1


def first_by_another(result: Exploration) -> None:
    """Reach one state by another rule first."""
    result.new["RaiseCell"] -= 1
    result.new["LowerCell"] += 1


ALWAYS = {"levels": more_states, "fired": more_firings, "bounded": more_bounded, "verdict": no_violation}
EXACT = {"findings": other_way, "digest": other_edge, "new": first_by_another}


@pytest.mark.parametrize(("kind", "change"), {**ALWAYS, **EXACT}.items())
def test_the_other_engine_finds_the_same(kind: str, change: Change) -> None:
    """Engines that differ in any one part of what they found disagree, and the part is named."""
    result = explored()
    other = copy.deepcopy(result)
    change(other)

    with pytest.raises(EngineError, match=f"{kind} not the same"):
        compare(result, other, "the oracle", exact=True)
    assert result.compared == []


@pytest.mark.parametrize(("kind", "change"), ALWAYS.items())
def test_another_seed_counts_the_same(kind: str, change: Change) -> None:
    """Two seeds that differ in a count or in the verdict disagree."""
    result = explored()
    other = copy.deepcopy(result)
    change(other)

    with pytest.raises(EngineError, match=f"{kind} not the same"):
        compare(result, other, "another seed", exact=False)


@pytest.mark.parametrize("change", EXACT.values(), ids=EXACT.keys())
def test_another_seed_has_another_order(change: Change) -> None:
    """What depends on the order of fingerprints may differ between two seeds."""
    result = explored()
    other = copy.deepcopy(result)
    change(other)
    other.digest ^= 2
    compare(result, other, "another seed", exact=False)

    assert result.compared == ["another seed"]
