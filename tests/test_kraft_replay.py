"""Model and implementation of KRaft agree: every edge of explored bounds, replayed from its loaded source.

Each source state is loaded into the implementation and read back; then the implementation does the rule's step, and is read again.
The model's own bookkeeping, `spent` and `history`, is taken from its target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from edges import check_edges, fired, replay

from kafka_spec.conformance.kraft_replay.rules import STEPS
from kafka_spec.impl.kraft import controller, controller_memory, replicas
from kafka_spec.impl.kraft.isr import KRaftAlterPartitionManager
from kafka_spec.impl.kraft.partition import HostedKRaftPartition
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.protocol.kraft_requests import ProposedIsr
from kafka_spec.spec.kraft.eras import SPECS
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.vocabulary.table import SpecError

NAMED = {bounds.name: bounds.values for bounds in FIXED.bound_sets}
OURS = tuple(spec for spec in SPECS if spec.state is FIXED.state)
"""The versions of our own model; the public ones have another state."""


def bounds(like: str, **changes: int) -> dict[str, int]:
    """Return a bound set of KRaft, with changes."""
    return {**NAMED[like], **changes}


QUICK: dict[str, tuple[str, Mapping[str, int], int]] = {
    "nothing fails": ("fixed", bounds("first_look"), 1),
    "a fence": ("fixed", bounds("fence"), 2),
    "a delayed fetch": ("fixed", bounds("first_look", delayed_fetches=1), 1),
    "a fetch outlives its leader": ("fixed", bounds("first_look", delayed_fetches=1, fences=1), 97),
    "a lost answer": ("fixed", bounds("first_look", lost_answers=1), 1),
    "a former controller": ("fixed", bounds("stale_answer"), 5),
    "lost records": ("fixed", bounds("lossy"), 3),
    "a lossy rejoin": ("fixed", bounds("rejoin_lossy"), 5),
    "a slow follower": ("fixed", bounds("shrink"), 29),
    "a shutdown": ("fixed", bounds("shutdown"), 293),
    "a preferred election": ("fixed", bounds("preferred"), 997),
    "an unclean election": ("fixed", bounds("unclean_on_request"), 997),
    "a cache ahead": ("fixed", bounds("fence", cache_ahead=1), 3),
    "a second registration": ("fixed", bounds("registers_again"), 5),
    "another epoch for one process": ("KAFKA-16952", bounds("registers_again"), 37),
    "a reassignment and a crash": ("fixed", bounds("reassign_and_crash"), 29),
    "two reassignments and a fence": ("fixed", bounds("reassign_and_fence"), 1997),
    "reassignments with unclean elections": ("fixed", bounds("reassign_unclean", reassignments=1), 997),
    "a reassignment is cancelled": ("fixed", bounds("cancel"), 1997),
    "a deletion and a crash": ("fixed", bounds("delete_and_crash"), 29),
    "a deletion and a fence": ("fixed", bounds("delete_and_fence"), 997),
    "a deletion and a reassignment": ("fixed", bounds("delete_and_reassign"), 5),
    "a late fetch and a topic of the same name": (
        "fixed",
        bounds("first_look", delayed_fetches=1, deletions=1, recreations=1),
        29,
    ),
    "an era before deleted logs were out of the way": ("KAFKA-14616", bounds("delete_and_crash"), 97),
    "an era that deleted assigned logs": ("KAFKA-13127", bounds("delete_and_crash"), 97),
    "an era that kept removed replicas": ("KAFKA-13198", bounds("reassign_and_crash"), 97),
    "an era of fetches without topic ids": ("fetch-without-topic-id", bounds("delete_and_crash"), 97),
    "a larger min.insync.replicas": ("fixed", bounds("raise_min_isr"), 97),
    "a smaller min.insync.replicas": ("fixed", bounds("lower_min_isr"), 997),
    "a smaller one, and no ISR": ("fixed", bounds("lower_while_offline"), 997),
    "min.insync.replicas and a deletion": ("fixed", bounds("min_isr_and_deletion"), 293),
    "4.4: a larger min.insync.replicas": ("era_4_3", bounds("raise_min_isr"), 97),
    "4.4: a smaller one, and no ISR": ("era_4_3", bounds("lower_while_offline"), 997),
    "unclean elections are allowed": ("fixed", bounds("allow_unclean"), 97),
    "they are allowed, and forbidden again": ("fixed", bounds("allow_and_forbid"), 997),
    "they are allowed, and the topic is deleted": ("fixed", bounds("delete_and_fence", unclean_changes=1, records=0), 997),
    "3.8: unclean elections are allowed": ("KAFKA-12670", bounds("allow_unclean"), 97),
    "a directory is taken away": ("fixed", bounds("removed_directory"), 97),
    "4.4: a directory is taken away": ("era_4_3", bounds("removed_directory"), 97),
    "a broker is unregistered": ("fixed", bounds("unregistered"), 5),
    "a broker is unregistered, and loses records": ("fixed", bounds("unregistered_lossy"), 3),
    "3.9: a broker is unregistered": ("era_3_9", bounds("unregistered"), 5),
    "a target is unregistered": ("fixed", bounds("unregistered_target"), 37),
    "a shutdown takes too long": ("fixed", bounds("shutdown_times_out"), 37),
    "a replica moves to another directory": ("fixed", bounds("moved_replica"), 997),
    "4.4: a replica moves to another directory": ("era_4_3", bounds("moved_replica"), 997),
    "a moving replica truncates": ("fixed", bounds("moved_unclean"), 1997),
    "a directory fails": ("fixed", bounds("failed_directory"), 297),
    "a directory fails, and a crash": ("fixed", bounds("directory_and_crash"), 997),
    "4.4: a directory fails": ("era_4_3", bounds("failed_directory"), 297),
    "settings after replicas": ("settings-after-replicas", bounds("raise_and_fence", cache_ahead=1), 997),
    "3.3": ("era_3_3", bounds("rejoin_lossy"), 5),
    "3.9": ("era_3_9", bounds("shutdown"), 293),
    "4.0": ("era_4_0", bounds("two_crashes"), 293),
    "4.1": ("era_4_1", bounds("two_shutdowns"), 293),
}
"""For each case its model, its bounds, and which part of the states is replayed: those of each n-th state of every level."""
WHOLE = (
    ("fixed", "lossy"),
    ("fixed", "stale_answer"),
    ("fixed", "rejoin_lossy"),
    ("fixed", "registers_again"),
    ("fixed", "shrink"),
    ("era_3_3", "rejoin_lossy"),
    ("era_3_5", "lossy"),
    ("era_3_7", "stale_answer"),
    ("era_3_9", "lossy"),
    ("era_4_0", "stale_answer"),
    ("era_4_1", "lossy"),
    ("fixed", "reassign_and_crash"),
    ("fixed", "delete_and_crash"),
    ("fixed", "delete_and_reassign"),
    ("era_4_1", "reassign_and_crash"),
    ("era_3_5", "delete_and_crash"),
)
"""Model and bound set of which every edge is replayed; larger ones are sampled."""
LARGER = (
    ("fixed", "two_fences", 5),
    ("fixed", "lossy_and_fence", 3),
    ("fixed", "shutdown", 3),
    ("fixed", "two_shutdowns", 3),
    ("fixed", "two_crashes", 3),
    ("fixed", "proposal_dropped", 1),
    ("fixed", "preferred", 5),
    ("fixed", "unclean", 7),
    ("fixed", "answers", 97),
    ("fixed", "cache_ahead", 37),
    ("fixed", "three_lossy", 3),
    ("fixed", "three_shutdown", 7),
    ("fixed", "reassign_and_fence", 11),
    ("fixed", "reassign_unclean", 37),
    ("fixed", "cancel", 11),
    ("fixed", "raise_min_isr", 3),
    ("fixed", "lower_min_isr", 37),
    ("fixed", "min_isr_and_back", 37),
    ("fixed", "removed_directory", 3),
    ("fixed", "failed_directory", 37),
    ("fixed", "two_directories", 997),
    ("fixed", "three_unregistered", 97),
    ("fixed", "shutdown_times_out", 3),
    ("fixed", "moved_replica", 97),
    ("fixed", "moved_unclean", 97),
    ("era_4_3", "moved_replica", 37),
    ("era_4_3", "failed_directory", 37),
    ("era_4_3", "raise_min_isr", 3),
    ("era_4_3", "lower_while_offline", 37),
    ("fixed", "cancel_below_min_isr", 11),
    ("fixed", "three_reassign", 97),
    ("fixed", "three_reassign_and_crash", 97),
    ("fixed", "three_behind", 97),
    ("fixed", "delete_and_fence", 37),
    ("era_4_3", "three_reassign", 499),
    ("era_3_3", "fence_and_crash", 5),
    ("era_3_9", "two_shutdowns", 5),
    ("era_4_1", "lossy_and_fence", 5),
)

Record = Callable[[str, object], None]


@pytest.mark.share(20)
@pytest.mark.parametrize("case", QUICK)
def test_every_edge_agrees(case: str, record_property: Record) -> None:
    """Each state can be loaded and read back, and each edge leads the implementation to the model's target state."""
    model, values, parts = QUICK[case]
    check_edges(f"kraft/{model}", values, record_property, parts)


