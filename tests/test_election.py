"""The election strategies against a second statement of Kafka's rules, with lists, for every order, ISR and set of live brokers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from kafka_spec.spec.domain import NONE
from kafka_spec.spec.election import (
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    first_leader_and_isr,
    first_of,
    isr_without,
    leader_without,
    members,
    unclean_election_is_permitted,
)

BROKERS = (0, 1, 2)
SETS = range(1 << len(BROKERS))
ASSIGNMENTS = [order for size in range(len(BROKERS) + 1) for order in itertools.permutations(BROKERS, size)]
"""Every order of every choice of three brokers, none of them included."""

Outcome = tuple[int, list[int], list[int]] | None
"""Leader, ISR and recipients, or None where nobody can be elected. ISR and recipients are lists without an order."""


def brokers_of(mask: int) -> list[int]:
    """Return the brokers of a mask."""
    return [broker for broker in BROKERS if mask & (1 << broker)]


def read(elected: tuple[int, int, int]) -> Outcome:
    """Return what a strategy of the spec returned, with lists in place of masks."""
    leader, isr, told = elected
    return None if leader == NONE else (leader, brokers_of(isr), brokers_of(told))


def outcome(leader: int, isr: Sequence[int], told: Sequence[int]) -> Outcome:
    """Return an outcome of the second statement."""
    return leader, sorted(isr), sorted(told)


def cases() -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield every assignment with every set of live brokers and every ISR."""
    yield from itertools.product(ASSIGNMENTS, SETS, SETS)


# ---------------------------------------------------------------------------------------------------------------------
# The second statement: Kafka's rules as one reads them


def offline(assignment: Sequence[int], live: list[int], isr: list[int], unclean: bool) -> Outcome:
    """First assigned that is live and in the ISR, else if permitted the first that is live. Told: live assigned replicas.

    The new ISR is its live members if the leader is one of them, or else the leader alone.
    """
    clean = [replica for replica in assignment if replica in live and replica in isr]
    unclean_ones = [replica for replica in assignment if replica in live] if unclean else []
    candidates = clean or unclean_ones
    if not candidates:
        return None
    leader = candidates[0]
    new_isr = [replica for replica in isr if replica in live] if leader in isr else [leader]
    return outcome(leader, new_isr, [replica for replica in assignment if replica in live])


def reassigned(target: Sequence[int], live: list[int], isr: list[int]) -> Outcome:
    """First of the target replicas that is live and in the ISR; the ISR stays; told: the target replicas."""
    candidates = [replica for replica in target if replica in live and replica in isr]
    return outcome(candidates[0], isr, target) if candidates else None


def preferred(assignment: Sequence[int], live: list[int], isr: list[int]) -> Outcome:
    """The first assigned only, if live and in the ISR; the ISR stays; told: all assigned."""
    if assignment and assignment[0] in live and assignment[0] in isr:
        return outcome(assignment[0], isr, assignment)
    return None


def controlled_shutdown(assignment: Sequence[int], live: list[int], stopping: list[int], isr: list[int]) -> Outcome:
    """Live includes the stopping here: first assigned that is live, in the ISR and not stopping.

    The ISR loses all stopping ones. Told: assigned replicas that are live or stopping.
    """
    registered = [replica for replica in assignment if replica in live or replica in stopping]
    candidates = [replica for replica in registered if replica in isr and replica not in stopping]
    if not candidates:
        return None
    return outcome(candidates[0], [replica for replica in isr if replica not in stopping], registered)


def initial(assignment: Sequence[int], live: list[int]) -> Outcome:
    """The first live assigned leads, all live assigned are the ISR, and they alone are told."""
    online = [replica for replica in assignment if replica in live]
    return outcome(online[0], online, online) if online else None


# ---------------------------------------------------------------------------------------------------------------------
# Strategies


@pytest.mark.parametrize("unclean", [0, 1])
def test_offline(unclean: int) -> None:
    """The strategy for a dead leader, clean and unclean."""
    for assignment, live, isr in cases():
        stated = offline(assignment, brokers_of(live), brokers_of(isr), bool(unclean))
        assert read(elect_offline(assignment, live, isr, unclean)) == stated, (assignment, live, isr)


