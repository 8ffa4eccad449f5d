"""Model and implementation of the quorum agree: every edge of explored bounds, replayed from its loaded source.

Each source state is loaded into controllers with logs and quorum-state files, and read back; then these do the rule's step, and are
read again. The model's own bookkeeping, `spent` and `history`, is taken from its target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from edges import check_edges, fired, replay

from kafka_spec.conformance.quorum_replay.rules import STEPS
from kafka_spec.impl.kraft.quorum import elections, node
from kafka_spec.impl.kraft.quorum.leader_state import LeaderState
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.quorum.member import QuorumMember
from kafka_spec.impl.kraft.quorum.node import QuorumNode
from kafka_spec.spec.quorum.eras import SPECS
from kafka_spec.spec.quorum.fixed import FIXED

NAMED = {bounds.name: bounds.values for bounds in FIXED.bound_sets}
SLOW_NETWORK = NAMED["three"] | {"lost_answers": 1, "delayed_fetches": 1}
CRASHES = NAMED["three"] | {"crashes": 1, "lossy_crashes": 1}
THREE_EPOCHS = NAMED["three"] | {"epochs": 3, "log_size": 4}
OURS = tuple(spec for spec in SPECS if spec.state is FIXED.state)
"""The versions of our own model; the public ones have another state."""

QUICK: dict[str, tuple[str, Mapping[str, int], int]] = {
    "three voters": ("fixed", NAMED["three"], 20),
    "one voter": ("fixed", NAMED["one"], 1),
    "two voters": ("fixed", NAMED["two"], 97),
    "pre-votes": ("fixed", NAMED["pre_votes"], 197),
    "three epochs": ("fixed", THREE_EPOCHS, 997),
    "crashes": ("fixed", CRASHES, 197),
    "lost batches": ("fixed", NAMED["lossy"], 29),
    "a slow network": ("fixed", SLOW_NETWORK, 197),
    "a voter is added": ("fixed", NAMED["add"], 197),
    "one to three": ("fixed", NAMED["one_to_three"], 97),
    "configured voters": ("fixed", NAMED["configured"], 1),
    "disks formatted again": ("fixed", NAMED["formatted"], 47),
    "a disk formatted too early": ("voter-formatted-again", NAMED["formatted"], 1_997),
    "a voter is removed": ("fixed", NAMED["remove"], 997),
    "two to one": ("fixed", NAMED["two_to_one"], 97),
    "a voter is replaced": ("fixed", NAMED["replace"], 1_997),
    "snapshots": ("fixed", NAMED["snapshots"], 197),
    "two snapshots and crashes": ("fixed", NAMED["two_snapshots"], 197),
    "a snapshot, and a voter is added": ("fixed", NAMED["snapshot_and_add"], 497),
    "a snapshot, and a voter is removed": ("fixed", NAMED["snapshot_and_remove"], 1_497),
    "voters that a snapshot drops": ("voters-dropped-by-snapshot", NAMED["snapshot_and_remove"], 1_497),
    "voters of a log that is lost": ("voters-of-lost-log-stay", NAMED["snapshot_and_remove"], 1_497),
    "a snapshot that does not replace the log": ("snapshot-does-not-replace-log", NAMED["snapshots"], 197),
    "3.3: the only voter": ("era_3_3", NAMED["one"], 1),
    "4.3: a voter is removed": ("era_4_3", NAMED["remove"], 997),
    "4.3: two to one": ("era_4_3", NAMED["two_to_one"], 97),
    "a reader that stays": ("voters-skipped-after-truncation", NAMED["replace"], 1_997),
    "a leader that resigns into its own epoch": ("KAFKA-18379", NAMED["pre_votes"], 297),
    "a leader that starts again leads": ("KAFKA-10527", NAMED["lossy"], 29),
    "observers that do not flush": ("KAFKA-17332", NAMED["add"], 197),
    "voters that are configured anew": ("voters-configured-from-one-to-three", NAMED["configured"], 97),
    "a node that is formatted alone": ("formatted-with-other-voters", NAMED["three"], 297),
    "commits of earlier epochs": ("commits-of-earlier-epochs", THREE_EPOCHS, 997),
    "a change before the own epoch": ("change-before-own-epoch", NAMED["replace"], 1_997),
}
"""For each case its model, its bounds, and which part of the states is replayed: those of each n-th state of every level."""
LARGER = (
    ("fixed", "three", 1),
    ("fixed", "two", 1),
    ("fixed", "pre_votes", 7),
    ("fixed", "lossy", 1),
    ("fixed", "add", 7),
    ("fixed", "one_to_three", 1),
    ("fixed", "formatted", 1),
    ("fixed", "two_to_one", 1),
    ("fixed", "remove", 97),
    ("fixed", "replace", 97),
    ("fixed", "two_removals", 997),
    ("fixed", "network", 997),
    ("fixed", "snapshots", 17),
    ("fixed", "two_snapshots", 17),
    ("fixed", "snapshot_and_remove", 97),
    ("era_4_3", "snapshot_and_remove", 97),
    ("era_3_9", "two_removals", 997),
    ("era_4_3", "two_to_one", 1),
    ("change-before-change", "two_removals", 997),
)

Record = Callable[[str, object], None]


@pytest.mark.share(8)
@pytest.mark.parametrize("case", QUICK)
def test_every_edge_agrees(case: str, record_property: Record) -> None:
    """Each state can be loaded and read back, and each edge leads the implementation to the model's target state."""
    model, values, parts = QUICK[case]
    check_edges(f"quorum/{model}", values, record_property, parts)


