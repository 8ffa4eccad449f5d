"""The election strategies against a second statement of Kafka's rules, with lists, for every order, ISR and set of live brokers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from kafka_spec.spec.decisions.election import (
    ShutdownPart,
    Strategy,
    elect,
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    election_is_due,
    election_is_due_after_removal,
    first_leader_and_isr,
    first_of,
    is_isr_candidate,
    leader_and_isr_without,
    leader_is_lost,
    members,
    part_in_shutdown,
    preferred_leader_leads,
    recipients_of_removal,
    replicas_lost_at_fail_over,
    unclean_election_is_permitted,
)
from kafka_spec.spec.decisions.variants import (
    Checked,
    DeadReplicas,
    LastIsrMember,
    OfflineLeaders,
    OfflineRecipients,
    ShrinkRecipients,
    ShutdownRecipients,
)
from kafka_spec.spec.language.domain import NONE, BrokerSet, singleton
from kafka_spec.spec.machines.partition import PartitionState

BROKERS = (0, 1, 2)
SETS = [BrokerSet(mask) for mask in range(1 << len(BROKERS))]
ASSIGNMENTS = [order for size in range(len(BROKERS) + 1) for order in itertools.permutations(BROKERS, size)]
"""Every order of every choice of three brokers, none of them included."""

Outcome = tuple[int, list[int], list[int]] | None
"""Leader, ISR and recipients, or None if no replica can be elected. ISR and recipients are lists without an order."""


def brokers_of(mask: int) -> list[int]:
    """Return the brokers of a mask."""
    return [broker for broker in BROKERS if mask & (1 << broker)]


LIVE, LIVE_OR_STOPPING = OfflineRecipients.LIVE, OfflineRecipients.LIVE_OR_STOPPING
NOBODY = BrokerSet()


def read(elected: tuple[int, BrokerSet, BrokerSet]) -> Outcome:
    """Return the result of a strategy of the spec, with lists instead of masks."""
    leader, isr, reported = elected
    return None if leader == NONE else (leader, brokers_of(isr), brokers_of(reported))


def outcome(leader: int, isr: Sequence[int], reported: Sequence[int]) -> Outcome:
    """Return an outcome of the second statement."""
    return leader, sorted(isr), sorted(reported)


def cases() -> Iterator[tuple[tuple[int, ...], BrokerSet, BrokerSet]]:
    """Yield every assignment with every set of live brokers and every ISR."""
    yield from itertools.product(ASSIGNMENTS, SETS, SETS)


# ---------------------------------------------------------------------------------------------------------------------
# The second statement: Kafka's rules as one reads them


def offline(assignment: Sequence[int], live: list[int], stopping: list[int], isr: list[int], unclean: bool) -> Outcome:
    """First assigned that is live and in the ISR, else if permitted the first that is live. Recipients: live and stopping replicas.

    The new ISR is its live members if the leader is one of them, or else the leader alone.
    """
    clean = [replica for replica in assignment if replica in live and replica in isr]
    unclean_ones = [replica for replica in assignment if replica in live] if unclean else []
    candidates = clean or unclean_ones
    if not candidates:
        return None
    leader = candidates[0]
    new_isr = [replica for replica in isr if replica in live] if leader in isr else [leader]
    return outcome(leader, new_isr, [replica for replica in assignment if replica in live or replica in stopping])


def reassigned(target: Sequence[int], live: list[int], isr: list[int]) -> Outcome:
    """First of the target replicas that is live and in the ISR; the ISR stays; recipients: the target replicas."""
    candidates = [replica for replica in target if replica in live and replica in isr]
    return outcome(candidates[0], isr, target) if candidates else None


def preferred(assignment: Sequence[int], live: list[int], isr: list[int]) -> Outcome:
    """The first assigned only, if live and in the ISR; the ISR stays; recipients: all assigned."""
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
    """The first live assigned replica leads; all live assigned replicas are the ISR, and the only recipients."""
    online = [replica for replica in assignment if replica in live]
    return outcome(online[0], online, online) if online else None


# ---------------------------------------------------------------------------------------------------------------------
# Strategies


@pytest.mark.parametrize("unclean", [0, 1])
def test_offline(unclean: int) -> None:
    """The strategy for a dead leader, clean and unclean."""
    for (assignment, live, isr), stopping in itertools.product(cases(), SETS):
        stated = offline(assignment, brokers_of(live), brokers_of(stopping), brokers_of(isr), bool(unclean))
        assert read(elect_offline(assignment, live, stopping, isr, unclean, LIVE_OR_STOPPING)) == stated, (assignment, live, isr)
        stated = offline(assignment, brokers_of(live), [], brokers_of(isr), bool(unclean))
        assert read(elect_offline(assignment, live, stopping, isr, unclean, LIVE)) == stated, (assignment, live, isr)


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
        case = assignment, live, stopping, isr
        assert read(elect_controlled_shutdown(*case, ShutdownRecipients.LIVE_OR_STOPPING)) == stated, case
        if stated is not None:
            stayed = [broker for broker in stated[2] if broker not in stopping]
            assert read(elect_controlled_shutdown(*case, ShutdownRecipients.LIVE)) == (*stated[:2], stayed), case


def test_first_leader_and_isr() -> None:
    """The first leader and the first ISR."""
    for assignment, live in itertools.product(ASSIGNMENTS, SETS):
        assert read(first_leader_and_isr(assignment, live)) == initial(assignment, brokers_of(live)), (assignment, live)


def test_a_demoted_leader_is_told() -> None:
    """In a controlled shutdown the broker that led is among the recipients (KAFKA-7482)."""
    for assignment, isr in itertools.product(itertools.permutations(BROKERS), SETS):
        for leader in brokers_of(isr):
            stopping = singleton(leader)
            everywhere = ShutdownRecipients.LIVE_OR_STOPPING
            _, left, reported = elect_controlled_shutdown(assignment, SETS[-1] & ~stopping, stopping, isr, everywhere)
            assert leader in brokers_of(reported)
            assert leader not in brokers_of(left)


def test_a_leader_is_live_assigned_and_in_its_isr() -> None:
    """Whatever a strategy elects is live, assigned, and in the ISR it returns."""
    for assignment, live, isr in cases():
        for elected in (
            elect_offline(assignment, live, NOBODY, isr, 0, LIVE),
            elect_offline(assignment, live, NOBODY, isr, 1, LIVE),
            elect_preferred(assignment, live, isr),
            elect_reassigned(assignment, live, isr),
            elect_controlled_shutdown(assignment, live & 0b110, singleton(0), isr, ShutdownRecipients.LIVE),
            first_leader_and_isr(assignment, live),
        ):
            if (found := read(elected)) is not None:
                leader, new_isr, reported = found
                assert leader in brokers_of(live)
                assert leader in assignment
                assert leader in new_isr
                assert leader in reported


# ---------------------------------------------------------------------------------------------------------------------
# The unclean condition, and leaving the ISR


@pytest.mark.parametrize(("asked", "configured"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_unclean_election_is_never_permitted_while_the_isr_lives(asked: int, configured: int) -> None:
    """It is never permitted if some ISR member is live; otherwise if an operator requested it or the topic is configured for it."""
    for isr, live in itertools.product(SETS, SETS):
        some_member_lives = any(member in brokers_of(live) for member in brokers_of(isr))
        stated = False if some_member_lives else (True if asked else bool(configured))
        assert unclean_election_is_permitted(isr, live, asked, configured) == int(stated)


def test_the_strategy_at_hand_elects() -> None:
    """`elect` uses the given strategy; it elects uncleanly only if no member of the ISR is live."""
    for (assignment, live, isr), unclean in itertools.product(cases(), (0, 1)):
        recipients = LIVE_OR_STOPPING, ShutdownRecipients.LIVE
        stopping = SETS[-1] & ~live
        permitted = unclean_election_is_permitted(isr, live, 0, unclean)
        for strategy, stated in {
            Strategy.OFFLINE: elect_offline(assignment, live, stopping, isr, permitted, recipients[0]),
            Strategy.PREFERRED: elect_preferred(assignment, live, isr),
            Strategy.CONTROLLED_SHUTDOWN: elect_controlled_shutdown(assignment, live, stopping, isr, recipients[1]),
        }.items():
            assert elect(strategy, assignment, live, stopping, isr, unclean, *recipients) == stated


@pytest.mark.parametrize(
    ("rule", "unclean", "keeps_last"),
    [
        (LastIsrMember.KEPT, 0, True),
        (LastIsrMember.KEPT, 1, True),
        (LastIsrMember.DROPPED_IF_UNCLEAN, 0, True),
        (LastIsrMember.DROPPED_IF_UNCLEAN, 1, False),
        (LastIsrMember.DROPPED, 0, False),
        (LastIsrMember.DROPPED, 1, False),
    ],
)
def test_what_a_removal_leaves(rule: LastIsrMember, unclean: int, keeps_last: bool) -> None:
    """The broker leaves the ISR, unless the last member is kept; if it led, there is no leader, except with KAFKA-708's switch."""
    for leader, isr, gone in itertools.product((NONE, *BROKERS), SETS, BROKERS):
        if gone not in isr:
            continue
        last = list(isr) == [gone]
        left = list(isr) if last and keeps_last else [member for member in isr if member != gone]
        led = gone if rule == LastIsrMember.DROPPED and last else NONE if gone == leader else leader
        assert leader_and_isr_without(leader, isr, gone, rule, unclean) == (led, BrokerSet.of(left))


