"""Candidate fixes: small edits of Kafka's source, which is then compiled over the released jar. Each is a decision of `fixed` in Java."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_spec.spec.vocabulary.table import SpecError


OF_CONTROLLER = tuple(
    f"org.apache.kafka.controller.{name}Test"
    for name in ("ReplicationControlManager", "PartitionChangeBuilder", "PartitionReassignmentReplicas", "PartitionReassignmentRevert")
)


@dataclass(frozen=True)
class Edit:
    """An edit of a file of Kafka's source: a text that it has once, and what stands there instead."""

    file: str
    old: str
    new: str
    if_there: bool = False
    """Some releases do without the text, and then need no edit."""

    def applied(self, source: str) -> str:
        """Return the source with the edit.

        Raises:
            SpecError: the source does not have the text once.
        """
        if self.if_there and self.old not in source:
            return source
        if source.count(self.old) != 1:
            raise SpecError(f"a fix does not apply to this release: {self.file} has {source.count(self.old)} times {self.old!r}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Fix:
    """A candidate fix; `module` is the artifact whose sources have the files, `tests` are Kafka's own test classes of what it changes."""

    in_words: str
    edits: tuple[Edit, ...]
    module: str = "kafka-metadata"
    tests: tuple[str, ...] = OF_CONTROLLER

    def applied(self, source_of: Callable[[str, str], str]) -> Mapping[str, str]:
        """Return the edited sources by file; `source_of` takes the module and the file.

        Raises:
            SpecError: a source does not have the text of an edit once.
        """
        edited: dict[str, str] = {}
        for edit in self.edits:
            edited[edit.file] = edit.applied(edited.get(edit.file) or source_of(self.module, edit.file))
        return edited


PARTITION = "kafka/cluster/Partition.scala"
MANAGER = "org/apache/kafka/controller/ReplicationControlManager.java"
BUILDER = "org/apache/kafka/controller/PartitionChangeBuilder.java"
LISTS = "org/apache/kafka/controller/PartitionReassignmentReplicas.java"
REVERT = "        PartitionReassignmentRevert revert = new PartitionReassignmentRevert(part);\n"

FIXES = {
    "elr-outside-replicas": Fix(
        "The ELR keeps only members of the target replicas.",
        (
            Edit(
                BUILDER,
                "        targetElr = candidateSet.stream()\n",
                "        targetElr = candidateSet.stream()\n            .filter(targetReplicas::contains)\n",
            ),
        ),
    ),
    "stale-reassignment-lists": Fix(
        "A request always replaces the list of removed replicas. Added replicas accumulate, so that a cancellation takes out all of them; "
        "a completion waits for those that are not removed again.",
        (
            Edit(
                MANAGER,
                "        if (!reassignment.removing().isEmpty()) {\n            builder.setTargetRemoving(reassignment.removing());\n        }\n",
                "        builder.setTargetRemoving(reassignment.removing());\n",
            ),
            Edit(
                MANAGER,
                "            builder.setTargetAdding(reassignment.adding());\n",
                "            List<Integer> adding = new ArrayList<>(Replicas.toList(part.addingReplicas));\n"
                "            adding.addAll(reassignment.adding());\n"
                "            builder.setTargetAdding(adding);\n",
            ),
            Edit(LISTS, "newTargetIsr.containsAll(adding)", "newTargetIsr.containsAll(calculateDifference(adding, removing))", if_there=True),
        ),
    ),
    "cancellation-elects-cleanly": Fix(
        "A cancellation that would empty the ISR is refused, whatever the topic's `unclean.leader.election.enable` is.",
        (
            Edit(
                MANAGER,
                REVERT,
                f"{REVERT}        if (revert.unclean()) {{\n"
                '            throw new InvalidReplicaAssignmentException("No in-sync replica of " + topicName + " would be left.");\n'
                "        }\n",
            ),
        ),
    ),
    "cancellation-below-min-isr": Fix(
        "A cancellation is refused if it takes out a member of the ISR or the ELR and leaves fewer of them than `min.insync.replicas`.",
        (
            Edit(
                MANAGER,
                REVERT,
                f"{REVERT}        List<Integer> candidates = new ArrayList<>(Replicas.toList(part.isr));\n"
                "        candidates.addAll(Replicas.toList(part.elr));\n"
                "        int minIsr = Math.min(getTopicEffectiveMinIsr(topicName), revert.replicas().size());\n"
                "        if (candidates.retainAll(revert.replicas()) && candidates.size() < minIsr) {\n"
                '            throw new InvalidReplicaAssignmentException("Too few in-sync replicas of " + topicName + " would be left.");\n'
                "        }\n",
            ),
        ),
    ),
    "proposal-dropped-at-known-epoch": Fix(
        "An image whose leader and partition epoch the leader knows leaves a pending proposal as it is.",
        (
            Edit(
                PARTITION,
                "      val isNewLeaderEpoch = partitionRegistration.leaderEpoch > leaderEpoch\n      val replicas = partitionRegistration.replicas\n"
                "      val isr = partitionRegistration.isr.toSet\n",
                "      val isNewLeaderEpoch = partitionRegistration.leaderEpoch > leaderEpoch\n      val replicas = partitionRegistration.replicas\n"
                "      val isr = partitionRegistration.isr.toSet\n"
                "      val isKnown = isLeader && !isNewLeaderEpoch && partitionRegistration.partitionEpoch == partitionEpoch\n"
                "      val pending = if (isKnown && partitionState.isInflight) Some(partitionState) else None\n",
            ),
            Edit(
                PARTITION,
                "      val leaderLog = localLogOrException\n\n      // We update the epoch start offset",
                "      pending.foreach(state => partitionState = state)\n"
                "      val leaderLog = localLogOrException\n\n      // We update the epoch start offset",
            ),
        ),
        "kafka_2.13",
        ("kafka.cluster.PartitionTest",),
    ),
    "high-watermark-waits-after-rollback": Fix(
        "After a refused proposal the leader tries to advance its high watermark, as it does after an accepted one.",
        (
            Edit(
                PARTITION,
                "          shouldRetry = handleAlterPartitionError(proposedIsrState, Errors.forException(e))\n",
                "          shouldRetry = handleAlterPartitionError(proposedIsrState, Errors.forException(e))\n"
                "          hwIncremented = leaderLogIfLocal.exists(log => maybeIncrementLeaderHW(log))\n",
            ),
        ),
        "kafka_2.13",
        ("kafka.cluster.PartitionTest",),
    ),
    "re-elected-leader-remembers": Fix(
        "A leader forgets where its followers' logs end with each new leader epoch, also if it led before.",
        (
            Edit(
                PARTITION,
                "            isNewLeader,\n            isr.contains(replica.brokerId)\n",
                "            true,\n            isr.contains(replica.brokerId)\n",
            ),
        ),
        "kafka_2.13",
        ("kafka.cluster.PartitionTest",),
    ),
    "voters-skipped-after-truncation": Fix(
        "A truncation moves the reader of control records back to the end of the log.",
        (
            Edit(
                "org/apache/kafka/raft/internals/KRaftControlRecordStateMachine.java",
                "    public void truncateNewEntries(long endOffset) {\n",
                "    public void truncateNewEntries(long endOffset) {\n        nextOffset = Math.min(nextOffset, endOffset);\n",
            ),
        ),
        "kafka-raft",
        ("org.apache.kafka.raft.internals.KRaftControlRecordStateMachineTest", "org.apache.kafka.raft.KafkaRaftClientReconfigTest"),
    ),
    "removed-voter-ends-leader": Fix(
        "A leader ignores an acknowledgement of a node that is not a voter any more.",
        (
            Edit(
                "org/apache/kafka/raft/LeaderState.java",
                "        ReplicaState voterState = ensureValidVoter(remoteNodeId);\n        voterState.hasAcknowledgedLeader = true;\n",
                "        ReplicaState voterState = voterStates.get(remoteNodeId);\n"
                "        if (voterState != null) {\n            voterState.hasAcknowledgedLeader = true;\n        }\n",
            ),
        ),
        "kafka-raft",
        ("org.apache.kafka.raft.LeaderStateTest", "org.apache.kafka.raft.KafkaRaftClientReconfigTest"),
    ),
}
"""The fixes by finding."""
