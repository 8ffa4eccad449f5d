"""Model and implementation agree: every edge of completely explored bounds, replayed from its loaded source.

Each source state is loaded into the implementation and read back; then the implementation does the rule's step, and is read again.
The model's own bookkeeping, `spent` and `history`, is taken from its target. The number of replayed edges of each era is printed at
the end of a test run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from edges import fired, replay

from kafka_spec.conformance.replay.rules import STEPS
from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.zookeeper.broker.isr import ZkIsrManager
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.controller import zk_client
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8, SUITE
from kafka_spec.spec.zookeeper.families import CONTROL, NOTHING_HAPPENS
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role


def bounds(**changes: int) -> dict[str, int]:
    """Return bounds of the control plane; faults and operations that are not named do not happen."""
    return {**NOTHING_HAPPENS, **changes}


ERAS = {"fixed": FIXED, "era_2_8": ERA_2_8, "era_0_10": ERA_0_10}
THREE = {"brokers": 3, "replicas": 3}
FAMILIES: dict[str, Mapping[str, int]] = {
    "nothing fails": bounds(settled=0),
    "a bounce at the beginning": bounds(settled=0, bounces=1),
    "a preferred election": bounds(preferred_elections=1, controlled_shutdowns=1, shutdown_retries=1),
    "a failed fail-over": bounds(settled=0, failed_failovers=1),
    "a late fetch": bounds(late_fetches=1, isr_shrinks=1, records=1),
    "a lossy crash": bounds(lossy_crashes=1, isr_shrinks=1, records=1),
    "a lost reply": bounds(lost_replies=1, isr_shrinks=1, records=1, late_fetch_answers=1),
    "a crash and a record": bounds(crashes=1, records=1),
    "a lone replica": bounds(replicas=1, unclean=1, crashes=1),
    "unclean elections": bounds(unclean=1, crashes=1, isr_shrinks=1),
    "a bounce and a repeat": bounds(bounces=1, repeats=1),
    "an expiry": bounds(expiries=1),
    "a restart unseen": bounds(settled=2, bounces=1, metadata_repeats=1),
    "three brokers, a bounce": bounds(**THREE, bounces=1),
    "a reassignment": bounds(replicas=1, reassignments=1),
    "two reassignments": bounds(replicas=1, reassignments=2),
    "a replica leaves": bounds(reassignments=1, isr_shrinks=1, records=1),
    "a reassignment and a bounce": bounds(replicas=1, reassignments=1, bounces=1),
    "a reassignment and an expiry": bounds(replicas=1, reassignments=1, expiries=1),
    "a reassignment among three brokers": bounds(brokers=3, replicas=2, reassignments=1),
    "a deletion": bounds(deletions=1, recreations=1),
    "a disabled deletion": bounds(deletions=1, no_deletion=1),
    "a failed deletion": bounds(deletions=1, recreations=1, deletion_errors=1, repeats=1),
    "a late StopReplica": bounds(deletions=1, recreations=1, late_stops=1),
    "a deletion and a bounce": bounds(deletions=1, recreations=1, bounces=1),
    "a deletion and a crash": bounds(deletions=1, crashes=1),
    "a deletion and an expiry": bounds(deletions=1, expiries=1),
    "an unclean election asked for": bounds(unclean_elections=1, crashes=1, isr_shrinks=1, records=1),
    "two partitions": bounds(partitions=2, settled=0),
    "two partitions and a crash": bounds(partitions=2, crashes=1),
    "two partitions and a bounce in their deletion": bounds(partitions=2, deletions=1, bounces=1),
    "two leaders, one of whom shuts down": bounds(partitions=2, settled=0, additions=1, controlled_shutdowns=1),
    "two partitions and a reassignment": bounds(partitions=2, replicas=1, reassignments=1),
    "a target of two in a bounce": bounds(brokers=3, replicas=1, reassignments=1, bounces=1),
    "an added partition": bounds(partitions=2, settled=0, additions=1),
    "an added partition and a crash": bounds(partitions=2, additions=1, crashes=1),
    "a partition added in a deletion": bounds(partitions=2, replicas=1, additions=1, deletions=1),
    "a rebalance": bounds(partitions=2, rebalances=1, bounces=1),
    "a rebalance of more than a half": bounds(partitions=2, rebalances=1, crashes=1, imbalance=50),
}
"""Bounds that `make test` explores and replays."""
PARTS = {
    "a preferred election": 7,
    "a lossy crash": 3,
    "a crash and a record": 3,
    "two reassignments": 13,
    "a replica leaves": 29,
    "a reassignment and a bounce": 101,
    "a reassignment and an expiry": 1009,
    "a reassignment among three brokers": 29,
    "a failed deletion": 3,
    "a late StopReplica": 3,
    "a deletion and a bounce": 101,
    "a deletion and a crash": 101,
    "a deletion and an expiry": 1009,
    "an unclean election asked for": 13,
    "two partitions and a crash": 29,
    "two partitions and a bounce in their deletion": 1009,
    "two leaders, one of whom shuts down": 401,
    "two partitions and a reassignment": 29,
    "a target of two in a bounce": 1009,
    "an added partition and a crash": 101,
    "a partition added in a deletion": 29,
    "a rebalance of more than a half": 29,
}
"""Of families with many edges `make test` replays those from every n-th state, and some of each rule; `make long` replays all."""
CASES = [(era, family) for era in ERAS for family in FAMILIES]
"""Every family in every era."""
LARGER: dict[str, Mapping[str, int]] = {
    "an expiry and a repeat": bounds(expiries=1, repeats=1),
    "an expiry at the beginning": bounds(settled=0, expiries=1),
    "a crash, a record, a slow follower": bounds(crashes=1, isr_shrinks=1, records=1),
    "two records": bounds(isr_shrinks=1, records=2),
    "three brokers, a crash": bounds(**THREE, crashes=1),
    "three brokers, two replicas, a crash": bounds(brokers=3, replicas=2, crashes=1),
}
"""Larger bounds: `make test` replays a part of each in one era, `make long` all in all eras."""
SAMPLE = {
    ("fixed", "an expiry and a repeat"),
    ("era_2_8", "an expiry at the beginning"),
    ("era_0_10", "a crash, a record, a slow follower"),
    ("fixed", "two records"),
    ("era_0_10", "three brokers, a crash"),
    ("era_2_8", "three brokers, two replicas, a crash"),
}
NAMED = {found.name: found.values for found in CONTROL}
RARE = {
    ("fixed", "crash_and_expiry"): ("ControllerMoved", "ExpandIsr"),
    ("era_2_8", "crash_and_expiry"): ("ControllerMoved",),
    ("fixed", "leader_shuts_down"): ("IgnoreStopReplica",),
    ("era_2_8", "leader_shuts_down"): ("StopReplica",),
    ("fixed", "deletion_and_reassignment"): ("RefuseReassignment",),
    ("era_2_8", "deletion_and_reassignment"): ("RefuseReassignment",),
    ("era_0_10", "deletion_and_reassignment"): ("RefuseReassignment",),
}
"""Rules that fire in larger bounds only, and one that the implementation sometimes refuses there: only their edges are replayed."""

Record = Callable[[str, object], None]


def check(era: str, values: Mapping[str, int], record: Record, rules: tuple[str, ...] | None = None, parts: int = 1) -> None:
    """Check that every edge agrees, or those of some rules or from every n-th state; record how many, for the end of the run."""
    result = replay(ERAS[era], values, rules, parts=parts)
    assert result.failures == []
    assert result.edges
    record("replayed", (era, sum(result.edges.values()), result.states, result.refused))


@pytest.mark.share(25)
@pytest.mark.parametrize(("era", "family"), CASES)
def test_every_edge_agrees(era: str, family: str, record_property: Record) -> None:
    """Each state can be loaded and read back, and each edge leads the implementation to the model's target state."""
    check(era, FAMILIES[family], record_property, parts=PARTS.get(family, 1))


