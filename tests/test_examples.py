"""The examples: state counts that are known elsewhere, and a property of each that breaks when one guard goes."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from examples import bounded_queue, lease, philosophers, raft_election, two_phase_commit
from kafka_spec import Exploration, Spec, check, trace_of


def agreed(spec: Spec, **bounds: int) -> Exploration:
    """Return what both engines find, all of it."""
    return check(spec, spec.bound_values(bounds), engine="both", everything=True)


def states_of_the_trace(spec: Spec, claim: str, **bounds: int) -> int:
    """Return how many states the shortest counterexample has."""
    trace = trace_of(check(spec, spec.bound_values(bounds)), claim)
    assert trace is not None
    return trace.states


def test_two_phase_commit() -> None:
    """As many states as TLC finds in the module TwoPhase, and the protocol is consistent."""
    found = agreed(two_phase_commit.TWO_PHASE_COMMIT, resource_managers=3)

    assert (found.verdict, found.distinct) == ("holds", 288)


@pytest.mark.parametrize(("managers", "states"), [(5, 8_832), (7, 296_448)])
def test_more_resource_managers(managers: int, states: int) -> None:
    """The counts at larger sizes are those of TLC as well."""
    spec = two_phase_commit.TWO_PHASE_COMMIT

    assert check(spec, spec.bound_values({"resource_managers": managers})).distinct == states


@pytest.mark.parametrize(("managers", "orbits"), [(3, 80), (7, 920)])
def test_resource_managers_are_interchangeable(managers: int, orbits: int) -> None:
    """Of the states that differ by the names of resource managers one is kept, and none is missed."""
    spec = two_phase_commit.TWO_PHASE_COMMIT

    found = check(spec, spec.bound_values({"resource_managers": managers}), verify_normal_form=True)
    assert found.distinct == orbits


def test_a_hasty_manager_breaks_consistency() -> None:
    """A manager that waits for nobody commits where a resource manager aborts: the decision, and one step of each."""
    assert states_of_the_trace(two_phase_commit.HASTY, "Consistent", resource_managers=2) == 4


def tables(seats: int) -> int:
    """Count the ways to hold forks: none, the left or both; who sits to the right of one that holds both holds none."""
    return sum(
        all(right == 0 for left, right in pairwise((*hands, hands[0])) if left == 2) for hands in product(range(3), repeat=seats)
    )


@pytest.mark.parametrize("seats", [2, 3, 5, 7])
def test_philosophers(seats: int) -> None:
    """All ways to hold forks are reached; where all wait is a deadlock, after as many steps as there are philosophers."""
    found = agreed(philosophers.TABLE, philosophers=seats)

    assert (found.verdict, set(found.violated)) == ("violated", {"SomebodyEats", "Deadlock"})
    assert found.distinct == tables(seats)
    assert states_of_the_trace(philosophers.TABLE, "SomebodyEats", philosophers=seats) == seats + 1


@pytest.mark.parametrize("seats", [2, 3, 5, 7])
def test_an_order_on_the_forks_is_the_cure(seats: int) -> None:
    """Where the last philosopher begins at the right, somebody can always eat."""
    assert agreed(philosophers.ORDERED, philosophers=seats).verdict == "holds"


def test_fencing_tokens() -> None:
    """With tokens no old write is accepted; without them two leases are enough: grant, expiry, grant, two writes."""
    assert agreed(lease.FENCED, clients=2, tokens=3).verdict == "holds"
    assert states_of_the_trace(lease.UNFENCED, "NoOldWrite", clients=2, tokens=2) == 6


@pytest.mark.parametrize(("terms", "states"), [(1, 95), (2, 2_805)])
def test_raft_election(terms: int, states: int) -> None:
    """As many states as a search written without this checker finds of the same protocol, and a term has one leader."""
    found = agreed(raft_election.RAFT, servers=3, terms=terms, sent=12 * terms)

    assert (found.verdict, found.distinct) == ("holds", states)


def test_three_terms_of_raft() -> None:
    """A third term gives 65,917 states, and still a term has one leader."""
    spec = raft_election.RAFT
    found = check(spec, spec.bound_values({"terms": 3, "sent": 36}))

    assert (found.verdict, found.distinct) == ("holds", 65_917)


def test_servers_that_forget_their_vote_elect_two_leaders() -> None:
    """Two stand, and each gets the other's vote: of 3 servers that is a majority."""
    assert states_of_the_trace(raft_election.FORGETFUL, "OneLeaderInEachTerm", servers=3, terms=1, sent=12) == 9


@pytest.mark.parametrize("capacity", [1, 2])
@pytest.mark.parametrize("threads", [2, 3, 4, 5])
def test_bounded_queue(threads: int, capacity: int) -> None:
    """All threads can sleep if and only if there are more than twice as many as places, however many of them put."""
    for producers in range(1, threads):
        found = agreed(bounded_queue.QUEUE, threads=threads, producers=producers, capacity=capacity)
        cured = agreed(bounded_queue.QUEUE_THAT_WAKES_ALL, threads=threads, producers=producers, capacity=capacity)

        assert found.verdict == ("violated" if threads > 2 * capacity else "holds")
        assert cured.verdict == "holds"
