"""The partition change of KRaft: the decision table of elections, and every change of three brokers against a second statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from kafka_spec.diagrams.choices import choices_dot, choices_markdown
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink, LastKnownLeader, ReassignmentCompletion
from kafka_spec.spec.decisions.partition_change import (
    ELECTIONS,
    ElectionKind,
    LeaderChoice,
    RecoveryState,
    choose,
    effective_min_isr,
    elect_by_choice,
    elr_after,
    is_unclean,
    isr_after,
    last_known_after,
    leader_epoch_grows,
    reassignment_completes,
    recovery_after,
    target_elr,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, SpecError

REPLICAS = (2, 0, 1)
"""The assignment, in an order that is not that of the numbers."""
SETS = [frozenset(b for b in range(3) if mask >> b & 1) for mask in range(8)]


def mask(brokers: frozenset[int]) -> BrokerSet:
    """Return a set of brokers as the language holds it."""
    return BrokerSet.of(brokers)


def elected(
    kind: ElectionKind, leader: int, isr: frozenset[int], elr: frozenset[int], last: int, live: frozenset[int], elr_on: bool
) -> tuple[int, bool]:
    """Return the leader and whether the election is unclean, as PartitionChangeBuilder's text says it: a second statement."""
    valid = [b for b in REPLICAS if b in live and (b in isr or (not isr and b in elr))]
    if kind == ElectionKind.PREFERRED and REPLICAS[0] in valid:
        return REPLICAS[0], False
    if leader in valid:
        return leader, False
    if valid:
        return valid[0], False
    if elr_on and not isr and not elr and last in live:
        return last, True
    up = [b for b in REPLICAS if b in live]
    if kind == ElectionKind.UNCLEAN and up:
        return up[0], True
    return NONE, False


def elections() -> Iterator[tuple[ElectionKind, int, frozenset[int], frozenset[int], int, frozenset[int], bool]]:
    """Yield every election among three brokers."""
    for kind, leader, isr, elr, last, live in product(ElectionKind, (NONE, 0, 1, 2), SETS, SETS, (NONE, 0, 1, 2), SETS):
        if not isr & elr:
            yield kind, leader, isr, elr, last, live, True
            if not elr and last == NONE:
                yield kind, leader, isr, elr, last, live, False


def test_every_election_among_three_brokers() -> None:
    """The decision table elects whom a second statement elects, cleanly or not: every ISR, ELR, leader, set of live brokers."""
    count = 0
    for kind, leader, isr, elr, last, live, elr_on in elections():
        found, choice = elect_by_choice(kind, REPLICAS, leader, mask(isr), mask(elr), last, mask(live), int(elr_on), Checked.YES)
        assert (found, is_unclean(choice)) == elected(kind, leader, isr, elr, last, live, elr_on)
        count += 1
    assert count > 10_000


def test_a_leader_that_is_not_acceptable_is_never_elected_but_by_a_bug() -> None:
    """Who is elected is live; with KAFKA-19522 the last known leader is elected although it is not."""
    wrong = 0
    for kind, leader, isr, elr, last, live, elr_on in elections():
        for acceptable in (Checked.YES, Checked.NO):
            found, choice = elect_by_choice(kind, REPLICAS, leader, mask(isr), mask(elr), last, mask(live), int(elr_on), acceptable)
            if found != NONE and found not in live:
                assert acceptable == Checked.NO and choice == LeaderChoice.LAST_KNOWN
                wrong += 1
    assert wrong > 0


def test_the_order_of_the_choices() -> None:
    """The first possible choice is taken: preferred, current, first valid, last known, outside, nobody."""
    assert choose(ElectionKind.PREFERRED, 1, 1, 1, 1, 1) == LeaderChoice.PREFERRED
    assert choose(ElectionKind.ONLINE, 1, 1, 1, 1, 1) == LeaderChoice.CURRENT
    assert choose(ElectionKind.PREFERRED, 0, 1, 1, 1, 1) == LeaderChoice.CURRENT
    assert choose(ElectionKind.ONLINE, 1, 0, 1, 1, 1) == LeaderChoice.FIRST_VALID
    assert choose(ElectionKind.UNCLEAN, 0, 0, 1, 1, 1) == LeaderChoice.FIRST_VALID
    assert choose(ElectionKind.UNCLEAN, 0, 0, 0, 1, 1) == LeaderChoice.LAST_KNOWN
    assert choose(ElectionKind.UNCLEAN, 0, 0, 0, 0, 1) == LeaderChoice.OUTSIDE
    assert choose(ElectionKind.ONLINE, 0, 0, 0, 0, 1) == LeaderChoice.NOBODY