@pytest.mark.long
@pytest.mark.parametrize("family", PARTS)
@pytest.mark.parametrize("era", ERAS)
def test_every_edge_of_sampled_families_agrees(era: str, family: str, record_property: Record) -> None:
    """The same for all edges of the families of which `make test` takes a sample."""
    check(era, FAMILIES[family], record_property)


@pytest.mark.parametrize(("era", "family"), sorted(SAMPLE))
def test_edges_of_larger_bounds_agree(era: str, family: str, record_property: Record) -> None:
    """The same in larger bounds, for the edges from every n-th state and some of each rule."""
    check(era, LARGER[family], record_property, parts=7)


@pytest.mark.long
@pytest.mark.parametrize("family", LARGER)
@pytest.mark.parametrize("era", ERAS)
def test_every_edge_of_larger_bounds_agrees(era: str, family: str, record_property: Record) -> None:
    """The same for all edges of larger bounds."""
    check(era, LARGER[family], record_property)


@pytest.mark.parametrize(("era", "family"), RARE)
def test_every_edge_of_rare_rules_agrees(era: str, family: str, record_property: Record) -> None:
    """The same for the edges of rules that fire in still larger bounds only."""
    check(era, NAMED[family], record_property, RARE[era, family])


@pytest.mark.parametrize("era", ERAS)
def test_every_rule_is_replayed(era: str) -> None:
    """`make test` replays every rule of an era, except those that the era lists as unreachable."""
    reachable = {rule.name for rule in ERAS[era].rules} - set(ERAS[era].unreachable_rules)
    replayed = {rule for (other, _), rules in RARE.items() for rule in rules if other == era}
    for family in sorted(FAMILIES, key=lambda name: PARTS.get(name, 1)):
        if replayed >= reachable:
            break
        replayed |= set(fired(ERAS[era], FAMILIES[family]))
    assert replayed == reachable