@pytest.mark.long
@pytest.mark.parametrize(("model", "name"), WHOLE)
def test_every_edge_of_small_bounds_agrees(model: str, name: str, record_property: Record) -> None:
    """The same for every edge."""
    check_edges(f"kraft/{model}", NAMED[name], record_property)


@pytest.mark.long
@pytest.mark.parametrize(("model", "name", "parts"), LARGER)
def test_edges_of_larger_bounds_agree(model: str, name: str, parts: int, record_property: Record) -> None:
    """The same in larger bounds, for the edges from each n-th state."""
    check_edges(f"kraft/{model}", NAMED[name], record_property, parts)


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


def test_a_rule_without_a_step_is_told() -> None:
    """Replaying a rule without a step names the rule, and where to add the step."""
    spec = FIXED.replacing("kraft/new", "a rule more", rules=(replace(FIXED.rule("Fetch"), name="Peek"),))
    with pytest.raises(SpecError, match=r"rule Peek has no step in the replay of KRaft.*@STEPS\.of\(\"Peek\"\).*replica_steps\.py"):
        replay(spec, NAMED["first_look"], rules=("Peek",))


# ---------------------------------------------------------------------------------------------------------------------
# The comparison can fail: a defect of the implementation is found, on an edge, in a field


def forgets_eligible(patch: pytest.MonkeyPatch) -> None:
    """The controller forgets who may lead once the ISR is empty."""
    build = controller_memory.build_change

    def built(*arguments: Any) -> Any:
        found = build(*arguments)
        if found.record is None or found.record.eligible_leader_replicas is None:
            return found
        return replace(found, record=replace(found.record, eligible_leader_replicas=()))

    patch.setattr(controller_memory, "build_change", built)


