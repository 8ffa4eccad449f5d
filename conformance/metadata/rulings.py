"""The decisions that rule a log: which release its active controller is, epoch by epoch, and which features are on.

A controller registers with the newest metadata.version that it knows, which names its release (3.7 and later). Before, only the
level in force is known: the release is that one or a later one, and the first that explains the records is taken. `elr` and
`bump_on_shrink` follow from the log's own features, whatever the release.

Source: Kafka 3.3 to 4.4 MetadataVersion.java, RegisterControllerRecord.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from kafka_spec.spec.case import Case, has, release_numbers
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.cases import CASE, CASES
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.vocabulary.table import Constants

NO_BUMP_FROM = 12
"""The metadata.version 3.6-IV0, from which a shrink of the ISR leaves the leader epoch (KAFKA-15021)."""


@dataclass(frozen=True)
class Release:
    """A release of Kafka, and the newest metadata.version that it knows."""

    name: str
    newest: int

    @property
    def bump(self) -> BumpOnShrink:
        """Which shrinks raise the leader epoch where the metadata version is before 3.6-IV0."""
        return BumpOnShrink.WANTED if release_numbers(self.name) < (3, 8) else BumpOnShrink.WRITTEN

    @property
    def cases(self) -> tuple[Case, ...]:
        """The known bugs and earlier designs that it has."""
        return _cases_of(self.name)


@cache
def _cases_of(release: str) -> tuple[Case, ...]:
    return tuple(case for case in CASES if has(case.releases, release) and not case.from_outside and not case.not_expressed)


RELEASES: tuple[Release, ...] = (
    Release("3.3.2", 7),
    Release("3.4.1", 8),
    Release("3.5.2", 11),
    Release("3.6.2", 14),
    Release("3.7.2", 19),
    Release("3.8.1", 20),
    Release("3.9.1", 21),
    Release("4.0.2", 25),
    Release("4.1.2", 27),
    Release("4.1.0", 27),
    Release("4.2.1", 29),
    Release("4.3.1", 30),
    Release("4.4.0", 33),
)
"""The releases, oldest first; of 4.1 the newest is tried before the first, which decides otherwise."""
BY_NAME: Mapping[str, Release] = {one.name: one for one in RELEASES}
CONTROLLER_DECISIONS = frozenset(
    {
        "elr", "last_known_acceptable", "last_known_leader", "new_incarnation", "clean_shutdown_detected", "bump_on_shrink",
        "same_incarnation_keeps_epoch", "bar_ineligible", "reassignment_completion", "reassignment_lists", "emptied_isr",
        "cancellation_keeps_min_isr", "elr_within_replicas", "new_isr_active", "completes_after_election",
        "unclean_setting_honoured",
    }
)  # fmt: skip
"""The decisions of the controller: the others are made by leaders, and leave no record."""


def candidates(newest: int | None, in_force: int) -> tuple[Release, ...]:
    """Return the releases that the active controller may be, the likeliest first.

    `newest` is the newest metadata.version that it registered with, None if it has not; `in_force` is the level of the feature.
    """
    if newest is not None:
        known = [one.newest for one in RELEASES if one.newest >= newest]
        level = min(known, default=RELEASES[-1].newest)
        return tuple(one for one in RELEASES if one.newest == level)
    return tuple(one for one in RELEASES if one.newest >= in_force) or RELEASES[-1:]


@cache
def constants_of(cases: tuple[str, ...], has_elr: bool, bump: BumpOnShrink) -> Constants:
    """Return the decisions of `fixed` with these cases, at the features of a log."""
    decided = {decision.name: int(decision.value) for decision in FIXED.decisions}
    for name in cases:
        decided.update({decision: int(value) for decision, value in CASE[name].decisions.items()})
    decided["elr"] = Checked.YES if has_elr else Checked.NO
    decided["bump_on_shrink"] = bump
    return Constants(decided)


@dataclass(frozen=True)
class Ruling:
    """What decides now: a release, whether eligible leader replicas are enabled, whether a shrink raises the leader epoch."""

    release: Release
    has_elr: bool
    bumps: bool
    without: str = ""
    """A case that is left out, to see whether it acts."""

    @cached_property
    def k(self) -> Constants:
        """The decisions."""
        cases = tuple(case.name for case in self.release.cases if case.name != self.without)
        bumps = self.bumps and self.without != "epoch-bump-on-shrink"
        return constants_of(cases, self.has_elr, self.release.bump if bumps else BumpOnShrink.NONE)

    def off(self, case: str) -> Ruling:
        """Return the same without one case."""
        return Ruling(self.release, self.has_elr, self.bumps, case)

    @cached_property
    def acting(self) -> tuple[str, ...]:
        """The cases that may act on a record here: those of the controller, but for what the features decide."""
        own = [case.name for case in self.release.cases if set(case.decisions) & CONTROLLER_DECISIONS]
        found = [name for name in own if name not in ("last-replica-standing", "epoch-bump-on-shrink")]
        return (*found, *(("epoch-bump-on-shrink",) if self.bumps else ()))