def test_every_rule_has_a_step() -> None:
    """Each rule of any era or bug has a step of the implementation, and no step is left over."""
    rules = {rule.name for spec in (FIXED, *map(SUITE.spec_with, SUITE.expressed)) for rule in spec.rules}
    for rule in rules:
        STEPS.step_of(rule)
    assert set(STEPS) == rules


def test_a_rule_without_a_step_is_told() -> None:
    """Replaying a rule without a step names the rule, and where to add the step."""
    spec = FIXED.replacing("zookeeper/new", "a rule more", rules=(replace(FIXED.rule("Restart"), name="Revive"),))
    with pytest.raises(SpecError, match=r"rule Revive has no step in the replay.*@STEPS\.of\(\"Revive\"\).*environment_steps\.py"):
        replay(spec, bounds(crashes=1), rules=("Revive",))


# ---------------------------------------------------------------------------------------------------------------------
# The comparison can fail: a defect of the implementation is found, on an edge, in a field


def same_epoch(patch: pytest.MonkeyPatch) -> None:
    """An election does not begin another leader epoch."""

    def following(held: Leadership, leader: int, isr: tuple[int, ...]) -> Leadership:
        return replace(held, leader=leader, isr=isr)

    patch.setattr(zk_client, "following", following)


def leader_only(patch: pytest.MonkeyPatch) -> None:
    """A LeaderAndIsr goes to the leader alone."""
    add = RequestBatch.add_leader_and_isr

    def added(batch: RequestBatch, brokers: Any, partition: Any, is_new: bool) -> None:
        leader = batch._context.leadership[partition].leader
        add(batch, [broker for broker in brokers if broker == leader], partition, is_new)

    patch.setattr(RequestBatch, "add_leader_and_isr", added)


def forgets_isr(patch: pytest.MonkeyPatch) -> None:
    """A leader takes all replicas for its ISR."""
    lead = HostedPartition.start_to_lead

    def led(partition: HostedPartition, state: Any, led_before: bool, now: int) -> None:
        lead(partition, state, led_before, now)
        partition.isr = state.replicas

    patch.setattr(HostedPartition, "start_to_lead", led)


def keeps_its_log(patch: pytest.MonkeyPatch) -> None:
    """A follower does not truncate."""
    patch.setattr(HostedPartition, "truncate_to", lambda partition, offset: None)