def test_reassigned() -> None:
    """The strategy of a reassignment."""
    for target, live, isr in cases():
        assert read(elect_reassigned(target, live, isr)) == reassigned(target, brokers_of(live), brokers_of(isr)), (
            target,
            live,
            isr,
        )


def test_preferred() -> None:
    """The strategy of a preferred replica election."""
    for assignment, live, isr in cases():
        stated = preferred(assignment, brokers_of(live), brokers_of(isr))
        assert read(elect_preferred(assignment, live, isr)) == stated, (assignment, live, isr)


def test_controlled_shutdown() -> None:
    """The strategy of a controlled shutdown; `live` is without those that shut down, as the controller counts them."""
    for (assignment, registered, isr), stopping in itertools.product(cases(), SETS):
        live = registered & ~stopping
        stated = controlled_shutdown(assignment, brokers_of(live), brokers_of(stopping), brokers_of(isr))
        assert read(elect_controlled_shutdown(assignment, live, stopping, isr)) == stated, (assignment, live, stopping, isr)


def test_first_leader_and_isr() -> None:
    """The first leader and the first ISR."""
    for assignment, live in itertools.product(ASSIGNMENTS, SETS):
        assert read(first_leader_and_isr(assignment, live)) == initial(assignment, brokers_of(live)), (assignment, live)


def test_a_demoted_leader_is_told() -> None:
    """In a controlled shutdown the broker that led is among the recipients (KAFKA-7482)."""
    for assignment, isr in itertools.product(itertools.permutations(BROKERS), SETS):
        for leader in brokers_of(isr):
            _, left, told = elect_controlled_shutdown(assignment, 0b111 & ~(1 << leader), 1 << leader, isr)
            assert leader in brokers_of(told)
            assert leader not in brokers_of(left)


def test_a_leader_is_live_assigned_and_in_its_isr() -> None:
    """Whatever a strategy elects is live, assigned, and in the ISR it returns."""
    for assignment, live, isr in cases():
        for elected in (
            elect_offline(assignment, live, isr, 0),
            elect_offline(assignment, live, isr, 1),
            elect_preferred(assignment, live, isr),
            elect_reassigned(assignment, live, isr),
            elect_controlled_shutdown(assignment, live & 0b110, 0b001, isr),
            first_leader_and_isr(assignment, live),
        ):
            if (found := read(elected)) is not None:
                leader, new_isr, told = found
                assert leader in brokers_of(live)
                assert leader in assignment
                assert leader in new_isr
                assert leader in told


# ---------------------------------------------------------------------------------------------------------------------
# The unclean condition, and leaving the ISR


@pytest.mark.parametrize(("asked", "configured"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_unclean_election_is_never_permitted_while_the_isr_lives(asked: int, configured: int) -> None:
    """Some ISR member is live: never. Otherwise where an operator asked for it, or else as the topic is configured."""
    for isr, live in itertools.product(SETS, SETS):
        some_member_lives = any(member in brokers_of(live) for member in brokers_of(isr))
        stated = False if some_member_lives else (True if asked else bool(configured))
        assert unclean_election_is_permitted(isr, live, asked, configured) == int(stated)


def test_leader_without() -> None:
    """Nobody leads once the leader is gone; another's going changes nothing; nobody stays nobody."""
    for leader, gone in itertools.product((NONE, *BROKERS), BROKERS):
        assert leader_without(leader, gone) == (-1 if gone == leader else leader)


@pytest.mark.parametrize("keep_last", [0, 1])
def test_isr_without(keep_last: int) -> None:
    """The ISR loses the broker; but where the last member is kept, an ISR of exactly one stays as it is."""
    for isr, gone in itertools.product(SETS, BROKERS):
        if gone in brokers_of(isr):
            kept = keep_last == 1 and len(brokers_of(isr)) == 1
            stated = brokers_of(isr) if kept else [member for member in brokers_of(isr) if member != gone]
            assert brokers_of(isr_without(isr, gone, keep_last)) == stated
        else:
            assert isr_without(isr, gone, keep_last) == isr


def test_helpers() -> None:
    """`members` forgets the order, `first_of` keeps it."""
    for assignment, candidates in itertools.product(ASSIGNMENTS, SETS):
        assert brokers_of(members(assignment)) == sorted(assignment)
        assert first_of(assignment, candidates) == next((b for b in assignment if b in brokers_of(candidates)), -1)
