"""The verdict on a run of KRaft: the properties of spec/kraft on the projected state of each partition, and what clients saw.

Invariants are judged again and again while the cluster runs, the properties that compare two states on the states of two looks:
these properties hold of every two states of a behaviour in their order, not only of the ends of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.impl.kraft.clean_shutdown import read_clean_shutdown
from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.projection import KRaftNetwork, KRaftProjection, ReplicaDisk
from kafka_spec.impl.log.checkpoint import read_topic_id
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.kraft.watcher import KRaftWatcher
from kafka_spec.impl.run.suspects import suspects
from kafka_spec.impl.run.verdict import UNCLEAN, Broken, Lost, Verdict
from kafka_spec.spec.kraft.eras import SUITE
from kafka_spec.spec.kraft.properties.liveness import (
    RECOVERS,
    a_leader_is_missing,
    a_proposal_is_pending,
    a_reassignment_could_end,
    a_record_is_not_committed,
    a_replica_is_behind,
    a_replica_is_outside_the_isr,
    a_stray_replica_is_left,
)
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import NONE, Spent
from kafka_spec.spec.vocabulary.table import Constants, Property, Spec

BETWEEN_LOOKS = ("EpochsNeverGoBack", "ChangesHaveTheirEpochs", "HighWatermarkGrows")
"""The step invariants that hold of any two states in their order."""
IN_RUNS: Mapping[str, tuple[str, ...]] = {
    "Committed": ("KAFKA-14617", "KAFKA-7128", "elr-outside-replicas"),
    "LeaderCountsCandidates": ("KAFKA-15583",),
    "LogMatch": (
        "KAFKA-13127", "KAFKA-14617", "KAFKA-15583", "KAFKA-18106", "cancellation-elects-cleanly", "elr-outside-replicas",
        "last-replica-standing",
    ),
    "Recovers": ("KAFKA-19975", "stale-reassignment-lists"),
}  # fmt: skip
"""The cases that violate a property in a run or in a test, while no check of the manifest shows it."""
WHAT = {
    a_leader_is_missing: "no broker leads",
    a_replica_is_behind: "a replica does not know the newest epochs",
    a_replica_is_outside_the_isr: "a replica is outside the ISR",
    a_proposal_is_pending: "a proposal is pending",
    a_record_is_not_committed: "a record is not committed",
    a_stray_replica_is_left: "a replica that is not assigned is left",
    a_reassignment_could_end: "a reassignment has not ended",
}
"""What keeps a partition from rest, in words."""


def switches_of(era: Spec) -> tuple[str, ...]:
    """Return the switches of an era or a bug."""
    return SUITE.names(era.name)


class KRaftJudge:
    """Judges a cluster; `findings` are the violated properties of all looks, each reported once for its partition."""

    def __init__(
        self, cluster: KRaftNodes, watcher: KRaftWatcher, era: Spec, brokers: list[int], unclean: bool, other_min_isr: int
    ) -> None:
        """`brokers` are the possible ones, from 0 on; `unclean` says whether topics permit unclean elections.

        `other_min_isr` is what operators change min.insync.replicas to.
        """
        min_isr = cluster.settings.min_insync_replicas
        self.findings: dict[tuple[str, TopicPartition], Broken] = {}
        self._cluster = cluster
        self._watcher = watcher
        self._era = era
        self._brokers = brokers
        self._bounds = {"unclean": int(unclean), "min_isr": min_isr, "other_min_isr": other_min_isr, "brokers": len(brokers)}
        self._before: dict[TopicPartition, KRaft] = {}

    def project(self, partition: TopicPartition) -> tuple[KRaft, Constants]:
        """Return a partition and all brokers as a state of the model, and its constants."""
        brokers, topic_of = self._brokers, self._watcher.topic_of
        projection = KRaftProjection(self._cluster, partition, brokers, lambda number: self._disk(number, partition), topic_of)
        network = KRaftNetwork()
        for number, process in self._cluster.brokers.items():
            request = process.data.isr.in_flight
            if request is not None and number in brokers:
                network.requests[number] = request
        spent = Spent(
            unclean_elections=0, unclean_changes=0, crashes=1, lossy_crashes=0, removed_directories=0, failed_directories=0
        )
        past = self._watcher.of(partition)
        return projection.project(network, spent, past), self._era.constants(self._bounds)

    def _disk(self, number: int, partition: TopicPartition) -> ReplicaDisk:
        folder = self._cluster.folder_of(number)
        entries = self._watcher.entries_of(self._cluster, number, partition)
        return ReplicaDisk(read_topic_id(folder / str(partition)), entries, 0, read_clean_shutdown(folder))

    def look(self) -> None:
        """Judge the invariants on the cluster as it is now; a partition that was deleted is judged too."""
        for partition in self._watcher.partitions():
            after, k = self.project(partition)
            self._judge(partition, after, k)
            self._before[partition] = after

    def _judge(self, partition: TopicPartition, after: KRaft, k: Constants) -> None:
        before = self._before.get(partition)
        for claim in self._era.properties:
            if claim.kind == "invariant":
                holds = not claims(claim, s=after, k=k) or holds_in(claim, s=after, k=k)
            elif claim.name in BETWEEN_LOOKS and before is not None:
                scope = {"before": before, "after": after, "k": k}
                holds = not claims(claim, **scope) or holds_in(claim, **scope)
            else:
                continue
            if not holds:
                self._break(claim.name, partition, f"{partition}: {reported(after)}")

    def unrest(self) -> list[str]:
        """Return what keeps partitions from rest, in words."""
        found = []
        for partition in self._watcher.partitions():
            state, k = self.project(partition)
            if not holds_in(RECOVERS, s=state, k=k):
                why = [words for reason, words in WHAT.items() if reason(state, k)] or ["a broker is not active"]
                found.append(f"{partition}: {', '.join(why)}")
        return found

    def verdict(self, history: History, unrest: list[str]) -> Verdict:
        """Return the verdict on a cluster at rest, or after the time that it had."""
        self.look()
        for one in unrest:
            self.findings.setdefault(("Recovers", TopicPartition(one, 0)), self._broken("Recovers", one))
        verdict = Verdict()
        for partition, held in self._cluster.controller.image.partitions.items():
            leader = self._cluster.brokers.get(held.leader)
            hosted = None if leader is None else leader.replicas.partitions.get(partition)
            if held.leader == NONE or hosted is None or hosted.log is None:
                verdict.leaderless.append(partition)
                continue
            truth = {record.offset: (record.value or b"").decode() for record in hosted.log.records()}
            self._records(partition, truth, history, verdict)
        verdict.broken += self.findings.values()
        return verdict

    def _records(self, partition: TopicPartition, truth: Mapping[int, str], history: History, verdict: Verdict) -> None:
        """Look for every acknowledged record; after an unclean election it may be lost, which violates no property."""
        stored = set(truth.values())
        verdict.stored += len(truth)
        verdict.twice += len(truth) - len(stored)
        clean = self._watcher.of(partition).unclean_epoch < 0
        for value, sent in history.sent.items():
            if sent.partition == partition and sent.offset is not None and value not in stored:
                verdict.lost.append(Lost(value, partition, sent.acks, sent.offset))
                if sent.acks == ALL and clean:
                    told_of = f"{value} was acknowledged with acks=all at offset {sent.offset} of {partition}, and is lost"
                    self._break("Committed", partition, told_of)
        for offset, value in history.read.get(partition, {}).items():
            if clean and truth.get(offset) != value:
                now = truth.get(offset, "nothing")
                self._break(
                    "Committed", partition, f"a consumer has read {value} at offset {offset} of {partition}, where {now} is now"
                )

    def _break(self, promise: str, partition: TopicPartition, found: str) -> None:
        self.findings.setdefault((promise, partition), self._broken(promise, found))

    def _broken(self, promise: str, found: str) -> Broken:
        may_be = suspects(SUITE, switches_of(self._era), promise, IN_RUNS)
        if any(past.unclean_epoch >= 0 for past in self._watcher.past.values()):
            may_be.append(UNCLEAN)
        return Broken(promise, found, tuple(may_be))


def claims(claim: Property, **scope: Any) -> bool:
    """Whether a property is about a state or about two."""
    return claim.when is None or bool(_called(claim.when, scope))


def holds_in(claim: Property, **scope: Any) -> bool:
    """Whether a property's predicate holds."""
    return bool(_called(claim.predicate, scope))


def _called(function: Any, scope: Mapping[str, Any]) -> Any:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return function(*[scope[name] for name in names])


def reported(state: KRaft) -> str:
    """Return a partition in words."""
    held = state.controller.partition
    replicas = [node.replica for node in state.brokers]
    logs = "; ".join(
        f"replica {place}: leader epoch {one.leader_epoch}, high watermark {one.high_watermark} of {len(one.log)}"
        for place, one in enumerate(replicas)
    )
    return (
        f"leader {held.leader}, leader epoch {held.leader_epoch}, partition epoch {held.partition_epoch}, ISR {held.isr}, "
        f"ELR {held.elr}; {logs}"
    )
