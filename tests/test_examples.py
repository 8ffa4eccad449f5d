"""The examples: state counts that are known elsewhere, and a property of each that breaks when one guard goes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Hashable, Iterator
from itertools import pairwise, product
from typing import TypeVar

import pytest
from conftest import ROOT

from examples import bounded_queue, lease, philosophers, raft_election, two_phase_commit
from kafka_spec import NONE, Exploration, Spec, check, trace_of


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


@pytest.mark.parametrize("seats", [2, 3, 5])
def test_a_philosopher_who_forgets_the_order_undoes_the_cure(seats: int) -> None:
    """Without the guard that asks for the lower fork first, all can take the left one again."""
    assert states_of_the_trace(philosophers.CARELESS, "SomebodyEats", philosophers=seats) == seats + 1


def test_fencing_tokens() -> None:
    """With tokens no old write is accepted; without them two leases are enough: grant, expiry, grant, two writes."""
    found = agreed(lease.FENCED, clients=2, tokens=3)

    assert (found.verdict, found.distinct) == ("holds", reached((NONE, 0, (0, 0), 0), lambda s: leases(s, 3)))
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
    """All threads can sleep if and only if there are more than twice as many as places, however many of them put.

    A search written without this checker finds as many states.
    """
    for producers in range(1, threads):
        bounds = {"threads": threads, "producers": producers, "capacity": capacity}
        found = agreed(bounded_queue.QUEUE, **bounds)

        assert found.verdict == ("violated" if threads > 2 * capacity else "holds")
        assert found.distinct == reached((0, frozenset()), lambda s, k=bounds: queue_steps(s, k))
        for cured in (bounded_queue.QUEUE_THAT_WAKES_ALL, bounded_queue.QUEUE_WITH_TWO_CONDITIONS):
            assert agreed(cured, **bounds).verdict == "holds"


def test_producers_that_do_not_look_overfill_the_queue() -> None:
    """Without its guard, the second item of a producer does not fit."""
    assert states_of_the_trace(bounded_queue.OVERFULL, "NeverTooFull", threads=3, producers=1, capacity=1) == 3


S = TypeVar("S", bound=Hashable)


def reached(start: S, steps: Callable[[S], Iterator[S]]) -> int:
    """Count the states that steps lead to."""
    found, left = {start}, [start]
    while left:
        new = set(steps(left.pop())) - found
        found |= new
        left += new
    return len(found)


Buffer = tuple[int, frozenset[int]]


def queue_steps(s: Buffer, k: dict[str, int]) -> Iterator[Buffer]:
    """Yield the states after one step of a thread that runs: it sleeps, or changes the queue and wakes any one that sleeps."""
    size, waiting = s
    for thread in set(range(k["threads"])) - waiting:
        puts = thread < k["producers"]
        if size == (k["capacity"] if puts else 0):
            yield size, waiting | {thread}
        else:
            for rest in [waiting - {woken} for woken in waiting] or [waiting]:
                yield size + (1 if puts else -1), rest


Lease = tuple[int, int, tuple[int, ...], int]


def leases(s: Lease, most: int) -> Iterator[Lease]:
    """Yield the states after a grant, a return, a write, an expiry: holder, newest token, tokens of clients, token last written."""
    holder, newest, tokens, written = s
    for client, token in enumerate(tokens):
        with_token = {value: (*tokens[:client], value, *tokens[client + 1 :]) for value in (0, newest + 1)}
        if holder == NONE and newest < most:
            yield client, newest + 1, with_token[newest + 1], written
        if token > 0:
            yield holder, newest, with_token[0], written
        if token >= max(written, 1):
            yield holder, newest, tokens, token
    yield NONE, newest, tokens, written


def test_raft_with_a_set_a_list_and_matrices(capsys: pytest.CaptureFixture[str]) -> None:
    """benchmarks/README.md tells the lines and states of Raft's three forms as the command prints them; they are one protocol."""
    compared = importlib.util.spec_from_file_location("raft_messages", ROOT / "benchmarks" / "raft_messages.py")
    assert compared is not None and compared.loader is not None
    module = importlib.util.module_from_spec(compared)
    sys.modules["raft_messages"] = module
    compared.loader.exec_module(module)
    assert module.main() == 0
    printed = [line.rpartition(" | ")[0] for line in capsys.readouterr().out.splitlines()]

    reported = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert len(printed) == 5 and all(f"\n{line} | " in reported for line in printed if line), printed
    assert "2,805" in printed[2] and "18,346" in printed[3]