def test_recipients_of_a_removal() -> None:
    """The recipients are all other replicas, or only the leader if there is one and it is not the broker that left."""
    for assignment, leader, gone in itertools.product(ASSIGNMENTS, (NONE, *BROKERS), BROKERS):
        others = [replica for replica in assignment if replica != gone]
        everybody = recipients_of_removal(assignment, leader, gone, ShrinkRecipients.ALL_REPLICAS)
        assert sorted(others) == list(everybody)
        the_leader = recipients_of_removal(assignment, leader, gone, ShrinkRecipients.LEADER_ONLY)
        assert [replica for replica in others if replica == leader] == list(the_leader)


def test_elections_are_due() -> None:
    """Unasked, new and offline partitions are elected for; after a removal only offline ones with a live member of the ISR."""
    due = {state for state in PartitionState if election_is_due(state, Strategy.OFFLINE)}
    assert due == {PartitionState.NEW, PartitionState.OFFLINE}
    assert all(election_is_due(PartitionState.ONLINE, strategy) for strategy in Strategy if strategy != Strategy.OFFLINE)
    for state, isr, live in itertools.product(PartitionState, SETS, SETS):
        stated = state == PartitionState.OFFLINE and any(member in live for member in isr)
        assert election_is_due_after_removal(state, isr, live, Checked.YES) == stated
        assert not election_is_due_after_removal(state, isr, live, Checked.NO)


