"""Ranks reach the numbers inside a map, and the normal form is right there."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.model_check.check import check
from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.language.domain import MapOf, Range, drop, field, put
from kafka_spec.spec.vocabulary.table import Ranks, Rule, Spec, invariant

TIMES = Range(-1, 5, name="time")
HOLDER = Broker(2)


@dataclass
class Lease:
    """Since when somebody holds it."""

    time: int = field(TIMES)


@dataclass
class Leases:
    """What time it is, and the lease of each holder that has one."""

    now: int = field(TIMES)
    leases: dict[int, Lease] = field(MapOf(HOLDER, Lease))


def it_may_go_on(s: Leases) -> bool:
    """The clock has not stopped."""
    return s.now < 4


def tick(s: Leases) -> None:
    """The clock goes on."""
    s.now = s.now + 1


def take(s: Leases, holder: int) -> None:
    """Take or renew a lease."""
    put(s.leases, holder, time=s.now)


def has_a_lease(s: Leases, holder: int) -> bool:
    """There is a lease of this holder."""
    return holder in s.leases


def end(s: Leases, holder: int) -> None:
    """End a lease."""
    drop(s.leases, holder)


def none_is_of_the_future(s: Leases) -> bool:
    """No lease was taken later than now."""
    return all(s.leases[holder].time <= s.now for holder in s.leases)


LEASES = Spec(
    "toys/leases",
    "leases of a clock",
    Leases,
    (
        Rule("Tick", "clock", "the clock goes on", "", (tick,), guards=(it_may_go_on,), kind="operator"),
        Rule("Take", "holder", "{holder} takes a lease", "", (take,), {"holder": HOLDER}),
        Rule("End", "holder", "the lease of {holder} ends", "", (end,), {"holder": HOLDER}, (has_a_lease,)),
    ),
    properties=(invariant("NoFuture", none_is_of_the_future, "no lease is of the future", ""),),
    normal_form=(Ranks("time", newest="now", keep=-1),),
)


def test_ranks_inside_a_map() -> None:
    """The normal forms of all states are those that are searched, 22 of 139; both engines find them."""
    compared = check(LEASES, normal_form=True, verify_normal_form=True, everything=True)

    assert (compared.verdict, compared.distinct, compared.unreduced) == ("holds", 22, 139)
    assert check(LEASES, normal_form=True, engine="both", everything=True).distinct == 22
