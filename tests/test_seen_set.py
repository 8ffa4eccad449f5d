"""The table of seen fingerprints: equal to a set of Python at any size, shard and order, and small."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from kafka_spec.model_check.code.arrays import Bytes, Numbers, address
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import shards
from kafka_spec.model_check.search.shards import SLACK, Shard
from kafka_spec.model_check.search.stored_states import Records
from tests import sample_specs


@pytest.fixture(scope="module", name="program")
def _program() -> Program:
    world = Interpreter(sample_specs.GRID, sample_specs.GRID.bound_values({}))
    return Program(world.spec, Layout(world.space), world.actions, (), world.k)


def candidates(program: Program, marks: np.ndarray) -> SimpleNamespace:
    """Return candidates with these fingerprints; each record tells the number of its candidate."""
    count, size = len(marks), program.shape.record_bytes
    states = np.zeros((count, size), np.uint8)
    numbers = np.arange(count, dtype=np.uint32)
    states[:, :4] = numbers.view(np.uint8).reshape(-1, 4)
    return SimpleNamespace(count=count, states=states, marks=marks, parents=numbers, actions=np.zeros(count, np.uint32))


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("large", [1 << 12, 1 << 24])
def test_a_shard_takes_each_of_its_fingerprints_once(
    program: Program, monkeypatch: pytest.MonkeyPatch, bits: int, large: int
) -> None:
    """Of all candidates each shard takes the first with a fingerprint of its own, whatever came before and however it has grown."""
    monkeypatch.setattr(shards, "LARGE", large)
    random = np.random.default_rng(bits + large)
    parts = [Shard(program, number, bits, huge=False) for number in range(1 << bits)]
    known: set[int] = set()
    for _ in range(6):
        marks = np.maximum(random.integers(0, 1 << 64, 9000, np.uint64), np.uint64(1))
        # half are old or stand twice, some are neighbours, some stand at both ends
        marks[:3000] = marks[3000:6000]
        marks[1000:2000] = marks[6000:7000] + np.uint64(1)
        marks[2000:2300] = np.arange(1, 301, dtype=np.uint64)
        marks[2300:2500] = ~np.arange(1, 201, dtype=np.uint64)
        marks = random.permutation(marks)
        expected = [number for number, mark in enumerate(marks.tolist()) if not (mark in known or known.add(mark))]  # type: ignore[func-returns-value]
        taken = []
        for part in parts:
            places = part.deduplicate(marks)
            assert (marks[places] >> np.uint64(63 - bits) >> np.uint64(1) == part.number).all()
            assert (np.diff(places.astype(np.int64)) > 0).all()
            taken += places.tolist()
        assert sorted(taken) == expected
        held = np.concatenate([part.table[part.table != 0] for part in parts])
        assert held.tolist() == sorted(known)
    assert sum(part.seen for part in parts) == len(known)


@pytest.mark.parametrize("traced", [True, False])
def test_new_states_are_taken_in_the_order_of_slices(program: Program, traced: bool) -> None:
    """What is taken of several slices stands in their order, records and all; what is not traced is told and not kept."""
    size = program.shape.record_bytes
    random = np.random.default_rng(1)
    new = Records(size, 8, 1 << 16, traced)
    reported: list[int] = []
    expected: list[tuple[int, int]] = []
    for _ in range(3):
        slices = [candidates(program, random.integers(1, 1 << 64, count, np.uint64)) for count in (300, 1, 40)]
        for part in slices:
            part.actions = random.integers(0, 1 << 8, part.count).astype(np.uint32)
        places = [np.flatnonzero(random.integers(0, 2, part.count)).astype(np.uint32) for part in slices]
        seen: dict[int, tuple[int, list[int]]] = {}

        def look(number: int, begin: int, states: Bytes, actions: Numbers, seen: dict[int, tuple[int, list[int]]] = seen) -> None:
            seen[number] = begin, actions.tolist()

        jobs = new.take(program, slices, [[some[::2].copy(), some[1::2].copy()] for some in places], look)
        for job in reversed(jobs):
            job()
        assert new.count == len(expected)
        new.taken()
        begins = [len(expected), *(len(expected) + end for end in itertools.accumulate(map(len, places)))]
        assert [seen[number][0] for number in range(3)] == begins[:3]
        reported += [action for number in range(3) for action in seen[number][1]]
        expected += [(int(part.marks[n]), int(part.actions[n])) for part, some in zip(slices, places, strict=True) for n in some]
    assert new.count == len(expected)
    assert list(zip(new.marks[: new.count].tolist(), reported, strict=True)) == expected
    numbers = new.states[: new.count, :4].copy().view(np.uint32).ravel().tolist()
    if traced:
        assert new.parents[: new.count].tolist() == numbers
        assert new.actions[: new.count].tolist() == reported
    else:
        assert not new.parents[341:].any()


def test_a_state_takes_at_most_ten_bytes(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many states a large table holds, it has at most ten bytes for each, while it grows too."""
    monkeypatch.setattr(shards, "LARGE", 1 << 14)
    shard = Shard(program, 0, 0, huge=False)
    random = np.random.default_rng(1)
    shard.expect(int(0.9 * (1 << 14)))
    while shard.slots < 1 << 17:
        marks = random.integers(1, 1 << 64, 400, np.uint64)
        shard.deduplicate(marks)
        if shard.seen > 1 << 15:
            assert 8 * shard.slots <= 10.1 * shard.seen


def test_fingerprints_that_are_not_random_end_the_search(program: Program) -> None:
    """Where more fingerprints crowd at the end of a table than fit there, no state is dropped in silence: the search ends."""
    shard = Shard(program, 0, 0, huge=False)
    marks = ~np.arange(1 + 2 * SLACK, dtype=np.uint64)
    with pytest.raises(EngineError, match="crowd at one place"):
        shard.deduplicate(marks)
    assert not (shard.area[len(shard.table) : len(shard.table) + 4096]).any()


def test_a_table_is_filled_as_it_is_taken(program: Program) -> None:
    """Fingerprints read from storage, in order, give the table that taking them one by one gave."""
    marks = np.unique(np.random.default_rng(2).integers(1, 1 << 64, 9000, np.uint64))
    one, other = (Shard(program, 0, 0, huge=False) for _ in range(2))
    one.deduplicate(np.random.default_rng(3).permutation(marks))
    other.expect(len(marks))
    assert program.fill(address(marks), len(marks), address(other.table), other.slots, 0) == 0
    assert one.slots == other.slots
    assert (one.table == other.table).all()
