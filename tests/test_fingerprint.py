"""The hash of packed states: the published vectors, the compiled form, and different fingerprints of a model's records."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.model_check.record.fingerprint import (
    DEFAULT_SEED,
    MASK,
    SECRET,
    VERIFY_SEED,
    collision_probability,
    edge_hash,
    fingerprint,
    mix,
    wyhash,
)
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import ArrayOf, Range, SequenceOf, Space, field
from kafka_spec.spec.vocabulary.table import Rule, Spec
from tests import sample_specs

MESSAGES = (
    b"",
    b"a",
    b"abc",
    b"message digest",
    b"abcdefghijklmnopqrstuvwxyz",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    b"1234567890" * 8,
)
"""The messages of wyhash's test_vector.cpp; the seed of each is its number."""

FINAL_4 = (
    0x0409638EE2BDE459,
    0xA8412D091B5FE0A9,
    0x32DD92E4B2915153,
    0x8619124089A3A16B,
    0x7A43AFB61D7F5F40,
    0xFF42329B90E50D58,
    0xC39CAB13B115AAD3,
)
"""The values of final version 4 under its default secret, which is the one used here."""

FINAL_4_2 = (
    0x93228A4DE0EEC5A2,
    0xC5BAC3DB178713C4,
    0xA97F2F7B1D9B3314,
    0x786D1F1DF3801DF4,
    0xDCA5A8138AD37C87,
    0xB9E734F117CFAF70,
    0x6CC5EAB49A92D617,
)
"""The values of final version 4.2: the same algorithm with another default secret."""

SECRET_4_2 = (0x2D358DCCAA6C78A5, 0x8BB84B93962EACC9, 0x4B33A62ED433D4A3, 0x4D5A2DA51DE1AA47)


@pytest.mark.parametrize(("seed", "expected"), list(enumerate(FINAL_4)))
def test_published_vectors(seed: int, expected: int) -> None:
    """The hash is wyhash, final version 4: it equals the values published with that version."""
    assert wyhash(MESSAGES[seed], seed) == expected


@pytest.mark.parametrize(("seed", "expected"), list(enumerate(FINAL_4_2)))
def test_published_vectors_of_a_later_secret(monkeypatch: pytest.MonkeyPatch, seed: int, expected: int) -> None:
    """With the default secret of version 4.2, the hash equals the values published with that version."""
    monkeypatch.setattr("kafka_spec.model_check.record.fingerprint.SECRET", SECRET_4_2)
    assert wyhash(MESSAGES[seed], seed) == expected


@given(st.integers(0, MASK), st.integers(0, MASK))
@settings(deadline=None, derandomize=True, database=None)
def test_mix_folds_the_product(a: int, b: int) -> None:
    """Mixing folds the 128 bits of the product into 64, in any order of the factors."""
    assert mix(a, b) == mix(b, a) == (a * b & MASK) ^ (a * b >> 64)


WORDS = 0xFFFFFFFF
FIRST = SECRET[1] ^ 1
LAST = DEFAULT_SEED ^ mix(DEFAULT_SEED ^ SECRET[0], SECRET[1]) ^ SECRET[0] ^ 16
A, B, C, D = FIRST >> 32, LAST & WORDS, FIRST & WORDS, LAST >> 32
"""The words of a record of 16 bytes whose hash is 0: what is mixed last is 0 and something."""


@dataclass
class Words:
    """Four words."""

    a: int = field(Range(0, WORDS))
    b: int = field(Range(0, WORDS))
    c: int = field(Range(0, WORDS))
    d: int = field(Range(0, WORDS))


def hash_to_nothing(s: Words) -> None:
    """Go to the state whose hash is 0."""
    s.a = A
    s.b = B
    s.c = C
    s.d = D


def test_fingerprint_is_never_zero() -> None:
    """A record whose hash is 0 has the fingerprint 1, in Python and compiled, because 0 marks a free slot."""
    record = b"".join(word.to_bytes(4, "little") for word in (A, B, C, D))
    assert wyhash(record, DEFAULT_SEED) == 0 and fingerprint(record) == 1
    marks: list[list[int]] = []
    spec = Spec("nothing", "a hash of 0", Words, (Rule("HashToNothing", "world", "", "a toy", (hash_to_nothing,)),))
    result = embedded.explore(spec, {}, on_level=lambda search: marks.append(search.frontier.marks(search.width).tolist()))
    assert result.levels == [1, 1] and marks[1] == [1]


def grow(s: Any, item: int) -> None:
    """Change one of the items."""
    s.items[item] = 255 - s.items[item]


def is_early(s: Any, item: int) -> bool:
    """The item is one of the first four, and was not changed yet."""
    return s.items[item] < 128