def lossy_is_kept(patch: pytest.MonkeyPatch) -> None:
    """A process that registers anew stays in the ISR and the ELR, whatever it lost."""
    patch.setattr(controller.KRaftController, "_remove_lossy", lambda *_: [])


def epochs_not_sent(patch: pytest.MonkeyPatch) -> None:
    """A leader proposes brokers without their epochs."""
    propose = KRaftAlterPartitionManager.propose

    def proposed(keeper: KRaftAlterPartitionManager, partition: Any, isr: Any) -> None:
        propose(keeper, partition, isr)
        made = keeper.waiting[partition]
        keeper.waiting[partition] = ProposedIsr(made.leader_epoch, made.partition_epoch, tuple((b, -1) for b in isr))

    patch.setattr(KRaftAlterPartitionManager, "propose", proposed)


def epoch_starts_at_zero(patch: pytest.MonkeyPatch) -> None:
    """A leader forgets where its epoch began."""
    lead = HostedKRaftPartition.lead

    def led(hosted: HostedKRaftPartition, *arguments: Any) -> None:
        lead(hosted, *arguments)
        hosted.epoch_start = 0

    patch.setattr(HostedKRaftPartition, "lead", led)


def commits_alone(patch: pytest.MonkeyPatch) -> None:
    """A leader raises its high watermark while its ISR is below min.insync.replicas."""
    patch.setattr(replicas, "effective_min_isr", lambda *_: 0)


def never_fetches(patch: pytest.MonkeyPatch) -> None:
    """A follower does not begin to fetch."""
    follow = KRaftReplicas._make_follower

    def made(manager: KRaftReplicas, partition: Any, *arguments: Any) -> None:
        follow(manager, partition, *arguments)
        manager.fetchers.pop(partition, None)

    patch.setattr(KRaftReplicas, "_make_follower", made)


def everybody_may_join(patch: pytest.MonkeyPatch) -> None:
    """The controller lets fenced brokers into the ISR."""
    patch.setattr("kafka_spec.impl.kraft.proposals.is_eligible", lambda *_: True)


MUTATIONS: dict[Callable[[pytest.MonkeyPatch], None], tuple[Mapping[str, int], str, str]] = {
    forgets_eligible: (NAMED["fence"], "FenceAlive(", "elr"),
    lossy_is_kept: (NAMED["lossy"], "StartBroker(", "controller.partition"),
    epochs_not_sent: (NAMED["first_look"], "Fetch(", "requests[0].epochs"),
    epoch_starts_at_zero: (NAMED["fence"], "TakeImage(", "replica.epoch_start"),
    commits_alone: (NAMED["fence"], "Write(", "replica.high_watermark"),
    never_fetches: (NAMED["fence"], "TakeImage(", "replica.fetching"),
    everybody_may_join: (bounds("first_look", fences=1), "AlterPartition(", "answers"),
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_what_is_broken_is_found(mutation: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect put into the implementation makes the replay name an edge and a field that differ."""
    values, rule, field = MUTATIONS[mutation]
    mutation(monkeypatch)
    (failure,) = replay(FIXED, values, (rule[:-1],)).failures
    assert failure.startswith(rule) and field in failure, failure
