"""Assignment of replicas: Kafka's documented tables, and properties of all assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.spec.decisions.assignment import alternate_racks, assign_rack_aware, assign_rack_unaware, start_for_new_partitions

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_rack_unaware_table() -> None:
    """Five brokers, ten partitions, three replicas, from 0 with shift 0: Kafka's table."""
    assert assign_rack_unaware(range(5), 10, 3, 0, 0) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_rack_aware_table() -> None:
    """Six brokers in three racks, twelve partitions, three replicas, from 0 with shift 0: Kafka's table."""
    assert alternate_racks(RACKS) == [0, 3, 1, 5, 4, 2]
    assert assign_rack_aware(RACKS, 12, 3, 0, 0) == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
        (3, 2, 0),
        (1, 0, 3),
        (5, 3, 1),
        (4, 1, 5),
        (2, 5, 4),
    ]


def test_racks_that_run_out() -> None:
    """Brokers come from each rack in turn; a rack without remaining brokers is skipped."""
    assert alternate_racks({1: "b", 2: "a", 3: "a", 4: "c", 5: "a"}) == [2, 1, 4, 3, 5]


def test_partitions_added_go_on() -> None:
    """Partitions that are added start at the preferred leader of partition 0, or at the next larger broker, or at the first."""
    brokers = [1, 3, 5]

    assert [start_for_new_partitions(brokers, leader) for leader in (1, 2, 3, 5, 6)] == [0, 1, 1, 2, 0]
    assert assign_rack_unaware(brokers, 2, 2, 1, 1, first_partition=3) == [(3, 5), (5, 1)]


@pytest.mark.parametrize("replicas", [0, 4])
def test_too_many_replicas(replicas: int) -> None:
    """More replicas than brokers, or none, are refused: a list would name a broker twice."""
    with pytest.raises(ValueError, match="3 brokers"):
        assign_rack_unaware(range(3), 1, replicas, 0, 0)
    with pytest.raises(ValueError, match="3 brokers"):
        assign_rack_aware(dict.fromkeys(range(3), "a"), 1, replicas, 0, 0)


@st.composite
def requests(draw: st.DrawFn) -> tuple[Mapping[int, str], int, int, int, int, int]:
    """Brokers with racks, partitions, replicas, start, shift, first partition."""
    racks = draw(st.dictionaries(st.integers(0, 50), st.sampled_from("abcd"), min_size=1, max_size=9))
    count = len(racks)
    places = st.integers(0, count - 1)
    return racks, draw(st.integers(1, 30)), draw(st.integers(1, count)), draw(places), draw(places), draw(st.integers(0, 12))


def spread(assignment: Sequence[Sequence[int]], brokers: Mapping[int, str]) -> tuple[int, int]:
    """Return by how many leaders, and by how many replicas, the fullest broker is ahead of the emptiest."""
    leaders = Counter(replicas[0] for replicas in assignment)
    all_replicas = Counter(broker for replicas in assignment for broker in replicas)
    each = [(leaders[broker], all_replicas[broker]) for broker in brokers]
    return max(n for n, _ in each) - min(n for n, _ in each), max(n for _, n in each) - min(n for _, n in each)


@given(requests())
def test_rack_unaware_is_even(request: tuple[Mapping[int, str], int, int, int, int, int]) -> None:
    """No list names a broker twice; leaders differ by at most one, and so do replicas if the partitions fill whole rounds."""
    racks, partitions, replicas, start, shift, first = request
    brokers = sorted(racks)
    assignment = assign_rack_unaware(brokers, partitions, replicas, start, shift, first)
    assert len(assignment) == partitions
    assert all(len(set(listed)) == replicas and set(listed) <= set(brokers) for listed in assignment)
    assert spread(assignment, racks)[0] <= 1
    whole = assign_rack_unaware(brokers, partitions * len(brokers), replicas, start, shift)
    assert spread(whole, racks)[1] <= 1


@given(requests())
def test_rack_aware_spreads(request: tuple[Mapping[int, str], int, int, int, int, int]) -> None:
    """No list names a broker twice; racks are spread while they last; leaders are even within one."""
    racks, partitions, replicas, start, shift, first = request
    assignment = assign_rack_aware(racks, partitions, replicas, start, shift, first)
    assert len(assignment) == partitions
    for listed in assignment:
        assert len(set(listed)) == replicas
        assert len({racks[broker] for broker in listed}) == min(replicas, len(set(racks.values())))
    assert spread(assignment, racks)[0] <= 1


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.data())
def test_even_racks_have_even_replicas(rack_count: int, size: int, rounds: int, data: st.DataObject) -> None:
    """With racks of equal size and a replica in each, replicas differ by at most one if the partitions fill whole rounds."""
    racks = {rack * size + number: f"rack{rack}" for rack in range(rack_count) for number in range(size)}
    start, shift = data.draw(st.integers(0, len(racks) - 1)), data.draw(st.integers(0, len(racks) - 1))
    assignment = assign_rack_aware(racks, rounds * len(racks), rack_count, start, shift)

    assert spread(assignment, racks)[1] <= 1
