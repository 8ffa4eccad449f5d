"""The bounds of spec/kraft: families of faults and requests of operators; and those of the public models, as TLC ran them."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.family import family
from kafka_spec.spec.untested import ISR_COMPLETE, NO_LEADER_MISSING
from kafka_spec.spec.vocabulary.table import Untestable

HAPPENINGS = (
    "crashes", "lossy_crashes", "fences", "isr_shrinks", "controlled_shutdowns", "preferred_elections", "unclean_elections",
    "delayed_fetches", "lost_answers", "stale_answers", "re_registrations", "reassignments", "deletions", "recreations",
    "records",
)  # fmt: skip
"""The bounds of KRaft on events of the environment."""

NO_UNCLEAN_ELECTION = Untestable("no election is unclean", ("UncleanElectionHasCause",))
NOTHING_REFUSED = Untestable("no proposal is refused", ("ProposalsAreValid",))
ELR_EMPTY = Untestable("the ELR is empty", ("ElrBesideSmallIsr",))
ALL_ACTIVE = Untestable("everybody is active", ("IsrIsActive",))
NO_RESTART = Untestable("no process restarts", ("OneEpochForEachProcess",))
NOBODY_JOINS = Untestable("nobody joins the ISR", ("JoinsInItsProcess",))
NOBODY_PROPOSES = Untestable("nobody proposes an ISR", ("ProposalsSettle",))
NO_REASSIGNMENT_WAITS = Untestable("no reassignment waits", ("ReassignmentEnds",))

_SIZES = {"brokers": 2, "min_isr": 1, "isr_size": 2, "spares": 0, "unclean": 0, "lag": 12, "cache_ahead": 0}
_kraft = partial(family, {**_SIZES, **dict.fromkeys(HAPPENINGS, 0)})

KRAFT = (
    _kraft(
        "fence",
        "a running broker is fenced, among two brokers with a record",
        min_isr=2,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION, NO_LEADER_MISSING, NOTHING_REFUSED),
    ),
    _kraft(
        "first_look",
        "nothing fails: the second replica joins the ISR",
        isr_size=1,
        records=1,
        cannot_test=(ELR_EMPTY, ALL_ACTIVE, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING, NOTHING_REFUSED),
    ),
    _kraft("two_fences", "two fences, two records", min_isr=2, fences=2, records=2, cannot_test=(NO_UNCLEAN_ELECTION,)),
    _kraft("shrink", "a slow follower, and a crash", crashes=1, isr_shrinks=1, records=1),
    _kraft(
        "stale_answer",
        "a former controller refuses a proposal",
        fences=1,
        stale_answers=1,
        records=1,
        cannot_test=(ELR_EMPTY, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "lossy",
        "a crash that loses a record",
        min_isr=2,
        lossy_crashes=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION, NOTHING_REFUSED),
    ),
    _kraft(
        "lossy_and_fence",
        "a crash that loses a record, and a fence",
        min_isr=2,
        lossy_crashes=1,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft("rejoin_lossy", "a replica outside the ISR loses a record while it joins", isr_size=1, lossy_crashes=1, records=1),
    _kraft(
        "answers",
        "a proposal whose member restarts, with answers that are lost or of the past, and a delayed fetch",
        isr_size=1,
        lossy_crashes=1,
        fences=1,
        delayed_fetches=1,
        stale_answers=1,
        lost_answers=1,
        records=1,
    ),
    _kraft("shutdown", "a controlled shutdown, a crash, a record", controlled_shutdowns=1, crashes=1, records=1),
    _kraft(
        "two_shutdowns",
        "both brokers restart in order",
        min_isr=2,
        controlled_shutdowns=2,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft("two_crashes", "both brokers crash", min_isr=2, crashes=2, records=1),
    _kraft("two_lossy", "both brokers lose records", min_isr=2, lossy_crashes=2, fences=1, records=1),
    _kraft("fence_and_crash", "a fence and a crash", fences=1, crashes=1, records=1),
    _kraft(
        "registers_again",
        "a running broker registers again",
        re_registrations=1,
        fences=1,
        records=1,
        cannot_test=(NO_RESTART, ELR_EMPTY, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING, NOTHING_REFUSED),
    ),
    _kraft(
        "proposal_dropped",
        "a slow follower leaves and rejoins, and a fence",
        isr_shrinks=1,
        fences=1,
        records=2,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft(
        "cache_ahead", "the metadata cache is ahead of the replica", cache_ahead=1, fences=1, isr_shrinks=1, crashes=1, records=1
    ),
    _kraft("unclean", "unclean elections, two records", unclean=1, fences=1, crashes=1, records=2),
    _kraft("unclean_on_request", "an operator elects uncleanly", min_isr=2, unclean_elections=1, crashes=1, fences=1, records=1),
    _kraft(
        "preferred",
        "the preferred replica leads again",
        fences=2,
        preferred_elections=1,
        records=2,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft(
        "three_fence",
        "three replicas, a fence",
        brokers=3,
        isr_size=3,
        min_isr=2,
        fences=1,
        records=1,
        cannot_test=(ELR_EMPTY, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING, NOTHING_REFUSED),
    ),
    _kraft(
        "three_join",
        "three replicas, of which one joins the ISR, and a fence",
        brokers=3,
        min_isr=2,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "three_lossy",
        "three replicas, a crash that loses a record",
        brokers=3,
        isr_size=3,
        min_isr=2,
        lossy_crashes=1,
        records=1,
        cannot_test=(ELR_EMPTY, NO_UNCLEAN_ELECTION, NOTHING_REFUSED),
    ),
    _kraft(
        "three_all",
        "three replicas that must all be in sync, a fence and a shrink",
        brokers=3,
        isr_size=3,
        min_isr=3,
        fences=1,
        isr_shrinks=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "three_shutdown",
        "three replicas, a controlled shutdown",
        brokers=3,
        isr_size=3,
        min_isr=2,
        controlled_shutdowns=1,
        records=1,
        cannot_test=(ELR_EMPTY, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING, NOTHING_REFUSED),
    ),
    _kraft(
        "three_lossy_and_fence",
        "three replicas, a crash that loses a record, and a fence: 1.3 million states",
        brokers=3,
        isr_size=3,
        min_isr=2,
        lossy_crashes=1,
        fences=1,
        records=1,
        checked=False,
    ),
    _kraft("reassign_and_crash", "a reassignment among two brokers, and a crash", reassignments=1, crashes=1, records=1),
    _kraft(
        "reassign_and_fence",
        "two reassignments among two brokers, and a fence",
        min_isr=2,
        reassignments=2,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft("reassign_unclean", "reassignments with unclean elections", isr_size=1, unclean=1, reassignments=2, fences=1, records=1),
    _kraft(
        "cancel",
        "a reassignment to one more broker, which is cancelled, with unclean elections",
        spares=1,
        isr_size=1,
        unclean=1,
        reassignments=2,
        fences=1,
        records=1,
    ),
    _kraft(
        "three_cancel",
        "a reassignment to two more brokers, which is cancelled, with unclean elections",
        brokers=3,
        spares=2,
        isr_size=1,
        unclean=1,
        reassignments=2,
        fences=1,
        records=1,
        checked=False,
    ),
    _kraft(
        "cancel_below_min_isr",
        "a reassignment that adds a broker while a replica is behind, which is cancelled",
        brokers=3,
        spares=1,
        isr_size=1,
        min_isr=2,
        reassignments=2,
        cannot_test=(ELR_EMPTY, ALL_ACTIVE, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "three_reassign",
        "two reassignments among three brokers",
        brokers=3,
        spares=1,
        min_isr=2,
        reassignments=2,
        records=1,
        cannot_test=(ELR_EMPTY, ALL_ACTIVE, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "three_reassign_and_crash",
        "a reassignment among three brokers, and a crash",
        brokers=3,
        spares=1,
        min_isr=2,
        reassignments=1,
        crashes=1,
        records=1,
    ),
    _kraft(
        "three_reassign_and_fence",
        "a reassignment among three brokers, and a fence",
        brokers=3,
        spares=1,
        min_isr=2,
        reassignments=1,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft(
        "three_behind",
        "a reassignment of three replicas, of which one is not in sync",
        brokers=3,
        min_isr=2,
        reassignments=1,
        records=1,
        cannot_test=(ELR_EMPTY, ALL_ACTIVE, NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    _kraft(
        "delete_and_crash",
        "a topic is deleted and created again, and a crash",
        deletions=1,
        recreations=1,
        crashes=1,
        records=1,
        cannot_test=(ELR_EMPTY, NO_UNCLEAN_ELECTION),
    ),
    _kraft(
        "delete_and_fence",
        "a topic is deleted and created again while a broker is fenced",
        isr_size=1,
        deletions=1,
        recreations=1,
        fences=1,
        records=2,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    _kraft(
        "delete_and_reassign",
        "a topic is reassigned, deleted and created again",
        reassignments=1,
        deletions=1,
        recreations=1,
        records=1,
        cannot_test=(
            ELR_EMPTY,
            ALL_ACTIVE,
            NOBODY_JOINS,
            NO_UNCLEAN_ELECTION,
            NOTHING_REFUSED,
            NO_LEADER_MISSING,
            ISR_COMPLETE,
            NOBODY_PROPOSES,
            NO_REASSIGNMENT_WAITS,
        ),
    ),
)
"""The bounds of spec/kraft: families of scenarios."""

_PUBLIC_SIZES = {"brokers": 2, "values": 1, "min_isr": 1, "isr_size": 1}
_PUBLIC_LIMITS = {"losses": 0, "fences": 0, "shrinks": 0, "metadata": 16, "in_flight": 10, "processed": 40}
_public = partial(family, {**_PUBLIC_SIZES, **_PUBLIC_LIMITS})

PUBLIC_KRAFT = (
    _public("a1", "no fault: one replica joins the ISR"),
    _public("a2", "one fence", isr_size=2, fences=1),
    _public("a3", "one broker loses its log", isr_size=2, losses=1),
    _public("c4b", "one replica starts outside the ISR, and one broker loses its log", losses=1),
    _public("c5b", "one replica starts outside the ISR, and one fence", fences=1),
    _public("c1", "min.insync.replicas 2, one fence, one broker loses its log", isr_size=2, min_isr=2, losses=1, fences=1),
    _public("f1", "min.insync.replicas 2, one broker loses its log", isr_size=2, min_isr=2, losses=1),
    _public("e3", "three brokers, no fault", brokers=3, isr_size=2, min_isr=2),
)
"""The constants of runs of TLC on the public model, by the names in tests/oracles."""
