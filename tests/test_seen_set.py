"""The table of seen fingerprints: equal to a set of Python at any size, shard and order, and small."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kafka_spec.model_check import shards
from kafka_spec.model_check.arrays import address
from kafka_spec.model_check.compile import Program
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.oracle import ExecutableSpec
from kafka_spec.model_check.shards import SLACK, Records, Shard
from tests import toys


@pytest.fixture(scope="module", name="program")
def _program() -> Program:
    world = ExecutableSpec(toys.GRID, toys.GRID.bound_values({}))
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
    size = program.shape.record_bytes
    random = np.random.default_rng(bits + large)
    parts = [Shard(program, size, 8, number, bits, Records(size, 8, 200_000)) for number in range(1 << bits)]
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
            part.new.count = 0
            part.take([candidates(program, marks)])
            new = part.new
            taken += new.parents[: new.count].tolist()
            assert (new.marks[: new.count] >> np.uint64(63 - bits) >> np.uint64(1) == part.number).all()
            assert new.parents[: new.count].tolist() == new.states[: new.count, :4].copy().view(np.uint32).ravel().tolist()
        assert sorted(taken) == expected
        held = np.concatenate([part.table[part.table != 0] for part in parts])
        assert held.tolist() == sorted(known)
    assert sum(part.seen for part in parts) == len(known)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 5000])
def test_new_states_are_ordered_by_their_fingerprints(program: Program, count: int) -> None:
    """The order is that of all 64 bits, also where fingerprints differ in their last bits only; records are copied in it."""
    size = program.shape.record_bytes
    random = np.random.default_rng(count)
    crowded = (random.permutation(count) // 2 * 2**40 + random.permutation(count) + 1).astype(np.uint64)
    shard = Shard(program, size, 8, 0, 0, Records(size, 8, 1 << 16))
    for marks in (random.permutation(np.unique(random.integers(1, 1 << 64, count, np.uint64))), crowded, np.sort(crowded)[::-1]):
        shard.new.count = len(marks)
        shard.new.marks[: len(marks)] = marks
        shard.new.states[: len(marks)] = states = random.integers(0, 256, (len(marks), size), np.uint8)
        shard.sort()
        assert (marks[shard.order] == np.sort(marks)).all() and sorted(shard.order) == list(range(len(marks)))
        ordered = np.empty_like(states)
        program.gather(address(shard.order), len(marks), address(shard.new.states), address(ordered))
        assert (ordered == states[shard.order]).all()


def test_a_state_takes_at_most_ten_bytes(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many states a large table holds, it has at most ten bytes for each, while it grows too."""
    monkeypatch.setattr(shards, "LARGE", 1 << 14)
    shard = Shard(program, program.shape.record_bytes, 8, 0, 0, Records(program.shape.record_bytes, 8, 1 << 20))
    random = np.random.default_rng(1)
    shard.make_room(int(0.9 * (1 << 14)))
    while shard.slots < 1 << 17:
        marks = random.integers(1, 1 << 64, 400, np.uint64)
        shard.new.count = 0
        shard.take([candidates(program, marks)])
        if shard.seen > 1 << 15:
            assert 8 * shard.slots <= 10.1 * shard.seen


def test_fingerprints_that_are_not_random_end_the_search(program: Program) -> None:
    """Where more fingerprints crowd at the end of a table than fit there, no state is dropped in silence: the search ends."""
    size = program.shape.record_bytes
    shard = Shard(program, size, 8, 0, 0, Records(size, 8, 1 << 16))
    marks = ~np.arange(1 + 2 * SLACK, dtype=np.uint64)
    with pytest.raises(EngineError, match="crowd at one place"):
        shard.take([candidates(program, marks)])
    assert not (shard.area[len(shard.table) : len(shard.table) + 4096]).any()


def test_a_table_is_filled_as_it_is_taken(program: Program) -> None:
    """Fingerprints read from storage, in order, give the table that taking them one by one gave."""
    size = program.shape.record_bytes
    marks = np.unique(np.random.default_rng(2).integers(1, 1 << 64, 9000, np.uint64))
    one, other = (Shard(program, size, 8, 0, 0, Records(size, 8, 1 << 16)) for _ in range(2))
    one.take([candidates(program, np.random.default_rng(3).permutation(marks))])
    other.make_room(len(marks))
    assert program.fill(address(marks), len(marks), address(other.table), other.slots, 0) == 0
    assert one.slots == other.slots
    assert (one.table == other.table).all()