@pytest.mark.parametrize("min_isr", [1, 2, 3])
def test_isr_and_elr_keep_what_can_be_kept(min_isr: int) -> None:
    """Without an unclean shutdown or election, ISR and ELR together never fall below min.insync.replicas, and never overlap."""
    for old_isr, old_elr, isr, live in product(SETS, SETS, SETS, SETS):
        small = len(old_isr) < min_isr
        if old_isr & old_elr or (small and len(old_isr | old_elr) != min_isr) or (old_elr and not small):
            continue  # members leave one at a time, so that the ELR holds no more than the ISR lacks
        if len(old_isr - isr) > 1:
            continue
        elr = target_elr(REPLICAS, mask(old_isr), mask(old_elr), mask(isr), BrokerSet(), min_isr, Checked.YES)
        leader, choice = elect_by_choice(
            ElectionKind.ONLINE, REPLICAS, NONE, mask(isr), elr, NONE, mask(live), Checked.YES, Checked.YES
        )
        new_isr = isr_after(choice, NONE, leader, mask(old_isr), mask(isr), elr, Checked.YES)
        new_elr = elr_after(choice, NONE, leader, elr)
        assert len(set(new_isr | new_elr)) >= min_isr
        assert not new_isr & new_elr
        assert leader == NONE or leader in set(new_isr)
        assert not new_elr or len(set(new_isr)) < min_isr


def test_who_lost_records_leaves_the_elr() -> None:
    """A replica of a broker that ended without order is in neither set after that."""
    for old_isr, old_elr, lost in product(SETS, SETS, range(3)):
        left = old_isr - {lost}
        elr = target_elr(REPLICAS, mask(old_isr), mask(old_elr), mask(left), BrokerSet.of({lost}), 3, Checked.YES)
        assert set(elr) == (old_isr | old_elr) - left - {lost}


def test_without_the_elr_the_last_member_stays() -> None:
    """An empty ISR is not written without the ELR, and is with it."""
    for elr_enabled, kept in ((Checked.NO, {1}), (Checked.YES, set())):
        assert set(isr_after(LeaderChoice.NOBODY, 1, NONE, BrokerSet.of({1}), BrokerSet(), BrokerSet(), elr_enabled)) == kept


def test_unclean_leaders_recover_alone() -> None:
    """A leader that was elected uncleanly is the whole ISR, empties the ELR, and recovers; one from the ELR does not recover."""
    recovered, recovering = RecoveryState
    assert set(isr_after(LeaderChoice.OUTSIDE, NONE, 1, BrokerSet.of({0}), BrokerSet.of({0}), BrokerSet(), Checked.YES)) == {1}
    assert set(elr_after(LeaderChoice.OUTSIDE, NONE, 1, BrokerSet.of({1, 2}))) == set()
    assert recovery_after(LeaderChoice.OUTSIDE, NONE, 1, recovered, recovered) == recovering
    assert recovery_after(LeaderChoice.OUTSIDE, NONE, 1, recovering, recovering) == recovering
    assert recovery_after(LeaderChoice.OUTSIDE, NONE, 1, recovering, recovered) == recovered, "what the leader asks for comes last"
    assert set(isr_after(LeaderChoice.FIRST_VALID, NONE, 1, BrokerSet(), BrokerSet(), BrokerSet.of({1, 2}), Checked.YES)) == {1}
    assert set(elr_after(LeaderChoice.FIRST_VALID, NONE, 1, BrokerSet.of({1, 2}))) == {2}
    assert recovery_after(LeaderChoice.FIRST_VALID, NONE, 1, recovered, recovered) == recovered


def test_the_last_known_leader() -> None:
    """It is remembered when the leader goes, and forgotten with the next; up to 4.1.0 it could be overwritten by nobody.

    Since 4.1.1 it changes only with the leader; before, a shrink to an empty ISR could clear it (found in Kafka's classes).
    """
    new, old = LastKnownLeader.WHEN_NO_LEADER, LastKnownLeader.WHEN_ISR_EMPTIES
    some, none = BrokerSet.of({1}), BrokerSet()
    assert last_known_after(new, NONE, 1, NONE, 1, some, none) == 1
    assert last_known_after(new, 1, NONE, NONE, 0, some, none) == 1
    assert last_known_after(new, 1, NONE, 2, 1, none, some) == NONE
    assert last_known_after(new, 1, 2, 2, 0, some, some) == 1
    assert last_known_after(old, NONE, 1, NONE, 1, some, none) == 1
    assert last_known_after(old, 1, NONE, NONE, 0, some, none) == NONE
    assert last_known_after(old, 1, NONE, NONE, 0, none, none) == 1
    assert last_known_after(old, 1, 1, 1, 0, some, none) == NONE