def spec_of_size(size: int) -> Spec:
    """Return a spec whose records have this number of bytes, and whose steps change single bytes at both ends."""
    state = make_dataclass(f"Wide{size}", [("items", list, field(ArrayOf(Range(0, 255), size)))])
    state.__doc__ = "Some bytes."
    ends = Range(0, 0), Range(size - 1, size - 1), Range(size // 2, size // 2)
    rules = tuple(
        Rule(f"Grow{n}", "world", "a byte changes", "a toy", (grow,), params={"item": end}, guards=(is_early,))
        for n, end in enumerate(ends)
    )
    return Spec(f"wide {size}", "some bytes", state, rules)


@pytest.mark.parametrize("size", range(8, 201, 8))
def test_compiled_hash_is_the_pythons(size: int) -> None:
    """For records of 8 to 200 bytes, under two seeds, the compiled hash of every state found is the Python one."""
    for seed in (DEFAULT_SEED, VERIFY_SEED):
        seen: dict[int, bytes] = {}

        def keep(search: embedded.Search, seen: dict[int, bytes] = seen) -> None:
            assert search.layout.size == size
            for mark, record in zip(search.frontier.marks(search.width), search.frontier.read(0, search.width)[0], strict=True):
                seen[int(mark)] = record.tobytes()

        result = embedded.explore(spec_of_size(size), {}, seed=seed, on_level=keep)
        assert result.distinct == len(seen) == 8
        assert all(mark == fingerprint(record, seed) for mark, record in seen.items())


@given(st.integers(1, 25).flatmap(lambda words: st.binary(min_size=8 * words, max_size=8 * words)), st.data())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_avalanche(record: bytes, data: st.DataObject) -> None:
    """Turning one bit of a record turns from 12 to 52 of the 64 bits of its fingerprint."""
    bit = data.draw(st.integers(0, 8 * len(record) - 1))
    turned = bytearray(record)
    turned[bit // 8] ^= 1 << bit % 8
    assert 12 <= (fingerprint(record) ^ fingerprint(bytes(turned))).bit_count() <= 52


def test_bits_are_turned_half_of_the_time() -> None:
    """Over all bits of a record, each bit of the fingerprint is turned about every second time."""
    record = bytes(range(40))
    turns = [
        fingerprint(record) ^ fingerprint(bytes([*record[: n // 8], record[n // 8] ^ 1 << n % 8, *record[n // 8 + 1 :]]))
        for n in range(320)
    ]
    for bit in range(64):
        assert 110 < sum(turn >> bit & 1 for turn in turns) < 210


@dataclass
class Log:
    """A log of small entries and where it is read."""

    entries: list[int] = field(SequenceOf(Range(-1, 2), 6))
    read: int = field(Range(0, 6))


def test_records_of_a_model_do_not_collide() -> None:
    """All 38,227 states of a small log have fingerprints of their own, and so they have with the seed that verifies."""
    layout = Layout(Space(Log, {}))
    records = set()
    for length in range(7):
        for number in range(4**length):
            for read in range(7):
                state = layout.space.fresh()
                list.extend(state.entries, ((number >> 2 * place) % 4 - 1 for place in range(length)))
                state.read = read
                records.add(layout.pack(state))
    assert len(records) == 7 * (4**7 - 1) // 3
    for seed in (DEFAULT_SEED, VERIFY_SEED):
        assert len({fingerprint(record, seed) for record in records}) == len(records)


def test_fingerprints_of_a_search_do_not_collide() -> None:
    """A search over a grid of counters finds the exact number of states, under either seed."""
    for seed in (None, VERIFY_SEED):
        assert embedded.explore(sample_specs.GRID, {"limit": 12}, seed=seed, everything=True).distinct == 13**4


def test_edges_are_told_apart() -> None:
    """The hash of an edge depends on source, action and target, and on their places."""
    hashes = {edge_hash(a, action, b) for a in range(1, 20) for b in range(1, 20) for action in range(20)}
    assert len(hashes) == 19 * 19 * 20
    assert edge_hash(5, 1, 9) != edge_hash(9, 1, 5)


def test_seeds_give_other_fingerprints() -> None:
    """The two seeds give different fingerprints of the same record, of every size."""
    assert all(fingerprint(bytes(size)) != fingerprint(bytes(size), VERIFY_SEED) for size in range(8, 201, 8))


def test_collision_probability_is_the_birthday_bound() -> None:
    """The odds of a collision grow with the pairs: some 3 in a hundred for a billion states, none for one."""
    assert collision_probability(1) == 0.0
    assert collision_probability(2) == pytest.approx(2.0**-64)
    assert collision_probability(10**9) == pytest.approx(0.0271, abs=1e-4)


def test_python_and_numpy_read_the_same_bytes() -> None:
    """A fingerprint does not depend on how the record is held."""
    record = bytes(range(24))
    assert fingerprint(np.frombuffer(record, np.uint8).tobytes()) == fingerprint(bytearray(record)) == fingerprint(record)