@pytest.mark.long
@pytest.mark.parametrize(("model", "name", "parts"), LARGER)
def test_edges_of_larger_bounds_agree(model: str, name: str, parts: int, record_property: Record) -> None:
    """The same in larger bounds, whole or for the edges from each n-th state."""
    check_edges(f"quorum/{model}", NAMED[name], record_property, parts)


def test_every_rule_is_replayed() -> None:
    """The quick cases have edges of every rule."""
    met = {rule for model, values, _ in QUICK.values() if model == "fixed" for rule in fired(FIXED, values)}
    assert {rule.name for rule in FIXED.rules} == met


def test_every_rule_has_a_step() -> None:
    """Each rule of any version has a step; no step is left over."""
    rules = {rule.name for spec in OURS for rule in spec.rules}
    for rule in rules:
        STEPS.step_of(rule)
    assert set(STEPS) == rules


# ---------------------------------------------------------------------------------------------------------------------
# The comparison can fail: a defect of the implementation is found, on an edge, in a field


def votes_twice(patch: pytest.MonkeyPatch) -> None:
    """A node votes for whoever asks."""
    patch.setattr(elections, "vote_is_granted", lambda *_: True)


def forgets_vote(patch: pytest.MonkeyPatch) -> None:
    """A vote is not on disk."""
    patch.setattr(QuorumMember, "voted", property(lambda _: -1))


def every_log_is_new(patch: pytest.MonkeyPatch) -> None:
    """A node votes for a log that is older than its own."""
    patch.setattr(elections, "is_up_to_date", lambda *_: True)


def counts_half(patch: pytest.MonkeyPatch) -> None:
    """A leader commits what half of its voters have."""
    patch.setattr(LeaderState, "end_of_majority", lambda leading, _, own_end, voters: max(own_end, *leading.ends.values(), 0))


def never_truncates(patch: pytest.MonkeyPatch) -> None:
    """A follower keeps what its leader does not have."""
    patch.setattr(QuorumLog, "truncate", lambda log, *_: log.end)


def hides_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A leader does not report its high watermark."""
    patch.setattr(QuorumMember, "known_high_watermark", property(lambda _: -1))


def does_not_flush(patch: pytest.MonkeyPatch) -> None:
    """A follower does not flush what it fetches."""
    take = QuorumNode.take_fetch

    def taken(follower: QuorumNode, *arguments: Any) -> bool:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(follower.log, "flush", lambda: None)
            return take(follower, *arguments)

    patch.setattr(QuorumNode, "take_fetch", taken)


def refuses_changes(patch: pytest.MonkeyPatch) -> None:
    """A leader changes no voters."""
    patch.setattr(node, "change_is_allowed", lambda *_: False)


MUTATIONS: dict[Callable[[pytest.MonkeyPatch], None], tuple[str, str, str]] = {
    votes_twice: ("three", "RefuseVote(", "the vote is granted"),
    forgets_vote: ("three", "Vote(", "voted"),
    every_log_is_new: ("three", "RefuseVote(", "the vote is granted"),
    counts_half: ("three", "Append(", "high_watermark"),
    never_truncates: ("network", "Fetch(", "log"),
    hides_high_watermark: ("three", "Fetch(", "high_watermark"),
    does_not_flush: ("lossy", "Fetch(", "flushed"),
    refuses_changes: ("one_to_three", "AddVoter(", "it refuses"),
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_what_is_broken_is_found(mutation: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect put into the implementation makes the replay name an edge and a field that differ."""
    name, rule, field = MUTATIONS[mutation]
    mutation(monkeypatch)
    failure, *_ = replay(FIXED, NAMED[name], (rule[:-1],), parts=7).failures
    assert failure.startswith((rule, "load and project")) and field in failure, failure
