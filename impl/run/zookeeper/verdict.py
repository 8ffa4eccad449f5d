"""The verdict on a run with ZooKeeper.

The properties are those of spec/zookeeper/properties/safety.py, judged on real logs and znodes once the cluster is quiet.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.suspects import suspects
from kafka_spec.impl.run.verdict import UNCLEAN, Broken, Lost, Verdict
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.spec.vocabulary.table import Property, Spec
from kafka_spec.spec.zookeeper.eras import SUITE
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.properties.safety import RECOVERS, SAFETY

PROMISES: Mapping[str, Property] = {one.name: one for one in (*SAFETY, RECOVERS)}
IN_RUNS: Mapping[str, tuple[str, ...]] = {
    "Committed": ("KAFKA-7395",),
    "LogMatch": ("KIP-101", "KAFKA-7164", "KAFKA-7128", "KAFKA-7395"),
    "Recovers": ("no-election-after-removal", "KAFKA-7235-unseen-bounce", "KAFKA-3143"),
}
"""The cases that violate a property in a run or in a test, while no check of the manifest shows it."""

UNFLUSHED = ("last-replica-standing", "tail-lost-in-isr")
"""No version of Kafka survives every power loss: `fixed` assumes that only a broker outside the ISR loses the end of its log."""


class Judge:
    """Judges a cluster after a time without faults; `unclean` is the number of unclean elections, `unrest` what is not quiet.

    `faults` are the names of the faults that happened.
    """

    def __init__(
        self, cluster: Cluster, history: History, era: Spec, unclean: int, unrest: Sequence[str], faults: Container[str] = ()
    ) -> None:
        self._cluster = cluster
        self._history = history
        self._switches = switches(era)
        self._unclean = unclean
        self._unrest = unrest
        self._faults = faults
        self._verdict = Verdict()

    def judge(self, partitions: Iterable[TopicPartition]) -> Verdict:
        """Return the verdict on these partitions."""
        for partition in partitions:
            held = self._cluster.leadership(partition)
            leader = self._cluster.brokers.get(held.leader) if held is not None else None
            if held is None or leader is None or leader.replicas.role_of(partition) != Role.LEADER:
                self._verdict.leaderless.append(partition)
                if held is None or leader is None:
                    self._break("QuietLeaderIsRegistered", f"no broker leads {partition}")
                else:
                    self._break("QuietReplicasKnowTheEpoch", f"broker {held.leader} does not know that it leads {partition}")
                continue
            if not held.isr:
                self._break("IsrNeverEmpty", f"the ISR of {partition} is empty")
            elif held.leader not in held.isr:
                self._break("LeaderInIsr", f"broker {held.leader} leads {partition}, and the ISR is {held.isr}")
            self._replicas(partition, leader, held.leader_epoch)
            self._records(partition, records_of(leader, partition))
        for found in self._unrest:
            self._break("Recovers", found)
        return self._verdict

    def _replicas(self, partition: TopicPartition, leader: BrokerProcess, epoch: int) -> None:
        """Compare the replicas' leadership with the state znode, and their logs with the leader's."""
        truth, led = records_of(leader, partition), leader.replicas.partitions[partition]
        for number in [number for number in led.replicas if number in self._cluster.brokers]:
            replicas = self._cluster.brokers[number].replicas
            hosted = replicas.partitions.get(partition)
            known = -1 if hosted is None else hosted.leader_epoch
            if known != epoch:
                reported = f"broker {number} knows leader epoch {known} of {partition}, and {epoch} is the newest"
                self._break("QuietReplicasKnowTheEpoch", reported)
                if replicas.role_of(partition) == Role.LEADER:
                    reported = f"broker {number} leads {partition} under leader epoch {known}, broker {leader.number} under {epoch}"
                    self._break("QuietLeadersAreOfNewestEpoch", reported)
            if hosted is None:
                continue
            below = min(hosted.high_watermark, led.high_watermark)
            for offset, value in records_of(self._cluster.brokers[number], partition).items():
                if offset < below and truth.get(offset) != value:
                    reported = (
                        f"offset {offset} of {partition} is {value} on broker {number}, and {truth.get(offset)} on the leader"
                    )
                    self._break("LogMatch", reported)
                    break

    def _records(self, partition: TopicPartition, truth: Mapping[int, str]) -> None:
        """Look for every acknowledged record and every record that a consumer has read."""
        stored = set(truth.values())
        self._verdict.stored += len(truth)
        self._verdict.twice += len(truth) - len(stored)
        for value, sent in self._history.sent.items():
            if sent.partition == partition and sent.offset is not None and value not in stored:
                self._verdict.lost.append(Lost(value, partition, sent.acks, sent.offset))
                if sent.acks == ALL:
                    reported = f"{value} was acknowledged with acks=all at offset {sent.offset} of {partition}, and is lost"
                    self._break("Committed", reported)
        for offset, value in self._history.read.get(partition, {}).items():
            if truth.get(offset) != value:
                now = truth.get(offset, "nothing")
                self._break("Committed", f"a consumer has read {value} at offset {offset} of {partition}, where {now} is now")
        for changed, offset, before, after in self._history.changed:
            if changed == partition:
                self._break("Committed", f"consumers have read {before} and then {after} at offset {offset} of {partition}")

    def judge_assignments(self, found: Iterable[tuple[str, str]]) -> None:
        """Add what is wrong with assignments: for each violated property what was found."""
        for promise, what in found:
            self._break(promise, what)

    def _break(self, promise: str, found: str) -> None:
        may_be = suspects(SUITE, self._switches, promise, IN_RUNS)
        if promise in ("Committed", "LogMatch"):
            may_be += [UNCLEAN] if self._unclean else []
            may_be += [bug for bug in UNFLUSHED if "power" in self._faults and bug not in may_be]
        self._verdict.broken.append(Broken(promise, found, tuple(may_be)))


def switches(era: Spec) -> list[str]:
    """Return the bugs of an era: those with no decision as in `fixed`."""
    k, fixed = era.constants({}), FIXED.constants({})
    names = {rule.name for rule in era.rules}
    found = []
    for bug in SUITE.expressed:
        decisions = [name for name, value in bug.decisions.items() if value != getattr(fixed, name)]
        rules = [rule.name for rule in bug.rules]
        if all(getattr(k, name) == bug.decisions[name] for name in decisions) and all(name in names for name in rules):
            found.append(bug.name)
    return found


def records_of(broker: BrokerProcess, partition: TopicPartition) -> dict[int, str]:
    """Return the values in a broker's log, by offset."""
    hosted = broker.replicas.partitions[partition]
    if hosted.log is None:
        return {}
    return {record.offset: (record.value or b"").decode() for record in hosted.log.records()}