def test_when_a_reassignment_completes() -> None:
    """Up to 3.7 with the added replicas in the ISR, from 3.8 with all, from 4.3 with the added ones if they are enough of them."""
    everything, added, many = (
        ReassignmentCompletion.ALL_IN_ISR,
        ReassignmentCompletion.ADDED_IN_ISR,
        ReassignmentCompletion.ADDED_IF_MANY,
    )

    def completing(adding: set[int], removing: set[int], isr: set[int]) -> list[ReassignmentCompletion]:
        sets = [BrokerSet.of(members) for members in (adding, removing, isr)]
        return [rule for rule in ReassignmentCompletion if reassignment_completes(rule, (0, 1, 2, 3), *sets)]

    assert completing(set(), set(), {0, 1, 2, 3}) == []
    assert completing({3}, {2}, {0, 1, 3}) == [everything, added, many]
    assert completing({3}, {2}, {0, 3}) == [added, many]
    assert completing({3}, {1, 2}, {3}) == [added]
    assert completing(set(), {2, 3}, {0, 2}) == [added]
    assert completing({3}, {0, 1, 2}, {0, 1, 2}) == []


def test_epochs_and_min_isr() -> None:
    """The leader epoch grows with the leader, and before 3.6-IV0 with each shrink; min.insync.replicas is at most all replicas."""
    two, one = BrokerSet.of({0, 1}), BrokerSet.of({0})
    none, written, wanted = BumpOnShrink
    assert leader_epoch_grows(none, 0, NONE, two, two, two)
    assert [leader_epoch_grows(rule, 0, 0, two, one, one) for rule in BumpOnShrink] == [False, True, True]
    assert not any(leader_epoch_grows(rule, 0, 0, one, two, two) for rule in BumpOnShrink)
    assert leader_epoch_grows(wanted, 0, 0, one, NO_BROKERS, one), "the last member that stays was to leave"
    assert not leader_epoch_grows(written, 0, 0, one, NO_BROKERS, one), "it stays"
    assert [effective_min_isr(wanted, 2) for wanted in (1, 2, 3)] == [1, 2, 2]


def test_the_table_of_elections_is_what_the_function_does() -> None:
    """The picture's orders are those of Kafka's text; a function that is not an order of choices has no table."""
    kinds = {kind.name: [choice.name for choice in ELECTIONS.order(kind)] for kind in ElectionKind}
    assert kinds == {
        "ONLINE": ["CURRENT", "FIRST_VALID", "LAST_KNOWN", "NOBODY"],
        "PREFERRED": ["PREFERRED", "CURRENT", "FIRST_VALID", "LAST_KNOWN", "NOBODY"],
        "UNCLEAN": ["CURRENT", "FIRST_VALID", "LAST_KNOWN", "OUTSIDE", "NOBODY"],
    }
    with pytest.raises(SpecError, match="does not take the first possible choice"):
        replace(ELECTIONS, decide=choose_against_the_order).order(ElectionKind.ONLINE)
    with pytest.raises(SpecError, match="takes OUTSIDE, which is not possible"):
        replace(ELECTIONS, decide=choose_the_impossible).order(ElectionKind.ONLINE)


def choose_against_the_order(kind: int, preferred: int, leader: int, some: int, last: int, up: int) -> int:
    """Elect the last known leader before anybody else, but only if nobody is up."""
    return LeaderChoice.LAST_KNOWN if last and not up else choose(kind, preferred, leader, some, last, up)


def choose_the_impossible(kind: int, preferred: int, leader: int, some: int, last: int, up: int) -> int:
    """Elect who is up, even if nobody is."""
    return LeaderChoice.OUTSIDE


def test_the_table_of_elections_is_drawn() -> None:
    """Each kind has its chain in the picture, and its column in the table, in the order of the function."""
    dot, text = choices_dot(ELECTIONS), choices_markdown(ELECTIONS)
    for kind in ElectionKind:
        order = ELECTIONS.order(kind)
        assert [name.split("-")[2] for name in re.findall(rf'id="(Elections-{kind.name}-\w+)"', dot)] == [c.name for c in order]
        column = 2 + kind
        cells = {row.split("|")[1].strip(): row.split("|")[1 + column].strip() for row in text.splitlines() if row.startswith("| ")}
        assert {name: cell for name, cell in cells.items() if cell.isdigit()} == {
            choice.name: str(place + 1) for place, choice in enumerate(order)
        }


def test_large_broker_ids_complete_a_reassignment() -> None:
    """In 4.3 a reassignment that adds fewer replicas than it removes waits for all that stay, with broker ids above 61 too."""
    added, removed = BrokerSet.of({101}), BrokerSet.of({102, 103})
    isr = BrokerSet.of({101, 102, 103})
    assert not reassignment_completes(ReassignmentCompletion.ADDED_IF_MANY, (101, 104, 102, 103), added, removed, isr)
    assert reassignment_completes(ReassignmentCompletion.ADDED_IF_MANY, (101, 102, 103), added, BrokerSet.of({103}), isr)
