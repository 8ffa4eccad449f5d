"""The replication models agree with the results of another checker (TLC) on the public TLA+ models."""

from __future__ import annotations

import json
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS

MEASURED = json.loads((Path(__file__).parent / "oracles" / "replication-counts.json").read_text(encoding="utf-8"))
BOUNDS = ("replicas", "log_size", "max_records", "max_leader_epoch")
ORACLE_LIMIT = 100_000


def _bounds(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in BOUNDS}


def _name(row: dict[str, Any]) -> str:
    return "-".join([row["version"], *(str(row[name]) for name in BOUNDS), *([row["invariant"]] if "invariant" in row else [])])


def _explore(row: dict[str, Any], threads: int = 1) -> Exploration:
    spec = MODELS[f"replication/{row['version']}"]
    return embedded.explore(spec, _bounds(row), everything=True, threads=threads)


@cache
def explored(version: str, *bounds: int) -> Exploration:
    """Return what the embedded engine finds of a measured version to the end; no bounds are explored twice."""
    return _explore({"version": version, **dict(zip(BOUNDS, bounds, strict=True))})


def _explored(row: dict[str, Any]) -> Exploration:
    return explored(row["version"], *_bounds(row).values())


@pytest.mark.parametrize("row", MEASURED["counts"], ids=_name)
def test_counts(row: dict[str, Any]) -> None:
    """The number of distinct states and of levels is the measured one."""
    result = _explored(row)

    assert result.complete
    assert row["distinct"] == result.distinct
    assert row["depth"] in (None, result.depth)


@pytest.mark.parametrize("row", MEASURED["invariants"], ids=_name)
def test_verdicts(row: dict[str, Any]) -> None:
    """Every verdict on WeakIsr and StrongIsr, and the length of its shortest trace, is the measured one."""
    result = _explored(row)
    trace = trace_of(result, row["invariant"])

    assert ("violated" if row["verdict"] == "violated" else "holds") == result.verdict_of(row["invariant"])
    assert row["trace_states"] == (trace.states if trace else None)


LARGER = sorted((row for row in MEASURED["counts"] if 2_000 < row["distinct"] <= ORACLE_LIMIT), key=itemgetter("distinct"))


@pytest.mark.parametrize("row", [row for row in MEASURED["counts"] if row["distinct"] <= 2_000], ids=_name)
def test_oracle_agrees_on_small_models(row: dict[str, Any]) -> None:
    """Oracle and embedded engine find the same levels, firings, findings and graph digest."""
    _agree(row)


@pytest.mark.parametrize("row", LARGER, ids=_name)
def test_oracle_agrees_up_to_the_limit(row: dict[str, Any]) -> None:
    """The same on every measured model of up to 100,000 states."""
    _agree(row)


def _agree(row: dict[str, Any]) -> None:
    mine = _explored(row)
    judge = oracle.explore(MODELS[f"replication/{row['version']}"], _bounds(row), everything=True)

    assert row["distinct"] == judge.distinct
    assert judge.levels == mine.levels
    assert judge.digest == mine.digest
    assert (judge.fired, judge.new, judge.bounded) == (mine.fired, mine.new, mine.bounded)
    assert judge.findings == mine.findings


@pytest.mark.parametrize("row", [row for row in MEASURED["counts"] if 5_000 < row["distinct"] < 1_000_000], ids=_name)
def test_threads_change_nothing(row: dict[str, Any]) -> None:
    """Two and three threads give the result of one: counts, digest, and the very same traces."""
    one = _explored(row)
    for threads in (2, 3):
        more = _explore(row, threads)

        assert (one.levels, one.digest, one.new, one.findings) == (more.levels, more.digest, more.new, more.findings)


@pytest.mark.parametrize("row", [row for row in MEASURED["counts"] if row["distinct"] < 1_000_000], ids=_name)
def test_fingerprints_against_whole_states(row: dict[str, Any]) -> None:
    """A search that compares states by all their bytes finds the same number in each level: no fingerprints collide."""
    assert _explored(row).levels == exact_levels(row)


def exact_levels(row: dict[str, Any]) -> list[int]:
    """Count the states of each level by whole records: the successor function is used, fingerprints are not."""
    levels = []
    seen: set[bytes] = set()
    search: list[embedded.Search] = []
    spec = MODELS[f"replication/{row['version']}"]
    embedded.explore(spec, _bounds(row), on_level=lambda s: search.append(s) if not search else None, everything=True)
    program, size = search[0].program, search[0].layout.size
    part = Slice(program, 1000 * search[0].world.actions.count)
    start = search[0].layout.pack(search[0].world.initial()[0])
    frontier = np.frombuffer(start, np.uint8).reshape(1, size)
    while len(frontier):
        seen.update(bytes(record) for record in frontier)
        levels.append(len(frontier))
        found: set[bytes] = set()
        marks = np.zeros(len(frontier), np.uint64)
        for _ in part.over(np.ascontiguousarray(frontier), marks, 1000, every=True):
            records = np.ascontiguousarray(part.states[: part.count]).view(f"V{size}").ravel()
            found.update(record.tobytes() for record in np.unique(records))
        fresh = sorted(found - seen)
        frontier = np.frombuffer(b"".join(fresh), np.uint8).reshape(len(fresh), size)
    return levels


def test_kip_320_first_try_is_rejected_from_its_bound_on() -> None:
    """The rejected design survives epochs up to 1 and fails at epochs up to 2, with three replicas."""
    spec = MODELS["replication/kip_320_first_try"]
    bounds = {"replicas": 3, "log_size": 1, "max_records": 1}

    assert embedded.explore(spec, {**bounds, "max_leader_epoch": 1}).verdict == "holds"
    rejected = embedded.explore(spec, {**bounds, "max_leader_epoch": 2}, everything=True)
    assert rejected.violated == ["WeakIsr", "StrongIsr"]
    assert len(rejected.findings["StrongIsr"].actions) + 1 == 13


def test_large_kip_320() -> None:
    """kip_320 holds at three replicas, logs of three and epochs up to 2: 4,093,531 states, 31 levels."""
    bounds = dict(zip(BOUNDS, (3, 3, 3, 2), strict=True))
    one, two = (embedded.explore(MODELS["replication/kip_320"], bounds, threads=threads) for threads in (1, 2))

    assert (one.verdict, one.distinct, one.depth) == ("holds", 4_093_531, 31)
    assert (one.levels, one.digest, one.new) == (two.levels, two.digest, two.new)


@pytest.mark.parametrize(
    ("bug", "bounds", "states"),
    [("kafka_7164", (3, 2, 2, 2), 15), ("kafka_7128", (3, 1, 1, 1), 12), ("kafka_7395", (3, 1, 1, 2), 13)],
)
def test_historical_bugs_are_found(bug: str, bounds: tuple[int, ...], states: int) -> None:
    """Each historical bug violates StrongIsr at bounds where it holds in kip_320, and at no smaller named bound."""
    values = dict(zip(BOUNDS, bounds, strict=True))
    broken = embedded.explore(MODELS[f"replication/{bug}"], values)

    assert "StrongIsr" in broken.violated
    assert len(broken.findings["StrongIsr"].actions) + 1 == states
    assert embedded.explore(MODELS["replication/kip_320"], values).verdict == "holds"
