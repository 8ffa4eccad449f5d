"""What the families of spec/kraft share: the bounds on events, the usual sizes, and what a family cannot test, with reasons."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.family import family
from kafka_spec.spec.vocabulary.table import Untestable

HAPPENINGS = (
    "crashes", "lossy_crashes", "fences", "isr_shrinks", "controlled_shutdowns", "preferred_elections", "unclean_elections",
    "delayed_fetches", "lost_answers", "stale_answers", "re_registrations", "unregistrations", "shutdown_timeouts",
    "reassignments", "deletions", "recreations", "min_isr_changes", "unclean_changes",
    "removed_directories", "failed_directories", "moves", "records",
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

_SIZES = {"brokers": 2, "min_isr": 1, "other_min_isr": 1, "isr_size": 2, "spares": 0, "unclean": 0, "lag": 12, "cache_ahead": 0}
kraft_family = partial(family, {**_SIZES, **dict.fromkeys(HAPPENINGS, 0)})
"""Returns a family: what is not given is as usual."""
