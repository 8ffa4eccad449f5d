"""The quorum of controllers: what Raft needs is needed, and what a search leaves out by symmetry changes nothing."""

from __future__ import annotations

import re
from random import Random

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as some

from kafka_spec import MODELS, trace_of
from kafka_spec.conformance.kafka_classes.raft_paths import PATHS, RecordedPath
from kafka_spec.conformance.kafka_classes.raft_steps import STEPS
from kafka_spec.conformance.kafka_classes.raft_walks import ERAS, ModelWalk, WalkSetting, at_random, recorded
from kafka_spec.model_check.check import check
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.spec.decisions.quorum import is_majority, is_up_to_date, vote_is_granted
from kafka_spec.spec.language.domain import NONE, size
from kafka_spec.spec.quorum.cases import CASES
from kafka_spec.spec.quorum.families import QUORUM_FAMILIES

FAMILIES = {family.name: dict(family.values) for family in QUORUM_FAMILIES}
LOST_LOG = "voters-of-lost-log-stay"
SHORTEST: dict[str, tuple[str, str, dict[str, int]]] = {
    "voters-skipped-after-truncation": ("two_removals", "ListenersAgree", {}),
    "voters-dropped-by-snapshot": ("snapshot_and_remove", "VotersFollowLog", {}),
    "snapshot-does-not-replace-log": ("snapshots", "SnapshotsAreLoaded", {}),
    "voter-formatted-again": ("formatted", "LeaderHoldsCommitted", {}),
    "voter-formatted-at-no-lag": ("formatted", "LeadersKnowTheirEpochs", {}),
    LOST_LOG: ("two_removals", "LeaderHoldsCommitted", {"snapshots": 1, "records": 2, "log_size": 7}),
}
"""Where the search finds each recorded path: the family, the property, and bounds that differ from the family's."""


def searched(model: str, family: str, *properties: str, **bounds: int) -> Exploration:
    """Search normal forms to the end, or to the first violation of properties."""
    values = {**FAMILIES[family], **bounds}
    return check(MODELS[f"quorum/{model}"], values, properties=properties or None, normal_form=True)


@pytest.mark.parametrize(
    "family",
    ["one", "two", "three", "pre_votes", "lossy", "add", "one_to_three", pytest.param("remove", marks=pytest.mark.long)],
)
def test_nodes_are_interchangeable(family: str) -> None:
    """The search of one state for all that differ by the names of nodes agrees with the search of all states."""
    result = check(MODELS["quorum/fixed"], FAMILIES[family], normal_form=True, verify_normal_form=True)
    assert result.verdict == "holds" and result.compared


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("fixed", "lossy"),
        pytest.param("KAFKA-10527", "lossy", marks=pytest.mark.long),
        pytest.param("KAFKA-16580", "one_to_three", marks=pytest.mark.long),
    ],
)
def test_both_engines_agree(model: str, family: str) -> None:
    """Compiled code and plain Python find the same states, counts and verdicts."""
    assert check(MODELS[f"quorum/{model}"], FAMILIES[family], engine="both", everything=True).compared


@pytest.mark.parametrize(
    ("bounds", "claim", "states"),
    [
        ({"pre_votes": 1}, "ListenersAgree", 30),
        ({"records": 2, "log_size": 7}, "OneLeaderInEachEpoch", 27),
    ],
)
def test_skipped_voters_lead_to_two_histories(bounds: dict[str, int], claim: str, states: int) -> None:
    """A node that skips the voters below its old end makes two histories, with pre-votes too; an epoch has two leaders."""
    result = searched("voters-skipped-after-truncation", "two_removals", claim, **bounds)
    assert result.findings[claim].states == states


@pytest.mark.parametrize("pre_votes", [0, 1])
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.case, marks=[pytest.mark.long] if path.case == LOST_LOG else []) for path in PATHS]
)
def test_the_path_that_kafka_takes_is_the_shortest(path: RecordedPath, pre_votes: int) -> None:
    """The comparison with KafkaRaftClient takes the shortest path that the search finds to what each case shows."""
    family, claim, bounds = SHORTEST[path.case]
    found = searched(path.case, family, claim, **bounds, pre_votes=pre_votes)
    steps = [step.action for step in trace_of(found, claim).steps]
    assert path.steps(pre_votes) == "; ".join(f"{one.rule}({', '.join(str(value) for _, value in one.binding)})" for one in steps)


