"""The decisions about a replicated log that differ between eras, compared with a second statement of each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from kafka_spec.spec.decisions.log import (
    divergence_offset,
    first_truncation,
    follower_goes_on,
    nothing_is_left_to_truncate,
    unflushed_may_be_lost,
)
from kafka_spec.spec.decisions.variants import FollowerSkip, SuffixLoss, Truncation


@dataclass(frozen=True)
class Entry:
    """An entry of a log."""

    record: int
    epoch: int


def logs(longest: int) -> list[list[Entry]]:
    """Return every log up to a length, of two records and two epochs; epochs never decrease."""
    entries = [Entry(record, epoch) for record in (0, 1) for epoch in (0, 1)]
    every = [list(log) for length in range(longest + 1) for log in product(entries, repeat=length)]
    return [log for log in every if [entry.epoch for entry in log] == sorted(entry.epoch for entry in log)]


@pytest.mark.parametrize(
    ("end", "high_watermark", "at_once"),
    [
        (0, 0, 0),
        (3, 0, 0),
        (3, 2, 2),
        (3, 3, 3),
        (2, 3, 2),  # a checkpointed high watermark above a log that lost its end
    ],
)
def test_where_a_new_follower_truncates_first(end: int, high_watermark: int, at_once: int) -> None:
    """Up to 0.10 a new follower truncates to its high watermark and fetches; later it truncates nothing and asks its leader."""
    assert first_truncation(end, high_watermark, Truncation.HIGH_WATERMARK) == (at_once, 0)
    assert first_truncation(end, high_watermark, Truncation.DIVERGENCE) == (end, 1)


def test_a_follower_fetches_once_its_log_is_a_prefix() -> None:
    """A follower that compares epochs may fetch if its log is a prefix of its leader's; one that does not compare always may."""
    compared = {True: 0, False: 0}
    for leader, follower in product(logs(3), repeat=2):
        is_prefix = leader[: len(follower)] == follower
        compared[is_prefix] += 1

        assert nothing_is_left_to_truncate(leader, follower, Truncation.DIVERGENCE) == is_prefix
        assert nothing_is_left_to_truncate(leader, follower, Truncation.HIGH_WATERMARK)
        if is_prefix:
            assert divergence_offset(leader, follower) == len(follower)

    assert min(compared.values()) > 50


@pytest.mark.parametrize(
    ("role", "leader", "named", "from_2_1", "up_to_2_0_0"),
    [
        ("follower", 1, 1, False, True),  # the same leader, regardless of changes in between: KAFKA-7164
        ("follower", 1, 2, False, False),
        ("follower", -1, -1, False, True),
        ("leader", 1, 1, False, False),  # it led, and follows now
        ("leader", 1, 2, False, False),
        ("none", -1, 1, False, False),  # its process has just started
        ("none", -1, -1, False, False),
    ],
)
def test_which_followers_keep_their_log(role: str, leader: int, named: int, from_2_1: bool, up_to_2_0_0: bool) -> None:
    """A larger leader epoch makes every follower truncate and fetch again; up to 2.0.0 not one whose leader stays the same."""
    follows = int(role == "follower")

    assert follower_goes_on(follows, leader, named, FollowerSkip.SAME_EPOCH) is from_2_1
    assert follower_goes_on(follows, leader, named, FollowerSkip.SAME_LEADER) is up_to_2_0_0


@pytest.mark.parametrize(
    ("where", "in_isr", "others_hold", "may"),
    [
        ("outside of the ISR", 0, 0, {SuffixLoss.OUTSIDE_ISR, SuffixLoss.OTHERS_HOLD, SuffixLoss.ANY}),
        ("outside of the ISR, and others hold the log", 0, 1, {SuffixLoss.OUTSIDE_ISR, SuffixLoss.OTHERS_HOLD, SuffixLoss.ANY}),
        ("in the ISR, and others hold the log", 1, 1, {SuffixLoss.OTHERS_HOLD, SuffixLoss.ANY}),
        ("in the ISR, alone with the log", 1, 0, {SuffixLoss.ANY}),
    ],
)
def test_where_a_crash_loses_what_was_not_flushed(where: str, in_isr: int, others_hold: int, may: set[SuffixLoss]) -> None:
    """Each of the three assumptions allows the cases of the previous one, and one more case."""
    allowed = {loss for loss in SuffixLoss if unflushed_may_be_lost(in_isr, others_hold, loss)}

    assert allowed == may, where