def test_leaders_are_lost() -> None:
    """Up to 0.11 a leader is lost if it is dead or missing; since 1.0 also if it shuts down."""
    live, stopping = singleton(0), singleton(1)

    for rule, lost in ((OfflineLeaders.DEAD, {NONE, 2}), (OfflineLeaders.NOT_ONLINE, {NONE, 1, 2})):
        assert {leader for leader in (NONE, *BROKERS) if leader_is_lost(leader, live, stopping, rule)} == lost


def test_parts_in_a_controlled_shutdown() -> None:
    """A leader's leadership moves, a follower stops, and the only replica, like one that is not assigned, goes down as it is."""
    for assignment, leader, broker in itertools.product(ASSIGNMENTS, (NONE, *BROKERS), BROKERS):
        if len(assignment) < 2 or broker not in assignment:
            stated = ShutdownPart.NOTHING
        else:
            stated = ShutdownPart.LEADERSHIP_MOVES if leader == broker else ShutdownPart.STOPS
        assert part_in_shutdown(assignment, leader, broker) == stated


def test_who_is_lost_who_is_preferred_and_who_may_join() -> None:
    """A new controller takes dead replicas offline, the first assigned is preferred, and candidates are alive, as eras have it."""
    for replicas, live, broker in itertools.product(SETS, SETS, BROKERS):
        dead = [replica for replica in replicas if replica not in live]
        assert list(replicas_lost_at_fail_over(replicas, live, DeadReplicas.TAKEN_OFFLINE)) == dead
        assert not replicas_lost_at_fail_over(replicas, live, DeadReplicas.IGNORED)
        assert is_isr_candidate(broker, live, Checked.YES) == (broker in live)
        assert is_isr_candidate(broker, live, Checked.NO)
    assert preferred_leader_leads((2, 0), 2)
    assert not preferred_leader_leads((2, 0), 0)
    assert not preferred_leader_leads((2, 0), NONE)


def test_sets_of_brokers_stay_sets() -> None:
    """A set as an argument gives a set as the result, so that it can be iterated."""
    for assignment, live, isr in cases():
        results = (
            members(assignment),
            *elect_offline(assignment, live, NOBODY, isr, 1, LIVE)[1:],
            *elect_preferred(assignment, live, isr)[1:],
            *elect_controlled_shutdown(assignment, live, NOBODY, isr, ShutdownRecipients.LIVE)[1:],
            *first_leader_and_isr(assignment, live)[1:],
            leader_and_isr_without(0, isr, 0, LastIsrMember.KEPT, 0)[1],
            recipients_of_removal(assignment, 0, 1, ShrinkRecipients.LEADER_ONLY),
            replicas_lost_at_fail_over(isr, live, DeadReplicas.IGNORED),
        )
        assert {type(result) for result in results} == {BrokerSet}


def test_helpers() -> None:
    """`members` forgets the order, `first_of` keeps it."""
    for assignment, candidates in itertools.product(ASSIGNMENTS, SETS):
        assert brokers_of(members(assignment)) == sorted(assignment)
        assert first_of(assignment, candidates) == next((b for b in assignment if b in brokers_of(candidates)), -1)