@pytest.mark.parametrize("pre_votes", [0, 1])
@pytest.mark.parametrize("path", [pytest.param(path, id=path.case) for path in PATHS])
def test_no_step_of_the_path_is_left_out(path: RecordedPath, pre_votes: int) -> None:
    """A comparison leaves out steps that are not possible where a walk is; of the recorded paths every step is."""
    model = WalkSetting("quorum/era_4_3", 3, path.kraft_version, pre_votes).interpreter()
    walk = ModelWalk(model)
    for step in recorded(path.steps(pre_votes), model):
        assert step in walk.steps(), step
        walk.take(step)
    assert not path.last or recorded(path.last, model)[0] not in walk.steps()


@pytest.mark.parametrize(
    ("model", "snapshots", "states"), [("voters-skipped-after-truncation", 1, 16), ("voters-dropped-by-snapshot", 2, 17)]
)
def test_a_snapshot_keeps_what_is_wrong(model: str, snapshots: int, states: int) -> None:
    """A node with other voters than its log has writes them into its next snapshot, so that a restart does not help any more."""
    result = searched(model, "snapshot_and_remove", "SnapshotsHaveVoters", snapshots=snapshots)
    assert result.findings["SnapshotsHaveVoters"].states == states


def test_every_rule_has_a_step_with_kafkas_clients() -> None:
    """Each rule that a random walk may take is done by Kafka's clients; a walk takes no lossy crash."""
    rules = {rule.name for model in ERAS.values() for rule in MODELS[model].rules}
    assert rules - set(STEPS) == {"Flush", "LossyCrash"}


@settings(deadline=None, max_examples=10)
@given(some.randoms(use_true_random=False), some.sampled_from((0, 1)))
def test_random_walks_are_walks_of_the_model(random: Random, pre_votes: int) -> None:
    """Each step of a walk is possible where it is taken, and what follows at once does."""
    model = WalkSetting("quorum/era_4_3", 1, 1, pre_votes).interpreter()
    walk = ModelWalk(model)
    for step in at_random(model, random):
        assert step in walk.steps()
        walk.take(step)
    assert walk.state.nodes[0].epoch > 0


def test_one_skipped_change_does_no_harm() -> None:
    """Majorities of the voters before and after one change meet: without the one change that it skipped, a node loses nothing."""
    result = searched("voters-skipped-after-truncation", "two_removals", "LeaderHoldsCommitted", "ListenersAgree", removals=1)
    assert result.verdict == "holds" and result.tested_of("LeaderHoldsCommitted") > 0


def test_commits_before_the_flush_need_another_voter() -> None:
    """With two voters a batch is flushed by its leader before it is committed, whenever the leader counts its own."""
    assert searched("only-voter-commits-before-flush", "two").verdict == "holds"


@given(some.integers(1, 31), some.integers(0, 4), some.integers(0, 31), some.integers(0, 31))
def test_majorities_of_neighbouring_sets_meet(voters: int, other: int, one: int, two: int) -> None:
    """Two majorities, of a set of voters and of that set with one more or one less, have a node in common."""
    changed = voters ^ (1 << other)
    if changed and is_majority(size(one & voters), size(voters)) and is_majority(size(two & changed), size(changed)):
        assert one & voters & two & changed


def test_a_vote_is_given_once() -> None:
    """A vote is given to who has it already, else only if there is no leader and the log of the candidate is as new."""
    assert vote_is_granted(1, 1, NONE, False)
    assert not vote_is_granted(1, 2, NONE, True)
    assert not vote_is_granted(1, NONE, 2, True)
    assert vote_is_granted(1, NONE, NONE, is_up_to_date(2, 3, 1, 9))
    assert not vote_is_granted(1, NONE, NONE, is_up_to_date(2, 3, 2, 4))


def test_the_page_says_the_lengths_of_the_traces() -> None:
    """Of each condition that Raft needs, docs/kafka/quorum.md has the length of a shortest trace that its case has."""
    lengths = {f"quorum/{case.name}": {str(states) for shown in case.shows for states in shown.violates.values()} for case in CASES}
    rows = [line.split("|") for line in (ROOT / "docs" / "kafka" / "quorum.md").read_text(encoding="utf-8").splitlines()]
    found = {
        row[2].strip().strip("`"): set(re.findall(r"\b\d+\b", row[3])) for row in rows if len(row) > 3 and "`quorum/" in row[2]
    }
    assert len(found) == 16 and all(found[model] & lengths[model] for model in found), found