def unfenced(patch: pytest.MonkeyPatch) -> None:
    """A controller does not check /controller_epoch when it writes."""
    write = ControllerZkClient.write

    def written(zk: ControllerZkClient, *operations: Any) -> Any:
        zk._context.epoch_version = zk.session.get("/controller_epoch")[1].version
        try:
            return write(zk, *operations)
        finally:
            zk._context.epoch_version = zk._context.epoch

    patch.setattr(ControllerZkClient, "write", written)


def takes_former_requests(patch: pytest.MonkeyPatch) -> None:
    """A broker forgets under which epoch it has registered."""
    apply = ReplicaManager.apply

    def applied(manager: ReplicaManager, *arguments: Any) -> Any:
        own, manager.broker_epoch = manager.broker_epoch, -1
        try:
            return apply(manager, *arguments)
        finally:
            manager.broker_epoch = own

    patch.setattr(ReplicaManager, "apply", applied)


def forgets_version(patch: pytest.MonkeyPatch) -> None:
    """A leader does not learn the version of the ISR that it has written."""
    retry = ZkIsrManager.retry

    def retried(keeper: ZkIsrManager, partition: Any, now: int) -> Any:
        hosted = keeper._replicas.partitions[partition]
        version = hosted.partition_epoch
        try:
            return retry(keeper, partition, now)
        finally:
            hosted.partition_epoch = version

    patch.setattr(ZkIsrManager, "retry", retried)


def stays_leader(patch: pytest.MonkeyPatch) -> None:
    """A leader ignores that it must follow."""
    follow = ReplicaManager._make_follower

    def made(manager: ReplicaManager, partition: Any, *arguments: Any) -> Any:
        return manager.role_of(partition) != Role.LEADER and follow(manager, partition, *arguments)

    patch.setattr(ReplicaManager, "_make_follower", made)


def tells_of_the_first(patch: pytest.MonkeyPatch) -> None:
    """A controller sends LeaderAndIsr for the first partition of a topic alone."""
    add = RequestBatch.add_leader_and_isr

    def added(batch: RequestBatch, brokers: Any, partition: Any, is_new: bool) -> None:
        add(batch, brokers if partition.partition == 0 else [], partition, is_new)

    patch.setattr(RequestBatch, "add_leader_and_isr", added)


def takes_what_is_added(patch: pytest.MonkeyPatch) -> None:
    """A controller takes a partition that is added to a topic in deletion."""
    patch.setattr(ControllerContext, "is_queued_for_deletion", lambda context, topic: False)


MUTATIONS: dict[Callable[[pytest.MonkeyPatch], None], tuple[Spec, Mapping[str, int], str, str]] = {
    same_epoch: (FIXED, FAMILIES["unclean elections"], "ElectLeader(", "zookeeper.partitions[0].state.leader_epoch"),
    leader_only: (FIXED, FAMILIES["nothing fails"], "ElectLeader(", "channels[1].requests"),
    forgets_isr: (FIXED, FAMILIES["unclean elections"], "BecomeLeader(", "replicas[0].isr"),
    keeps_its_log: (ERA_0_10, FAMILIES["a crash and a record"], "BecomeFollower(", "replicas[0].log"),
    unfenced: (FIXED, LARGER["an expiry at the beginning"], "ControllerMoved(", "controllers"),
    takes_former_requests: (FIXED, FAMILIES["a preferred election"], "RefuseRequest(", "brokers"),
    forgets_version: (FIXED, FAMILIES["a lost reply"], "ShrinkIsr(", "replicas[0].version"),
    tells_of_the_first: (FIXED, FAMILIES["two partitions"], "ElectLeader(", "channels[0].requests"),
    takes_what_is_added: (FIXED, FAMILIES["a partition added in a deletion"], "RefusePartition(", "controllers"),
    stays_leader: (FIXED, bounds(controlled_shutdowns=1), "BecomeFollower(", "replicas[0].role"),
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_what_is_broken_is_found(mutation: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect put into the implementation makes the replay name an edge and a field that differ."""
    spec, values, rule, field = MUTATIONS[mutation]
    assert replay(spec, values, (rule[:-1],)).failures == []
    mutation(monkeypatch)
    (failure,) = replay(spec, values, (rule[:-1],)).failures
    assert failure.startswith(rule) and field in failure, failure
